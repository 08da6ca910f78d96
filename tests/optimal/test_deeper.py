import math
import time

import numpy as np
import pytest

from jaxtree.errors import InterruptedFitWarning
from jaxtree.optimal.deeper import DeepSearch
from jaxtree.optimal.exact import count_leaves
from jaxtree.optimal.search import penalty_in_units
from tests.optimal.tables import CASES, IS_CATEGORICAL, NUM_VALUES, case_of, table_of
from tests.optimal.test_exact import leaf_costs
from tests.reference.optimal_oracle import all_splits, best_costs


def search(table, penalty=0.0, limit=math.inf, depth=4, report=None):
    return DeepSearch(table, penalty, time.monotonic() + limit, report).run(depth)


@pytest.mark.parametrize("name", ["errors", "loss_weighted", "gini", "squared_error"])
def test_no_tree_of_four_levels_is_better(name):
    criterion, loss, _, least_rows = CASES[name]
    codes, target, weight, made = case_of(name, seed=21)
    weight = np.ones(codes.shape[1]) if weight is None else weight
    splits = all_splits(codes, NUM_VALUES, IS_CATEGORICAL)
    loss = 1 - np.eye(3) if loss is None else loss
    costs = best_costs(splits, target, weight, 4, criterion=criterion, loss=loss, least_rows=least_rows)
    table, everyone = table_of(codes, made), np.ones(codes.shape[1], bool)
    for penalty in (0.0, 0.5):
        tree, route = search(table, penalty_in_units(penalty, made))
        expected = min(cost + penalty * leaves for leaves, cost in enumerate(costs, 1))
        found = made.moment.sum() + made.units.cost * route.value
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert leaf_costs(table, tree, everyone) + penalty_in_units(penalty, made) * count_leaves(tree) == route.value
        if name == "errors":
            assert route.lower == route.value


def test_bounds_never_cross_and_only_close():
    codes, _, _, made = case_of("errors", seed=22)
    seen = []
    _, route = search(table_of(codes, made), depth=5, report=lambda value, lower: seen.append((value, lower)))
    values = [value for value, _ in seen]
    assert all(lower <= route.value <= value for value, lower in seen)
    assert values == sorted(values, reverse=True)


def test_an_interrupt_keeps_the_best_tree():
    codes, _, _, made = case_of("errors", seed=23)

    def interrupt(value, lower):
        raise KeyboardInterrupt

    table, everyone = table_of(codes, made), np.ones(codes.shape[1], bool)
    with pytest.warns(InterruptedFitWarning, match="keeps the best tree so far"):
        tree, route = search(table, report=interrupt)
    assert leaf_costs(table, tree, everyone) == route.value >= route.lower
