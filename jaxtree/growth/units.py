"""From a tree in codes to a tree in original units, on the host and in float64."""

import dataclasses
import functools

import jax
import numpy as np
from jaxtyping import Float

from jaxtree.buckets import node_bucket
from jaxtree.growth.criteria import Criterion
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree

LEAF_MARK = -2
"""scikit-learn's mark of a leaf in `feature` and `threshold`; no code of ours reads it."""


def in_original_units(tree: Tree, schema: Schema, criterion: Criterion) -> Tree:
    """Returns a tree of one root, taken from its table, with thresholds in the units of the schema.

    Impurities and gains are computed anew from the counts, in float64.
    """
    split = np.flatnonzero(~tree.is_leaf)
    by_threshold = split[tree.split_kind[split] == SplitKind.THRESHOLD]
    codes = (tree.feature[by_threshold], tree.code[by_threshold], tree.next_code[by_threshold])
    threshold = np.where(tree.is_leaf, float(LEAF_MARK), tree.code.astype(np.float64))
    threshold[by_threshold] = schema.thresholds(*codes)
    # Codes that no row of the node has fall on the side where their values do.
    code = tree.code.copy()
    code[by_threshold] = schema.split_codes(*codes)
    impurity = node_impurities(tree, criterion)
    return dataclasses.replace(
        tree,
        feature=np.where(tree.is_leaf, LEAF_MARK, tree.feature).astype(np.int32),
        code=code,
        threshold=threshold,
        impurity=impurity,
        gain=_gains(tree, impurity),
    )


def node_impurities(tree: Tree, criterion: Criterion) -> Float[np.ndarray, " node"]:
    """The impurity of every node in float64."""
    num_nodes, num_classes = tree.count.shape
    count = np.zeros((node_bucket(num_nodes), num_classes))
    count[:num_nodes] = tree.count
    with jax.enable_x64(True):
        return np.asarray(_impurities(count, criterion=criterion))[:num_nodes]


@functools.partial(jax.jit, static_argnames="criterion")
def _impurities(count, *, criterion: Criterion):
    return jax.vmap(criterion)(count)


def _gains(tree: Tree, impurity: Float[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
    weight = tree.count.sum(axis=1).astype(np.float64)
    kept = np.zeros_like(impurity)
    below = tree.parent != np.arange(tree.parent.size)
    np.add.at(kept, tree.parent[below], (weight * impurity)[below])
    gain = impurity - np.divide(kept, weight, out=np.zeros_like(kept), where=weight > 0)
    return np.where(tree.is_leaf, 0.0, np.maximum(gain, 0.0))
