"""The nodes while trees grow: the whole numbers of one stand side by side, to be read and written together."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, Int64, UInt32

from jaxtree.arrays import AnyArray, child_hash, mix
from jaxtree.growth.inputs.bundles import ResolvedRules, has_seeds
from jaxtree.growth.inputs.objective import C45_TOLERANCE, parent_stats
from jaxtree.growth.nodes import NodeTable
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import DRAWS_OF_LEVEL, Entries, Frontier, GrowthConstants, NodeContext
from jaxtree.tree import SplitKind, Tree

NONE = np.int32(0)


class Row(NamedTuple):
    """The whole numbers of nodes, as a `Tree` has them."""

    parent: Int32[Array, "*node"]
    depth: Int32[Array, "*node"]
    root: Int32[Array, "*node"]
    feature: Int32[AnyArray, "*node"] = NONE
    code: Int32[AnyArray, "*node"] = NONE
    next_code: Int32[AnyArray, "*node"] = NONE
    split_kind: Int32[AnyArray, "*node"] = NONE
    missing_code: Int32[AnyArray, "*node"] = NONE
    missing_branch: Int32[AnyArray, "*node"] = NONE
    first_child: Int32[AnyArray, "*node"] = NONE
    num_children: Int32[AnyArray, "*node"] = NONE


class Nodes(NamedTuple):
    """The nodes so far; arrays that the rules do not need are empty.

    Attributes:
        whole: The whole numbers of every node, in the order of `Row`.
        counted: Sums of the node, see `Objective`, and the number of its rows.
        extremes: Where targets are compared: the least first label of its entries, and the least complement of one.
        gain: The gain of its split.
        subset: The codes that go to branch 1, a bit each.
        lower: The least value that monotone constraints allow.
        upper: The greatest value.
        seed: The seed of the node's random draws.
        sets: The sets of features that contain all above the node, a bit each.
        num_nodes: The number of nodes.
        complete: False once a table is full.
    """

    whole: Int32[Array, "node field"]
    counted: Int[Array, "node channel_or_rows"]
    extremes: Int64[Array, "*node 2"]
    gain: Float[Array, " node"]
    subset: UInt32[Array, "node word"]
    lower: Float[Array, "*node"]
    upper: Float[Array, "*node"]
    seed: UInt32[Array, "*node"]
    sets: UInt32[Array, "*node"]
    num_nodes: Int32[Array, ""]
    complete: Bool[Array, ""]

    @property
    def capacity(self) -> int:
        """The number of nodes that there is room for."""
        return len(self.whole)

    @property
    def sums(self) -> Int[Array, "node channel"]:
        """The sums of every node."""
        return self.counted[:, :-1]

    @property
    def num_rows(self) -> Int32[Array, " node"]:
        """The number of rows of every node."""
        return self.counted[:, -1].astype(jnp.int32)

    @property
    def columns(self) -> Row:
        """The whole numbers of all nodes."""
        return Row(*(self.whole[:, number] for number in range(len(Row._fields))))

    def read(self, node: Int32[Array, "*some"]) -> Row:
        """The whole numbers of some nodes."""
        rows = self.whole.at[node].get(mode="clip")
        return Row(*(rows[..., number] for number in range(len(Row._fields))))

    def root_of(self, node: Int32[Array, "*some"]) -> Int32[Array, "*some"]:
        """The roots of some nodes."""
        return self.whole.at[node, Row._fields.index("root")].get(mode="clip")

    def write(self, node: Int32[Array, "*some"], row: Row) -> "Nodes":
        """Returns the nodes with the whole numbers of some replaced; nodes past all are left out.

        Whole rows: a TPU writes parts of them one after another.
        """
        rows = jnp.stack([jnp.broadcast_to(values, node.shape) for values in row], axis=-1)
        return self._replace(whole=self.whole.at[node].set(rows, mode="drop"))

    def table(self, num_classes: tuple[int, ...]) -> NodeTable:
        """The nodes as a tree without values, and their sums."""
        real = jnp.zeros(self.capacity, jnp.float64)
        none = jnp.zeros((self.capacity, 0))
        # Unused nodes are 0 already: a GPU makes all columns at once where they are more than slices.
        is_used = jnp.arange(self.capacity, dtype=jnp.int32) < self.num_nodes
        row = Row(*(jnp.where(is_used, column, 0) for column in self.columns))
        tree = Tree(
            **row._asdict(), threshold=real, subset=self.subset, weight=real, count=none, target_sum=none,
            num_rows=self.num_rows, impurity=real, gain=self.gain, num_nodes=self.num_nodes, num_classes=num_classes,
        )  # fmt: skip
        return NodeTable(tree, self.sums, self.extremes[:, 0], ~self.extremes[:, 1], self.complete)


class State(NamedTuple):
    """The arrays that a level changes.

    Attributes:
        nodes: The nodes.
        first_node: The first node of the level.
        frontier: The nodes of the level that may be split.
        entries: The entries.
    """

    nodes: Nodes
    first_node: Int32[Array, ""]
    frontier: Frontier
    entries: Entries


def blank_nodes(problem: GrowthConstants, plan: LoopPlan, dtype: jnp.dtype, root_seed: UInt32[Array, " root"]) -> Nodes:
    """The roots and space for further nodes, before any entry has reached them."""
    rules, size = plan.rules, plan.capacity
    compared = size if rules.objective.compares_targets else 0
    bounded = size if rules.has_monotone else 0
    seed = jnp.zeros(size if has_seeds(rules) else 0, jnp.uint32)
    number = jnp.arange(size, dtype=jnp.int32)
    own = jnp.where(number < plan.num_roots, number, 0)
    row = [jnp.broadcast_to(values, size) for values in Row(parent=own, depth=jnp.int32(0), root=own)]
    return Nodes(
        whole=jnp.stack(row, axis=1),
        counted=jnp.zeros((size, rules.objective.num_node_channels + 1), dtype),
        extremes=jnp.full((compared, 2), 2**63 - 1, jnp.int64),
        gain=jnp.zeros(size, jnp.float64),
        subset=jnp.zeros((size, plan.num_words), jnp.uint32),
        lower=jnp.full(bounded, -jnp.inf, jnp.float64),
        upper=jnp.full(bounded, jnp.inf, jnp.float64),
        seed=seed.at[: root_seed.size].set(root_seed) if seed.size else seed,
        sets=jnp.full((0,) if problem.sets is None else (size, problem.sets.shape[1]), 2**32 - 1, jnp.uint32),
        num_nodes=jnp.int32(plan.num_roots),
        complete=jnp.bool_(True),
    )


def node_context(
    problem: GrowthConstants, nodes: Nodes, node: Int32[Array, " slot"], rules: ResolvedRules
) -> NodeContext:
    """The context of every given node."""
    root = nodes.root_of(node)
    level_seed = None
    if rules.samples_levels:
        seed = mix(nodes.seed[root] ^ jnp.uint32(DRAWS_OF_LEVEL))
        level_seed = child_hash(seed, nodes.read(node).depth.astype(jnp.uint32))
    stats_of = lambda sums, own: parent_stats(rules.objective, sums, own, problem.units)  # noqa: E731
    return NodeContext(
        stats=jax.vmap(stats_of)(_histogram_sums(nodes, node, rules), problem.parameters[root]),
        limits={name: problem.limits[name][root] for name in _limits_of_scores(rules)},
        lower=nodes.lower[node] if rules.has_monotone else None,
        upper=nodes.upper[node] if rules.has_monotone else None,
        seed=nodes.seed[node] if has_seeds(rules) else None,
        open_sets=nodes.sets[node] if rules.has_sets else None,
        level_seed=level_seed,
    )


def _limits_of_scores(rules: ResolvedRules) -> list[str]:
    """The limits that a node's scores depend on: those that nothing reads would take time."""
    of_rules = {
        "leaf_rows": rules.counts_rows,
        "level_features": rules.samples_levels,
        "mdl_correction": rules.is_c45,
        "num_declared_classes": rules.is_c45,
        "score_noise": rules.draws_scores,
    }
    return ["leaf_weight", *(name for name, is_read in of_rules.items() if is_read)]


