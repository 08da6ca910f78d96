"""Rules that stop growth: the trees grown under them, the rules row by row, worked numbers, laws."""

import dataclasses

import jax
import numpy as np
import pytest
import scipy.stats

import jaxtree
from jaxtree import ID3Classifier, prune
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.prune.stopping import chi_squared_test
from jaxtree.tree.forest import join_trees
from tests.marks import in_turn
from tests.prune.growths import (
    CLASSES,
    assert_nested,
    assert_nodes_out_of_reach_do_not_count,
    assert_one_by_one,
    assert_same_parts,
    assert_same_traced,
    children,
    fitted,
    leaves_of,
    on_device,
    reached,
    tree_of,
)

pytestmark = pytest.mark.slow

KINDS = (*CLASSES, "numbers")
ONE_OUTPUT = ("classes", "weights", "multiway")


def by_weight(tree, value):
    return prune.min_samples_split(tree, value, counts="weight")


def by_decrease(tree, value):
    return prune.critical_value(tree, value, measure="impurity_decrease")


def by_statistic(tree, value):
    return prune.critical_value(tree, value, measure="chi_squared")


RULES = {
    "max_depth": (prune.max_depth, np.array([0, 1, 3, 5]), KINDS),
    "min_samples_split": (prune.min_samples_split, np.array([2, 4.5, 11.5, 30.5]), KINDS),
    "min_weight": (by_weight, np.array([2.01, 4.03, 11.07, 30.09]), KINDS),
    "min_impurity_decrease": (prune.min_impurity_decrease, np.array([0.0, 0.0021, 0.0103, 0.107]), KINDS),
    "min_gain": (prune.min_gain, np.array([0.0, 0.0113, 0.0907, 0.707]), KINDS),
    "critical_value": (prune.critical_value, np.array([0.0113, 0.2907, 0.507]), KINDS),
    "critical_decrease": (by_decrease, np.array([0.0021, 0.0103, 0.107]), KINDS),
    "critical_statistic": (by_statistic, np.array([1.13, 3.07, 12.1]), ONE_OUTPUT),
    "max_leaf_nodes": (prune.max_leaf_nodes, np.array([1, 2, 7, 8, 20]), KINDS),
    "chi_squared": (prune.chi_squared, np.array([0.0103, 0.0507, 0.203, 1.0]), ONE_OUTPUT),
}
CASES = [
    (name, kinds[(place + further) % len(kinds)])
    for place, (name, (_, _, kinds)) in enumerate(RULES.items())
    for further in (0, 2)
]
"""Every rule with two kinds of trees, which take their turns."""


def is_kept(tree, name, value, node):
    """Whether a rule lets a node be split, from its definition."""
    weight, gain = float(tree.weight[node]), float(tree.gain[node])
    splits_below = [n for n in reached(tree, None, node) if tree.num_children[n]]
    match name:
        case "max_depth":
            return tree.depth[node] < value
        case "min_samples_split":
            return tree.num_rows[node] >= value
        case "min_weight":
            return weight >= value
        case "min_impurity_decrease":
            return gain * weight / tree.weight[0] >= value
        case "min_gain":
            return gain >= value
        case "critical_value":
            return max(tree.gain[n] for n in splits_below) >= value
        case "critical_decrease":
            return max(tree.gain[n] * tree.weight[n] / tree.weight[0] for n in splits_below) >= value
        case "critical_statistic":
            return max(contingency(tree, n)[0] for n in splits_below) >= value
        case "chi_squared":
            return contingency(tree, node)[1] <= value


def contingency(tree, node):
    """scipy's statistic and p-value of the table of branches and classes, without empty rows and columns."""
    table = tree.count[list(children(tree, node))]
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return scipy.stats.chi2_contingency(table, correction=False)[:2]


def grow_best_first(tree, max_leaf_nodes):
    """The leaves of best-first growth, by looking for the best leaf to split at every step."""
    leaves = {0}
    while True:
        able = [n for n in leaves if tree.num_children[n]]
        if not able:
            return leaves
        best = min(able, key=lambda n: (-tree.gain[n] * tree.weight[n], n))
        grown = leaves - {best} | set(children(tree, best))
        if len(grown) > max_leaf_nodes:
            return leaves
        leaves = grown


@pytest.mark.parametrize(("seed", "name", "kind"), in_turn(range(2), CASES))
def test_the_rule_node_by_node(name, kind, seed):
    prunes, values, _ = RULES[name]
    tree = tree_of(kind, seed)
    for value, mask in zip(values, prunes(tree, values), strict=True):
        if name == "max_leaf_nodes":
            assert leaves_of(tree, mask) == grow_best_first(tree, value)
            continue
        split = np.flatnonzero(~tree.is_leaf)
        assert [not is_kept(tree, name, value, node) for node in split] == mask[split].tolist(), value
        if name != "max_depth":
            assert not mask[tree.is_leaf].any()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_many_values_are_the_masks_of_each(name, kind):
    prunes, values, _ = RULES[name]
    assert_one_by_one(prunes, tree_of(kind), values)


