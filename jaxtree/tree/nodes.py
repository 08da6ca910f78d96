"""The node table: what it holds, what follows for a node, and trees taken out of it."""

import dataclasses
import enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.core import Tracer
from jaxtyping import Bool, Float, Int, Int32, Real, UInt, UInt8

from jaxtree.arrays import AnyArray
from jaxtree.buckets import node_bucket, row_bucket


class SplitKind(enum.IntEnum):
    """How a split sends a code to a branch; a missing value has a branch of its own choice, `Tree.missing_branch`.

    THRESHOLD: codes up to the split's code go to branch 0, larger ones to branch 1.
    MULTIWAY: every code has the branch of its number; a code past the branches stays at the node.
    ONE_VS_REST: the split's code goes to branch 1, every other to branch 0.
    SUBSET: the codes of the split's subset go to branch 1, every other to branch 0.
    """

    THRESHOLD = 0
    MULTIWAY = 1
    ONE_VS_REST = 2
    SUBSET = 3


CODES_PER_WORD = 32
"""Codes of a subset that one word of bits tells of."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Tree:
    """One or more decision trees in one table of nodes.

    A tree fresh from `grow` has `num_nodes` of its capacity in use and thresholds in codes; the tree of
    an estimator is as long as it has nodes, with thresholds in original units and float64 throughout.
    Under `jax.vmap` the fields have the batch's axes in front.
    A leaf has no split: what stands in its split's fields has no meaning to jaxtree.

    The table also answers to the names of scikit-learn's `sklearn.tree` trees (`children_left`, `value`, ...),
    read-only, so that tools made for those work on it; an estimator's tree therefore has scikit-learn's mark -2 in
    `feature` and `threshold` of a leaf. Those that a walk needs raise AttributeError unless every split is a
    threshold, for a walk that compares values with `threshold` would be wrong.

    Attributes:
        feature: The feature that a node splits on.
        code: The split's code, see `SplitKind`.
        next_code: The smallest code present in the node that is larger than `code`.
        threshold: Values up to it go to branch 0 of a threshold split.
        split_kind: A `SplitKind`.
        subset: Bit c % 32 of word c // 32 says whether code c is in a subset split's subset; no words if the
            table has no such split.
        missing_code: The code that means missing in the feature.
        missing_branch: The branch of a missing value; at `num_children` or more the row stays at the node.
        first_child: The node's first child.
        num_children: The number of branches; 0 for a leaf.
        parent: The node above; a root is its own parent.
        depth: The number of edges to the root.
        root: The root of the node's tree.
        weight: The training weight at the node.
        count: The training weight of every class, the outputs side by side; no columns for regression.
        target_sum: The weighted sum of every target; no columns for classification.
        num_rows: The number of training rows of positive weight at the node.
        impurity: The node's impurity under the criterion it was grown with.
        gain: The gain of the node's split, 0 for a leaf.
        num_nodes: How many nodes there are; the rest of the table is padding.
        num_classes: The number of classes of every output, static; empty for regression.
        num_features: The number of features of the table, static; 0 where that is not known.
    """

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

    # scikit-learn's names for a binary tree.

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.num_nodes)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.is_leaf[: self.node_count]))

    @property
    def max_depth(self) -> int:
        """Depth of the deepest node."""
        return int(np.max(self.depth[: self.node_count]))

    @property
    def children_left(self) -> Int[np.ndarray, " node"]:
        """The child of branch 0; -1 for a leaf. Raises AttributeError unless every split is a threshold."""
        return self._binary_child(0)

    @property
    def children_right(self) -> Int[np.ndarray, " node"]:
        """The child of branch 1; -1 for a leaf. Raises AttributeError unless every split is a threshold."""
        return self._binary_child(1)

    @property
    def missing_go_to_left(self) -> UInt8[np.ndarray, " node"]:
        """1 where a missing value takes branch 0, else 0; 0 for a leaf.

        Raises AttributeError as `children_left` does, and where a missing value takes no branch but stays or is shared
        out.
        """
        self._check_walkable()
        is_leaf, branch = np.asarray(self.is_leaf), np.asarray(self.missing_branch)
        if np.any(~is_leaf & (branch > 1)):
            raise AttributeError(
                "missing_go_to_left exists for trees that send every missing value to a branch, and this tree shares "
                "it out or keeps it at the node; see missing_branch"
            )
        return (~is_leaf & (branch == 0)).astype(np.uint8)

    @property
    def n_node_samples(self) -> Int[np.ndarray, " node"]:
        """Training rows at every node."""
        return np.asarray(self.num_rows, np.int64)

    @property
    def weighted_n_node_samples(self) -> Float[np.ndarray, " node"]:
        """Training weight at every node."""
        return np.asarray(self.weight, np.float64)

    @property
    def value(self) -> Float[np.ndarray, "node output class"]:
        """Share of every class at every node, or the mean of every target, `class` being 1."""
        if not self.num_classes:
            return target_means(self)[:, :, None]
        shares = [class_shares(self, output) for output in range(len(self.num_classes))]
        most = max(self.num_classes)
        return np.stack([np.pad(s, ((0, 0), (0, most - s.shape[1]))) for s in shares], axis=1)

    @property
    def n_classes(self) -> Int[np.ndarray, " output"]:
        """Number of classes of every output, 1 for a number."""
        return np.array(self.num_classes or (1,) * self.target_sum.shape[1])

    @property
    def max_n_classes(self) -> int:
        """Number of classes of the output that has most."""
        return int(self.n_classes.max())

    @property
    def n_features(self) -> int:
        """Number of features of the table; an AttributeError for a tree that is no estimator's."""
        if not self.num_features:
            raise AttributeError("n_features is known for the trees of estimators only, whose table has a schema")
        return self.num_features

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return len(self.n_classes)

    @property
    def capacity(self) -> int:
        """Number of nodes that the table has room for."""
        return self.feature.shape[-1]

    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """The node where the walk of every row ends: `apply_to_values` of a fitted tree, in float64.

        A column of numbers is a feature as it is; see `Encoder.values` for the features of other tables. Sparse
        matrices are held with their zeros.

        Args:
            X: Numbers of shape (rows, features): an array, or a sparse matrix of scipy.
        """
        from jaxtree.tree.walking import apply_to_values  # which is written for this table

        values = np.asarray(X.toarray() if scipy.sparse.issparse(X) else X, np.float64)
        padding = row_bucket(len(values)) - len(values)
        ends = apply_to_values(self, np.pad(values, ((0, padding), (0, 0))))
        return np.asarray(ends)[: len(values)].astype(np.int64)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Which nodes (columns) every row (rows) comes through, its end included; X as for `apply`."""
        from jaxtree.tree.walking import ancestors  # which is written for this table

        return ancestors(self)[self.apply(X)]

    def predict(self, X: Any) -> Float[np.ndarray, "row ..."]:
        """What `value` holds where the walk of every row ends, without the axis of outputs if there is one.

        Example:
            >>> from jaxtree import DecisionTreeClassifier
            >>> DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 0, 1]).tree_.predict(np.array([[2.4], [2.6]]))
            array([[1., 0.], [0., 1.]])
        """
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def _check_walkable(self) -> None:
        """Raises AttributeError if the walk of some row is another than `x <= threshold` says.

        Every walk of scikit-learn's tools needs the children, so that these names are enough to stop it; `feature` and
        `threshold` are fields, which jaxtree itself reads.
        """
        is_threshold = (np.asarray(self.split_kind) == SplitKind.THRESHOLD) & (np.asarray(self.num_children) == 2)
        if not np.all(is_threshold | np.asarray(self.is_leaf)):
            raise AttributeError(
                "scikit-learn's names for children exist for trees whose splits all are x <= threshold, and this tree "
                "splits by category: jaxtree.export_text and jaxtree.plot.plot_tree draw it, split_kind and "
                "first_child tell its splits; jaxtree.to_sklearn exports the trees that scikit-learn can have"
            )

    def _binary_child(self, branch: int) -> Int[np.ndarray, " node"]:
        self._check_walkable()
        return np.where(self.is_leaf, -1, np.asarray(self.first_child) + branch).astype(np.int64)


def majority_class(tree: Tree) -> Int32[AnyArray, " node"]:
    """The class that every node predicts: of equal weights the lowest; of an empty node its parent's.

    For a tree of one output. Computed on the host for a tree that is there.
    """
    library = jnp if isinstance(tree.count, jax.Array) else np
    largest = library.max(tree.count, axis=1, keepdims=True)
    classes = library.arange(tree.count.shape[1], dtype=np.int32)
    majority = library.min(library.where(tree.count == largest, classes, classes[-1]), axis=1)
    return library.where(largest[:, 0] > 0, majority, majority[tree.parent])


def output_counts(tree: Tree, output: int = 0) -> Real[AnyArray, "node class"]:
    """The training weight of every class of one output."""
    start = sum(tree.num_classes[:output])
    return tree.count[:, start : start + tree.num_classes[output]]


def class_shares(tree: Tree, output: int = 0) -> Float[np.ndarray, "node class"]:
    """The share of every class of an output at every node; of an empty node its parent's. On the host."""
    return _per_weight(tree, np.asarray(output_counts(tree, output), np.float64))


