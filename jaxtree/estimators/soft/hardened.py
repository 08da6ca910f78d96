"""What `harden` makes of soft trees: ordinary trees, whose gates decide."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.exceptions import NotFittedError

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import allow_tables
from jaxtree.estimators.checks import check_names
from jaxtree.estimators.files.registry import KeptInFiles
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.soft.over_planes import planes_in_terms, thresholds_on_planes
from jaxtree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.export.planes import Planes
from jaxtree.soft.harden import Hardened
from jaxtree.soft.oblique import ObliqueTree
from jaxtree.table.encoder import Encoder
from jaxtree.table.source import is_source
from jaxtree.tree import Tree


class _HardTree(KeptInFiles, BaseEstimator):
    """An oblique tree on any table; it is made by `harden`, not by `fit`.

    Attributes:
        tree_: The `jaxtree.soft.ObliqueTree`.
        agreement_: How far it says what the soft tree says of the rows that it was hardened on, see
            `jaxtree.soft.Hardened`.
    """

    tree_: ObliqueTree
    agreement_: float
    encoder_: Encoder
    _parameter_constraints: ClassVar[dict] = {}

    def fit(self, X: Any, y: Any) -> Any:
        """Raises InvalidInputError: fit a soft tree, and harden it."""
        raise InvalidInputError("a hardened tree cannot be fitted: fit a soft tree, and call its harden()")

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends."""
        return self.tree_.apply(self._values(X))

    def export_text(self) -> str:
        """Returns the tree as text, see `jaxtree.soft.ObliqueTree.export_text`."""
        self._check()
        return self.tree_.export_text()

    def get_depth(self) -> int:
        """Returns the depth of the deepest leaf."""
        self._check()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Returns the number of leaves."""
        self._check()
        return self.tree_.n_leaves

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values."""
        tags = allow_tables(super().__sklearn_tags__())
        tags.requires_fit = False
        return tags

    def _planes(self) -> Planes:
        """The planes, in terms of the table."""
        return planes_in_terms(self.tree_)

    def _over_planes(self, column_names: Sequence[str] | None = None) -> Any:
        """The same tree as one of thresholds on a table of its planes, which is what printed forms know."""
        self._check()
        tree, schema = thresholds_on_planes(self.tree_, column_names)
        of_classes = is_classifier(self)
        over: Any = DecisionTreeClassifier() if of_classes else DecisionTreeRegressor()
        for name in ("classes_", "n_classes_"):
            if hasattr(self, name):
                setattr(over, name, getattr(self, name))
        num_classes = tree.num_classes
        over.n_features_in_ = schema.num_features
        over.n_outputs_ = len(num_classes) if of_classes else tree.target_sum.shape[1]
        if of_classes:
            order = [np.arange(number) for number in num_classes]
            over.class_order_ = order[0] if len(order) == 1 else order
        over.encoder_ = Encoder()
        over.encoder_.schema_ = schema
        return over._settle(tree)

    def _check(self) -> None:
        if not hasattr(self, "tree_"):
            raise NotFittedError(
                f"This {type(self).__name__} holds no tree: it is made by the harden() of a soft tree."
            )

    def _values(self, X: Any) -> Float[np.ndarray, "row value"]:
        self._check()
        values = self.encoder_.values(X)
        if not is_source(X):
            check_names(self, X, reset=False)
        return values


class HardTreeClassifier(ScoresSources, ClassifierMixin, _HardTree):
    """A hardened oblique tree of classes: the `harden()` of a `SoftTreeClassifier`."""

    classes_: Shaped[np.ndarray, " class"]

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row's leaf."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @part_by_part
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the share of every class in the row's leaf, classes in the order of `classes_`."""
        return self.tree_.predict(self._values(X))


class HardTreeRegressor(ScoresSources, RegressorMixin, _HardTree):
    """A hardened oblique tree of numbers: the `harden()` of a `SoftTreeRegressor`."""

    _is_vector: bool

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns what every row's leaf says."""
        said = self.tree_.predict(self._values(X))
        return said[:, 0] if self._is_vector else said


OF_TABLE = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_", "n_outputs_", "_beside", "_is_vector")
"""What a hardened tree takes over from the soft one."""


def hard_estimator(soft: Any, hardened: Hardened) -> Any:
    """An estimator of a hardened tree: a `DecisionTree...` of a node table, else one of an oblique tree.

    Args:
        soft: The fitted soft estimator.
        hardened: Its tree made hard, its leaves in units of the target.
    """
    of_classes = is_classifier(soft)
    estimator: Any
    if isinstance(hardened.tree, Tree):
        estimator = (DecisionTreeClassifier if of_classes else DecisionTreeRegressor)(max_depth=max(soft.depth_, 1))
    else:
        estimator = HardTreeClassifier() if of_classes else HardTreeRegressor()
    for name in OF_TABLE:
        if hasattr(soft, name):
            setattr(estimator, name, getattr(soft, name))
    estimator.encoder_ = Encoder(max_categories=soft.max_categories, categorical_features=soft.categorical_features)
    estimator.encoder_.schema_ = hardened.schema
    estimator.agreement_ = hardened.agreement
    if isinstance(hardened.tree, ObliqueTree):
        estimator.tree_ = hardened.tree
        return estimator
    estimator.n_outputs_ = getattr(soft, "n_outputs_", 1)
    if of_classes:
        estimator.class_order_ = np.arange(soft.n_classes_)
    estimator.max_features_ = soft.n_features_in_
    estimator.pruning_ = None
    return estimator._settle(hardened.tree)
