"""How growth may split the features of a table, and how many codes these have."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int32, UInt32

from jaxtree import buckets
from jaxtree.dataset.dataset import Dataset
from jaxtree.growth.inputs.bundles import Features
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind


class FeatureOptions(NamedTuple):
    """How growth may split the features of a table.

    Attributes:
        category_kind: How categorical features are split.
        monotone: The constraint of every feature, or None.
        sets: The sets that every feature belongs to, a bit each, if only those of one may occur on a path.
        closest: How far apart values must lie to be cut apart.
        most_average_categories: Categorical features of at least so many are left out of C4.5's average gain.
        draws_thresholds: Whether thresholds are drawn between values, not codes.
    """

    category_kind: SplitKind = SplitKind.SUBSET
    monotone: Int[np.ndarray, " feature"] | None = None
    sets: UInt32[np.ndarray, "feature word"] | None = None
    closest: float = 0.0
    most_average_categories: float = np.inf
    draws_thresholds: bool = False


class Widths(NamedTuple):
    """The number of values of every feature, which is its code for a missing one, and of its codes."""

    num_values: Int32[np.ndarray, " feature"]
    num_codes: Int32[np.ndarray, " feature"]

    @property
    def num_bins(self) -> int:
        """The number of bins of all features, padded to a bucket."""
        return buckets.bin_bucket(max(int(self.num_codes.max()), 2))


def widths_of(datasets: Sequence[Dataset]) -> Widths:
    """Returns the widths that suit all datasets."""
    schemas = [data.schema for data in datasets]
    num_values = np.max([schema.num_values for schema in schemas], axis=0)
    has_missing = np.any([schema.num_codes > schema.num_values for schema in schemas], axis=0)
    return Widths(num_values, (num_values + has_missing).astype(np.int32))


def features_of(schema: Schema, options: FeatureOptions, widths: Widths, padding: int) -> Features:
    """Returns the features of growth: how each may be split, padded with empty ones.

    Args:
        schema: The features of the table.
        options: How they may be split.
        widths: Their numbers of codes.
        padding: The number of empty features behind them.
    """
    kind = np.where(schema.is_categorical, options.category_kind, SplitKind.THRESHOLD)
    in_average = ~schema.is_categorical | (schema.num_values < options.most_average_categories)
    in_average = in_average if in_average.any() else np.ones_like(in_average)
    apart = schema.first_apart(options.closest) if options.closest else None
    if apart is not None:
        apart = np.pad(apart, ((0, padding), (0, max(widths.num_bins - apart.shape[1], 0))))
    monotone = None if options.monotone is None else options.monotone.astype(np.int32)
    padded = (kind.astype(np.int32), widths.num_codes, widths.num_values, monotone, in_average)
    if padding:
        padded = (None if values is None else np.pad(values, (0, padding)) for values in padded)
    position = _positions(schema, widths.num_bins, padding) if options.draws_thresholds else None
    sets = None if options.sets is None else np.pad(options.sets, ((0, padding), (0, 0)))
    return Features(*padded, first_apart=apart, position=position, sets=sets)


def _positions(schema: Schema, num_bins: int, padding: int) -> Float64[np.ndarray, "feature code"]:
    """Returns the middle of every bin, and the codes themselves where a feature has none."""
    position = np.tile(np.arange(num_bins, dtype=np.float64), (schema.num_features + padding, 1))
    for row, feature in zip(position, schema.features, strict=False):
        bins = schema.columns[feature.column].bins
        if bins is not None:
            row[: bins.num_bins] = bins.low / 2 + bins.high / 2
    return position
