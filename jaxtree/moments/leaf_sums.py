"""Weights and sums of nodes, from the rows that leaves keep."""

import dataclasses

import numpy as np
from jaxtyping import Float64, Int, Shaped

from jaxtree.moments.leaf_rows import ONE, LeafRows
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import NodeFields


def with_sums_of_leaves(
    forest: Forest,
    leaves: LeafRows,
    values: Float64[np.ndarray, " atom"],
    weight: Float64[np.ndarray, " node"] | None,
    num_rows: Int[np.ndarray, " node"] | None = None,
) -> Forest:
    """Returns trees whose nodes have the number of rows, the weight and the sum of values of their leaves.

    Args:
        forest: The trees.
        leaves: The rows in their leaves.
        values: The number of every atom.
        weight: The weight of every leaf; None where every row has the weight 1. Inner nodes may have any.
        num_rows: The number of rows of every leaf, where entries are no rows: a leaf then has its weight times the sum
            of its entries' values, each with its weight; else a leaf has the weighted mean of the values of its rows.
    """
    nodes, sizes = forest.nodes, np.diff(leaves.first)
    rows = sizes if num_rows is None else np.where(nodes.is_leaf, num_rows, 0)
    share = np.ones(leaves.atom.size) if leaves.weight is None else leaves.weight / ONE
    node = np.repeat(np.arange(sizes.size), sizes)
    total = np.bincount(node, share * values[leaves.atom], minlength=sizes.size)
    own = rows.astype(np.float64) if weight is None else np.where(nodes.is_leaf, weight, 0.0)
    if num_rows is not None:
        total = total * own
    elif leaves.weight is not None or weight is not None:
        divisor = sizes if leaves.weight is None else np.bincount(node, share, minlength=sizes.size)
        total = np.divide(total * own, divisor, out=np.zeros_like(total), where=sizes > 0)
    summed = add_up(nodes, np.stack([rows.astype(np.float64), own, total], axis=1))
    of_rows, of_weight, target = summed.T
    changed = dataclasses.replace(
        nodes,
        num_rows=of_rows.astype(np.int32),
        weight=of_rows.astype(np.int32) if weight is None else of_weight,
        target_sum=target[:, None],
        count=np.zeros((len(sizes), 0)),
        impurity=np.zeros(len(sizes)),
    )
    return Forest(changed, forest.first_node)


def add_up(nodes: NodeFields, values: Float64[np.ndarray, "node column"]) -> Float64[np.ndarray, "node column"]:
    """Returns the sums of the values of all nodes below each, itself included."""
    values, depth = values.copy(), np.asarray(nodes.depth)
    order = np.argsort(-depth, kind="stable")
    ends: Shaped[np.ndarray, " level"] = np.cumsum(np.bincount(depth)[::-1])
    for first, end in zip(np.append(0, ends[:-1]), ends[:-1], strict=False):
        level = order[first:end]
        for column in range(values.shape[1]):
            values[:, column] += np.bincount(nodes.parent[level], values[level, column], minlength=len(values))
    return values
