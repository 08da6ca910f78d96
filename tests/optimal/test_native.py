"""The kernel in C++ and products of matrices find the same costs, whole number by whole number."""

import numpy as np
import pytest

from jaxtree.kernels import choose
from jaxtree.kernels.choose import Engine, Engines
from jaxtree.optimal.exact import SplitTable
from jaxtree.optimal.indicators import make_indicators
from tests.optimal.tables import CASES, case_of, indicators_of


@pytest.fixture(autouse=True)
def _with_kernel():
    if not choose.is_there():
        pytest.skip("the kernel is not installed")


def assert_same(indicators, made, is_member):
    by_kernel, by_products = (SplitTable(indicators, made, Engines(own, "cpu")) for own in (Engine.HOST, Engine.XLA))
    for depth in (1, 2, 3):
        np.testing.assert_array_equal(by_kernel.sides(is_member, depth), by_products.sides(is_member, depth))


@pytest.mark.parametrize("name", CASES)
def test_every_cost_is_the_same(name):
    codes, _, _, made = case_of(name, seed=11)
    is_member = np.random.default_rng(0).random(codes.shape[1]) < 0.8
    assert_same(indicators_of(codes), made, is_member)


def test_rows_as_bits_give_the_same_costs():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (16, 24)).astype(np.uint8)
    _, _, _, made = case_of("errors", seed=4)
    indicators = make_indicators(codes, np.full(16, 2, np.int32), np.arange(16) % 3 == 0, [np.arange(2)] * 16)
    assert_same(indicators, made, rng.random(24) < 0.8)
