"""An additive model as a forest: a tree for every term, whose leaves are its bins.

So predictions, explanations, files' checks and every export are those of forests. A tree halves the bins of its first
feature until one is left, and then those of the second. Bins of ordered features are divided by thresholds, those of
categories by subsets; the bin of missing values is the last one.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from jaxtree.additive.model import AdditiveModel
from jaxtree.kernels.layout import Layout
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.forest import Forest, take_trees
from jaxtree.tree.subsets import words_of_subsets

LEAF_MARK = -2
"""Stands in the splits of leaves, as in scikit-learn's trees."""


def to_forest(model: AdditiveModel) -> tuple[Forest, Float64[np.ndarray, "node score"]]:
    """Returns the trees of all terms, and what each of their nodes adds to the scores: inner ones the mean below."""
    layout, nodes = model.layout, _halve(model.layout)
    place = layout.first[nodes.term] + nodes.low[:, 0] * layout.num_bins[nodes.term, 1] + nodes.low[:, 1]
    is_leaf = nodes.first_child < 0
    weight, value = np.where(is_leaf, model.weight[place], 0.0), model.values[place]
    total, number = np.where(is_leaf[:, None], value * weight[:, None], 0.0), is_leaf.astype(np.int64)
    plain = np.where(is_leaf[:, None], value, 0.0)
    for level in range(nodes.depth.max(initial=0), 0, -1):
        lower = np.flatnonzero(nodes.depth == level)[::2]  # of two children that follow one another
        for below in (weight, total, plain, number):
            below[nodes.parent[lower]] = below[lower] + below[lower + 1]
    # Where no row of the fit is, the bins count alike.
    mean = np.divide(total, weight[:, None], out=plain / number[:, None], where=weight[:, None] > 0)
    step = np.where(is_leaf[:, None], value, mean)
    tree = Tree(
        **_splits(layout, model.schema, nodes),
        first_child=np.where(is_leaf, 0, nodes.first_child).astype(np.int32),
        num_children=np.where(is_leaf, 0, 2).astype(np.int32),
        parent=nodes.parent.astype(np.int32),
        depth=nodes.depth.astype(np.int32),
        root=nodes.term.astype(np.int32),
        weight=weight,
        count=np.zeros((len(step), 0)),
        target_sum=step,
        num_rows=np.minimum(np.rint(weight), np.iinfo(np.int32).max).astype(np.int32),
        impurity=np.zeros(len(step)),
        gain=np.zeros(len(step)),
        num_nodes=np.array(len(step), np.int32),
        num_classes=(),
        num_features=model.schema.num_features,
    )  # fmt: skip
    forest = take_trees(tree, np.arange(layout.num_terms))
    ordered = forest.nodes
    sums = ordered.target_sum * np.asarray(ordered.weight)[:, None]
    return dataclasses.replace(forest, nodes=dataclasses.replace(ordered, target_sum=sums)), ordered.target_sum


class _Nodes(NamedTuple):
    """The nodes of all trees, level by level.

    Attributes:
        term: The term of a node.
        low: The first bin on both axes.
        high: The end of the bins on both axes.
        axis: The axis that is halved.
        middle: The first bin of the upper half.
        parent: The node above; a root is its own.
        first_child: The first of two children; -1 of a leaf.
        depth: The level.
    """

    term: Int64[np.ndarray, " node"]
    low: Int64[np.ndarray, "node 2"]
    high: Int64[np.ndarray, "node 2"]
    axis: Int64[np.ndarray, " node"]
    middle: Int64[np.ndarray, " node"]
    parent: Int64[np.ndarray, " node"]
    first_child: Int64[np.ndarray, " node"]
    depth: Int64[np.ndarray, " node"]


def _halve(layout: Layout) -> _Nodes:
    """Returns the nodes that halving makes of all terms."""
    number = layout.num_terms
    term, parent = np.arange(number), np.arange(number)
    low, high = np.zeros((number, 2), np.int64), layout.num_bins.astype(np.int64)
    levels, size = [], 0
    while len(term):
        width = high - low
        is_split, axis = (width > 1).any(axis=1), (width[:, 0] <= 1).astype(np.int64)
        along = np.arange(len(term)), axis
        middle = (low[along] + high[along]) // 2
        end = size + len(term)
        first_child = np.where(is_split, end + 2 * (np.cumsum(is_split) - 1), -1)
        depth = np.full(len(term), len(levels))
        levels.append(_Nodes(term, low, high, axis, middle, parent, first_child, depth))
        above = np.flatnonzero(is_split)
        parent, size = np.repeat(size + above, 2), end
        term = np.repeat(term[above], 2)
        low, high = np.repeat(low[above], 2, axis=0), np.repeat(high[above], 2, axis=0)
        pair, own_axis = np.arange(len(above)), axis[above]
        high[2 * pair, own_axis] = middle[above]
        low[2 * pair + 1, own_axis] = middle[above]
    return _Nodes(*(np.concatenate(parts) for parts in zip(*levels, strict=True)))


def _splits(layout: Layout, schema: Schema, nodes: _Nodes) -> dict[str, Shaped[np.ndarray, "node ..."]]:
    """Returns the fields of splits."""
    feature = layout.features[nodes.term, nodes.axis].astype(np.int64)
    num_values = schema.num_values[feature].astype(np.int64)
    is_leaf = nodes.first_child < 0
    is_subset = schema.is_categorical[feature] & ~is_leaf
    # Ordered codes below the middle end with the last that is not above; the next one may be that of missing values.
    next_code = layout.first_code[nodes.term, nodes.axis, np.where(is_leaf, 0, nodes.middle)]
    code, threshold = np.maximum(next_code - 1, 0), np.zeros(len(feature))
    by_threshold = np.flatnonzero(~is_subset & ~is_leaf)
    own = feature[by_threshold], code[by_threshold], next_code[by_threshold]
    threshold[by_threshold], code[by_threshold] = schema.splits(*own)
    by_subset = np.flatnonzero(is_subset)
    bins = layout.bins[nodes.term[by_subset], nodes.axis[by_subset]]
    is_known = np.arange(bins.shape[1]) < num_values[by_subset, None]
    words = words_of_subsets((bins >= nodes.middle[by_subset, None]) & is_known)
    subset = np.zeros((len(feature), words.shape[1] if len(by_subset) else 0), np.uint32)
    subset[by_subset] = words[:, : subset.shape[1]]
    return {
        "feature": np.where(is_leaf, LEAF_MARK, feature).astype(np.int32),
        "code": code.astype(np.int32),
        "next_code": next_code.astype(np.int32),
        "threshold": np.where(is_leaf, float(LEAF_MARK), threshold),
        "split_kind": np.where(is_subset, SplitKind.SUBSET, SplitKind.THRESHOLD).astype(np.int32),
        "subset": subset,
        "missing_code": num_values.astype(np.int32),
        # The bin of missing values is the last, where a node has it.
        "missing_branch": np.ones(len(feature), np.int32),
    }
