"""How predictions depend on one column: their mean while all rows have one value of it after the other.

This is partial dependence (Friedman, *Greedy function approximation*, 2001, sec. 8.2), with curves of single rows if
asked for (Goldstein et al., *Peeking inside the black box*, 2015), on the scale of the answer.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.answers import shortened_name
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.explained import class_labels
from jaxtree.plot.numbers import cells_of, drawn_numbers, name_numbers, place_of, with_value
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
from jaxtree.table.schema import Column
from jaxtree.table.words import value_in_words

MOST_ROWS = 1000
"""Rows that predictions are averaged over: of more every so many."""

MOST_VALUES = 40
"""Values of a column of numbers that are tried: quantiles of those present."""

MOST_CATEGORIES = 25
"""Categories that are drawn: those of most rows."""

HEIGHT_OF_BARS = 0.14
"""The part of the axes that the histogram of the column takes."""


class _Answers(NamedTuple):
    """Predictions while all rows have one value of a column.

    Attributes:
        tried: The numbers, or the codes of categories; NaN is a missing value and comes last.
        means: The mean prediction of every value, for every class or number.
        of_rows: The predictions of some rows alone, of the class that is drawn.
        labels: What the columns of the means are; one empty word of one number.
        is_share: Whether they are probabilities.
    """

    tried: Float64[np.ndarray, " value"]
    means: Float64[np.ndarray, "value class"]
    of_rows: Float64[np.ndarray, "value some"]
    labels: list[str]
    is_share: bool


def plot_dependence(
    estimator: Any, X: Any, column: str | int, *, of_class: Any = None, num_lines: int = 0, ax: Axes | None = None
) -> Axes:
    """Draws the mean prediction of all rows while they have one value of a column after the other.

    Of numbers and dates it is a curve over a histogram of the column; of categories a point each, the largest mean on
    top, with its share of the rows. What is predicted where the value is missing is a dashed line, or a point.

    Args:
        estimator: A fitted tree, forest or boosted trees, hard or soft, or a search that has refitted one.
        X: The rows, of more than 1000 every so many.
        column: The name or the position of the column.
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
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(estimator, "predict_values"):
        raise InvalidTypeError(
            f"estimator must be a tree, a forest or boosted trees of jaxtree, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    place, rows = place_of(schema, column), np.asarray(estimator.encoder_.values(X), np.float64)
    if not len(rows) or num_lines < 0:
        raise InvalidInputError(f"X must have rows and num_lines be at least 0, got {len(rows)} rows and {num_lines}")
    own, present = schema.columns[place], cells_of(schema, place, rows)
    answers = _answers(estimator, rows, place, _values_to_try(own, present), (of_class, num_lines))
    if own.kind == "numeric":
        return _draw_curve(ax, own, present, answers)
    return _draw_categories(ax, own, present, answers)


def _values_to_try(column: Column, present: Float[np.ndarray, " row"]) -> Float64[np.ndarray, " value"]:
    known = present[~np.isnan(present)]
    if column.kind == "numeric":
        tried = np.unique(np.quantile(known, np.linspace(0, 1, MOST_VALUES), method="nearest")) if known.size else known
    else:
        counts = np.bincount(known.astype(int), minlength=column.num_values)
        tried = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]).astype(float)
    has_missing = column.has_missing or known.size < present.size
    return np.append(tried, np.nan) if has_missing else tried


def _answers(
    estimator: Any, rows: Any, place: int, tried: Float[np.ndarray, " value"], asked: tuple[Any, int]
) -> _Answers:
    """Predicts the rows with every value; see `_Answers`."""
    of_class, num_lines = asked
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int))
    kept, schema = rows[chosen], estimator.encoder_.schema_
    predicted = np.stack([estimator.predict_values(with_value(schema, kept, place, value)) for value in tried])
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
        predicted, labels = predicted[:, :, [only]], [names[only]]
    some = np.unique(np.linspace(0, len(kept) - 1, min(num_lines, len(kept))).astype(int))
    return _Answers(tried, predicted.mean(axis=1), predicted[:, some, 0], labels, bool(names))


def _name_of(answers: _Answers) -> str:
    if not answers.is_share:
        return "mean prediction"
    return "mean probability" if len(answers.labels) > 1 else f"mean probability of {answers.labels[0]}"


def _draw_curve(ax: Axes | None, column: Column, present: Float[np.ndarray, " row"], answers: _Answers) -> Axes:
    is_new, ax = ax is None, axes_to_draw_in(ax)
    known = ~np.isnan(answers.tried)
    x, several = drawn_numbers(column, answers.tried[known]), len(answers.labels) > 1
    if answers.of_rows.shape[1] and not several:
        ax.plot(x, answers.of_rows[known], color=grey(), linewidth=0.6, alpha=0.6, zorder=1)
    for place, label in enumerate(answers.labels):
        how = {"color": colour_of_class(place) if several else blue(), "linewidth": 2.0}
        ax.plot(x, answers.means[known, place], label=legend_name(label) if several else None, zorder=3, **how)
        if not known.all():
            ax.axhline(answers.means[-1, place], linestyle="--", label=None, **{**how, "linewidth": 1.2})
    _draw_histogram(ax, drawn_numbers(column, present[~np.isnan(present)]))
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


def _draw_histogram(ax: Axes, values: Float[np.ndarray, " row"]) -> None:
    """Bars along the lower edge, below all curves."""
    if not values.size:
        return
    counts, edges = np.histogram(values, 30)
    height = 0.8 * HEIGHT_OF_BARS * counts / counts.max()
    low, high = ax.get_ylim()
    bars = {"transform": ax.get_xaxis_transform(), "color": grey(), "alpha": 0.45, "zorder": 0, "linewidth": 0}
    ax.bar(edges[:-1], height, np.diff(edges), align="edge", **bars)
    ax.set_ylim(low - HEIGHT_OF_BARS / (1 - HEIGHT_OF_BARS) * (high - low), high)


def _draw_categories(ax: Axes | None, column: Column, present: Float[np.ndarray, " row"], answers: _Answers) -> Axes:
    several = len(answers.labels) > 1
    has_order = column.kind in ("ordered", "boolean")
    order = np.arange(len(answers.tried)) if has_order else np.argsort(-answers.means[:, 0], kind="stable")
    names = []
    for value in answers.tried[order].tolist():
        is_one = np.isnan(present) if np.isnan(value) else present == value
        word = "missing" if np.isnan(value) else value_in_words(column.categories[int(value)])
        names.append(f"{shortened_name(word)}\N{NO-BREAK SPACE}({is_one.mean():.0%})")
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
