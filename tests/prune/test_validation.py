"""Prunings by held-out rows: their definitions row by row, the best of all subtrees, laws of the sums."""

import dataclasses

import jax
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from jaxtree import DecisionTreeClassifier, ID3Classifier, prune
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.prune.validation import hold_out, leaf_errors
from jaxtree.tree.nodes import output_counts, target_means
from tests.prune.growths import (
    CLASSES,
    ROWS,
    children,
    draw_table,
    fitted,
    leaves_of,
    on_device,
    reached,
    stop,
    subtrees,
    tree_of,
)

pytestmark = pytest.mark.slow

KINDS = (*CLASSES, "numbers", "two numbers")
WEIGHTS = ("none", "whole", "float")


def held_out(kind, seed, weights="none"):
    """A tree and rows that it has not seen: codes, targets of every output with a class it does not know, weights."""
    rng = np.random.default_rng(seed + 100)
    X, label, number, _ = draw_table(seed + 100)
    X = np.array(list("uvwxyz"), object)[X.astype(int)] if kind == "multiway" else X
    estimator = fitted(kind, seed)
    match kind:
        case "numbers":
            y = number[None]
        case "two numbers":
            y = np.stack([number, number[::-1]])
        case "two targets":
            y = np.stack([label, (X[:, 3] > 3).astype(int)])
        case _:
            y = label[None]
    if kind in CLASSES:
        y[:, :3] = -1
    weight = {"none": None, "whole": rng.integers(0, 4, ROWS), "float": rng.uniform(0, 2, ROWS)}[weights]
    codes = estimator.encode(X)
    codes[:, -5:] = 255 if kind == "multiway" else codes[:, -5:]
    return estimator.tree_, codes, y, weight


def walk(tree, code):
    """The nodes on the walk of one row."""
    path = [0]
    while tree.num_children[path[-1]]:
        node = path[-1]
        value = code[tree.feature[node]]
        branch = value if tree.split_kind[node] == 1 else int(value > tree.code[node])
        if branch >= tree.num_children[node]:
            break
        path.append(tree.first_child[node] + branch)
    return path


def row_error(tree, node, y):
    """The error of one row at a node as a leaf, summed over outputs."""
    if not tree.num_classes:
        return ((y - target_means(tree)[node]) ** 2).sum()
    error = 0.0
    for output in range(len(tree.num_classes)):
        count = output_counts(tree, output)
        here = node if count[node].any() else tree.parent[node]
        error += y[output] != count[here].argmax()
    return error


def node_errors(tree, codes, y, weight):
    """Errors of every node as a leaf, and of the rows that stay at it when nothing is pruned."""
    own, stays = np.zeros(tree.capacity), np.zeros(tree.capacity)
    for row in range(ROWS):
        path, factor = walk(tree, codes[:, row]), 1 if weight is None else weight[row]
        for node in path:
            own[node] += factor * row_error(tree, node, y[:, row])
        if tree.num_children[path[-1]]:
            stays[path[-1]] += factor * row_error(tree, path[-1], y[:, row])
    return own, stays


