"""The final round of a tuning: finalists are means of models of folds, judged by rows that they have not seen."""

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InternalError
from jaxtree.page.tuned import reason_in_words, tuned_page
from jaxtree.search import finals, strategies
from jaxtree.search.budget import Budget
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import Finalists, choose, make_yardstick, scores_of_folds
from jaxtree.search.tuning import find_ensemble
from tests.cli.test_tune import Clock, interrupt_at, interrupt_fits, small_space, task
from tests.marks import rows_are_slow
from tests.search.beside import beside_plain

FINALS = {"n_estimators": 5, "early_stopping": "cv", "n_iter_no_change": 3}
SPACE = small_space()._replace(finals=FINALS)
NUM_FITS = 4
"""The fits of a finalist: on all rows, and without each of three folds."""


@pytest.fixture(scope="module")
def whole():
    """A tuning of eight settings that has time for all."""
    return find_ensemble(task(3), SPACE, Budget(1e6, 8))


def numbers_in_order(tuned):
    """The defaults, and the others by what single models say."""
    order = np.argsort(-tuned.tried.scores.mean(axis=1), kind="stable")
    return [0, *order[order != 0]]


def fitted(tuned, number, rows):
    setting = {**tuned.tried.settings[number], **FINALS, "random_state": 0}
    return jaxtree.GradientBoostingRegressor(**setting).fit(task().X[rows], task().y[rows])


def test_finalists_are_judged_as_what_members_are(whole):
    assert whole.finalists.numbers == numbers_in_order(whole) and len(whole.tried.settings) == 8
    for place in (0, 3):
        number = whole.finalists.numbers[place]
        for train, test in task(3).splits[:2]:
            expected = fitted(whole, number, train).predict(task().X[test])
            np.testing.assert_array_equal(whole.finalists.predicted[place, test, 0], expected)
    chosen = np.argsort(-whole.weights, kind="stable")[: np.count_nonzero(whole.weights)]
    for number, member in zip(chosen, whole.members, strict=True):
        expected = fitted(whole, number, slice(None)).predict(task().X)
        np.testing.assert_array_equal(member.predict(task().X), expected)
    assert whole.weights.sum() == pytest.approx(1) and not whole.was_interrupted
    assert reason_in_words(whole) in tuned_page(beside_plain(whole), task().y).replace("\\u0027", "'")


def test_every_fold_chooses_and_the_defaults_have_half_of_the_weight():
    """The prediction of a fold does not depend on its targets."""
    rng = np.random.default_rng(0)
    y, tests = rng.normal(size=50), np.arange(50).reshape(5, 10)
    predicted = y[None, :, None] + rng.normal(size=(3, 50, 1))
    predicted[1, tests[2]] = y[tests[2], None]
    predicted[2] = predicted[0] + 999
    yardstick = make_yardstick(None, y, of_classes=False)
    scores = scores_of_folds(yardstick, predicted, tests)

    def chosen(target):
        own = make_yardstick(None, target, of_classes=False)
        finalists = Finalists([0, 4, 7], predicted, scores_of_folds(own, predicted, tests))
        return choose(finalists, own, tests, Budget(1e6).deadline(0.0))

    weights, judged = chosen(y)
    assert scores[1, 2] == 0 and weights.sum() == pytest.approx(1)
    assert weights[0] >= 0.5 and weights[1] >= 0.1 and weights[2] == 0
    other = chosen(np.where(np.arange(50) < 10, -y, y)).predicted
    np.testing.assert_array_equal(other[:10], judged[:10])
    assert not np.array_equal(other[10:], judged[10:])


class SlowFits:
    """A clock that stands still but for batches of settings and for fits of finalists."""

    def __init__(self, monkeypatch, a_batch, a_fit):
        self.now = 0.0
        fit_many, fit = strategies.fit_many, jaxtree.GradientBoostingRegressor.fit

        def slow_batch(*arguments, **options):
            self.now += a_batch
            return fit_many(*arguments, **options)

        def slow_fit(*arguments, **options):
            self.now += a_fit
            return fit(*arguments, **options)

        monkeypatch.setattr(strategies, "fit_many", slow_batch)
        monkeypatch.setattr(jaxtree.GradientBoostingRegressor, "fit", slow_fit)

    def __call__(self):
        return self.now


