"""Trees in other programs: odd names and numbers, refusals, and the forms that `tests/together` does not compare."""

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.node_tables import to_dataframe, to_sklearn
from jaxtree.export.programs import to_c, to_jax_export
from jaxtree.export.sql import to_sql
from tests.examples import example
from tests.export.running import compile_c, run_c, run_onnx, run_sql
from tests.export.shipping import PLAIN, SHARING, edge_rows

EXPORTS = (to_c, to_sql, to_jax_export)


def test_sql_quotes_names_and_words():
    X = pd.DataFrame({'a "name"': ["it's", "b", "it's", "b"], "order": [1.5, 2.5, 3.5, 4.5]})
    tree = jaxtree.DecisionTreeClassifier().fit(X, ["x'; DROP TABLE rows; --", "y", "x'; DROP TABLE rows; --", "y"])
    assert run_sql(to_sql(tree), X.rename(columns={'a "name"': 'a ""name""'})) == tree.predict(X).tolist()


def test_sql_of_a_deep_tree_can_be_parsed():
    """Every split takes one row off: 63 CASEs in one another would overflow SQLite's parser."""
    X = np.arange(64.0)[:, None]
    tree = jaxtree.DecisionTreeClassifier().fit(X, np.resize([0, 1], 64))
    assert tree.get_depth() == 63
    rows = np.concatenate([edge_rows(tree), [[np.nan]]])
    assert run_sql(to_sql(tree), rows) == tree.predict(rows).tolist()


@pytest.mark.parametrize("side", [1, -1])
def test_sql_puts_the_smaller_branch_first_though_missing_values_take_it(side):
    X = side * np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0], [3.0, 0.0], [np.nan, 0.0]])
    tree = jaxtree.DecisionTreeClassifier().fit(X, [0, 1, 1, 0, 2, 2])
    expression = to_sql(tree)
    assert expression.startswith(f'CASE WHEN "x0" {"> 2.5" if side > 0 else "<= -2.5"} OR "x0" IS NULL THEN 2\n')
    assert run_sql(expression, X) == tree.predict(X).tolist()


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("cc")
    if found is None:
        pytest.skip("there is no C compiler")
    return found


def test_c_survives_odd_names(compiler, tmp_path):
    X = pd.DataFrame({"*/ int x; /*": ['"\\\n??/', "ünï", '"\\\n??/', "ünï"], "two\nlines\\": [1.0, 2.0, 3.0, 4.0]})
    tree = jaxtree.DecisionTreeClassifier().fit(X, ["*/", "\\", "*/", "\\"])
    outputs, _ = run_c(compile_c(compiler, to_c(tree), tmp_path), tree, X)
    np.testing.assert_array_equal(outputs, tree.predict_proba(X))
    with pytest.raises(InvalidInputError, match="name must be"):
        to_c(tree, name="a b")


