"""Targets and columns at the ends of float64, trees without a split, and what forests say of themselves."""

import math

import numpy as np
import pytest
import sklearn.tree
from sklearn.base import clone

import jaxtree
from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    OptimalTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from jaxtree.errors import InvalidInputError, JaxtreeError
from tests.marks import rest_is_slow

X = np.arange(30.0)[:, None]
Y = X[:, 0]
CLASS = (Y > 14).astype(int)


@pytest.mark.parametrize("factor", [2.0**515, 2.0**990, 2.0**-540, 2.0**-1070])
def test_the_tree_does_not_depend_on_the_unit_of_the_target(factor):
    usual = DecisionTreeRegressor(max_depth=3).fit(X, Y)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, factor * Y)
    np.testing.assert_array_equal(tree.tree_.threshold, usual.tree_.threshold)
    # Means of subnormal numbers have few digits.
    np.testing.assert_allclose(tree.predict(X), factor * usual.predict(X), rtol=1e-15, atol=2.0**-1074)


def test_limits_are_in_the_unit_of_the_target():
    usual = DecisionTreeRegressor(max_depth=3, min_impurity_decrease=4.0).fit(X, Y)
    assert 1 < usual.get_n_leaves() < 8
    tree = DecisionTreeRegressor(max_depth=3, min_impurity_decrease=4.0 * 2.0**1000).fit(X, 2.0**500 * Y)
    np.testing.assert_array_equal(tree.tree_.threshold, usual.tree_.threshold)


def test_what_needs_infinite_gains_says_so():
    with pytest.raises(InvalidInputError, match="infinite for so large values of y"):
        DecisionTreeRegressor(max_depth=3, max_leaf_nodes=3).fit(X, 1e200 * Y)
    with pytest.raises(InvalidInputError, match="too large to be summed"):
        DecisionTreeRegressor(max_depth=3).fit(X, 5e306 * Y)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, OptimalTreeRegressor])
def test_models_of_infinite_impurities_come_back_from_files(kind, tmp_path):
    model = kind(max_depth=2).fit(X, 1e200 * Y)
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert np.isinf(again.tree_.impurity[0])


@pytest.mark.parametrize("ends", [[1e308, 1e308, 0.0], [-1e308, 1e308, 0.0], [5e-324, 0.0, 1e-323]])
def test_columns_may_hold_any_finite_number(ends):
    values = np.tile(np.array(ends), 10)[:, None]
    target = (values[:, 0] == values.max()).astype(int)
    tree = DecisionTreeClassifier().fit(values, target)
    assert tree.score(values, target) == 1 and np.isfinite(tree.tree_.threshold).all()
    with pytest.raises(InvalidInputError, match="contains infinity"):
        DecisionTreeClassifier().fit(np.where(values == values.max(), np.inf, values), target)


def test_scikit_learn_s_export_takes_names_of_features():
    tree = DecisionTreeClassifier().fit(X, CLASS)
    assert tree.tree_.n_features == 1
    assert "height <= 14.50" in sklearn.tree.export_text(tree, feature_names=["height"])


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_friedman_mse_is_the_squared_error(kind):
    with pytest.warns(FutureWarning, match="friedman_mse"):
        assert kind(criterion="friedman_mse").criterion == "squared_error"


def test_scikit_learn_s_words():
    with pytest.raises(InvalidInputError, match=r"`max_sample` cannot be set if `bootstrap=False`"):
        RandomForestClassifier(bootstrap=False, max_samples=0.5).fit(X, CLASS)
    with pytest.raises(InvalidInputError, match="Sum of y is not strictly positive"):
        RandomForestRegressor(criterion="poisson").fit(X, 0 * Y)
    with pytest.raises(InvalidInputError, match="Sum of y is not positive"):
        DecisionTreeRegressor(criterion="poisson").fit(X, 0 * Y)


def test_a_forest_is_a_sequence_of_its_trees():
    forest = RandomForestClassifier(2, random_state=0).fit(X, CLASS)
    assert len(forest) == 2 and forest[0] is forest.estimators_[0] and list(forest) == forest.estimators_


def test_trees_are_grown_on_the_rows_that_a_forest_names():
    weight = np.where(np.arange(30) < 5, 0.0, 1.0)
    forest = RandomForestClassifier(2, random_state=0).fit(X, CLASS, sample_weight=weight)
    for rows, tree in zip(forest.estimators_samples_, forest, strict=True):
        assert rows.size == 25 and rows.min() >= 5
        np.testing.assert_array_equal(tree.tree_.count[0], np.bincount(CLASS[rows], minlength=2))


def test_a_sample_may_have_more_rows_than_the_table():
    by_fraction, by_number = (RandomForestClassifier(3, random_state=0, max_samples=size) for size in (1.5, 45))
    for forest in (by_fraction.fit(X, CLASS), by_number.fit(X, CLASS)):
        assert [rows.size for rows in forest.estimators_samples_] == [45, 45, 45]
    np.testing.assert_array_equal(by_fraction.predict_proba(X), by_number.predict_proba(X))


def test_a_fit_without_out_of_bag_scores_forgets_the_last_ones():
    forest = RandomForestClassifier(12, random_state=0, oob_score=True).fit(X, CLASS)
    assert forest.oob_score_ > 0
    forest.set_params(oob_score=False).fit(X, CLASS)
    assert not hasattr(forest, "oob_score_") and not hasattr(forest, "oob_decision_function_")


