"""How predictions depend on one column: their mean while all rows have one value of it after the other.

This is partial dependence (Friedman, *Greedy function approximation*, 2001, section 8.2), on the scale of the answer:
of probabilities and means, and not of scores. Plots and pages draw it, with the same rows, values and weights.

Trees are constant between the limits of their splits: a column of numbers has one value in each such part, and is
drawn in steps from limit to limit.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.arrays import spread
from jaxtree.errors import InvalidInputError
from jaxtree.losses.start import weighted_quantile, weighted_quantiles
from jaxtree.table.schema import Column, Schema
from jaxtree.tree.kinds import ModelKind, kind_of

MOST_ROWS = 300
"""The most rows that predictions are averaged over; of more, as many spread over the table."""

MOST_VALUES = 32
"""The most values of a column of numbers that are tried: half as many at equal distances, the others quantiles."""

MOST_CATEGORIES = 20
"""The most categories that are tried: those of the greatest weight."""

FEW_VALUES = 12
"""Up to this many different numbers, each is tried itself."""

MOST_STEPS = 96
"""The most parts between limits of splits that are tried; of more limits, as many spread over them are taken."""

FAR = 0.005
"""The share of rows at each end beyond which no quantile is tried, but for the outermost values."""

ROWS_AT_A_TIME = 512
"""Rows that are predicted in one call: so few that nothing is compiled for it."""

Predict = Callable[[Float[np.ndarray, "row feature"]], Float[np.ndarray, "row column"]]
"""Returns the predictions of encoded rows."""


class Dependence(NamedTuple):
    """Predictions while all rows have one value of a column.

    Attributes:
        values: The numbers, or the codes of categories; NaN is a missing value and comes last.
        of_rows: The predictions of each row.
        means: Their means, by the weights of the rows.
        shares: The share of the rows with each category, or with a missing value, by weight; NaN of other numbers.
        edges: The ends of the parts in which each number lies, one more than numbers; None where the numbers stand for
            themselves.
    """

    values: Float64[np.ndarray, " value"]
    of_rows: Float64[np.ndarray, "value row column"]
    means: Float64[np.ndarray, "value column"]
    shares: Float64[np.ndarray, " value"]
    edges: Float64[np.ndarray, " edge"] | None = None


def limits_on(estimator: Any, place: int) -> Float64[np.ndarray, " limit"] | None:
    """Returns the limits of all splits on a column, ascending; None of a model that is not constant between them.

    >>> from jaxtree import DecisionTreeRegressor
    >>> limits_on(DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [4.0]], [0, 0, 1]), 0).tolist()
    [3.0]
    """
    if kind_of(estimator) not in (ModelKind.TREE, ModelKind.FOREST, ModelKind.BOOSTED):
        return None
    nodes = estimator.model_.forest.nodes
    own = np.asarray(nodes.threshold, np.float64)[np.asarray(nodes.feature) == place]
    return np.unique(own[np.isfinite(own)])


def dependence_on(
    schema: Schema,
    rows: Float[np.ndarray, "row feature"],
    place: int,
    predict: Predict,
    weight: Float[np.ndarray, " row"] | None = None,
    limits: Float64[np.ndarray, " limit"] | None = None,
) -> Dependence:
    """Returns the predictions of rows while all of them have one value of a column after the other.

    Args:
        schema: The columns.
        rows: Encoded rows.
        place: The position of the column.
        predict: Returns the predictions of encoded rows.
        weight: The weight of every row, above 0; 1 if not given.
        limits: Numbers of the column between which predictions are constant, see `limits_on`; None where they are not.
    """
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    own = np.asarray(rows[:, place], np.float64)
    values, shares = _values_to_try(schema.columns[place], own, weight)
    edges = None if limits is None or schema.columns[place].bins is None else _edges(own, limits)
    if edges is not None:
        is_missing = np.isnan(values)
        values = np.append(edges[:-1] / 2 + edges[1:] / 2, values[is_missing])
        shares = np.append(np.full(len(edges) - 1, np.nan), shares[is_missing])
    some = spread(len(rows), MOST_ROWS)
    changed = np.tile(np.asarray(rows[some], np.float64), (len(values), 1))
    changed[:, place] = np.repeat(values, len(some))
    blocks = [changed[first : first + ROWS_AT_A_TIME] for first in range(0, len(changed), ROWS_AT_A_TIME)]
    predicted = np.concatenate([np.asarray(predict(block), np.float64) for block in blocks])
    of_rows = predicted.reshape(len(values), len(some), -1)
    return Dependence(values, of_rows, np.average(of_rows, axis=1, weights=weight[some]), shares, edges)


def _edges(
    own: Float[np.ndarray, " row"], limits: Float64[np.ndarray, " limit"]
) -> Float64[np.ndarray, " edge"] | None:
    """The least number of a column, the limits among its numbers, and the greatest; None of few different numbers."""
    known = np.unique(own[np.isfinite(own)])
    if len(known) <= FEW_VALUES:
        return None
    inside = limits[(limits > known[0]) & (limits < known[-1])]
    return np.array([known[0], *inside[spread(len(inside), MOST_STEPS - 1)], known[-1]])


class Plane(NamedTuple):
    """The plane of two columns, with a typical value in every other one.

    Attributes:
        values: The values of the two columns in the rows.
        sides: The points along each side, which are the middles of the patches that are drawn.
        points: All points as encoded rows, those along the first side next to one another.
    """

    values: Float64[np.ndarray, "row 2"]
    sides: list[Float64[np.ndarray, " point"]]
    points: Float64[np.ndarray, "point feature"]


def plane_of(
    schema: Schema,
    rows: Float[np.ndarray, "row feature"],
    weight: Float[np.ndarray, " row"] | None,
    across: list[int],
    size: tuple[int, float],
) -> Plane:
    """Returns the points of the plane of two columns of numbers around some rows.

    Other columns have the median of their numbers among the rows, or their most frequent category.

    Args:
        schema: The columns.
        rows: Encoded rows.
        weight: The weight of every row, above 0; 1 if not given.
        across: The positions of the two columns.
        size: The number of points along each side, and the share of the range by which it reaches past the rows.

    Raises:
        InvalidInputError: The rows have no known number in one of the two columns.
    """
    weight = np.ones(len(rows)) if weight is None else weight
    values = np.asarray(rows[:, across], np.float64)
    sides = [_side(own[~np.isnan(own)], *size) for own in values.T]
    point = np.zeros(len(schema.columns))
    for place, column in enumerate(schema.columns):
        cells = rows[:, place]
        known, own = cells[~np.isnan(cells)], weight[~np.isnan(cells)]
        typical = np.nan
        if known.size and column.kind == "numeric":
            typical = weighted_quantile(known, own, 0.5)
        elif known.size:
            typical = float(np.bincount(known.astype(int), own).argmax())
        point[place] = typical
    first, second = (part.ravel() for part in np.meshgrid(*sides))
    points = np.tile(point, (first.size, 1))
    for place, numbers in zip(across, (first, second), strict=True):
        points[:, place] = numbers
    return Plane(values, sides, points)


def _side(known: Float[np.ndarray, " some"], resolution: int, margin: float) -> Float64[np.ndarray, " point"]:
    if not known.size:
        raise InvalidInputError("X must have a known number in both columns")
    low, high = known.min(), known.max()
    beyond = margin * (high - low) if high > low else 0.5
    return np.linspace(low - beyond, high + beyond, resolution)


def _values_to_try(
    column: Column, own: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]
) -> tuple[Float64[np.ndarray, " value"], Float64[np.ndarray, " value"]]:
    """The values of a column, a missing one where the fit or the rows have some, and the shares of the rows."""
    is_known = np.isfinite(own)
    total, known = max(float(weight.sum()), 1e-300), own[is_known]
    if column.bins is None:
        counts = np.bincount(known.astype(np.int64), weight[is_known], minlength=column.num_values)
        most = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        most = np.sort(most[counts[most] > 0])
        values, shares = most.astype(np.float64), counts[most] / total
    else:
        values = np.unique(known)
        if len(values) > MOST_VALUES:
            inside = np.linspace(FAR, 1 - FAR, MOST_VALUES // 2)
            even = np.linspace(values[0], values[-1], MOST_VALUES - len(inside))
            quantiles = weighted_quantiles(known, weight[is_known], inside)
            values = np.unique([*even, *quantiles])
        shares = np.full(len(values), np.nan)
    if column.has_missing or not is_known.all() or not len(values):
        values, shares = np.append(values, np.nan), np.append(shares, weight[np.isnan(own)].sum() / total)
    return values, shares
