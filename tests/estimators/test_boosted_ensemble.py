"""Ensembles of boosted models: the weighted mean of their members, in one file."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import jaxtree
from jaxtree import BoostedEnsembleClassifier, BoostedEnsembleRegressor, boosting
from jaxtree import GradientBoostingClassifier as Classifier
from jaxtree import GradientBoostingRegressor as Regressor
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.estimators.boosting.ensemble import ensemble_of
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.files.container import read_model_file, write_model_file
from tests.examples import lopsided, mixed_numbers, mixed_table

FEW = {"n_estimators": 4, "max_depth": 2}


def classes():
    X, y = load_iris(return_X_y=True)
    members = [Classifier(**FEW), Classifier(**FEW, max_bins=15), Classifier(6, max_depth=3)]
    return BoostedEnsembleClassifier(members, [1, 2, 5]).fit(X, y), X, y


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return BoostedEnsembleRegressor([Regressor(**FEW), Regressor(**FEW, loss="huber")]).fit(X, y), X, y


def test_an_ensemble_predicts_from_the_weighted_mean_of_the_scores_of_its_members():
    model, X, y = classes()
    scores = [clone(member).fit(X, y).raw_scores(X) for member in model.estimators]
    mean = np.average(scores, axis=0, weights=[1, 2, 5])
    np.testing.assert_allclose(model.raw_scores(X), mean, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), softmax(mean, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), mean.argmax(axis=1))
    model, X, y = numbers()
    mean = np.mean([clone(member).fit(X, y).predict(X) for member in model.estimators], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_an_ensemble_of_one_is_its_member():
    X, y = load_diabetes(return_X_y=True)
    lone = Regressor(**FEW).fit(X, y)
    np.testing.assert_array_equal(ensemble_of([lone], [0.3]).predict(X), lone.predict(X))


@pytest.mark.parametrize("make", [classes, numbers])
def test_an_ensemble_comes_back_from_one_file_bit_for_bit(make, tmp_path):
    model, X, _ = make()
    model.other_columns_ = ("y", "weight")
    model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    again = jaxtree.load(tmp_path / "model")
    assert vars(again).keys() == vars(model).keys()
    assert repr(again) == repr(model) and again.other_columns_ == model.other_columns_
    np.testing.assert_array_equal(again.weights_, model.weights_)
    method = "predict_proba" if make is classes else "predict"
    np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    for one, other in zip(again.estimators_, model.estimators_, strict=True):
        np.testing.assert_array_equal(one.raw_scores(X), other.raw_scores(X))
        assert one.get_params() == other.get_params() and one.evals_result_ == other.evals_result_


def test_losses_of_one_s_own_are_given_again(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    own = boosting.Loss(lopsided)
    model = BoostedEnsembleRegressor([Regressor(**FEW, loss=own)]).fit(X, y)
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model", loss=own)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.estimators_[0].loss is own
    model, *_ = numbers()
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="this file has none"):
        jaxtree.load(tmp_path / "model", loss=own)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda fitted, arrays: fitted["members"].pop(), "more numbers|one weight a member"),
        (lambda fitted, arrays: arrays.update(share=arrays["share"] * 2), "do not add up to 1"),
        (lambda fitted, arrays: arrays.update(share=np.array([2.0, -1.0])), "do not add up to 1"),
        (lambda fitted, arrays: fitted["members"][0].update(kind="GradientBoostingClassifier"), "a member that is no"),
        (lambda fitted, arrays: fitted["members"][0].update(kind="DecisionTreeRegressor"), "kind must be"),
        (lambda fitted, arrays: fitted["members"][1]["parameters"].update(magic=1), "parameters of a member"),
        (lambda fitted, arrays: fitted["members"][1]["parameters"].update(max_depth=-1), "max_depth"),
        (lambda fitted, arrays: fitted["members"][1].pop("state"), "does not have the parts"),
    ],
)
def test_a_made_up_file_is_refused_in_words(change, words, tmp_path):
    model, *_ = numbers()
    model.save(tmp_path / "model")
    content = read_model_file(tmp_path / "model")
    change(content.header["fitted"], content.arrays)
    write_model_file(tmp_path / "model", content)
    with pytest.raises(ModelFileError, match=words):
        jaxtree.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("estimators", "weights", "words"),
    [
        ([], None, "one GradientBoostingClassifier or more"),
        ([Regressor()], None, "of class GradientBoostingClassifier, got GradientBoostingRegressor"),
        ([Classifier()], [0.0], "1 numbers above 0"),
        ([Classifier()], [1, 2], "1 numbers above 0"),
        ([Classifier()], "heavy", "weights"),
        (None, None, "estimators"),
    ],
)
def test_wrong_parameters_are_refused(estimators, weights, words):
    with pytest.raises(InvalidInputError, match=words):
        BoostedEnsembleClassifier(estimators, weights).fit([[0.0], [1.0]], [0, 1])


def test_losses_that_predict_otherwise_are_not_averaged():
    X, y = load_diabetes(return_X_y=True)
    members = [Regressor(**FEW), Regressor(**FEW, loss="poisson")]
    with pytest.raises(InvalidInputError, match=r"must predict alike from their scores.*squared\(\) and poisson\(\)"):
        BoostedEnsembleRegressor(members).fit(X, y)
    own = [Regressor(**FEW, loss=boosting.quantiles(levels)) for levels in ([0.1, 0.9], [0.2, 0.9])]
    with pytest.raises(InvalidInputError, match="must predict alike"):
        BoostedEnsembleRegressor(own).fit(X, y)


def test_models_of_other_tables_are_not_averaged():
    X, y = mixed_table(), mixed_numbers(mixed_table())
    whole = Regressor(**FEW).fit(X, y)
    part = Regressor(**FEW).fit(X[X["color"] != "red"], y[X["color"] != "red"])
    with pytest.raises(InvalidInputError, match="of 'color' they have other kinds, categories or dates"):
        ensemble_of([whole, part], [1, 1])
    with pytest.raises(InvalidInputError, match="fitted on one table"):
        ensemble_of([whole, Regressor(**FEW).fit(X[["number"]], y)], [1, 1])


def test_members_of_other_bins_and_words_of_subsets_are_one_sum():
    word = np.array([f"w{number % 70}" for number in range(210)])
    table = pd.DataFrame({"word": word, "number": np.arange(210.0) ** 1.1})
    y = (np.arange(210) % 70 < 30) + np.sin(np.arange(210))
    members = [
        Regressor(**FEW, max_bins=7, categorical_splits="one_vs_rest"),
        Regressor(**FEW, categorical_splits="subset", random_state=1, colsample_bytree=0.5),
    ]
    model = BoostedEnsembleRegressor(members, [2, 1]).fit(table, y)
    mean = np.average([own.raw_scores(table) for own in model.estimators_], axis=0, weights=[2, 1])
    np.testing.assert_allclose(model.raw_scores(table), mean, rtol=1e-12)


@pytest.mark.parametrize("make", [classes, numbers])
def test_explanations_add_up_to_the_mean_of_the_scores(make):
    model, X, _ = make()
    rows = X[:20]
    scores = model.raw_scores(rows)
    for background in (None, X[50:60]):
        found = shap_values(model, rows, background=background)
        own = [shap_values(member, rows, background=background).values for member in model.estimators_]
        np.testing.assert_allclose(found.values, np.tensordot(model.weights_, np.array(own), 1), atol=1e-9)
        total = (found.base + found.values.sum(axis=1)).reshape(scores.shape)
        np.testing.assert_allclose(total, scores, rtol=1e-5)
    pairs = shap_interaction_values(model, rows)
    np.testing.assert_allclose(pairs.values.sum(axis=2), shap_values(model, rows).values, atol=1e-6)
    explanation = jaxtree.explain_row(model, rows[:1])
    np.testing.assert_allclose(
        explanation.base + sum(part.score for part in explanation.contributions), explanation.score
    )


def test_the_mean_of_models_of_survival_times_has_curves(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    event = np.arange(len(y)) % 3 > 0
    members = [Regressor(**FEW, loss="cox"), Regressor(4, max_depth=2, loss="cox")]
    model = BoostedEnsembleRegressor(members).fit(X, y, event=event)
    lone = Regressor(**FEW, loss="cox").fit(X, y, event=event)
    np.testing.assert_array_equal(
        BoostedEnsembleRegressor(members[:1]).fit(X, y, event=event).predict_median(X), lone.predict_median(X)
    )
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "model").predict_median(X), model.predict_median(X))
    with pytest.raises(InvalidInputError, match="a mean of models that were fitted apart"):
        ensemble_of([lone], [1]).predict_median(X)
