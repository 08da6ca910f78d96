"""Subtree raising beside a slow recursion over row weights, node for node; laws of what it leaves; a tree by hand."""

import dataclasses
import functools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.prune.raising import RaisingState, RowParts, _check_rows, entropy_in_bits, prune_with_raising
from jaxtree.prune.training_errors import pessimistic
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind
from jaxtree.tree.nodes import branch_of_code
from jaxtree.tree.predictor import Predictor
from tests.export.fitted import as_tree
from tests.prune.growths import children, on_device
from tests.prune.test_cost_complexity import chain_of_splits
from tests.reference import c45_pruning
from tests.reference.c45_oracle import Node

pytestmark = pytest.mark.slow

ROWS, SEEDS = 120, (0, 1, 2, 3, 4, 28)
KINDS = {
    SplitKind.THRESHOLD: "threshold",
    SplitKind.MULTIWAY: "multiway",
    SplitKind.ONE_VS_REST: "one_vs_rest",
    SplitKind.SUBSET: "subset",
}
GROWTHS = {
    "multiway": functools.partial(C45Classifier, confidence=None),
    "one against the rest": functools.partial(C45Classifier, confidence=None, binary_splits=True),
    "not collapsed": functools.partial(C45Classifier, confidence=None, collapse=False),
    "subsets": functools.partial(DecisionTreeClassifier, criterion="entropy", missing="fraction", min_samples_leaf=2),
    "missing to a branch": functools.partial(DecisionTreeClassifier, criterion="entropy", min_samples_leaf=2),
}
SETTINGS = [(0.25, "exact"), (0.4, "release8"), (0.5, "exact")]


@functools.cache
def draw_table(seed):
    """Numbers of few values and words, some missing; three classes that depend on them and on chance."""
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.random((ROWS, 3)) < 0.15, np.nan, rng.integers(0, 12, (ROWS, 3)))
    words = np.where(rng.random((ROWS, 3)) < 0.15, -1, rng.integers(0, [3, 4, 5], (ROWS, 3)))
    columns = {f"number {i}": column for i, column in enumerate(numbers.T)}
    for i, codes in enumerate(words.T):
        columns[f"word {i}"] = pd.Categorical.from_codes(codes, list("abcde")[: 3 + i])
    first, second = np.nan_to_num(numbers[:, :2], nan=5).T
    y = np.digitize(first + 3 * (words[:, 0] == 1) * (second > 6) + rng.normal(0, 3, ROWS), [4, 8])
    return pd.DataFrame(columns), pd.Series(pd.Categorical(y, categories=range(3)))


@functools.cache
def grown(growth, seed):
    """An unpruned estimator, its tree, codes and target."""
    X, y = draw_table(seed)
    estimator = GROWTHS[growth]().fit(X, y)
    return estimator, estimator.tree_, estimator.encode(X), y.cat.codes.to_numpy().astype(np.int32)


def as_node(tree, schema, number=0):
    """A node of the reference with all that is below, its branches in C4.5's order."""
    count = np.asarray(tree.count[number], float)
    node = Node(count, int(count.argmax()))
    if not tree.num_children[number]:
        return node
    column = schema.columns[tree.feature[number]]
    node.attribute, node.kind = column.name, KINDS[int(tree.split_kind[number])]
    node.threshold = float(tree.threshold[number]) if node.kind == "threshold" else np.nan
    node.children = [as_node(tree, schema, child) for child in children(tree, number)]
    codes = {
        "threshold": [],
        "multiway": range(column.num_values),
        "one_vs_rest": [int(tree.code[number])],
        "subset": [c for c in range(column.num_values) if any(tree.subset[number]) and tree.subset[number][0] >> c & 1],
    }[node.kind]
    node.categories = tuple(column.categories[code] for code in codes)
    if node.kind in ("one_vs_rest", "subset"):
        node.children.reverse()
    return node


