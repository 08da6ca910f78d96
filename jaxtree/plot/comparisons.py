"""Drawings of comparisons of models."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from jaxtree.errors import InvalidTypeError
from jaxtree.figures.comparisons import LEVEL
from jaxtree.metrics.scorers import metric_in_words, shown_score
from jaxtree.plot import style


def plot_comparison(comparison: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws the difference of every model from the best and its interval, the best on top; see `jaxtree.compare`.

    Models whose interval leaves out 0 are orange. Models without a score are left out.

    Args:
        comparison: The result of `jaxtree.compare`.
        metric: The name of a scorer; the first if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: The comparison has no such scorer.
        InvalidTypeError: It is no comparison.

    Example:
        >>> import jaxtree
        >>> X = np.arange(60.0)[:, None]
        >>> ax = plot_comparison(jaxtree.compare({"tree": jaxtree.DecisionTreeRegressor()}, X, X[:, 0], cv=3))
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['tree', 'baseline']
    """
    if not (hasattr(comparison, "rows") and hasattr(comparison, "metrics")):
        raise InvalidTypeError(f"comparison must be a result of jaxtree.compare, got {type(comparison).__name__}")
    shown: str = comparison.metrics[0] if metric is None else metric
    rows = [row for row in comparison.rows(shown) if np.isfinite(row.rank)]
    ax = style.axes_to_draw_in(ax, (6.0, style.height_of_rows([row.name for row in rows])))
    ax.axvline(0, color=style.grey(), linewidth=1, linestyle="--", zorder=1)
    for place, row in enumerate(rows):
        mean, *ends = (float(shown_score(shown, own)) for own in row.from_best)
        colour = style.ORANGE if row.from_best.is_clear else style.blue()
        if np.isfinite(ends).all():
            ax.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
        ax.plot(mean, place, "o", color=colour, zorder=3)
    style.name_rows(ax, [row.name for row in rows])
    style.round_ticks(ax, "x")
    style.name_axes(ax, f"{metric_in_words(shown)}, difference from the best, with {LEVEL:.0%} intervals")
    return ax
