"""How right orders within groups are: the gain of every group, and how relevant the rows at every rank are."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from jaxtree.metrics.ranking import ndcg_of_groups

MOST_RANKS = 20
"""Ranks whose mean relevance is drawn."""


class RankedGroups(NamedTuple):
    """Groups of rows with an order.

    Attributes:
        names: The groups.
        size: Their numbers of rows.
        ndcg: The normalised discounted cumulative gain of each.
        weight: The weight of each, the mean weight of its rows.
        mean: The mean of `ndcg` by these weights.
        predicted: The mean relevance at every rank, in the order of the scores.
        best: The same in the best order.
        random: The same in a random order.
    """

    names: list[str]
    size: Int[np.ndarray, " group"]
    ndcg: Float[np.ndarray, " group"]
    weight: Float[np.ndarray, " group"]
    mean: float
    predicted: Float[np.ndarray, " rank"]
    best: Float[np.ndarray, " rank"]
    random: Float[np.ndarray, " rank"]


def ranked_groups(
    group: Any,
    relevance: Real[np.ndarray, " row"],
    score: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    at: int | None = None,
) -> RankedGroups:
    """Returns how right the orders of groups are.

    Args:
        group: The group of every row.
        relevance: How relevant it is.
        score: By which rows are ordered, the highest first.
        weight: The weight of every row, above 0.
        at: How many rows of a group count; None counts all.

    Example:
        >>> found = ranked_groups([7, 7, 8], np.array([0, 1, 1]), np.array([0.9, 0.1, 0.5]), np.ones(3))
        >>> found.names, found.ndcg.round(2).tolist(), found.predicted.tolist(), found.best.tolist()
        (['7', '8'], [0.63, 1.0], [0.5, 1.0], [1.0, 0.0])
    """
    names, place, size = np.unique(np.asarray(group), return_inverse=True, return_counts=True)
    of_group = np.bincount(place, weight) / size
    found = ndcg_of_groups(relevance, score, group=place, k=at, sample_weight=weight)

    def by_rank(order_by: Real[np.ndarray, " row"]) -> Float[np.ndarray, " rank"]:
        order = np.lexsort((-order_by, place))
        rank = np.arange(len(order)) - (np.cumsum(size) - size)[place[order]]
        kept = rank < MOST_RANKS
        order, rank = order[kept], rank[kept]
        total = np.bincount(rank, of_group[place[order]])
        return np.bincount(rank, of_group[place[order]] * relevance[order]) / total

    predicted, best = by_rank(score), by_rank(relevance)
    random = np.full(len(best), float(np.average(relevance, weights=weight)))
    mean = float(np.average(found, weights=of_group))
    return RankedGroups(list(map(str, names)), size, found, of_group, mean, predicted, best, random)
