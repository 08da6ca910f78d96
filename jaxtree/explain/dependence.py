"""How predictions depend on one column: their mean while all rows have one value of it after the other.

This is partial dependence (Friedman, *Greedy function approximation*, 2001, section 8.2), on the scale of the answer:
of probabilities and means, and not of scores. Plots and pages draw it, with the same rows, values and weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.arrays import spread
from jaxtree.export.conditions import features_of
from jaxtree.table.schema import Column, Schema

MOST_ROWS = 300
"""The most rows that predictions are averaged over; of more, as many spread over the table."""

MOST_VALUES = 32
"""The most values of a column of numbers that are tried: half as many at equal distances, the others quantiles."""

MOST_CATEGORIES = 20
"""The most categories that are tried: those of the greatest weight."""

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
    """

    values: Float64[np.ndarray, " value"]
    of_rows: Float64[np.ndarray, "value row column"]
    means: Float64[np.ndarray, "value column"]
    shares: Float64[np.ndarray, " value"]


def dependence_on(
    schema: Schema,
    rows: Float[np.ndarray, "row feature"],
    place: int,
    predict: Predict,
    weight: Float[np.ndarray, " row"] | None = None,
) -> Dependence:
    """Returns the predictions of rows while all of them have one value of a column after the other.

    Args:
        schema: The columns.
        rows: Encoded rows.
        place: The position of the column.
        predict: What predicts encoded rows.
        weight: The weight of every row, above 0; 1 if not given.
    """
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    values, shares = _values_to_try(schema.columns[place], column_values(schema, rows, place), weight)
    some = spread(len(rows), MOST_ROWS)
    changed = np.concatenate([with_value(schema, rows[some], place, value) for value in values.tolist()])
    blocks = [changed[first : first + ROWS_AT_A_TIME] for first in range(0, len(changed), ROWS_AT_A_TIME)]
    predicted = np.concatenate([np.asarray(predict(block), np.float64) for block in blocks])
    of_rows = predicted.reshape(len(values), len(some), -1)
    return Dependence(values, of_rows, np.average(of_rows, axis=1, weights=weight[some]), shares)


def column_values(schema: Schema, rows: Float[np.ndarray, "row feature"], place: int) -> Float64[np.ndarray, " row"]:
    """Returns the numbers of a column, or the codes of its categories; NaN where a value is missing."""
    features = features_of(schema, place)
    if schema.features[features[0]].kind != "onehot":
        return np.asarray(rows[:, features[0]], np.float64)
    is_category = rows[:, features] == 1
    codes = np.array([_code_of(schema, place, feature) for feature in features])
    return np.where(is_category.any(axis=1), codes[is_category.argmax(axis=1)], np.nan)


def with_value(
    schema: Schema, rows: Float[np.ndarray, "row feature"], place: int, value: float
) -> Float64[np.ndarray, "row feature"]:
    """Returns rows with one value of a column, as the encoder writes it: a number, the code of a category, or NaN.

    One-hot features of a missing value are NaN where the fit has seen some, and 0 where it has not.
    """
    changed = np.array(rows, np.float64)
    for feature in features_of(schema, place):
        described = schema.features[feature]
        if described.kind != "onehot":
            changed[:, feature] = value
        elif np.isnan(value):
            changed[:, feature] = np.nan if described.has_missing else 0.0
        else:
            changed[:, feature] = value == _code_of(schema, place, feature)
    return changed


def _code_of(schema: Schema, place: int, feature: int) -> int:
    """The code of the category of a one-hot feature."""
    return schema.columns[place].categories.index(schema.features[feature].category)


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
            order, own_weight = np.argsort(known, kind="stable"), weight[is_known]
            below = np.cumsum(own_weight[order]) - own_weight[order] / 2
            quantiles = known[order[np.searchsorted(below, inside * own_weight.sum()).clip(max=len(order) - 1)]]
            values = np.unique([*even, *quantiles])
        shares = np.full(len(values), np.nan)
    if column.has_missing or not is_known.all() or not len(values):
        values, shares = np.append(values, np.nan), np.append(shares, weight[np.isnan(own)].sum() / total)
    return values, shares
