"""The share of rows that have had no event by a time, of rows that were watched for some time."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.metrics.times import numbers_of_rows, read_times

Z = 1.959964
"""The normal quantile of 0.975, for bands of 95 %."""


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
        weight = np.ones(number) if sample_weight is None else numbers_of_rows("sample_weight", sample_weight, number)
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
        power = np.exp(Z * np.sqrt(variance) / np.abs(log))
        low, high = (np.where(inner, np.exp(log * factor), share) for factor in (power, 1 / power))
        return cls(*(np.append(first, part) for first, part in ((0.0, steps), (1.0, share), (1.0, low), (1.0, high))))
