"""The fields of a tree, the kinds of its splits, and what follows from them for every node."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Integer, Real, Shaped

from jaxtree.arrays import AnyArray, is_traced, library_of, where
from jaxtree.buckets import node_bucket, pad_to
from jaxtree.kernels.walk import SplitKind as SplitKind
from jaxtree.kernels.walk import branch_of
from jaxtree.lazy import Tracer, csr_matrix, jax, jnp, lax, sparse
from jaxtree.tree.subsets import SharedSubsets, Subsets

ALL_BRANCHES = 2**30
"""The branch of a missing value that goes to all branches, with a share in each (Quinlan's fractional instances)."""


@dataclasses.dataclass(frozen=True)
class NodeFields:
    """The fields of a `Tree`, which documents them."""

    feature: Int[AnyArray, "*tree node"]
    code: Int[AnyArray, "*tree node"]
    next_code: Int[AnyArray, "*tree node"]
    threshold: Float[AnyArray, "*tree node"]
    split_kind: Int[AnyArray, "*tree node"]
    subset: Subsets
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
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.num_nodes)

    @property
    def capacity(self) -> int:
        """Number of nodes that the table has room for."""
        return self.feature.shape[-1]


def branch_of_code(
    tree: NodeFields, node: Int[AnyArray, " row"], code: Integer[AnyArray, " row"], *, has_missing: bool = True
) -> Int[AnyArray, " row"]:
    """The branch that a code takes at a node's split; see `SplitKind`.

    Args:
        tree: The tree.
        node: The node where every row is.
        code: The row's code of the node's feature.
        has_missing: Whether any code may mean missing.
    """
    num_words, subset = tree.subset.shape[-1], tree.subset
    if isinstance(subset, SharedSubsets):
        node_of_words, words = subset.row[node], subset.words
    else:
        node_of_words, words = node, subset

    def read_word(place):
        if isinstance(words, np.ndarray):
            return words[node_of_words, np.minimum(place, num_words - 1)]
        return words.at[node_of_words, place].get(mode="clip")

    branch = branch_of(tree.split_kind[node], tree.code[node], code, read_word if num_words else None)
    if has_missing:
        branch = where(code == tree.missing_code[node], tree.missing_branch[node], branch)
    return branch


def majority_class(tree: NodeFields) -> Int32[AnyArray, " node"]:
    """The class that every node predicts: of equal weights the lowest; of an empty node its parent's.

    For a tree of one output. Computed on the host for a tree that is there.
    """
    library = library_of(tree.count)
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
    """The class that every node predicts: of equal weights the first in an order.

    An empty node predicts as the nearest node of some weight above it.

    Args:
        tree: A tree of classes, on the host.
        class_order: The classes of every output, in the order in which the target declares them.
    """
    labels = []
    for output, order in enumerate(class_order):
        count = np.asarray(output_counts(tree, output))
        is_sorted = (order == np.arange(order.size)).all()
        label = count.argmax(axis=1) if is_sorted else order[count[:, order].argmax(axis=1)]
        empty = np.flatnonzero(count[np.arange(len(count)), label] == 0)
        if empty.size:
            label[empty] = label[_filled_above(tree, np.asarray(tree.weight, np.float64), empty)]
        labels.append(label)
    return np.array(labels)


def class_shares(tree: NodeFields, output: int = 0) -> Float[AnyArray, "node class"]:
    """The share of every class of an output at every node; of an empty node those of the nearest one above with rows.

    On the host in float64 unless the tree is traced, and so are `node_means` and `target_means`. An empty
    node of a traced tree looks at its parent alone: growth leaves none below another.
    """
    return _per_weight(tree, output_counts(tree, output))


def node_means(tree: NodeFields) -> Float[AnyArray, "node column"]:
    """The shares of the classes of all outputs, side by side as in `tree.count`; or the means of the targets."""
    return _per_weight(tree, tree.count if tree.num_classes else tree.target_sum)


