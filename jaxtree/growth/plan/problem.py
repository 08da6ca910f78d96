"""The arrays of a growth: those that stay the same through all levels, and those that change.

An *entry* is a row with a weight on its way down one tree. The *frontier* holds the nodes of the current level that may
still be split; a *slot* is the index of a node in it. A slot's *window*, `start <= e < stop`, contains all its entries,
perhaps among others. Large nodes fill the slots from the front, small ones from the back.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, Int64, UInt, UInt32

from jaxtree.arrays import AnyArray, OptionalArray, child_hash, mix
from jaxtree.growth.inputs.bundles import ResolvedRules, has_seeds
from jaxtree.growth.inputs.objective import ParentStats, Units, parent_stats
from jaxtree.growth.plan.plan import Plan
from jaxtree.tree import SplitKind, Tree

DONE = 2**31 - 1
"""The slot of an entry that has reached a leaf: past every node and place, and sorted after every other."""

C45_TOLERANCE = 1e-6
"""The greatest difference of gains that C4.5 treats as equal."""

DRAWS_OF_NODE, DRAWS_OF_LEVEL, DRAWS_OF_SCORES = 0x9E3779B9, 0x85157AF5, 0x2545F491
"""Numbers that tell apart what a seed draws."""


class FeatureContext(NamedTuple):
    """A feature's properties at all nodes; or arrays over features.

    Attributes:
        number: Its index in the codes.
        kind: A `SplitKind`.
        missing_code: The code that means missing.
        monotone: 1, 0 or -1: the direction of the value as the code rises; None if no feature is constrained.
        first_apart: For every code the first code far enough above to be separated; None if all are.
    """

    number: Int32[AnyArray, "*f"]
    kind: Int32[AnyArray, "*f"]
    missing_code: Int32[AnyArray, "*f"]
    monotone: OptionalArray
    first_apart: OptionalArray


class NodeContext(NamedTuple):
    """A node's properties for all its candidates; None where the rules do not need them.

    Attributes:
        stats: The node's sums and their risk.
        least_weight: The least weight of a branch, in units.
        least_rows: The least number of rows of a branch, where rows are counted.
        lower: The least value that a monotone branch may have.
        upper: The greatest value.
        seed: The seed of the node's random draws.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: The number of classes that the target declares, for C4.5.
        score_noise: The deviation of what a node adds to the scores of features.
        open_sets: The sets of features that contain all above the node, a bit each.
        level_seed: The seed of what the nodes of its level draw together.
        most_of_level: The number of features that they draw.
    """

    stats: ParentStats
    least_weight: Int[Array, "*p"]
    least_rows: OptionalArray
    lower: OptionalArray
    upper: OptionalArray
    seed: OptionalArray
    mdl_correction: OptionalArray
    num_declared_classes: OptionalArray
    score_noise: OptionalArray
    open_sets: OptionalArray
    level_seed: OptionalArray
    most_of_level: OptionalArray

    def feature_ranks(self, number: Int32[Array, "*feature"]) -> UInt32[Array, "*rank"]:
        """The ranks of features in the random order that the node's seed gives them, all different."""
        assert self.seed is not None
        return child_hash(mix(self.seed ^ jnp.uint32(DRAWS_OF_NODE)), number.astype(jnp.uint32))

    def level_ranks(self, number: UInt32[Array, "*feature"]) -> UInt32[Array, "*rank"]:
        """The ranks of features in the random order of the level, all different."""
        assert self.level_seed is not None
        return child_hash(self.level_seed, number)


class RootLimits(NamedTuple):
    """The limits of every root.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        split_weight: The least weight of a node that is split, in units.
        split_rows: The least number of rows of a node that is split, where rows are counted.
        min_gain: The least gain.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: The number of features that a node scores.
        level_features: The number of features that the nodes of a level score.
        max_leaf_nodes: The most leaves of a tree, where trees grow best-first.
        leaf_weight: The least weight of a branch, in units.
        leaf_rows: The least number of rows of a branch, where rows are counted.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: The number of classes that the target declares, for C4.5.
        score_noise: The deviation of what a node adds to the scores of features.
        parameters: The numbers of the objective.
    """

    max_depth: Int32[AnyArray, " root"]
    split_weight: Int[AnyArray, " root"]
    split_rows: Int32[AnyArray, " root"]
    min_gain: Float[AnyArray, " root"]
    min_impurity_decrease: Float[AnyArray, " root"]
    max_features: Int32[AnyArray, " root"]
    level_features: Int32[AnyArray, " root"]
    max_leaf_nodes: Int32[AnyArray, " root"]
    leaf_weight: Int[AnyArray, " root"]
    leaf_rows: Int32[AnyArray, " root"]
    mdl_correction: Float[AnyArray, " root"]
    num_declared_classes: Float[AnyArray, " root"]
    score_noise: Float[AnyArray, " root"]
    parameters: Float[AnyArray, "root parameter"]


