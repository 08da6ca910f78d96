"""The unit and the origin of a target change predictions as they change the target, and nothing else.

Predictions of y * c + d are those of y, times c plus d. The right values are those of the ordinary unit, whose
fits other tests compare with oracles. Derivatives are rounded to 24 bits, so predictions are 1e-8 deviations apart;
of targets a million deviations from 0, whose own digits end at 1e-10 deviations, by as much. A Newton start ends where
1e-12 of the loss is left, which is 1e-6 deviations.
"""

import numpy as np
import pytest

from jaxtree import (
    CostComplexity,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingDistribution,
    GradientBoostingRegressor,
    OptimalTreeRegressor,
    RandomForestRegressor,
    SoftTreeRegressor,
    load,
)
from jaxtree import boosting as losses
from jaxtree.boosting import Loss, accelerated_failure_time, cox, expectile, quantile, quantiles
from jaxtree.boosting.data import MOST_ROWS_IN_DOUBLE
from tests.estimators.test_soft_losses import log_cosh
from tests.marks import are_slow, rest_is_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * RNG.standard_t(4, size=200)
POSITIVE = np.exp(Y / 2)
FEW = {"n_estimators": 8, "max_depth": 3}
TOLERANCE = 1e-6
SCALES = [(scale, 0.0) for scale in (1e-30, 1e-6, 0.01, 3.0, 1e6, 1e30)]
SHIFTS = [(1.0, 1e3), (1.0, 1e6), (1e-3, -1e3), (1e6, 1e12)]
LOSSES = {
    "squared_error": "squared_error",
    "absolute_error": "absolute_error",
    "huber": "huber",
    "pseudo_huber": "pseudo_huber",
    "quantile": quantile(0.8),
    "quantiles": quantiles([0.2, 0.7]),
    "expectile": expectile(0.8),
}
QUICK = ["normal", "laplace", "logistic", "lognormal", "weibull"]
OF_LOCATIONS = ["normal", "laplace", "logistic", "student_t"]
OF_POSITIVE = ["lognormal", "gamma", "weibull"]


def predictions(model):
    """The predictions of a model: numbers in the target's unit."""
    if not isinstance(model, GradientBoostingDistribution):
        return model.predict(X)
    # The quantiles of others take seconds to compile; their unit is a law of their own.
    level = model.predict_quantile(X, 0.9) if model.distribution in QUICK else model.predict_dist(X).mean
    return np.column_stack([model.predict(X), level])


def check(model, target, moves, tolerance=TOLERANCE, **params):
    """Compares a fit with those of the target times a number plus another, for several of these."""
    usual = predictions(model.fit(X, target, **params))
    for scale, shift in moves:
        moved = predictions(model.fit(X, scale * target + shift, **params))
        assert np.isfinite(moved).all()
        apart = np.abs((moved - shift) / scale - usual).max() / target.std()
        assert apart < tolerance, f"times {scale:g} plus {shift:g}: {apart:g} deviations apart"


@pytest.mark.parametrize(
    "loss",
    rest_is_slow(LOSSES, 2),
)
def test_boosted_numbers(loss):
    check(GradientBoostingRegressor(**FEW, loss=LOSSES[loss]), Y, SCALES + SHIFTS)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", OF_LOCATIONS)
def test_distributions_of_locations_and_scales(distribution):
    check(GradientBoostingDistribution(**FEW, distribution=distribution), Y, SCALES + SHIFTS)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", OF_POSITIVE)
def test_distributions_of_positive_numbers(distribution):
    check(GradientBoostingDistribution(**FEW, distribution=distribution), POSITIVE, SCALES)


@pytest.mark.slow
def test_failure_times_and_hazards():
    """Times have the unit, and hazards, which are compared with one another, have none."""
    times, event = POSITIVE[:, None] * [1.0, 1e9], Y > -1
    found = []
    for time in times.T:
        upper = np.where(event, time, np.inf)
        of_times = GradientBoostingDistribution(**FEW, distribution=accelerated_failure_time("normal", None))
        of_hazards = GradientBoostingRegressor(**FEW, loss=cox())
        found.append((of_times.fit(X, time, upper=upper).predict(X), of_hazards.fit(X, time, event=event).predict(X)))
    np.testing.assert_allclose(found[1][0], 1e9 * found[0][0], rtol=1e-6)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-12)