def laplace_shares(tree: NodeFields) -> Float[np.ndarray, "node class"]:
    """The shares of the classes of all outputs with Laplace's correction: as if each had one more row."""
    shares = []
    for output in range(len(tree.num_classes)):
        count = np.asarray(output_counts(tree, output), np.float64)
        count = np.where(count.any(axis=1, keepdims=True), count, count[tree.parent])
        shares.append((count + 1) / (count.sum(axis=1, keepdims=True) + count.shape[1]))
    return np.concatenate(shares, axis=1)


def cheapest_class(tree: NodeFields, cost: Float[np.ndarray, "label prediction"]) -> Int[np.ndarray, "1 node"]:
    """The class that every node of a tree of one output predicts where errors have costs: that of the least cost."""
    return (np.asarray(tree.count) @ cost).argmin(axis=1)[None]


def target_means(tree: NodeFields) -> Float[AnyArray, "node output"]:
    """The mean of every target at every node; of an empty node that of the nearest one above with rows."""
    return _per_weight(tree, tree.target_sum)


def _per_weight(tree: NodeFields, sums: Real[AnyArray, "node column"]) -> Float[AnyArray, "node column"]:
    if isinstance(tree.weight, Tracer) or isinstance(tree.parent, Tracer) or isinstance(sums, Tracer):
        weight = jnp.asarray(tree.weight, float)[:, None]
        # As a whole matrix: by a column of it XLA would multiply with reciprocals, which gives other last bits.
        divisor = lax.optimization_barrier(jnp.broadcast_to(jnp.where(weight > 0, weight, 1), sums.shape))
        mean = sums / divisor
        return jnp.where(weight > 0, mean, mean[tree.parent])
    # Forests of many classes have hundreds of megabytes of sums: one new array, and no other of their size.
    weight = np.asarray(tree.weight, np.float64)
    mean = np.asarray(sums) / np.where(weight > 0, weight, 1)[:, None]
    empty = np.flatnonzero(weight <= 0)
    if empty.size:
        mean[empty] = mean[_filled_above(tree, weight, empty)]
    return mean


def _filled_above(
    tree: NodeFields, weight: Float[np.ndarray, " node"], empty: Int[np.ndarray, " empty"]
) -> Int[np.ndarray, " empty"]:
    """The nearest node of some weight above every empty one; the root if there is none."""
    parent = np.asarray(tree.parent)
    above = parent[empty]
    while not np.array_equal(higher := np.where(weight[above] > 0, above, parent[above]), above):
        above = higher
    return above


def children_of(tree: NodeFields, nodes: Int[np.ndarray, " parent"]) -> Int[np.ndarray, " child"]:
    """The children of the nodes, in order."""
    size = tree.num_children[nodes]
    before = np.cumsum(size) - size
    return np.repeat(tree.first_child[nodes] - before, size) + np.arange(size.sum())


def ancestors(tree: NodeFields) -> csr_matrix:
    """Which nodes (columns) lie on the path from its root to every node (rows), itself included."""
    number = np.arange(int(tree.num_nodes))
    node, pairs = number, [(number, number)]
    while np.any(tree.parent[node] != node):
        below = tree.depth[node] > 0
        number, node = number[below], tree.parent[node[below]]
        pairs.append((number, node))
    row, column = (np.concatenate(part) for part in zip(*pairs, strict=True))
    shape = (int(tree.num_nodes),) * 2
    return sparse.csr_matrix((np.ones(row.size, np.int64), (row, column)), shape=shape)


def pad_to_bucket(values: Shaped[AnyArray, "node *column"]) -> Shaped[np.ndarray, "padded *column"]:
    """Pads a table over the nodes with zeros, on the host, so that trees of a like size share a program."""
    return pad_to(values, node_bucket(len(values)))


def pad_nodes(tree: NodeFields) -> NodeFields:
    """Returns the tree with its table padded to a bucket, on the host; a traced tree is returned as it is.

    The padding are leaves that no walk reaches.
    """
    if is_traced(tree):
        return tree
    return jax.tree.map(lambda values: pad_to_bucket(values) if values.ndim else np.asarray(values), tree)
