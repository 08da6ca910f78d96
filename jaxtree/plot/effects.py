"""Effects of treatments: rows in the order of their effects, who gains most, overlap, and gains of targeting."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from jaxtree.effects import RankAverageEffect
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.figures.effects import (
    NUM_GROUPS,
    EffectRows,
    effect_rows,
    groups_by_effect,
    propensities_of,
    sorted_effects,
)
from jaxtree.metrics.survival import NORMAL_QUANTILE
from jaxtree.plot import style


def plot_effects(estimator: Any, *, treatment: Any = None, ax: Axes | None = None) -> Axes:
    """Draws the effects of the rows of a fit out of bag, in their order, with 95 % intervals.

    Args:
        estimator: A fitted `CausalForest` or `InstrumentalForest`.
        treatment: The arm whose effects are drawn, or the place of a treatment of numbers; the first if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such arm.
        InvalidTypeError: The estimator is no forest of effects.

    Example:
        >>> from jaxtree import CausalForest
        >>> rng = np.random.default_rng(0)
        >>> X, coin = rng.random((200, 2)), rng.integers(0, 2, 200)
        >>> ax = plot_effects(CausalForest(50, random_state=0).fit(X, coin * X[:, 0], treatment=coin))
        >>> ax.get_ylabel()
        'effect of 1 beside 0'
    """
    rows = _rows_of(estimator, treatment)
    found = sorted_effects(rows)
    ax = style.axes_to_draw_in(ax, (6.4, 4.2))
    ax.axhline(0, color=style.grey(), linewidth=1, linestyle="--", zorder=1)
    if np.isfinite(found.low).any():
        ax.fill_between(found.share, found.low, found.high, color=style.blue(), alpha=0.2, linewidth=0, zorder=1)
    ax.plot(found.share, found.effect, color=style.blue(), linewidth=1.8, zorder=2)
    style.calm(ax)
    ax.set_xlim(0, 1)
    style.round_ticks(ax)
    style.name_axes(ax, "share of rows, in the order of their effects", f"effect of {rows.title}")
    return ax


def plot_effect_groups(
    estimator: Any, *, treatment: Any = None, num_groups: int = NUM_GROUPS, ax: Axes | None = None
) -> Axes:
    """Draws groups of rows by predicted effect: the mean of that, and what their outcomes show with a 95 % interval.

    Groups have about equal weight. Outcomes show the mean of doubly robust scores.

    Args:
        estimator: A fitted `CausalForest` or `InstrumentalForest`.
        treatment: The arm whose effects are drawn, as in `plot_effects`.
        num_groups: How many groups; fewer are drawn where there are few different effects.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such arm, or no group.
        InvalidTypeError: The estimator is no forest of effects.

    Example:
        >>> from jaxtree import CausalForest
        >>> rng = np.random.default_rng(0)
        >>> X, coin = rng.random((200, 2)), rng.integers(0, 2, 200)
        >>> ax = plot_effect_groups(CausalForest(50, random_state=0).fit(X, coin * X[:, 0], treatment=coin))
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['predicted', 'by outcomes']
    """
    if num_groups < 1:
        raise InvalidInputError(f"num_groups must be at least 1, got {num_groups}")
    rows = _rows_of(estimator, treatment)
    groups = groups_by_effect(rows, num_groups)
    ax = style.axes_to_draw_in(ax, (6.0, 4.2))
    place = np.arange(1, len(groups) + 1)
    ax.axhline(0, color=style.grey(), linewidth=1, linestyle="--", zorder=1)
    ax.plot(place, [own.effect for own in groups], "o", color=style.grey(), label="predicted", zorder=2)
    known = [(at, own.average) for at, own in zip(place, groups, strict=True) if own.average is not None]
    if known:
        estimate = np.array([own.estimate for _, own in known])
        ends = np.array([own.interval() for _, own in known]).T
        where = np.array([at for at, _ in known]) + 0.1
        ax.vlines(where, *ends, color=style.blue(), linewidth=2, zorder=2)
        ax.plot(where, estimate, "o", color=style.blue(), label="by outcomes", zorder=3)
    style.calm(ax)
    ax.set_xticks(place)
    style.name_axes(ax, "group of rows by predicted effect, the least first", f"average effect of {rows.title}")
    style.draw_legend(ax, loc="best")
    return ax


def plot_overlap(estimator: Any, *, treatment: Any = None, ax: Axes | None = None) -> Axes:
    """Draws the chances of an arm by the columns alone, of the rows that have it and of those of the control.

    Where chances are near 0 or 1 there is nobody to compare with. With instruments the chances are theirs.

    Args:
        estimator: A fitted `CausalForest` or `InstrumentalForest`.
        treatment: The arm, as in `plot_effects`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such arm, or treatments are numbers.
        InvalidTypeError: The estimator is no forest of effects.

    Example:
        >>> from jaxtree import CausalForest
        >>> rng = np.random.default_rng(0)
        >>> X, coin = rng.random((200, 2)), rng.integers(0, 2, 200)
        >>> ax = plot_overlap(CausalForest(50, random_state=0).fit(X, coin * X[:, 0], treatment=coin))
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['1', '0']
    """
    rows = _rows_of(estimator, treatment)
    found = propensities_of(rows)
    if found is None:
        raise InvalidInputError("chances are those of arms, or of an instrument of 0 and 1, and these are numbers")
    has_instruments = best_of_search(estimator).has_instruments_
    names = ("instrument", "no instrument") if has_instruments else (rows.name, str(rows.control))
    ax = style.axes_to_draw_in(ax, (6.0, 4.2))
    for own, name, colour in zip((found.treated, found.others), names, (style.blue(), style.ORANGE), strict=True):
        ax.stairs(own.heights, own.edges, fill=True, color=colour, alpha=0.35, label=style.legend_name(name))
        ax.stairs(own.heights, own.edges, color=colour, linewidth=1.2)
    least = found.overlap.least
    for end in (least, 1 - least):
        ax.axvline(end, color=style.grey(), linewidth=1, linestyle=":", zorder=1)
    style.calm(ax)
    ax.set_xlim(0, 1)
    style.name_axes(ax, f"chance of {names[0]}", "rows")
    style.draw_legend(ax, loc="best")
    return ax


def plot_targeting_curve(found: RankAverageEffect, *, ax: Axes | None = None) -> Axes:
    """Draws the average effect on the rows of the highest priority less that on all, by their share, with 95 % bands.

    Args:
        found: A result of `rank_average_treatment_effect` of a forest, or of `jaxtree.effects.rank_average_effect`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidTypeError: It is no such result.

    Example:
        >>> from jaxtree.effects import rank_average_effect
        >>> effect = np.arange(100.0)
        >>> ax = plot_targeting_curve(rank_average_effect(effect, effect))
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['priority, autoc 24.8']
    """
    if not isinstance(found, RankAverageEffect):
        raise InvalidTypeError(f"found must be a RankAverageEffect, got {type(found).__name__}")
    ax = style.axes_to_draw_in(ax, (6.0, 4.2))
    ax.axhline(0, color=style.grey(), linewidth=1, linestyle="--", zorder=1)
    rules = found.rules[:2]
    for place, rule in enumerate(rules):
        colour = style.blue() if place == 0 else colour_of_class(1)
        curve, width = found.curve[place], NORMAL_QUANTILE * found.curve_error[place]
        ax.fill_between(found.share, curve - width, curve + width, color=colour, alpha=0.18, linewidth=0)
        label = f"{style.legend_name(rule)}, {found.target} {found.estimate[place]:.3g}"
        ax.plot(found.share, curve, color=colour, linewidth=1.8, label=label)
    style.calm(ax)
    ax.set_xlim(0, 1)
    style.round_ticks(ax)
    style.name_axes(ax, "share of rows of the highest priority", "effect on these, less that on all rows")
    style.draw_legend(ax, loc="best")
    return ax


def _rows_of(estimator: Any, treatment: Any) -> EffectRows:
    """The rows of the fit of a forest of effects."""
    return effect_rows(best_of_search(estimator), treatment)
