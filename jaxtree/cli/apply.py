"""The commands that read a model file: `jaxtree predict`, `evaluate`, `explain` and `show`.

Modules that read tables or compute are imported when a command runs, so that its help does not wait for them.
"""

import json
from typing import Annotated, Any, Literal

import typer

import jaxtree
from jaxtree.cli.opening import open_model
from jaxtree.cli.output import (
    OutputOption,
    TableFormat,
    check_output,
    file_option,
    kind_of_table,
    write_bytes,
    write_table,
)
from jaxtree.cli.session import (
    FIRST_ROWS,
    DataArgument,
    ExtraOptions,
    FittedTargetOption,
    ModelArgument,
    Names,
    TableSession,
    WeightOption,
    command,
)
from jaxtree.errors import InvalidInputError


@command
def predict(
    *,
    model: ModelArgument,
    data: DataArgument,
    output: OutputOption = "-",
    table: TableFormat = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column proba_CLASS for every class.")] = False,
    median: Annotated[bool, typer.Option("--median", help="Add a column of median survival times.")] = False,
    survival: Annotated[
        str | None,
        typer.Option(help="Add columns survival_TIME: the probability of no event by each time.", metavar="TIMES"),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Add columns _low and _high of intervals with this coverage, such as 0.95.", metavar="COVERAGE"
        ),
    ] = None,
    keep: Annotated[Names, typer.Option(help="Columns of the table to copy to the front.", metavar="NAME")] = None,
    session: TableSession,
) -> None:
    """Predicts every row of a table; columns that the fit did not have are ignored."""
    from jaxtree.cli import applied, columns, effects

    kind = kind_of_table(output, table)
    estimator: Any = open_model(model)
    if proba and not estimator.class_names():
        raise InvalidInputError("--proba is for models of classes, and this one predicts numbers")
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"predict takes models of one output, and this one has {estimator.n_outputs_}")
    X, contents = columns.read_features(session, estimator, data)
    columns.check_columns(contents, keep or ())
    found = {name: contents.frame[name] for name in keep or ()}
    with session.doing("predicting"):
        is_effect = effects.predicts_effects(estimator)
        said = effects.effect_columns(estimator, X) if is_effect else {"prediction": estimator.predict(X).tolist()}
        found |= said | effects.interval_columns(estimator, X, interval, [*said])
        found |= applied.columns_of_times(estimator, X, median, survival)
        if proba:
            shares = estimator.predict_proba(X).T.tolist()
            found |= {f"proba_{label}": share for label, share in zip(estimator.classes_, shares, strict=True)}
    write_table(found, output, kind)
    if output != "-":
        session.note(f"{len(X)} predictions: {output}")


@command
def evaluate(
    *,
    model: ModelArgument,
    data: DataArgument,
    target: FittedTargetOption = None,
    weight: WeightOption = None,
    extras: ExtraOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    session: TableSession,
) -> None:
    """Scores a model on a table with known targets."""
    from jaxtree.cli import applied, columns, effects

    estimator: Any = open_model(model)
    if effects.predicts_effects(estimator):
        raise InvalidInputError(
            f"evaluate compares predictions with targets, and nobody observes effects, which a "
            f"{type(estimator).__name__} predicts: show prints how the rows of its fit support them"
        )
    applied.check_model_has_extras(estimator, extras)
    X, contents = columns.read_features(session, estimator, data, target)
    rows, y = columns.read_labels(estimator, contents, target)
    if len(rows) < len(X):
        session.note(f"{len(X) - len(rows)} rows without a target are left out")
    weights = columns.weights_of(contents, weight)
    fields = columns.taken(columns.read_extras(contents, extras), rows)
    given = {"sample_weight": None if weights is None else weights[rows], **fields}
    with session.doing("predicting"):
        measure = applied.scores_of_classes if estimator.class_names() else applied.scores_of_numbers
        scores = {"rows": len(rows), **measure(session, estimator, X.iloc[rows], y, given)}
        scores["constant"] = applied.constants_of(estimator, scores, y, given)
    print(applied.scores_in_json(scores) if as_json else applied.scores_in_words(scores))


