"""The search is scikit-learn's, setting by setting; and grows once for all of them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError

from jaxtree import (
    ChiSquared,
    Collapse,
    CostComplexity,
    CriticalValue,
    DecisionTreeClassifier,
    Dropout,
    MaxLeafNodes,
    MinimumError,
    Pessimistic,
    Pessimistic1987,
    ReducedError,
    SearchCV,
    ValidationGate,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common import growing
from jaxtree.growth.loop.grow import num_programs
from tests.search.beside import FOLDS, ROWS, assert_same_results, compare, numbers

pytestmark = pytest.mark.slow

X, Y = numbers()
LIMITS = {
    "max_depth": [1, 2, 4, None],
    "min_samples_split": [2, 5, 0.1, 30],
    "min_impurity_decrease": [0.0, 0.01, 0.03],
}
DEPTHS = {"max_depth": [1, 2, 4, None]}
MASKS = [
    None,
    Pessimistic(),
    Pessimistic1987(),
    MinimumError(),
    ChiSquared(),
    CriticalValue(0.1),
    MaxLeafNodes(5),
    CostComplexity(0.01),
    Collapse(),
    Collapse() | ChiSquared(0.3),
    Dropout(0.2),
    Dropout(0.2, 0.3, draws=7),
    Dropout(0.2, draws="all"),
]


@pytest.fixture
def growths(monkeypatch):
    """The number of roots of every growth."""
    roots = []

    def count(*args, **kwargs):
        roots.append(args[4].num_roots)
        return grow(*args, **kwargs)

    grow = growing.grow_until_it_fits
    monkeypatch.setattr(growing, "grow_until_it_fits", count)
    return roots


# The same results as scikit-learn's search


def test_limits_of_growth():
    compare(DecisionTreeClassifier(), LIMITS, X, Y, return_train_score=True)


def test_prunings_that_are_masks():
    compare(DecisionTreeClassifier(), {"pruning": MASKS, "max_depth": [3, None], "random_state": [0]}, X, Y)


def test_parameters_of_one_pruning():
    compare(DecisionTreeClassifier(pruning=Pessimistic()), {"pruning__confidence": [0.01, 0.1, 0.25, 0.5]}, X, Y)
    rates = {"pruning__p": [0, 0.1, 0.3], "pruning__q": [0.0, 0.5], "random_state": [0, 1]}
    for draws in (1, 7, "all"):
        compare(DecisionTreeClassifier(pruning=Dropout(0.1, draws=draws)), rates, X, Y, scoring="neg_log_loss")
    both = {"pruning": [Pessimistic(0.1) | ChiSquared(0.5)], "pruning__second__p_value": [0.01, 0.2, 1.0]}
    compare(DecisionTreeClassifier(), both, X, Y)


def test_prunings_that_follow_one_another():
    grid = {
        "max_leaf_nodes": [None, 4, 9],
        "ccp_alpha": [0.0, 0.004, 0.02],
        "pruning": [None, MinimumError(), Dropout(0.2), MaxLeafNodes(3)],
        "max_depth": [3, None],
    }
    compare(DecisionTreeClassifier(random_state=1), grid, X, Y)


def test_held_out_parts_of_the_training_rows():
    grid = {
        "pruning": [ReducedError(), ValidationGate()],
        "pruning__validation_fraction": [0.2, 0.3],
        "max_depth": [3, None],
        "random_state": [0, 1],
    }
    compare(DecisionTreeClassifier(), grid, X, Y)


def test_held_out_rows_given_to_fit():
    """The same rows in every fold; a pruning that asks for none fails with them."""
    held = {"X_val": X[:50] + 0.1, "y_val": Y[:50]}
    compare(DecisionTreeClassifier(), {"pruning": [ReducedError(), ValidationGate()], **DEPTHS}, X, Y, fit_params=held)
    ours = compare(DecisionTreeClassifier(), {"pruning": [ReducedError(), None]}, X, Y, fit_params=held)
    assert np.isnan(ours.cv_results_["mean_test_score"]).tolist() == [False, True]


def test_an_encoding_that_several_growths_share_is_not_spoilt_by_held_out_rows():
    """Columns with fewer values in a part of the rows: that part's codes are no one else's."""
    grid = [{"max_depth": [2, None]}, {"pruning": [ReducedError(0.4)]}, {"min_samples_leaf": [1, 2, 5]}]
    compare(DecisionTreeClassifier(random_state=0), grid, X + np.arange(ROWS)[:, None] % 7 / 100, Y)


def test_a_list_of_grids_and_parameters_that_change_splits():
    grid = [
        {"min_samples_leaf": [1, 4, 0.05], "max_depth": [2, None], "ccp_alpha": [0, 0.01]},
        {"min_weight_fraction_leaf": [0.1], "pruning": [None, Collapse()]},
        {"max_leaf_nodes": [3]},
    ]
    compare(DecisionTreeClassifier(), grid, X, Y)


@pytest.mark.parametrize("refit", [False, True, lambda results: 2])
def test_refitting(refit):
    ours = compare(DecisionTreeClassifier(), DEPTHS, X, Y, refit=refit)
    assert hasattr(ours, "best_estimator_") == bool(refit)


def test_classes_that_one_part_of_a_fold_lacks():
    """Row 0 is the only one of its class, and those of two classes are in one fold's test rows alone."""
    y = np.array(["a", "b", "c"])[Y].astype(object)
    y[0] = "single"
    halves = [(np.arange(60, ROWS), np.arange(60)), (np.arange(60), np.arange(60, ROWS))]
    for scoring in (None, "f1_macro"):
        compare(DecisionTreeClassifier(), DEPTHS, X, y, cv=halves, scoring=scoring)