def assert_same_nodes(ours, theirs):
    stack = [(ours, theirs)]
    while stack:
        one, other = stack.pop()
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
        test = (one.attribute, one.kind, one.categories, len(one.children))
        assert test == (other.attribute, other.kind, other.categories, len(other.children))
        np.testing.assert_equal(one.threshold, other.threshold)
        stack += zip(one.children, other.children, strict=True)


def assert_same_trees(ours, theirs):
    for field in dataclasses.fields(ours):
        np.testing.assert_array_equal(getattr(ours, field.name), getattr(theirs, field.name), err_msg=field.name)


@pytest.mark.parametrize("growth", ["multiway", "one against the rest", "not collapsed", "subsets"])
@pytest.mark.parametrize(("confidence", "z"), SETTINGS)
def test_node_for_node_as_the_slow_recursion(growth, confidence, z):
    raised = 0
    for seed in SEEDS:
        estimator, tree, codes, target = grown(growth, seed)
        root, (X, y), ones = as_node(tree, estimator.schema_), draw_table(seed), np.ones(ROWS)
        ours = prune_with_raising(tree, codes, target, confidence=confidence, z=z)
        theirs = c45_pruning.prune(root, X, y, ones, confidence, z=z)
        assert_same_nodes(as_node(ours, estimator.schema_), theirs)
        raised += theirs.size() != c45_pruning.prune(root, X, y, ones, confidence, raising=False, z=z).size()
    assert raised, "no subtree was raised"


def test_rows_of_weights_as_the_slow_recursion():
    for seed in SEEDS:
        X, y = draw_table(seed)
        weight = np.random.default_rng(seed).choice([0, 0.5, 1, 2.25], ROWS)
        estimator = GROWTHS["multiway"]().fit(X, y, sample_weight=weight)
        target = y.cat.codes.to_numpy().astype(np.int32)
        ours = prune_with_raising(estimator.tree_, estimator.encode(X), target, weight)
        theirs = c45_pruning.prune(as_node(estimator.tree_, estimator.schema_), X, y, weight, 0.25)
        assert_same_nodes(as_node(ours, estimator.schema_), theirs)


# Laws


def pruned_tables(growth):
    for seed in SEEDS:
        estimator, tree, codes, target = grown(growth, seed)
        yield estimator, prune_with_raising(tree, codes, target), codes, target


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_table_of_the_pruned_tree_is_one_of_a_tree(growth):
    for _, tree, _, _ in pruned_tables(growth):
        assert tree.node_count == tree.capacity and tree.parent[0] == tree.depth[0] == 0
        reached = [0]
        for node in reached:
            for child in children(tree, node):
                assert tree.parent[child] == node and tree.depth[child] == tree.depth[node] + 1
            reached.extend(children(tree, node))
        assert reached == list(range(tree.node_count))


@pytest.mark.parametrize("growth", GROWTHS)
def test_weight_is_conserved_and_what_the_nodes_say_of_it_agrees(growth):
    for _, tree, codes, target in pruned_tables(growth):
        np.testing.assert_allclose(tree.count.sum(axis=1), tree.weight, atol=1e-9)
        np.testing.assert_allclose(tree.count[0], np.bincount(target))
        np.testing.assert_allclose(tree.impurity, entropy_in_bits(np.asarray(tree.count, float)), atol=1e-9)
        assert tree.num_rows[0] == codes.shape[1] and not tree.gain[tree.is_leaf].any()
        for node in np.flatnonzero(~tree.is_leaf):
            below = list(children(tree, node))
            np.testing.assert_allclose(tree.count[below].sum(axis=0), tree.count[node], atol=1e-6)
            assert tree.num_rows[below].sum() >= tree.num_rows[node]
            # The grown gain of a threshold has the MDL correction taken off.
            assert tree.gain[node] <= tree.impurity[node] + 1e-9


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_training_rows_walk_to_the_leaves_that_count_them(growth):
    for (estimator, tree, _, target), seed in zip(pruned_tables(growth), SEEDS, strict=True):
        visits = Predictor(tree).instances(estimator.encoder_.values(draw_table(seed)[0]))
        count, rows = np.zeros(tree.count.shape), np.zeros(tree.node_count, int)
        np.add.at(count, (visits.node, target[visits.row]), visits.weight)
        np.add.at(rows, visits.node, 1)
        np.testing.assert_allclose(count[tree.is_leaf], tree.count[tree.is_leaf], atol=1e-6)
        np.testing.assert_array_equal(rows[tree.is_leaf], tree.num_rows[tree.is_leaf])


