"""Brier scores of survival curves, in which rows count by their chance of being watched for so long."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.errors import InvalidInputError
from jaxtree.metrics.times import Observed, numbers_of_rows, read_times

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
    weight = np.ones(number) if sample_weight is None else numbers_of_rows("sample_weight", sample_weight, number)
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
