"""What all tree estimators share: from a table to a tree, and from a tree to predictions."""

import abc
import dataclasses
from typing import Any, Self

import jax
import numpy as np
import scipy.sparse
from jaxtyping import Float, Int, Int32, PRNGKeyArray, Shaped, UInt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted, validate_data

from jaxtree.buckets import bin_bucket, capacity_bucket, class_bucket, feature_bucket, row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.growth.criteria import Criterion
from jaxtree.growth.grow import grow_completely
from jaxtree.growth.level import Features, Limits
from jaxtree.growth.units import in_original_units
from jaxtree.pruning.dropout import Dropout
from jaxtree.table.binning import round_down_to_float32
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.table.target import check_same_length, encode_target
from jaxtree.tree import SplitKind, Tree, apply_to_values, class_shares, majority_class, pad_nodes, take_tree

ROWS_AT_A_TIME = 2**16
"""Rows predicted in one call, which bounds the memory of a prediction."""


class BaseTreeClassifier(ClassifierMixin, BaseEstimator):
    """A single classification tree on any table.

    A subclass has the parameters, and says by `_encoder`, `_criterion`, `_limits` and `_split_kind` what
    they mean to growth.
    """

    pruning: Dropout | None
    random_state: Any
    n_features_in_: int
    _criterion: Criterion
    _split_kind: SplitKind

    @abc.abstractmethod
    def _encoder(self) -> Encoder:
        """An encoder for the estimator's tables."""

    @abc.abstractmethod
    def _limits(self, num_rows: int) -> Limits:
        """The limits of growth on so many rows."""

    def fit(self, X: Any, y: Any) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame.
            y: The class of every row, numbers or strings.

        Raises:
            InvalidInputError: The table, the target or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        self._check_parameters()
        self.classes_, label = encode_target(y)
        self.encoder_ = self._encoder()
        codes = self.encoder_.fit_transform(X)
        check_same_length(codes.shape[1], label)
        validate_data(self, X, skip_check_array=True)
        limits = self._limits(label.size)
        split_kind = np.where(self.schema_.is_categorical, self._split_kind, SplitKind.THRESHOLD).astype(np.int32)
        grown = _grow_padded(codes, label, self.schema_, split_kind, limits, self._criterion, self.classes_.size)
        self.tree_ = in_original_units(self._prune(grown), self.schema_, self._criterion)
        self._predicting = _PredictingTree(self.tree_)
        return self

    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the class of every row: the most frequent one of its leaf, of equal ones the lowest."""
        node = self.apply(X)
        return self.classes_[self._predicting.majority[node]]

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the share of every class in the row's leaf, classes in the order of `classes_`."""
        node = self.apply(X)
        return self._predicting.shares[node]

    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the node of `tree_` where the walk of every row ends.

        A row whose category has no branch ends at an inner node.
        """
        check_is_fitted(self)
        values = self.encoder_.values(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._predicting.apply(values)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Returns the nodes on the path of every row, as a sparse matrix of shape (rows, nodes)."""
        return _ancestors(self.tree_)[self.apply(X)]

    def encode(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of a table, as `jaxtree.apply` and `jaxtree.dropout` take them."""
        check_is_fitted(self)
        return self.encoder_.transform(X)

    def get_depth(self) -> int:
        """Returns the depth of the deepest leaf; a single leaf has depth 0."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Returns the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table: all that turns codes back into words."""
        return self.encoder_.schema_

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return self.classes_.size

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the summed weighted gain that the splits on each column have (Breiman et al., 1984)."""
        check_is_fitted(self)
        tree = self.tree_
        column = np.array([feature.column for feature in self.schema_.features])
        split = np.flatnonzero(~tree.is_leaf)
        gain = tree.weighted_n_node_samples[split] * tree.gain[split]
        importance = np.bincount(column[tree.feature[split]], gain, minlength=self.n_features_in_)
        return importance / importance.sum() if importance.sum() > 0 else importance

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _check_parameters(self) -> None:
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise InvalidInputError(str(error)) from None

    def _prune(self, tree: Tree) -> Tree:
        if self.pruning is None:
            return tree
        collapsed = self.pruning.collapsed(tree, key=key_of(self.random_state))
        return take_tree(tree, collapsed=np.asarray(collapsed))


class _PredictingTree:
    """A fitted tree made ready for prediction: padded to a bucket, with thresholds in both float types."""

    def __init__(self, tree: Tree):
        self.majority = np.asarray(majority_class(tree))
        self.shares = class_shares(tree)
        double = pad_nodes(tree)
        single = round_down_to_float32(double.threshold)
        self._trees = {
            np.dtype(np.float64): double,
            np.dtype(np.float32): dataclasses.replace(double, threshold=single),
        }

    def apply(self, values: Float[np.ndarray, "row feature"]) -> Int[np.ndarray, " row"]:
        tree = self._trees[values.dtype]
        starts = range(0, len(values), ROWS_AT_A_TIME)
        return np.concatenate([_apply_to_block(tree, values[start : start + ROWS_AT_A_TIME]) for start in starts])


def _apply_to_block(tree: Tree, values: Float[np.ndarray, "row feature"]) -> Int[np.ndarray, " row"]:
    """Walks a block of rows, padded to a bucket so that tables of a like length share a program."""
    num_rows = len(values)
    padding = min(row_bucket(num_rows), ROWS_AT_A_TIME) - num_rows
    if padding:
        values = np.pad(values, ((0, padding), (0, 0)))
    return np.asarray(apply_to_values(tree, values))[:num_rows].astype(np.int64)


def _grow_padded(
    codes: UInt[np.ndarray, "feature row"],
    label: Int32[np.ndarray, " row"],
    schema: Schema,
    split_kind: Int32[np.ndarray, " feature"],
    limits: Limits,
    criterion: Criterion,
    num_classes: int,
) -> Tree:
    """Grows one tree with all sizes padded to buckets, in a node table that is large enough."""
    num_features, num_rows = codes.shape
    add_features, add_rows = feature_bucket(num_features) - num_features, row_bucket(num_rows) - num_rows
    padded = np.pad(codes, ((0, add_features), (0, add_rows)))
    features = Features(*(np.pad(x, (0, add_features)) for x in (split_kind, schema.num_codes)))
    kinds = tuple(SplitKind(kind) for kind in np.unique(split_kind))
    tree = grow_completely(
        padded,
        np.pad(label, (0, add_rows)),
        (np.arange(num_rows + add_rows) < num_rows).astype(np.int32),
        features,
        limits,
        num_classes=class_bucket(num_classes),
        # Small multiway tables share one program, whatever the number of their categories.
        num_bins=bin_bucket(max(int(schema.num_codes.max()), 2 if kinds == (SplitKind.THRESHOLD,) else 8)),
        # No bound for multiway trees, whose empty branches take nodes too.
        capacity=capacity_bucket(min(2 * num_rows, 2 ** (min(int(limits.max_depth), 30) + 1))),
        criterion=criterion,
        # Tables with categories share one program, whichever kinds they mix.
        kinds=kinds if kinds == (SplitKind.THRESHOLD,) else (SplitKind.THRESHOLD, kinds[-1]),
    )
    tree = take_tree(tree)
    return dataclasses.replace(tree, count=tree.count[:, :num_classes])


def key_of(random_state: int | np.random.RandomState | None) -> PRNGKeyArray:
    """Returns `jax.random.key(random_state)`, or a key drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return jax.random.key(int(random_state))
    return jax.random.key(check_random_state(random_state).randint(2**31 - 1))


def _ancestors(tree: Tree) -> scipy.sparse.csr_matrix:
    """Which nodes (columns) lie on the path from the root to every node (rows), itself included."""
    number = np.arange(tree.node_count)
    node, pairs = number, [(number, number)]
    while np.any(tree.parent[node] != node):
        below = tree.depth[node] > 0
        number, node = number[below], tree.parent[node[below]]
        pairs.append((number, node))
    row, column = (np.concatenate(part) for part in zip(*pairs, strict=True))
    shape = (tree.node_count, tree.node_count)
    return scipy.sparse.csr_matrix((np.ones(row.size, np.int64), (row, column)), shape=shape)
