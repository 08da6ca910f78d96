"""Growth of one or many trees, level by level, in one compiled loop."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.criteria import Criterion, gini
from jaxtree.growth.frontier import (
    RETIRED,
    SORT_COST,
    Entries,
    Frontier,
    excess_work,
    move_entries,
    next_frontier,
    slots_of_entries,
    sort_by_slot,
)
from jaxtree.growth.level import Features, Level, Limits, Scene, split_level
from jaxtree.growth.plan import Plan, make_plan
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
    in_row_order: Bool[Array, ""]


def grow(
    codes: UInt[AnyArray, "feature row"],
    label: Int[AnyArray, " row"],
    weight: Int[AnyArray, " entry"] | None = None,
    features: Features | None = None,
    limits: Limits = Limits(),
    *,
    num_classes: int,
    num_bins: int,
    capacity: int,
    criterion: Criterion = gini,
    kinds: tuple[SplitKind, ...] = (SplitKind.THRESHOLD,),
    entry_row: Int[AnyArray, " entry"] | None = None,
    entry_root: Int[AnyArray, " entry"] | None = None,
    num_roots: int = 1,
) -> Growth:
    r"""Grows one tree, or several with a root each, greedily and level by level.

    Every node takes the split with the largest gain
    $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$, where $i$ is the criterion, $w_t$ the weight of the node and
    $w_b$ that of its branch b. Of equal gains (within 1e-9 of the node's impurity) the lowest feature
    wins, then the lowest code. A node of one class is a leaf, and so is one whose rows are all alike. An
    empty branch of a multiway split is a leaf without weight.

    A pure function of its arrays: it may stand under `jax.jit` (in x32 mode too) and under `jax.vmap`
    over labels or weights. It is compiled once for each set of shapes and keyword arguments.

    Args:
        codes: Codes of every feature, below `num_bins`.
        label: Class of every row, below `num_classes`.
        weight: Whole-number weight of every entry, 1 if not given; 0 leaves the entry out. The sum must
            stay below 2**31.
        features: Kind of split and number of codes of every feature; thresholds if not given.
        limits: When a node is not split.
        num_classes: Number of classes.
        num_bins: Number of codes of the feature that has most.
        capacity: Nodes that the table holds. A binary tree has fewer than twice as many nodes as rows.
        criterion: Impurity of class weights; a function made anew each time compiles anew each time.
        kinds: The kinds of split that occur in `features`.
        entry_row: Row of every entry, for several trees on the same rows; entry e is row e if not given.
        entry_root: The tree of every entry, below `num_roots`.
        num_roots: Number of trees.

    Returns:
        The tree, with its roots at the nodes 0 to `num_roots - 1`, and whether it is complete.

    Raises:
        InvalidInputError: Shapes do not fit together, or codes or classes are past their number.
        InvalidTypeError: Weights are not whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> codes = jnp.array([[0, 0, 1, 1], [0, 1, 0, 1]], jnp.uint8)
        >>> tree, complete = grow(codes, jnp.array([0, 1, 1, 0]), num_classes=2, num_bins=2, capacity=8)
        >>> int(tree.num_nodes), tree.feature[:3].tolist()
        (7, [0, 1, 1])
    """
    _check(codes, label, weight, entry_row, entry_root)
    _check_sizes(codes, label, num_bins, num_classes, capacity, num_roots)
    with jax.enable_x64(True):
        num_entries = (label if entry_row is None else entry_row).shape[0]
        plan = make_plan(
            num_entries=num_entries,
            num_features=codes.shape[0],
            num_classes=num_classes,
            num_bins=num_bins,
            capacity=capacity,
            starts_in_row_order=entry_row is None,
            criterion=criterion,
            kinds=tuple(kinds),
        )
        row = np.arange(num_entries) if entry_row is None else entry_row
        root = np.zeros(num_entries) if entry_root is None else entry_root
        weight = np.ones(num_entries) if weight is None else weight
        features = (
            Features(np.zeros(len(codes), np.int32), np.full(len(codes), num_bins)) if features is None else features
        )
        label, row, root, weight = (_as_type(x, np.int32) for x in (label, row, root, weight))
        features = Features(*(_as_type(x, np.int32) for x in features))
        limits = Limits(*(_as_type(x, kind, num_roots) for x, kind in zip(limits, _LIMIT_TYPES, strict=True)))
        return _grow(codes, label, row, root, weight, features, limits, plan=plan)


def grow_completely(*arrays, capacity: int, **keywords) -> Tree:
    """Returns the tree of `grow`, growing again with four times the capacity while the table is too small."""
    while True:
        tree, complete = grow(*arrays, capacity=capacity, **keywords)
        if complete:
            return tree
        capacity *= 4


def num_programs() -> int:
    """How many growth programs this process has compiled."""
    return _grow._cache_size()  # pyright: ignore[reportAttributeAccessIssue]


_LIMIT_TYPES = (np.int32, np.int32, np.int32, np.float64, np.float64)


def _as_type(values, dtype, num_roots: int | None = None):
    """The values as one type, on the host if they are there; with `num_roots`, one for every root."""
    library = jnp if isinstance(values, jax.Array) else np
    values = library.asarray(values).astype(dtype)
    return values if num_roots is None else library.broadcast_to(values, (num_roots,))


def _check(codes, label, weight, entry_row, entry_root) -> None:
    if codes.ndim != 2 or label.shape != codes.shape[1:]:
        raise InvalidInputError(
            f"codes must have the shape (feature, row) and label the shape (row,), got {codes.shape} and {label.shape}"
        )
    entry_shape = label.shape if entry_row is None else entry_row.shape
    for name, value in (("weight", weight), ("entry_root", entry_root)):
        if value is not None and value.shape != entry_shape:
            raise InvalidInputError(f"{name} must have one value an entry, shape {entry_shape}, got {value.shape}")
    if weight is not None and not jnp.issubdtype(weight.dtype, jnp.integer):
        raise InvalidTypeError(f"weight must hold whole numbers of an integer type, got {weight.dtype}")


def _check_sizes(codes, label, num_bins: int, num_classes: int, capacity: int, num_roots: int) -> None:
    """Checks what no error would show later; arrays on a device, or traced, are taken on trust."""
    if capacity < num_roots:
        raise InvalidInputError(f"capacity must be at least num_roots, {num_roots}, got {capacity}")
    for name, values, limit in (("codes", codes, num_bins), ("label", label, num_classes)):
        if isinstance(values, np.ndarray) and values.size and not (values.min() >= 0 and values.max() < limit):
            raise InvalidInputError(f"{name} must be from 0 to {limit - 1}, got {values.min()} to {values.max()}")


@functools.partial(jax.jit, static_argnames="plan")
def _grow(codes, label, entry_row, entry_root, weight, features, limits, *, plan: Plan) -> Growth:
    codes, label, entry_row, entry_root, weight = _pad_to_blocks(codes, label, entry_row, entry_root, weight, plan)
    scene = Scene(codes, features, limits)
    label = label if plan.starts_in_row_order else label[entry_row]
    entries = Entries(entry_row, label, weight, entry_root, jnp.int32(entry_row.size))
    state = lax.while_loop(
        lambda s: (s.frontier.num_large + s.frontier.num_small > 0) & s.level.complete,
        functools.partial(_grow_level, scene, plan=plan),
        _plant(scene, entries, plan=plan),
    )
    return Growth(_describe(state.level.tree, plan.criterion), state.level.complete)


def _describe(tree: Tree, criterion: Criterion) -> Tree:
    """The tree with impurities, and with thresholds half way between codes."""
    impurity = jax.vmap(criterion)(tree.count.astype(jnp.float64))
    threshold = (tree.code + tree.next_code).astype(jnp.float32) / 2
    return dataclasses.replace(
        tree,
        impurity=impurity.astype(jnp.float32),
        threshold=jnp.where(tree.split_kind == SplitKind.THRESHOLD, threshold, tree.code.astype(jnp.float32)),
    )


def _pad_to_blocks(codes, label, entry_row, entry_root, weight, plan: Plan):
    """Fills the last block of entries with some of weight 0; data padded to a bucket need none."""
    padding = -entry_row.size % plan.entries_per_block
    if padding and plan.starts_in_row_order:
        codes, label = jnp.pad(codes, ((0, 0), (0, padding))), jnp.pad(label, (0, padding))
    if padding:
        entry_row, entry_root, weight = (jnp.pad(x, (0, padding)) for x in (entry_row, entry_root, weight))
    return codes, label, entry_row, entry_root, weight


def _plant(scene: Scene, entries: Entries, *, plan: Plan) -> _State:
    """The state before the first level: roots alone, and every entry at its root."""
    num_roots = scene.limits.max_depth.size
    node = jnp.where(entries.weight > 0, entries.slot, RETIRED)
    number = jnp.arange(plan.capacity, dtype=jnp.int32)
    zero = jnp.zeros(plan.capacity, jnp.int32)
    cell = jnp.where(node == RETIRED, RETIRED, node * plan.num_classes + entries.label)
    count = jnp.zeros(plan.capacity * plan.num_classes, entries.weight.dtype).at[cell].add(entries.weight, mode="drop")
    own = jnp.where(number < num_roots, number, 0)
    tree = Tree(
        feature=zero, code=zero, next_code=zero, threshold=jnp.zeros(plan.capacity, jnp.float32),
        split_kind=zero, first_child=zero, num_children=zero,
        parent=own, depth=zero, root=own,
        count=count.reshape(plan.capacity, plan.num_classes),
        num_rows=zero.at[node].add(1, mode="drop"),
        impurity=jnp.zeros(plan.capacity, jnp.float32), gain=jnp.zeros(plan.capacity, jnp.float32),
        num_nodes=jnp.int32(num_roots),
    )  # fmt: skip
    position = jnp.arange(node.size, dtype=jnp.int32)
    roots = Frontier(
        node=number,
        start=jnp.full(plan.capacity, node.size, jnp.int32).at[node].min(position, mode="drop"),
        stop=zero.at[node].max(position + 1, mode="drop"),
        num_large=jnp.int32(num_roots),
        num_small=jnp.int32(0),
        num_crowded=jnp.int32(0),
    )
    level = Level(tree, jnp.zeros_like(entries.row), jnp.bool_(True))
    state = _State(level, roots, entries, number, jnp.bool_(plan.starts_in_row_order))
    return _advance(scene, state, jnp.int32(0), node, plan=plan)


def _grow_level(scene: Scene, state: _State, *, plan: Plan) -> _State:
    state = _order(scene, state, plan=plan)
    first_child = state.level.tree.num_nodes
    level = split_level(scene, state.level, state.entries, state.frontier, state.in_row_order, plan=plan)
    tree, node = move_entries(scene.codes, level.tree, state.entries, state.frontier, plan=plan)
    return _advance(scene, state._replace(level=level._replace(tree=tree)), first_child, node, plan=plan)


def _order(scene: Scene, state: _State, *, plan: Plan) -> _State:
    """Sorts the entries by slot once their present order costs more than the sort."""
    if not plan.sorts:
        return state
    num_features = jnp.sum(scene.features.num_codes > 0).astype(jnp.float32)
    saved = excess_work(state.entries, state.frontier, plan=plan) * num_features

    def sort():
        entries, frontier = sort_by_slot(state.entries, state.frontier, state.level.tree.num_rows)
        return state._replace(entries=entries, frontier=frontier, in_row_order=jnp.bool_(False))

    return lax.cond(saved > SORT_COST * state.entries.slot.size, sort, lambda: state)


def _advance(scene: Scene, state: _State, first_node, node: Int32[Array, " entry"], *, plan: Plan) -> _State:
    """Makes the new nodes that may be split the frontier, and gives their entries the slots."""
    tree, limits = state.level.tree, scene.limits

    def may_split(node):
        weight = jnp.sum(tree.count[node], axis=1, dtype=tree.count.dtype)
        mixed = jnp.max(tree.count[node], axis=1) < weight
        root = tree.root[node]
        return mixed & (weight >= limits.min_samples_split[root]) & (tree.depth[node] < limits.max_depth[root])

    frontier, slot_of_node = next_frontier(tree, state.frontier, state.slot_of_node, first_node, may_split, plan=plan)
    entries = slots_of_entries(state.entries, node, slot_of_node, plan=plan)
    return state._replace(frontier=frontier, slot_of_node=slot_of_node, entries=entries)
