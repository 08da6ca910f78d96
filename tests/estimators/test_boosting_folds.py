"""`early_stopping="cv"`: every model is the lone one that holds out its fold, and the fitted one is their mean."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold

import jaxtree
from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.boosting import quantile
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.boosting import folds as rooms
from jaxtree.tree.nodes import target_means
from jaxtree.tree.predictor import Predictor
from tests.estimators.lone_folds import FEW, RANDOM, ROWS, SIGNAL, WEIGHT, X, models_of
from tests.marks import marked

TARGETS = {
    "two classes": (GradientBoostingClassifier(**FEW), SIGNAL > 0.8, {}),
    "three classes": (GradientBoostingClassifier(**FEW), np.digitize(SIGNAL, [0.3, 1.2]), {}),
    "a tree a class": (
        GradientBoostingClassifier(**FEW, multi_strategy="one_output_per_tree"),
        np.digitize(SIGNAL, [0.3, 1.2]),
        {},
    ),
    "numbers": (GradientBoostingRegressor(**FEW), SIGNAL, {}),
    "draws and weights": (
        GradientBoostingRegressor(**FEW, subsample=0.7, colsample_bynode=0.5, random_state=1),
        SIGNAL,
        {"sample_weight": WEIGHT},
    ),
    "offset": (
        GradientBoostingRegressor(**FEW, loss="poisson"),
        np.floor(np.exp(SIGNAL / 3)),
        {"offset": 0.1 * WEIGHT},
    ),
    "quantile": (GradientBoostingRegressor(**FEW, loss=quantile(0.8)), SIGNAL, {}),
    "huber": (GradientBoostingRegressor(**FEW, loss="huber"), SIGNAL, {}),
    "survival": (GradientBoostingRegressor(**FEW, loss="cox"), np.exp(SIGNAL), {"event": WEIGHT > 1}),
    "several targets": (GradientBoostingRegressor(**FEW), np.stack([SIGNAL, X[:, 2]], axis=1), {}),
}
FAST, EXHAUSTIVE = ("three classes", "numbers", "draws and weights"), ("two classes",)
"""Three classes have all that two have, and one score of a row is that of numbers."""

OF_ALL = pytest.mark.parametrize(
    "name",
    [
        name if name in FAST else marked(name, pytest.mark.exhaustive if name in EXHAUSTIVE else pytest.mark.slow)
        for name in TARGETS
    ],
)


def fitted(name):
    model, y, extras = TARGETS[name]
    return clone(model).fit(X, y, **extras), y, extras


@OF_ALL
def test_scores_are_the_mean_of_the_models_and_each_row_is_judged_by_the_one_that_has_not_seen_it(name):
    model, y, extras = fitted(name)
    folds, models = model.folds_, models_of(model, X, y, **extras)
    of_folds = [own.raw_scores(X, offset=extras.get("offset")) for own in models]
    np.testing.assert_allclose(np.mean(of_folds, axis=0), model.raw_scores(X, offset=extras.get("offset")), atol=1e-12)
    held = np.zeros(ROWS, int)
    held[folds.row] = folds.fold_of_held
    out_of_fold = np.stack(of_folds)[held, np.arange(ROWS)]
    expected = np.asarray(models[0].fixed_predictions(out_of_fold).predictions)
    # Rounds add in 32 bits.
    np.testing.assert_allclose(
        model.oof_predictions_, expected.reshape(model.oof_predictions_.shape), rtol=1e-5, atol=1e-5
    )


def test_the_score_is_that_of_the_predictions():
    model, y, _ = fitted("three classes")
    assert model.oof_score_ == accuracy_score(y, model.classes_[model.oof_predictions_.argmax(axis=1)])
    model, y, _ = fitted("draws and weights")
    assert model.oof_score_ == pytest.approx(r2_score(y, model.oof_predictions_, sample_weight=WEIGHT))
    model, *_ = fitted("survival")
    assert 0.6 < model.oof_score_ < 1 and model.score_name_ == "concordance"


def test_rows_in_another_order_with_their_folds_make_the_same_model():
    order = RANDOM.permutation(ROWS)
    splits = list(KFold(4).split(X))
    place = np.argsort(order)
    moved = [(place[train], place[test]) for train, test in splits]
    options = FEW | {"subsample": 1.0}  # rows are drawn by their numbers
    model = GradientBoostingRegressor(**options | {"cv": splits}).fit(X, SIGNAL)
    other = GradientBoostingRegressor(**options | {"cv": moved}).fit(X[order], SIGNAL[order])
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-6)
    np.testing.assert_allclose(model.oof_predictions_[order], other.oof_predictions_, rtol=1e-5)


def test_evaluation_sets_stand_beside_and_decide_nothing():
    plain = GradientBoostingRegressor(**FEW).fit(X, SIGNAL)
    model = GradientBoostingRegressor(**FEW).fit(X, SIGNAL, eval_set=[(X, SIGNAL)])
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    for own in model.evals_result_.values():
        assert (
            list(own) == ["squared_error", "validation_0 squared_error"]
            and len({len(curve) for curve in own.values()}) == 1
        )


@pytest.mark.parametrize("metric", [None, "r2", "neg_mean_absolute_error"])
def test_the_best_round_is_the_mean_of_those_of_the_folds(metric, tmp_path):
    model = GradientBoostingRegressor(**FEW).fit(X, SIGNAL, eval_set={"a test": (X, -SIGNAL)}, eval_metric=metric)
    name, best = ("squared_error", min) if metric is None else (metric, max)
    curves = [own[name] for own in model.evals_result_.values()]
    assert model.best_score_ == pytest.approx(np.mean([best(curve) for curve in curves]))
    rounds = [1 + curve.index(best(curve)) for curve in curves]
    assert rounds == model.folds_.num_trees.tolist() and model.best_iteration_ == round(np.mean(rounds))
    model.save(tmp_path / "model")
    loaded = jaxtree.load(tmp_path / "model")
    assert (loaded.best_iteration_, loaded.best_score_) == (model.best_iteration_, model.best_score_)
    assert f"at round {model.best_iteration_}" in model._repr_mimebundle_()["text/html"]


def test_a_file_a_pickle_and_a_copy_know_all_of_it(tmp_path):
    model, *_ = fitted("draws and weights")
    model.save(tmp_path / "model.jaxtree")
    for other in (jaxtree.load(tmp_path / "model.jaxtree"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.oof_predictions_, model.oof_predictions_)
        np.testing.assert_array_equal(other.predict_interval(X), model.predict_interval(X))
        assert other.oof_score_ == model.oof_score_ and other.evals_result_ == model.evals_result_
    with pytest.raises(NotFittedError):
        clone(model).oof_score_  # noqa: B018


def test_intervals_are_those_of_all_sums():
    model, *_ = fitted("numbers")
    folds, other = model.folds_, RANDOM.normal(size=(7, 4))
    center = np.stack(
        [
            folds.start[fold, 0] + _sum_of_steps(folds.model_of(fold, model.forest_), model, other)
            for fold in range(len(folds))
        ],
        axis=1,
    )
    place = int(np.ceil(0.8 * (ROWS + 1)))
    above = np.sort(center[:, folds.fold_of_held] + folds.residual, axis=1)[:, place - 1]
    below = -np.sort(-center[:, folds.fold_of_held] + folds.residual, axis=1)[:, place - 1]
    np.testing.assert_allclose(model.predict_interval(other, coverage=0.8), np.stack([below, above], axis=1))
    assert np.isinf(model.predict_interval(other, coverage=0.999)).all()


def _sum_of_steps(forest, model, table):
    ends = Predictor(forest).ends_in_trees(model.encoder_.values(table))
    return target_means(forest.nodes)[ends, 0].sum(axis=1)


@pytest.mark.parametrize(
    ("params", "fit", "words"),
    [
        ({"cv": 1}, {}, "'cv' parameter"),
        ({"cv": 161}, {}, "cv must be from 2 to 160, the number of rows, got 161"),
        (
            {"cv": [(np.arange(3), np.arange(ROWS))]},
            {},
            "cv must hold out rows that are not grown on, and split 0 has",
        ),
        ({"early_stopping": "fold"}, {}, "early_stopping"),
        ({}, {"callbacks": [print]}, "callbacks are for one model"),
    ],
)
def test_what_is_not_allowed_is_said(params, fit, words):
    with pytest.raises(ValueError, match=words):
        GradientBoostingRegressor(**FEW | params).fit(X, SIGNAL, **fit)


def test_what_a_mean_of_models_has_not_is_said():
    model, *_ = fitted("numbers")
    with pytest.raises(InvalidInputError, match="truncated is for the rounds of one model, and these are the mean"):
        model.truncated(2)
    with pytest.raises(InvalidInputError, match="refit is for the rounds of one model"):
        model.refit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match="one target of numbers"):
        fitted("several targets")[0].predict_interval(X)
    plain = GradientBoostingRegressor(5).fit(X, SIGNAL)
    assert not hasattr(plain, "oof_score_")
    assert not hasattr(plain, "predict_interval")
    with pytest.raises(AttributeError) as caught:
        plain.predict_interval(X)
    assert 'needs GradientBoostingRegressor(early_stopping="cv")' in str(caught.value.__cause__)


def test_an_interrupt_keeps_the_models_that_are_done(monkeypatch):
    made = rooms._made_together

    def interrupted(*given):
        for number, model in made(*given):
            yield number, model
            if number == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(rooms, "_made_together", interrupted)
    with pytest.warns(InterruptedFitWarning, match="the model is the mean of . of 4 folds"):
        model = GradientBoostingRegressor(**FEW).fit(X, SIGNAL)
    assert len(model.folds_) < 4 and np.isfinite(model.predict(X)).all()
    assert np.isnan(model.oof_predictions_).any()
