"""The chart of accuracy against leaves has the scores of the trees."""

import numpy as np
import pytest
from matplotlib import pyplot

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.plot import plot_accuracy_by_leaves
from tests.search.beside import numbers, targets


def test_the_points_are_the_scores_of_the_trees():
    X, y = numbers()
    trees = [DecisionTreeClassifier(max_leaf_nodes=size).fit(X[::2], y[::2]) for size in (4, 2, 2, 7)]
    ax = plot_accuracy_by_leaves({"grown": trees, "again": trees[:1]}, X[1::2], y[1::2])
    leaves, accuracy = ax.lines[0].get_data()
    assert leaves.tolist() == [2, 4, 7]
    np.testing.assert_array_equal(accuracy, [trees[place].score(X[1::2], y[1::2]) for place in (1, 0, 3)])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["grown", "again"]
    assert ax.get_ylabel() == "accuracy"


def test_of_numbers_it_is_the_coefficient_of_determination():
    X, y = targets()
    ax = pyplot.figure().subplots()
    tree = DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert plot_accuracy_by_leaves({"grown": [tree]}, X, y, ax=ax) is ax
    assert ax.get_ylabel() == "R²" and ax.lines[0].get_ydata()[0] == tree.score(X, y)


def test_no_tree_is_an_error():
    with pytest.raises(InvalidInputError, match="got none"):
        plot_accuracy_by_leaves({"grown": []}, *numbers())
