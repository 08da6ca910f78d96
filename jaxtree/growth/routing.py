"""Sending entries to the children of their nodes, sharing rows out among branches, and counting who arrives."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, Int64, Shaped, UInt

from jaxtree.growth import native
from jaxtree.growth.accumulate import COUNTS_ROW, channels_of_entry
from jaxtree.growth.backends import Accumulation
from jaxtree.growth.candidates import NO_BRANCH
from jaxtree.growth.frontier import RETIRED, Entries, Frontier
from jaxtree.growth.mesh import combine_nodes, greatest, least, total
from jaxtree.growth.nodes import Nodes
from jaxtree.growth.orders import Expansion, Orders, expand_orders
from jaxtree.growth.plan import Plan
from jaxtree.growth.sums import cumulative_sum
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
    codes: UInt[Array, "feature row"],
    tree: Tree,
    nodes: Nodes,
    entries: Entries,
    frontier: Frontier,
    first_node: Int32[Array, ""],
    *,
    plan: Plan,
) -> tuple[Tree, Nodes, Int32[Array, " entry"]]:
    """Sends every entry to its child, and counts it there; the children are the nodes from `first_node` on.

    Returns:
        The tree and the nodes with the sums of the children, and each entry's child, or `RETIRED` where its node
        was not split.
    """
    if plan.backend.accumulation == Accumulation.NATIVE:
        node = send_entries(codes, tree, entries, frontier, plan=plan)
        return *count_entries(tree, nodes, entries, node, first_node, plan=plan), node
    size = plan.entries_per_move

    def move_block(block, carry):
        counted, node = carry
        child = _send_block(codes, tree, entries, frontier, block, plan)
        return _count_block(counted, entries, child, block, plan), _put_block(node, child, block, size)

    carry = (_open_count(tree, nodes), entries.slot)
    counted, node = lax.fori_loop(0, -(-entries.size // size), move_block, carry)
    return *_close_count(counted, tree, nodes, first_node, plan), node


def send_entries(
    codes: UInt[Array, "feature row"], tree: Tree, entries: Entries, frontier: Frontier, *, plan: Plan
) -> Int32[Array, " entry"]:
    """The child that every entry goes to: `RETIRED` where its node was not split, `SHARED` where it goes to all."""
    if plan.backend.accumulation == Accumulation.NATIVE:
        return native.send(codes, entries.row, entries.slot, entries.size, frontier.node, tree)
    size = plan.entries_per_move

    def send_block(block, node):
        return _put_block(node, _send_block(codes, tree, entries, frontier, block, plan), block, size)

    return lax.fori_loop(0, -(-entries.size // size), send_block, entries.slot)


def count_entries(
    tree: Tree,
    nodes: Nodes,
    entries: Entries,
    node: Int32[Array, " entry"],
    first_node: Int32[Array, ""],
    *,
    plan: Plan,
) -> tuple[Tree, Nodes]:
    """Adds every entry to the sums and the number of rows of its node, which are those from `first_node` on."""
    if plan.backend.accumulation == Accumulation.NATIVE and plan.rules.measure.num_classes:
        return _count_natively(tree, nodes, entries, node, first_node, plan=plan)
    size = plan.entries_per_move

    def count_block(block, counted):
        return _count_block(counted, entries, lax.dynamic_slice(node, (block * size,), (size,)), block, plan)

    counted = lax.fori_loop(0, -(-entries.size // size), count_block, _open_count(tree, nodes))
    return _close_count(counted, tree, nodes, first_node, plan)


def _count_natively(tree: Tree, nodes: Nodes, entries: Entries, node, first_node, *, plan: Plan) -> tuple[Tree, Nodes]:
    columns = (entries.slot, entries.row, entries.label, entries.value)
    arrived = (first_node, tree.num_nodes)
    channels = tuple(x for x in channels_of_entry(plan.rules.measure) if x[-1] != COUNTS_ROW)
    sums, num_rows = native.count(columns, node, entries.size, arrived, nodes.sums, tree.num_rows, channels=channels)
    counted = _Counted(sums.reshape(-1), num_rows, nodes.low, nodes.high)
    return _close_count(counted, tree, nodes, first_node, plan)


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


def _close_count(counted: _Counted, tree: Tree, nodes: Nodes, first_node, plan: Plan) -> tuple[Tree, Nodes]:
    """The tree and nodes with what all devices counted at the nodes from `first_node` on."""
    combined = (
        combine_nodes(combine, values, first_node, tree.num_nodes, plan)
        for combine, values in (
            (total, counted.sums.reshape(nodes.sums.shape)),
            (total, counted.num_rows),
            (least, counted.low),
            (greatest, counted.high),
        )
    )
    sums, num_rows, low, high = combined
    return dataclasses.replace(tree, num_rows=num_rows), nodes._replace(sums=sums, low=low, high=high)


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
    at = frontier.node.at[entries.slot].get(mode="clip")
    in_use = jnp.arange(node.size, dtype=jnp.int32) < entries.size
    copies = jnp.where(node == SHARED, tree.num_children[at], (node != RETIRED).astype(jnp.int32))
    copies = jnp.where(in_use, copies, 0)
    start, size = _starts(copies, entries.size, plan)
    source = _sources(copies, start, entries.size, plan)
    shared, child = _copy_entries(tree, entries, node, at, source, start, size, plan)
    begin = jnp.where(in_use, start, size)
    windows = frontier._replace(
        start=begin.at[frontier.start].get(mode="clip"),
        stop=jnp.where(frontier.stop < entries.size, begin.at[frontier.stop].get(mode="clip"), size),
    )
    orders = expand_orders(orders, Expansion(copies, start), plan=plan)
    return shared, windows, child, orders, size <= plan.entry_capacity


def _starts(
    copies: Int32[Array, " entry"], num_entries: Int32[Array, ""], plan: Plan
) -> tuple[Int32[Array, " entry"], Int32[Array, ""]]:
    """Where the copies of every entry start, and how many there are of all."""
    size = plan.entries_per_block

    def add_block(block, carry):
        start, before = carry
        own = _take_block(copies, block, size)
        up_to = before + cumulative_sum(own[None])[0]
        return _put_block(start, up_to - own, block, size), up_to[-1]

    return lax.fori_loop(0, -(-num_entries // size), add_block, (jnp.zeros_like(copies), jnp.int32(0)))


def _sources(
    copies: Int32[Array, " entry"], start: Int32[Array, " entry"], num_entries: Int32[Array, ""], plan: Plan
) -> Int32[Array, " entry"]:
    """The old place of every entry."""
    size = plan.entries_per_block

    def copy_number(number, source):
        def put_block(block, source):
            own, to = (_take_block(x, block, size) for x in (copies, start))
            old = block * size + jnp.arange(size, dtype=jnp.int32)
            return source.at[jnp.where(own > number, to + number, RETIRED)].set(old, mode="drop")

        return lax.fori_loop(0, -(-num_entries // size), put_block, source)

    return lax.fori_loop(0, jnp.max(copies), copy_number, jnp.zeros_like(copies))


def _copy_entries(
    tree: Tree, entries: Entries, node, at, source, start, num_copies: Int32[Array, ""], plan: Plan
) -> tuple[Entries, Int32[Array, " entry"]]:
    """The entries in their new places, and the child of each."""
    size = plan.entries_per_block
    known = jnp.zeros(plan.capacity, entries.value.dtype).at[node].add(entries.value[0], mode="drop")
    known = total(known, plan)
    up_to = jnp.cumsum(known)

    def copy_block(block, carry):
        row, label, value, slot, child = carry
        old = _take_block(source, block, size)
        place = block * size + jnp.arange(size, dtype=jnp.int32)
        parent, is_shared = at[old], node[old] == SHARED
        to = jnp.where(is_shared, tree.first_child[parent] + place - start[old], node[old])
        parts = entries.value[:, old]
        parts = jnp.where(is_shared, _shares(tree, parts, known, up_to, parent, to), parts)
        arrives = (place < num_copies) & (parts[0] > 0)
        put = lambda values, new: lax.dynamic_update_slice_in_dim(values, new, block * size, axis=-1)  # noqa: E731
        return (
            put(row, entries.row[old]),
            put(label, entries.label[:, old]),
            put(value, parts),
            put(slot, jnp.where(arrives, entries.slot[old], RETIRED)),
            put(child, jnp.where(arrives, to, RETIRED)),
        )

    nobody = jnp.full_like(node, RETIRED)
    carry = (entries.row, entries.label, entries.value, nobody, nobody)
    num_blocks = -(-jnp.minimum(num_copies, plan.entry_capacity) // size)
    row, label, value, slot, child = lax.fori_loop(0, num_blocks, copy_block, carry)
    return Entries(row, label, value, slot, jnp.minimum(num_copies, plan.entry_capacity)), child


def _shares(
    tree: Tree, value: Int[Array, "value copied"], known: Int[Array, " node"], up_to: Int[Array, " node"], parent, child
) -> Int[Array, "value copied"]:
    """What the shares of entries add to the sums of a child, given the known weight of nodes and its cumulative sum."""
    first = tree.first_child[parent]
    before_family = up_to[first] - known[first]
    whole = up_to[first + jnp.maximum(tree.num_children[parent], 1) - 1] - before_family
    high, low = (x - before_family for x in (up_to[child], up_to[child] - known[child]))

    def cut(part, weight):
        share = weight.astype(jnp.float64) / jnp.maximum(whole, 1)
        return jnp.where(weight == whole, part, jnp.floor(part.astype(jnp.float64) * share).astype(part.dtype))

    return jnp.stack([cut(part, high) - cut(part, low) for part in value])
