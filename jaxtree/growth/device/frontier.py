"""The frontier of a level: entries sorted by slot, their windows, and the frontier of the next level."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32

from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.state import Nodes, may_split
from jaxtree.growth.inputs.whole_numbers import sort_pairs
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import DONE, Entries, Frontier, GrowthConstants, Windows


def sort_by_slot(
    entries: Entries, frontier: Frontier, num_rows: Int32[Array, " node"], *, plan: LoopPlan
) -> tuple[Entries, Windows]:
    """Sorts the entries by slot, rows in their old order; entries that are done go to the end."""
    slot, order = sort_pairs(entries.slot, jnp.arange(entries.slot.size, dtype=jnp.int32))
    slot = slot.astype(jnp.int32)
    windows = _windows(slot, frontier, num_rows, plan)
    size = windows.stop[-1]
    return Entries(entries.row[order], entries.label[:, order], entries.value[:, order], slot, size), windows


def _windows(
    slot: Int32[Array, " entry"], frontier: Frontier, num_rows: Int32[Array, " node"], plan: LoopPlan
) -> Windows:
    """The windows of entries that are sorted."""
    place = jnp.arange(frontier.node.size, dtype=jnp.int32)
    if plan.devices.number > 1:
        # The rows of a node are those of all devices.
        return Windows(*(jnp.searchsorted(slot, place, side=side).astype(jnp.int32) for side in ("left", "right")))
    size = jnp.where(place < frontier.size, num_rows[frontier.node], 0)
    stop = jnp.cumsum(size, dtype=jnp.int32)
    return Windows(stop - size, stop)


def fill_slots(
    problem: GrowthConstants, nodes: Nodes, first_node: Int32[Array, ""], *, plan: LoopPlan
) -> tuple[Frontier, Int32[Array, " node"]]:
    """Returns the frontier of the nodes from `first_node` on that may be split, and the slot of every such node."""
    size = plan.nodes_at_a_time

    def add_block(block, carry):
        frontier, slot_of_node = carry
        node = first_node + block * size + jnp.arange(size, dtype=jnp.int32)
        joins = may_split(problem, nodes, jnp.minimum(node, plan.capacity - 1), plan.rules) & (node < nodes.num_nodes)
        place = frontier.size + jnp.cumsum(joins, dtype=jnp.int32)
        slot = jnp.where(joins, place - 1, DONE)
        return Frontier(frontier.node.at[slot].set(node, mode="drop"), place[-1]), slot_of_node.at[node].set(
            slot, mode="drop"
        )

    blank = jnp.zeros(plan.capacity, jnp.int32)
    num_blocks = -(-(nodes.num_nodes - first_node) // size)
    most = plan.num_blocks_of_nodes
    return over_blocks(0, num_blocks, add_block, (Frontier(blank, jnp.int32(0)), blank), most=most, plan=plan)


def slots_of_entries(
    entries: Entries, node: Int32[Array, " entry"], slot_of_node: Int32[Array, " node"], *, plan: LoopPlan
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