@pytest.mark.parametrize(
    ("name", "kind"),
    # Trees of numbers have weights of floats, too, but not all rules take them.
    [(name, kind) for name, own in RULES.items() for kind in ("multiway", "numbers" if own[2] is KINDS else "weights")],
)
def test_masks_of_a_traced_tree_are_the_host_s(name, kind):
    prunes, values, _ = RULES[name]
    assert_same_traced(prunes, tree_of(kind), values)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_nodes_out_of_reach_do_not_count(name, kind):
    prunes, values, _ = RULES[name]
    assert_nodes_out_of_reach_do_not_count(lambda tree: prunes(tree, values), tree_of(kind))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_stricter_rules_leave_less(name, kind):
    prunes, values, _ = RULES[name]
    grows = name in ("max_depth", "max_leaf_nodes", "chi_squared")
    tree = tree_of(kind)
    assert_nested(prunes(tree, values[::-1] if grows else values), tree)


GROWN = [
    ("classes", "max_depth", prune.max_depth, [1, 3]),
    ("multiway", "max_depth", prune.max_depth, [0, 2]),
    ("numbers", "max_depth", prune.max_depth, [1, 4]),
    ("classes", "min_samples_split", prune.min_samples_split, [3, 25]),
    ("weights", "min_samples_split", prune.min_samples_split, [3, 25]),
    ("multiway", "min_samples_split", by_weight, [3, 12]),
    ("weights", "min_impurity_decrease", prune.min_impurity_decrease, [0.003, 0.02]),
    ("two targets", "min_impurity_decrease", prune.min_impurity_decrease, [0.003, 0.02]),
    ("numbers", "min_impurity_decrease", prune.min_impurity_decrease, [0.05, 0.3]),
    ("multiway", "min_gain", prune.min_gain, [0.1, 0.5]),
    ("classes", "max_leaf_nodes", prune.max_leaf_nodes, [2, 9, 1000]),
    ("numbers", "max_leaf_nodes", prune.max_leaf_nodes, [2, 9]),
]


@pytest.mark.parametrize(("kind", "parameter", "prunes", "values"), GROWN)
def test_growing_under_a_rule_gives_the_full_tree_under_its_mask(kind, parameter, prunes, values):
    full = tree_of(kind)
    for value in values:
        grown = fitted(kind, **{parameter: value}).tree_
        assert_same_parts(full, prunes(full, value), grown)


def test_min_impurity_decrease_exactly_at_a_split_s():
    """The mask has no tolerance of its own: the estimator takes the float64 epsilon off, as scikit-learn does."""
    tree = tree_of("classes")
    decrease = float(tree.gain[0] * tree.weight[0] / tree.weight[0])
    assert not prune.min_impurity_decrease(tree, decrease)[0]
    assert prune.min_impurity_decrease(tree, np.nextafter(decrease, 1))[0]


@pytest.mark.parametrize("name", ["max_depth", "min_samples_split", "min_weight", "min_impurity_decrease", "min_gain"])
def test_rules_of_single_nodes_take_many_trees_in_one_table(name):
    rule, values, _ = RULES[name]
    trees = [fitted("weights", seed).tree_ for seed in (0, 1)]
    together = rule(join_trees(trees).nodes, values)
    np.testing.assert_array_equal(together, np.concatenate([rule(tree, values) for tree in trees], axis=1))


def test_masks_unite():
    """A walk stops where either rule stops it: two rules at once are one rule and then the other."""
    tree = tree_of("classes")
    thin = prune.min_samples_split(tree, 12)
    for depth in (1, 3):
        both = prune.max_depth(tree, depth) | thin
        assert_same_parts(tree, both, fitted("classes", max_depth=depth, min_samples_split=12).tree_)
        first = take_tree(tree, collapsed=thin)
        assert_same_parts(first, prune.max_depth(first, depth), take_tree(tree, collapsed=both))


def test_play_tennis():
    """Chi-squared of outlook is 3.546667 on 2 degrees of freedom, so a gate at 0.05 leaves a single leaf."""
    tree = ID3Classifier().fit(*jaxtree.datasets.load_play_tennis(return_X_y=True)).tree_
    test = chi_squared_test(tree)
    assert test.statistic[0] == pytest.approx(3.546667, abs=1e-6)
    assert test.degrees_of_freedom[0] == 2
    assert test.p_value[0] == pytest.approx(np.exp(-3.546667 / 2), abs=1e-6)
    assert leaves_of(tree, prune.chi_squared(tree, 0.05)) == {0}


