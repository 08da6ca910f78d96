"""How sure a score is: 95 % intervals from rows, or from groups of rows, that are drawn again.

This is the bootstrap of percentiles (Efron and Tibshirani, *An introduction to the bootstrap*, 1993, chapter 13). A
*cluster* is drawn as a whole: rows of one patient say less than as many of different ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

NUM_DRAWS = 400
"""How often rows are drawn for a score that is a function of sums."""

FEW_DRAWS = 100
"""The same of a score that is computed anew for every draw."""

MOST_ROWS = 5_000
"""Rows up to which a score is computed anew for every draw."""

MOST_PARTS = 2_000
"""Clusters that are drawn one by one; more are pooled by chance in as many parts, whose sums vary as much."""

LEVEL = 0.95

SEED = 0
"""The seed of all draws, so that a page is the same whenever it is made."""


class ScoreInterval(NamedTuple):
    """The interval of a score.

    Attributes:
        low: Its lower end.
        high: Its upper end.
    """

    low: float
    high: float


def interval_of_share(
    is_so: Bool[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    clusters: Int[np.ndarray, " row"] | None = None,
) -> ScoreInterval | None:
    """Returns the interval of a weighted share; None where fewer than two clusters are left to draw from.

    >>> is_right = np.arange(400) % 4 > 0
    >>> found = interval_of_share(is_right, np.ones(400))
    >>> round(found.low, 1), round(found.high, 1)
    (0.7, 0.8)
    """
    return interval_of_mean(is_so.astype(np.float64), weight, clusters)


def interval_of_mean(
    values: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    clusters: Int[np.ndarray, " row"] | None = None,
) -> ScoreInterval | None:
    """Returns the interval of a weighted mean; None where fewer than two clusters are left to draw from."""
    return _interval(np.stack([weight, weight * values], axis=1), lambda sums: sums[:, 1] / sums[:, 0], clusters)


def interval_of_r2(
    target: Float[np.ndarray, " row"],
    predicted: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    clusters: Int[np.ndarray, " row"] | None = None,
) -> ScoreInterval | None:
    """Returns the interval of the coefficient of determination; None where fewer than two clusters are drawn from."""
    own = target - np.average(target, weights=weight)  # so that squares lose no digits
    terms = np.stack([weight, weight * own, weight * own**2, weight * (target - predicted) ** 2], axis=1)

    def r2(sums: Float[np.ndarray, "draw term"]) -> Float[np.ndarray, " draw"]:
        rows, first, squares, errors = sums.T
        spread = squares - first**2 / rows
        return 1 - np.divide(errors, spread, out=np.full(len(sums), np.nan), where=spread > 0)

    return _interval(terms, r2, clusters)


def interval_by_rows(
    score: Callable[[Int[np.ndarray, " drawn"]], float], num_rows: int, clusters: Int[np.ndarray, " row"] | None = None
) -> ScoreInterval | None:
    """Returns the interval of any score; None of more than `MOST_ROWS` rows, or of fewer than two clusters.

    Args:
        score: Returns the score of some rows, which may be there more than once.
        num_rows: How many rows there are.
        clusters: The cluster of every row; each is one of its own if not given.
    """
    rows = np.arange(num_rows)
    members = np.split(np.argsort(clusters, kind="stable"), _ends(clusters)) if clusters is not None else rows[:, None]
    if num_rows > MOST_ROWS or len(members) < 2:
        return None
    generator = np.random.default_rng(SEED)
    drawn = generator.integers(0, len(members), (FEW_DRAWS, len(members)))
    return _percentiles(np.array([score(np.concatenate([members[own] for own in draw])) for draw in drawn]))


def _ends(clusters: Int[np.ndarray, " row"]) -> Int[np.ndarray, " cluster"]:
    """Returns the places at which the members of each cluster end in the order of clusters."""
    return np.cumsum(np.unique(clusters, return_counts=True)[1])[:-1]


def _interval(
    terms: Float[np.ndarray, "row term"],
    score: Callable[[Float[np.ndarray, "draw term"]], Float[np.ndarray, " draw"]],
    clusters: Int[np.ndarray, " row"] | None,
) -> ScoreInterval | None:
    """The interval of a score of sums over rows."""
    if not len(terms):
        return None
    generator = np.random.default_rng(SEED)
    place = np.arange(len(terms)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number = int(place.max()) + 1
    if number > MOST_PARTS:
        place, number = (generator.permutation(number) % MOST_PARTS)[place], MOST_PARTS
    if number < 2:
        return None
    parts = np.stack([np.bincount(place, own, minlength=number) for own in terms.T], axis=1)
    drawn = generator.integers(0, number, (NUM_DRAWS, number)) + number * np.arange(NUM_DRAWS)[:, None]
    times = np.bincount(drawn.ravel(), minlength=NUM_DRAWS * number).reshape(NUM_DRAWS, number)
    with np.errstate(all="ignore"):
        return _percentiles(score(times @ parts))


def _percentiles(scores: Float[np.ndarray, " draw"]) -> ScoreInterval | None:
    known = scores[np.isfinite(scores)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ScoreInterval(float(low), float(high))
