"""Prunings by expected errors: their definitions by recursion, worked numbers, laws."""

import dataclasses

import numpy as np
import pytest

from jaxtree import DecisionTreeClassifier, prune
from jaxtree.errors import InvalidInputError
from jaxtree.prune.training_errors import standard_errors_better
from tests.prune.growths import (
    CLASSES,
    assert_nodes_out_of_reach_do_not_count,
    assert_one_by_one,
    assert_same_traced,
    children,
    leaves_below,
    leaves_of,
    tree_of,
)

pytestmark = pytest.mark.slow

ONE_OUTPUT = ("classes", "weights", "multiway")
MS = np.array([0.0, 0.5, 2.0, 11.0, 300.0])
STANDARD_ERRORS = np.array([0.0, 0.52, 1.0, 2.03, 4.0])


def uniform(tree, m):
    return prune.minimum_error(tree, m, prior="uniform")


def expected_error(tree, node, m, prior):
    """The m-estimate of a node's error as a leaf, the mean over its rows, summed over outputs."""
    error, first = 0.0, 0
    for size in tree.num_classes:
        count, root = tree.count[node, first : first + size], tree.count[0, first : first + size]
        n, share = count.sum(), root / root.sum() if prior == "root" else np.full(size, 1 / size)
        error += 1 - ((count + m * share) / (n + m)).max()
        first += size
    return error


def minimum_error_leaves(tree, m, prior, node=0):
    """The expected error of the pruned subtree and its leaves, by recursion."""
    n = tree.weight[node]
    own = expected_error(tree, node, m, prior) if n else 0.0
    if not tree.num_children[node]:
        return own, {node}
    parts = [(tree.weight[child], *minimum_error_leaves(tree, m, prior, child)) for child in children(tree, node)]
    backed_up = sum(weight * error for weight, error, _ in parts) / n
    if own <= backed_up + 1e-12:
        return own, {node}
    return backed_up, set().union(*(leaves for *_, leaves in parts))


def is_pessimistically_as_good(tree, node, k):
    leaves = leaves_below(tree, node)
    n, errors = tree.weight[node], tree.weight - tree.count.max(axis=1)
    subtree = errors[leaves].sum() + len(leaves) / 2
    return errors[node] + 0.5 <= subtree + k * np.sqrt(max(subtree * (n - subtree), 0) / n)


@pytest.mark.parametrize("prior", ["root", "uniform"])
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("seed", range(3))
def test_minimum_error_is_its_recursion(kind, seed, prior):
    tree = tree_of(kind, seed)
    for m, mask in zip(MS, prune.minimum_error(tree, MS, prior=prior), strict=True):
        assert leaves_of(tree, mask) == minimum_error_leaves(tree, m, prior)[1], m


@pytest.mark.parametrize("kind", ONE_OUTPUT)
@pytest.mark.parametrize("seed", range(3))
def test_pessimistic_pruning_of_1987_node_by_node(kind, seed):
    tree = tree_of(kind, seed)
    split = np.flatnonzero(~tree.is_leaf)
    for k, mask in zip(STANDARD_ERRORS, prune.pessimistic_1987(tree, STANDARD_ERRORS), strict=True):
        assert mask[split].tolist() == [is_pessimistically_as_good(tree, node, k) for node in split], k
        assert not mask[tree.is_leaf].any()


RULES = {
    "minimum_error": (prune.minimum_error, MS, CLASSES),
    "uniform": (uniform, MS, CLASSES),
    "pessimistic_1987": (prune.pessimistic_1987, STANDARD_ERRORS, ONE_OUTPUT),
    "collapse": (lambda tree, _=0: prune.collapse(tree), None, ONE_OUTPUT),
}
CASES = [(name, kind) for name, (_, _, kinds) in RULES.items() for kind in kinds]


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] != "collapse"])
def test_many_values_are_the_masks_of_each(name, kind):
    prunes, values, _ = RULES[name]
    assert_one_by_one(prunes, tree_of(kind), values)


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] != "collapse" and case[1] != "classes"])
def test_masks_of_a_traced_tree_are_the_host_s(name, kind):
    prunes, values, _ = RULES[name]
    assert_same_traced(prunes, tree_of(kind), values)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_nodes_out_of_reach_do_not_count(name, kind):
    prunes, values, _ = RULES[name]
    assert_nodes_out_of_reach_do_not_count(lambda tree: prunes(tree, values), tree_of(kind))


