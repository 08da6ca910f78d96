"""Calibration: models shrink exactly towards a constant, by rows that were held out; noise moves targets by kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import SoftForestClassifier, SoftTreeClassifier, SoftTreeRegressor
from jaxtree.boosting import distributions, quantiles, squared
from jaxtree.estimators.soft.parameters import auto_share_held_out
from jaxtree.soft import SoftForm, init
from jaxtree.soft.calibration import Constant, moved
from jaxtree.soft.forest import apply_forest, forest_log_mixture, init_forest
from jaxtree.soft.model import apply, log_mixture
from jaxtree.soft.scores import ScoredTarget, blurred, spread_to_blur

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
FORM = SoftForm(2, num_features=3, num_outputs=2)
REST = np.array([0.5, -1.0])


@pytest.mark.parametrize("mixture", [None, "mean", "learned", "by_tree", "by_leaf"])
def test_outputs_shrink_by_the_factor_and_the_second_is_shifted(mixture):
    key, predict = jax.random.key(0), apply_forest if mixture else apply
    model = init_forest(FORM, num_trees=3, mixture=mixture, key=key) if mixture else init(FORM, key=key)
    old, new = predict(model, X), predict(moved(model, 0.25, 0.1, Constant(REST)), X)
    np.testing.assert_allclose(new, 0.25 * old + 0.75 * REST + np.array([0, 0.1]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_forest", [False, True])
def test_probabilities_are_a_mixture_with_those_of_the_constant(is_forest):
    key, predict = jax.random.key(0), forest_log_mixture if is_forest else log_mixture
    model = init_forest(FORM, num_trees=3, key=key) if is_forest else init(FORM, key=key)
    old, new = (np.exp(predict(own, X)) for own in (model, moved(model, 0.25, 0.0, Constant(REST, True))))
    np.testing.assert_allclose(new, 0.25 * old + 0.75 * jax.nn.softmax(REST), rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (distributions.normal(), [-1.0, 3.0]),
        (distributions.lognormal(), [0.1, 9.0]),
        (distributions.beta(), [0.1, 0.9]),
    ],
    ids=str,
)
def test_noise_keeps_targets_allowed_and_moves_each_by_its_scale(loss, target):
    rows = ScoredTarget(jnp.array(target), {}, np.zeros(2), np.ones(2))
    assert spread_to_blur(loss, rows, np.ones(2)) > 0
    for change in (-3.0, 3.0):
        new = np.asarray(blurred(loss, rows, jnp.full(2, change)).target)
        assert loss.domain.allows(new).all() and (np.sign(new - np.asarray(target)) == np.sign(change)).all()
    np.testing.assert_allclose(blurred(loss, rows, jnp.zeros(2)).target, target, rtol=1e-6)


def test_upper_bounds_of_times_move_with_lower_ones_and_counts_do_not():
    rows = ScoredTarget(jnp.array([0.0, 2.0]), {"upper": jnp.array([1.0, jnp.inf])}, np.zeros(2), np.ones(2))
    new = blurred(distributions.lognormal(), rows, jnp.full(2, np.log(2.0)))
    np.testing.assert_allclose(new.target, [0, 4], rtol=1e-6)
    np.testing.assert_allclose(new.extras["upper"], [2, np.inf], rtol=1e-6)
    counts = ScoredTarget(np.array([0.0, 2.0]), {}, np.zeros(2), np.ones(2))
    assert spread_to_blur(distributions.negative_binomial(), counts, np.ones(2)) is None


def test_fewer_rows_hold_a_larger_share_out():
    shares = [auto_share_held_out(number) for number in (50, 500, 700, 1000, 100_000)]
    assert shares == sorted(shares, reverse=True) and shares[0] == 0.2 and shares[-1] == 0.1


SMALL = {"depth": 1, "max_epochs": 20, "random_state": 0}
Y = X[:, 0] + RNG.normal(size=40)
MANY, OF_MANY = np.tile(X, (3, 1)), np.tile(Y, 3)


@pytest.mark.parametrize(
    ("loss", "holds_out"), [("normal", True), (quantiles([0.1, 0.9]), True), ("squared_error", False)], ids=str
)
def test_losses_of_several_scores_hold_rows_out(loss, holds_out):
    fit = lambda **own: SoftTreeRegressor(loss=loss, **SMALL, **own).fit(MANY, OF_MANY)  # noqa: E731
    assert ("validation_loss" in fit().history_) == holds_out
    assert "validation_loss" not in fit(validation_fraction=None).history_
    few = SoftTreeRegressor(loss=loss, **SMALL).fit(X, Y)
    assert "validation_loss" not in few.history_, "40 rows are too few"


def test_what_rows_held_out_do_not_confirm_is_a_constant():
    """Labels that rows held out contradict leave nothing of the model, of numbers and of classes."""
    held = {"X_val": X, "y_val": -10 * Y}
    numbers = SoftTreeRegressor(loss="normal", **SMALL).fit(MANY, OF_MANY, **held)
    np.testing.assert_allclose(numbers.predict(X), OF_MANY.mean(), rtol=1e-5, atol=1e-6)
    is_rare, is_rare_of_held = (own > np.quantile(own, 0.8) for own in (OF_MANY, -Y))
    for kind in (SoftTreeClassifier, SoftForestClassifier):
        model = kind(**SMALL).fit(MANY, is_rare, X_val=X, y_val=is_rare_of_held)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], is_rare.mean(), rtol=1e-4)


def test_a_training_goes_on_from_what_was_calibrated():
    model = SoftTreeRegressor(loss="normal", **SMALL).fit(MANY, OF_MANY, X_val=X, y_val=-10 * Y)
    before = model.predict(X)
    rate = {"gate_rate": 1e-9, "leaf_rate": 1e-9}
    np.testing.assert_allclose(model.set_params(**rate).partial_fit(MANY, OF_MANY).predict(X), before, rtol=1e-3)


def test_a_mean_is_not_blurred():
    model = SoftTreeRegressor(**SMALL).fit(MANY, OF_MANY)
    assert model.loss_ == squared()
    task = model.begin_fit(model.read_rows(MANY, OF_MANY))
    assert task.runs[0].hyperparameters.target_noise is None
