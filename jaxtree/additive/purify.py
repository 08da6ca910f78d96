"""Pairs without main effects: what a pair's surface has of its features alone goes to their own terms.

A surface is *pure* if the weighted mean of each of its rows and columns is 0: functional analysis of variance with the
weights of the data (Lengerich et al., *Purifying interaction effects with the functional ANOVA*, AISTATS 2020). The
part that leaves is the weighted least squares fit of a row effect and a column effect, so that one solution of a small
system is exact, where repeated subtraction of means converges.
"""

import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float64
from threadpoolctl import ThreadpoolController

from jaxtree.kernels.layout import Layout, TermKind


def additive_part(
    surface: Float64[np.ndarray, "row column score"], weight: Float64[np.ndarray, "row column"]
) -> tuple[Float64[np.ndarray, "row score"], Float64[np.ndarray, "column score"]]:
    """Returns the effects of the rows and columns of a surface, whose removal makes it pure.

    Args:
        surface: The values.
        weight: The weight of every cell.

    Example: this surface is the sum of effects.
        >>> rows, columns = additive_part(np.array([[[1.0], [2.0]], [[3.0], [4.0]]]), np.ones((2, 2)))
        >>> (rows[:, None] + columns[None])[..., 0].round(12).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    num_rows = len(weight)
    of_row, of_column = weight.sum(axis=1), weight.sum(axis=0)
    system = np.block([[np.diag(of_row), weight], [weight.T, np.diag(of_column)]])
    sums = np.concatenate([np.einsum("rc,rcs->rs", weight, surface), np.einsum("rc,rcs->cs", weight, surface)])
    # A constant may be in rows or in columns, and bins without rows have no effect: the least solution.
    effects = np.linalg.lstsq(system, sums, rcond=1e-12)[0]
    return effects[:num_rows], effects[num_rows:]


def purify(
    layout: Layout, values: Float64[np.ndarray, "place score"], weight: Float64[np.ndarray, " place"]
) -> tuple[Float64[np.ndarray, " score"], Float64[np.ndarray, "place score"]]:
    """Returns the same function with pure pairs and centred terms: what moves to the intercept, and the values.

    Missing values and categories that no row of the fit had add nothing.

    Args:
        layout: The terms; the features of pairs have terms of their own, whose bins lie within those of pairs.
        values: The values of all bins.
        weight: The weight of the rows of every bin.
    """
    values = values.copy()
    pairs = np.flatnonzero(layout.features[:, 1] >= 0).tolist()
    if pairs:
        # Threads for systems so small wait longer than they work.
        with _algebra().limit(limits=1):
            _purify_pairs(pairs, layout, values, weight)
    intercept = np.zeros(values.shape[1])
    for term in np.flatnonzero(layout.features[:, 1] < 0).tolist():
        places = layout.places(term)
        total = weight[places].sum()
        mean = weight[places] @ values[places] / total if total > 0 else np.zeros(values.shape[1])
        values[places] -= mean
        intercept += mean
    values[unknown_places(layout, weight)] = 0
    return intercept, values


@functools.cache
def _algebra() -> ThreadpoolController:
    """The libraries of linear algebra of this process, which are looked up once."""
    return ThreadpoolController()


def _purify_pairs(
    pairs: Sequence[int],
    layout: Layout,
    values: Float64[np.ndarray, "place score"],
    weight: Float64[np.ndarray, " place"],
) -> None:
    """Moves what pairs have of their features alone to the terms of these."""
    own_term = {int(first): term for term, (first, second) in enumerate(layout.features) if second < 0}
    for term in pairs:
        shape, places = layout.num_bins[term], layout.places(term)
        surface = values[places].reshape(*shape, -1)
        effects = additive_part(surface, weight[places].reshape(shape))
        values[places] = (surface - effects[0][:, None] - effects[1][None]).reshape(-1, values.shape[1])
        for side, effect in enumerate(effects):
            main = own_term[int(layout.features[term, side])]
            coarse = layout.bins[term, side, layout.first_code[main, 0, : layout.size[main]]]
            values[layout.places(main)] += effect[coarse]


def unknown_places(layout: Layout, weight: Float64[np.ndarray, " place"]) -> Bool[np.ndarray, " place"]:
    """Returns which bins are of missing values or categories that no row had; cells of pairs are, if a side is."""
    is_unknown = np.zeros(layout.num_places, bool)
    for term, kind in enumerate(layout.kind):
        places, shape = layout.places(term), layout.num_bins[term]
        cells = weight[places].reshape(shape)
        own = np.zeros(shape, bool)
        if kind == TermKind.SUBSET:
            own = cells <= 0
        elif cells[-1].sum() <= 0:
            own[-1] = True
        if kind == TermKind.PAIR and cells[:, -1].sum() <= 0:
            own[:, -1] = True
        is_unknown[places] = own.ravel()
    return is_unknown
