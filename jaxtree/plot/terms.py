"""The terms of additive models: curves with intervals over the density of rows, categories, surfaces, importances."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float64
from matplotlib import pyplot, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from sklearn.utils.validation import check_is_fitted

from jaxtree.additive.axes import TermAxis
from jaxtree.additive.explanations import ExplainedTerm, GlobalExplanation, is_one_term, term_place
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.answers import shortened_name
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.numbers import drawn_numbers, name_numbers
from jaxtree.plot.style import (
    BLUE,
    ORANGE,
    axes_to_draw_in,
    blue,
    calm,
    draw_bars,
    draw_legend,
    draw_legend_beside,
    draw_scale,
    grey,
    height_of_rows,
    is_dark,
    legend_name,
    name_axes,
    name_rows,
    round_ticks,
)
from jaxtree.table.schema import Column

MOST_TERMS = 12
"""Terms that are drawn where none are chosen: the most important ones."""

ACROSS = 3
"""Drawings beside one another."""

INCHES = (4.2, 3.2)
"""The size of a drawing."""

MOST_CATEGORIES = 25
"""Categories that are drawn: those of most rows."""

HEIGHT_OF_BARS = 0.14
"""The part of the axes that the density takes."""

PALE_CELL = 0.35
"""The strength of the colour of a cell of a surface in which no row of the fit is."""

MOST_LABELS = 8
"""Bins of an axis of a surface that are named."""


def plot_terms(
    estimator: Any, terms: Any = None, *, confidence: float = 0.95, of_class: Any = None, axes: Any = None
) -> Any:
    """Draws terms of a fitted additive model: what they add to the score.

    Of numbers and dates it is a curve of steps with pointwise intervals, over bars that show how many rows there are;
    of categories a point each with its interval, the largest on top; of pairs a surface in colours. What is added where
    a value is missing is a dashed line, or a point.

    Args:
        estimator: A fitted additive model.
        terms: The name or number of a term, or a list of some; the 12 most important ones if not given.
        confidence: The share of intervals that are to hold what the fit estimates, see `ExplainedTerm.interval`.
        of_class: The class whose score is drawn, of a model of several; all if not given, and of pairs the first.
        axes: Where to draw, axes for each term; a new figure if not given.

    Returns:
        The axes of one term that was given by itself, else a list.

    Raises:
        InvalidInputError: There is no such term or class, or axes for another number of terms.
        InvalidTypeError: The estimator is no additive model.

    Example:
        >>> import numpy as np
        >>> from jaxtree import ExplainableBoostingRegressor
        >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
        >>> ax = plot_terms(ExplainableBoostingRegressor().fit(X, X[:, 0]), "x0")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x0', 'adds to prediction')
    """
    estimator = _additive(estimator)
    explained = estimator.explain_global()
    names = estimator.term_names_
    is_one = terms is not None and is_one_term(names, terms)
    chosen = _chosen(explained, [terms] if is_one else terms, names)
    scores = _scores(explained, of_class)
    given = _axes(len(chosen), axes)
    columns = {own.name: own for own in estimator.schema_.columns}
    drawn = []
    for term, ax in zip(chosen, given, strict=True):
        if term.is_pair:
            _draw_surface(ax, term, explained, scores[0])
        elif term.axes[0].is_numeric:
            _draw_curve(ax, columns[term.name], term, (explained, scores, confidence))
        else:
            _draw_categories(ax, term, (explained, scores, confidence))
        drawn.append(ax)
    return drawn[0] if is_one else drawn


def plot_term_importances(estimator: Any, *, max_terms: int = 20, ax: Axes | None = None) -> Axes:
    """Draws the mean size of what every term adds to the scores of the rows of the fit, the greatest on top.

    Args:
        estimator: A fitted additive model.
        max_terms: How many terms to draw at most.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: No term is to be drawn.
        InvalidTypeError: The estimator is no additive model.

    Example:
        >>> import numpy as np
        >>> from jaxtree import ExplainableBoostingRegressor
        >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
        >>> ax = plot_term_importances(ExplainableBoostingRegressor().fit(X, X[:, 0]))
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x0']
    """
    explained = _additive(estimator).explain_global()
    if max_terms < 1:
        raise InvalidInputError(f"max_terms must be at least 1, got {max_terms}")
    kept = explained.terms[:max_terms]
    ax = draw_bars(ax, [own.name for own in kept], [own.importance for own in kept])
    name_axes(ax, f"mean size in {explained.unit}")
    return ax


def _additive(estimator: Any) -> Any:
    """The additive model, also of a search that has refitted one."""
    estimator = best_of_search(estimator)
    if not hasattr(type(estimator), "explain_global"):
        raise InvalidTypeError(f"estimator must be an additive model of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    return estimator


def _chosen(explained: GlobalExplanation, terms: Iterable[Any] | None, names: list[str]) -> list[ExplainedTerm]:
    """The terms that are drawn; numbers are those of `term_names_`."""
    if terms is None:
        return [own for own in explained.terms[:MOST_TERMS] if own.importance > 0] or [explained.terms[0]]
    chosen = [explained[names[term_place(names, term)]] for term in terms]
    if not chosen:
        raise InvalidInputError("terms must be at least one term, got none")
    return chosen


def _scores(explained: GlobalExplanation, of_class: Any) -> list[int]:
    if of_class is None:
        return list(range(len(explained.labels)))
    if str(of_class) not in explained.labels:
        raise InvalidInputError(f"of_class must be one of {', '.join(explained.labels)}, got {of_class!r}")
    return [explained.labels.index(str(of_class))]


def _axes(number: int, axes: Any) -> list[Axes]:
    if axes is not None:
        given = np.ravel(np.asarray(axes, object)).tolist()
        if len(given) != number:
            raise InvalidInputError(f"axes must be as many as terms, {number}, got {len(given)}")
        return given
    if number == 1:
        return [axes_to_draw_in(None)]
    across = min(number, ACROSS)
    down = math.ceil(number / across)
    figure, grid = pyplot.subplots(down, across, figsize=(INCHES[0] * across, INCHES[1] * down), layout="constrained")
    places = np.ravel(grid).tolist()
    for unused in places[number:]:
        figure.delaxes(unused)
    return places[:number]


def _name_of(explained: GlobalExplanation, scores: list[int]) -> str:
    one = explained.labels[scores[0]] if len(scores) == 1 else ""
    return f"adds to {explained.unit}" + (f" of {one}" if one else "")


def _colour(scores: list[int], score: int) -> str:
    return colour_of_class(score) if len(scores) > 1 else blue()


def _draw_curve(
    ax: Axes, column: Column, term: ExplainedTerm, asked: tuple[GlobalExplanation, list[int], float]
) -> None:
    explained, scores, confidence = asked
    edges = _wide_edges(term.axes[0].edges)
    x = drawn_numbers(column, edges)
    low, high = term.interval(confidence)
    has_missing = bool(term.weight[-1] > 0)
    for score in scores:
        colour, label = _colour(scores, score), legend_name(explained.labels[score]) if len(scores) > 1 else None
        if np.isfinite(low[:-1, score]).all() and len(x):
            band = {"step": "post", "color": colour, "alpha": 0.22, "linewidth": 0, "zorder": 2}
            ax.fill_between(x, _ended(low[:-1, score]), _ended(high[:-1, score]), **band)
        if len(x):
            ax.step(
                x, _ended(term.values[:-1, score]), where="post", color=colour, linewidth=1.8, label=label, zorder=3
            )
        if has_missing or not len(x):
            ax.axhline(term.values[-1, score], color=colour, linestyle="--", linewidth=1.2)
    if has_missing:
        ax.plot([], [], color=grey(), linestyle="--", linewidth=1.2, label="where it is missing")
    calm(ax)
    ax.axhline(0, color=grey(), linewidth=0.8, zorder=1)
    if len(x):
        _draw_density(ax, x, term.weight[:-1])
        name_numbers(ax, "x", column)
    else:
        name_axes(ax, column.name)
    if has_missing or len(scores) > 1:
        draw_legend(ax)
    name_axes(ax, y=_name_of(explained, scores))
    round_ticks(ax, "y")


def _ended(values: Float64[np.ndarray, " bin"]) -> Float64[np.ndarray, " edge"]:
    """The values of bins with the last once more, which a step goes on to at the last edge."""
    return np.append(values, values[-1:])


def _wide_edges(edges: Float64[np.ndarray, " edge"]) -> Float64[np.ndarray, " edge"]:
    """Edges between which there is room, also of a column of one value."""
    return edges + np.array([-0.5, 0.5]) if len(edges) == 2 and edges[0] == edges[1] else edges


def _draw_density(ax: Axes, x: Float64[np.ndarray, " edge"], weight: Float64[np.ndarray, " bin"]) -> None:
    """Bars along the lower edge, below all curves: of each bin its weight by its width."""
    width = np.diff(x)
    density = np.divide(weight, width, out=np.zeros_like(weight), where=width > 0)
    # Bins of one frequent value would hide all others.
    most = np.quantile(density, 0.98) or density.max(initial=0.0)
    height = 0.8 * HEIGHT_OF_BARS * np.minimum(density / (most or 1.0), 1.0)
    low, high = ax.get_ylim()
    bars = {"transform": ax.get_xaxis_transform(), "color": grey(), "alpha": 0.45, "zorder": 0, "linewidth": 0}
    ax.bar(x[:-1], height, width, align="edge", **bars)
    ax.set_ylim(low - HEIGHT_OF_BARS / (1 - HEIGHT_OF_BARS) * (high - low), high)


def _draw_categories(ax: Axes, term: ExplainedTerm, asked: tuple[GlobalExplanation, list[int], float]) -> None:
    explained, scores, confidence = asked
    low, high = term.interval(confidence)
    shown = np.flatnonzero(term.weight > 0) if (term.weight > 0).any() else np.arange(len(term.weight))
    shown = np.sort(shown[np.argsort(-term.weight[shown], kind="stable")[:MOST_CATEGORIES]])
    if term.kind == "categorical":
        shown = shown[np.argsort(-term.values[shown, scores[0]], kind="stable")]
    share = term.weight / max(term.weight.sum(), 1e-300)
    names = [f"{shortened_name(term.axes[0].labels[own])}\N{NO-BREAK SPACE}({share[own]:.0%})" for own in shown]
    figure: Any = ax.figure
    is_alone = len(figure.axes) == 1
    if is_alone:
        figure.set_size_inches(figure.get_size_inches()[0], max(INCHES[1], height_of_rows(names, 0.36, 1.2)))
    places = np.arange(len(shown))
    for score in scores:
        colour, label = _colour(scores, score), legend_name(explained.labels[score]) if len(scores) > 1 else None
        if np.isfinite(low[shown, score]).all():
            ax.hlines(places, low[shown, score], high[shown, score], color=colour, alpha=0.4, linewidth=3, zorder=2)
        ax.plot(term.values[shown, score], places, "o", color=colour, label=label, zorder=3)
    name_rows(ax, names)
    ax.axvline(0, color=grey(), linewidth=0.8, zorder=1)
    ax.grid(visible=True, axis="y")
    if len(scores) > 1:
        draw_legend_beside(ax, is_new=is_alone)
    name_axes(ax, _name_of(explained, scores), term.name)
    round_ticks(ax, "x")


def _draw_surface(ax: Axes, term: ExplainedTerm, explained: GlobalExplanation, score: int) -> None:
    """A surface in colours: blue adds, orange takes; cells without rows are pale."""
    has_rows = [term.weight.sum(axis=1 - side) > 0 for side in range(2)]
    kept = [np.flatnonzero(own) if own.any() else np.arange(len(own)) for own in has_rows]
    surface = term.values[np.ix_(*kept)][..., score]
    strength: Any = np.where(term.weight[np.ix_(*kept)] > 0, 1.0, PALE_CELL)
    most = float(np.abs(surface).max(initial=0.0)) or 1.0
    middle = rcParams["axes.facecolor"] if is_dark() else "#f4f4f4"
    colours = LinearSegmentedColormap.from_list("jaxtree_sides", [ORANGE, middle, BLUE if not is_dark() else blue()])
    drawn = ax.pcolormesh(surface.T, alpha=strength.T, cmap=colours, vmin=-most, vmax=most, rasterized=True)
    for axis, own, places in zip(("x", "y"), term.axes, kept, strict=True):
        labels = [own.labels[place] for place in places]
        shown = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MOST_LABELS)).round().astype(int))
        words = [shortened_name(_short_label(own, labels[place]), 14) for place in shown]
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if axis == "x" else {}
        getattr(ax, f"set_{axis}ticks")(shown + 0.5, words, parse_math=False, fontsize="small", **turned)
    calm(ax, grid=False)
    name_axes(ax, term.axes[0].column, term.axes[1].column)
    draw_scale(ax, drawn, _name_of(explained, [score]))


def _short_label(axis: TermAxis, label: str) -> str:
    """The words of a bin at a tick: of a range of numbers its lower end."""
    return label.split(" to ")[0] if axis.is_numeric and not label.startswith("up to") else label
