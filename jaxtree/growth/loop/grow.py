"""Growth of one or many trees, level by level, in one compiled program."""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Int32, Key, UInt32

from jaxtree import forks
from jaxtree.arrays import library_of
from jaxtree.compilation import compiled, options_of_small_programs, quick_options
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError, InvalidTypeError, instance_of, present
from jaxtree.growth.inputs.bundles import Data, Features, Limits, Missing, Rules, Sizes
from jaxtree.growth.inputs.checks import check_bundles
from jaxtree.growth.inputs.mesh import check_mesh, devices_of, divide_rows, on_mesh
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import NodeResult
from jaxtree.growth.loop.best_first import drop_splits
from jaxtree.growth.loop.frontier import excess_work, fill_slots, first_slots, slots_of_entries, sort_by_slot
from jaxtree.growth.loop.level import add_children, resolve_missing, split_level
from jaxtree.growth.loop.prepare import Prepared, make_problem, prepare, quantise
from jaxtree.growth.loop.routing import count_entries, route_entries
from jaxtree.growth.native.rows import quantise_rows
from jaxtree.growth.native.trees import describes_nodes, grow_nodes
from jaxtree.growth.plan.loops import mean_of_models
from jaxtree.growth.plan.nodes import State, blank_nodes, hand_down_bounds
from jaxtree.growth.plan.plan import Plan
from jaxtree.growth.plan.problem import DONE, Entries, NodeTable, Presorted, Problem
from jaxtree.growth.splits.presorted import reorder, scan_features, sort_entries
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.walk import apply


class Growth(NamedTuple):
    """A grown tree, and whether the node table held all of it; if it did not, grow with a larger capacity."""

    tree: Tree
    complete: Bool[Array, ""]


def grow(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    *,
    key: Key[Array, "..."] | None = None,
    mesh: Mesh | None = None,
) -> Growth:
    r"""Grows one tree, or several with one root each, greedily and level by level.

    Every node takes the split with the largest gain
    $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$, where $i$ is the impurity, $w_t$ the weight of the node and
    $w_b$ that of its branch b. Of equal gains (see `jaxtree.growth.splits.split`) the lowest feature
    wins, or a random one (`Rules.draws_ties`), then the lowest code. A node of one class is a leaf,
    and so is one whose rows are all alike. An empty branch of a multiway split is a leaf without weight.

    This is a pure function of its arrays: it works under `jax.jit` (in x32 mode too) and under `jax.vmap`
    over targets or weights. It is compiled once for each set of shapes, rules and sizes.

    Args:
        data: Codes, targets and weights.
        features: How the features may be split; by thresholds if None.
        limits: The limits of growth.
        rules: The rules for scoring and choosing splits.
        sizes: The sizes of the tables.
        key: The key of random draws; or one per root, which then draws as if it grew alone.
        mesh: Devices of one kind, in one axis, to divide the rows among; the tree is that of one device, bit for bit.
            `grow` divides NumPy arrays; the rows of JAX arrays must already be divided among these devices.

    Returns:
        The tree, with its roots at the nodes 0 to `num_roots - 1`, and whether it is complete.

    Raises:
        InvalidInputError: A field of a bundle has a shape or a value that is not allowed, or two do not fit together.
            Values of traced arrays are not known: what is out of range is then brought into it.
        InvalidTypeError: A field of a bundle is of a type that is not allowed.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxtree.growth import Classes
        >>> data = Data(jnp.array([[0, 0, 1, 1], [0, 1, 0, 1]], jnp.uint8), jnp.array([0, 1, 1, 0]))
        >>> tree, complete = grow(data, None, Limits(), Rules(Classes(2)), Sizes(num_bins=2, capacity=8))
        >>> int(tree.num_nodes), tree.feature[:3].tolist()
        (7, [0, 1, 1])
    """
    check_bundles(data, features, limits, rules, sizes)
    return grow_checked(data, features, limits, rules, sizes, key=key, mesh=mesh)


