"""Fitted estimators as functions, and their predictions of arrays of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.examples import example, of_every_class, rows_of, unfitted

FAST = ("cart_fraction", "cart_outputs", "regression_outputs", "boosted_classes", "soft", "hardened_regression")


def listed(values):
    return values if isinstance(values, list) else [values]


@pytest.mark.parametrize("name", of_every_class(unfitted(), FAST))
def test_a_model_is_a_function_of_raw_numbers(name):
    """Rows are such as narrow floats hold: C4.5's thresholds are numbers of its table, which they would round past."""
    model = example(name)
    values = model.encoder_.values(rows_of(name)).astype(np.float32).astype(float)
    wanted = model.predict_values(values)
    for is_wide, tolerance in ((False, 2e-5), (True, 1e-5 if model.model_kind.value.startswith("a soft") else 1e-12)):
        with jax.enable_x64(is_wide):
            parameters, apply = model.functional()
            rows = jnp.asarray(values)
            found = listed(jax.jit(apply)(parameters, rows))
            one_by_one = listed(jax.vmap(lambda row: apply(parameters, row[None]))(rows[:3]))  # noqa: B023
        for part, row in zip(found, one_by_one, strict=True):
            np.testing.assert_allclose(row[:, 0], part[:3], rtol=1e-5, atol=1e-6)
        whole = np.concatenate([np.reshape(part, (len(values), -1)) for part in found], axis=1)
        np.testing.assert_allclose(whole, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["cart_plain", "boosted", "soft_forest_regression", "additive"])
def test_predictions_of_arrays_are_arrays(name):
    model, X = example(name), rows_of(name)
    rows = jnp.asarray(model.encoder_.values(X))
    methods = ["predict_proba", "predict_log_proba"] if is_classifier(model) else ["predict"]
    methods += ["raw_scores", "decision_function"] if hasattr(model, "decision_function") else []
    for method in methods:
        predict = getattr(model, method)
        wanted, eager, traced = predict(X), predict(rows), jax.jit(predict)(rows)
        assert isinstance(wanted, np.ndarray) and isinstance(eager, jax.Array)
        np.testing.assert_allclose(eager, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(traced, eager, rtol=1e-5, atol=1e-6)


def test_classes_and_offsets_follow():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    rows, offset = jnp.asarray(X), X[:, 2]
    model = jaxtree.GradientBoostingClassifier(3).fit(X, y)
    np.testing.assert_array_equal(jax.jit(model.predict)(rows), model.predict(X))
    np.testing.assert_array_equal(jax.vmap(lambda row: model.predict(row[None])[0])(rows), model.predict(X))
    np.testing.assert_allclose(
        model.predict_proba(rows, offset=offset), model.predict_proba(X, offset=offset), rtol=1e-5
    )
    # A later fit is another model.
    before = model.predict_proba(rows)
    assert np.abs(model.fit(X, 2 - y).predict_proba(rows) - before).max() > 0.1
    _, scores = model.functional("scores")
    assert scores(model.functional()[0], X).shape == (80, 3)
    assert model.score(rows, 2 - y) == model.score(X, 2 - y)


def test_leaf_values_have_derivatives_and_rows_none():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    model = jaxtree.GradientBoostingRegressor(4, min_samples_leaf=5).fit(X, X[:, 0])
    parameters, apply = model.functional()
    by_value, by_row = jax.grad(lambda own, rows: apply(own, rows).sum(), argnums=(0, 1), allow_int=True)(parameters, X)
    # Every row ends in a leaf of each of four trees, whose mean is the prediction.
    assert by_value.value.sum() == pytest.approx(80) and not by_row.any()
    assert repr(parameters).startswith("TreeParameters(trees: 4, ")


def test_the_host_says_so():
    model, X = example("cart_outputs"), rows_of("cart_outputs")
    rows = jnp.asarray(model.encoder_.values(X))
    with pytest.raises(InvalidTypeError, match="words"):
        model.predict(rows)
    with pytest.raises(InvalidTypeError, match="functional"):
        jax.jit(model.apply)(rows)
    with pytest.raises(InvalidInputError, match="scores"):
        model.functional("scores")
    with pytest.raises(InvalidInputError, match="one of 'predictions', 'scores', got 'odds'"):
        model.functional("odds")
    with pytest.raises(InvalidInputError, match="as in fit, got"):
        model.predict_proba(rows[:, :1])
