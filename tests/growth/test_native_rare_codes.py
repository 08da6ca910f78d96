"""The kernel sums only the rare codes of a feature of which nearly all rows have one code; the tree is that of XLA."""

import pytest

from jaxtree.growth.newton import Newton, Penalties
from tests.growth.native_trees import MIXED, THRESHOLDS, assert_that_of_xla, needs_kernel

CASES = {
    "classes": {"kinds": MIXED, "num_classes": 3, "num_rare": 5},
    "numbers": {"kinds": MIXED, "of_numbers": True, "num_rare": 5},
    "several numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2, "num_rare": 5},
    "rows counted": {"kinds": THRESHOLDS, "of_numbers": True, "counts_rows": True, "num_rare": 5},
    "every feature": {"kinds": THRESHOLDS, "num_rare": 8},
    "newton": {"kinds": THRESHOLDS, "newton": Newton(), "penalties": Penalties(), "num_rare": 7},
    "newton, rows counted": {
        "kinds": MIXED,
        "newton": Newton(),
        "penalties": Penalties(),
        "counts_rows": True,
        "num_rare": 5,
    },
    "newton, several scores": {"kinds": MIXED, "newton": Newton(3, 3), "penalties": Penalties(), "num_rare": 5},
    "newton, wide sums": {
        "kinds": THRESHOLDS,
        "newton": Newton(needs_wide_sums=True),
        "penalties": Penalties(),
        "num_rare": 5,
    },
    "newton, best first": {
        "kinds": THRESHOLDS,
        "newton": Newton(),
        "penalties": Penalties(),
        "num_rare": 5,
        "max_leaf_nodes": 9,
    },
}
CONTRACTED = ("newton, several scores", "several numbers")


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_tree_is_that_of_xla(name, monkeypatch):
    assert_that_of_xla({"num_rows": 20_000, **CASES[name]}, monkeypatch, is_contracted=name in CONTRACTED)