def test_half_of_the_time_is_for_finalists(monkeypatch):
    budget = Budget(100, clock=SlowFits(monkeypatch, 4.0, 2.0))
    tuned = find_ensemble(task(3), SPACE, budget)
    assert 75 <= budget.used() <= 96
    # The defaults, nine batches of two settings or one more, and then finalists of four fits of two seconds.
    assert len(tuned.tried.settings) in (19, 21) and 4 <= len(tuned.finalists.numbers) <= 6
    assert tuned.finalists.numbers == numbers_in_order(tuned)[: len(tuned.finalists.numbers)]
    assert not tuned.weights[np.setdiff1d(np.arange(len(tuned.weights)), tuned.finalists.numbers)].any()


@pytest.mark.parametrize("seconds", [20, pytest.param(40, marks=pytest.mark.slow)])
def test_defaults_for_which_there_is_time_on_all_rows_alone_are_judged_by_their_own_folds(seconds, monkeypatch):
    budget = Budget(seconds, clock=SlowFits(monkeypatch, 0.1 * seconds, 0.2 * seconds))
    tuned = find_ensemble(task(3), SPACE, budget)
    assert budget.used() <= seconds
    (member,) = tuned.members
    assert tuned.finalists.numbers == [0] and tuned.weights[0] == 1
    np.testing.assert_array_equal(tuned.predicted[:, 0], member.oof_predictions_)
    assert "taken alone" in reason_in_words(tuned)


def test_without_time_for_the_defaults_members_are_single_models(monkeypatch):
    # Ten rounds of a batch take nine tenths of the time, and those of all models of folds many more.
    budget = Budget(20, clock=SlowFits(monkeypatch, 18.0, 0.0))
    tuned = find_ensemble(task(3), SPACE, budget)
    assert tuned.finalists is None and not any(own.early_stopping for own in tuned.members)


@pytest.mark.parametrize("seconds", [1, 12, 30, 60, 120, 1e6])
@pytest.mark.parametrize("seed", rows_are_slow([(number,) for number in range(6)]))
def test_nothing_is_worse_than_the_defaults_in_the_scores_of_the_search(seconds, seed):
    """On noise, the best of many settings by other folds mostly is; every look at the clock takes a second."""
    own = task(3)
    order = np.random.default_rng(seed).permutation(len(own.y))
    own = own._replace(y=own.y[order], yardstick=make_yardstick(None, own.y[order], of_classes=False))
    for space in (SPACE, small_space()):
        tuned = find_ensemble(own, space, Budget(seconds, 6, clock=Clock()), seed)
        best, defaults = tuned.best_and_defaults()
        assert tuned.tried.settings[0] == space.settings(1, seed)[0] and not tuned.tried.was_cut[0]
        assert best.mean() >= defaults.mean() and tuned.scores.mean() >= defaults.mean()
        shown = scores_of_folds(own.yardstick, tuned.predicted[None], tuned.tests)[0]
        np.testing.assert_array_equal(shown, tuned.scores)
        assert len(tuned.members) == np.count_nonzero(tuned.weights)


@pytest.mark.parametrize("lacks", ["time", "numbers"])
def test_where_the_defaults_are_no_finalist_no_other_setting_is(lacks, monkeypatch):
    budget, fit = Budget(1e6, 4), jaxtree.GradientBoostingRegressor.fit
    if lacks == "time":
        budget = Budget(100, 4, clock=SlowFits(monkeypatch, 40.0, 0.0))
    else:

        def fails(model, *arguments, **options):
            if model.early_stopping == "cv":
                raise jaxtree.errors.TrainingError("no numbers")
            return fit(model, *arguments, **options)

        monkeypatch.setattr(jaxtree.GradientBoostingRegressor, "fit", fails)
    tuned = find_ensemble(task(3), SPACE, budget)
    assert tuned.finalists is None and tuned.scores.mean() >= tuned.best_and_defaults()[1].mean()


def test_while_all_of_the_best_are_finalists_further_settings_are_tried(monkeypatch):
    own = task(3)
    own = own._replace(yardstick=own.yardstick._replace(most=2))
    budget = Budget(100, clock=SlowFits(monkeypatch, 4.0, 2.0))
    tuned = find_ensemble(own, SPACE, budget)
    assert len(tuned.tried.settings) > 20 and len(tuned.finalists.numbers) >= 2
    assert budget.used() <= 96


