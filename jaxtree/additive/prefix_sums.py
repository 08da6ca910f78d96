"""Sums over the bins of terms in running form, in which a step of a few leaves changes them by a few numbers.

In *running form* there stands at a known bin of an ordered term the sum over all bins up to it, at a cell of a pair the
sum over all cells that are behind it on no axis, and at any other bin its own.
"""

import numpy as np
from jaxtyping import Int

from jaxtree.additive.layout import Layout, TermKind


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


def _for_terms(layout, sums, change):
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
