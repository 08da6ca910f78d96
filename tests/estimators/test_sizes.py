"""Trees of many sizes: no larger than asked, the optimal ones the best of their depth, and the path of penalties."""

import numpy as np
import pytest

from jaxtree import (
    DecisionTreeClassifier,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    leaf_penalty_path,
    trees_by_size,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.search.beside import numbers, targets, weights, words

SIZES = (2, 3, 5)


@pytest.fixture(scope="module")
def made():
    return trees_by_size(*numbers(), sizes=SIZES, max_depth=2)


@pytest.mark.slow
def test_every_way_makes_a_tree_of_every_size(made):
    assert list(made) == ["greedy", "cost complexity", "C4.5", "dropout", "refined", "optimal"]
    for way, trees in made.items():
        assert len(trees) == len(SIZES), way
        assert all(tree.get_n_leaves() <= size for tree, size in zip(trees, SIZES, strict=True)), way


def test_greedy_trees_are_grown_best_first(made):
    X, y = numbers()
    for tree, size in zip(made["greedy"], SIZES, strict=True):
        grown = DecisionTreeClassifier(max_leaf_nodes=size, ties="first").fit(X, y)
        np.testing.assert_array_equal(tree.predict(X), grown.predict(X))


def test_optimal_and_refined_trees_make_no_more_errors(made):
    X, y = numbers()
    for place, size in enumerate(SIZES):
        best = OptimalTreeClassifier(max_depth=2, max_leaf_nodes=size).fit(X, y)
        np.testing.assert_array_equal(made["optimal"][place].predict(X), best.predict(X))
        assert made["refined"][place].score(X, y) >= made["greedy"][place].score(X, y)
        shallow = [trees[place] for trees in made.values() if trees[place].get_depth() <= 2]
        assert best.score(X, y) >= max(tree.score(X, y) for tree in shallow)


@pytest.mark.slow
def test_words_with_missing_values():
    X, y = words(missing=True)
    trees = trees_by_size(X, y, sizes=[2, 4], max_depth=2)
    assert all(0 < tree.score(X, y) <= 1 for own in trees.values() for tree in own)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"methods": ["best"]}, "methods must be some of greedy"),
        ({"sizes": [1, 2]}, "sizes must be"),
        ({"sizes": []}, "sizes must be"),
        ({"max_depth": 4}, "max_depth must be from 1 to 3, got 4"),
    ],
)
def test_what_cannot_be_made_is_said(given, said):
    with pytest.raises(InvalidInputError, match=said):
        trees_by_size(*numbers(), **given)


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalTreeRegressor])
def test_between_two_penalties_of_the_path_the_tree_is_the_best(kind):
    X, y = numbers() if kind is OptimalTreeClassifier else targets()
    weight = weights()
    path = leaf_penalty_path(kind(max_depth=2), X, y, weight)
    assert path.leaf_penalties[0] == 0 and path.num_leaves[-1] == 1
    assert np.all(np.diff(path.leaf_penalties) > 0) and np.all(np.diff(path.num_leaves) < 0)
    ends = np.append(path.leaf_penalties[1:], 2 * path.leaf_penalties[-1])
    for low, high, leaves, cost in zip(path.leaf_penalties, ends, path.num_leaves, path.costs, strict=True):
        penalty = (low + high) / 2
        tree = kind(max_depth=2, leaf_penalty=penalty).fit(X, y, weight)
        assert tree.get_n_leaves() == leaves
        np.testing.assert_allclose(tree.objective_, cost + penalty * leaves)


def test_a_path_of_four_levels_or_of_another_tree_is_refused():
    with pytest.raises(InvalidInputError, match="up to 3 levels, got max_depth=4"):
        leaf_penalty_path(OptimalTreeClassifier(max_depth=4), *numbers())
    with pytest.raises(InvalidTypeError, match="got DecisionTreeClassifier"):
        leaf_penalty_path(DecisionTreeClassifier(), *numbers())
