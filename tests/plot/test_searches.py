"""Drawings of a search over boosted trees: the numbers that are drawn are those of the search."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from jaxtree import GradientBoostingRegressor, SearchCV
from jaxtree.errors import InvalidInputError
from jaxtree.plot import plot_ensemble_weights, plot_parameter_importances, plot_search_curves
from jaxtree.plot.prunings import ORANGE

X, Y = load_diabetes(return_X_y=True)
SPACE = {"learning_rate": [0.001, 0.05, 0.4], "max_depth": [2, 3], "min_samples_leaf": [5, 6], "gamma": [0.0]}


@pytest.fixture(scope="module")
def search():
    estimator = GradientBoostingRegressor(8, random_state=0)
    return SearchCV(estimator, SPACE, cv=2, refit="ensemble", factor=2, min_resources=4).fit(X, Y)


@pytest.mark.slow
def test_curves_are_the_means_over_the_folds(search):
    ax = plot_search_curves(search)
    best = next(line for line in ax.lines if to_hex(line.get_color()) == ORANGE.lower())
    assert len(ax.lines) == 12
    np.testing.assert_allclose(best.get_ydata(), np.mean(search.learning_curves_[search.best_index_], axis=0))
    stopped = [line for line in ax.lines if len(line.get_markevery())]
    assert {len(line.get_xdata()) for line in stopped} == {4}
    assert len(stopped) == (search.cv_results_["iter"] == 0).sum()
    assert plot_search_curves(search, ax=ax) is ax


def test_the_parameter_that_decides_counts_most(search):
    own = search.parameter_importances()
    assert own.names == ["learning_rate", "max_depth", "min_samples_leaf"]
    assert own.mean.argmax() == 0
    assert own.mean[0] > 10 * abs(own.mean[2])
    np.testing.assert_array_equal(search.parameter_importances("score").mean, own.mean)
    ax = plot_parameter_importances(search)
    assert ax.get_yticklabels()[0].get_text() == "learning_rate"
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.sort(own.mean)[::-1])


@pytest.mark.slow
def test_importances_of_words_and_of_few_settings():
    estimator, space = GradientBoostingRegressor(3, random_state=0), {"loss": ["squared_error", "absolute_error"]}
    few = SearchCV(estimator, space, cv=2, refit=False).fit(X, Y)
    with pytest.raises(InvalidInputError, match="at least 4 different settings, got 2"):
        few.parameter_importances()
    with pytest.raises(InvalidInputError, match="metric must be one of score, got 'r2'"):
        few.parameter_importances("r2")
    more = SearchCV(estimator, space | {"max_leaf_nodes": [None, 4]}, cv=2, refit=False).fit(X, Y)
    assert more.parameter_importances().names == ["loss", "max_leaf_nodes"]


def test_the_bars_of_an_ensemble_are_its_weights(search):
    ax = plot_ensemble_weights(search)
    widths = [bar.get_width() for bar in ax.patches]
    positive = search.ensemble_weights_[search.ensemble_weights_ > 0]
    np.testing.assert_allclose(widths, np.sort(positive)[::-1])
    first = ax.get_yticklabels()[0].get_text()
    assert first.startswith(str(search.ensemble_weights_.argmax()))
    assert "gamma" not in first


@pytest.mark.parametrize("plot", [plot_search_curves, plot_parameter_importances, plot_ensemble_weights])
def test_other_searches_are_named(plot):
    other = GridSearchCV(DecisionTreeRegressor(), {"max_depth": [1]}, cv=2).fit(X, Y)
    with pytest.raises(InvalidInputError, match="got GridSearchCV without"):
        plot(other)