def test_values_that_are_not_allowed():
    estimator = DecisionTreeClassifier(pruning=Dropout(0.1), random_state=0)
    grid = {"max_depth": [2, -1, 2.5], "pruning__p": [0.1, 2, "x"], "min_samples_split": [1, 2]}
    ours = compare(estimator, grid, X, Y, scoring=["accuracy", "neg_log_loss"], refit="accuracy")
    assert np.isfinite(ours.cv_results_["mean_test_accuracy"]).sum() == 1
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 6"):
        SearchCV(estimator, {"max_depth": [2, -1]}, cv=FOLDS).fit(X, Y)
    with pytest.warns(FitFailedWarning):
        failed = SearchCV(estimator, {"max_depth": [2, -1]}, cv=FOLDS, error_score=-7.0).fit(X, Y)
    assert failed.cv_results_["mean_test_score"][1] == -7
    with pytest.raises(InvalidInputError, match=r"'max_depth' parameter of DecisionTreeClassifier.*-1"):
        SearchCV(estimator, {"max_depth": [2, -1]}, cv=FOLDS, error_score="raise").fit(X, Y)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="All the 3 fits failed"):
        warnings.simplefilter("ignore")
        SearchCV(estimator, {"max_depth": [-1]}, cv=FOLDS).fit(X, Y)


def test_names_that_are_no_parameters():
    for grid, words in (({"depth": [1]}, "Invalid parameter 'depth'"), ({"pruning__r": [1]}, "Invalid parameter 'r'")):
        with pytest.raises(ValueError, match=words):
            SearchCV(DecisionTreeClassifier(pruning=Dropout(0.1)), grid, cv=FOLDS).fit(X, Y)


def test_what_is_not_searched():
    with pytest.raises(InvalidInputError, match="estimators of jaxtree, got RandomForestClassifier"):
        SearchCV(RandomForestClassifier(), DEPTHS).fit(X, Y)
    with pytest.raises(InvalidParameterError, match="'verbose' parameter"):
        SearchCV(DecisionTreeClassifier(), DEPTHS, verbose="yes").fit(X, Y)


# Growing once


@pytest.mark.slow
def test_masks_never_cause_another_growth(growths):
    grid = {
        "pruning": MASKS,
        "max_depth": [3, None],
        "min_samples_split": [2, 0.2],
        "min_impurity_decrease": [0, 0.02],
        "max_leaf_nodes": [None, 5],
        "ccp_alpha": [0, 0.01],
        "random_state": [0, 1],
    }
    SearchCV(DecisionTreeClassifier(), grid, cv=FOLDS, refit=False).fit(X, Y)
    assert growths == [3]


def test_a_growth_for_every_value_that_changes_splits_however_it_is_named(growths):
    grid = [
        {"min_samples_leaf": [1, 4], "max_depth": [1, 2, 3]},
        {"min_samples_leaf": [4], "ccp_alpha": [0.01]},
        {"max_depth": [5], "pruning": [None, Dropout(0.1)]},
    ]
    SearchCV(DecisionTreeClassifier(random_state=0), grid, cv=FOLDS, refit=False).fit(X, Y)
    assert growths == [3, 3]


