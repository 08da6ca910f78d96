"""Models of folds under every kind of setting: each is the lone one without its fold, whose rows it has not seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut

from jaxtree import GradientBoostingClassifier, GradientBoostingDistribution, GradientBoostingRanker
from jaxtree import GradientBoostingRegressor as Regressor
from jaxtree.boosting.batch import Bounds
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.boosting import folds as rooms
from jaxtree.explain import shap_values
from jaxtree.export.sql import to_sql
from tests.estimators.lone_folds import (
    CLASSES,
    FEW,
    ROWS,
    SIGNAL,
    WEIGHT,
    X,
    assert_models_are_lone,
    assert_same_rounds,
    models_of,
)
from tests.export.test_shipping import run_sql
from tests.marks import are_slow

WORDS = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "word": [f"word {place % 23}" for place in range(ROWS)]})
COUNTS, GROUPS = np.floor(np.exp(SIGNAL / 3)), np.repeat(np.arange(16), 10)


def absolute_fault_error(target, predicted):
    return np.abs(target - predicted).mean()


CASES = {
    "weights of 0": (Regressor(**FEW), X, SIGNAL, {"sample_weight": np.where(np.arange(ROWS) % 5 == 0, 0, WEIGHT)}),
    "offsets": (Regressor(**FEW, loss="poisson"), X, COUNTS, {"offset": 0.1 * WEIGHT}),
    "monotone": (Regressor(**FEW, monotonic_cst=[1, 0, -1, 0]), X, SIGNAL, {}),
    "interactions": (Regressor(**FEW, interaction_cst=[[0, 1], [2, 3]]), X, SIGNAL, {}),
    "ordered categories": (Regressor(**FEW, random_state=0), WORDS, SIGNAL, {}),
    "subsets of categories": (Regressor(**FEW, categorical_splits="subset"), WORDS, SIGNAL, {}),
    "a metric of one's own": (Regressor(**FEW), X, SIGNAL, {"eval_metric": absolute_fault_error}),
    "tables beside": (Regressor(**FEW), X, SIGNAL, {"eval_set": [(X[:50], SIGNAL[:50])], "eval_metric": "r2"}),
    "dropped trees": (Regressor(**FEW, drop_rate=0.2, random_state=0), X, SIGNAL, {}),
    "balanced classes": (GradientBoostingClassifier(**FEW, class_weight="balanced"), X, CLASSES, {}),
    "one-sided sampling": (Regressor(**FEW, sampling="goss", random_state=0), X, SIGNAL, {}),
    "distribution": (GradientBoostingDistribution(**FEW), X, SIGNAL, {}),
    "ranker": (GradientBoostingRanker(**FEW), X, CLASSES, {"group": GROUPS}),
    "depth": (Regressor(**FEW, max_depth=2), X, SIGNAL, {}),
}
AT_ONCE = ("weights of 0", "monotone", "a metric of one's own")
OF_ALL = pytest.mark.parametrize("name", are_slow(CASES, *(name for name in CASES if name not in AT_ONCE)))


@OF_ALL
def test_every_model_is_the_lone_one(name):
    model, table, y, extras = CASES[name]
    model = clone(model).fit(table, y, **extras)
    assert_models_are_lone(model, table, y, **extras)
    predictions = model.oof_predictions_
    assert len(predictions) == ROWS
    assert np.isnan(predictions).any() == (name == "weights of 0")


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


def test_a_mean_of_monotone_models_is_monotone():
    model = Regressor(**FEW, monotonic_cst=[1, 0, 0, 0]).fit(X, SIGNAL)
    rows = np.tile(X[:20], (9, 1, 1))
    rows[:, :, 0] = np.linspace(-3, 3, 9)[:, None]
    predicted = model.predict(rows.reshape(-1, 4)).reshape(9, 20)
    assert (np.diff(predicted, axis=0) >= 0).all() and np.ptp(predicted[:, 0]) > 0


@pytest.mark.parametrize("name", are_slow(["monotone", "balanced classes", "offsets"], "balanced classes", "offsets"))
def test_programs_and_shapley_values_are_the_mean_of_those_of_the_models(name):
    model, table, y, extras = CASES[name]
    model = clone(model).fit(table, y, **extras)
    models = models_of(model, table, y, **extras)
    mean = np.mean([own.raw_scores(X) for own in models], axis=0)
    np.testing.assert_allclose(model.raw_scores(X), mean, rtol=1e-13, atol=1e-14)
    said = [run_sql(to_sql(model, score=score), X[:20]) for score in range(mean.shape[1])]
    np.testing.assert_allclose(np.array(said).T, mean[:20], rtol=1e-13, atol=1e-14)
    whole, parts = shap_values(model, X[:4]), [shap_values(own, X[:4]) for own in models]
    np.testing.assert_allclose(whole.values, np.mean([own.values for own in parts], axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.base, np.mean([own.base for own in parts], axis=0), rtol=1e-12)


@pytest.mark.parametrize("num_slots", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_models_past_a_batch_are_the_same(num_slots, monkeypatch):
    whole = Regressor(**FEW).fit(X, SIGNAL)
    monkeypatch.setattr(rooms, "Bounds", lambda mesh: Bounds(num_slots=num_slots, mesh=mesh))
    bounded = Regressor(**FEW).fit(X, SIGNAL)
    assert_same_rounds(bounded.forest_, whole.forest_)
    np.testing.assert_array_equal(bounded.oof_predictions_, whole.oof_predictions_)
    assert bounded.evals_result_ == whole.evals_result_


@pytest.mark.slow
def test_as_many_folds_as_rows():
    model = Regressor(**FEW | {"folds": LeaveOneOut()}).fit(X[:40], SIGNAL[:40])
    assert len(model.folds_) == 40 and np.isfinite(model.oof_predictions_).all()
    assert model.folds_.row.tolist() == list(range(40))


@pytest.mark.slow
def test_classes_that_a_fold_or_the_others_lack():
    one = np.zeros(ROWS, int)
    one[7] = 1
    rare = GradientBoostingClassifier(**FEW).fit(X, one)
    assert np.isfinite(rare.oof_predictions_).all() and rare.oof_predictions_.shape == (ROWS, 2)
    # A model that has never seen a class gives it no chance, and the one of the other class none to that.
    by_class = [(np.flatnonzero(own != CLASSES), np.flatnonzero(own == CLASSES)) for own in range(3)]
    apart = GradientBoostingClassifier(**FEW | {"folds": by_class}).fit(X, np.array(["b", "c", "a"])[CLASSES])
    assert apart.oof_score_ == 0 and apart.classes_.tolist() == ["a", "b", "c"]
    of_own = apart.oof_predictions_[np.arange(ROWS), np.array([1, 2, 0])[CLASSES]]
    assert np.isfinite(of_own).all() and of_own.max() < 0.1


def test_twenty_rows_and_a_constant_target():
    few = Regressor(early_stopping="folds").fit(X[:20], SIGNAL[:20])
    assert len(few.folds_) == 15 and np.isfinite(few.predict(X)).all()
    constant = Regressor(**FEW).fit(X, np.full(ROWS, 2.5))
    np.testing.assert_allclose(constant.oof_predictions_, 2.5, rtol=1e-6)
    assert np.ptp(constant.predict_interval(X[:3])) < 1e-6


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
