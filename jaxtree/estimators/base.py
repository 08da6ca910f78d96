"""What all tree estimators share: from a table to a tree, and from a tree to predictions."""

import abc
from typing import Any, Self

import jax
import numpy as np
import scipy.sparse
from jaxtyping import Float, Int, PRNGKeyArray, Shaped, UInt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted, validate_data

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.growing import Recipe, grow_table, in_units
from jaxtree.estimators.monotone import clip_to_bounds
from jaxtree.estimators.predicting import PredictingTree
from jaxtree.pruning.best_first import best_first
from jaxtree.pruning.cost_complexity import cost_complexity
from jaxtree.pruning.dropout import Dropout
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import take_rows
from jaxtree.table.schema import Schema
from jaxtree.table.target import ClassTarget, check_same_length, encode_classes, encode_numbers
from jaxtree.table.weights import check_sample_weight, class_weights
from jaxtree.tree import Tree, class_shares, output_counts, take_tree, target_means

PROBABILITY_TOLERANCE = 1e-6
"""By how much shares of classes may differ that are mixed from several leaves and count as equal."""


class BaseTree(BaseEstimator):
    """A single tree on any table.

    A subclass has the parameters, and says by `_encoder` and `_recipe` what they mean to growth.
    """

    pruning: Dropout | None
    random_state: Any
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0
    n_features_in_: int
    tree_: Tree

    @abc.abstractmethod
    def _encoder(self) -> Encoder:
        """An encoder for the estimator's tables."""

    @abc.abstractmethod
    def _recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """How to grow on so many rows with such weights; called when the schema is known."""

    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the node of `tree_` where the walk of every row ends.

        A row whose category has no branch ends at an inner node, and so does one whose value is missing
        where missing values are shared out among the branches.
        """
        return self._walk(X)[1]

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
        """Tells scikit-learn that tables may hold words and missing values, and targets several columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _check_parameters(self) -> None:
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise InvalidInputError(str(error)) from None

    def _read(self, X: Any, y: Any) -> UInt[np.ndarray, "feature row"]:
        """Learns the schema of the table, and returns its codes."""
        self.encoder_ = self._encoder()
        codes = self.encoder_.fit_transform(X)
        check_same_length(codes.shape[1], y)
        validate_data(self, X, skip_check_array=True)
        return codes

    def _grow(
        self, X: Any, codes, target, num_classes: tuple[int, ...], weight: Float[np.ndarray, " row"] | None
    ) -> Self:
        if weight is not None and not weight.all():
            # Not only the growth, but also categories and bins are to be those of the table without such rows.
            rows = np.flatnonzero(weight)
            codes = self.encoder_.fit_transform(take_rows(X, rows))
            target, weight = target[:, rows], weight[rows]
        recipe = self._recipe(codes.shape[1], weight)
        tree = grow_table(codes, self.schema_, target, num_classes, weight, recipe)
        tree = in_units(self._prune(tree), self.schema_, recipe)
        self.tree_ = tree if recipe.monotone is None else clip_to_bounds(tree, recipe.monotone)
        self._predicting = PredictingTree(self.tree_)
        return self

    def _prune(self, tree: Tree) -> Tree:
        if self.max_leaf_nodes is not None:
            tree = take_tree(tree, collapsed=best_first(tree, self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            tree = take_tree(tree, collapsed=cost_complexity(tree, self.ccp_alpha))
        if self.pruning is not None:
            tree = take_tree(tree, collapsed=np.asarray(self.pruning.collapsed(tree, key=key_of(self.random_state))))
        return tree

    def _walk(self, X: Any) -> tuple[Float[np.ndarray, "row feature"], Int[np.ndarray, " row"]]:
        """What thresholds are compared with, and the node where every row ends."""
        check_is_fitted(self)
        values = self.encoder_.values(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return values, self._predicting.apply(values)


class BaseTreeClassifier(ClassifierMixin, BaseTree):
    """A single classification tree; the parts of several outputs are lists."""

    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame.
            y: The class of every row, numbers or strings; several columns for several outputs.
            sample_weight: The weight of every row; a row of weight 0 is left out.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        self._check_parameters()
        target = encode_classes(y)
        self._set_classes(target)
        codes = self._read(X, target.codes[0])
        weight = check_sample_weight(sample_weight, codes.shape[1])
        factor = class_weights(self.class_weight, target)
        if factor is not None:
            weight = factor if weight is None else weight * factor
        num_classes = tuple(len(classes) for classes in target.classes)
        self._grow(X, codes, target.codes, num_classes, weight)
        self._label = [self._label_of_nodes(output) for output in range(self.n_outputs_)]
        return self

    def predict(self, X: Any) -> Shaped[np.ndarray, "row *output"]:
        """Returns the class of every row: the most frequent one of its leaf, of equal ones the first.

        Classes come in the order of `classes_`, unless the dtype of the target declared another
        (and the estimator heeds it, as `C45Classifier` does).
        """
        values, end = self._walk(X)
        classes = self._by_output(self.classes_)
        labels = [self._labels_of_rows(values, end, output) for output in range(self.n_outputs_)]
        columns = [names[label] for names, label in zip(classes, labels, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the share of every class in the row's leaf, classes in the order of `classes_`."""
        values, end = self._walk(X)
        shares = [self._predicting.mean(values, end, self._shares(output)) for output in range(self.n_outputs_)]
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the logarithms of what `predict_proba` returns."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def _set_classes(self, target: ClassTarget) -> None:
        self.n_outputs_ = len(target.classes)
        classes, order = list(target.classes), [np.arange(len(names)) for names in target.classes]
        self.n_classes_ = len(classes[0]) if self.n_outputs_ == 1 else np.array([len(names) for names in classes])
        self.classes_ = classes[0] if self.n_outputs_ == 1 else classes
        self.class_order_ = order[0] if self.n_outputs_ == 1 else order

    def _by_output(self, parts: Any) -> list:
        return [parts] if self.n_outputs_ == 1 else parts

    def _shares(self, output: int) -> Float[np.ndarray, "node class"]:
        """The share of every class at every node."""
        return class_shares(self.tree_, output)

    def _label_of_nodes(self, output: int) -> Int[np.ndarray, " node"]:
        """The class that every node predicts: of equal weights the first; of an empty node its parent's."""
        count = np.asarray(output_counts(self.tree_, output))
        order = self._by_output(self.class_order_)[output]
        label = order[count[:, order].argmax(axis=1)]
        return np.where(count.any(axis=1), label, label[self.tree_.parent])

    def _labels_of_rows(self, values, end: Int[np.ndarray, " row"], output: int) -> Int[np.ndarray, " row"]:
        label = self._label[output][end]
        held = np.flatnonzero(~self.tree_.is_leaf[end])
        if held.size:
            order = self._by_output(self.class_order_)[output]
            shares = self._predicting.mean(values[held], end[held], self._shares(output))[:, order]
            is_most = shares >= shares.max(axis=1, keepdims=True) - PROBABILITY_TOLERANCE
            label[held] = order[is_most.argmax(axis=1)]
        return label


class BaseTreeRegressor(RegressorMixin, BaseTree):
    """A single regression tree."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row; a row of weight 0 is left out.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        self._check_parameters()
        target = encode_numbers(y)
        self._check_target(target.values)
        self._is_vector = target.is_vector
        self.n_outputs_ = len(target.values)
        codes = self._read(X, target.values[0])
        weight = check_sample_weight(sample_weight, codes.shape[1])
        return self._grow(X, codes, target.values, (), weight)

    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the mean of every row's leaf, of shape (rows,) or for several outputs (rows, outputs)."""
        values, end = self._walk(X)
        mean = self._predicting.mean(values, end, target_means(self.tree_))
        return mean[:, 0] if self._is_vector else mean

    def _check_target(self, values: Float[np.ndarray, "output row"]) -> None:
        """Raises InvalidInputError if the criterion does not allow a target."""


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
