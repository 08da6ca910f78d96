"""Leaves of hardened trees made anew: each gets what a loss is least at for its rows."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float64, Int, Real

from jaxtree.soft.harden import Hardened, agreement
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.tree.nodes import node_means


def renewed(
    hardened: Hardened,
    values: Real[np.ndarray, "row value"],
    weight: Float64[np.ndarray, " row"],
    compared: Float64[np.ndarray, "row output"],
    best: Callable[[Int[np.ndarray, " taken"]], Float64[np.ndarray, " output"]],
) -> Hardened:
    """Returns a hardened tree of numbers with other values; nodes without rows keep theirs.

    Args:
        hardened: The tree.
        values: Rows as the tree reads them.
        weight: Their weights.
        compared: The soft tree's predictions for them, to measure how far both agree.
        best: The best value for some of the rows, given by their numbers.
    """
    tree = hardened.tree
    ends = tree.apply(values)
    value = np.array(tree.value if isinstance(tree, ObliqueTree) else node_means(tree), np.float64)
    members = [np.flatnonzero(ends == node) for node in range(len(value))]
    for node in range(len(value) - 1, -1, -1):  # children stand behind their parents
        if members[node].size:
            value[node] = best(members[node])
        if node:
            above = int(tree.parent[node])
            members[above] = np.concatenate([members[above], members[node]])
    if isinstance(tree, ObliqueTree):
        tree = dataclasses.replace(tree, value=value)
    else:
        tree = dataclasses.replace(tree, target_sum=value * np.asarray(tree.weight)[:, None])
    return hardened._replace(tree=tree, agreement=agreement(compared, value[ends], weight, ()))
