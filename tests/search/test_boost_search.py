"""A search over boosted trees: its fits are those of scikit-learn's searches, in any order and any company."""

import jax
import numpy as np
import pandas as pd
import pytest
from jax.sharding import Mesh
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, RepeatedKFold, StratifiedKFold, check_cv

from jaxtree import BoostSearchCV, DecisionTreeClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.boosting.many_rounds import make_rounds_of_many
from jaxtree.errors import InvalidInputError
from jaxtree.search import boosted_folds
from jaxtree.search.boosted_folds import group_by_program
from jaxtree.search.ensemble import select_with_replacement
from jaxtree.search.settings import configured
from tests.marks import are_exhaustive, rest_is_slow, rows_are_slow

SPACE = {
    "learning_rate": loguniform(0.05, 0.5), "max_depth": randint(2, 5), "max_leaf_nodes": [None, 4, 6],
    "min_samples_leaf": [1, 5, 15], "reg_lambda": uniform(0, 3), "subsample": uniform(0.5, 0.5),
    "colsample_bytree": [0.5, 1.0], "n_estimators": randint(5, 15), "random_state": [3],
}  # fmt: skip


@pytest.mark.parametrize(
    ("load", "estimator", "scoring"),
    rows_are_slow(
        [
            (load_breast_cancer, GradientBoostingClassifier(), "neg_log_loss"),
            (load_iris, GradientBoostingClassifier(), None),
            (load_diabetes, GradientBoostingRegressor(early_stopping=True, n_iter_no_change=3, random_state=1), None),
        ]
    ),
)
def test_scores_are_those_of_scikit_learns_search(load, estimator, scoring):
    X, y = load(return_X_y=True)
    own = BoostSearchCV(estimator, SPACE, n_iter=5, cv=3, scoring=scoring, random_state=0).fit(X, y)
    other = RandomizedSearchCV(estimator, SPACE, n_iter=5, cv=3, scoring=scoring, random_state=0).fit(X, y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_allclose(own.cv_results_[name], other.cv_results_[name], rtol=1e-9, atol=1e-12)
    assert own.best_params_ == other.best_params_
    np.testing.assert_allclose(own.predict(X), other.predict(X))
    assert own.cv_results_["mean_n_rounds"].shape == (5,)


@pytest.mark.parametrize("early_stopping", rest_is_slow([False, True]))
def test_a_search_over_one_setting_is_the_fit(early_stopping):
    X, y = load_breast_cancer(return_X_y=True)
    own = {"learning_rate": 0.5, "max_depth": 2, "subsample": 0.8}
    blank = GradientBoostingClassifier(
        12, early_stopping=early_stopping, n_iter_no_change=2, validation_fraction=0.2, random_state=0
    )
    search = BoostSearchCV(blank, own, cv=3).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        lone = clone(blank).set_params(**own).fit(X[train], y[train])
        np.testing.assert_allclose(search.oof_predictions_[0, test], lone.predict_proba(X[test]), rtol=1e-12)
        assert search.cv_results_[f"split{fold}_n_rounds"][0] == lone.n_estimators_
        assert search.cv_results_[f"split{fold}_test_score"][0] == lone.score(X[test], y[test])
    whole = clone(blank).set_params(**own).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), whole.predict_proba(X))
    assert search.best_params_ == own


@pytest.mark.slow
def test_groups_settings_that_fail_and_several_metrics():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"max_bins": [15, 31], "n_estimators": [3, 5], "drop_rate": [0.0, 0.2], "random_state": [0]}
    scoring, options = ["roc_auc", "accuracy"], {"cv": 2, "refit": "accuracy"}
    own = BoostSearchCV(GradientBoostingClassifier(max_depth=2), grid, scoring=scoring, **options).fit(X, y)
    other = GridSearchCV(GradientBoostingClassifier(max_depth=2), grid, scoring=scoring, **options).fit(X, y)
    for name in ("mean_test_roc_auc", "mean_test_accuracy"):
        np.testing.assert_allclose(own.cv_results_[name], other.cv_results_[name])
    settings = own.cv_results_["params"]
    assert sorted(map(len, group_by_program([configured(own.estimator, setting) for setting in settings]))) == [
        1,
        1,
        1,
        1,
        2,
        2,
    ]


