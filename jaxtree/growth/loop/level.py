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
from jaxtree.growth.plan.loops import over_blocks
from jaxtree.growth.plan.nodes import Nodes, Row, State, hand_down_seeds, node_context
from jaxtree.growth.plan.plan import Plan
from jaxtree.growth.plan.problem import NodeContext, Problem
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


def split_level(problem: Problem, state: State, scanned: Split | None = None, *, plan: Plan) -> Nodes:
    """Records the splits of the frontier: large nodes are scored by scans and histograms, small ones by their codes."""
    frontier, entries = state.frontier, state.entries
    bases = tuple(blank_bases(entries, plan) for _ in plan.tables)

    def split_large(carry):
        first, nodes, bases = carry
        stop = chunk_stop(frontier, first, plan=plan)
        chunk = _open_chunk(problem, state._replace(nodes=nodes), first, stop, bases, plan=plan)
        best = _best_of_chunk(problem, nodes, chunk, scanned, plan=plan)
        nodes = _record_splits(problem, nodes, chunk.node, chunk.slot < stop, best, plan=plan)
        return stop, nodes, chunk.bases

    def split_small(number, nodes):
        number = number * plan.small_nodes + jnp.arange(plan.small_nodes, dtype=jnp.int32)
        slot = jnp.maximum(plan.capacity - 1 - number, 0)
        in_use = number < frontier.num_small
        best = _best_of_small(problem, state._replace(nodes=nodes), slot, in_use, plan=plan)
        return _record_splits(problem, nodes, frontier.node[slot], in_use, best, plan=plan)

    carry = (jnp.int32(0), state.nodes, bases)
    _, nodes, _ = lax.while_loop(lambda c: c[0] < frontier.num_large, split_large, carry)
    if plan.small_nodes:
        nodes = lax.fori_loop(0, -(-frontier.num_small // plan.small_nodes), split_small, nodes)
    return nodes


def _open_chunk(problem: Problem, state: State, first, stop, bases, *, plan: Plan) -> Chunk:
    """The chunk of the slots from `first` to `stop`, with the cell bases of its entries written."""
    entries, frontier = state.entries, state.frontier
    slot = first + jnp.arange(plan.num_slots, dtype=jnp.int32)
    node = frontier.node.at[slot].get(mode="clip")
    # In row order all entries are read, because those of finished trees still have a cell of an earlier level.
    begin = jnp.where(state.in_row_order, 0, frontier.start[first])
    end = jnp.where(state.in_row_order, entries.size, frontier.stop[stop - 1])
    context = node_context(problem, state.nodes, node, plan.rules)
    chunk = Chunk(slot, node, context, stop - first, entries, (begin, end), state.in_row_order, bases)
    return chunk._replace(bases=tuple(write_bases(chunk, number, plan=plan) for number in range(len(bases))))


def _best_of_chunk(problem: Problem, nodes: Nodes, chunk: Chunk, scanned: Split | None, *, plan: Plan) -> Split:
    """The best split of every slot of a chunk of large nodes."""
    best = _best_of_features(problem, nodes, chunk, scanned, plan=plan)
    return with_codes_beside(problem, chunk, best, plan=plan) if plan.rules.samples_thresholds else best


def _best_of_features(problem: Problem, nodes: Nodes, chunk: Chunk, scanned: Split | None, *, plan: Plan) -> Split:
    if plan.num_sampled:
        most = problem.limits.max_features[nodes.root_of(chunk.node)]
        in_use = jnp.arange(plan.num_slots, dtype=jnp.int32) < chunk.num_used
        look = functools.partial(splits_of_sampled, problem, chunk, plan=plan)
        return best_of_sampled(problem, chunk.context, most, in_use, look, plan=plan)
    splits = splits_by_histogram(problem, chunk, plan=plan)
    if scanned is not None:
        splits.append(jax.tree.map(lambda values: values.at[:, chunk.slot].get(mode="clip"), scanned))
    return _best_of_all(problem, nodes, chunk.node, splits, chunk.context, plan=plan)


def _best_of_small(
    problem: Problem, state: State, slot: Int32[Array, " slot"], in_use: Bool[Array, " slot"], *, plan: Plan
) -> Split:
    """The best split of every slot of a chunk of small nodes."""
    node = state.frontier.node[slot]
    context = node_context(problem, state.nodes, node, plan.rules)
    small = small_nodes(state.entries, state.frontier, slot, context, plan=plan)
    if plan.num_sampled:
        most = problem.limits.max_features[state.nodes.root_of(node)]
        look = functools.partial(sampled_of_small_nodes, problem, small, plan=plan)
        return best_of_sampled(problem, context, most, in_use, look, plan=plan)
    return _best_of_all(
        problem, state.nodes, node, splits_of_small_nodes(problem, small, plan=plan), context, plan=plan
    )


def _best_of_all(
    problem: Problem,
    nodes: Nodes,
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
        most = problem.limits.max_features[nodes.root_of(node)]
        usable = usable & is_sampled(splits.gain, listed, usable, context, most)
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    return best_of_slots(problem, splits, context, problem.in_average.at[listed].get(mode="clip"), plan=plan)


def _record_splits(
    problem: Problem,
    nodes: Nodes,
    node: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    splits: Split,
    *,
    plan: Plan,
) -> Nodes:
    """Stores the splits that the limits allow."""
    rules, learned = plan.rules, splits.missing_branch
    kind = problem.features.kind[splits.feature]
    missing_code = problem.features.missing_code[splits.feature]
    branches = missing_code if rules.sets_missing_apart else problem.num_codes[splits.feature]
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


def add_children(problem: Problem, nodes: Nodes, first_node: Int32[Array, ""], *, plan: Plan) -> Nodes:
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
    problem: Problem, nodes: Nodes, node: Int32[Array, " slot"], gain: Float[Array, " slot"], *, plan: Plan
) -> Bool[Array, " slot"]:
    """Whether a node has a split that gains enough."""
    root = nodes.root_of(node)
    weight, whole = (plan.rules.objective.weight(nodes.sums[n].T).astype(jnp.float64) for n in (node, root))
    decrease = gain * weight / jnp.maximum(whole, 1)
    limits = problem.limits
    return (gain >= 0) & (gain >= limits.min_gain[root]) & (decrease >= limits.min_impurity_decrease[root])


def resolve_missing(tree: Tree, *, is_binary: bool) -> Tree:
    """Sends missing values to the heaviest branch, the last of equals, at nodes that saw none.

    `tree.weight` must be filled in. If all splits have two branches, `is_binary` saves time.
    """
    library = library_of(tree.parent)
    if is_binary:
        weights = (tree.weight[library.minimum(tree.first_child + n, tree.capacity - 1)] for n in range(2))
        fallback = (next(weights) <= next(weights)).astype(np.int32)
    else:
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
