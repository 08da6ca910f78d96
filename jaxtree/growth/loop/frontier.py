"""The frontier of a level: chunks of slots, entries sorted by slot, and the frontier of the next level.

Sorting the entries by slot makes the windows of slots tight; their descendants inherit these, so that one sort serves
several levels. A node whose window holds at most `Costs.window` entries is *small*.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int32

from jaxtree.growth.inputs.whole_numbers import sort_pairs
from jaxtree.growth.plan.costs import Costs
from jaxtree.growth.plan.loops import over_blocks
from jaxtree.growth.plan.nodes import Nodes, may_split
from jaxtree.growth.plan.plan import Plan, TablePlan
from jaxtree.growth.plan.problem import DONE, Entries, Frontier, Problem
from jaxtree.tree import SplitKind


def chunk_stop(frontier: Frontier, first_slot: Int32[Array, ""], *, plan: Plan) -> Int32[Array, ""]:
    """The slot after the chunk that begins at `first_slot`: at most `num_slots` later, among the large nodes.

    A chunk reads the windows of all its nodes. If possible it ends where a window ends, so that the entries of several
    trees are read once each.
    """
    most = jnp.minimum(first_slot + plan.num_slots, frontier.num_large)
    if plan.devices.number > 1 or plan.stays_in_row_order:
        # Every device has its own windows, but all devices must work on the same chunk.
        return most
    slot = first_slot + 1 + jnp.arange(plan.num_slots, dtype=jnp.int32)
    start = frontier.start.at[slot].get(mode="clip")
    begins = (slot <= most) & (start != frontier.start.at[slot - 1].get(mode="clip"))
    end = jnp.max(jnp.where(begins, slot, 0))
    return jnp.where((most == frontier.num_large) | (end <= first_slot), most, end)


def excess_work(frontier: Frontier, *, plan: Plan) -> Float[Array, ""]:
    """The nanoseconds per feature that tight windows would save on the level; its chunks are taken to be full."""
    first = jnp.arange(0, plan.capacity, plan.num_slots, dtype=jnp.int32)
    last = jnp.minimum(first + plan.num_slots, frontier.num_large) - 1
    read = jnp.where(first <= last, frontier.stop[last] - frontier.start[first], 0).astype(jnp.float32)
    channels = plan.rules.num_channels
    cost_of_slot = channels * max((_cost_of_score(table, plan.costs) for table in plan.tables), default=0)
    used = frontier.num_rows.astype(jnp.float32) / plan.devices.number
    return plan.cost_of_look * (jnp.sum(read) - used) + cost_of_slot * frontier.num_crowded.astype(jnp.float32)


def _cost_of_score(table: TablePlan, costs: Costs) -> float:
    """The nanoseconds that the scores of a slot take for a channel."""
    return table.num_bins * (table.num_bins * costs.score_pair if table.kind == SplitKind.SUBSET else costs.score)


def sort_by_slot(
    entries: Entries, frontier: Frontier, num_rows: Int32[Array, " node"], *, plan: Plan
) -> tuple[Entries, Frontier]:
    """Sorts the entries by slot, rows in their old order; entries that are done go to the end."""
    slot, order = sort_pairs(entries.slot, jnp.arange(entries.slot.size, dtype=jnp.int32))
    slot = slot.astype(jnp.int32)
    start, stop = _windows(slot, frontier, num_rows, plan)
    entries = Entries(entries.row[order], entries.label[:, order], entries.value[:, order], slot, stop[-1])
    return entries, frontier._replace(start=start, stop=stop, num_crowded=jnp.int32(0))


def _windows(
    slot: Int32[Array, " entry"], frontier: Frontier, num_rows: Int32[Array, " node"], plan: Plan
) -> tuple[Int32[Array, " slot"], Int32[Array, " slot"]]:
    """The ranges of the entries of every slot, once they are sorted."""
    if plan.devices.number > 1:
        place = jnp.arange(frontier.node.size, dtype=jnp.int32)
        start, stop = (jnp.searchsorted(slot, place, side=side).astype(jnp.int32) for side in ("left", "right"))
        return start, stop
    size = jnp.where(frontier.is_in_use(), num_rows[frontier.node], 0)
    stop = jnp.cumsum(size, dtype=jnp.int32)
    return stop - size, stop


def first_slots(
    problem: Problem, nodes: Nodes, start: Int32[Array, " root"], stop: Int32[Array, " root"], *, plan: Plan
) -> tuple[Frontier, Int32[Array, " node"]]:
    """Returns the frontier of the roots that may be split, whose entries lie in given windows; see `fill_slots`."""
    none, blank = jnp.int32(0), jnp.zeros(plan.capacity, jnp.int32)
    old = Frontier(jnp.arange(start.size, dtype=jnp.int32), start, stop, none, none, none, none)
    new = Frontier(blank, blank, blank, none, none, none, none)
    return _fill_block(problem, nodes, old, old.node, old.node, (new, blank), plan=plan)


def fill_slots(
    problem: Problem,
    nodes: Nodes,
    old: Frontier,
    slot_of_node: Int32[Array, " node"],
    first_node: Int32[Array, ""],
    *,
    plan: Plan,
) -> tuple[Frontier, Int32[Array, " node"]]:
    """Returns the frontier of the nodes from `first_node` on that may be split, and the slot of every such node."""
    size = plan.nodes_at_a_time

    def add_block(block, carry):
        node = first_node + block * size + jnp.arange(size, dtype=jnp.int32)
        return _fill_block(problem, nodes, old, node, carry[1], carry, plan=plan)

    none = jnp.int32(0)
    empty = old._replace(num_large=none, num_small=none, num_rows=none, num_crowded=none)
    num_blocks = -(-(nodes.num_nodes - first_node) // size)
    return over_blocks(0, num_blocks, add_block, (empty, slot_of_node), most=plan.num_blocks_of_nodes, plan=plan)


def _fill_block(
    problem: Problem, nodes: Nodes, old: Frontier, node: Int32[Array, " some"], old_slots, carry, *, plan: Plan
) -> tuple[Frontier, Int32[Array, " node"]]:
    """Adds some nodes to a frontier, whose windows are those of their parents, at the parents' old slots."""
    new, slot_of_node = carry
    at = jnp.minimum(node, plan.capacity - 1)
    num_rows, parent_slot = nodes.num_rows[at], old_slots[nodes.read(at).parent]
    start, stop = (x.at[parent_slot].get(mode="clip") for x in (old.start, old.stop))
    joins = may_split(problem, nodes, at, plan.rules) & (node < nodes.num_nodes)
    small = joins & (stop - start <= plan.costs.window) & (plan.small_nodes > 0)
    large = joins & ~small
    place_large = new.num_large + jnp.cumsum(large, dtype=jnp.int32) - 1
    place_small = plan.capacity - new.num_small - jnp.cumsum(small, dtype=jnp.int32)
    slot = jnp.where(large, place_large, jnp.where(small, place_small, DONE))
    crowded = large & (num_rows <= plan.costs.window) & (plan.small_nodes > 0)
    new = Frontier(
        node=new.node.at[slot].set(node, mode="drop"),
        start=new.start.at[slot].set(start, mode="drop"),
        stop=new.stop.at[slot].set(stop, mode="drop"),
        num_large=new.num_large + jnp.sum(large, dtype=jnp.int32),
        num_small=new.num_small + jnp.sum(small, dtype=jnp.int32),
        num_rows=new.num_rows + jnp.sum(jnp.where(joins, num_rows, 0), dtype=jnp.int32),
        num_crowded=new.num_crowded + jnp.sum(crowded, dtype=jnp.int32),
    )
    return new, slot_of_node.at[node].set(slot, mode="drop")


def slots_of_entries(
    entries: Entries, node: Int32[Array, " entry"], slot_of_node: Int32[Array, " node"], *, plan: Plan
) -> Entries:
    """Returns the entries with the slots of their nodes."""
    size = plan.entries_per_move

    def relabel(block, slot):
        at = lax.dynamic_slice(node, (block * size,), (size,))
        new = jnp.where(at == DONE, DONE, slot_of_node.at[at].get(mode="clip"))
        return lax.dynamic_update_slice(slot, new, (block * size,))

    num_blocks = -(-entries.size // size)
    slot = over_blocks(0, num_blocks, relabel, entries.slot, most=plan.num_moves, plan=plan)
    return entries._replace(slot=slot)
