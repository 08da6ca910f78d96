"""Boosting that leaves the numbers ends with a finite model or with the reason, in both ways of growing."""

import re
import warnings
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.model_selection import KFold

from jaxtree import (
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    SearchCV,
)
from jaxtree.boosting import Loss, quantile, quantiles
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.kernels import choose
from jaxtree.search.budget import Budget
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import make_yardstick
from jaxtree.search.spaces import Range, Space
from jaxtree.search.tuning import find_ensemble
from tests.marks import rest_is_slow

EXTREMES = [(rate, 1.0, 1.0) for rate in (1e-3, 1e3, 1e30)]
EXTREMES += [(1.0, scale, 1.0) for scale in (1e-300, 1e-200, 1e-30, 1e30, 1e100, 1e160, 1e300)]
EXTREMES += [(1.0, 1.0, 1e-300), (1.0, 1.0, 1e300), (1e30, 1e-300, 1e300), (1e30, 1e140, 1.0)]
"""Learning rates, with scales of the target and weights."""

RATES = [(rate, 1.0, 1.0) for rate in (1e3, 1e12, 1e30)]

LOSSES = {
    "squared_error": {},
    "absolute_error": {},
    "huber": {},
    "pseudo_huber": {},
    "poisson": {},
    "gamma": {},
    "tweedie": {},
    "quantile": {"loss": quantile(0.2)},
    "leaves": {"loss": "squared_error", "max_leaf_nodes": 6},
    "penalties": {"loss": "squared_error", "reg_lambda": 0.0, "reg_alpha": 1.0, "monotonic_cst": [1, 0, 0, -1]},
    "words": {"loss": "squared_error", "categorical_features": [1]},
}

OTHERS = {
    "two classes": (GradientBoostingClassifier, {}, "classes"),
    "classes": (GradientBoostingClassifier, {}, "more classes"),
    "normal": (GradientBoostingDistribution, {"distribution": "normal"}, "numbers"),
    "lognormal": (GradientBoostingDistribution, {"distribution": "lognormal"}, "numbers"),
    "quantiles": (GradientBoostingRegressor, {"loss": quantiles([0.1, 0.9])}, "numbers"),
    "order": (GradientBoostingRanker, {}, "more classes"),
    "dropped": (GradientBoostingRegressor, {"drop_rate": 0.5}, "numbers"),
    "stopped": (GradientBoostingRegressor, {"early_stopping": True}, "numbers"),
    "samples": (GradientBoostingRegressor, {"subsample": 0.5, "colsample_bynode": 0.5}, "numbers"),
}


def in_both_ways(names, *of_xla, fast):
    """Every case by the kernel; by XLA's programs, which take long to compile, those that these treat differently.

    Derivatives are the same program's in both ways, so that a loss by the kernel is enough. `fast` are those that are
    not slow, by the kernel: a loss that grows, one that stops, and what guards scores apart from losses.
    """
    ways = [(name, "kernel") for name in names] + [(name, "xla") for name in of_xla]
    fast = {(name, "kernel") for name in fast}
    return pytest.mark.parametrize(
        ("name", "engine"),
        [pytest.param(*way, marks=[pytest.mark.slow] * (way not in fast)) for way in ways],
        indirect=["engine"],
    )


@pytest.fixture
def engine(request, monkeypatch):
    if request.param == "xla":
        monkeypatch.setattr(choose, "is_there", lambda: False)
    elif not choose.is_there():
        pytest.skip("the kernel is not installed")


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] = rng.integers(0, 9, 200)
    y = np.exp(X[:, 0] + rng.normal(size=200) / 4)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, {"numbers": y, "classes": (y > 1) * 1, "more classes": np.digitize(y, [0.6, 1.5])}


