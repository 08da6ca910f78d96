"""Soft trees of every loss that boosted trees have: what they learn, predict, keep and refuse."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import SoftForestRegressor, SoftTreeClassifier, SoftTreeRegressor, boosting, load
from jaxtree.boosting import Loss, accelerated_failure_time, distributions, expectile, quantile, quantiles
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.soft.numbers import OF_NUMBERS
from jaxtree.losses.names import DISTRIBUTIONS, LOSSES, RANKING_LOSSES
from tests.marks import are_slow, rest_is_slow

RNG = np.random.default_rng(0)
ROWS = 160
X = RNG.normal(size=(ROWS, 2))
NUMBER = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=ROWS)
POSITIVE = np.exp(NUMBER / 2)
COUNT = RNG.poisson(POSITIVE)
EVENT = RNG.random(ROWS) < 0.7
GROUP = np.arange(ROWS) // 8
TIMES = RNG.integers(0, 3, size=ROWS)
TRAIN, HELD = np.arange(ROWS) < ROWS // 2, np.arange(ROWS) >= ROWS // 2


def log_cosh(scores, target, extras):
    error = scores[0] - target
    return jnp.logaddexp(error, -error)


TARGETS = {
    **dict.fromkeys(("poisson", "tweedie"), COUNT),
    **dict.fromkeys(("gamma", "lognormal", "weibull", "cox", "accelerated_failure_time"), POSITIVE),
    "negative_binomial": COUNT,
    "beta": POSITIVE / (1 + POSITIVE),
    "ndcg": np.digitize(NUMBER, [-1, 0, 1]),
    "pairwise": np.digitize(NUMBER, [-1, 0, 1]),
    "map": (NUMBER > 0).astype(int),
}
EXTRAS = {
    **{name: {"event": EVENT} for name in ("cox", "accelerated_failure_time")},
    **{name: {"group": GROUP} for name in RANKING_LOSSES},
}
CASES = {name: (name, TARGETS.get(name, NUMBER), EXTRAS.get(name, {})) for name in OF_NUMBERS} | {
    "gamma distribution": (distributions.gamma(), POSITIVE, {}),
    "failure times of a scale": (accelerated_failure_time(scale=None), POSITIVE, {"event": EVENT}),
    "huber of a delta": (boosting.huber(0.5), NUMBER, {}),
    "quantile": (quantile(0.8), NUMBER, {}),
    "quantiles": (quantiles([0.2, 0.7]), NUMBER, {}),
    "expectile": (expectile(0.8), NUMBER, {}),
    "one's own": (Loss(log_cosh), NUMBER, {}),
}
QUICK = ("squared_error", "poisson", "normal", "cox")
ALL = are_slow(CASES, *CASES.keys() - set(QUICK))
FEW = {"depth": 2, "max_epochs": 60, "batch_size": 64, "noise": None, "validation_fraction": None, "random_state": 0}


def rows_of(extras, rows):
    return {name: values[rows] for name, values in extras.items()}


def mean_loss(model, rows, scores):
    """The mean loss of rows of known scores, as the loss itself has it."""
    _, target, extras = rows
    if "event" in extras and "upper" in model.loss_.needs:
        extras = {"upper": np.where(extras["event"], target, np.inf)}
    with jax.enable_x64(True):
        return float(model.loss_.mean(jnp.asarray(scores.T), target, np.ones(len(target)), extras))


@functools.cache
def trained(name):
    loss, y, extras = CASES[name]
    return SoftTreeRegressor(**FEW, loss=loss).fit(X[TRAIN], y[TRAIN], **rows_of(extras, TRAIN))


def held_rows(name):
    loss, y, extras = CASES[name]
    return loss, y[HELD], rows_of(extras, HELD)


def test_every_name_that_boosting_has_is_known():
    assert set(OF_NUMBERS) == {*LOSSES, *DISTRIBUTIONS, *RANKING_LOSSES} and OF_NUMBERS["gamma"] is boosting.gamma


@pytest.mark.parametrize("name", ALL)
def test_other_rows_cost_less_than_by_the_constant(name):
    model, rows = trained(name), held_rows(name)
    scores = model.raw_scores(X[HELD])
    constant = np.broadcast_to(model.start_, scores.shape)
    assert mean_loss(model, rows, scores) < mean_loss(model, rows, constant)


@pytest.mark.parametrize("name", ALL)
def test_outputs_of_0_are_the_best_constant(name):
    model, (_, y, extras) = trained(name), CASES[name]
    rows = (None, y[TRAIN], rows_of(extras, TRAIN))
    scores = np.broadcast_to(model.start_, (TRAIN.sum(), model.start_.size))
    least = mean_loss(model, rows, scores)
    for score in range(model.start_.size):
        for step in (-0.1, 0.1):
            moved = scores + step * model.unit_ * (np.arange(model.start_.size) == score)
            assert mean_loss(model, rows, moved) >= least - 1e-6 * abs(least)


@pytest.mark.parametrize("name", ALL)
def test_a_model_comes_back_from_a_file(name, tmp_path):
    model = trained(name)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", loss=model.loss if name == "one's own" else None)
    _, y, extras = held_rows(name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.score(X[HELD], y, **extras) == model.score(X[HELD], y, **extras)
    assert again.loss_ == model.loss_ and again.score_name_ == model.score_name_


REPEATED = [name for name in CASES if name not in (*RANKING_LOSSES, "cox")]


@pytest.mark.parametrize("name", are_slow(REPEATED, *set(REPEATED) - {"poisson", "normal"}))
def test_weights_are_repeated_rows_where_a_step_sees_all(name):
    loss, y, extras = CASES[name]
    few = {**FEW, "batch_size": 4 * ROWS, "max_epochs": 3}
    weighted = SoftTreeRegressor(**few, loss=loss).fit(X, y, sample_weight=TIMES, **extras)
    again = rows_of(extras, np.repeat(np.arange(ROWS), TIMES))
    repeated = SoftTreeRegressor(**few, loss=loss).fit(X.repeat(TIMES, axis=0), y.repeat(TIMES), **again)
    np.testing.assert_allclose(weighted.start_, repeated.start_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weighted.raw_scores(X), repeated.raw_scores(X), rtol=2e-3, atol=2e-3)


MOVED = {
    **{name: (1e6, 1e9) for name in ("squared_error", "absolute_error", "huber", "pseudo_huber")},
    **{name: (1e6, 1e9) for name in ("quantile", "quantiles", "expectile")},
    **{name: (1e6, 1e9) for name in ("normal", "laplace", "logistic", "student_t")},
    **{name: (1e6, 0.0) for name in ("gamma", "lognormal", "gamma distribution", "weibull")},
}


@pytest.mark.parametrize("name", are_slow(MOVED, *MOVED.keys() - {"quantile", "normal"}))
def test_predictions_are_in_the_unit_of_the_target(name):
    loss, y, _ = CASES[name]
    scale, shift = MOVED[name]
    few = {**FEW, "max_epochs": 10}
    usual = SoftTreeRegressor(**few, loss=loss).fit(X, y)
    for factor in (scale, 1 / scale):
        origin = shift * factor / scale
        moved = SoftTreeRegressor(**few, loss=loss).fit(X, factor * y + origin)
        found = (moved.predict(X) - origin) / factor
        np.testing.assert_allclose(found, usual.predict(X), rtol=1e-2, atol=1e-2)


HARD = [name for name in CASES if name not in (*DISTRIBUTIONS.keys() - {"gamma"}, "quantiles", "gamma distribution")]
HARD.remove("failure times of a scale")


@pytest.mark.parametrize("name", are_slow(HARD, *set(HARD) - {"squared_error", "poisson"}))
def test_where_gates_decide_the_hard_tree_predicts_the_same(name):
    loss, y, extras = CASES[name]
    few = {**FEW, "max_epochs": 20, "first_temperature": 0.01, "last_temperature": 1e-4}
    model = SoftTreeRegressor(**few, loss=loss).fit(X, y, **extras)
    soft, hard = model.predict(X), model.harden(refit=False).predict(X)
    assert np.mean(np.isclose(soft, hard, rtol=1e-3, atol=1e-3)) > 0.97
    if "offset" not in extras and name in ("absolute_error", "quantile", "squared_error", "poisson", "gamma"):
        costs = []
        for tree in (model.harden(refit=True), model.harden(refit=False)):
            numbers = tree.predict(X)[:, None]
            scores = np.log(numbers) if name in ("poisson", "gamma") else numbers
            costs.append(mean_loss(model, (None, y, extras), scores))
        assert costs[0] <= costs[1] * (1 + 1e-6), "leaves have the best numbers for their rows"


@pytest.mark.parametrize("name", rest_is_slow(["normal", "quantiles", "failure times of a scale"]))
def test_several_scores_of_a_target_are_not_hardened(name):
    with pytest.raises(InvalidInputError, match=r"harden\(\) is for losses of one score and one prediction a target: "):
        trained(name).harden()


def test_leaves_are_not_refitted_by_other_losses():
    with pytest.raises(InvalidInputError, match=r"refit must be False: .* none of cox\(ties='efron'\)"):
        trained("cox").harden(refit=True)


def test_distributions_are_predicted():
    model = trained("normal")
    of_rows = model.predict_dist(X)
    np.testing.assert_allclose(of_rows.mean, model.predict(X))
    np.testing.assert_allclose(model.predict_quantile(X, [0.5])[:, 0], model.predict(X), rtol=1e-6)
    assert model.score(X, NUMBER) == pytest.approx(of_rows.log_prob(NUMBER).mean())
    assert model.score_name_ == "mean log likelihood"
    assert not hasattr(trained("squared_error"), "predict_dist")
    assert hasattr(SoftTreeRegressor(loss="student_t"), "predict_dist")


def test_survival_is_predicted():
    model = trained("cox")
    curves = model.predict_survival_function(X[HELD])
    assert (np.diff(curves.probabilities, axis=1) <= 0).all() and len(model.event_times_) == EVENT[TRAIN].sum()
    risk, median = model.raw_scores(X)[:, 0], model.predict_median(X)
    assert np.corrcoef(risk, np.log(POSITIVE))[0, 1] < -0.5 and (median[risk.argmin()] >= median[risk.argmax()])
    assert model.score_name_ == "concordance" and model.score(X[HELD], POSITIVE[HELD], event=EVENT[HELD]) > 0.7
    known = np.array(list(zip(EVENT, POSITIVE, strict=True)), dtype=[("died", bool), ("days", float)])
    structured = SoftTreeRegressor(**FEW, loss="cox").fit(X[TRAIN], known[TRAIN])
    np.testing.assert_array_equal(structured.predict(X), model.predict(X))
    assert not hasattr(trained("squared_error"), "predict_median")


@pytest.mark.slow
def test_rows_are_ranked_within_groups():
    model, (_, y, extras) = trained("ndcg"), held_rows("ndcg")
    assert model.score(X[HELD], y, **extras) > 0.9 and model.score_name_ == "NDCG"
    first = SoftTreeRegressor(**FEW, loss=boosting.ndcg(3)).fit(X[TRAIN], TARGETS["ndcg"][TRAIN], group=GROUP[TRAIN])
    assert first.score(X[HELD], y, **extras) > 0.8
    held = SoftTreeRegressor(**{**FEW, "max_epochs": 2, "validation_fraction": 0.25}, loss="ndcg")
    held.fit(X, TARGETS["ndcg"], group=GROUP)
    assert len(held._rows.target.extras["group"]) == 15 * 8, "groups stay whole"


def test_an_offset_that_all_rows_share_changes_nothing():
    usual = SoftTreeRegressor(**FEW, loss="poisson").fit(X, COUNT)
    offset = np.full(ROWS, 0.7)
    model = SoftTreeRegressor(**FEW, loss="poisson").fit(X, COUNT, offset=offset)
    np.testing.assert_allclose(model.start_, usual.start_ - 0.7, rtol=1e-5)
    np.testing.assert_allclose(model.predict(X, offset=offset), usual.predict(X), rtol=1e-2)
    assert model.score(X, COUNT, offset=offset) == pytest.approx(usual.score(X, COUNT), abs=0.01)


def test_several_targets_of_counts():
    both = np.column_stack([COUNT, 3 * COUNT])
    model = SoftTreeRegressor(**FEW, loss="poisson").fit(X, both)
    assert model.predict(X).shape == (ROWS, 2) and model.score(X, both) > 0.2
    np.testing.assert_allclose(model.start_, np.log(both.mean(axis=0)))
    assert model.harden().predict(X).shape == (ROWS, 2)
    with pytest.raises(InvalidInputError, match=r"normal\(\) has one target: .* got 2"):
        SoftTreeRegressor(loss="normal").fit(X, both)


@pytest.mark.slow
def test_forests_and_partial_fits_take_extras():
    forest = SoftForestRegressor(2, **{**FEW, "max_epochs": 20}, loss="cox", mixture="learned")
    forest.fit(X, POSITIVE, X_val=X, y_val=POSITIVE, event=EVENT, event_val=EVENT)
    before = forest.predict(X)
    forest.partial_fit(X, POSITIVE, event=EVENT)
    assert forest.score(X, POSITIVE, event=EVENT) > 0.7 and not np.array_equal(forest.predict(X), before)


def test_a_loss_of_classes_sees_log_probabilities():
    classes = np.digitize(NUMBER, [-0.7, 0.7])
    few = {**FEW, "max_epochs": 10, "label_smoothing": 0.0}
    usual = SoftTreeClassifier(**few).fit(X, classes)
    own = SoftTreeClassifier(**few, loss=boosting.softmax(3)).fit(X, classes)
    np.testing.assert_allclose(own.predict_proba(X), usual.predict_proba(X), atol=1e-3)
    with pytest.raises(InvalidInputError, match="one for each of 3 classes, got 4"):
        SoftTreeClassifier(**few, loss=boosting.softmax(4)).fit(X, classes)
    with pytest.raises(InvalidInputError, match="loss='log_loss' takes no 'group'"):
        SoftTreeClassifier(**few).fit(X, classes, group=GROUP)


@pytest.mark.parametrize(
    ("loss", "y", "extras", "message"),
    [
        ("poisson", COUNT - 1.0, {}, r"poisson\(\): a target must be 0 or more, got -1"),
        ("poisson", 0 * COUNT, {}, "must be above 0, got 0 in all"),
        ("gamma", 0 * POSITIVE, {}, r"gamma\(\): a target must be above 0, got 0"),
        ("beta", 1 + POSITIVE, {}, r"beta\(\): a target must be between 0 and 1"),
        ("cox", POSITIVE, {}, "needs the extra 'event' of every row"),
        ("cox", POSITIVE, {"event": 0 * COUNT}, "the extra 'event' of some row must be above 0"),
        ("ndcg", COUNT, {}, "needs the extra 'group' of every row"),
        ("squared_error", NUMBER, {"group": GROUP}, "loss='squared_error' takes no 'group'"),
        ("squared_error", NUMBER, {"offset": GROUP[:9]}, "offset must have a value for each of 160 rows"),
        ("quantile", NUMBER, {}, "got 'quantile'; that is jaxtree.boosting.quantile"),
        ("nll", NUMBER, {}, "got 'nll'"),
        ("log_loss", NUMBER, {}, "that is a SoftTreeClassifier here"),
        (3.0, NUMBER, {}, "The 'loss' parameter of SoftTreeRegressor must be"),
    ],
)
def test_what_a_loss_does_not_allow_is_named(loss, y, extras, message):
    with pytest.raises(InvalidInputError, match=message):
        SoftTreeRegressor(loss=loss).fit(X, y, **extras)


def test_another_loss_is_fitted_anew_and_does_not_go_on():
    model = SoftTreeRegressor(1, max_epochs=2, random_state=0, loss="cox").fit(X, POSITIVE, event=EVENT)
    model.set_params(loss="poisson")
    with pytest.raises(InvalidInputError, match=r"must be that of the first fit, cox\(ties='efron'\), got poisson"):
        model.partial_fit(X, POSITIVE)
    assert model.fit(X, COUNT).survival_ is None and not hasattr(model, "predict_median")
