"""Growth of one or many trees, level by level, in one compiled program."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Int32, Key, UInt32

from jaxtree import forks
from jaxtree.arrays import AnyArray, OptionalArray, is_traced
from jaxtree.compilation import compiled, options_of_small_programs, quick_options
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError, InvalidTypeError, instance_of, present
from jaxtree.growth.device.loop import grow_by_levels
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.inputs.bundles import Data, Features, Limits, Missing, Rules, Sizes
from jaxtree.growth.inputs.checks import check_bundles
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Quantised, Units, quantise_entries
from jaxtree.growth.inputs.root_limits import in_units
from jaxtree.growth.loop.prepare import GrowthInputs, make_problem, prepare, quantise
from jaxtree.growth.native import describes_nodes, engine_of, grow_in_program, kernel_fields
from jaxtree.growth.nodes import NodeTable, finish_tree
from jaxtree.growth.plan.plan import KernelPlan, LoopPlan, Plan
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import check_mesh, divide_rows, on_mesh
from jaxtree.tree import Tree
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
    $w_b$ that of its branch b. Among equal gains (see `jaxtree.growth.device.split`) the lowest feature wins, or a
    random one (`Rules.draws_ties`), then the lowest code. A node of one class is a leaf, and so is one whose rows are
    all alike. An empty branch of a multiway split is a leaf without weight.

    This is a pure function of its arrays: it works under `jax.jit` (in x32 mode too) and under `jax.vmap`
    over targets or weights. It is compiled once for each set of shapes, rules and sizes. A tree is a constant under
    differentiation; `jaxtree.functional` has trees whose leaf values have derivatives.

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
    data, limits = jax.tree.map(lambda own: lax.stop_gradient(own) if is_traced(own) else own, (data, limits))
    return grow_checked(data, features, limits, rules, sizes, root_seeds(key, sizes.num_roots), mesh=mesh)


def grow_checked(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    root_seed: UInt32[AnyArray, " root"],
    *,
    mesh: Mesh | None = None,
) -> Growth:
    """Returns what `grow` does, of bundles that are right: those of estimators, which take care of it themselves."""
    forks.check_is_whole("grow")
    if mesh is not None:
        check_mesh(mesh)
        if data.row is not None:
            raise InvalidInputError("row cannot be given with a mesh: every device has the entries of its own rows")
        root_seed = np.asarray(root_seed)
    is_wide = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    with jax.enable_x64(True):
        engine = engine_of(rules, platform_of(data.codes, mesh=mesh), mesh, on_host=False)
        plan, prepared = prepare(data, features, limits, rules, sizes, root_seed, engine=engine, mesh=mesh)
        if mesh is None:
            return _grow(prepared, plan=plan, is_wide=bool(is_wide))
        return _grow_on_mesh(_divided(prepared, mesh), mesh=mesh, plan=plan, is_wide=bool(is_wide))


def grow_until_it_fits(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    *,
    engine: Engine,
    root_seed: UInt32[np.ndarray, " root"] | None = None,
    mesh: Mesh | None = None,
) -> Tree:
    """Returns the tree of `grow`, on the host; grows again, with more room, until it is enough.

    Bundles must be right: nothing is checked. `engine` is that of `native.engine_of` for trees on the host; the kernel
    makes room for as many nodes and entries as there are. The seeds of what trees draw are 0 if not given.
    """
    root_seed = np.zeros(sizes.num_roots, np.uint32) if root_seed is None else root_seed
    if engine is Engine.HOST:
        return grow_on_host(data, features, limits, rules, sizes.num_bins, root_seed)
    while True:
        # In float64 whatever the user's setting: the tree lies on the host.
        with jax.enable_x64(True):
            tree, complete = grow_checked(data, features, limits, rules, sizes, root_seed, mesh=mesh)
        if complete:
            return jax.tree.map(np.asarray, tree)
        room = sizes.entry_capacity
        sizes = sizes._replace(capacity=4 * sizes.capacity, entry_capacity=None if room is None else 2 * room)


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


def _divided(prepared: GrowthInputs, mesh: Mesh) -> GrowthInputs:
    """Returns the arrays with the rows divided among the devices; padding has weight 0."""
    num_rows = prepared.codes.shape[1]
    weight = (
        np.ones(num_rows, np.int32) if prepared.weight is None and num_rows % mesh.devices.size else prepared.weight
    )
    rows = {"codes": prepared.codes, "target": prepared.target, "weight": weight, "entry_root": prepared.entry_root}
    return prepared._replace(**divide_rows(mesh, rows))


def _in_words(prepared: GrowthInputs, *, plan: Plan, **_: object) -> str:
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
    by_kernel = plan.engine is not Engine.XLA
    if not plan.is_on_cpu or not (is_small or by_kernel):
        return plan.options_of_gpu
    shares_rows = plan.rules.missing == Missing.FRACTION
    return quick_options(0 if is_small and (by_kernel or shares_rows) else 1)


@compiled("mesh", "plan", "is_wide", what=_in_words, options=_compiler_options)
def _grow_on_mesh(prepared: GrowthInputs, *, mesh: Mesh, plan: Plan, is_wide: bool) -> Growth:
    whole = jax.tree.map(lambda _: 0, prepared)
    divided = whole._replace(
        codes=2, target=2,
        weight=None if prepared.weight is None else 1, entry_root=None if prepared.entry_root is None else 1,
    )  # fmt: skip
    return on_mesh(functools.partial(grow_traced, plan=plan, is_wide=is_wide), mesh, divided)(prepared)


@compiled("plan", "is_wide", what=_in_words, options=_compiler_options)
def _grow(prepared: GrowthInputs, *, plan: Plan, is_wide: bool) -> Growth:
    return grow_traced(prepared, plan=plan, is_wide=is_wide)


def grow_traced(prepared: GrowthInputs, *, plan: Plan, is_wide: bool) -> Growth:
    """Grows the trees of all roots, in a program that is being traced; floats of the result have 64 or 32 bits."""
    if isinstance(plan, LoopPlan):
        entries, units = quantise(prepared, plan)
        problem = make_problem(prepared, units, plan)
        table = grow_by_levels(problem, entries, prepared.root_seed, plan=plan)
    else:
        rules, target = plan.rules, prepared.target_of_entries()
        given = {"is_scaled": rules.is_scaled}
        quantised = quantise_entries(rules.objective, target, prepared.weight, plan.devices, **given)
        (table, _), units = _grow_by_kernel(prepared, quantised, instance_of(KernelPlan, plan)), quantised.units
    return _finish(table, prepared, units, plan, is_wide=is_wide)


def grow_with_leaves(prepared: GrowthInputs, *, plan: Plan) -> tuple[Growth, Int32[Array, " row"]]:
    """Grows one tree of `Newton` on all rows, as `grow_traced` does, and returns also the leaf of every row."""
    if isinstance(plan, LoopPlan):
        grown = grow_traced(prepared, plan=plan, is_wide=True)
        return grown, apply(grown.tree, prepared.codes)
    newton, weight = instance_of(Newton, plan.rules.objective), present(prepared.weight)
    is_used = jnp.asarray(weight) > 0
    quantised = newton.quantise_used(jnp.asarray(prepared.target), is_used, plan.devices, plan.engine)
    table, leaf = _grow_by_kernel(prepared, quantised, instance_of(KernelPlan, plan), returns_leaves=True)
    return _finish(table, prepared, quantised.units, plan, is_wide=True), leaf


def _grow_by_kernel(
    prepared: GrowthInputs, quantised: Quantised, plan: KernelPlan, *, returns_leaves: bool = False
) -> tuple[NodeTable, Int32[Array, " row"]]:
    """Grows the trees of all roots by the kernel, and returns also the leaf of every row where these are wanted."""
    label, value, units = quantised
    num_features, features, limits = len(prepared.num_codes), prepared.features, present(prepared.limits)
    zero = jnp.zeros(num_features, np.int32)

    def or_nothing(values: OptionalArray, dtype: Any, *shape: int) -> Any:
        return jnp.zeros((*shape, 0), dtype) if values is None else values

    def rows(names: Sequence[str], values: Mapping[str, Any], dtype: Any) -> Array:
        return jnp.stack([values[name].astype(dtype) for name in names])

    of_features = {
        "kind": features.kind, "num_codes": prepared.num_codes, "missing_code": features.missing_code,
        "in_average": prepared.in_average, "monotone": zero if features.monotone is None else features.monotone,
    }  # fmt: skip
    arrays = {
        "codes": prepared.codes, "codes_of_rows": or_nothing(prepared.codes_of_rows, prepared.codes.dtype),
        "row": or_nothing(prepared.entry_row, np.int32),
        "root": or_nothing(prepared.entry_root, np.int32), "label": label, "value": value,
        "features": rows(kernel_fields().features, of_features, np.int32),
        "next_separable": or_nothing(features.next_separable, np.int32, num_features),
        "position": or_nothing(prepared.position, np.float64, num_features),
        "sets": or_nothing(prepared.sets, np.uint32, num_features), "units": jnp.stack([units.weight, units.target]),
        "limits": rows(kernel_fields().limits, in_units(limits, plan.rules, units), np.float64),
        "parameters": limits.parameters, "root_seed": prepared.root_seed,
    }  # fmt: skip
    num_leaves = prepared.codes.shape[1] if returns_leaves else 0
    more = {"num_leaves": num_leaves, "bytes_lent": plan.bytes_lent}
    return grow_in_program(arrays, plan.rules, plan.sizes, plan.capacity, **more)


def _finish(table: NodeTable, prepared: GrowthInputs, units: Units, plan: Plan, *, is_wide: bool) -> Growth:
    """Returns the trees of a table of nodes."""
    tree = finish_tree(
        table, plan.rules, present(prepared.limits).parameters, units,
        is_described=isinstance(plan, KernelPlan) and describes_nodes(plan.rules.objective),
        is_binary=plan.max_branches == 2, real=np.float64 if is_wide else np.float32,
    )  # fmt: skip
    return Growth(tree, table.complete)