def grow_checked(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    *,
    key: Key[Array, "..."] | None = None,
    mesh: Mesh | None = None,
) -> Growth:
    """Returns what `grow` does, of bundles that are right: those of estimators, which take care of it themselves."""
    forks.check_is_whole("grow")
    if mesh is not None:
        check_mesh(mesh)
        if data.row is not None:
            raise InvalidInputError("row cannot be given with a mesh: every device has the entries of its own rows")
    root_seed = root_seeds(key, sizes.num_roots)
    if mesh is not None:
        root_seed = np.asarray(root_seed)
    is_wide = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    with jax.enable_x64(True):
        where = {"platform": platform_of(data.codes, mesh=mesh), "devices": devices_of(mesh)}
        plan, prepared = prepare(data, features, limits, rules, sizes, root_seed, **where)
        if mesh is None:
            return _grow(prepared, plan=plan, is_wide=bool(is_wide))
        return _grow_on_mesh(_divided(prepared, mesh), mesh=mesh, plan=plan, is_wide=bool(is_wide))


def num_programs() -> int:
    """How many growth programs this process has compiled."""
    return _grow.num_programs() + _grow_on_mesh.num_programs()


def root_seeds(key: Key[Array, "..."] | None, num_roots: int):
    """A seed for every root: from the key and the root's number, or from its own key, as if it grew alone."""
    if key is None:
        return np.zeros(num_roots, np.uint32)
    if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        raise InvalidTypeError(f"key must be made by jax.random.key, got an array of {key.dtype}")
    if key.ndim and key.shape != (num_roots,):
        raise InvalidInputError(f"key must be one key, or one for each of {num_roots} roots, got shape {key.shape}")
    return _seeds(key, num_roots=num_roots)


@compiled("num_roots", options=options_of_small_programs)
def _seeds(key: Key[Array, "..."], *, num_roots: int) -> UInt32[Array, " root"]:
    number = jnp.zeros(num_roots, jnp.uint32) if key.ndim else jnp.arange(num_roots, dtype=jnp.uint32)
    draw = lambda own, number: jax.random.bits(jax.random.fold_in(own, number), (), jnp.uint32)  # noqa: E731
    return jax.vmap(draw)(jnp.broadcast_to(key, (num_roots,)), number)


def _divided(prepared: Prepared, mesh: Mesh) -> Prepared:
    """Returns the arrays with the rows divided among the devices; padding has weight 0."""
    num_rows = prepared.codes.shape[1]
    weight = (
        np.ones(num_rows, np.int32) if prepared.weight is None and num_rows % mesh.devices.size else prepared.weight
    )
    rows = {"codes": prepared.codes, "target": prepared.target, "weight": weight, "entry_root": prepared.entry_root}
    return prepared._replace(**divide_rows(mesh, rows))


def _in_words(prepared: Prepared, *, plan: Plan, **_: object) -> str:
    """A description of a growth program, which serves all sizes up to these."""
    num_features, num_rows = prepared.codes.shape
    trees = "" if plan.num_roots == 1 else f"{plan.num_roots} trees on "
    return f"growth of {trees}{num_rows:,} rows x {num_features:,} columns"


def _compiler_options(*, plan: Plan, **_: object) -> dict[str, Any]:
    """XLA's options: on a CPU those of quick compilation, where they cost nothing.

    Where the kernel in C++ grows the trees and entries are few, XLA's own code has so little to do that it need not be
    optimised at all; nor where few rows are shared among branches, which takes longer to compile than to grow. Where
    there is no kernel and entries are many, it needs everything.
    """
    is_small = plan.entry_capacity <= plan.costs.few_entries
    if not plan.is_on_cpu or not (is_small or plan.is_native):
        return plan.options_of_gpu
    shares_rows = plan.rules.missing == Missing.FRACTION
    return quick_options(0 if is_small and (plan.is_native or shares_rows) else 1)


@compiled("mesh", "plan", "is_wide", what=_in_words, options=_compiler_options)
def _grow_on_mesh(prepared: Prepared, *, mesh: Mesh, plan: Plan, is_wide: bool) -> Growth:
    whole = jax.tree.map(lambda _: 0, prepared)
    divided = whole._replace(
        codes=2, target=2,
        weight=None if prepared.weight is None else 1, entry_root=None if prepared.entry_root is None else 1,
    )  # fmt: skip
    return on_mesh(functools.partial(grow_levels, plan=plan, is_wide=is_wide), mesh, divided)(prepared)


