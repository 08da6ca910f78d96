"""Columns of many categories: statistics in which no row sees its own target, and subsets of categories afterwards."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.common.ordered_categories import PRIOR_ROWS, _statistics
from jaxtree.tree import SplitKind
from tests.marks import rest_is_slow

FEW = {"n_estimators": 20, "max_depth": 3}


def table(num_rows=2000, num_shops=200, seed=0):
    """Shops that differ, towns that do not, a number, and values missing everywhere."""
    rng = np.random.default_rng(seed)
    shop, town, age = rng.integers(0, num_shops, num_rows), rng.integers(0, 300, num_rows), rng.normal(size=num_rows)
    effect = np.random.default_rng(7).normal(size=num_shops)
    names = pd.Series(shop).map("shop {}".format).where(rng.random(num_rows) > 0.1, None)
    X = pd.DataFrame({"shop": names, "age": age, "town": pd.Series(town).map("town {}".format)})
    return X, effect[shop] + age + rng.normal(size=num_rows)


def test_a_statistic_has_the_rows_before_and_of_a_category_all():
    rng = np.random.default_rng(0)
    code, gradient, curvature = rng.integers(0, 5, 60).astype(np.uint8), rng.normal(size=60), rng.random(60)
    order = rng.permutation(60)
    own, whole = _statistics(code, 4, gradient, curvature, order)
    prior = PRIOR_ROWS * curvature.mean()
    for at, row in enumerate(order):
        before = [other for other in order[:at] if code[other] == code[row]]
        expected = -gradient[before].sum() / (curvature[before].sum() + prior) if code[row] < 4 else np.nan
        np.testing.assert_allclose(own[row], expected, atol=1e-12)
    for category, value in enumerate(whole):
        rows = code == category
        np.testing.assert_allclose(value, -gradient[rows].sum() / (curvature[rows].sum() + prior))


@pytest.mark.parametrize("missing", ["learn", "branch"])
@pytest.mark.parametrize("target", rest_is_slow([lambda y: y > 0, lambda y: y, lambda y: np.digitize(y, [-1, 1])]))
def test_what_is_measured_in_the_rounds_is_what_is_predicted(target, missing):
    """Subsets of categories divide other rows as thresholds of statistics did."""
    (X, y), (other, answer) = table(), table(500, seed=1)
    other.loc[:20, "shop"] = "never seen"
    is_number = target(y).dtype.kind == "f"
    make = GradientBoostingRegressor if is_number else GradientBoostingClassifier
    model = make(**FEW, missing=missing).fit(X, target(y), eval_set=[(other, target(answer))])
    predicted = model.predict(other) if is_number else model.predict_proba(other)
    loss = np.mean((predicted - answer) ** 2) / 2 if is_number else log_loss(target(answer), predicted)
    assert next(iter(model.evals_result_["validation_0"].values()))[-1] == pytest.approx(loss, rel=1e-9)
    nodes = model.forest_.nodes
    split = ~nodes.is_leaf
    kinds = np.where(nodes.feature[split] == 1, SplitKind.THRESHOLD, SplitKind.SUBSET)
    np.testing.assert_array_equal(nodes.split_kind[split], kinds)
    assert nodes.num_features == 3 and set(nodes.feature[split]) <= {0, 1, 2} and np.any(nodes.feature[split] == 0)


@pytest.mark.slow
def test_many_categories_are_not_learned_by_heart():
    (X, y), (other, answer) = table(), table(seed=1)
    losses = {}
    for splits in ("auto", "ordered", "subset"):
        model = GradientBoostingClassifier(60, categorical_splits=splits).fit(X, y > 0)
        losses[splits] = log_loss(answer > 0, model.predict_proba(other))
    assert losses["auto"] == losses["ordered"] < 0.6 < losses["subset"]


def test_the_seed_draws_the_order_and_rows_of_no_weight_are_not_there():
    X, y = table()
    first, same = (GradientBoostingRegressor(**FEW).fit(X, y).predict(X) for _ in range(2))
    other = GradientBoostingRegressor(**FEW, random_state=1).fit(X, y).predict(X)
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)
    weight = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    kept = weight > 0
    weighted = GradientBoostingRegressor(**FEW).fit(X, y, weight)
    np.testing.assert_array_equal(
        weighted.predict(X), GradientBoostingRegressor(**FEW).fit(X[kept], y[kept]).predict(X)
    )


@pytest.mark.slow
def test_a_warm_start_goes_on():
    X, y = table()
    model = GradientBoostingRegressor(**FEW, warm_start=True).fit(X, y)
    first = model.forest_
    model.set_params(n_estimators=30).fit(X, y)
    assert len(model.forest_) == 30
    np.testing.assert_array_equal(model.forest_.first(20).nodes.subset, first.nodes.subset)
    refitted = model.refit(X, y)
    assert np.mean((refitted.predict(X) - y) ** 2) < np.var(y)
