"""`refine`: a fitted tree made better without growing it."""

import copy
import dataclasses
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray, Real
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.sample import shares_of_known
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.conventions import key_of
from jaxtree.estimators.common.growing import decode_thresholds
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.soft.hardened import HardTreeClassifier, HardTreeRegressor
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.export.models import best_of_search
from jaxtree.kernels.choose import Engines
from jaxtree.optimal.costs import CostedTarget, cost_of_classes, cost_of_numbers, cost_of_rewards
from jaxtree.optimal.nodes import CodedTable, SplitNode, node_table, split_node_at
from jaxtree.optimal.parts import parts_of
from jaxtree.optimal.refine import refined
from jaxtree.optimal.subsets import with_subset_columns
from jaxtree.soft.harden import agreement
from jaxtree.soft.refine import Target, refined_planes
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.reading import check_same_length
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree
from jaxtree.tree.model import encode_known_classes, encode_known_numbers

SUBSETS = ("auto", "subset", "ordered")
"""The `categorical_splits` of trees that send subsets of categories to their branches."""

AnyHardTree = TypeVar("AnyHardTree", bound=HardTreeClassifier | HardTreeRegressor)
AnyTree = TypeVar("AnyTree", bound=BaseTree | HardTreeClassifier | HardTreeRegressor)


def refine(
    estimator: AnyTree, X: Any, y: Any, sample_weight: Any = None, *, n_restarts: int = 0, random_state: Any = 0
) -> AnyTree:
    """Returns a copy of a fitted tree whose splits are chosen again together, until none can be better.

    The tree has no more leaves and is no deeper; a classifier makes no more errors on the rows, and of a regressor the
    squared error is no larger. See `jaxtree.optimal.refine` for the way. The planes of a hardened oblique tree are
    chosen again by logistic fits, see `jaxtree.soft.refine`; its leaves get the shares of the classes, or the means, of
    these rows, and its `agreement_` is that with the given tree.

    Args:
        estimator: A fitted tree of one target of classes, or of numbers, of splits in two; subsets of categories are
            chosen again where `categorical_splits` allows any, see `jaxtree.optimal.subsets`. Or the `harden()` of a
            soft tree with oblique gates.
        X: The table that it was fitted on, or another one.
        y: Its target. A tree that is no hardened one takes also `ClassProbabilities`, and makes no more expected errors
            of these.
        sample_weight: The weight of every row; None is 1.
        n_restarts: Further starts, from the tree with some of its splits drawn at random: more of them find nothing
            worse on these rows.
        random_state: Seed of their draws, or a NumPy generator.

    Raises:
        InvalidInputError: The tree splits in more than two, has several targets of classes, votes, or constraints
            (`monotonic_cst`, `interaction_cst`); or an argument is not allowed.
        InvalidTypeError: The estimator is no tree.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
        >>> round(tree.score(X, y), 3), round(refine(tree, X, y).score(X, y), 3)
        (0.979, 0.981)
    """
    estimator = best_of_search(estimator)
    forks.check_is_whole("refine")
    if isinstance(n_restarts, bool) or not isinstance(n_restarts, Integral) or n_restarts < 0:
        raise InvalidInputError(f"n_restarts must be an integer >= 0, got {n_restarts!r}")
    with placed_fit(estimator, X):
        return _refined(estimator, X, y, sample_weight, n_restarts, random_state)


