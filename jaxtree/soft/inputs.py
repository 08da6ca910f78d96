"""Tables as the rows that soft trees read: numbers scaled, categories one-hot, missing values as indicators.

A *value* is what a hard tree compares: a number, or the code of a category, NaN where one is missing
(`Encoder.values`). A *column* is one of the soft tree's features: a scaled number, a category (0 or 1), or, after all
of these, an *indicator* (1 where the value is missing, and its columns are 0).
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Float64, Int, Real

from jaxtree.errors import InvalidInputError
from jaxtree.soft.scaling import SCALINGS, Scale, fit_scale, scaled, unscaled
from jaxtree.table.schema import Schema

INDICATORS = ("seen", "all")


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """How values become rows of a soft tree.

    Attributes:
        schema: What the values mean.
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
        """The columns that every indicator speaks of: `SoftForm.missing`."""
        return tuple(tuple(self.columns_of(feature)) for feature in self.with_indicator.tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """What every column tells, in words."""
        names = []
        for number, feature in enumerate(self.schema.features):
            codes = range(self.width(number))
            is_number = self.scales[number] is not None
            names += [feature.name] if is_number else [self.schema.category_in_words(number, code) for code in codes]
        indicated = (self.schema.features[feature].name for feature in self.with_indicator.tolist())
        return (*names, *(f"{name} is missing" for name in indicated))

    def width(self, feature: int) -> int:
        """The number of columns of a feature."""
        return 1 if self.scales[feature] is not None else self.schema.features[feature].num_values

    def columns_of(self, feature: int) -> range:
        """The columns of a feature, its indicator left aside."""
        return range(int(self.first[feature]), int(self.first[feature]) + self.width(feature))

    def transform(self, values: Real[np.ndarray, "row value"]) -> Float[np.ndarray, "row column"]:
        """Returns the rows of a soft tree, in float32.

        What is missing of a feature without an indicator is 0 in its columns: a mean number, or no category.

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
        """What numbers of a feature, such as thresholds, are in its column."""
        return scaled(self._scale(feature), value)

    def unscale_values(self, feature: int, value: Float64[np.ndarray, " value"]) -> Float64[np.ndarray, " value"]:
        """The way back from `scale_values`: thresholds in units of the table."""
        return unscaled(self._scale(feature), value)

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
        schema: What they mean. Categorical features become one-hot; all others are numbers.
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
    for name, given, allowed in (("scaling", scaling, SCALINGS), ("indicators", indicators, INDICATORS)):
        if given not in allowed:
            raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")
    _check_width(values, schema)
    if not len(values):
        raise InvalidInputError("inputs are learned from at least one row, got none")
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    scales = tuple(
        None if is_category else fit_scale(np.asarray(value, np.float64), weight, scaling)
        for is_category, value in zip(schema.is_categorical, values.T, strict=True)
    )
    widths = np.where(schema.is_categorical, schema.num_values, 1)
    is_indicated = np.isnan(values).any(axis=0) if indicators == "seen" else np.ones(len(widths), bool)
    return Inputs(schema, scales, np.cumsum(widths) - widths, np.flatnonzero(is_indicated))


def _check_width(values: Real[np.ndarray, "row value"], schema: Schema) -> None:
    if values.shape[1] != schema.num_features:
        raise InvalidInputError(f"values must have {schema.num_features} features, got {values.shape[1]}")