def test_a_value_that_is_not_allowed_grows_nothing_and_spoils_nothing(growths):
    with pytest.warns(FitFailedWarning):
        SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, -1]}, cv=FOLDS, refit=False).fit(X, Y)
    assert growths == [3]


def test_ten_times_the_settings_compile_no_growth():
    search = SearchCV(DecisionTreeClassifier(), DEPTHS, cv=FOLDS).fit(X, Y)
    before = num_programs()
    search.set_params(param_grid={**LIMITS, "ccp_alpha": np.arange(10) / 100}).fit(X, Y)
    assert len(search.cv_results_["params"]) == 480
    assert num_programs() == before


# Interrupts and progress


def test_an_interrupt_keeps_what_was_scored():
    """The second growth's settings are interrupted: those of the first have been scored on all folds."""

    def interrupting(estimator, X, y):
        if estimator.min_samples_leaf == 4 and estimator.max_depth == 2:
            raise KeyboardInterrupt
        return estimator.score(X, y)

    grid = {"min_samples_leaf": [1, 4], "max_depth": [1, 2]}
    search = SearchCV(DecisionTreeClassifier(), grid, cv=FOLDS, scoring=interrupting)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    whole = SearchCV(DecisionTreeClassifier(), {**grid, "min_samples_leaf": [1]}, cv=FOLDS).fit(X, Y)
    assert_same_results(search.cv_results_, whole.cv_results_)
    assert (search.best_params_, search.best_score_) == (whole.best_params_, whole.best_score_)
    with pytest.raises((NotFittedError, AttributeError)):
        search.predict(X)


def test_an_interrupt_is_raised_where_nothing_was_scored_or_all_has_failed():
    def interrupting(estimator, X, y):
        raise KeyboardInterrupt

    grid = [{"max_depth": [-1]}, {"max_depth": [2]}]
    search = SearchCV(DecisionTreeClassifier(), grid, cv=FOLDS, scoring=interrupting)
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    assert not hasattr(search, "cv_results_")


def test_progress_is_shown_and_changes_nothing(capsys):
    shown = SearchCV(DecisionTreeClassifier(), DEPTHS, cv=FOLDS, verbose=1).fit(X, Y)
    assert "4 settings x 3 folds: 100%, best accuracy 0." in capsys.readouterr().err.splitlines()[-1]
    hidden = SearchCV(DecisionTreeClassifier(), DEPTHS, cv=FOLDS).fit(X, Y)
    assert_same_results(shown.cv_results_, hidden.cv_results_)


# scikit-learn's conventions


def test_conventions():
    search = SearchCV(DecisionTreeClassifier(), DEPTHS, cv=FOLDS)
    assert clone(search).get_params().keys() == search.get_params().keys()
    assert search.get_params()["estimator__max_depth"] is None
    assert clone(search.set_params(estimator__criterion="entropy")).estimator.criterion == "entropy"
    search.set_params(estimator__criterion="gini").fit(X, Y)
    assert search.n_features_in_ == 3
    assert list(search.classes_) == [0, 1, 2]
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), search.best_estimator_.predict(X))
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    assert search.refit_time_ > 0 and np.all(search.cv_results_["mean_fit_time"] > 0)


def test_the_estimator_and_the_grid_are_left_alone():
    estimator, pruning = DecisionTreeClassifier(random_state=0), Dropout(0.1)
    SearchCV(estimator, {"pruning": [pruning], "pruning__p": [0.3, 0.4], "max_depth": [2]}, cv=FOLDS).fit(X, Y)
    assert not hasattr(estimator, "tree_") and estimator.pruning is None
    assert pruning.p == 0.1


# Real data


class Stump(DecisionTreeClassifier):
    """A tree that does not grow as it is told."""

    def fit(self, X, y, sample_weight=None):
        """Grows a stump."""
        depth, self.max_depth = self.max_depth, 1
        super().fit(X, y, sample_weight)
        self.max_depth = depth
        return self


def test_the_fit_of_a_subclass_is_heeded():
    search = SearchCV(Stump(), {"max_depth": [1, 4]}, cv=FOLDS).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == scores[1]


def test_tables_may_hold_what_trees_may():
    """So that scikit-learn does not check that missing values are refused."""
    assert get_tags(SearchCV(DecisionTreeClassifier(), DEPTHS)).input_tags.allow_nan
