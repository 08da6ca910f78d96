"""`multi_strategy="one_output_per_tree"` of estimators: rounds are whole, in whatever is done with a fitted model."""

import numpy as np
import pytest
from sklearn.base import clone

from jaxtree import GradientBoostingClassifier, GradientBoostingDistribution, GradientBoostingRegressor
from jaxtree.boosting import quantiles
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from tests.marks import are_slow

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(160, 3))
X[::9, 1] = np.nan
SIGNAL = X[:, 0] + np.nan_to_num(X[:, 1]) ** 2 + 0.3 * RANDOM.normal(size=160)
Y = np.digitize(SIGNAL, [0.3, 1.2])
APART = {"multi_strategy": "one_output_per_tree", "min_samples_leaf": 5}
ROUNDS, SCORES = 6, 3
CLASSES = GradientBoostingClassifier(ROUNDS, **APART)
MODELS = {
    "classes": (CLASSES, Y),
    "targets": (GradientBoostingRegressor(ROUNDS, **APART), np.stack([SIGNAL, X[:, 0], X[:, 2]], axis=1)),
    "quantiles": (GradientBoostingRegressor(ROUNDS, loss=quantiles([0.1, 0.5, 0.9]), **APART), SIGNAL),
    "distribution": (GradientBoostingDistribution(ROUNDS, **APART), SIGNAL),
}
OF_ALL = pytest.mark.parametrize("name", are_slow(MODELS, "targets", "quantiles", "distribution"))


def fitted(name, **options):
    model, y = MODELS[name]
    return clone(model).set_params(**options).fit(X, y), y


@OF_ALL
def test_stages_are_rounds_and_the_last_is_the_prediction(name):
    model, _ = fitted(name)
    stages = list(model.staged_scores(X))
    assert len(stages) == model.n_estimators_ == ROUNDS
    assert len(model.forest_) == len(model.estimators_) == ROUNDS * model.trees_per_round_ == ROUNDS * model.start_.size
    np.testing.assert_allclose(stages[-1], model.raw_scores(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stages[3], model.truncated(4).raw_scores(X), rtol=1e-12, atol=1e-12)
    assert model.truncated(4).n_estimators_ == 4
    own = model.estimators_[4].predict(X).reshape(len(X), -1)
    assert own.any(axis=0).tolist() == [score == 4 % model.start_.size for score in range(model.start_.size)]


@OF_ALL
def test_a_refit_on_the_same_rows_changes_nothing_and_one_on_others_goes_round_by_round(name):
    model, y = fitted(name)
    same = model.refit(X, y, decay_rate=0.0)
    np.testing.assert_allclose(same.forest_.nodes.target_sum, model.forest_.nodes.target_sum, rtol=1e-12, atol=1e-14)
    half = model.refit(X[:80], y[:80], decay_rate=0.0)
    first = model.truncated(1).refit(X[:80], y[:80], decay_rate=0.0)
    assert half.n_estimators_ == ROUNDS
    np.testing.assert_array_equal(half.truncated(1).forest_.nodes.target_sum, first.forest_.nodes.target_sum)


def test_later_rounds_go_on_where_fewer_end():
    model = clone(CLASSES).set_params(n_estimators=2, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=ROUNDS).fit(X, Y)
    whole, _ = fitted("classes")
    np.testing.assert_array_equal(model.forest_.nodes.target_sum, whole.forest_.nodes.target_sum)
    with pytest.raises(InvalidInputError, match="must be larger or equal to the 6 rounds"):
        model.set_params(n_estimators=3).fit(X, Y)
    with pytest.raises(InvalidInputError, match="needs the multi_strategy of the fit before, with 3 trees a round"):
        model.set_params(n_estimators=9, multi_strategy="multi_output_tree").fit(X, Y)


@pytest.mark.parametrize("metric", [None, "accuracy"])
def test_early_stopping_keeps_whole_rounds(metric):
    options = {"n_estimators": 40, "learning_rate": 1.0, "early_stopping": True, "n_iter_no_change": 3}
    model = (
        clone(CLASSES).set_params(**options).fit(X[:100], Y[:100], eval_set=[(X[100:], Y[100:])], eval_metric=metric)
    )
    curves = model.evals_result_["validation_0"]
    number = len(curves["log_loss"])
    assert model.n_estimators_ == model.best_iteration_ < number < 40
    assert len(model.forest_) == SCORES * model.n_estimators_
    name = metric or "log_loss"
    of_stages = [
        np.mean(own.argmax(axis=1) == Y[100:]) if metric else -np.log(own[np.arange(60), Y[100:]]).mean()
        for own in model.staged_predict_proba(X[100:])
    ]
    np.testing.assert_allclose(curves[name][: model.n_estimators_], of_stages, rtol=1e-9)


def test_classes_in_another_order_have_the_same_trees():
    model, _ = fitted("classes")
    order = np.array([2, 0, 1])
    other = clone(CLASSES).fit(X, order[Y])
    np.testing.assert_allclose(other.predict_proba(X)[:, order], model.predict_proba(X), rtol=1e-9)
    of_model, of_other = ([own.tree_.threshold.tolist() for own in fit.estimators_[:SCORES]] for fit in (model, other))
    assert [of_other[score] for score in order] == of_model


def test_what_does_not_go_together_is_said():
    full = clone(CLASSES).set_params(hessian="full")
    with pytest.raises(InvalidInputError, match='hessian="full" is of trees that change all scores: multi_strategy'):
        full.fit(X, Y)
    dropping = clone(CLASSES).set_params(drop_rate=0.1)
    with pytest.raises(InvalidInputError, match="drop_rate above 0 drops trees that change all scores: multi_strategy"):
        dropping.fit(X, Y)
    two = Y > 0
    assert full.fit(X, two).trees_per_round_ == dropping.fit(X, two).trees_per_round_ == 1
    with pytest.raises(InvalidInputError, match="'multi_strategy' parameter"):
        clone(CLASSES).set_params(multi_strategy="one_tree").fit(X, Y)


def test_an_interrupt_counts_rounds_and_not_trees(monkeypatch):
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 4)

    def stop_after(number, _):
        if number == 8:
            raise KeyboardInterrupt

    model = clone(CLASSES).set_params(n_estimators=12)
    with pytest.warns(InterruptedFitWarning, match="the model has been made in 8 of 12 rounds"):
        model.fit(X, Y, eval_set=[(X, Y)], callbacks=[stop_after])
    assert model.n_estimators_ == 8 and len(model.forest_) == 8 * SCORES
