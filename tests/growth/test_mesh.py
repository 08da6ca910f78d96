"""Rows divided among devices: the tree is that of one device, bit for bit."""

import dataclasses
from types import SimpleNamespace
from unittest import mock

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxtree
from jaxtree.criteria import entropy
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, grow
from jaxtree.tree import SplitKind

NUM_ROWS, NUM_FEATURES, NUM_BINS = 2048, 8, 40


def mesh_of(num_devices):
    return Mesh(np.array(jax.devices()[:num_devices]), ("any name",))


def assert_same(one, other):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(np.asarray(a), np.asarray(b)), field.name


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, NUM_BINS, (NUM_FEATURES, NUM_ROWS)).astype(np.uint8)
    label = ((codes[0] > 20) ^ (codes[1] > 10) ^ (rng.random(NUM_ROWS) < 0.1)).astype(np.int32)
    return codes, label, rng


SIZES = Sizes(num_bins=64, capacity=4096)
OF_CLASSES = (None, Limits(), Rules(Classes(2)), SIZES)


@pytest.fixture(scope="module")
def whole_tree(table):
    codes, label, _ = table
    tree, complete = grow(Data(codes, label), *OF_CLASSES)
    assert complete and tree.num_nodes > 300
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [2, 4])
def test_classes(table, whole_tree, num_devices):
    codes, label, _ = table
    assert_same(whole_tree, grow(Data(codes, label), *OF_CLASSES, mesh=mesh_of(num_devices)).tree)


@pytest.mark.slow
def test_devices_that_do_not_divide_the_rows(table, whole_tree):
    codes, label, _ = table
    assert_same(whole_tree, grow(Data(codes, label), *OF_CLASSES, mesh=mesh_of(3)).tree)


@pytest.mark.slow
def test_rows_that_lie_on_the_devices_already(table, whole_tree):
    codes, label, _ = table
    mesh = mesh_of(2)
    put = lambda values, spec: jax.device_put(values, NamedSharding(mesh, spec))  # noqa: E731
    there = put(codes, PartitionSpec(None, "any name")), put(label, PartitionSpec("any name"))
    assert_same(whole_tree, grow(Data(*there), *OF_CLASSES, mesh=mesh).tree)


@pytest.mark.slow
def test_a_device_without_rows(table):
    """All rows of positive weight may lie on one device: on the others a root has no entries."""
    codes, label, _ = table
    weight = (np.arange(NUM_ROWS) < 300).astype(np.int32)
    data = Data(codes, label, weight)
    assert_same(grow(data, *OF_CLASSES).tree, grow(data, *OF_CLASSES, mesh=mesh_of(4)).tree)


@pytest.mark.slow
def test_numbers_with_weights_and_several_trees(table):
    codes, _, rng = table
    target = codes[2] * 0.1 + codes[3] * (codes[1] > 20) + rng.normal(size=NUM_ROWS)
    weight = rng.exponential(size=NUM_ROWS)
    root = np.arange(NUM_ROWS, dtype=np.int32) * 3 // NUM_ROWS
    limits = Limits(max_depth=np.array([3, 5, 40]), min_samples_leaf=4.0)
    given = (Data(codes, target, weight, root=root), None, limits, Rules(Numbers()), SIZES._replace(num_roots=3))
    assert_same(grow(*given).tree, grow(*given, mesh=mesh_of(4)).tree)


def mixed_features():
    kinds = np.array([SplitKind.THRESHOLD] * 4 + [SplitKind.SUBSET] * 2 + [SplitKind.MULTIWAY] * 2, np.int32)
    values = np.where(kinds == SplitKind.THRESHOLD, NUM_BINS - 1, 7).astype(np.int32)
    return Features(kinds, values + 1, values)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [Missing.LEARN, Missing.FRACTION])
def test_all_kinds_of_splits_with_missing_values(table, missing):
    """A value is missing on one device only; where it is shared out, all devices count the shares."""
    codes, label, _ = table
    features = mixed_features()
    codes = np.minimum(codes, features.num_values[:, None] - 1).astype(np.uint8)
    codes[:, :40] = np.where(codes[:, :40] % 5 == 0, features.num_values[:, None], codes[:, :40])
    rules, sizes = Rules(Classes(2, entropy), missing=missing), SIZES._replace(entry_capacity=8 * NUM_ROWS)
    given = (Data(codes, label), features, Limits(max_depth=4), rules, sizes)
    one, many = grow(*given), grow(*given, mesh=mesh_of(2))
    assert one.complete and many.complete
    assert_same(one.tree, many.tree)


@pytest.mark.slow
def test_drawn_features(table):
    codes, label, _ = table
    rules, key = Rules(Classes(2), samples_features=True), jax.random.key(7)
    given = (Data(codes, label), None, Limits(max_features=2, max_depth=6), rules, SIZES)
    assert_same(grow(*given, key=key).tree, grow(*given, key=key, mesh=mesh_of(2)).tree)


@pytest.mark.slow
def test_a_full_table_is_full_on_all_devices(table):
    codes, label, _ = table
    assert not grow(Data(codes, label), *OF_CLASSES[:3], SIZES._replace(capacity=64), mesh=mesh_of(2)).complete


class TestBadInput:
    def test_no_mesh(self):
        with pytest.raises(InvalidTypeError, match=r"must be a jax.sharding.Mesh or None, got 'gpu'"):
            jaxtree.DecisionTreeClassifier().fit([[0], [1]], [0, 1], mesh="gpu")

    def test_a_mesh_of_two_axes(self, table):
        codes, label, _ = table
        mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("a", "b"))
        with pytest.raises(InvalidInputError, match=r"one axis, got \{'a': 2, 'b': 2\}"):
            grow(Data(codes, label), *OF_CLASSES, mesh=mesh)

    def test_devices_of_two_kinds(self, table):
        codes, label, _ = table
        two_kinds = mock.Mock(spec=Mesh)
        two_kinds.devices = np.array([SimpleNamespace(device_kind=kind) for kind in ("cpu", "NVIDIA H200")])
        with pytest.raises(InvalidInputError, match="one kind, got NVIDIA H200, cpu"):
            grow(Data(codes, label), *OF_CLASSES, mesh=two_kinds)

    def test_entries_of_rows_elsewhere(self, table):
        codes, label, _ = table
        with pytest.raises(InvalidInputError, match="row cannot be given with a mesh"):
            grow(Data(codes, label, row=np.arange(NUM_ROWS)), *OF_CLASSES, mesh=mesh_of(2))

    def test_arrays_on_devices_that_do_not_divide_them(self, table):
        codes, label, _ = table
        with pytest.raises(InvalidInputError, match=r"multiple of 3 rows, .* got 2048"):
            grow(Data(jax.numpy.asarray(codes), jax.numpy.asarray(label)), *OF_CLASSES, mesh=mesh_of(3))
