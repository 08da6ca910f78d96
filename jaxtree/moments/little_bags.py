r"""Estimates of a forest whose trees come in bags, and their variances: the bootstrap of little bags.

The trees of a bag grow on parts of one half-sample. The variance of the means of bags is that of a forest's estimate,
with what is left of the trees' own noise; that part is known from the variance within bags (Sexton and Laake, 2009;
Athey, Tibshirani and Wager, *Generalized random forests*, 2019, section 4.1).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import erfc

from jaxtree.blocks import blocks_of
from jaxtree.kernels.native_walk import Counts
from jaxtree.moments.solution import LocalSolution
from jaxtree.tree.predictor import Predictor

ROWS_AT_A_TIME = 2**16
"""Rows estimated in one go, which bounds the memory."""


class Estimates(NamedTuple):
    """The estimates of rows.

    Attributes:
        effect: The parameters; NaN of a row without any tree.
        variance: The variance of each; None if it is not wanted.
    """

    effect: Float64[np.ndarray, "row effect"]
    variance: Float64[np.ndarray, "row effect"] | None


def estimate(
    predictor: Predictor,
    values: Float[np.ndarray, "row feature"],
    node_value: Float64[np.ndarray, "node column"],
    local: LocalSolution,
    *,
    bag_size: int | None = None,
    counts: Bool[np.ndarray, "tree row"] | None = None,
) -> Estimates:
    """Returns the local solutions at some rows, and their variances if the trees come in bags.

    Args:
        predictor: The trees.
        values: The rows: numbers, or the codes of categories; NaN is a missing value.
        node_value: The means of statistics at every node.
        local: Solves the moment.
        bag_size: Trees of a bag, for variances; None for none. Trees of a last bag that is not full count only for the
            estimate.
        counts: The trees that count for a row; all if not given. A bag counts for the variance if all of its trees do.
    """
    effect = np.empty((len(values), local.num_effects))
    variance = None if bag_size is None else np.empty_like(effect)
    for block in blocks_of(len(values), ROWS_AT_A_TIME):
        of_block = None if counts is None else _counts_of(counts[:, block])
        if of_block is None:
            means = predictor.mean(values[block], node_value).T
        else:
            means = predictor.masked_mean(values[block], node_value, of_block).T
        solution = local.solve(means)
        effect[block] = local.effects(means).T
        if bag_size is not None and variance is not None:
            coefficients = local.influence(solution)
            sums = predictor.bag_sums(values[block], node_value, coefficients, bag_size, of_block)
            with np.errstate(invalid="ignore", divide="ignore"):
                between, within = sums.between / sums.num_bags, sums.within / sums.num_bags
                variance[block] = debiased(between, within / max(bag_size - 1, 1), sums.num_bags).T
    return Estimates(effect, variance)


def masked_means(
    predictor: Predictor,
    values: Float[np.ndarray, "row feature"],
    node_value: Float64[np.ndarray, "node column"],
    counts: Bool[np.ndarray, "tree row"],
) -> Float64[np.ndarray, "column row"]:
    """Returns the means of the values of nodes over the trees that count for a row; NaN of a row without any.

    Args:
        predictor: The trees.
        values: The rows.
        node_value: The values of the nodes of all trees.
        counts: The trees that count for a row.
    """
    return predictor.masked_mean(values, node_value, _counts_of(counts)).T


def _counts_of(counts: Bool[np.ndarray, "tree row"]) -> Counts:
    return Counts(counts, np.arange(len(counts), dtype=np.int32))


def debiased(
    between: Float64[np.ndarray, "effect row"], noise: Float64[np.ndarray, "effect row"], num_bags: np.ndarray
) -> Float64[np.ndarray, "effect row"]:
    r"""Returns the variance between bags less the part of it that is the noise of trees, which is never below 0.

    The difference may be negative. It is taken for a normal observation of a number of at least 0 with a flat prior,
    whose mean given the observation is returned (the objective Bayes correction of grf).

    Args:
        between: The mean square of the means of bags.
        noise: The variance within bags over the number of their trees.
        num_bags: The number of bags of every row.

    >>> debiased(np.array([[2.0, 1.0]]), np.array([[0.0, 1.0]]), np.array([10_000, 50])).round(3).tolist()
    [[2.0, 0.16]]
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        first = between - noise
        spread = np.maximum(between, noise) * np.sqrt(2 / num_bags)
        ratio = np.where(spread > 0, first / np.where(spread > 0, spread, 1), 0.0)
        density = np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
        tail = erfc(-ratio / np.sqrt(2)) / 2
    # Far below 0 both are 0; the mean there is that of an exponential tail.
    correction = np.where(tail > 0, density / np.where(tail > 0, tail, 1), -ratio)
    return np.where(num_bags > 0, first + spread * correction, np.nan)
