"""The kernel in C++ that grows trees: those of XLA's programs, whatever is asked of a split."""

import dataclasses
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import Classes, Data, Features, Limits, Missing, Numbers, Rules, Selection, Sizes, criteria, grow
from jaxtree.growth import native, prepare
from jaxtree.growth.inputs import ResolvedRules
from jaxtree.tree import SplitKind

needs_kernel = pytest.mark.skipif(not native.is_available(), reason="the kernel is not installed")

T, S, O, M = SplitKind.THRESHOLD, SplitKind.SUBSET, SplitKind.ONE_VS_REST, SplitKind.MULTIWAY  # noqa: E741
MIXED, THRESHOLDS, BRANCHES = (T, T, T, T, T, S, S, O), (T,) * 8, (T, M, T, M, O, S, M, M)

CASES = {
    "classes": {"kinds": MIXED},
    "three classes, every subset": {"kinds": MIXED, "num_classes": 3},
    "three classes, orders of many categories": {"kinds": MIXED, "num_classes": 3, "num_categories": 20},
    "twelve classes": {"kinds": MIXED, "num_classes": 12},
    "several targets": {"kinds": MIXED, "num_classes": 3, "num_outputs": 2},
    "entropy": {"kinds": MIXED, "num_classes": 3, "criterion": criteria.entropy},
    "errors": {"kinds": MIXED, "criterion": criteria.misclassification},
    "nothing missing": {"kinds": MIXED, "has_missing": False},
    "missing last": {"kinds": MIXED, "missing": Missing.BRANCH},
    "weights of floats": {"kinds": MIXED, "weight": "floats", "num_classes": 3},
    "rows counted": {"kinds": MIXED, "counts_rows": True},
    "numbers": {"kinds": MIXED, "of_numbers": True},
    "numbers, rows counted": {"kinds": MIXED, "of_numbers": True, "counts_rows": True},
    "numbers, weights of floats": {"kinds": MIXED, "of_numbers": True, "weight": "floats"},
    "several numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2},
    "values too close": {"kinds": MIXED, "is_apart": True},
    "many codes": {"kinds": THRESHOLDS, "num_bins": 1024, "num_rows": 3000},
    "row order, then sorted": {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 20_000},
    "nodes cut among threads": {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 70_000, "num_classes": 9},
    "numbers in row order": {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 20_000, "of_numbers": True},
    "drawn features": {"kinds": MIXED, "max_features": 3},
    "drawn thresholds": {"kinds": MIXED, "draws_thresholds": True},
    "drawn features and thresholds": {"kinds": THRESHOLDS, "max_features": 3, "draws_thresholds": True},
    "drawn thresholds, missing last": {"kinds": THRESHOLDS, "draws_thresholds": True, "missing": Missing.BRANCH},
    "drawn ties": {"kinds": MIXED, "draws_ties": True},
    "drawn ties in row order": {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 20_000, "draws_ties": True},
    "drawn features and ties": {"kinds": THRESHOLDS, "max_features": 3, "draws_ties": True},
    "multiway": {"kinds": BRANCHES, "num_classes": 3},
    "multiway, missing last": {"kinds": BRANCHES, "missing": Missing.BRANCH},
    "multiway, numbers": {"kinds": BRANCHES, "of_numbers": True},
    "multiway, drawn features, many rows": {"kinds": BRANCHES, "num_rows": 40_000, "max_features": 3, "max_depth": 5},
    "multiway in row order": {"kinds": BRANCHES, "num_rows": 20_000, "max_depth": 4},
    "gain ratio": {"kinds": BRANCHES, "num_classes": 3, "selection": Selection.GAIN_RATIO},
    "gain ratio, entropy, rows counted": {
        "kinds": BRANCHES,
        "criterion": criteria.entropy,
        "selection": Selection.GAIN_RATIO,
        "counts_rows": True,
    },
    "gain ratio, nothing missing, shared if it were": {
        "kinds": BRANCHES,
        "selection": Selection.GAIN_RATIO,
        "has_missing": False,
        "missing": Missing.FRACTION,
    },
    "gain ratio, missing last": {"kinds": BRANCHES, "selection": Selection.GAIN_RATIO, "missing": Missing.BRANCH},
    "C4.5 by gain": {
        "kinds": BRANCHES,
        "num_classes": 3,
        "selection": Selection.INFORMATION,
        "weight": "floats",
        "num_rows": 4000,
    },
    "monotone": {"kinds": MIXED, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "monotone numbers in row order": {
        "kinds": THRESHOLDS,
        "num_bins": 256,
        "num_rows": 20_000,
        "of_numbers": True,
        "monotone": (1, -1) * 4,
    },
    "poisson": {"kinds": MIXED, "of_numbers": True, "criterion": criteria.poisson},
    "poisson, several": {"kinds": MIXED, "of_numbers": True, "criterion": criteria.poisson, "num_outputs": 2},
    "many trees": {"kinds": THRESHOLDS, "max_features": 3, "num_roots": 5},
}

CONTRACTED = (
    "gain ratio, entropy, rows counted",
    "C4.5 by gain",
    "multiway, numbers",
    "entropy",
    "weights of floats",
    "numbers, weights of floats",
    "many codes",
    "several numbers",
    "poisson",
    "poisson, several",
    "multiway, drawn features, many rows",
)
"""Here the gains of XLA's programs differ in the last bits, as XLA contracts products and sums or not."""


def table(rng, kinds, num_rows, num_bins, num_categories, has_missing):
    """Codes and the number of known codes of every feature."""
    num_values = np.where(np.array(kinds) == T, num_bins - 2, num_categories).astype(np.int32)
    codes = rng.integers(0, num_bins, (len(kinds), num_rows))
    most = num_values[:, None] if has_missing else num_values[:, None] - 1
    return np.minimum(codes, most).astype(np.uint16 if num_bins > 256 else np.uint8), num_values


def grown(
    uses_kernel, monkeypatch, *, kinds, num_rows=600, num_bins=64, num_categories=6, num_classes=2, num_outputs=1,
    of_numbers=False, criterion=criteria.gini, has_missing=True, missing=Missing.LEARN, weight="whole",
    counts_rows=False, is_apart=False, max_features=None, draws_thresholds=False, draws_ties=False, num_roots=1,
    max_depth=99, selection=Selection.GAIN, monotone=None,
):  # fmt: skip
    rng = np.random.default_rng(7)
    codes, num_values = table(rng, kinds, num_rows, num_bins, num_categories, has_missing)
    label = (
        (codes[0] > num_bins // 3).astype(np.int32) + (codes[6] % 3 == 1) + (rng.random(num_rows) < 0.1)
    ) % num_classes
    target = rng.normal(size=num_rows) + label if of_numbers else label
    target = np.exp(target) if criterion is criteria.poisson else target
    target = target if num_outputs == 1 else np.stack([target, target[::-1]])
    weights = {"whole": np.arange(num_rows, dtype=np.int32) % 3, "floats": rng.random(num_rows)}[weight]
    data = Data(codes, target, weights)
    if num_roots > 1:
        row = np.sort(rng.integers(0, num_rows, (num_roots, num_rows))).reshape(-1).astype(np.int32)
        data = Data(codes, target, row=row, root=np.repeat(np.arange(num_roots, dtype=np.int32), num_rows))
    code = np.arange(num_bins)
    features = Features(
        np.array(kinds, np.int32), num_values + has_missing, num_values,
        monotone=None if monotone is None else np.array(monotone, np.int32),
        first_apart=np.minimum(code + 2, num_values[:, None]).astype(np.int32) if is_apart else None,
        position=np.cumsum(rng.random((len(kinds), num_bins)), axis=1) if draws_thresholds else None,
    )  # fmt: skip
    number_criterion = criterion if criterion is criteria.poisson else criteria.squared_error
    rules = Rules(
        Numbers(number_criterion, num_outputs) if of_numbers else Classes(num_classes, criterion, num_outputs), missing,
        counts_rows=counts_rows, samples_features=max_features is not None, samples_thresholds=draws_thresholds,
        draws_ties=draws_ties, selection=selection,
    )  # fmt: skip
    limits = Limits(max_depth, min_samples_leaf=3, max_features=max_features or len(kinds))
    monkeypatch.setattr(prepare, "can_grow", native.can_grow if uses_kernel else lambda rules: False)
    with jax.enable_x64(True):
        sizes = Sizes(num_bins, capacity=2**15, num_roots=num_roots)
        growth = grow(data, features, limits, rules, sizes, key=jax.random.key(3))
    assert growth.complete and growth.tree.num_nodes > 60
    return growth.tree


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_tree_is_that_of_xla(name, monkeypatch):
    expected = grown(False, monkeypatch, **CASES[name])
    tree = grown(True, monkeypatch, **CASES[name])
    assert_same(tree, expected, is_contracted=name in CONTRACTED)


def assert_same(tree, expected, *, is_contracted=False):
    for field in dataclasses.fields(tree):
        own, other = getattr(tree, field.name), getattr(expected, field.name)
        if field.name in ("gain", "impurity") and is_contracted:
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12, err_msg=field.name)
        else:
            np.testing.assert_array_equal(own, other, err_msg=field.name)


@needs_kernel
@pytest.mark.slow
def test_several_targets_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    codes, targets = (
        rng.integers(0, 32, (4, 300)).astype(np.uint8),
        jnp.asarray(rng.integers(0, 2, (3, 300)), jnp.int32),
    )
    one = lambda target: grow(Data(codes, target), None, Limits(), Rules(Classes(2)), Sizes(32, 1024)).tree  # noqa: E731
    by_kernel = jax.vmap(one)(targets)
    monkeypatch.setattr(prepare, "can_grow", lambda rules: False)
    assert_same(by_kernel, jax.vmap(one)(targets))


@needs_kernel
def test_a_table_that_is_full_is_not_complete():
    codes = np.arange(64, dtype=np.uint8)[None]
    given = (Data(codes, np.arange(64, dtype=np.int32) % 2), None, Limits(), Rules(Classes(2)))
    assert not grow(*given, Sizes(64, capacity=126)).complete
    assert grow(*given, Sizes(64, capacity=127)).complete


class Halved(Classes):
    """An objective that inherits all but the risk."""

    def risk(self, sums, parent, units):
        return super().risk(sums, parent, units) / 2


def test_an_objective_derived_from_a_known_one_is_scored_by_itself():
    codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint8)
    data, sizes = Data(codes, np.array([0, 1, 1, 1])), Sizes(num_bins=2, capacity=8)
    gains = [grow(data, None, Limits(max_depth=1), Rules(kind(2)), sizes).tree.gain[0] for kind in (Classes, Halved)]
    assert gains[1] == gains[0] / 2 > 0


