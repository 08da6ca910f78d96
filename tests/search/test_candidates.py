"""Settings that are drawn from distributions, in searches over trees and forests as over boosted trees."""

import numpy as np
import pytest
from scipy.stats import randint, uniform
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from jaxtree import (
    DecisionTreeClassifier,
    Dropout,
    GradientBoostingClassifier,
    Pessimistic,
    RandomForestClassifier,
    SearchCV,
)
from jaxtree.errors import InvalidInputError
from jaxtree.search.spaces import settings_of
from tests.marks import rows_are_slow
from tests.search.beside import FOLDS, assert_same_results, numbers

X, Y = numbers()


@pytest.mark.parametrize(
    ("estimator", "space"),
    rows_are_slow(
        [
            (
                DecisionTreeClassifier(pruning=Dropout(0.1, 0.1), random_state=0),
                {"pruning__p": uniform(0, 0.5), "pruning__q": uniform(0, 1), "max_depth": [2, 4, None]},
            ),
            (RandomForestClassifier(4, random_state=0), {"ccp_alpha": uniform(0, 0.05), "n_estimators": randint(1, 5)}),
        ]
    ),
    ids=["tree", "forest"],
)
def test_draws_are_those_of_scikit_learn(estimator, space):
    options = {"n_iter": 7, "cv": FOLDS, "random_state": 3}
    ours = SearchCV(estimator, space, **options).fit(X, Y)
    theirs = RandomizedSearchCV(estimator, space, **options).fit(X, Y)
    assert_same_results(ours.cv_results_, theirs.cv_results_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_single_value_stands_for_a_list_of_one():
    pruning = Pessimistic()
    space = {"max_depth": 3, "criterion": "gini", "pruning": pruning, "min_samples_leaf": (1, 2)}
    assert settings_of(space, None, None, "param_grid") == [
        {"criterion": "gini", "max_depth": 3, "min_samples_leaf": leaf, "pruning": pruning} for leaf in (1, 2)
    ]


@pytest.mark.parametrize("refit", ["ensemble", "fold-ensemble"])
def test_an_ensemble_is_chosen_by_one_score(refit, monkeypatch):
    monkeypatch.setattr("jaxtree.search.strategies.fit_many", None)
    search = SearchCV(GradientBoostingClassifier(2), {}, scoring=["accuracy", "neg_log_loss"], refit=refit)
    with pytest.raises(InvalidInputError, match="chooses by one score: scoring must be one"):
        search.fit(X, Y)


def test_trees_make_no_ensembles(monkeypatch):
    monkeypatch.setattr("jaxtree.search.strategies.fit_many", None)
    with pytest.raises(InvalidInputError, match="refit='ensemble' averages boosted models"):
        SearchCV(DecisionTreeClassifier(), {}, refit="ensemble").fit(X, Y)


def test_parameters_of_a_tree_have_importances():
    space = {"max_depth": [1, 2, 3, 4, 5], "min_samples_split": [2, 3], "criterion": ["gini"]}
    search = SearchCV(DecisionTreeClassifier(), space, cv=FOLDS).fit(X, Y)
    own = search.parameter_importances()
    assert own.names == ["max_depth", "min_samples_split"] and own.mean[0] > 5 * abs(own.mean[1])


def test_numbers_of_settings_are_whole():
    with pytest.raises(InvalidParameterError, match="n_iter"):
        SearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, n_iter=1.5).fit(X, Y)
