"""Cost-complexity pruning: scikit-learn's path, all subtrees of small trees, worked numbers, laws of the path."""

import dataclasses
import functools
import time

import jax
import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import jaxtree
from jaxtree import CostComplexity, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.prune import cost_complexity, cost_complexity_path
from tests.marks import rows_are_slow
from tests.prune.growths import (
    assert_nodes_out_of_reach_do_not_count,
    assert_one_by_one,
    assert_same_traced,
    leaves_of,
    subtrees,
    tree_of,
)


def risk(tree):
    return np.asarray(tree.impurity * tree.weight / tree.weight[0], np.float64)


TRACED = [("classes", "impurity"), ("multiway", "impurity"), ("multiway", "error"), ("numbers", "impurity")]


@functools.cache
def small_trees():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    tennis = jaxtree.datasets.load_play_tennis(return_X_y=True)
    return {
        "three classes": DecisionTreeClassifier(max_leaf_nodes=9).fit(X, y).tree_,
        "entropy": DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=9).fit(X, y).tree_,
        "two targets": DecisionTreeClassifier(max_leaf_nodes=9).fit(X, np.stack([y, y[::-1]], axis=1)).tree_,
        "weights": DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y, sample_weight=rng.uniform(size=60)).tree_,
        "multiway": ID3Classifier().fit(*tennis).tree_,
        "one leaf": DecisionTreeClassifier().fit(X, np.zeros(60)).tree_,
    }


def error(tree):
    """The share of the whole weight that is not of the majority, the mean over outputs."""
    tables = np.split(np.asarray(tree.count, np.float64), np.cumsum(tree.num_classes)[:-1], axis=1)
    return np.mean([table.sum(axis=1) - table.max(axis=1) for table in tables], axis=0) / tree.weight[0]


RISKS = {"impurity": risk, "error": error}
SMALL = ("three classes", "entropy", "two targets", "weights", "multiway", "one leaf")
CASES = [(name, cost) for name in SMALL for cost in RISKS if (name, cost) != ("weights", "error")]


@pytest.mark.parametrize(("name", "cost"), CASES)
def test_the_cheapest_of_all_subtrees_at_any_price(name, cost):
    """At prices between the links, and at the links, where the smallest of the cheapest is asked for."""
    assert set(small_trees()) == set(SMALL)
    tree = small_trees()[name]
    own, steps = RISKS[cost](tree), cost_complexity_path(tree, cost=cost).ccp_alphas
    all_leaves = list(subtrees(tree))
    for alpha in [0.0, *((steps[1:] + steps[:-1]) / 2), *steps, steps[-1] + 1]:
        price = np.array([own[list(leaves)].sum() + alpha * len(leaves) for leaves in all_leaves])
        ours = leaves_of(tree, cost_complexity(tree, alpha * (1 + 1e-12), cost=cost))
        cheapest = [leaves for leaves, p in zip(all_leaves, price, strict=True) if p < price.min() + 1e-9]
        assert set(ours) == set(min(cheapest, key=len)), alpha


def prices_between(tree, cost):
    """Prices that are no links, below, between and above them."""
    steps = np.unique(cost_complexity_path(tree, cost=cost).ccp_alphas.round(9))
    return np.concatenate([(steps[1:] + steps[:-1]) / 2, [steps[-1] + 1]])


@pytest.mark.parametrize(("kind", "cost"), rows_are_slow(TRACED, 2))
def test_trees_that_are_traced_are_pruned_from_the_leaves_up_to_the_same(kind, cost):
    """At price 0 too, where the risks of a node and of those below it may be equal."""
    tree = tree_of(kind)
    prices = np.append(0.0, prices_between(tree, cost)[[0, 1, 3, -4, -1]])
    assert_same_traced(lambda tree, price: cost_complexity(tree, price, cost=cost), tree, prices)


@pytest.mark.parametrize(("kind", "cost"), TRACED)
def test_nodes_out_of_reach_do_not_count(kind, cost):
    tree = tree_of(kind)
    prices = prices_between(tree, cost)
    assert_nodes_out_of_reach_do_not_count(lambda tree: cost_complexity(tree, prices, cost=cost), tree)
    assert_nodes_out_of_reach_do_not_count(
        lambda tree: np.stack(cost_complexity_path(tree, cost=cost)), tree, masks=False
    )


def test_many_prices_are_the_masks_of_each():
    tree = tree_of("classes")
    for cost in RISKS:
        assert_one_by_one(
            lambda tree, price, c=cost: cost_complexity(tree, price, cost=c), tree, prices_between(tree, cost)
        )


DATA = {
    "classes": (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier, load_breast_cancer),
    "numbers": (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor, load_diabetes),
}


@pytest.mark.parametrize(("ours", "theirs", "load"), DATA.values(), ids=DATA)
def test_scikit_learn_s_path_and_its_trees(ours, theirs, load):
    """On one column, where no two columns tie."""
    X, y = load(return_X_y=True)
    X = X[:, [2]]
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    our_path = ours(max_depth=6).cost_complexity_pruning_path(X, y, sample_weight=weight)
    their_path = theirs(max_depth=6).cost_complexity_pruning_path(X, y, sample_weight=weight)
    for name in ("ccp_alphas", "impurities"):
        np.testing.assert_allclose(our_path[name], their_path[name], rtol=1e-6, atol=1e-9)
    alphas = our_path.ccp_alphas
    for alpha in (*((alphas[1:] + alphas[:-1]) / 2)[::5], alphas[-1] * 2):
        ours_fitted = ours(max_depth=6, ccp_alpha=alpha).fit(X, y, sample_weight=weight)
        theirs_fitted = theirs(max_depth=6, ccp_alpha=alpha).fit(X, y, sample_weight=weight)
        assert ours_fitted.get_n_leaves() == theirs_fitted.get_n_leaves()
        np.testing.assert_allclose(ours_fitted.predict(X), theirs_fitted.predict(X))


