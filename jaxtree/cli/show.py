"""`jaxtree show`: a model in words, or as a page."""

from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.fitted import load_model, read_features
from jaxtree.cli.labels import fitted_target, read_labels
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.cli.writing import check_writable, write_bytes
from jaxtree.errors import InvalidInputError


@in_session
def show(
    session: Session,
    model: options.ModelArgument,
    style: Annotated[str, typer.Option(help="Layout: jaxtree, weka, c45, id3 or simplecart.")] = "jaxtree",
    tree: Annotated[int | None, typer.Option(min=0, help="Which tree of a forest to show, from 0.")] = None,
    html: Annotated[
        str | None, typer.Option(help="Write an interactive page instead; - is the standard output.", metavar="PAGE")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Rows for the page, for its scores and prunings.", metavar="DATA")
    ] = None,
    target: options.FittedTargetOption = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Prints a tree as text, or writes it as a page for a browser."""
    # Styles are known to the export, which needs JAX.
    from jaxtree.export.text import STYLES, export_text

    options.check_choice("--style", style, STYLES)
    if html is None and (data is not None or title is not None):
        raise typer.BadParameter("is for --html", param_hint="--data" if data is not None else "--title")
    if html is not None:
        check_writable(html)
    estimator = _tree_of(load_model(model), tree)
    how = options.reading(missing, separator, header)
    if html is None:
        print_plainly(export_text(estimator, style=style))
        return
    _write_page(session, estimator, html, data, target, title, how)


def _write_page(
    session: Session, estimator: Any, html: str, data: str | None, target: str | None, title: str | None, how: Any
) -> None:
    from jaxtree.page import to_html

    X = y = None
    if data is not None:
        X, contents = read_features(session, estimator, data, how)
        known = read_labels(estimator, contents, fitted_target(estimator, target))
        X, y = X.iloc[known.rows], known.y
    with session.doing("drawing"):
        page = to_html(estimator, X, y, title=title)
    write_bytes(page.encode(), html)
    if html != "-":
        session.note(f"page: {html}")


def _tree_of(estimator: Any, number: int | None) -> Any:
    """The model, or a tree of a forest."""
    trees = getattr(estimator, "estimators_", None)
    if trees is None:
        if number is not None:
            raise InvalidInputError("--tree is for forests, and this model is a single tree")
        return estimator
    if number is None:
        raise InvalidInputError(f"the model is a forest of {len(trees)} trees: --tree 0 shows the first one")
    if number >= len(trees):
        raise InvalidInputError(f"--tree must be below {len(trees)}, the number of trees, got {number}")
    return trees[number]
