"""Measures of survival times: Kaplan and Meier's curve, concordance, and Brier scores of curves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int
from sklearn.exceptions import UndefinedMetricWarning

from jaxtree.dataset.arguments import split_structured
from jaxtree.errors import InvalidInputError, warn_user


class Observed(NamedTuple):
    """The bounds of the time of every row's event.

    Attributes:
        lower: The first time: that of the event, or of the end of watching.
        upper: The last time: that of the event, or infinity.
    """

    lower: Float[np.ndarray, " row"]
    upper: Float[np.ndarray, " row"]

    @property
    def is_event(self) -> Bool[np.ndarray, " row"]:
        """Whether the time is known: of rows that are watched until an event or an end, whether it is an event."""
        return self.lower == self.upper


def read_times(time: Any, *, event: Any = None, upper: Any = None) -> Observed:
    """Reads times and events, or bounds.

    Args:
        time: The time of every row, or a structured array of events and times.
        event: 1 or True of rows with the event; all have it if neither this nor `upper` is given.
        upper: The last time that the event may be at.

    Raises:
        InvalidInputError: Both are given, an argument has another number of rows, or a value is not allowed.

    >>> read_times([2.0, 3.0], event=[True, False]).upper.tolist()
    [2.0, inf]
    """
    if event is not None and upper is not None:
        raise InvalidInputError("event and upper say the same: give one of them, got both")
    given = {"event": event} if event is not None else {}
    time, extras = split_structured(time, given)
    event = extras.get("event")
    lower = numbers_of_rows("time", time, None)
    if upper is not None:
        last = numbers_of_rows("upper", upper, len(lower), is_infinite=True)
        if (last < lower).any():
            row = int(np.flatnonzero(last < lower)[0])
            raise InvalidInputError(f"upper must not be below time, got {last[row]} for {lower[row]} in row {row}")
        return Observed(lower, last)
    if event is None:
        return Observed(lower, lower)
    events = numbers_of_rows("event", event, len(lower))
    if not np.isin(events, (0, 1)).all():
        wrong = events[~np.isin(events, (0, 1))][0]
        raise InvalidInputError(f"event must be 1 or True of rows with the event, and 0 of others, got {wrong}")
    return Observed(lower, np.where(events == 1, lower, np.inf))


def weights_of_rows(sample_weight: Any, num_rows: int) -> Float[np.ndarray, " row"]:
    """Returns the weight of every row; 1 if none are given. See `numbers_of_rows`."""
    return np.ones(num_rows) if sample_weight is None else numbers_of_rows("sample_weight", sample_weight, num_rows)


def numbers_of_rows(
    name: str, given: Any, num_rows: int | None, *, is_infinite: bool = False
) -> Float[np.ndarray, " row"]:
    """Returns a number for each row.

    Raises:
        InvalidInputError: There are none, or not `num_rows`, or one is missing, or infinite where it must not be.
    """
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a number for each row, got {type(given).__name__}") from None
    if values.ndim != 1 or (num_rows is not None and len(values) != num_rows):
        wanted = "one axis" if num_rows is None else f"shape ({num_rows},)"
        raise InvalidInputError(f"{name} must be a number for each row, of {wanted}, got shape {values.shape}")
    is_wrong = np.isnan(values) if is_infinite else ~np.isfinite(values)
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise InvalidInputError(f"{name} must be finite numbers, got {values[row]} in row {row}")
    return values


NORMAL_QUANTILE = 1.959964
"""The normal quantile of 0.975, for intervals of 95 %."""


class KaplanMeier(NamedTuple):
    r"""A survival curve (Kaplan and Meier, *Nonparametric estimation from incomplete observations*, 1958).

    $\hat S(t) = \prod_{t_i \le t} (1 - d_i / n_i)$ over the times of events, where $d_i$ is the weight of the events at
    a time and $n_i$ that of the rows still watched. Bands are Greenwood's on the scale of $\log(-\log S)$.

    Attributes:
        time: 0 and the times of events, ascending.
        share: The share without the event just after each.
        low: The lower end of its 95 % interval.
        high: The upper end.
    """

    time: Float64[np.ndarray, " step"]
    share: Float64[np.ndarray, " step"]
    low: Float64[np.ndarray, " step"]
    high: Float64[np.ndarray, " step"]

    @classmethod
    def of(cls, time: Any, *, event: Any = None, sample_weight: Any = None) -> "KaplanMeier":
        """Returns the curve of rows that were watched for some time, until an event or not.

        Args:
            time: How long every row was watched; or scikit-survival's structured array of events and times.
            event: 1 or True of rows whose time ends in the event; all do if not given.
            sample_weight: The weight of every row; 1 if not given.

        Raises:
            InvalidInputError: An argument has another number of rows, or a value is not allowed.

        Example:
            >>> KaplanMeier.of([1.0, 2.0, 3.0], event=[1, 0, 1]).share.round(3).tolist()
            [1.0, 0.667, 0.0]
        """
        rows = read_times(time, event=event)
        number = len(rows.lower)
        weight = weights_of_rows(sample_weight, number)
        order = np.argsort(rows.lower, kind="stable")
        later = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
        happened = rows.is_event & (weight > 0)
        steps, place = np.unique(rows.lower[happened], return_inverse=True)
        num_events = np.bincount(place, weight[happened], minlength=len(steps))
        at_risk = np.maximum(later[np.searchsorted(rows.lower[order], steps)], num_events)
        left = at_risk - num_events
        share = np.cumprod(np.divide(left, at_risk, out=np.ones(len(steps)), where=at_risk > 0))
        variance = np.cumsum(np.divide(num_events, at_risk * left, out=np.zeros(len(steps)), where=left > 0))
        inner = (share > 0) & (share < 1)
        log = np.where(inner, np.log(np.where(inner, share, 0.5)), -1.0)
        power = np.exp(NORMAL_QUANTILE * np.sqrt(variance) / np.abs(log))
        low, high = (np.where(inner, np.exp(log * factor), share) for factor in (power, 1 / power))
        return cls(*(np.append(first, part) for first, part in ((0.0, steps), (1.0, share), (1.0, low), (1.0, high))))


Chance = Callable[[Float[np.ndarray, " time"]], Float[np.ndarray, " time"]]


def survival_brier_score(
    time: Any,
    survival: Any,
    times: Any,
    *,
    event: Any = None,
    censoring: Any = None,
    sample_weight: Any = None,
) -> Float[np.ndarray, " time"]:
    r"""Returns the mean squared distance of predicted chances of survival from what came, at each of some times.

    $\frac1n \sum_i [t_i \le t, d_i = 1] \hat S_i(t)^2 / \hat G(t_i) + [t_i > t] (1 - \hat S_i(t))^2 / \hat G(t)$, where
    $\hat G$ is the Kaplan-Meier estimate of the chance not to be censored (Graf et al., *Assessment and comparison of
    prognostic classification schemes for survival data*, Statistics in Medicine 18, 1999). A model that says 1/2
    everywhere has 0.25.

    Args:
        time: The time of every row until the event, or until it was last watched; or scikit-survival's structured array
            of events and times.
        survival: The chance of every row to have no event until each of the times: an array of rows and times, such as
            `model.predict_survival_function(X)(times)`.
        times: The times.
        event: 1 or True of rows whose event is at `time`; all have it if not given.
        censoring: The rows that $\hat G$ is estimated on, such as those of the fit: a pair of times and events, or a
            structured array; the rows themselves if not given.
        sample_weight: The weight of every row.

    Raises:
        InvalidInputError: An argument has another shape, or a value that is not allowed.

    Example: without censoring it is the mean squared error.
        >>> survival_brier_score([1.0, 3.0], [[0.5], [0.8]], [2.0]).round(3).tolist()
        [0.145]
    """
    observed = read_times(time, event=event)
    number, at = len(observed.lower), numbers_of_rows("times", times, None)
    chances = np.asarray(survival, np.float64)
    if chances.shape != (number, len(at)):
        raise InvalidInputError(f"survival must have the shape (rows, times), {(number, len(at))}, got {chances.shape}")
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InvalidInputError("survival must have chances from 0 to 1")
    weight = weights_of_rows(sample_weight, number)
    chance = censoring_of(observed, weight) if censoring is None else censoring_of(censoring)
    own, own_time = _inverse(chance(observed.lower)), observed.lower[:, None]
    had_event = (own_time <= at) & observed.is_event[:, None]
    distance = np.where(had_event, chances**2 * own[:, None], 0)
    distance += np.where(own_time > at, (1 - chances) ** 2 * _inverse(chance(at)), 0)
    return np.average(distance, axis=0, weights=weight)


def integrated_brier_score(
    time: Any,
    survival: Any,
    times: Any,
    *,
    event: Any = None,
    censoring: Any = None,
    sample_weight: Any = None,
) -> float:
    """Returns the mean of `survival_brier_score` over time, by the trapezoidal rule, from the first time to the last.

    Args:
        time: The time of every row; all arguments are those of `survival_brier_score`.
        survival: The chances of survival, rows by times.
        times: Two times or more, ascending.
        event: Which rows have the event.
        censoring: The rows that censoring is estimated on.
        sample_weight: The weight of every row.

    Raises:
        InvalidInputError: There are fewer times, or they do not ascend, or an argument is not allowed.

    Example:
        >>> round(integrated_brier_score([1.0, 3.0], [[0.5, 0.1], [0.8, 0.5]], [2.0, 4.0]), 4)
        0.1375
    """
    at = numbers_of_rows("times", times, None)
    if len(at) < 2 or (np.diff(at) <= 0).any():
        raise InvalidInputError(f"times must be two or more, ascending, got {len(at)} times")
    scores = survival_brier_score(time, survival, at, event=event, censoring=censoring, sample_weight=sample_weight)
    return float(np.sum((scores[1:] + scores[:-1]) / 2 * np.diff(at)) / (at[-1] - at[0]))


def censoring_of(given: Any, weight: Float[np.ndarray, " row"] | None = None) -> Chance:
    r"""Returns the chance not to be censored by a time, $\hat G(t)$, by Kaplan and Meier's product.

    Events come before the ends of watching at the same time. Behind the last time it stays what it was there.

    Args:
        given: Rows: times and events in a pair or a structured array, or as `read_times` returns them.
        weight: The weight of every row; None is 1.

    >>> censoring_of(([1.0, 2.0, 3.0], [1, 0, 1]))(np.array([1.5, 2.0]))
    array([1. , 0.5])
    """
    if not isinstance(given, Observed):
        is_pair = isinstance(given, tuple | list) and len(given) == 2
        given = read_times(given[0], event=given[1]) if is_pair else read_times(given)
    at, place = np.unique(given.lower, return_inverse=True)
    weight = np.ones(len(place)) if weight is None else weight
    total = np.bincount(place, weight, minlength=len(at))
    events = np.bincount(place, weight * given.is_event, minlength=len(at))
    at_risk = total[::-1].cumsum()[::-1] - events
    left = np.divide(total - events, at_risk, out=np.zeros(len(at)), where=at_risk > 0)
    kept = np.append(1.0, np.cumprod(1 - left))
    return lambda times: kept[np.searchsorted(at, times, side="right")]


def _inverse(chance: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """One divided by a chance; 0 where it is 0, so that such rows do not count."""
    return np.divide(1.0, chance, out=np.zeros(len(chance)), where=chance > 0)


def sums_below(
    values: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    start: Int[np.ndarray, " query"],
    thresholds: Float[np.ndarray, "query threshold"],
) -> Float[np.ndarray, "query threshold"]:
    r"""Returns the weight of the rows from a start on whose value is below each threshold.

    Time is proportional to $n \log^2 n$ of rows and queries, memory to their number.

    Args:
        values: The values of the rows.
        weight: Their weights.
        start: The first row of every query; the number of rows for none.
        thresholds: The thresholds of every query.

    Example: of the rows from the second on, those below 3.
        >>> sums_below(np.array([1.0, 2.0, 5.0]), np.ones(3), np.array([1]), np.array([[3.0]])).tolist()
        [[1.0]]
    """
    sums = np.zeros(thresholds.shape)
    if not len(values) or not len(start):
        return sums
    place = np.unique(values, return_inverse=True)[1].reshape(-1)
    below = np.searchsorted(np.unique(values), thresholds)
    size, num_rows, first = 1, len(values), start.copy()
    while size <= num_rows:
        # Blocks behind the last full one are never asked for: a place has no rows beyond the last.
        is_asked = ((first // size) % 2 == 1) & (first < num_rows)
        if is_asked.any():
            block = first[is_asked] // size
            sums[is_asked] += _below_in_blocks(place, weight, size, block, below[is_asked])
        first = np.where(is_asked, first + size, first)
        size *= 2
    is_all = first == 0
    sums[is_all] += _below_in_blocks(place, weight, size, first[is_all], below[is_all])
    return sums


def _below_in_blocks(
    place: Int[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    size: int,
    block: Int[np.ndarray, " query"],
    below: Int[np.ndarray, "query threshold"],
) -> Float[np.ndarray, "query threshold"]:
    """The weight of the rows of a block whose place among the distinct values is below each number."""
    width = len(place) + 1
    key = np.arange(len(place)) // size * width + place
    order = np.argsort(key, kind="stable")
    total = np.append(0.0, np.cumsum(weight[order]))
    ends = np.searchsorted(key[order], block[:, None] * width + below)
    return total[ends] - total[np.searchsorted(key[order], block * width)][:, None]


TIED = 1e-8
"""Risks that are at most so far apart are equal, as in scikit-survival."""


def concordance_index(
    time: Any,
    risk: Any,
    *,
    event: Any = None,
    upper: Any = None,
    sample_weight: Any = None,
    tied_tol: float = TIED,
) -> float:
    r"""Returns the share of comparable pairs in which the row with the earlier event has the higher risk.

    Two rows are comparable if it is known whose event comes first (Harrell, Lee and Mark, *Multivariable prognostic
    models*, Statistics in Medicine 15, 1996): the earlier time is that of an event; of equal times one is an event, and
    the other the end of watching. Pairs of equal risks count half. So 1/2 is what chance gives, and 1 a perfect order.

    Args:
        time: The time of every row until the event, or until it was last watched; or scikit-survival's structured array
            of events and times.
        risk: A number of every row, higher for those whose event is expected earlier: the prediction of `loss="cox"`,
            or minus that of `loss="accelerated_failure_time"`.
        event: 1 or True of rows whose event is at `time`, 0 of others; all have it if not given.
        upper: In place of events the last time that the event may be at: `time` itself if it is known, infinite if it
            has not been seen. Rows whose intervals overlap are not comparable.
        sample_weight: The weight of every row; a pair counts with the product of both.
        tied_tol: The greatest distance of equal risks.

    Returns:
        The index; NaN, with a warning, where no pair is comparable.

    Raises:
        InvalidInputError: An argument has another number of rows, or a value that is not allowed.

    Example: the first row is to come before both others, and comes before one of them.
        >>> concordance_index([1, 2, 3], [0.5, 0.9, 0.1], event=[1, 0, 1])
        0.5
    """
    observed = read_times(time, event=event, upper=upper)
    weight = weights_of_rows(sample_weight, len(observed.lower))
    return _concordance(observed, risk, weight, weight, tied_tol)


def concordance_index_ipcw(
    time: Any,
    risk: Any,
    *,
    event: Any = None,
    censoring: Any = None,
    tau: float | None = None,
    sample_weight: Any = None,
    tied_tol: float = TIED,
) -> float:
    r"""Returns the concordance index whose pairs are weighted by the chance of being watched: censoring biases none.

    A pair counts $1 / \hat G(t_i)^2$, where $t_i$ is the earlier time and $\hat G$ the Kaplan-Meier estimate of the
    chance not to be censored by then (Uno et al., *On the C-statistics for evaluating overall adequacy of risk
    prediction procedures with censored survival data*, Statistics in Medicine 30, 2011).

    Args:
        time: The times, and all that is not named here, as in `concordance_index`.
        risk: A number of every row.
        event: Which rows have the event at their time.
        censoring: The rows that $\hat G$ is estimated on, such as those of the fit: a pair of times and events, or a
            structured array; the rows themselves if not given.
        tau: Only events before this time count.
        sample_weight: The weight of every row; a pair counts with the product of both.
        tied_tol: The greatest distance of equal risks.

    Raises:
        InvalidInputError: An event is at a time when all were censored, or an argument is not allowed.

    Example:
        >>> round(concordance_index_ipcw([1, 2, 3, 4], [0.9, 0.1, 0.5, 0.2], event=[1, 0, 1, 1]), 4)
        1.0
    """
    observed = read_times(time, event=event)
    number = len(observed.lower)
    weight = weights_of_rows(sample_weight, number)
    chance = censoring_of(observed, weight) if censoring is None else censoring_of(censoring)
    is_in = (weight > 0) & observed.is_event
    is_in = is_in if tau is None else is_in & (observed.lower < tau)
    watched = chance(observed.lower[is_in])
    if (watched <= 0).any():
        raise InvalidInputError(
            f"an event is at {observed.lower[is_in][watched <= 0][0]}, when all rows of censoring were censored: "
            "tau must be below that time"
        )
    own = np.zeros(number)
    own[is_in] = weight[is_in] * watched**-2.0
    return _concordance(observed, risk, own, weight, tied_tol)


def _concordance(
    observed: Observed, risk: Any, own: Float[np.ndarray, " row"], other: Float[np.ndarray, " row"], tied_tol: float
) -> float:
    """The share of comparable pairs in the right order; the earlier row counts by its own weight times the other's."""
    risk = numbers_of_rows("risk", risk, len(observed.lower))
    # Among equal times events come before the ends of watching, which are later than these.
    order = np.lexsort((~observed.is_event, observed.lower))
    lower, is_event, risk, other = (values[order] for values in (observed.lower, observed.is_event, risk, other))
    upper, own = observed.upper[order], own[order]
    first = np.flatnonzero(np.isfinite(upper) & (own > 0))
    start = np.searchsorted(lower, upper[first], side="left")
    # Events that are known to be at the very time of the row's last one are not later.
    num_exact = np.append(0, np.cumsum(is_event))
    start += num_exact[np.searchsorted(lower, upper[first], side="right")] - num_exact[start]
    thresholds = np.stack([risk[first] - tied_tol, np.nextafter(risk[first] + tied_tol, np.inf)], axis=1)
    below = sums_below(risk, other, start, thresholds)
    later = np.append(np.cumsum(other[::-1])[::-1], 0.0)[start]
    comparable = float(own[first] @ later)
    if comparable == 0:
        text = "the concordance index is not defined: of no two rows it is known whose event comes first"
        warn_user(text, UndefinedMetricWarning)
        return float("nan")
    return float(own[first] @ below.mean(axis=1)) / comparable
