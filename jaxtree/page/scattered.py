"""The scores of settings by the value of each parameter."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, compacted, plot
from jaxtree.table.numerals import exact_decimal

WIDE = 50.0
"""How many times the least value the greatest is, from which on an axis has powers of 10."""

COLOURS = (("a setting", SOFT), ("a member of the ensemble", ACCENT), ("the best", "#D55E00"))


def scatter_card(tuned: Any) -> Card | None:
    """Returns the card of all parameters that have several values; None where there are none.

    Args:
        tuned: A `jaxtree.search.tuning.TunedModel`.
    """
    tried = tuned.tried
    means = tried.scores.mean(axis=1)
    group = np.where(tuned.weights > 0, 1, 0)
    group[int(means.argmax())] = 2
    shown = np.asarray(tuned.yardstick.shown(means), np.float64)
    known = np.isfinite(shown)
    order = [name for name, _ in tried.parameter_importances()]
    names = sorted(tried.settings[0], key=lambda name: order.index(name) if name in order else len(order))
    charts = {}
    for name in names:
        values = [own[name] for own in tried.settings]
        if len(set(map(str, values))) > 1:
            charts[name] = _chart(name, values, shown, group, known, tuned.yardstick.in_words)
    if not charts:
        return None
    hint = "The mean score of every setting by its value of a parameter."
    made = {str(place): chart for place, chart in enumerate(charts.values())}
    return Card("scatter", "Scores by parameter", hint, made, (("Parameter", tuple(charts)),), (0,))


def _chart(
    name: str,
    values: list[Any],
    shown: Float[np.ndarray, " setting"],
    group: Int[np.ndarray, " setting"],
    known: Bool[np.ndarray, " setting"],
    measure: str,
) -> Chart:
    is_number = [isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values]
    if not all(is_number):
        return _of_words(name, values, shown, group, known, measure)
    numbers = np.array(values, np.float64)
    x = axis(name)
    above = numbers[numbers > 0]
    if numbers.min() >= 0 and len(above) and above.max() > WIDE * above.min():
        powers = np.arange(np.floor(np.log10(above.min())), np.ceil(np.log10(above.max())) + 1)
        x["ticks"] = [[float(power), exact_decimal(float(f"1e{power:.0f}"))] for power in powers]
        zero = float(powers[0] - 1)
        if len(above) < len(numbers):
            x["ticks"] = [[zero, "0"], *x["ticks"]]
        numbers = np.log10(numbers, where=numbers > 0, out=np.full(len(numbers), zero))
    series = [
        {"kind": "dots", "name": title, "colour": colour, "x": compacted(numbers[own]), "y": compacted(shown[own])}
        for place, (title, colour) in enumerate(COLOURS)
        for own in [known & (group == place)]
        if own.any()
    ]
    return plot(f"Scores by {name}", x, axis(measure), series)


def _of_words(
    name: str,
    values: list[Any],
    shown: Float[np.ndarray, " setting"],
    group: Int[np.ndarray, " setting"],
    known: Bool[np.ndarray, " setting"],
    measure: str,
) -> Chart:
    words = list(map(str, values))
    items = []
    for word in dict.fromkeys(words):
        rows = [row for row, own in enumerate(words) if own == word and known[row]]
        dots = [[value, COLOURS[group[row]][1]] for row, value in zip(rows, compacted(shown[rows]), strict=True)]
        items.append({"name": word, "dots": sorted(dots, key=lambda dot: dot[1] != SOFT), "words": str(len(rows))})
    legend = [{"name": title, "colour": colour} for title, colour in COLOURS]
    caption = "At the right, the number of settings."
    label = f"Scores by {name}"
    return {"kind": "list", "label": label, "items": items, "x": axis(measure), "legend": legend, "caption": caption}
