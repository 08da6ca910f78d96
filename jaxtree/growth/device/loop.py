"""The level loop of XLA's engine: a level is opened, its nodes are scored and split, and their entries are routed.

Scoring sums the cells of histograms, chunk by chunk of nodes, or scans the entries in the order of their codes.
"""

import functools

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32, UInt32

from jaxtree.growth.device.best_first import drop_splits
from jaxtree.growth.device.frontier import fill_slots, slots_of_entries, sort_by_slot
from jaxtree.growth.device.level import add_children, record_best_splits
from jaxtree.growth.device.routing import count_entries, route_entries
from jaxtree.growth.device.sorted_scan import scan_features
from jaxtree.growth.device.state import Nodes, State, blank_nodes, hand_down_bounds
from jaxtree.growth.nodes import NodeTable
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import DONE, Entries, GrowthConstants, Windows


def grow_by_levels(
    problem: GrowthConstants, entries: Entries, root_seed: UInt32[Array, " root"], *, plan: LoopPlan
) -> NodeTable:
    """Grows the trees of all roots, each entry of which begins in the slot of its root's number."""
    state = lax.while_loop(
        lambda s: (s.frontier.size > 0) & s.nodes.complete,
        functools.partial(_grow_level, problem, plan=plan),
        _open_roots(problem, entries, root_seed, plan),
    )
    return state.nodes.table(plan.rules.objective.classes)


def _open_roots(problem: GrowthConstants, entries: Entries, root_seed: UInt32[Array, " root"], plan: LoopPlan) -> State:
    """The state before the first level: only roots, and every entry at its root."""
    node = jnp.where(entries.value[0] > 0, entries.slot, DONE)
    nodes = blank_nodes(problem, plan, entries.value.dtype, root_seed)
    nodes = count_entries(nodes, entries, node, jnp.int32(0), plan=plan)
    return _with_frontier(problem, nodes, entries, jnp.int32(0), node, plan)


def _grow_level(problem: GrowthConstants, state: State, *, plan: LoopPlan) -> State:
    state, windows = _open(state, plan)
    state = _score(problem, state, windows, plan)
    first_child = state.nodes.num_nodes
    state = state._replace(nodes=add_children(problem, state.nodes, state.first_node, plan=plan))
    return _route(problem, state, first_child, plan)


def _open(state: State, plan: LoopPlan) -> tuple[State, Windows | None]:
    """Sorts the entries by slot, where growth sorts them; returns the windows of the slots then."""
    if not plan.sorts:
        return state, None
    entries, windows = sort_by_slot(state.entries, state.frontier, state.nodes.num_rows, plan=plan)
    return state._replace(entries=entries), windows


def _score(problem: GrowthConstants, state: State, windows: Windows | None, plan: LoopPlan) -> State:
    """Records the best split of every node that may be split, of those that best-first growth may reach."""
    scanned = None
    if windows is not None and plan.num_scanned > 0:
        scanned = scan_features(problem, state, windows, plan=plan)
    state = state._replace(nodes=record_best_splits(problem, state, windows, scanned, plan=plan))
    return drop_splits(problem, state, plan=plan) if plan.rules.grows_best_first else state


def _route(problem: GrowthConstants, state: State, first_child: Int32[Array, ""], plan: LoopPlan) -> State:
    """Sends the entries to the children, sums these, and makes a frontier of those that may be split."""
    state, node = route_entries(problem, state, first_child, plan=plan)
    nodes = hand_down_bounds(problem, state.nodes, first_child, plan.rules)
    return _with_frontier(problem, nodes, state.entries, first_child, node, plan)


def _with_frontier(
    problem: GrowthConstants,
    nodes: Nodes,
    entries: Entries,
    first_node: Int32[Array, ""],
    node: Int32[Array, " entry"],
    plan: LoopPlan,
) -> State:
    """The state of a level, whose nodes are those from `first_node` on, and `node` those of the entries."""
    frontier, slot_of_node = fill_slots(problem, nodes, first_node, plan=plan)
    return State(nodes, first_node, frontier, slots_of_entries(entries, node, slot_of_node, plan=plan))
