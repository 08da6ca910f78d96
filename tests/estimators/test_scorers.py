"""Scorers and metrics on rows with weights, and on rows without some class."""

import functools
import warnings

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names, log_loss, make_scorer, max_error
from sklearn.model_selection import KFold

from jaxtree import (
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    SearchCV,
)
from jaxtree.estimators.common.fixed import fixed_predictions
from jaxtree.estimators.common.scorers import scorer_named
from tests.marks import rest_is_slow

ROWS = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2))
CLASS = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + RNG.normal(size=ROWS), [-0.5, 0.5])]
NUMBER = X[:, 0] + RNG.normal(size=ROWS)
WEIGHT = np.where(np.arange(ROWS) % 5 == 0, 0.0, RNG.uniform(0.5, 2, ROWS))
FEW: dict = {"n_estimators": 2, "max_depth": 2}


def largest_error(target, predicted):
    """A function of two arguments."""
    return float(np.max(np.abs(target - predicted)))


def wrong_loss(target, predicted):
    """The same for classes."""
    return float(np.mean(target != predicted))


def weighted_error(target, predicted, sample_weight=None):
    """One that takes weights."""
    return float(np.average(np.abs(target - predicted), weights=sample_weight))


METRICS = [
    largest_error,
    functools.partial(largest_error),
    make_scorer(lambda target, predicted: largest_error(target, predicted)),
    make_scorer(max_error, greater_is_better=False),
    "neg_max_error",
]


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_that_take_no_weights_measure_the_rows_that_have_some(metric):
    model = GradientBoostingRegressor(**FEW)
    model.fit(X, NUMBER, WEIGHT, eval_set=[(X, NUMBER, WEIGHT)], eval_metric=metric)
    _, values = model.evals_result_["validation_0"].values()
    is_there = WEIGHT > 0
    assert abs(values[-1]) == pytest.approx(largest_error(NUMBER[is_there], model.predict(X[is_there])))


@pytest.mark.parametrize("metric", [weighted_error, make_scorer(weighted_error, greater_is_better=False)])
def test_metrics_that_take_weights_get_them(metric):
    model = GradientBoostingRegressor(**FEW)
    model.fit(X, NUMBER, WEIGHT, eval_set=[(X, NUMBER, WEIGHT)], eval_metric=metric)
    _, values = model.evals_result_["validation_0"].values()
    assert abs(values[-1]) == pytest.approx(weighted_error(NUMBER, model.predict(X), WEIGHT))


@pytest.mark.parametrize("metric", [wrong_loss, make_scorer(wrong_loss, greater_is_better=False)])
def test_weights_of_classes_are_no_hindrance_either(metric):
    model = GradientBoostingClassifier(**FEW, class_weight="balanced", early_stopping=True, random_state=0)
    model.fit(X, CLASS, eval_metric=metric)
    _, values = model.evals_result_["validation_0"].values()
    assert 0 <= abs(values[-1]) < 1


TWO_OF_THREE = np.flatnonzero(CLASS != "b")[:20]


@pytest.mark.parametrize("of_two", [False, True])
def test_every_scorer_of_probabilities_scores_rows_without_a_class(of_two):
    y = (CLASS == "a").astype(int) if of_two else CLASS
    part = np.flatnonzero(y == 1)[:9] if of_two else TWO_OF_THREE
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    shares, scored = model.predict_proba(X[part]), set()
    for name in get_scorer_names():
        scorer = scorer_named(name)
        if type(scorer) is type(get_scorer(name)) or (name == "roc_auc" and not of_two):
            continue
        with warnings.catch_warnings():
            # scikit-learn has no AUC of a class that is not there: it warns, and gives NaN.
            warnings.simplefilter("ignore")
            scorer(model, X[part], y[part])
        assert scorer(model, X, y) == get_scorer(name)(model, X, y)
        scored.add(name)
    assert {"neg_log_loss", "neg_brier_score", "top_k_accuracy"} <= scored
    expected = -log_loss(y[part], shares, labels=model.classes_)
    assert scorer_named("neg_log_loss")(model, X[part], y[part]) == pytest.approx(expected)


def test_evaluations_without_a_class_have_a_log_loss():
    model = GradientBoostingClassifier(**FEW)
    model.fit(X, CLASS, eval_set=[(X[TWO_OF_THREE], CLASS[TWO_OF_THREE])], eval_metric="neg_log_loss")
    losses, scores = model.evals_result_["validation_0"].values()
    np.testing.assert_allclose(scores, -np.array(losses))


@pytest.mark.parametrize(
    "search",
    [
        SearchCV(GradientBoostingClassifier(**FEW, class_weight="balanced"), {"max_depth": [1, 2]}),
        SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}),
        SearchCV(RandomForestClassifier(2, random_state=0), {"max_depth": [1, 2]}),
    ],
    ids=lambda search: type(search.estimator).__name__,
)
@pytest.mark.parametrize("scoring", rest_is_slow(["neg_log_loss", ["neg_log_loss", "accuracy"]]), ids=str)
def test_searches_score_folds_without_a_class(search, scoring):
    order = np.argsort(CLASS, kind="stable")
    order = np.concatenate([order[::2], order[1::2]])
    search.set_params(scoring=scoring, cv=KFold(4), refit=False).fit(X[order], CLASS[order])
    name = "score" if isinstance(scoring, str) else "neg_log_loss"
    assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


def test_fixed_predictions_are_scored_as_the_model_that_made_them():
    target = CLASS == "a"
    two = GradientBoostingClassifier(**FEW).fit(X, target)
    numbers = GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    for model, y, names in (
        (two, target, ("accuracy", "roc_auc", "neg_log_loss")),
        (GradientBoostingClassifier(**FEW).fit(X, CLASS), CLASS, ("accuracy", "roc_auc_ovr", "neg_log_loss")),
        (numbers, NUMBER, ("r2", "neg_max_error")),
    ):
        fixed = model.fixed_predictions(model.raw_scores(X))
        assert fixed.score(X, y, WEIGHT) == model.score(X, y, WEIGHT)
        for name in names:
            assert fixed.scored_by(get_scorer(name), y) == get_scorer(name)(model, X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        get_scorer("neg_log_loss")(numbers.fixed_predictions(numbers.raw_scores(X)), X, NUMBER)
    unscored = fixed_predictions(two.predict_proba(X), two.classes_)
    assert not hasattr(unscored, "decision_function") and unscored.scored_by(get_scorer("roc_auc"), target) > 0.5
