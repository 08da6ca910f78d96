"""A search over boosted trees: its fits are those of scikit-learn's searches, in any order and any company."""

import jax
import numpy as np
import pandas as pd
import pytest
from jax.sharding import Mesh
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor, SearchCV
from jaxtree.boosting.rounds import make_rounds
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common import jobs
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import Job, TablePart, grouped
from jaxtree.search.ensemble import select_with_replacement
from tests.marks import rest_is_slow

SPACE = {
    "learning_rate": loguniform(0.05, 0.5), "max_depth": randint(2, 5), "max_leaf_nodes": [None, 4, 6],
    "min_samples_leaf": [1, 5, 15], "reg_lambda": uniform(0, 3), "subsample": uniform(0.5, 0.5),
    "colsample_bytree": [0.5, 1.0], "n_estimators": randint(5, 15), "random_state": [3],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, pytest.param({"factor": 2, "min_resources": 3}, marks=pytest.mark.slow)])
def test_models_divided_among_devices_are_those_of_one(options, monkeypatch):
    # No setting may be fitted by itself.
    monkeypatch.delattr(jobs, "_fit_alone")
    X, y = load_breast_cancer(return_X_y=True)
    settings = [{"max_depth": depth, "learning_rate": rate} for depth in (2, 3, 4) for rate in (0.1, 0.3)]
    search = SearchCV(GradientBoostingClassifier(8), settings, cv=2, random_state=0, refit=True, **options)
    one = clone(search).fit(X, y)
    before = make_rounds.num_programs()
    four = clone(search).fit(X, y, mesh=Mesh(np.array(jax.devices()[:4]), ("models",)))
    # One a number of slots: where models have paused, half of them go on.
    assert make_rounds.num_programs() - before <= 1 + len(options) // 2
    np.testing.assert_array_equal(one.oof_predictions_, four.oof_predictions_)
    assert one.best_params_ == four.best_params_


def test_a_mesh_has_one_axis():
    X, y = load_iris(return_X_y=True)
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("models", "rows"))
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        SearchCV(GradientBoostingClassifier(3), {"max_depth": [2]}, cv=2).fit(X, y, mesh=mesh)


def test_settings_that_differ_in_numbers_weights_of_classes_and_seeds_share_a_program():
    def sizes(estimator, name, values):
        settings = [{name: value, "max_depth": depth} for value in values for depth in (2, 3)]
        part = TablePart(np.zeros((4, 1)), np.zeros(4))
        groups = grouped([Job(configured(estimator, own), part) for own in settings])
        return sorted(0 if is_alone else len(numbers) for is_alone, numbers in groups)

    assert sizes(GradientBoostingClassifier(), "class_weight", [None, "balanced", {0: 3}]) == [6]
    assert sizes(GradientBoostingRegressor(subsample=0.5), "random_state", [0, 1, 2]) == [6]
    # Rows that are held out are drawn by the seed.
    assert sizes(GradientBoostingRegressor(early_stopping=True), "random_state", [0, 1, 2]) == [2, 2, 2]
    # A program drops no trees, and models of folds are made by one of their own.
    assert sizes(GradientBoostingRegressor(), "drop_rate", [0.0, 0.1]) == [0, 0, 2]
    assert sizes(GradientBoostingRegressor(), "early_stopping", ["cv", False]) == [0, 0, 2]


@pytest.mark.slow
def test_a_seed_that_orders_categories_does_not_spoil_others():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"word": rng.choice(list("abcdefgh"), 200), "number": rng.normal(size=200)})
    y = X["word"].map(ord) % 3 + X["number"] + rng.normal(size=200)
    estimator = GradientBoostingRegressor(4, subsample=0.5, categorical_splits="ordered", categorical_features=["word"])
    grid = {"random_state": [0, 1], "max_depth": [2, 3]}
    search, other = (own(estimator, grid, cv=2, refit=False).fit(X, y) for own in (SearchCV, GridSearchCV))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-9)


@pytest.mark.parametrize("early_stopping", rest_is_slow([False, True]))
def test_a_generator_begins_anew_for_every_fit(early_stopping):
    X, y = load_diabetes(return_X_y=True)
    grid = {"max_depth": [2, 3], "learning_rate": [0.1, 0.2]}
    scores = []
    for search in (SearchCV, GridSearchCV):
        estimator = GradientBoostingRegressor(
            5, subsample=0.5, early_stopping=early_stopping, random_state=np.random.RandomState(0)
        )
        scores.append(search(estimator, grid, cv=2, refit=False).fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_allclose(*scores, rtol=1e-9)


@pytest.mark.slow
def test_a_setting_whose_weights_leave_rows_out_is_fitted_by_itself():
    X, y = load_iris(return_X_y=True)
    settings = [{"class_weight": weights} for weights in (None, {0: 2}, {1: 0})]
    search = SearchCV(GradientBoostingClassifier(3), settings, cv=2, refit=False).fit(X, y)
    lone = GridSearchCV(
        GradientBoostingClassifier(3), {"class_weight": [own["class_weight"] for own in settings]}, cv=2
    )
    scores = lone.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores)


