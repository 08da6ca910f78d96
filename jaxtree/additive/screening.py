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
from jaxtree.additive.terms import pair_terms
from jaxtree.kernels.layout import Layout

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
    shapes, shape_of = np.unique(layout.num_bins, axis=0, return_inverse=True)
    for number, shape in enumerate(shapes.tolist()):
        if min(shape) < 2:
            continue
        terms = np.flatnonzero(shape_of.reshape(-1) == number)
        places = layout.first[terms, None] + np.arange(shape[0] * shape[1])
        tables = [own[places].reshape(-1, *shape) for own in sums]
        gradient, weight, rows = map(_quadrants, tables)
        is_allowed = (rows >= min_rows) & (weight > 0)
        each = gradient.astype(np.float64) ** 2 / np.maximum(weight, 1)
        # A point whose quadrants are all allowed but one saves what the others do.
        total = np.where(is_allowed, each, 0.0).sum(axis=0)
        of_all = [own.sum(axis=(1, 2)).astype(np.float64) for own in tables[:2]]
        whole = of_all[0] ** 2 / np.maximum(of_all[1], 1.0)
        saved[terms] = np.maximum(total.max(axis=(1, 2)) - whole, 0.0)
    return saved


def _quadrants(
    tables: Int64[np.ndarray, "term row column"],
) -> Int64[np.ndarray, "quadrant term point_row point_column"]:
    """Returns the sums of the four quadrants around every point between cells."""
    running = tables.cumsum(axis=1).cumsum(axis=2)
    low, left, up = running[:, :-1, :-1], running[:, :-1, -1:], running[:, -1:, :-1]
    return np.stack([low, left - low, up - low, running[:, -1:, -1:] - left - up + low])
