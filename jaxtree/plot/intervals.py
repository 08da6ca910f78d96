"""Prediction intervals, row by row, and the targets in them and outside."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.models import best_of_search
from jaxtree.plot.style import ORANGE, axes_to_draw_in, blue, calm, draw_legend, grey, name_axes, round_ticks
from jaxtree.table.weights import check_sample_weight

MOST_ROWS = 150
"""Rows that are drawn: of more every so many, in the order of their predictions."""


def plot_intervals(
    estimator: Any, X: Any, y: Any, *, coverage: float = 0.9, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Draws the prediction interval of every row, in the order of their middles, and the targets.

    The share of all rows inside stands in the legend; targets outside are orange.

    Args:
        estimator: A fitted `ConformalRegressor`, a `GradientBoostingDistribution`, or boosted trees of several
            quantiles, of which the first and the last are the ends.
        X: Rows, best such as were not in the fit; of more than 150 every so many are drawn.
        y: Their targets.
        coverage: The share of rows that is to be inside; of quantiles it is their own.
        sample_weight: The weight of every row in the shares of the legend; rows of weight 0 are left out.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: The coverage is not between 0 and 1, or there is not one target a row.
        InvalidTypeError: The estimator predicts no intervals.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import GradientBoostingDistribution
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingDistribution(20, max_depth=2).fit(X[::2], y[::2])
        >>> ax = plot_intervals(model, X[1::2], y[1::2], coverage=0.8)
        >>> len(ax.collections[0].get_segments())
        150
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    if not 0 < coverage < 1:
        raise InvalidInputError(f"coverage must be between 0 and 1, got {coverage}")
    ends, target = _ends(estimator, X, coverage), np.asarray(vector_of_column(y), np.float64)
    if target.shape != (len(ends),) or not len(ends):
        raise InvalidInputError(
            f"y must have one number for each of {len(ends)} rows, at least one, got {target.shape}"
        )
    weight = check_sample_weight(sample_weight, len(target))
    if weight is not None:
        there = np.flatnonzero(weight)
        ends, target, weight = ends[there], target[there], weight[there]
    is_inside = (ends[:, 0] <= target) & (target <= ends[:, 1])
    order = np.argsort(ends.mean(axis=1), kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_ROWS)).astype(int))]
    ax = axes_to_draw_in(ax, (7.0, 4.2))
    place = np.arange(len(shown))
    ax.vlines(place, ends[shown, 0], ends[shown, 1], color=grey(), linewidth=1.6, alpha=0.5, zorder=1)
    for word, chosen, colour in (("inside", is_inside, blue()), ("outside", ~is_inside, ORANGE)):
        own, label = chosen[shown], f"{word} {np.average(chosen, weights=weight):.0%}"
        ax.scatter(place[own], target[shown][own], s=11, color=colour, label=label, zorder=2, linewidth=0)
    calm(ax)
    ax.grid(visible=False, axis="x")
    round_ticks(ax)
    name_axes(ax, "rows, in the order of their predictions", "target and interval")
    draw_legend(ax, loc="upper left", frameon=True, framealpha=0.85)
    return ax


def _ends(estimator: Any, X: Any, coverage: float) -> Float64[np.ndarray, "row 2"]:
    """The ends of the interval of every row."""
    if hasattr(estimator, "predict_interval"):
        return np.asarray(estimator.predict_interval(X, coverage=coverage), np.float64)
    if hasattr(estimator, "predict_dist"):
        return np.asarray(estimator.predict_dist(X).interval(coverage), np.float64)
    predicted = np.asarray(estimator.predict(X))
    if predicted.ndim != 2 or predicted.dtype.kind != "f" or getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidTypeError(
            "estimator must predict intervals, as a ConformalRegressor, a GradientBoostingDistribution or boosted "
            f"trees with loss=quantiles([...]) do, got {type(estimator).__name__}"
        )
    return predicted[:, [0, -1]].astype(np.float64)
