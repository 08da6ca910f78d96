"""The best splits of small nodes, whose entries' codes are compared with each other.

A node of n entries has at most n codes. Its *own histogram* has a bin for each of its entries: the sums of a code
stand in the bin whose number is that of the entries with lower codes, and the bins between are empty. So the cost of a
node does not depend on the number of codes of a feature.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32

from jaxtree.growth.plan.plan import Plan
from jaxtree.growth.plan.problem import Entries, Frontier, NodeContext, Problem
from jaxtree.growth.splits.candidates import Judge
from jaxtree.growth.splits.drawn import draw
from jaxtree.growth.splits.split import NO_CODE, Split, score_histogram
from jaxtree.growth.sums.histogram import sums_of_entries
from jaxtree.tree import SplitKind


class SmallNodes(NamedTuple):
    """Small nodes that are scored together.

    Attributes:
        context: Their contexts.
        row: The rows in the window of each.
        is_member: Which of them are in the node.
        sums: The additions of each row to the node's sums, 0 if it is not in the node.
    """

    context: NodeContext
    row: Int32[Array, "slot window"]
    is_member: Bool[Array, "slot window"]
    sums: Int[Array, "slot channel window"]


def small_nodes(
    entries: Entries, frontier: Frontier, slot: Int32[Array, " slot"], context: NodeContext, *, plan: Plan
) -> SmallNodes:
    """The small nodes of some slots, with their entries looked up."""
    entry = frontier.start[slot][:, None] + jnp.arange(plan.costs.window, dtype=jnp.int32)
    is_own = (entry < frontier.stop[slot][:, None]) & (entries.slot.at[entry].get(mode="clip") == slot[:, None])
    row = entries.row.at[entry].get(mode="clip")
    label, value = (x.at[:, entry].get(mode="clip") for x in (entries.label, entries.value))
    value = jnp.where(is_own, value, 0)
    sums = jnp.moveaxis(sums_of_entries(label, value, plan.rules), 1, 0)
    return SmallNodes(context, row, value[0] > 0, sums)


def splits_of_small(
    problem: Problem, small: SmallNodes, features: Int32[Array, "looked slot"], kind: SplitKind, *, plan: Plan
) -> Split:
    """The best split of every small node on each of its features, all of one kind of split."""
    codes = problem.codes.at[features[:, :, None], small.row].get(mode="promise_in_bounds").astype(jnp.int32)
    if plan.rules.samples_thresholds and kind == SplitKind.THRESHOLD:
        histogram, code = _drawn_parts(problem, small, features, codes, plan=plan)
    else:
        own = jax.vmap(jax.vmap(_own_histogram), in_axes=(0, None, None))
        histogram, code = own(codes, small.is_member, small.sums)
    context = problem.take_features(features)
    score = functools.partial(score_histogram, kind=kind, num_words=plan.num_words, num_codes=plan.subset_bins)
    of_node = lambda histogram, feature, code, node: score(  # noqa: E731
        Judge(plan.rules, node, problem.units), feature, histogram, code
    )
    return jax.vmap(jax.vmap(of_node), in_axes=(0, 0, 0, None))(histogram, context, code, small.context)


def _own_histogram(
    codes: Int32[Array, " entry"], is_member: Bool[Array, " entry"], sums: Int[Array, "channel entry"]
) -> tuple[Int[Array, "channel bin"], Int32[Array, " bin"]]:
    """The sums of every code that a node has, and the code of every bin; `NO_CODE` where the bin is empty."""
    code = jnp.where(is_member, codes, NO_CODE)
    bin_of = jnp.sum((code[:, None] < code[None, :]).astype(jnp.int32), axis=0, dtype=jnp.int32)
    is_in = bin_of[None, :] == jnp.arange(codes.size, dtype=jnp.int32)[:, None]
    histogram = jnp.sum(jnp.where(is_in, sums[:, None, :], 0), axis=2, dtype=sums.dtype)
    return lax.optimization_barrier((histogram, jnp.min(jnp.where(is_in, code, NO_CODE), axis=1)))


def _drawn_parts(
    problem: Problem,
    small: SmallNodes,
    features: Int32[Array, "looked slot"],
    codes: Int32[Array, "looked slot entry"],
    *,
    plan: Plan,
) -> tuple[Int[Array, "looked slot channel part"], Int32[Array, "looked slot part"]]:
    """Sums on both sides of each node's random threshold, and the two codes next to it."""
    missing_code = problem.features.missing_code[features]
    is_known = small.is_member & (codes != missing_code[..., None])
    least = jnp.min(jnp.where(is_known, codes, NO_CODE), axis=-1)
    greatest = jnp.max(jnp.where(is_known, codes, -1), axis=-1)
    last = draw(problem, small.context, features, least, greatest, plan=plan)
    is_below = small.is_member & (codes <= last[..., None])
    is_above = small.is_member & ~is_below
    code = jnp.max(jnp.where(is_below, codes, -1), axis=-1)
    next_code = jnp.min(jnp.where(is_above, codes, NO_CODE), axis=-1)
    parts, beside = [is_below, is_above], [code, next_code]
    if plan.rules.sets_missing_apart:
        parts = [is_below, is_above & is_known, small.is_member & ~is_known]
        beside.append(missing_code)
    sums = [jnp.sum(jnp.where(part[:, :, None], small.sums, 0), axis=-1, dtype=small.sums.dtype) for part in parts]
    return jnp.stack(sums, axis=-1), jnp.stack(beside, axis=-1)
