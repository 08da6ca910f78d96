"""The kernel in C++ grows the trees of XLA's programs by linear moments."""

import pytest

from jaxtree.growth import Missing
from jaxtree.growth.inputs.bundles import Rules
from jaxtree.growth.inputs.moments import LinearMoments, MomentLimits
from jaxtree.growth.native import MOST_ARMS, engine_of
from jaxtree.kernels.choose import Engine
from tests.growth.native_trees import BRANCHES, IN_ROW_ORDER, MIXED, THRESHOLDS, assert_that_of_xla, needs_kernel

MEANS, ONE, TWO, THREE = (LinearMoments(num_arms=arms) for arms in range(4))
INSTRUMENTS = LinearMoments(num_arms=2, has_instruments=True)
LIMITS = MomentLimits(alpha=0.1, imbalance_penalty=0.5, arm_rows=4, rows=11)
CASES = {
    "means": {"moments": MEANS, "counts_rows": True},
    "several outcomes": {"moments": LinearMoments(num_outcomes=2), "moment_limits": LIMITS},
    "one arm": {"moments": ONE, "kinds": THRESHOLDS, "has_missing": False},
    "one arm, limits": {"moments": ONE, "moment_limits": LIMITS, "counts_rows": True},
    "one arm, not stabilised": {"moments": LinearMoments(num_arms=1, is_stabilised=False), "moment_limits": LIMITS},
    "two arms": {"moments": TWO, "weight": "floats"},
    "three arms": {"moments": THREE, "counts_rows": True, "max_features": 3},
    "instruments": {"moments": INSTRUMENTS, "kinds": THRESHOLDS, "has_missing": False},
    "one instrument": {"moments": LinearMoments(num_arms=1, has_instruments=True), "missing": Missing.BRANCH},
    "not stabilised, instruments": {"moments": LinearMoments(2, has_instruments=True, is_stabilised=False)},
    "shared rows": {"moments": ONE, "missing": Missing.FRACTION, "counts_rows": True},
    "all branches": {"moments": ONE, "kinds": BRANCHES},
    "monotone": {"moments": TWO, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "drawn thresholds": {"moments": ONE, "kinds": THRESHOLDS, "draws_thresholds": True, "draws_ties": True},
    "best first, many trees": {"moments": ONE, "max_leaf_nodes": 20, "num_roots": 3},
    "many categories": {"moments": TWO, "num_categories": 30, "num_rows": 1200},
    "in row order": {**IN_ROW_ORDER, "moments": ONE, "num_rare": 2, "max_depth": 9},
    "in row order, nothing missing": {**IN_ROW_ORDER, "moments": INSTRUMENTS, "has_missing": False, "max_depth": 9},
}


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_tree_is_that_of_xla(name, monkeypatch):
    case = {"kinds": MIXED, "num_rows": 1500} | CASES[name]
    assert_that_of_xla(case, monkeypatch, is_contracted=True)


@needs_kernel
def test_the_kernel_grows_on_the_host_unless_there_are_too_many_treatments():
    assert engine_of(Rules(LinearMoments(MOST_ARMS)), "cpu", on_host=True) is Engine.HOST
    assert engine_of(Rules(LinearMoments(MOST_ARMS + 1)), "cpu", on_host=True) is Engine.XLA
