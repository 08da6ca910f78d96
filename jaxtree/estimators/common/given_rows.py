"""Fitted trees and forests that take rows and give them back, while their splits stay.

Every node has sums of its rows, which are whole numbers: to add a row and to remove it leaves a model as it was, bit
for bit, and no order of changes matters. In boosted trees the gradient of a row follows from the earlier trees, which
follow from all rows, so that these have `refit` alone.
"""

import abc
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from jaxtyping import Float64, Int
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.magnitude import check_counts, exponent_of, weight_exponent_of
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.features import clip_to_bounds, read_monotone
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.prediction import FittedTrees
from jaxtree.forests.row_sums import (
    GivenRows,
    NodeSums,
    are_whole_counts,
    check_can_add,
    check_has_room,
    first_at,
    keep_sums,
    lacks_rows,
    sum_rows,
    sums_at,
    units_of_kept,
    units_of_rows,
    with_sums,
    without_rows,
)
from jaxtree.growth.inputs.objective import Units
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.reading import check_same_length
from jaxtree.table.target import encode_classes
from jaxtree.table.weights import check_sample_weight, class_weights
from jaxtree.tree import Tree
from jaxtree.tree.model import RowSums


class TakesRows(FittedTrees):
    """A fitted tree or forest whose nodes take rows and give them back."""

    criterion: Any
    monotonic_cst: Any

    @abc.abstractmethod
    def objective_of_rows(self) -> Classes | Numbers:
        """Returns the objective that the trees were grown by."""

    @abc.abstractmethod
    def with_rows(self, nodes: Tree, row_sums: RowSums | None) -> Self:
        """Returns a copy whose nodes have other rows, and whose sums are kept if the nodes do not have them."""

    @abc.abstractmethod
    def reason_against_rows(self) -> str | None:
        """Returns why nodes of a fit do not hold every row once, with its weight; None if they do."""

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Returns a model with the same splits, whose leaves have these rows alone: each in every tree, by its weight.

        A leaf that no row reaches predicts as the nearest node above it that has one. Bootstrap samples are not drawn
        again. Gains stay those of the rows that chose the splits, and so do columns and thresholds.

        Args:
            X: A table; see `fit`.
            y: Its target, of the classes that the fit has seen.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: An argument is not allowed, or the trees predict otherwise than by sums over rows: by
                votes of prunings, or by rows that are shared out among branches.

        Example:
            >>> from jaxtree import DecisionTreeRegressor
            >>> tree = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 6.0])
            >>> newer = tree.refit([[1.0], [3.0]], [1.0, 8.0])
            >>> tree.predict([[2.0], [9.0]]).tolist(), newer.predict([[2.0], [9.0]]).tolist()
            ([0.0, 6.0], [1.0, 8.0])
        """
        forks.check_is_whole("refit")
        self._check_adds_up("refit")
        with placed_fit(self, X):
            rows = self._read_rows("refit", X, y, sample_weight)
            units = units_of_rows(rows, self.objective_of_rows())
            return self._with_sums(without_rows(self.model_.tree, units), None, self._sum(rows, units), units)

    def add_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Adds rows to the leaves that they reach, in place: the splits stay.

        The model has the same bits whatever the order of rows and of calls, and `remove_rows` undoes it. It has those
        of `refit` on all rows at once, where these have the same units (see `jaxtree.forests.row_sums`).

        A tree or forest of classes with whole-number weights takes rows as soon as it is fitted. Others keep their
        sums from a `refit` on: numbers, other weights, monotone constraints, bootstrap samples, honest leaves, and
        prunings that hold rows out.

        Args:
            X: A table; see `fit`.
            y: Its target, of the classes that the fit has seen.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: An argument is not allowed, or the model needs `refit` first. Nothing has changed then.

        Example:
            >>> from jaxtree import DecisionTreeClassifier
            >>> tree = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
            >>> tree.add_rows([[1.5], [0.0]], ["yes", "no"]).predict_proba([[2.0]]).tolist()
            [[0.75, 0.25]]
        """
        return self._change_rows("add_rows", 1, X, y, sample_weight)

    def remove_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Removes rows from the leaves that they reach, in place: the splits stay.

        They are rows of the fit, of `refit` or of `add_rows`, with their targets and weights. Sums know no single rows:
        a row that never was there is noticed only where its leaf, or in it its class, has too few. A leaf without rows
        predicts as the nearest node above it that has one. Columns, thresholds and gains of splits still tell of the
        rows that chose them, which `fit` alone forgets.

        Args:
            X: The table of the rows; see `fit`.
            y: Their target.
            sample_weight: Their weights.

        Raises:
            InvalidInputError: An argument is not allowed, the model needs `refit` first (see `add_rows`), or there are
                fewer rows than are to be removed, or no others. Nothing has changed then.

        Example:
            >>> from jaxtree import DecisionTreeClassifier
            >>> tree = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
            >>> tree.remove_rows([[2.0]], ["no"]).tree_.n_node_samples.tolist()
            [2, 1, 1]
        """
        return self._change_rows("remove_rows", -1, X, y, sample_weight)

    def _change_rows(self, method: str, sign: int, X: Any, y: Any, sample_weight: Any) -> Self:
        forks.check_is_whole(method)
        self._check_adds_up(method)
        if isinstance(class_weight := getattr(self, "class_weight", None), str):
            raise InvalidInputError(
                f"{method} is for weights of rows that do not depend on other rows, got class_weight={class_weight!r}: "
                "give the factors of classes as a dict"
            )
        self._check_knows_sums(method)
        nodes, kept, units = self.model_.tree, self._row_sums, units_of_kept(self._row_sums, self.n_outputs_)
        with placed_fit(self, X):
            rows = self._read_rows(method, X, y, sample_weight)
            check_can_add(rows, units, self.objective_of_rows())
            more = self._sum(rows, units)
            changed = sums_at(nodes, kept, more.node).plus(more, sign)
            check_has_room(changed, nodes.num_classes, units)
            if sign < 0:
                self._check_were_there(rows, changed)
            own: Any = self
            own.__dict__ = vars(self._with_sums(nodes, kept, changed, units))
        return self

    def _check_adds_up(self, method: str) -> None:
        """Raises InvalidInputError if what a node predicts does not follow from sums over its rows."""
        check_is_fitted(self)
        model = self.model_
        if model.is_vote:
            raise InvalidInputError(
                f"{method} is for leaves that predict by their rows, and those of pruning={self.pruning} are votes"
            )
        if model.predictor.shares_out.any():
            raise InvalidInputError(
                f"{method} is for whole rows, and missing='fraction' shares those with missing values out among "
                "branches: fit with missing='learn' or 'branch'"
            )

    def _check_knows_sums(self, method: str) -> None:
        """Raises InvalidInputError if the sums of the nodes are not known as whole numbers."""
        reason = self._reason_against_nodes() if self._row_sums is None else None
        if reason is not None:
            raise InvalidInputError(
                f"{method} needs exact sums over rows, and {reason}: call refit(X, y) once, whose result keeps them"
            )

    def _reason_against_nodes(self) -> str | None:
        """Returns why nodes do not have the exact sums of all rows; None if they may."""
        if self.monotonic_cst is not None:
            return f"monotonic_cst={self.monotonic_cst!r} moves the values of leaves"
        if not self.model_.tree.num_classes:
            return "fit does not keep the whole numbers that it sums targets in"
        if not are_whole_counts(self.model_.tree):
            return "weights of the fit are no whole numbers"
        return self.reason_against_rows()

    def _sum(self, rows: GivenRows, units: Units) -> NodeSums:
        """Returns the sums of rows at all nodes."""
        model = self.model_
        return sum_rows(model.predictor, model.tree, rows, self.objective_of_rows(), units)

    def _with_sums(self, nodes: Tree, kept: RowSums | None, known: NodeSums, units: Units) -> Self:
        """Returns a copy some of whose nodes have other sums.

        Args:
            nodes: The nodes before.
            kept: The sums that were kept of them.
            known: The new sums.
            units: Their units.
        """
        objective, monotone = self.objective_of_rows(), read_monotone(self.monotonic_cst, self.schema_)
        in_nodes = bool(nodes.num_classes) and not units.is_scaled and monotone is None
        if kept is not None or not in_nodes or self._reason_against_nodes() is not None:
            sums = None if kept is None else kept.sums
            kept = keep_sums(sums, known, units, num_nodes=0 if in_nodes else nodes.node_count)
        changed = with_sums(nodes, known, objective, units)
        if monotone is not None:
            # Bounds move with the values above them, so that those of all nodes follow from their sums again.
            every = sums_at(changed, kept, np.arange(changed.node_count))
            changed = clip_to_bounds(with_sums(changed, every, objective, units), monotone)
        return self.with_rows(changed, kept)

    def _check_were_there(self, rows: GivenRows, changed: NodeSums) -> None:
        """Raises InvalidInputError if rows that are removed were not there, or if none is left."""
        forest = self.model_.forest
        lacks = lacks_rows(changed, forest.nodes.num_classes)
        if lacks.any():
            row = first_at(self.model_.predictor, rows, changed.node[lacks])
            raise InvalidInputError(
                "remove_rows takes rows that the model has, with their targets and weights: the leaf of row "
                f"{row} (counted from 0, without rows of weight 0) has fewer of them than are to be removed"
            )
        if not changed.num_rows[np.isin(changed.node, forest.first_node[:-1])].all():
            raise InvalidInputError("remove_rows must leave a row in the model, and these are all that it has")

    def _read_rows(self, method: str, X: Any, y: Any, sample_weight: Any) -> GivenRows:
        """Returns the rows of some weight, with the factors of their classes.

        Raises InvalidInputError if an argument is not allowed.
        """
        outputs = self.outputs()
        given = read_arguments(X, y, sample_weight)
        if isinstance(given.y, ClassProbabilities):
            raise InvalidInputError(f"{method} takes the class of every row, and y has probabilities")
        target, values = outputs.encode(given.y), self._values(given.X)
        check_same_length(len(values), target[0])
        weight = check_sample_weight(given.sample_weight, target.shape[1])
        if outputs.classes:
            _check_classes(method, given.y, target, weight)
            weight = _times_class_weights(getattr(self, "class_weight", None), given.y, weight)
        weight = np.ones(target.shape[1]) if weight is None else weight
        used = weight > 0
        rows = GivenRows(values[used], target[:, used], weight[used])
        if self.criterion == "poisson":
            check_counts(rows.target, total=1.0)
        exponents = () if outputs.classes else (exponent_of(rows.target),)
        if any((weight_exponent_of(rows.weight), *exponents)):
            raise InvalidInputError(
                f"{method} sums targets and weights as they are: sizes of targets must be from 2**-400 to 2**400, and "
                "the largest weight from 2**-30 to 2**30; multiply them by a constant"
            )
        return rows


def _check_classes(
    method: str, y: Any, codes: Int[np.ndarray, "output row"], weight: Float64[np.ndarray, " row"] | None
) -> None:
    """Raises InvalidInputError if a row of some weight has a class that the fit has not seen."""
    is_unknown = (codes < 0).any(axis=0) & (True if weight is None else weight > 0)
    if is_unknown.any():
        row = int(is_unknown.argmax())
        named = np.asarray(plain_target(y), object)[row]
        raise InvalidInputError(
            f"{method} takes rows of the classes that fit has seen: row {row} has {named!r}; fit again for new classes"
        )


def _times_class_weights(
    class_weight: Any, y: Any, weight: Float64[np.ndarray, " row"] | None
) -> Float64[np.ndarray, " row"] | None:
    """Returns weights times the factors of classes, of which rows may lack some."""
    if class_weight is None:
        return weight
    target = encode_classes(y)
    if isinstance(class_weight, str):
        # The classes of a forest's bootstrap samples count alike; all rows are the sample here.
        factor = class_weights("balanced", target, None, weight)
    else:
        given = [class_weight] if isinstance(class_weight, Mapping) else class_weight
        present = [
            {name: own[name] for name in names.tolist() if name in own}
            for own, names in zip(given, target.classes, strict=True)
        ]
        factor = class_weights(present[0] if len(present) == 1 else present, target, None, weight)
    return factor if weight is None else weight * factor
