"""The terms of an additive model, and where their bins lie in one table of all bins.

A *term* is a function of one feature or of two. Its *bins* are sets of codes of the table, or cells of two such sets;
the model has a value, its *step*, for each. The bins of all terms follow one another in one table, in which a row has
one place a term: so a model is a sum of values in this table, and sums over rows are arrays over it.

In *running form*, in which a step of a few leaves changes sums by a few numbers, there stands at a known bin of an
ordered term the sum over all bins up to it, at a cell of a pair the sum over all cells that are behind it on no axis,
and at any other bin its own.
"""

import dataclasses
import enum
import functools
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Int, Int32, Int64, UInt, UInt16


class TermKind(enum.IntEnum):
    """How a step may divide the bins of a term.

    ORDERED: into stretches of bins that follow each other; the last bin, of missing values, is on its own.
    SUBSET: into any groups of bins.
    PAIR: by a tree of two levels, one for each of two features, whose bins are in order.
    """

    ORDERED = 0
    SUBSET = 1
    PAIR = 2


@dataclasses.dataclass(frozen=True)
class Layout:
    """The terms of a model.

    Attributes:
        kind: The `TermKind` of every term.
        features: The features of every term; the second is -1 but of pairs.
        bins: The bin of every code on both axes, 0 past the codes of a feature and on the second axis of no pair.
        num_bins: The bins on both axes, that of missing values, which is the last, included; 1 on the second axis of
            no pair.
        monotone: How the score may go as the feature rises: 1, -1 or 0, of terms of one ordered feature.
    """

    kind: Int32[np.ndarray, " term"]
    features: Int32[np.ndarray, "term 2"]
    bins: UInt16[np.ndarray, "term 2 code"]
    num_bins: Int32[np.ndarray, "term 2"]
    monotone: Int32[np.ndarray, " term"]

    @property
    def num_terms(self) -> int:
        """The number of terms."""
        return len(self.kind)

    @functools.cached_property
    def key(self) -> Hashable:
        """The key of layouts of equal terms."""
        arrays = [getattr(self, field.name) for field in dataclasses.fields(self)]
        return tuple((own.shape, own.tobytes()) for own in arrays)

    @functools.cached_property
    def size(self) -> Int32[np.ndarray, " term"]:
        """The number of bins of every term."""
        return self.num_bins.prod(axis=1, dtype=np.int32)

    @functools.cached_property
    def first(self) -> Int32[np.ndarray, " term_1"]:
        """The place of the first bin of every term in the table, and behind the last the number of all bins."""
        return np.append(0, np.cumsum(self.size)).astype(np.int32)

    @property
    def num_places(self) -> int:
        """The number of bins of all terms."""
        return int(self.first[-1])

    @functools.cached_property
    def first_code(self) -> Int64[np.ndarray, "term 2 bin"]:
        """The first code of every bin on both axes; past the bins of a term the number of all codes."""
        number, codes = self.num_terms, self.bins.shape[2]
        first = np.full((number, 2, int(self.num_bins.max(initial=1))), codes)
        # Codes that pad have bin 0, as an earlier code of the feature has.
        np.minimum.at(first, (np.arange(number)[:, None, None], np.arange(2)[:, None], self.bins), np.arange(codes))
        return first

    def places(self, term: int) -> slice:
        """The places of the bins of a term."""
        return slice(int(self.first[term]), int(self.first[term + 1]))

    def take(self, terms: Sequence[int] | Int64[np.ndarray, " some"]) -> "Layout":
        """Returns some of the terms."""
        chosen = np.asarray(terms, np.int64)
        return Layout(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))

    def bins_of(self, term: int, codes: UInt[np.ndarray, "feature row"]) -> Int64[np.ndarray, " row"]:
        """Returns the bin of every row in a term.

        Args:
            term: The term.
            codes: The codes of the rows.
        """
        first, second = self.features[term]
        bins = self.bins[term, 0, codes[first]].astype(np.int64)
        return bins if second < 0 else bins * self.num_bins[term, 1] + self.bins[term, 1, codes[second]]


def join_layouts(layouts: Sequence[Layout]) -> Layout:
    """Returns the terms of several layouts, one after another."""
    num_codes = max(layout.bins.shape[2] for layout in layouts)
    padded = [
        dataclasses.replace(own, bins=np.pad(own.bins, ((0, 0), (0, 0), (0, num_codes - own.bins.shape[2]))))
        for own in layouts
    ]
    names = [field.name for field in dataclasses.fields(Layout)]
    return Layout(*(np.concatenate([getattr(own, name) for own in padded]) for name in names))


def to_running(layout: Layout, sums: Int[np.ndarray, "some place"]) -> Int[np.ndarray, "some place"]:
    """Returns sums of bins in running form.

    >>> kind, features = np.zeros(1, np.int32), np.array([[0, -1]], np.int32)
    >>> bins, num_bins = np.array([[[0, 1, 2], [0, 0, 0]]], np.uint16), np.array([[3, 1]], np.int32)
    >>> layout = Layout(kind, features, bins, num_bins, monotone=kind)
    >>> to_running(layout, np.array([[1, 2, 7]]))
    array([[1, 3, 7]])
    """
    return _for_terms(layout, sums, np.cumsum)


def to_plain(layout: Layout, sums: Int[np.ndarray, "some place"]) -> Int[np.ndarray, "some place"]:
    """Returns the sums of bins by themselves, from their running form."""
    return _for_terms(layout, sums, lambda own, axis: np.diff(own, axis=axis, prepend=own.dtype.type(0)))


def _for_terms(
    layout: Layout, sums: Int[np.ndarray, "some place"], change: Callable[..., np.ndarray]
) -> Int[np.ndarray, "some place"]:
    changed = sums.copy()
    for term in range(layout.num_terms):
        first, second = layout.num_bins[term]
        own = changed[:, layout.places(term)]
        if layout.kind[term] == TermKind.ORDERED:
            own[:, : first - 1] = change(own[:, : first - 1], axis=1)
        elif layout.kind[term] == TermKind.PAIR:
            cells = own.reshape(-1, first, second)
            own[:] = change(change(cells, axis=1), axis=2).reshape(own.shape)
    return changed
