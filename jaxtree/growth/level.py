"""One level of growth: the best split of every node of the frontier, and the children it makes."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, UInt

from jaxtree.growth.candidates import UNRESOLVED, Feature, Place, default_branch
from jaxtree.growth.frontier import Entries, Frontier
from jaxtree.growth.histogram import cell_bases, group_histograms, num_bases
from jaxtree.growth.measure import Measure, Units
from jaxtree.growth.nodes import LeafLimits, Nodes, hand_down_seeds, place_of
from jaxtree.growth.plan import WINDOW, Plan, TablePlan
from jaxtree.growth.split import Split, best_of_features, no_split, score_histogram, score_pairs, trimmed
from jaxtree.hashing import child_hash, mix
from jaxtree.tree import SplitKind, Tree


class SplitLimits(NamedTuple):
    """Limits of every root that a node and its best split are held to.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        least_weight: The least weight of a node that is split, in units.
        least_rows: The least number of its rows, where rows are counted.
        min_gain: The least gain.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: How many features a node looks at.
    """

    max_depth: Int32[Array, " root"]
    least_weight: Int[Array, " root"]
    least_rows: Int32[Array, " root"]
    min_gain: Float[Array, " root"]
    min_impurity_decrease: Float[Array, " root"]
    max_features: Int32[Array, " root"]


class Scene(NamedTuple):
    """What stays the same through all levels.

    Attributes:
        codes: Codes of every feature.
        features: Arrays over the features.
        num_codes: How many codes a feature has; 0 for padding.
        in_average: Whether a feature counts for C4.5's average gain.
        lists: The features that every table plan serves, and those that are scanned.
        split_limits: Limits of nodes.
        leaf_limits: Limits of branches.
        units: Units of the sums.
    """

    codes: UInt[Array, "feature row"]
    features: Feature
    num_codes: Int32[Array, " feature"]
    in_average: Bool[Array, " feature"]
    lists: tuple[Int32[Array, " listed"], ...]
    split_limits: SplitLimits
    leaf_limits: LeafLimits
    units: Units


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
    in_row_order: Bool[Array, ""],
    scanned: Split | None = None,
    *,
    plan: Plan,
) -> Level:
    """Splits the nodes of the frontier, large ones by scans and histograms, small ones by pairs."""
    bases = tuple(jnp.zeros((num_bases(plan.rules.measure), entries.row.size), jnp.int32) for _ in plan.tables)

    def split_large(chunk, carry):
        level, bases = carry
        slot = chunk * plan.num_slots + jnp.arange(plan.num_slots, dtype=jnp.int32)
        node = frontier.node.at[slot].get(mode="clip")
        place = place_of(level.nodes, level.tree, node, scene.leaf_limits, scene.units, plan.rules)
        splits, bases = _splits_by_histogram(scene, entries, frontier, slot, place, bases, in_row_order, plan=plan)
        if scanned is not None:
            splits.append(jax.tree.map(lambda values: values.at[:, slot].get(mode="clip"), scanned))
        best = _best_splits(scene, level, node, splits, place, plan=plan)
        return _add_children(scene, level, node, slot < frontier.num_large, best, plan=plan), bases

    def split_small(chunk, level):
        number = chunk * plan.small_nodes + jnp.arange(plan.small_nodes, dtype=jnp.int32)
        slot = jnp.maximum(plan.capacity - 1 - number, 0)
        node = frontier.node[slot]
        place = place_of(level.nodes, level.tree, node, scene.leaf_limits, scene.units, plan.rules)
        splits = _splits_by_pairs(scene, entries, frontier, slot, place, plan=plan)
        best = _best_splits(scene, level, node, splits, place, plan=plan)
        return _add_children(scene, level, node, number < frontier.num_small, best, plan=plan)

    level, _ = lax.fori_loop(0, -(-frontier.num_large // plan.num_slots), split_large, (level, bases))
    if plan.small_nodes:
        level = lax.fori_loop(0, -(-frontier.num_small // plan.small_nodes), split_small, level)
    return level


def take_features(features: Feature, number: Int32[Array, "*some"]) -> Feature:
    """The features of the given numbers."""
    return jax.tree.map(lambda values: values[number], features)


def _splits_by_histogram(
    scene: Scene,
    entries: Entries,
    frontier: Frontier,
    slot: Int32[Array, " slot"],
    place: Place,
    bases: tuple[Int32[Array, "base entry"], ...],
    in_row_order: Bool[Array, ""],
    *,
    plan: Plan,
) -> tuple[list[Split], tuple[Int32[Array, "base entry"], ...]]:
    """The best split of every slot of a chunk on every feature, table by table, and the scratch space."""
    first_slot = slot[0]
    num_used = jnp.minimum(frontier.num_large - first_slot, plan.num_slots)
    size = plan.entries_per_block
    blocks = (frontier.start[first_slot] // size, -(-frontier.stop[first_slot + num_used - 1] // size))
    splits, written = [], []
    for table, listed, base in zip(plan.tables, scene.lists, bases, strict=False):
        base = cell_bases(entries, first_slot, blocks, base, table=table, plan=plan)
        written.append(base)

        def score_group(group, splits, table=table, listed=listed, base=base):
            size = table.features_per_group
            features = lax.dynamic_slice(listed, (group * size,), (size,))
            tables = group_histograms(
                scene.codes, entries, base, features, blocks, in_row_order, table=table, plan=plan
            )
            score = functools.partial(_score_block, scene, tables, group, features, place, table=table, plan=plan)
            return lax.fori_loop(0, -(-num_used // table.slots_per_block), score, splits)

        found = trimmed(no_split((listed.size, plan.num_slots), plan.num_words), plan.rules, plan.num_words)
        splits.append(_over_groups(scene, listed, table.features_per_group, score_group, found))
    return splits, tuple(written)


def _score_block(
    scene: Scene,
    tables: Int[Array, "grouped cell"],
    group: Int32[Array, ""],
    features: Int32[Array, " grouped"],
    place: Place,
    block: Int32[Array, ""],
    splits: Split,
    *,
    table: TablePlan,
    plan: Plan,
) -> Split:
    """Scores a block of slots on a group of features."""
    first_slot = block * table.slots_per_block
    channels = plan.rules.measure.num_channels
    num_cells = table.slots_per_block * channels * table.num_bins
    histograms = lax.dynamic_slice(tables, (jnp.zeros_like(block), block * num_cells), (len(tables), num_cells))
    histograms = histograms.reshape(-1, table.slots_per_block, channels, table.num_bins)
    here = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first_slot, table.slots_per_block), place)
    score = functools.partial(score_histogram, rules=plan.rules, kinds=table.kinds, num_words=plan.num_words)
    over_slots = jax.vmap(score, in_axes=(0, None, 0, None))
    over_features = jax.vmap(over_slots, in_axes=(0, 0, None, None))
    found = over_features(histograms, take_features(scene.features, features), here, scene.units)
    found = trimmed(found, plan.rules, plan.num_words)
    return _put(splits, found, group * table.features_per_group, first_slot)


def _splits_by_pairs(
    scene: Scene, entries: Entries, frontier: Frontier, slot: Int32[Array, " slot"], place: Place, *, plan: Plan
) -> list[Split]:
    """The best split of every slot of a chunk of small nodes on every feature, list by list."""
    entry = frontier.start[slot][:, None] + jnp.arange(WINDOW, dtype=jnp.int32)
    member = (entry < frontier.stop[slot][:, None]) & (entries.slot.at[entry].get(mode="clip") == slot[:, None])
    row = entries.row.at[entry].get(mode="clip")
    label, value = (x.at[:, entry].get(mode="clip") for x in (entries.label, entries.value))
    sums = jnp.moveaxis(_sums_of_entries(label, jnp.where(member, value, 0), plan.rules.measure), 1, 0)
    score = functools.partial(score_pairs, rules=plan.rules)
    over_slots = jax.vmap(score, in_axes=(0, 0, None, 0, None))

    def score_listed(listed, size):
        def score_group(group, splits):
            features = lax.dynamic_slice(listed, (group * size,), (size,))
            codes = scene.codes.at[features[:, None, None], row].get(mode="promise_in_bounds").astype(jnp.int32)
            over_features = jax.vmap(over_slots, in_axes=(0, None, 0, None, None))
            found = over_features(codes, sums, take_features(scene.features, features), place, scene.units)
            return _put(splits, trimmed(found, plan.rules, plan.num_words), group * size, jnp.int32(0))

        found = trimmed(no_split((listed.size, slot.size), plan.num_words), plan.rules, plan.num_words)
        return _over_groups(scene, listed, size, score_group, found)

    sizes = [table.features_per_group for table in plan.tables] + [1] * (plan.num_scanned > 0)
    return [score_listed(listed, size) for listed, size in zip(scene.lists, sizes, strict=True)]


def _sums_of_entries(
    label: Int[Array, "label slot entry"], value: Int[Array, "value slot entry"], measure: Measure
) -> Int[Array, "channel slot entry"]:
    """What every entry adds to the sums of its node."""
    if measure.num_classes:
        classes = jnp.arange(measure.num_classes, dtype=jnp.int32)[:, None, None]
        sums = [jnp.where(of_output == classes, value[:1], 0) for of_output in label]
    else:
        sums = [value[: 1 + measure.num_outputs]]
    if measure.counts_rows:
        sums.append((value[:1] > 0).astype(value.dtype))
    return jnp.concatenate(sums)


def _over_groups(scene: Scene, listed: Int32[Array, " listed"], size: int, score_group, splits: Split) -> Split:
    """Adds to the splits what `score_group` finds; groups of padding, which stand last, are not scored."""
    is_there = scene.num_codes.at[listed].get(mode="fill", fill_value=0) > 0
    num_features = jnp.sum(is_there, dtype=jnp.int32)
    return lax.fori_loop(0, -(-num_features // size), score_group, splits)


def _put(splits: Split, found: Split, first_place: Int32[Array, ""], first_slot: Int32[Array, ""]) -> Split:
    """The splits with what was found for a group of features and a block of slots."""

    def put(values, new):
        start = (first_place, first_slot, jnp.zeros_like(first_slot))
        return lax.dynamic_update_slice(values, new, start[: values.ndim])

    return jax.tree.map(put, splits, found)


def _best_splits(
    scene: Scene, level: Level, node: Int32[Array, " slot"], found: list[Split], place: Place, *, plan: Plan
) -> Split:
    """The best split of every slot over the features that it may look at."""
    splits = jax.tree.map(lambda *values: jnp.concatenate(values), *found)
    listed = jnp.concatenate(scene.lists)
    usable = scene.num_codes.at[listed].get(mode="fill", fill_value=0)[:, None] > 0
    if plan.rules.draws_features:
        most = scene.split_limits.max_features[level.tree.root[node]]
        usable = usable & _drawn_features(splits.gain, listed, usable, place, most)
    splits = splits._replace(gain=jnp.where(usable, splits.gain, -jnp.inf))
    best = functools.partial(best_of_features, rules=plan.rules)
    in_average = scene.in_average.at[listed].get(mode="clip")
    return jax.vmap(best, in_axes=(1, 0, None))(splits, place, in_average)


def _drawn_features(
    gain: Float[Array, "feature slot"],
    listed: Int32[Array, " feature"],
    usable: Bool[Array, "feature 1"],
    place: Place,
    most: Int32[Array, " slot"],
) -> Bool[Array, "feature slot"]:
    """The features that every slot looks at: `most` random ones, or the first in that order that has a split.

    scikit-learn's rule: a node is not a leaf because the features drawn happen to be constant there.
    """
    number = listed.astype(jnp.uint32)[:, None]
    rank = child_hash(mix(place.seed ^ jnp.uint32(0x9E3779B9)), number).astype(jnp.int64)
    rank = jnp.where(usable, rank, 2**33)
    in_order = lax.sort(rank, dimension=0)
    last = jnp.take_along_axis(in_order, jnp.minimum(most, gain.shape[0])[None, :] - 1, axis=0)
    first_useful = jnp.min(jnp.where(gain > -jnp.inf, rank, 2**34), axis=0)
    return rank <= jnp.maximum(last, first_useful)


def _add_children(
    scene: Scene, level: Level, node: Int32[Array, " slot"], in_use: Bool[Array, " slot"], splits: Split, *, plan: Plan
) -> Level:
    """Makes the splits that the limits allow; none of them if the table cannot hold all their children."""
    tree, rules, told = level.tree, plan.rules, splits.missing_branch
    kind = scene.features.kind[splits.feature]
    missing_code = scene.features.missing_code[splits.feature]
    branches = missing_code if rules.sets_missing_apart else scene.num_codes[splits.feature]
    branches = jnp.where(kind == SplitKind.MULTIWAY, branches, 2)
    allowed = _is_allowed(scene, level, node, splits.gain, plan=plan)
    num_children = jnp.where(in_use & allowed, branches, 0)
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
        subset=tree.subset if splits.subset is None else put(tree.subset, splits.subset),
        missing_code=put(tree.missing_code, missing_code),
        missing_branch=put(tree.missing_branch, default_branch(1, rules) if told is None else told),
        gain=put(tree.gain, splits.gain.astype(tree.gain.dtype)),
        first_child=put(tree.first_child, first_child),
        num_children=put(tree.num_children, num_children),
        parent=hand_down(tree.parent, node),
        depth=hand_down(tree.depth, tree.depth[node] + 1),
        root=hand_down(tree.root, tree.root[node]),
        num_nodes=jnp.where(fits, end[-1], tree.num_nodes),
    )
    nodes = hand_down_seeds(level.nodes, node, child)
    return Level(tree, nodes, level.complete & fits)


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
