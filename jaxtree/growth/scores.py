"""The best split of every slot of a chunk on some features, by histograms or by comparing pairs of entries.

The *chunk* is `num_slots` slots side by side, whose nodes are split together.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32

from jaxtree.growth.accumulate import fold_copies
from jaxtree.growth.candidates import Feature, Place
from jaxtree.growth.frontier import Entries, Frontier
from jaxtree.growth.histogram import group_histograms, place_histograms
from jaxtree.growth.measure import Measure
from jaxtree.growth.mesh import total
from jaxtree.growth.plan import WINDOW, Plan, TablePlan
from jaxtree.growth.scene import Scene, take_features
from jaxtree.growth.split import Split, no_split, score_histogram, score_pairs, trimmed


class Chunk(NamedTuple):
    """Slots whose nodes are split together.

    Attributes:
        slot: The slots; the first `num_used` hold nodes.
        node: Their nodes.
        place: What holds at each for its candidates.
        num_used: How many there are.
        window: The first and the last (exclusive) entry that the nodes' windows lie in.
        bases: The cell bases of all entries, for every table plan.
    """

    slot: Int32[Array, " slot"]
    node: Int32[Array, " slot"]
    place: Place
    num_used: Int32[Array, ""]
    window: tuple[Int32[Array, ""], Int32[Array, ""]]
    bases: tuple[Int32[Array, "base entry"], ...]


def splits_by_histogram(
    scene: Scene, entries: Entries, chunk: Chunk, in_row_order: Bool[Array, ""], *, plan: Plan
) -> list[Split]:
    """The best split of every slot on every feature, table by table."""
    splits = []
    for table, listed, base in zip(plan.tables, scene.lists, chunk.bases, strict=False):

        def score_group(group, splits, table=table, listed=listed, base=base):
            features = lax.dynamic_slice(listed, (group * table.features_per_group,), (table.features_per_group,))
            tables = group_histograms(
                scene, entries, base, features, chunk.slot[0], chunk.window, in_row_order, table=table, plan=plan
            )
            tables = total(fold_copies(tables, chunk.num_used, table=table, plan=plan), plan)
            taken = take_features(scene.features, features)
            first = group * table.features_per_group
            return _score_tables(scene, tables, taken, chunk, splits, first, table=table, plan=plan)

        found = _nothing_found((listed.size, plan.num_slots), plan)
        splits.append(_over_groups(scene, listed, table.features_per_group, score_group, found))
    return splits


def splits_of_drawn(
    scene: Scene, entries: Entries, chunk: Chunk, features: Int32[Array, "drawn slot"], *, plan: Plan
) -> Split:
    """The best split of every slot on features of its own, by histograms."""
    best = _nothing_found(features.shape, plan)
    served_by = _table_of_feature(scene, plan)[jnp.minimum(features, scene.num_codes.size - 1)]
    for number, (table, base) in enumerate(zip(plan.tables, chunk.bases, strict=True)):
        tables = place_histograms(
            scene.codes, entries, base, features, chunk.slot[0], chunk.window, table=table, plan=plan
        )
        tables = total(fold_copies(tables, chunk.num_used, table=table, plan=plan), plan)
        taken = take_features(scene.features, jnp.minimum(features, scene.num_codes.size - 1))
        found = _nothing_found(features.shape, plan)
        found = _score_tables(scene, tables, taken, chunk, found, jnp.int32(0), per_slot=True, table=table, plan=plan)
        best = jax.tree.map(functools.partial(_where, served_by == number), found, best)
    return best


def splits_by_pairs(
    scene: Scene, entries: Entries, frontier: Frontier, slot: Int32[Array, " slot"], place: Place, *, plan: Plan
) -> list[Split]:
    """The best split of every slot of small nodes on every feature, list by list."""
    row, sums = _members(entries, frontier, slot, plan)
    score = functools.partial(score_pairs, rules=plan.rules)
    over_features = jax.vmap(jax.vmap(score, in_axes=(0, 0, None, 0, None)), in_axes=(0, None, 0, None, None))

    def score_listed(listed, size):
        def score_group(group, splits):
            features = lax.dynamic_slice(listed, (group * size,), (size,))
            codes = scene.codes.at[features[:, None, None], row].get(mode="promise_in_bounds").astype(jnp.int32)
            found = over_features(codes, sums, take_features(scene.features, features), place, scene.units)
            return _put(splits, trimmed(found, plan.rules, plan.num_words), group * size, jnp.int32(0))

        return _over_groups(scene, listed, size, score_group, _nothing_found((listed.size, slot.size), plan))

    sizes = [table.features_per_group for table in plan.tables] + [1] * (plan.num_scanned > 0)
    return [score_listed(listed, size) for listed, size in zip(scene.lists, sizes, strict=True)]


def pairs_of_drawn(
    scene: Scene,
    entries: Entries,
    frontier: Frontier,
    slot: Int32[Array, " slot"],
    place: Place,
    features: Int32[Array, "drawn slot"],
    *,
    plan: Plan,
) -> Split:
    """The best split of every slot of small nodes on features of its own."""
    row, sums = _members(entries, frontier, slot, plan)
    features = jnp.minimum(features, scene.num_codes.size - 1)
    score = functools.partial(score_pairs, rules=plan.rules)
    over_places = jax.vmap(jax.vmap(score, in_axes=(0, 0, 0, 0, None)), in_axes=(0, None, 0, None, None))
    codes = scene.codes.at[features[:, :, None], row].get(mode="promise_in_bounds").astype(jnp.int32)
    found = over_places(codes, sums, take_features(scene.features, features), place, scene.units)
    return trimmed(found, plan.rules, plan.num_words)


def _nothing_found(shape: tuple[int, ...], plan: Plan) -> Split:
    return trimmed(no_split(shape, plan.num_words), plan.rules, plan.num_words)


def _where(mask: Bool[Array, "drawn slot"], a: Array, b: Array) -> Array:
    return jnp.where(mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim)), a, b)


def _table_of_feature(scene: Scene, plan: Plan) -> Int32[Array, " feature"]:
    """The table plan that serves every feature."""
    served_by = jnp.zeros(scene.num_codes.size, jnp.int32)
    for number, listed in enumerate(scene.lists[: len(plan.tables)]):
        served_by = served_by.at[listed].set(number, mode="drop")
    return served_by


def _score_tables(
    scene: Scene,
    tables: Int[Array, "looked cell"],
    features: Feature,
    chunk: Chunk,
    splits: Split,
    first_place: Int32[Array, ""],
    *,
    per_slot: bool = False,
    table: TablePlan,
    plan: Plan,
) -> Split:
    """Writes the best split of every slot on every table into `splits`, block by block of slots.

    Args:
        scene: The scene.
        tables: The sums of every feature, or of the features that slots have drawn at every place.
        features: The features of the tables; with `per_slot` those of every slot.
        chunk: The slots.
        splits: Where to write.
        first_place: Where the first table's splits stand there.
        per_slot: Whether slots have features of their own.
        table: The plan of the tables.
        plan: Static sizes.
    """
    size, channels = table.slots_per_block, plan.rules.measure.num_channels
    num_cells = size * channels * table.num_bins
    score = functools.partial(score_histogram, rules=plan.rules, kinds=table.kinds, num_words=plan.num_words)
    over_slots = jax.vmap(score, in_axes=(0, 0 if per_slot else None, 0, None))
    over_tables = jax.vmap(over_slots, in_axes=(0, 0, None, None))

    def score_block(block, splits):
        first_slot = block * size
        histograms = lax.dynamic_slice(tables, (jnp.zeros_like(block), block * num_cells), (len(tables), num_cells))
        histograms = histograms.reshape(-1, size, channels, table.num_bins)
        here = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first_slot, size), chunk.place)
        looked = features
        if per_slot:
            looked = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first_slot, size, axis=1), features)
        found = trimmed(over_tables(histograms, looked, here, scene.units), plan.rules, plan.num_words)
        return _put(splits, found, first_place, first_slot)

    return lax.fori_loop(0, -(-chunk.num_used // size), score_block, splits)


def _members(
    entries: Entries, frontier: Frontier, slot: Int32[Array, " slot"], plan: Plan
) -> tuple[Int32[Array, "slot window"], Int[Array, "slot channel window"]]:
    """The rows in the window of every small node, and what each adds to the sums, 0 if it is not in the node."""
    entry = frontier.start[slot][:, None] + jnp.arange(WINDOW, dtype=jnp.int32)
    member = (entry < frontier.stop[slot][:, None]) & (entries.slot.at[entry].get(mode="clip") == slot[:, None])
    row = entries.row.at[entry].get(mode="clip")
    label, value = (x.at[:, entry].get(mode="clip") for x in (entries.label, entries.value))
    sums = _sums_of_entries(label, jnp.where(member, value, 0), plan.rules.measure)
    return row, jnp.moveaxis(sums, 1, 0)


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
