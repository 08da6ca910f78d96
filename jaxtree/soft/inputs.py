"""Tables as the rows that soft trees read: numbers scaled, categories one-hot or means, missing values as indicators.

A *value* is what a hard tree compares: a number, or the code of a category, NaN where one is missing
(`Encoder.values`). A *column* is one of the soft tree's features: a scaled number, a category (0 or 1), the mean target
of the row's category (`jaxtree.soft.statistics`), or, after all of these, an *indicator* (1 where the value is missing,
and its columns are 0).
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int, Int64, Real

from jaxtree.arrays import AnyArray, library_of
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.soft.form import check_option
from jaxtree.soft.scales import SCALINGS, Quantile, Scale, Standard, fit_scale, has_far_ends, scaled
from jaxtree.soft.statistics import Statistics, fit_statistics, ordered_statistics
from jaxtree.table.schema import Schema

INDICATORS = ("seen", "all")
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


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """The map from values to rows of a soft tree.

    Attributes:
        schema: The schema of the values.
        scales: The scale of every feature, or the statistics of its categories; None for categories that are one-hot.
        first: The first column of every feature.
        with_indicator: The features that have an indicator.
    """

    schema: Schema
    scales: tuple[Scale | Statistics | None, ...]
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
    def has_statistics(self) -> bool:
        """Whether categories of any feature have statistics."""
        return any(isinstance(scale, Statistics) for scale in self.scales)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column."""
        names = []
        of_columns = zip(self.schema.column_names, self.schema.num_values.tolist(), self.scales, strict=True)
        for number, (name, num_values, scale) in enumerate(of_columns):
            width = self.width(number)
            if isinstance(scale, Statistics):
                places = [""] if width == 1 else [f", {place}" for place in range(width)]
                names += [f"mean({name}{place})" for place in places]
            elif scale is None and num_values > 0:
                names += [self.schema.category_in_words(number, code) for code in range(width)]
            else:
                names.append(name)
        indicated = (self.schema.column_names[feature] for feature in self.with_indicator.tolist())
        return (*names, *(f"{name} is missing" for name in indicated))

    def width(self, feature: int) -> int:
        """The number of columns of a feature; one, of zeros, if it has no category."""
        return width_of(self.scales[feature], int(self.schema.num_values[feature]))

    def columns_of(self, feature: int) -> range:
        """The columns of a feature, its indicator left aside."""
        return range(int(self.first[feature]), int(self.first[feature]) + self.width(feature))

    def transform(self, values: Real[AnyArray, "row value"]) -> Float[AnyArray, "row column"]:
        """Returns the rows of a soft tree, in float32; of an array of JAX in a program, too.

        A missing value of a feature without an indicator is 0 in its columns: a mean number, or no category.

        Raises InvalidInputError if there is another number of features than in fit.
        """
        _check_width(values, self.schema)
        library, parts = library_of(values), []
        for feature, scale in enumerate(self.scales):
            # On the host in 64 bits, in a program in those of the values.
            value = values[:, feature] if library is not np else np.asarray(values[:, feature], np.float64)
            if isinstance(scale, Statistics):
                part = library.nan_to_num(scale.of_codes(value), nan=0.0)
            elif scale is not None:
                part = library.nan_to_num(scaled(scale, value), nan=0.0)[:, None]
            else:
                part = value[:, None] == np.arange(self.width(feature))
            parts.append(part.astype(np.float32))
        parts.append(library.isnan(values[:, self.with_indicator]).astype(np.float32))
        return library.concatenate(parts, axis=1)

    def transform_ordered(
        self,
        values: Real[np.ndarray, "row value"],
        target: Float64[np.ndarray, "row mean"],
        weight: Float[np.ndarray, " row"],
        order: Int[np.ndarray, " row"],
    ) -> Float[np.ndarray, "row column"]:
        """Returns the rows to train a soft tree on: statistics are those of the rows before; else as by `transform`.

        Args:
            values: As in `transform`.
            target: The columns that statistics are means of, as in `fit_inputs`.
            weight: The weights of the rows.
            order: The rows, one after the other.
        """
        rows = self.transform(values)
        for feature, scale in enumerate(self.scales):
            if isinstance(scale, Statistics):
                columns, value = self.columns_of(feature), np.asarray(values[:, feature], np.float64)
                ordered = ordered_statistics(scale, value, target, weight, order)
                rows[:, columns.start : columns.stop] = np.nan_to_num(ordered, nan=0.0)
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
        return instance_of(Standard | Quantile, self.scales[feature])


def fit_inputs(
    values: Real[np.ndarray, "row value"],
    schema: Schema,
    *,
    scaling: str = "standard",
    indicators: str = "seen",
    weight: Float[np.ndarray, " row"] | None = None,
    one_hot_max_size: int | None = None,
    target: Float64[np.ndarray, "row mean"] | None = None,
) -> Inputs:
    """Learns how values become rows of a soft tree.

    Args:
        values: Numbers, and codes of categories, NaN where one is missing: `Encoder.values`.
        schema: Their schema. Categorical features become one-hot, or statistics; all others are numbers.
        scaling: "standard", mean 0 and standard deviation 1, but as "quantile" for a column of which nine tenths of the
            rows take less than a ten-thousandth of its range; "quantile", a normal distribution, whatever the column's
            own; or "none".
        indicators: "seen": features that have a missing value have an indicator; "all": all features have one.
        weight: The weights of the rows.
        one_hot_max_size: The most categories of a feature that is one-hot. A feature of more has statistics, a column
            for each of the target's, unless it has no more categories than the target has columns; None for all
            one-hot.
        target: The columns that statistics are means of; None for all one-hot.

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
    most = np.inf if one_hot_max_size is None or target is None else max(one_hot_max_size, target.shape[1])

    def scale_of(number: int, value: Float64[np.ndarray, " row"]) -> Scale | Statistics | None:
        if not schema.is_categorical[number]:
            is_far = scaling == "standard" and has_far_ends(value, weight)
            return fit_scale(value, weight, "quantile" if is_far else scaling)
        size = int(schema.num_values[number])
        return fit_statistics(value, size, target, weight) if target is not None and size > most else None

    scales = tuple(scale_of(number, np.asarray(value, np.float64)) for number, value in enumerate(values.T))
    widths = np.array([width_of(*pair) for pair in zip(scales, schema.num_values.tolist(), strict=True)])
    is_indicated = np.isnan(values).any(axis=0) if indicators == "seen" else np.ones(len(widths), bool)
    return Inputs(schema, scales, np.cumsum(widths) - widths, np.flatnonzero(is_indicated))


def width_of(scale: Scale | Statistics | None, num_values: int) -> int:
    """Returns the number of columns of a feature of so many categories, if it has any."""
    if isinstance(scale, Statistics):
        return scale.value.shape[1]
    return max(num_values, 1) if scale is None else 1


def _check_width(values: Real[AnyArray, "row value"], schema: Schema) -> None:
    if values.shape[1] != schema.num_features:
        raise InvalidInputError(f"values must have {schema.num_features} features, got {values.shape[1]}")


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