@pytest.mark.slow
def test_curves_are_the_losses_that_lone_fits_measure():
    X, y = load_breast_cancer(return_X_y=True)
    search = SearchCV(GradientBoostingClassifier(), SPACE, n_iter=7, cv=2, refit=False, random_state=1).fit(X, y)
    for number, own in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
            lone = GradientBoostingClassifier(**own).fit(X[train], y[train], eval_set={"test": (X[test], y[test])})
            (losses,) = lone.evals_result_["test"].values()
            np.testing.assert_array_equal(search.learning_curves_[number][fold], losses)
            assert search.cv_results_[f"split{fold}_n_rounds"][number] == lone.n_estimators_


def test_a_metric_ends_the_rounds_of_a_search_as_those_of_lone_fits():
    X, y = load_iris(return_X_y=True)
    estimator = GradientBoostingClassifier(12, max_depth=1, early_stopping=True, n_iter_no_change=1)
    given = {"X_val": X[::4], "y_val": y[::4], "eval_metric": "accuracy"}
    rates = [0.05, 0.3]
    search = SearchCV(estimator, {"learning_rate": rates}, cv=2, refit=False).fit(X, y, **given)
    for fold, (train, _) in enumerate(StratifiedKFold(2).split(X, y)):
        lone = [clone(estimator).set_params(learning_rate=rate).fit(X[train], y[train], **given) for rate in rates]
        assert search.cv_results_[f"split{fold}_n_rounds"].tolist() == [own.n_estimators_ for own in lone]


@pytest.mark.slow
def test_an_ensemble_is_no_worse_than_its_best_member():
    X, y = load_breast_cancer(return_X_y=True)
    search = SearchCV(
        GradientBoostingClassifier(8), SPACE | {"n_estimators": [8]}, n_iter=4, cv=3, scoring="neg_log_loss",
        refit="ensemble", random_state=0,
    ).fit(X, y)  # fmt: skip
    chances = np.clip(search.oof_predictions_[:, np.arange(len(y)), y], 1e-15, 1)
    assert search.best_score_ >= np.log(chances).mean(axis=1).max() - 1e-12
    assert search.ensemble_weights_.sum() == pytest.approx(1)
    assert search.predict_proba(X).shape == (len(y), 2)
    assert search.score(X, y) > -0.2


def test_selection_never_lowers_the_score_of_its_start():
    rng = np.random.default_rng(0)
    for _ in range(20):
        target = rng.normal(size=(30, 1))
        predictions = [target + rng.normal(0, rng.uniform(0.5, 2), (30, 1)) for _ in range(6)]
        score = lambda own, target=target: -float(np.square(own - target).mean())  # noqa: E731
        weights = select_with_replacement(predictions, score, most=10)
        assert score(np.tensordot(weights, predictions, 1)) >= max(map(score, predictions)) - 1e-12


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"max_depth": [3, -3]}, "max_depth.*-3"),
        ({"learning_rate": uniform(-5, 1)}, "learning_rate.*-4"),
        ({"depth": [3]}, "depth"),
        ({"max_depth": []}, "max_depth"),
    ],
)
def test_bad_spaces_fail_before_any_growth(space, words, monkeypatch):
    monkeypatch.setattr("jaxtree.search.strategies.fit_many", None)
    X, y = load_iris(return_X_y=True)
    n_iter = 2 if hasattr(next(iter(space.values())), "rvs") else None
    with pytest.raises(ValueError, match=words):
        SearchCV(GradientBoostingClassifier(), space, n_iter=n_iter, random_state=0).fit(X, y)


@pytest.mark.slow
def test_a_fold_ensemble_is_the_mean_of_the_models_of_the_folds():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    weight = np.arange(1, 151) % 3 + 1.0
    space = {"learning_rate": [0.1, 0.5], "max_depth": [1, 3]}
    blank, folds = GradientBoostingClassifier(4, subsample=0.7, random_state=0), StratifiedKFold(3)
    search = SearchCV(blank, space, cv=folds, refit="fold-ensemble").fit(X, y, sample_weight=weight)
    assert search.get_params()["refit"] == "fold-ensemble"
    expected, encoder = np.zeros((150, 1)), blank.make_encoder().fit(X)
    for parameters, share in zip(search.cv_results_["params"], search.ensemble_weights_, strict=True):
        for train, _ in folds.split(X, y) if share else ():
            own = clone(blank).set_params(**parameters)
            own.fit_task(own.read_task(X[train], y[train], sample_weight=weight[train], encoder=encoder))
            expected += share / 3 * own.raw_scores(X)
    np.testing.assert_allclose(search.best_estimator_.raw_scores(X), expected, rtol=1e-12)
    assert len(search.best_estimator_.ensemble_weights_) == 3 * np.count_nonzero(search.ensemble_weights_)


@pytest.mark.slow
def test_folds_without_a_class_are_not_averaged():
    X, y = np.arange(30.0)[:, None], np.repeat(["a", "b", "c"], 10)
    splits = [(np.arange(30), np.arange(10, 20)), (np.arange(20), np.arange(20))]
    search = SearchCV(GradientBoostingClassifier(2), {"max_depth": [1]}, cv=splits, refit="fold-ensemble")
    with pytest.raises(InvalidInputError, match="must have the same classes to be averaged"):
        search.fit(X, y)
