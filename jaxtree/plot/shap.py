"""Drawings of Shapley values: what columns are worth over all rows, row by row, and in one row."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize

from jaxtree.errors import InvalidInputError
from jaxtree.explain.paths import as_table
from jaxtree.explain.shap import ShapValues, shap_values
from jaxtree.export.answers import shortened_name
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.figures.importances import MOST_COLUMNS
from jaxtree.figures.outputs import class_labels
from jaxtree.figures.shapley import Explained, explained_by, of_class
from jaxtree.plot import style
from jaxtree.table.weights import check_sample_weight

LOW_TO_HIGH = LinearSegmentedColormap.from_list("jaxtree_low_to_high", ["#4aa8e0", "#8a6fb0", "#d55e00"])
"""The colours of low and high values of a column, on a light ground and on a dark one."""


def plot_shap_bar(
    estimator: Any,
    X: Any,
    explanation: ShapValues | None = None,
    *,
    of_class: Any = None,
    max_columns: int = MOST_COLUMNS,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean absolute Shapley value of every column, the largest on top; of classes end to end.

    Args:
        estimator: A fitted tree or forest of one output, or boosted trees.
        X: The rows to explain.
        explanation: The result of `jaxtree.explain.shap_values` for them; computed if not given.
        of_class: The class whose values are drawn; all if not given, of two classes the second.
        max_columns: The most columns.
        sample_weight: The weight of every row in the means.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There are no rows, the explanation is not of them, or there is no such class.
        InvalidTypeError: The estimator has no Shapley values.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_shap_bar(DecisionTreeClassifier(max_depth=2).fit(X, y), X, of_class=2, max_columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
        (['x3', 'x2'], 'mean absolute Shapley value (probability of 2)')
    """
    estimator = best_of_search(estimator)
    found = _explained(estimator, X, explanation, chosen=of_class, sample_weight=sample_weight)
    worth, order = found.sizes, _greatest(found, max_columns)
    names = [found.schema.column_names[column] for column in order]
    is_new = ax is None
    ax = style.draw_bars(ax, names, worth[order, 0], colours=None if worth.shape[1] == 1 else colour_of_class(0))
    left = worth[order, 0]
    for place in range(1, worth.shape[1]):
        ax.barh(range(len(order)), worth[order, place], left=left, color=colour_of_class(place), height=0.7)
        left = left + worth[order, place]
    if worth.shape[1] > 1:
        for bars, label in zip(ax.containers, found.labels, strict=True):
            bars.set_label(style.legend_name(label))
        ax.set_xlim(0, 1.05 * max(float(left.max()), 1e-12))
        style.draw_legend_beside(ax, is_new=is_new)
    of_what = found.of_what[0] if worth.shape[1] == 1 else found.unit
    style.name_axes(ax, f"mean absolute Shapley value ({of_what})")
    return ax


def _greatest(found: Explained, most: int) -> list[int]:
    if most < 1:
        raise InvalidInputError(f"max_columns must be at least 1, got {most}")
    return found.order(most)


def _explained(
    estimator: Any, X: Any, explanation: ShapValues | None, *, chosen: Any, sample_weight: Any = None
) -> Explained:
    """Returns the Shapley values of rows that are given or computed, of a class or of all."""
    names = class_labels(estimator)
    given = shap_values(estimator, X) if explanation is None else explanation
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    weight = check_sample_weight(sample_weight, len(rows))
    return of_class(explained_by(estimator, given, rows, weight), names, chosen)


