"""Features of equal gain: the lowest wins, or each has its chance, however growth goes about it."""

import dataclasses

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from scipy.stats import chisquare

from jaxtree.growth import Classes, Data, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends
from jaxtree.kernels import choose
from tests.growth.native_trees import choose_engine
from tests.growth.test_backends import with_costs

NUM_FEATURES, NUM_ROWS, NUM_ROOTS = 5, 500, 3
WAYS = {"histograms": 32, "scans": 512}
"""How XLA's programs score nodes, by the number of bins."""
BACKENDS = {
    "XLA": backends.CPU,
    "small chunks": with_costs(backends.CPU, bytes_per_table=2**10, bytes_per_block=2**9),
    "GPU": with_costs(backends.GPU, bytes_per_table=2**14),
    "TPU": with_costs(backends.TPU, bytes_per_table=2**14),
}
NEEDS_KERNEL = pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")


def use(name, monkeypatch):
    """Lets trees be grown by the kernel in C++, or by the programs of one of the backends."""
    if name == "C++":
        return
    choose_engine(False, monkeypatch)
    monkeypatch.setattr(prepare, "backend_of", lambda *_: BACKENDS[name])


def grown(rules, num_bins=64, *, same=True, target=None, order=slice(None), **given):
    """Trees on the columns of a table, which are all the same or all different; `order` moves the rows."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, num_bins, (1 if same else NUM_FEATURES, NUM_ROWS))
    codes = np.broadcast_to(values, (NUM_FEATURES, NUM_ROWS)).astype(np.uint16)
    target = rng.integers(0, 2, NUM_ROWS).astype(np.int32) if target is None else target
    row = np.tile(np.arange(NUM_ROWS, dtype=np.int32), NUM_ROOTS)
    data = Data(codes[:, order], target[order], row=row, root=np.repeat(np.arange(NUM_ROOTS, dtype=np.int32), NUM_ROWS))
    if "mesh" in given:
        data = data._replace(row=None, root=None)
    sizes = Sizes(num_bins, capacity=2**12, num_roots=1 if "mesh" in given else NUM_ROOTS)
    growth = grow(data, None, given.pop("limits", Limits()), rules, sizes, key=jax.random.key(1), **given)
    assert growth.complete and growth.tree.num_nodes > 60
    return growth.tree


def splits_of(tree):
    return np.asarray(tree.feature)[: int(tree.num_nodes)][~np.asarray(tree.is_leaf)[: int(tree.num_nodes)]]


def assert_same(tree, expected):
    for field in dataclasses.fields(tree):
        if field.name not in ("gain", "impurity"):
            one, other = getattr(tree, field.name), getattr(expected, field.name)
            np.testing.assert_array_equal(one, other, err_msg=field.name)


RANDOM = Rules(Classes(2), draws_ties=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_of_equal_columns_each_has_its_chance(way, monkeypatch):
    use("XLA", monkeypatch)
    chosen = np.bincount(splits_of(grown(RANDOM, WAYS[way])), minlength=NUM_FEATURES)
    assert chosen.sum() > 90 and chisquare(chosen).pvalue > 1e-3
    assert not splits_of(grown(Rules(Classes(2)), WAYS[way])).any()


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("C++", marks=NEEDS_KERNEL),
        "small chunks",
        pytest.param("GPU", marks=pytest.mark.slow),
        pytest.param("TPU", marks=pytest.mark.slow),
    ],
)
def test_a_tie_is_decided_alike_on_all_devices(backend, same, monkeypatch):
    use("XLA", monkeypatch)
    expected = grown(RANDOM, same=same)
    use(backend, monkeypatch)
    assert_same(grown(RANDOM, same=same), expected)


EITHER_QUICKLY = [pytest.param("XLA", marks=pytest.mark.slow), pytest.param("C++", marks=NEEDS_KERNEL)]


@pytest.fixture(params=["XLA", pytest.param("C++", marks=NEEDS_KERNEL)])
def either(request, monkeypatch):
    """XLA's programs, and the kernel."""
    use(request.param, monkeypatch)


@pytest.mark.usefixtures("either")
def test_the_order_of_rows_decides_nothing():
    order = np.random.default_rng(1).permutation(NUM_ROWS)
    assert_same(grown(RANDOM, order=order), grown(RANDOM))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("either", EITHER_QUICKLY, indirect=True)
def test_without_ties_the_tree_is_the_same():
    rules = Rules(Numbers()), Rules(Numbers(), draws_ties=True)
    number = np.random.default_rng(2).normal(size=NUM_ROWS)
    limits = Limits(min_samples_leaf=12)
    first, random = (grown(own, same=False, target=number, limits=limits) for own in rules)
    assert_same(first, random)


@pytest.mark.slow
def test_the_division_of_rows_among_devices_decides_nothing():
    one, four = (Mesh(np.array(jax.devices()[:number]), ("rows",)) for number in (1, 4))
    assert_same(grown(RANDOM, same=False, mesh=four), grown(RANDOM, same=False, mesh=one))


def test_trees_of_other_roots_draw_otherwise():
    tree = grown(RANDOM)
    roots = [np.asarray(tree.feature)[np.asarray(tree.root) == root][:60].tolist() for root in range(NUM_ROOTS)]
    assert roots[0] != roots[1] != roots[2]
