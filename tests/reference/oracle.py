"""A slow, obvious tree grower: recursion over sets of rows, float64, no tables, no histograms."""

import dataclasses

import numpy as np

TOLERANCE = 1e-9


@dataclasses.dataclass
class Node:
    """A node with its class counts, and its split and children if it has any."""

    count: list
    depth: int
    feature: int = -1
    code: int = -1
    gain: float = 0.0
    children: list = dataclasses.field(default_factory=list)


def entropy(labels):
    """Entropy in bits from the definition."""
    shares = np.unique(labels, return_counts=True)[1] / max(len(labels), 1)
    return float(-(shares * np.log2(shares)).sum())


def gini(labels):
    """Gini impurity from the definition."""
    shares = np.unique(labels, return_counts=True)[1] / max(len(labels), 1)
    return float(1 - (shares**2).sum())


def misclassification(labels):
    """Share of the rows that are not of the most frequent class."""
    return 1 - np.unique(labels, return_counts=True)[1].max(initial=0) / max(len(labels), 1)


def branches(codes, kind, code, num_codes):
    """The branch of every row."""
    if kind == 0:
        return (codes > code).astype(int), 2
    if kind == 1:
        return codes.astype(int), num_codes
    return (codes == code).astype(int), 2


def candidates(table, labels, kinds, num_codes, impurity, min_samples_leaf):
    """Every admissible (feature, code, gain)."""
    for feature, codes in enumerate(table):
        present = np.unique(codes)
        for code in present[:1] if kinds[feature] == 1 else present:
            branch, num_branches = branches(codes, kinds[feature], code, num_codes[feature])
            parts = [labels[branch == b] for b in range(num_branches)]
            used = [part for part in parts if len(part)]
            if len(used) < 2 or min(map(len, used)) < min_samples_leaf:
                continue
            kept = sum(len(part) * impurity(part) for part in used) / len(labels)
            yield feature, int(code), impurity(labels) - kept


def grow(table, labels, kinds, num_codes, num_classes, impurity, *, max_depth=10**9, min_samples_split=2,
         min_samples_leaf=1, min_gain=0.0, depth=0):  # fmt: skip
    """Grows a tree on the rows of `table`, an integer array (feature, row)."""
    node = Node(np.bincount(labels, minlength=num_classes).tolist(), depth)
    if depth >= max_depth or len(labels) < min_samples_split or len(np.unique(labels)) < 2:
        return node
    found = list(candidates(table, labels, kinds, num_codes, impurity, min_samples_leaf))
    if not found:
        return node
    best = max(gain for _, _, gain in found)
    feature, code, gain = next(c for c in found if c[2] >= best - TOLERANCE * impurity(labels))
    if gain < min_gain - 1e-12:
        return node
    node.feature, node.code, node.gain = feature, code, max(gain, 0.0)
    branch, num_branches = branches(table[feature], kinds[feature], code, num_codes[feature])
    for b in range(num_branches):
        inside = branch == b
        node.children.append(
            grow(table[:, inside], labels[inside], kinds, num_codes, num_classes, impurity, max_depth=max_depth,
                 min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf, min_gain=min_gain,
                 depth=depth + 1)
        )  # fmt: skip
    return node


def assert_same_tree(tree, node, number=0):
    """Compares a grown table with a recursive tree, node for node."""
    assert tree.count[number].tolist()[: len(node.count)] == node.count
    assert tree.depth[number] == node.depth
    assert tree.num_children[number] == len(node.children)
    if not node.children:
        return
    assert tree.feature[number] == node.feature
    if tree.split_kind[number] != 1:
        assert tree.code[number] == node.code
    np.testing.assert_allclose(tree.gain[number], node.gain, atol=1e-6)
    for branch, child in enumerate(node.children):
        assert_same_tree(tree, child, int(tree.first_child[number]) + branch)