def plot_shap_beeswarm(
    estimator: Any,
    X: Any,
    explanation: ShapValues | None = None,
    *,
    of_class: Any = None,
    max_columns: int = MOST_COLUMNS,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws a point a row for the Shapley value of every column, coloured by the column's value there.

    Columns are in the order of `plot_shap_bar`. Values of a column are compared by their ranks; missing values and
    categories without an order are grey.

    Args:
        estimator: A fitted estimator, as in `plot_shap_bar`.
        X: The rows to explain.
        explanation: The result of `jaxtree.explain.shap_values` for them; computed if not given.
        of_class: The class whose values are drawn; needed of more than two.
        max_columns: The most columns.
        sample_weight: The weight of every row in the order of the columns; rows of weight 0 are left out.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There are no rows, the explanation is not of them, or there is no such class.
        InvalidTypeError: The estimator has no Shapley values.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> ax = plot_shap_beeswarm(DecisionTreeRegressor(max_depth=3).fit(X, y), X, max_columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()], len(ax.collections[0].get_offsets())
        (['s5', 'bmi'], 442)
    """
    estimator = best_of_search(estimator)
    found = _of_one(_explained(estimator, X, explanation, chosen=of_class, sample_weight=sample_weight), estimator)
    there = found.weight > 0
    found = found._replace(values=found.values[there], rows=found.rows[there], weight=found.weight[there])
    values, order = found.values[:, :, 0], _greatest(found, max_columns)
    names = [found.schema.column_names[column] for column in order]
    ax = style.axes_to_draw_in(ax, (6.4, style.height_of_rows(names, 0.42, 1.2)))
    ax.axvline(0, color=style.grey(), linewidth=1, zorder=1)
    for place, column in enumerate(order):
        own = values[:, column]
        height = place + 0.36 * _spread(own)
        ranks = found.ranks(column)
        known = ~np.isnan(ranks)
        colours = np.where(known[:, None], LOW_TO_HIGH(np.nan_to_num(ranks)), [[0.6, 0.6, 0.6, 1.0]])
        ax.scatter(own, height, s=9, c=colours, linewidth=0, alpha=0.85, zorder=2, rasterized=len(own) > 2000)
    style.name_rows(ax, names)
    style.name_axes(ax, f"Shapley value ({found.of_what[0]})")
    style.round_ticks(ax, "x")
    bar = style.draw_scale(ax, ScalarMappable(Normalize(0, 1), LOW_TO_HIGH), "value of the column")
    bar.set_ticks([0, 1], labels=["low", "high"])
    return ax


def _of_one(found: Explained, estimator: Any) -> Explained:
    """The values of one class or score; raises InvalidInputError of several."""
    if len(found.labels) > 1:
        is_of_classes = bool(class_labels(estimator))
        which = ", ".join(found.labels[:20])
        hint = f"of_class= must name one of {which}" if is_of_classes else f"it has {len(found.labels)} scores"
        raise InvalidInputError(f"this drawing shows one class or number: {hint}")
    return found


def _spread(values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """How far each of some values that lie close together is moved aside, from -1 to 1, the same in every drawing."""
    low, high = values.min(), values.max()
    if high <= low:
        return np.linspace(-1, 1, values.size) if values.size > 1 else np.zeros(1)
    bins = np.minimum((60 * (values - low) / (high - low)).astype(int), 59)
    most = np.bincount(bins).max()
    aside = np.zeros(values.size)
    for own in np.unique(bins):
        members = np.flatnonzero(bins == own)
        steps = (np.arange(members.size) + 1) // 2 * np.where(np.arange(members.size) % 2, 1, -1)
        aside[members] = 2 * steps / max(most, 12)
    return aside


def plot_shap_waterfall(
    estimator: Any,
    row: Any,
    explanation: ShapValues | None = None,
    *,
    of_class: Any = None,
    max_columns: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draws how the Shapley values of one row lead from the mean prediction, at the bottom, to that of the row.

    The column that contributes most is on top; those that contribute least are one bar together.

    Args:
        estimator: A fitted estimator, as in `plot_shap_bar`.
        row: A table of one row; or its values in a list, a vector, or a mapping from the names of the columns.
        explanation: The result of `jaxtree.explain.shap_values` for it; computed if not given.
        of_class: The class that is explained; the most probable one if not given, and the second of boosted two.
        max_columns: The most columns that have a bar of their own.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one row, the explanation is not of it, or there is no such class.
        InvalidTypeError: The estimator has no Shapley values.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> tree = DecisionTreeRegressor(max_depth=2).fit(X, y)
        >>> ax = plot_shap_waterfall(tree, X.iloc[[0]])
        >>> end = ax.patches[0].get_x() + ax.patches[0].get_width()
        >>> bool(np.isclose(end, tree.predict(X.iloc[[0]])[0]))
        True
    """
    estimator = best_of_search(estimator)
    table = as_table(row, estimator.encoder_.schema_.column_names)
    names = class_labels(estimator)
    if of_class is None and len(names) > 2:
        of_class = estimator.predict(table)[0]
    found = _of_one(_explained(estimator, table, explanation, chosen=of_class), estimator)
    if len(found.rows) != 1:
        raise InvalidInputError(f"row must be one row, got {len(found.rows)}")
    values, base = found.values[0, :, 0], float(found.base[0])
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order[:max_columns].tolist() if len(order) > max_columns + 1 else order.tolist()
    labels = [f"{found.schema.column_names[own]} = {shortened_name(found.cell(0, own), 24)}" for own in shown]
    steps = values[shown].tolist()
    if len(shown) < len(order):
        labels.append(f"{len(order) - len(shown)} other columns")
        steps.append(float(values[order[len(shown) :]].sum()))
    ax = style.axes_to_draw_in(ax, (6.6, style.height_of_rows(labels, 0.4, 1.5)))
    _draw_steps(ax, steps, base, SIZE_OF_NUMBERS * style.name_rows(ax, labels))
    ax.set_ylim(len(steps) + 0.1, -1.0)
    style.name_axes(ax, found.of_what[0])
    style.round_ticks(ax, "x")
    return ax


SIZE_OF_NUMBERS, POINTS_OF_NAMES = 8.5, 110.0
"""The size of numbers beside bars, and about the width that names of rows take, in points."""


def _draw_steps(ax: Axes, steps: list[float], base: float, fontsize: float) -> None:
    """Bars from the bottom up, each from where the last one ends; the first drawn is on top."""
    ends = base + np.cumsum(steps[::-1])[::-1]
    starts = ends - np.array(steps)
    span = float(max(ends.max(), starts.max()) - min(ends.min(), starts.min())) or 1.0
    for place, (start, step) in enumerate(zip(starts.tolist(), steps, strict=True)):
        ax.barh(place, step, left=start, height=0.62, color=style.ORANGE if step >= 0 else style.blue(), zorder=2)
        side = 1 if step >= 0 else -1
        words, align = f"{step:+.3g}" if step else "0", "left" if step >= 0 else "right"
        where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": align, "fontsize": fontsize}
        ax.annotate(words, (start + step, place), (3 * side, 0), **where)
    for place, start in enumerate(starts[:-1].tolist()):
        ax.plot([start, start], [place + 0.31, place + 0.69], color=style.grey(), linewidth=0.8, zorder=1)
    low, high = min(ends.min(), starts.min()), max(ends.max(), starts.max())
    figure: Any = ax.figure
    width = ax.get_window_extent().width * 72 / figure.dpi
    margin = (0.05 + 6.5 * fontsize / max(60.0, width - POINTS_OF_NAMES)) * span
    ax.set_xlim(low - margin, high + margin)
    for value, words, height in ((base, "mean", len(steps) - 0.25), (float(ends[0]), "this row", -0.62)):
        ax.text(value, height, f"{words} {value:.4g}", ha="center", va="center", fontsize=fontsize)
