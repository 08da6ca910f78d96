"""Leaves as features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier as PeerTree

from jaxtree import C45Classifier, DecisionTreeClassifier, LeafEncoder, RandomForestRegressor
from jaxtree.errors import InvalidInputError, InvalidTypeError

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def leaves():
    return LeafEncoder(DecisionTreeClassifier(max_depth=3)).fit(X, Y)


def test_every_row_has_a_one_in_the_column_of_its_leaf(leaves):
    encoded = leaves.transform(X)
    assert scipy.sparse.issparse(encoded)
    dense, names = encoded.toarray(), leaves.get_feature_names_out()
    assert dense.shape == (len(X), leaves.estimator_.get_n_leaves()) == (len(X), len(names))
    np.testing.assert_array_equal(dense.sum(axis=1), 1)
    np.testing.assert_array_equal(names[dense.argmax(axis=1)], [f"leaf_{n}" for n in leaves.estimator_.apply(X)])


def test_a_forest_has_columns_of_every_tree():
    leaves = LeafEncoder(RandomForestRegressor(3, max_depth=2, random_state=0), sparse_output=False)
    model = make_pipeline(leaves, Ridge()).fit(X, Y)
    dense = model[0].transform(X)
    np.testing.assert_array_equal(dense.sum(axis=1), 3)
    names = model[0].get_feature_names_out()
    for number, of_tree in enumerate(model[0].estimator_.apply(X).T):
        own = np.char.startswith(names.astype(str), f"tree_{number}_")
        ends = names[own][dense[:, own].argmax(axis=1)]
        np.testing.assert_array_equal(ends, [f"tree_{number}_leaf_{end}" for end in of_tree])
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_come_out_with_names(container, kind):
    leaves = LeafEncoder(DecisionTreeClassifier(max_depth=2), sparse_output=False).set_output(transform=container)
    frame = leaves.fit_transform(X, Y)
    assert isinstance(frame, kind)
    assert list(frame.columns) == leaves.get_feature_names_out().tolist()
    assert make_pipeline(leaves, LogisticRegression()).fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_of_sparse_output_are_refused_by_the_parameter_s_name(leaves, container):
    asked = clone(leaves).set_output(transform=container)
    with pytest.raises(InvalidInputError, match=f"sparse_output=False to output {container} dataframes"):
        asked.fit_transform(X, Y)


def test_a_row_that_no_branch_takes_has_no_leaf():
    table = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c"] * 10)})
    leaves = LeafEncoder(C45Classifier(confidence=None), sparse_output=False).fit(table, ["x", "y", "z"] * 10)
    dense = leaves.transform(pd.DataFrame({"kind": pd.Categorical(["b", None], categories=["a", "b", "c"])}))
    assert dense.sum(axis=1).tolist() == [1, 0]


def test_other_estimators_are_refused():
    with pytest.raises(InvalidTypeError, match="must be a tree or forest of jaxtree, got DecisionTreeClassifier"):
        LeafEncoder(PeerTree()).fit(X, Y)
    with pytest.raises(InvalidInputError, match="'sparse_output'"):
        LeafEncoder(DecisionTreeClassifier(), sparse_output="no").fit(X, Y)
