"""One level of growth: the best split of every node of the frontier; and the children of those that are split."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from jaxtree.arrays import library_of
from jaxtree.growth.loop.frontier import chunk_stop
from jaxtree.growth.plan.plan import Plan
from jaxtree.growth.plan.problem import NodeContext, NodeTable, Problem, State, hand_down_seeds, node_context
from jaxtree.growth.splits.best_splits import (
    best_of_sampled,
    best_of_slots,
    is_sampled,
    sampled_of_small_nodes,
    splits_by_histogram,
    splits_of_sampled,
    splits_of_small_nodes,
)
from jaxtree.growth.splits.candidates import UNRESOLVED, default_branch
from jaxtree.growth.splits.drawn import with_codes_beside
from jaxtree.growth.splits.open_features import hand_down_sets, open_features
from jaxtree.growth.splits.small import small_nodes
from jaxtree.growth.splits.split import Split
from jaxtree.growth.sums.histogram import Chunk, blank_bases, write_bases
from jaxtree.tree import SplitKind, Tree


def split_level(problem: Problem, state: State, scanned: Split | None = None, *, plan: Plan) -> NodeTable:
    """Records the splits of the frontier: large nodes are scored by scans and histograms, small ones by their codes."""
    frontier, entries = state.frontier, state.entries
    bases = tuple(blank_bases(entries, plan) for _ in plan.tables)

    def split_large(carry):
        first, table, bases = carry
        stop = chunk_stop(frontier, first, plan=plan)
        chunk = _open_chunk(problem, state._replace(table=table), first, stop, bases, plan=plan)
        best = _best_of_chunk(problem, table, chunk, scanned, plan=plan)
        table = _record_splits(problem, table, chunk.node, chunk.slot < stop, best, plan=plan)
        return stop, table, chunk.bases

    def split_small(number, table):
        number = number * plan.small_nodes + jnp.arange(plan.small_nodes, dtype=jnp.int32)
        slot = jnp.maximum(plan.capacity - 1 - number, 0)
        in_use = number < frontier.num_small
        best = _best_of_small(problem, state._replace(table=table), slot, in_use, plan=plan)
        return _record_splits(problem, table, frontier.node[slot], in_use, best, plan=plan)

    carry = (jnp.int32(0), state.table, bases)
    _, table, _ = lax.while_loop(lambda c: c[0] < frontier.num_large, split_large, carry)
    if plan.small_nodes:
        table = lax.fori_loop(0, -(-frontier.num_small // plan.small_nodes), split_small, table)
    return table


def _open_chunk(problem: Problem, state: State, first, stop, bases, *, plan: Plan) -> Chunk:
    """The chunk of the slots from `first` to `stop`, with the cell bases of its entries written."""
    entries, frontier = state.entries, state.frontier
    slot = first + jnp.arange(plan.num_slots, dtype=jnp.int32)
    node = frontier.node.at[slot].get(mode="clip")
    # In row order all entries are read, because those of finished trees still have a cell of an earlier level.
    begin = jnp.where(state.in_row_order, 0, frontier.start[first])
    end = jnp.where(state.in_row_order, entries.size, frontier.stop[stop - 1])
    context = node_context(problem, state.table, node, plan.rules)
    chunk = Chunk(slot, node, context, stop - first, entries, (begin, end), state.in_row_order, bases)
    return chunk._replace(bases=tuple(write_bases(chunk, number, plan=plan) for number in range(len(bases))))


def _best_of_chunk(problem: Problem, table: NodeTable, chunk: Chunk, scanned: Split | None, *, plan: Plan) -> Split:
    """The best split of every slot of a chunk of large nodes."""
    best = _best_of_features(problem, table, chunk, scanned, plan=plan)
    return with_codes_beside(problem, chunk, best, plan=plan) if plan.rules.samples_thresholds else best


def _best_of_features(problem: Problem, table: NodeTable, chunk: Chunk, scanned: Split | None, *, plan: Plan) -> Split:
    if plan.num_sampled:
        most = problem.limits.max_features[table.tree.root[chunk.node]]
        in_use = jnp.arange(plan.num_slots, dtype=jnp.int32) < chunk.num_used
        look = functools.partial(splits_of_sampled, problem, chunk, plan=plan)
        return best_of_sampled(problem, chunk.context, most, in_use, look, plan=plan)
    splits = splits_by_histogram(problem, chunk, plan=plan)
    if scanned is not None:
        splits.append(jax.tree.map(lambda values: values.at[:, chunk.slot].get(mode="clip"), scanned))
    return _best_of_all(problem, table, chunk.node, splits, chunk.context, plan=plan)


def _best_of_small(
    problem: Problem, state: State, slot: Int32[Array, " slot"], in_use: Bool[Array, " slot"], *, plan: Plan
) -> Split:
    """The best split of every slot of a chunk of small nodes."""
    node = state.frontier.node[slot]
    context = node_context(problem, state.table, node, plan.rules)
    small = small_nodes(state.entries, state.frontier, slot, context, plan=plan)
    if plan.num_sampled:
        most = problem.limits.max_features[state.table.tree.root[node]]
        look = functools.partial(sampled_of_small_nodes, problem, small, plan=plan)
        return best_of_sampled(problem, context, most, in_use, look, plan=plan)
    return _best_of_all(
        problem, state.table, node, splits_of_small_nodes(problem, small, plan=plan), context, plan=plan
    )


def _best_of_all(
    problem: Problem,
    table: NodeTable,
    node: Int32[Array, " slot"],
    found: list[Split],
    context: NodeContext,
    *,
    plan: Plan,
) -> Split:
    """The best split of every slot over the features that it may score."""
    splits = jax.tree.map(lambda *values: jnp.concatenate(values), *found)
    listed = jnp.concatenate(problem.lists)
    usable = open_features(problem, context).at[listed].get(mode="fill", fill_value=False)
    if plan.rules.samples_features:
        most = problem.limits.max_features[table.tree.root[node]]
        usable = usable & is_sampled(splits.gain, listed, usable, context, most)
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    return best_of_slots(problem, splits, context, problem.in_average.at[listed].get(mode="clip"), plan=plan)


def _record_splits(
    problem: Problem,
    table: NodeTable,
    node: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    splits: Split,
    *,
    plan: Plan,
) -> NodeTable:
    """Stores the splits that the limits allow."""
    tree, rules, learned = table.tree, plan.rules, splits.missing_branch
    kind = problem.features.kind[splits.feature]
    missing_code = problem.features.missing_code[splits.feature]
    branches = missing_code if rules.sets_missing_apart else problem.num_codes[splits.feature]
    branches = jnp.where(kind == SplitKind.MULTIWAY, branches, 2)
    is_split = in_use & _is_allowed(problem, table, node, splits.gain, plan=plan)
    split_node = jnp.where(is_split, node, plan.capacity)

    def put(values, new):
        return values.at[split_node].set(new, mode="drop")

    tree = dataclasses.replace(
        tree,
        feature=put(tree.feature, splits.feature),
        code=put(tree.code, splits.code),
        next_code=put(tree.next_code, splits.next_code),
        split_kind=put(tree.split_kind, kind),
        subset=tree.subset if splits.subset is None else put(tree.subset, splits.subset),
        missing_code=put(tree.missing_code, missing_code),
        missing_branch=put(tree.missing_branch, default_branch(1, rules) if learned is None else learned),
        gain=put(tree.gain, splits.gain.astype(tree.gain.dtype)),
        num_children=put(tree.num_children, branches),
    )
    return table._replace(tree=tree)


def add_children(problem: Problem, table: NodeTable, first_node: Int32[Array, ""], *, plan: Plan) -> NodeTable:
    """Appends the children of the nodes from `first_node` on, in the order of their parents.

    Nodes are therefore numbered breadth first, for any division into chunks. Nodes whose children do not fit into the
    table become leaves, and the table is not complete.
    """
    size = plan.nodes_at_a_time
    stop = table.tree.num_nodes

    def add_block(block, table):
        tree = table.tree
        node = first_node + block * size + jnp.arange(size, dtype=jnp.int32)
        at = jnp.where(node < stop, node, plan.capacity)
        wanted = tree.num_children.at[at].get(mode="fill", fill_value=0)
        end = tree.num_nodes + jnp.cumsum(wanted, dtype=jnp.int32)
        fits = end[-1] <= plan.capacity
        num_children = jnp.where(fits, wanted, 0)
        first_child = jnp.where(num_children > 0, end - num_children, 0)
        branch = jnp.arange(plan.max_branches, dtype=jnp.int32)
        child = jnp.where(branch < num_children[:, None], first_child[:, None] + branch, plan.capacity)
        hand_down = lambda values, new: values.at[child].set(  # noqa: E731
            jnp.broadcast_to(new[:, None], child.shape), mode="drop"
        )
        own = jnp.minimum(node, plan.capacity - 1)
        tree = dataclasses.replace(
            tree,
            first_child=tree.first_child.at[at].set(first_child, mode="drop"),
            num_children=tree.num_children.at[at].set(num_children, mode="drop"),
            parent=hand_down(tree.parent, node),
            depth=hand_down(tree.depth, tree.depth[own] + 1),
            root=hand_down(tree.root, tree.root[own]),
            num_nodes=jnp.where(fits, end[-1], tree.num_nodes),
        )
        nodes = hand_down_sets(problem, hand_down_seeds(table.nodes, own, child), tree.feature, own, child)
        return NodeTable(tree, nodes, table.complete & fits)

    return lax.fori_loop(0, -(-(stop - first_node) // size), add_block, table)


def _is_allowed(
    problem: Problem, table: NodeTable, node: Int32[Array, " slot"], gain: Float[Array, " slot"], *, plan: Plan
) -> Bool[Array, " slot"]:
    """Whether a node has a split that gains enough."""
    root = table.tree.root[node]
    weight, whole = (plan.rules.objective.weight(table.nodes.sums[n].T).astype(jnp.float64) for n in (node, root))
    decrease = gain * weight / jnp.maximum(whole, 1)
    limits = problem.limits
    return (gain >= 0) & (gain >= limits.min_gain[root]) & (decrease >= limits.min_impurity_decrease[root])


def resolve_missing(tree: Tree) -> Tree:
    """Sends missing values to the heaviest branch, the last of equals, at nodes that saw none.

    `tree.weight` must be filled in.
    """
    library = library_of(tree.parent)
    node = library.arange(tree.parent.size, dtype=np.int32)
    is_child = (tree.depth > 0) & (node < tree.num_nodes)
    heaviest = _greatest_of(tree.weight, tree.parent, is_child)
    is_heaviest = is_child & (tree.weight == heaviest[tree.parent])
    fallback = _greatest_of(node - tree.first_child[tree.parent], tree.parent, is_heaviest)
    return dataclasses.replace(
        tree, missing_branch=library.where(tree.missing_branch == UNRESOLVED, fallback, tree.missing_branch)
    )


def _greatest_of(values: Any, parent: Any, is_asked: Any) -> Any:
    """The greatest value of every node's children, of those that are asked for; 0 without any."""
    if library_of(values) is np:
        greatest = np.zeros_like(values)
        np.maximum.at(greatest, parent[is_asked], values[is_asked])
        return greatest
    return jnp.zeros_like(values).at[jnp.where(is_asked, parent, parent.size)].max(values, mode="drop")