def test_the_gain_of_a_raised_split_is_the_decrease_of_impurity():
    """Where no values are missing."""
    raised = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({i: pd.Categorical(rng.integers(0, 3, 200)) for i in range(5)})
        y = pd.Series(pd.Categorical((X[0].cat.codes == 1) ^ (rng.random(200) < 0.3)))
        estimator = C45Classifier(confidence=None, gain="information").fit(X, y)
        pruned = prune_with_raising(estimator.tree_, estimator.encode(X), y.cat.codes.to_numpy().astype(np.int32))
        for node in np.flatnonzero(~pruned.is_leaf):
            below = list(children(pruned, node))
            left = np.sum(pruned.weight[below] * pruned.impurity[below]) / pruned.weight[node]
            assert pruned.gain[node] == pytest.approx(pruned.impurity[node] - left, abs=1e-9)
        raised += not np.isin(pruned.gain, estimator.tree_.gain).all()
    assert raised


def test_doubled_rows_are_rows_of_weight_two_and_their_order_does_not_matter():
    for seed in SEEDS:
        _, tree, codes, target = grown("multiway", seed)
        expected = prune_with_raising(tree, codes, target, np.full(ROWS, 2.0))
        order = np.random.default_rng(0).permutation(2 * ROWS)
        doubled = prune_with_raising(tree, np.tile(codes, 2)[:, order], np.tile(target, 2)[order])
        assert doubled.node_count == expected.node_count
        np.testing.assert_array_equal(doubled.feature, expected.feature)
        moved = expected.weight != expected.weight.round()
        np.testing.assert_allclose(doubled.count[moved], expected.count[moved], atol=1e-9)


def test_rows_of_no_weight_are_not_there():
    weight = (np.arange(ROWS) % 3 > 0).astype(float)
    for seed in SEEDS:
        _, tree, codes, target = grown("one against the rest", seed)
        without = prune_with_raising(tree, codes[:, weight > 0], target[weight > 0])
        assert_same_trees(prune_with_raising(tree, codes, target, weight), without)


def test_where_nothing_was_raised_the_tree_is_that_of_the_mask():
    same = 0
    for growth in GROWTHS:
        for seed in SEEDS:
            _, tree, codes, target = grown(growth, seed)
            ours, masked = prune_with_raising(tree, codes, target), take_tree(tree, collapsed=pessimistic(tree))
            if set(zip(ours.feature, ours.depth, strict=True)) == set(zip(masked.feature, masked.depth, strict=True)):
                assert_same_trees(ours, masked)
                same += 1
    assert same


# By hand


MISSING_CODE = 2
NOISE, SIGNAL = np.repeat([1, 0], [3, 40]), np.r_[0, 1, 1, np.repeat([0, 1], 20)]


def tree_by_hand(X, root):
    """A tree of the reference's nodes, and the codes of its table."""
    encoder = Encoder(max_bins=None)
    codes = encoder.fit_transform(X)
    tree = as_tree(root, encoder.schema_, [0, 1])
    missing_code = np.full(tree.capacity, MISSING_CODE, np.int32)
    return dataclasses.replace(tree, missing_code=missing_code, num_rows=tree.weight.astype(np.int32)), codes


def split_node(attribute, *below, kind="multiway", categories=(0, 1)):
    weights = sum(child.weights for child in below)
    return Node(weights, int(weights.argmax()), attribute, kind, categories=categories, children=list(below))


def leaf(*weights):
    return Node(np.array(weights, float), int(np.argmax(weights)))


