"""A tree: its table of nodes, with scikit-learn's names for it."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from jaxtree.buckets import pad_to, row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.lazy import csr_matrix, issparse, register_dataclass
from jaxtree.tree.nodes import NodeFields, SplitKind, ancestors, class_shares, target_means
from jaxtree.tree.walk import apply_to_values


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Tree(NodeFields):
    """One or more decision trees in one table of nodes.

    A tree fresh from `grow` has `num_nodes` of its capacity in use and thresholds in codes; the tree of
    an estimator is as long as it has nodes, with thresholds in original units and float64 throughout.
    Under `jax.vmap` the fields have the batch's axes in front.
    A leaf has no split: jaxtree ignores its split's fields.

    The table also answers to the names of scikit-learn's `sklearn.tree` trees (`children_left`, `value`, ...),
    read-only, so that tools made for those work on it; an estimator's tree therefore has scikit-learn's mark -2 in
    `feature` and `threshold` of a leaf. The names that a walk needs raise AttributeError unless every split is a
    threshold, for a walk that compares values with `threshold` would be wrong.

    Attributes:
        feature: The feature that a node splits on.
        code: The split's code, see `SplitKind`.
        next_code: The smallest code present in the node that is larger than `code`.
        threshold: Values up to it go to branch 0 of a threshold split.
        split_kind: A `SplitKind`.
        subset: Bit c % 32 of word c // 32 is 1 if code c is in a subset split's subset; no words if the
            table has no such split. An array, or `SharedSubsets`, which is read like one.
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
    def n_features(self) -> int:
        """Number of features of the table; an AttributeError for a tree that is no estimator's."""
        if not self.num_features:
            raise AttributeError("n_features is known for the trees of estimators only, whose table has a schema")
        return self.num_features

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return len(self.n_classes)

    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """The node where the walk of every row ends: `apply_to_values` of a fitted tree, in float64.

        A column of numbers is a feature as it is; see `Encoder.values` for the features of other tables. Sparse
        matrices become dense.

        Args:
            X: Numbers of shape (rows, features): an array, or a sparse matrix of scipy.

        Raises:
            InvalidInputError: X has another shape, or other features than the tree's.
        """
        values = np.asarray(X.toarray() if issparse(X) else X, np.float64)
        if self.num_features and values.ndim == 2 and values.shape[1] != self.num_features:
            raise InvalidInputError(f"X must have {self.num_features} features, as in fit, got {values.shape[1]}")
        if values.ndim != 2:
            raise InvalidInputError(f"X must have the shape (row, feature), got {values.shape}")
        ends = apply_to_values(self, pad_to(values, row_bucket(len(values))))
        return np.asarray(ends)[: len(values)].astype(np.int64)

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes (columns) every row (rows) comes through, its end included; X as for `apply`."""
        return ancestors(self)[self.apply(X)]

    def predict(self, X: Any) -> Float[np.ndarray, "row ..."]:
        """The `value` of the node where the walk of every row ends, without the axis of outputs if there is one.

        Example:
            >>> from jaxtree import DecisionTreeClassifier
            >>> DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 0, 1]).tree_.predict(np.array([[2.4], [2.6]]))
            array([[1., 0.], [0., 1.]])
        """
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def _check_walkable(self) -> None:
        """Raises AttributeError if the walk of some row does not follow `x <= threshold`.

        Every walk of scikit-learn's tools needs the children, so that these names are enough to stop it; `feature` and
        `threshold` are fields, which jaxtree itself reads.
        """
        is_threshold = (np.asarray(self.split_kind) == SplitKind.THRESHOLD) & (np.asarray(self.num_children) == 2)
        if not np.all(is_threshold | np.asarray(self.is_leaf)):
            raise AttributeError(
                "scikit-learn's names for children exist for trees whose splits all are x <= threshold, and this tree "
                "splits by category: jaxtree.export_text and jaxtree.plot.plot_tree draw it, split_kind and "
                "first_child describe its splits; jaxtree.to_sklearn exports the trees that scikit-learn can have"
            )

    def _binary_child(self, branch: int) -> Int[np.ndarray, " node"]:
        self._check_walkable()
        return np.where(self.is_leaf, -1, np.asarray(self.first_child) + branch).astype(np.int64)
