"""Survival curves and medians of boosted models, and the concordance that scores them."""

import pickle

import numpy as np
import pytest
import scipy.stats
import sklearn

import jaxtree
from jaxtree.boosting import accelerated_failure_time, cox
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import read_model_file, write_model_file
from jaxtree.losses.curves import EventTimes, SurvivalCurves, log_baseline
from jaxtree.metrics import concordance_index

ROWS = 150
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
TIME = np.ceil(10 * RNG.exponential(np.exp(X[:, 0])))
EVENT = RNG.random(ROWS) < 0.7
OFFSET = RNG.normal(size=ROWS)
LOSSES = {"cox": "cox", "breslow": cox("breslow"), "normal": "accelerated_failure_time"}


def blank(loss):
    return jaxtree.GradientBoostingRegressor(5, max_depth=2, loss=loss)


@pytest.fixture(scope="module")
def models():
    return {name: blank(loss).fit(X, TIME, event=EVENT) for name, loss in LOSSES.items() if name != "breslow"}


def test_the_baseline_is_that_of_scikit_survival():
    """Numbers of `sksurv.linear_model.coxph.BreslowEstimator` 0.28.0, and its curve of a row of score 0.3."""
    row = np.arange(40)
    time, event, score = 1.0 + row * 7 % 23, row * 5 % 7 < 4, np.round(np.sin(row * 1.3), 1)
    known = log_baseline(score, time, event, np.ones(40), "breslow")
    theirs = [0.0394242194, 0.059682571, 0.0807511866, 0.1249613931, 0.149250758, 0.1740859489, 0.2250383199]
    np.testing.assert_allclose(np.exp(known.log_hazard)[:7], theirs, atol=1e-10)
    np.testing.assert_allclose(np.exp(known.log_hazard)[-1], 1.6097962525, atol=1e-10)
    curves = SurvivalCurves(cox("breslow"), np.array([[0.3]]), known, known.times)
    np.testing.assert_allclose(curves([1.0, 5.0, 12.0])[0], [0.94817411, 0.81753019, 0.62558132], atol=1e-8)


def slow_baseline(score, time, event, weight, ties):
    """The cumulative hazard event after event, each with the mean weight of those tied with it."""
    total, hazard = 0.0, []
    for at in np.unique(time[event > 0]):
        tied = (time == at) & (event > 0)
        for number in range(tied.sum()):
            left_out = number / tied.sum() if ties == "efron" else 0
            at_risk = np.sum((weight * np.exp(score))[time >= at]) - left_out * np.sum((weight * np.exp(score))[tied])
            total += weight[tied].mean() / at_risk
        hazard.append(total)
    return hazard


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_baseline_beside_a_slow_loop(ties):
    score, weight = RNG.normal(size=ROWS) * 3, RNG.uniform(0.5, 2, ROWS) * (np.arange(ROWS) % 7 > 0)
    known = log_baseline(score, TIME, EVENT, weight, ties)
    kept = weight > 0
    slow = slow_baseline(score[kept], TIME[kept], EVENT[kept], weight[kept], ties)
    np.testing.assert_allclose(np.exp(known.log_hazard), slow, rtol=1e-10)
    far = log_baseline(score + 2000, TIME, EVENT, weight, ties)
    np.testing.assert_allclose(far.log_hazard, known.log_hazard - 2000, rtol=1e-12)


def test_a_fit_learns_the_baseline_of_its_rows(models):
    model = models["cox"]
    slow = slow_baseline(model.raw_scores(X)[:, 0], TIME, EVENT, np.ones(ROWS), "efron")
    np.testing.assert_allclose(np.exp(model.survival_.log_hazard), slow, rtol=1e-10)
    np.testing.assert_array_equal(model.event_times_, np.unique(TIME[EVENT]))