@pytest.mark.slow
def test_the_order_of_settings_and_their_company_change_nothing():
    X, y = load_diabetes(return_X_y=True)
    settings = [{"max_depth": depth, "learning_rate": rate} for depth in (2, 3) for rate in (0.1, 0.3)]
    base = {"cv": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), "refit": False}
    whole = BoostSearchCV(GradientBoostingRegressor(6), settings, **base).fit(X, y)
    part = BoostSearchCV(GradientBoostingRegressor(6), settings[:0:-2], **base).fit(X, y)
    np.testing.assert_array_equal(part.oof_predictions_, whole.oof_predictions_[[3, 1]])
    assert [len(curve) for curve in whole.learning_curves_[0]] == [6] * 4
    lone = GridSearchCV(GradientBoostingRegressor(6), {"max_depth": [2], "learning_rate": [0.1]}, **base).fit(X, y)
    np.testing.assert_allclose(whole.cv_results_["mean_test_score"][0], lone.cv_results_["mean_test_score"][0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "factors", "early_stopping"),
    [
        (load_breast_cancer, {0: 3, 1: 0.5}, False),
        (load_iris, {0: 5, 2: 0.1}, True),
        pytest.param(load_breast_cancer, {0: 3, 1: 0.5}, True, marks=pytest.mark.exhaustive),
        pytest.param(load_iris, {0: 5, 2: 0.1}, False, marks=pytest.mark.exhaustive),
    ],
)
def test_settings_with_other_weights_of_classes_share_a_program(load, factors, early_stopping, monkeypatch):
    # No setting may be fitted by itself.
    monkeypatch.delattr(boosted_folds, "fit_alone")
    X, y = load(return_X_y=True)
    settings = [
        {"class_weight": weights, "max_depth": depth} for weights in (None, "balanced", factors) for depth in (2, 3)
    ]
    estimator = GradientBoostingClassifier(
        8, subsample=0.8, early_stopping=early_stopping, n_iter_no_change=2, random_state=0
    )
    assert group_by_program([configured(estimator, own) for own in settings]) == [[0, 1, 2, 3, 4, 5]]
    search = BoostSearchCV(estimator, settings, cv=2, refit=False).fit(X, y)
    for number, own in enumerate(settings):
        for fold, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
            lone = clone(estimator).set_params(**own).fit(X[train], y[train])
            rounds = search.cv_results_[f"split{fold}_n_rounds"][number]
            assert rounds == lone.n_estimators_
            kept = search.oof_predictions_[number, test]
            np.testing.assert_allclose(kept, lone.predict_proba(X[test]), rtol=1e-12)
            if not early_stopping:
                lone.fit(X[train], y[train], eval_set={"test": (X[test], y[test])})
                (losses,) = lone.evals_result_["test"].values()
                np.testing.assert_array_equal(search.learning_curves_[number][fold], losses)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, pytest.param({"factor": 2, "min_resources": 3}, marks=pytest.mark.slow)])
def test_models_divided_among_devices_are_those_of_one(options, monkeypatch):
    # No setting may be fitted by itself.
    monkeypatch.delattr(boosted_folds, "fit_alone")
    X, y = load_breast_cancer(return_X_y=True)
    settings = [{"max_depth": depth, "learning_rate": rate} for depth in (2, 3, 4) for rate in (0.1, 0.3)]
    search = BoostSearchCV(GradientBoostingClassifier(8), settings, cv=2, random_state=0, refit=True, **options)
    one = clone(search).fit(X, y)
    before = make_rounds_of_many.num_programs()
    four = clone(search).fit(X, y, mesh=Mesh(np.array(jax.devices()[:4]), ("models",)))
    # One a number of slots: where models have paused, half of them go on.
    assert make_rounds_of_many.num_programs() - before <= 1 + len(options) // 2
    np.testing.assert_array_equal(one.oof_predictions_, four.oof_predictions_)
    assert one.best_params_ == four.best_params_


def test_a_mesh_has_one_axis():
    X, y = load_iris(return_X_y=True)
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("models", "rows"))
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        BoostSearchCV(GradientBoostingClassifier(3), {"max_depth": [2]}, cv=2).fit(X, y, mesh=mesh)


@pytest.mark.slow
def test_settings_with_other_seeds_share_a_program(monkeypatch):
    # No setting may be fitted by itself.
    monkeypatch.delattr(boosted_folds, "fit_alone")
    X, y = load_diabetes(return_X_y=True)
    estimator, grid = GradientBoostingRegressor(6, subsample=0.5), {"random_state": [0, 1, 2], "max_depth": [2, 3]}
    search = BoostSearchCV(estimator, grid, cv=2, refit=False).fit(X, y)
    assert group_by_program([configured(estimator, own) for own in search.cv_results_["params"]]) == [
        [0, 1, 2, 3, 4, 5]
    ]
    other = GridSearchCV(estimator, grid, cv=2, refit=False).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, other.cv_results_["mean_test_score"], rtol=1e-9)
    assert len(set(scores.round(6))) == 6
    stops_early = GradientBoostingRegressor(early_stopping=True)
    assert sorted(
        map(len, group_by_program([configured(stops_early, own) for own in search.cv_results_["params"]]))
    ) == [2, 2, 2]


@pytest.mark.slow
def test_a_seed_that_orders_categories_does_not_spoil_others():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"word": rng.choice(list("abcdefgh"), 200), "number": rng.normal(size=200)})
    y = X["word"].map(ord) % 3 + X["number"] + rng.normal(size=200)
    estimator = GradientBoostingRegressor(4, subsample=0.5, categorical_splits="ordered", categorical_features=["word"])
    grid = {"random_state": [0, 1], "max_depth": [2, 3]}
    search, other = (own(estimator, grid, cv=2, refit=False).fit(X, y) for own in (BoostSearchCV, GridSearchCV))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-9)


