"""Forests that predict numbers by a regression around every row."""

import dataclasses
import functools
from numbers import Real
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Float64, Int
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.conventions import Role
from jaxtree.estimators.common.parameters import AUTO
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.moments.leaves import Atoms, BaseLeafForest
from jaxtree.files.leaves import LeafTrees
from jaxtree.files.records import require
from jaxtree.files.trees import FittedTable
from jaxtree.moments.leaf_rows import RowAtoms, over_rows
from jaxtree.moments.local_linear import PENALTIES, local_linear
from jaxtree.moments.values import Values
from jaxtree.sklearn_compat import Interval

ROWS_COMPARED = 2000
"""Rows of the fit that penalties are compared on, at most."""


class LocalLinearState(NamedTuple):
    """All that a local linear forest learns in fit.

    Attributes:
        table: The columns and the target.
        trees: The trees, with the rows in their leaves, whose numbers are the targets.
        rows: The columns of the regressions, of the rows of the fit; NaN is a missing value.
        penalty: The penalty of slopes.
        oob_score: The score of out-of-bag predictions, if it was asked for.
        oob_prediction: These predictions.
    """

    table: FittedTable
    trees: LeafTrees
    rows: Float64[np.ndarray, "row column"]
    penalty: float
    oob_score: float | None
    oob_prediction: Float64[np.ndarray, " row"] | None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class LocalLinearForest(PredictsNumbers, BaseLeafForest):
    r"""A local linear forest (Friedberg, Tibshirani, Athey and Wager, 2021): smooth predictions of a number.

    A forest's leaves weight the rows of the fit by how much they are like a new one; a ridge regression with these
    weights, on the numeric columns, predicts it. Where the target changes steadily, a mean of rows on both sides lags
    behind, above all at the edges of the table, and the regression does not.

    Args:
        penalty: The penalty of slopes, $\lambda$, a share of every column's variation around a row; "auto" for the one
            of ten that predicts rows of the fit best by the trees that have not drawn them.
        oob_score: Whether rows of the fit are predicted by the trees that have not drawn them.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of targets.
        leaves_: The rows in their leaves.
        penalty_: The penalty of slopes.
        oob_prediction_: Predictions of the rows of the fit by the trees that have not drawn them; with `oob_score`.
        oob_score_: Their coefficient of determination.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((500, 2))
        >>> y = 5 * X[:, 0] + 0.1 * rng.normal(size=500)
        >>> forest = LocalLinearForest(100, random_state=0).fit(X, y)
        >>> forest.predict([[0.2, 0.5], [1.0, 0.5]]).round().tolist()
        [1.0, 5.0]
    """

    penalty: Annotated[Any, Interval(Real, 0, None, closed="left"), AUTO, Role.FIT] = "auto"
    oob_score: Annotated[bool, "boolean", Role.REPORTS] = False

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, mesh: Mesh | None = None) -> Self:
        """Grows the trees, keeps the rows in their leaves, and chooses the penalty.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it; a column is numeric at least.
            y: The number of every row; one output.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            groups: The group of every row: rows of one are drawn, and divided, together.
            mesh: Devices of one kind, in one axis, to divide the trees among.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed, or no column is numeric.
            InvalidTypeError: The table holds what cannot be read.
        """
        forks.check_is_whole("fit")
        self.check_parameters()
        with placed_fit(self, X, mesh):
            data = self.with_scaled_weights(self.read(X, y, sample_weight, {"group": groups}))
            if len(data.target) > 1:
                raise InvalidInputError(f"y must have one output, got {len(data.target)}: fit a forest for each")
            if not data.schema.columns.is_numeric.any():
                raise InvalidInputError("a column must be numeric: the others have no slopes")
            self.draw_key()
            self.learn(data)
            self.rows_ = self._columns_of(data.encoder.values(data.sample.X))
            self.grow_leaves(data, Values(data.target), Atoms(np.arange(data.num_rows), data.target[0].copy()), mesh)
            self.penalty_ = self._best_penalty(data) if self.penalty == "auto" else float(self.penalty)
            if self.oob_score:
                self._score_out_of_bag(data)
            return self

    def _columns_of(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row column"]:
        """The numeric columns of rows that `encoder_.values` has encoded."""
        columns = self.schema_.columns.is_numeric
        return np.ascontiguousarray(values[:, columns], np.float64)

    def _best_penalty(self, data: Dataset) -> float:
        """The penalty of the least squared error out of bag; the first of equal ones."""
        number = data.num_rows
        some = np.unique(np.linspace(0, number - 1, min(number, ROWS_COMPARED)).astype(np.int64))
        unseen = self.unseen_rows(data, self.keys()[0], len(self.forest_))[:, some]
        values = data.encoder.values(data.sample.X)[some]
        found = self._predict_with(values, np.array(PENALTIES), unseen)
        error = np.where(np.isnan(found), 0.0, found - data.target[0][some, None]) ** 2
        weight = np.ones(number) if data.weight is None else data.weight
        return PENALTIES[int(np.argmin(weight[some] @ error))]

    def _score_out_of_bag(self, data: Dataset) -> None:
        unseen = self.unseen_rows(data, self.keys()[0], len(self.forest_))
        found = self._predict_with(data.encoder.values(data.sample.X), np.array([self.penalty_]), unseen)[:, 0]
        known = ~np.isnan(found)
        self.oob_score_ = float(r2_score(data.target[0][known], found[known]))
        self.oob_prediction_ = self.over_all_rows(data, found)

    def _predict_with(
        self,
        values: Float[np.ndarray, "row feature"],
        penalties: Float64[np.ndarray, " penalty"],
        unseen: Bool[np.ndarray, "tree row"] | None = None,
    ) -> Float64[np.ndarray, "row penalty"]:
        columns, found, first = self._columns_of(values), [np.empty((0, penalties.size))], 0

        def work(ends: Int[np.ndarray, "row tree"], is_counted: Any) -> Float64[np.ndarray, "row penalty"]:
            at = columns[first : first + len(ends)]

            def of_block(block: slice, atoms: RowAtoms) -> Float64[np.ndarray, "block penalty"]:
                return local_linear(atoms, self.rows_, self._values_of_atoms, at[block], penalties)

            return np.concatenate(over_rows(self.leaves_, ends, of_block, is_counted=is_counted))

        for part in self.over_ends(values, work, unseen):
            found.append(part)
            first += len(part)
        return np.concatenate(found)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row 1"]:
        """Returns the predictions of rows that `encoder_.values` has encoded."""
        return self._predict_with(values, np.array([self.penalty_]))

    def predict(self, X: Any) -> Float64[np.ndarray, " row"]:
        """Returns the number of every row.

        Args:
            X: A table, or a source.
        """
        check_is_fitted(self)
        return self.on_cores(functools.partial(self._predict_table, X))

    def _predict_table(self, X: Any) -> Float64[np.ndarray, " row"]:
        return self.predict_values(self._values(X))[:, 0]

    def fitted_state(self) -> LocalLinearState:
        """Returns what fitting has learned: what a model file keeps."""
        score = float(self.oob_score_) if hasattr(self, "oob_score_") else None
        known = self.rows_, float(self.penalty_), score, vars(self).get("oob_prediction_")
        return LocalLinearState(self.fitted_table(), self.leaf_trees(), *known)

    def restore(self, state: LocalLinearState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.rows_, self.penalty_ = state.rows, state.penalty
        self.restore_leaves(state.trees)
        require(state.rows.shape[1] == self.schema_.columns.is_numeric.sum(), "its rows have other columns than it")
        require(len(state.rows) == state.trees.value.size, "its rows are not those of its leaves")
        if state.oob_score is not None:
            self.oob_score_, self.oob_prediction_ = state.oob_score, state.oob_prediction