class Problem(NamedTuple):
    """The arrays that stay the same through all levels.

    Attributes:
        codes: Codes of every feature.
        features: Arrays over the features.
        num_codes: The number of codes of a feature; 0 for padding.
        in_average: Whether a feature counts for C4.5's average gain.
        lists: The features of every table plan, and those that are scanned.
        position: The number of every code; None if no threshold is drawn.
        sets: The sets that every feature belongs to, a bit each; None where features may meet on any path.
        limits: The limits of every root.
        units: Units of the sums.
    """

    codes: UInt[AnyArray, "feature row"]
    features: FeatureContext
    num_codes: Int32[AnyArray, " feature"]
    in_average: Bool[AnyArray, " feature"]
    lists: tuple[Int32[AnyArray, " listed"], ...]
    position: OptionalArray
    sets: OptionalArray
    limits: RootLimits
    units: Units

    def take_features(self, number: Int32[AnyArray, "*some"]) -> FeatureContext:
        """The features of the given numbers."""
        return jax.tree.map(lambda values: values[number], self.features)

    def is_there(self, number: Int32[AnyArray, "*some"]) -> Bool[AnyArray, "*some"]:
        """Whether the numbers are those of features, not of padding or past all."""
        return self.num_codes.at[number].get(mode="fill", fill_value=0) > 0


class NodeState(NamedTuple):
    """Arrays over the node table in addition to the tree's; those that the rules do not need are empty.

    Attributes:
        sums: Sums of the node, see `Objective`.
        low: Where targets are compared: the least first label of its entries.
        high: The greatest label.
        lower: The least value that monotone constraints allow.
        upper: The greatest value.
        seed: The seed of the node's random draws.
        sets: The sets of features that contain all above the node, a bit each.
    """

    sums: Int[AnyArray, "node channel"]
    low: Int64[AnyArray, "*node"]
    high: Int64[AnyArray, "*node"]
    lower: Float[AnyArray, "*node"]
    upper: Float[AnyArray, "*node"]
    seed: UInt32[AnyArray, "*node"]
    sets: UInt32[AnyArray, "*node"]


class NodeTable(NamedTuple):
    """The nodes so far. `complete` is false once a table is full."""

    tree: Tree
    nodes: NodeState
    complete: Bool[AnyArray, ""]


class Entries(NamedTuple):
    """Rows on their way down the trees; only the first `size` are used.

    Attributes:
        row: The row of every entry.
        label: Its class in every output; for numbers a hash of its targets, equal where these are equal.
        value: Its additions to sums: its weight, and for numbers the weighted targets and the moment.
        slot: The slot of its node.
        size: The number of entries.
    """

    row: Int32[AnyArray, " entry"]
    label: Int[AnyArray, "label entry"]
    value: Int[AnyArray, "value entry"]
    slot: Int32[AnyArray, " entry"]
    size: Int32[AnyArray, ""]


class Frontier(NamedTuple):
    """Nodes of the level that may be split.

    `num_rows` counts the rows of all, on all devices, and `num_crowded` the large nodes that a sort would make small.
    """

    node: Int32[Array, " slot"]
    start: Int32[Array, " slot"]
    stop: Int32[Array, " slot"]
    num_large: Int32[Array, ""]
    num_small: Int32[Array, ""]
    num_rows: Int32[Array, ""]
    num_crowded: Int32[Array, ""]

    def is_in_use(self) -> Bool[Array, " slot"]:
        """Whether a slot holds a node."""
        slot = jnp.arange(self.node.size, dtype=jnp.int32)
        return (slot < self.num_large) | (slot >= self.node.size - self.num_small)


class Presorted(NamedTuple):
    """The entries of large nodes in the order of every scanned feature's codes.

    Only the first `num_features` orders, and the first `size` places of each, are used.
    """

    entry: Int32[Array, "scanned entry"]
    size: Int32[Array, ""]
    num_features: Int32[Array, ""]


class State(NamedTuple):
    """The arrays that a level changes.

    Attributes:
        table: The nodes.
        first_node: The first node of the level.
        frontier: The nodes of the level that may be split.
        entries: The entries.
        slot_of_node: The slot of every node of the level.
        presorted: The orders of scanned features.
        in_row_order: Whether entry e is still row e.
    """

    table: NodeTable
    first_node: Int32[Array, ""]
    frontier: Frontier
    entries: Entries
    slot_of_node: Int32[Array, " node"]
    presorted: Presorted
    in_row_order: Bool[Array, ""]


