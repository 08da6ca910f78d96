"""The kernel in C++ that grows trees: whether it is there, and what is unlike other growth."""

import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth import Classes, Data, Limits, Rules, Sizes, grow
from jaxtree.growth.loop.grow import grow_checked
from jaxtree.growth.native import engine_of
from jaxtree.kernels import choose, library
from tests.growth.native_trees import assert_same, needs_kernel


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
    monkeypatch.setattr(choose, "is_there", lambda: False)
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
def test_unchecked_codes_and_classes_count_as_the_nearest(code, label):
    """Under a trace nothing checks them before growth; in C++ they would be written past the sums."""
    rng = np.random.default_rng(0)
    codes, target = rng.integers(0, 4, (3, 5000)).astype(np.uint8), rng.integers(0, 2, 5000).astype(np.int32)
    wrong_codes, wrong_target = codes.copy(), target.copy()
    wrong_codes[codes == 3], wrong_target[target == 1 if label > 0 else target == 0] = max(code, 3), label
    given = (None, Limits(), Rules(Classes(2)), Sizes(num_bins=4, capacity=256))
    expected = grow(Data(codes, target), *given).tree
    tree = grow_checked(Data(jnp.asarray(wrong_codes), jnp.asarray(wrong_target)), *given, np.zeros(1, np.uint32)).tree
    for name in ("feature", "code", "count"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)


# Whether the kernel is there


@needs_kernel
def test_the_kernel_is_in_use():
    assert engine_of(Rules(Classes(2)), "cpu", on_host=True) is choose.Engine.HOST


@pytest.fixture
def anew():
    """The findings about the kernel are forgotten, before and after."""
    found = (library.load, choose.is_there)
    for function in found:
        function.cache_clear()
    yield
    for function in found:
        function.cache_clear()


def test_it_can_be_switched_off(monkeypatch, anew):
    monkeypatch.setenv("JAXTREE_NATIVE", "0")
    assert not choose.is_there()


def test_a_kernel_of_another_version_is_left_alone(monkeypatch, anew):
    package = types.SimpleNamespace(INTERFACE=library.INTERFACE + 1, LIBRARY="nowhere")
    monkeypatch.setitem(sys.modules, "jaxtree_native", package)
    assert not choose.is_there()


def test_nothing_is_installed(monkeypatch, anew):
    monkeypatch.setitem(sys.modules, "jaxtree_native", None)
    assert not choose.is_there()
