"""The number of rounds that is "auto": 100 of one model, and as many as it takes where early stopping ends it.

One model of a distribution, of quantiles or hazards has fewer where rows are few.
"""

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.cli.models import make_estimator, make_grid
from jaxtree.cli.training import shape_of
from jaxtree.estimators.boosting.parameters import MOST_ROUNDS, ROUNDS_OF_ONE_MODEL
from tests.estimators.comparing import same_trees

RNG = np.random.default_rng(11)
X = RNG.normal(size=(160, 3))
SIGNAL = X[:, 0] + X[:, 1] ** 2 + 0.1 * RNG.normal(size=160)
GROUP = np.arange(160) // 8
SMALL = {"max_depth": 2, "random_state": 0}
KINDS = {
    "classes": (jaxtree.GradientBoostingClassifier, SIGNAL > 0.8, {}),
    "numbers": (jaxtree.GradientBoostingRegressor, SIGNAL, {}),
    "order": (jaxtree.GradientBoostingRanker, np.digitize(SIGNAL, [0, 1, 2]), {"group": GROUP}),
    "distributions": (jaxtree.GradientBoostingDistribution, SIGNAL, {}),
}
ENDINGS = {"held out": {"early_stopping": True}, "folds": {"early_stopping": "cv", "cv": 2}}


def rounds_of(model):
    return (np.array([model.n_estimators_]) if model.folds_ is None else model.folds_.num_measured).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_one_model_has_a_hundred_or_of_a_spread_one_for_every_fourth_of_few_rows(kind):
    make, y, fields = KINDS[kind]
    number = 40 if kind == "distributions" else ROUNDS_OF_ONE_MODEL
    usual, explicit = make(**SMALL), make(number, **SMALL)
    assert usual.n_estimators == "auto" and clone(usual).n_estimators == "auto"
    assert same_trees(usual.fit(X, y, **fields), explicit.fit(X, y, **fields))
    assert usual.n_estimators_ == number and usual.n_estimators == "auto"
    assert usual.most_rounds == 100, "of any number of rows"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_early_stopping_has_as_many_as_it_takes(kind, ending):
    make, y, fields = KINDS[kind]
    # Steps so short that a hundred of them are far too few.
    slow = {**SMALL, **ENDINGS[ending], "learning_rate": 0.02}
    usual = make(**slow).fit(X, y, **fields)
    assert min(rounds_of(usual)) > ROUNDS_OF_ONE_MODEL and max(rounds_of(usual)) < MOST_ROUNDS
    assert same_trees(usual, make(MOST_ROUNDS, **slow).fit(X, y, **fields))


def test_a_table_that_decides_when_to_stop_counts_as_early_stopping_alone():
    held = {"eval_set": [(X[::2], SIGNAL[::2])]}
    measured = jaxtree.GradientBoostingRegressor(**SMALL).fit(X[1::2], SIGNAL[1::2], **held)
    assert measured.n_estimators_ == 100
    stopped = jaxtree.GradientBoostingRegressor(**SMALL, learning_rate=0.02, early_stopping=True)
    assert stopped.fit(X[1::2], SIGNAL[1::2], **held).n_estimators_ > 100


@pytest.mark.parametrize("ending", [{}, *ENDINGS.values()], ids=["one model", *ENDINGS])
def test_a_warm_start_goes_on_to_as_many(ending):
    parts = jaxtree.GradientBoostingRegressor(20, **SMALL, **ending, warm_start=True).fit(X, SIGNAL)
    parts.set_params(n_estimators="auto").fit(X, SIGNAL)
    whole = jaxtree.GradientBoostingRegressor(**SMALL, **ending).fit(X, SIGNAL)
    assert parts.n_estimators_ == whole.n_estimators_
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    more = jaxtree.GradientBoostingRegressor(120, **SMALL, warm_start=True).fit(X, SIGNAL)
    with pytest.raises(ValueError, match=r"n_estimators='auto', which is 100 rounds without early_stopping, must be"):
        more.set_params(n_estimators="auto").fit(X, SIGNAL)


@pytest.mark.parametrize("stopping", [False, True])
def test_a_search_scores_the_word_as_a_fit_does(stopping):
    base = jaxtree.GradientBoostingRegressor(**SMALL, early_stopping=stopping)
    halves = [(np.arange(80, 160), np.arange(80)), (np.arange(80), np.arange(80, 160))]
    search = jaxtree.SearchCV(base, {"n_estimators": [5, "auto"]}, cv=halves).fit(X, SIGNAL)
    for settings, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        model = clone(base).set_params(**settings)
        alone = [model.fit(X[train], SIGNAL[train]).score(X[test], SIGNAL[test]) for train, test in halves]
        assert score == pytest.approx(np.mean(alone))
    assert search.best_params_ == {"n_estimators": "auto"}
    assert rounds_of(search.best_estimator_) == rounds_of(clone(base).fit(X, SIGNAL))
    rungs = jaxtree.SearchCV(base, {"n_estimators": [5, "auto"]}, cv=halves, factor=3, random_state=0)
    assert rungs.fit(X, SIGNAL).best_params_ == {"n_estimators": "auto"}


def test_the_command_line_takes_the_word_and_tells_of_no_most():
    made = make_estimator("boosting", "regression", seed=0, settings=["n_estimators=auto", "early_stopping=true"])
    made.set_params(max_depth=2).fit(X, SIGNAL)
    assert "of at most" not in shape_of(made)
    assert make_grid(made, ["n_estimators=auto,50"]) == {"n_estimators": ["auto", 50]}
    assert "of at most 7" in shape_of(made.set_params(n_estimators=7).fit(X, SIGNAL))


def test_progress_of_a_number_that_nobody_knows_has_no_end(capsys):
    fit = {"verbose": 20, **SMALL, "learning_rate": 0.3}
    jaxtree.GradientBoostingRegressor(**fit).fit(X, SIGNAL)
    assert "boosting: 20 of 100 rounds" in capsys.readouterr().err
    jaxtree.GradientBoostingRegressor(**fit, early_stopping=True).fit(X, SIGNAL)
    said = capsys.readouterr().err
    assert "boosting: 20 rounds" in said and " of " not in said and " left" not in said


def test_where_to_compute_is_chosen_by_the_rounds_that_are_expected():
    work = {name: make(**own).work_of_fit(10_000, 10).num_steps for name, make, own in _works()}
    assert work["one model"] == work["hundred"] < work["stops"] < work["most"]


def _works():
    make = jaxtree.GradientBoostingRegressor
    yield "one model", make, {}
    yield "hundred", make, {"n_estimators": 100}
    yield "stops", make, {"early_stopping": True}
    yield "most", make, {"early_stopping": True, "n_estimators": MOST_ROUNDS}


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "all", None])
def test_no_other_word_or_number_is_allowed(wrong):
    with pytest.raises(ValueError, match="n_estimators"):
        jaxtree.GradientBoostingClassifier(wrong).fit(X, SIGNAL > 0)
