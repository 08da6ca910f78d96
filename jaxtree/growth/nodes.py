"""What growth knows of a node beside the tree itself."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, Int64, UInt32

from jaxtree.arrays import OptionalArray
from jaxtree.growth.candidates import C45_TOLERANCE, Place
from jaxtree.growth.measure import Units
from jaxtree.growth.plan import Plan
from jaxtree.growth.rules import Rules
from jaxtree.hashing import child_hash
from jaxtree.tree import SplitKind, Tree


class Nodes(NamedTuple):
    """Arrays over the node table; those that the rules do not need are empty.

    Attributes:
        sums: Sums of the node, see `measure`.
        low: Of numbers: the least identity of its targets.
        high: The greatest.
        lower: The least value that monotone constraints allow.
        upper: The greatest.
        seed: Of the node's random draws.
    """

    sums: Int[Array, "node channel"]
    low: Int64[Array, "*node"]
    high: Int64[Array, "*node"]
    lower: Float[Array, "*node"]
    upper: Float[Array, "*node"]
    seed: UInt32[Array, "*node"]


class LeafLimits(NamedTuple):
    """Limits of every root that candidates are held to, in units of the sums."""

    least_weight: Int[Array, " root"]
    least_rows: Int32[Array, " root"]
    mdl_correction: Float[Array, " root"]
    num_declared_classes: Float[Array, " root"]


def blank_nodes(plan: Plan, dtype: jnp.dtype, root_seed: UInt32[Array, " root"]) -> Nodes:
    """Nodes that no entry has reached."""
    rules, size = plan.rules, plan.capacity
    of_numbers = 0 if rules.measure.num_classes else size
    bounded = size if rules.has_monotone else 0
    seed = jnp.zeros(0, jnp.uint32)
    if rules.draws_features or rules.draws_thresholds:
        seed = jnp.zeros(size, jnp.uint32).at[: root_seed.size].set(root_seed)
    return Nodes(
        sums=jnp.zeros((size, rules.measure.num_node_channels), dtype),
        low=jnp.full(of_numbers, 2**63 - 1, jnp.int64),
        high=jnp.full(of_numbers, -(2**63), jnp.int64),
        lower=jnp.full(bounded, -jnp.inf, jnp.float64),
        upper=jnp.full(bounded, jnp.inf, jnp.float64),
        seed=seed,
    )


def histogram_sums(nodes: Nodes, tree: Tree, node: Int32[Array, " slot"], rules: Rules) -> Int[Array, "slot channel"]:
    """The sums of nodes as histograms have them."""
    sums = nodes.sums[node, : rules.measure.num_target_channels]
    if rules.measure.counts_rows:
        sums = jnp.concatenate([sums, tree.num_rows[node][:, None].astype(sums.dtype)], axis=1)
    return sums


def place_of(
    nodes: Nodes, tree: Tree, node: Int32[Array, " slot"], limits: LeafLimits, units: Units, rules: Rules
) -> Place:
    """What holds at every node for its candidates."""
    whole = jax.vmap(lambda sums: rules.measure.whole(sums, units))(histogram_sums(nodes, tree, node, rules))
    root = tree.root[node]
    draws = rules.draws_features or rules.draws_thresholds
    return Place(
        whole=whole,
        least_weight=limits.least_weight[root],
        least_rows=limits.least_rows[root] if rules.measure.counts_rows else None,
        lower=nodes.lower[node] if rules.has_monotone else None,
        upper=nodes.upper[node] if rules.has_monotone else None,
        seed=nodes.seed[node] if draws else None,
        mdl_correction=limits.mdl_correction[root] if rules.is_c45 else None,
        num_declared_classes=limits.num_declared_classes[root] if rules.is_c45 else None,
    )


def is_mixed(nodes: Nodes, node: Int32[Array, " slot"], units: Units, rules: Rules) -> Bool[Array, " slot"]:
    """Whether a node has rows of more than one class, or target."""
    measure = rules.measure
    if not measure.num_classes:
        return nodes.low[node] < nodes.high[node]
    slack = jnp.floor(C45_TOLERANCE / units.weight).astype(nodes.sums.dtype) if rules.is_c45 else 0
    count = nodes.sums[node].reshape(node.size, measure.num_outputs, measure.num_classes)
    others = jnp.sum(count, axis=2, dtype=count.dtype) - jnp.max(count, axis=2)
    return jnp.any(others > slack, axis=1)


def hand_down_seeds(nodes: Nodes, node: Int32[Array, " slot"], child: Int32[Array, "slot branch"]) -> Nodes:
    """Gives every child its seed."""
    if not nodes.seed.size:
        return nodes
    branch = jnp.arange(child.shape[1], dtype=jnp.uint32)
    return nodes._replace(seed=nodes.seed.at[child].set(child_hash(nodes.seed[node][:, None], branch), mode="drop"))


def hand_down_bounds(
    nodes: Nodes,
    tree: Tree,
    monotone: OptionalArray,
    first_node: Int32[Array, ""],
    units: Units,
    rules: Rules,
) -> Nodes:
    """Gives the children from `first_node` on their bounds: the middle of the two branches' values keeps them apart."""
    if not rules.has_monotone:
        return nodes
    node = jnp.arange(tree.parent.size, dtype=jnp.int32)
    parent = tree.parent
    value = rules.measure.value(nodes.sums.T, units)
    left = tree.first_child[parent]
    middle = (value[left] + value[left + 1]) / 2
    sign = jnp.where(tree.split_kind[parent] == SplitKind.THRESHOLD, monotone[tree.feature[parent]], 0)
    is_lower_branch = (node == left) == (sign > 0)
    lower = jnp.where((sign != 0) & ~is_lower_branch, middle, nodes.lower[parent])
    upper = jnp.where((sign != 0) & is_lower_branch, middle, nodes.upper[parent])
    # A root has no parent that bounds it.
    is_new = (node >= first_node) & (node < tree.num_nodes) & (tree.depth > 0)
    return nodes._replace(lower=jnp.where(is_new, lower, nodes.lower), upper=jnp.where(is_new, upper, nodes.upper))