@pytest.mark.slow
def test_weights_offsets_and_ties_are_those_of_the_loss():
    weight = RNG.uniform(0.5, 2, ROWS) * (np.arange(ROWS) % 7 > 0)
    model = blank(cox("breslow")).fit(X, TIME, weight, event=EVENT, offset=OFFSET)
    score, kept = model.raw_scores(X, offset=OFFSET)[:, 0], weight > 0
    slow = slow_baseline(score[kept], TIME[kept], EVENT[kept], weight[kept], "breslow")
    np.testing.assert_allclose(np.exp(model.survival_.log_hazard), slow, rtol=1e-10)
    shown = model.predict_survival_function(X, offset=OFFSET, return_array=True)
    np.testing.assert_allclose(shown, np.exp(-np.exp(score)[:, None] * slow), rtol=1e-9)


@pytest.mark.parametrize("name", ["cox", "normal"])
def test_curves_fall_from_one_and_medians_are_where_they_are_a_half(models, name):
    curves = models[name].predict_survival_function(X)
    times = np.append(0, curves.times)
    shown = curves(times)
    assert (shown[:, 0] == 1).all() and (np.diff(shown, axis=1) <= 0).all() and (shown >= 0).all()
    np.testing.assert_array_equal(curves.probabilities, shown[:, 1:])
    median = models[name].predict_median(X)
    if name == "cox":
        reached = np.where((shown <= 0.5).any(axis=1), times[(shown <= 0.5).argmax(axis=1)], np.inf)
        np.testing.assert_array_equal(median, reached)
    else:
        np.testing.assert_allclose(np.diag(curves(median)), 0.5)
        np.testing.assert_allclose(median, models[name].predict(X))


def test_curves_of_rows_at_any_times(models):
    model = models["cox"]
    curves, times = model.predict_survival_function(X[:4]), [0.5, 20, 1e9]
    assert len(curves) == 4 and len(curves[1:3]) == 2 and repr(curves).startswith("<4 survival curves at")
    for number, curve in enumerate(curves):
        np.testing.assert_array_equal(curve(times), curves(times)[number])
        np.testing.assert_array_equal(curve.y, curves.probabilities[number])
        np.testing.assert_array_equal(curve.x, model.event_times_)
        assert curve(20) == curve([20])[0] and np.shape(curve(20)) == ()
    np.testing.assert_array_equal(model.predict_survival_function(X[:4], times=times, return_array=True), curves(times))
    np.testing.assert_array_equal(curves[-1].y, curves[3].y)
    with pytest.raises(IndexError, match="below 4"):
        curves[4]
    with pytest.raises(InvalidInputError, match="times must be a list of numbers"):
        curves([np.nan])
    with pytest.raises(InvalidInputError, match="times must be a list of numbers"):
        model.predict_survival_function(X, times="all")


def test_a_median_that_is_not_reached_is_infinite():
    known = EventTimes(np.array([1.0, 2.0]), np.log([0.1, 0.3]))
    curves = SurvivalCurves(cox(), np.array([[0.0], [2.0]]), known, known.times)
    np.testing.assert_array_equal(curves.quantile(0.5), [np.inf, 1.0])


@pytest.mark.parametrize(("distribution", "scale"), [("normal", 0.5), ("logistic", 0.7), ("extreme", 2.0)])
def test_curves_of_failure_times_are_those_of_scipy(distribution, scale):
    score, times = np.array([[0.3], [2.0]]), np.array([0.5, 1.0, 7.0])
    theirs = {
        "normal": lambda s: scipy.stats.lognorm(scale, scale=np.exp(s)),
        "logistic": lambda s: scipy.stats.fisk(1 / scale, scale=np.exp(s)),
        "extreme": lambda s: scipy.stats.weibull_min(1 / scale, scale=np.exp(s)),
    }[distribution]
    curves = SurvivalCurves(accelerated_failure_time(distribution, scale), score, EventTimes(times), times)
    np.testing.assert_allclose(curves.probabilities, [theirs(s[0]).sf(times) for s in score], rtol=1e-10)
    np.testing.assert_allclose(curves.quantile(0.5), [theirs(s[0]).median() for s in score], rtol=1e-10)


