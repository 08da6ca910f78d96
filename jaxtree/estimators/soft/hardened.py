"""Hardened soft trees as estimators; printed forms take an oblique tree as one of thresholds on its planes."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.linalg import block_diag
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.parts import EstimatorOnTables, PredictsNumbers
from jaxtree.estimators.soft.targets import OfClasses
from jaxtree.estimators.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.explain.coalitions import drawn_background
from jaxtree.export.functions import Function, function_of
from jaxtree.export.models import Planes, PlaneTermKind, on_planes
from jaxtree.files.soft import HardState
from jaxtree.serving.rows import over_sources
from jaxtree.soft.hard_trees import AxisSplits, HardNodeSums, tree_of_splits
from jaxtree.soft.harden import Hardened
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.soft.scales import Standard
from jaxtree.soft.statistics import Statistics
from jaxtree.table.binning import Bins
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Column, Columns, Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.model import FittedModel
from jaxtree.tree.paths import Links


class MadeByHarden:
    """A model that `harden` of a soft one makes, and no `fit`.

    Attributes:
        agreement_: How far both predict the same for the rows that it was hardened on, see
            `jaxtree.soft.harden.Hardened`; after `refine`, how far it and the tree before do.
        background_: Some of the rows that it was hardened on, encoded, which explanations compare with; None if it is
            from a file.
    """

    agreement_: float
    background_: Float[np.ndarray, "row value"] | None = None
    _parameter_constraints: ClassVar[dict] = {}

    def fit(self, X: Any, y: Any) -> Any:
        """Raises InvalidInputError: fit a soft model, and harden it."""
        raise InvalidInputError(f"{type(self).__name__} cannot be fitted: fit a soft model, and call its harden()")

    def __sklearn_tags__(self):
        """scikit-learn's tags: there is nothing to fit."""
        base: Any = super()
        tags = base.__sklearn_tags__()
        tags.requires_fit = False
        return tags


class _HardTree(MadeByHarden, EstimatorOnTables):
    """An oblique tree on any table.

    Attributes:
        tree_: The `jaxtree.soft.oblique_tree.ObliqueTree`.
    """

    model_kind = ModelKind.PLANES

    tree_: ObliqueTree
    classes_: Shaped[np.ndarray, " class"]
    encoder_: Encoder

    @over_sources
    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends."""
        values = self._values(X)
        return self.tree_.apply(values)

    def export_text(self) -> str:
        """Returns the tree as text, see `jaxtree.soft.oblique_tree.ObliqueTree.export_text`."""
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

    def fitted_state(self) -> HardState:
        """Returns what the tree consists of: what a model file keeps."""
        self._check()
        return HardState.of(self.fitted_table(), self.tree_, float(self.agreement_))

    def restore(self, state: HardState) -> None:
        """Takes what `fitted_state` of another tree returned; see `KeptInFiles.restore`."""
        self.restore_table(state.table)
        self.tree_, self.agreement_ = state.tree(self.encoder_.schema_), state.agreement

    @property
    def model_(self) -> FittedModel:
        """The tree as one of thresholds on a table of its planes, as printed forms take it."""
        return self.model_of_planes()

    def model_of_planes(self, column_names: Iterable[Any] | None = None, most_terms: int | None = None) -> FittedModel:
        """Returns `model_` with other names of the columns of the table, and the greatest terms alone in words."""
        self._check()
        tree, schema = thresholds_on_planes(self.tree_, column_names, most_terms)
        value, forest = np.asarray(self.tree_.value, np.float64), Forest.of(tree)
        if not tree.num_classes:
            return FittedModel(schema, forest, value, None, (), ())
        label, order = value.argmax(axis=1)[None], np.arange(len(self.classes_))
        return FittedModel(schema, forest, value, label, (self.classes_,), (order,))

    def planes(self) -> Planes:
        """Returns the planes, in terms of the table."""
        return planes_in_terms(self.tree_)

    @property
    def model_of_function(self) -> ObliqueTree:
        """The tree."""
        return self.tree_

    def parts_of_function(self, dtype: Any) -> tuple[Any, Function]:
        """Returns the parameters of the tree, and the function of these and of rows."""
        oblique, nodes = self.tree_, _asking(self.tree_)
        normal, offset = (jnp.asarray(own[nodes], np.float32) for own in (oblique.normal, oblique.offset))
        planes = lambda values: oblique.inputs.transform(values) @ normal.T + offset  # noqa: E731
        return function_of(on_planes(self.model_), planes, dtype=dtype, shares_out=False)

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes or means, of rows that `encoder_.values` has encoded."""
        return self.tree_.predict(values)

    def plane_columns(self, X: Any) -> Float[np.ndarray, "row column"]:
        """Returns the rows of a table as the planes take them: numbers scaled, categories one-hot."""
        values = self._values(X)
        return self.tree_.inputs.transform(values)

    def _check(self) -> None:
        check_is_fitted(self, "tree_", msg="This %(name)s holds no tree: it is made by the harden() of a soft tree.")

    def _values(self, X: Any) -> Float[np.ndarray, "row value"]:
        self._check()
        return super()._values(X)


class HardTreeClassifier(OfClasses, _HardTree):
    """A hardened oblique tree of classes: the `harden()` of a `SoftTreeClassifier`.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import SoftTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> hard = SoftTreeClassifier(depth=2, max_epochs=60, random_state=0).fit(X, y).harden()
        >>> type(hard).__name__, hard.score(X, y) > 0.8
        ('HardTreeClassifier', True)
    """


