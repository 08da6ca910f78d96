"""Trees and rows for the tests of dropout pruning: the paper's, and random ones that need no growth."""

import dataclasses

import numpy as np

import jaxtree
from jaxtree import ID3Classifier, Tree
from jaxtree.growth import SplitKind, majority_class

NUM_FEATURES = 8


def cars():
    """The paper's tree, and codes and labels of the test rows."""
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    estimator = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
    label = np.searchsorted(estimator.classes_.astype(str), y[1296:].astype(str)).astype(np.int32)
    return estimator.tree_, estimator.encode(X[1296:]), label


def tiny():
    """A multiway tree of three classes with seven inner nodes, and rows some of which find no branch."""
    rng = np.random.default_rng(3)
    tree = random_tree(rng, num_inner=7, arity=3, num_classes=3)
    return tree, rng.integers(0, 4, (NUM_FEATURES, 40)).astype(np.uint8), rng.integers(0, 3, 40).astype(np.int32)


def tiny_regression():
    """A tree of numbers about 10,000 with six inner nodes, and rows."""
    rng = np.random.default_rng(4)
    tree = random_tree(rng, num_inner=6, arity=2, num_classes=0)
    return tree, rng.integers(0, 2, (NUM_FEATURES, 30)).astype(np.uint8), 1e4 + rng.normal(size=30)


def noisy():
    """A binary tree of 121 nodes, and held-out rows that bear out the splits of its first three levels."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, num_inner=60, arity=2, num_classes=3)
    tree = dataclasses.replace(tree, feature=tree.depth % NUM_FEATURES)
    codes = rng.integers(0, 2, (NUM_FEATURES, 400)).astype(np.uint8)
    end = np.asarray(jaxtree.growth.apply(tree, codes, tree.depth >= 3))
    y = np.where(rng.random(400) < 0.3, rng.integers(0, 3, 400), majority_class(tree)[end])
    return tree, codes, y.astype(np.int32)


def chain():
    """A binary tree that is split 60 times at its last leaf, and rows of which few end early."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng, num_inner=60, arity=2, num_classes=3, is_chain=True)
    tree = dataclasses.replace(tree, feature=np.arange(tree.capacity, dtype=np.int32))
    codes = (rng.random((tree.capacity, 100)) < 0.98).astype(np.uint8)
    return tree, codes, rng.integers(0, 3, 100).astype(np.int32)


def random_tree(rng, *, num_inner, arity, num_classes, is_chain=False):
    """A tree whose leaves hold random rows; code b of a node's feature goes to branch b, other codes stay.

    In a chain the last child is split every time.
    """
    parent, depth, leaves, inner = [0], [0], [0], []
    for _ in range(num_inner):
        node, first = leaves.pop(-1 if is_chain else rng.integers(len(leaves))), len(parent)
        inner.append((node, first))
        parent += [node] * arity
        depth += [depth[node] + 1] * arity
        leaves += range(first, first + arity)
    parent, size = np.array(parent, np.int32), len(parent)
    first_child, num_children = np.zeros((2, size), np.int32)
    for node, first in inner:
        first_child[node], num_children[node] = first, arity
    weight = np.where(num_children, 0, rng.integers(1, 9, size))
    count = weight[:, None] * rng.multinomial(1, [1 / max(num_classes, 1)] * max(num_classes, 1), size)
    target_sum = weight[:, None] * (1e4 + rng.normal(size=(size, 1)))
    for sums in (weight, count, target_sum):
        for node in range(size - 1, 0, -1):
            sums[parent[node]] += sums[node]
    zeros = np.zeros(size, np.int32)
    return Tree(
        feature=rng.integers(0, NUM_FEATURES, size).astype(np.int32),
        code=zeros,
        next_code=zeros,
        threshold=zeros.astype(float),
        split_kind=np.full(size, SplitKind.MULTIWAY, np.int32),
        subset=np.zeros((size, 0), np.uint32),
        missing_code=np.full(size, 255, np.int32),
        missing_branch=np.full(size, arity, np.int32),
        first_child=first_child,
        num_children=num_children,
        parent=parent,
        depth=np.array(depth, np.int32),
        root=zeros,
        weight=weight.astype(np.int32),
        count=count[:, :num_classes].astype(np.int32),
        target_sum=target_sum if num_classes == 0 else target_sum[:, :0],
        num_rows=weight.astype(np.int32),
        impurity=zeros.astype(float),
        gain=zeros.astype(float),
        num_nodes=np.array(size, np.int32),
        num_classes=(num_classes,) if num_classes else (),
    )


def stop_at(tree, node):
    """The tree with a node made a leaf: as a table in which nodes still stand below it, and as one without them."""
    mask = np.arange(tree.node_count) == node
    stopped = dataclasses.replace(tree, num_children=np.where(mask, 0, tree.num_children).astype(np.int32))
    return stopped, jaxtree.growth.take_tree(tree, collapsed=mask)


def branches(tree, node):
    """The branches from the root to a node."""
    path = []
    while node:
        path.append(int(node - tree.first_child[tree.parent[node]]))
        node = tree.parent[node]
    return tuple(path[::-1])


def majority_table(tree):
    """The values of nodes: 1 for their class."""
    return np.eye(tree.count.shape[1])[np.asarray(majority_class(tree))]
