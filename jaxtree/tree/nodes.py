"""The fields of a tree, and what follows from them for every node."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.core import Tracer
from jaxtyping import Bool, Float, Int, Int32, Real, UInt

from jaxtree.arrays import AnyArray
from jaxtree.buckets import node_bucket


@dataclasses.dataclass(frozen=True)
class NodeFields:
    """The fields of a `Tree`, which has what they mean."""

    feature: Int[AnyArray, "*tree node"]
    code: Int[AnyArray, "*tree node"]
    next_code: Int[AnyArray, "*tree node"]
    threshold: Float[AnyArray, "*tree node"]
    split_kind: Int[AnyArray, "*tree node"]
    subset: UInt[AnyArray, "*tree node word"]
    missing_code: Int[AnyArray, "*tree node"]
    missing_branch: Int[AnyArray, "*tree node"]
    first_child: Int[AnyArray, "*tree node"]
    num_children: Int[AnyArray, "*tree node"]
    parent: Int[AnyArray, "*tree node"]
    depth: Int[AnyArray, "*tree node"]
    root: Int[AnyArray, "*tree node"]
    weight: Real[AnyArray, "*tree node"]
    count: Real[AnyArray, "*tree node class"]
    target_sum: Float[AnyArray, "*tree node output"]
    num_rows: Int[AnyArray, "*tree node"]
    impurity: Float[AnyArray, "*tree node"]
    gain: Float[AnyArray, "*tree node"]
    num_nodes: Int[AnyArray, "*tree"]
    num_classes: tuple[int, ...] = dataclasses.field(metadata={"static": True})
    num_features: int = dataclasses.field(default=0, metadata={"static": True})

    @property
    def is_leaf(self) -> Bool[AnyArray, " node"]:
        """Whether a node has no children."""
        return self.num_children == 0

    @property
    def capacity(self) -> int:
        """Number of nodes that the table has room for."""
        return self.feature.shape[-1]


def majority_class(tree: NodeFields) -> Int32[AnyArray, " node"]:
    """The class that every node predicts: of equal weights the lowest; of an empty node its parent's.

    For a tree of one output. Computed on the host for a tree that is there.
    """
    library = jnp if isinstance(tree.count, jax.Array) else np
    largest = library.max(tree.count, axis=1, keepdims=True)
    classes = library.arange(tree.count.shape[1], dtype=np.int32)
    majority = library.min(library.where(tree.count == largest, classes, classes[-1]), axis=1)
    return library.where(largest[:, 0] > 0, majority, majority[tree.parent])


def output_counts(tree: NodeFields, output: int = 0) -> Real[AnyArray, "node class"]:
    """The training weight of every class of one output."""
    start = sum(tree.num_classes[:output])
    return tree.count[:, start : start + tree.num_classes[output]]


def declared_majority(
    tree: NodeFields, class_order: Sequence[Int[np.ndarray, " _class"]]
) -> Int[np.ndarray, "output node"]:
    """The class that every node predicts: of equal weights the first in an order; of an empty node its parent's.

    Args:
        tree: A tree of classes, on the host.
        class_order: The classes of every output, in the order in which the target declares them.
    """
    labels = []
    for output, order in enumerate(class_order):
        count = np.asarray(output_counts(tree, output))
        label = order[count[:, order].argmax(axis=1)]
        labels.append(np.where(count.any(axis=1), label, label[np.asarray(tree.parent)]))
    return np.stack(labels)


def class_shares(tree: NodeFields, output: int = 0) -> Float[np.ndarray, "node class"]:
    """The share of every class of an output at every node; of an empty node its parent's. On the host."""
    return _per_weight(tree, np.asarray(output_counts(tree, output), np.float64))


def all_class_shares(tree: NodeFields) -> Float[np.ndarray, "node class"]:
    """The shares of the classes of all outputs, side by side as in `tree.count`."""
    return _per_weight(tree, np.asarray(tree.count, np.float64))


def target_means(tree: NodeFields) -> Float[np.ndarray, "node output"]:
    """The mean of every target at every node; of an empty node its parent's. On the host."""
    return _per_weight(tree, np.asarray(tree.target_sum, np.float64))


def _per_weight(tree: NodeFields, sums: Float[np.ndarray, "node column"]) -> Float[np.ndarray, "node column"]:
    weight = np.asarray(tree.weight, np.float64)[:, None]
    mean = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
    return np.where(weight > 0, mean, mean[np.asarray(tree.parent)])


def children_of(tree: NodeFields, nodes: Int[np.ndarray, " parent"]) -> Int[np.ndarray, " child"]:
    """The children of the nodes, in order."""
    size = tree.num_children[nodes]
    before = np.cumsum(size) - size
    return np.repeat(tree.first_child[nodes] - before, size) + np.arange(size.sum())


def ancestors(tree: NodeFields) -> scipy.sparse.csr_matrix:
    """Which nodes (columns) lie on the path from its root to every node (rows), itself included."""
    number = np.arange(int(tree.num_nodes))
    node, pairs = number, [(number, number)]
    while np.any(tree.parent[node] != node):
        below = tree.depth[node] > 0
        number, node = number[below], tree.parent[node[below]]
        pairs.append((number, node))
    row, column = (np.concatenate(part) for part in zip(*pairs, strict=True))
    shape = (int(tree.num_nodes),) * 2
    return scipy.sparse.csr_matrix((np.ones(row.size, np.int64), (row, column)), shape=shape)


def pad_nodes(tree: NodeFields) -> NodeFields:
    """Returns the tree with its table padded to a bucket, on the host; a traced tree is returned as it is.

    The padding are leaves that no walk reaches, so trees of a like size share compiled programs.
    """
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree)):
        return tree
    size = tree.feature.shape[0]
    padding = node_bucket(size) - size

    def pad(values):
        values = np.asarray(values)
        return np.pad(values, [(0, padding)] + [(0, 0)] * (values.ndim - 1)) if values.ndim else values

    return jax.tree.map(pad, tree)
