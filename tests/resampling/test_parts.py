"""Fits on parts of a table are those that `fit` makes of each."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.model_selection import learning_curve as sklearn_learning_curve

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.estimators.common.scorers import scorer_named
from jaxtree.resampling import cross_validate, learning_curve

generator = np.random.default_rng(5)
X = generator.normal(size=(90, 4)).round(1)
X[generator.random(X.shape) < 0.05] = np.nan
NUMBER = X[:, 0] * 2 + np.nan_to_num(X[:, 1]) + generator.normal(size=90)
NUMBER = np.nan_to_num(NUMBER)
WORD = np.where(NUMBER > 0, "up", "down")
WEIGHT = generator.integers(0, 3, 90)
FOLDS = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
PARTS = [train for train, _ in FOLDS.split(X)]


def test_a_generator_is_drawn_from_fit_by_fit():
    """As scikit-learn does: each fit has a clone, which begins where the generator was."""
    tree = jaxtree.DecisionTreeRegressor(max_depth=2, max_features=1, random_state=np.random.RandomState(2))
    first, second = fit_parts(tree, X, NUMBER, [PARTS[0], PARTS[0]])
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("scoring", [None, "accuracy", ["accuracy", "neg_log_loss"]], ids=str)
def test_scores_are_those_of_scikit_learn(scoring):
    tree = jaxtree.DecisionTreeClassifier(max_depth=3)
    own = cross_validate(tree, X, WORD, cv=FOLDS, scoring=scoring)
    beside = sklearn_cross_validate(tree, X, WORD, cv=FOLDS, scoring=scoring, return_train_score=True)
    for name in beside:
        if name.startswith(("test_", "train_")):
            np.testing.assert_allclose(own[name], beside[name], rtol=1e-12)
    assert own["fit_time"].shape == (6,) and len(own["estimator"]) == 6
    np.testing.assert_array_equal(own["indices"]["train"][2], PARTS[2])


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", ["accuracy", "neg_log_loss"]], ids=str)
def test_rows_count_with_their_weights_in_the_scores_too(scoring):
    tree = jaxtree.DecisionTreeClassifier(max_depth=3)
    own = cross_validate(tree, X, WORD, cv=FOLDS, scoring=scoring, fit_params={"sample_weight": WEIGHT + 1})
    for model, rows, *scores in zip(
        own["estimator"], own["indices"]["test"], *(own[name] for name in own if name.startswith("test_")), strict=True
    ):
        given = X[rows], WORD[rows], (WEIGHT + 1)[rows]
        names = [scoring] if scoring is None or isinstance(scoring, str) else scoring
        expected = [
            model.score(*given) if name is None else scorer_named(name)(model, *given[:2], sample_weight=given[2])
            for name in names
        ]
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_groups_stay_together():
    groups, cv = np.arange(len(X)) % 7, GroupKFold(3)
    tree = jaxtree.DecisionTreeClassifier(max_depth=3)
    own = cross_validate(tree, X, WORD, cv=cv, groups=groups)
    beside = sklearn_cross_validate(tree, X, WORD, cv=cv, groups=groups)
    np.testing.assert_allclose(own["test_score"], beside["test_score"], rtol=1e-12)
    for train, test in zip(own["indices"]["train"], own["indices"]["test"], strict=True):
        assert not set(groups[train]) & set(groups[test])
    pairs = list(cv.split(X, WORD, groups))
    curve = learning_curve(tree, X, WORD, cv=pairs, train_sizes=[1.0])
    assert curve[2].shape == (1, 3)


@pytest.mark.parametrize("sizes", [[0.2, 0.5, 1.0], [20, 45]], ids=str)
def test_learning_curves_are_those_of_scikit_learn(sizes):
    tree, cv = jaxtree.DecisionTreeRegressor(max_depth=3), KFold(3, shuffle=True, random_state=1)
    own = learning_curve(tree, X, NUMBER, train_sizes=sizes, cv=cv)
    beside = sklearn_learning_curve(tree, X, NUMBER, train_sizes=sizes, cv=cv, shuffle=True, random_state=0)
    for mine, theirs in zip(own, beside[:3], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("sizes", [[0.0, 1.0], [0], [61], []], ids=str)
def test_sizes_that_no_fold_has_are_refused(sizes):
    with pytest.raises(InvalidInputError, match="from 1 to 60"):
        learning_curve(jaxtree.DecisionTreeRegressor(), X, NUMBER, train_sizes=sizes, cv=3)


def test_splits_may_leave_rows_out():
    scores = cross_validate(
        jaxtree.DecisionTreeRegressor(max_depth=2), X, NUMBER, cv=ShuffleSplit(2, train_size=0.5, random_state=0)
    )
    assert scores["test_score"].shape == (2,)
