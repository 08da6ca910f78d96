"""Any splitter and any scorers of scikit-learn: results are those of its own search; bad spaces fail before growth."""

import warnings

import jax
import numpy as np
import pytest
from scipy.stats import norm, randint, uniform
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
)

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, GradientBoostingClassifier, SearchCV
from jaxtree.boosting import batch
from jaxtree.errors import SortedRowsWarning
from jaxtree.estimators.common.folds import folds_of
from tests.marks import rest_is_slow

X, Y = (own[:200] for own in load_breast_cancer(return_X_y=True))
GROUPS = np.arange(len(Y)) % 5
BASE = GradientBoostingClassifier(4, random_state=0)
SPACE = {"learning_rate": uniform(0.1, 0.5), "max_depth": randint(1, 4)}
OPTIONS = {"n_iter": 3, "random_state": 0, "error_score": "raise"}


def two_scores(estimator, X, y):
    return {"accuracy": accuracy_score(y, estimator.predict(X)), "loss": -log_loss(y, estimator.predict_proba(X))}


def least_rank(results):
    return int(results["rank_test_loss"].argmin())


def assert_as_in_scikit_learn(options, params=None):
    params = params or {}
    own = SearchCV(BASE, SPACE, **OPTIONS | options).fit(X, Y, **params)
    other = RandomizedSearchCV(BASE, SPACE, **OPTIONS | options).fit(X, Y, **params)
    assert set(other.cv_results_) <= set(own.cv_results_)
    for name, expected in other.cv_results_.items():
        if "_test_" in name:
            np.testing.assert_allclose(own.cv_results_[name], expected, rtol=1e-9, err_msg=name)
    assert (own.n_splits_, own.multimetric_) == (other.n_splits_, other.multimetric_)
    for name in ("best_index_", "best_params_"):
        assert getattr(own, name, None) == getattr(other, name, None)
    assert hasattr(own, "best_score_") == hasattr(other, "best_score_")
    return own


@pytest.mark.parametrize(
    "options",
    rest_is_slow(
        [
            {"scoring": ["neg_log_loss", "accuracy"], "refit": "accuracy"},
            {"scoring": ("neg_log_loss", "accuracy"), "refit": False},
            {"scoring": {"loss": "neg_log_loss", "area": make_scorer(accuracy_score)}, "refit": "loss"},
            {"scoring": two_scores, "refit": "loss"},
            {"scoring": two_scores, "refit": least_rank},
            {"scoring": make_scorer(accuracy_score)},
        ],
        3,
    ),
)
def test_scorers(options):
    own = assert_as_in_scikit_learn({"cv": 2} | options)
    if isinstance(options.get("refit"), str):
        halved = SearchCV(BASE, SPACE, **OPTIONS | options, cv=2, factor=3, min_resources=2).fit(X, Y)
        assert set(halved.cv_results_["n_resources"]) == {2, 4}
        assert halved.best_params_ in own.cv_results_["params"]


@pytest.mark.parametrize(
    "cv",
    rest_is_slow(
        [
            RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
            GroupKFold(3),
            StratifiedGroupKFold(3),
            LeaveOneGroupOut(),
            ShuffleSplit(3, test_size=0.3, random_state=0),
            PredefinedSplit(np.where(GROUPS == 4, -1, GROUPS % 2)),
            [(np.arange(100), np.arange(100, 200)), (np.arange(50, 200), np.arange(50))],
        ],
        4,
    ),
    ids=lambda cv: type(cv).__name__,
)
def test_splitters(cv):
    is_grouped = "Group" in type(cv).__name__
    own = assert_as_in_scikit_learn({"cv": cv}, {"groups": GROUPS} if is_grouped else None)
    splits = cv if isinstance(cv, list) else list(cv.split(X, Y, GROUPS))
    is_tested = np.isin(np.arange(len(Y)), np.concatenate([test for _, test in splits]))
    assert (np.isnan(own.oof_predictions_).any(axis=(0, 2)) == ~is_tested).all()
    np.testing.assert_allclose(own.oof_predictions_[:, is_tested].sum(axis=2), 1)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ([], "param_grid"),
        ({"subsample": [1.0, 1.5]}, "subsample.*1.5"),
        ({"max_leaf_nodes": randint(1, 2)}, "max_leaf_nodes.*1"),
        ({"reg_lambda": [float("nan")]}, "reg_lambda.*nan"),
        ({"reg_alpha": norm(-5, 0.1)}, "reg_alpha.*-[45]"),
        ({"learning_rate": ["fast"]}, "learning_rate.*'fast'"),
        ([{"max_depth": [2]}, {"max_depht": [3]}], "max_depht"),
        ([{"max_depth": [2]}, {"gamma": []}], "gamma"),
        ({"n_estimators": [0]}, "n_estimators.*0"),
    ],
)
def test_bad_spaces_fail_before_any_growth(space, words, monkeypatch):
    monkeypatch.setattr("jaxtree.search.strategies.fit_many", None)
    n_iter = 2 if isinstance(space, dict) else None
    with pytest.raises(ValueError, match=words):
        SearchCV(BASE, space, n_iter=n_iter, random_state=0).fit(X, Y)


@pytest.mark.slow
def test_a_batch_is_halved_where_the_device_runs_out_of_memory_once(monkeypatch):
    space = {"learning_rate": [0.1, 0.2, 0.3, 0.4], "max_depth": [2]}
    whole = SearchCV(BASE, space, cv=2, refit=False).fit(X, Y)
    really, tried = batch.make_rounds, []

    def with_little_memory(*arrays, **static):
        tried.append(len(arrays[2].is_new))
        if len(tried) == 1:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.")
        return really(*arrays, **static)

    monkeypatch.setattr(batch, "make_rounds", with_little_memory)
    halved = SearchCV(BASE, space, cv=2, refit=False).fit(X, Y)
    assert tried == [4, 2, 2, 4]
    np.testing.assert_array_equal(halved.oof_predictions_, whole.oof_predictions_)
    assert halved.cv_results_["mean_n_rounds"].tolist() == [4, 4, 4, 4]


def sorted_rows(number=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(number, 2))
    order = np.argsort(X[:, 0])
    return X[order], X[order, 0] + 0.1 * rng.normal(size=number)


@pytest.mark.parametrize("turn", [1, -1])
def test_rows_in_the_order_of_the_target_are_told(turn):
    X, y = sorted_rows()
    with pytest.warns(
        SortedRowsWarning, match=r"5 folds of successive rows explain [89]\d% .* cv=KFold\(5, shuffle=True"
    ):
        SearchCV(DecisionTreeRegressor(), {"max_depth": [2]}).fit(X[::turn], y[::turn])


def test_other_rows_and_other_folds_are_not():
    X, y = sorted_rows()
    mixed = np.random.default_rng(1).permutation(len(y))
    cases = [
        (X[mixed], y[mixed], 5, {}),
        (X, y, KFold(5, shuffle=True, random_state=0), {}),
        (X, y, 5, {"group": np.arange(len(y)) // 10}),
        (X[:40], y[:40], 5, {}),
        (X, np.ones(len(y)), 5, {}),
    ]
    for table, target, cv, extras in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SortedRowsWarning)
            folds_of(DecisionTreeRegressor(), table, target, cv, {}, extras)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SortedRowsWarning)
        SearchCV(DecisionTreeClassifier(), {"max_depth": [1]}).fit(X, y > 0)
