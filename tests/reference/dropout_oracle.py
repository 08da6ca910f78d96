"""Dropout pruning the slow way: every mask with its probability, and every row sent down under every mask."""

import itertools

import numpy as np

from jaxtree.growth import apply, majority_class


def all_masks(tree, rates):
    """Every set of collapsed inner nodes, with its probability."""
    inner = [node for node in range(1, tree.node_count) if not tree.is_leaf[node]]
    for bits in itertools.product([False, True], repeat=len(inner)):
        mask = np.zeros(tree.node_count, bool)
        mask[inner] = bits
        yield mask, np.prod(np.where(bits, rates[inner], 1 - rates[inner]))


def mean_over_masks(tree, rates, value):
    """The mean of what a function makes of a mask."""
    return sum(weight * value(mask) for mask, weight in all_masks(tree, rates))


def end_nodes(tree, codes, mask):
    return np.asarray(apply(tree, codes, mask))


def accuracy(tree, codes, y, mask):
    return (np.asarray(majority_class(tree))[end_nodes(tree, codes, mask)] == y).mean()


def log_loss(tree, codes, y, mask, laplace):
    count = np.asarray(tree.count, np.float64)[end_nodes(tree, codes, mask)]
    share = (count + laplace) / (count + laplace).sum(axis=1, keepdims=True)
    return -np.log(share[np.arange(y.size), y]).mean()


def squared_error(tree, codes, y, mask):
    mean = np.asarray(tree.target_sum)[:, 0] / np.asarray(tree.weight)
    return ((y - mean[end_nodes(tree, codes, mask)]) ** 2).mean()


def said_at_ends(tree, said, mask):
    """The prediction of the rows whose unpruned walk ends at each node: by the first collapsed node on the path."""
    votes = []
    for node in range(tree.node_count):
        path = [node]
        while path[-1]:
            path.append(tree.parent[path[-1]])
        stops = [above for above in path[::-1] if mask[above]]
        votes.append(said[stops[0] if stops else node])
    return np.array(votes)


def reduced_error_mask(tree, codes, y):
    """The nodes that predict no fewer of the rows rightly as leaves than their pruned subtrees do."""
    end = end_nodes(tree, codes, None)
    majority = np.asarray(majority_class(tree))
    mask = np.zeros(tree.node_count, bool)

    def paths(node):
        below = [node]
        for child in range(tree.first_child[node], tree.first_child[node] + tree.num_children[node]):
            below += paths(child)
        return below

    def most_right(node):
        as_leaf = (majority[node] == y[np.isin(end, paths(node))]).sum()
        if tree.is_leaf[node]:
            return as_leaf
        children = range(tree.first_child[node], tree.first_child[node] + tree.num_children[node])
        as_split = sum(map(most_right, children)) + (majority[node] == y[end == node]).sum()
        mask[node] = as_leaf >= as_split
        return max(as_leaf, as_split)

    most_right(0)
    return mask