VARIANTS = {
    "subsample": {"subsample": 0.5, "random_state": 0},
    "mvs": {"subsample": 0.5, "sampling": "mvs", "random_state": 0},
    "dart": {"drop_rate": 0.5, "skip_drop": 0.0, "random_state": 0},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2, "random_state": 0, "learning_rate": 0.9},
    "monotone": {"monotonic_cst": [1, 0, 0, -1]},
    "few leaves": {"max_leaf_nodes": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_ways_to_boost(variant):
    parameters = {**FEW, **VARIANTS[variant]}
    models = [GradientBoostingRegressor(**parameters, loss="huber"), GradientBoostingDistribution(**parameters)]
    for model in models[: 1 if variant == "monotone" else 2]:
        check(model, Y, [(1e-6, 0.0), (1e3, -1e6)])


@pytest.mark.slow
def test_weights_and_offsets():
    weight, offset = RNG.integers(1, 4, size=200), RNG.normal(size=200)
    for model in (GradientBoostingRegressor(**FEW, loss="huber"), GradientBoostingDistribution(**FEW)):
        check(model, Y, [(1e4, -1e6)], sample_weight=weight)
        usual = model.fit(X, Y, offset=offset).predict(X, offset=offset)
        moved = model.fit(X, 1e-6 * Y, offset=1e-6 * offset).predict(X, offset=1e-6 * offset)
        np.testing.assert_allclose(moved, 1e-6 * usual, rtol=1e-6, atol=1e-12)


def test_what_a_model_does_later_has_its_unit(tmp_path):
    """Warm starts, refits, first rounds and files."""
    parts = []
    for scale in (1.0, 1e-6):
        model = GradientBoostingDistribution(4, max_depth=3, warm_start=True).fit(X, scale * Y)
        model.set_params(n_estimators=8).fit(X, scale * Y)
        once = GradientBoostingDistribution(**FEW).fit(X, scale * Y)
        np.testing.assert_array_equal(model.predict(X), once.predict(X))
        once.save(tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X), once.predict(X))
        refitted = again.refit(X[::2], scale * Y[::2], decay_rate=0.5)
        parts.append(np.stack([once.truncated(3).predict(X), refitted.predict(X)]) / scale)
    np.testing.assert_allclose(parts[1], parts[0], rtol=1e-6, atol=1e-7)


def test_scores_of_distributions_are_those_of_the_unit():
    """A density in another unit is greater by the logarithm of that."""
    evaluated = []
    for scale in (1.0, 1e-6):
        model = GradientBoostingDistribution(**FEW).fit(X, scale * Y, eval_set=[(X, scale * Y)])
        losses_of_rounds = np.array(model.evals_result_["validation_0"]["normal"])
        np.testing.assert_allclose(losses_of_rounds[-1], -model.score(X, scale * Y), rtol=1e-9)
        evaluated.append(losses_of_rounds - np.log(scale))
    np.testing.assert_allclose(evaluated[1], evaluated[0], rtol=1e-6)


@pytest.mark.parametrize("hessian", rest_is_slow(["full", "one"]))
def test_losses_of_one_s_own_start_where_they_are_least(hessian):
    """Gradients up to 1 of targets a million away led nowhere in 200 steps."""
    loss = Loss(log_cosh, hessian=hessian, name="log_cosh")
    usual = loss.start(Y, np.ones(200), {})
    for shift in (1e3, 1e6, -1e9):
        # Near the least value a thousandth of the step changes nothing that float64 tells apart.
        np.testing.assert_allclose(loss.start(Y + shift, np.ones(200), {}) - shift, usual, atol=1e-3)
    wide = loss.start(1e6 * Y, np.ones(200), {})
    assert np.mean(np.abs(1e6 * Y - wide)) <= 1e6 * np.mean(np.abs(Y - np.median(Y))) * (1 + 1e-9)
    check(GradientBoostingRegressor(**FEW, loss=loss), Y, [(1.0, 1e6)], tolerance=1e-2)


