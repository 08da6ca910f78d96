"""Boosted trees in other programs: scores, and what is predicted from them, on rows with gaps and words."""

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
from tests.marks import rest_is_slow

__all__ = ["compiler"]

OF_CLASSES = ("boosted", "boosted_classes")
OF_NUMBERS = (
    "boosted_regression",
    "boosted_counts",
    "boosted_normal",
    "boosted_own",
    "boosted_ranker",
    "boosted_distribution",
    "boosted_lognormal",
)
EVERY = (*OF_CLASSES, *OF_NUMBERS)


def predictions(estimator, X):
    return estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)[:, None]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", rest_is_slow(EVERY, 5))
def test_onnx_has_scores_and_predictions(name, dtype):
    estimator = example(name)
    X = edge_rows(estimator, dtype=dtype)
    said = run_onnx(estimator, X, dtype)
    np.testing.assert_array_equal(said["scores"], estimator.raw_scores(X))
    if is_classifier(estimator):
        np.testing.assert_allclose(said["probabilities"], estimator.predict_proba(X), rtol=1e-12)
        np.testing.assert_array_equal(said["label"], estimator.predict(X))
    else:
        np.testing.assert_allclose(said["variable"][:, 0], estimator.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_c_has_scores_and_predictions(name, compiler, tmp_path):
    estimator = example(name)
    X = edge_rows(estimator)
    library = compile_c(compiler, to_c(estimator), tmp_path)
    scores = estimator.raw_scores(X)
    np.testing.assert_array_equal(c_rows(library, library.tree_scores, estimator, X, scores.shape[1]), scores)
    expected = predictions(estimator, X)
    function = library.tree_predict_proba if is_classifier(estimator) else library.tree_predict
    said = c_rows(library, function, estimator, X, expected.shape[1])
    np.testing.assert_allclose(said, expected, rtol=1e-12)
    if is_classifier(estimator):
        places = c_rows(library, library.tree_predict, estimator, X, 0)
        np.testing.assert_array_equal(estimator.classes_[places], estimator.predict(X))


@pytest.mark.parametrize("name", EVERY)
def test_sql_has_every_score(name):
    estimator = example(name)
    X = edge_rows(estimator)
    said = [run_sql(to_sql(estimator, score=score), X) for score in range(estimator.start_.size)]
    np.testing.assert_allclose(np.array(said).T, estimator.raw_scores(X), rtol=1e-15)


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


@pytest.mark.parametrize("name", rest_is_slow(EVERY, 3))
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