def test_chi_squared_is_scipy_s_test():
    """Also where branches are empty, and where all weight has one class or goes into one branch."""
    for kind in ONE_OUTPUT:
        tree = tree_of(kind, seed=3)
        test = chi_squared_test(tree)
        traced = jax.jit(chi_squared_test)(on_device(tree))
        for node in np.flatnonzero(~tree.is_leaf):
            statistic, p_value = contingency(tree, node)
            assert test.statistic[node] == pytest.approx(statistic, abs=1e-9)
            assert test.p_value[node] == pytest.approx(p_value, rel=1e-9)
        np.testing.assert_allclose(traced.p_value, test.p_value, rtol=1e-4)
        assert np.all(test.p_value[tree.is_leaf] == 1) and np.all(test.statistic[tree.is_leaf] == 0)


def test_a_split_at_the_very_level_is_kept():
    tree = tree_of("classes")
    level = float(chi_squared_test(tree).p_value[0])
    assert not prune.chi_squared(tree, level)[0] and prune.chi_squared(tree, np.nextafter(level, 0))[0]


def test_splits_of_one_class_or_one_branch_say_nothing():
    """Their p-value is exactly 1, whatever rounding makes of the statistic."""
    tree = tree_of("weights")
    one_class = np.outer(tree.weight, [0, 1, 0])
    first = np.arange(tree.capacity) == tree.first_child[tree.parent]
    one_branch = np.where(first[:, None], tree.count[tree.parent], 0.0)
    for count in (one_class, one_branch):
        test = chi_squared_test(dataclasses.replace(tree, count=count))
        assert np.all(test.p_value == 1) and np.all(test.degrees_of_freedom == 0)
        assert prune.chi_squared(dataclasses.replace(tree, count=count), 0.99)[0]


def test_a_weak_split_is_kept_for_a_strong_one_below_it():
    tree = tree_of("classes")
    gain = np.where(np.arange(tree.capacity) == 0, 0.0, tree.gain)
    weak = dataclasses.replace(tree, gain=gain)
    assert leaves_of(weak, prune.min_gain(weak, 0.01)) == {0}
    assert leaves_of(weak, prune.critical_value(weak, 0.01)) == leaves_of(tree, prune.critical_value(tree, 0.01)) != {0}
    assert leaves_of(weak, prune.critical_value(weak, gain.max() * 1.01)) == {0}


def test_best_first_order_of_many_trees_at_once():
    """Under vmap over trees, each has its own order."""
    trees = [fitted("classes", seed, max_leaf_nodes=12).tree_ for seed in range(3)]
    batch = jax.tree.map(lambda *fields: np.stack(fields), *trees)
    masks = jax.vmap(lambda tree: prune.max_leaf_nodes(tree, np.array([3, 6])))(on_device(batch))
    for tree, mask in zip(trees, np.asarray(masks), strict=True):
        np.testing.assert_array_equal(mask, prune.max_leaf_nodes(tree, np.array([3, 6])))


@pytest.mark.parametrize(
    ("prunes", "value", "message"),
    [
        (prune.max_depth, -1, "max_depth must be a number of 0 or more, got -1"),
        (prune.min_samples_split, np.array([2.0, np.nan]), "min_samples_split must be a number of 0 or more"),
        (prune.min_gain, np.nan, "min_gain must be a number"),
        (prune.chi_squared, 1.5, "p_value must be a number from 0 to 1, got 1.5"),
        (prune.max_leaf_nodes, 0, "max_leaf_nodes must be a number of 1 or more, got 0"),
    ],
)
def test_what_is_no_parameter(prunes, value, message):
    with pytest.raises(InvalidInputError, match=message):
        prunes(tree_of("classes"), value)


def test_trees_that_a_rule_does_not_know():
    with pytest.raises(InvalidInputError, match="needs a tree of classes of one output, got one of numbers"):
        prune.chi_squared(tree_of("numbers"), 0.05)
    with pytest.raises(InvalidInputError, match="got one of 2 outputs"):
        prune.critical_value(tree_of("two targets"), 0.05, measure="chi_squared")
    with pytest.raises(InvalidInputError, match="measure must be one of 'gain', 'impurity_decrease', 'chi_squared'"):
        prune.critical_value(tree_of("classes"), 0.05, measure="gini")
    with pytest.raises(InvalidInputError, match="counts must be one of 'rows', 'weight', got 'row'"):
        prune.min_samples_split(tree_of("classes"), 2, counts="row")


def test_best_first_order_where_many_gains_tie():
    """The number of the node decides, on the host as under jit."""
    tree = tree_of("classes")
    benefit = np.round(tree.gain * tree.weight)
    tied = dataclasses.replace(tree, gain=benefit, weight=np.ones(tree.capacity))
    assert len(np.unique(benefit[~tree.is_leaf])) < tree.n_leaves / 3
    leaves = np.arange(1, tree.n_leaves + 1)
    masks = prune.max_leaf_nodes(tied, leaves)
    assert [leaves_of(tied, mask) for mask in masks] == [grow_best_first(tied, number) for number in leaves]
    np.testing.assert_array_equal(jax.jit(prune.max_leaf_nodes)(on_device(tied), leaves), masks)