def test_worked_numbers():
    """Six rows: the root's Gini impurity is 1/2, and each split below takes away a known part of it."""
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 0, 1, 1]
    tree = DecisionTreeClassifier().fit(X, y).tree_
    # The first cut leaves rows 0 and 1 pure, and four rows of impurity 3/8, share 2/3: risk 1/4.
    # Their best cut takes off row 3 and those above or below at risk (2/4 + 0) 2/6 = 1/6; the last makes it 0.
    path = cost_complexity_path(tree)
    np.testing.assert_allclose(path.ccp_alphas, [0, 1 / 8, 1 / 4])
    np.testing.assert_allclose(path.impurities, [0, 1 / 4, 1 / 2])


def test_the_path_is_the_risk_of_its_trees_and_each_is_part_of_the_one_before():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y).tree_
    path = cost_complexity_path(tree)
    masks = cost_complexity(tree, path.ccp_alphas)
    assert np.all(np.diff(path.ccp_alphas) >= 0) and np.all(np.diff(path.impurities) >= 0)
    assert np.all(masks[1:] >= masks[:-1])
    assert take_tree(tree, collapsed=masks[-1]).node_count == 1
    for step in np.flatnonzero(np.diff(path.ccp_alphas, append=np.inf) > 0):
        kept = take_tree(tree, collapsed=masks[step])
        assert risk(kept)[kept.is_leaf].sum() == pytest.approx(path.impurities[step], abs=1e-12)


def test_price_zero_undoes_splits_that_gain_nothing_and_the_estimator_s_default_does_not():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    tree = DecisionTreeClassifier(ccp_alpha=0.0).fit(X, y).tree_
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(cost_complexity(tree, 0.0), [True, False, False])
    np.testing.assert_array_equal(cost_complexity_path(tree).ccp_alphas, [0, 0])


def test_rounding_does_not_decide_whether_a_split_gains_nothing():
    """Errors of 0.1 and 0.3 in 3.1 and 3.3 add up to less than 0.4 in 6.4, as float64 has them."""
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    count = np.array([[6.0, 0.4], [3.0, 0.1], [3.0, 0.3]])
    tree = dataclasses.replace(tree, count=count, weight=count.sum(axis=1))
    assert cost_complexity_path(tree, cost="error").ccp_alphas.tolist() == [0, 0]
    assert cost_complexity(tree, 0.0, cost="error")[0]
    # From the leaves up, a price of 0 asks for the same.
    assert jax.jit(lambda tree: cost_complexity(tree, 0.0, cost="error"))(tree)[0]


def test_a_split_that_gains_nothing_by_itself_is_kept_for_those_below_it():
    """Exclusive or: three leaves more take away the whole risk of 1/2."""
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    tree = DecisionTreeClassifier().fit(X, y).tree_
    np.testing.assert_allclose(cost_complexity_path(tree).ccp_alphas, [0, 1 / 6])
    assert not cost_complexity(tree, 0.16).any() and cost_complexity(tree, 0.17)[0]


@pytest.mark.slow
@pytest.mark.parametrize("power", [2.0, 0.5], ids=["from below", "all at once"])
def test_a_deep_tree_is_pruned_quickly(power):
    """A chain of 50,000 splits, where work that grows with nodes times depth would take many minutes."""
    share = np.arange(50_000, 0, -1) / 50_000
    tree = chain_of_splits(risk=share**power)
    start = time.process_time()
    path = cost_complexity_path(tree)
    assert time.process_time() - start < 10
    assert path.impurities[-1] == pytest.approx(1)
    assert len(path.ccp_alphas) == (50_001 if power > 1 else 2)


def chain_of_splits(risk):
    """A tree whose splits each cut off a leaf of no impurity and have the given risks, the root's first."""
    num_splits = len(risk)
    split = np.maximum(2 * np.arange(num_splits) - 1, 0)
    arrays = {name: np.zeros(2 * num_splits + 1, int) for name in ("first_child", "num_children", "depth", "parent")}
    arrays["first_child"][split], arrays["num_children"][split] = 2 * np.arange(num_splits) + 1, 2
    arrays["depth"][1:] = np.repeat(np.arange(num_splits) + 1, 2)
    arrays["parent"][1:] = np.repeat(split, 2)
    impurity = np.zeros(2 * num_splits + 1)
    impurity[split] = risk
    leaf = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 0]).tree_
    leaves = jax.tree.map(lambda field: np.repeat(field, impurity.size, axis=0) if field.ndim else field, leaf)
    return dataclasses.replace(leaves, **arrays, impurity=impurity, num_nodes=np.array(impurity.size))


@pytest.mark.parametrize("alpha", [-0.1, np.nan])
def test_what_is_no_price(alpha):
    with pytest.raises(InvalidInputError, match="ccp_alpha must be a number of 0 or more"):
        cost_complexity(tree_of("classes"), alpha)
    with pytest.raises(InvalidInputError, match="ccp_alpha"):
        CostComplexity(alpha)
    with pytest.raises(InvalidInputError, match="ccp_alpha"):
        DecisionTreeClassifier(ccp_alpha=alpha).fit(*load_iris(return_X_y=True))


def test_what_is_no_cost():
    with pytest.raises(InvalidInputError, match="cost must be one of 'impurity', 'error', got 'gini'"):
        cost_complexity(tree_of("classes"), 0.1, cost="gini")
    with pytest.raises(InvalidInputError, match='cost="error" needs a tree of classes, got one of numbers'):
        cost_complexity_path(tree_of("numbers"), cost="error")
