"""The loop of growth: levels, from the roots to the last node that may be split."""

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int32

from jaxtree.growth.frontier import (
    RETIRED,
    Entries,
    Frontier,
    excess_work,
    next_frontier,
    slots_of_entries,
    sort_by_slot,
)
from jaxtree.growth.level import Level, resolve_missing, split_level
from jaxtree.growth.measure import Units, node_impurity
from jaxtree.growth.mesh import greatest, least
from jaxtree.growth.nodes import Nodes, blank_nodes, hand_down_bounds, is_mixed
from jaxtree.growth.orders import Orders, reorder, sort_entries
from jaxtree.growth.plan import Plan
from jaxtree.growth.prepare import Prepared, quantise, set_scene
from jaxtree.growth.routing import SHARED, count_entries, move_entries, send_entries, share_out
from jaxtree.growth.rules import Missing
from jaxtree.growth.scan import scan_features
from jaxtree.growth.scene import Scene
from jaxtree.tree import SplitKind, Tree


class Growth(NamedTuple):
    """A grown tree, and whether the node table held all of it; if not, grow with a larger capacity."""

    tree: Tree
    complete: Bool[Array, ""]


class _State(NamedTuple):
    level: Level
    first_node: Int32[Array, ""]
    frontier: Frontier
    entries: Entries
    slot_of_node: Int32[Array, " node"]
    orders: Orders
    in_row_order: Bool[Array, ""]


def grow_levels(prepared: Prepared, *, plan: Plan, is_wide: bool) -> Growth:
    """Grows the trees of all roots; a float of the result is 64 bits wide if the caller's are."""
    entries, units = quantise(prepared, plan)
    scene = set_scene(prepared, units, plan)
    state = lax.while_loop(
        lambda s: (s.frontier.num_large + s.frontier.num_small > 0) & s.level.complete,
        functools.partial(_grow_level, scene, plan=plan),
        _plant(scene, entries, prepared.order, prepared.root_seed, plan=plan),
    )
    tree = _describe(state.level.tree, state.level.nodes, units, plan, is_wide=is_wide)
    return Growth(tree, state.level.complete)


def _describe(tree: Tree, nodes: Nodes, units: Units, plan: Plan, *, is_wide: bool) -> Tree:
    """The tree with weights, impurities, and thresholds half way between codes."""
    measure, rules = plan.rules.measure, plan.rules
    real = jnp.float64 if is_wide else jnp.float32
    weight = measure.weight(nodes.sums.T)
    impurity = node_impurity(measure, nodes.sums, units)
    count = target_sum = jnp.zeros((plan.capacity, 0), real)
    if measure.num_classes:
        count = nodes.sums
    else:
        impurity = jnp.where(nodes.low < nodes.high, impurity, 0)
        shifted = nodes.sums[:, 1 : 1 + measure.num_outputs].astype(jnp.float64) * units.target
        target_sum = shifted + units.center * (weight.astype(jnp.float64) * units.weight)[:, None]
    if measure.is_scaled:
        weight, count = (x.astype(jnp.float64) * units.weight for x in (weight, count))
        weight, count = weight.astype(real), count.astype(real)
    elif measure.num_classes == 0:
        weight = weight.astype(jnp.int32)
    threshold = (tree.code + tree.next_code).astype(real) / 2
    tree = dataclasses.replace(
        tree,
        weight=weight,
        count=count,
        target_sum=target_sum.astype(real),
        impurity=impurity.astype(real),
        gain=tree.gain.astype(real),
        threshold=jnp.where(tree.split_kind == SplitKind.THRESHOLD, threshold, tree.code.astype(real)),
    )
    learns = rules.missing == Missing.LEARN or plan.num_words > 0
    return resolve_missing(tree) if learns else tree


def _plant(scene: Scene, entries: Entries, order, root_seed, *, plan: Plan) -> _State:
    """The state before the first level: roots alone, and every entry at its root."""
    num_roots, size = scene.split_limits.max_depth.size, plan.capacity
    measure = plan.rules.measure
    node = jnp.where(entries.value[0] > 0, entries.slot, RETIRED)
    number = jnp.arange(size, dtype=jnp.int32)
    zero, real = jnp.zeros(size, jnp.int32), jnp.zeros(size, jnp.float64)
    own = jnp.where(number < num_roots, number, 0)
    blank = Tree(
        feature=zero, code=zero, next_code=zero, threshold=real, split_kind=zero,
        subset=jnp.zeros((size, plan.num_words), jnp.uint32), missing_code=zero, missing_branch=zero,
        first_child=zero, num_children=zero, parent=own, depth=zero, root=own,
        weight=real, count=jnp.zeros((size, 0)), target_sum=jnp.zeros((size, 0)),
        num_rows=zero, impurity=real, gain=real, num_nodes=jnp.int32(num_roots),
        num_classes=(measure.num_classes,) * measure.num_outputs if measure.num_classes else (),
    )  # fmt: skip
    nodes = blank_nodes(plan, entries.value.dtype, root_seed)
    tree, nodes = count_entries(blank, nodes, entries, node, jnp.int32(0), plan=plan)
    start, stop = _first_windows(node, plan)
    roots = Frontier(
        node=number,
        start=start,
        stop=stop,
        num_large=jnp.int32(num_roots),
        num_small=jnp.int32(0),
        num_crowded=jnp.int32(0),
    )
    scanned = scene.num_codes.at[scene.lists[-1]].get(mode="fill", fill_value=0) > 0
    padded = jnp.pad(order, ((0, 0), (0, plan.entry_capacity - order.shape[1])))
    orders = Orders(padded, jnp.int32(order.shape[1]), jnp.sum(scanned, dtype=jnp.int32))
    state = _State(
        Level(tree, nodes, jnp.bool_(True)),
        jnp.int32(0),
        roots,
        entries,
        number,
        orders,
        jnp.bool_(plan.starts_in_row_order),
    )
    return _advance(scene, state, jnp.int32(0), node, plan=plan)