@pytest.mark.parametrize("kind", ONE_OUTPUT)
def test_collapse_is_c45_s_rule_node_by_node(kind):
    """Subtrees of no fewer errors than a leaf, among them those that other prunings have left."""
    tree = tree_of(kind, seed=5)
    errors = tree.weight - tree.count.max(axis=1)
    mask = prune.collapse(tree)
    for node in np.flatnonzero(~tree.is_leaf):
        assert mask[node] == (errors[leaves_below(tree, node)].sum() >= errors[node] - 1e-3)
    assert not mask[tree.is_leaf].any()


def test_collapse_does_not_count_a_thousandth_of_an_error():
    for weight, collapses in ((9e-4, True), (2e-3, False)):
        tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, weight]).tree_
        assert prune.collapse(tree)[0] == collapses


def test_rounding_does_not_decide_ties():
    """Errors of 0.1 and 0.3 in 3.1 and 3.3 add up to less than 0.4 in 6.4, as float64 has them."""
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    count = np.array([[6.0, 0.4], [3.0, 0.1], [3.0, 0.3]])
    tree = dataclasses.replace(tree, count=count, weight=count.sum(axis=1))
    assert prune.minimum_error(tree, 0.0)[0]


def test_worked_numbers():
    """Nine rows, 5 and 4 of two classes, in branches of 3 and 1, and of 2 and 3."""
    X = np.array([[0.0]] * 4 + [[1.0]] * 5)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, [0, 0, 0, 1, 0, 0, 1, 1, 1]).tree_
    # Laplace's estimate: the root errs with 5/11; branches with 2/6 and 3/7, which is 4/9 * 2/6 + 5/9 * 3/7 = 0.386.
    assert not uniform(tree, 2.0)[0]
    # Priors 5/9 and 4/9, m = 2: the root errs with 4/9, branches with 17/54 and 4/9, together 0.387.
    assert not prune.minimum_error(tree)[0]
    # m = 20: with 0.412 and, class 0 being likelier in the second branch too, 0.476; together 0.447, more than 4/9.
    assert prune.minimum_error(tree, 20.0)[0]
    # e'(root) = 4.5; e'(T) = 1.5 + 2.5 with a standard error of sqrt(4 * 5 / 9) = 1.491: 0.335 of them better.
    assert standard_errors_better(tree)[0] == pytest.approx(0.5 / np.sqrt(20 / 9))
    assert prune.pessimistic_1987(tree)[0] and not prune.pessimistic_1987(tree, 0.33)[0]


def test_as_many_corrected_errors_as_rows():
    """Where the subtree's corrected errors reach the weight, their standard error is 0."""
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    # e'(root) = 1.5, e'(T) = 1, SE = sqrt(1/2).
    assert standard_errors_better(tree)[0] == pytest.approx(0.5 / np.sqrt(0.5))
    light = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1], sample_weight=[0.4, 0.4]).tree_
    # e'(T) = 1 is more than the weight, so that the standard error is 0; e'(root) = 0.9 is less.
    assert standard_errors_better(light)[0] == -np.inf
    assert prune.pessimistic_1987(light, 0.0)[0]


def test_what_is_not_allowed():
    with pytest.raises(InvalidInputError, match="m must be a number of 0 or more, got -1"):
        prune.minimum_error(tree_of("classes"), -1)
    with pytest.raises(InvalidInputError, match="prior must be one of 'root', 'uniform', got 'laplace'"):
        prune.minimum_error(tree_of("classes"), prior="laplace")
    with pytest.raises(InvalidInputError, match="minimum-error pruning needs a tree of classes, got one of numbers"):
        prune.minimum_error(dataclasses.replace(tree_of("classes"), num_classes=()))
    with pytest.raises(InvalidInputError, match="needs a tree of classes of one output, got one of 2 outputs"):
        prune.pessimistic_1987(tree_of("two targets"))
    with pytest.raises(InvalidInputError, match="standard_errors must be a number of 0 or more, got nan"):
        prune.pessimistic_1987(tree_of("classes"), np.nan)
