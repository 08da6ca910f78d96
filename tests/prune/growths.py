"""Trees to prune, and what must hold for every pruning of them."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from jaxtree.growth import take_tree
from jaxtree.prune.bottom_up import sum_over_leaves
from jaxtree.prune.training_errors import errors_as_leaves

ROWS = 96
CLASSES = ("classes", "weights", "two targets", "multiway")


def draw_table(seed):
    """Columns of few values, so that gains tie; a class and a number that depend on them; weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (ROWS, 4)).astype(float)
    signal = X[:, 0] + (X[:, 1] > 2) * X[:, 2] + rng.normal(0, 2, ROWS)
    return X, np.digitize(signal, [2, 5]), signal.round(1), rng.uniform(0.2, 3, ROWS)


@functools.cache
def fitted(kind, seed=0, **parameters):
    """An estimator of a kind of tree, fitted without limits unless given."""
    X, label, number, weight = draw_table(seed)
    match kind:
        case "classes":
            return DecisionTreeClassifier(**parameters).fit(X, label)
        case "weights":
            return DecisionTreeClassifier(**parameters).fit(X, label, sample_weight=weight)
        case "two targets":
            return DecisionTreeClassifier(**parameters).fit(X, np.stack([label, X[:, 3] > 3], axis=1))
        case "multiway":
            words = np.array(list("uvwxyz"), object)[X.astype(int)]
            return ID3Classifier(**parameters).fit(words, label)
        case "numbers":
            return DecisionTreeRegressor(**parameters).fit(X, number, sample_weight=weight)
        case "two numbers":
            return DecisionTreeRegressor(**parameters).fit(X, np.stack([number, number[::-1]], axis=1))


def tree_of(kind, seed=0):
    return fitted(kind, seed).tree_


def children(tree, node):
    first = int(tree.first_child[node])
    return range(first, first + int(tree.num_children[node]))


def reached(tree, collapsed=None, node=0):
    """The nodes that walks come to, each before its children."""
    stops = not tree.num_children[node] or (collapsed is not None and collapsed[node])
    below = [] if stops else [n for child in children(tree, node) for n in reached(tree, collapsed, child)]
    return [node, *below]


def leaves_of(tree, collapsed=None):
    """The nodes where walks end."""
    nodes = set(reached(tree, collapsed))
    return {n for n in nodes if not set(children(tree, n)) & nodes}


def leaves_below(tree, node):
    return [n for n in reached(tree, None, node) if not tree.num_children[n]]


def subtrees(tree, node=0):
    """The leaves of every subtree that keeps the node, as tuples."""
    yield (node,)
    if tree.num_children[node]:
        parts = [()]
        for child in children(tree, node):
            parts = [left + right for left in parts for right in subtrees(tree, child)]
        yield from parts


def pessimistic_errors(tree, confidence=0.25, **options):
    """The errors that C4.5 estimates of the tree below every node; the root's is the "estimate" of Release 8."""
    return sum_over_leaves(tree, errors_as_leaves(tree, confidence, **options))


def stop(tree, seed=0, share=0.3):
    """The tree with random nodes made leaves, what was below them still standing in the table."""
    stops = np.random.default_rng(seed).random(tree.capacity) < share
    stops[0] = False
    return dataclasses.replace(tree, num_children=np.where(stops, 0, tree.num_children).astype(np.int32))


def on_device(tree):
    return jax.tree.map(jnp.asarray, tree)


def assert_same_parts(tree, mask, other):
    """A mask leaves the same tree as another has."""
    mine = take_tree(tree, collapsed=mask)
    assert mine.node_count == other.node_count
    for field in ("num_children", "first_child", "parent", "depth", "weight", "count", "target_sum", "gain"):
        np.testing.assert_array_equal(getattr(mine, field), getattr(other, field), err_msg=field)
    split = ~mine.is_leaf
    for field in ("feature", "threshold", "missing_branch"):
        np.testing.assert_array_equal(getattr(mine, field)[split], getattr(other, field)[split], err_msg=field)


def assert_one_by_one(prune, tree, parameters):
    """Many parameters at once, of any shape, are the masks of each; numbers that are not arrays too."""
    masks = prune(tree, parameters)
    assert isinstance(masks, np.ndarray) and masks.shape == (*parameters.shape, tree.capacity)
    for mask, parameter in zip(masks, parameters, strict=True):
        np.testing.assert_array_equal(mask, prune(tree, parameter.item()))
    np.testing.assert_array_equal(prune(tree, parameters[None]), masks[None])


def assert_same_traced(prune, tree, parameters):
    """Under jit, under vmap over parameters, and in either float width, walks end where the host's mask ends them."""
    expected = [leaves_of(tree, mask) for mask in prune(tree, parameters)]
    for x64 in (False, True):
        with jax.enable_x64(x64):
            traced = [
                jax.jit(prune)(on_device(tree), jnp.asarray(parameters)),
                jax.vmap(lambda parameter: prune(tree, parameter))(jnp.asarray(parameters)),
                jax.jit(jax.vmap(prune, in_axes=(None, 0)))(on_device(tree), jnp.asarray(parameters)),
            ]
        for masks in traced:
            assert masks.dtype == bool
            assert [leaves_of(tree, mask) for mask in np.asarray(masks)] == expected


def assert_nodes_out_of_reach_do_not_count(prune, tree, *, masks=True):
    """Masks of a stopped tree are made without the nodes where no walk comes; and the same with padding."""
    for seed in range(3):
        stopped = stop(tree, seed)
        order = [0]
        for node in order:
            order.extend(children(stopped, node))
        found = prune(stopped)
        np.testing.assert_allclose(found[..., order] if masks else found, prune(take_tree(stopped)), atol=1e-12)
    padding = 7
    padded = jax.tree.map(lambda x: np.pad(x, [(0, padding)] + [(0, 0)] * (x.ndim - 1)) if x.ndim else x, tree)
    found = prune(padded)
    np.testing.assert_array_equal(found[..., : tree.capacity] if masks else found, prune(tree))


def assert_nested(masks, tree):
    """Each mask leaves a part of the tree that the one before leaves."""
    nodes = [set(reached(tree, mask)) for mask in masks]
    assert all(after <= before for before, after in itertools.pairwise(nodes))
    assert len(nodes[-1]) < len(nodes[0]), "nothing was pruned"