def test_scikit_learn_predicts_the_same():
    estimator = example("cart_plain")
    X = edge_rows(estimator, dtype=np.float32)
    exported = to_sklearn(estimator)
    check_is_fitted(exported)
    np.testing.assert_array_equal(exported.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(exported.predict_proba(X), estimator.predict_proba(X))
    np.testing.assert_array_equal(exported.apply(X), estimator.apply(X))
    assert exported.get_n_leaves() == estimator.get_n_leaves() and exported.get_depth() == estimator.get_depth()


def test_a_tree_goes_to_scikit_learn_and_back():
    tree = example("cart_plain").tree_
    back = jaxtree.from_sklearn(to_sklearn(example("cart_plain"))).tree_
    is_split = ~tree.is_leaf
    np.testing.assert_allclose(back.threshold[is_split], tree.threshold[is_split], rtol=1e-7)
    for name in ("feature", "first_child", "num_children", "depth", "num_rows", "missing_branch"):
        np.testing.assert_array_equal(getattr(back, name), getattr(tree, name))
    np.testing.assert_allclose(back.count, tree.count, rtol=1e-12)


def lines(estimator):
    return jaxtree.export_text(estimator).splitlines()[1:]


@pytest.mark.parametrize("name", SHARING)
def test_shared_rows_are_refused_unless_nothing_is_missing(name, compiler, tmp_path):
    estimator = example(name)
    for export in (to_c, to_sql):
        with pytest.raises(InvalidInputError, match="missing"):
            export(estimator)
    X = edge_rows(estimator, known=True)
    assert run_sql(to_sql(estimator, no_missing=True), X) == estimator.predict(X).tolist()
    outputs, _ = run_c(compile_c(compiler, to_c(estimator, no_missing=True), tmp_path), estimator, X)
    np.testing.assert_array_equal(outputs, estimator.predict_proba(X))


def test_what_cannot_be_said_is_refused():
    for export in (*EXPORTS, to_dataframe, to_sklearn):
        with pytest.raises(InvalidInputError, match="one output"):
            export(example("cart_outputs"))
        with pytest.raises(InvalidTypeError, match="list"):
            export([])
    with pytest.raises(InvalidInputError, match="'color' are words"):
        to_sklearn(example("cart"))
    with pytest.raises(InvalidInputError, match="estimators_"):
        to_sklearn(example("bagged_regression"))
    with pytest.raises(InvalidInputError, match="share_of"):
        to_sql(example("forest"))
    with pytest.raises(InvalidInputError, match="share_of must be a class"):
        to_sql(example("cart"), share_of="unknown")


onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def assert_same_as_onnx(estimator, X, said):
    if not is_classifier(estimator):
        np.testing.assert_array_equal(said["variable"][:, 0], estimator.predict(X))
        return
    np.testing.assert_array_equal(said["probabilities"], estimator.predict_proba(X))
    np.testing.assert_array_equal(said["label"], estimator.predict(X))


@pytest.mark.parametrize("name", PLAIN)
def test_onnx_predicts_the_same_of_100_000_rows(name):
    """A tenth of them are extreme: infinities, the least and greatest numbers, and both zeros."""
    estimator, draw = example(name), np.random.default_rng(1)
    X = edge_rows(estimator, 100_000, dtype=np.float32)
    extreme = [np.inf, -np.inf, 3.4e38, -3.4e38, 1.2e-38, -0.0, 0.0, np.nan, 2.0**24 + 1]
    chosen = draw.integers(len(X), size=10_000)
    X[chosen, draw.integers(X.shape[1], size=10_000)] = draw.choice(np.array(extreme, np.float32), 10_000)
    X = X[~np.isinf(X).any(axis=1)] if not reads_infinity(estimator) else X
    assert_same_as_onnx(estimator, X, run_onnx(estimator, X, np.float32))


def reads_infinity(estimator):
    try:
        estimator.predict(np.full((1, estimator.n_features_in_), np.inf, np.float32))
    except InvalidInputError:
        return False
    return True


@pytest.mark.parametrize("name", SHARING)
def test_onnx_of_shared_rows(name):
    estimator = example(name)
    with pytest.raises(InvalidInputError, match="no_missing=True"):
        run_onnx(estimator, None, np.float32)
    X = edge_rows(estimator, known=True)
    assert_same_as_onnx(estimator, X, run_onnx(estimator, X, np.float64, no_missing=True))


def test_onnx_of_a_single_leaf():
    X, y = np.array([[1.0], [2.0]]), np.array([True, True])
    tree = jaxtree.DecisionTreeClassifier().fit(X, y)
    assert run_onnx(tree, X, np.float32)["label"].tolist() == [1, 1]


def test_onnx_of_two_trees():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    forest = jaxtree.RandomForestRegressor(n_estimators=2, random_state=0).fit(X, X[:, 0])
    assert_same_as_onnx(forest, X, run_onnx(forest, X, np.float64))


def test_onnx_refuses_classes_and_names_that_it_does_not_have():
    with pytest.raises(InvalidInputError, match="labels of integers and words"):
        run_onnx(jaxtree.DecisionTreeClassifier().fit([[1.0], [2.0]], [0.0, 1.0]), None, np.float32)
    tree = jaxtree.DecisionTreeClassifier().fit(pd.DataFrame({"label": ["a", "b"]}), [0, 1])
    with pytest.raises(InvalidInputError, match=r"'label'.*rename"):
        run_onnx(tree, None, np.float32)
