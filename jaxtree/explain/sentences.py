"""Sentences about one prediction, the same in Python, on the command line and on pages.

A sentence names the prediction, then the columns that speak most for and against it: of classes by what each adds to
the probability of the predicted class, in percentage points; of numbers by what each adds to the number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.explain.carried import carried
from jaxtree.table.numerals import decimal_near
from jaxtree.table.schema import Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree.link import Link, ScoreLink

MOST_NAMED = 3
"""Columns that a sentence names on either side."""

LEAST_POINTS = 0.05
"""Smaller effects, in percentage points, are none that one reads."""

LEAST_SHARE = 0.01
"""Columns whose effect is a smaller share of the greatest are not named."""

UNSEEN = "which the fit has not seen"


def effects_on_prediction(
    link: ScoreLink, place: int, base: Float[np.ndarray, " score"], parts: Float[np.ndarray, "part score"]
) -> tuple[Float64[np.ndarray, " part"], float]:
    """Returns how parts of scores change what is predicted, and the prediction of no row in particular.

    The effects add up to the prediction less that of the base: they are carried along the straight line of scores, see
    `jaxtree.explain.carried`. The effects of parts of a single score are in proportion to these.

    Args:
        link: The link of the scores.
        place: The class whose probability is meant; of numbers the first one is.
        base: The scores of no row in particular.
        parts: The additions to them.

    Example: log odds of 0 at first, to which 3 and -1 are added.
        >>> from jaxtree import GradientBoostingClassifier
        >>> link = GradientBoostingClassifier(1).fit([[0.0], [1.0]] * 9, ["a", "b"] * 9).model_.link
        >>> effects, base = effects_on_prediction(link, 1, np.zeros(1), np.array([[3.0], [-1.0]]))
        >>> base, effects.round(3).tolist(), round(float(base + effects.sum()), 3)
        (0.5, [0.571, -0.19], 0.881)
    """

    def solution(scores: Float[np.ndarray, "score row"]) -> Float64[np.ndarray, "one row"]:
        sums = np.concatenate([scores, np.ones_like(scores[:1])]) if link.is_ratio else scores
        predicted = np.asarray(link.predict_on_host(sums), np.float64)
        if link.classes is None:
            return predicted[:1]
        return predicted[place : place + 1] if len(predicted) > 1 else predicted if place else 1 - predicted

    if link.kind == Link.IDENTITY and link.classes is None:
        return parts[:, 0].astype(np.float64), float(base[0])
    if parts.shape[1] > 1:
        found, begin = carried(parts[None], base, solution)
        return found[0, :, 0], float(begin[0])
    begin, end = (float(solution(own[:, None])[0, 0]) for own in (base, base + parts.sum(axis=0)))
    whole = float(parts.sum())
    return parts[:, 0] * ((end - begin) / whole if whole else 0.0), begin


def value_words(schema: Schema, values: Float[np.ndarray, " feature"], table: Any) -> list[str]:
    """Returns the values of a row in words, where a word that the fit has not seen is named as such.

    Args:
        schema: The columns.
        values: The row as `encoder_.values` has encoded it, in which such a word is missing.
        table: The row as a table.
    """
    words = [column.in_words(float(value)) for column, value in zip(schema.columns, values, strict=True)]
    if not np.isnan(values).any():
        return words
    cells = cells_of(table)
    for place in np.flatnonzero(np.isnan(values)).tolist():
        if len(cells) == len(words) and not _is_missing(cells[place]):
            words[place] = f"{value_in_words(cells[place])}, {UNSEEN}"
    return words


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, str) and not cell):
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return isinstance(cell, float | np.floating) and bool(np.isnan(cell))


def cells_of(table: Any) -> list[Any]:
    """Returns the values of the one row of a table.

    >>> cells_of([[1, "a"]]), cells_of(np.array([[0.5]]))
    ([1, 'a'], [0.5])
    """
    if hasattr(table, "iloc"):
        return table.iloc[0].tolist()
    if hasattr(table, "columns") and hasattr(table, "row"):  # polars
        return list(table.row(0))
    if hasattr(table, "toarray"):
        return table.toarray()[0].tolist()
    if hasattr(table, "to_pylist"):  # pyarrow
        return list(table.to_pylist()[0].values())
    return np.asarray(table[0]).tolist() if isinstance(table, np.ndarray) else list(table[0])


def gaps_of(schema: Schema, values: Float[np.ndarray, " feature"], words: Sequence[str]) -> tuple[str, ...]:
    """Returns the columns of a row without a value that the fit knows, in words."""
    return tuple(
        f"{schema.columns[place].name} is {words[place]}" for place in np.flatnonzero(np.isnan(values)).tolist()
    )


def prediction_in_words(prediction: Any, share: float | None, tolerance: float = np.inf) -> str:
    """Returns a prediction in words.

    >>> prediction_in_words("good", 0.58), prediction_in_words(9.125, None, 0.01)
    ('58% good', '9.125')
    """
    return decimal_near(prediction, tolerance) if share is None else f"{share:.0%} {value_in_words(prediction)}"


def sentence_of(
    head: str, effects: Mapping[str, float], gaps: Sequence[str] = (), *, of_classes: bool, places: int = 4
) -> str:
    """Returns a sentence about a prediction, and about what speaks for and against it.

    Args:
        head: The prediction in words.
        effects: The addition of the value of a column, such as "age is 30", to what is predicted.
        gaps: Columns without a value that the fit knows, of which those that `effects` lacks are named, too.
        of_classes: Whether effects are probabilities.
        places: The decimals of effects on numbers.

    >>> effects = {"duration is 24": 0.12, "age is 30": 0.031, "checking is none": -0.09}
    >>> sentence_of("58% good", effects, ["savings is missing"], of_classes=True)
    '58% good; most for it: duration is 24 (+12 points), age is 30 (+3 points); against it: checking is none
    (-9 points); savings is missing'
    >>> sentence_of("9.1", {"size is 3": 2.1}, of_classes=False, places=1)
    '9.1; most raises it: size is 3 (+2.1)'
    """
    least = LEAST_SHARE * max(map(abs, effects.values()), default=0.0)
    order = sorted(effects, key=lambda name: -abs(effects[name]))
    sides = []
    for sign, words in ((1, "most for it" if of_classes else "most raises it"),
                        (-1, "against it" if of_classes else "lowers it")):  # fmt: skip
        named = [
            f"{name} ({said})"
            for name in order
            if sign * effects[name] > least and (said := _effect_in_words(effects[name], places, of_classes))
        ]
        if named:
            sides.append(f"{words}: {', '.join(named[:MOST_NAMED])}")
    if len(sides) == 1 and sides[0].startswith(("against", "lowers")):
        sides[0] = f"most {sides[0]}"
    said = " ".join(sides)
    if not sides:
        sides.append("no column changes it")
    others = [gap for gap in gaps if gap not in said]
    left = len(others) - MOST_NAMED
    shown = [*others[:MOST_NAMED], *([f"{left} more columns have no value that the fit knows"] if left > 0 else [])]
    return "; ".join([head, *sides, *([", ".join(shown)] if shown else [])])


def _effect_in_words(effect: float, places: int, of_classes: bool) -> str:
    """An effect; an empty word for one that is too small to be read."""
    if not of_classes:
        said = f"{effect:+.{places}f}"
        return said if float(said) else ""
    points = 100 * effect
    if abs(points) < LEAST_POINTS:
        return ""
    rounded = f"{points:+.{1 if abs(points) < 0.95 else 0}f}"
    return f"{rounded} point{'' if rounded in ('+1', '-1') else 's'}"
