"""One level of growth: the best split of every node of the frontier; and the children of those that are split."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from jaxtree.growth.device.best_splits import (
    best_of_sampled,
    best_of_slots,
    is_sampled,
    splits_by_histogram,
    splits_of_sampled,
)
from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.candidates import default_branch
from jaxtree.growth.device.drawn import with_codes_beside
from jaxtree.growth.device.histogram import NodeChunk, blank_bases, write_bases
from jaxtree.growth.device.open_features import hand_down_sets, open_features
from jaxtree.growth.device.split import Split
from jaxtree.growth.device.state import Nodes, Row, State, hand_down_seeds, node_context
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import GrowthConstants, NodeContext, Windows
from jaxtree.tree import SplitKind


def record_best_splits(
    problem: GrowthConstants, state: State, windows: Windows | None, scanned: Split | None, *, plan: LoopPlan
) -> Nodes:
    """Records the splits of the frontier, chunk by chunk of slots.

    Args:
        problem: The problem.
        state: The state; its entries are sorted by slot if `windows` are given.
        windows: The windows of the slots; without them a chunk reads all entries.
        scanned: The best split of every slot on every scanned feature.
        plan: Static sizes.
    """
    frontier = state.frontier

    def split_chunk(carry):
        first, nodes, bases = carry
        stop = jnp.minimum(first + plan.num_slots, frontier.size)
        window = (
            (jnp.int32(0), state.entries.size) if windows is None else (windows.start[first], windows.stop[stop - 1])
        )
        chunk = _open_chunk(problem, state._replace(nodes=nodes), first, stop, window, bases, plan=plan)
        best = _best_of_chunk(problem, nodes, chunk, scanned, plan=plan)
        nodes = _record_splits(problem, nodes, chunk.node, chunk.slot < stop, best, plan=plan)
        return stop, nodes, chunk.bases

    bases = tuple(blank_bases(state.entries, plan) for _ in plan.tables)
    return lax.while_loop(lambda c: c[0] < frontier.size, split_chunk, (jnp.int32(0), state.nodes, bases))[1]


def _open_chunk(problem: GrowthConstants, state: State, first, stop, window, bases, *, plan: LoopPlan) -> NodeChunk:
    """The chunk of the slots from `first` to `stop`, with the cell bases of its entries written."""
    slot = first + jnp.arange(plan.num_slots, dtype=jnp.int32)
    node = state.frontier.node.at[slot].get(mode="clip")
    context = node_context(problem, state.nodes, node, plan.rules)
    chunk = NodeChunk(slot, node, context, stop - first, state.entries, window, bases)
    return chunk._replace(bases=tuple(write_bases(chunk, number, plan=plan) for number in range(len(bases))))


def _best_of_chunk(
    problem: GrowthConstants, nodes: Nodes, chunk: NodeChunk, scanned: Split | None, *, plan: LoopPlan
) -> Split:
    """The best split of every slot of a chunk."""
    best = _best_of_features(problem, nodes, chunk, scanned, plan=plan)
    return with_codes_beside(problem, chunk, best, plan=plan) if plan.rules.samples_thresholds else best


def _best_of_features(
    problem: GrowthConstants, nodes: Nodes, chunk: NodeChunk, scanned: Split | None, *, plan: LoopPlan
) -> Split:
    if plan.num_sampled:
        most = problem.limits["max_features"][nodes.root_of(chunk.node)]
        in_use = jnp.arange(plan.num_slots, dtype=jnp.int32) < chunk.num_used
        look = functools.partial(splits_of_sampled, problem, chunk, plan=plan)
        return best_of_sampled(problem, chunk.context, most, in_use, look, plan=plan)
    splits = splits_by_histogram(problem, chunk, plan=plan)
    if scanned is not None:
        splits.append(jax.tree.map(lambda values: values.at[:, chunk.slot].get(mode="clip"), scanned))
    return _best_of_all(problem, nodes, chunk.node, splits, chunk.context, plan=plan)


def _best_of_all(
    problem: GrowthConstants,
    nodes: Nodes,
    node: Int32[Array, " slot"],
    found: list[Split],
    context: NodeContext,
    *,
    plan: LoopPlan,
) -> Split:
    """The best split of every slot over the features that it may score."""
    splits = jax.tree.map(lambda *values: jnp.concatenate(values), *found)
    listed = jnp.concatenate(problem.lists)
    usable = open_features(problem, context).at[listed].get(mode="fill", fill_value=False)
    if plan.rules.samples_features:
        most = problem.limits["max_features"][nodes.root_of(node)]
        usable = usable & is_sampled(splits.gain, listed, usable, context, most)
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    return best_of_slots(problem, splits, context, problem.in_average.at[listed].get(mode="clip"), plan=plan)


def _record_splits(
    problem: GrowthConstants,
    nodes: Nodes,
    node: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    splits: Split,
    *,
    plan: LoopPlan,
) -> Nodes:
    """Stores the splits that the limits allow."""
    rules, learned = plan.rules, splits.missing_branch
    kind = problem.features.kind[splits.feature]
    missing_code = problem.features.missing_code[splits.feature]
    branches = missing_code if rules.separates_missing else problem.num_codes[splits.feature]
    is_split = in_use & _is_allowed(problem, nodes, node, splits.gain, plan=plan)
    at = jnp.where(is_split, node, plan.capacity)
    put = lambda values, new: values.at[at].set(new.astype(values.dtype), mode="drop")  # noqa: E731
    row = nodes.read(node)._replace(
        feature=splits.feature,
        code=splits.code,
        next_code=splits.next_code,
        split_kind=kind,
        missing_code=missing_code,
        missing_branch=jnp.int32(default_branch(1, rules)) if learned is None else learned,
        num_children=jnp.where(kind == SplitKind.MULTIWAY, branches, 2),
    )
    subset = nodes.subset if splits.subset is None else put(nodes.subset, splits.subset)
    return nodes.write(at, row)._replace(gain=put(nodes.gain, splits.gain), subset=subset)


def add_children(problem: GrowthConstants, nodes: Nodes, first_node: Int32[Array, ""], *, plan: LoopPlan) -> Nodes:
    """Appends the children of the nodes from `first_node` on, in the order of their parents.

    Nodes are therefore numbered breadth first, for any division into chunks. Nodes whose children do not fit into the
    table become leaves, and the table is not complete.
    """
    size = plan.nodes_at_a_time
    stop = nodes.num_nodes

    def add_block(block, nodes):
        node = first_node + block * size + jnp.arange(size, dtype=jnp.int32)
        parent = nodes.read(node)
        wanted = jnp.where(node < stop, parent.num_children, 0)
        end = nodes.num_nodes + jnp.cumsum(wanted, dtype=jnp.int32)
        fits = end[-1] <= plan.capacity
        num_children = jnp.where(fits, wanted, 0)
        first_child = jnp.where(num_children > 0, end - num_children, 0)
        branch = jnp.arange(plan.max_branches, dtype=jnp.int32)
        child = jnp.where(branch < num_children[:, None], first_child[:, None] + branch, plan.capacity)
        at = jnp.where(node < stop, node, plan.capacity)
        nodes = nodes.write(at, parent._replace(num_children=num_children, first_child=first_child))
        nodes = nodes.write(child, Row(*(x[:, None] for x in (node, parent.depth + 1, parent.root))))
        own = jnp.minimum(node, plan.capacity - 1)
        nodes = hand_down_sets(problem, hand_down_seeds(nodes, own, child), parent.feature, own, child)
        num_nodes = jnp.where(fits, end[-1], nodes.num_nodes)
        return nodes._replace(num_nodes=num_nodes, complete=nodes.complete & fits)

    num_blocks = -(-(stop - first_node) // size)
    return over_blocks(0, num_blocks, add_block, nodes, most=plan.num_blocks_of_nodes, plan=plan)


def _is_allowed(
    problem: GrowthConstants, nodes: Nodes, node: Int32[Array, " slot"], gain: Float[Array, " slot"], *, plan: LoopPlan
) -> Bool[Array, " slot"]:
    """Whether a node has a split that gains enough."""
    root = nodes.root_of(node)
    weight, whole = (plan.rules.objective.weight(nodes.sums[n].T).astype(jnp.float64) for n in (node, root))
    decrease = gain * weight / jnp.maximum(whole, 1)
    limits = problem.limits
    return (gain >= 0) & (gain >= limits["min_gain"][root]) & (decrease >= limits["min_impurity_decrease"][root])
