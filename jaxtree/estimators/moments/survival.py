"""Forests of survival times: who has the event sooner, and the curve of every row."""

import copy
import dataclasses
import functools
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Float64, Int
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.conventions import Role, generator_of
from jaxtree.estimators.common.drawn_bands import groups_of_draws
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.common.jobs import uninterrupted
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.forests.bands import drawn_anew
from jaxtree.estimators.moments.leaves import Atoms, BaseLeafForest
from jaxtree.estimators.moments.survival_bands import DrawnTimes, SurvivalBands
from jaxtree.figures.bands import check_level
from jaxtree.files.leaves import LeafTrees
from jaxtree.files.trees import FittedTable, RandomKey
from jaxtree.forests.forest import Forest
from jaxtree.forests.redraws import Times
from jaxtree.losses.curves import times_of
from jaxtree.metrics import concordance_index
from jaxtree.moments.forest import Filling
from jaxtree.moments.leaf_rows import LeafRows
from jaxtree.moments.moment import unit_of_weights
from jaxtree.moments.survival import SurvivalTimes
from jaxtree.moments.survival_leaves import LeafCurves, fill_with_hazards, survival_steps
from jaxtree.table.redraws import RedrawnRows
from jaxtree.tree.kinds import Prediction


class SurvivalState(NamedTuple):
    """All that a forest of survival times learns in fit.

    Attributes:
        table: The columns and the target.
        trees: The trees, with the hazards of their leaves.
        event_times: The different times of events.
        oob_score: The concordance of out-of-bag mortalities, if it was asked for.
        oob_prediction: These mortalities.
    """

    table: FittedTable
    trees: LeafTrees
    event_times: Float64[np.ndarray, " time"]
    oob_score: float | None
    oob_prediction: Float64[np.ndarray, " row"] | None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SurvivalForest(PredictsNumbers, BaseLeafForest):
    """A random survival forest (Ishwaran, Kogalur, Blackstone and Lauer, 2008) of times with or without an event.

    Splits have the greatest log-rank statistic; see `jaxtree.moments.survival`. Leaves keep the hazards at the times of
    their events, so that a forest takes memory in proportion to its rows, not to leaves times times. Curves are means
    over trees: of Nelson and Aalen's cumulative hazards, and of Kaplan and Meier's curves. The prediction is the
    expected *mortality*: the sum of the cumulative hazard over the times of events in the fit, which is the number of
    events that would be expected if all rows were like this one.

    Args:
        oob_score: Whether mortalities of the rows of the fit are made by the trees that have not drawn them.
        honest: Whether a tree fills its leaves by other rows than those that chose its splits.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of mortalities.
        leaves_: The hazards in their leaves.
        event_times_: The different times of events in the fit, at which curves are shown.
        oob_prediction_: The mortality of the rows of the fit by the trees that have not drawn them; with `oob_score`.
        oob_score_: Their concordance index.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((500, 2))
        >>> time, watched = rng.exponential(np.exp(-3 * X[:, 0])), rng.exponential(size=500)
        >>> forest = SurvivalForest(50, random_state=0).fit(X, np.minimum(time, watched), event=time <= watched)
        >>> low, high = forest.predict([[0.1, 0.5], [0.9, 0.5]])
        >>> bool(low < high), forest.score(X, np.minimum(time, watched), event=time <= watched) > 0.7
        (True, True)
        >>> curves = forest.predict_survival_function([[0.1, 0.5], [0.9, 0.5]])
        >>> bool(np.all(curves([0.5])[0] > curves([0.5])[1]))
        True
    """

    n_estimators: int = dataclasses.field(default=100, kw_only=False)
    oob_score: Annotated[bool, "boolean", Role.REPORTS] = False
    max_samples: float = 0.632
    max_features: Any = "sqrt"
    honest: bool = False
    alpha: float = 0.0

    keeps_rows = False
    extras_of_fit = ("event",)

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        event: Any = None,
        groups: Any = None,
        mesh: Mesh | None = None,
        **others: Any,
    ) -> Self:
        """Grows the trees, and keeps the hazards of their leaves.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it.
            y: The time of every row, of its event or of the end of watching; or a structured array of events
                (booleans) and times, as scikit-survival has them.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            event: 1 or True of rows with the event, 0 of those that were watched until then without it; all have it if
                this is not given.
            groups: The group of every row: rows of one are drawn, and divided, together.
            mesh: Devices of one kind, in one axis, to divide the trees among.
            others: Nothing else is taken.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed; no row has the event.
            InvalidTypeError: The table holds what cannot be read.
        """
        forks.check_is_whole("fit")
        self.check_parameters()
        if others:
            check_arguments(self, "fit", others, self.extras_of_fit)
        with placed_fit(self, X, mesh):
            fields = {"event": event, "group": groups}
            data = self.with_scaled_weights(self.read(X, y, sample_weight, fields))
            time, is_event = times_and_events(data)
            self.draw_key()
            self.event_times_ = np.unique(time[is_event])
            self.grow_curves(data, time, is_event, mesh)
            if self.oob_score:
                self._score_out_of_bag(data, time, is_event)
            return self

    def grow_curves(
        self,
        data: Dataset,
        time: Float64[np.ndarray, " row"],
        is_event: Bool[np.ndarray, " row"],
        mesh: Mesh | None = None,
    ) -> None:
        """Grows the trees, and takes them as the fitted ones; the times of all events are among `event_times_`.

        Args:
            data: The rows.
            time: Their times.
            is_event: Whether these are of events.
            mesh: Devices to divide the trees among.
        """
        rank = np.unique(time, return_inverse=True)[1]
        moment = SurvivalTimes(rank, is_event, unit_of_weights(data.weight))
        number = self.event_times_.size
        # A leaf's hazard at a time counts for all times of events from then on.
        place = np.minimum(np.searchsorted(self.event_times_, time), number - 1)
        atoms = Atoms(place, np.arange(number, 0, -1).astype(np.float64))
        self.learn(data)
        self._moment = moment
        self.grow_leaves(data, moment, atoms, mesh)
        del self._moment

    def bands(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        level: float = 0.9,
        draws: int = 200,
        event: Any = None,
        groups: Any = None,
        random_state: Any = 0,
    ) -> SurvivalBands:
        """Returns bands of survival curves, mortalities, importances and dependence.

        Every draw is a forest of at most eight trees on the rows of the fit, whose times are drawn again from the
        curves of forests that have not seen them; see `jaxtree.RandomForestRegressor.bands`.

        Args:
            X: The rows of the fit.
            y: Their times, as in `fit`.
            sample_weight: Their weights, as in `fit`. The time of a row is drawn once, whatever its weight.
            level: The share of rows whose bands are to hold, above 0 and below 1.
            draws: How many draws; at least 2 are to lie outside a band.
            event: Whether rows have the event, as in `fit`.
            groups: The group of every row, as in `fit`, whose times are drawn together.
            random_state: The seed of the draws.

        Raises:
            InvalidInputError: The rows are not those of the fit or have too few events, trees have been changed since,
                or an argument is not allowed.

        Example:
            >>> import numpy as np
            >>> generator = np.random.default_rng(0)
            >>> X = generator.random((200, 2))
            >>> time = generator.exponential(np.exp(-3 * X[:, 0]))
            >>> bands = SurvivalForest(30, random_state=0).fit(X, time).bands(X, time, draws=20)
            >>> center, lower, upper = bands.survival([[0.1, 0.5], [0.9, 0.5]], times=[0.3])
            >>> bool(lower[0, 0] > upper[1, 0]), bool((lower <= center).all())
            (True, True)
        """
        check_is_fitted(self)
        check_level(level, draws)
        with placed_fit(self, X):
            data = self.with_scaled_weights(self.read(X, y, sample_weight, {"event": event, "group": groups}))
            times = Times(*times_and_events(data))
            drawn = RedrawnRows(
                int(generator_of(random_state).randint(2**31 - 1)), groups_of_draws(data.sample, None, None)
            )
            return SurvivalBands(self, *drawn_anew(DrawnTimes(self, data, drawn, times), draws), level)

    @property
    def key_of_fit(self) -> RandomKey:
        """The key of all that trees have drawn."""
        return self._key

    def grown_anew(self, data: Dataset, num_trees: int, key: RandomKey) -> Self:
        """Returns a forest of these parameters on some rows, whose curves are at the times of events of this fit.

        Args:
            data: The rows, whose events are at some of these times.
            num_trees: The number of trees.
            key: The key of all that they draw.
        """
        forest = copy.copy(self)
        forest.n_estimators, forest.verbose = num_trees, 0
        forest.draw_key(key)
        uninterrupted(lambda: forest.grow_curves(data, *times_and_events(data)))
        return forest

    def fill(
        self, forest: Forest, filling: Filling, data: Dataset, atom: Int[np.ndarray, " row"], num_atoms: int
    ) -> LeafRows:
        """Returns the hazards in the leaves of trees."""
        return fill_with_hazards(forest, filling, self._moment, atom, num_atoms=num_atoms)

    def _score_out_of_bag(
        self, data: Dataset, time: Float64[np.ndarray, " row"], is_event: Bool[np.ndarray, " row"]
    ) -> None:
        mortality = self.out_of_bag(data, self._mortality_of)
        own = mortality if data.has_weight is None else mortality[data.has_weight]
        known = ~np.isnan(own)
        weight = None if data.weight is None else data.weight[known]
        score = concordance_index(time[known], own[known], event=is_event[known], sample_weight=weight)
        self.oob_score_, self.oob_prediction_ = float(score), mortality

    def _mortality_of(
        self, ends: Int[np.ndarray, "row tree"], is_counted: Bool[np.ndarray, "row tree"]
    ) -> Float64[np.ndarray, " row"]:
        own = self.model_.node_value[:, 0][ends]
        with np.errstate(invalid="ignore"):
            return np.where(is_counted, own, 0).sum(axis=1) / is_counted.sum(axis=1)

    @property
    def predicts(self) -> Prediction:
        """The kind of the predictions: risks."""
        return Prediction.RISKS

    unit_of_predictions = "mortality"
    """How pages call a prediction."""

    @property
    def score_name_(self) -> str:
        """The name of the score."""
        return "concordance"

    def score(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> float:
        """Returns the concordance index of mortalities, see `jaxtree.metrics.concordance_index`.

        Args:
            X: A table, or a source.
            y: The time of every row; or a structured array of events and times.
            sample_weight: The weight of every row.
            extras: `event`, as in `fit`.
        """
        check_is_fitted(self)
        given = read_arguments(X, y, sample_weight, extras)
        check_arguments(self, "score", given.fields, self.extras_of_fit)
        event, risk = given.fields.get("event"), self.predict(given.X)
        return concordance_index(plain_target(given.y), risk, event=event, sample_weight=given.sample_weight)

    def predict_survival_function(
        self, X: Any, *, times: Any = None, return_array: bool = False
    ) -> LeafCurves | Float[np.ndarray, "row time"]:
        """Returns the survival curve of every row, the chance to have had no event by a time.

        Args:
            X: A table, or a source.
            times: Where the curves are shown; the times of events in the fit, `event_times_`, if not given.
            return_array: Whether to return the chances at these times alone, a line a row.

        Returns:
            Curves, which may be called with any times, indexed by rows, and drawn by
            `plt.step(curve.x, curve.y, where="post")`.
        """
        return self._curves(X, self._survival_leaves, times, return_array, is_hazard=False)

    def predict_cumulative_hazard_function(
        self, X: Any, *, times: Any = None, return_array: bool = False
    ) -> LeafCurves | Float[np.ndarray, "row time"]:
        """Returns the cumulative hazard of every row; arguments and results are as of `predict_survival_function`."""
        return self._curves(X, self.leaves_, times, return_array, is_hazard=True)

    def predict_median(self, X: Any) -> Float[np.ndarray, " row"]:
        """Returns the time by which the event of every row has come with a chance of one half.

        It is the first time of an event in the fit at which the survival curve is 1/2 or less, and infinite where it
        never is.

        Args:
            X: A table, or a source.
        """
        curves: Any = self.predict_survival_function(X)
        return self.on_cores(functools.partial(curves.quantile, 0.5))

    def survival_at(
        self, values: Float[np.ndarray, "row feature"], times: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, "row time"]:
        """Returns the survival at some times of rows that `encoder_.values` has encoded."""
        return self._curves_of(values, self._survival_leaves, times, is_hazard=False).probabilities

    def _curves_of(self, values: Any, leaves: LeafRows, times: Any, *, is_hazard: bool) -> LeafCurves:
        at = self.event_times_ if times is None else times_of(times)
        ends = np.concatenate([np.zeros((0, len(self.forest_)), np.int32), *self.over_ends(values, _as_short)])
        return LeafCurves(leaves, ends, self.event_times_, at, is_hazard)

    def _curves(self, X: Any, leaves: LeafRows, times: Any, return_array: bool, *, is_hazard: bool) -> Any:
        check_is_fitted(self)
        curves = self._curves_of(self._values(X), leaves, times, is_hazard=is_hazard)
        return self.on_cores(lambda: curves.probabilities) if return_array else curves

    @property
    def _survival_leaves(self) -> LeafRows:
        check_is_fitted(self)
        if "_kaplan_meier" not in vars(self) or self._kaplan_meier[0] is not self.leaves_:
            self._kaplan_meier = self.leaves_, survival_steps(self.leaves_)
        return self._kaplan_meier[1]

    def __getstate__(self) -> dict[str, Any]:
        """Returns what pickles keep: not what follows from the rest."""
        kept: Any = super().__getstate__()
        return {name: value for name, value in kept.items() if name != "_kaplan_meier"}

    def fitted_state(self) -> SurvivalState:
        """Returns what fitting has learned: what a model file keeps."""
        score = float(self.oob_score_) if hasattr(self, "oob_score_") else None
        table, trees = self.fitted_table(), self.leaf_trees()
        return SurvivalState(table, trees, self.event_times_, score, vars(self).get("oob_prediction_"))

    def restore(self, state: SurvivalState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.event_times_ = state.event_times
        self.restore_leaves(state.trees)
        if state.oob_score is not None:
            self.oob_score_, self.oob_prediction_ = state.oob_score, state.oob_prediction


def times_and_events(data: Dataset) -> tuple[Float64[np.ndarray, " row"], Bool[np.ndarray, " row"]]:
    """Returns the time of every row, and whether it is that of an event.

    Raises:
        InvalidInputError: A time is below 0, an event is neither 0 nor 1, or there is none.
    """
    if len(data.target) > 1:
        raise InvalidInputError(f"y must have one time a row, got {len(data.target)} columns")
    time = data.target[0]
    if time.min() < 0:
        row = int(np.flatnonzero(time < 0)[0])
        raise InvalidInputError(f"y must be times from 0 on, got {time[row]} in row {row}")
    given = data.fields.get("event")
    event = np.ones(time.size) if given is None else np.asarray(given)
    is_number = event.ndim == 1 and event.dtype.kind in "iufb"
    if not is_number or not np.isin(event, (0, 1)).all():
        wrong = event if not is_number else event[~np.isin(event, (0, 1))][0]
        raise InvalidInputError(f"event must be 1 or True of rows with the event, and 0 of others, got {wrong}")
    if not event.any():
        raise InvalidInputError("event must be 1 of some row, got none: without events there is no hazard")
    return time, event.astype(bool)


def _as_short(ends: Int[np.ndarray, "row tree"], _: Any) -> Int[np.ndarray, "row tree"]:
    return ends.astype(np.int32)
