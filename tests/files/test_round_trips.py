"""Small tables of any content: in every form an estimator predicts what it did, or the form says why it cannot."""

import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier

import jaxtree
from jaxtree.errors import InvalidInputError
from tests.export.running import as_numbers, compile_c, run_c, run_onnx, run_sql
from tests.export.test_shipping import assert_same_as_onnx

ROWS = 16
NUMBERS = [0.0, -0.0, 1.5, -2.25, 1e-30, 3e5, np.nan]
WORDS = ["a", "bc", "it's", "ü", None]

ESTIMATORS = {
    "cart": lambda: jaxtree.DecisionTreeClassifier(max_depth=3),
    "cart of branches": lambda: jaxtree.DecisionTreeClassifier(missing="branch", categorical_splits="multiway"),
    "regression": lambda: jaxtree.DecisionTreeRegressor(max_depth=3),
    "c45": lambda: jaxtree.C45Classifier(min_samples_leaf=1),
    "id3": lambda: jaxtree.ID3Classifier(encoding="onehot"),
}

plain_tables = st.lists(
    st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), min_size=ROWS, max_size=ROWS
).map(lambda rows: np.array(rows, np.float64))
mixed_tables = st.lists(
    st.tuples(st.sampled_from(NUMBERS), st.sampled_from(WORDS), st.booleans()), min_size=ROWS, max_size=ROWS
).map(lambda rows: pd.DataFrame(rows, columns=["number", "word", "is new"]))
targets = st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS).map(np.array)


def fitted(name, X, y):
    """The estimator, and rows that it was not fitted on: words that it has not seen are among them."""
    if isinstance(X, pd.DataFrame):
        X = X.astype({"word": object})
        rows = X.assign(word=X["word"].where(np.arange(ROWS) % 5 > 0, "never seen"), number=X["number"] + 0.25)
        rows = pd.concat([X, rows], ignore_index=True)
    else:
        rows = np.concatenate([X, X[:, ::-1] + 0.25])
    return ESTIMATORS[name]().fit(X, y), rows


def same_or_refused(estimator, X, form):
    """Whether a form predicts the same; it may refuse what it cannot say, and must name a reason."""
    try:
        form(estimator, X)
    except InvalidInputError as error:
        assert any(word in str(error) for word in ("missing", "words", "thresholds", "equally frequent"))
        return False
    return True


def through_a_file(folder):
    def form(estimator, X):
        estimator.save(folder / "model")
        loaded = jaxtree.load(folder / "model")
        for name in ("predict", "apply", *(["predict_proba"] if is_classifier(estimator) else [])):
            np.testing.assert_array_equal(getattr(loaded, name)(X), getattr(estimator, name)(X))

    return form


def through_onnx(estimator, X):
    frame = X if isinstance(X, np.ndarray) else X.assign(word=X["word"].fillna(""))
    assert_same_as_onnx(estimator, X, run_onnx(estimator, frame, np.float64))


def through_sql(estimator, X):
    assert run_sql(jaxtree.to_sql(estimator), X) == estimator.predict(X).tolist()


def through_c(folder):
    def form(estimator, X):
        folder_of_one = folder / f"{len(list(folder.iterdir()))}"
        text = jaxtree.to_c(estimator)
        folder_of_one.mkdir()
        outputs, labels = run_c(compile_c(shutil.which("cc"), text, folder_of_one), estimator, X)
        expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
        np.testing.assert_array_equal(outputs.reshape(expected.shape), expected)
        if is_classifier(estimator):
            np.testing.assert_array_equal(estimator.classes_[labels], estimator.predict(X))

    return form


def through_scikit_learn(estimator, X):
    exported = jaxtree.to_sklearn(estimator)
    with np.errstate(under="ignore"):
        rounded = X.astype(np.float32)
    np.testing.assert_array_equal(exported.predict(rounded), estimator.predict(rounded))


def through_treelite(estimator, X):
    treelite = pytest.importorskip("treelite")
    said = treelite.gtil.predict(jaxtree.to_treelite(estimator), as_numbers(estimator, X))
    expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    np.testing.assert_array_equal(said.reshape(expected.shape), expected)


def through_jax(estimator, X):
    values = estimator.encoder_.values(X).astype(np.float32)
    said = jaxtree.to_jax_export(estimator).call(values)
    if is_classifier(estimator):
        np.testing.assert_allclose(said[1], estimator.predict_proba(as_float32(X)), atol=1e-6)
    else:
        np.testing.assert_allclose(said, estimator.predict(as_float32(X)), rtol=1e-5, atol=1e-5)


def as_float32(X):
    return X.astype(np.float32) if isinstance(X, np.ndarray) else X.assign(number=X["number"].astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, kind", [*((name, "mixed") for name in ESTIMATORS), ("cart", "plain"), ("regression", "plain")]
)
def test_every_form_predicts_the_same_or_says_why_not(name, kind, tmp_path_factory):
    forms = [through_a_file(tmp_path_factory.mktemp("files")), through_onnx, through_sql, through_treelite, through_jax]
    forms += [through_scikit_learn] if kind == "plain" else []
    forms += [through_c(tmp_path_factory.mktemp("c"))] if shutil.which("cc") else []
    said = []

    @settings(max_examples=3)
    @given(plain_tables if kind == "plain" else mixed_tables, targets)
    def run(X, y):
        estimator, rows = fitted(name, X, y)
        said.extend(same_or_refused(estimator, rows, form) for form in forms)

    run()
    assert any(said)
