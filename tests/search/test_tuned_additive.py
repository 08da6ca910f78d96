"""Tuning of additive models: one model that is its lone fit, an end in time, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor, tune
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.search import plain as plain_module
from jaxtree.search import strategies
from jaxtree.search import tune as tune_module
from jaxtree.search.budget import Budget
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import make_yardstick
from jaxtree.search.spaces import additive_space_for
from jaxtree.search.tuning import find_additive
from tests.examples import mixed_classes, mixed_table

QUICK = {"algorithm": "additive", "n_iter": 3, "cv": 2, "verbose": 0, "minutes": 600}
FRAME = mixed_table()
WORDS = mixed_classes(FRAME)
NUMBERS = np.round(np.cos(np.arange(len(FRAME))) + FRAME["is_new"].to_numpy(), 2)


def small_space(*shape, num_classes=0):
    space = additive_space_for(*shape, num_classes=num_classes)
    return space._replace(fixed=space.fixed | {"max_rounds": 30}, batch=2)


@pytest.fixture(autouse=True, scope="module")
def few_rounds():
    """Fits of a few rounds, in batches of two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune_module, "additive_space_for", small_space)
        yield


@pytest.fixture(scope="module")
def classes(few_rounds):
    """A search over classes."""
    return tune(FRAME, WORDS, **QUICK)


def test_the_model_is_the_lone_fit_of_the_setting_that_has_the_weight(classes):
    model = classes.best_estimator_
    assert type(model) is ExplainableBoostingClassifier and len(model.bag_values_) == 8
    chosen = classes.tuned_.tried.settings[int(np.argmax(classes.tuned_.weights))]
    alone = ExplainableBoostingClassifier(**chosen, max_rounds=30, random_state=0).fit(FRAME, WORDS)
    np.testing.assert_array_equal(alone.additive_.values, model.additive_.values)
    np.testing.assert_array_equal(alone.predict_proba(FRAME), classes.predict_proba(FRAME))


def test_results_have_the_form_of_a_tuning(classes, tmp_path):
    results = classes.cv_results_
    assert results["rank_test_score"][classes.best_index_] == 1 and results["weight"].sum() == 1
    assert len(results["params"]) == 3
    assert (results["mean_fit_time"] > 0).all() and (results["mean_n_rounds"] > 0).any()
    # The other fold chooses what a fold is predicted by; where that is worse than the defaults, these are taken.
    scores = np.array([results["split0_test_score"], results["split1_test_score"]])
    own = np.mean([scores[fold, scores[1 - fold].argmax()] for fold in (0, 1)])
    assert classes.best_score_ == pytest.approx(max(own, scores[:, 0].mean()))
    assert results["weight"][classes.best_index_ if own >= scores[:, 0].mean() else 0] == 1
    assert np.isfinite(classes.oof_predictions_).all()
    assert list(pd.DataFrame(classes.leaderboard())["rank"]) == [1, 2, 3]
    page = classes.to_html()
    assert "Tuned additive model" in page and "ensemble was" not in page
    assert ("so that its curves" in page) == (not results["weight"][0])
    assert ("The model is that of the defaults" in page) == bool(results["weight"][0])
    classes.save(tmp_path / "m.jaxtree")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "m.jaxtree").predict(FRAME), classes.predict(FRAME))


def test_numbers_and_what_the_estimator_says_are_kept():
    pair = [("size", "is_new")]
    given = ExplainableBoostingRegressor(interactions=pair, outer_bags=2, loss="absolute_error")
    search = tune(FRAME, NUMBERS, estimator=given, **{**QUICK, "n_iter": 2})
    assert search.best_estimator_.interactions == pair and len(search.best_estimator_.bag_values_) == 2
    assert "interactions" not in search.best_params_ and "mean_absolute_error" in search.leaderboard()
    assert (
        given.get_params()
        == ExplainableBoostingRegressor(interactions=pair, outer_bags=2, loss="absolute_error").get_params()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"algorithm": "forest"}, "algorithm must be one of 'boosting', 'additive', got 'forest'"),
        ({"estimator": jaxtree.GradientBoostingClassifier()}, "'additive' is not that of GradientBoostingClassifier"),
        ({"estimator": jaxtree.DecisionTreeClassifier(), "algorithm": "boosting"}, "ExplainableBoostingRegressor, got"),
    ],
)
def test_what_is_not_tuned_is_refused(options, said):
    with pytest.raises((InvalidInputError, TypeError), match=said):
        tune(FRAME, WORDS, **{**QUICK, **options})


def test_an_interrupt_keeps_the_settings_that_are_finished(classes, monkeypatch):
    fit, calls = strategies.fit_many, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) in at:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    score_plain = plain_module._tried

    def then_interrupted(*arguments):
        tried = score_plain(*arguments)
        monkeypatch.setattr(strategies, "fit_many", interrupted)
        return tried

    monkeypatch.setattr(plain_module, "_tried", then_interrupted)
    at = (2,)
    with pytest.warns(InterruptedFitWarning, match="its model is of 1 setting$"):
        search = tune(FRAME, WORDS, **QUICK)
    assert search.was_interrupted_ and not classes.was_interrupted_
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], classes.cv_results_["mean_test_score"][:1])
    at, calls = (1,), []
    with pytest.raises(KeyboardInterrupt):
        tune(FRAME, WORDS, **QUICK)


def test_settings_that_time_does_not_suffice_for_are_left_out_but_for_the_first():
    X = FRAME.select_dtypes("number").to_numpy(float)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    yardstick = make_yardstick(None, NUMBERS, of_classes=False)
    task = Search(ExplainableBoostingRegressor(outer_bags=1), X, NUMBERS, folds, yardstick=yardstick)
    tuned = find_additive(task, small_space(60, 3), Budget(1e-3, 4))
    assert len(tuned.tried.settings) == 1 and tuned.tried.settings[0]["learning_rate"] == 0.03
    assert tuned.tried.scores.shape == (1, 2) and not tuned.was_interrupted
    whole = find_additive(task, small_space(60, 3), Budget(1e6, 4))
    assert len(whole.tried.settings) == 4
    np.testing.assert_array_equal(whole.tried.scores[0], tuned.tried.scores[0])


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_worse_than_the_defaults_in_the_scores_of_the_search(seed):
    noise = np.random.default_rng(seed).permutation(NUMBERS)
    options = QUICK | {"random_state": seed} | ({} if seed else {"minutes": 1e-4})
    tuned = tune(FRAME[["size", "is_new"]], noise, **options).tuned_
    best, defaults = tuned.best_and_defaults()
    assert best.mean() >= defaults.mean() and tuned.scores.mean() >= defaults.mean()
    assert tuned.is_plain or tuned.weights[0] == 1 or tuned.scores.mean() > defaults.mean()


def test_spaces_suit_the_size_of_the_table():
    for shape in ((30, 1, 0), (500, 2, 3), (50_000, 200, 7), (10**6, 10, 0)):
        space = additive_space_for(*shape)
        drawn = space.settings(50, seed=1)
        for own in drawn:
            ExplainableBoostingRegressor(**space.fixed, **own).check_parameters()
        assert drawn[:7] == space.settings(7, seed=1)
    assert additive_space_for(10**6, 10).batch < additive_space_for(1_000, 10).batch
