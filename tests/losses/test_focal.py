"""The focal loss: its formula, its derivatives by differences, and models that are made with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree import GradientBoostingClassifier, SoftTreeClassifier
from jaxtree.boosting import Loss, focal, logistic, softmax
from jaxtree.errors import InvalidInputError
from jaxtree.losses.classes import for_classes

RNG = np.random.default_rng(0)
STEP = 1e-5


def rows(num_scores):
    scores = 3 * RNG.normal(size=(num_scores, 30))
    return scores, RNG.integers(0, max(num_scores, 2), 30)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("num_scores", [1, 2, 4])
def test_values_and_derivatives_are_those_of_the_formula(gamma, num_scores):
    scores, target = rows(num_scores)
    loss = focal(gamma, num_scores, "full")
    with jax.enable_x64(True):

        def formula(at):
            probability = np.asarray(loss.predict(jnp.asarray(at)))
            probability = np.concatenate([1 - probability, probability]) if num_scores == 1 else probability
            own = probability[target, np.arange(len(target))]
            return -((1 - own) ** gamma) * np.log(own)

        np.testing.assert_allclose(loss.values(jnp.asarray(scores), target, {}), formula(scores), rtol=1e-9)
        made = loss.derivatives(jnp.asarray(scores), jnp.asarray(target), jnp.ones(30), {})
        for number, unit in enumerate(np.eye(num_scores)):
            step = STEP * unit[:, None]
            slope = (formula(scores + step) - formula(scores - step)) / (2 * STEP)
            np.testing.assert_allclose(made.gradient[number], slope, atol=1e-7)


@pytest.mark.parametrize("num_scores", [1, 3])
def test_derivatives_of_far_scores_are_numbers(num_scores):
    far = jnp.outer(jnp.arange(1, num_scores + 1), jnp.array([1e4, -1e4, 80.0, -80.0]))
    made = focal(0.5, num_scores).derivatives(far, jnp.array([0, 1, 1, 0]), jnp.ones(4), {})
    assert np.isfinite(made.gradient).all() and (made.hessian >= 0).all()


def test_without_gamma_it_is_the_log_loss():
    scores, target = rows(3)
    same = focal(0, 3).values(jnp.asarray(scores), target, {})
    np.testing.assert_allclose(same, softmax(3).values(jnp.asarray(scores), target, {}), rtol=1e-5)
    same = focal(0).values(jnp.asarray(scores[:1]), target % 2, {})
    np.testing.assert_allclose(same, logistic().values(jnp.asarray(scores[:1]), target % 2, {}), rtol=1e-5)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_boosting_by_it_predicts_classes_and_stops_early(num_classes, tmp_path):
    X = RNG.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=400), [0.0, 0.8][: num_classes - 1])
    model = GradientBoostingClassifier(60, loss=focal(gamma=2), early_stopping=True, random_state=0).fit(X, y)
    assert model.loss_ == focal(2, 1 if num_classes == 2 else 3)
    assert model.score(X, y) > 0.8 and model.n_estimators_ < 60
    (name,) = model.evals_result_["validation_0"]
    assert name == str(model.loss_)
    share, usual = model.predict_proba(X), GradientBoostingClassifier(60).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-6)
    assert share.max(axis=1).mean() < usual.max(axis=1).mean()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "model").predict_proba(X), share)


def test_weights_are_factors_and_rows_without_any_count_for_nothing():
    scores, target = rows(3)
    loss, weight = focal(1.5, 3), np.where(np.arange(30) < 10, 2.0, 1.0)
    once = loss.derivatives(jnp.asarray(scores), jnp.asarray(target), jnp.ones(30), {})
    made = loss.derivatives(jnp.asarray(scores), jnp.asarray(target), jnp.asarray(weight), {})
    np.testing.assert_allclose(made.gradient, weight * once.gradient, rtol=1e-6)
    np.testing.assert_allclose(made.hessian, weight * once.hessian, rtol=1e-6)
    X, y = RNG.normal(size=(90, 2)), RNG.integers(0, 3, 90)
    few = {"n_estimators": 5, "loss": focal(1.5), "max_depth": 2}
    one = GradientBoostingClassifier(**few).fit(X, y, np.where(np.arange(90) < 60, 1.0, 0.0))
    other = GradientBoostingClassifier(**few).fit(X[:60], y[:60])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("make", [GradientBoostingClassifier, SoftTreeClassifier])
def test_functions_are_losses_of_classes_too(make):
    def brier(scores, target, extras):
        return jnp.sum((jax.nn.softmax(scores) - (jnp.arange(len(scores)) == target)) ** 2)

    X = RNG.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "high", "low")
    few = {"n_estimators": 10} if make is GradientBoostingClassifier else {"max_epochs": 30, "random_state": 0}
    for loss in (brier, Loss(brier, num_scores=2), focal(1)):
        model = make(loss=loss, **few).fit(X, y)
        assert model.score(X, y) > 0.9
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)


def test_what_does_not_fit_is_refused():
    for wrong, words in ((softmax(2), "3 scores, one for each of 3 classes, got 2"), (logistic(), "got 1")):
        with pytest.raises(InvalidInputError, match=words):
            for_classes(wrong, 3)
    for wrong in ({"gamma": -1.0}, {"num_scores": 0}, {"hessian": "one"}):
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            focal(**wrong)
    with pytest.raises(InvalidInputError, match=r"hessian=\"full\" is of the log loss and of focal"):
        own = Loss(lambda scores, target, extras: jnp.sum(scores**2), num_scores=3, name="own")
        GradientBoostingClassifier(2, loss=own, hessian="full").fit(RNG.normal(size=(30, 2)), np.arange(30) % 3)