def end(model, X, y, **given):
    """The predictions and the number of rounds of a model that is finite, or the reason why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, **given)
    except (TrainingError, InvalidInputError) as error:
        assert re.search("no numbers, or too large|since derivatives are squared", str(error))
        return str(error)
    predicted = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.forest_.nodes.target_sum).all() and np.isfinite(model.forest_.nodes.gain).all()
    return model.n_estimators_


@in_both_ways(
    LOSSES,
    "squared_error",
    "quantile",
    "leaves",
    "penalties",
    "words",
    fast=["squared_error", "poisson", "quantile", "leaves"],
)
def test_a_fit_ends_with_a_finite_model_or_the_reason(name, engine):
    X, targets = table()
    given = {"loss": name, **LOSSES[name]}
    ends = []
    for rate, scale, weight in EXTREMES:
        model = GradientBoostingRegressor(15, learning_rate=rate, max_depth=3, max_bins=31, **given)
        ends.append(end(model, X, targets["numbers"] * scale, sample_weight=np.full(len(X), weight)))
    assert ends[0] == 15


@in_both_ways(
    OTHERS, "classes", "quantiles", "samples", fast=["two classes", "classes", "normal", "samples", "stopped"]
)
def test_so_does_one_of_other_kinds(name, engine):
    kind, given, of = OTHERS[name]
    X, targets = table()
    more = {"group": np.repeat(np.arange(20), 10)} if kind is GradientBoostingRanker else {}
    for rate, _, _ in RATES:
        end(kind(15, learning_rate=rate, max_depth=3, max_bins=31, **given), X, targets[of], **more)


def test_the_kernel_and_xla_end_at_the_same_round(monkeypatch):
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    X, targets = table()

    def ends():
        own = (
            GradientBoostingRegressor(20, learning_rate=rate, max_depth=3, max_bins=31) for rate in (1e9, 1e12, 1e60)
        )
        return [end(model, X, targets["numbers"]) for model in own]

    kernel = ends()
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert kernel == ends() and 1 < kernel[1] < kernel[0] < 20


def test_the_warning_says_how_many_rounds_are_kept():
    X, targets = table()
    with pytest.warns(
        InterruptedFitWarning, match=r"squared\(\): derivatives after round (\d+) are no numbers, or too"
    ):
        model = GradientBoostingRegressor(20, learning_rate=1e12, max_depth=3, max_bins=31).fit(X, targets["numbers"])
    assert 0 < model.n_estimators_ < 20


class TestSearches:
    SPACE: ClassVar = {"learning_rate": [0.1, 1e30]}

    def search(self, **given):
        own = GradientBoostingRegressor(20, max_depth=3, max_bins=31, random_state=0, **given.pop("own", {}))
        return SearchCV(own, self.SPACE, cv=3, scoring="neg_mean_squared_error", **given)

    @pytest.mark.parametrize("own", rest_is_slow([{}, {"drop_rate": 0.1}]))
    def test_a_setting_that_leaves_the_numbers_has_the_error_score(self, own):
        X, targets = table()
        with pytest.warns(Warning, match="3 fits failed out of a total of 6"):
            search = self.search(own=own, error_score=-1e9).fit(X, targets["numbers"])
        assert search.cv_results_["mean_test_score"][1] == -1e9 and search.best_params_ == {"learning_rate": 0.1}
        with pytest.raises(TrainingError, match="are no numbers, or too large"):
            self.search(own=own, error_score="raise").fit(X, targets["numbers"])

    @pytest.mark.parametrize("refit", ["ensemble", "fold-ensemble"])
    def test_an_ensemble_never_chooses_it(self, refit):
        X, targets = table()
        with pytest.warns(Warning, match="3 fits failed out of a total of 6"):
            search = self.search(refit=refit).fit(X, targets["numbers"])
        assert search.ensemble_weights_.tolist() == [1, 0] and np.isfinite(search.predict(X)).all()

    @pytest.mark.slow
    def test_nor_does_a_tuning(self):
        X, targets = table()
        y = targets["numbers"]
        splits = list(KFold(3, shuffle=True, random_state=0).split(X))
        own = GradientBoostingRegressor(20, max_depth=3, max_bins=31)
        task = Search(own, X, y, splits, yardstick=make_yardstick(None, y, of_classes=False))
        rates = Range(1e20, 1e30, True, False, 0.1)
        tuned = find_ensemble(task, Space({"n_estimators": 20}, {"learning_rate": rates}, 3), Budget(600.0, settings=3))
        assert tuned.weights.tolist() == [1, 0, 0] and np.isfinite(tuned.predicted).all()
        assert np.isfinite(tuned.model.predict(X)).all() and np.isfinite(tuned.scores).all()
        worse = Space({"n_estimators": 20}, {"learning_rate": rates._replace(default=1e30)}, 3)
        with pytest.raises(TrainingError, match="none of 3 settings predicts finite numbers"):
            find_ensemble(task, worse, Budget(600.0, settings=3))


def test_predictions_of_ones_own_that_no_program_can_follow_are_refused_in_words():
    """They are watched while rounds are made; an error within them is not lost."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
    squares = lambda scores, target, extras: (scores[0] - target) ** 2  # noqa: E731
    faults = {"numpy": lambda scores: np.exp(scores), "branch": lambda scores: scores if scores.min() > 0 else -scores}
    for name, link in faults.items():
        loss = Loss(squares, link=link, name=name)
        with pytest.raises(InvalidInputError, match=rf"{name}\(\) must compute its predictions by functions of JAX"):
            GradientBoostingRegressor(2, loss=loss).fit(X, y)
    loss = Loss(squares, link=lambda scores: jnp.where(jnp.abs(scores) > 200, jnp.nan, scores))
    with pytest.warns(InterruptedFitWarning, match="lead to such scores"):
        model = GradientBoostingRegressor(20, loss=loss, learning_rate=3.0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
