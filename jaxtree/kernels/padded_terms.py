"""The terms of an additive model as XLA's programs take them: padded, so that models of a like size share a program."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, UInt16

from jaxtree.arrays import AnyArray
from jaxtree.buckets import bin_bucket, pad_to, round_up
from jaxtree.kernels.layout import Layout, TermKind


class ProgramSizes(NamedTuple):
    """The sizes from which a program's shapes follow.

    Attributes:
        places: Places, with room for the widest term behind the last.
        terms: Terms.
        width: The bins of a term.
        subset: The bins of a term of kind `SUBSET`; 0 if there is none.
        grid: The bins of both axes of a pair; 0 if there is none.
        most_leaves: The most leaves of a step on one axis.
    """

    places: int
    terms: int
    width: int
    subset: int
    grid: tuple[int, int]
    most_leaves: int


def sizes_of(layout: Layout, most_leaves: int = 3) -> ProgramSizes:
    """Returns the sizes of a layout's programs, and of steps of so many leaves."""

    def most(numbers):
        return round_up(int(max(numbers)), 8) if len(numbers) else 0

    is_pair = layout.kind == TermKind.PAIR
    grid = most(layout.num_bins[is_pair, 0]), most(layout.num_bins[is_pair, 1])
    width = most(layout.size)
    subset = most(layout.size[layout.kind == TermKind.SUBSET])
    places = round_up(layout.num_places + width, 128)
    return ProgramSizes(places, round_up(layout.num_terms, 8), width, subset, grid, round_up(most_leaves, 3))


class PaddedTerms(NamedTuple):
    """The terms, and others that have no bins.

    Attributes:
        number: The number of terms.
        kind: Their kinds.
        features: The features of both axes; that of an axis that there is not is 0, whose bins are all 0.
        bins: The bin of every code on both axes.
        num_bins: The bins on both axes.
        first: The place of the first bin.
        monotone: How the score may go.
    """

    number: Int32[AnyArray, ""]
    kind: Int32[AnyArray, " term"]
    features: Int32[AnyArray, "term 2"]
    bins: UInt16[AnyArray, "term 2 code"]
    num_bins: Int32[AnyArray, "term 2"]
    first: Int32[AnyArray, " term"]
    monotone: Int32[AnyArray, " term"]


def pad_terms(layout: Layout) -> PaddedTerms:
    """Returns the terms of a layout, padded to its sizes."""
    size, num_codes = sizes_of(layout).terms, layout.bins.shape[2]
    bins = np.pad(layout.bins, ((0, 0), (0, 0), (0, bin_bucket(num_codes) - num_codes)))
    padded = (layout.kind, np.maximum(layout.features, 0), bins, layout.num_bins, layout.first[:-1], layout.monotone)
    return PaddedTerms(np.array(layout.num_terms, np.int32), *(pad_to(own, size) for own in padded))


class PaddedPlaces(NamedTuple):
    """The rows that stand at a place of sums in running form.

    Attributes:
        term: The term of a place; of a place that pads, 0.
        bins: The bins of the place on both axes; -1 at a place that pads.
        is_running: Whether rows of lower bins stand there, too.
    """

    term: Int32[AnyArray, " place"]
    bins: Int32[AnyArray, "place 2"]
    is_running: Bool[AnyArray, " place"]


def pad_places(layout: Layout) -> PaddedPlaces:
    """Returns the places of a layout, padded to its sizes."""
    size = sizes_of(layout).places
    term = np.repeat(np.arange(layout.num_terms, dtype=np.int32), layout.size)
    own = np.arange(layout.num_places, dtype=np.int32) - layout.first[term]
    bins = np.stack(np.divmod(own, layout.num_bins[term, 1]), axis=1).astype(np.int32)
    is_known = (layout.kind[term] == TermKind.ORDERED) & (own < layout.size[term] - 1)
    is_running = is_known | (layout.kind[term] == TermKind.PAIR)
    return PaddedPlaces(pad_to(term, size), pad_to(bins, size, fill=-1), pad_to(is_running, size))


def pad_last(values: np.ndarray, size: int) -> np.ndarray:
    """Pads an array's last axis to a size, with zeros."""
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, size - values.shape[-1])])
