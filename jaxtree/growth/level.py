"""One level of growth: the best split of every node of the frontier, and the children it makes."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, UInt

from jaxtree.arrays import AnyArray, FloatLike, IntLike
from jaxtree.growth.frontier import Entries, Frontier
from jaxtree.growth.histogram import cell_bases, group_histograms
from jaxtree.growth.plan import WINDOW, Plan
from jaxtree.growth.split import Split, best_of_features, score_histogram, score_pairs
from jaxtree.tree import SplitKind, Tree


class Features(NamedTuple):
    """How the features may be split.

    Attributes:
        split_kind: A `SplitKind` for every feature.
        num_codes: How many codes a feature has, a missing value's included; 0 for padding, which stands last.
    """

    split_kind: Int[AnyArray, " feature"]
    num_codes: Int[AnyArray, " feature"]


class Limits(NamedTuple):
    """When a node is not split: numbers, or arrays with one number for every root.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        min_samples_split: The least weight of a node that is split.
        min_samples_leaf: The least weight of a branch (of a multiway split: of every branch in use).
        min_gain: The least gain of a split.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
    """

    max_depth: IntLike = 2**31 - 1
    min_samples_split: IntLike = 2
    min_samples_leaf: IntLike = 1
    min_gain: FloatLike = 0.0
    min_impurity_decrease: FloatLike = 0.0


class Scene(NamedTuple):
    """What stays the same through all levels."""

    codes: UInt[Array, "feature row"]
    features: Features
    limits: Limits


class Level(NamedTuple):
    """What splitting a level changes. `cell_base` is scratch space; `complete` is false once the table is full."""

    tree: Tree
    cell_base: Int32[Array, " entry"]
    complete: Bool[Array, ""]


def split_level(
    scene: Scene, level: Level, entries: Entries, frontier: Frontier, in_row_order: Bool[Array, ""], *, plan: Plan
) -> Level:
    """Splits the nodes of the frontier, large ones by histograms and small ones by pairs."""

    def split_large(chunk, level):
        slot = chunk * plan.num_slots + jnp.arange(plan.num_slots, dtype=jnp.int32)
        node = frontier.node.at[slot].get(mode="clip")
        splits, cell_base = _splits_by_histogram(scene, level, entries, frontier, slot, in_row_order, plan=plan)
        level = level._replace(cell_base=cell_base)
        return _add_children(scene, level, node, slot < frontier.num_large, splits, plan=plan)

    def split_small(chunk, level):
        place = chunk * plan.small_nodes + jnp.arange(plan.small_nodes, dtype=jnp.int32)
        slot = jnp.maximum(plan.capacity - 1 - place, 0)
        splits = _splits_by_pairs(scene, level.tree, entries, frontier, slot, plan=plan)
        return _add_children(scene, level, frontier.node[slot], place < frontier.num_small, splits, plan=plan)

    level = lax.fori_loop(0, -(-frontier.num_large // plan.num_slots), split_large, level)
    if plan.small_nodes:
        level = lax.fori_loop(0, -(-frontier.num_small // plan.small_nodes), split_small, level)
    return level


def _splits_by_histogram(
    scene: Scene,
    level: Level,
    entries: Entries,
    frontier: Frontier,
    slot: Int32[Array, " slot"],
    in_row_order: Bool[Array, ""],
    *,
    plan: Plan,
) -> tuple[Split, Int32[Array, " entry"]]:
    """The best split of every slot of a chunk, and the scratch space."""
    first_slot = slot[0]
    num_used = jnp.minimum(frontier.num_large - first_slot, plan.num_slots)
    size = plan.entries_per_block
    blocks = (frontier.start[first_slot] // size, -(-frontier.stop[first_slot + num_used - 1] // size))
    cell_base = cell_bases(entries, level.cell_base, first_slot, blocks, plan=plan)
    node = frontier.node.at[slot].get(mode="clip")
    least = scene.limits.min_samples_leaf[level.tree.root[node]]

    def score_group(group, splits):
        tables = group_histograms(scene.codes, entries, cell_base, group, blocks, in_row_order, plan=plan)
        score = functools.partial(_score_block, scene.features, tables, group, least, plan=plan)
        return lax.fori_loop(0, -(-num_used // plan.slots_per_block), score, splits)

    splits = _over_features(scene, score_group, plan.num_slots, plan=plan)
    return _best_splits(scene, level.tree, node, splits, plan=plan), cell_base


def _score_block(
    features: Features,
    tables: Int[Array, "grouped cell"],
    group: Int32[Array, ""],
    least: Int[Array, " slot"],
    block: Int32[Array, ""],
    splits: Split,
    *,
    plan: Plan,
) -> Split:
    """Scores a block of slots on a group of features."""
    first_slot, first_feature = block * plan.slots_per_block, group * plan.features_per_group
    num_cells = plan.slots_per_block * plan.num_classes * plan.num_bins
    histograms = lax.dynamic_slice(tables, (jnp.zeros_like(block), block * num_cells), (len(tables), num_cells))
    histograms = histograms.reshape(-1, plan.slots_per_block, plan.num_classes, plan.num_bins)
    feature = first_feature + jnp.arange(plan.features_per_group, dtype=jnp.int32)
    score = functools.partial(score_histogram, criterion=plan.criterion, kinds=plan.kinds)
    over_slots = jax.vmap(score, in_axes=(0, None, None, 0))
    over_features = jax.vmap(over_slots, in_axes=(0, 0, 0, None))
    block_least = lax.dynamic_slice(least, (first_slot,), (plan.slots_per_block,))
    found = over_features(histograms, feature, features.split_kind[feature], block_least)
    return _put(splits, found, first_feature, first_slot)


def _splits_by_pairs(
    scene: Scene, tree: Tree, entries: Entries, frontier: Frontier, slot: Int32[Array, " slot"], *, plan: Plan
) -> Split:
    """The best split of every slot of a chunk of small nodes."""
    entry = frontier.start[slot][:, None] + jnp.arange(WINDOW, dtype=jnp.int32)
    member = (entry < frontier.stop[slot][:, None]) & (entries.slot.at[entry].get(mode="clip") == slot[:, None])
    row, label, weight = (x.at[entry].get(mode="clip") for x in entries[:3])
    classes = jnp.arange(plan.num_classes, dtype=jnp.int32)[:, None]
    class_weight = jnp.where(member[:, None] & (label[:, None] == classes), weight[:, None], 0)
    node = frontier.node[slot]
    least = scene.limits.min_samples_leaf[tree.root[node]]
    over_slots = jax.vmap(functools.partial(score_pairs, criterion=plan.criterion), in_axes=(0, 0, None, 0))

    def score_group(group, splits):
        first_feature = group * plan.features_per_group
        feature = first_feature + jnp.arange(plan.features_per_group, dtype=jnp.int32)
        codes = scene.codes.at[feature[:, None, None], row].get(mode="promise_in_bounds").astype(jnp.int32)
        found = jax.vmap(over_slots, in_axes=(0, None, 0, None))(codes, class_weight, feature, least)
        return _put(splits, found, first_feature, jnp.int32(0))

    splits = _over_features(scene, score_group, slot.size, plan=plan)
    return _best_splits(scene, tree, node, splits, plan=plan)


def _over_features(scene: Scene, score_group, num_slots: int, *, plan: Plan) -> Split:
    """The splits that `score_group` finds for every feature and slot; padding is not scored."""
    shape = (scene.codes.shape[0], num_slots)
    none = jnp.zeros(shape, jnp.int32)
    splits = Split(jnp.full(shape, -jnp.inf, jnp.float64), none, none, none)
    num_features = jnp.sum(scene.features.num_codes > 0, dtype=jnp.int32)
    return lax.fori_loop(0, -(-num_features // plan.features_per_group), score_group, splits)


def _put(splits: Split, found: Split, first_feature: Int32[Array, ""], first_slot: Int32[Array, ""]) -> Split:
    """Writes the splits of some slots on some features into the table of all."""
    corner = (first_feature, first_slot)
    return jax.tree.map(lambda table, part: lax.dynamic_update_slice(table, part, corner), splits, found)


def _best_splits(scene: Scene, tree: Tree, node: Int32[Array, " slot"], splits: Split, *, plan: Plan) -> Split:
    usable = scene.features.num_codes[:, None] > 0
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    impurity = jax.vmap(plan.criterion)(tree.count[node].astype(jnp.float64))
    return jax.vmap(best_of_features, in_axes=(1, 0))(splits, impurity)


def _add_children(
    scene: Scene, level: Level, node: Int32[Array, " slot"], in_use: Bool[Array, " slot"], splits: Split, *, plan: Plan
) -> Level:
    """Makes the splits that the limits allow; none of them if the table cannot hold all their children."""
    tree = level.tree
    kind = scene.features.split_kind[splits.feature]
    branches = jnp.where(kind == SplitKind.MULTIWAY, scene.features.num_codes[splits.feature], 2)
    num_children = jnp.where(in_use & _is_allowed(tree, node, splits.gain, scene.limits), branches, 0)
    end = tree.num_nodes + jnp.cumsum(num_children, dtype=jnp.int32)
    fits = end[-1] <= plan.capacity
    num_children = jnp.where(fits, num_children, 0)
    first_child = jnp.where(fits, end - num_children, 0)
    branch = jnp.arange(plan.max_branches, dtype=jnp.int32)
    child = jnp.where(branch < num_children[:, None], first_child[:, None] + branch, plan.capacity)
    split_node = jnp.where(num_children > 0, node, plan.capacity)

    def put(values, new):
        return values.at[split_node].set(new, mode="drop")

    def hand_down(values, new):
        return values.at[child].set(jnp.broadcast_to(new[:, None], child.shape), mode="drop")

    tree = dataclasses.replace(
        tree,
        feature=put(tree.feature, splits.feature),
        code=put(tree.code, splits.code),
        next_code=put(tree.next_code, splits.next_code),
        split_kind=put(tree.split_kind, kind),
        gain=put(tree.gain, splits.gain.astype(jnp.float32)),
        first_child=put(tree.first_child, first_child),
        num_children=put(tree.num_children, num_children),
        parent=hand_down(tree.parent, node),
        depth=hand_down(tree.depth, tree.depth[node] + 1),
        root=hand_down(tree.root, tree.root[node]),
        num_nodes=jnp.where(fits, end[-1], tree.num_nodes),
    )
    return level._replace(tree=tree, complete=level.complete & fits)


def _is_allowed(
    tree: Tree, node: Int32[Array, " slot"], gain: Float[Array, " slot"], limits: Limits
) -> Bool[Array, " slot"]:
    """Whether a node has a split, and one that gains enough."""
    root = tree.root[node]
    weight, whole = (jnp.sum(tree.count[n], axis=1).astype(jnp.float64) for n in (node, root))
    decrease = gain * weight / jnp.maximum(whole, 1)
    return (gain >= 0) & (gain >= limits.min_gain[root]) & (decrease >= limits.min_impurity_decrease[root])
