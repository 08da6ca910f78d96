"""Successive halving, interrupts and progress: what goes on is what it would be alone, what is finished stays."""

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor, SearchCV
from jaxtree.errors import InterruptedFitWarning
from jaxtree.search import strategies
from jaxtree.search.trials import Trials
from tests.marks import rows_are_slow

SPACE = {"learning_rate": loguniform(0.01, 0.5), "max_leaf_nodes": [3, 5], "max_depth": [3], "n_estimators": [8, 12]}
OPTIONS = {"n_iter": 6, "cv": 2, "random_state": 0, "refit": False}


def search_over(space=None, estimator=None, **options):
    estimator = GradientBoostingRegressor(random_state=0, subsample=0.8) if estimator is None else estimator
    return SearchCV(estimator, SPACE if space is None else space, **(OPTIONS | options))


@pytest.fixture(scope="module")
def numbers():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def plain(numbers):
    return search_over().fit(*numbers)


def assert_same(one, other, of_one=slice(None), of_other=slice(None)):
    for name in ("mean_test_score", "split0_test_score", "mean_n_rounds"):
        np.testing.assert_array_equal(one.cv_results_[name][of_one], other.cv_results_[name][of_other])
    np.testing.assert_array_equal(one.oof_predictions_[of_one], other.oof_predictions_[of_other])


@pytest.mark.parametrize("options", [{"factor": 1.1, "min_resources": 3}, {"factor": 2, "min_resources": 12}])
def test_a_factor_that_drops_nobody_gives_the_plain_search(options, numbers, plain):
    own = search_over(**options).fit(*numbers)
    assert_same(own, plain)
    assert (own.best_index_, own.best_params_) == (plain.best_index_, plain.best_params_)
    assert len(set(own.cv_results_["iter"])) == 1
    most = [setting["n_estimators"] for setting in own.cv_results_["params"]]
    np.testing.assert_array_equal(own.cv_results_["n_resources"], most)


def test_those_that_go_on_are_those_of_the_plain_search_and_the_others_stop_early(numbers, plain):
    own = search_over(factor=2, min_resources=3).fit(*numbers)
    results = own.cv_results_
    assert own.n_resources_ == [3, 6, 12]
    assert own.n_candidates_ == [6, 3, 2]
    ended = results["iter"] == 2
    assert_same(own, plain, ended, ended)
    assert (results["mean_n_rounds"][~ended] == results["n_resources"][~ended]).all()
    # Settings that stopped are the models of so many rounds, and were the worse ones then.
    for rung, rounds in enumerate((3, 6)):
        stopped, went_on = (np.flatnonzero(keep) for keep in (results["iter"] == rung, results["iter"] > rung))
        assert set(results["n_resources"][stopped]) == {rounds}
        short = [
            {name: [value] for name, value in own.items()} | {"n_estimators": [rounds]} for own in results["params"]
        ]
        then = search_over(short, n_iter=None).fit(*numbers)
        assert_same(own, then, stopped, stopped)
        assert then.cv_results_["mean_test_score"][stopped].max() < then.cv_results_["mean_test_score"][went_on].min()
    assert own.best_index_ in np.flatnonzero(ended)


@pytest.mark.slow
def test_early_stopping_goes_on_and_models_without_a_seed_keep_their_draws():
    X, y = load_breast_cancer(return_X_y=True)
    space = {"learning_rate": [0.05, 0.3, 0.9], "max_leaf_nodes": [4], "random_state": [1]}
    estimator = GradientBoostingClassifier(20, early_stopping=True, n_iter_no_change=2)
    scoring = ["neg_log_loss", "accuracy"]
    options = {"n_iter": None, "scoring": scoring, "refit": "neg_log_loss", "factor": 2, "min_resources": 5}
    own = search_over(space, estimator, **options).fit(X, y)
    plain = search_over(space, estimator, **options | {"factor": None}).fit(X, y)
    ended = own.cv_results_["iter"] == own.cv_results_["iter"].max()
    np.testing.assert_array_equal(own.oof_predictions_[ended], plain.oof_predictions_[ended])
    free = search_over(space | {"random_state": [None]}, estimator, **options).fit(X, y)
    assert free.cv_results_["params"][0]["random_state"] is None
    assert free.n_candidates_ == own.n_candidates_


