"""Scores of models on the same rows are scikit-learn's, which is asked once where it computes the same number."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer, log_loss, make_scorer
from sklearn.model_selection._validation import _score

from jaxtree.estimators.common.fixed import fixed_predictions
from jaxtree.search import quick_scores
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import make_yardstick
from jaxtree.search.quick_scores import ScoresOfPredictions, ScoresOfRows

CASES = {
    "two classes": ("neg_log_loss", lambda x: x[:, 0] > 0, 1),
    "classes in words": ("neg_log_loss", lambda x: np.array(["a", "b", "c"])[np.digitize(x[:, 0], [-0.5, 0.5])], 1),
    "squares": ("neg_mean_squared_error", lambda x: x[:, 0] + x[:, 1] ** 3, 1),
    "root of squares": ("neg_root_mean_squared_error", lambda x: x[:, 0] + x[:, 1] ** 3, 1),
    "another sign": (make_scorer(log_loss, response_method="predict_proba"), lambda x: x[:, 0] > 0, 3),
    "another metric": ("roc_auc", lambda x: x[:, 0] > 0, 3),
    "a class that no row has": ("neg_log_loss", lambda x: np.digitize(x[:, 0], [-0.5, 0.5]), 3),
}


def fixed_of(model, x):
    if isinstance(model, LogisticRegression):
        return fixed_predictions(model.predict_proba(x), model.classes_)
    return fixed_predictions(model.predict(x)[:, None], None)


@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_scikit_learn(case, monkeypatch):
    scoring, target_of, num_asked = CASES[case]
    x = np.random.default_rng(0).normal(size=(150, 3))
    y = target_of(x)
    test = slice(0, 150) if case != "a class that no row has" else y != 2
    kind = LinearRegression if y.dtype == np.float64 else LogisticRegression
    models = [kind().fit(x[number::4], y[number::4]) for number in range(3)]
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    search = Search(models[0], x, y, [], scorer)
    asked = []

    def asks(*arguments):
        asked.append(arguments)
        return _score(*arguments)

    monkeypatch.setattr(quick_scores, "score_by_scorer", asks)
    scores = ScoresOfRows(search, getattr(models[0], "classes_", None), x[test], y[test], {})
    for model in models:
        expected = _score(model, x[test], y[test], scorer, {}, np.nan)
        np.testing.assert_array_equal(scores.score(fixed_of(model, x[test])), expected)
    assert len(asked) == num_asked


@pytest.mark.filterwarnings("ignore:Scoring failed")
def test_weights_of_rows_and_predictions_that_are_no_numbers_are_left_to_scikit_learn():
    x = np.random.default_rng(0).normal(size=(50, 1))
    model = LinearRegression().fit(x, x[:, 0] ** 2)
    search = Search(model, x, None, [], get_scorer("neg_mean_squared_error"))
    weight = {"sample_weight": np.arange(50.0)}
    for params in ({}, weight):
        scores = ScoresOfRows(search, None, x, x[:, 0], params)
        expected = _score(model, x, x[:, 0], search.scorer, params, np.nan)
        assert scores.score(fixed_of(model, x)) == expected
        assert np.isnan(scores.score(fixed_predictions(np.full((50, 1), np.nan), None)))


@pytest.mark.parametrize("case", CASES)
def test_scores_of_predictions_are_those_of_scikit_learn(case):
    scoring, target_of, num_asked = CASES[case]
    y = target_of(np.random.default_rng(0).normal(size=(150, 3)))
    by_scikit_learn = get_scorer(scoring) if isinstance(scoring, str) else scoring
    asked = []

    def scorer(*arguments):
        asked.append(arguments)
        return by_scikit_learn(*arguments)

    vars(scorer).update(vars(by_scikit_learn))
    classes = None if y.dtype == np.float64 else np.unique(y)
    num_columns = 1 if classes is None else len(classes)
    scores = ScoresOfPredictions(scorer, y, classes)
    for seed in range(3):
        predicted = np.random.default_rng(seed).dirichlet(np.ones(max(num_columns, 2)), len(y))[:, :num_columns]
        expected = by_scikit_learn(fixed_predictions(predicted, classes), np.empty((len(y), 1)), y)
        assert scores(predicted) == expected
    assert len(asked) == (1 if case == "a class that no row has" else num_asked)


def test_the_log_loss_of_sure_predictions_is_that_of_scikit_learn_in_tune_too():
    """For a class that has no chance, scikit-learn takes the logarithm of the least number that changes 1."""
    predicted, rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.25, 0.75]]), np.arange(3)
    yardstick = make_yardstick(None, ["a", "b", "b"], of_classes=True)
    assert yardstick.score(predicted, rows) == pytest.approx(-log_loss(["a", "b", "b"], predicted), rel=1e-12)
