"""The entries of every node in the order of a feature's codes, kept so from level to level.

The *order* of a feature lists the entries of the large nodes by slot, then by code. It is sorted once, and at
every level divided among the children, which keeps it sorted. The entries themselves are sorted by slot, so
that the same places of all orders belong to one node.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32

from jaxtree.growth.frontier import Entries, Frontier
from jaxtree.growth.plan import WINDOW, Plan
from jaxtree.tree import Tree

NOWHERE = 2**31 - 1
"""A place past every order."""


class Orders(NamedTuple):
    """The orders of all scanned features; only the first `size` places are in use."""

    entry: Int32[Array, "scanned entry"]
    size: Int32[Array, ""]


class Expansion(NamedTuple):
    """How many entries stand in the place of each one, and where they start."""

    copies: Int32[Array, " entry"]
    start: Int32[Array, " entry"]


def reorder(
    orders: Orders, entries: Entries, tree: Tree, frontier: Frontier, old_place: Int32[Array, " entry"], *, plan: Plan
) -> Orders:
    """Divides every order among the children of its nodes, after the entries have been sorted by slot.

    Args:
        orders: The orders of the old places of entries, by the slots of the level above.
        entries: The entries in their old places, with the slots of this level.
        tree: The tree.
        frontier: The frontier of this level, with tight windows.
        old_place: The old place of every entry.
        plan: Static sizes.
    """
    if not plan.num_scanned:
        return orders
    new_place = jnp.zeros_like(old_place).at[old_place].set(jnp.arange(old_place.size, dtype=jnp.int32))
    slots = slice(0, most_large_slots(entries, plan))
    node, start, size = frontier.node[slots], frontier.start[slots], (frontier.stop - frontier.start)[slots]
    is_large = jnp.arange(node.size, dtype=jnp.int32) < frontier.num_large
    branch = jnp.where(tree.depth[node] > 0, node - tree.first_child[tree.parent[node]], 0)
    branch = jnp.where(is_large, branch, -1)
    block_size = plan.entries_per_block

    def divide(i, placed):
        old = orders.entry[i]

        def of_branch(b, new):
            own_size = jnp.where(branch == b, size, 0)
            shift = start - (jnp.cumsum(own_size, dtype=jnp.int32) - own_size) - 1

            def of_block(block, carry):
                new, before = carry
                at = block * block_size + jnp.arange(block_size, dtype=jnp.int32)
                entry = lax.dynamic_slice(old, (block * block_size,), (block_size,))
                slot = entries.slot[entry]
                kept = ((branch == b).at[slot].get(mode="fill", fill_value=False)) & (at < orders.size)
                rank = before + jnp.cumsum(kept, dtype=jnp.int32)
                to = jnp.where(kept, rank + shift.at[slot].get(mode="clip"), NOWHERE)
                return new.at[to].set(new_place[entry], mode="drop"), rank[-1]

            num_blocks = -(-orders.size // block_size)
            return lax.fori_loop(0, num_blocks, of_block, (new, jnp.int32(0)))[0]

        return placed.at[i].set(lax.fori_loop(0, jnp.max(branch) + 1, of_branch, jnp.zeros_like(old)))

    divided = lax.fori_loop(0, plan.num_scanned, divide, orders.entry)
    return Orders(divided, jnp.sum(jnp.where(is_large, size, 0), dtype=jnp.int32))


def expand_orders(orders: Orders, expansion: Expansion, *, plan: Plan) -> Orders:
    """Puts the copies of every entry in its place, after rows were shared out."""
    if not plan.num_scanned:
        return orders
    position = jnp.arange(orders.entry.shape[1], dtype=jnp.int32)

    def expand(entry):
        copies = jnp.where(position < orders.size, expansion.copies[entry], 0)
        stop = jnp.cumsum(copies, dtype=jnp.int32)
        source = jnp.zeros_like(entry).at[jnp.where(copies > 0, stop - copies, NOWHERE)].max(position, mode="drop")
        source = lax.cummax(source)
        return expansion.start[entry[source]] + position - (stop - copies)[source], stop[-1]

    entry, size = lax.map(expand, orders.entry)
    return Orders(jnp.clip(entry, 0, position.size - 1), size[0])


def most_large_slots(entries: Entries, plan: Plan) -> int:
    """The most large nodes that a level may have, roots aside; rounded up to whole chunks."""
    fewest = WINDOW + 1 if plan.small_nodes else 2
    most = min(plan.capacity, entries.slot.size // fewest + plan.num_roots)
    return min(plan.capacity, -(-most // plan.num_slots) * plan.num_slots)
