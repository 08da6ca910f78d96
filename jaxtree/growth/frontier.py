"""The moving parts of growth: entries, and the frontier of a level.

An *entry* is a row with a weight on its way down one tree. The *frontier* holds the nodes of the
current level that may still be split; a *slot* is a node's place there. A slot's *window* bounds its
entries: all of them lie in `start <= e < stop`, perhaps among others. Sorting the entries by slot makes
the windows tight; nodes further down inherit them, so that one sort serves several levels.

A node whose window holds at most `WINDOW` entries is *small*. Large nodes fill the slots from the
front, small ones from the back.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32

from jaxtree.growth import native
from jaxtree.growth.backends import Accumulation
from jaxtree.growth.packed_sort import sort_pairs
from jaxtree.growth.plan import WINDOW, Plan
from jaxtree.tree import Tree

RETIRED = 2**31 - 1
"""The slot of an entry that has reached a leaf; it sorts behind every other."""


class Entries(NamedTuple):
    """Rows on their way down; only the first `size` need be read.

    Attributes:
        row: The row of every entry.
        label: Its class in every output; of numbers, the identity of its targets, equal where these are.
        value: What it adds to sums: its weight, and of numbers the weighted targets and the moment.
        slot: The slot of its node.
        size: How many entries there are.
    """

    row: Int32[Array, " entry"]
    label: Int[Array, "label entry"]
    value: Int[Array, "value entry"]
    slot: Int32[Array, " entry"]
    size: Int32[Array, ""]


class Frontier(NamedTuple):
    """Nodes of the level that may be split.

    `num_crowded` counts the large nodes that a sort would make small.
    """

    node: Int32[Array, " slot"]
    start: Int32[Array, " slot"]
    stop: Int32[Array, " slot"]
    num_large: Int32[Array, ""]
    num_small: Int32[Array, ""]
    num_crowded: Int32[Array, ""]


def is_in_use(frontier: Frontier) -> Bool[Array, " slot"]:
    """Whether a slot holds a node."""
    slot = jnp.arange(frontier.node.size, dtype=jnp.int32)
    return (slot < frontier.num_large) | (slot >= frontier.node.size - frontier.num_small)


def chunk_stop(frontier: Frontier, first_slot: Int32[Array, ""], *, plan: Plan) -> Int32[Array, ""]:
    """The slot behind the chunk that begins at the given one: at most `num_slots` further, among the large nodes.

    A chunk reads the windows of all its nodes, so where it can it ends where a window does: of several trees,
    each is then read once.
    """
    most = jnp.minimum(first_slot + plan.num_slots, frontier.num_large)
    if plan.num_devices > 1:
        # Windows are a device's own, and all devices must work on the same chunk.
        return most
    slot = first_slot + 1 + jnp.arange(plan.num_slots, dtype=jnp.int32)
    start = frontier.start.at[slot].get(mode="clip")
    begins = (slot <= most) & (start != frontier.start.at[slot - 1].get(mode="clip"))
    end = jnp.max(jnp.where(begins, slot, 0))
    return jnp.where((most == frontier.num_large) | (end <= first_slot), most, end)


def excess_work(entries: Entries, frontier: Frontier, *, plan: Plan) -> Float[Array, ""]:
    """Work on the level, per feature, that tight windows would save, in additions to a cell."""

    def add_chunk(carry):
        first, read = carry
        stop = chunk_stop(frontier, first, plan=plan)
        return stop, read + (frontier.stop[stop - 1] - frontier.start[first]).astype(jnp.float32)

    read = lax.while_loop(lambda c: c[0] < frontier.num_large, add_chunk, (jnp.int32(0), jnp.float32(0)))[1]
    channels = plan.rules.measure.num_channels
    cells_per_slot = plan.backend.score_cost * channels * max((table.num_bins for table in plan.tables), default=0)
    return read - entries.size.astype(jnp.float32) + cells_per_slot * frontier.num_crowded.astype(jnp.float32)


def sort_by_slot(
    entries: Entries, frontier: Frontier, num_rows: Int32[Array, " node"], *, plan: Plan
) -> tuple[Entries, Frontier]:
    """Brings the entries of every slot together, rows in their old order, and retired ones to the end."""
    slot, row, label, value = _columns_by_slot(entries, frontier.node.size, plan)
    if plan.num_devices > 1:
        place = jnp.arange(frontier.node.size, dtype=jnp.int32)
        start, stop = (jnp.searchsorted(slot, place, side=side).astype(jnp.int32) for side in ("left", "right"))
    else:
        size = jnp.where(is_in_use(frontier), num_rows[frontier.node], 0)
        stop = jnp.cumsum(size, dtype=jnp.int32)
        start = stop - size
    entries = Entries(row, label, value, slot, stop[-1])
    return entries, frontier._replace(start=start, stop=stop, num_crowded=jnp.int32(0))


def _columns_by_slot(entries: Entries, num_slots: int, plan: Plan) -> native.Columns:
    columns = (entries.slot, entries.row, entries.label, entries.value)
    if plan.backend.accumulation == Accumulation.NATIVE:
        return native.sort_by_slot(columns, num_slots=num_slots)
    slot, order = sort_pairs(entries.slot, jnp.arange(entries.slot.size, dtype=jnp.int32))
    return slot.astype(jnp.int32), entries.row[order], entries.label[:, order], entries.value[:, order]


def next_frontier(
    tree: Tree,
    old: Frontier,
    slot_of_node: Int32[Array, " node"],
    first_node: Int32[Array, ""],
    may_split: Callable[[Int32[Array, " node"]], Bool[Array, " node"]],
    *,
    plan: Plan,
) -> tuple[Frontier, Int32[Array, " node"]]:
    """The frontier of the nodes from `first_node` on that may be split, and the slot of every such node."""
    size = min(plan.capacity, 1024)

    def add_block(block, carry):
        new, slot_of_node = carry
        node = first_node + block * size + jnp.arange(size, dtype=jnp.int32)
        at = jnp.minimum(node, plan.capacity - 1)
        parent_slot = slot_of_node[tree.parent[at]]
        start, stop = (x.at[parent_slot].get(mode="clip") for x in (old.start, old.stop))
        joins = may_split(at) & (node < tree.num_nodes)
        small = joins & (stop - start <= WINDOW) & (plan.small_nodes > 0)
        large = joins & ~small
        place_large = new.num_large + jnp.cumsum(large, dtype=jnp.int32) - 1
        place_small = plan.capacity - new.num_small - jnp.cumsum(small, dtype=jnp.int32)
        slot = jnp.where(large, place_large, jnp.where(small, place_small, RETIRED))
        crowded = large & (tree.num_rows[at] <= WINDOW) & (plan.small_nodes > 0)
        new = Frontier(
            node=new.node.at[slot].set(node, mode="drop"),
            start=new.start.at[slot].set(start, mode="drop"),
            stop=new.stop.at[slot].set(stop, mode="drop"),
            num_large=new.num_large + jnp.sum(large, dtype=jnp.int32),
            num_small=new.num_small + jnp.sum(small, dtype=jnp.int32),
            num_crowded=new.num_crowded + jnp.sum(crowded, dtype=jnp.int32),
        )
        return new, slot_of_node.at[node].set(slot, mode="drop")

    none = jnp.int32(0)
    empty = old._replace(num_large=none, num_small=none, num_crowded=none)
    num_blocks = -(-(tree.num_nodes - first_node) // size)
    return lax.fori_loop(0, num_blocks, add_block, (empty, slot_of_node))


def slots_of_entries(
    entries: Entries, node: Int32[Array, " entry"], slot_of_node: Int32[Array, " node"], *, plan: Plan
) -> Entries:
    """The entries with the slots of their nodes."""
    size = plan.entries_per_move

    def relabel(block, slot):
        at = lax.dynamic_slice(node, (block * size,), (size,))
        new = jnp.where(at == RETIRED, RETIRED, slot_of_node.at[at].get(mode="clip"))
        return lax.dynamic_update_slice(slot, new, (block * size,))

    return entries._replace(slot=lax.fori_loop(0, -(-entries.size // size), relabel, entries.slot))