def blank_nodes(problem: Problem, plan: Plan, dtype: jnp.dtype, root_seed: UInt32[Array, " root"]) -> NodeState:
    """The state of nodes before any entry has reached them."""
    rules, size = plan.rules, plan.capacity
    compared = size if rules.objective.compares_targets else 0
    bounded = size if rules.has_monotone else 0
    seed = jnp.zeros(0, jnp.uint32)
    if has_seeds(rules):
        seed = jnp.zeros(size, jnp.uint32).at[: root_seed.size].set(root_seed)
    return NodeState(
        sums=jnp.zeros((size, rules.objective.num_node_channels), dtype),
        low=jnp.full(compared, 2**63 - 1, jnp.int64),
        high=jnp.full(compared, -(2**63), jnp.int64),
        lower=jnp.full(bounded, -jnp.inf, jnp.float64),
        upper=jnp.full(bounded, jnp.inf, jnp.float64),
        seed=seed,
        sets=jnp.full((0,) if problem.sets is None else (size, problem.sets.shape[1]), 2**32 - 1, jnp.uint32),
    )


def histogram_sums(table: NodeTable, node: Int32[Array, " slot"], rules: ResolvedRules) -> Int[Array, "slot channel"]:
    """The sums of nodes in the channels of histograms."""
    sums = table.nodes.sums[node, : rules.objective.num_channels]
    if rules.counts_rows:
        sums = jnp.concatenate([sums, table.tree.num_rows[node][:, None].astype(sums.dtype)], axis=1)
    return sums


def node_context(problem: Problem, table: NodeTable, node: Int32[Array, " slot"], rules: ResolvedRules) -> NodeContext:
    """The context of every given node."""
    nodes, limits, root = table.nodes, problem.limits, table.tree.root[node]
    level_seed = None
    if rules.samples_levels:
        seed = mix(nodes.seed[root] ^ jnp.uint32(DRAWS_OF_LEVEL))
        level_seed = child_hash(seed, table.tree.depth[node].astype(jnp.uint32))
    stats_of = lambda sums, own: parent_stats(rules.objective, sums, own, problem.units)  # noqa: E731
    stats = jax.vmap(stats_of)(histogram_sums(table, node, rules), limits.parameters[root])
    return NodeContext(
        stats=stats,
        least_weight=limits.leaf_weight[root],
        least_rows=limits.leaf_rows[root] if rules.counts_rows else None,
        lower=nodes.lower[node] if rules.has_monotone else None,
        upper=nodes.upper[node] if rules.has_monotone else None,
        seed=nodes.seed[node] if has_seeds(rules) else None,
        mdl_correction=limits.mdl_correction[root] if rules.is_c45 else None,
        num_declared_classes=limits.num_declared_classes[root] if rules.is_c45 else None,
        score_noise=limits.score_noise[root] if rules.draws_scores else None,
        open_sets=nodes.sets[node] if rules.has_sets else None,
        level_seed=level_seed,
        most_of_level=limits.level_features[root] if rules.samples_levels else None,
    )


def is_mixed(problem: Problem, nodes: NodeState, node: Int32[Array, " slot"], rules: ResolvedRules) -> Array:
    """Whether a node has rows of different targets."""
    if rules.objective.compares_targets:
        return nodes.low[node] < nodes.high[node]
    slack = jnp.floor(C45_TOLERANCE / problem.units.weight).astype(nodes.sums.dtype) if rules.is_c45 else 0
    return rules.objective.is_mixed(nodes.sums[node], slack)


def hand_down_seeds(nodes: NodeState, node: Int32[Array, " slot"], child: Int32[Array, "slot branch"]) -> NodeState:
    """Gives every child its seed."""
    if not nodes.seed.size:
        return nodes
    branch = jnp.arange(child.shape[1], dtype=jnp.uint32)
    return nodes._replace(seed=nodes.seed.at[child].set(child_hash(nodes.seed[node][:, None], branch), mode="drop"))


def hand_down_bounds(
    problem: Problem, table: NodeTable, first_node: Int32[Array, ""], rules: ResolvedRules
) -> NodeState:
    """Gives the children from `first_node` on their bounds: the middle of two branches' values separates them."""
    tree, nodes = table.tree, table.nodes
    if not rules.has_monotone:
        return nodes
    node = jnp.arange(tree.parent.size, dtype=jnp.int32)
    parent = tree.parent
    value = rules.objective.monotone_value(nodes.sums.T, problem.limits.parameters[tree.root].T, problem.units)
    left = tree.first_child[parent]
    middle = (value[left] + value[left + 1]) / 2
    sign = jnp.where(tree.split_kind[parent] == SplitKind.THRESHOLD, problem.features.monotone[tree.feature[parent]], 0)
    is_lower_branch = (node == left) == (sign > 0)
    lower = jnp.where((sign != 0) & ~is_lower_branch, middle, nodes.lower[parent])
    upper = jnp.where((sign != 0) & is_lower_branch, middle, nodes.upper[parent])
    # A root has no parent and keeps its bounds.
    is_new = (node >= first_node) & (node < tree.num_nodes) & (tree.depth > 0)
    return nodes._replace(lower=jnp.where(is_new, lower, nodes.lower), upper=jnp.where(is_new, upper, nodes.upper))