def test_a_branch_is_raised_over_a_split_that_only_takes_few_rows_off():
    """A root takes 3 rows off, of which 1 is wrong there; the others are split into 20 and 20 without errors.

    The tree is estimated to make 1.34 + 1.34 + 1.92 errors. The branch with all rows has leaves of 21 and 22: 1.34 and
    1.35 if the three rows fit them; but 2.52 and 3.78 if none does.
    """
    X = pd.DataFrame({"noise": pd.Categorical(NOISE), "signal": pd.Categorical(SIGNAL)})
    below = split_node("signal", leaf(20, 0), leaf(0, 20))
    tree, codes = tree_by_hand(X, split_node("noise", below, leaf(1, 2)))
    pruned = prune_with_raising(tree, codes, SIGNAL.astype(np.int32))
    assert X.columns[pruned.feature[0]] == "signal"
    np.testing.assert_array_equal(pruned.count, [[21, 22], [21, 0], [0, 22]])
    np.testing.assert_array_equal(pruned.num_rows, [43, 21, 22])
    np.testing.assert_array_equal(pruned.parent, 0)
    np.testing.assert_array_equal(pruned.depth, [0, 1, 1])
    assert pruned.gain[0] == pytest.approx(entropy_in_bits(np.array([[21.0, 22.0]]))[0])

    tree, codes = tree_by_hand(X, split_node("noise", below, leaf(2, 1)))
    unfit = np.where(NOISE, 1 - SIGNAL, SIGNAL).astype(np.int32)
    assert prune_with_raising(tree, codes, unfit).n_leaves == 3


def gini(count):
    total = count.sum(axis=1, keepdims=True)
    return np.where(total[:, 0] > 0, 1 - ((count / np.maximum(total, 1e-300)) ** 2).sum(axis=1), 0)


@pytest.mark.parametrize("impurity", [entropy_in_bits, gini])
def test_a_raised_split_has_shares_of_rows_whose_value_is_missing_and_the_gain_of_the_known_ones(impurity):
    """As above, but of the three rows the first has no signal: it goes to both branches, 20/42 and 22/42 of it."""
    signal = pd.Categorical(np.where(np.arange(43) == 0, np.nan, SIGNAL))
    X = pd.DataFrame({"noise": pd.Categorical(NOISE), "signal": signal})
    tree, codes = tree_by_hand(X, split_node("noise", split_node("signal", leaf(20, 0), leaf(0, 20)), leaf(1, 2)))
    pruned = prune_with_raising(tree, codes, SIGNAL.astype(np.int32), impurity=impurity)
    np.testing.assert_allclose(pruned.count, [[21, 22], [20 + 20 / 42, 0], [22 / 42, 22]], atol=1e-9)
    np.testing.assert_array_equal(pruned.num_rows, [43, 21, 23])
    assert pruned.gain[0] == pytest.approx(42 / 43 * impurity(np.array([[20.0, 22.0]]))[0])
    np.testing.assert_allclose(pruned.impurity[1:], impurity(pruned.count[1:]))


@pytest.mark.parametrize("kind", ["multiway", "one_vs_rest", "subset"])
def test_of_equal_branches_the_last_of_c45_may_be_raised(kind):
    """Two branches of 20 rows; each divides half of all rows rightly. J48's category, or group, comes first."""
    side, first, last = np.repeat([0, 1], 20), np.arange(40) % 2, np.arange(40) // 2 % 2
    X = pd.DataFrame({"side": pd.Categorical(side), "a": pd.Categorical(first), "b": pd.Categorical(last)})
    branches = [split_node(name, leaf(10, 0), leaf(0, 10)) for name in "ab"]
    categories = (0, 1) if kind == "multiway" else (0,)
    tree, codes = tree_by_hand(X, split_node("side", *branches, kind=kind, categories=categories))
    # All rows agree with both, so that either could be raised: the rows of both columns are the same but in order.
    target = first.astype(np.int32)
    codes[2] = codes[1]
    pruned = prune_with_raising(tree, codes, target)
    assert X.columns[pruned.feature[0]] == "b"


