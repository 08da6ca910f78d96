"""Measures of the order of rows within groups, such as the documents of a query.

Rows of a group with equal scores have no order: all measures are means over all orders of such rows (McSherry and
Najork, *Computing information retrieval performance measures efficiently in the presence of tied scores*, ECIR 2008).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.dataset.arguments import numbers_of_groups
from jaxtree.errors import InvalidInputError
from jaxtree.losses.ranking import MOST_RELEVANT
from jaxtree.metrics.survival import numbers_of_rows, weights_of_rows


class _OrderedRows(NamedTuple):
    """Rows by group, and in groups by falling scores.

    Attributes:
        relevance: How relevant every row is.
        group: The number of its group.
        place: Its place in the group, from 1, as if tied rows stood as they stand here.
        tie: The number of the rows of the same group and score.
        size: How many these are.
        weight: The mean weight of the rows of each group.
    """

    relevance: Float[np.ndarray, " row"]
    group: Int[np.ndarray, " row"]
    place: Int[np.ndarray, " row"]
    tie: Int[np.ndarray, " row"]
    size: Int[np.ndarray, " row"]
    weight: Float[np.ndarray, " group"]

    @property
    def num_groups(self) -> int:
        """The number of groups."""
        return len(self.weight)

    def sums(self, values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " group"]:
        """Returns the sums over groups."""
        return np.bincount(self.group, weights=values, minlength=self.num_groups)

    def of_tied(self, values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
        """Returns the sum over the rows tied with each."""
        return np.bincount(self.tie, weights=values)[self.tie]

    def mean(self, values: Float[np.ndarray, " group"]) -> float:
        """Returns the mean over groups."""
        return float(np.average(values, weights=self.weight))


def ndcg(y: Any, score: Any, *, group: Any, k: int | None = None, sample_weight: Any = None) -> float:
    r"""Returns the mean over groups of the normalised discounted cumulative gain.

    $\sum_i (2^{y_i} - 1) / \log_2(1 + r_i)$ over its best value, where $r$ is the place of a row in its group (Järvelin
    and Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20, 2002). A group in which no row is
    relevant counts 1, as in `GradientBoostingRanker.score`.

    Args:
        y: How relevant every row is, a whole number from 0 to 31.
        score: The score that orders rows, the highest first.
        group: The group of every row; rows of a group need not stand together.
        k: How many rows of a group count; None counts all.
        sample_weight: The weight of every row; a group counts with the mean weight of its rows.

    Raises:
        InvalidInputError: An argument has another number of rows, or a value that is not allowed.

    Example: the relevant one of two rows stands second.
        >>> round(ndcg([0, 1], [0.9, 0.1], group=[7, 7]), 4)
        0.6309
    """
    ranked = _rank(y, score, group, sample_weight)
    return ranked.mean(_ndcg(ranked, k))


def ndcg_of_groups(
    y: Any, score: Any, *, group: Any, k: int | None = None, sample_weight: Any = None
) -> Float[np.ndarray, " group"]:
    """Returns the normalised discounted cumulative gain of every group that has a weight; arguments as of `ndcg`."""
    return _ndcg(_rank(y, score, group, sample_weight), k)


def _ndcg(ranked: _OrderedRows, k: int | None) -> Float[np.ndarray, " group"]:
    _check_k(k)
    _check_relevance(ranked.relevance, MOST_RELEVANT)
    gain = np.exp2(ranked.relevance) - 1
    discount = np.where(ranked.place <= (k or len(gain)), 1 / np.log2(ranked.place + 1), 0)
    # Places of a group are the same in the best order.
    best = ranked.sums(gain[np.lexsort((-gain, ranked.group))] * discount)
    got = ranked.sums(gain * ranked.of_tied(discount) / ranked.size)
    return np.divide(got, best, out=np.ones(len(best)), where=best > 0)


def mean_average_precision(y: Any, score: Any, *, group: Any, sample_weight: Any = None) -> float:
    """Returns the mean over groups of the average precision.

    The average precision of a group is the mean, over its relevant rows, of the share of relevant ones among the rows
    down to each. A group in which no row is relevant counts 1.

    Args:
        y: 1 or True of relevant rows, 0 of others.
        score: The score that orders rows, the highest first.
        group: The group of every row.
        sample_weight: The weight of every row; a group counts with the mean weight of its rows.

    Raises:
        InvalidInputError: An argument has another number of rows, or a value that is not allowed.

    Example:
        >>> round(mean_average_precision([0, 1, 1], [3, 2, 1], group=["a", "a", "a"]), 4)
        0.5833
    """
    ranked = _rank(y, score, group, sample_weight)
    _check_relevance(ranked.relevance, 1)
    hits = _RelevantRows.of(ranked)
    rate = np.divide(hits.tied - 1, ranked.size - 1, out=np.zeros(len(hits.tied)), where=ranked.size > 1)
    precision = (hits.above + 1 + (ranked.place - hits.first) * rate) / ranked.place
    got = ranked.sums(hits.tied / ranked.size * precision)
    return ranked.mean(np.divide(got, hits.total, out=np.ones(len(got)), where=hits.total > 0))


def mean_reciprocal_rank(y: Any, score: Any, *, group: Any, k: int | None = None, sample_weight: Any = None) -> float:
    """Returns the mean over groups of one over the place of the first relevant row.

    A group in which no row is relevant, or none among the first `k`, counts 0.

    Args:
        y: Above 0 of relevant rows, 0 of others.
        score: The score that orders rows, the highest first.
        group: The group of every row.
        k: How many rows of a group count; None counts all.
        sample_weight: The weight of every row; a group counts with the mean weight of its rows.

    Raises:
        InvalidInputError: An argument has another number of rows, or a value that is not allowed.

    Example: one group has its relevant row first, the other one second.
        >>> mean_reciprocal_rank([1, 0, 0, 1], [2, 1, 2, 1], group=[0, 0, 1, 1])
        0.75
    """
    _check_k(k)
    ranked = _rank(y, score, group, sample_weight)
    if (ranked.relevance < 0).any():
        raise InvalidInputError(f"y must be 0 or more, got {ranked.relevance.min():g}")
    hits = _RelevantRows.of(ranked)
    # Where tied rows include hits: the chance that the first of these is at each place.
    before, others = ranked.place - hits.first, ranked.size - hits.tied
    is_first = (hits.above == 0) & (hits.tied > 0) & (before <= others)
    left = np.where(is_first, others - before + 1, 1) / (ranked.size - before + 1)
    none_before = _running_products(np.where(before == 0, 1.0, left), ranked.tie)
    chance = np.where(is_first, none_before * hits.tied / (ranked.size - before), 0)
    return ranked.mean(ranked.sums(np.where(ranked.place <= (k or len(chance)), chance / ranked.place, 0)))


class _RelevantRows(NamedTuple):
    """The relevant rows.

    Attributes:
        above: How many are among those of higher scores.
        tied: How many are among those of the same score.
        total: How many are in each group.
        first: The first place of tied rows.
    """

    above: Float[np.ndarray, " row"]
    tied: Float[np.ndarray, " row"]
    total: Float[np.ndarray, " group"]
    first: Int[np.ndarray, " row"]

    @classmethod
    def of(cls, ranked: _OrderedRows) -> "_RelevantRows":
        """Counts them."""
        is_hit = (ranked.relevance > 0).astype(np.float64)
        running = np.cumsum(is_hit)
        begins = np.flatnonzero(_begins(ranked.tie))
        first_tied, first_of_group = begins[ranked.tie], np.flatnonzero(_begins(ranked.group))[ranked.group]
        above = (running - is_hit)[first_tied] - (running - is_hit)[first_of_group]
        return cls(above, ranked.of_tied(is_hit), ranked.sums(is_hit), ranked.place[first_tied])


def _rank(y: Any, score: Any, group: Any, sample_weight: Any) -> _OrderedRows:
    """Orders rows; those of weight 0 are left out."""
    y, groups = numbers_of_rows("y", y, None), np.asarray(group)
    if groups.shape != y.shape:
        raise InvalidInputError(f"group must be the group of each of {len(y)} rows, got shape {groups.shape}")
    if not len(y):
        raise InvalidInputError("y must have a row or more, got none")
    score = numbers_of_rows("score", score, len(y))
    weight = weights_of_rows(sample_weight, len(y))
    if (weight < 0).any() or not weight.any():
        raise InvalidInputError("sample_weight must be 0 or more, and above 0 somewhere")
    kept = np.flatnonzero(weight)
    number = numbers_of_groups("group", groups[kept])
    order = np.lexsort((-score[kept], number))
    rows, number = kept[order], number[order]
    begins = _begins(number)
    place = np.arange(len(rows)) - np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0)) + 1
    tie = np.cumsum(begins | _begins(score[rows])) - 1
    mean_weight = np.bincount(number, weights=weight[rows]) / np.bincount(number)
    return _OrderedRows(y[rows], number, place, tie, np.bincount(tie)[tie], mean_weight)


def _begins(values: Float[np.ndarray, " row"] | Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
    """Whether a row has another value than the one before it."""
    return np.append(True, values[1:] != values[:-1])


def _running_products(factors: Float[np.ndarray, " row"], part: Int[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """The products of factors above 0 up to each row of a part."""
    logs = np.cumsum(np.log(factors))
    begins = np.flatnonzero(_begins(part))
    return np.exp(logs - (logs - np.log(factors))[begins][part])


def _check_relevance(relevance: Float[np.ndarray, " row"], most: int) -> None:
    is_wrong = (relevance < 0) | (relevance > most) | (relevance % 1 != 0)
    if is_wrong.any():
        raise InvalidInputError(f"y must be whole numbers from 0 to {most}, got {relevance[is_wrong][0]:g}")


def _check_k(k: int | None) -> None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise InvalidInputError(f"k must be None, or a whole number of 1 or more, got {k!r}")
