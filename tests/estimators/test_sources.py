"""Fits and predictions of tables in parts are those of the same table as a whole."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import jaxtree
from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    ReducedError,
    export_text,
)
from jaxtree.cli.columns import read_labelled
from jaxtree.cli.session import ColumnOptions
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.lines import TextFormat
from jaxtree.table import summary
from jaxtree.table.files.read import read_contents

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


CSV = """id,label,x,word,seen
007,yes,1.5,a,2020-01-31
012,no,,b,2020-02-01
101,yes,2.5,a,
130,no, 4 ,NA,2020-02-03
"""


def test_a_file_of_lines_is_read_as_the_command_line_reads_it(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text(CSV + "".join(CSV.split("\n", 1)[1] for _ in range(9)))
    rows = read_labelled(read_contents(str(path), TextFormat()), "label", ColumnOptions())
    make = lambda: DecisionTreeClassifier(max_depth=3)  # noqa: E731
    one, other = make().fit(path, "label"), make().fit(rows.X, rows.y)
    assert one.schema_ == other.schema_ and export_text(one) == export_text(other)
    assert [column.kind for column in one.schema_.columns] == ["categorical", "numeric", "categorical", "numeric"]
    assert one.score(str(path), "label") == other.score(rows.X, rows.y) == 1.0
    assert_array_equal(one.predict(path), other.predict(rows.X))
    pq.write_table(pa.Table.from_pandas(rows.X.assign(label=rows.y)), tmp_path / "no_suffix")
    assert export_text(make().fit(tmp_path / "no_suffix", "label")) == export_text(one)


def test_a_file_of_lines_is_divided_for_early_stopping(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    options = {"early_stopping": True, "random_state": 0, "max_depth": 2}
    one = GradientBoostingClassifier(5, **options).fit(tmp_path / "t.csv", "label", sample_weight="weight")
    frame = pd.read_csv(tmp_path / "t.csv")
    other = GradientBoostingClassifier(5, **options).fit(
        frame.drop(columns=["label", "weight"]), frame["label"], sample_weight=frame["weight"]
    )
    assert one.evals_result_ == other.evals_result_ and list(one.feature_names_in_) == [*FEATURES, "number"]
    assert_array_equal(one.predict_proba(tmp_path / "t.csv"), other.predict_proba(frame[[*FEATURES, "number"]]))


def test_pages_descriptions_and_rows_in_place_take_a_file_as_fits_do(tmp_path):
    path = tmp_path / "t.csv"
    TABLE.to_pandas().drop(columns="weight").to_csv(path, index=False)
    frame = pd.read_csv(path)
    X, y = frame.drop(columns="label"), frame["label"]
    one, other = (DecisionTreeClassifier(max_depth=2).fit(*given) for given in ((path, "label"), (X, y)))
    assert jaxtree.to_html(one, path, "label") == jaxtree.to_html(other, X, y)
    assert str(jaxtree.describe(path, "label")) == str(jaxtree.describe(X, y))
    added = one.add_rows(path, "label"), other.add_rows(X, y)
    assert export_text(added[0]) == export_text(added[1])
    assert_array_equal(added[0].tree_.n_node_samples, added[1].tree_.n_node_samples)


def test_searches_say_that_a_file_must_be_read(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    tree, path = DecisionTreeClassifier(), str(tmp_path / "t.csv")
    for use in (
        lambda: jaxtree.SearchCV(tree, {"max_depth": [1]}).fit(path, "label"),
        lambda: jaxtree.tune(path, "label"),
        lambda: jaxtree.compare(tree, path, "label"),
    ):
        with pytest.raises(InvalidTypeError, match=r"needs a table in memory, got '.*t.csv': read it first"):
            use()


def test_a_file_that_is_no_table_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(InvalidInputError, match=r"t\.csv has no rows; its columns are a, b"):
        DecisionTreeClassifier().fit(tmp_path / "t.csv", "a")


@pytest.mark.parametrize("new", [["7", "8", "007"], ["2020-01-31"] * 3, ["true"] * 3])
def test_columns_of_words_have_words_in_later_files_whatever_their_cells_are(new, tmp_path):
    old = pd.DataFrame({"code": ["a", "7", "8", "007", "2020-01-31", "true"] * 4, "y": [1.0, 7, 8, 9, 20, 4] * 4})
    old.to_csv(tmp_path / "old.csv", index=False)
    later = pd.DataFrame({"code": new})
    later.to_csv(tmp_path / "new.csv", index=False)
    tree = DecisionTreeRegressor(min_samples_leaf=1).fit(tmp_path / "old.csv", "y")
    assert_array_equal(tree.predict(tmp_path / "new.csv"), old.set_index("code")["y"][:6][new])
    assert_array_equal(tree.predict([tmp_path / "new.csv"] * 2), np.tile(tree.predict(later), 2))
    assert_array_equal(tree.encode(tmp_path / "new.csv"), tree.encode(later))