def test_rows_none_of_which_is_known_are_divided_equally():
    """Else no weight at all would come to the branches; J48 does so too."""
    X = pd.DataFrame({"unknown": pd.Categorical([None] * 40, categories=[0, 1])})
    tree, codes = tree_by_hand(X, split_node("unknown", leaf(20, 0), leaf(0, 20)))
    state = RaisingState(tree, codes, np.zeros(40, np.int32))
    sent, num_known = state.send(RowParts(np.zeros(40, int), np.arange(40), np.ones(40)))
    assert num_known == 0
    np.testing.assert_array_equal(np.bincount(sent.place, sent.weight), [0, 20, 20])


def test_codes_take_the_branches_that_they_take_in_a_walk():
    """`branch_of_code` for every kind of split; 40 codes are more than a word of a subset has."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(4), 5)
    X, y = draw_table(0)
    one_leaf = C45Classifier(max_depth=0).fit(X, y).tree_
    tree = jax.tree.map(lambda x: np.repeat(x, kind.size, axis=0) if x.ndim else x, one_leaf)
    tree = dataclasses.replace(
        tree,
        feature=np.zeros(kind.size, np.int32),
        split_kind=kind.astype(np.int32),
        code=rng.integers(0, 40, kind.size).astype(np.int32),
        subset=rng.integers(0, 2**32, (kind.size, 2), dtype=np.uint32),
        missing_code=np.full(kind.size, 40, np.int32),
        missing_branch=rng.choice([0, 1, 2**30], kind.size).astype(np.int32),
    )
    node, code = (grid.ravel() for grid in np.meshgrid(np.arange(kind.size), np.arange(41)))
    ours = branch_of_code(tree, node, code.astype(np.uint8))
    np.testing.assert_array_equal(ours, branch_of_code(on_device(tree), jnp.asarray(node, int), jnp.asarray(code, int)))


def test_a_tree_deeper_than_python_recurses():
    """A chain of 1,010 splits, each of which cuts off 50 rows of one class: nothing may be pruned."""
    num_splits = 1010
    chain = chain_of_splits(np.ones(num_splits))
    assert chain.max_depth > sys.getrecursionlimit()
    size = chain.capacity
    split = np.flatnonzero(~chain.is_leaf)
    code = np.zeros(size, np.int32)
    code[split] = num_splits - 1 - np.arange(num_splits)
    target = (np.arange(num_splits + 1) % 2).astype(np.int32)
    tree = dataclasses.replace(
        chain,
        feature=np.zeros(size, np.int32),
        split_kind=np.zeros(size, np.int32),
        code=code,
        missing_code=np.full(size, num_splits + 1, np.int32),
        count=np.zeros((size, 2)),
        num_classes=(2,),
    )
    codes, weight = np.arange(num_splits + 1, dtype=np.uint16)[None], np.full(num_splits + 1, 50.0)
    start = time.perf_counter()
    assert prune_with_raising(tree, codes, target, weight).node_count == size
    assert time.perf_counter() - start < 20
    assert prune_with_raising(tree, codes, target * 0, weight).node_count == 1


# Refusals


def test_rows_that_do_not_fit():
    _, tree, codes, target = grown("multiway", 0)
    for rows in ((target[:-1], None), (target, np.ones(3))):
        with pytest.raises(
            InvalidInputError, match="codes, target and weight must be of the same rows, got the shapes"
        ):
            _check_rows(tree, codes, *rows)
    with pytest.raises(InvalidInputError, match="the tree splits on feature 5, got codes of 1 features"):
        prune_with_raising(tree, codes[:1], target)
    with pytest.raises(InvalidInputError, match="confidence must be above 0"):
        prune_with_raising(tree, codes, target, confidence=0.7)


def test_a_tree_of_numbers():
    tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    with pytest.raises(InvalidInputError, match="one output, got one of numbers"):
        prune_with_raising(tree, np.zeros((1, 2), np.uint8), np.zeros(2, np.int32))
