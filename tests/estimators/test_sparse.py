"""Trees and forests of sparse tables are those of the dense ones, and pipelines hand such tables on."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import shap_values

CHANCE = np.random.default_rng(0)
DENSE = np.where(CHANCE.random((60, 5)) < 0.4, CHANCE.integers(-2, 4, (60, 5)) / 2, 0.0)
DENSE[[3, 7], [2, 1]] = np.nan
Y = np.where(np.nan_to_num(DENSE[:, 0]) + DENSE[:, 4] > 0, "yes", "no")
NUMBERS = np.nan_to_num(DENSE[:, 0]) - DENSE[:, 3]
SPARSE = scipy.sparse.csr_array(DENSE)
FORMATS = {kind: getattr(scipy.sparse, kind)(DENSE) for kind in ("csr_matrix", "csc_array", "coo_array", "lil_matrix")}


def assert_same(sparse, dense, X=SPARSE):
    for ours, theirs in zip(said(sparse, X), said(dense, DENSE), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def said(estimator, X):
    path = estimator.decision_path(X)
    path = path[0] if isinstance(path, tuple) else path
    yield from (estimator.apply(X), estimator.predict(X), path.toarray())
    if hasattr(estimator, "predict_proba"):
        yield estimator.predict_proba(X)


@pytest.fixture(scope="module")
def tree():
    return jaxtree.DecisionTreeClassifier(max_depth=4).fit(DENSE, Y)


def test_the_table_of_nodes_walks_sparse_rows(tree):
    np.testing.assert_array_equal(tree.tree_.apply(SPARSE), tree.apply(DENSE))
    np.testing.assert_array_equal(tree.tree_.decision_path(SPARSE).toarray(), tree.decision_path(DENSE).toarray())


@pytest.mark.parametrize("X", FORMATS.values(), ids=FORMATS)
def test_every_format_gives_the_tree_of_the_dense_table(tree, X):
    fitted = jaxtree.DecisionTreeClassifier(max_depth=4).fit(X, Y)
    assert jaxtree.export_text(fitted) == jaxtree.export_text(tree)
    assert_same(fitted, tree, X)
    assert fitted.score(X, Y) == tree.score(DENSE, Y)
    assert not hasattr(fitted, "feature_names_in_") and fitted.n_features_in_ == 5


FORESTS = [
    jaxtree.RandomForestClassifier(3, max_depth=3, random_state=0, oob_score=True),
    jaxtree.ExtraTreesRegressor(3, max_depth=3, random_state=0),
]


@pytest.mark.filterwarnings("ignore:.*no out-of-bag")
@pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: type(forest).__name__)
def test_forests(forest):
    y = Y if hasattr(forest, "predict_proba") else NUMBERS
    dense = clone(forest).fit(DENSE, y)
    assert_same(forest.fit(SPARSE, y), dense)
    assert getattr(forest, "oob_score_", None) == getattr(dense, "oob_score_", None)


def test_prediction_in_blocks_of_rows(tree, monkeypatch):
    monkeypatch.setattr("jaxtree.table.columns.CELLS_AT_A_TIME", 35)
    assert_same(tree, tree)


def test_held_out_rows_and_prunings(tree):
    pruning = jaxtree.ReducedError()
    sparse = jaxtree.DecisionTreeClassifier(max_depth=4, pruning=pruning).fit(
        SPARSE, Y, X_val=SPARSE[:20], y_val=Y[:20]
    )
    dense = jaxtree.DecisionTreeClassifier(max_depth=4, pruning=pruning).fit(DENSE, Y, X_val=DENSE[:20], y_val=Y[:20])
    assert_same(sparse, dense)


def test_a_search():
    searches = [
        jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2, 4]}, cv=2).fit(X, Y)
        for X in (SPARSE, DENSE)
    ]
    sparse, dense = (search.cv_results_["mean_test_score"] for search in searches)
    np.testing.assert_array_equal(sparse, dense)
    np.testing.assert_array_equal(searches[0].predict(SPARSE), searches[1].predict(DENSE))


def test_explanations(tree):
    np.testing.assert_array_equal(shap_values(tree, SPARSE).values, shap_values(tree, DENSE).values)
    assert str(jaxtree.explain_row(tree, SPARSE[[0]])) == str(jaxtree.explain_row(tree, DENSE[[0]]))


def test_a_sparse_target_is_refused():
    with pytest.raises(InvalidTypeError, match="y is a sparse matrix"):
        jaxtree.DecisionTreeClassifier().fit(SPARSE, scipy.sparse.csr_array(np.eye(60)))


def test_another_number_of_columns_is_refused(tree):
    with pytest.raises(InvalidInputError, match=r"X has 4 features, but .* is expecting 5 features"):
        tree.predict(SPARSE[:, :4])


TABLE = pd.DataFrame({"town": [f"t{place}" for place in np.arange(60) * 7 % 15], "size": np.arange(60) * 5 % 7})
WANTED = np.where((np.arange(60) * 7 % 15 < 5) | (TABLE["size"] > 4), "yes", "no")


@pytest.mark.parametrize(
    "estimator",
    [jaxtree.DecisionTreeClassifier(), jaxtree.RandomForestClassifier(3, random_state=0)],
    ids=["tree", "forest"],
)
def test_pipelines_with_one_hot_columns(estimator):
    scores = []
    for sparse in (True, False):
        onehot = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
        columns = make_column_transformer((onehot, ["town"]), remainder="passthrough", sparse_threshold=float(sparse))
        assert scipy.sparse.issparse(columns.fit_transform(TABLE)) == sparse
        pipeline = make_pipeline(columns, estimator)
        scores.append(cross_val_score(pipeline, TABLE, WANTED, cv=2, error_score="raise").tolist())
    assert scores[0] == scores[1] and min(scores[0]) > 0.7


def test_scikit_learn_is_told():
    for estimator in (jaxtree.DecisionTreeClassifier(), jaxtree.RandomForestRegressor(), jaxtree.SoftTreeClassifier()):
        assert estimator.__sklearn_tags__().input_tags.sparse
