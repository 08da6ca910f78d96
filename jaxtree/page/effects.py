"""Effects of treatments on a page: averages, who gains most, and what the rows of the fit say against them."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.effects import AverageEffect
from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.trees.cart import DecisionTreeRegressor
from jaxtree.figures.effects import (
    EffectGroup,
    EffectRows,
    averages_of,
    calibration_of_effects,
    differences_of,
    effect_rows,
    gain_of,
    groups_by_effect,
    propensities_of,
    sorted_effects,
    why_no_averages,
)
from jaxtree.page import cards
from jaxtree.page.cards import ACCENT, INK, SHARE, SOFT, Card, Chart, axis, bars, compacted, line, plot
from jaxtree.page.model import PageModel, PageTable
from jaxtree.page.trees import OutlinedTree, outline_of_numbers
from jaxtree.table.numerals import decimal_near
from jaxtree.table.schema import Column

GREATEST, LEAST = "#0072B2", "#D55E00"
"""Colours of the rows of the greatest effects, and of the least."""

TARGETS = {"all": "all rows", "treated": "the treated", "control": "the control", "overlap": "where both are likely"}
"""Populations of average effects, and how a page calls them."""

NOTABLE = 0.01
"""From this share of rows on, a lack of overlap is said beside the title."""

SURE = 0.05
"""A chance below which a difference counts as known."""

DEPTH = 2
MOST_COLUMNS = 8

HINT_OF_TREE = (
    "Each split separates the rows whose mean effects differ most. A node shows the mean effect of its rows, as does "
    "its colour. The splits were chosen on the same rows, so the largest mean is slightly too large."
)


def effect_cards(model: PageModel, tables: list[PageTable]) -> list[Card]:
    """Returns the cards of a forest of effects: from the rows of its fit, and from a table how rows differ."""
    every = _rows_of_all(model)
    groups = [groups_by_effect(rows) for rows in every]
    found = [
        _card(every, "average", "Average effect", "Doubly robust estimates with 95 % intervals.",
              [_averages_chart(model, rows) for rows in every]),
        _card(every, "effects", "Effects of the rows", "Training rows in order of their effects, each estimated "
              "out of bag; the band shows 95 % intervals.", [_effects_chart(rows) for rows in every]),
        _card(every, "gainers", "Who gains most", "Quarters of the rows by their predicted out-of-bag effect "
              "(dark), and the average effect that their outcomes show (bar: 95 % interval).",
              [_groups_chart(own) for own in groups]),
        _card(every, "calibration", "Calibration", "A factor of 1 means that the mean effect, or the "
              "differences among effects, are as large as outcomes show. Bars are 95 % intervals.",
              [_calibration_chart(model) for _ in every]),
        _card(every, "gain", "Treating those who gain most first", "Average effect on the share of rows with the "
              "largest effects, minus that on all rows. Rows are ranked by this forest's own out-of-bag effects, which "
              "is slightly optimistic.", [_gain_chart(rows) for rows in every]),
        _card(every, "overlap", "Overlap", "Propensity score: the probability of the treatment given the columns, for "
              "rows with it (bars) and others (line). Near 0 or 1 there are no rows to compare with.",
              [_overlap_chart(model, rows) for rows in every]),
        *([] if not tables else [
            _card(every, "differences", "How they differ", "Column means of the quarter of rows with the largest "
                  "effects (blue) and with the smallest (orange), in standard deviations from the mean of all rows.",
                  [_differences_chart(model, rows, tables[0]) for rows in every])]),
    ]  # fmt: skip
    return [card for card in found if card is not None]


def _rows_of_all(model: PageModel) -> list[EffectRows]:
    """The rows of every effect."""
    names = model.estimator.names_of_predictions()
    has_arms = model.estimator.classes_of_treatment_ is not None
    return [effect_rows(model.estimator, name if has_arms else place) for place, name in enumerate(names)]


def _card(every: list[EffectRows], name: str, title: str, hint: str, charts: list[Chart | None]) -> Card | None:
    """A card with a chart of every effect that has one; None without any."""
    known = [(rows, chart) for rows, chart in zip(every, charts, strict=True) if chart is not None]
    if not known:
        return None
    if len(every) == 1:
        return Card(name, title, hint, {"": known[0][1]})
    return Card(
        name,
        title,
        hint,
        {str(place): chart for place, (_, chart) in enumerate(known)},
        (("Treatment", tuple(rows.name for rows, _ in known)),),
        (0,),
    )


def average_in_words(found: AverageEffect) -> str:
    """Returns an average effect with its interval.

    >>> average_in_words(AverageEffect(1.0, 0.1, "all", 100, 100))
    '1.00, 95 % interval 0.80 to 1.20'
    """
    low, high = found.interval()
    estimate, low, high = _numbers([found.estimate, low, high])
    return f"{estimate}, 95 % interval {low} to {high}"


def _numbers(values: list[float]) -> list[str]:
    return [own.replace("-", "−") for own in cards.with_places(np.array(values, np.float64))]


def _averages_chart(model: PageModel, rows: EffectRows) -> Chart | None:
    found = averages_of(model.estimator, rows)
    if not found:
        return None
    items = [_interval_item(TARGETS[own.target], own) for own in found]
    first = found[0]
    low, high = first.interval()
    way = "raises" if low > 0 else "lowers" if high < 0 else "may raise or lower"
    words = f"{rows.title}: on {TARGETS[first.target]} {average_in_words(first)}. It {way} the outcome on average."
    x = axis("average effect")
    return {"kind": "list", "label": f"Average effect. {words}", "caption": words, "items": items, "x": x,
            "value": first.estimate}  # fmt: skip


def _interval_item(name: str, own: AverageEffect) -> dict[str, Any]:
    low, high = own.interval()
    (estimate,) = _numbers([own.estimate])
    return {
        "name": name,
        "bars": [[*compacted([low, high]), SOFT]],
        "dots": [[compacted([own.estimate])[0], ACCENT]],
        "words": estimate,
    }


def _effects_chart(rows: EffectRows) -> Chart:
    found = sorted_effects(rows)
    series = [line("", ACCENT, found.share, found.effect)]
    words = "The trees were not grown in bags, so effects have no intervals."
    if np.isfinite(rows.std).any():
        known = np.isfinite(found.low)
        band = line("", ACCENT, found.share[known], found.high[known], kind="band", y0=compacted(found.low[known]))
        series = [band, *series]
        words = f"{found.above:.0%} of the intervals lie above 0, {found.below:.0%} below."
    level = line("", SOFT, [0, 1], [0, 0], isDashed=True)
    x = axis("share of rows, in order of their effects", **SHARE)
    return plot("Effects of the rows", x, axis(f"effect of {rows.title}"), [*series, level], words)


def _name_of_group(place: int, number: int) -> str:
    end = " (smallest)" if not place else " (largest)" if place == number - 1 else ""
    return f"quarter {place + 1}{end}"


def _groups_chart(groups: list[EffectGroup]) -> Chart:
    items = []
    for place, own in enumerate(groups):
        item: dict[str, Any] = {"name": _name_of_group(place, len(groups)), "words": f"{len(own.rows):,} rows"}
        if own.average is not None:
            item = _interval_item(item["name"], own.average) | {"words": item["words"]}
        item["dots"] = [*item.get("dots", []), [compacted([own.effect])[0], INK]]
        items.append(item)
    words = ""
    first, last = groups[0].average, groups[-1].average
    if len(groups) > 1 and first is not None and last is not None:
        low, high = _numbers([first.estimate, last.estimate])
        difference = last.estimate - first.estimate
        error = np.hypot(first.standard_error, last.standard_error)
        is_known = abs(difference) > 1.96 * error
        words = f"Outcomes show {high} in the quarter of the largest effects and {low} in that of the smallest; "
        words += "the difference exceeds chance." if is_known else "chance alone may explain the difference."
    legend = [{"name": "predicted", "colour": INK}, {"name": "from outcomes", "colour": ACCENT}]
    return {"kind": "list", "label": f"Effects by quarter. {words}", "caption": words, "items": items,
            "x": axis("average effect"), "legend": legend}  # fmt: skip


def _calibration_chart(model: PageModel) -> Chart | None:
    found = calibration_of_effects(model.estimator)
    if found is None:
        return None
    ends = found.interval()
    names = ("mean of effects", "differences")
    numbers = _numbers(found.estimate.tolist())
    items = [
        {"name": name, "bars": [[*compacted(own), SOFT]], "dots": [[compacted([estimate])[0], ACCENT]], "words": number}
        for name, own, estimate, number in zip(names, ends, found.estimate.tolist(), numbers, strict=True)
    ]
    p = float(found.p_value[1])
    said = "p below 0.0001" if p < 1e-4 else f"p {decimal_near(p, least_digits=2)}"
    words = (
        f"Effects differ among rows, and the forest captures the differences ({said})."
        if p < SURE
        else f"No evidence that effects differ among rows as the forest predicts ({said})."
    )
    return {"kind": "list", "label": f"Calibration of effects. {words}", "caption": words, "items": items,
            "x": axis("factor; ideal: 1")}  # fmt: skip


def _gain_chart(rows: EffectRows) -> Chart | None:
    found = gain_of(rows)
    if found is None:
        return None
    curve, error = found.curve[0], found.curve_error[0]
    band = line("", ACCENT, found.share, curve + 1.96 * error, kind="band", y0=compacted(curve - 1.96 * error))
    level = line("", SOFT, [0, 1], [0, 0], isDashed=True)
    own = float(found.estimate[0])
    (number,) = _numbers([own])
    words = f"Area under the curve (AUTOC) {number}. Ranks by a model of other rows would test whether it is above 0."
    x, y = axis("share of rows that are treated, largest effects first", **SHARE), axis("gain")
    series = [band, line("", ACCENT, found.share, curve), level]
    return plot("Targeting curve", x, y, series, words, value=own)


def _overlap_chart(model: PageModel, rows: EffectRows) -> Chart | None:
    found = propensities_of(rows)
    if found is None:
        return None
    edges, heights = found.others
    outline = np.append(heights, heights[-1])
    has_instruments = model.estimator.has_instruments_
    name, control = ("the instrument", "without it") if has_instruments else (rows.name, str(rows.control))
    series = [bars(name, ACCENT, *found.treated), line(control, LEAST, edges, outline, kind="steps")]
    own = found.overlap
    words = f"Propensity scores are between {own.low:z.2f} and {own.high:z.2f}"
    outside = own.share_below + own.share_above
    if own.is_good:
        words = f"{words}: every row could have had either arm."
    else:
        words = f"{words}; {outside:.1%} of the rows are below {own.least:g} or above {1 - own.least:g}. "
        words += "Their effects rest on few rows, or on none: trust the average where both are likely."
    x = axis(f"probability of {name}", **SHARE)
    return plot("Overlap of the arms", x, axis("rows", low=0), series, words)


def _differences_chart(model: PageModel, rows: EffectRows, table: PageTable) -> Chart | None:
    effect = effects_at(model, rows, table)
    order = np.argsort(effect, kind="stable")
    number = len(order) // 4
    if not number or np.ptp(effect) == 0:
        return None
    found = differences_of(model.schema, table.values, order[-number:], order[:number])[:MOST_COLUMNS]
    items = [
        {
            "name": own.name,
            "bars": [[*compacted([own.least, own.greatest]), SOFT]],
            "dots": [[compacted([own.least])[0], LEAST], [compacted([own.greatest])[0], GREATEST]],
            "words": f"{own.words[0]} and {own.words[1]}",
        }
        for own in found
    ]
    words = f"At the right: means of the {number:,} rows of the largest effects and of the {number:,} of the smallest."
    legend = [{"name": "largest effects", "colour": GREATEST}, {"name": "smallest effects", "colour": LEAST}]
    return {"kind": "list", "label": f"Columns of rows by effect. {words}", "caption": words, "items": items,
            "x": axis("standard deviations from the mean"), "legend": legend}  # fmt: skip


def effects_at(model: PageModel, rows: EffectRows, table: PageTable) -> Float[np.ndarray, " row"]:
    """Returns the effects of the rows of a table; of as many rows as in the fit those out of bag."""
    own = model.estimator.training_.effect[:, rows.arm]
    predicted = table.predicted[:, rows.arm]
    return np.where(np.isfinite(own), own, predicted) if len(own) == len(predicted) else predicted


def small_trees(model: PageModel, tables: list[PageTable]) -> list[OutlinedTree]:
    """Returns a small tree of every effect of the rows of a table; none without a table."""
    if not tables:
        return []
    table, found = tables[0], []
    columns = [_cells_of(column, own) for column, own in zip(model.schema.columns, table.values.T, strict=True)]
    cells = [list(row) for row in zip(*columns, strict=True)]
    for rows in _rows_of_all(model):
        effect = effects_at(model, rows, table)
        if np.ptp(effect) == 0:
            continue
        least = max(5, len(effect) // 20)
        tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least)
        own = tree.fit(cells, effect, sample_weight=table.weight).model_
        named = dataclasses.replace(own, schema=own.schema.renamed(model.schema.column_names))
        found.append(outline_of_numbers(f"Effect of {rows.title}", named))
    return found


def _cells_of(column: Column, values: Float[np.ndarray, " row"]) -> list[Any]:
    """The cells of a column as a table has them; None where one is missing."""
    known = np.isfinite(values)
    if column.bins is None:
        cells = [column.categories[int(own)] if is_known else None for own, is_known in zip(values, known, strict=True)]
        return cells
    if column.time is None:
        return values.tolist()
    return [column.time.value(own) if is_known else None for own, is_known in zip(values.tolist(), known, strict=True)]


def check_takes_no_target(model: PageModel, given: bool) -> None:
    """Raises InvalidInputError if a page of what nobody observes is given targets."""
    if given:
        name, why = type(model.estimator).__name__, "rewards of all actions are no targets"
        if not model.predicts.is_observed:
            why = f"nobody observes {model.unit}s, and the forest knows the outcomes of its fit"
        raise InvalidInputError(f"to_html of a {name} takes X and no y: {why}")


def facts(model: PageModel) -> list[tuple[str, str]]:
    """Returns names and values for the head of the page."""
    every = _rows_of_all(model)
    said = [("rows of the fit", f"{len(model.estimator.training_.y):,}")]
    for rows in every:
        found = averages_of(model.estimator, rows)
        if found:
            said.append((f"average effect, {rows.title}", average_in_words(present(found[0]))))
    return said


def notes(model: PageModel) -> list[str]:
    """Returns warnings for the head of the page: why there are no averages, and rows without overlap."""
    why = why_no_averages(model.estimator)
    said = [] if why is None else [f"There are no average effects: {why}."]
    for rows in _rows_of_all(model):
        found = propensities_of(rows)
        if found is not None and found.overlap.share_below + found.overlap.share_above >= NOTABLE:
            said.append(f"Little overlap of {rows.title}: {found.overlap!r}.")
    return said
