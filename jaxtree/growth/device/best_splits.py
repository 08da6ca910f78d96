"""The best split of every slot of a chunk by histograms, on all features or a few.

Where features are *sampled*, every node orders them at random. It scores the first `max_features` of
them and, if none of these has a split, the following ones until one has. This is scikit-learn's rule: a node does not
become a leaf because the sampled features happen to be constant there. Features are scored in *rounds* of a static
number, so that a node costs only the features that it scores.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32

from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.candidates import SplitScorer
from jaxtree.growth.device.drawn import drawn_histograms
from jaxtree.growth.device.histogram import NodeChunk, group_histograms, sampled_histograms
from jaxtree.growth.device.open_features import NEVER, in_order, last_rank, open_features
from jaxtree.growth.device.split import Split, best_of_features, no_split, score_histogram, trimmed
from jaxtree.growth.inputs.whole_numbers import sort_pairs
from jaxtree.growth.plan.plan import LoopPlan, TablePlan
from jaxtree.growth.plan.problem import FeatureContext, GrowthConstants, NodeContext
from jaxtree.tree import SplitKind

NOT_SAMPLED = 2**32 - 1
"""The rank of a feature that no node scores."""


def splits_by_histogram(problem: GrowthConstants, chunk: NodeChunk, *, plan: LoopPlan) -> list[Split]:
    """The best split of every slot on every feature, table by table."""
    splits = []
    for number, (table, listed) in enumerate(zip(plan.tables, problem.lists, strict=False)):
        size = table.features_per_group

        def score_group(group, splits, number=number, listed=listed, size=size):
            features = lax.dynamic_slice(listed, (group * size,), (size,))
            if _draws(plan.tables[number], plan):
                features = jnp.broadcast_to(features[:, None], (size, plan.num_slots))
                looked = _draw(problem, chunk, features, number, plan=plan)
            else:
                tables = group_histograms(problem, chunk, features, number, plan=plan)
                looked = _FeatureTables(tables, None, problem.take_features(features), number)
            return _score_tables(problem, chunk, looked, splits, group * size, plan=plan)

        splits.append(
            _over_groups(problem, listed, size, score_group, no_split((listed.size, plan.num_slots), plan), plan=plan)
        )
    return splits


def splits_of_sampled(
    problem: GrowthConstants, chunk: NodeChunk, features: Int32[Array, "sampled slot"], *, plan: LoopPlan
) -> Split:
    """The best split of every slot on its own features, by histograms."""
    at = jnp.minimum(features, problem.num_codes.size - 1)

    def score(number):
        if _draws(plan.tables[number], plan):
            looked = _draw(problem, chunk, at, number, plan=plan)
        else:
            tables = sampled_histograms(problem, chunk, features, number, plan=plan)
            looked = _FeatureTables(tables, None, problem.take_features(at), number)
        return _score_tables(problem, chunk, looked, no_split(features.shape, plan), jnp.int32(0), plan=plan)

    return _of_own_table(problem, at, score, plan=plan)


def _of_own_table(
    problem: GrowthConstants, features: Int32[Array, "sampled slot"], score: Callable[[int], Split], *, plan: LoopPlan
) -> Split:
    """The splits that `score` finds for the table plan of each feature."""
    best = score(0)
    if len(plan.tables) > 1:
        served_by = _table_of_feature(problem, plan)[features]
        for number in range(1, len(plan.tables)):
            best = jax.tree.map(functools.partial(_where, served_by == number), score(number), best)
    return best


def best_of_slots(
    problem: GrowthConstants,
    splits: Split,
    context: NodeContext,
    in_average: Bool[Array, "feature *slot"],
    *,
    plan: LoopPlan,
) -> Split:
    """The best of every slot's splits, one per feature (arrays of shape (feature, slot))."""
    best = lambda own, node, counts: best_of_features(SplitScorer(plan.rules, node, problem.units), own, counts)  # noqa: E731
    return jax.vmap(best, in_axes=(1, 0, 1 if in_average.ndim > 1 else None))(splits, context, in_average)


