"""Forests of quantiles: what share of rows like a new one lies below which number."""

import dataclasses
import functools
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Float64, Int
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.moments.leaves import Atoms, BaseLeafForest
from jaxtree.files.leaves import LeafTrees
from jaxtree.files.trees import FittedTable
from jaxtree.moments.leaf_rows import quantiles_of
from jaxtree.moments.moment import unit_of_weights
from jaxtree.moments.quantiles import Quantiles
from jaxtree.moments.values import Values

MOST_VALUES = 2**16
"""Values of the target that leaves tell apart: their numbers have 16 bits."""

CRITERIA = Words({"quantile", "squared_error"})


class QuantileState(NamedTuple):
    """All that a forest of quantiles learns in fit.

    Attributes:
        table: The columns and the target.
        trees: The trees, with the rows in their leaves.
        oob_score: The score of out-of-bag medians, if it was asked for.
        oob_prediction: These medians.
    """

    table: FittedTable
    trees: LeafTrees
    oob_score: float | None
    oob_prediction: Float64[np.ndarray, " row"] | None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class QuantileForest(PredictsNumbers, BaseLeafForest):
    r"""A quantile regression forest (Meinshausen, JMLR 7, 2006): any quantile of a number, by one fit.

    Leaves keep the rows that fill them, by the numbers of their targets, of which there are $2^{16}$ at most. The
    quantile of level $\tau$ at x is the least value up to which the weights of rows add up to $\tau$; the weight of a
    row is its mean share, over the trees, of the leaf in which x lies. Quantiles therefore follow every increasing map
    of the target.

    Args:
        criterion: How splits are chosen: "squared_error" by means; "quantile" by the intervals between the node's own
            `quantiles`, which sees changes of spread, too (Athey, Tibshirani and Wager, 2019, section 5), and pays
            where spread differs more than means do.
        quantiles: The levels of the criterion "quantile", ascending.
        oob_score: Whether medians of the rows of the fit are made by the trees that have not drawn them.
        honest: Whether a tree fills its leaves by other rows than those that chose its splits. Quantiles of trees that
            are not honest have the lower pinball loss, for their leaves are smaller.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of targets.
        leaves_: The rows in their leaves.
        oob_prediction_: The medians of the rows of the fit by the trees that have not drawn them; with `oob_score`.
        oob_score_: Their coefficient of determination.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((2000, 1))
        >>> y = X[:, 0] * rng.normal(size=2000)
        >>> forest = QuantileForest(50, random_state=0).fit(X, y)
        >>> narrow, wide = forest.predict_interval([[0.1], [0.9]], coverage=0.8)
        >>> bool(narrow[1] - narrow[0] < wide[1] - wide[0])
        True
        >>> forest.predict([[0.1], [0.9]], quantiles=[0.25, 0.5, 0.75]).shape
        (2, 3)
    """

    n_estimators: int = dataclasses.field(default=100, kw_only=False)
    criterion: Annotated[str, CRITERIA, Role.FIT] = "squared_error"
    quantiles: Annotated[Any, "array-like", tuple, list, Role.FIT] = (0.1, 0.5, 0.9)
    oob_score: Annotated[bool, "boolean", Role.REPORTS] = False
    honest: bool = False
    alpha: float = 0.0

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, mesh: Mesh | None = None) -> Self:
        """Grows the trees, and keeps the rows in their leaves.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it.
            y: The number of every row; one output.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            groups: The group of every row: rows of one are drawn, and divided, together.
            mesh: Devices of one kind, in one axis, to divide the trees among.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        forks.check_is_whole("fit")
        self.check_parameters()
        with placed_fit(self, X, mesh):
            data = self.with_scaled_weights(self.read(X, y, sample_weight, {"group": groups}))
            if len(data.target) > 1:
                raise InvalidInputError(f"y must have one output, got {len(data.target)}: fit a forest for each")
            self.draw_key()
            atoms = atoms_of(data.target[0])
            self.learn(data)
            self.grow_leaves(data, self._moment(data, atoms), atoms, mesh)
            if self.oob_score:
                self._score_out_of_bag(data)
            return self

    def _score_out_of_bag(self, data: Dataset) -> None:
        levels = np.array([0.5])
        median = self.out_of_bag(data, functools.partial(self._quantiles_in, levels))[:, 0]
        known = ~np.isnan(median)
        given = np.full(median.size, np.nan)
        given[slice(None) if data.has_weight is None else data.has_weight] = data.target[0]
        self.oob_score_, self.oob_prediction_ = float(r2_score(given[known], median[known])), median

    def _moment(self, data: Dataset, atoms: Atoms) -> Any:
        if self.criterion == "squared_error":
            return Values(data.target)
        unit = unit_of_weights(data.weight)
        return Quantiles(atoms.atom, tuple(np.asarray(self.quantiles, np.float64).tolist()), unit)

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        super().check_parameters()
        levels = levels_of("quantiles", self.quantiles)
        if levels.ndim != 1 or not levels.size or not (np.diff(levels) > 0).all():
            raise InvalidInputError(f"quantiles must be levels in ascending order, got {self.quantiles!r}")

    def predict(self, X: Any, quantiles: Any = None) -> Float[np.ndarray, "row *level"]:
        """Returns the median of every row, or quantiles of other levels.

        Args:
            X: A table, or a source.
            quantiles: A level between 0 and 1; or several, for a column each.

        Raises:
            InvalidInputError: A level is not between 0 and 1.
        """
        check_is_fitted(self)
        levels = levels_of("quantiles", 0.5 if quantiles is None else quantiles)
        found = self.on_cores(lambda: self.quantiles_at(self._values(X), np.atleast_1d(levels)))
        return found[:, 0] if levels.ndim == 0 else found

    def quantiles_at(
        self, values: Float[np.ndarray, "row feature"], levels: Float64[np.ndarray, " level"]
    ) -> Float64[np.ndarray, "row level"]:
        """Returns quantiles at rows that `encoder_.values` has encoded."""
        found = self.over_ends(values, functools.partial(self._quantiles_in, levels))
        return np.concatenate([np.empty((0, levels.size)), *found])

    def _quantiles_in(
        self,
        levels: Float64[np.ndarray, " level"],
        ends: Int[np.ndarray, "row tree"],
        is_counted: Bool[np.ndarray, "row tree"] | None,
    ) -> Float64[np.ndarray, "row level"]:
        return quantiles_of(self.leaves_, ends, self._values_of_atoms, levels, is_counted=is_counted)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row 1"]:
        """Returns the medians of rows that `encoder_.values` has encoded."""
        return self.quantiles_at(values, np.array([0.5]))

    def predict_quantile(self, X: Any, levels: Any) -> Float[np.ndarray, "row *level"]:
        """Returns the quantile of a level, or those of several, at every row: what `predict` does with `quantiles`."""
        return self.predict(X, levels)

    def predict_interval(self, X: Any, *, coverage: float = 0.9) -> Float64[np.ndarray, "row 2"]:
        """Returns the lower and the upper bound of the number of every row: quantiles with equal tails.

        Args:
            X: A table, or a source.
            coverage: The share of rows whose number lies within the bounds.

        Raises:
            InvalidInputError: The coverage is not between 0 and 1.
        """
        if not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be between 0 and 1, got {coverage}")
        return self.predict(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def fitted_state(self) -> QuantileState:
        """Returns what fitting has learned: what a model file keeps."""
        score = float(self.oob_score_) if hasattr(self, "oob_score_") else None
        return QuantileState(self.fitted_table(), self.leaf_trees(), score, vars(self).get("oob_prediction_"))

    def restore(self, state: QuantileState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.restore_leaves(state.trees)
        if state.oob_score is not None:
            self.oob_score_, self.oob_prediction_ = state.oob_score, state.oob_prediction


def atoms_of(target: Float64[np.ndarray, " row"]) -> Atoms:
    """Returns the atoms of numbers: the different ones, ascending, or those in the middle of equally many.

    >>> atoms_of(np.array([2.5, 1.0, 2.5])).atom.tolist()
    [1, 0, 1]
    """
    values, atom = np.unique(target, return_inverse=True)
    if values.size <= MOST_VALUES:
        return Atoms(atom, values)
    # The groups of places among different numbers.
    begins = np.arange(MOST_VALUES + 1, dtype=np.int64) * values.size // MOST_VALUES
    group = np.repeat(np.arange(MOST_VALUES), np.diff(begins))
    return Atoms(group[atom], values[(begins[:-1] + begins[1:] - 1) // 2])


def levels_of(name: str, given: Any) -> Float64[np.ndarray, "*level"]:
    """Returns levels as an array: of no axis, or of one.

    Raises:
        InvalidInputError: They are no numbers between 0 and 1.
    """
    try:
        levels = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        levels = np.full(1, np.nan)
    if levels.ndim > 1 or not ((levels > 0) & (levels < 1)).all():
        raise InvalidInputError(f"{name} must be levels between 0 and 1, without these, got {given!r}")
    return levels
