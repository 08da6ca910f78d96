"""Additive models in other programs: scores, and what is predicted from them, on rows with gaps and unseen words."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from jaxtree.export.programs import to_c, to_jax_export
from jaxtree.export.sql import to_sql
from tests.examples import example
from tests.export.running import c_rows, compile_c, run_onnx, run_sql
from tests.export.shipping import edge_rows
from tests.export.test_boosted_exports import predictions
from tests.export.test_shipping import compiler

__all__ = ["compiler"]

OF_CLASSES = ("additive", "additive_classes")
EVERY = (*OF_CLASSES, "additive_regression", "additive_counts", "additive_own")


@pytest.mark.parametrize("name", EVERY)
def test_onnx_has_scores_and_predictions(name):
    estimator = example(name)
    X = edge_rows(estimator)
    said = run_onnx(estimator, X, np.float64)
    np.testing.assert_array_equal(said["scores"], estimator.raw_scores(X))
    if is_classifier(estimator):
        np.testing.assert_allclose(said["probabilities"], estimator.predict_proba(X), rtol=1e-9)
        np.testing.assert_array_equal(said["label"], estimator.predict(X))
    else:
        np.testing.assert_allclose(said["variable"][:, 0], estimator.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_c_has_scores_and_predictions(name, compiler, tmp_path):
    estimator = example(name)
    X = edge_rows(estimator)
    library = compile_c(compiler, to_c(estimator), tmp_path)
    scores, expected = estimator.raw_scores(X), predictions(estimator, X)
    np.testing.assert_array_equal(c_rows(library, library.tree_scores, estimator, X, scores.shape[1]), scores)
    function = library.tree_predict_proba if is_classifier(estimator) else library.tree_predict
    np.testing.assert_allclose(c_rows(library, function, estimator, X, expected.shape[1]), expected, rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_sql_has_scores_and_predictions(name):
    estimator = example(name)
    X = edge_rows(estimator)
    said = [run_sql(to_sql(estimator, score=score), X) for score in range(estimator.start_.size)]
    np.testing.assert_allclose(np.array(said).T, estimator.raw_scores(X), rtol=1e-13, atol=1e-13)
    if is_classifier(estimator):
        said = [run_sql(to_sql(estimator, share_of=label), X) for label in estimator.classes_.tolist()]
        np.testing.assert_allclose(np.array(said).T, estimator.predict_proba(X), rtol=1e-9)
    else:
        np.testing.assert_allclose(run_sql(to_sql(estimator), X), estimator.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_a_program_of_jax_predicts_the_same(name):
    from jax import export

    estimator = example(name)
    X = edge_rows(estimator, dtype=np.float32)
    values = estimator.encoder_.values(X).astype(np.float32)
    *said, scores = export.deserialize(to_jax_export(estimator).serialize()).call(values)
    np.testing.assert_allclose(scores, estimator.raw_scores(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.reshape(said[-1], (len(X), -1)), predictions(estimator, X), rtol=2e-5, atol=1e-5)
