"""A warm start of models of folds goes on from the rounds of each: together they are those of one longer fit."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.errors import InvalidInputError
from tests.estimators.lone_folds import CLASSES, FEW, ROWS, SIGNAL, X, assert_same_rounds
from tests.marks import rest_is_slow

SLOWLY = FEW | {"learning_rate": 0.02, "n_estimators": 12}
"""No loss of a fold is least before the last round."""

CASES = {
    "numbers": (GradientBoostingRegressor(**SLOWLY), SIGNAL, {}),
    "three classes": (GradientBoostingClassifier(**SLOWLY | {"cv": 5}), CLASSES, {}),
    "draws": (GradientBoostingRegressor(**SLOWLY, subsample=0.7, random_state=3), SIGNAL, {}),
    "metric": (GradientBoostingRegressor(**SLOWLY), SIGNAL, {"eval_metric": "r2", "eval_set": [(X, SIGNAL)]}),
}


@pytest.mark.parametrize("name", rest_is_slow(CASES))
def test_a_warm_start_makes_the_rounds_of_one_fit(name, tmp_path):
    model, y, fit = CASES[name]
    whole = clone(model).fit(X, y, **fit)
    assert (whole.folds_.num_trees == 12).all()
    warm = clone(model).set_params(n_estimators=5, warm_start=True).fit(X, y, **fit)
    warm.save(tmp_path / "model")
    warm = jaxtree.load(tmp_path / "model").set_params(n_estimators=12).fit(X, y, **fit)
    assert_same_rounds(warm.forest_, whole.forest_)
    np.testing.assert_array_equal(warm.raw_scores(X), whole.raw_scores(X))
    np.testing.assert_allclose(warm.oof_predictions_, whole.oof_predictions_, rtol=1e-6)
    for fold, curves in whole.evals_result_.items():
        assert list(warm.evals_result_[fold]) == list(curves)
        for name, curve in curves.items():
            np.testing.assert_allclose(warm.evals_result_[fold][name], curve, rtol=1e-12)


def test_models_that_have_their_rounds_stay_and_others_go_on():
    model = GradientBoostingRegressor(**FEW | {"learning_rate": 0.5, "warm_start": True}).fit(X, SIGNAL)
    before, rounds = model.folds_, model.folds_.num_trees
    forests = [before.model_of(fold, model.forest_) for fold in range(4)]
    assert rounds.min() < 12
    model.set_params(n_estimators=int(rounds.max())).fit(X, SIGNAL)
    for fold, forest in enumerate(forests):
        assert_same_rounds(model.folds_.model_of(fold, model.forest_).first(len(forest)), forest)
    last = model.folds_.num_trees.argmax()
    assert model.folds_.num_trees[last] == rounds.max()


def test_what_a_warm_start_cannot_go_on_from_is_said():
    model = GradientBoostingRegressor(**FEW, warm_start=True).fit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match="warm_start needs the folds of the fit before, which held out 4 parts"):
        clone_fitted(model, cv=5).fit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match="warm_start needs the folds of the fit before"):
        clone_fitted(model, random_state=1).fit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match="goes on from a mean of models of folds"):
        clone_fitted(model, early_stopping=False).fit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match=r"must be larger or equal to the \d+ rounds of the fit before"):
        clone_fitted(model, n_estimators=1).fit(X, SIGNAL)
    one = GradientBoostingRegressor(5, warm_start=True).fit(X, SIGNAL)
    with pytest.raises(InvalidInputError, match="goes on from one model"):
        clone_fitted(one, early_stopping="cv").fit(X, SIGNAL)


def clone_fitted(model, **params):
    """The same fitted model with other parameters and more rounds to come."""
    return copy.copy(model).set_params(**{"n_estimators": 20} | params)


def test_fewer_rows_are_other_folds():
    model = GradientBoostingRegressor(**FEW, warm_start=True).fit(X, SIGNAL)
    few = np.arange(ROWS - 8)
    with pytest.raises(InvalidInputError, match="warm_start needs the folds of the fit before"):
        model.set_params(n_estimators=20).fit(X[few], SIGNAL[few])


OTHERS = {
    "another order": (X[::-1], SIGNAL[::-1]),
    "other targets": (X, np.roll(SIGNAL, 1)),
    "other values": (X[:, ::-1], SIGNAL),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_rows_of_the_same_number_are_noticed(name, tmp_path):
    """The folds would have the same numbers, and judge models that have learned from their rows."""
    GradientBoostingRegressor(**FEW, warm_start=True).fit(X, SIGNAL).save(tmp_path / "model")
    model = jaxtree.load(tmp_path / "model").set_params(n_estimators=20)
    with pytest.raises(InvalidInputError, match="models of folds needs the rows of the fit before in the same order"):
        model.fit(*OTHERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_rows_that_are_held_out_of_others_are_noticed(name, recwarn):
    held_out = FEW | {"early_stopping": True, "cv": "auto", "learning_rate": 0.02}
    model = GradientBoostingRegressor(**held_out, warm_start=True).fit(X, SIGNAL)
    again = clone_fitted(model).fit(X, SIGNAL)
    assert not [own for own in recwarn if "may have learned from some that are held out" in str(own.message)]
    with pytest.warns(UserWarning, match="may have learned from some that are held out now"):
        clone_fitted(model).fit(*OTHERS[name])
    clone_fitted(again, n_estimators=22).fit(*OTHERS[name], eval_set=[(X, SIGNAL)])
    assert not [own for own in recwarn if "may have learned from some that are held out" in str(own.message)]
