"""The entries of every node in the order of a feature's codes, kept so from level to level.

The *order* of a feature lists the entries of the large nodes by slot, then by code. It is sorted once, and at
every level divided among the children, which keeps it sorted. The entries themselves are sorted by slot, so
that the same places of all orders belong to one node.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32

from jaxtree.growth.frontier import RETIRED, Entries, Frontier, is_in_use
from jaxtree.growth.plan import WINDOW, Plan
from jaxtree.growth.sums import RUN, cumulative_sum
from jaxtree.tree import Tree

NOWHERE = 2**31 - 1
"""A place past every order."""


class Orders(NamedTuple):
    """The orders of all scanned features: the first `num_features`, and of each the first `size` places."""

    entry: Int32[Array, "scanned entry"]
    size: Int32[Array, ""]
    num_features: Int32[Array, ""]


class Expansion(NamedTuple):
    """How many entries stand in the place of each one, and where they start."""

    copies: Int32[Array, " entry"]
    start: Int32[Array, " entry"]


def sort_entries(
    entries: Entries, tree: Tree, frontier: Frontier, *, plan: Plan
) -> tuple[Entries, Frontier, Int32[Array, " entry"]]:
    """Brings the entries of every slot together, as `sort_by_slot` does, given that they were so on the level above.

    The window of a slot is its parent's until then, and bounds the entries of the parent alone: within it a few
    cumulative sums say where an entry goes, at a twentieth of the cost of a sort.

    Returns:
        The entries, the frontier with tight windows, and the new place of every entry; retired ones have none.
    """
    branch = _branches(tree, frontier)
    size = jnp.where(is_in_use(frontier), tree.num_rows[frontier.node], 0)
    stop = jnp.cumsum(size, dtype=jnp.int32)
    start = stop - size
    own = branch.at[entries.slot].get(mode="fill", fill_value=-1)

    def of_pair(pair, place):
        first = 2 * pair
        is_of = jnp.stack([own == first, own == first + 1]).astype(jnp.int32)
        up_to = _padded_cumulative_sum(is_of)
        before = jnp.concatenate([jnp.zeros((2, 1), jnp.int32), up_to], axis=1)
        before_window = jnp.where(branch & 1, before[1, frontier.start], before[0, frontier.start])
        rank = jnp.where(own & 1, up_to[1], up_to[0]) - 1
        to = (start - before_window).at[entries.slot].get(mode="clip") + rank
        return jnp.where(own >> 1 == pair, to, place)

    nowhere = jnp.full(entries.slot.shape, NOWHERE, jnp.int32)
    place = lax.fori_loop(0, (jnp.max(branch) >> 1) + 1, of_pair, nowhere)
    old_place = jnp.zeros_like(place).at[place].set(jnp.arange(place.size, dtype=jnp.int32), mode="drop")
    slot = jnp.full_like(entries.slot, RETIRED).at[place].set(entries.slot, mode="drop")
    value = entries.value[:, old_place]
    entries = Entries(entries.row[old_place], entries.label[:, old_place], value, slot, stop[-1])
    return entries, frontier._replace(start=start, stop=stop, num_crowded=jnp.int32(0)), place


def reorder(
    orders: Orders, entries: Entries, tree: Tree, frontier: Frontier, place: Int32[Array, " entry"], *, plan: Plan
) -> Orders:
    """Divides every order among the children of its nodes, after the entries have been sorted by slot.

    Args:
        orders: The orders of the old places of entries, by the slots of the level above.
        entries: The entries in their old places, with the slots of this level.
        tree: The tree.
        frontier: The frontier of this level, with tight windows.
        place: The new place of every entry.
        plan: Static sizes.
    """
    slots = slice(0, most_large_slots(entries, plan))
    start, size = frontier.start[slots], (frontier.stop - frontier.start)[slots]
    is_large = jnp.arange(size.size, dtype=jnp.int32) < frontier.num_large
    branch = jnp.where(is_large, _branches(tree, frontier)[slots], -1)
    block_size = plan.entries_per_block

    def divide(i, placed):
        old = orders.entry[i]

        def of_pair(pair, new):
            is_of = branch == 2 * pair + jnp.arange(2, dtype=jnp.int32)[:, None]
            own_size = jnp.where(is_of, size, 0)
            before = jnp.cumsum(own_size, axis=1, dtype=jnp.int32) - own_size
            # Where an entry of rank 0 of the slot's branch would go, and which of the two branches it is.
            packed = jnp.where(is_of[0], 2 * (start - before[0]), 2 * (start - before[1]) + 1)
            packed = jnp.where(is_of[0] | is_of[1], packed, NOWHERE)

            def of_block(block, carry):
                new, before = carry
                at = block * block_size + jnp.arange(block_size, dtype=jnp.int32)
                entry = lax.dynamic_slice(old, (block * block_size,), (block_size,))
                first = packed.at[entries.slot[entry]].get(mode="fill", fill_value=NOWHERE)
                first = jnp.where(at < orders.size, first, NOWHERE)
                is_kept, is_second = first != NOWHERE, first & 1 == 1
                kept = jnp.stack([is_kept & ~is_second, is_kept & is_second]).astype(jnp.int32)
                rank = before[:, None] + cumulative_sum(kept)
                to = (first >> 1) + jnp.where(is_second, rank[1], rank[0]) - 1
                return new.at[jnp.where(is_kept, to, NOWHERE)].set(place[entry], mode="drop"), rank[:, -1]

            num_blocks = -(-orders.size // block_size)
            return lax.fori_loop(0, num_blocks, of_block, (new, jnp.zeros(2, jnp.int32)))[0]

        return placed.at[i].set(lax.fori_loop(0, (jnp.max(branch) >> 1) + 1, of_pair, jnp.zeros_like(old)))

    divided = lax.fori_loop(0, orders.num_features, divide, orders.entry)
    return orders._replace(entry=divided, size=jnp.sum(jnp.where(is_large, size, 0), dtype=jnp.int32))


def _branches(tree: Tree, frontier: Frontier) -> Int32[Array, " slot"]:
    """The branch that leads to the node of every slot, 0 for a root; -1 for a slot without node."""
    node = frontier.node
    branch = jnp.where(tree.depth[node] > 0, node - tree.first_child[tree.parent[node]], 0)
    return jnp.where(is_in_use(frontier), branch, -1)


def _padded_cumulative_sum(values: Int32[Array, "channel entry"]) -> Int32[Array, "channel entry"]:
    """Cumulative sums over all entries, whatever their number."""
    num_values = values.shape[1]
    return cumulative_sum(jnp.pad(values, ((0, 0), (0, -num_values % RUN**4))))[:, :num_values]


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
    return orders._replace(entry=jnp.clip(entry, 0, position.size - 1), size=size[0])


def most_large_slots(entries: Entries, plan: Plan) -> int:
    """The most large nodes that a level may have, roots aside; rounded up to whole chunks."""
    fewest = WINDOW + 1 if plan.small_nodes else 2
    most = min(plan.capacity, entries.slot.size // fewest + plan.num_roots)
    return min(plan.capacity, -(-most // plan.num_slots) * plan.num_slots)