@command
def explain(
    *,
    model: ModelArgument,
    data: DataArgument,
    rows: Annotated[
        str | None,
        typer.Option(help="Rows, counted from 1, such as 3 or 1:5,9; or all.", show_default=f"the first {FIRST_ROWS}"),
    ] = None,
    shap: Annotated[bool, typer.Option("--shap", help="Print exact Shapley values of all columns.")] = False,
    trees: Annotated[bool, typer.Option("--trees", help="Also print the trees that move a prediction most.")] = False,
    reasons: Annotated[
        int | None,
        typer.Option(min=1, help="Print this many principal reasons against a row, as lenders must give them."),
    ] = None,
    wanted: Annotated[
        str | None,
        typer.Option(help="With --reasons, the wanted class; for numbers, high or low.", show_default=False),
    ] = None,
    form: Annotated[
        Literal["text", "jsonl", "csv"],
        typer.Option("--format", help="csv has one line per row, and one column per contribution or reason."),
    ] = "text",
    session: TableSession,
) -> None:
    """Explains predictions in words, row by row, or by the contribution of every column."""
    from jaxtree.cli import applied, columns

    if (reasons is None) != (wanted is None):
        raise typer.BadParameter("and --wanted go together", param_hint="--reasons")
    applied.check_rows(rows)
    estimator: Any = open_model(model)
    X, _ = columns.read_features(session, estimator, data)
    chosen = applied.chosen_rows(rows, len(X))
    if rows is None and len(X) > FIRST_ROWS:
        session.note(f"the first {FIRST_ROWS} of {len(X)} rows; --rows all explains all")
    own = X.iloc[chosen]
    if form == "csv":
        table = applied.table_of_contributions(estimator, own)
        if reasons is not None:
            table = applied.table_of_reasons(estimator, own, wanted, reasons)
        write_table({"row": [number + 1 for number in chosen], **table}, "-", "csv")
        return
    if reasons is not None:
        explained = applied.principal_reasons(estimator, own, wanted, reasons)
    else:
        explained = applied.contributions(estimator, own) if shap else applied.reasons(estimator, own, trees=trees)
    for number, (words, record) in zip(chosen, explained, strict=True):
        record = {"row": number + 1, **record}
        print(f"row {number + 1}: {words}" if form == "text" else json.dumps(record, allow_nan=False))


@command
def show(
    *,
    model: ModelArgument,
    style: Annotated[Literal["jaxtree", "weka", "c45", "id3", "simplecart"], typer.Option(help="Layout.")] = "jaxtree",
    tree: Annotated[int | None, typer.Option(min=0, help="Which of many trees to show, from 0.")] = None,
    html: Annotated[str | None, file_option(help="Write an interactive page; - is standard output.")] = None,
    data: Annotated[str | None, typer.Option(help="Rows for the scores and prunings of the page.")] = None,
    target: FittedTargetOption = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Prints a tree or a summary of effects, or writes an HTML page about a model."""
    from jaxtree.cli import applied, columns, effects, training

    if html is None and (data is not None or title is not None):
        raise typer.BadParameter("is for --html", param_hint="--data" if data is not None else "--title")
    if html is not None:
        check_output(html)
    estimator: Any = open_model(model)
    if html is None and tree is None and effects.predicts_effects(estimator):
        print("\n".join([training.shape_of(estimator), *effects.effects_in_words(estimator)]))
        return
    if html is None or tree is not None:
        estimator = applied.tree_of(estimator, tree)
    if html is None:
        print(jaxtree.export_text(estimator, style=style))
        return

    X = y = None
    fields: dict[str, Any] = {}
    if data is not None:
        applied.check_model_has_extras(estimator, extras)
        X, contents = columns.read_features(session, estimator, data, target)
        if not effects.predicts_effects(estimator):
            known, y = columns.read_labels(estimator, contents, target)
            X, fields = X.iloc[known], columns.taken(columns.read_extras(contents, extras), known)
    with session.doing("drawing"):
        page = jaxtree.to_html(estimator, X, y, title=title, **fields)
    write_bytes(page.encode(), html)
    if html != "-":
        session.note(f"page: {html}")
