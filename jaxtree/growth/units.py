"""From a tree in codes to a tree in original units, on the host and in float64."""

import dataclasses

import numpy as np

from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree

LEAF_MARK = -2
"""scikit-learn's mark of a leaf in `feature` and `threshold`; no code of ours reads it."""


def in_original_units(tree: Tree, schema: Schema, *, on_values: bool = False) -> Tree:
    """Returns a tree of one root, taken from its table, with thresholds in the units of the schema.

    Args:
        tree: The tree.
        schema: What its codes mean.
        on_values: Whether a threshold is the largest training value below the midpoint (C4.5), or the midpoint.
    """
    split = np.flatnonzero(~tree.is_leaf)
    by_threshold = split[tree.split_kind[split] == SplitKind.THRESHOLD]
    codes = (tree.feature[by_threshold], tree.code[by_threshold], tree.next_code[by_threshold])
    threshold = tree.code.astype(np.float64)
    threshold[by_threshold] = schema.value_thresholds(*codes) if on_values else schema.thresholds(*codes)
    # Codes that no row of the node has fall on the side where their values do.
    code = tree.code.copy()
    code[by_threshold] = schema.split_codes(*codes)
    return mark_leaves(dataclasses.replace(tree, code=code, threshold=threshold, num_features=schema.num_features))


def mark_leaves(tree: Tree) -> Tree:
    """The tree with scikit-learn's mark in the splits of leaves."""
    feature = np.where(tree.is_leaf, LEAF_MARK, tree.feature).astype(np.int32)
    return dataclasses.replace(
        tree, feature=feature, threshold=np.where(tree.is_leaf, float(LEAF_MARK), tree.threshold)
    )
