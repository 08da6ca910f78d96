"""How right the order of survival times is: concordance, and groups by risk beside Kaplan and Meier's curves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.losses.predicted import PredictedDistribution
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import ACCENT, Card, Chart, axis, card_of_tables, compacted, histogram, line, plot, spread
from jaxtree.page.cards import bars as bars_of

NUM_GROUPS = 4
GROUP_COLOURS = ("#009E73", "#56B4E9", "#E69F00", "#D55E00")
"""From the least risk to the greatest."""

MOST_ROWS = 5000
"""Rows that concordance compares in pairs; of more, as many spread over the table."""

NUM_TIMES = 60
"""Times at which a predicted curve is drawn."""


class Times(NamedTuple):
    """What is known of the times of some rows.

    Attributes:
        time: When each was watched last.
        is_event: Whether it was the event.
        risk: The greater, the earlier the event is predicted.
        weight: Their weights.
    """

    time: Float[np.ndarray, " row"]
    is_event: Bool[np.ndarray, " row"]
    risk: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]


def times_of(answers: Answers, table: PageTable) -> Times | None:
    """Returns the times of rows; None where times lie between bounds."""
    if "upper" in table.fields and "event" not in table.fields:
        upper, lower = np.asarray(table.fields["upper"], np.float64), table.truth[:, 0]
        if not (np.isinf(upper) | (upper == lower)).all():
            return None
        is_event = np.isfinite(upper)
    else:
        is_event = np.asarray(table.fields.get("event", np.ones(len(table.values)))) > 0
    answer = table.predicted[:, 0]
    risk = answer if answers.estimator.loss_.name == "cox" else -answer
    return Times(table.truth[:, 0].astype(np.float64), is_event, risk, table.weight)


def concordance(times: Times) -> float:
    """Returns the share of pairs whose order is predicted right, of those in which it is known who was first.

    That is Harrell's index: the first of a pair has the event, before the other's time; equal risks count half.

    >>> one = np.ones(3)
    >>> concordance(Times(np.array([1.0, 2.0, 3.0]), one > 0, np.array([3.0, 1.0, 2.0]), one))
    0.6666666666666666
    """
    rows = spread(len(times.time), MOST_ROWS)
    time, is_event, risk, _ = (own[rows] for own in times)
    right = known = 0.0
    for row in np.flatnonzero(is_event):
        later = (time > time[row]) | ((time == time[row]) & ~is_event)
        known += later.sum()
        right += (risk[later] < risk[row]).sum() + 0.5 * (risk[later] == risk[row]).sum()
    return float(right / known) if known else np.nan


def _events_and_risks(
    time: Float[np.ndarray, " row"],
    is_event: Bool[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    risk: Float[np.ndarray, " row"],
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """The times of events, the sum of the risks of all rows that are watched then, and the weight of the events."""
    events, place = np.unique(time[is_event], return_inverse=True)
    order = np.argsort(time, kind="stable")
    later = np.append(np.cumsum(risk[order][::-1])[::-1], 0.0)
    at_risk = later[np.searchsorted(time[order], events)]
    return events, at_risk, np.bincount(place, weight[is_event], minlength=len(events))


def kaplan_meier(
    time: Float[np.ndarray, " row"], is_event: Bool[np.ndarray, " row"], weight: Float[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """Returns the times of events, after 0 and before the last of all times, and the share that is left from each on.

    >>> kaplan_meier(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False]), np.ones(4))
    (array([0., 1., 3., 4.]), array([1.   , 0.75 , 0.375, 0.375]))
    """
    events, at_risk, gone = _events_and_risks(time, is_event, weight, weight)
    left = np.cumprod(1 - gone / np.maximum(at_risk, 1e-300))
    times, shares = np.concatenate([[0.0], events]), np.concatenate([[1.0], left])
    last = float(time.max(initial=0.0))
    return (times, shares) if last == times[-1] else (np.append(times, last), np.append(shares, shares[-1]))


def baseline_hazard(times: Times) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """Returns the times of events and the cumulative hazard of a relative risk of 1 up to each (Breslow, 1972)."""
    time, is_event, risk, weight = times
    events, at_risk, gone = _events_and_risks(time, is_event, weight, risk * weight)
    return events, np.cumsum(gone / np.maximum(at_risk, 1e-300))


def survival_cards(answers: Answers, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with times."""
    known = [(table, times) for table in tables if (times := times_of(answers, table)) is not None]
    if not known:
        return []
    first = known[0][1]
    found = [
        card_of_tables("survival", "Survival by predicted risk", "Quarters of the rows by their predicted risk. Steps: "
                       "the share without the event so far (Kaplan and Meier). Dashed: what is predicted, mean of the "
                       "quarter.", [(table.name, _curves(answers, table, times, first)) for table, times in known]),
        card_of_tables("events", "Events by predicted risk", "Quarters of the rows by predicted risk: the share with "
                       "the event in the time that they were watched.",
                       [(table.name, _events(table, times)) for table, times in known]),
        card_of_tables("risks", f"All: {answers.unit}", "How the predictions of the rows are spread.",
                       [(table.name, _risks(answers, table)) for table, _ in known]),
    ]  # fmt: skip
    return [card for card in found if card is not None]