def _where(mask: Bool[Array, "sampled slot"], a: Array, b: Array) -> Array:
    return jnp.where(mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim)), a, b)


def _table_of_feature(problem: GrowthConstants, plan: LoopPlan) -> Int32[Array, " feature"]:
    """The number of the table plan of every feature."""
    served_by = jnp.zeros(problem.num_codes.size, jnp.int32)
    for number, listed in enumerate(problem.lists[: len(plan.tables)]):
        served_by = served_by.at[listed].set(number, mode="drop")
    return served_by


class _FeatureTables(NamedTuple):
    """Tables of sums to be scored.

    Attributes:
        sums: One table for every feature, or for all slots' features of one rank.
        codes: The codes of drawn parts; None where bins are codes.
        features: The features of the tables, or of every table's slots.
        number: The table plan.
    """

    sums: Int[Array, "looked cell"]
    codes: Int32[Array, "looked slot part"] | None
    features: FeatureContext
    number: int


def _draws(table: TablePlan, plan: LoopPlan) -> bool:
    """Whether a threshold is drawn for the features of a table."""
    return plan.rules.samples_thresholds and table.kind == SplitKind.THRESHOLD


def _draw(
    problem: GrowthConstants, chunk: NodeChunk, features: Int32[Array, "looked slot"], number: int, *, plan: LoopPlan
) -> _FeatureTables:
    """The tables of the parts that drawn thresholds make."""
    tables, codes = drawn_histograms(problem, chunk, features, number, plan=plan)
    return _FeatureTables(tables, codes, problem.take_features(features), number)


