"""Data frames of all kinds give one tree, keep their names, and go where scikit-learn's estimators go."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jaxtree
from jaxtree.errors import InvalidTypeError

CHANCE = np.random.default_rng(0)
AGE = np.where(CHANCE.random(60) < 0.1, np.nan, CHANCE.integers(20, 80, 60).astype(float))
SIZE = CHANCE.normal(size=60)
SEX = CHANCE.choice(["m", "f"], 60)
ILL = np.where((np.nan_to_num(AGE, nan=30) > 45) ^ (SEX == "f"), "yes", "no")

PANDAS = pd.DataFrame({"age": AGE, "size": SIZE, "sex": SEX})
POLARS = pl.DataFrame({"age": [None if np.isnan(age) else age for age in AGE], "size": SIZE, "sex": SEX})
ARROW = pa.table({"age": POLARS["age"].to_list(), "size": SIZE, "sex": SEX.tolist()})
FRAMES = {
    "pandas": PANDAS,
    "pandas of categories": PANDAS.astype({"sex": "category"}),
    "pandas on Arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "polars": POLARS,
    "polars lazy": POLARS.lazy(),
    "pyarrow": ARROW,
    "structured": np.array(
        list(zip(AGE, SIZE, SEX.tolist(), strict=True)), [("age", "f8"), ("size", "f8"), ("sex", "U1")]
    ),
}


@pytest.fixture(scope="module")
def tree():
    return jaxtree.DecisionTreeClassifier(max_depth=4).fit(PANDAS, ILL)


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
def test_every_frame_gives_the_same_tree_and_predictions(tree, X):
    fitted = jaxtree.DecisionTreeClassifier(max_depth=4).fit(X, ILL)
    assert fitted.feature_names_in_.tolist() == ["age", "size", "sex"]
    assert jaxtree.export_text(fitted) == jaxtree.export_text(tree)
    np.testing.assert_array_equal(tree.predict_proba(X), tree.predict_proba(PANDAS))
    np.testing.assert_array_equal(fitted.predict(PANDAS), tree.predict(PANDAS))


TARGETS = {
    "pandas": pd.Series(ILL),
    "pandas of categories": pd.Series(ILL, dtype="category"),
    "pandas on Arrow": pd.Series(ILL, dtype="string[pyarrow]"),
    "polars": pl.Series(ILL),
    "pyarrow": pa.chunked_array([ILL.tolist()]),
    "list": ILL.tolist(),
}


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_targets_of_every_kind(tree, y):
    assert jaxtree.export_text(jaxtree.DecisionTreeClassifier(max_depth=4).fit(PANDAS, y)) == jaxtree.export_text(tree)


@pytest.mark.parametrize(("kind", "table"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(tree, kind, table):
    encoder = jaxtree.LeafEncoder(tree, sparse_output=False).set_output(transform=kind)
    leaves = encoder.fit(PANDAS, ILL).transform(POLARS if kind == "polars" else PANDAS)
    assert isinstance(leaves, table) and list(leaves.columns) == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize("X", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_pipelines_and_column_transformers_hand_names_on(X):
    columns = ColumnTransformer([("scaled", StandardScaler(), ["age", "size"])], remainder="passthrough")
    columns.set_output(transform="pandas" if isinstance(X, pd.DataFrame) else "polars")
    pipeline = make_pipeline(columns, jaxtree.DecisionTreeClassifier(max_depth=4)).fit(X, ILL)
    assert pipeline[-1].feature_names_in_.tolist() == ["scaled__age", "scaled__size", "remainder__sex"]
    assert pipeline.score(X, ILL) > 0.75


@pytest.mark.parametrize("X", [FRAMES["pandas on Arrow"], POLARS, ARROW], ids=["pandas on Arrow", "polars", "pyarrow"])
def test_cross_validation_and_calibration(X):
    tree = jaxtree.DecisionTreeClassifier(max_depth=2)
    scores = cross_val_score(tree, X, ILL, cv=2, error_score="raise")
    np.testing.assert_allclose(scores, cross_val_score(tree, PANDAS, ILL, cv=2))
    calibrated = CalibratedClassifierCV(tree, cv=2).fit(X, ILL)
    assert calibrated.predict_proba(X).shape == (60, 2)


def test_numbers_of_a_structured_array_need_no_words():
    numbers = np.array([(1, 2.0), (3, np.nan)], [("a", "i4"), ("b", "f4")])
    tree = jaxtree.DecisionTreeRegressor().fit(numbers, [0.0, 1.0])
    assert tree.predict(numbers).tolist() == [0.0, 1.0]
    assert tree.predict([[3, None]]).tolist() == [1.0]
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(numbers[["b", "a"]])


def test_fields_with_axes_of_their_own_are_refused():
    with pytest.raises(InvalidTypeError, match="field 'b' of the structured array"):
        jaxtree.DecisionTreeRegressor().fit(np.zeros(2, [("a", "f8"), ("b", "f8", 3)]), [0, 1])
