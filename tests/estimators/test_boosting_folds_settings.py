"""Models of folds under every kind of setting: each is the lone one without its fold, whose rows it has not seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from jaxtree import GradientBoostingClassifier, GradientBoostingRanker
from jaxtree import GradientBoostingRegressor as Regressor
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.boosting import folds as rooms
from tests.estimators.lone_folds import (
    CLASSES,
    FEW,
    ROWS,
    SIGNAL,
    WEIGHT,
    X,
    assert_models_are_lone,
    assert_same_rounds,
)
from tests.marks import are_slow

WORDS = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "word": [f"word {place % 23}" for place in range(ROWS)]})
COUNTS, GROUPS = np.floor(np.exp(SIGNAL / 3)), np.repeat(np.arange(16), 10)


def absolute_fault_error(target, predicted):
    return np.abs(target - predicted).mean()


CASES = {
    "offsets": (Regressor(**FEW, loss="poisson"), X, COUNTS, {"offset": 0.1 * WEIGHT}),
    "monotone": (Regressor(**FEW, monotonic_cst=[1, 0, -1, 0]), X, SIGNAL, {}),
    "ordered categories": (Regressor(**FEW, random_state=0), WORDS, SIGNAL, {}),
    "a metric of one's own": (Regressor(**FEW), X, SIGNAL, {"eval_metric": absolute_fault_error}),
    "tables beside": (Regressor(**FEW), X, SIGNAL, {"eval_set": [(X[:50], SIGNAL[:50])], "eval_metric": "r2"}),
    "dropped trees": (Regressor(**FEW, drop_rate=0.2, random_state=0), X, SIGNAL, {}),
    "balanced classes": (GradientBoostingClassifier(**FEW, class_weight="balanced"), X, CLASSES, {}),
    "ranker": (GradientBoostingRanker(**FEW), X, CLASSES, {"group": GROUPS}),
}


@pytest.mark.parametrize("name", ["a metric of one's own", "tables beside"])
def test_every_model_is_the_lone_one(name):
    """Without measures of one's own as well; see `tests/test_batches.py`."""
    model, table, y, extras = CASES[name]
    model = clone(model).fit(table, y, **extras)
    assert_models_are_lone(model, table, y, **extras)


@pytest.mark.parametrize(
    "name", are_slow(["monotone", "ordered categories", "dropped trees", "ranker"], "ordered categories", "ranker")
)
def test_a_model_knows_nothing_of_the_targets_of_its_fold(name):
    model, table, y, extras = CASES[name]
    fit = {name: own for name, own in extras.items() if name == "group"}
    model = clone(model).set_params(n_iter_no_change=12).fit(table, y, **fit)
    held = model.folds_.row[: model.folds_.first[1]]
    other = np.array(y)
    other[held] = np.roll(other[held], 3) + (name != "ranker")
    moved = clone(model).fit(table, other, **fit)
    one, two = (own.folds_.model_of(0, own.forest_) for own in (model, moved))
    number = min(len(one), len(two))
    assert number > 0
    one, two = (own.first(number) for own in (one, two))
    if name == "dropped trees":  # how much of a step is left depends on the rounds after it, of which one has more
        assert np.array_equal(one.nodes.feature, two.nodes.feature)
        assert np.array_equal(one.nodes.threshold, two.nodes.threshold)
    else:
        assert_same_rounds(one, two)


@pytest.mark.slow
def test_classes_that_a_fold_or_the_others_lack():
    one = np.zeros(ROWS, int)
    one[7] = 1
    rare = GradientBoostingClassifier(**FEW).fit(X, one)
    assert np.isfinite(rare.oof_predictions_).all() and rare.oof_predictions_.shape == (ROWS, 2)
    # A model that has never seen a class gives it no chance, and the one of the other class none to that.
    by_class = [(np.flatnonzero(own != CLASSES), np.flatnonzero(own == CLASSES)) for own in range(3)]
    apart = GradientBoostingClassifier(**FEW | {"cv": by_class}).fit(X, np.array(["b", "c", "a"])[CLASSES])
    assert apart.oof_score_ == 0 and apart.classes_.tolist() == ["a", "b", "c"]
    of_own = apart.oof_predictions_[np.arange(ROWS), np.array([1, 2, 0])[CLASSES]]
    assert np.isfinite(of_own).all() and of_own.max() < 0.1


def test_rows_that_a_loss_does_not_allow_without_a_fold_are_said():
    counts = np.zeros(ROWS)
    counts[3] = 5
    with pytest.raises(InvalidInputError, match=r"without fold \d, poisson\(\): a target of some row must be above 0"):
        Regressor(**FEW, loss="poisson").fit(X, counts)


@pytest.mark.parametrize("number", [0, 2])
def test_an_interrupt_of_models_that_are_made_one_by_one_ends_all(number, monkeypatch):
    made, trained = rooms.train, []

    def interrupted(*given, **options):
        trained.append(made(*given, **options))
        return trained[-1]._replace(stop=rooms.Stop.INTERRUPTED) if len(trained) > number else trained[-1]

    monkeypatch.setattr(rooms, "train", interrupted)
    if number == 0:
        with pytest.raises(KeyboardInterrupt):
            Regressor(**FEW).fit(X, SIGNAL, eval_metric=absolute_fault_error)
        return
    with pytest.warns(InterruptedFitWarning, match="the model is the mean of 2 of 4 folds"):
        model = Regressor(**FEW).fit(X, SIGNAL, eval_metric=absolute_fault_error)
    assert len(model.folds_) == 2 and len(trained) == 3
    assert np.isnan(model.oof_predictions_).sum() == ROWS // 2
    assert list(model.evals_result_) == ["fold_0", "fold_1"]
