"""Slow, obvious error-based pruning of J48 and C4.5 Release 8, in float64: recursion over the nodes of `c45_oracle`.

Rows are a vector of weights. Every estimate sends all of them down again.
"""

import math
import statistics

import numpy as np

from tests.reference.c45_oracle import SMALL, Node, Test, known_parts, make_leaf

SLACK = 0.1  # by which a smaller tree may be worse
RELEASE_8_TABLE = [(0, 4.0), (0.001, 3.09), (0.005, 2.58), (0.01, 2.33), (0.05, 1.65), (0.1, 1.28), (0.2, 0.84)]
RELEASE_8_TABLE += [(0.4, 0.25), (1.0, 0.0)]


def added_errors(weight, errors, confidence, z="exact"):
    """Errors added to a leaf, for numbers."""
    none = weight * (1 - confidence ** (1 / weight))
    if errors < 1:
        return none + errors * (added_errors(weight, 1, confidence, z) - none) if errors else none
    if errors + 0.5 >= weight:
        return 0.67 * (weight - errors) if z == "release8" else max(weight - errors, 0)
    deviate = interpolated(confidence) if z == "release8" else statistics.NormalDist().inv_cdf(1 - confidence)
    share, square = (errors + 0.5) / weight, deviate**2 / weight
    spread = deviate * math.sqrt(share / weight - share**2 / weight + square / weight / 4)
    return weight * (share + square / 2 + spread) / (1 + square) - errors


def interpolated(confidence):
    """The deviate between two of Release 8's table."""
    row = next(i for i, (listed, _) in enumerate(RELEASE_8_TABLE) if confidence <= listed)
    (low, at_low), (high, at_high) = RELEASE_8_TABLE[row - 1 : row + 1]
    return at_low + (at_high - at_low) * (confidence - low) / (high - low)


def estimated_errors(weights, confidence, z):
    """Errors of a leaf with the errors added."""
    total = float(weights.sum())
    wrong = total - float(weights.max())
    return wrong + added_errors(total, wrong, confidence, z) if total > SMALL else 0.0


def prune(node, X, y, weight, confidence, raising=True, z="exact"):
    """The pruned tree of a grown one and the weights of its rows."""
    if not node.children:
        return node
    parts = divide(node, X, weight)
    pruned = [
        prune(child, X, y, part, confidence, raising, z) for child, part in zip(node.children, parts, strict=True)
    ]
    node = with_children(node, pruned)
    as_leaf = estimated_errors(node.weights, confidence, z)
    as_tree = sum(estimated_errors(leaf.weights, confidence, z) for leaf in node.leaves())
    as_branch = math.inf
    if raising:
        branch = with_rows(pruned[last_of_greatest([part.sum() for part in parts])], X, y, weight)
        as_branch = sum(estimated_errors(leaf.weights, confidence, z) for leaf in branch.leaves())
    if as_leaf <= as_tree + SLACK + SMALL and as_leaf <= as_branch + SLACK + SMALL:
        return Node(node.weights, node.label)
    if as_branch <= as_tree + SLACK + SMALL:
        return prune(branch, X, y, weight, confidence, raising, z)
    return node


def with_rows(node, X, y, weight, parent_label=0):
    """The same tests with the distributions of other rows."""
    leaf = make_leaf(y, weight, parent_label)
    if not node.children:
        return leaf
    parts = divide(node, X, weight)
    children = [with_rows(child, X, y, part, leaf.label) for child, part in zip(node.children, parts, strict=True)]
    return with_children(
        Node(leaf.weights, leaf.label, node.attribute, node.kind, node.threshold, node.categories), children
    )


def with_children(node, children):
    return Node(node.weights, node.label, node.attribute, node.kind, node.threshold, node.categories, children)


def divide(node, X, weight):
    """The row weights in every branch; missing values in proportion to the known weight, or in equal parts."""
    test = test_of(node, X[node.attribute])
    known = known_parts(test, weight)
    totals = np.array([part.sum() for part in known])
    shares = totals / totals.sum() if totals.any() else np.full(len(known), 1 / len(known))
    return [part + np.where(test.branch < 0, weight, 0) * share for part, share in zip(known, shares, strict=True)]


def test_of(node, column):
    """The branch of every row at a node."""
    if node.kind == "threshold":
        values = column.to_numpy()
        branch = np.where(np.isnan(values), -1, values > node.threshold)
    else:
        codes = column.cat.codes.to_numpy()
        group = [list(column.cat.categories).index(category) for category in node.categories]
        branch = codes if node.kind == "multiway" else np.where(codes < 0, -1, ~np.isin(codes, group))
    return Test(node.attribute, node.kind, branch, len(node.children))


def last_of_greatest(weights):
    return max(position for position, weight in enumerate(weights) if weight >= max(weights) - SMALL)
