"""The leaves of trees as features for other models."""

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Int, Shaped
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils._param_validation import HasMethods
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.conventions import allow_tables, check_parameters
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.tree import Tree


@dataclasses.dataclass(repr=False, eq=False)
class LeafEncoder(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Tells other models in which leaf of a tree, or of every tree of a forest, a row ends, a column a leaf.

    Boosted trees before a linear model made this known (He et al., *Practical lessons from predicting clicks on ads at
    Facebook*, 2014). A row that a missing value holds up at an inner node has no leaf: its columns of
    that tree are 0.

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

    estimator: Any
    sparse_output: bool = dataclasses.field(default=True, kw_only=True)

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "apply"])],
        "sparse_output": ["boolean"],
    }

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
        if not isinstance(self.estimator, BaseTree | BaseForest):
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
        container = _get_output_config("transform", self)["dense"]
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
        leaves = self._leaves()
        prefixes = [f"tree_{number}_" for number in range(len(leaves))] if self._is_forest() else [""]
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

    def _is_forest(self) -> bool:
        return hasattr(self.estimator_, "forest_")

    def _leaves(self) -> list[Int[np.ndarray, " leaf"]]:
        """The leaves of every tree."""
        trees: list[Tree] = list(self.estimator_.forest_) if self._is_forest() else [self.estimator_.tree_]
        return [np.flatnonzero(tree.is_leaf) for tree in trees]
