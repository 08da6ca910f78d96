"""One level of growth: the best split of every node of the frontier, and the children it makes."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from jaxtree.growth.candidates import UNRESOLVED, Place, default_branch
from jaxtree.growth.drawn import best_of_drawn, is_drawn
from jaxtree.growth.frontier import Entries, Frontier, chunk_stop
from jaxtree.growth.histogram import blank_bases, cell_bases
from jaxtree.growth.nodes import Nodes, hand_down_seeds, place_of
from jaxtree.growth.plan import Plan
from jaxtree.growth.scene import Scene
from jaxtree.growth.scores import Chunk, pairs_of_drawn, splits_by_histogram, splits_by_pairs, splits_of_drawn
from jaxtree.growth.split import Split, best_of_features
from jaxtree.tree import SplitKind, Tree

NODES_AT_A_TIME = 1024
"""Nodes whose children are made together."""


class Level(NamedTuple):
    """What splitting a level changes. `complete` is false once a table is full."""

    tree: Tree
    nodes: Nodes
    complete: Bool[Array, ""]


def split_level(
    scene: Scene,
    level: Level,
    entries: Entries,
    frontier: Frontier,
    first_node: Int32[Array, ""],
    in_row_order: Bool[Array, ""],
    scanned: Split | None = None,
    *,
    plan: Plan,
) -> Level:
    """Splits the nodes of the frontier, large ones by scans and histograms, small ones by pairs.

    They are among the nodes from `first_node` on, which make up the level.
    """
    bases = tuple(blank_bases(entries, plan) for _ in plan.tables)

    def split_large(carry):
        first, level, bases = carry
        stop = chunk_stop(frontier, first, plan=plan)
        chunk = _open_chunk(scene, level, entries, frontier, first, stop, bases, in_row_order, plan=plan)
        best = _best_of_chunk(scene, level, entries, chunk, in_row_order, scanned, plan=plan)
        level = _record_splits(scene, level, chunk.node, chunk.slot < stop, best, plan=plan)
        return stop, level, chunk.bases

    def split_small(number, level):
        number = number * plan.small_nodes + jnp.arange(plan.small_nodes, dtype=jnp.int32)
        slot = jnp.maximum(plan.capacity - 1 - number, 0)
        in_use = number < frontier.num_small
        best = _best_of_small(scene, level, entries, frontier, slot, in_use, plan=plan)
        return _record_splits(scene, level, frontier.node[slot], in_use, best, plan=plan)

    _, level, _ = lax.while_loop(lambda c: c[0] < frontier.num_large, split_large, (jnp.int32(0), level, bases))
    if plan.small_nodes:
        level = lax.fori_loop(0, -(-frontier.num_small // plan.small_nodes), split_small, level)
    return _add_children(level, first_node, plan=plan)


def _open_chunk(
    scene: Scene, level: Level, entries: Entries, frontier: Frontier, first, stop, bases, in_row_order, *, plan: Plan
) -> Chunk:
    """The chunk of the slots from `first` to `stop`, with the cell bases of its entries written."""
    slot = first + jnp.arange(plan.num_slots, dtype=jnp.int32)
    node = frontier.node.at[slot].get(mode="clip")
    # In row order all entries are read, and those of trees that are done have a cell from an earlier level.
    begin = jnp.where(in_row_order, 0, frontier.start[first])
    end = jnp.where(in_row_order, entries.size, frontier.stop[stop - 1])
    window = (begin, end)
    written = (
        cell_bases(entries, first, stop - first, window, base, table=table, plan=plan)
        for table, base in zip(plan.tables, bases, strict=True)
    )
    place = place_of(level.nodes, level.tree, node, scene.leaf_limits, scene.units, plan.rules)
    return Chunk(slot, node, place, stop - first, window, tuple(written))


def _best_of_chunk(
    scene: Scene, level: Level, entries: Entries, chunk: Chunk, in_row_order, scanned: Split | None, *, plan: Plan
) -> Split:
    """The best split of every slot of a chunk of large nodes."""
    if plan.num_drawn:
        most = scene.split_limits.max_features[level.tree.root[chunk.node]]
        in_use = jnp.arange(plan.num_slots, dtype=jnp.int32) < chunk.num_used
        look = functools.partial(splits_of_drawn, scene, entries, chunk, plan=plan)
        return best_of_drawn(scene, chunk.place, most, in_use, look, plan=plan)
    splits = splits_by_histogram(scene, entries, chunk, in_row_order, plan=plan)
    if scanned is not None:
        splits.append(jax.tree.map(lambda values: values.at[:, chunk.slot].get(mode="clip"), scanned))
    return _best_splits(scene, level, chunk.node, splits, chunk.place, plan=plan)


def _best_of_small(
    scene: Scene,
    level: Level,
    entries: Entries,
    frontier: Frontier,
    slot: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    *,
    plan: Plan,
) -> Split:
    """The best split of every slot of a chunk of small nodes."""
    node = frontier.node[slot]
    place = place_of(level.nodes, level.tree, node, scene.leaf_limits, scene.units, plan.rules)
    if plan.num_drawn:
        most = scene.split_limits.max_features[level.tree.root[node]]
        look = functools.partial(pairs_of_drawn, scene, entries, frontier, slot, place, plan=plan)
        return best_of_drawn(scene, place, most, in_use, look, plan=plan)
    splits = splits_by_pairs(scene, entries, frontier, slot, place, plan=plan)
    return _best_splits(scene, level, node, splits, place, plan=plan)


def _best_splits(
    scene: Scene, level: Level, node: Int32[Array, " slot"], found: list[Split], place: Place, *, plan: Plan
) -> Split:
    """The best split of every slot over the features that it may look at."""
    splits = jax.tree.map(lambda *values: jnp.concatenate(values), *found)
    listed = jnp.concatenate(scene.lists)
    usable = scene.num_codes.at[listed].get(mode="fill", fill_value=0)[:, None] > 0
    if plan.rules.draws_features:
        most = scene.split_limits.max_features[level.tree.root[node]]
        usable = usable & is_drawn(splits.gain, listed, usable, place, most)
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    best = functools.partial(best_of_features, rules=plan.rules)
    in_average = scene.in_average.at[listed].get(mode="clip")
    return jax.vmap(best, in_axes=(1, 0, None))(splits, place, in_average)


def _record_splits(
    scene: Scene, level: Level, node: Int32[Array, " slot"], in_use: Bool[Array, " slot"], splits: Split, *, plan: Plan
) -> Level:
    """Writes down the splits that the limits allow."""
    tree, rules, told = level.tree, plan.rules, splits.missing_branch
    kind = scene.features.kind[splits.feature]
    missing_code = scene.features.missing_code[splits.feature]
    branches = missing_code if rules.sets_missing_apart else scene.num_codes[splits.feature]
    branches = jnp.where(kind == SplitKind.MULTIWAY, branches, 2)
    is_split = in_use & _is_allowed(scene, level, node, splits.gain, plan=plan)
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
        missing_branch=put(tree.missing_branch, default_branch(1, rules) if told is None else told),
        gain=put(tree.gain, splits.gain.astype(tree.gain.dtype)),
        num_children=put(tree.num_children, branches),
    )
    return level._replace(tree=tree)


def _add_children(level: Level, first_node: Int32[Array, ""], *, plan: Plan) -> Level:
    """Appends the children of the nodes from `first_node` on, in the order of their parents.

    So nodes are numbered breadth first, however they were divided among chunks. Where the table is full, nodes become
    leaves, and the level is not complete.
    """
    size = min(plan.capacity, NODES_AT_A_TIME)
    stop = level.tree.num_nodes

    def add_block(block, level):
        tree = level.tree
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
        return Level(tree, hand_down_seeds(level.nodes, own, child), level.complete & fits)

    return lax.fori_loop(0, -(-(stop - first_node) // size), add_block, level)


def _is_allowed(
    scene: Scene, level: Level, node: Int32[Array, " slot"], gain: Float[Array, " slot"], *, plan: Plan
) -> Bool[Array, " slot"]:
    """Whether a node has a split, and one that gains enough."""
    root = level.tree.root[node]
    weight, whole = (plan.rules.measure.weight(level.nodes.sums[n].T).astype(jnp.float64) for n in (node, root))
    decrease = gain * weight / jnp.maximum(whole, 1)
    limits = scene.split_limits
    return (gain >= 0) & (gain >= limits.min_gain[root]) & (decrease >= limits.min_impurity_decrease[root])


def resolve_missing(tree: Tree) -> Tree:
    """Sends the missing values of nodes that saw none to the heaviest branch, the last of equals.

    `tree.weight` must be there.
    """
    node = jnp.arange(tree.parent.size, dtype=jnp.int32)
    is_child = (tree.depth > 0) & (node < tree.num_nodes)
    parent = jnp.where(is_child, tree.parent, tree.parent.size)
    heaviest = jnp.zeros_like(tree.weight).at[parent].max(tree.weight, mode="drop")
    is_heaviest = is_child & (tree.weight == heaviest[tree.parent])
    branch = node - tree.first_child[tree.parent]
    fallback = jnp.zeros_like(branch).at[jnp.where(is_heaviest, parent, tree.parent.size)].max(branch, mode="drop")
    return dataclasses.replace(
        tree, missing_branch=jnp.where(tree.missing_branch == UNRESOLVED, fallback, tree.missing_branch)
    )
