"""Which pairs of features are terms: those that are named, or that save most."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.additive.bags import Bag, SharedRows
from jaxtree.additive.rules import AdditiveConfig, Pairs
from jaxtree.additive.screening import savings_of_pairs
from jaxtree.additive.terms import Heredity, candidate_pairs, coarse_axes, leading_values, pair_terms
from jaxtree.errors import present
from jaxtree.kernels.layout import Layout

Ranked = dict[Heredity | None, list[tuple[int, int]]]
"""The pairs that save some of the loss, those that save most first, by those that are compared."""


def pair_layout(
    shared: SharedRows,
    config: AdditiveConfig,
    mains: Layout,
    values_of_scores: Float64[np.ndarray, "score place"],
    ranked: Ranked,
) -> Layout:
    """Returns the terms of the pairs that are named, or that save most of the loss at the mean scores of all bags.

    Args:
        shared: The rows.
        config: The parameters.
        mains: The terms of single features.
        values_of_scores: Their values, mean over the bags.
        ranked: The rankings of pairs of earlier fits with these values; the ranking made here is added.
    """
    counts = shared.counts
    sizes = [len(count) for count in counts]
    rows = np.concatenate(
        [np.bincount(mains.bins[f, 0, : len(n)], n, mains.size[f]) for f, n in enumerate(counts)]
    ).astype(np.int64)  # fmt: skip
    values = leading_values(mains, values_of_scores, rows)
    axes = functools.partial(coarse_axes, sizes, rows, mains, values)
    if not isinstance(config.pairs, int):
        return _fine_pairs(config.pairs, axes, config)
    if config.heredity not in ranked:
        size = np.add.reduceat(np.abs(values_of_scores).sum(axis=0) * rows, mains.first[:-1])
        candidates = candidate_pairs(size, config.heredity)
        # A surface could bend a curve that has one way to go.
        candidates = [pair for pair in candidates if not config.monotone[list(pair)].any()]
        coarse = axes(config.screening_bins)
        ranked[config.heredity] = _ranked(shared, config, mains, values_of_scores, candidates, coarse)
    return _fine_pairs(ranked[config.heredity][: config.pairs], axes, config)


def _ranked(
    shared: SharedRows,
    config: AdditiveConfig,
    mains: Layout,
    values_of_scores: Float64[np.ndarray, "score place"],
    candidates: list[tuple[int, int]],
    coarse: Sequence[Any],
) -> list[tuple[int, int]]:
    """Returns the pairs that save some of the loss, those that save most first."""
    # Rows of the first bag, which are all but of a very long table.
    whole = Bag.of(shared.data, shared.data.bags[0]._replace(is_held=None))
    unit = whole.loss.score_unit * whole.loss.units[:, None]
    scores = whole.codes.row_scores(mains, np.rint(values_of_scores / unit).astype(np.int64))
    reading = whole.loss.read(scores, renews=True)
    saved = savings_of_pairs(
        candidates, coarse, whole.codes, reading.gradient, present(reading.weight), config.pair_rules.min_samples_leaf
    )
    return [candidates[pair] for pair in np.argsort(-saved, kind="stable").tolist() if saved[pair] > 0]


def _fine_pairs(pairs: Pairs, axes_of: Callable[[int], Any], config: AdditiveConfig) -> Layout:
    """Returns the terms of pairs on as many bins as are allowed, or as leave all pairs few enough places."""
    least, most = 2, config.pair_bins
    while least < most:
        bins = (least + most + 1) // 2
        if pair_terms(pairs, axes_of(bins)).num_places <= config.most_places:
            least = bins
        else:
            most = bins - 1
    return pair_terms(pairs, axes_of(least))
