import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, refine
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.kernels.choose import Engines
from jaxtree.optimal.costs import cost_of_classes, cost_of_numbers
from jaxtree.optimal.nodes import CodedTable, SplitNode, objective_of, split_nodes
from jaxtree.optimal.refine import refined
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


def test_what_cannot_be_refined_is_named():
    table = mixed_table()
    classes = mixed_classes(table)
    with pytest.raises(InvalidInputError, match="one category against the rest"):
        refine(DecisionTreeClassifier().fit(table[["color"]], classes), table[["color"]], classes)
    with pytest.raises(InvalidTypeError, match="got list"):
        refine([], table, classes)
