"""Survival curves: the chance of every row to have had no event by a time.

Cox's scores are logarithms of risks, which say nothing of time: the hazard of a row of score 0 is learned beside them,
at the times of events. Failure times have a distribution, whose curves are known at all times.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.errors import instance_of, present
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.domain import require
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.predicted import PredictedDistribution


class EventTimes(NamedTuple):
    """The event times and the baseline hazard of a fit.

    Attributes:
        times: The different times of events, ascending.
        log_hazard: The logarithm of the cumulative hazard of a row of score 0, at each; None where the loss has a
            distribution of times.
    """

    times: Float64[np.ndarray, " time"]
    log_hazard: Float64[np.ndarray, " time"] | None = None


def mean_of_times(known: Sequence[EventTimes], shares: Float64[np.ndarray, " model"]) -> EventTimes:
    """Returns what the mean of the scores of several models knows of time.

    The logarithm of a cumulative hazard is a score plus that of the baseline, so that its mean over the models is the
    mean score plus the mean of the baselines, each of which is a step function. It begins where all models know an
    event.

    Args:
        known: The event times and baseline of every model.
        shares: The shares of the models, which add up to 1.

    Example:
        >>> models = [EventTimes(np.array([1.0, 3.0]), np.array([-2.0, 0.0])), EventTimes(np.array([2.0]), np.zeros(1))]
        >>> mean_of_times(models, np.array([0.5, 0.5]))
        EventTimes(times=array([2., 3.]), log_hazard=array([-1.,  0.]))
    """
    times = np.unique(np.concatenate([own.times for own in known]))
    if any(own.log_hazard is None for own in known):
        return EventTimes(times)
    times = times[times >= max(own.times.min(initial=np.inf) for own in known)]
    hazards = [present(own.log_hazard)[np.searchsorted(own.times, times, side="right") - 1] for own in known]
    return EventTimes(times, np.tensordot(shares, hazards, 1))


class Curves(Sequence["SurvivalCurve"]):
    """Step functions of time, one a row, which may be called with times.

    Attributes:
        times: Where the curves are shown.
    """

    times: Float[np.ndarray, " time"]

    def __repr__(self) -> str:
        """How many they are, and until when they go."""
        last = f", until {self.times[-1]:g}" if len(self.times) else ""
        return f"<{len(self)} {self.name} at {len(self.times)} times{last}>"

    @property
    def name(self) -> str:
        """The word for the curves."""
        return "survival curves"

    @overload
    def __getitem__(self, row: int) -> "SurvivalCurve": ...
    @overload
    def __getitem__(self, row: slice) -> "Curves": ...
    def __getitem__(self, row: Any) -> Any:
        """Returns the curve of a row, or those of a slice."""
        if isinstance(row, slice):
            return self.take(row)
        if not -len(self) <= row < len(self):
            raise IndexError(f"the row must be below {len(self)}, the number of curves, got {row}")
        place = row % len(self)
        return SurvivalCurve(self.take(slice(place, place + 1)))

    @abc.abstractmethod
    def take(self, rows: slice) -> "Curves":
        """Returns the curves of some rows."""

    @property
    def probabilities(self) -> Float[np.ndarray, "row time"]:
        """The curves at `times`: a line a row."""
        return self(self.times)

    @abc.abstractmethod
    def __call__(self, times: Any) -> Float[np.ndarray, "row time"]:
        """Returns the curve of every row at each of some times, in the unit of the target."""

    @abc.abstractmethod
    def quantile(self, level: float) -> Float[np.ndarray, " row"]:
        """Returns the first time by which a row has had the event with a chance of `level`; infinite if none is known.

        Raises:
            InvalidInputError: The level is not between 0 and 1.
        """


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SurvivalCurves(Curves):
    """The survival curve of every row, which may be called with times.

    A curve of Cox's loss falls at the times of events, and stays what it is behind the last; that of failure times is
    smooth.

    Attributes:
        loss: The loss that the scores are of.
        scores: The scores of every row.
        known: The event times and baseline of the fit.
        times: Where the curves are shown: the times of events in the fit, or those that were asked for.

    Example:
        >>> from jaxtree.losses.survival import accelerated_failure_time
        >>> known = EventTimes(np.array([1.0, 2.0]))
        >>> curves = SurvivalCurves(accelerated_failure_time(), np.log([[2.0], [4.0]]), known, known.times)
        >>> curves([2.0]).round(2).tolist(), curves.quantile(0.5).round(2).tolist()
        ([[0.5], [0.76]], [2.0, 4.0])
        >>> len(curves), curves[0].y.round(2).tolist()
        (2, [0.76, 0.5])
    """

    loss: BaseLoss
    scores: Float[np.ndarray, "row score"]
    known: EventTimes
    times: Float[np.ndarray, " time"]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.scores)

    def take(self, rows: slice) -> "SurvivalCurves":
        """Returns the curves of some rows."""
        return dataclasses.replace(self, scores=self.scores[rows])

    def __call__(self, times: Any) -> Float[np.ndarray, "row time"]:
        """Returns the chance of every row to have had no event by each of some times, in the unit of the target."""
        at = times_of(times)
        if self.known.log_hazard is None:
            columns = [self._dist.cdf(float(time)) for time in at]
            return 1 - np.stack(columns, axis=1) if columns else np.ones((len(self), 0))
        log_hazard = np.append(-np.inf, self.known.log_hazard)[np.searchsorted(self.known.times, at, side="right")]
        with np.errstate(over="ignore"):
            return np.exp(-np.exp(log_hazard + self.scores[:, :1]))

    def quantile(self, level: float) -> Float[np.ndarray, " row"]:
        """Returns the first time by which a row has had the event with a chance of `level`; infinite if none is known.

        Raises:
            InvalidInputError: The level is not between 0 and 1.
        """
        require(0 < level < 1, "a level must be between 0 and 1, without these", level)
        if self.known.log_hazard is None:
            return self._dist.quantile(level)
        wanted = np.log(-np.log1p(-level)) - self.scores[:, 0]
        return np.append(self.known.times, np.inf)[np.searchsorted(self.known.log_hazard, wanted, side="left")]

    @property
    def _dist(self) -> PredictedDistribution:
        return PredictedDistribution(instance_of(Distribution, self.loss), self.scores)


@dataclasses.dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """The survival curve of one row, as `plt.step(curve.x, curve.y, where="post")` draws it.

    Attributes:
        curves: The curve among curves.
    """

    curves: Curves

    @property
    def x(self) -> Float[np.ndarray, " time"]:
        """The times where it is shown."""
        return self.curves.times

    @property
    def y(self) -> Float[np.ndarray, " time"]:
        """The chances of no event by these times."""
        return self.curves.probabilities[0]

    def __call__(self, time: Any) -> Float[np.ndarray, "*time"]:
        """Returns the chance of no event by a time, or by each of several."""
        return self.curves(np.ravel(time))[0].reshape(np.shape(time))[()]


def times_of(given: Any) -> Float[np.ndarray, " time"]:
    """Returns times as an array.

    Raises:
        InvalidInputError: They are no numbers in one axis.
    """
    times = np.asarray(given)
    is_plain = times.ndim == 1 and times.dtype.kind in "iufb" and not np.isnan(times.astype(np.float64)).any()
    require(is_plain, "times must be a list of numbers", given)
    return times.astype(np.float64)


def log_baseline(
    scores: Float[np.ndarray, " row"],
    time: Float[np.ndarray, " row"],
    event: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    ties: str,
) -> EventTimes:
    r"""Returns the cumulative hazard of a row of score 0 (Breslow, 1972).

    By a time it is the sum, over the events until then, of one over the risk of all rows that are still watched.

    Tied events leave one after another where the loss has them do so (Efron, 1977); every event counts with the mean
    weight of those tied with it.

    Args:
        scores: The logarithms of risks.
        time: The time of every row, of an event or of the end of watching.
        event: 1 of events.
        weight: The weight of every row, 0 or more.
        ties: `"efron"` or `"breslow"`.

    Example: of three rows at equal risk one has the event, then one of two.
        >>> known = log_baseline(np.zeros(3), np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.ones(3), "efron")
        >>> known.times.tolist(), np.exp(known.log_hazard).round(3).tolist()
        ([1.0, 2.0], [0.333, 0.833])
    """
    kept = weight > 0
    scores, time, event, weight = (values[kept] for values in (scores, time, event > 0, weight))
    order = np.lexsort((~event, time))
    scores, time, event, weight = (values[order] for values in (scores, time, event, weight))
    highest = scores.max()
    risk = weight * np.exp(scores - highest)
    at_risk = np.cumsum(risk[::-1])[::-1]
    place = np.flatnonzero(event)
    times, first, number = np.unique(time[place], return_index=True, return_counts=True)
    tied_risk, tied_weight = (np.add.reduceat(values[place], first) for values in (risk, weight))
    of_time = np.repeat(np.arange(len(times)), number)
    left_out = (np.arange(len(place)) - first[of_time]) / number[of_time] if ties == "efron" else 0.0
    sums = at_risk[np.searchsorted(time, times)][of_time] - left_out * tied_risk[of_time]
    steps = np.add.reduceat((tied_weight / number)[of_time] / sums, first)
    return EventTimes(times, np.log(np.cumsum(steps)) - highest)
