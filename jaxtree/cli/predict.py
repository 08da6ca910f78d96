"""`jaxtree predict`: what a model says of the rows of a table."""

from typing import Annotated

import typer

from jaxtree.cli import options
from jaxtree.cli.columns import check_columns
from jaxtree.cli.fitted import load_model, read_features
from jaxtree.cli.session import Session, in_session
from jaxtree.cli.writing import TABLES, check_writable, kind_of_table, write_table
from jaxtree.errors import InvalidInputError


@in_session
def predict(
    session: Session,
    model: options.ModelArgument,
    data: options.DataArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - is the standard output.")] = "-",
    table: Annotated[
        str | None,
        typer.Option("--format", help=f"{', '.join(TABLES)}.", show_default="as the file's name ends, else csv"),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column proba_CLASS for every class.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns of the table to repeat before the prediction.", metavar="NAME")
    ] = None,
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Predicts every row of a table; other columns than those of the fit are not looked at."""
    kind = kind_of_table(output, table)
    check_writable(output)
    how = options.reading(missing, separator, header)
    estimator = load_model(model)
    if proba and not hasattr(estimator, "predict_proba"):
        raise InvalidInputError("--proba is for models of classes, and this one predicts numbers")
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"models of one output predict here, and this one has {estimator.n_outputs_}")
    X, contents = read_features(session, estimator, data, how)
    check_columns(contents, keep or ())
    columns = {name: contents.frame[name].to_list() for name in keep or ()}
    with session.doing("predicting"):
        columns["prediction"] = estimator.predict(X).tolist()
        if proba:
            shares = estimator.predict_proba(X).T.tolist()
            columns |= {f"proba_{label}": share for label, share in zip(estimator.classes_, shares, strict=True)}
    write_table(columns, output, kind)
    if output != "-":
        session.note(f"{len(X)} predictions: {output}")