def reduced_error_leaves(tree, own, stays, slack, node=0):
    if not tree.num_children[node]:
        return own[node], {node}
    parts = [reduced_error_leaves(tree, own, stays, slack, child) for child in children(tree, node)]
    below = stays[node] + sum(error for error, _ in parts)
    return (own[node], {node}) if own[node] <= below + slack else (below, set().union(*(nodes for _, nodes in parts)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(2))
def test_both_prunings_row_by_row(kind, weights, seed):
    whole, codes, y, weight = held_out(kind, seed, weights)
    for tree in (whole, stop(whole, seed)):
        own, stays = node_errors(tree, codes, y, weight)
        slack = 1e-9 * (1 + own[0])
        held = prune.hold_out_codes(tree, codes, y, weight)
        mask = prune.reduced_error(tree, held)
        assert leaves_of(tree, mask) == reduced_error_leaves(tree, own, stays, slack)[1]
        gate = prune.validation_gate(tree, held)
        for node in reached(tree):
            below = stays[node] + own[list(children(tree, node))].sum()
            assert gate[node] == bool(tree.num_children[node] and own[node] <= below + slack)


@pytest.mark.parametrize("seed", range(4))
def test_reduced_error_is_the_smallest_of_the_best_subtrees(seed):
    tree = fitted("classes", seed, max_leaf_nodes=9).tree_
    _, codes, y, _ = held_out("classes", seed)
    errors = node_errors(tree, codes, y, None)[0]
    best = min(subtrees(tree), key=lambda leaves: (errors[list(leaves)].sum(), len(leaves)))
    assert leaves_of(tree, prune.reduced_error(tree, prune.hold_out_codes(tree, codes, y))) == set(best)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_at_the_nodes(kind):
    """The rows that pass a node are those that end there and those that pass its children; sums of parts of the rows
    add up."""
    tree, codes, y, weight = held_out(kind, 0, "float")
    node = np.array([walk(tree, code)[-1] for code in codes.T])
    held = hold_out(tree, node, y, weight)
    for each in range(tree.capacity):
        below = held.passed[list(children(tree, each))].sum(axis=0)
        np.testing.assert_allclose(held.passed[each], held.ended[each] + below, atol=1e-9)
    parts = [hold_out(tree, node[rows], y[:, rows], weight[rows]) for rows in (slice(40), slice(40, None))]
    np.testing.assert_allclose(parts[0].passed + parts[1].passed, held.passed, atol=1e-9)
    whole = held.passed[0] if kind in CLASSES else held.passed[0, 0::3]
    assert whole.sum() == pytest.approx(weight.sum() * len(y))
    own, stays = node_errors(tree, codes, y, weight)
    np.testing.assert_allclose(leaf_errors(tree, held.passed), own, atol=1e-9)
    ended = leaf_errors(tree, held.ended)
    np.testing.assert_allclose(np.where(tree.is_leaf, own, stays), ended, atol=1e-9)
    doubled = hold_out(tree, np.tile(node, 2), np.tile(y, 2), np.tile(weight, 2))
    np.testing.assert_array_equal(prune.reduced_error(tree, doubled), prune.reduced_error(tree, held))


def test_columns_of_classes():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [[0, 1], [0, 2], [1, 0]]).tree_
    held = hold_out(tree, np.array([1, 1, 4]), np.array([[1, -1, 1], [0, 2, -1]]), np.array([1, 2, 4]))
    # Two classes of the first output, three of the second, and the unknown ones of both.
    assert held.passed[0].tolist() == [0, 5, 1, 0, 2, 2, 4]
    assert held.ended[1].tolist() == [0, 1, 1, 0, 2, 2, 0] and not held.ended[0].any()


def test_numbers_far_from_zero_do_not_cancel():
    tree, codes, y, _ = held_out("numbers", 0)
    far = dataclasses.replace(tree, target_sum=tree.target_sum + 1e9 * tree.weight[:, None])
    near, held = prune.hold_out_codes(tree, codes, y), prune.hold_out_codes(far, codes, y + 1e9)
    np.testing.assert_array_equal(prune.reduced_error(far, held), prune.reduced_error(tree, near))


def test_other_labels_than_the_majority():
    """Errors follow the label: with every node of class 2 no split is worth anything."""
    tree, codes, y, _ = held_out("classes", 0)
    node = np.array([walk(tree, code)[-1] for code in codes.T])
    held = hold_out(tree, node, y)
    label = np.full((1, tree.capacity), 2)
    assert leaf_errors(tree, held.passed, label)[0] == (y != 2).sum()
    assert leaves_of(tree, prune.reduced_error(tree, held, label)) == {0}
    assert prune.validation_gate(tree, held, label)[0]
    assert not prune.reduced_error(tree, held)[0]


def test_rows_of_a_tree_that_nobody_reaches():
    """Ties are pruned: without rows, what is left is the root."""
    tree, codes, y, _ = held_out("classes", 0)
    nobody = prune.hold_out_codes(tree, codes, y, np.zeros(ROWS))
    assert leaves_of(tree, prune.reduced_error(tree, nobody)) == {0}
    assert leaves_of(tree, prune.validation_gate(tree, nobody)) == {0}


def test_pruning_helps_on_the_rows_it_looks_at():
    X, y = load_breast_cancer(return_X_y=True)
    estimator = DecisionTreeClassifier().fit(X[::2], y[::2])
    tree, codes = estimator.tree_, estimator.encode(X[1::2])
    held = hold_out(tree, estimator.apply(X[1::2]), y[None, 1::2])
    np.testing.assert_array_equal(held.passed, prune.hold_out_codes(tree, codes, y[1::2]).passed)
    errors = leaf_errors(tree, held.passed)
    whole, reduced, gate = (
        errors[sorted(leaves_of(tree, mask))].sum()
        for mask in (None, prune.reduced_error(tree, held), prune.validation_gate(tree, held))
    )
    assert whole == (estimator.predict(X[1::2]) != y[1::2]).sum()
    assert reduced <= min(whole, gate) and gate <= errors[0]


