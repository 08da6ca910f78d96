"""Tables with next to nothing in them: whatever is left of a table is fitted, predicted, explained and exported."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

import jaxtree
from jaxtree import OptimalTreeClassifier, boosting, explain
from jaxtree.errors import InvalidInputError
from tests.marks import rows_are_slow

ROWS = 24
NONE = [None] * ROWS
FEW = {"n_estimators": 2, "max_depth": 2, "random_state": 0}
OF_ALL_ROWS = {"outer_bags": 1, "validation_size": 0, "max_rounds": 5, "min_samples_leaf": 1}

TABLES = {
    "one_number": {"a": np.arange(ROWS) * 1.5},
    "constants": {"a": np.ones(ROWS), "b": np.full(ROWS, -3.0)},
    "missing_numbers": {"a": np.full(ROWS, np.nan)},
    "missing_beside": {"a": np.full(ROWS, np.nan), "b": np.arange(ROWS) % 5 * 1.0},
    "no_category": {"a": pd.Categorical(NONE, [])},
    "no_category_beside": {"a": pd.Categorical(NONE, []), "b": np.arange(ROWS) % 5 * 1.0},
    "one_category": {"a": pd.Categorical(["x"] * ROWS)},
    "one_category_or_none": {"a": pd.Categorical(["x", None] * (ROWS // 2))},
    "many_categories": {"a": pd.Categorical([f"v{row}" for row in range(ROWS)])},
    "unused_categories": {"a": pd.Categorical(["x", "y"] * (ROWS // 2), ["w", "x", "y", "z"])},
    "unused_order": {"a": pd.Categorical(NONE, ["s", "m"], ordered=True)},
    "one_truth": {"a": np.ones(ROWS, bool)},
    "one_row": {"a": [1.0], "b": pd.Categorical(["x"])},
    "one_empty_row": {"a": [np.nan], "b": pd.Categorical([None], [])},
}

ESTIMATORS = {
    "cart": jaxtree.DecisionTreeClassifier(max_depth=3),
    "c45": jaxtree.C45Classifier(),
    "regression": jaxtree.DecisionTreeRegressor(max_depth=3),
    "optimal": OptimalTreeClassifier(max_depth=2),
    "optimal_regression": jaxtree.OptimalTreeRegressor(max_depth=2),
    "forest": jaxtree.RandomForestClassifier(**FEW),
    "boosted": jaxtree.GradientBoostingClassifier(**FEW, min_samples_leaf=1),
    "boosted_regression": jaxtree.GradientBoostingRegressor(**FEW, min_samples_leaf=1),
    "boosted_one_vs_rest": jaxtree.GradientBoostingRegressor(
        **FEW, min_samples_leaf=1, categorical_splits="one_vs_rest", missing="branch"
    ),
    "additive": jaxtree.ExplainableBoostingClassifier(**OF_ALL_ROWS),
    "additive_regression": jaxtree.ExplainableBoostingRegressor(**OF_ALL_ROWS, interactions=1),
}
FAST = {"cart"}
"""Programs of others take longer to compile than to run."""


def targets(estimator, rows):
    """Targets of several values and of one, and weights of some rows alone."""
    several = np.array(["no", "yes"])[np.arange(rows) % 2] if is_classifier(estimator) else np.arange(rows) % 3 + 0.5
    return [(several, None), (several[:1].repeat(rows), None), (several, (np.arange(rows) < 3).astype(float))]


def check_outputs(model, X):
    """All that can be asked of a model comes, in numbers."""
    for name in ("predict", "predict_proba", "apply"):
        if hasattr(model, name):
            found = np.asarray(getattr(model, name)(X))
            assert len(found) == len(X)
            assert found.dtype.kind not in "fc" or np.isfinite(found).all()
    assert np.isfinite(np.asarray(model.feature_importances_)).all()
    assert np.isfinite(np.asarray(explain.shap_values(model, X)[0])).all()
    single = model.estimators_[0] if isinstance(model, jaxtree.RandomForestClassifier) else model
    jaxtree.to_dataframe(single)
    jaxtree.explain_row(single, X.iloc[:1])
    if hasattr(model, "tree_"):
        jaxtree.export_text(model)
        jaxtree.to_sql(model, no_missing=isinstance(model, jaxtree.C45Classifier))  # C4.5 shares rows out
    assert len(model.predict(pd.concat([X, X]))) == 2 * len(X)


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in ESTIMATORS]
)
def test_whatever_is_left_of_a_table_is_fitted_and_predicted(name):
    for table, columns in TABLES.items():
        X = pd.DataFrame(columns)
        for number, (y, weight) in enumerate(targets(ESTIMATORS[name], len(X))):
            if name in ("boosted", "additive") and np.unique(y).size == 1:
                with pytest.raises(InvalidInputError, match="needs two classes or more, got 1 class"):
                    clone(ESTIMATORS[name]).fit(X, y)
                continue
            model = clone(ESTIMATORS[name]).fit(X, y, sample_weight=weight)
            try:
                check_outputs(model, X) if number < 2 else model.predict(X)
            except Exception as error:
                raise AssertionError(f"{name} on {table}, target {number}") from error


@pytest.mark.parametrize(
    ("splits", "loss"),
    rows_are_slow(
        [("ordered", "squared_error"), ("ordered", boosting.distributions.normal()), ("subset", "squared_error")]
    ),
)
def test_a_table_of_one_column_of_many_words_is_boosted_as_with_a_constant_beside_it(splits, loss):
    """A leaf's feature is -2, which two columns have and one has not."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 400)
    alone = pd.DataFrame({"a": pd.Categorical([f"v{value}" for value in code])})
    y = rng.normal(size=40)[code] + rng.normal(size=400) / 4
    model = jaxtree.GradientBoostingRegressor(n_estimators=2, loss=loss, categorical_splits=splits, random_state=0)
    found = clone(model).fit(alone, y)
    expected = clone(model).fit(alone.assign(b=1.0), y)
    np.testing.assert_array_equal(found.predict(alone), expected.predict(alone.assign(b=1.0)))
    assert np.corrcoef(found.predict(alone), y)[0, 1] > 0.5


