"""The scores of all settings of a search, by the values of one of its parameters."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.answers import shortened_name
from jaxtree.plot.style import (
    ORANGE,
    axes_to_draw_in,
    blue,
    calm,
    draw_legend,
    height_of_rows,
    name_axes,
    name_rows,
    round_ticks,
)
from jaxtree.table.words import value_in_words

LARGE_RATIO = 30.0
"""Positive values that differ by this factor stand on a logarithmic axis."""


class _Scores(NamedTuple):
    """The settings that have a score and the parameter.

    Attributes:
        values: The values of the parameter.
        mean: The mean score over the folds.
        is_early: Whether successive halving has measured the setting on less than the others.
        best: The place of the best setting.
        name: What the score is called.
    """

    values: list[Any]
    mean: Float[np.ndarray, " setting"]
    is_early: Bool[np.ndarray, " setting"]
    best: int
    name: str


def plot_search_scatter(
    search: Any, parameter: str | None = None, *, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draws the mean test score of every setting of a search against the value of one parameter.

    The best setting is orange. Numbers stand on an axis, which is logarithmic (above 0) if they differ much; of words,
    truth values and other objects each has a line. Settings that successive halving has measured on less are pale.

    Args:
        search: A fitted search with `cv_results_`; any of scikit-learn's kind.
        parameter: The name of the parameter; the one of most different values if not given.
        metric: The name of the metric of a search by several; the one that chose if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such parameter or metric, or no setting with a score.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, TreeSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"ccp_alpha": [0.001, 0.01, 0.1], "max_depth": [2, 3]}
        >>> ax = plot_search_scatter(TreeSearchCV(DecisionTreeClassifier(), space, cv=3).fit(X, y), "ccp_alpha")
        >>> ax.get_xlabel(), ax.get_xscale(), len(ax.collections[1].get_offsets())
        ('ccp_alpha', 'log', 6)
    """
    check_is_fitted(search, "cv_results_")
    found, parameter = _scores(search, parameter, metric)
    is_numeric = all(_is_number(value) for value in found.values)
    if is_numeric:
        ax = axes_to_draw_in(ax)
        _draw_numbers(ax, found)
        name_axes(ax, parameter, found.name)
    else:
        ax = _draw_words(ax, found)
        name_axes(ax, found.name, parameter)
    draw_legend(ax, frameon=True, framealpha=0.85)
    return ax


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and np.isfinite(value)


def _scores(search: Any, parameter: str | None, metric: str | None) -> tuple[_Scores, str]:
    """The scores, and the name of the parameter."""
    results = search.cv_results_
    metrics = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
    chosen = search.refit if isinstance(search.refit, str) and search.refit in metrics else metrics[0]
    metric = chosen if metric is None else metric
    if metric not in metrics:
        raise InvalidInputError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    settings = results["params"]
    names = list(dict.fromkeys(name for own in settings for name in own))
    if parameter is None and names:
        number = [len({repr(own.get(name)) for own in settings}) for name in names]
        parameter = names[int(np.argmax(number))]
    if parameter is None or parameter not in names:
        raise InvalidInputError(f"parameter must be one of {', '.join(names)}, got {parameter!r}")
    mean = np.asarray(results[f"mean_test_{metric}"], np.float64)
    kept: Int[np.ndarray, " kept"] = np.array(
        [place for place, own in enumerate(settings) if parameter in own and np.isfinite(mean[place])], int
    )
    if not kept.size:
        raise InvalidInputError(f"the search has no setting of {parameter} with a score")
    rung = np.asarray(results.get("iter", np.zeros(len(settings), int)))
    best = getattr(search, "best_index_", int(kept[mean[kept].argmax()])) if metric == chosen else -1
    places = np.flatnonzero(kept == best)
    own = places[0] if places.size else int(np.where(rung[kept] == rung.max(), mean[kept], -np.inf).argmax())
    values = [settings[place][parameter] for place in kept.tolist()]
    name = "mean test score" if metric == "score" else f"mean test {metric}"
    return _Scores(values, mean[kept], rung[kept] < rung.max(), int(own), name), parameter


def _draw_numbers(ax: Axes, found: _Scores) -> None:
    values = np.array(found.values, np.float64)
    _draw_points(ax, values, found.mean, found)
    least = values[values > 0].min() if (values > 0).any() else np.inf
    is_wide = values.min() >= 0 and values.max() >= LARGE_RATIO * least
    calm(ax)
    if is_wide and values.min() > 0:
        ax.set_xscale("log")
    elif is_wide:
        ax.set_xscale("symlog", linthresh=least)
    round_ticks(ax, "y" if is_wide else "both")


def _draw_words(ax: Axes | None, found: _Scores) -> Axes:
    words = [shortened_name(value_in_words(value) if _is_number(value) else str(value)) for value in found.values]
    numbers = {word: value if _is_number(value) else np.inf for word, value in zip(words, found.values, strict=True)}
    order = sorted(numbers, key=lambda word: (numbers[word], word))
    row = {word: place for place, word in enumerate(order)}
    ax = axes_to_draw_in(ax, (6.0, height_of_rows(order, 0.36, 1.3)))
    aside = 0.5 * ((np.arange(len(words)) * 0.618) % 1 - 0.5)
    _draw_points(ax, found.mean, np.array([row[word] for word in words]) + aside, found)
    name_rows(ax, order)
    ax.grid(visible=True, axis="y")
    round_ticks(ax, "x")
    return ax


def _draw_points(ax: Axes, x: Float[np.ndarray, " setting"], y: Float[np.ndarray, " setting"], found: _Scores) -> None:
    for alpha, shown in ((0.25, found.is_early), (0.75, ~found.is_early)):
        ax.scatter(x[shown], y[shown], s=22, color=blue(), alpha=alpha, linewidth=0, zorder=2)
    mark = {"s": 60, "color": ORANGE, "edgecolor": "white", "linewidth": 0.8, "zorder": 3, "label": "best setting"}
    ax.scatter([x[found.best]], [y[found.best]], **mark)