def sharing_tree():
    """A tree that shares missing words out, and the codes of two rows, the second without its word."""
    X = np.array([["a"], ["a"], ["b"], ["b"], [None]], object)
    estimator = ID3Classifier(missing="fraction").fit(X, [0, 0, 1, 1, 1])
    return estimator.tree_, estimator.encode(np.array([["a"], [None]], object))


def test_a_row_that_is_to_be_shared_out():
    tree, codes = sharing_tree()
    with pytest.raises(
        InvalidInputError, match="are shared out among the branches, and are not allowed here, got one in"
    ):
        prune.hold_out_codes(tree, codes, np.array([0, 1]))
    held = prune.hold_out_codes(tree, codes[:, [0, 0]], np.array([0, 1]))
    for prunes in (prune.reduced_error, prune.validation_gate):
        assert not prunes(tree, held)[1:].any()


def test_parts_of_rows_are_visits():
    """A row shared out among two leaves counts in each with its part."""
    tree, _ = sharing_tree()
    held = hold_out(tree, np.array([1, 1, 2]), np.array([[0, 1, 1]]), np.array([1.0, 0.4, 0.6]))
    assert leaf_errors(tree, held.passed)[[1, 2]] == pytest.approx([0.4, 0.0])


def test_a_missing_value_that_has_no_branch_stays_at_its_node():
    """Where missing is a category that training did not have, the row is predicted at the node that asks."""
    X, y = np.array([["a"], ["a"], ["b"], ["b"], ["b"]], object), [0, 0, 1, 1, 1]
    estimator = ID3Classifier().fit(X, y)
    codes = estimator.encode(np.array([["a"], ["b"], ["c"]], object))
    held = prune.hold_out_codes(estimator.tree_, codes, np.array([0, 1, 1]))
    assert not prune.reduced_error(estimator.tree_, held)[0]


def test_masks_of_trees_on_a_device_and_of_traced_ones():
    tree, codes, y, _ = held_out("classes", 0)
    held, of_device = (prune.hold_out_codes(*arrays, y) for arrays in ((tree, codes), on_device((tree, codes))))
    with pytest.raises(InvalidInputError, match="needs a tree on the host, got a traced one"):
        jax.jit(lambda tree: prune.hold_out_codes(tree, codes, y))(on_device(tree))
    for prunes in (prune.reduced_error, prune.validation_gate):
        np.testing.assert_array_equal(prunes(on_device(tree), of_device), prunes(tree, held))
        with pytest.raises(InvalidInputError, match="needs a tree on the host, got a traced one"):
            jax.jit(lambda tree, prunes=prunes: prunes(tree, held))(on_device(tree))


def test_the_tree_that_is_left_predicts_as_the_mask_says():
    tree, codes, y, _ = held_out("multiway", 0)
    mask = prune.reduced_error(tree, prune.hold_out_codes(tree, codes, y))
    left = take_tree(tree, collapsed=mask)
    node = np.array([walk(left, code)[-1] for code in codes.T])
    errors = leaf_errors(left, hold_out(left, node, y).ended)
    own, stays = node_errors(tree, codes, y, None)
    assert errors.sum() == reduced_error_leaves(tree, own, stays, 0)[0]


@pytest.mark.parametrize(
    ("target", "node", "weight", "message"),
    [
        (np.zeros((2, 3), int), np.zeros(3, int), None, r"target must have the shape \(1, 3\)"),
        (np.full((1, 3), 3), np.zeros(3, int), None, "target must hold whole numbers below 3"),
        (np.zeros((1, 3)), np.zeros(3, int), None, "target must hold whole numbers below 3"),
        (np.zeros((1, 3), int), np.full(3, 1000), None, "node must be from 0 to"),
    ],
)
def test_what_does_not_fit(target, node, weight, message):
    with pytest.raises(InvalidInputError, match=message):
        hold_out(tree_of("classes"), node, target, weight)


def test_sums_of_another_tree():
    held = hold_out(tree_of("classes"), np.zeros(3, int), np.zeros((1, 3), int))
    with pytest.raises(InvalidInputError, match="held must have a row for each of the tree's"):
        prune.reduced_error(fitted("classes", max_leaf_nodes=3).tree_, held)
