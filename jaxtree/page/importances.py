"""The card of importances with their bands."""

from typing import Any

import numpy as np

from jaxtree.page.cards import ACCENT, SOFT, Card, axis, compacted
from jaxtree.table.numerals import decimal_near

MOST_IMPORTANT = 15
"""Terms or columns whose importances are drawn, the most important ones."""


def banded_importance_card(bands: Any) -> Card:
    """Returns the card of the importances of terms or columns with their bands, the most important first."""
    found, (noun, names, unit, meaning), items = bands.importances(), bands.importance_words(), []
    order = np.argsort(-found.center, kind="stable")
    for place in order[:MOST_IMPORTANT].tolist():
        ends = compacted([found.lower[place], found.upper[place]])
        dot = compacted([found.center[place]])[0]
        words = decimal_near(float(found.center[place]), least_digits=3)
        items.append({"name": names[place], "bars": [[*ends, SOFT]], "dots": [[dot, ACCENT]], "words": words})
    title = f"Importance of the {noun}s, with bands"
    chart: dict[str, Any] = {"kind": "list", "label": title, "items": items, "x": axis(unit)}
    if len(order) > MOST_IMPORTANT:
        chart["caption"] = f"{len(order) - MOST_IMPORTANT} less important {noun}s are left out."
    return Card(f"{noun}-importances", title, f"{meaning}, with its band of level {bands.level:g}.", {"": chart})
