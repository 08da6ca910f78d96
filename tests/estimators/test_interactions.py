"""Columns that may occur together on a path from the root: the words of the parameter, and what trees make of them."""

import numpy as np
import pandas as pd
import pytest

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
    load,
)
from jaxtree.errors import InvalidInputError
from tests.marks import in_turn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4] + RNG.normal(0, 0.1, 400)


def columns_of_paths(tree):
    """The columns above every leaf."""
    above = [frozenset()] * tree.node_count
    for node in range(tree.node_count):
        if tree.depth[node] > 0:
            parent = tree.parent[node]
            above[node] = above[parent] | {int(tree.feature[parent])}
    return {columns for columns, is_leaf in zip(above, tree.is_leaf, strict=True) if is_leaf}


def together(*sets):
    return tuple(map(frozenset, sets))


CONSTRAINTS = {
    "the rest is one more set": ([[0, 1]], together([0, 1], [2, 3, 4])),
    "overlapping": ([{0, 1}, (1, 2), [3, 4, 0]], together([0, 1], [1, 2], [0, 3, 4])),
    "pairwise": ("pairwise", together(*([i, j] for i in range(5) for j in range(i)))),
    "no_interactions": ("no_interactions", together(*([i] for i in range(5)))),
}
ESTIMATORS = (
    DecisionTreeRegressor(max_depth=6),
    RandomForestRegressor(8, max_depth=6, max_features=2, random_state=0),
    GradientBoostingRegressor(8, min_samples_leaf=1),
)


@pytest.mark.parametrize(("name", "estimator"), in_turn(CONSTRAINTS, ESTIMATORS))
def test_the_columns_of_every_path_lie_within_a_set(estimator, name):
    given, sets = CONSTRAINTS[name]
    model = estimator.set_params(interaction_cst=given).fit(X, Y)
    for tree in getattr(model, "forest_", None) or [model.tree_]:
        paths = columns_of_paths(tree)
        assert all(any(columns <= own for own in sets) for columns in paths)
        assert max(map(len, paths)) > 1 or name == "no_interactions"


def test_names_words_and_files(tmp_path):
    """A column of words is one column, however it is split."""
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(word=np.where(X[:, 3] > 0, "up", "down"))
    by_name, by_number = (
        DecisionTreeClassifier(max_depth=5, interaction_cst=sets).fit(frame, Y > 0)
        for sets in ([{"a", "word"}, {"b", 2}], [[0, 3], [1, 2]])
    )
    np.testing.assert_array_equal(by_name.tree_.feature, by_number.tree_.feature)
    assert columns_of_paths(by_name.tree_) <= {frozenset(s) for s in ([0], [3], [0, 3], [1], [2], [1, 2])}
    by_name.save(tmp_path / "model.jaxtree")
    assert load(tmp_path / "model.jaxtree").interaction_cst == by_name.interaction_cst


@pytest.mark.parametrize(
    ("estimator", "given", "words"),
    in_turn(
        [DecisionTreeRegressor, GradientBoostingRegressor],
        [
            ([[0, 5]], r"interaction_cst must name a column, one of .* \(a place from 0 to 4\), got 5"),
            ([[-1]], "got -1"),
            ([["age"]], "got 'age'"),
            ([0, 1], r"interaction_cst must be a sequence of sets of columns, .*, got \[0, 1\]"),
            (["x0"], "must be a sequence of sets"),
            ("pairs", "The 'interaction_cst' parameter"),
        ],
    ),
)
def test_what_is_no_set_of_columns_is_named(given, words, estimator):
    with pytest.raises(InvalidInputError, match=words):
        estimator(interaction_cst=given).fit(X, Y)


def test_early_stopping_and_classes_keep_the_sets():
    model = GradientBoostingClassifier(30, early_stopping=True, interaction_cst=[[0, 1]], random_state=0)
    model.fit(X, np.digitize(Y, [-0.5, 0.5]))
    sets = together([0, 1], [2, 3, 4])
    assert all(any(path <= own for own in sets) for tree in model.forest_ for path in columns_of_paths(tree))
