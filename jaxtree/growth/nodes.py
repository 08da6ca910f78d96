"""The table of nodes that growth makes, and its trees: weights, impurities, thresholds, branches of missing values."""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Int64, Real

from jaxtree.arrays import AnyArray, library_of
from jaxtree.growth.inputs.bundles import Missing, ResolvedRules
from jaxtree.growth.inputs.objective import NodeResult, Units
from jaxtree.tree import SplitKind, Tree

UNRESOLVED = -1
"""The branch of a missing value that no rule has yet chosen: that of the heaviest child."""


class NodeTable(NamedTuple):
    """The nodes of trees that are grown.

    Attributes:
        tree: The trees.
        sums: Sums of the node, see `Objective`.
        low: Where targets are compared: the least first label of its entries.
        high: The greatest label.
        complete: Whether the table held all nodes.
    """

    tree: Tree
    sums: Int[AnyArray, "node channel"]
    low: Int64[AnyArray, "*node"]
    high: Int64[AnyArray, "*node"]
    complete: Bool[AnyArray, ""]


def finish_tree(
    table: NodeTable,
    rules: ResolvedRules,
    parameters: Float[AnyArray, "root parameter"],
    units: Units,
    *,
    is_described: bool,
    is_binary: bool,
    real: Any = np.float64,
) -> Tree:
    """Returns the tree with weights, impurities, thresholds half way between codes, and branches of missing values.

    Args:
        table: The nodes.
        rules: The rules that they were split by.
        parameters: The numbers of the objective.
        units: The units of the sums.
        is_described: Whether the tree has weights, impurities and the weights of classes, in place of sums.
        is_binary: Whether all splits have two branches.
        real: The type of floats.
    """
    tree, library = table.tree, library_of(table.tree.code)
    if is_described:
        weight, fields = tree.weight, NodeResult(tree.impurity, tree.count, tree.target_sum)
    else:
        weight = rules.objective.weight(table.sums.T)
        fields = rules.objective.node_result(table.sums, parameters[tree.root], units)
    impurity = fields.impurity
    if rules.objective.compares_targets:
        impurity = library.where(table.low < table.high, impurity, 0)
    if units.is_scaled:
        weight = (weight.astype(np.float64) * units.weight).astype(real)
    elif rules.has_wide_sums:
        weight = weight.astype(np.int32)
    missing_branch = tree.missing_branch
    if rules.missing == Missing.LEARN or tree.subset.shape[-1] > 0:
        heaviest = _heavier_child(tree, weight) if is_binary else _heaviest_child(tree, weight)
        missing_branch = library.where(missing_branch == UNRESOLVED, heaviest, missing_branch)
    is_float = np.issubdtype(fields.count.dtype, np.floating)
    threshold = (tree.code + tree.next_code).astype(real) / 2
    return dataclasses.replace(
        tree,
        weight=weight,
        missing_branch=missing_branch,
        count=fields.count.astype(real) if is_float else fields.count,
        target_sum=fields.target_sum.astype(real),
        impurity=impurity.astype(real),
        gain=tree.gain.astype(real),
        threshold=library.where(tree.split_kind == SplitKind.THRESHOLD, threshold, tree.code.astype(real)),
    )


def _heavier_child(tree: Tree, weight: Real[AnyArray, " node"]) -> Int32[AnyArray, " node"]:
    """The branch of every node's heavier child of two, the last of equals."""
    library, last = library_of(weight), tree.capacity - 1
    first, second = library.minimum(tree.first_child, last), library.minimum(tree.first_child + 1, last)
    return (weight[first] <= weight[second]).astype(np.int32)


def _heaviest_child(tree: Tree, weight: Real[AnyArray, " node"]) -> Int32[AnyArray, " node"]:
    """The branch of every node's heaviest child, the last of equals."""
    node = library_of(weight).arange(tree.parent.size, dtype=np.int32)
    is_child = (tree.depth > 0) & (node < tree.num_nodes)
    heaviest = _greatest_of(weight, tree.parent, is_child)
    is_heaviest = is_child & (weight == heaviest[tree.parent])
    return _greatest_of(node - tree.first_child[tree.parent], tree.parent, is_heaviest)


def _greatest_of(values: Any, parent: Any, is_asked: Any) -> Any:
    """The greatest value of every node's children, of those that are asked for; 0 without any."""
    if library_of(values) is np:
        greatest = np.zeros_like(values)
        np.maximum.at(greatest, parent[is_asked], values[is_asked])
        return greatest
    return jnp.zeros_like(values).at[jnp.where(is_asked, parent, parent.size)].max(values, mode="drop")