def test_an_ensemble_is_of_those_that_went_on(numbers):
    own = search_over(factor=2, min_resources=3, refit="ensemble").fit(*numbers)
    assert own.ensemble_weights_.shape == (6,)
    assert not own.ensemble_weights_[own.cv_results_["iter"] < 2].any()
    assert own.predict(numbers[0]).shape == numbers[1].shape


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"factor": 1}, "factor.*Got 1"),
        ({"min_resources": 0}, "min_resources"),
        ({"factor": 2, "scoring": ["r2", "neg_max_error"]}, "refit must name it, got False"),
        ({"factor": 2, "space": {"drop_rate": [0.1]}, "n_iter": None}, "drop_rate=0.1 cannot"),
    ],
)
def test_what_cannot_be_halved_fails_before_any_growth(options, words, numbers, monkeypatch):
    monkeypatch.setattr(strategies, "fit_many", None)
    with pytest.raises(ValueError, match=words):
        search_over(**options).fit(*numbers)


def interrupt_after(monkeypatch, number):
    keep = Trials.keep
    fits = iter(range(1000))

    def keep_some(*arguments):
        keep(*arguments)
        if next(fits) == number - 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Trials, "keep", keep_some)


@pytest.mark.parametrize(
    ("number", "num_folds", "kept_settings", "kept_folds"),
    rows_are_slow([(1, 2, 1, 1), (4, 2, 2, 2), (5, 2, 2, 2), (10, 2, 4, 2), (8, 3, 2, 3), (14, 3, 6, 2)], 3),
)
def test_an_interrupt_keeps_what_is_finished(number, num_folds, kept_settings, kept_folds, monkeypatch):
    X, y = load_iris(return_X_y=True)
    # The first two settings are two programs, whose folds are done first; the others share one.
    space = [{"max_bins": [15, 31]}, {"max_bins": [63], "max_depth": [1, 2, 3, 4]}]
    search = SearchCV(GradientBoostingClassifier(3, random_state=0), space, cv=num_folds)
    interrupt_after(monkeypatch, number)
    with pytest.warns(InterruptedFitWarning, match=f"{kept_settings} of .* settings on {kept_folds} of"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == len(search.learning_curves_) == kept_settings
    assert search.n_splits_ == kept_folds
    assert search.score(X, y) > 0.9
    assert search.best_estimator_.get_params() | search.best_params_ == search.best_estimator_.get_params()


def test_an_interrupt_between_rungs_keeps_the_last_rung(numbers, plain, monkeypatch):
    interrupt_after(monkeypatch, 12 + 4)
    with pytest.warns(InterruptedFitWarning, match="6 of 6 settings on 2 of 2 folds"):
        own = search_over(factor=2, min_resources=3).fit(*numbers)
    # The second rung has three settings: one fold of all, and another of one.
    assert sorted(own.cv_results_["iter"]) == [0, 0, 0, 0, 0, 1]
    assert set(own.cv_results_["n_resources"]) == {3, 6}
    assert own.cv_results_["iter"][own.best_index_] == 1


def test_an_interrupt_before_the_first_fit_is_raised(numbers, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(strategies, "fit_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search_over().fit(*numbers)


def test_progress_ends_where_all_rounds_are_made(numbers, capsys):
    search_over(factor=2, min_resources=3, verbose=1).fit(*numbers)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("6 settings x 2 folds: 100%, best score ")
    assert all(" left, best score " in line for line in lines[1:-1]) and len(lines) > 2


def test_settings_that_do_not_share_a_program_are_told(numbers, capsys):
    X, y = numbers
    for bins in ([63], [15, 63]):
        SearchCV(GradientBoostingRegressor(2), {"max_bins": bins}, cv=2, refit=False, verbose=2).fit(X, y)
        said = capsys.readouterr().err
        assert all((f"program {n} of 2: max_bins={own}" in said) == (len(bins) == 2) for n, own in enumerate(bins, 1))