def _first_windows(node: Int32[Array, " entry"], plan: Plan) -> tuple[Int32[Array, " slot"], Int32[Array, " slot"]]:
    """Where the entries of every root begin and end; on several devices, all entries, for some roots may have none."""
    start, stop = jnp.full(plan.capacity, node.size, jnp.int32), jnp.zeros(plan.capacity, jnp.int32)
    if plan.num_devices > 1:
        return jnp.zeros_like(start), start
    position = jnp.arange(node.size, dtype=jnp.int32)
    return start.at[node].min(position, mode="drop"), stop.at[node].max(position + 1, mode="drop")


def _grow_level(scene: Scene, state: _State, *, plan: Plan) -> _State:
    state = _order(scene, state, plan=plan)
    scanned = None
    if plan.num_scanned:
        scanned = scan_features(scene, state.level, state.entries, state.frontier, state.orders, plan=plan)
    first_child = state.level.tree.num_nodes
    level = split_level(
        scene, state.level, state.entries, state.frontier, state.first_node, state.in_row_order, scanned, plan=plan
    )
    state, node = _move(scene, state._replace(level=level), first_child, plan=plan)
    return _advance(scene, state, first_child, node, plan=plan)


def _order(scene: Scene, state: _State, *, plan: Plan) -> _State:
    """Sorts the entries by slot once their present order costs more than the sort, or where they are scanned."""
    if not plan.sorts:
        return state

    def sort():
        entries, frontier = sort_by_slot(state.entries, state.frontier, state.level.tree.num_rows, plan=plan)
        return state._replace(entries=entries, frontier=frontier, in_row_order=jnp.bool_(False))

    def divide():
        entries, frontier, place = sort_entries(state.entries, state.level.tree, state.frontier, plan=plan)
        orders = reorder(state.orders, state.entries, state.level.tree, frontier, place, plan=plan)
        return state._replace(entries=entries, frontier=frontier, orders=orders)

    if plan.num_scanned:
        return lax.cond(state.frontier.num_large > 0, divide, lambda: state)
    num_features = plan.num_drawn or jnp.sum(scene.num_codes > 0).astype(jnp.float32)
    saved = excess_work(state.entries, state.frontier, plan=plan) * num_features
    return lax.cond(saved > plan.backend.sort_cost * state.entries.slot.size, sort, lambda: state)


def _move(scene: Scene, state: _State, first_child, *, plan: Plan) -> tuple[_State, Int32[Array, " entry"]]:
    """Sends every entry to its child and counts it there."""
    level, entries, frontier = state.level, state.entries, state.frontier
    if not plan.rules.shares_missing:
        tree, nodes, node = move_entries(
            scene.codes, level.tree, level.nodes, entries, frontier, first_child, plan=plan
        )
        return state._replace(level=level._replace(tree=tree, nodes=nodes)), node
    node = send_entries(scene.codes, level.tree, entries, frontier, plan=plan)
    unshared = (entries, frontier, node, state.orders, jnp.bool_(True))
    entries, frontier, node, orders, fits = lax.cond(
        greatest(jnp.any(node == SHARED).astype(jnp.int32), plan) > 0,
        lambda: share_out(level.tree, entries, frontier, node, state.orders, plan=plan),
        lambda: unshared,
    )
    tree, nodes = count_entries(level.tree, level.nodes, entries, node, first_child, plan=plan)
    fits = least(fits.astype(jnp.int32), plan) > 0
    level = Level(tree, nodes, level.complete & fits)
    return state._replace(level=level, entries=entries, frontier=frontier, orders=orders), node


def _advance(scene: Scene, state: _State, first_node, node: Int32[Array, " entry"], *, plan: Plan) -> _State:
    """Makes the new nodes that may be split the frontier, and gives their entries the slots."""
    tree, limits, rules = state.level.tree, scene.split_limits, plan.rules
    nodes = hand_down_bounds(state.level.nodes, tree, scene.features.monotone, first_node, scene.units, rules)

    def may_split(node):
        root = tree.root[node]
        heavy = rules.measure.weight(nodes.sums[node].T) >= limits.least_weight[root]
        many = tree.num_rows[node] >= limits.least_rows[root]
        return is_mixed(nodes, node, scene.units, rules) & heavy & many & (tree.depth[node] < limits.max_depth[root])

    frontier, slot_of_node = next_frontier(tree, state.frontier, state.slot_of_node, first_node, may_split, plan=plan)
    entries = slots_of_entries(state.entries, node, slot_of_node, plan=plan)
    return state._replace(
        level=state.level._replace(nodes=nodes),
        first_node=first_node,
        frontier=frontier,
        slot_of_node=slot_of_node,
        entries=entries,
    )