def test_shares_of_rows_are_of_rows_of_some_weight():
    weight = np.where(np.arange(30) < 10, 0.0, 1.0)
    whole = DecisionTreeRegressor(max_depth=3, min_samples_leaf=0.4).fit(X, Y, sample_weight=weight)
    without = DecisionTreeRegressor(max_depth=3, min_samples_leaf=0.4).fit(X[10:], Y[10:], sample_weight=weight[10:])
    np.testing.assert_array_equal(whole.tree_.threshold, without.tree_.threshold)
    assert whole.get_n_leaves() == 2  # 8 of 20 rows; 12 of 30 would be too many


@pytest.mark.slow
def test_monotone_shares_keep_their_order_to_the_last_bit():
    """A share is a quotient, which rounding moved off the bound that both sides of a split share."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 4)).round(1)
    score = values[:, 0] + np.sin(3 * values[:, 1]) + values[:, 2] * values[:, 3] + rng.normal(size=200)
    forest = RandomForestClassifier(10, monotonic_cst=[1, 1, 0, 0], random_state=0).fit(values, score > 0)
    for model in [forest, *forest]:
        for column in (0, 1):
            moved = np.tile(values, (12, 1))
            moved[:, column] = np.repeat(np.linspace(-4, 4, 12), 200)
            steps = np.diff(model.predict_proba(moved).reshape(12, 200, 2), axis=0)
            assert steps[..., 1].min() >= 0 and steps[..., 0].max() <= 0


def lone_outlier(rng):
    """Targets of three sizes, the largest of them one alone."""
    values = rng.normal(size=(300, 3))
    target = np.where(rng.random(300) < 0.5, 1e-3, 1.0) * (values[:, 0] + rng.normal(size=300))
    target[17] = 1e9
    return values, target


@pytest.mark.parametrize("wanted", rest_is_slow(["rows", "weights", "missing"]))
def test_leaves_beside_one_far_target_are_means_of_their_own_rows(wanted):
    """In one unit for all rows their digits would end at 1e-6. Means and variances by sums without rounding."""
    rng = np.random.default_rng(0)
    values, target = lone_outlier(rng)
    weight = rng.uniform(0.5, 2, 300) if wanted == "weights" else np.ones(300)
    if wanted == "missing":
        values[rng.random(values.shape) < 0.2] = np.nan
    for model in (DecisionTreeRegressor(max_depth=6, min_samples_leaf=5), OptimalTreeRegressor(max_depth=2)):
        tree = model.fit(values, target, sample_weight=weight).tree_
        leaf = model.apply(values)
        for node in np.unique(leaf):
            own, share = target[leaf == node], weight[leaf == node]
            mean = math.fsum(own * share) / math.fsum(share)
            variance = math.fsum(share * (own - mean) ** 2) / math.fsum(share)
            np.testing.assert_allclose(tree.target_sum[node, 0] / tree.weight[node], mean, rtol=1e-13)
            np.testing.assert_allclose(tree.impurity[node], variance, rtol=1e-10, atol=1e-25 * mean**2)
        inner = ~tree.is_leaf
        children = [tree.first_child[inner], tree.first_child[inner] + 1]
        np.testing.assert_allclose(tree.target_sum[inner], sum(tree.target_sum[child] for child in children), rtol=1e-9)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_leaves_of_forests_beside_one_far_target(bootstrap):
    values, target = lone_outlier(np.random.default_rng(1))
    forest = RandomForestRegressor(3, random_state=0, max_depth=4, bootstrap=bootstrap).fit(values, target)
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        leaf = tree.apply(values)[rows]
        for node in np.unique(leaf):
            mean = math.fsum(target[rows][leaf == node]) / np.sum(leaf == node)
            np.testing.assert_allclose(tree.tree_.target_sum[node, 0] / tree.tree_.weight[node], mean, rtol=1e-13)


def test_a_tree_beside_a_far_target_depends_on_no_order():
    values, target = lone_outlier(np.random.default_rng(2))
    order = np.random.default_rng(3).permutation(300)
    one, other = (DecisionTreeRegressor(max_depth=5).fit(values[rows], target[rows]) for rows in (order, slice(None)))
    np.testing.assert_array_equal(one.predict(values), other.predict(values))


LARGE = {
    "tree": DecisionTreeRegressor(max_depth=2),
    "forest": jaxtree.RandomForestRegressor(3, max_depth=2, random_state=0),
    "optimal": OptimalTreeRegressor(max_depth=1),
    "additive": jaxtree.ExplainableBoostingRegressor(outer_bags=2, max_rounds=3),
    "additive_absolute": jaxtree.ExplainableBoostingRegressor(loss="absolute_error", outer_bags=2, max_rounds=3),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LARGE)
def test_what_a_fit_allows_a_file_and_a_prediction_hold(name, tmp_path):
    """Targets are refused by the fit or come back from the file; sums over many trees are numbers, too."""
    num_saved = 0
    for scale in (1e120, 1e200, 1e280, 1e300, 1e303, 1e306):
        model = clone(LARGE[name])
        try:
            model.fit(X, scale * Y)
        except JaxtreeError:
            continue
        model.save(tmp_path / "model")
        predicted = model.predict(X)
        assert np.isfinite(predicted).all()
        np.testing.assert_array_equal(jaxtree.load(tmp_path / "model").predict(X), predicted)
        num_saved += 1
    assert num_saved


def test_sums_over_more_trees_than_rows_are_numbers():
    ends = np.array([-1e300, 1e300])
    model = jaxtree.RandomForestRegressor(2000, bootstrap=False).fit([[0.0], [1.0]], ends)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), ends, rtol=1e-9)
    with pytest.raises(InvalidInputError, match=r"at most 1.71e\+302, got 1e\+305"):
        model.fit([[0.0], [1.0]], 1e5 * ends)
