"""Cards of a page: a chart each, or one for every choice of rows and of a class, sent as the numbers it is drawn of.

A *chart* is a mapping that the page's script reads: `kind` is "plot" (two axes), "list" (lines below one another),
"grid" (counts by two classes) or "parallel" (lines through many axes). `assets/plot.js`, `list.js`, `grid.js` and
`parallel.js` say what each of them has.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Real

from jaxtree.arrays import spread
from jaxtree.table.schema import Column

Chart = dict[str, Any]

ACCENT, INK, SOFT = "accent", "ink", "soft"
"""Colours of the page's theme."""

SHARE = {"low": 0, "high": 1}
"""The limits of an axis of shares."""

FEW_DIGITS = 5
"""Significant digits of a number that is drawn."""

MANY_NUMBERS = 64
"""From this many numbers on, equal ones are written once: most cells of a confusion matrix of many classes are 0."""

MOST_POINTS = 200
"""Points of a line that is drawn; of more, as many spread over it."""

MOST_DOTS = 1500


class Card(NamedTuple):
    """A card.

    Attributes:
        id: Its name in the page.
        title: Its heading.
        hint: A sentence below that.
        choices: Its lists to choose from: a label, and the names of the options.
        chosen: The numbers of the options at first.
        charts: The chart of every choice of options, whose numbers its key joins by commas; "" is that of no choice.
    """

    id: str
    title: str
    hint: str
    charts: dict[str, Chart]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    chosen: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what the page's script is sent of it."""
        return {
            "title": self.title,
            "choices": [[label, list(options)] for label, options in self.choices],
            "chosen": list(self.chosen),
            "charts": self.charts,
        }


def card_of_tables(
    tables: Sequence[Any],
    name: str,
    title: str,
    hint: str,
    chart_of: Callable[..., Chart],
    options: tuple[str, Sequence[str]] | None = None,
) -> Card:
    """Returns a card with a chart of each of some tables, of which the last is shown first.

    Args:
        tables: The tables, at least one.
        name: The name of the card in the page.
        title: Its heading.
        hint: A sentence below that.
        chart_of: Returns the chart of a table; with options, of a table and the number of an option.
        options: A label, and the names of what can be chosen beside the table.
    """
    rows = ("Rows", tuple(f"{table.name} rows" for table in tables))
    if options is None:
        charts = {str(place): chart_of(table) | {"table": table.name} for place, table in enumerate(tables)}
        return Card(name, title, hint, charts, (rows,), (len(tables) - 1,))
    charts = {
        f"{place},{option}": chart_of(table, option) | {"table": table.name}
        for place, table in enumerate(tables)
        for option in range(len(options[1]))
    }
    return Card(name, title, hint, charts, (rows, (options[0], tuple(options[1]))), (len(tables) - 1, 0))


