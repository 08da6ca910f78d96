"""The kernel in C++ grows the trees of XLA's programs: every rule of choosing a split."""

import pytest

from jaxtree import criteria
from jaxtree.growth import Missing, Selection
from tests.growth.native_trees import BRANCHES, IN_ROW_ORDER, MIXED, THRESHOLDS, assert_that_of_xla, needs_kernel
from tests.marks import are_exhaustive

RATIO = {"kinds": BRANCHES, "selection": Selection.GAIN_RATIO}
CASES = {
    "nothing missing": {"kinds": MIXED, "has_missing": False},
    "missing last": {"kinds": MIXED, "missing": Missing.BRANCH},
    "values too close": {"kinds": MIXED, "is_apart": True},
    "drawn features": {"kinds": MIXED, "max_features": 3},
    "drawn thresholds": {"kinds": MIXED, "draws_thresholds": True},
    "drawn features and thresholds": {"kinds": THRESHOLDS, "max_features": 3, "draws_thresholds": True},
    "drawn thresholds, missing last": {"kinds": THRESHOLDS, "draws_thresholds": True, "missing": Missing.BRANCH},
    "drawn ties": {"kinds": MIXED, "draws_ties": True},
    "drawn ties in row order": {**IN_ROW_ORDER, "draws_ties": True},
    "drawn features in row order": {**IN_ROW_ORDER, "max_features": 3},
    "few drawn features of many rows": {**IN_ROW_ORDER, "max_features": 1},
    "drawn features and ties": {"kinds": THRESHOLDS, "max_features": 3, "draws_ties": True},
    "multiway": {"kinds": BRANCHES, "num_classes": 3},
    "multiway, missing last": {"kinds": BRANCHES, "missing": Missing.BRANCH},
    "multiway, numbers": {"kinds": BRANCHES, "of_numbers": True},
    "multiway, drawn features, many rows": {"kinds": BRANCHES, "num_rows": 40_000, "max_features": 3, "max_depth": 5},
    "multiway in row order": {"kinds": BRANCHES, "num_rows": 20_000, "max_depth": 4},
    "gain ratio": {**RATIO, "num_classes": 3},
    "gain ratio, entropy, rows counted": {**RATIO, "criterion": criteria.entropy, "counts_rows": True},
    "gain ratio, nothing missing, shared if it were": {**RATIO, "has_missing": False, "missing": Missing.FRACTION},
    "gain ratio, missing last": {**RATIO, "missing": Missing.BRANCH},
    "C4.5 by gain": {
        **RATIO,
        "num_classes": 3,
        "selection": Selection.INFORMATION,
        "weight": "floats",
        "num_rows": 4000,
    },
    "monotone": {"kinds": MIXED, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "monotone numbers in row order": {**IN_ROW_ORDER, "of_numbers": True, "monotone": (1, -1) * 4},
    "many trees": {"kinds": THRESHOLDS, "max_features": 3, "num_roots": 5},
}

COMBINED = (
    "drawn features and thresholds",
    "drawn thresholds, missing last",
    "drawn features and ties",
    "few drawn features of many rows",
    "drawn ties in row order",
    "drawn features in row order",
    "multiway, missing last",
    "gain ratio, nothing missing, shared if it were",
    "gain ratio, missing last",
    "gain ratio, entropy, rows counted",
    "monotone numbers in row order",
)
"""Cases of two others together."""

CONTRACTED = (
    "multiway, numbers",
    "multiway, drawn features, many rows",
    "gain ratio",
    "gain ratio, entropy, rows counted",
    "C4.5 by gain",
)
"""Here the gains of XLA's programs differ in the last bits, as XLA contracts products and sums or not."""


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, *COMBINED))
def test_the_tree_is_that_of_xla(name, monkeypatch):
    assert_that_of_xla(CASES[name], monkeypatch, is_contracted=name in CONTRACTED)
