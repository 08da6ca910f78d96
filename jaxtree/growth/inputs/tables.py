"""Which features are scored together, and how wide their tables and subsets are."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int32

from jaxtree.arrays import AnyArray
from jaxtree.buckets import bin_bucket, feature_bucket, subset_bins
from jaxtree.growth.inputs.bundles import Features, is_concrete
from jaxtree.kernels.walk import CODES_PER_WORD
from jaxtree.tree import SplitKind

MOST_BINS_TABLED = 256
"""Features of more codes are scanned where they can be: their histograms would be mostly empty, see
`jaxtree.growth.device.sorted_scan`."""


class TableShape(NamedTuple):
    """The features of one table plan: their number, their number of codes, and their kind of split."""

    num_features: int
    num_bins: int
    kind: SplitKind


class SubsetSizes(NamedTuple):
    """The sizes of subsets of codes; 0 where no feature is split by them.

    Attributes:
        num_words: The number of words of a subset.
        num_bins: The number of codes of the feature that has most, of those split by subsets.
    """

    num_words: int
    num_bins: int


def list_features(
    features: Features, num_bins: int, kinds: tuple[SplitKind, ...] | None, most_bins_tabled: int
) -> tuple[tuple[TableShape, ...], tuple[Int32[AnyArray, " listed"], ...]]:
    """Divides the features into tables and a scan: that of thresholds of more than `most_bins_tabled` codes.

    Returns:
        The shape of every table, and the features of every table and then of the scan. If features are traced, every
        table has room for all.
    """
    number = np.arange(features.split_kind.shape[0], dtype=np.int32)
    nothing = np.zeros(0, np.int32)
    if not is_concrete(features.split_kind, features.num_codes):
        kinds, past_all = kinds or (SplitKind.THRESHOLD,), np.int32(number.size)
        is_there = jnp.asarray(features.num_codes) > 0
        lists = [jnp.sort(jnp.where(is_there & (features.split_kind == kind), number, past_all)) for kind in kinds]
        return tuple(TableShape(number.size, num_bins, kind) for kind in kinds), (*lists, nothing)
    kind, num_codes = np.asarray(features.split_kind), np.asarray(features.num_codes)
    is_scanned = (kind == SplitKind.THRESHOLD) & (num_codes > most_bins_tabled)
    shapes, lists = [], []
    for k in SplitKind:
        listed = number[(kind == k) & ~is_scanned & ((num_codes > 0) | (k == SplitKind.THRESHOLD))]
        if not np.any(num_codes[listed]):
            continue
        if k != SplitKind.THRESHOLD or listed.size < number.size:
            listed = _padded(listed[num_codes[listed] > 0], number.size)
        most = int(num_codes[listed[listed < number.size]].max())
        shapes.append(TableShape(listed.size, _width_of_table(k, most, num_bins), k))
        lists.append(listed)
    return tuple(shapes), (*lists, _padded(number[is_scanned], number.size))


def tables_of_kinds(features: Features, num_bins: int) -> tuple[TableShape, ...]:
    """Returns the shape of the table of every kind of features, given NumPy's arrays; no feature is scanned."""
    shapes = []
    for kind in SplitKind:
        num_codes = features.num_codes[features.split_kind == kind]
        if num_codes.any():
            shapes.append(TableShape(num_codes.size, _width_of_table(kind, int(num_codes.max()), num_bins), kind))
    return tuple(shapes)


def _width_of_table(kind: SplitKind, most_codes: int, num_bins: int) -> int:
    """Returns the number of codes of a table, given that of its feature that has most."""
    if kind == SplitKind.SUBSET:
        return min(num_bins, subset_bins(most_codes))
    return min(num_bins, bin_bucket(max(most_codes, 8 * (kind != SplitKind.THRESHOLD))))


def _padded(listed: Int32[np.ndarray, " listed"], padding: int) -> Int32[np.ndarray, " padded"]:
    """Pads a list of features to a bucket with a number that no feature has."""
    return np.pad(listed, (0, feature_bucket(listed.size) - listed.size), constant_values=padding)


def sizes_of_subsets(shapes: tuple[TableShape, ...], num_bins: int) -> SubsetSizes:
    """Returns the sizes of the subsets of a growth, from the shapes of its tables and the codes of all features."""
    with_subsets = [shape.num_bins for shape in shapes if shape.kind == SplitKind.SUBSET]
    if not with_subsets:
        return SubsetSizes(0, 0)
    # Words have bits for all codes of a bucket, so that they do not depend on the table that finds the subset.
    widest = min(num_bins, bin_bucket(max(8, *with_subsets)))
    # As wide as any table that is not scanned, so that a tree's arrays do not depend on how it is grown.
    tabled = [shape.num_bins for shape in shapes if shape.num_bins <= MOST_BINS_TABLED]
    return SubsetSizes(-(-max([*tabled, widest]) // CODES_PER_WORD), widest)
