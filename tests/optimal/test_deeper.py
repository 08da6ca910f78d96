import math
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtree.errors import InterruptedFitWarning
from jaxtree.optimal.costs import cost_of_classes
from jaxtree.optimal.deeper import DeepSearch
from jaxtree.optimal.exact import count_leaves
from jaxtree.optimal.nodes import CodedTable
from jaxtree.optimal.search import SearchLimits, find_trees, penalty_in_units
from tests.optimal.tables import CASES, IS_CATEGORICAL, NUM_VALUES, case_of, table_of
from tests.optimal.test_exact import leaf_costs
from tests.reference.optimal_oracle import all_splits, best_costs


def search(table, penalty=0.0, limit=math.inf, depth=4, report=None):
    return DeepSearch(table, penalty, time.monotonic() + limit, report).run(depth)


@pytest.mark.parametrize("name", ["errors", "loss_weighted", "gini", "squared_error", "regret"])
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
        found = made.moment.sum() + made.unit * route.value
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert leaf_costs(table, tree, everyone) + penalty_in_units(penalty, made) * count_leaves(tree) == route.value
        if name in ("errors", "regret"):
            assert route.lower == route.value


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.integers(0, 99),
    st.sampled_from(["errors", "loss_weighted", "gini", "squared_error", "regret"]),
    st.sampled_from([4, 5]),
    st.sampled_from([0.0, 0.5]),
    st.one_of(st.none(), st.integers(1, 6)),
    st.sampled_from([0.0, 0.02, math.inf]),
)
def test_bounds_never_cross_and_only_close(seed, name, depth, penalty, interrupted_at, limit):
    codes, _, _, made = case_of(name, seed=seed)
    seen = []

    def report(value, lower):
        seen.append((value, lower))
        if len(seen) == interrupted_at:
            raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedFitWarning)
        _, route = search(table_of(codes, made), penalty_in_units(penalty, made), limit, depth, report)
    values, lowers = (list(bounds) for bounds in zip(*seen, (route.value, route.lower), strict=True))
    assert values == sorted(values, reverse=True)
    assert lowers == sorted(lowers)
    assert lowers[-1] <= values[-1]
    _, best = search(table_of(codes, made), penalty_in_units(penalty, made), depth=depth)
    assert route.lower <= best.value <= route.value


def test_an_interrupt_keeps_the_best_tree():
    codes, _, _, made = case_of("errors", seed=23)

    def interrupt(value, lower):
        raise KeyboardInterrupt

    table, everyone = table_of(codes, made), np.ones(codes.shape[1], bool)
    with pytest.warns(InterruptedFitWarning, match="keeps the best tree so far"):
        tree, route = search(table, report=interrupt)
    assert leaf_costs(table, tree, everyone) == route.value >= route.lower


def test_thresholds_that_are_tried_later_raise_no_objective_in_hand():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 40, (3, 150)).astype(np.uint8)
    table = CodedTable(codes, np.full(3, 40, np.int32), np.zeros(3, bool))
    seen = []
    limits = SearchLimits(4, max_thresholds=3, time_limit=3, report=lambda value, lower: seen.append((value, lower)))
    best = find_trees(table, cost_of_classes(rng.integers(0, 2, 150), 2, None), [limits])[0]
    values = [value for value, _ in seen]
    assert values == sorted(values, reverse=True) and values[0] > values[-1] >= best.objective
    assert all(lower <= value for value, lower in seen)
