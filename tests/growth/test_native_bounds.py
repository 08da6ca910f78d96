"""Numbers that the kernel reads out of traced arrays never lead out of its own, as sanitizers see (see `.ci/run`)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Missing, Selection, grow
from jaxtree.growth.inputs.newton import Newton, Penalties
from jaxtree.kernels import optimal, rows
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import Devices
from jaxtree.tree import SplitKind
from jaxtree.tree.walk import apply_in_program
from tests.growth.native_trees import BRANCHES, MIXED, THRESHOLDS, arguments, needs_kernel

ANY = np.array([-(2**31), -7, -1, 0, 1, 5, 70, 1000, 2**31 - 1], np.int32)
FLOATS = np.array([-np.inf, -1e308, -1.0, -0.0, 0.0, 1e-308, 1.0, 1e308, np.inf, np.nan])
SIZE = {"num_rows": 120, "num_bins": 32, "num_categories": 6}

NEWTON = {"newton": Newton(has_noise=True), "penalties": Penalties(1.0, 0.0, np.inf)}
SHARED = {"missing": Missing.FRACTION, "weight": "floats"}
CASES = {
    "classes": {"kinds": MIXED},
    "branches": {"kinds": BRANCHES, "num_classes": 3},
    "numbers": {"kinds": MIXED, "of_numbers": True, "num_roots": 3},
    "drawn": {"kinds": THRESHOLDS, "draws_thresholds": True, "is_apart": True, "max_features": 3},
    "shared": {"kinds": BRANCHES, **SHARED, "criterion": criteria.entropy, "selection": Selection.GAIN_RATIO},
    "shared numbers": {"kinds": MIXED, **SHARED, "of_numbers": True, "num_roots": 3, "draws_thresholds": True},
    "newton": {"kinds": THRESHOLDS, **NEWTON},
    "words": {"kinds": MIXED, **NEWTON, "missing": Missing.BRANCH, "sets": [[0, 1, 5], [1, 2, 6]]},
    "best first": {"kinds": THRESHOLDS, **NEWTON, "max_leaf_nodes": 9},
    "leaves": {"kinds": MIXED, "max_leaf_nodes": 9, "criterion": criteria.entropy, "level_features": 4},
    "monotone": {"kinds": THRESHOLDS, **NEWTON, "monotone": (1, -1, 0, 0, 1, 0, 0, 0)},
}
FIELDS = {
    "data": ("codes", "row", "root", "weight"),
    "features": ("split_kind", "num_codes", "num_values", "monotone", "next_separable", "position", "sets"),
    "limits": ("max_depth", "max_features", "level_features", "max_leaf_nodes", "min_samples_leaf", "parameters"),
}


def spoilt(values, rng):
    """An array of the same shape and type, with any numbers in it."""
    values = np.asarray(values)
    if np.issubdtype(values.dtype, np.floating):
        return rng.choice(FLOATS, values.shape)
    number = rng.choice(ANY, values.shape)
    few = np.where(rng.random(values.shape) < 0.5, number, values) if values.ndim else number
    return few.astype(values.dtype)


FAST = ("classes",)
"""With sanitizers, which see most, all cases run."""


@needs_kernel
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in CASES])
def test_growth(name):
    data, features, limits, rules, sizes = arguments(**SIZE, **CASES[name])
    sizes = sizes._replace(capacity=256 * sizes.num_roots)
    limits = limits._replace(parameters=np.array(limits.parameters, np.float64))
    whole = {"data": data, "features": features, "limits": limits}
    kinds = tuple(SplitKind(kind) for kind in np.unique(features.split_kind))

    @jax.jit
    def grown(whole):
        own = rules._replace(kinds=kinds)
        return grow(whole["data"], whole["features"], whole["limits"], own, sizes, key=jax.random.key(0)).tree

    with jax.enable_x64(True):
        traced = jax.tree.map(jnp.asarray, whole)
        for seed in range(2):
            for of, fields in FIELDS.items():
                for field in fields:
                    values = getattr(whole[of], field)
                    if values is None or np.size(values) == 0:
                        continue
                    rng = np.random.default_rng(seed)
                    same = getattr(traced[of], field)
                    wrong = jax.tree.map(lambda own, rng=rng: jnp.asarray(spoilt(own, rng), own.dtype), same)
                    tree = grown({**traced, of: traced[of]._replace(**{field: wrong})})
                    number = int(tree.num_nodes)
                    assert 0 < number <= sizes.capacity, field
                    children = np.asarray(tree.first_child + tree.num_children)[:number]
                    assert (np.asarray(tree.num_children)[:number] >= 0).all() and (children <= number).all(), field


@needs_kernel
@pytest.mark.parametrize(("name", "field"), [("drawn", "next_separable"), ("drawn", "position")])
def test_narrow_arrays_are_refused(name, field):
    data, features, limits, rules, sizes = arguments(**SIZE, **CASES[name])
    narrow = features._replace(**{field: getattr(features, field)[:, :5]})
    run = jax.jit(lambda own: grow(data, own, limits, rules._replace(kinds=(SplitKind.THRESHOLD,)), sizes).tree)
    with jax.enable_x64(True), pytest.raises(Exception, match=field):
        jax.block_until_ready(run(narrow))


@needs_kernel
@pytest.mark.parametrize(
    ("num_rows", "change", "message"),
    [
        (121, {"num_bins": None}, "missing or of another type: num_bins"),
        (122, {"draws_ties": np.int32(0)}, "missing or of another type: draws_ties"),
        (123, {"num_bin": np.int32(32)}, "unknown"),
    ],
)
def test_attributes_of_other_names_are_refused(num_rows, change, message, monkeypatch):
    ffi_call = jax.ffi.ffi_call

    def changed(name, *args, **options):
        call = ffi_call(name, *args, **options)
        held = lambda attributes: {name: own for name, own in (attributes | change).items() if own is not None}  # noqa: E731
        return lambda *arrays, **attributes: call(*arrays, **held(attributes))

    # A number of rows that no other test has, as the wrong program stays in JAX's cache.
    data, features, limits, rules, sizes = arguments(**SIZE | {"num_rows": num_rows}, kinds=THRESHOLDS)
    monkeypatch.setattr(jax.ffi, "ffi_call", changed)
    with jax.enable_x64(True), pytest.raises(Exception, match=message):
        jax.block_until_ready(grow(data, features, limits, rules, sizes._replace(capacity=256)).tree)


@needs_kernel
def test_rows_at_nodes_that_are_not_there():
    data, features, limits, rules, sizes = arguments(**SIZE, kinds=THRESHOLDS)
    with jax.enable_x64(True):
        tree = jax.tree.map(jnp.asarray, grow(data, features, limits, rules, sizes._replace(capacity=256)).tree)
        values = jnp.ones((2, SIZE["num_rows"]))
        leaf = jnp.asarray(np.resize(ANY, SIZE["num_rows"]))
        is_used = jnp.ones(SIZE["num_rows"], bool)
        sum_at_nodes = functools.partial(rows.sum_at_nodes, devices=Devices(1), engine=Engine.PROGRAM)
        for wrong in (tree, tree.__class__(**{**vars(tree), "parent": jnp.full_like(tree.parent, 2**31 - 1)})):
            sums = jax.jit(sum_at_nodes)(values, leaf, is_used, wrong.parent, wrong.depth)
            assert np.isfinite(sums).all()
        steps = jnp.ones((2, tree.capacity))
        add_steps = functools.partial(rows.add_steps, engine=Engine.PROGRAM)
        assert (jax.jit(add_steps)(values, steps, leaf) == 2).all()


@needs_kernel
def test_walks_of_trees_that_are_none():
    data, features, limits, rules, sizes = arguments(**SIZE, kinds=BRANCHES)
    tree = grow(data, features, limits, rules, sizes._replace(capacity=256)).tree
    with jax.enable_x64(True):
        walk = jax.jit(functools.partial(apply_in_program, engine=Engine.PROGRAM))
        for seed in range(2):
            for field in (
                "feature",
                "code",
                "split_kind",
                "missing_code",
                "missing_branch",
                "first_child",
                "num_children",
            ):
                wrong = vars(tree) | {field: spoilt(getattr(tree, field), np.random.default_rng(seed))}
                end = walk(jax.tree.map(jnp.asarray, tree.__class__(**wrong)), data.codes)
                assert (np.asarray(end) >= 0).all() and (np.asarray(end) < 256).all()


@needs_kernel
@pytest.mark.parametrize("field", ["codes", "label", "node", None])
def test_small_trees_of_codes_that_are_none(field):
    rng = np.random.default_rng(0)
    arrays = {
        "codes": rng.integers(0, 3, (4, 90)).astype(np.uint16),
        "label": rng.integers(0, 2, 90).astype(np.int32),
        "node": rng.integers(-1, 2, 90).astype(np.int32),
    }
    if field is not None:
        arrays[field][..., 7] = 99
    of_groups = arrays["codes"], np.arange(0, 9, 2, dtype=np.int32), np.ones(4, bool)
    cost = np.array([[0, 1], [1, 0]]), np.asarray(1.0), np.ones(1), np.asarray(1)
    table = optimal.CostedRows(*of_groups, arrays["label"], np.ones((1, 90), np.int64), *cost)
    numbers = optimal.numbers_of_cost("cost", 2, False, 2)
    if field is None:
        assert (optimal.best_sides(table, arrays["node"], numbers, num_nodes=2) >= 0).all()
        return
    with pytest.raises(InvalidInputError, match=r"(codes|labels|rows) must be"):
        optimal.best_sides(table, arrays["node"], numbers, num_nodes=2)
