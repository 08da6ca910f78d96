"""Which pairs of features interact: what the best four quadrants of each pair's table would save (FAST).

Lou, Caruana, Gehrke and Hooker, *Accurate intelligible models with pairwise interactions*, KDD 2013. The tables of all
pairs hold the sums of gradients and second derivatives at the scores of the terms of single features; the best point
divides a table into four quadrants, of which each makes a Newton step. So a pair costs one reading of rows, and its
points cost the size of its table.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int32, Int64

from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.layout import Layout
from jaxtree.additive.terms import pair_terms

PAIRS_AT_A_TIME = 256
"""Pairs whose tables are held at once."""


def savings_of_pairs(
    pairs: Sequence[tuple[int, int]],
    axes: Sequence[Int64[np.ndarray, " _code"]],
    codes: CodedRows,
    gradient: Int64[np.ndarray, "score row"],
    weight: Int32[np.ndarray, "score row"],
    min_rows: int,
) -> Float64[np.ndarray, " pair"]:
    """Returns what the best quadrants of every pair save beyond one step for all rows, in units of the quadratic.

    Args:
        pairs: The features of each.
        axes: The bin of every code of each feature.
        codes: The codes of the rows.
        gradient: Their gradients.
        weight: Their second derivatives.
        min_rows: The least rows of a quadrant.
    """
    saved = np.zeros(len(pairs))
    rows = (weight[0] > 0).astype(np.int64)
    for first in range(0, len(pairs), PAIRS_AT_A_TIME):
        layout = pair_terms(pairs[first : first + PAIRS_AT_A_TIME], axes)
        (number,) = codes.bin_sums(layout, rows[None])
        for own_gradient, own_weight in zip(gradient, weight, strict=True):
            sums = codes.bin_sums(layout, np.stack([own_gradient, own_weight.astype(np.int64)]))
            saved[first : first + layout.num_terms] += _best_quadrants(layout, (*sums, number), min_rows)
    return saved


def _best_quadrants(
    layout: Layout, sums: tuple[Int64[np.ndarray, " place"], ...], min_rows: int
) -> Float64[np.ndarray, " term"]:
    saved = np.zeros(layout.num_terms)
    for term in range(layout.num_terms):
        shape, places = layout.num_bins[term], layout.places(term)
        if min(shape) < 2:
            continue
        gradient, weight, rows = (_quadrants(own[places].reshape(shape)) for own in sums)
        is_allowed = (rows >= min_rows) & (weight > 0)
        each = gradient.astype(np.float64) ** 2 / np.maximum(weight, 1)
        # A point whose quadrants are all allowed but one saves what the others do.
        total = np.where(is_allowed, each, 0.0).sum(axis=0)
        whole = float(sums[0][places].sum()) ** 2 / max(float(sums[1][places].sum()), 1.0)
        saved[term] = max(total.max() - whole, 0.0)
    return saved


def _quadrants(table: Int64[np.ndarray, "row column"]) -> Int64[np.ndarray, "quadrant point_row point_column"]:
    """Returns the sums of the four quadrants around every point between cells."""
    running = table.cumsum(axis=0).cumsum(axis=1)
    low, left, up, whole = running[:-1, :-1], running[:-1, -1:], running[-1:, :-1], running[-1, -1]
    return np.stack([low, left - low, up - low, whole - left - up + low])
