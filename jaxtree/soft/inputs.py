"""Tables as the rows that soft trees read: numbers scaled, categories one-hot, missing values as indicators.

A *value* is what a hard tree compares: a number, or the code of a category, NaN where one is missing
(`Encoder.values`). A *column* is one of the soft tree's features: a scaled number, a category (0 or 1), or, after all
of these, an *indicator* (1 where the value is missing, and its columns are 0).
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int, Int64, Real
from scipy.special import ndtri

from jaxtree.errors import InvalidInputError
from jaxtree.soft.form import check_option
from jaxtree.table.schema import Schema

INDICATORS = ("seen", "all")
SCALINGS = ("standard", "quantile", "none")
MOST_EXPONENT = 400
"""Numbers below two to this can be squared and summed."""
MOST_KNOTS = 1000
"""Of a quantile scale."""
LEAST_SHARE = 1e-9
"""Of the weight at a number, for its quantile: sums of shares are exact to less, and none is 0 or 1."""
LARGEST = float(np.finfo(np.float64).max)


class SoftSample(NamedTuple):
    """Rows of a table as values, with targets and weights.

    Attributes:
        values: Numbers and codes of categories, NaN where one is missing: `Encoder.values`.
        target: Class codes, of one output or a column an output; a row of class shares; numbers; or a
            `jaxtree.soft.scores.ScoredTarget`.
        weight: The weight of every row.
    """

    values: Real[np.ndarray, "row value"]
    target: Any
    weight: Float[np.ndarray, " row"]

    def take(self, rows: Int[np.ndarray, " taken"] | Bool[np.ndarray, " row"]) -> "SoftSample":
        """Some of the rows."""
        return SoftSample(*(part[rows] for part in self))


class Standard(NamedTuple):
    """Numbers less their mean, over their standard deviation."""

    mean: float
    deviation: float


class Quantile(NamedTuple):
    """Numbers by the share of the fitted ones below them, as quantiles of the normal distribution.

    Attributes:
        value: Ascending numbers.
        share: The weight below each and half of its own; linear between two of them.
    """

    value: Float64[np.ndarray, " knot"]
    share: Float64[np.ndarray, " knot"]


Scale = Standard | Quantile


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """The map from values to rows of a soft tree.

    Attributes:
        schema: The schema of the values.
        scales: Of every feature its scale; None for categories, which are one-hot.
        first: The first column of every feature.
        with_indicator: The features that have an indicator.
    """

    schema: Schema
    scales: tuple[Scale | None, ...]
    first: Int[np.ndarray, " feature"]
    with_indicator: Int[np.ndarray, " indicator"]

    @property
    def num_values(self) -> int:
        """The number of columns before the indicators."""
        return int(self.first[-1]) + self.width(len(self.scales) - 1)

    @property
    def num_features(self) -> int:
        """The number of all columns: `SoftForm.num_features`."""
        return self.num_values + self.with_indicator.size

    @property
    def missing(self) -> tuple[tuple[int, ...], ...]:
        """The columns of every indicator's feature: `SoftForm.missing`."""
        return tuple(tuple(self.columns_of(feature)) for feature in self.with_indicator.tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column."""
        names = []
        for number, feature in enumerate(self.schema.features):
            codes = range(self.width(number))
            is_number = self.scales[number] is not None
            is_word = not is_number and feature.num_values > 0
            names += [self.schema.category_in_words(number, code) for code in codes] if is_word else [feature.name]
        indicated = (self.schema.features[feature].name for feature in self.with_indicator.tolist())
        return (*names, *(f"{name} is missing" for name in indicated))

    def width(self, feature: int) -> int:
        """The number of columns of a feature; one, of zeros, if it has no category."""
        return 1 if self.scales[feature] is not None else max(self.schema.features[feature].num_values, 1)

    def columns_of(self, feature: int) -> range:
        """The columns of a feature, its indicator left aside."""
        return range(int(self.first[feature]), int(self.first[feature]) + self.width(feature))

    def transform(self, values: Real[np.ndarray, "row value"]) -> Float[np.ndarray, "row column"]:
        """Returns the rows of a soft tree, in float32.

        A missing value of a feature without an indicator is 0 in its columns: a mean number, or no category.

        Raises InvalidInputError if there is another number of features than in fit.
        """
        _check_width(values, self.schema)
        rows = np.zeros((len(values), self.num_features), np.float32)
        for feature, scale in enumerate(self.scales):
            value, columns = np.asarray(values[:, feature], np.float64), self.columns_of(feature)
            if scale is not None:
                rows[:, columns.start] = np.nan_to_num(scaled(scale, value), nan=0.0)
            else:
                rows[:, columns.start : columns.stop] = value[:, None] == np.arange(len(columns))
        rows[:, self.num_values :] = np.isnan(values[:, self.with_indicator])
        return rows

    def scale_values(self, feature: int, value: Float64[np.ndarray, " value"]) -> Float64[np.ndarray, " value"]:
        """Numbers of a feature, such as thresholds, as they are in its column."""
        return scaled(self._scale(feature), value)

    def limits_in_table(self, feature: int, limit: Float[np.ndarray, " limit"]) -> Float64[np.ndarray, " limit"]:
        """Returns the greatest numbers of the table that `transform` does not bring above limits of a column.

        So the same rows are above in both units, whatever the rounding; infinite where all numbers or none are above.
        """
        scale, limit = self._scale(feature), np.asarray(limit, np.float32)
        low, high = (np.full(limit.shape, _rank_of(np.array(end))) for end in (-LARGEST, LARGEST))
        is_above = [_in_column(scale, _float_at(rank)) > limit for rank in (low, high)]
        # The limit lies from `low` on and below `high`, whose difference may be too large for an integer.
        while (low + 1 < high).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            above = _in_column(scale, _float_at(middle)) > limit
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.select([is_above[0], ~is_above[1]], [-np.inf, np.inf], _float_at(low))

    def _scale(self, feature: int) -> Scale:
        scale = self.scales[feature]
        assert scale is not None, "categories have no scale"
        return scale


def fit_inputs(
    values: Real[np.ndarray, "row value"],
    schema: Schema,
    *,
    scaling: str = "standard",
    indicators: str = "seen",
    weight: Float[np.ndarray, " row"] | None = None,
) -> Inputs:
    """Learns how values become rows of a soft tree.

    Args:
        values: Numbers, and codes of categories, NaN where one is missing: `Encoder.values`.
        schema: Their schema. Categorical features become one-hot; all others are numbers.
        scaling: "standard", mean 0 and standard deviation 1; "quantile", a normal distribution, whatever the column's
            own; or "none".
        indicators: "seen": features that have a missing value have an indicator; "all": all features have one.
        weight: Of the rows.

    Raises:
        InvalidInputError: An option is not allowed, there are no rows, or another number of features than the schema's.

    Example:
        >>> from jaxtree.table import Encoder
        >>> table = [[1.0, "a"], [3.0, "b"], [None, "a"]]
        >>> encoder = Encoder().fit(table)
        >>> inputs = fit_inputs(encoder.values(table), encoder.schema_)
        >>> inputs.transform(encoder.values(table))
        array([[-1.,  1.,  0.,  0.],
               [ 1.,  0.,  1.,  0.],
               [ 0.,  1.,  0.,  1.]], dtype=float32)
        >>> inputs.names
        ('x0', 'x1 = a', 'x1 = b', 'x0 is missing')
    """
    check_option("scaling", scaling, SCALINGS)
    check_option("indicators", indicators, INDICATORS)
    _check_width(values, schema)
    if not len(values):
        raise InvalidInputError("inputs are learned from at least one row, got none")
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    scales = tuple(
        None if is_category else fit_scale(np.asarray(value, np.float64), weight, scaling)
        for is_category, value in zip(schema.is_categorical, values.T, strict=True)
    )
    widths = np.where(schema.is_categorical, np.maximum(schema.num_values, 1), 1)
    is_indicated = np.isnan(values).any(axis=0) if indicators == "seen" else np.ones(len(widths), bool)
    return Inputs(schema, scales, np.cumsum(widths) - widths, np.flatnonzero(is_indicated))


def _check_width(values: Real[np.ndarray, "row value"], schema: Schema) -> None:
    if values.shape[1] != schema.num_features:
        raise InvalidInputError(f"values must have {schema.num_features} features, got {values.shape[1]}")


def fit_scale(value: Float64[np.ndarray, " row"], weight: Float64[np.ndarray, " row"], scaling: str) -> Scale:
    """Returns the scale of a column, "standard", "quantile" or "none"; missing numbers (NaN) are left aside.

    >>> fit_scale(np.array([1.0, 3.0, np.nan]), np.ones(3), "standard")
    Standard(mean=2.0, deviation=1.0)
    """
    is_known = ~np.isnan(value) & (weight > 0)
    value, weight = value[is_known], weight[is_known]
    if scaling == "none" or not value.size:
        return Standard(0.0, 1.0)
    if scaling == "standard":
        # A power of two changes no digit, and keeps sums and squares of the largest floats finite.
        exponent = max(int(np.frexp(np.abs(value).max())[1]) - MOST_EXPONENT, 0)
        value = np.ldexp(value, -exponent)
        mean = np.average(value, weights=weight)
        deviation = np.sqrt(np.average(np.square(value - mean), weights=weight))
        mean, deviation = np.ldexp([mean, deviation], exponent).tolist()
        return Standard(mean, deviation if deviation > 1e-12 * abs(mean) else 1.0)
    return _fit_quantiles(value, weight)


def _fit_quantiles(value: Float64[np.ndarray, " row"], weight: Float64[np.ndarray, " row"]) -> Quantile:
    distinct, place = np.unique(value, return_inverse=True)
    own = np.bincount(place, weight)
    own = np.maximum(own, LEAST_SHARE * own.sum())
    own /= own.sum()
    share = np.cumsum(own) - own / 2
    if distinct.size > MOST_KNOTS:
        chosen = np.searchsorted(share, np.linspace(share[0], share[-1], MOST_KNOTS))
        chosen = np.unique(np.append(chosen.clip(max=distinct.size - 1), [0, distinct.size - 1]))
        distinct, share = distinct[chosen], share[chosen]
    return Quantile(distinct, share)


def scaled(scale: Scale, value: Float64[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
    """Returns numbers on a scale; NaN stays so.

    >>> scaled(Quantile(np.array([1.0, 2.0, 5.0]), np.array([0.25, 0.5, 0.75])), np.array([1.0, 2.0, 9.0])).round(2)
    array([-0.67,  0.  ,  0.67])
    """
    if isinstance(scale, Standard):
        return (value - scale.mean) / scale.deviation
    return ndtri(np.interp(value, scale.value, scale.share))


def _in_column(scale: Scale, value: Float64[np.ndarray, " row"]) -> Float32[np.ndarray, " row"]:
    """Numbers of a table as they stand in a column."""
    with np.errstate(over="ignore"):
        return scaled(scale, value).astype(np.float32)


def _rank_of(value: Float64[np.ndarray, "*shape"]) -> Int64[np.ndarray, "*shape"]:
    """The rank of floats among all floats: whole numbers can be halved where floats cannot."""
    bits = value.view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _float_at(rank: Int64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """The float of a rank."""
    return np.where(rank < 0, np.iinfo(np.int64).min - rank, rank).view(np.float64)