@pytest.mark.parametrize(
    ("number", "left"), rows_are_slow([(NUM_FITS + 2, 1), (2, 1), (NUM_FITS, 1), (2 * NUM_FITS + 1, 2)])
)
def test_an_interrupt_leaves_the_finalists_that_are_finished(number, left, whole, monkeypatch):
    interrupt_fits(monkeypatch, (number,))
    tuned = find_ensemble(task(3), SPACE, Budget(1e6, 8))
    assert tuned.was_interrupted and tuned.finalists.numbers == whole.finalists.numbers[:left]
    # Defaults whose fits without a fold are not finished are judged by their own folds.
    is_judged = number > NUM_FITS
    assert np.array_equal(tuned.finalists.predicted[0], whole.finalists.predicted[0]) == is_judged
    assert "interrupted" in tuned_page(beside_plain(tuned), task().y)


def test_an_interrupt_before_there_is_a_finalist_leaves_single_models(monkeypatch):
    interrupt_fits(monkeypatch, (1,))
    tuned = find_ensemble(task(3), SPACE, Budget(1e6, 8))
    assert tuned.was_interrupted and tuned.finalists is None and len(tuned.tried.settings) == 8
    with monkeypatch.context() as patch:
        interrupt_at(patch, 9)
        tuned = find_ensemble(task(3), SPACE, Budget(1e6, 8))
    assert tuned.was_interrupted and tuned.finalists is None and len(tuned.tried.settings) == 1


def test_a_finalist_whose_fit_fails_is_left_out(whole, monkeypatch):
    fit, calls = jaxtree.GradientBoostingRegressor.fit, []

    def fails(*arguments, **options):
        calls.append(1)
        if len(calls) == NUM_FITS + 2:
            raise jaxtree.errors.TrainingError("no numbers")
        return fit(*arguments, **options)

    monkeypatch.setattr(jaxtree.GradientBoostingRegressor, "fit", fails)
    with pytest.warns(UserWarning, match=r"the finalist with \{'learning_rate': .* failed: no numbers"):
        tuned = find_ensemble(task(3), SPACE, Budget(1e6, 8))
    first, _, *others = whole.finalists.numbers
    assert tuned.finalists.numbers == [first, *others] and not tuned.was_interrupted


def test_a_defect_in_the_fit_of_a_finalist_is_no_finalist_less(monkeypatch):
    fit = jaxtree.GradientBoostingRegressor.fit

    def fails(model, *arguments, **options):
        return fit(model, *arguments, **options) if model.early_stopping != "cv" else undefined

    monkeypatch.setattr(jaxtree.GradientBoostingRegressor, "fit", fails)
    with pytest.raises(InternalError, match=r"the finalist with \{'learning_rate': .* failed: name 'undefined' is not"):
        find_ensemble(task(3), SPACE, Budget(1e6, 2))


def test_classes_that_a_part_lacks_and_rows_without_weight_are_judged():
    """A class of one row is in the test part of one fold; and a row of weight 0 is in no fold of the models."""
    X = np.random.default_rng(1).normal(size=(40, 3))
    y = np.where(np.arange(40) == 4, "rare", np.where(X[:, 0] > 0, "high", "low"))
    weight = np.where(np.arange(40) == 7, 0.0, 1.0)
    yardstick = make_yardstick(None, y, of_classes=True)
    given = {"fit_params": {"sample_weight": weight}, "yardstick": yardstick}
    own = Search(jaxtree.GradientBoostingClassifier(), X, y, task(3).splits, **given)
    tuned = find_ensemble(own, SPACE, Budget(1e6, 2))
    predicted = tuned.finalists.predicted
    np.testing.assert_allclose(predicted.sum(axis=-1), 1)
    assert np.isfinite(tuned.scores).all()
    place = list(yardstick.classes).index("rare")
    assert (predicted[:, 4, place] == 0).all() and (predicted[:, 5, place] > 0).all()
    by_own_folds = finals._by_its_folds(tuned.members[0], X)
    assert np.isnan(tuned.members[0].oof_predictions_[7]).all() and np.isfinite(by_own_folds).all()
