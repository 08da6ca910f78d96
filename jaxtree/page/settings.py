"""Cards about the settings of a search: scores by parameter, parallel coordinates, history, curves and the best ones.

All of them have one axis of scores, and of a parameter one axis, on the scale on which the space draws it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.arrays import spread
from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.figures.searches import Scale, ScoredSettings, is_number, mean_curve, scale_of
from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, bars_by_name, compacted, line, plot
from jaxtree.table.numerals import exact_decimal, score_in_words

MOST_LEADERS = 15
"""The number of best settings that the table shows; members of the ensemble stand there at any rank."""

MOST_CURVES = 5

MOST_LINES, BEST_LINES = 300, 100
"""Settings that have a line in parallel coordinates, and how many of them are the best; the others are spread."""

REACH = 3
"""Scores up to so many distances of the quarters beyond them are drawn; others stand at the edge."""

MARGIN = 0.03
"""The share of an axis of scores that is left free at either end."""

FEW_DECADES = 2
"""Over fewer powers of ten, a logarithmic axis has ticks at 1, 2 and 5 times each."""

COLOURS = (("a setting", SOFT), ("part of the model", ACCENT), ("the best", "#D55E00"))

Importances = Sequence[tuple[str, float]]
"""Parameters by how much they count, the greatest first."""


class _DrawnSettings(NamedTuple):
    """The settings that have a score, as charts draw them.

    Attributes:
        number: Their numbers.
        settings: Their parameters.
        shown: Their mean scores as they are shown, those far off at the edge.
        group: The place of each in `COLOURS`.
        axis: The axis of scores.
        num_outside: How many are far off.
    """

    number: Int[np.ndarray, " setting"]
    settings: list[dict[str, Any]]
    shown: Float[np.ndarray, " setting"]
    group: Int[np.ndarray, " setting"]
    axis: dict[str, Any]
    num_outside: int

    @property
    def in_words(self) -> str:
        """A sentence about settings at the edge; empty if there are none."""
        number = self.num_outside
        return f"{number} far worse setting{' stands' if number == 1 else 's stand'} at the edge." if number else ""


def _drawn(scored: ScoredSettings) -> _DrawnSettings:
    number = np.flatnonzero(scored.is_known)
    shown = scored.shown(scored.means[number])
    group = np.zeros(len(scored.settings), np.int64)
    if scored.weights is not None:
        group[scored.weights > 0] = 1
    group[scored.order()[:1]] = 2
    low, high = _limits(shown)
    room = MARGIN * (high - low)
    limits = {"low": compacted([low - room])[0], "high": compacted([high + room])[0]} if room else {}
    outside = int(((shown < low) | (shown > high)).sum())
    settings = [scored.settings[place] for place in number.tolist()]
    return _DrawnSettings(
        number, settings, np.clip(shown, low, high), group[number], axis(scored.measure, **limits), outside
    )


def _limits(shown: Float[np.ndarray, " setting"]) -> tuple[float, float]:
    """Between which scores are drawn: the quarters and as much beyond them as holds all but outliers."""
    if not len(shown):
        return 0.0, 1.0
    middle, high = np.quantile(shown, [0.25, 0.75])
    reach = REACH * (high - middle) or np.inf
    return max(float(shown.min()), middle - reach), min(float(shown.max()), high + reach)


def importance_card(name: str, title: str, hint: str, named: Importances) -> Card | None:
    """Returns a card with a bar a name; None where there are none."""
    return Card(name, title, hint, {"": bars_by_name(title, named)}) if named else None


def parameter_card(importances: Importances) -> Card | None:
    """Returns the card of how much each parameter counts."""
    hint = "Permutation importance: the R² that a forest of scores by settings loses when the parameter is shuffled."
    return importance_card("parameters", "Importance of the parameters", hint, importances)


def history_card(scored: ScoredSettings) -> Card | None:
    """Returns the card of the score of every setting and the best so far, by number and, if known, by time."""
    drawn = _drawn(scored)
    if len(scored.settings) < 2 or not len(drawn.number):
        return None
    is_whole = (scored.rung == scored.rung.max()) & scored.is_known
    so_far = np.maximum.accumulate(np.where(is_whole, scored.means, -np.inf))[drawn.number]
    best = np.where(np.isfinite(so_far), scored.shown(so_far), np.nan)
    ways = [(drawn.number + 1.0, "settings tried", "by settings")]
    if scored.finished is not None:
        ways.append((scored.finished[drawn.number], "seconds", "by time"))
    charts = {}
    for place, (x, label, _) in enumerate(ways):
        series = [
            line("a setting", SOFT, x, drawn.shown, kind="dots"),
            line("best so far", ACCENT, x, best, kind="steps"),
        ]
        charts[str(place)] = plot(f"Scores by {label}", axis(label, isWhole=True), drawn.axis, series, drawn.in_words)
    hint = "Mean score of each setting over the folds, and the best so far."
    return Card("progress", "History", hint, charts, (("By", tuple(name for *_, name in ways)),), (0,))


def curves_card(scored: ScoredSettings) -> Card | None:
    """Returns the card of the losses of the best settings after every round, as long as all their folds go on."""
    if scored.curves is None:
        return None
    series = []
    for rank, number in enumerate(scored.order()[:MOST_CURVES].tolist()):
        mean = mean_curve(scored.curves[number])
        if len(mean):
            series.append(line(f"rank {rank + 1}", CLASS_COLOURS[rank], np.arange(1.0, len(mean) + 1), mean))
    if not series:
        return None
    chart = plot("Losses of the best settings", axis("round", isWhole=True), axis("loss"), series)
    hint = "Loss on the rows of the folds after each round, for the best settings."
    return Card("curves", "Learning curves", hint, {"": chart})


def scatter_card(scored: ScoredSettings, importances: Importances) -> Card | None:
    """Returns the card of all parameters that have several values; None where there are none.

    Args:
        scored: The settings.
        importances: Parameters by how much they count, in whose order they stand.
    """
    drawn, charts, shown = _drawn(scored), {}, []
    for name in _by_importance(scored, importances):
        has_it = np.array([name in own for own in drawn.settings], bool)
        if has_it.any():
            values = [own[name] for own in drawn.settings if name in own]
            some = drawn._replace(shown=drawn.shown[has_it], group=drawn.group[has_it])
            charts[str(len(charts))] = _scatter(name, values, scored.scales.get(name), some)
            shown.append(name)
    if not charts:
        return None
    hint = "Mean score of each setting by its value of a parameter."
    return Card("scatter", "Scores by parameter", hint, charts, (("Parameter", tuple(shown)),), (0,))


def _by_importance(scored: ScoredSettings, importances: Importances) -> list[str]:
    """The parameters of several values, those that count most first."""
    order = [name for name, _ in importances]
    return sorted(scored.differing(), key=lambda name: order.index(name) if name in order else len(order))


def _scatter(name: str, values: list[Any], scale: Scale | None, drawn: _DrawnSettings) -> Chart:
    if scale_of(values, scale) == Scale.WORDS:
        return _words_chart(name, values, drawn)
    x, places = _axis_of(name, values, scale)
    series = [
        line(title, colour, places[own], drawn.shown[own], kind="dots")
        for place, (title, colour) in enumerate(COLOURS)
        for own in [drawn.group == place]
        if own.any()
    ]
    return plot(f"Scores by {name}", x, drawn.axis, series, drawn.in_words)


def _axis_of(name: str, values: list[Any], scale: Scale | None) -> tuple[dict[str, Any], Float[np.ndarray, " setting"]]:
    """The axis of a parameter, and where its values stand on it: words one by one, and logarithms to base 10."""
    found, own = scale_of(values, scale), axis(name)
    if found == Scale.WORDS:
        words = [_in_words(value) for value in sorted(values, key=_place_of_value)]
        words = list(dict.fromkeys(words))
        own["ticks"] = [[place, word] for place, word in enumerate(words)]
        return own, np.array([words.index(_in_words(value)) for value in values], np.float64)
    numbers = np.array(values, np.float64)
    if found == Scale.LINEAR:
        if bool((np.rint(numbers) == numbers).all()):
            own["isWhole"] = True
        return own, numbers
    above = numbers[numbers > 0]
    ticks = _log_ticks(float(above.min()), float(above.max()))
    zero = float(np.floor(np.log10(above.min())) - 1)
    own["isLog"] = True
    own["ticks"] = [[zero, "0"], *ticks] if found == Scale.WITH_ZERO else ticks
    return own, np.log10(numbers, where=numbers > 0, out=np.full(len(numbers), zero))


def _place_of_value(value: Any) -> tuple[float, str]:
    """The order of values that stand one by one: numbers by size, then words."""
    return (float(value) if is_number(value) else np.inf, str(value))


def _log_ticks(low: float, high: float) -> list[list[Any]]:
    """Ticks of a logarithmic axis: powers of ten, and where these are few, twice and five times each.

    >>> _log_ticks(0.02, 0.2)
    [[-2.0, '0.01'], [-1.699, '0.02'], [-1.301, '0.05'], [-1.0, '0.1'], [-0.699, '0.2'], [-0.301, '0.5'], [0.0, '1']]
    """
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = (1, 2, 5) if last - first <= FEW_DECADES else (1,)
    numbers = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    numbers = [number for number in numbers if number <= float(f"1e{last}")]
    return [[compacted([np.log10(number)], 4)[0] * 1.0, exact_decimal(number)] for number in numbers]


def _words_chart(name: str, values: list[Any], drawn: _DrawnSettings) -> Chart:
    words = list(map(_in_words, values))
    items = []
    for word in dict.fromkeys(words):
        rows = [row for row, own in enumerate(words) if own == word]
        dots = [
            [value, COLOURS[drawn.group[row]][1]] for row, value in zip(rows, compacted(drawn.shown[rows]), strict=True)
        ]
        items.append({"name": word, "dots": sorted(dots, key=lambda dot: dot[1] != SOFT), "words": str(len(rows))})
    legend = [{"name": title, "colour": colour} for title, colour in COLOURS]
    caption = f"At the right: the number of settings. {drawn.in_words}".rstrip()
    label = f"Scores by {name}"
    return {"kind": "list", "label": label, "items": items, "x": drawn.axis, "legend": legend, "caption": caption}


def parallel_card(scored: ScoredSettings, importances: Importances) -> Card | None:
    """Returns the card of parallel coordinates: a line a setting through its values and its score.

    Args:
        scored: The settings.
        importances: Parameters by how much they count, in whose order they stand; a narrow page has the first ones.
    """
    drawn, names = _drawn(scored), _by_importance(scored, importances)
    if len(names) < 2 or len(drawn.number) < 2:
        return None
    ranks = np.empty(len(scored.settings), np.int64)
    ranks[scored.order()] = np.arange(1, len(scored.settings) + 1)
    kept = _kept_lines(ranks[drawn.number])
    axes, columns = [], []
    for name in names:
        has_it = np.array([name in own for own in drawn.settings], bool)
        column = np.full(len(has_it), np.nan)
        values = [own[name] for own in drawn.settings if name in own]
        if values:
            x, column[has_it] = _axis_of(name, values, scored.scales.get(name))
            axes.append(x)
            columns.append(column)
    columns.append(drawn.shown)
    lines = [
        {
            "at": compacted(np.array([column[row] for column in columns])),
            "colour": COLOURS[drawn.group[row]][1],
            "words": _line_in_words(scored, int(drawn.number[row]), int(ranks[drawn.number[row]]), names),
        }
        for row in kept
    ]
    groups = sorted(set(drawn.group.tolist()))
    chart: Chart = {
        "kind": "parallel",
        "label": f"Settings and their {scored.measure}",
        "axes": [*axes, drawn.axis],
        "lines": lines,
        "legend": [{"name": COLOURS[place][0], "colour": COLOURS[place][1]} for place in groups],
        "caption": drawn.in_words or f"{len(kept)} of {len(scored.settings)} settings.",
    }
    hint = "One line per setting, through its value of each parameter to its score at the right."
    return Card("parallel", "Settings side by side", hint, {"": chart})


def _kept_lines(ranks: Int[np.ndarray, " setting"]) -> list[int]:
    """The places of settings that have a line: the best, and others spread over the ranks; the best is drawn last."""
    worst_first = np.argsort(-ranks)
    if len(ranks) > MOST_LINES:
        others, best = worst_first[:-BEST_LINES], worst_first[-BEST_LINES:]
        worst_first = np.concatenate([others[spread(len(others), MOST_LINES - BEST_LINES)], best])
    return worst_first.tolist()


def _line_in_words(scored: ScoredSettings, number: int, rank: int, names: list[str]) -> str:
    own = scored.settings[number]
    values = ", ".join(f"{name} {_in_words(own[name])}" for name in names if name in own)
    return f"rank {rank}: {scored.measure} {score_in_words(float(scored.shown(scored.means[number])))}; {values}"


def leaders(scored: ScoredSettings) -> list[dict[str, Any]]:
    """Returns the rows of the table of settings, the best first."""
    rows, errors = [], scored.errors
    for rank, number in enumerate(scored.order().tolist(), 1):
        weight = 0.0 if scored.weights is None else scored.weights[number]
        if rank > MOST_LEADERS and not weight:
            continue
        score = score_in_words(float(scored.shown(scored.means[number]))) if scored.is_known[number] else "failed"
        error = f" ± {score_in_words(float(errors[number]))}" if np.isfinite(errors[number]) else ""
        rows.append(
            {
                "rank": rank,
                "score": score + error,
                "rounds": "" if scored.num_rounds is None else f"{scored.num_rounds[number]:.0f}",
                "weight": f"{weight:z.2f}" if weight else "",
                "values": [(name, _in_words(value)) for name, value in scored.settings[number].items()],
            }
        )
    return rows


def _in_words(value: Any) -> str:
    """A value of a parameter; of numbers that were drawn no more digits than one reads."""
    if isinstance(value, float) and np.isfinite(value):
        return exact_decimal(float(f"{value:.4g}"))
    return exact_decimal(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)
