r"""Targets of the rows of a fit, drawn again as if a prediction were the truth.

Rows keep their places, and so do the splits' candidates. A *truth* is predicted of every row by trees that have not
seen it, and a number $u$ between 0 and 1 decides about its target (Wu, *Jackknife, bootstrap and other resampling
methods in regression analysis*, Annals of Statistics 14, 1986; Davison and Hinkley, *Bootstrap methods and their
application*, 1997, sections 3.5 and 6.2).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64


def draw_numbers(
    target: Float64[np.ndarray, "row output"],
    truth: Float64[np.ndarray, "row output"],
    uniform: Float64[np.ndarray, " row"],
    least: float = -np.inf,
) -> Float64[np.ndarray, "row output"]:
    """Returns the truth with the residual of every row, or with its opposite.

    The outputs of a row have one sign. Where the opposite would be below the least number, the two numbers that may be
    drawn have another distance from the truth and another chance each, and still the mean and the variance.

    Args:
        target: The targets.
        truth: Their means.
        uniform: A number from 0 to 1 for every row.
        least: The least number that a target may have.

    Example:
        >>> target, truth = np.array([[3.0], [3.0]]), np.array([[2.0], [2.0]])
        >>> draw_numbers(target, truth, np.array([0.2, 0.7]))[:, 0].tolist()
        [3.0, 1.0]
        >>> draw_numbers(np.full((2, 1), 5.0), np.ones((2, 1)), np.array([0.01, 0.7]), least=0.0)[:, 0].tolist()
        [17.0, 0.0]
    """
    residual = target - truth
    down = np.minimum(np.abs(residual), np.maximum(truth - least, 0))
    up = np.divide(np.square(residual), down, out=np.zeros_like(down), where=down > 0)
    # The lower number has the sign of a residual below 0, so that rows of a group keep their signs.
    own = np.where(residual < 0, 1 - uniform[:, None], uniform[:, None])
    return np.where(own * (up + down) < down, truth + up, truth - down)


def draw_classes(
    shares: Float64[np.ndarray, "row class"], uniform: Float64[np.ndarray, " row"]
) -> Int64[np.ndarray, " row"]:
    """Returns the code of a class for every row, with the chances that are its truth.

    Example:
        >>> draw_classes(np.array([[0.3, 0.7], [0.3, 0.7]]), np.array([0.2, 0.4])).tolist()
        [0, 1]
    """
    below = np.cumsum(shares, axis=1)
    return (uniform[:, None] * below[:, -1:] >= below[:, :-1]).sum(axis=1)


class Times(NamedTuple):
    """Times of rows.

    Attributes:
        time: The time of the event, or of the end of watching.
        is_event: Whether it is that of the event.
    """

    time: Float64[np.ndarray, " row"]
    is_event: Bool[np.ndarray, " row"]


def draw_times(
    given: Times,
    chances: Float64[np.ndarray, "row time"],
    event_times: Float64[np.ndarray, " time"],
    uniform: Float64[np.ndarray, "2 row"],
) -> Times:
    """Returns times that rows might have had: each is the sooner of a time of an event and of one of censoring.

    Rows that were censored keep their time of censoring. Others draw one from Kaplan and Meier's curve of
    censoring, given that it is later than their event (Davison and Hinkley, section 3.5).

    Args:
        given: The times of the rows.
        chances: The chance of every row to have had no event by some times, its truth.
        event_times: These times, ascending.
        uniform: Two numbers from 0 to 1 for every row: of its event, and of its censoring.

    Example:
        >>> given = Times(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
        >>> drawn = draw_times(given, np.full((3, 2), [0.6, 0.0]), np.array([1.0, 3.0]), np.full((2, 3), 0.5))
        >>> drawn.time.tolist(), drawn.is_event.tolist()
        ([2.0, 2.0, 3.0], [False, False, True])
    """
    last = given.time.max()
    event = _times_at(chances, event_times, uniform[0])
    ends = np.unique(given.time[~given.is_event])
    censored = np.where(given.is_event, np.inf, given.time)
    if ends.size:
        watched = _curve_of_censoring(given, ends)
        # The chance of being watched until the own event, below which that of a later end lies.
        until = np.append(1.0, watched)[np.searchsorted(ends, given.time, side="right")]
        of_events = _times_at(np.broadcast_to(watched, (len(until), ends.size)), ends, uniform[1] * until)
        censored = np.where(given.is_event, of_events, given.time)
    end = np.minimum(censored, last)
    return Times(np.minimum(event, end), event <= end)


def _curve_of_censoring(given: Times, ends: Float64[np.ndarray, " end"]) -> Float64[np.ndarray, " end"]:
    """Returns Kaplan and Meier's curve of the times of censoring; events at the same time come before it."""
    number = np.array([np.sum(~given.is_event & (given.time == end)) for end in ends])
    watched = np.array([np.sum((given.time > end) | (~given.is_event & (given.time == end))) for end in ends])
    return np.cumprod(1 - number / watched)


def _times_at(
    curves: Float64[np.ndarray, "row time"], times: Float64[np.ndarray, " time"], height: Float64[np.ndarray, " row"]
) -> Float64[np.ndarray, " row"]:
    """Returns the first time at which every curve is at a height or below; infinite where it never is."""
    reached = curves <= height[:, None]
    return np.append(times, np.inf)[np.where(reached.any(axis=1), reached.argmax(axis=1), times.size)]
