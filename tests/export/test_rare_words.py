"""Trees of columns whose rare words share a category, in other programs: a word never seen is one of them."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.export.node_tables import to_dataframe
from jaxtree.table.rare_words import RareWords
from tests.export.running import as_numbers, compile_c, run_c, run_onnx, run_sql
from tests.export.test_shipping import assert_same_as_onnx, compiler

__all__ = ["compiler"]

FEW = {"max_categories": 4, "random_state": 0}
MAKERS = {
    "subset": lambda: jaxtree.DecisionTreeClassifier(max_depth=5, categorical_splits="subset", **FEW),
    "one_vs_rest": lambda: jaxtree.DecisionTreeClassifier(max_depth=5, categorical_splits="one_vs_rest", **FEW),
    "multiway": lambda: jaxtree.DecisionTreeClassifier(
        max_depth=5, categorical_splits="multiway", missing="branch", **FEW
    ),
    "ordered": lambda: jaxtree.DecisionTreeClassifier(max_depth=5, categorical_splits="ordered", **FEW),
    "regression": lambda: jaxtree.DecisionTreeRegressor(max_depth=5, categorical_splits="ordered", **FEW),
    "onehot": lambda: jaxtree.ID3Classifier(max_depth=4, encoding="onehot", missing="learn", **FEW),
    "forest": lambda: jaxtree.RandomForestClassifier(3, max_depth=4, **FEW),
    "boosted": lambda: jaxtree.GradientBoostingClassifier(4, max_depth=3, **FEW),
    "hardened": lambda: jaxtree.SoftTreeClassifier(depth=2, max_epochs=3, **FEW),
}


def words(number):
    """Words by falling number of rows, numbers that are categories, and some of each missing."""
    draw = np.random.default_rng(1)
    word = draw.choice(list("abcdefgh"), number, p=np.arange(8, 0, -1) / 36)
    shop = draw.choice(np.arange(10, 18), number, p=np.arange(8, 0, -1) / 36).astype(float)
    X = pd.DataFrame({"word": word.astype(object), "shop": shop, "size": draw.normal(size=number).round(1)})
    score = X["size"] + np.isin(word, ["a", "f"]) - (shop == 11) + 0.1 * draw.normal(size=number)
    X.loc[draw.random(number) < 0.1, "word"] = None
    X.loc[draw.random(number) < 0.1, "shop"] = np.nan
    return X, score.to_numpy()


@functools.cache
def fitted(name):
    X, score = words(200)
    estimator = MAKERS[name]().set_params(categorical_features=["word", "shop"])
    with warnings.catch_warnings(action="ignore"):
        estimator.fit(X, score if name == "regression" else score > 0.3)
    return estimator.harden() if name == "hardened" else estimator


def rows():
    """All words with all shops, some that fit has not seen, and missing ones."""
    shops, sizes = [*range(10, 18), 99.0, np.nan], [-1.0, -0.28125, 0.0, 0.28125, 1.0]
    every = [(word, shop, size) for word in [*"abcdefgh", "never", None] for shop in shops for size in sizes]
    return pd.DataFrame(every, columns=["word", "shop", "size"]).astype({"word": object, "shop": float})


@pytest.mark.parametrize("name", MAKERS)
def test_words_that_are_rare_or_never_seen_are_one(name):
    estimator, X = fitted(name), rows()
    for place, known in enumerate((3, 3)):
        column = estimator.schema_.columns[place]
        assert isinstance(column.categories[known], RareWords) and len(column.categories) == known + 1
    predicted = estimator.predict(X)
    for column, rare, never in (("word", "h", "never"), ("shop", 17.0, 99.0)):
        np.testing.assert_array_equal(predicted[X[column] == rare], predicted[X[column] == never])


@pytest.mark.parametrize("name", MAKERS)
def test_sql_predicts_the_same(name):
    estimator, X = fitted(name), rows()
    if name == "forest":
        shares = run_sql(jaxtree.to_sql(estimator, share_of=True), X)
        np.testing.assert_allclose(shares, estimator.predict_proba(X)[:, 1], rtol=1e-15)
    else:
        np.testing.assert_array_equal(run_sql(jaxtree.to_sql(estimator), X), estimator.predict(X))


@pytest.mark.parametrize("name", MAKERS)
def test_c_predicts_the_same(name, compiler, tmp_path):
    """Numbers that are categories are words of C, too."""
    estimator, X = fitted(name), rows()
    named = X.assign(shop=X["shop"].map(lambda shop: None if np.isnan(shop) else repr(shop)).astype(object))
    outputs, _ = run_c(compile_c(compiler, jaxtree.to_c(estimator, name="tree"), tmp_path), estimator, named)
    expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)[:, None]
    np.testing.assert_allclose(outputs, expected, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "hardened"])
def test_onnx_and_treelite_predict_the_same(name):
    pytest.importorskip("onnxruntime")
    treelite = pytest.importorskip("treelite")
    estimator, X = fitted(name), rows()
    said = run_onnx(estimator, X, np.float32)
    if name == "boosted":
        np.testing.assert_allclose(said["probabilities"], estimator.predict_proba(X), atol=1e-12)
    else:
        assert_same_as_onnx(estimator, X, said)
    told = treelite.gtil.predict(jaxtree.to_treelite(estimator), as_numbers(estimator, X))
    expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    if name == "boosted":
        expected = expected[:, 1]
    np.testing.assert_allclose(told.reshape(expected.shape), expected, atol=1e-6)


def test_texts_and_pages_name_them(tmp_path):
    assert "any other" in jaxtree.export_text(fitted("multiway"))
    assert "word = any other" in " ".join(to_dataframe(fitted("multiway"))["condition"].dropna())
    page = jaxtree.to_html(fitted("subset"))
    assert "Column word has 8 words: the 5 rarest" in page and "Column shop has 8 words" in page
    assert "any other" in str(jaxtree.explain_row(fitted("multiway"), rows()[rows()["word"] == "h"][:1]))
