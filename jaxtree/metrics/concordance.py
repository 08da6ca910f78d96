"""Concordance: of how many pairs of rows the one with the earlier event has the higher predicted risk."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import UndefinedMetricWarning

from jaxtree.errors import InvalidInputError, warn_user
from jaxtree.metrics.censoring import censoring_of
from jaxtree.metrics.suffixes import sums_below
from jaxtree.metrics.times import Observed, numbers_of_rows, read_times

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
    weight = np.ones(len(observed.lower)) if sample_weight is None else sample_weight
    weight = numbers_of_rows("sample_weight", weight, len(observed.lower))
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
    weight = np.ones(number) if sample_weight is None else numbers_of_rows("sample_weight", sample_weight, number)
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
    # Of equal times events come before the ends of watching, which are later than these.
    order = np.lexsort((~observed.is_exact, observed.lower))
    lower, is_exact, risk, other = (values[order] for values in (observed.lower, observed.is_exact, risk, other))
    upper, own = observed.upper[order], own[order]
    first = np.flatnonzero(np.isfinite(upper) & (own > 0))
    start = np.searchsorted(lower, upper[first], side="left")
    # Those that are known to be at the very time of the row's last one are not later.
    num_exact = np.append(0, np.cumsum(is_exact))
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
