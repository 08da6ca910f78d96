"""Tuning from Python: scikit-learn's conventions, results, and what is refused before the work."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold

import jaxtree
from jaxtree import GradientBoostingRegressor, TunedSearchCV, tune
from jaxtree.boosting import batch, quantile, quantiles
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, InvalidTypeError
from jaxtree.search import plain as plain_module
from jaxtree.search import tune as tune_module
from jaxtree.search.results import Leaderboard
from tests.examples import mixed_classes, mixed_table

QUICK = {"n_iter": 3, "cv": 2, "verbose": 0, "minutes": 600}
FRAME = mixed_table()
WORDS = mixed_classes(FRAME)
NUMBERS = np.round(np.cos(np.arange(len(FRAME))) + FRAME["is_new"].to_numpy(), 2)


@pytest.fixture(autouse=True, scope="module")
def few_rounds():
    """Fits of a few rounds, in batches of three."""
    whole = tune_module.space_for

    def small(*shape, num_classes):
        space = whole(*shape, num_classes=num_classes)
        few = {"n_estimators": 6, "n_iter_no_change": 2}
        return space._replace(fixed=space.fixed | few, finals=space.finals | few, batch=3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune_module, "space_for", small)
        yield


@pytest.fixture(scope="module")
def classes(few_rounds):
    """A search over classes."""
    return tune(FRAME, WORDS, **QUICK)


def test_results_have_the_form_of_a_grid_search(classes):
    results = classes.cv_results_
    np.testing.assert_allclose(
        results["mean_test_score"], (results["split0_test_score"] + results["split1_test_score"]) / 2
    )
    assert results["rank_test_score"][classes.best_index_] == 1
    assert classes.best_params_ == results["params"][classes.best_index_]
    assert list(results["param_learning_rate"]) == [own["learning_rate"] for own in results["params"]]
    assert (results["mean_fit_time"] > 0).all() and results["weight"].sum() == pytest.approx(1)
    assert classes.n_splits_ == 2 and len(results["params"]) == 3


def test_predictions_are_those_of_the_ensemble(classes, tmp_path):
    ensemble = classes.best_estimator_
    assert isinstance(ensemble, jaxtree.GradientBoostingClassifier) and is_classifier(classes)
    np.testing.assert_array_equal(classes.predict_proba(FRAME), ensemble.predict_proba(FRAME))
    assert list(classes.classes_) == sorted(set(WORDS)) and set(classes.predict(FRAME)) <= set(WORDS)
    own = classes.predict_proba(FRAME)[np.arange(len(WORDS)), np.searchsorted(classes.classes_, WORDS)]
    assert classes.score(FRAME, WORDS) == pytest.approx(np.log(own).mean())
    classes.save(tmp_path / "m.jaxtree")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "m.jaxtree").predict(FRAME), classes.predict(FRAME))
    again = pickle.loads(pickle.dumps(classes))
    np.testing.assert_array_equal(again.predict(FRAME), classes.predict(FRAME))


def test_conventions(classes):
    assert classes.n_features_in_ == FRAME.shape[1] and list(classes.feature_names_in_) == list(FRAME.columns)
    copy = clone(classes)
    assert copy.get_params() == classes.get_params() | {"estimator": copy.estimator}
    for use in (copy.leaderboard, copy.to_html, lambda: copy.predict(FRAME), lambda: copy.save("m")):
        with pytest.raises(NotFittedError):
            use()
    assert not hasattr(copy, "cv_results_") and not hasattr(copy, "classes_")


def test_the_leaderboard_makes_a_frame(classes):
    board = classes.leaderboard()
    frame = pd.DataFrame(board)
    assert frame.equals(pd.DataFrame(board.rows())) and list(frame["rank"]) == [1, 2, 3]
    assert frame["log_loss"].is_monotonic_increasing and (frame["log_loss"] > 0).all()
    first = classes.cv_results_["params"][frame["setting"][0]]
    assert first == classes.best_params_ and frame["learning_rate"][0] == first["learning_rate"]
    assert f"{frame['log_loss'][0]:.4g}" in repr(board) and board._repr_html_().count("</tr>") == 4


def test_names_in_a_leaderboard_are_words():
    board = Leaderboard(rank=np.arange(1, 13), **{"<b>": np.full(12, "<i>")})
    assert "<i>" not in board._repr_html_() and "&lt;i&gt;" in board._repr_html_()
    assert "and 2 more" in repr(board) and len(repr(board).splitlines()) == 12


def test_the_page_is_that_of_the_command(classes):
    page = classes.to_html(title="mine & yours")
    assert "<title>mine &amp; yours</title>" in page and "src=" not in page
    assert "Ensemble, best setting" in page and "learning_rate" in page


def test_a_seed_gives_the_same_again(classes):
    other = tune(FRAME, WORDS, **QUICK)
    np.testing.assert_array_equal(other.oof_predictions_, classes.oof_predictions_)
    np.testing.assert_array_equal(other.predict(FRAME), classes.predict(FRAME))
    assert not np.array_equal(tune(FRAME, WORDS, random_state=1, **QUICK).oof_predictions_, other.oof_predictions_)


@pytest.mark.slow
def test_numbers_and_parameters_of_the_estimator_are_kept():
    up = GradientBoostingRegressor(monotonic_cst={"size": 1}, n_estimators=1)
    search = tune(FRAME, NUMBERS, estimator=up, scoring="neg_mean_absolute_error", **QUICK)
    assert is_regressor(search) and isinstance(search.best_estimator_, GradientBoostingRegressor)
    for member in search.tuned_.members:
        assert member.monotonic_cst == {"size": 1} and member.n_estimators == 6 and member.early_stopping == "cv"
    assert up.get_params() == GradientBoostingRegressor(monotonic_cst={"size": 1}, n_estimators=1).get_params()
    assert "mean_absolute_error" in search.leaderboard()
    known = search.oof_predictions_[:, 0]
    np.testing.assert_allclose(search.best_score_, -np.abs(known - NUMBERS).mean(), rtol=0.02)


@pytest.mark.parametrize(("cv", "stopping"), [(2, "cv"), (KFold(2), False)])
def test_members_are_models_of_folds_unless_a_splitter_says_what_may_judge(cv, stopping):
    poor = GradientBoostingRegressor(1)  # so that it is not what is returned
    table = np.nan_to_num(FRAME.select_dtypes("number").to_numpy(float))
    search = tune(table, table[:, 0], estimator=poor, **QUICK | {"cv": cv, "n_iter": 3})
    assert {member.early_stopping for member in search.tuned_.members} == {stopping}


def test_groups_stay_together():
    groups = np.arange(len(FRAME)) // 10
    search = tune(FRAME, WORDS, groups=groups, **QUICK | {"cv": GroupKFold(3), "n_iter": 1})
    parts = [set(groups[test]) for test in search.tuned_.tests]
    assert sum(map(len, parts)) == len(set(groups)) and search.n_splits_ == 3
    with pytest.raises(InvalidInputError, match="groups are for a splitter"):
        tune(FRAME, WORDS, groups=groups, **QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "name"), [("absolute_error", "mean_absolute_error"), ("poisson", "mean_poisson_deviance")]
)
def test_numbers_are_scored_as_their_loss_is(loss, name):
    estimator = GradientBoostingRegressor(loss=loss)
    search = tune(FRAME, np.abs(NUMBERS) + 1, estimator=estimator, **QUICK | {"n_iter": 1})
    assert name in search.leaderboard() and search.tuned_.members[0].loss == loss


@pytest.mark.parametrize(
    ("loss", "said"),
    [("cox", "'cox' are not: use SearchCV"), (quantile(0.9), "pass scoring"),
     (quantiles([0.1, 0.9]), "are not: use SearchCV")],
)  # fmt: skip
def test_losses_that_the_score_does_not_fit_are_refused(loss, said):
    with pytest.raises(InvalidInputError, match=said):
        tune(FRAME, NUMBERS, estimator=GradientBoostingRegressor(loss=loss), **QUICK)


SMALL = FRAME[:12]
REFUSED = {
    "no time": (FRAME, WORDS, {"minutes": 0}, r"'minutes'.*range \(0.0, 527040.0\].*Got 0"),
    "no number": (FRAME, WORDS, {"minutes": float("nan")}, "'minutes'.*nan"),
    "for ever": (FRAME, WORDS, {"minutes": float("inf")}, "'minutes'.*inf"),
    "one class": (FRAME, np.full(len(FRAME), "yes"), {}, "y has one class only, 'yes'"),
    "few rows": (SMALL, WORDS[:12], {}, "tune needs 10 rows or more.*2 folds leave 6 of 12"),
    "more folds than rows": (FRAME, WORDS, {"cv": 61}, "folds must be at most 60"),
    "two targets": (FRAME, np.zeros((len(FRAME), 2)), {}, r"one value a row, got an array of shape \(60, 2\)"),
    "a missing number": (FRAME, np.where(NUMBERS > 0, NUMBERS, np.nan), {}, "y"),
    "no scorer": (FRAME, WORDS, {"scoring": "magic"}, "scoring must be a scorer of scikit-learn.*'magic'"),
    "a scorer of numbers": (FRAME, WORDS, {"scoring": "r2"}, "scoring='r2' cannot score models of classes"),
    "no settings": (FRAME, WORDS, {"n_iter": 0}, "'n_iter'"),
    "rows that differ": (FRAME[1:], WORDS, {}, "[Ii]nconsistent"),
    "negative verbosity": (FRAME, WORDS, {"verbose": -1}, "'verbose'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_tuned_is_refused_before_the_work(name, monkeypatch):
    monkeypatch.setattr(tune_module, "find_ensemble", None)
    X, y, options, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        tune(X, y, **QUICK | options)


def test_other_estimators_and_sources_are_refused():
    with pytest.raises(InvalidTypeError, match=r"tunes GradientBoostingClassifier, .*, got DecisionTreeClassifier"):
        TunedSearchCV(jaxtree.DecisionTreeClassifier()).fit(FRAME, WORDS)
    with pytest.raises(InvalidTypeError, match="read it first"):
        tune("train.parquet", WORDS, **QUICK)
    with pytest.raises(InvalidTypeError, match="tune takes no 'hours'"):
        tune(FRAME, WORDS, hours=1)
    with pytest.raises(InvalidTypeError, match=r"^tune takes no 'n_iters': do you mean n_iter\?$"):
        tune(FRAME, WORDS, n_iters=1)


def test_an_interrupt_warns_and_keeps_what_is_finished(classes, monkeypatch):
    make, score_plain, calls = batch.make_rounds, plain_module._tried, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return make(*arguments, **options)

    def then_interrupted(*arguments):
        tried = score_plain(*arguments)
        monkeypatch.setattr(batch, "make_rounds", interrupted)
        return tried

    monkeypatch.setattr(plain_module, "_tried", then_interrupted)
    with pytest.warns(InterruptedFitWarning, match="its ensemble is of 4 settings"):
        search = tune(FRAME, WORDS, **QUICK | {"n_iter": 9})
    assert search.was_interrupted_ and not classes.was_interrupted_
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"][:3], classes.cv_results_["mean_test_score"])


def test_a_parameter_that_is_kept_reaches_the_folds():
    rng = np.random.default_rng(0)
    column, falling = np.arange(60.0)[:, None], -np.arange(60) + rng.normal(size=60)
    search = tune(column, falling, estimator=GradientBoostingRegressor(monotonic_cst=[1]), **QUICK | {"n_iter": 1})
    (setting,) = search.tuned_.tried.predicted
    for test in search.tuned_.tests:
        assert (np.diff(setting[np.sort(test), 0]) >= 0).all()


@pytest.mark.parametrize("values", [[0.5, 1.5], [3.5]])
def test_few_numbers_that_are_not_whole_are_numbers(values):
    search = tune(FRAME, np.resize(values, len(FRAME)), **QUICK | {"n_iter": 1})
    assert is_regressor(search) and np.isfinite(search.predict(FRAME)).all()


@pytest.mark.parametrize(
    "y",
    [
        np.array([f"word {number}" for number in range(len(FRAME))]),
        np.datetime64("2020-01-01") + np.arange(len(FRAME)),
        np.arange(len(FRAME)).astype("timedelta64[h]"),
    ],
    ids=["words", "dates", "durations"],
)
def test_targets_of_which_every_row_has_another_are_refused(y):
    with pytest.raises(InvalidInputError, match="60 different values in 60 rows, so no class can be learned"):
        tune(FRAME, y, **QUICK)


def test_words_of_which_few_are_alike_are_tuned():
    y = np.array([f"word {max(number, 2)}" for number in range(len(FRAME))])
    assert tune(FRAME, y, **QUICK | {"n_iter": 1}).predict_proba(FRAME).shape == (60, 58)


def test_a_time_that_does_not_suffice_for_the_defaults_is_said():
    with pytest.warns(UserWarning, match=r"one setting alone was tried beside the defaults, in \S+ minutes"):
        search = tune(FRAME, NUMBERS, **QUICK | {"minutes": 0.001})
    assert search.tuned_.finalists is None
