"""How right predicted numbers are: residuals, prediction intervals and their coverage, and histograms."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from jaxtree.arrays import equal_bins, spread
from jaxtree.dataset.magnitude import unit_of
from jaxtree.losses.start import weighted_quantiles

FEWEST_BARS, MOST_BARS = 5, 30
"""The bars of a histogram: the square root of the number of rows between these."""

MOST_INTERVALS = 150
"""Rows whose intervals are drawn: of more as many spread over them, in the order of their predictions."""

COVERAGE = 0.9
"""The share of the rows that an interval is to hold."""

LEVELS = np.linspace(0.05, 0.95, 19)
"""Coverages of which the share that is held is drawn."""

NUM_PARTS = 10
"""Bars of predicted probabilities."""


class Histogram(NamedTuple):
    """Rows by a number.

    Attributes:
        edges: The edges of the bars, at equal distances.
        heights: The sum of the weights between every two.
    """

    edges: Float[np.ndarray, " edge"]
    heights: Real[np.ndarray, " bar"]


def histogram_of(values: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"] | None = None) -> Histogram:
    """Returns the histogram of the numbers that are finite; whole weights count as rows where bars are counted."""
    values = np.asarray(values, np.float64)
    known = np.isfinite(values)
    if not known.any():
        return Histogram(np.array([0.0, 1.0]), np.zeros(1))
    own = None if weight is None else weight[known]
    num_rows = known.sum() if own is None else own.sum() / unit_of(own[own > 0])
    heights, edges = equal_bins(values[known], int(np.clip(np.sqrt(num_rows), FEWEST_BARS, MOST_BARS)), own)
    return Histogram(edges, heights)


class Residuals(NamedTuple):
    """Targets less predictions.

    Attributes:
        histogram: The rows by these.
        median: Their median.
        low: The number below which a twentieth of the rows are.
        high: The number above which a twentieth are.
    """

    histogram: Histogram
    median: float
    low: float
    high: float


def residuals_of(
    target: Float[np.ndarray, " row"], predicted: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]
) -> Residuals:
    """Returns the residuals of rows."""
    left = target - predicted
    return Residuals(
        histogram_of(left, weight), *weighted_quantiles(left, weight, np.array([0.5, 0.05, 0.95])).tolist()
    )


class Intervals(NamedTuple):
    """Prediction intervals of some rows, in the order of their predictions.

    Attributes:
        rows: Which rows they are.
        low: Their lower ends.
        high: Their upper ends.
        is_inside: Whether a row's target is inside.
        share: The share of all rows, by weight, whose target is inside.
    """

    rows: Int[np.ndarray, " some"]
    low: Float[np.ndarray, " some"]
    high: Float[np.ndarray, " some"]
    is_inside: Bool[np.ndarray, " some"]
    share: float


def intervals_of(
    ends: Float[np.ndarray, "row 2"],
    target: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
) -> Intervals:
    """Returns the intervals of some rows, in the order of their middles, and the share of all that hold targets."""
    is_inside = (ends[:, 0] <= target) & (target <= ends[:, 1])
    order = np.argsort(ends.mean(axis=1), kind="stable")
    rows = order[spread(len(order), MOST_INTERVALS)]
    low, high = ends[rows].T
    return Intervals(rows, low, high, is_inside[rows], float(np.average(is_inside, weights=weight)))


def coverage_of(below: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]) -> Float[np.ndarray, " level"]:
    """Returns the share of the rows in the central interval of each of `LEVELS`.

    Args:
        below: The predicted probability of less than the target, for every row.
        weight: The weight of every row.
    """
    return np.average(2 * np.abs(below[:, None] - 0.5) <= LEVELS, axis=0, weights=weight)


def pit_of(below: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]) -> Histogram:
    """Returns the share of the rows in every tenth of the predicted probability of less than the target."""
    counts, edges = np.histogram(np.clip(below, 0, 1), NUM_PARTS, (0, 1), weights=weight)
    return Histogram(edges, counts / max(counts.sum(), 1e-300))