def _histogram_sums(nodes: Nodes, node: Int32[Array, " slot"], rules: ResolvedRules) -> Int[Array, "slot channel"]:
    """The sums of nodes in the channels of histograms."""
    counted = nodes.counted[node]
    sums = counted[:, : rules.objective.num_channels]
    return jnp.concatenate([sums, counted[:, -1:]], axis=1) if rules.counts_rows else sums


def may_split(
    problem: GrowthConstants, nodes: Nodes, node: Int32[Array, " some"], rules: ResolvedRules
) -> Bool[Array, " some"]:
    """Whether the limits let nodes be split, and their rows have different targets."""
    own, counted, limits = nodes.read(node), nodes.counted[node], problem.limits
    sums, num_rows = counted[:, :-1], counted[:, -1].astype(jnp.int32)
    is_heavy = rules.objective.weight(sums.T) >= limits["split_weight"][own.root]
    is_heavy &= num_rows >= limits["split_rows"][own.root]
    if rules.objective.compares_targets:
        low, complement = nodes.extremes[node].T
        is_mixed = low < ~complement
    else:
        slack = jnp.floor(C45_TOLERANCE / problem.units.weight).astype(sums.dtype) if rules.is_c45 else 0
        is_mixed = rules.objective.is_mixed(sums, slack)
    return is_mixed & is_heavy & (own.depth < limits["max_depth"][own.root])


def hand_down_seeds(nodes: Nodes, node: Int32[Array, " slot"], child: Int32[Array, "slot branch"]) -> Nodes:
    """Gives every child its seed."""
    if not nodes.seed.size:
        return nodes
    branch = jnp.arange(child.shape[1], dtype=jnp.uint32)
    return nodes._replace(seed=nodes.seed.at[child].set(child_hash(nodes.seed[node][:, None], branch), mode="drop"))


def hand_down_bounds(
    problem: GrowthConstants, nodes: Nodes, first_node: Int32[Array, ""], rules: ResolvedRules
) -> Nodes:
    """Gives the children from `first_node` on their bounds: the middle of two branches' values separates them."""
    if not rules.has_monotone:
        return nodes
    tree = nodes.columns
    node, parent = jnp.arange(nodes.capacity, dtype=jnp.int32), tree.parent
    value = rules.objective.monotone_value(nodes.sums.T, problem.parameters[tree.root].T, problem.units)
    left = tree.first_child[parent]
    middle = (value[left] + value[left + 1]) / 2
    sign = jnp.where(tree.split_kind[parent] == SplitKind.THRESHOLD, problem.features.monotone[tree.feature[parent]], 0)
    is_lower_branch = (node == left) == (sign > 0)
    lower = jnp.where((sign != 0) & ~is_lower_branch, middle, nodes.lower[parent])
    upper = jnp.where((sign != 0) & is_lower_branch, middle, nodes.upper[parent])
    # A root has no parent and keeps its bounds.
    is_new = (node >= first_node) & (node < nodes.num_nodes) & (tree.depth > 0)
    return nodes._replace(lower=jnp.where(is_new, lower, nodes.lower), upper=jnp.where(is_new, upper, nodes.upper))