@pytest.mark.parametrize("code, label", [(200, 1), (1, 99), (1, -7)])
def test_unchecked_codes_and_classes_of_a_device_count_as_the_nearest(code, label):
    """On a device nothing checks them before growth; in C++ they would be written past the sums."""
    rng = np.random.default_rng(0)
    codes, target = rng.integers(0, 4, (3, 5000)).astype(np.uint8), rng.integers(0, 2, 5000).astype(np.int32)
    wrong_codes, wrong_target = codes.copy(), target.copy()
    wrong_codes[codes == 3], wrong_target[target == 1 if label > 0 else target == 0] = max(code, 3), label
    given = (None, Limits(), Rules(Classes(2)), Sizes(num_bins=4, capacity=256))
    expected = grow(Data(codes, target), *given).tree
    tree = grow(Data(jnp.asarray(wrong_codes), jnp.asarray(wrong_target)), *given).tree
    for name in ("feature", "code", "count"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)


# Whether the kernel is there


@needs_kernel
def test_the_kernel_is_in_use():
    resolved = ResolvedRules(*Rules(Classes(2)), *(False,) * 5)
    assert native.can_grow(resolved)


@pytest.fixture
def anew():
    """What has been found out about the kernel is forgotten, before and after."""
    native.is_available.cache_clear()
    yield
    native.is_available.cache_clear()


def test_it_can_be_switched_off(monkeypatch, anew):
    monkeypatch.setenv("JAXTREE_NATIVE", "0")
    assert not native.is_available()


def test_a_kernel_of_another_version_is_left_alone(monkeypatch, anew):
    package = types.SimpleNamespace(INTERFACE=native.INTERFACE + 1, LIBRARY="nowhere")
    monkeypatch.setitem(sys.modules, "jaxtree_native", package)
    assert not native.is_available()


def test_nothing_is_installed(monkeypatch, anew):
    monkeypatch.setitem(sys.modules, "jaxtree_native", None)
    assert not native.is_available()
