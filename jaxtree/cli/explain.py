"""`jaxtree explain`, why a model predicts what it does, and `jaxtree show`, a model in words or as a page.

What reads tables, and what computes, is imported when a command runs, so that its help does not wait for it.
"""

import json
import re
from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.output import check_writable, write_bytes
from jaxtree.cli.session import Session, check_choice, command, print_plainly
from jaxtree.errors import InvalidInputError

_FORMATS = ("text", "jsonl")
_FIRST_ROWS = 5
_PLACES = re.compile(r"(\d{1,18})(?::(\d{1,18}))?")


@command
def explain(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    rows: Annotated[
        str | None,
        typer.Option(help="Which rows, from 1, as 3 or 1:5,9; or all.", show_default=f"the first {_FIRST_ROWS}"),
    ] = None,
    shap: Annotated[
        bool, typer.Option("--shap", help="The contribution of every column: exact Shapley values.")
    ] = False,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(_FORMATS)}.")] = "text",
    text: options.TextOptions,
    session: Session,
) -> None:
    """Says in words why a tree predicts what it does, row by row; or what every column contributes."""
    import jaxtree
    from jaxtree.cli.columns import read_features

    check_choice("--format", form, _FORMATS)
    estimator: Any = jaxtree.load(model)
    X, _ = read_features(session, estimator, data, text)
    chosen = chosen_rows(rows, len(X))
    if rows is None and len(X) > _FIRST_ROWS:
        session.note(f"the first {_FIRST_ROWS} of {len(X)} rows; --rows all explains all")
    explained = (_contributions if shap else _reasons)(estimator, X.iloc[chosen])
    for number, (words, record) in zip(chosen, explained, strict=True):
        record = {"row": number + 1, **record}
        print_plainly(f"row {number + 1}: {words}" if form == "text" else json.dumps(record, allow_nan=False))


@command
def show(
    *,
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
    text: options.TextOptions,
    session: Session,
) -> None:
    """Prints a tree as text, or writes it as a page for a browser."""
    import jaxtree
    from jaxtree.export.text import STYLES, export_text

    check_choice("--style", style, STYLES)
    if html is None and (data is not None or title is not None):
        raise typer.BadParameter("is for --html", param_hint="--data" if data is not None else "--title")
    if html is not None:
        check_writable(html)
    estimator = _tree_of(jaxtree.load(model), tree)
    if html is None:
        print_plainly(export_text(estimator, style=style))
        return
    from jaxtree.cli.columns import read_features, read_labels

    X = y = None
    if data is not None:
        X, contents = read_features(session, estimator, data, text)
        known, y = read_labels(estimator, contents, target)
        X = X.iloc[known]
    with session.doing("drawing"):
        page = jaxtree.to_html(estimator, X, y, title=title)
    write_bytes(page.encode(), html)
    if html != "-":
        session.note(f"page: {html}")


def chosen_rows(text: str | None, num_rows: int) -> list[int]:
    """Returns the places of rows, which users count from 1.

    Raises:
        InvalidInputError: They are not written so, or are not there.

    >>> chosen_rows("1:3,9", 10), chosen_rows("all", 2), chosen_rows(None, 2)
    ([0, 1, 2, 8], [0, 1], [0, 1])
    """
    if text is None or text == "all":
        return list(range(num_rows if text else min(num_rows, _FIRST_ROWS)))
    chosen: list[int] = []
    for part in text.split(","):
        match = _PLACES.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= num_rows:
            raise InvalidInputError(f"--rows must be rows from 1 to {num_rows}, as 3 or 1:5,9, got {text!r}")
        chosen += range(first - 1, last)
    return chosen


def _reasons(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """The conditions of every row's prediction, in words and as a record of JSON."""
    from jaxtree.explain.rows import explain_row

    explained = [explain_row(estimator, X.iloc[[row]]) for row in range(len(X))]
    return [
        (
            str(why),
            {
                "prediction": why.prediction,
                "share": why.share,
                "because": list(why.conditions),
                "held_up": why.held_up,
                "contrast": None if why.contrast is None else _in_json(why.contrast),
            },
        )
        for why in explained
    ]


def _in_json(contrast: Any) -> dict[str, Any]:
    """A change as values of JSON: dates and durations in words."""
    from jaxtree.table.schema import value_in_words
    from jaxtree.table.times import Days

    value = contrast.value
    return {**contrast._asdict(), "value": value_in_words(value) if isinstance(value, Days) else value}


def _contributions(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """What every column contributes to the share of the predicted class, or to the number."""
    from jaxtree.explain import shap_values

    values, base = shap_values(estimator, X)
    names, contributions = [str(name) for name in X.columns], []
    for row, prediction in enumerate(estimator.predict(X).tolist()):
        of_row, from_base = values[row], base
        if of_row.ndim == 2:
            place = estimator.classes_.tolist().index(prediction)
            of_row, from_base = of_row[:, place], base[place]
        parts = dict(zip(names, of_row.tolist(), strict=True))
        record = {"prediction": prediction, "base": float(from_base), "shap": parts}
        contributions.append((_in_words(record), record))
    return contributions


def _in_words(record: dict[str, Any]) -> str:
    ranked = sorted(((name, value) for name, value in record["shap"].items() if value), key=lambda part: -abs(part[1]))
    width = max((len(name) for name, _ in ranked), default=0)
    lines = [f"{record['prediction']}", f"    {'base':<{width}}  {record['base']:.4f}"]
    return "\n".join([*lines, *(f"    {name:<{width}} {value:+.4f}" for name, value in ranked)])


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
