"""Results that must not change; see `fixed_results.py`, which has the cases and writes them anew."""

import dataclasses
import json

import numpy as np
import pytest

from jaxtree import DecisionTreeRegressor
from tests.fixed_results import CASES, EXACT, FILE, ROUNDED, is_as_expected, result_of, sums_of, table, target


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_result_is_as_it_was(name):
    expected, result = json.loads(FILE.read_text())[name], result_of(name)
    assert is_as_expected(name, result, expected), (result, expected)


def test_sums_see_every_field():
    tree = DecisionTreeRegressor(max_depth=2).fit(table("numbers"), target("numbers")).tree_
    before = sums_of(tree)
    for name in EXACT + ROUNDED:
        values = np.array(getattr(tree, name), copy=True)
        if values.size:
            values[0] += 1
            assert sums_of(dataclasses.replace(tree, **{name: values})) != before, name
