"""Sums of targets at the nodes of grown trees, made anew where one unit for all rows would lose digits.

Growth adds whole numbers of one unit, which the target farthest from the others decides: beside one of 1e9 digits of
all others end at 1e-6. The nodes of such a target get sums from their own rows, each leaf in a unit of its own, so that
sums are still exact and depend on no order.
"""

import dataclasses

import numpy as np
from jaxtyping import Float64, Int, Integer, Real

from jaxtree.criteria import squared_error
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.kernels.fixed_point import BITS
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.predictor import Predictor

FAR = 2.0**16
"""How many times farther from the median one target is than the closest hundredth of those that are not equal to it."""

MANY_ROWS = 2**17
"""The number of rows that say how close the closest are, where there are more."""


def are_far_apart(target: Float64[np.ndarray, "output row"]) -> bool:
    """Returns whether one unit for all targets of an output is too coarse for some of them.

    >>> are_far_apart(np.array([[0.0, 1.0, 2.0, 1e9]])), are_far_apart(np.array([[0.0, 1.0, 2.0, 30.0]]))
    (True, False)
    """
    return any(_is_far_apart(own) for own in target)


def _is_far_apart(target: Float64[np.ndarray, " row"]) -> bool:
    some = target[:: -(-target.size // MANY_ROWS)]
    middle = np.median(some)
    distance = np.abs(some - middle)
    distance = distance[distance > 0]
    farthest = max(target.max() - middle, middle - target.min())
    return bool(distance.size) and bool(farthest > FAR * np.quantile(distance, 0.01))


def values_of_codes(codes: Integer[np.ndarray, "feature row"], schema: Schema) -> Float64[np.ndarray, "row feature"]:
    """Returns codes as what thresholds that are codes are compared with: NaN where a value is missing."""
    return np.where(codes >= schema.num_values[:, None], np.nan, codes).T


def with_exact_sums(
    tree: Tree,
    values: Float64[np.ndarray, "row feature"],
    target: Float64[np.ndarray, "output row"],
    weight: Real[np.ndarray, " row"],
    objective: Numbers,
) -> Tree:
    """Returns a tree with the sums of its own rows at every node, and the impurities that follow.

    Args:
        tree: The tree, with thresholds in codes.
        values: The rows that it was grown on, in codes.
        target: Their targets.
        weight: Their weights in this tree, 0 of those that it has not drawn.
        objective: The objective it was grown by.
    """
    leaf = Predictor(Forest(tree, np.array([0, tree.node_count]))).ends_in_trees(values)[:, 0]
    is_used = weight > 0
    leaf, target, weight = leaf[is_used], target[:, is_used], weight[is_used].astype(np.float64)
    # Close numbers are close to it, too, and keep their digits.
    middle = np.zeros((len(target), 1)) if objective.criterion.needs_positive else np.median(target, axis=1)[:, None]
    of_node = _add_up(tree, _leaf_sums(weight[None], leaf, tree.node_count))
    sums = _add_up(tree, _leaf_sums((target - middle) * weight, leaf, tree.node_count))
    tree = dataclasses.replace(tree, target_sum=(sums + middle * of_node).T)
    if objective.criterion is not squared_error:
        return tree
    mean = _divided(sums, of_node)
    within = _leaf_sums(weight * (target - middle - mean[:, leaf]) ** 2, leaf, tree.node_count)
    within = _add_up(tree, within, of_node * (mean - mean[:, tree.parent]) ** 2)
    return dataclasses.replace(tree, impurity=_divided(within, of_node).mean(axis=0))


def _leaf_sums(
    values: Float64[np.ndarray, "output row"], leaf: Int[np.ndarray, " row"], num_nodes: int
) -> Float64[np.ndarray, "output node"]:
    """The sums over the rows of every leaf, exact in a unit of its own."""
    terms = np.bincount(leaf, minlength=num_nodes)
    sums = []
    for own in values:
        largest = np.zeros(num_nodes)
        np.maximum.at(largest, leaf, np.abs(own))
        unit = np.ldexp(1.0, np.frexp(largest)[1] + np.frexp(terms)[1] - BITS)
        total = np.zeros(num_nodes, np.int64)
        np.add.at(total, leaf, np.rint(own / unit[leaf]).astype(np.int64))
        sums.append(total * unit)
    return np.array(sums)


def _add_up(
    tree: Tree, sums: Float64[np.ndarray, "output node"], beside: Float64[np.ndarray, "output node"] | float = 0.0
) -> Float64[np.ndarray, "output node"]:
    """The sums of all nodes from those of the leaves, with what every branch adds to its node beside its own."""
    sums, beside = sums.copy(), np.broadcast_to(beside, sums.shape)
    for depth in range(int(tree.depth.max()), 0, -1):
        of_level = np.flatnonzero(tree.depth == depth)
        for own, other in zip(sums, beside, strict=True):
            np.add.at(own, tree.parent[of_level], (own + other)[of_level])
    return sums


def _divided(
    sums: Float64[np.ndarray, "output node"], weight: Float64[np.ndarray, "1 node"]
) -> Float64[np.ndarray, "output node"]:
    return np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