@pytest.mark.parametrize("early_stopping", rest_is_slow([False, True]))
def test_a_generator_begins_anew_for_every_fit(early_stopping):
    X, y = load_diabetes(return_X_y=True)
    grid = {"max_depth": [2, 3], "learning_rate": [0.1, 0.2]}
    scores = []
    for search in (BoostSearchCV, GridSearchCV):
        estimator = GradientBoostingRegressor(
            5, subsample=0.5, early_stopping=early_stopping, random_state=np.random.RandomState(0)
        )
        scores.append(search(estimator, grid, cv=2, refit=False).fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_allclose(*scores, rtol=1e-9)


@pytest.mark.slow
def test_a_setting_whose_weights_leave_rows_out_is_fitted_by_itself():
    X, y = load_iris(return_X_y=True)
    settings = [{"class_weight": weights} for weights in (None, {0: 2}, {1: 0})]
    search = BoostSearchCV(GradientBoostingClassifier(3), settings, cv=2, refit=False).fit(X, y)
    lone = GridSearchCV(
        GradientBoostingClassifier(3), {"class_weight": [own["class_weight"] for own in settings]}, cv=2
    )
    scores = lone.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores)


@pytest.mark.slow
@pytest.mark.parametrize("load", are_exhaustive([load_breast_cancer, load_iris, load_diabetes], load_breast_cancer))
def test_members_drawn_at_random_have_the_losses_of_their_lone_fits_bit_for_bit(load):
    X, y = load(return_X_y=True)
    kind = GradientBoostingRegressor if load is load_diabetes else GradientBoostingClassifier
    search = BoostSearchCV(kind(), SPACE, n_iter=17, cv=2, refit=False, random_state=1).fit(X, y)
    splits = list(check_cv(2, y, classifier=kind is GradientBoostingClassifier).split(X, y))
    for number, own in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(splits):
            lone = kind(**own).fit(X[train], y[train], eval_set={"test": (X[test], y[test])})
            (losses,) = lone.evals_result_["test"].values()
            np.testing.assert_array_equal(search.learning_curves_[number][fold], losses)
            predicted = lone.predict(X[test]) if kind is GradientBoostingRegressor else lone.predict_proba(X[test])
            kept = search.oof_predictions_[number, test]
            # Trees are added one after another in the one, and several at once in the other.
            np.testing.assert_allclose(kept, predicted.reshape(kept.shape), rtol=1e-12)


@pytest.mark.slow
def test_an_ensemble_is_no_worse_than_its_best_member():
    X, y = load_breast_cancer(return_X_y=True)
    search = BoostSearchCV(
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
    monkeypatch.setattr("jaxtree.search.boost_search.fit_settings", None)
    X, y = load_iris(return_X_y=True)
    n_iter = 2 if hasattr(next(iter(space.values())), "rvs") else None
    with pytest.raises(ValueError, match=words):
        BoostSearchCV(GradientBoostingClassifier(), space, n_iter=n_iter, random_state=0).fit(X, y)


def test_it_searches_over_boosted_trees_alone():
    with pytest.raises(InvalidInputError, match="got DecisionTreeClassifier"):
        BoostSearchCV(DecisionTreeClassifier(), {"max_depth": [3]}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.slow
def test_a_fold_ensemble_is_the_mean_of_the_models_of_the_folds():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    weight = np.arange(1, 151) % 3 + 1.0
    space = {"learning_rate": [0.1, 0.5], "max_depth": [1, 3]}
    blank, folds = GradientBoostingClassifier(4, subsample=0.7, random_state=0), StratifiedKFold(3)
    search = BoostSearchCV(blank, space, cv=folds, refit="fold-ensemble").fit(X, y, sample_weight=weight)
    assert search.get_params()["refit"] == "fold-ensemble"
    expected, encoder = np.zeros((150, 1)), blank.make_encoder().fit(X)
    for parameters, share in zip(search.cv_results_["params"], search.ensemble_weights_, strict=True):
        for train, _ in folds.split(X, y) if share else ():
            own = clone(blank).set_params(**parameters)
            own.fit_task(own.read_task(X[train], y[train], sample_weight=weight[train], encoder=encoder))
            expected += share / 3 * own.raw_scores(X)
    np.testing.assert_allclose(search.best_estimator_.raw_scores(X), expected, rtol=1e-12)
    assert len(search.best_estimator_.estimators_) == 3 * np.count_nonzero(search.ensemble_weights_)


@pytest.mark.slow
def test_folds_without_a_class_are_not_averaged():
    X, y = np.arange(30.0)[:, None], np.repeat(["a", "b", "c"], 10)
    splits = [(np.arange(30), np.arange(10, 20)), (np.arange(20), np.arange(20))]
    search = BoostSearchCV(GradientBoostingClassifier(2), {"max_depth": [1]}, cv=splits, refit="fold-ensemble")
    with pytest.raises(InvalidInputError, match="must have the same classes to be averaged"):
        search.fit(X, y)
