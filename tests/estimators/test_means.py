"""The weighted mean of the scores of boosted models, which is a boosted model, in one file."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_diabetes, load_iris

import jaxtree
from jaxtree import GradientBoostingClassifier as Classifier
from jaxtree import GradientBoostingRegressor as Regressor
from jaxtree import boosting
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.files.container import read_model_file, write_model_file
from tests.examples import lopsided, mixed_numbers, mixed_table

FEW = {"n_estimators": 4, "max_depth": 2}


def classes():
    X, y = load_iris(return_X_y=True)
    members = [Classifier(**FEW), Classifier(**FEW, max_bins=15), Classifier(6, max_depth=3)]
    members = [member.fit(X, y) for member in members]
    return Classifier.mean_of(members, [1, 2, 5]), members, X, y


def numbers():
    X, y = load_diabetes(return_X_y=True)
    members = [Regressor(**FEW).fit(X, y), Regressor(**FEW, loss="huber").fit(X, y)]
    return Regressor.mean_of(members), members, X, y


def test_it_predicts_from_the_weighted_mean_of_the_scores_of_its_models():
    model, members, X, _ = classes()
    mean = np.average([own.raw_scores(X) for own in members], axis=0, weights=[1, 2, 5])
    np.testing.assert_allclose(model.raw_scores(X), mean, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), softmax(mean, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), mean.argmax(axis=1))
    assert model.ensemble_weights_.tolist() == [1 / 8, 2 / 8, 5 / 8] and model.n_estimators_ == 14
    model, members, X, _ = numbers()
    np.testing.assert_allclose(model.predict(X), np.mean([own.predict(X) for own in members], axis=0), rtol=1e-12)
    saved = [jaxtree.importances(own, "gain") for own in (*members, model)]
    np.testing.assert_allclose(saved[2], np.mean(saved[:2], axis=0))
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_the_mean_of_one_is_that_model_with_all_that_it_knows():
    X, y = load_diabetes(return_X_y=True)
    lone = Regressor(**FEW, early_stopping="cv", cv=2).fit(X, y)
    mean = Regressor.mean_of([lone], [0.3])
    np.testing.assert_array_equal(mean.predict(X), lone.predict(X))
    np.testing.assert_array_equal(mean.predict_interval(X), lone.predict_interval(X))
    assert mean is not lone and mean.ensemble_weights_ is None


@pytest.mark.parametrize("make", [classes, numbers])
def test_it_comes_back_from_one_file_bit_for_bit(make, tmp_path):
    model, _, X, _ = make()
    model.other_columns_ = ("y", "weight")
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    assert repr(again) == repr(model) and again.other_columns_ == model.other_columns_
    np.testing.assert_array_equal(again.ensemble_weights_, model.ensemble_weights_)
    np.testing.assert_array_equal(again.raw_scores(X), model.raw_scores(X))
    content = read_model_file(tmp_path / "model")
    for weights in (content.arrays["weights"] * 2, -content.arrays["weights"]):
        content.arrays["weights"] = weights
        write_model_file(tmp_path / "other", content)
        with pytest.raises(ModelFileError, match="do not add up to 1"):
            jaxtree.load(tmp_path / "other")


def test_a_loss_of_one_s_own_is_given_again(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    own = boosting.Loss(lopsided)
    model = Regressor.mean_of([Regressor(number, max_depth=2, loss=own).fit(X, y) for number in (2, 4)])
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model", loss=own)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.loss is own


@pytest.mark.parametrize("weights", [[0.0, 1.0], [1, 2, 3], ["a", "b"], [np.nan, 1]])
def test_wrong_weights_are_refused(weights):
    _, members, *_ = numbers()
    with pytest.raises(InvalidInputError, match="each with a weight above 0, got 2 with weights="):
        Regressor.mean_of(members, weights)


def test_models_that_predict_otherwise_are_not_averaged():
    X, y = load_diabetes(return_X_y=True)
    one, other = (Regressor(**FEW, loss=loss).fit(X, y) for loss in ("squared_error", "poisson"))
    with pytest.raises(InvalidInputError, match=r"must predict alike from their scores.*squared\(\) and poisson\(\)"):
        Regressor.mean_of([one, other])
    own = [Regressor(**FEW, loss=boosting.quantiles(levels)).fit(X, y) for levels in ([0.1, 0.9], [0.2, 0.9])]
    with pytest.raises(InvalidInputError, match="must predict alike"):
        Regressor.mean_of(own)
    with pytest.raises(InvalidInputError, match="of class GradientBoostingClassifier, got GradientBoostingRegressor"):
        Classifier.mean_of([one])
    with pytest.raises(InvalidInputError, match="one model or more"):
        Regressor.mean_of([])
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match=r"same classes to be averaged, got \[0, 1\] and \[1, 2\]"):
        Classifier.mean_of([Classifier(**FEW).fit(X[rows], y[rows]) for rows in (slice(100), slice(50, 150))])


def test_models_of_other_tables_are_not_averaged():
    X, y = mixed_table(), mixed_numbers(mixed_table())
    whole = Regressor(**FEW).fit(X, y)
    part = Regressor(**FEW).fit(X[X["color"] != "red"], y[X["color"] != "red"])
    with pytest.raises(InvalidInputError, match="of 'color' they have other kinds, categories or dates"):
        Regressor.mean_of([whole, part])
    with pytest.raises(InvalidInputError, match="fitted on one table"):
        Regressor.mean_of([whole, Regressor(**FEW).fit(X[["number"]], y)])


def test_models_of_other_bins_and_words_of_subsets_are_one_sum():
    word = np.array([f"w{number % 70}" for number in range(210)])
    table = pd.DataFrame({"word": word, "number": np.arange(210.0) ** 1.1})
    y = (np.arange(210) % 70 < 30) + np.sin(np.arange(210))
    members = [
        Regressor(**FEW, max_bins=7, categorical_splits="one_vs_rest"),
        Regressor(**FEW, categorical_splits="subset", random_state=1, colsample_bytree=0.5),
    ]
    model = Regressor.mean_of([own.fit(table, y) for own in members], [2, 1])
    mean = np.average([own.raw_scores(table) for own in members], axis=0, weights=[2, 1])
    np.testing.assert_allclose(model.raw_scores(table), mean, rtol=1e-12)


@pytest.mark.parametrize("make", [classes, numbers])
def test_explanations_add_up_to_the_mean_of_the_scores(make):
    model, members, X, _ = make()
    rows, shares = X[:20], model.ensemble_weights_
    scores = model.raw_scores(rows)
    for background in (None, X[50:60]):
        found = shap_values(model, rows, background=background)
        own = [shap_values(member, rows, background=background).values for member in members]
        np.testing.assert_allclose(found.values, np.tensordot(shares, np.array(own), 1), atol=1e-9)
        total = (found.base + found.values.sum(axis=1)).reshape(scores.shape)
        np.testing.assert_allclose(total, scores, rtol=1e-5)
    pairs = shap_interaction_values(model, rows)
    np.testing.assert_allclose(pairs.values.sum(axis=2), shap_values(model, rows).values, atol=1e-6)
    explanation = jaxtree.explain_row(model, rows[:1])
    np.testing.assert_allclose(
        explanation.base + sum(part.score for part in explanation.contributions), explanation.score
    )


def test_rounds_of_several_models_are_no_rounds_of_one():
    model, _, X, y = numbers()
    for call in (
        lambda: model.truncated(2),
        lambda: model.refit(X, y),
        lambda: next(model.staged_predict(X)),
        lambda: model.set_params(warm_start=True, n_estimators=20).fit(X, y),
    ):
        with pytest.raises(InvalidInputError, match="these are the mean of 2 models"):
            call()
    assert model.set_params(warm_start=False, n_estimators=2).fit(X, y).ensemble_weights_ is None


@pytest.mark.parametrize("loss", ["cox", "accelerated_failure_time"])
def test_the_mean_of_models_of_survival_times_has_the_mean_of_their_logarithms_of_hazards(loss, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    event = np.arange(len(y)) % 3 > 0
    members = [
        Regressor(number, max_depth=2, loss=loss).fit(X[rows], y[rows], event=event[rows])
        for number, rows in ((2, slice(200)), (4, slice(100, 400)))
    ]
    model = Regressor.mean_of(members, [1, 3])
    assert set(model.event_times_) <= set(y[event]) and np.isfinite(model.predict_median(X)).any()
    if loss == "cox":
        late = model.event_times_[5:]
        of_each = [np.log(-np.log(own.predict_survival_function(X, times=late, return_array=True))) for own in members]
        found = model.predict_survival_function(X, times=late, return_array=True)
        np.testing.assert_allclose(np.log(-np.log(found)), of_each[0] / 4 + of_each[1] * 3 / 4, rtol=1e-6)
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_median(X), model.predict_median(X))
    np.testing.assert_array_equal(Regressor.mean_of(members[:1]).predict_median(X), members[0].predict_median(X))


def test_a_mean_with_a_model_of_the_first_rounds_does_not_know_the_baseline():
    X, y = load_diabetes(return_X_y=True)
    whole = Regressor(4, max_depth=2, loss="cox").fit(X, y, event=np.ones(len(y)))
    with pytest.raises(InvalidInputError, match="a mean of such models"):
        Regressor.mean_of([whole, whole.truncated(2)]).predict_median(X)


def test_the_best_round_is_of_one_fit():
    model, *_ = numbers()
    for name in ("best_iteration_", "best_score_"):
        with pytest.raises(AttributeError, match=f"{name} is of the rounds of one fit.* mean of 2 models"):
            getattr(model, name)