def quarters(risk: Float[np.ndarray, " row"]) -> list[Int[np.ndarray, " some"]]:
    """Returns the rows of every quarter by risk, from the least; there are fewer where there are few rows."""
    return [part for part in np.array_split(np.argsort(risk, kind="stable"), NUM_GROUPS) if len(part)]


def _names(number: int) -> list[str]:
    return [f"quarter {place + 1}" + (" (least risk)" if not place else " (greatest)" if place == number - 1 else "")
            for place in range(number)]  # fmt: skip


def _curves(answers: Answers, table: PageTable, times: Times, fitted: Times) -> Chart:
    groups = quarters(times.risk)
    grid = np.linspace(0, float(times.time.max(initial=1.0)), NUM_TIMES)
    series = []
    for name, colour, rows in zip(_names(len(groups)), GROUP_COLOURS, groups, strict=False):
        at, left = kaplan_meier(times.time[rows], times.is_event[rows], times.weight[rows])
        series.append(line(name, colour, at, left) | {"kind": "steps"})
        series.append(
            line("", colour, grid, _predicted(answers, table, times, fitted, rows, grid), isDashed=True, isFaint=True)
        )
    index = concordance(times)
    words = f"Concordance {index:z.4f}: the share of pairs of {table.name} rows whose order is right."
    y = axis("share without the event", low=0, high=1)
    return plot(f"Survival curves. {words}", axis("time", low=0), y, series, caption=words, value=index)


def _predicted(
    answers: Answers,
    table: PageTable,
    times: Times,
    fitted: Times,
    rows: Int[np.ndarray, " row"],
    grid: Float[np.ndarray, " time"],
) -> Float[np.ndarray, " time"]:
    """The mean predicted survival of some rows."""
    if answers.estimator.loss_.name == "cox":
        at, hazard = baseline_hazard(fitted)
        place = np.searchsorted(at, grid, side="right")
        own = np.concatenate([[0.0], hazard])[place]
        return np.exp(-own[:, None] * times.risk[rows]).mean(axis=1)
    rows = rows[spread(len(rows), 200)]
    scores = np.asarray(answers.estimator.model_.predict(table.values[rows]), np.float64)
    many = PredictedDistribution(answers.estimator.loss_, np.repeat(scores, len(grid), axis=0))
    below = many.cdf(np.tile(np.maximum(grid, 1e-12), len(rows)))
    return 1 - np.asarray(below).reshape(len(rows), -1).mean(axis=0)


def _events(table: PageTable, times: Times) -> Chart:
    groups = quarters(times.risk)
    items = [
        {
            "name": name,
            "bars": [[0, float(np.average(times.is_event[rows], weights=times.weight[rows])), colour]],
            "words": f"{times.is_event[rows].sum()} of {len(rows)}",
        }
        for name, colour, rows in zip(_names(len(groups)), GROUP_COLOURS, groups, strict=False)
    ]
    x = axis("share of rows with the event", low=0, high=1)
    return {"kind": "list", "label": f"Events by predicted risk, {table.name} rows", "x": x, "items": items}


def _risks(answers: Answers, table: PageTable) -> Chart:
    answer = table.predicted[:, 0]
    is_ratio = answers.estimator.loss_.name == "cox"
    edges, counts = histogram(np.log10(np.maximum(answer, 1e-300)) if is_ratio else answer, table.weight)
    x = axis(answers.unit + (", powers of 10" if is_ratio else ""))
    return plot(
        f"Histogram of the {answers.unit}", x, axis("rows", low=0), [bars_of("", ACCENT, edges, compacted(counts))]
    )