def test_a_column_without_categories_leaves_an_optimal_tree_the_others():
    X = pd.DataFrame({"a": pd.Categorical([None] * 6, []), "b": np.arange(6.0)})
    y = np.array([0, 0, 0, 1, 1, 1])
    assert OptimalTreeClassifier(max_depth=1).fit(X, y).score(X, y) == 1
    assert OptimalTreeClassifier(max_depth=1).fit(X[["a"]], y).get_n_leaves() == 1


@pytest.mark.slow
def test_a_column_without_categories_alone_makes_a_soft_tree():
    X = pd.DataFrame({"a": pd.Categorical([None] * 6, [])})
    y = ["no", "no", "yes", "no", "no", "no"]
    for gate in ("oblique", "axis"):
        model = jaxtree.SoftTreeClassifier(depth=1, max_epochs=1, gate=gate, random_state=0).fit(X, y)
        hard = model.harden()
        for tree in (model, hard):
            assert len(tree.predict(X)) == 6
        assert np.isfinite(model.predict_proba(X)).all()
        jaxtree.export_text(hard)


@pytest.mark.parametrize(
    "estimator", [jaxtree.DecisionTreeClassifier(), jaxtree.RandomForestClassifier(2), jaxtree.ExtraTreesClassifier(2)]
)
def test_one_class_has_nothing_that_could_rise(estimator):
    X = np.arange(12.0).reshape(6, 2)
    model = clone(estimator).set_params(monotonic_cst=[1, -1]).fit(X, ["a"] * 6)
    assert (model.predict(X) == "a").all() and np.asarray(model.predict_proba(X)).tolist() == [[1.0]] * 6
