"""Sending entries to the children of their nodes, sharing rows out among branches, and counting who arrives."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, Int64, Shaped, UInt

from jaxtree.growth.candidates import NO_BRANCH
from jaxtree.growth.frontier import RETIRED, Entries, Frontier
from jaxtree.growth.nodes import Nodes
from jaxtree.growth.orders import Expansion, Orders, expand_orders
from jaxtree.growth.plan import Plan
from jaxtree.tree import Tree, branch_of_code

SHARED = 2**31 - 2
"""In place of a child: the entry goes to all of them."""


class _Counted(NamedTuple):
    """What counting adds to, node by node."""

    sums: Int[Array, " cell"]
    num_rows: Int32[Array, " node"]
    low: Int64[Array, "*node"]
    high: Int64[Array, "*node"]


def move_entries(
    codes: UInt[Array, "feature row"], tree: Tree, nodes: Nodes, entries: Entries, frontier: Frontier, *, plan: Plan
) -> tuple[Tree, Nodes, Int32[Array, " entry"]]:
    """Sends every entry to its child, and counts it there.

    Returns:
        The tree and the nodes with the sums of the children, and each entry's child, or `RETIRED` where its node
        was not split.
    """
    size = plan.entries_per_move

    def move_block(block, carry):
        counted, node = carry
        child = _send_block(codes, tree, entries, frontier, block, plan)
        return _count_block(counted, entries, child, block, plan), _put_block(node, child, block, size)

    carry = (_open_count(tree, nodes), entries.slot)
    counted, node = lax.fori_loop(0, -(-entries.size // size), move_block, carry)
    return *_close_count(counted, tree, nodes), node


def send_entries(
    codes: UInt[Array, "feature row"], tree: Tree, entries: Entries, frontier: Frontier, *, plan: Plan
) -> Int32[Array, " entry"]:
    """The child that every entry goes to: `RETIRED` where its node was not split, `SHARED` where it goes to all."""
    size = plan.entries_per_move

    def send_block(block, node):
        return _put_block(node, _send_block(codes, tree, entries, frontier, block, plan), block, size)

    return lax.fori_loop(0, -(-entries.size // size), send_block, entries.slot)


def count_entries(
    tree: Tree, nodes: Nodes, entries: Entries, node: Int32[Array, " entry"], *, plan: Plan
) -> tuple[Tree, Nodes]:
    """Adds every entry to the sums and the number of rows of its node."""
    size = plan.entries_per_move

    def count_block(block, counted):
        return _count_block(counted, entries, lax.dynamic_slice(node, (block * size,), (size,)), block, plan)

    counted = lax.fori_loop(0, -(-entries.size // size), count_block, _open_count(tree, nodes))
    return _close_count(counted, tree, nodes)


def _send_block(codes, tree: Tree, entries: Entries, frontier: Frontier, block, plan: Plan) -> Int32[Array, " sent"]:
    row, slot = (_take_block(x, block, plan.entries_per_move) for x in (entries.row, entries.slot))
    at = frontier.node.at[slot].get(mode="clip")
    moves = (slot != RETIRED) & (tree.num_children[at] > 0)
    code = codes.at[tree.feature[at], row].get(mode="promise_in_bounds").astype(jnp.int32)
    branch = branch_of_code(tree, at, code, has_missing=plan.rules.has_missing)
    child = tree.first_child[at] + branch
    if plan.rules.shares_missing:
        child = jnp.where(branch == NO_BRANCH, SHARED, child)
    return jnp.where(moves, child, RETIRED)


def _count_block(counted: _Counted, entries: Entries, at: Int32[Array, " sent"], block, plan: Plan) -> _Counted:
    measure, num_channels = plan.rules.measure, plan.rules.measure.num_node_channels
    label, value = (_take_block(x, block, plan.entries_per_move) for x in (entries.label, entries.value))
    sums, num_rows, low, high = counted
    arrives = at != RETIRED
    if measure.num_classes:
        for output in range(measure.num_outputs):
            cell = at * num_channels + output * measure.num_classes + label[output]
            sums = sums.at[jnp.where(arrives, cell, RETIRED)].add(value[0], mode="drop")
    else:
        for channel in range(num_channels):
            cell = jnp.where(arrives, at * num_channels + channel, RETIRED)
            sums = sums.at[cell].add(value[channel], mode="drop")
        low, high = low.at[at].min(label[0], mode="drop"), high.at[at].max(label[0], mode="drop")
    return _Counted(sums, num_rows.at[at].add(1, mode="drop"), low, high)


def _open_count(tree: Tree, nodes: Nodes) -> _Counted:
    return _Counted(nodes.sums.reshape(-1), tree.num_rows, nodes.low, nodes.high)


def _close_count(counted: _Counted, tree: Tree, nodes: Nodes) -> tuple[Tree, Nodes]:
    sums = counted.sums.reshape(nodes.sums.shape)
    return dataclasses.replace(tree, num_rows=counted.num_rows), nodes._replace(
        sums=sums, low=counted.low, high=counted.high
    )


def _take_block(values: Shaped[Array, "*axis entry"], block, size: int) -> Shaped[Array, "*axis sent"]:
    return lax.dynamic_slice_in_dim(values, block * size, size, axis=-1)


def _put_block(values: Int32[Array, " entry"], new: Int32[Array, " sent"], block, size: int) -> Int32[Array, " entry"]:
    return lax.dynamic_update_slice(values, new, (block * size,))


def share_out(
    tree: Tree, entries: Entries, frontier: Frontier, node: Int32[Array, " entry"], orders: Orders, *, plan: Plan
) -> tuple[Entries, Frontier, Int32[Array, " entry"], Orders, Bool[Array, ""]]:
    """Puts an entry for every child in the place of each one that goes to all.

    A child's share is its part of the known weight. Shares are cut off along the cumulative weight, so the last
    child takes what rounding leaves. Retired entries are dropped.

    Returns:
        The entries, the frontier with the windows where they are now, the child of each entry, the orders, and
        whether there was room.
    """
    room, num_entries = plan.entry_capacity, jnp.minimum(entries.size, node.size)
    position = jnp.arange(node.size, dtype=jnp.int32)
    is_shared = (node == SHARED) & (position < num_entries)
    at = frontier.node.at[entries.slot].get(mode="clip")
    copies = jnp.where(
        is_shared, tree.num_children[at], ((node != RETIRED) & (position < num_entries)).astype(jnp.int32)
    )
    stop = jnp.cumsum(copies, dtype=jnp.int32)
    start = stop - copies
    fits = stop[-1] <= room
    source = jnp.zeros(room, jnp.int32).at[jnp.where(copies > 0, start, room)].max(position, mode="drop")
    source = lax.cummax(source)
    ordinal = jnp.arange(room, dtype=jnp.int32) - start[source]
    parent = at[source]
    child = jnp.where(is_shared[source], tree.first_child[parent] + ordinal, node[source])
    value = _shares(tree, entries, node, is_shared, source, parent, child, plan=plan)
    arrives = (jnp.arange(room, dtype=jnp.int32) < stop[-1]) & (value[0] > 0)
    begin = jnp.concatenate([start, stop[-1:]])
    slot = jnp.where(arrives, entries.slot[source], RETIRED)
    shared = Entries(entries.row[source], entries.label[:, source], value, slot, stop[-1])
    windows = frontier._replace(
        start=begin.at[frontier.start].get(mode="clip"), stop=begin.at[frontier.stop].get(mode="clip")
    )
    orders = expand_orders(orders, Expansion(copies, start), plan=plan)
    return shared, windows, jnp.where(arrives, child, RETIRED), orders, fits


def _shares(
    tree: Tree, entries: Entries, node, is_shared, source, parent, child, *, plan: Plan
) -> Int[Array, "value entry"]:
    """What every entry, old or shared out, adds to the sums of its child."""
    known = jnp.zeros(plan.capacity, entries.value.dtype).at[node].add(entries.value[0], mode="drop")
    up_to = jnp.cumsum(known)
    before_family = up_to[tree.first_child[parent]] - known[tree.first_child[parent]]
    whole = up_to[tree.first_child[parent] + jnp.maximum(tree.num_children[parent], 1) - 1] - before_family
    high, low = (x - before_family for x in (up_to[child], up_to[child] - known[child]))

    def cut(value, weight):
        share = weight.astype(jnp.float64) / jnp.maximum(whole, 1)
        return jnp.where(weight == whole, value, jnp.floor(value.astype(jnp.float64) * share).astype(value.dtype))

    value = entries.value[:, source]
    shares = jnp.stack([cut(part, high) - cut(part, low) for part in value])
    return jnp.where(is_shared[source], shares, value)