@pytest.mark.parametrize("name", ["cox", "normal"])
def test_the_score_is_the_concordance(models, name):
    model = models[name]
    risk = model.predict(X) if name == "cox" else -model.predict(X)
    assert model.score_name_ == "concordance"
    assert model.score(X, TIME, event=EVENT) == concordance_index(TIME, risk, event=EVENT, tied_tol=0) > 0.6
    weight = RNG.uniform(size=ROWS)
    weighted = concordance_index(TIME, risk, event=EVENT, sample_weight=weight)
    assert model.score(X, TIME, weight, event=EVENT) == pytest.approx(weighted)
    log_risk = model.raw_scores(X)[:, 0] + OFFSET
    shifted = concordance_index(TIME, log_risk if name == "cox" else -log_risk, event=EVENT)
    assert model.score(X, TIME, event=EVENT, offset=OFFSET) == pytest.approx(shifted)


@pytest.mark.parametrize("name", ["cox", "normal"])
def test_files_and_pickles_keep_the_curves(models, name, tmp_path):
    model = models[name]
    model.save(tmp_path / "model")
    for again in (jaxtree.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_median(X), model.predict_median(X))
        curves = again.predict_survival_function(X)
        np.testing.assert_array_equal(curves.probabilities, model.predict_survival_function(X).probabilities)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(curves)).probabilities, curves.probabilities)


def test_a_file_whose_times_do_not_ascend_is_refused(models, tmp_path):
    models["cox"].save(tmp_path / "model")
    content = read_model_file(tmp_path / "model")
    name = next(name for name in content.arrays if name.endswith("survival.times"))
    content.arrays[name] = content.arrays[name][::-1].copy()
    write_model_file(tmp_path / "damaged", content)
    with pytest.raises(ModelFileError, match="times of events do not ascend"):
        jaxtree.load(tmp_path / "damaged")


def test_the_first_rounds_know_no_baseline_and_a_refit_learns_another(models):
    with pytest.raises(InvalidInputError, match="does not know the baseline"):
        models["cox"].truncated(2).predict_median(X)
    assert models["cox"].truncated(5).predict_median(X).tolist() == models["cox"].predict_median(X).tolist()
    assert np.isfinite(models["normal"].truncated(2).predict_median(X)).all()
    other = models["cox"].refit(X[:80], TIME[:80], event=EVENT[:80])
    slow = slow_baseline(other.raw_scores(X[:80])[:, 0], TIME[:80], EVENT[:80], np.ones(80), "efron")
    np.testing.assert_allclose(np.exp(other.survival_.log_hazard), slow, rtol=1e-10)
    assert len(models["cox"].event_times_) == len(np.unique(TIME[EVENT]))


def test_only_models_of_survival_times_have_curves(models):
    assert not hasattr(jaxtree.GradientBoostingRegressor(), "predict_survival_function")
    assert not hasattr(jaxtree.GradientBoostingClassifier(), "predict_median")
    assert hasattr(jaxtree.GradientBoostingRegressor(loss="cox"), "predict_median")
    with pytest.raises(AttributeError) as refusal:
        jaxtree.GradientBoostingRegressor().predict_median(X)
    assert "loss='cox' or 'accelerated_failure_time', not 'squared_error'" in str(refusal.value.__cause__)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        jaxtree.GradientBoostingRegressor(loss="cox").predict_median(X)


@pytest.mark.slow
def test_intervals_are_scored_and_learned():
    upper = np.where(np.arange(ROWS) % 3 == 0, TIME + 5, np.where(EVENT, TIME, np.inf))
    model = blank("accelerated_failure_time").fit(X, TIME, upper=upper)
    risk = -model.predict(X)
    assert model.score(X, TIME, upper=upper) == pytest.approx(concordance_index(TIME, risk, upper=upper), abs=1e-12)
    between = blank("accelerated_failure_time").fit(X, TIME, upper=TIME + 5)
    assert len(between.event_times_) == len(np.union1d(TIME, TIME + 5))


def test_models_of_no_survival_times_list_no_event_times():
    model = jaxtree.GradientBoostingRegressor(2, max_depth=1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert "event_times_" not in dir(model) and "predict" in dir(model)
    with pytest.raises(AttributeError, match="survival is predicted with loss='cox'"):
        _ = model.event_times_