@compiled("plan", "is_wide", what=_in_words, options=_compiler_options)
def _grow(prepared: Prepared, *, plan: Plan, is_wide: bool) -> Growth:
    return grow_levels(prepared, plan=plan, is_wide=is_wide)


def grow_levels(prepared: Prepared, *, plan: Plan, is_wide: bool) -> Growth:
    """Grows the trees of all roots, in a program that is being traced; floats of the result have 64 or 32 bits."""
    entries, units = quantise(prepared, plan)
    problem = make_problem(prepared, units, plan)
    if plan.is_native:
        table, _ = grow_nodes(problem, entries, prepared.root_seed, plan=plan)
        return Growth(_finalise(table, problem, plan, is_wide=is_wide), table.complete)
    state = lax.while_loop(
        lambda s: (s.frontier.num_large + s.frontier.num_small > 0) & s.nodes.complete,
        functools.partial(_grow_level, problem, plan=plan),
        _init_state(problem, entries, prepared, plan=plan),
    )
    table = state.nodes.table(plan.rules.objective.classes)
    return Growth(_finalise(table, problem, plan, is_wide=is_wide), table.complete)


def grow_to_leaves(prepared: Prepared, *, plan: Plan) -> tuple[Growth, Int32[Array, " row"]]:
    """Grows one tree of `Newton` on all rows, as `grow_levels` does, and returns also the leaf of every row."""
    if not plan.is_native:
        grown = grow_levels(prepared, plan=plan, is_wide=True)
        return grown, apply(grown.tree, prepared.codes)
    newton, weight = instance_of(Newton, plan.rules.objective), present(prepared.weight)
    entries, units = quantise_rows(jnp.asarray(prepared.target), jnp.asarray(weight) > 0, newton)
    problem = make_problem(prepared, units, plan)
    table, leaf = grow_nodes(problem, entries, prepared.root_seed, plan=plan, tells_leaves=True)
    return Growth(_finalise(table, problem, plan, is_wide=True), table.complete), leaf


def _finalise(table: NodeTable, problem: Problem, plan: Plan, *, is_wide: bool) -> Tree:
    """Returns the tree with weights, impurities, and thresholds half way between codes."""
    tree, rules = table.tree, plan.rules
    library, real = library_of(tree.code), np.float64 if is_wide else np.float32
    if plan.is_native and describes_nodes(rules.objective):
        weight, fields = tree.weight, NodeResult(tree.impurity, tree.count, tree.target_sum)
    else:
        weight = rules.objective.weight(table.sums.T)
        fields = rules.objective.node_result(table.sums, problem.limits.parameters[tree.root], problem.units)
    impurity = fields.impurity
    if rules.objective.compares_targets:
        impurity = library.where(table.low < table.high, impurity, 0)
    if problem.units.is_scaled:
        weight = (weight.astype(np.float64) * problem.units.weight).astype(real)
    elif rules.has_wide_sums:
        weight = weight.astype(np.int32)
    is_float = np.issubdtype(fields.count.dtype, np.floating)
    threshold = (tree.code + tree.next_code).astype(real) / 2
    tree = dataclasses.replace(
        tree,
        weight=weight,
        count=fields.count.astype(real) if is_float else fields.count,
        target_sum=fields.target_sum.astype(real),
        impurity=impurity.astype(real),
        gain=tree.gain.astype(real),
        threshold=library.where(tree.split_kind == SplitKind.THRESHOLD, threshold, tree.code.astype(real)),
    )
    learns = rules.missing == Missing.LEARN or plan.num_words > 0
    return resolve_missing(tree, is_binary=plan.max_branches == 2) if learns else tree


