"""Fits and predictions of tables in parts are those of the same table as a whole."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    ReducedError,
    export_text,
)
from jaxtree.errors import InvalidInputError
from jaxtree.table import summary

NUM_ROWS = 1500
FEATURES = ["x", "few", "word"]


def make_table():
    rng = np.random.default_rng(0)
    x, few, word = rng.normal(size=NUM_ROWS), rng.integers(0, 5, NUM_ROWS), rng.integers(0, 3, NUM_ROWS)
    label = np.where((x > 0.3) ^ (few > 2) ^ (word == 1), "yes", "no")
    columns = {
        "label": label, "x": pa.array(x.astype(np.float32), mask=rng.random(NUM_ROWS) < 0.1), "few": few,
        "word": np.array(["a", "b", "c"])[word], "number": x + few, "weight": rng.integers(1, 4, NUM_ROWS),
    }  # fmt: skip
    return pa.table(columns)


TABLE = make_table()


@pytest.fixture
def only(tmp_path):
    """Writes the features and some columns beside them to a file."""

    def write(*beside):
        pq.write_table(TABLE.select([*FEATURES, *beside]), tmp_path / "table.parquet", row_group_size=400)
        return tmp_path / "table.parquet"

    return write


@pytest.mark.parametrize("most_fitted", [400, 200_000])
def test_a_classifier_of_a_path_is_that_of_its_table(only, most_fitted, monkeypatch):
    monkeypatch.setattr(summary, "MAX_FITTED_ROWS", most_fitted)
    path = only("label", "weight")
    X, y, weight = TABLE.select(FEATURES), TABLE["label"].to_numpy(), TABLE["weight"].to_numpy()
    make = lambda: DecisionTreeClassifier(max_depth=6, max_bins=50)  # noqa: E731
    one, other = make().fit(str(path), "label", sample_weight="weight"), make().fit(X, y, sample_weight=weight)
    assert export_text(one) == export_text(other)
    assert one.schema_ == other.schema_
    assert_array_equal(one.classes_, other.classes_)
    assert_array_equal(one.feature_names_in_, other.feature_names_in_)
    assert one.n_features_in_ == other.n_features_in_ == 3
    for method in ("predict", "predict_proba", "predict_log_proba", "apply", "encode"):
        assert_array_equal(getattr(one, method)(path), getattr(other, method)(X))
    assert (one.decision_path(path) != other.decision_path(X)).nnz == 0
    assert one.score(path, "label") == other.score(X, y)
    assert one.score(path, "label", "weight") == other.score(X, y, weight)
    assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("make", "column"),
    [(RandomForestClassifier, "label"), pytest.param(ExtraTreesRegressor, "number", marks=pytest.mark.slow)],
)
def test_a_forest_of_a_path_is_that_of_its_table(only, make, column):
    path, X, y = only(column), TABLE.select(FEATURES), TABLE[column].to_numpy()
    one, other = (make(5, max_depth=4, random_state=0).fit(*given) for given in ((path, column), (X, y)))
    assert_array_equal(one.predict(path), other.predict(X))
    assert one.score(path, column) == other.score(X, y)


@pytest.mark.slow
def test_several_outputs(only):
    path, X = only("number", "weight"), TABLE.select(FEATURES)
    y = np.stack([TABLE["number"].to_numpy(), TABLE["weight"].to_numpy()], axis=1)
    one, other = (
        DecisionTreeRegressor(max_depth=3).fit(path, ["number", "weight"]),
        DecisionTreeRegressor(max_depth=3).fit(X, y),
    )
    assert_array_equal(one.predict(path), other.predict(X))
    classes = DecisionTreeClassifier(max_depth=3).fit(only("label", "weight"), ["label", "weight"])
    assert [names.tolist() for names in classes.classes_] == [["no", "yes"], [1, 2, 3]]
    assert [share.shape for share in classes.predict_proba(TABLE.select(FEATURES).to_batches())] == [
        (NUM_ROWS, 2),
        (NUM_ROWS, 3),
    ]


@pytest.mark.slow
def test_a_target_beside_the_source(only):
    y = TABLE["label"].to_numpy()
    tree = DecisionTreeClassifier(max_depth=3).fit(only(), y)
    assert tree.score(only(), y) == DecisionTreeClassifier(max_depth=3).fit(TABLE.select(FEATURES), y).score(only(), y)
    with pytest.raises(InvalidInputError, match="inconsistent numbers of samples"):
        DecisionTreeClassifier().fit(only(), y[1:])


def test_rows_to_prune_with(only):
    path = only("label")
    val, y_val = TABLE.select(FEATURES)[:500], TABLE["label"].to_numpy()[:500]
    batches = TABLE.select([*FEATURES, "label"])[:500].to_batches(max_chunksize=200)
    make = lambda: DecisionTreeClassifier(pruning=ReducedError())  # noqa: E731
    one = make().fit(path, "label", X_val=batches, y_val="label")
    assert export_text(one) == export_text(make().fit(path, "label", X_val=val, y_val=y_val))
    with pytest.raises(InvalidInputError, match="give rows to prune with as X_val and y_val"):
        make().fit(path, "label")


@pytest.mark.slow
def test_trees_that_prune_with_the_rows_themselves(only):
    one, other = (
        C45Classifier().fit(X, y)
        for X, y in ((only("label"), "label"), (TABLE.select(FEATURES), TABLE["label"].to_numpy()))
    )
    assert export_text(one) == export_text(other)


WRONG = {
    r"X has no column 'z': its columns are": dict(y="z"),
    r"Input y contains NaN": dict(y="x"),
    r"no column 'w'": dict(y="label", sample_weight="w"),
    r"write it without rows of weight 0": dict(y="label", sample_weight=np.arange(NUM_ROWS)),
    r"can be read once": dict(X=iter([TABLE]), y="label"),
    r"y should be a 1d array": dict(y=None),
}


@pytest.mark.parametrize(("message", "given"), WRONG.items())
def test_what_cannot_be_fitted(message, given, only):
    with pytest.raises(InvalidInputError, match=message):
        DecisionTreeClassifier().fit(**{"X": only("label", "weight"), **given})


def test_what_cannot_be_predicted(only):
    tree = DecisionTreeClassifier(max_depth=2).fit(only("label"), "label")
    with pytest.raises(InvalidInputError, match="Feature names unseen at fit time:\n- number"):
        tree.predict(only("label", "number"))
    with pytest.raises(InvalidInputError, match="no rows"):
        tree.predict([TABLE[:0]])


def test_columns_named_as_those_without_names_and_columns_without(recwarn):
    X, y = np.random.default_rng(0).normal(size=(NUM_ROWS, 2)), np.arange(NUM_ROWS) % 2
    named = pa.table({"x0": X[:, 0], "x1": X[:, 1]})
    tree = DecisionTreeClassifier(max_depth=2).fit([named], y)
    assert_array_equal(tree.feature_names_in_, ["x0", "x1"])
    bare = tree.fit(lambda: [X], y)
    assert not hasattr(bare, "feature_names_in_")
    assert_array_equal(bare.predict(lambda: [X[:500], X[500:]]), tree.predict(X))
    assert not [warning for warning in recwarn if "feature names" in str(warning.message)]
