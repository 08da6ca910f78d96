"""How right the order of survival times is: concordance, and groups by risk beside Kaplan and Meier's curves."""

import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from jaxtree.estimators.boosting.responses import with_offset
from jaxtree.losses.curves import SurvivalCurves
from jaxtree.metrics import concordance_index
from jaxtree.metrics.risk_groups import WatchedRows, groups_by_risk, survival_by_risk
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import ACCENT, Card, Chart, axis, card_of_tables, compacted, histogram, line, plot
from jaxtree.page.cards import bars as bars_of

NUM_GROUPS = 4
GROUP_COLOURS = ("#009E73", "#56B4E9", "#E69F00", "#D55E00")
"""From the least risk to the greatest."""


def times_of(answers: Answers, table: PageTable) -> WatchedRows | None:
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
    return WatchedRows(table.truth[:, 0].astype(np.float64), is_event, risk, table.weight)


def survival_cards(answers: Answers, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with times."""
    known = [(table, times) for table in tables if (times := times_of(answers, table)) is not None]
    if not known:
        return []
    found = [
        card_of_tables("survival", "Survival by predicted risk", "Quarters of the rows by their predicted risk. Steps: "
                       "the share without the event so far (Kaplan and Meier). Dashed: what is predicted, mean of the "
                       "quarter.", [(table.name, _curves(answers, table, times)) for table, times in known]),
        card_of_tables("events", "Events by predicted risk", "Quarters of the rows by predicted risk: the share with "
                       "the event in the time that they were watched.",
                       [(table.name, _events(table, times)) for table, times in known]),
        card_of_tables("risks", f"All: {answers.unit}", "How the predictions of the rows are spread.",
                       [(table.name, _risks(answers, table)) for table, _ in known]),
    ]  # fmt: skip
    return [card for card in found if card is not None]


def _names(number: int) -> list[str]:
    return [f"quarter {place + 1}" + (" (least risk)" if not place else " (greatest)" if place == number - 1 else "")
            for place in range(number)]  # fmt: skip


def _curves(answers: Answers, table: PageTable, times: WatchedRows) -> Chart:
    said = None if answers.estimator.survival_ is None else functools.partial(_predicted, answers, table)
    groups, series = survival_by_risk(times, NUM_GROUPS, said), []
    for name, colour, group in zip(_names(len(groups)), GROUP_COLOURS, groups, strict=False):
        series.append(line(name, colour, group.observed.time, group.observed.share) | {"kind": "steps"})
        if group.predicted is not None:
            series.append(line("", colour, group.times, group.predicted, isDashed=True, isFaint=True))
    index = concordance_index(times.time, times.risk, event=times.is_event, sample_weight=times.weight)
    words = f"Concordance {index:z.4f}: the share of pairs of {table.name} rows whose order is right."
    y = axis("share without the event", low=0, high=1)
    return plot(f"Survival curves. {words}", axis("time", low=0), y, series, caption=words, value=index)


def _predicted(
    answers: Answers, table: PageTable, rows: Int[np.ndarray, " row"], grid: Float[np.ndarray, " time"]
) -> Float[np.ndarray, "row time"]:
    """The predicted survival of some rows."""
    estimator = answers.estimator
    scores = np.asarray(estimator.model_.predict(table.values[rows]), np.float64)
    offset = table.fields.get("offset")
    scores = with_offset(estimator.loss_, scores, None if offset is None else np.asarray(offset)[rows])
    return SurvivalCurves(estimator.loss_, scores, estimator.survival_, grid).probabilities


def _events(table: PageTable, times: WatchedRows) -> Chart:
    groups = groups_by_risk(times.risk, times.weight, NUM_GROUPS)
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