class HardTreeRegressor(PredictsNumbers, _HardTree):
    """A hardened oblique tree of numbers: the `harden()` of a `SoftTreeRegressor`.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import SoftTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> hard = SoftTreeRegressor(depth=2, max_epochs=20, random_state=0).fit(X, y).harden()
        >>> type(hard).__name__, hard.score(X, y) > 0.3
        ('HardTreeRegressor', True)
    """


def hard_estimator(soft: Any, hardened: Hardened, values: Float[np.ndarray, "row value"]) -> Any:
    """An estimator of a hardened tree: a `DecisionTree...` of a node table, else one of an oblique tree.

    Args:
        soft: The fitted soft estimator.
        hardened: Its tree made hard, its leaves in units of the target.
        values: The rows that it was hardened on, encoded.
    """
    of_classes, has_table = is_classifier(soft), isinstance(hardened.tree, Tree)
    estimator: Any
    if has_table:
        estimator = (DecisionTreeClassifier if of_classes else DecisionTreeRegressor)(max_depth=max(soft.depth_, 1))
    else:
        estimator = HardTreeClassifier() if of_classes else HardTreeRegressor()
    estimator.restore_table(soft.fitted_table())
    estimator.encoder_.schema_, estimator.agreement_ = hardened.schema, hardened.agreement
    if not has_table:
        estimator.tree_, estimator.background_ = hardened.tree, drawn_background(values)
        return estimator
    estimator.n_outputs_ = soft.n_outputs_
    estimator.max_features_, estimator.pruning_ = soft.n_features_in_, None
    return estimator.settle(hardened.tree)


def planes_in_terms(oblique: ObliqueTree) -> Planes:
    """Returns the planes of the nodes that split, in their order; of a single leaf one of zeros.

    Raises InvalidInputError if a column is scaled by quantiles, which other programs have not.
    """
    inputs, terms, values = oblique.inputs, [], []
    for feature, scale in enumerate(inputs.scales):
        if scale is None or isinstance(scale, Statistics):
            # A statistic is the sum of its categories, each times what it has.
            value = np.eye(inputs.width(feature)) if scale is None else scale.value.astype(np.float32)
            terms += [(feature, PlaneTermKind.CATEGORY, float(code), 1.0) for code in range(len(value))]
            values.append(value)
        elif isinstance(scale, Standard):
            terms.append((feature, PlaneTermKind.NUMBER, scale.mean, scale.deviation))
            values.append(np.eye(1))
        else:
            raise InvalidInputError(
                f"column {inputs.schema.column_names[feature]!r} is scaled by quantiles, which this form does not "
                "have: fit the soft tree with scaling='standard'"
            )
    indicated = inputs.with_indicator.tolist()
    terms += [(feature, PlaneTermKind.MISSING, 0.0, 1.0) for feature in indicated]
    column, kind, middle, unit = (np.array(part) for part in zip(*terms, strict=True))
    nodes, of_columns = _asking(oblique), block_diag(*values, np.eye(len(indicated)))
    weight = oblique.normal[nodes] @ of_columns.T
    return Planes(inputs.schema, column, kind, middle, unit, weight, oblique.offset[nodes])


def thresholds_on_planes(
    oblique: ObliqueTree, column_names: Iterable[Any] | None = None, most_terms: int | None = None
) -> tuple[Tree, Schema]:
    """Returns the tree as one of thresholds, and a schema whose columns are the planes in words.

    Args:
        oblique: The tree.
        column_names: Other names of the columns of its table.
        most_terms: The most terms of a plane in words.

    Raises:
        InvalidInputError: There is not one name a column.
    """
    if column_names is not None:
        inputs = replace(oblique.inputs, schema=oblique.inputs.schema.renamed(column_names))
        oblique = replace(oblique, inputs=inputs)
    words, limits = zip(*(oblique.plane_in_words(node, most_terms) for node in _asking(oblique).tolist()), strict=True)
    schema = _schema_of_planes(words, limits)
    inner = np.arange(np.count_nonzero(~oblique.is_leaf))
    splits = AxisSplits(
        inner, 0 * inner + SplitKind.THRESHOLD, np.array(limits)[inner], 0 * inner, np.zeros((inner.size, 0), np.uint32)
    )
    links = Links(*(getattr(oblique, name) for name in Links._fields))
    total = oblique.value * oblique.weight[:, None]
    sums = HardNodeSums(oblique.num_rows, oblique.weight, total, np.zeros(oblique.node_count))
    return tree_of_splits(splits, links, schema, sums, oblique.num_classes), schema


def _asking(oblique: ObliqueTree) -> Int[np.ndarray, " plane"]:
    """The nodes that split; of a single leaf itself."""
    return np.flatnonzero(~oblique.is_leaf) if oblique.node_count > 1 else np.zeros(1, np.int64)


def _schema_of_planes(words: tuple[str, ...], limits: tuple[float, ...]) -> Schema:
    """A column for every plane, whose two codes lie on its two sides."""
    columns = []
    for name, limit in zip(words, limits, strict=True):
        sides = np.array([np.nextafter(limit, -np.inf), np.nextafter(limit, np.inf)])
        bins = Bins(sides, sides.copy(), np.array([limit]), exact=False)
        columns.append(Column(name, "numeric", (), bins, has_missing=False))
    return Schema(Columns.of(columns))
