"""Growth of one or many trees, level by level, in one compiled program."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, Key, Real, UInt, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.growth.criteria import Criterion, NumberCriterion, gini
from jaxtree.growth.inputs import Features, Limits, check_arrays, check_sizes
from jaxtree.growth.loop import Growth, grow_levels
from jaxtree.growth.mesh import check_mesh, divide_rows, num_devices, on_mesh, platform_of
from jaxtree.growth.plan import Plan
from jaxtree.growth.prepare import Prepared, prepare
from jaxtree.growth.rules import Missing, Selection
from jaxtree.programs import compiled
from jaxtree.tree import SplitKind, Tree


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
    key: Key[Array, "..."] | None = None,
    entry_row: Int[AnyArray, " entry"] | None = None,
    entry_root: Int[AnyArray, " entry"] | None = None,
    num_roots: int = 1,
    entry_capacity: int | None = None,
    mesh: Mesh | None = None,
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
        key: The key of what is drawn; or one for every root, which then draws what it would draw alone.
        entry_row: Row of every entry, for several trees on the same rows; entry e is row e if not given.
        entry_root: The tree of every entry, below `num_roots`.
        num_roots: Number of trees.
        entry_capacity: Entries that there may be at once where rows are shared out; twice as many as there are at
            the start if not given.
        mesh: Devices of one kind, in one axis, to divide the rows among; the tree is that of one device, bit for bit.
            NumPy arrays are divided here; arrays of JAX must have their rows divided among these devices already.

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
    if mesh is not None:
        check_mesh(mesh)
        if entry_row is not None:
            raise InvalidInputError(
                "entry_row cannot be given with a mesh: every device has the entries of its own rows"
            )
    root_seed = _root_seeds(key, num_roots)
    if mesh is not None:
        root_seed = np.asarray(root_seed)
    is_wide = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    with jax.enable_x64(True):
        plan, prepared = prepare(
            codes, target, weight, features, limits, root_seed,
            num_bins=num_bins, capacity=capacity, num_classes=num_classes, criterion=criterion, kinds=kinds,
            missing=missing, selection=selection, counts_rows=counts_rows, draws_features=draws_features,
            draws_thresholds=draws_thresholds, entry_row=entry_row, entry_root=entry_root, num_roots=num_roots,
            entry_capacity=entry_capacity, platform=platform_of(codes, mesh), num_devices=num_devices(mesh),
        )  # fmt: skip
        if mesh is None:
            return _grow(prepared, plan=plan, is_wide=bool(is_wide))
        return _grow_on_mesh(_divided(prepared, mesh), mesh=mesh, plan=plan, is_wide=bool(is_wide))


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
    return _grow.num_programs() + _grow_on_mesh.num_programs()


def _root_seeds(key: Key[Array, "..."] | None, num_roots: int):
    """A seed for every root, from the key and the root's number; or from the root's own key, as if it grew alone."""
    if key is None:
        return np.zeros(num_roots, np.uint32)
    if key.ndim == 0:
        return _seeds_of_one_key(key, num_roots=num_roots)
    if key.shape != (num_roots,):
        raise InvalidInputError(f"key must be one key, or one for each of {num_roots} roots, got shape {key.shape}")
    return _seeds_of_own_keys(key)


@compiled("num_roots")
def _seeds_of_one_key(key, *, num_roots: int) -> UInt32[Array, " root"]:
    keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(num_roots, dtype=jnp.uint32))
    return jax.vmap(_seed)(keys)


@compiled()
def _seeds_of_own_keys(keys) -> UInt32[Array, " root"]:
    return jax.vmap(lambda own: _seed(jax.random.fold_in(own, jnp.uint32(0))))(keys)


def _seed(key) -> UInt32[Array, ""]:
    return jax.random.bits(key, (), jnp.uint32)


def _divided(prepared: Prepared, mesh: Mesh) -> Prepared:
    """The arrays with the rows divided among the devices; padding has weight 0."""
    num_rows = prepared.codes.shape[1]
    weight = (
        np.ones(num_rows, np.int32) if prepared.weight is None and num_rows % mesh.devices.size else prepared.weight
    )
    rows = {"codes": prepared.codes, "target": prepared.target, "weight": weight, "entry_root": prepared.entry_root}
    return prepared._replace(**divide_rows(mesh, rows))


def _in_words(prepared: Prepared, *, plan: Plan, **_: object) -> str:
    """What a growth program does; it is for all sizes up to these."""
    num_features, num_rows = prepared.codes.shape
    trees = "" if plan.num_roots == 1 else f"{plan.num_roots} trees on "
    return f"growth of {trees}{num_rows:,} rows x {num_features:,} columns"


@compiled("mesh", "plan", "is_wide", what=_in_words)
def _grow_on_mesh(prepared: Prepared, *, mesh: Mesh, plan: Plan, is_wide: bool) -> Growth:
    whole = jax.tree.map(lambda _: 0, prepared)
    divided = whole._replace(
        codes=2, target=2,
        weight=None if prepared.weight is None else 1, entry_root=None if prepared.entry_root is None else 1,
    )  # fmt: skip
    return on_mesh(functools.partial(grow_levels, plan=plan, is_wide=is_wide), mesh, divided)(prepared)


@compiled("plan", "is_wide", what=_in_words)
def _grow(prepared: Prepared, *, plan: Plan, is_wide: bool) -> Growth:
    return grow_levels(prepared, plan=plan, is_wide=is_wide)
