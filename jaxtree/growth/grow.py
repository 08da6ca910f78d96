"""Growth of one or many trees, level by level, in one compiled loop."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, PRNGKeyArray, Real, UInt

from jaxtree.arrays import AnyArray
from jaxtree.growth.criteria import Criterion, NumberCriterion, gini
from jaxtree.growth.frontier import (
    RETIRED,
    SORT_COST,
    Entries,
    Frontier,
    excess_work,
    next_frontier,
    slots_of_entries,
    sort_by_slot,
)
from jaxtree.growth.inputs import Features, Limits, check_arrays, check_sizes
from jaxtree.growth.level import Level, Scene, resolve_missing, split_level
from jaxtree.growth.measure import Units, node_impurity
from jaxtree.growth.nodes import Nodes, blank_nodes, hand_down_bounds, is_mixed
from jaxtree.growth.orders import Orders, reorder, sort_entries
from jaxtree.growth.plan import Plan
from jaxtree.growth.prepare import Prepared, prepare, quantise, set_scene
from jaxtree.growth.routing import SHARED, count_entries, move_entries, send_entries, share_out
from jaxtree.growth.rules import Missing, Selection
from jaxtree.growth.scan import scan_features
from jaxtree.tree import SplitKind, Tree


class Growth(NamedTuple):
    """A grown tree, and whether the node table held all of it; if not, grow with a larger capacity."""

    tree: Tree
    complete: Bool[Array, ""]


class _State(NamedTuple):
    level: Level
    frontier: Frontier
    entries: Entries
    slot_of_node: Int32[Array, " node"]
    orders: Orders
    in_row_order: Bool[Array, ""]


def grow(
    codes: UInt[AnyArray, "feature row"],
    target: Real[AnyArray, "*output row"],
    weight: Real[AnyArray, " entry"] | None = None,
    features: Features | None = None,
    limits: Limits = Limits(),
    *,
    num_bins: int,
    capacity: int,
    num_classes: int = 0,
    criterion: Criterion | NumberCriterion = gini,
    kinds: tuple[SplitKind, ...] | None = None,
    missing: Missing = Missing.LEARN,
    selection: Selection = Selection.GAIN,
    counts_rows: bool = False,
    draws_features: bool = False,
    draws_thresholds: bool = False,
    key: PRNGKeyArray | None = None,
    entry_row: Int[AnyArray, " entry"] | None = None,
    entry_root: Int[AnyArray, " entry"] | None = None,
    num_roots: int = 1,
    entry_capacity: int | None = None,
) -> Growth:
    r"""Grows one tree, or several with a root each, greedily and level by level.

    Every node takes the split with the largest gain
    $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$, where $i$ is the criterion, $w_t$ the weight of the node and
    $w_b$ that of its branch b. Of equal gains (see `jaxtree.growth.split`) the lowest feature
    wins, then the lowest code. A node of one class is a leaf, and so is one whose rows are all alike. An
    empty branch of a multiway split is a leaf without weight.

    A pure function of its arrays: it may stand under `jax.jit` (in x32 mode too) and under `jax.vmap`
    over targets or weights. It is compiled once for each set of shapes and keyword arguments.

    Args:
        codes: Codes of every feature, below `num_bins`.
        target: Class of every row, below `num_classes`; or, for a criterion of numbers, the number. Several
            outputs stand one below the other.
        weight: Weight of every entry, 1 if not given; 0 leaves the entry out. Whole numbers of an integer type
            are summed as they are, and their sum must stay below 2**31; others in fixed point.
        features: How the features may be split; by thresholds if not given.
        limits: When a node is not split.
        num_bins: Number of codes of the feature that has most.
        capacity: Nodes that the table holds. A binary tree has fewer than twice as many nodes as rows.
        num_classes: Number of classes; of the output that has most.
        criterion: Impurity of class weights (a function made anew each time compiles anew each time), or a
            criterion of numbers.
        kinds: The kinds of split that occur; read from `features` if that is not traced.
        missing: Where rows go whose value is missing.
        selection: How a node chooses among the features.
        counts_rows: Whether `min_samples_split` and `min_samples_leaf` count rows of positive weight; if not, they
            count weight.
        draws_features: Whether every node looks at `limits.max_features` random features only.
        draws_thresholds: Whether every node looks at one random threshold a feature, uniform between the least and
            the greatest value.
        key: The key of what is drawn.
        entry_row: Row of every entry, for several trees on the same rows; entry e is row e if not given.
        entry_root: The tree of every entry, below `num_roots`.
        num_roots: Number of trees.
        entry_capacity: Entries that there may be at once where rows are shared out; twice as many as there are at
            the start if not given.

    Returns:
        The tree, with its roots at the nodes 0 to `num_roots - 1`, and whether it is complete.

    Raises:
        InvalidInputError: Shapes do not fit together, or codes or classes are past their number.
        InvalidTypeError: Classes are not whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> codes = jnp.array([[0, 0, 1, 1], [0, 1, 0, 1]], jnp.uint8)
        >>> tree, complete = grow(codes, jnp.array([0, 1, 1, 0]), num_classes=2, num_bins=2, capacity=8)
        >>> int(tree.num_nodes), tree.feature[:3].tolist()
        (7, [0, 1, 1])
    """
    check_arrays(codes, target, weight, entry_row, entry_root, criterion)
    check_sizes(codes, target, num_bins, num_classes, capacity, num_roots)
    root_seed = _root_seeds(key, num_roots)
    is_wide = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    with jax.enable_x64(True):
        plan, prepared = prepare(
            codes, target, weight, features, limits, root_seed,
            num_bins=num_bins, capacity=capacity, num_classes=num_classes, criterion=criterion, kinds=kinds,
            missing=missing, selection=selection, counts_rows=counts_rows, draws_features=draws_features,
            draws_thresholds=draws_thresholds, entry_row=entry_row, entry_root=entry_root, num_roots=num_roots,
            entry_capacity=entry_capacity,
        )  # fmt: skip
        return _grow(prepared, plan=plan, is_wide=bool(is_wide))


def grow_completely(*arrays, capacity: int, entry_capacity: int | None = None, **keywords) -> Tree:
    """Returns the tree of `grow`, growing again with larger tables while they are too small."""
    while True:
        tree, complete = grow(*arrays, capacity=capacity, entry_capacity=entry_capacity, **keywords)
        if complete:
            return tree
        capacity *= 4
        entry_capacity = None if entry_capacity is None else 2 * entry_capacity


def num_programs() -> int:
    """How many growth programs this process has compiled."""
    return _grow._cache_size()  # pyright: ignore[reportAttributeAccessIssue]


def _root_seeds(key: PRNGKeyArray | None, num_roots: int):
    """A seed for every root, from the key and the root's number."""
    if key is None:
        return np.zeros(num_roots, np.uint32)
    keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(num_roots, dtype=jnp.uint32))
    return jax.vmap(lambda k: jax.random.bits(k, (), jnp.uint32))(keys)


