import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtree import ClassProbabilities, DecisionTreeClassifier, DecisionTreeRegressor, SoftTreeClassifier, refine
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.growing import decode_thresholds
from jaxtree.kernels.choose import Engines
from jaxtree.optimal.costs import cost_of_classes, cost_of_numbers
from jaxtree.optimal.nodes import CodedTable, SplitNode, node_table, objective_of, split_node_at, split_nodes
from jaxtree.optimal.refine import refined
from jaxtree.optimal.subsets import with_subset_columns
from jaxtree.tree import SplitKind
from tests.examples import mixed_classes, mixed_table

ROWS = 40


def drawn_tree(draw, depth):
    if depth == 0 or draw(st.booleans()):
        return None
    feature = draw(st.integers(0, 2))
    kind = SplitKind.ONE_VS_REST if feature == 2 else SplitKind.THRESHOLD
    below = drawn_tree(draw, depth - 1), drawn_tree(draw, depth - 1)
    return SplitNode(feature, draw(st.integers(0, 3)), int(kind), draw(st.integers(0, 1)), *below)


@settings(max_examples=15)
@given(st.data())
def test_no_objective_rises_and_no_tree_grows(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    codes = rng.integers(0, 6, (3, ROWS)).astype(np.uint8)
    table = CodedTable(codes, np.full(3, 5, np.int32), np.array([False, False, True]))
    weight = rng.choice([0.5, 1.0, 3.0], ROWS) if data.draw(st.booleans()) else None
    if data.draw(st.booleans()):
        target = cost_of_classes(rng.integers(0, 3, ROWS), 3, weight)
    else:
        target = cost_of_numbers(rng.normal(size=(2, ROWS)), weight)
    tree = drawn_tree(data.draw, 3)
    better = refined(tree, table, target, Engines.of("cpu"))
    assert objective_of(better, table, target) <= objective_of(tree, table, target)
    assert len(split_nodes(better)) <= len(split_nodes(tree))


def test_a_refined_tree_predicts_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    classes = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (rng.random(300) < 0.1)
    for tree, y in (
        (DecisionTreeClassifier(max_depth=3), classes),
        (DecisionTreeRegressor(max_depth=3), classes + rng.normal(size=300) / 9),
    ):
        tree.fit(X, y)
        better = refine(tree, X, y)
        assert better.score(X, y) > tree.score(X, y)
        assert better.get_n_leaves() <= tree.get_n_leaves() and better.get_depth() <= 3


def test_more_restarts_find_nothing_worse():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (X[:, 2] > 0)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    scores = [refine(tree, X, y, n_restarts=restarts, random_state=4).score(X, y) for restarts in (0, 1, 4, 16)]
    assert scores == sorted(scores) and scores[0] < scores[-1]
    with pytest.raises(InvalidInputError, match="n_restarts must be an integer >= 0, got -1"):
        refine(tree, X, y, n_restarts=-1)


RNG = np.random.default_rng(2)
X_DRAWN = RNG.normal(size=(150, 3))
CLASSES = np.array(["a", "b", "c"])
KIND = ((X_DRAWN[:, 0] > 0.3) ^ (X_DRAWN[:, 1] > -0.2)) * (1 + (X_DRAWN[:, 2] > 0))
GIVEN = 0.4 * RNG.dirichlet(np.ones(3), 150) + 0.6 * np.eye(3)[KIND]
PROBABILITIES = ClassProbabilities(GIVEN, CLASSES)
GROWN = DecisionTreeClassifier(max_leaf_nodes=5).fit(X_DRAWN, PROBABILITIES)


def expected_errors(tree, weight=1.0):
    place = np.searchsorted(CLASSES, tree.predict(X_DRAWN))
    return (weight * (1 - GIVEN[np.arange(150), place])).sum()


def test_probabilities_are_rows_of_one_class_with_their_weights():
    """The tree is that of three rows in place of one, whose weights are the shares; but a row counts once."""
    rows, weight = np.repeat(np.arange(150), 3), 1.0 + np.arange(150) % 3
    better = refine(GROWN, X_DRAWN, PROBABILITIES, weight, n_restarts=4)
    assert expected_errors(better, weight) < expected_errors(GROWN, weight)
    same = refine(GROWN, X_DRAWN[rows], np.tile(CLASSES, 150), (weight[:, None] * GIVEN).reshape(-1), n_restarts=4)
    np.testing.assert_array_equal(better.tree_.threshold, same.tree_.threshold)
    np.testing.assert_allclose(better.tree_.count, same.tree_.count, rtol=1e-8)
    assert better.tree_.num_rows[0] == 150 and same.tree_.num_rows[0] == 450
    leaves = better.tree_.num_rows[better.tree_.is_leaf]
    np.testing.assert_array_equal(leaves, np.bincount(better.apply(X_DRAWN))[better.tree_.is_leaf])


def test_probabilities_of_one_are_classes():
    label = PROBABILITIES.labels()
    sure = ClassProbabilities(np.eye(3)[np.searchsorted(CLASSES, label)], CLASSES)
    tree = DecisionTreeClassifier(max_leaf_nodes=5).fit(X_DRAWN, label)
    one, other = (refine(tree, X_DRAWN, y, n_restarts=2) for y in (sure, label))
    np.testing.assert_array_equal(one.predict_proba(X_DRAWN), other.predict_proba(X_DRAWN))


def test_rows_with_a_share_of_an_unknown_class_are_left_out():
    known = np.arange(150) > 20
    wider = np.where(known[:, None], np.pad(GIVEN, ((0, 0), (0, 1))), np.array([0.2, 0.2, 0.2, 0.4]))
    given = ClassProbabilities(wider, [*CLASSES, "d"])
    one, other = refine(GROWN, X_DRAWN, given), refine(GROWN, X_DRAWN[known], PROBABILITIES.take(known))
    np.testing.assert_array_equal(one.predict_proba(X_DRAWN), other.predict_proba(X_DRAWN))
    nobody = ClassProbabilities(np.full((150, 2), 0.5), ["d", "e"])
    with pytest.raises(InvalidInputError, match="a class that the tree knows, got none"):
        refine(GROWN, X_DRAWN, nobody)
    with pytest.raises(InvalidInputError, match=r"\[150, 2\]"):
        refine(GROWN, X_DRAWN, PROBABILITIES.take([0, 1]))


def test_probabilities_are_for_trees_of_classes_with_thresholds():
    soft = SoftTreeClassifier(depth=1, max_epochs=1, random_state=0).fit(X_DRAWN, PROBABILITIES.labels())
    numbers = DecisionTreeRegressor(max_depth=1).fit(X_DRAWN, GIVEN[:, 0])
    for tree in (soft.harden(), numbers):
        with pytest.raises(InvalidTypeError, match="y must be classes or numbers here, got ClassProbabilities"):
            refine(tree, X_DRAWN, PROBABILITIES)


CATEGORY = RNG.integers(0, 9, 400)
SIZE = RNG.normal(size=400)
WORDS = pd.DataFrame({"shop": pd.Categorical([f"s{code}" for code in CATEGORY]), "size": SIZE})
WORDS.loc[::20, "shop"] = None
IS_SOLD = np.isin(CATEGORY, [1, 3, 4, 7]) ^ (SIZE > 0.2)


@pytest.mark.parametrize("categorical_splits", ["auto", "ordered"])
def test_subsets_of_categories_are_chosen_again(categorical_splits):
    noise = RNG.normal(size=400) / 9
    options = {"max_leaf_nodes": 4, "categorical_splits": categorical_splits}
    for kind, y in ((DecisionTreeClassifier, IS_SOLD), (DecisionTreeRegressor, IS_SOLD + noise)):
        tree = kind(**options).fit(WORDS, y)
        better = refine(tree, WORDS, y, n_restarts=4)
        assert better.score(WORDS, y) > max(0.8, tree.score(WORDS, y) - 1e-12) and better.get_n_leaves() <= 4
        assert (better.tree_.split_kind[~better.tree_.is_leaf] == SplitKind.SUBSET).any()
        ends = np.bincount(better.apply(WORDS), minlength=better.tree_.node_count)
        np.testing.assert_array_equal(better.tree_.num_rows[better.tree_.is_leaf], ends[better.tree_.is_leaf])
        weight = np.arange(400) % 3
        rows = np.repeat(np.arange(400), weight)
        doubled = refine(tree, WORDS.iloc[rows], y[rows], n_restarts=2)
        weighted = refine(tree, WORDS, y, weight, n_restarts=2)
        np.testing.assert_array_equal(doubled.apply(WORDS), weighted.apply(WORDS))


def test_one_category_stays_against_the_rest_where_that_is_asked():
    tree = DecisionTreeClassifier(max_leaf_nodes=4, categorical_splits="one_vs_rest").fit(WORDS, IS_SOLD)
    kinds = refine(tree, WORDS, IS_SOLD, n_restarts=4).tree_.split_kind
    assert set(kinds.tolist()) <= {int(SplitKind.THRESHOLD), int(SplitKind.ONE_VS_REST)}


def test_a_subset_of_a_tree_has_a_column_of_its_own():
    """Whatever its categories are, the tree comes back as it was."""
    tree = DecisionTreeClassifier(max_leaf_nodes=6).fit(WORDS, IS_SOLD)
    codes, schema = tree.encode(WORDS), tree.schema_
    table = CodedTable(codes, schema.num_values, schema.is_categorical)
    columns = with_subset_columns(table, tree.tree_, RNG.normal(size=(2, 400)), np.ones(400))
    start = split_node_at(columns.by_thresholds(tree.tree_), 0)
    made = columns.by_subsets(node_table(start, columns.table, cost_of_classes(IS_SOLD.astype(int), 2, None)))
    back = copy.copy(tree).settle(decode_thresholds(made, schema))
    np.testing.assert_array_equal(back.predict_proba(WORDS), tree.predict_proba(WORDS))
    np.testing.assert_array_equal(back.tree_.num_rows, tree.tree_.num_rows)


def test_what_cannot_be_refined_is_named():
    table = mixed_table()
    classes = mixed_classes(table)
    branches = DecisionTreeClassifier(categorical_splits="multiway").fit(table[["color"]], classes)
    with pytest.raises(InvalidInputError, match=r"split in two.* split of kind multiway"):
        refine(branches, table[["color"]], classes)
    with pytest.raises(InvalidTypeError, match="got list"):
        refine([], table, classes)