def widths_of_cards(number: int) -> list[int]:
    """Returns how many sixths of a line every card takes, so that all lines are full.

    >>> [widths_of_cards(number) for number in (1, 2, 3, 4, 5, 7)]
    [[6], [3, 3], [2, 2, 2], [3, 3, 3, 3], [2, 2, 2, 3, 3], [2, 2, 2, 3, 3, 3, 3]]
    """
    if number < 3:
        return [6 // max(number, 1)] * number
    halves = {0: 0, 1: 4, 2: 2}[number % 3]
    return [2] * (number - halves) + [3] * halves


def compacted(values: Any, digits: int = FEW_DIGITS) -> list[Any]:
    """Returns numbers as JSON has them: whole ones without a point, others in few digits, None for what is not finite.

    >>> compacted([1.0, 1 / 3, np.nan])
    [1, 0.33333, None]
    """
    numbers = np.asarray(values)
    if numbers.dtype.kind in "iu":
        return numbers.tolist()
    if len(numbers) < MANY_NUMBERS:
        return [_short(value, digits) for value in numbers.tolist()]
    different, place = np.unique(numbers, return_inverse=True)
    short = [_short(value, digits) for value in different.tolist()]
    return [short[own] for own in place.tolist()]


def _short(value: float, digits: int) -> int | float | None:
    if not np.isfinite(value):
        return None
    if not value.is_integer() or abs(value) >= 2**53:
        value = float(f"{value:.{digits}g}")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def with_places(values: Real[np.ndarray, " entry"]) -> list[str]:
    """Returns numbers in words with as many decimals each, of which the greatest has three digits.

    >>> with_places(np.array([12.345, 0.5])), with_places(np.array([0.0123]))
    (['12.3', '0.5'], ['0.0123'])
    """
    greatest = float(np.abs(values).max(initial=0.0))
    places = max(0, min(12, 2 - int(np.floor(np.log10(greatest))))) if 0 < greatest < np.inf else 0
    return [f"{value:z.{places}f}" for value in np.asarray(values).tolist()]


def axis(label: str = "", **limits: Any) -> dict[str, Any]:
    """Returns an axis: its label, and perhaps `low`, `high`, `isWhole`, `ticks`, `isTime` and `isLog`.

    A label says behind a semicolon what does not belong to the name of its numbers.
    """
    return {"label": label} | {name: value for name, value in limits.items() if value is not None}


def line(name: str, colour: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    """Returns a series of a plot that joins its points, which are thinned out where they are many."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    kept = np.arange(len(x))
    if len(x) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
    return {
        "kind": "line",
        "name": name,
        "colour": colour,
        "x": compacted(x[kept], 7),
        "y": compacted(y[kept], 7),
    } | more


def points_on_line(name: str, colour: str, x: Any, y: Any) -> list[dict[str, Any]]:
    """Returns the series of few points that are joined, each with a dot."""
    joined = line(name, colour, x, y)
    return [joined, joined | {"kind": "dots"}]


def dots(name: str, colour: str, x: Any, y: Any, rows: Int[np.ndarray, " row"]) -> dict[str, Any]:
    """Returns a series of a plot of single rows, of which as many are kept as can be distinguished.

    Args:
        name: The name of the series.
        colour: Its colour.
        x: Where the rows lie across.
        y: Where they lie up.
        rows: Their places in the given table, by which the page opens them.
    """
    kept = spread(len(x), MOST_DOTS)
    x, y = np.asarray(x, np.float64)[kept], np.asarray(y, np.float64)[kept]
    found = {"kind": "dots", "name": name, "colour": colour, "x": compacted(x), "y": compacted(y)}
    return found | {"rows": rows[kept].tolist()}


def bars(name: str, colour: str, edges: Any, heights: Any) -> dict[str, Any]:
    """Returns a series of a plot with a bar between every two edges."""
    edges = compacted(edges, 7)
    return {"kind": "bars", "name": name, "colour": colour, "x": edges[:-1], "x1": edges[1:], "y": compacted(heights)}


def bars_below(histogram: tuple[Any, Any]) -> dict[str, Any]:
    """Returns a histogram, edges and heights, that stands below a plot."""
    edges, heights = histogram
    return {"edges": compacted(edges, 7), "counts": compacted(heights)}


def plot(
    label: str, x: dict[str, Any], y: dict[str, Any], series: list[dict[str, Any]], words: str = "", **more: Any
) -> Chart:
    """Returns a chart of two axes.

    Args:
        label: The name of the chart, for those who do not see it.
        x: The horizontal axis.
        y: The vertical axis.
        series: The lines, dots, bars and bands.
        words: A sentence below the chart, which is read with its name.
        more: `below`, `mark`, `isDiagonal` and `value`.
    """
    if not np.isfinite(more.get("value", 0.0)):
        more["value"] = None
    named = {"label": f"{label}. {words}", "caption": words} if words else {"label": label}
    return {"kind": "plot", **named, "x": x, "y": y, "series": series} | more


def bars_by_name(
    label: str,
    named: Sequence[tuple[str, float]],
    words: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    x: dict[str, Any] | None = None,
) -> Chart:
    """Returns a chart of a bar a name.

    Args:
        label: The name of the chart.
        named: Names and numbers.
        words: The words at the right of each bar; its number with three decimals if not given.
        colours: The colours of the bars, one a bar at least.
        x: The axis, which is not drawn if not given.
    """
    words = words or [f"{value:z.3f}" for _, value in named]
    items = [
        {"name": name, "bars": [[0, compacted([value])[0], colour]], "words": own}
        for (name, value), own, colour in zip(named, words, colours or [ACCENT] * len(named), strict=False)
    ]
    return {"kind": "list", "label": label, "items": items} | ({"hasAxis": False} if x is None else {"x": x})


class _Step(NamedTuple):
    """The dates at which ticks stand."""

    most_days: float
    unit: str
    number: int
    letters: int


_STEPS = (
    _Step(2, "h", 6, 16),
    _Step(14, "D", 2, 10),
    _Step(70, "D", 14, 10),
    _Step(800, "M", 1, 7),
    _Step(2500, "M", 6, 7),
    _Step(7500, "Y", 1, 4),
    _Step(40_000, "Y", 5, 4),
    _Step(np.inf, "Y", 25, 4),
)
"""For dates over at most a number of days: the unit, the number of units between ticks, and their letters."""

FIRST_YEAR = 1970
"""The epoch of NumPy's dates."""

LAST_OF_DAYS = 28
"""The day of a month, counted from 0, from which on no tick stands: the first of the next would be too close."""


def ticks_of_times(column: Column, low: float, high: float) -> list[list[Any]] | None:
    """Returns numbers of a column of dates with the dates there, at the starts of years, months or days.

    None of a column of durations or of numbers.

    >>> from jaxtree.table import Encoder
    >>> days = np.array([["2020-02-03"], ["2021-02-01"]], "datetime64[D]")
    >>> ticks_of_times(Encoder().fit(days).schema_.columns[0], 0.0, 60.0)
    [[12.0, '2020-02-15'], [27.0, '2020-03-01'], [41.0, '2020-03-15'], [58.0, '2020-04-01']]
    """
    if column.time is None or column.time.kind == "duration" or not high > low:
        return None
    times = [column.time.value(end) for end in (low, high)]
    first, last = (np.datetime64(own.replace(tzinfo=None)) if hasattr(own, "tzinfo") else own for own in times)
    step = next(own for own in _STEPS if high - low <= own.most_days)
    dtype = f"datetime64[{step.unit}]"
    starts = np.arange(first.astype(dtype), last.astype(dtype) + 1)
    count = starts.astype(np.int64) + (FIRST_YEAR if step.unit == "Y" else 0)
    if step.unit == "D":  # so that the first of a month is one of them
        count = (starts - starts.astype("datetime64[M]").astype(dtype)).astype(np.int64)
        count = np.where(count < LAST_OF_DAYS, count, 1)
    starts = starts[(count % step.number == 0) & (starts >= first) & (starts <= last)]
    words = [str(own)[: step.letters].replace("T", " ") for own in starts.astype("datetime64[m]")]
    return [
        [number, own]
        for number, own in zip(column.time.numbers(starts.astype("datetime64[s]")).tolist(), words, strict=True)
    ]
