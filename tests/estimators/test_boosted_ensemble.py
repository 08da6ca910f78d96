"""Ensembles of boosted models: the weighted mean of their members, in one file."""

import numpy as np
import pytest
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
from tests.examples import lopsided

FEW = {"n_estimators": 4, "max_depth": 2}


def classes():
    X, y = load_iris(return_X_y=True)
    members = [Classifier(**FEW), Classifier(**FEW, max_bins=15), Classifier(6, max_depth=3)]
    return BoostedEnsembleClassifier(members, [1, 2, 5]).fit(X, y), X, y


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return BoostedEnsembleRegressor([Regressor(**FEW), Regressor(**FEW, loss="huber")]).fit(X, y), X, y


@pytest.mark.slow
def test_an_ensemble_predicts_the_weighted_mean_of_its_members():
    model, X, y = classes()
    shares = [clone(member).fit(X, y).predict_proba(X) for member in model.estimators]
    mean = np.average(shares, axis=0, weights=[1, 2, 5])
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-12)
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


def test_other_forms_name_the_members():
    model, X, _ = classes()
    for form in (jaxtree.to_c, jaxtree.to_onnx):
        with pytest.raises(TypeError, match=r"got BoostedEnsembleClassifier: give one of its members, `estimators_`"):
            form(model)
    with pytest.raises(TypeError, match="estimators_"):
        jaxtree.explain_row(model, X[:1])


def test_shapley_values_of_numbers_are_the_weighted_sums_of_the_members():
    X, y = load_diabetes(return_X_y=True)
    model = BoostedEnsembleRegressor([Regressor(**FEW), Regressor(**FEW, loss="absolute_error")], [1, 3]).fit(X, y)
    rows = X[:20]
    for background in (None, X[50:60]):
        found = shap_values(model, rows, background=background)
        parts = [shap_values(own, rows, background=background).values for own in model.estimators_]
        np.testing.assert_allclose(found.values, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.predict(rows), rtol=1e-5)
    pairs = shap_interaction_values(model, rows)
    np.testing.assert_allclose(pairs.values.sum(axis=2), shap_values(model, rows).values, atol=1e-6)


def test_probabilities_and_links_are_no_sums_over_trees():
    model, X, _ = classes()
    with pytest.raises(TypeError, match=r"averages probabilities, which are no sums over trees.*estimators_"):
        shap_values(model, X)
    X, y = load_diabetes(return_X_y=True)
    model = BoostedEnsembleRegressor([Regressor(**FEW, loss="poisson")]).fit(X, y)
    with pytest.raises(TypeError, match=r"averages predictions of the loss .*poisson"):
        shap_values(model, X)