@pytest.mark.slow
def test_delta_is_where_scikit_learn_has_it():
    """The quantile of level 0.9 of all errors' sizes; a given one is in the target's unit."""
    target = np.append(np.arange(10.0), 1000.0)
    loss, given = losses.huber(), losses.huber(9.0)
    scores = np.zeros((1, 11))
    for name in ("values", "derivatives"):
        arguments = (scores, target, {}) if name == "values" else (scores, target, np.ones(11), {})
        own, other = (np.asarray(getattr(kind, name)(*arguments)[0]) for kind in (loss, given))
        np.testing.assert_array_equal(own, other)
    assert loss.start(target, np.ones(11), {}).tolist() == [5.0]
    weight = np.where(np.arange(11) < 5, 1.0, 0.0)
    within = losses.huber(share=0.5).derivatives(scores, target, weight, {}).gradient[0]
    assert within[:5].tolist() == [0, -1, -2, -2, -2] and not within[5:].any()


@pytest.mark.slow
def test_many_rows_far_from_0():
    """Scores of 32 bits cannot tell seconds of a day apart, counted since 1970."""
    number = MOST_ROWS_IN_DOUBLE + 1
    values = np.random.default_rng(0).normal(size=(number, 1))
    target = values[:, 0] + 0.1
    model = GradientBoostingRegressor(3, max_depth=3, max_bins=15)
    usual = model.fit(values, target).predict(values[:1000])
    for scale, shift in ((1e4, 1.7e9), (1e-25, 0.0), (1e25, 0.0)):
        moved = model.fit(values, scale * target + shift).predict(values[:1000])
        np.testing.assert_allclose((moved - shift) / scale, usual, atol=1e-4)


TREES = {
    "tree": DecisionTreeRegressor(max_depth=4),
    "forest": RandomForestRegressor(3, random_state=0, max_depth=4),
    "extra trees": ExtraTreesRegressor(3, random_state=0, max_depth=4),
    "optimal": OptimalTreeRegressor(max_depth=2),
}


@pytest.mark.parametrize("kind", are_slow(TREES, "forest", "optimal"))
def test_trees(kind):
    check(TREES[kind], Y, [(1e-30, 0.0), (1e-6, 0.0), (3.0, 0.0), (1e30, 0.0), (1.0, 1e6), (1e-3, 1e3)])


@pytest.mark.parametrize("kind", ["tree", "forest", "optimal"])
def test_weights_of_trees_have_no_unit(kind):
    weight = RNG.uniform(0.5, 2, size=200)
    usual = TREES[kind].fit(X, Y, sample_weight=weight).predict(X)
    for scale in (1e-12, 3.0, 1e6, 2.0**-600, 2.0**900):
        model = TREES[kind].fit(X, Y, sample_weight=scale * weight)
        np.testing.assert_allclose(model.predict(X), usual, rtol=1e-9)
        assert kind != "tree" or model.tree_.weight[0] == pytest.approx(scale * weight.sum())


def test_pruning_by_its_own_validation():
    tree = DecisionTreeRegressor(pruning=CostComplexity(), random_state=0)
    check(tree, Y, [(1e-120, 0.0), (1e120, 0.0)])


def test_one_far_cell_does_not_hide_a_column():
    """One of 1e15 left R2 at .2 of .75."""
    soft = SoftTreeRegressor(depth=2, max_epochs=20, random_state=0)
    usual, far = soft.fit(X, Y).score(X, Y), X.copy()
    far[5, 0] = 1e15
    assert soft.fit(far, Y).score(far, Y) > usual - 0.05


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "normal"])
def test_soft_models_predict_a_constant_target_exactly(loss):
    for constant in (-3e20, 0.0, 0.1):
        soft = SoftTreeRegressor(depth=2, max_epochs=2, random_state=0, loss=loss)
        np.testing.assert_allclose(soft.fit(X, np.full(200, constant)).predict(X), constant, rtol=4e-16)
    # Later rows are learned from.
    assert np.ptp(soft.partial_fit(X, Y).partial_fit(X, np.zeros(200)).predict(X)) > 0
