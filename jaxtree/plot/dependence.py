"""Drawings of how predictions depend on one column: means while all rows have one value of it after the other.

See `jaxtree.explain.dependence`; curves of single rows are those of Goldstein et al. (*Peeking inside the black box*,
2015).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import equal_bins, spread
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain.dependence import Dependence, column_values, dependence_on
from jaxtree.export.answers import shortened_name
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.explained import class_labels
from jaxtree.plot.numbers import drawn_numbers, name_numbers
from jaxtree.plot.style import (
    axes_to_draw_in,
    blue,
    calm,
    draw_legend,
    draw_legend_beside,
    grey,
    height_of_rows,
    legend_name,
    name_axes,
    name_rows,
    round_ticks,
)
from jaxtree.table.names import column_place
from jaxtree.table.schema import Column
from jaxtree.table.weights import check_sample_weight
from jaxtree.table.words import value_in_words

MOST_BINS, HEIGHT_OF_BARS = 30, 0.14
"""The bars of the column's histogram, and the part of the axes that they take."""


class _Answers(NamedTuple):
    """Predictions while all rows have one value of a column.

    Attributes:
        found: The values that were tried, with the share of each.
        means: The mean prediction of every value, for every class or number that is drawn.
        of_rows: The predictions of some rows alone, of the class that is drawn.
        labels: What the columns of the means are; one empty word of one number.
        is_share: Whether they are probabilities.
    """

    found: Dependence
    means: Float64[np.ndarray, "value class"]
    of_rows: Float64[np.ndarray, "value some"]
    labels: list[str]
    is_share: bool


