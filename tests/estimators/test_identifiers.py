"""Targets and columns that look like identifiers of rows."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.errors import IdentifierWarning
from jaxtree.table import Encoder
from jaxtree.table.summary import merge_summaries
from tests.marks import are_slow

ESTIMATORS = {
    "tree": jaxtree.DecisionTreeClassifier(max_depth=1),
    "forest": jaxtree.RandomForestClassifier(2, max_depth=1),
    "optimal": jaxtree.OptimalTreeClassifier(max_depth=1),
    "boosted": jaxtree.GradientBoostingClassifier(n_estimators=1, max_depth=1),
    "soft": jaxtree.SoftTreeClassifier(depth=1, max_epochs=1),
}


@pytest.mark.parametrize("name", are_slow(ESTIMATORS, "boosted", "soft"))
def test_a_class_a_row_is_noted_whatever_is_fitted(name):
    X, y = np.arange(24.0)[:, None], np.arange(24)
    with pytest.warns(IdentifierWarning, match=r"y has 24 classes in 24 rows, 1\.0 rows a class"):
        clone(ESTIMATORS[name]).fit(X, y)


@pytest.mark.parametrize(
    ("num_classes", "rows_of_class", "is_noted"),
    [(20, 1, False), (21, 1, True), (21, 2, False), (100, 2, False), (101, 9, True), (101, 10, False)],
)
def test_few_classes_and_classes_of_many_rows_are_none(num_classes, rows_of_class, is_noted):
    y = np.arange(num_classes).repeat(rows_of_class)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jaxtree.DecisionTreeClassifier(max_depth=1).fit(np.zeros((len(y), 1)), y)
    assert [warning.category for warning in caught] == [IdentifierWarning] * is_noted


ROW = np.arange(40)
NAME = np.array([f"r{number:03}" for number in ROW * 7 % 40], object)
FRAME = pd.DataFrame({"name": NAME, "x": ROW % 7})
CLASSES, NUMBERS = np.array(["no", "yes"])[ROW % 7 // 4], (ROW % 7).astype(float)
ALL = {
    **{name: (model, CLASSES) for name, model in ESTIMATORS.items()},
    "id3": (jaxtree.ID3Classifier(max_depth=1), CLASSES),
    "c45": (jaxtree.C45Classifier(max_depth=1), CLASSES),
    "onehot": (jaxtree.DecisionTreeClassifier(max_depth=1, categorical_splits="one_vs_rest"), CLASSES),
    "extra": (jaxtree.ExtraTreesRegressor(2, max_depth=1), NUMBERS),
    "boosted_folds": (jaxtree.GradientBoostingRegressor(1, early_stopping="cv", cv=2, max_depth=1), NUMBERS),
    "distribution": (jaxtree.GradientBoostingDistribution(1, max_depth=1), NUMBERS),
    "additive": (jaxtree.ExplainableBoostingRegressor(max_rounds=1, interactions=0), NUMBERS),
    "soft_forest": (jaxtree.SoftForestRegressor(2, depth=1, max_epochs=1), NUMBERS),
    "search": (jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1]}, cv=2), CLASSES),
}
WARNED = r"column 'name' has a different word in every row: it looks like an identifier"


def warned_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught if warning.category is IdentifierWarning]


@pytest.mark.parametrize("num_words", [3000, 1700])
def test_there_is_one_warning_of_a_column(num_words):
    """Words that look like identifiers are rare ones, too."""
    X = pd.DataFrame({"name": [f"r{row % num_words}" for row in range(3000)]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Encoder().fit(X)
    assert [warning.category for warning in caught] == [IdentifierWarning]


@pytest.mark.parametrize("name", are_slow(ALL, "boosted", "soft", "soft_forest", "distribution", "additive"))
def test_a_word_a_row_is_noted_whatever_is_fitted(name):
    model, y = ALL[name]
    with pytest.warns(IdentifierWarning, match=WARNED):
        clone(model).fit(FRAME, y)
    assert not warned_of(lambda: clone(model).fit(FRAME[["x"]], y))


@pytest.mark.parametrize(
    "table",
    {
        "pandas": FRAME,
        "categories": FRAME.astype({"name": "category"}),
        "polars": pl.from_pandas(FRAME),
        "arrow": pa.Table.from_pandas(FRAME),
        "parts": [FRAME[:25], FRAME[25:]],
    }.items(),
    ids=lambda own: own[0],
)
def test_a_word_a_row_is_noted_from_wherever_it_comes(table, tmp_path):
    encoder = Encoder()
    (said,) = warned_of(lambda: encoder.fit(table[1]))
    assert said.startswith("column 'name' has a different word in every row")
    assert not warned_of(lambda: encoder.transform(table[1]))


def test_files_parts_of_processes_and_numbers_as_categories_are_noted(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    tree = jaxtree.DecisionTreeRegressor(max_depth=1)
    assert len(warned_of(lambda: tree.fit(str(tmp_path / "t.parquet"), NUMBERS))) == 1
    parts = [Encoder().summarise(FRAME[:25]), Encoder().summarise(FRAME[25:], first_row=25)]
    assert len(warned_of(lambda: Encoder().fit_summary(merge_summaries(parts)))) == 1
    (said,) = warned_of(lambda: Encoder(categorical_features=[0]).fit(np.stack([ROW, ROW % 7], axis=1)))
    assert said.startswith("column 'x0' has a different word in every row")


@pytest.mark.parametrize(
    ("num_words", "num_rows", "is_noted"),
    [(12, 12, False), (13, 13, True), (13, 14, False), (21, 41, True), (21, 42, False), (600, 1000, True)],
)
def test_words_of_two_rows_are_none_and_missing_ones_do_not_count(num_words, num_rows, is_noted):
    words = np.array([f"w{number % num_words}" for number in range(num_rows)], object)
    for missing in (0, num_rows):
        known = np.concatenate([words, np.full(missing, None)])
        for column in (pd.Series(known), pd.Series(known).astype("category")):
            assert len(warned_of(lambda: Encoder().fit(pd.DataFrame({"word": column})))) == is_noted  # noqa: B023


def test_categories_that_no_row_has_do_not_count():
    declared = pd.Categorical(np.array(["a", "b"])[ROW % 2], [f"w{number}" for number in range(100)] + ["a", "b"])
    assert not warned_of(lambda: Encoder().fit(pd.DataFrame({"word": declared})))
