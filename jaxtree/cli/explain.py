"""`jaxtree explain`: why a model says what it says of some rows."""

import json
import re
from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.fitted import load_model, read_features
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.errors import InvalidInputError
from jaxtree.table.schema import value_in_words
from jaxtree.table.times import Days

_FORMATS = ("text", "jsonl")
_FIRST_ROWS = 5
_PLACES = re.compile(r"(\d{1,18})(?::(\d{1,18}))?")


@in_session
def explain(
    session: Session,
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
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Says in words why a tree predicts what it does, row by row; or what every column contributes."""
    options.check_choice("--format", form, _FORMATS)
    how = options.reading(missing, separator, header)
    estimator = load_model(model)
    X, _ = read_features(session, estimator, data, how)
    chosen = chosen_rows(rows, len(X))
    if rows is None and len(X) > _FIRST_ROWS:
        session.note(f"the first {_FIRST_ROWS} of {len(X)} rows; --rows all explains all")
    say = _contributions if shap else _reasons
    for number, (text, record) in zip(chosen, say(estimator, X.iloc[chosen]), strict=True):
        record = {"row": number + 1, **record}
        print_plainly(f"row {number + 1}: {text}" if form == "text" else json.dumps(record, allow_nan=False))


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
    from jaxtree.explain.rows import explain_row

    said = [explain_row(estimator, X.iloc[[row]]) for row in range(len(X))]
    return [
        (
            str(why),
            {
                "prediction": why.prediction,
                "share": why.share,
                "because": list(why.conditions),
                "held_up": why.held_up,
                "contrast": None if why.contrast is None else _told(why.contrast),
            },
        )
        for why in said
    ]


def _told(contrast: Any) -> dict[str, Any]:
    """A change as values of JSON: dates and durations in words."""
    value = contrast.value
    return {**contrast._asdict(), "value": value_in_words(value) if isinstance(value, Days) else value}


def _contributions(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """What every column contributes to the share of the predicted class, or to the number."""
    from jaxtree.explain import shap_values

    values, base = shap_values(estimator, X)
    predictions, said = estimator.predict(X).tolist(), []
    names = [str(name) for name in X.columns]
    for row, prediction in enumerate(predictions):
        of_row, from_base = values[row], base
        if of_row.ndim == 2:
            place = estimator.classes_.tolist().index(prediction)
            of_row, from_base = of_row[:, place], base[place]
        parts = dict(zip(names, of_row.tolist(), strict=True))
        said.append(
            (
                _in_words(prediction, parts, float(from_base)),
                {"prediction": prediction, "base": float(from_base), "shap": parts},
            )
        )
    return said


def _in_words(prediction: Any, parts: dict[str, float], base: float) -> str:
    ranked = sorted(((name, value) for name, value in parts.items() if value), key=lambda part: -abs(part[1]))
    width = max((len(name) for name, _ in ranked), default=0)
    lines = [f"{prediction}", f"    {'base':<{width}}  {base:.4f}"]
    return "\n".join([*lines, *(f"    {name:<{width}} {value:+.4f}" for name, value in ranked)])