def _refined(estimator: Any, X: Any, y: Any, sample_weight: Any, n_restarts: int, random_state: Any) -> Any:
    key = key_of(random_state) if n_restarts else None
    if isinstance(estimator, HardTreeClassifier | HardTreeRegressor):
        return _with_refined_planes(estimator, X, y, sample_weight, n_restarts, key)
    if not isinstance(estimator, BaseTree):
        raise InvalidTypeError(
            f"refine takes a tree such as DecisionTreeClassifier, or a hardened one, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    for name in ("monotonic_cst", "interaction_cst"):
        if getattr(estimator, name, None) is not None:
            raise InvalidInputError(f"refine chooses splits without a look at {name}={getattr(estimator, name)!r}")
    if is_classifier(estimator) and estimator.n_outputs_ > 1:
        raise InvalidInputError(f"refine takes a tree of one target of classes, got {estimator.n_outputs_}")
    codes, schema = estimator.encode(X), estimator.schema_
    rows = _read_rows(estimator, codes.shape[1], y, sample_weight)
    table = CodedTable(codes[:, rows.used], schema.num_values, schema.is_categorical)
    engines = Engines.of(current_platform())
    tree: Tree = estimator.tree_
    if getattr(estimator, "categorical_splits", None) not in SUBSETS:
        better = refined(split_node_at(tree, 0), table, rows.costed, engines, restarts=n_restarts, key=key)
        grown = rows.node_table(better, table)
    else:
        columns = with_subset_columns(table, tree, rows.numbers, rows.weight)
        start = split_node_at(columns.by_thresholds(tree), 0)
        better = refined(start, columns.table, rows.costed, engines, restarts=n_restarts, key=key)
        grown = columns.by_subsets(rows.node_table(better, columns.table))
    copied = copy.copy(estimator)
    return copied.settle(decode_thresholds(grown, schema))


class _TargetRows(NamedTuple):
    """The rows that a tree is refined on.

    Attributes:
        used: The rows of some weight whose classes the tree knows.
        costed: Their costs.
        weight: Their weights.
        numbers: Their numbers; of classes the probability of each, of two classes that of the second.
        shares: Their probabilities of classes; None for classes and numbers.
    """

    used: Bool[np.ndarray, " row"]
    costed: CostedTarget
    weight: Float[np.ndarray, " used"]
    numbers: Float[np.ndarray, "number used"]
    shares: Float[np.ndarray, "class used"] | None = None

    def node_table(self, tree: SplitNode | None, table: CodedTable) -> Tree:
        """Returns the node table of a tree with the sums of these rows."""
        if self.shares is None:
            return node_table(tree, table, self.costed)
        parts = parts_of(self.shares, self.weight)
        counted = cost_of_classes(parts.label, len(self.shares), parts.weight)
        grown = node_table(tree, table._replace(codes=table.codes[:, parts.row]), counted)
        return dataclasses.replace(grown, num_rows=grown.num_rows // parts.per_row)


def _read_rows(estimator: Any, num_rows: int, y: Any, sample_weight: Any) -> _TargetRows:
    """The rows of a target that have a weight and known classes; raises InvalidInputError if there are none."""
    if not (is_classifier(estimator) and isinstance(y, ClassProbabilities)):
        target = estimator.read_target(y)
        check_same_length(num_rows, target[0])
        num_classes = int(estimator.n_classes_) if is_classifier(estimator) else None
        used, weight, costed = _costed(target, sample_weight, num_classes)
        own = target[:, used]
        numbers = own if num_classes is None else own == np.arange(int(num_classes == 2), num_classes)[:, None]
        return _TargetRows(used, costed, weight, numbers.astype(np.float64))
    check_same_length(num_rows, y)
    shares = shares_of_known(y, estimator.classes_)
    used, weight = _rows_of_weight(shares.min(axis=0) >= 0, sample_weight)
    shares = shares[:, used]
    # A leaf that predicts a class wins its probability in every row.
    return _TargetRows(used, cost_of_rewards(shares, weight), weight, shares[int(len(shares) == 2) :], shares)


def _with_refined_planes(
    estimator: AnyHardTree, X: Any, y: Any, sample_weight: Any, restarts: int, key: PRNGKeyArray | None
) -> AnyHardTree:
    """A copy of a hardened tree with planes chosen again."""
    x, given = estimator.plane_columns(X), estimator.tree_
    of_classes = is_classifier(estimator)
    target = (
        encode_known_classes(y, (estimator.classes_,)) if of_classes else encode_known_numbers(y, given.num_outputs)
    )
    check_same_length(len(x), target[0])
    num_classes = given.num_outputs if of_classes else None
    used, weight, costed = _costed(target, sample_weight, num_classes)
    columns = np.eye(given.num_outputs)[target[0, used]] if of_classes else target[:, used].T
    x, copied = x[used], copy.copy(estimator)
    copied.tree_ = refined_planes(given, x, Target(costed, columns, weight), restarts=restarts, key=key)
    before, after = (tree.value[tree.ends(x)] for tree in (given, copied.tree_))
    copied.agreement_ = agreement(before, after, weight, given.num_classes)
    return copied


def _costed(
    target: Real[np.ndarray, "output row"], sample_weight: Any, num_classes: int | None
) -> tuple[Bool[np.ndarray, " row"], Float[np.ndarray, " used"], CostedTarget]:
    """The rows with weights and known classes, their weights, and their target; of numbers there are no classes."""
    is_known = np.ones(target.shape[1], bool) if num_classes is None else target[0] >= 0
    used, known = _rows_of_weight(is_known, sample_weight)
    weight = None if sample_weight is None else known
    if num_classes is None:
        return used, known, cost_of_numbers(target[:, used], weight)
    return used, known, cost_of_classes(target[0, used], num_classes, weight)


def _rows_of_weight(
    is_known: Bool[np.ndarray, " row"], sample_weight: Any
) -> tuple[Bool[np.ndarray, " row"], Float[np.ndarray, " used"]]:
    """The known rows with weights, and their weights; raises InvalidInputError if there are none."""
    weight = check_sample_weight(sample_weight, is_known.size)
    used = is_known if weight is None else is_known & (weight > 0)
    if not used.any():
        raise InvalidInputError("refine needs a row with a positive weight and a class that the tree knows, got none")
    return used, np.ones(np.count_nonzero(used)) if weight is None else np.asarray(weight[used], np.float64)
