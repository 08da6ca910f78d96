"""The kernel grows trees of boosting node by node, and tells the leaves of rows; trees and leaves are those of XLA."""

import functools

import jax
import numpy as np
import pytest

from jaxtree.growth.inputs.newton import Newton, Penalties
from jaxtree.growth.loop import grow as growing
from jaxtree.growth.loop.prepare import prepare
from jaxtree.growth.native import engine_of
from jaxtree.kernels.choose import Engine
from tests.growth.native_trees import MIXED, THRESHOLDS, arguments, assert_same, choose_engine, needs_kernel
from tests.marks import are_exhaustive

ONE, THREE, EIGHT, SIXTEEN = (Newton(number, number, has_noise=True) for number in (1, 3, 8, 16))
THREE_OF_ONE = Newton(3, 1, has_noise=True)

CASES = {
    "thresholds": {"kinds": THRESHOLDS, "has_missing": False},
    "gaps": {"kinds": THRESHOLDS},
    "words": {"kinds": MIXED, "counts_rows": True},
    "few leaves": {"kinds": THRESHOLDS, "max_leaf_nodes": 9, "counts_rows": True},
    "few leaves, words and gaps": {"kinds": MIXED, "max_leaf_nodes": 20},
    "one leaf": {"kinds": THRESHOLDS, "max_leaf_nodes": 1},
    "depth": {"kinds": THRESHOLDS, "max_depth": 3},
    "no penalties": {"kinds": THRESHOLDS, "penalties": Penalties(0.0, 0.0)},
    "penalties": {"kinds": THRESHOLDS, "penalties": Penalties(3.0, 2.5), "max_leaf_nodes": 30},
    "a penalty above all sums": {"kinds": THRESHOLDS, "penalties": Penalties(1e9, 0.0), "max_leaf_nodes": 9},
    "a penalty that is not screened": {"kinds": THRESHOLDS, "penalties": Penalties(1e15, 0.0), "max_leaf_nodes": 9},
    "bounded steps": {"kinds": THRESHOLDS, "penalties": Penalties(1.0, 0.0, 0.3)},
    "sampled features": {"kinds": MIXED, "max_features": 3},
    "features of levels": {"kinds": THRESHOLDS, "level_features": 3},
    "ties": {"kinds": THRESHOLDS, "draws_ties": True, "num_bins": 4},
    "constraints": {"kinds": THRESHOLDS, "monotone": (1, -1, 0, 1, 0, 0, -1, 0)},
    "interactions": {"kinds": THRESHOLDS, "sets": ((0, 1, 2), (2, 3, 4, 5), (6, 7))},
    "not any neighbours": {"kinds": THRESHOLDS, "is_apart": True, "has_missing": False},
    "rare codes": {"kinds": THRESHOLDS, "num_rare": 5, "num_rows": 4_000, "max_leaf_nodes": 40},
    "only rare codes": {"kinds": THRESHOLDS, "num_rare": 8, "num_rows": 4_000, "max_leaf_nodes": 20},
    "all bytes": {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 4_000, "max_leaf_nodes": 40},
    "threads": {"kinds": MIXED, "num_rows": 80_000, "max_leaf_nodes": 40, "num_rare": 1},
    "three scores": {"kinds": MIXED, "newton": THREE, "counts_rows": True},
    "three, few leaves": {"kinds": THRESHOLDS, "newton": THREE, "max_leaf_nodes": 15, "num_rare": 4, "num_rows": 4_000},
    "three scores, no penalties": {"kinds": THRESHOLDS, "newton": THREE, "penalties": Penalties(0.0, 0.0)},
    "three scores of one curvature": {"kinds": THRESHOLDS, "newton": THREE_OF_ONE, "max_leaf_nodes": 20},
    "eight scores": {"kinds": THRESHOLDS, "newton": EIGHT, "max_leaf_nodes": 20},
    "sixteen scores": {"kinds": THRESHOLDS, "newton": SIXTEEN, "max_leaf_nodes": 20},
}  # fmt: skip

COMBINED = ("three scores, no penalties", "few leaves, words and gaps", "three, few leaves")
"""Cases of two others together."""


@functools.partial(jax.jit, static_argnames="plan")
def grow_with_leaves(prepared, *, plan):
    """One program for all cases of a plan."""
    return growing.grow_with_leaves(prepared, plan=plan)


def grown(uses_kernel, monkeypatch, **case):
    choose_engine(uses_kernel, monkeypatch)
    data, features, limits, rules, sizes = arguments(**{"newton": ONE, **case})
    with jax.enable_x64(True):
        engine = engine_of(rules, "cpu", on_host=False)
        assert engine is (Engine.PROGRAM if uses_kernel else Engine.XLA)
        given = {"engine": engine, "mesh": None}
        plan, prepared = prepare(data, features, limits, rules, sizes, np.array([11], np.uint32), **given)
        growth, leaf = grow_with_leaves(prepared, plan=plan)
        return growth, np.asarray(leaf)


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, *COMBINED))
def test_trees_and_leaves_are_those_of_xla(name, monkeypatch):
    growth, leaf = grown(True, monkeypatch, **CASES[name])
    expected, ends = grown(False, monkeypatch, **CASES[name])
    assert growth.complete and expected.complete
    # With several terms XLA contracts products and sums.
    has_terms = CASES[name].get("newton", ONE) != ONE or any(CASES[name].get("penalties", ())[1:2])
    assert_same(growth.tree, expected.tree, is_contracted=has_terms)
    np.testing.assert_array_equal(leaf, ends)
