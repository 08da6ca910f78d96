"""Survival of rows in groups of predicted risk: what has happened, and what a model has said.

Plots and pages draw it, with the same groups, times and weights.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.arrays import spread
from jaxtree.metrics.survival import KaplanMeier

NUM_GROUPS = 4
"""Groups of rows by risk."""

NUM_TIMES = 100
"""Times, at equal distances, at which predicted curves are known."""

MOST_ROWS = 2000
"""The most rows of a group whose predicted curves are averaged; of more, as many spread over it."""

ROUNDING = 1e-12
"""The share by which a weight may be rounded."""

Curves = Callable[[Int[np.ndarray, " some"], Float[np.ndarray, " time"]], Float[np.ndarray, "some time"]]
"""Returns the predicted chances of some rows to have had no event by some times."""


class WatchedRows(NamedTuple):
    """Rows that were watched until an event, or until the end of watching.

    Attributes:
        time: How long each was watched.
        is_event: Whether its time ends in the event.
        risk: The greater, the earlier the event is predicted.
        weight: Its weight, above 0.
    """

    time: Float[np.ndarray, " row"]
    is_event: Bool[np.ndarray, " row"]
    risk: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]


class RiskGroup(NamedTuple):
    """Rows of similar predicted risk.

    Attributes:
        rows: The rows.
        observed: Their survival by Kaplan and Meier, of which the last step goes on until the last of them was seen.
        times: The times of the predicted curve, from 0 until the last row of all was seen.
        predicted: The mean predicted survival at these times; None where the model predicts none.
    """

    rows: Int[np.ndarray, " some"]
    observed: KaplanMeier
    times: Float64[np.ndarray, " time"]
    predicted: Float64[np.ndarray, " time"] | None


def groups_by_risk(
    risk: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"], number: int
) -> list[Int[np.ndarray, " some"]]:
    """Returns the rows in groups of about equal weight by risk, the least first; rows of equal risk stay together.

    There are fewer groups where there are few different risks.

    >>> [rows.tolist() for rows in groups_by_risk(np.array([0.3, 0.1, 0.2]), np.ones(3), 2)]
    [[1, 2], [0]]
    """
    _, place = np.unique(risk, return_inverse=True)
    of_risk = np.bincount(place, weight)
    # The middle of those of a risk says where all of them are.
    middle = (np.cumsum(of_risk) - of_risk / 2) / weight.sum()
    group = np.floor(number * middle * (1 - ROUNDING))[place]
    order = np.argsort(risk, kind="stable")
    return [order[group[order] == own] for own in np.unique(group)]


def names_of_groups(number: int) -> list[str]:
    """Returns the names of groups of rows by risk, from the lowest to the highest.

    >>> names_of_groups(3)
    ['low risk', 'middle', 'high risk']
    """
    few = {
        1: ["all"],
        2: ["low risk", "high risk"],
        3: ["low risk", "middle", "high risk"],
        4: ["lowest risk", "low risk", "high risk", "highest risk"],
    }
    return few.get(number, [f"risk {place + 1} of {number}" for place in range(number)])


def survival_by_risk(watched: WatchedRows, number: int, curves: Curves | None = None) -> list[RiskGroup]:
    """Returns the survival of groups of rows by risk, the least first.

    Args:
        watched: The rows.
        number: How many groups.
        curves: The predicted curves of some of the rows, called once; None where the model predicts none.
    """
    times = np.linspace(0.0, float(watched.time.max(initial=0.0)) or 1.0, NUM_TIMES)
    groups = groups_by_risk(watched.risk, watched.weight, number)
    means: list[Any] = [None] * len(groups)
    if curves is not None:
        some = [rows[spread(len(rows), MOST_ROWS)] for rows in groups]
        parts = np.split(np.asarray(curves(np.concatenate(some), times), np.float64), np.cumsum([*map(len, some)])[:-1])
        means = [np.average(own, axis=0, weights=watched.weight[at]) for own, at in zip(parts, some, strict=True)]
    observed = [_observed(watched, rows) for rows in groups]
    return [RiskGroup(*own) for own in zip(groups, observed, [times] * len(groups), means, strict=True)]


def _observed(watched: WatchedRows, rows: Int[np.ndarray, " some"]) -> KaplanMeier:
    """The survival of some rows, of which the last step goes on until the last of them was seen."""
    time = watched.time[rows]
    curve = KaplanMeier.of(time, event=watched.is_event[rows], sample_weight=watched.weight[rows])
    steps = [np.append(part, part[-1]) for part in curve]
    steps[0][-1] = time.max()
    return KaplanMeier(*steps)