@functools.partial(jax.jit, static_argnames=("plan", "is_wide"))
def _grow(prepared: Prepared, *, plan: Plan, is_wide: bool) -> Growth:
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
    tree, nodes = count_entries(blank, blank_nodes(plan, entries.value.dtype, root_seed), entries, node, plan=plan)
    position = jnp.arange(node.size, dtype=jnp.int32)
    roots = Frontier(
        node=number,
        start=jnp.full(size, node.size, jnp.int32).at[node].min(position, mode="drop"),
        stop=zero.at[node].max(position + 1, mode="drop"),
        num_large=jnp.int32(num_roots),
        num_small=jnp.int32(0),
        num_crowded=jnp.int32(0),
    )
    scanned = scene.num_codes.at[scene.lists[-1]].get(mode="fill", fill_value=0) > 0
    padded = jnp.pad(order, ((0, 0), (0, plan.entry_capacity - order.shape[1])))
    orders = Orders(padded, jnp.int32(order.shape[1]), jnp.sum(scanned, dtype=jnp.int32))
    state = _State(
        Level(tree, nodes, jnp.bool_(True)), roots, entries, number, orders, jnp.bool_(plan.starts_in_row_order)
    )
    return _advance(scene, state, jnp.int32(0), node, plan=plan)


def _grow_level(scene: Scene, state: _State, *, plan: Plan) -> _State:
    state = _order(scene, state, plan=plan)
    scanned = None
    if plan.num_scanned:
        scanned = scan_features(scene, state.level, state.entries, state.frontier, state.orders, plan=plan)
    first_child = state.level.tree.num_nodes
    level = split_level(scene, state.level, state.entries, state.frontier, state.in_row_order, scanned, plan=plan)
    state, node = _move(scene, state._replace(level=level), plan=plan)
    return _advance(scene, state, first_child, node, plan=plan)


def _order(scene: Scene, state: _State, *, plan: Plan) -> _State:
    """Sorts the entries by slot once their present order costs more than the sort, or where they are scanned."""
    if not plan.sorts:
        return state

    def sort():
        entries, frontier = sort_by_slot(state.entries, state.frontier, state.level.tree.num_rows)
        return state._replace(entries=entries, frontier=frontier, in_row_order=jnp.bool_(False))

    def divide():
        entries, frontier, place = sort_entries(state.entries, state.level.tree, state.frontier, plan=plan)
        orders = reorder(state.orders, state.entries, state.level.tree, frontier, place, plan=plan)
        return state._replace(entries=entries, frontier=frontier, orders=orders)

    if plan.num_scanned:
        return lax.cond(state.frontier.num_large > 0, divide, lambda: state)
    num_features = jnp.sum(scene.num_codes > 0).astype(jnp.float32)
    saved = excess_work(state.entries, state.frontier, plan=plan) * num_features
    return lax.cond(saved > SORT_COST * state.entries.slot.size, sort, lambda: state)


def _move(scene: Scene, state: _State, *, plan: Plan) -> tuple[_State, Int32[Array, " entry"]]:
    """Sends every entry to its child and counts it there."""
    level, entries, frontier = state.level, state.entries, state.frontier
    if not plan.rules.shares_missing:
        tree, nodes, node = move_entries(scene.codes, level.tree, level.nodes, entries, frontier, plan=plan)
        return state._replace(level=level._replace(tree=tree, nodes=nodes)), node
    node = send_entries(scene.codes, level.tree, entries, frontier, plan=plan)
    unshared = (entries, frontier, node, state.orders, jnp.bool_(True))
    entries, frontier, node, orders, fits = lax.cond(
        jnp.any(node == SHARED),
        lambda: share_out(level.tree, entries, frontier, node, state.orders, plan=plan),
        lambda: unshared,
    )
    tree, nodes = count_entries(level.tree, level.nodes, entries, node, plan=plan)
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
        level=state.level._replace(nodes=nodes), frontier=frontier, slot_of_node=slot_of_node, entries=entries
    )
