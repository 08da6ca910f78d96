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
from jaxtree.figures.outputs import place_of_class
from jaxtree.figures.terms import curve_of, intervals_of_term
from jaxtree.plot import style
from jaxtree.plot.columns import drawn_numbers, name_numbers
from jaxtree.table.schema import Column
from jaxtree.tree.kinds import ModelKind, kind_of

MOST_TERMS = 12
"""Terms that are drawn where none are chosen: the most important ones."""

ACROSS = 3
"""Drawings beside one another."""

INCHES = (4.2, 3.2)
"""The size of a drawing."""

MOST_CATEGORIES = 25
"""Categories that are drawn: those of most rows."""

PALE_CELL = 0.35
"""The strength of the colour of a cell of a surface in which no row of the fit is."""

MOST_LABELS = 8
"""Bins of an axis of a surface that are named."""


def plot_terms(
    estimator: Any,
    terms: Any = None,
    *,
    confidence: float = 0.95,
    bands: Any = None,
    of_class: Any = None,
    axes: Any = None,
) -> Any:
    """Draws terms of a fitted additive model: what they add to the score.

    Numbers and dates have a curve of steps with pointwise intervals, over bars that show how many rows there are;
    categories a point each with its interval, the largest on top; pairs a surface in colours. The addition of a missing
    value is a dashed line, or a point.

    Args:
        estimator: A fitted additive model.
        terms: The name or number of a term, or a list of some; the 12 most important ones if not given.
        confidence: The share of intervals that are to hold what the fit estimates, see `ExplainedTerm.interval`.
        bands: The `bands` of the estimator, which are drawn in place of intervals from bags, at their own level.
        of_class: The class whose score is drawn, of a model of several; all if not given, and of pairs the first.
        axes: Where to draw, axes for each term; a new figure if not given.

    Returns:
        The axes of one term that was given by itself, else a list.

    Raises:
        InvalidInputError: There is no such term or class, axes for another number of terms, or bands of another model.
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
    explained = _explained(estimator, bands)
    names = estimator.term_names_
    is_one = terms is not None and is_one_term(names, terms)
    chosen = _chosen(explained, [terms] if is_one else terms, names)
    labels = explained.labels
    scores = list(range(len(labels))) if of_class is None else [place_of_class(labels, of_class)]
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


def plot_term_importances(estimator: Any, *, max_terms: int = 20, bands: Any = None, ax: Axes | None = None) -> Axes:
    """Draws the mean size of what every term adds to the scores of the rows of the fit, the greatest on top.

    Args:
        estimator: A fitted additive model.
        max_terms: How many terms to draw at most.
        bands: The `bands` of the estimator, which are drawn as lines.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: No term is to be drawn, or bands are of another model.
        InvalidTypeError: The estimator is no additive model.

    Example:
        >>> import numpy as np
        >>> from jaxtree import ExplainableBoostingRegressor
        >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
        >>> ax = plot_term_importances(ExplainableBoostingRegressor().fit(X, X[:, 0]))
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x0']
    """
    estimator = _additive(estimator)
    explained = _explained(estimator, bands)
    if max_terms < 1:
        raise InvalidInputError(f"max_terms must be at least 1, got {max_terms}")
    kept = explained.terms[:max_terms]
    spread = None
    if bands is not None:
        found, names = bands.importances(), estimator.term_names_
        places = [names.index(own.name) for own in kept]
        spread = np.stack([found.center - found.lower, found.upper - found.center])[:, places]
    ax = style.draw_bars(ax, [own.name for own in kept], [own.importance for own in kept], spread)
    style.name_axes(ax, f"mean size in {explained.unit}")
    return ax


def _additive(estimator: Any) -> Any:
    """The additive model, also of a search that has refitted one."""
    estimator = best_of_search(estimator)
    if kind_of(estimator) != ModelKind.TERMS:
        raise InvalidTypeError(f"estimator must be an additive model of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    return estimator


def _explained(estimator: Any, bands: Any) -> GlobalExplanation:
    """The terms, with the bands that are given."""
    if bands is None:
        return estimator.explain_global()
    bands.check_is_of(estimator)
    return bands.explain_global()


def _chosen(explained: GlobalExplanation, terms: Iterable[Any] | None, names: list[str]) -> list[ExplainedTerm]:
    """The terms that are drawn; numbers are those of `term_names_`."""
    if terms is None:
        return [own for own in explained.terms[:MOST_TERMS] if own.importance > 0] or [explained.terms[0]]
    chosen = [explained[names[term_place(names, term)]] for term in terms]
    if not chosen:
        raise InvalidInputError("terms must be at least one term, got none")
    return chosen


def _axes(number: int, axes: Any) -> list[Axes]:
    if axes is not None:
        given = np.ravel(np.asarray(axes, object)).tolist()
        if len(given) != number:
            raise InvalidInputError(f"axes must be as many as terms, {number}, got {len(given)}")
        return given
    if number == 1:
        return [style.axes_to_draw_in(None)]
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


def _draw_curve(
    ax: Axes, column: Column, term: ExplainedTerm, asked: tuple[GlobalExplanation, list[int], float]
) -> None:
    explained, scores, confidence = asked
    curve = curve_of(term, confidence)
    x, has_missing = drawn_numbers(column, curve.edges), curve.has_missing
    for score in scores:
        colour, label = (
            style.class_colour(score, of_many=len(scores) > 1),
            style.legend_name(explained.labels[score]) if len(scores) > 1 else None,
        )
        if curve.low is not None and curve.high is not None and len(x):
            band = {"step": "post", "color": colour, "alpha": 0.22, "linewidth": 0, "zorder": 2}
            ax.fill_between(x, _ended(curve.low[:-1, score]), _ended(curve.high[:-1, score]), **band)
        if len(x):
            ax.step(
                x, _ended(term.values[:-1, score]), where="post", color=colour, linewidth=1.8, label=label, zorder=3
            )
        if has_missing or not len(x):
            ax.axhline(term.values[-1, score], color=colour, linestyle="--", linewidth=1.2)
    if has_missing:
        ax.plot([], [], color=style.grey(), linestyle="--", linewidth=1.2, label="where it is missing")
    style.calm(ax)
    ax.axhline(0, color=style.grey(), linewidth=0.8, zorder=1)
    if len(x):
        style.draw_bars_below(ax, x, curve.density)
        name_numbers(ax, "x", column)
    else:
        style.name_axes(ax, column.name)
    if has_missing or len(scores) > 1:
        style.draw_legend(ax)
    style.name_axes(ax, y=_name_of(explained, scores))
    style.round_ticks(ax, "y")


def _ended(values: Float64[np.ndarray, " bin"]) -> Float64[np.ndarray, " edge"]:
    """The values of bins with the last once more, which a step goes on to at the last edge."""
    return np.append(values, values[-1:])


def _draw_categories(ax: Axes, term: ExplainedTerm, asked: tuple[GlobalExplanation, list[int], float]) -> None:
    explained, scores, confidence = asked
    low, high = intervals_of_term(term, confidence)
    shown = np.flatnonzero(term.weight > 0) if (term.weight > 0).any() else np.arange(len(term.weight))
    shown = np.sort(shown[np.argsort(-term.weight[shown], kind="stable")[:MOST_CATEGORIES]])
    if term.kind == "categorical":
        shown = shown[np.argsort(-term.values[shown, scores[0]], kind="stable")]
    share = term.weight / max(term.weight.sum(), 1e-300)
    names = style.named_shares([term.axes[0].labels[own] for own in shown], share[shown].tolist())
    figure: Any = ax.figure
    is_alone = len(figure.axes) == 1
    if is_alone:
        figure.set_size_inches(figure.get_size_inches()[0], max(INCHES[1], style.height_of_rows(names, 0.36, 1.2)))
    places = np.arange(len(shown))
    if low is not None and high is not None:
        for score in scores:
            colour = style.class_colour(score, of_many=len(scores) > 1)
            how = {"color": colour, "alpha": 0.4, "linewidth": 3, "zorder": 2}
            ax.hlines(places, low[shown, score], high[shown, score], **how)
    points = {score: (explained.labels[score], term.values[shown, score]) for score in scores}
    style.draw_points_by_name(ax, names, points, is_new=is_alone)
    ax.axvline(0, color=style.grey(), linewidth=0.8, zorder=1)
    style.name_axes(ax, _name_of(explained, scores), term.name)


def _draw_surface(ax: Axes, term: ExplainedTerm, explained: GlobalExplanation, score: int) -> None:
    """A surface in colours: blue adds, orange takes; cells without rows are pale."""
    has_rows = [term.weight.sum(axis=1 - side) > 0 for side in range(2)]
    kept = [np.flatnonzero(own) if own.any() else np.arange(len(own)) for own in has_rows]
    surface = term.values[np.ix_(*kept)][..., score]
    strength: Any = np.where(term.weight[np.ix_(*kept)] > 0, 1.0, PALE_CELL)
    most = float(np.abs(surface).max(initial=0.0)) or 1.0
    middle = rcParams["axes.facecolor"] if style.is_dark() else "#f4f4f4"
    colours = LinearSegmentedColormap.from_list(
        "jaxtree_sides", [style.ORANGE, middle, style.BLUE if not style.is_dark() else style.blue()]
    )
    drawn = ax.pcolormesh(surface.T, alpha=strength.T, cmap=colours, vmin=-most, vmax=most, rasterized=True)
    for axis, own, places in zip(("x", "y"), term.axes, kept, strict=True):
        labels = [own.labels[place] for place in places]
        shown = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MOST_LABELS)).round().astype(int))
        words = [shortened_name(_short_label(own, labels[place]), 14) for place in shown]
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if axis == "x" else {}
        getattr(ax, f"set_{axis}ticks")(shown + 0.5, words, parse_math=False, fontsize="small", **turned)
    style.calm(ax, grid=False)
    style.name_axes(ax, term.axes[0].column, term.axes[1].column)
    style.draw_scale(ax, drawn, _name_of(explained, [score]))


def _short_label(axis: TermAxis, label: str) -> str:
    """The words of a bin at a tick: of a range of numbers its lower end."""
    return label.split(" to ")[0] if axis.is_numeric and not label.startswith("up to") else label
