"""Pruned copies of fitted trees, rates of dropout that suit held-out rows, and leaves as features."""

import copy
import dataclasses
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from jaxtyping import Bool, Int, Shaped
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.dropout.tuning import LEARNING_RATE, STEPS, Tuned, tune
from jaxtree.errors import InvalidInputError, InvalidTypeError, all_or_nothing
from jaxtree.estimators.common.conventions import AnnotatedParameters, Role, allow_tables, check_parameters
from jaxtree.estimators.common.growing import mark_leaves
from jaxtree.estimators.common.prediction import FittedTrees
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.export.models import best_of_search
from jaxtree.sklearn_compat import HasMethods, output_config
from jaxtree.table.reading import check_same_length
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import take_tree
from jaxtree.tree.kinds import kind_of

Fitted = TypeVar("Fitted", bound=BaseTree)


def prune_to(estimator: Fitted, collapsed: Bool[AnyArray, " node"]) -> Fitted:
    """Returns a copy of a fitted estimator whose tree ends at the collapsed nodes; what is below them is gone.

    Args:
        estimator: A fitted tree of jaxtree.
        collapsed: A mask of its `tree_`, such as the functions of `jaxtree.prune` make.

    Raises:
        InvalidInputError: The estimator is none of jaxtree's, or the mask does not have one truth value a node.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, prune
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
        >>> prune_to(tree, prune.cost_complexity(tree.tree_, 0.02) | prune.max_depth(tree.tree_, 2)).get_n_leaves()
        3
    """
    estimator = best_of_search(estimator)
    if not isinstance(estimator, BaseTree):
        raise InvalidInputError(f"estimator must be a fitted tree of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    mask = np.asarray(collapsed)
    if mask.dtype != bool or mask.shape != (estimator.tree_.node_count,):
        raise InvalidInputError(
            f"collapsed must be a mask of the tree's {estimator.tree_.node_count} nodes, got shape {mask.shape} "
            f"of {mask.dtype}"
        )
    return copy.copy(estimator).settle(mark_leaves(take_tree(estimator.tree_, collapsed=mask)))


def tune_dropout(
    estimator: BaseTree,
    X_val: Any,
    y_val: Any,
    *,
    per: str = "tree",
    loss: str | None = None,
    steps: int = STEPS,
    learning_rate: float = LEARNING_RATE,
    sample_weight: Any = None,
) -> Tuned:
    """Returns the rates of dropout pruning of least expected loss on held-out rows; see `jaxtree.dropout.tune`.

    The rows should be none that the tree was grown on: on those the least loss prunes nothing. Rows of classes that the
    estimator has not seen are left out. Where missing values are shared out among the branches, a row whose value is
    missing stays at the node that asks for it.

    Args:
        estimator: A fitted tree of jaxtree, of one output.
        X_val: The held-out rows.
        y_val: Their classes, or numbers.
        per: The part with a rate of its own: "tree" for one p and q, "level" or "node".
        loss: "log_loss" or "accuracy" of classes, "squared_error" of numbers; the first, or the last, if None.
        steps: The steps of the descent.
        learning_rate: Its learning rate.
        sample_weight: The weight of every held-out row; rows of weight 0 are left out.

    Raises:
        InvalidInputError: The estimator has several outputs, the table is not like the fitted one, or an option is not
            allowed.
        InvalidTypeError: The estimator is no tree of jaxtree.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_car_evaluation
        >>> X, y = load_car_evaluation(return_X_y=True, binary=True)
        >>> tree = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
        >>> tuned = tune_dropout(tree, X[1296:], y[1296:], loss="accuracy")
        >>> print(f"{1 - tuned.expected_loss:.3f} instead of {tree.score(X[1296:], y[1296:]):.3f}")
        0.954 instead of 0.861
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    kind = kind_of(estimator)
    if kind is None or not kind.is_one_tree:
        raise InvalidTypeError(f"dropout is tuned for a tree of jaxtree, got {type(estimator).__name__}")
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"dropout is tuned for trees of one output, got one of {estimator.n_outputs_}")
    codes, target = estimator.encode(X_val), estimator.read_target(y_val)[0]
    check_same_length(codes.shape[1], target)
    weight = check_sample_weight(sample_weight, len(target))
    is_used = np.ones(len(target), bool) if weight is None else weight > 0
    if estimator.tree_.num_classes:
        is_used &= target >= 0
    if not is_used.all():
        codes, target, weight = codes[:, is_used], target[is_used], None if weight is None else weight[is_used]
    loss = loss or ("log_loss" if estimator.tree_.num_classes else "squared_error")
    descent: Any = {"steps": steps, "learning_rate": learning_rate}
    return tune(estimator.tree_, codes, target, per=per, loss=loss, weight=weight, **descent)


@dataclasses.dataclass(repr=False, eq=False)
class LeafEncoder(AnnotatedParameters, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Turns a row into the leaf of a tree, or of every tree of a forest, where it ends: a column a leaf.

    Other models take these columns as features. Boosted trees before a linear model made this known (He et al.,
    *Practical lessons from predicting clicks on ads at Facebook*, 2014). A row that a missing value holds up at an
    inner node has no leaf: its columns of that tree are 0.

    Args:
        estimator: A tree or forest of jaxtree; a copy is fitted.
        sparse_output: Whether `transform` returns a sparse matrix, or a dense array, as `set_output` needs for frames.

    Attributes:
        estimator_: The fitted tree or forest.
        n_features_in_: Columns of the fitted table.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> leaves = LeafEncoder(DecisionTreeClassifier(max_depth=2), sparse_output=False).fit(X, y)
        >>> leaves.get_feature_names_out().tolist(), leaves.transform(X[[0, 60]]).tolist()
        (['leaf_1', 'leaf_3', 'leaf_4'], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """

    estimator: Annotated[Any, HasMethods(["fit", "apply"]), Role.FIT]
    sparse_output: Annotated[bool, "boolean", Role.FIT] = dataclasses.field(default=True, kw_only=True)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the tree or forest.

        Args:
            X: A table of shape (rows, columns).
            y: The target of every row.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: A parameter is not allowed; or see the estimator's `fit`.
            InvalidTypeError: The estimator is no tree or forest of jaxtree.
        """
        check_parameters(self)
        if not isinstance(self.estimator, FittedTrees):
            raise InvalidTypeError(
                f"estimator must be a tree or forest of jaxtree, got {type(self.estimator).__name__}"
            )
        estimator: Any = clone(self.estimator)
        self.estimator_ = estimator.fit(X, y, sample_weight=sample_weight)
        # The encoder learns the leaves from the trees, not from rows: some leaves may have none.
        leaves: Any = self._leaves()
        self._encoder = OneHotEncoder(categories=leaves, handle_unknown="ignore", sparse_output=self.sparse_output).fit(
            np.stack([ends[:1] for ends in leaves], axis=1)
        )
        return self

    def transform(self, X: Any) -> Any:
        """Returns 1 in the columns of every row's leaves and 0 elsewhere, of shape (rows, leaves of all trees).

        Raises:
            InvalidInputError: `set_output` asks for frames, which cannot hold the sparse matrix.
        """
        check_is_fitted(self, "estimator_")
        container = output_config("transform", self)["dense"]
        if self.sparse_output and container != "default":
            raise InvalidInputError(
                f"{container} output does not support sparse data: set sparse_output=False to output {container} "
                'dataframes, or disable them by set_output(transform="default")'
            )
        ends = self.estimator_.apply(X)
        return self._encoder.transform(ends.reshape(len(ends), -1))

    def get_feature_names_out(self, input_features: Any = None) -> Shaped[np.ndarray, " leaf"]:
        """Returns the names of the columns: "leaf_7", or of a forest "tree_2_leaf_7", nodes counted from the root.

        Args:
            input_features: Not used; scikit-learn's pipelines pass it.
        """
        check_is_fitted(self, "estimator_")
        leaves, is_forest = self._leaves(), self.estimator_.model_.averages_trees
        prefixes = [f"tree_{number}_" for number in range(len(leaves))] if is_forest else [""]
        names = [f"{prefix}leaf_{leaf}" for prefix, ends in zip(prefixes, leaves, strict=True) for leaf in ends]
        return np.array(names, object)

    @property
    def n_features_in_(self) -> int:
        """Columns of the fitted table."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.n_features_in_

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values, and that a target is needed."""
        tags = allow_tables(super().__sklearn_tags__())
        tags.target_tags.required = True
        return tags

    def _leaves(self) -> list[Int[np.ndarray, " leaf"]]:
        """Returns the leaves of every tree."""
        return [np.flatnonzero(tree.is_leaf) for tree in self.estimator_.model_.forest]