def plot_dependence(
    estimator: Any,
    X: Any,
    column: Any,
    *,
    sample_weight: Any = None,
    of_class: Any = None,
    num_lines: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean prediction of all rows while they have one value of a column after the other.

    Of numbers and dates it is a curve over a histogram of the column; of categories a point each, the largest mean on
    top, with its share of the rows. What is predicted where the value is missing is a dashed line, or a point.

    Args:
        estimator: A fitted tree, forest or boosted trees, hard or soft, or a search that has refitted one.
        X: The rows, of more than 300 every so many.
        column: The name or the place of the column; a number is a name where columns are named by numbers.
        sample_weight: The weight of every row in the means, shares and histogram; rows of weight 0 are left out.
        of_class: The class whose probability is drawn; all if not given, of two classes the second.
        num_lines: How many rows have a curve of their own, where one class or number is drawn.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such column, class or row, or a number of lines below 0.
        InvalidTypeError: The estimator is none of jaxtree that predicts from encoded rows.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> ax = plot_dependence(DecisionTreeRegressor(max_depth=3).fit(X, y), X, "bmi")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('bmi', 'mean prediction')
    """
    estimator = best_of_search(estimator)
    if not hasattr(estimator, "predict_values"):
        raise InvalidTypeError(
            f"estimator must be a tree, a forest or boosted trees of jaxtree, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    place = column_place(column, schema.column_names, "column")
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    if not len(rows) or num_lines < 0:
        raise InvalidInputError(f"X must have rows and num_lines be at least 0, got {len(rows)} rows and {num_lines}")
    weight = check_sample_weight(sample_weight, len(rows))
    if weight is not None:
        rows, weight = rows[weight > 0], weight[weight > 0]
    found = dependence_on(schema, rows, place, estimator.predict_values, weight)
    answers, own = _answers(estimator, found, (of_class, num_lines)), schema.columns[place]
    if own.kind == "numeric":
        return _draw_curve(ax, own, (column_values(schema, rows, place), weight), answers)
    return _draw_categories(ax, own, answers)


def _answers(estimator: Any, found: Dependence, asked: tuple[Any, int]) -> _Answers:
    """Chooses what is drawn of a class, or of all, and of some rows; see `_Answers`."""
    of_class, num_lines = asked
    predicted, means = found.of_rows, found.means
    names = class_labels(estimator)
    if getattr(estimator, "n_outputs_", 1) > 1 and names:
        raise InvalidInputError(f"a dependence is of one output of classes, got {estimator.n_outputs_} outputs")
    labels = names or ([""] if predicted.shape[2] == 1 else [f"number {one}" for one in range(predicted.shape[2])])
    if len(names) == 2 and of_class is None:
        of_class = names[1]
    if of_class is not None:
        if str(of_class) not in names:
            allowed = ", ".join(names) or "none, since numbers are predicted"
            raise InvalidInputError(f"of_class must be one of {allowed}, got {of_class!r}")
        only = names.index(str(of_class))
        predicted, means, labels = predicted[:, :, [only]], means[:, [only]], [names[only]]
    some = spread(predicted.shape[1], num_lines) if num_lines else np.zeros(0, int)
    return _Answers(found, means, predicted[:, some, 0], labels, bool(names))


def _name_of(answers: _Answers) -> str:
    if not answers.is_share:
        return "mean prediction"
    return "mean probability" if len(answers.labels) > 1 else f"mean probability of {answers.labels[0]}"


def _draw_curve(ax: Axes | None, column: Column, rows: tuple[Any, Any], answers: _Answers) -> Axes:
    """Draws a curve of numbers over a histogram of the rows, given by the column's values and the weights."""
    is_new, ax = ax is None, axes_to_draw_in(ax)
    known = ~np.isnan(answers.found.values)
    x, several = drawn_numbers(column, answers.found.values[known]), len(answers.labels) > 1
    if answers.of_rows.shape[1] and not several:
        ax.plot(x, answers.of_rows[known], color=grey(), linewidth=0.6, alpha=0.6, zorder=1)
    for place, label in enumerate(answers.labels):
        how = {"color": colour_of_class(place) if several else blue(), "linewidth": 2.0}
        ax.plot(x, answers.means[known, place], label=legend_name(label) if several else None, zorder=3, **how)
        if not known.all():
            ax.axhline(answers.means[-1, place], linestyle="--", label=None, **{**how, "linewidth": 1.2})
    present, weight = rows
    is_there = ~np.isnan(present)
    _draw_histogram(ax, drawn_numbers(column, present[is_there]), None if weight is None else weight[is_there])
    if not known.all():
        ax.plot([], [], color=grey(), linestyle="--", linewidth=1.2, label="where it is missing")
    calm(ax)
    if several:
        draw_legend_beside(ax, is_new=is_new)
    elif not known.all():
        draw_legend(ax)
    name_numbers(ax, "x", column)
    name_axes(ax, y=_name_of(answers))
    round_ticks(ax, "y")
    return ax


def _draw_histogram(ax: Axes, values: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"] | None) -> None:
    """Bars along the lower edge, below all curves."""
    if not values.size:
        return
    counts, edges = equal_bins(np.asarray(values, np.float64), MOST_BINS, weight)
    height = 0.8 * HEIGHT_OF_BARS * counts / counts.max()
    low, high = ax.get_ylim()
    bars = {"transform": ax.get_xaxis_transform(), "color": grey(), "alpha": 0.45, "zorder": 0, "linewidth": 0}
    ax.bar(edges[:-1], height, np.diff(edges), align="edge", **bars)
    ax.set_ylim(low - HEIGHT_OF_BARS / (1 - HEIGHT_OF_BARS) * (high - low), high)


def _draw_categories(ax: Axes | None, column: Column, answers: _Answers) -> Axes:
    tried, several = answers.found.values, len(answers.labels) > 1
    has_order = column.kind in ("ordered", "boolean")
    order = np.arange(len(tried)) if has_order else np.argsort(-answers.means[:, 0], kind="stable")
    names = []
    for value, share in zip(tried[order].tolist(), answers.found.shares[order].tolist(), strict=True):
        word = "missing" if np.isnan(value) else value_in_words(column.categories[int(value)])
        names.append(f"{shortened_name(word)}\N{NO-BREAK SPACE}({share:.0%})")
    is_new, ax = ax is None, axes_to_draw_in(ax, (6.0, height_of_rows(names, 0.36, 1.2)))
    for row, value in enumerate(order.tolist()):
        if answers.of_rows.shape[1] and not several:
            ax.plot(answers.of_rows[value], [row] * answers.of_rows.shape[1], "|", color=grey(), markersize=7, zorder=1)
    for place, label in enumerate(answers.labels):
        colour = colour_of_class(place) if several else blue()
        ax.plot(answers.means[order, place], range(len(order)), "o", color=colour, label=legend_name(label), zorder=3)
    name_rows(ax, names)
    ax.grid(visible=True, axis="y")
    if several:
        draw_legend_beside(ax, is_new=is_new)
    name_axes(ax, _name_of(answers), column.name)
    round_ticks(ax, "x")
    return ax