def _init_state(problem: Problem, entries: Entries, prepared: Prepared, *, plan: Plan) -> State:
    """The state before the first level: only roots, and every entry at its root."""
    node = jnp.where(entries.value[0] > 0, entries.slot, DONE)
    nodes = blank_nodes(problem, plan, entries.value.dtype, prepared.root_seed)
    nodes = count_entries(nodes, entries, node, jnp.int32(0), plan=plan)
    frontier, slot_of_node = first_slots(problem, nodes, *_first_windows(node, plan), plan=plan)
    order = prepared.order
    num_scanned = jnp.sum(problem.is_there(problem.lists[-1]), dtype=jnp.int32) if plan.num_scanned else jnp.int32(0)
    padded = jnp.pad(order, ((0, 0), (0, plan.entry_capacity - order.shape[1])))
    return State(
        nodes=nodes,
        first_node=jnp.int32(0),
        frontier=frontier,
        entries=slots_of_entries(entries, node, slot_of_node, plan=plan),
        slot_of_node=slot_of_node,
        presorted=Presorted(padded, jnp.int32(order.shape[1]), num_scanned),
        in_row_order=jnp.bool_(plan.starts_in_row_order),
    )


def _first_windows(node: Int32[Array, " entry"], plan: Plan) -> tuple[Int32[Array, " root"], Int32[Array, " root"]]:
    """The windows of the roots: of one root all entries, and on several devices, of which one may have none."""
    first, stop = jnp.full(plan.num_roots, node.size, jnp.int32), jnp.zeros(plan.num_roots, jnp.int32)
    if plan.devices.number > 1 or plan.num_roots == 1:
        return stop, first
    position = jnp.arange(node.size, dtype=jnp.int32)
    return first.at[node].min(position, mode="drop"), stop.at[node].max(position + 1, mode="drop")


def _grow_level(problem: Problem, state: State, *, plan: Plan) -> State:
    state = _sort_entries(problem, state, plan=plan)
    scanned = scan_features(problem, state, plan=plan) if plan.num_scanned else None
    state = state._replace(nodes=split_level(problem, state, scanned, plan=plan))
    state = drop_splits(problem, state, plan=plan) if plan.rules.grows_best_first else state
    first_child = state.nodes.num_nodes
    state = state._replace(nodes=add_children(problem, state.nodes, state.first_node, plan=plan))
    state, node = route_entries(problem, state, first_child, plan=plan)
    return _next_frontier(problem, state, first_child, node, plan=plan)


def _sort_entries(problem: Problem, state: State, *, plan: Plan) -> State:
    """Sorts the entries by slot if their present order costs more than the sort, or if they are scanned."""
    if not plan.sorts:
        return state
    if plan.num_scanned:
        return _divide_entries(state, plan=plan)
    # Only what a sort changes passes through the condition: XLA would copy the rest.
    sorted_ = functools.partial(sort_by_slot, state.entries, state.frontier, state.nodes.num_rows, plan=plan)
    unsorted = lambda: (state.entries, state.frontier)  # noqa: E731
    num_features = plan.num_sampled or jnp.sum(problem.num_codes > 0).astype(jnp.float32)
    saved = excess_work(state.frontier, plan=plan) * num_features
    sorts = mean_of_models(saved) > plan.costs.sort * state.entries.slot.size
    entries, frontier = lax.cond(sorts, sorted_, unsorted)
    return state._replace(entries=entries, frontier=frontier, in_row_order=state.in_row_order & ~sorts)


def _divide_entries(state: State, *, plan: Plan) -> State:
    """Sorts the entries and their orders by slot, where features are scanned."""
    nodes = state.nodes

    def divide():
        entries, frontier, place = sort_entries(state.entries, nodes, state.frontier, plan=plan)
        presorted = reorder(state.presorted, state.entries, nodes, frontier, place, plan=plan)
        return state._replace(entries=entries, frontier=frontier, presorted=presorted)

    return lax.cond(state.frontier.num_large > 0, divide, lambda: state)


def _next_frontier(
    problem: Problem, state: State, first_node: Int32[Array, ""], node: Int32[Array, " entry"], *, plan: Plan
) -> State:
    """Makes a frontier of the new nodes that may be split, and gives their entries its slots."""
    nodes = hand_down_bounds(problem, state.nodes, first_node, plan.rules)
    frontier, slot_of_node = fill_slots(problem, nodes, state.frontier, state.slot_of_node, first_node, plan=plan)
    return state._replace(
        nodes=nodes,
        first_node=first_node,
        frontier=frontier,
        slot_of_node=slot_of_node,
        entries=slots_of_entries(state.entries, node, slot_of_node, plan=plan),
    )
