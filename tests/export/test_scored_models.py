"""Boosted trees and additive models in other programs: scores, and predictions from them, on rows with unseen words."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from jaxtree.errors import InvalidInputError
from jaxtree.export.programs import to_c, to_jax_export
from jaxtree.export.sql import to_sql
from tests.examples import example
from tests.export.running import c_rows, compile_c, run_onnx, run_sql
from tests.export.shipping import edge_rows
from tests.export.test_shipping import compiler
from tests.marks import are_slow

__all__ = ["compiler"]

BOOSTED = (
    *("boosted", "boosted_classes", "boosted_regression", "boosted_counts", "boosted_normal", "boosted_own"),
    *("boosted_ranker", "boosted_distribution", "boosted_lognormal"),
)
ADDITIVE = ("additive", "additive_classes", "additive_regression", "additive_counts", "additive_own")
EVERY = (*BOOSTED, *ADDITIVE)


def predictions(estimator, X):
    return estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)[:, None]


def assert_close(name, said, expected):
    """Terms of additive models are added up in another order."""
    np.testing.assert_allclose(said, expected, rtol=1e-9 if name in ADDITIVE else 1e-12)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=[pytest.mark.slow] * (name in BOOSTED[5:]))
        for name in EVERY
        for dtype in (np.float64, *[np.float32] * (name in BOOSTED))
    ],
)
def test_onnx_has_scores_and_predictions(name, dtype):
    estimator = example(name)
    X = edge_rows(estimator, dtype=dtype)
    said = run_onnx(estimator, X, dtype)
    np.testing.assert_array_equal(said["scores"], estimator.raw_scores(X))
    assert_close(name, said["probabilities" if is_classifier(estimator) else "variable"], predictions(estimator, X))
    if is_classifier(estimator):
        np.testing.assert_array_equal(said["label"], estimator.predict(X))


@pytest.mark.parametrize("name", EVERY)
def test_c_has_scores_and_predictions(name, compiler, tmp_path):
    estimator = example(name)
    X = edge_rows(estimator)
    library = compile_c(compiler, to_c(estimator), tmp_path)
    scores, expected = estimator.raw_scores(X), predictions(estimator, X)
    np.testing.assert_array_equal(c_rows(library, library.tree_scores, estimator, X, scores.shape[1]), scores)
    function = library.tree_predict_proba if is_classifier(estimator) else library.tree_predict
    assert_close(name, c_rows(library, function, estimator, X, expected.shape[1]), expected)
    if is_classifier(estimator):
        places = c_rows(library, library.tree_predict, estimator, X, 0)
        np.testing.assert_array_equal(estimator.classes_[places], estimator.predict(X))


@pytest.mark.parametrize("name", EVERY)
def test_sql_has_scores_and_predictions(name):
    estimator = example(name)
    X = edge_rows(estimator)
    said = [run_sql(to_sql(estimator, score=score), X) for score in range(estimator.start_.size)]
    bounds = {"rtol": 1e-13, "atol": 1e-13} if name in ADDITIVE else {"rtol": 1e-15}
    np.testing.assert_allclose(np.array(said).T, estimator.raw_scores(X), **bounds)
    asked = [{"share_of": label} for label in estimator.classes_.tolist()] if is_classifier(estimator) else [{}]
    said = [run_sql(to_sql(estimator, **own), X) for own in asked]
    assert_close(name, np.array(said).T, predictions(estimator, X))


def test_sql_says_which_of_two_classes():
    estimator = example("boosted")
    X = edge_rows(estimator)
    assert run_sql(to_sql(estimator), X) == estimator.predict(X).tolist()


def test_sql_asks_for_what_it_needs():
    with pytest.raises(InvalidInputError, match="share_of=<class>"):
        to_sql(example("boosted_classes"))
    for wrong in (2, -1, True):
        with pytest.raises(InvalidInputError, match="score must be from 0 to 1, and stands alone"):
            to_sql(example("boosted_lognormal"), score=wrong)
    with pytest.raises(InvalidInputError, match="share_of must be a class"):
        to_sql(example("boosted"), share_of="unknown")
    with pytest.raises(InvalidInputError, match="score is for boosted trees, got RandomForestRegressor"):
        to_sql(example("forest_regression"), score=0)


@pytest.mark.parametrize("name", are_slow(EVERY, *BOOSTED[3:]))
def test_a_program_of_jax_has_every_link(name):
    from jax import export

    estimator = example(name)
    X = edge_rows(estimator, dtype=np.float32)
    values = estimator.encoder_.values(X).astype(np.float32)
    *said, scores = export.deserialize(to_jax_export(estimator).serialize()).call(values)
    np.testing.assert_allclose(scores, estimator.raw_scores(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.reshape(said[-1], (len(X), -1)), predictions(estimator, X), rtol=2e-5, atol=1e-5)
    if is_classifier(estimator):
        np.testing.assert_array_equal(estimator.classes_[np.asarray(said[0])], estimator.predict(X))