def _score_tables(
    problem: GrowthConstants,
    chunk: NodeChunk,
    looked: _FeatureTables,
    splits: Split,
    first_place: Int32[Array, ""],
    *,
    plan: LoopPlan,
) -> Split:
    """Writes the best split of every slot on every table into `splits`, block by block of slots.

    The first table's splits go to `first_place`.
    """
    table, channels = plan.tables[looked.number], plan.rules.num_channels
    size, per_slot = table.slots_per_block, looked.features.number.ndim > 1
    num_cells = size * channels * table.num_bins

    every_code = jnp.arange(table.num_bins, dtype=jnp.int32)
    of_table = {"kind": table.kind, "num_words": plan.num_words, "num_codes": plan.subsets.num_bins}

    def score(histogram, feature, node, code):
        judge, code = SplitScorer(plan.rules, node, problem.units), every_code if code is None else code
        return score_histogram(judge, feature, histogram, code, **of_table)

    over_slots = jax.vmap(score, in_axes=(0, 0 if per_slot else None, 0, 0))
    over_tables = jax.vmap(over_slots, in_axes=(0, 0, None, 0))

    def score_block(block, splits):
        first_slot, start = block * size, (jnp.zeros_like(block), block * num_cells)
        histograms = lax.dynamic_slice(looked.sums, start, (len(looked.sums), num_cells))
        histograms = histograms.reshape(-1, size, channels, table.num_bins)
        here = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first_slot, size), chunk.context)
        of_slots = (looked.features, looked.codes) if per_slot else looked.codes
        of_slots = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first_slot, size, axis=1), of_slots)
        features, codes = of_slots if per_slot else (looked.features, of_slots)
        found = trimmed(over_tables(histograms, features, here, codes), plan)
        return _put(splits, found, first_place, first_slot)

    num_blocks = plan.num_slots // size
    return over_blocks(0, -(-chunk.num_used // size), score_block, splits, most=num_blocks, plan=plan)


def _over_groups(
    problem: GrowthConstants, listed: Int32[Array, " listed"], size: int, score_group, splits: Split, *, plan: LoopPlan
) -> Split:
    """Adds the results of `score_group` to the splits; groups of padding, which come last, are not scored."""
    num_features = jnp.sum(problem.is_there(listed), dtype=jnp.int32)
    num_groups = listed.size // size
    return over_blocks(0, -(-num_features // size), score_group, splits, most=num_groups, plan=plan)


def _put(splits: Split, found: Split, first_place: Int32[Array, ""], first_slot: Int32[Array, ""]) -> Split:
    """Writes the splits found for a group of features and a block of slots."""

    def put(values, new):
        start = (first_place, first_slot, jnp.zeros_like(first_slot))
        return lax.dynamic_update_slice(values, new, start[: values.ndim])

    return jax.tree.map(put, splits, found)


def best_of_sampled(
    problem: GrowthConstants,
    context: NodeContext,
    most: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    look: Callable[[Int32[Array, "sampled slot"]], Split],
    *,
    plan: LoopPlan,
) -> Split:
    """The best split of every slot on the features that it samples.

    Args:
        problem: The problem.
        context: The contexts of the slots' nodes.
        most: How many features each slot scores, if one of them has a split.
        in_use: Which slots hold nodes.
        look: A function from features of every slot to their best splits; numbers past all features have none.
        plan: Static sizes.
    """
    is_open = open_features(problem, context)
    order = _feature_orders(is_open, context, plan=plan)
    num_open = jnp.sum(is_open, axis=0, dtype=jnp.int32)

    def goes_on(carry):
        first, best = carry
        return (first == 0) | jnp.any(in_use & (first < num_open) & (best.gain == -jnp.inf))

    def look_on(carry):
        first, best = carry
        features = lax.dynamic_slice(order, (first, jnp.zeros_like(first)), (plan.num_sampled, most.size))
        found = look(features)
        at = first + jnp.arange(plan.num_sampled, dtype=jnp.int32)[:, None]
        has_split = (found.gain > -jnp.inf) & (at < num_open)
        first_useful = jnp.min(jnp.where(has_split, at, num_open), axis=0)
        is_seen = has_split & (at < jnp.maximum(most, first_useful + 1))
        found = found._replace(gain=jnp.where(is_seen, found.gain, -jnp.inf))
        in_average = problem.in_average.at[features].get(mode="clip")
        new = best_of_slots(problem, found, context, in_average, plan=plan)
        is_settled = best.gain > -jnp.inf
        return first + plan.num_sampled, jax.tree.map(
            lambda a, b: jnp.where(is_settled.reshape(is_settled.shape + (1,) * (a.ndim - 1)), a, b), best, new
        )

    return lax.while_loop(goes_on, look_on, (jnp.int32(0), no_split((most.size,), plan)))[1]


def _feature_orders(
    is_open: Bool[Array, "feature _"], context: NodeContext, *, plan: LoopPlan
) -> Int32[Array, "place slot"]:
    """The open features in the random order of every slot, then the others, and numbers past all features."""
    number = jnp.arange(len(is_open), dtype=jnp.int32)[:, None]
    rank = jnp.where(is_open, context.feature_ranks(number), jnp.uint32(NOT_SAMPLED))
    numbers = jnp.broadcast_to(number, rank.shape)
    order = sort_pairs(rank.T, numbers.T)[1].T
    padding = -order.shape[0] % plan.num_sampled
    return jnp.pad(order, ((0, padding), (0, 0)), constant_values=len(is_open))


def is_sampled(
    gain: Float[Array, "feature slot"],
    listed: Int32[Array, " feature"],
    usable: Bool[Array, "feature _"],
    context: NodeContext,
    most: Int32[Array, " slot"],
) -> Bool[Array, "feature slot"]:
    """Whether a slot samples the feature of a split, where splits on all features are given."""
    rank = in_order(context.feature_ranks(listed[:, None]), usable)
    first_useful = jnp.min(jnp.where(gain > -jnp.inf, rank, 2 * NEVER), axis=0)
    return rank <= jnp.maximum(last_rank(rank, most), first_useful)