def target_means(tree: Tree) -> Float[np.ndarray, "node output"]:
    """The mean of every target at every node; of an empty node its parent's. On the host."""
    return _per_weight(tree, np.asarray(tree.target_sum, np.float64))


def _per_weight(tree: Tree, sums: Float[np.ndarray, "node column"]) -> Float[np.ndarray, "node column"]:
    weight = np.asarray(tree.weight, np.float64)[:, None]
    mean = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
    return np.where(weight > 0, mean, mean[np.asarray(tree.parent)])


def take_tree(tree: Tree, *, root: int = 0, collapsed: Bool[np.ndarray, " node"] | None = None) -> Tree:
    """Returns one tree alone, on the host: without padding, other trees and what is below collapsed nodes.

    Its nodes stand in breadth-first order, whatever order they were made in.
    """
    tree = jax.tree.map(np.asarray, tree)
    stops = tree.is_leaf if collapsed is None else tree.is_leaf | np.asarray(collapsed)
    level, levels = np.array([root]), []
    while level.size:
        levels.append(level)
        level = children_of(tree, level[~stops[level]])
    old = np.concatenate(levels)
    new = np.zeros(stops.size, np.int32)
    new[old] = np.arange(old.size)
    leaf = stops[old]
    taken = jax.tree.map(lambda x: x[old] if x.ndim else x, tree)
    return dataclasses.replace(
        taken,
        parent=new[taken.parent],
        root=np.zeros_like(taken.root),
        first_child=np.where(leaf, 0, new[taken.first_child]).astype(np.int32),
        num_children=np.where(leaf, 0, taken.num_children).astype(np.int32),
        gain=np.where(leaf, 0, taken.gain),
        num_nodes=np.array(old.size, np.int32),
    )


def children_of(tree: Tree, nodes: Int[np.ndarray, " parent"]) -> Int[np.ndarray, " child"]:
    """The children of the nodes, in order."""
    size = tree.num_children[nodes]
    before = np.cumsum(size) - size
    return np.repeat(tree.first_child[nodes] - before, size) + np.arange(size.sum())


def pad_nodes(tree: Tree) -> Tree:
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
