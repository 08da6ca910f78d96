"""The kernel in C++ grows the trees of XLA's programs: every target, criterion and weight, few rows and many."""

import pytest

from jaxtree import criteria
from jaxtree.growth.inputs.newton import Newton, Penalties
from tests.growth.native_trees import IN_ROW_ORDER, MIXED, THRESHOLDS, assert_that_of_xla, needs_kernel
from tests.marks import are_exhaustive

NEWTON = {"kinds": MIXED, "num_rows": 2000, "newton": Newton()}
WHOLE = {"kinds": THRESHOLDS, "num_rows": 2000, "has_missing": False}
CASES = {
    "classes": {"kinds": MIXED},
    "three classes, every subset": {"kinds": MIXED, "num_classes": 3},
    "three classes, orders of many categories": {"kinds": MIXED, "num_classes": 3, "num_categories": 20},
    "twelve classes": {"kinds": MIXED, "num_classes": 12},
    "several targets": {"kinds": MIXED, "num_classes": 3, "num_outputs": 2},
    "entropy": {"kinds": MIXED, "num_classes": 3, "criterion": criteria.entropy},
    "errors": {"kinds": MIXED, "criterion": criteria.misclassification},
    "weights of floats": {"kinds": MIXED, "weight": "floats", "num_classes": 3},
    "rows counted": {"kinds": MIXED, "counts_rows": True},
    "numbers": {"kinds": MIXED, "of_numbers": True},
    "numbers, rows counted": {"kinds": MIXED, "of_numbers": True, "counts_rows": True},
    "numbers, weights of floats": {"kinds": MIXED, "of_numbers": True, "weight": "floats"},
    "several numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2},
    "many codes": {"kinds": THRESHOLDS, "num_bins": 1024, "num_rows": 3000},
    "row order, then sorted": IN_ROW_ORDER,
    "nodes cut among threads": {**IN_ROW_ORDER, "num_rows": 70_000, "num_classes": 9},
    "numbers in row order": {**IN_ROW_ORDER, "of_numbers": True},
    "newton": NEWTON,
    "newton, penalties": {**NEWTON, "newton": Newton(has_noise=True), "penalties": Penalties(0.5, 1.5, 2.0)},
    "newton, wide sums": {**NEWTON, "newton": Newton(needs_wide_sums=True)},
    "newton, drawn scores": {**NEWTON, "score_noise": 2.0},
    "newton, drawn scores in row order": {
        **IN_ROW_ORDER,
        "max_features": 5,
        "newton": Newton(2, 2),
        "score_noise": 4.0,
    },
    "newton, several scores": {**NEWTON, "newton": Newton(3, 3)},
    "newton, one curvature": {**NEWTON, "newton": Newton(3), "penalties": Penalties(l1=1.0)},
    "newton, rows counted": {**NEWTON, "counts_rows": True},
    "newton, nothing missing": {
        **WHOLE,
        "newton": Newton(3, 3),
        "penalties": Penalties(0.0, 0.5, 1.5),
        "counts_rows": True,
    },
    "newton, nothing missing, wide sums": {**WHOLE, "newton": Newton(needs_wide_sums=True)},
    "newton, nothing missing, in row order": {
        **IN_ROW_ORDER,
        "newton": Newton(has_noise=True),
        "has_missing": False,
        "counts_rows": True,
    },
    "newton in row order": {**IN_ROW_ORDER, "newton": Newton(has_noise=True), "monotone": (1, 0) * 4},
    "poisson": {"kinds": MIXED, "of_numbers": True, "criterion": criteria.poisson},
    "poisson, several": {"kinds": MIXED, "of_numbers": True, "criterion": criteria.poisson, "num_outputs": 2},
}

COMBINED = (
    "newton, nothing missing, wide sums",
    "newton, rows counted",
    "numbers, weights of floats",
    "numbers, rows counted",
    "numbers in row order",
    "newton in row order",
    "newton, nothing missing",
    "poisson, several",
)
"""Cases of two others together."""

CONTRACTED = (
    "newton, penalties",
    "newton, one curvature",
    "newton, several scores",
    "newton, nothing missing",
    "entropy",
    "weights of floats",
    "numbers, weights of floats",
    "several numbers",
    "many codes",
    "poisson",
    "poisson, several",
)
"""Here the gains of XLA's programs differ in the last bits, as XLA contracts products and sums or not."""


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, *COMBINED))
def test_the_tree_is_that_of_xla(name, monkeypatch):
    assert_that_of_xla(CASES[name], monkeypatch, is_contracted=name in CONTRACTED)
