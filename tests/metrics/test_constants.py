"""Scores of constants: beside scikit-learn's dummies, and numbers by hand."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer

from jaxtree import boosting
from jaxtree.losses.loss import BaseLoss
from jaxtree.metrics.constants import KnownRows, beside_constant, constant_model, constant_score

ROWS = np.random.default_rng(5)
NUMBER, WORD = ROWS.gamma(2.0, size=60), ROWS.choice(["a", "b", "c"], 60, p=[0.2, 0.5, 0.3])
WEIGHT, GROUP, RELEVANT = ROWS.integers(1, 4, 60), np.arange(60) // 6, ROWS.integers(0, 2, 60)
OF_CLASSES = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy", "log loss": "neg_log_loss"}
OF_NUMBERS = {
    "R²": "r2",
    "root mean squared error": "neg_root_mean_squared_error",
    "mean absolute error": "neg_mean_absolute_error",
}


@pytest.mark.parametrize("measure", [*OF_CLASSES, *OF_NUMBERS])
def test_it_is_what_a_dummy_of_scikit_learn_reaches(measure):
    y, dummy = (WORD, DummyClassifier()) if measure in OF_CLASSES else (NUMBER, DummyRegressor())
    if measure == "mean absolute error":
        dummy = DummyRegressor(strategy="median")
    rows, name = np.zeros((60, 1)), {**OF_CLASSES, **OF_NUMBERS}[measure]
    expected = get_scorer(name)(dummy.fit(rows[:40], y[:40], WEIGHT[:40]), rows[40:], y[40:], sample_weight=WEIGHT[40:])
    found = constant_score(measure, y[40:], WEIGHT[40:], known=KnownRows(y[:40], WEIGHT[:40]))
    assert found == pytest.approx(-expected if name.startswith("neg_") else expected, rel=1e-12)


@pytest.mark.parametrize("measure", [*OF_CLASSES, *OF_NUMBERS])
def test_weights_are_copies_of_rows(measure):
    y = WORD if measure in OF_CLASSES else NUMBER
    assert constant_score(measure, y, WEIGHT) == pytest.approx(constant_score(measure, np.repeat(y, WEIGHT)), abs=1e-12)


def test_no_constant_is_better_on_the_rows_themselves():
    others = [KnownRows(NUMBER + step) for step in (-0.1, 0.1)]
    for measure, sign in (("R²", 1), ("root mean squared error", -1), ("mean absolute error", -1)):
        best = constant_score(measure, NUMBER)
        assert all(sign * constant_score(measure, NUMBER, known=other) < sign * best for other in others)
    assert constant_score("R²", NUMBER) == 0.0


def test_a_class_that_only_scored_rows_have_is_never_predicted():
    assert constant_score("accuracy", ["b", "c"], known=KnownRows(["a", "b", "b"])) == 0.5
    assert constant_score("log loss", ["c"], known=KnownRows(["a", "b"])) > 30
    assert constant_score("log loss", ["a", "a"]) == 0.0


def test_ranks_are_means_over_all_orders():
    fields = {"group": GROUP}
    draws = np.random.default_rng(0)
    for measure, of_scores in (("NDCG of the first 2", "ndcg@2"), ("mean reciprocal rank", "mrr")):
        shuffled = [_scored(of_scores, draws.permutation(60)) for _ in range(800)]
        assert constant_score(measure, RELEVANT, fields=fields) == pytest.approx(np.mean(shuffled), abs=0.02)
    assert constant_score("NDCG", RELEVANT) is None
    assert constant_score("concordance", NUMBER, fields={"event": RELEVANT}) == 0.5


def _scored(name, score):
    from jaxtree.estimators.common.fixed import FixedNumbers
    from jaxtree.metrics import scorer

    return scorer(name)(FixedNumbers(score * 1.0), np.zeros((60, 1)), RELEVANT, group=GROUP)


@pytest.mark.parametrize("loss", [boosting.quantiles([0.1, 0.9]), boosting.distributions.normal()])
def test_scores_by_a_loss_are_those_of_its_best_constant(loss: BaseLoss):
    best = constant_score(f"minus mean {loss}", NUMBER, loss=loss)
    assert best is not None
    if loss.name == "normal":
        deviation = NUMBER.std()
        assert best == pytest.approx(-0.5 * np.log(2 * np.pi * deviation**2) - 0.5, rel=1e-5)
    for step in (-0.2, 0.2):
        assert constant_score(f"minus mean {loss}", NUMBER, loss=loss, known=KnownRows(NUMBER + step)) < best


def test_words_name_what_a_constant_reaches_where_one_is_known():
    assert beside_constant("R² 0.5000", 0.0) == "R² 0.5000 (a constant: 0.0000)"
    assert constant_score("no such measure", NUMBER) is None
    assert constant_model(KnownRows([1.0, 2.0, 9.0]), of_classes=False, center="median").predict([[0]]).tolist() == [2]
