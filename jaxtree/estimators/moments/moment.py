"""Forests of a moment equation that the user writes."""

import dataclasses
import functools
from typing import Annotated, Any, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Float64, Int
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError, all_or_nothing, warn_user
from jaxtree.estimators.common.conventions import Role, whole
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.moments.leaves import Atoms, BaseLeafForest
from jaxtree.moments.equation import EquationMoment, EstimatingEquation, check_equation, solve_nodes
from jaxtree.moments.leaf_rows import RowAtoms, merge, over_rows
from jaxtree.moments.moment import NodeRows
from jaxtree.tree.kinds import Prediction


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class MomentForest(PredictsNumbers, BaseLeafForest):
    r"""A generalised random forest of any moment equation (Athey, Tibshirani and Wager, 2019).

    At every x the parameters solve $\sum_i \alpha_i(x) \psi_{\theta, \nu}(O_i) = 0$, where the weights $\alpha_i(x)$
    are those by which a forest's leaves tell how much row i is like x. Splits make the solutions of branches most
    different: each level makes the pseudo-outcomes of all nodes anew, with the Jacobian that JAX derives. Where that is
    singular a node is not split, and a row has no prediction, NaN, with a warning: so it is for terms that are steps,
    such as those of quantiles, for which there is `QuantileForest`.

    Args:
        psi: A function of JAX `(theta, nu, observation)` of one row that returns the moment's terms: as many numbers as
            there are parameters. `observation` is the target of a row: a number, or an array of several outputs.
            `theta` and `nu` are numbers where there is one of them, else arrays.
        num_parameters: The number of parameters of interest, `theta`, which are predicted.
        num_nuisances: The number of parameters beside them, `nu`.
        start: The parameters that Newton's steps begin with: one number for all, or a number for each of `theta` and
            then of `nu`.
        oob_score: Whether parameters at the rows of the fit are found by the trees that have not drawn them.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of rows' numbers.
        leaves_: The rows in their leaves.
        observation_: The targets of the rows of the fit.
        solution_: The parameters of all rows together.
        oob_prediction_: The parameters at the rows of the fit by the trees that have not drawn them; with `oob_score`.

    Example: a Poisson rate beside an exposure, whose logarithm is the parameter.
        >>> import jax.numpy as jnp
        >>> rng = np.random.default_rng(0)
        >>> X, exposure = rng.random((1000, 1)), rng.uniform(1, 3, 1000)
        >>> counts = rng.poisson(exposure * np.where(X[:, 0] > 0.5, 4, 1))
        >>> rate = lambda theta, nu, row: row[0] - row[1] * jnp.exp(theta)
        >>> forest = MomentForest(rate, n_estimators=50, random_state=0).fit(X, np.column_stack([counts, exposure]))
        >>> np.exp(forest.predict([[0.2], [0.8]])).round().tolist()
        [1.0, 4.0]
    """

    psi: Annotated[Any, callable, Role.FIT] = dataclasses.field(kw_only=False)  # pyright: ignore[reportGeneralTypeIssues]
    n_estimators: int = dataclasses.field(default=500, kw_only=True)
    num_parameters: Annotated[int, whole(1), Role.FIT] = 1
    num_nuisances: Annotated[int, whole(0), Role.FIT] = 0
    start: Annotated[Any, object, Role.FIT] = 0.0
    oob_score: Annotated[bool, "boolean", Role.REPORTS] = False

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, mesh: Mesh | None = None) -> Self:
        """Grows the trees, and keeps the rows in their leaves.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it.
            y: The observation of every row: a number, or several in columns.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            groups: The group of every row: rows of one are drawn, and divided, together.
            mesh: Devices of one kind, in one axis, to divide the trees among.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed, or the equation has no solution in all rows.
            InvalidTypeError: The table holds what cannot be read.
        """
        forks.check_is_whole("fit")
        self.check_parameters()
        with placed_fit(self, X, mesh):
            data = self.with_scaled_weights(self.read(X, y, sample_weight, {"group": groups}))
            equation = self.equation()
            check_equation(equation, data.target)
            self.draw_key()
            self.solution_ = self._solution_of_all(equation, data)
            self.learn(data)
            moment = EquationMoment(equation, data.target, self.solution_)
            self.observation_ = data.target.T
            every = np.arange(data.num_rows)
            self.grow_leaves(data, moment, Atoms(every, data.target[0].copy()), mesh)
            if self.oob_score:
                found = self.out_of_bag(data, self._solutions_in)
                self.oob_prediction_ = found[:, 0] if self.num_parameters == 1 else found
            return self

    @property
    def predicts(self) -> Prediction:
        """Parameters of an equation."""
        return Prediction.PARAMETERS

    def equation(self) -> EstimatingEquation:
        """Returns the equation.

        Raises:
            InvalidInputError: `start` has no number for each parameter.
        """
        size = self.num_parameters + self.num_nuisances
        try:
            start = np.broadcast_to(np.asarray(self.start, np.float64), (size,))
        except (TypeError, ValueError):
            start = np.full(size, np.nan)
        if not np.isfinite(start).all():
            raise InvalidInputError(f"start must be a number, or one for each of {size} parameters, got {self.start!r}")
        return EstimatingEquation(self.psi, self.num_parameters, self.num_nuisances, tuple(start.tolist()))

    def _solution_of_all(self, equation: EstimatingEquation, data: Dataset) -> Float64[np.ndarray, " parameter"]:
        number = data.num_rows
        weight = np.ones(number) if data.weight is None else data.weight
        nodes = NodeRows.of(np.arange(number), np.zeros(number, np.int32), weight, 1)
        found = solve_nodes(equation, data.target, nodes, np.array([equation.start]))
        if not found.is_regular[0]:
            raise InvalidInputError(
                "psi has no single solution in all rows: its Jacobian is singular, or Newton's steps from start="
                f"{self.start!r} do not end; they came to {found.solution[0].tolist()}"
            )
        return found.solution[0]

    def names_of_predictions(self) -> list[str]:
        """Returns the names of the parameters."""
        number = self.num_parameters
        return ["parameter"] if number == 1 else [f"parameter {place}" for place in range(number)]

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row parameter"]:
        """Returns the parameters at rows that `encoder_.values` has encoded."""
        found = np.concatenate([np.empty((0, self.num_parameters)), *self.over_ends(values, self._solutions_in)])
        missing = int(np.isnan(found).any(axis=1).sum())
        if missing:
            warn_user(f"psi has no single solution at {missing} of {len(found)} rows, which are NaN")
        return found

    def predict(self, X: Any) -> Float64[np.ndarray, "row *parameter"]:
        """Returns the parameter of interest at every row; of several a column each.

        Args:
            X: A table, or a source.
        """
        check_is_fitted(self)
        found = self.on_cores(lambda: self.predict_values(self._values(X)))
        return found[:, 0] if self.num_parameters == 1 else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Raises InvalidInputError: an equation does not tell which solution is better; give a search a scorer."""
        raise InvalidInputError(
            "MomentForest has no score of its own, as an equation does not tell how wrong a solution is: pass scoring="
        )

    def _solutions_in(
        self, ends: Int[np.ndarray, "row tree"], is_counted: Bool[np.ndarray, "row tree"] | None
    ) -> Float64[np.ndarray, "row parameter"]:
        work = functools.partial(self._solutions_of, self.equation())
        return np.concatenate(over_rows(self.leaves_, ends, work, is_counted=is_counted))

    def _solutions_of(
        self, equation: EstimatingEquation, block: slice, atoms: RowAtoms
    ) -> Float64[np.ndarray, "block parameter"]:
        own = merge(atoms)
        sizes = np.diff(own.first)
        found = np.full((sizes.size, self.num_parameters), np.nan)
        filled = np.flatnonzero(sizes)
        if not filled.size:
            return found
        node = np.repeat(np.arange(filled.size), sizes[filled])
        nodes = NodeRows.of(own.atom, node, own.weight, filled.size)
        start = np.broadcast_to(self.solution_, (filled.size, self.solution_.size))
        solved = solve_nodes(equation, self.observation_.T, nodes, start)
        theta = solved.solution[:, : self.num_parameters]
        found[filled] = np.where(solved.is_regular[:, None], theta, np.nan)
        return found
