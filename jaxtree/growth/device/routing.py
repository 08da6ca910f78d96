"""Sends entries to the children of their nodes, shares rows among branches, and sums the children's entries."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, Int64, Shaped

from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.state import Nodes, Row, State
from jaxtree.growth.inputs.objective import NO_LABEL
from jaxtree.growth.inputs.whole_numbers import cumulative_sum
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import DONE, Entries, GrowthConstants
from jaxtree.kernels.walk import branch_of
from jaxtree.tree import ALL_BRANCHES

SHARED = 2**31 - 2
"""Replaces the child of an entry that goes to all children."""


class _Counted(NamedTuple):
    """The arrays over nodes that counting updates, flat."""

    counted: Int[Array, " cell"]
    extremes: Int64[Array, " end"]


def route_entries(
    problem: GrowthConstants, state: State, first_node: Int32[Array, ""], *, plan: LoopPlan
) -> tuple[State, Array]:
    """Sends every entry to its child, and adds it to the child's sums; the children are the nodes from `first_node` on.

    Returns:
        The state with the sums of the children, and each entry's child, or `DONE` where its node was not split.
    """
    devices = plan.devices
    if not plan.rules.shares_missing:
        nodes, node = _move_entries(problem, state, first_node, plan=plan)
        return state._replace(nodes=nodes), node
    node = _send_entries(problem, state, plan=plan)
    unshared = (state.entries, node, jnp.bool_(True))
    entries, node, fits = lax.cond(
        devices.greatest(jnp.any(node == SHARED).astype(jnp.int32)) > 0,
        lambda: _share_out(state, node, plan=plan),
        lambda: unshared,
    )
    nodes = count_entries(state.nodes, entries, node, first_node, plan=plan)
    fits = devices.least(fits.astype(jnp.int32)) > 0
    nodes = nodes._replace(complete=nodes.complete & fits)
    return state._replace(nodes=nodes, entries=entries), node


def _move_entries(problem: GrowthConstants, state: State, first_node, *, plan: LoopPlan) -> tuple[Nodes, Array]:
    """Sends and counts entries block by block, so that every entry is read once."""
    entries, size = state.entries, plan.entries_per_move

    def move_block(block, carry):
        counted, node = carry
        child = _send_block(problem, state, block, plan)
        return _count_block(counted, entries, child, block, plan), _put_block(node, child, block, size)

    carry = (_open_count(state.nodes), entries.slot)
    counted, node = over_blocks(0, -(-entries.size // size), move_block, carry, most=plan.num_moves, plan=plan)
    return _close_count(counted, state.nodes, first_node, plan), node


def _send_entries(problem: GrowthConstants, state: State, *, plan: LoopPlan) -> Int32[Array, " entry"]:
    """The child of every entry: `DONE` where its node was not split, `SHARED` where it goes to all children."""
    entries, size = state.entries, plan.entries_per_move

    def send_block(block, node):
        return _put_block(node, _send_block(problem, state, block, plan), block, size)

    return over_blocks(0, -(-entries.size // size), send_block, entries.slot, most=plan.num_moves, plan=plan)


def count_entries(
    nodes: Nodes, entries: Entries, node: Int32[Array, " entry"], first_node: Int32[Array, ""], *, plan: LoopPlan
) -> Nodes:
    """Adds every entry to the sums and the number of rows of its node, one of those from `first_node` on."""
    size = plan.entries_per_move

    def count_block(block, counted):
        own = lax.dynamic_slice(node, (block * size,), (size,))
        return _count_block(counted, entries, own, block, plan)

    blank, num_blocks = _open_count(nodes), -(-entries.size // size)
    counted = over_blocks(0, num_blocks, count_block, blank, most=plan.num_moves, plan=plan)
    return _close_count(counted, nodes, first_node, plan)


def _send_block(problem: GrowthConstants, state: State, block, plan: LoopPlan) -> Int32[Array, " sent"]:
    entries, nodes = state.entries, state.nodes
    row, slot = (_take_block(x, block, plan.entries_per_move) for x in (entries.row, entries.slot))
    at = state.frontier.node.at[slot].get(mode="clip")
    own = nodes.read(at)
    code = problem.codes.at[own.feature, row].get(mode="promise_in_bounds").astype(jnp.int32)
    read_word = lambda place: nodes.subset.at[at, place].get(mode="clip")  # noqa: E731
    branch = branch_of(own.split_kind, own.code, code, read_word if plan.num_words else None)
    if plan.rules.has_missing:
        branch = jnp.where(code == own.missing_code, own.missing_branch, branch)
    child = own.first_child + branch
    if plan.rules.shares_missing:
        child = jnp.where(branch == ALL_BRANCHES, SHARED, child)
    return jnp.where((slot != DONE) & (own.num_children > 0), child, DONE)


def _count_block(counted: _Counted, entries: Entries, at: Int32[Array, " sent"], block, plan: LoopPlan) -> _Counted:
    """Adds what entries add to all sums of nodes, and their numbers: at once, since every scatter is a program."""
    objective = plan.rules.objective
    label, value = (_take_block(x, block, plan.entries_per_move) for x in (entries.label, entries.value))
    width = objective.num_node_channels + 1
    labelled, plain = (
        np.array([own for own in objective.additions if (own.label == NO_LABEL) == is_plain], np.int32).reshape(-1, 3)
        for is_plain in (False, True)
    )
    fixed = np.append(plain[:, 1], width - 1).astype(np.int32)
    of_labels = labelled[:, 1:2] + _rows_at(label, labelled[:, 0]).astype(jnp.int32)  # keys of targets have 64 bits
    cells = jnp.concatenate([of_labels, jnp.broadcast_to(fixed[:, None], (len(fixed), at.size))])
    added = [_rows_at(value, own[:, 2]) for own in (labelled, plain)]
    added = jnp.concatenate([*added, jnp.ones_like(value[:1])])
    cells = jnp.where(at != DONE, at * width + cells, DONE).reshape(-1)
    sums = counted.counted.at[cells].add(added.reshape(-1), mode="drop")
    extremes = counted.extremes
    if objective.compares_targets:
        cells = jnp.where(at != DONE, 2 * at + jnp.arange(2, dtype=jnp.int32)[:, None], DONE).reshape(-1)
        ends = jnp.concatenate([label[0], ~label[0]])
        extremes = extremes.at[cells].min(ends, mode="drop")
    return _Counted(sums, extremes)


def _rows_at(values: Int[Array, "number entry"], row: Int32[np.ndarray, " row"]) -> Int[Array, "row entry"]:
    """The rows with the given numbers: a slice where these follow one another."""
    if len(row) and np.all(np.diff(row) == 1):
        return values[row[0] : row[-1] + 1]
    return values[row]


def _open_count(nodes: Nodes) -> _Counted:
    return _Counted(nodes.counted.reshape(-1), nodes.extremes.reshape(-1))


def _close_count(counted: _Counted, nodes: Nodes, first_node, plan: LoopPlan) -> Nodes:
    """Returns the nodes with the counts of all devices at those from `first_node` on."""
    counts, ends = counted.counted.reshape(nodes.counted.shape), counted.extremes.reshape(nodes.extremes.shape)
    combine, devices = (first_node, nodes.num_nodes), plan.devices
    counts = devices.combine_nodes(devices.total, counts, *combine)
    return nodes._replace(counted=counts, extremes=devices.combine_nodes(devices.least, ends, *combine))


def _take_block(values: Shaped[Array, "*axis entry"], block, size: int) -> Shaped[Array, "*axis sent"]:
    return lax.dynamic_slice_in_dim(values, block * size, size, axis=-1)


def _put_block(values: Int32[Array, " entry"], new: Int32[Array, " sent"], block, size: int) -> Int32[Array, " entry"]:
    return lax.dynamic_update_slice(values, new, (block * size,))


def _share_out(
    state: State, node: Int32[Array, " entry"], *, plan: LoopPlan
) -> tuple[Entries, Int32[Array, " entry"], Bool[Array, ""]]:
    """Replaces each entry that goes to all children by one entry per child.

    A child's share is its part of the known weight. Shares are cut along the cumulative weight, so that the last
    child receives the remainder of rounding. Entries that are done are removed.

    Returns:
        The entries, the child of each, and whether the entries fitted.
    """
    nodes, entries = state.nodes, state.entries
    at = state.frontier.node.at[entries.slot].get(mode="clip")
    in_use = jnp.arange(node.size, dtype=jnp.int32) < entries.size
    copies = jnp.where(node == SHARED, nodes.read(at).num_children, (node != DONE).astype(jnp.int32))
    copies = jnp.where(in_use, copies, 0)
    start, size = _starts(copies, entries.size, plan)
    source = _sources(copies, start, entries.size, plan)
    shared, child = _copy_entries(nodes.columns, entries, node, at, source, start, size, plan)
    return shared, child, size <= plan.entry_capacity


def _starts(
    copies: Int32[Array, " entry"], num_entries: Int32[Array, ""], plan: LoopPlan
) -> tuple[Int32[Array, " entry"], Int32[Array, ""]]:
    """The start of the copies of every entry, and the number of all copies."""
    size = plan.entries_per_block

    def add_block(block, carry):
        start, before = carry
        own = _take_block(copies, block, size)
        up_to = before + cumulative_sum(own[None])[0]
        return _put_block(start, up_to - own, block, size), up_to[-1]

    return lax.fori_loop(0, -(-num_entries // size), add_block, (jnp.zeros_like(copies), jnp.int32(0)))


def _sources(
    copies: Int32[Array, " entry"], start: Int32[Array, " entry"], num_entries: Int32[Array, ""], plan: LoopPlan
) -> Int32[Array, " entry"]:
    """The old place of every entry."""
    size = plan.entries_per_block

    def copy_number(number, source):
        def put_block(block, source):
            own, to = (_take_block(x, block, size) for x in (copies, start))
            old = block * size + jnp.arange(size, dtype=jnp.int32)
            return source.at[jnp.where(own > number, to + number, DONE)].set(old, mode="drop")

        return lax.fori_loop(0, -(-num_entries // size), put_block, source)

    return lax.fori_loop(0, jnp.max(copies), copy_number, jnp.zeros_like(copies))


def _copy_entries(
    tree: Row, entries: Entries, node, at, source, start, num_copies: Int32[Array, ""], plan: LoopPlan
) -> tuple[Entries, Int32[Array, " entry"]]:
    """The entries in their new places, and the child of each."""
    size = plan.entries_per_block
    known = jnp.zeros(plan.capacity, entries.value.dtype).at[node].add(entries.value[0], mode="drop")
    known = plan.devices.total(known)
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
            put(slot, jnp.where(arrives, entries.slot[old], DONE)),
            put(child, jnp.where(arrives, to, DONE)),
        )

    nobody = jnp.full_like(node, DONE)
    carry = (entries.row, entries.label, entries.value, nobody, nobody)
    num_blocks = -(-jnp.minimum(num_copies, plan.entry_capacity) // size)
    row, label, value, slot, child = lax.fori_loop(0, num_blocks, copy_block, carry)
    return Entries(row, label, value, slot, jnp.minimum(num_copies, plan.entry_capacity)), child


def _shares(
    tree: Row, value: Int[Array, "value copied"], known: Int[Array, " node"], up_to: Int[Array, " node"], parent, child
) -> Int[Array, "value copied"]:
    """The values of entries' shares at a child, from the known weight of nodes and its cumulative sum."""
    first = tree.first_child[parent]
    before_family = up_to[first] - known[first]
    whole = up_to[first + jnp.maximum(tree.num_children[parent], 1) - 1] - before_family
    high, low = (x - before_family for x in (up_to[child], up_to[child] - known[child]))

    def cut(part, weight):
        share = weight.astype(jnp.float64) / jnp.maximum(whole, 1)
        return jnp.where(weight == whole, part, jnp.floor(part.astype(jnp.float64) * share).astype(part.dtype))

    return jnp.stack([cut(part, high) - cut(part, low) for part in value])
