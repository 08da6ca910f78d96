"""How right a model is: curves of classes, survival, and prediction intervals."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import split_structured, vector_of_column
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.figures.classes import NUM_BINS, OneClass, calibration_of, roc_of
from jaxtree.figures.numbers import COVERAGE, intervals_of
from jaxtree.figures.outputs import class_labels, place_of_class
from jaxtree.figures.survival import NUM_GROUPS, Curves, RiskGroup, WatchedRows, names_of_groups, survival_by_risk
from jaxtree.plot import style
from jaxtree.tree.kinds import ModelKind, Prediction, kind_of, prediction_of


def plot_roc(
    estimator: Any, X: Any, y: Any, *, of_class: Any = None, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Draws the share of a class that is found against that of the other rows that are taken for it, for all limits.

    The area below the curve stands in the legend. Two classes have the curve of the second; of more each class has one
    against all others, if it and others are among the rows.

    Args:
        estimator: A fitted classifier with `predict_proba`; any of scikit-learn's kind.
        X: Rows, best such as were not in the fit.
        y: Their classes.
        of_class: The class whose curve is drawn; all if not given.
        sample_weight: The weight of every row.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such class, no class with other rows, or not one class or weight a row.
        InvalidTypeError: The estimator predicts no probabilities of classes.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_roc(DecisionTreeClassifier(max_depth=2).fit(X[::2], y[::2]), X[1::2], y[1::2])
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['0, area 1.000', '1, area 0.960', '2, area 0.960']
    """
    estimator = best_of_search(estimator)
    found = _one_by_one(estimator, X, y, of_class, sample_weight)
    is_new, ax = ax is None, style.axes_to_draw_in(ax, (5.6, 4.4))
    ax.plot([0, 1], [0, 1], color=style.grey(), linestyle=":", linewidth=1.2, zorder=1)
    for own in found:
        curve = present(roc_of(own))
        label = f"{style.legend_name(own.name)}, area {curve.area:.3f}"
        ax.plot(
            curve.wrong,
            curve.right,
            color=style.class_colour(own.place, of_many=len(found) > 1),
            linewidth=1.8,
            label=label,
            zorder=2,
        )
    _finish(ax, found, is_new=is_new)
    name = found[0].name if len(found) == 1 else "the class"
    style.name_axes(ax, f"share of others taken for {name}", f"share of {name} found")
    return ax


def plot_calibration(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    num_bins: int = NUM_BINS,
    of_class: Any = None,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws how often a class comes against how probable it was said to be, of rows of similar probability together.

    Bins have about equal weight. A single class has 95 % intervals of its shares (Wilson, 1927) and a histogram of
    its probabilities; of two classes it is the second.

    Args:
        estimator: A fitted classifier with `predict_proba`; any of scikit-learn's kind.
        X: Rows, best such as were not in the fit.
        y: Their classes.
        num_bins: How many bins at most; equal probabilities are in one.
        of_class: The class that is drawn; all if not given.
        sample_weight: The weight of every row.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such class, not one class or weight a row, or no bin.
        InvalidTypeError: The estimator predicts no probabilities of classes.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_calibration(DecisionTreeClassifier(max_depth=2).fit(X[::2], y[::2]), X[1::2], y[1::2], of_class=2)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('predicted probability of 2', 'share of 2')
    """
    estimator = best_of_search(estimator)
    if num_bins < 1:
        raise InvalidInputError(f"num_bins must be at least 1, got {num_bins}")
    found = _one_by_one(estimator, X, y, of_class, sample_weight)
    is_new, ax = ax is None, style.axes_to_draw_in(ax, (5.6, 4.4))
    ax.plot([0, 1], [0, 1], color=style.grey(), linestyle=":", linewidth=1.2, zorder=1)
    for own in found:
        bins = calibration_of(own.chance, own.is_own.astype(np.float64), own.weight, num_bins)
        colour = style.class_colour(own.place, of_many=len(found) > 1)
        if len(found) == 1:
            ax.vlines(bins.mean, *bins.interval(), color=colour, linewidth=1.2, alpha=0.6, zorder=2)
            counts, edges = np.histogram(own.chance, 2 * NUM_BINS, (0, 1), weights=own.weight)
            bars = {"color": style.grey(), "alpha": 0.45, "zorder": 0, "align": "edge", "linewidth": 0}
            ax.bar(edges[:-1], 0.12 * counts / max(counts.max(), 1e-300), np.diff(edges), **bars)
        label = style.legend_name(own.name)
        points = {"linewidth": 1.4, "marker": "o", "markersize": 4.5, "zorder": 3}
        ax.plot(bins.mean, bins.observed, color=colour, label=label, **points)
    _finish(ax, found, is_new=is_new, has_legend=len(found) > 1)
    of_class = f" of {found[0].name}" if len(found) == 1 else ""
    style.name_axes(ax, f"predicted probability{of_class}", f"share{of_class or ' of the class'}")
    return ax


def _one_by_one(estimator: Any, X: Any, y: Any, of_class: Any, sample_weight: Any) -> list[OneClass]:
    """The classes that are drawn, each with its rows."""
    if not hasattr(estimator, "predict_proba"):
        raise InvalidTypeError(f"estimator must predict probabilities of classes, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    shares, names, target = estimator.predict_proba(X), class_labels(estimator), np.asarray(vector_of_column(y))
    if isinstance(shares, list):
        raise InvalidInputError(f"drawings are of one output of classes, and the estimator has {len(shares)}")
    weight = style.weights_of(sample_weight, len(shares))
    if target.shape != (len(shares),):
        raise InvalidInputError(f"y must have one value for each of {len(shares)} rows, got shape {target.shape}")
    chosen = (
        [names[place_of_class(names, of_class)]] if of_class is not None else names[1:] if len(names) == 2 else names
    )
    found = []
    for place, label in enumerate(estimator.classes_.tolist()):
        own = OneClass(names[place], place, target == label, shares[:, place], weight)
        if names[place] in chosen and own.has_both:
            found.append(own)
    if not found:
        raise InvalidInputError(f"y must have rows of {', '.join(chosen[:10])} and rows of other classes")
    return found


def _finish(ax: Axes, found: list[OneClass], *, is_new: bool, has_legend: bool = True) -> None:
    style.calm(ax)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    if len(found) > 5:
        style.draw_legend_beside(ax, is_new=is_new)
    elif has_legend:
        style.draw_legend(ax, loc="best")


def plot_survival(
    estimator: Any,
    X: Any,
    y: Any,
    event: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    num_groups: int = NUM_GROUPS,
    ax: Axes | None = None,
) -> Axes:
    """Draws the share of rows without the event over time, in groups of predicted risk, with 95 % bands.

    Groups have about equal weight, and rows of equal risk are in one. Where the model predicts survival functions, the
    mean of each group is dashed.

    Args:
        estimator: Boosted trees with `loss="cox"`, which predict hazards, or of accelerated failure times, which
            predict times: the shorter, the greater the risk.
        X: Rows, best such as were not in the fit.
        y: The times that they were watched; or scikit-survival's structured array of events and times.
        event: Whether the event was at the end of that time, a truth value a row, or 1 and 0.
        sample_weight: The weight of every row in the curves; rows of weight 0 are left out.
        offset: The addition to the scores of every row, as in `fit`.
        num_groups: How many groups; fewer are drawn where there are few different risks.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one time and event a row, a time is below 0, or there are fewer rows than
            groups.

    Example:
        >>> import numpy as np
        >>> from jaxtree import GradientBoostingRegressor
        >>> X = np.arange(60.0)[:, None]
        >>> time, event = 61 - X[:, 0], X[:, 0] % 3 > 0
        >>> model = GradientBoostingRegressor(10, max_depth=1, loss="cox").fit(X, time, event=event)
        >>> ax = plot_survival(model, X, time, event, num_groups=2)
        >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
        ['low risk (31 rows)', 'high risk (29 rows)']
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    time, happened = _watched(y, event)
    moved = {} if offset is None else {"offset": offset}
    predicted = np.asarray(estimator.predict(X, **moved), np.float64)
    if num_groups < 1 or predicted.shape != time.shape or time.size < num_groups:
        raise InvalidInputError(
            f"X, y and event must have as many rows, and no fewer than num_groups={num_groups}, which is at least 1: "
            f"got {len(predicted)} and {time.size}"
        )
    weight = style.weights_of(sample_weight, time.size)
    kept = np.flatnonzero(weight)
    risk = predicted if prediction_of(estimator) == Prediction.RISKS else -predicted
    watched = WatchedRows(time[kept], happened[kept], risk[kept], weight[kept])
    groups = survival_by_risk(watched, num_groups, _curves_of(estimator, X, kept, moved))
    ax = style.axes_to_draw_in(ax, (6.4, 4.4))
    for number, (name, group) in enumerate(zip(names_of_groups(len(groups)), groups, strict=True)):
        _draw_group(ax, watched, group, f"{name} ({group.rows.size} rows)", _colour_of_group(number, len(groups)))
    for number, group in enumerate(groups):
        if group.predicted is not None:
            colour = _colour_of_group(number, len(groups))
            ax.plot(group.times, group.predicted, color=colour, linestyle="--", linewidth=1.3, zorder=2)
    if groups[0].predicted is not None:
        ax.plot([], [], color=style.grey(), linestyle="--", linewidth=1.3, label="predicted")
    style.calm(ax)
    ax.set(xlim=(0, time.max() * 1.02 or 1.0), ylim=(0, 1.03))
    style.round_ticks(ax)
    style.name_axes(ax, "time", "share without the event")
    style.draw_legend(ax, loc="best")
    return ax


def _watched(y: Any, event: Any) -> tuple[Float64[np.ndarray, " row"], Bool[np.ndarray, " row"]]:
    """Times and events."""
    given = np.asarray(vector_of_column(y))
    if given.dtype.names is not None:
        given, found = split_structured(given, {} if event is None else {"event": event})
        event = found["event"]
    if event is None:
        raise InvalidInputError("event must say of every row whether its time ends in the event")
    time, happened = np.asarray(given, np.float64), np.asarray(event)
    is_known = happened.shape == time.shape and time.ndim == 1 and np.isin(happened, [0, 1]).all()
    if not is_known or not (np.isfinite(time) & (time >= 0)).all():
        raise InvalidInputError("times must be finite and at least 0, and event 0 or 1 for each of them")
    return time, happened.astype(bool)


def _colour_of_group(number: int, num_groups: int) -> str:
    """Blue of low risk, green and pink between, orange-red of the highest."""
    colours = [CLASS_COLOURS[place] for place in (0, 2, 3, 4, 1, 6)]
    return CLASS_COLOURS[5] if number == num_groups - 1 and num_groups > 1 else colours[number % len(colours)]


def _curves_of(estimator: Any, X: Any, kept: Int[np.ndarray, " row"], moved: dict[str, Any]) -> Curves | None:
    """The survival that a model predicts of the rows that are kept; None where it knows no hazards."""
    is_ours = kind_of(estimator) is not None
    is_forest = kind_of(estimator) == ModelKind.MOMENT
    if not hasattr(estimator, "predict_survival_function") or (
        is_ours and not is_forest and estimator.survival_ is None
    ):
        return None

    def curves(rows: Int[np.ndarray, " some"], times: Float64[np.ndarray, " time"]) -> Float64[np.ndarray, "some time"]:
        return np.asarray(estimator.predict_survival_function(X, times=times, return_array=True, **moved))[kept[rows]]

    return curves


def _draw_group(ax: Axes, watched: WatchedRows, group: RiskGroup, label: str, colour: str) -> None:
    """Draws what has happened in a group."""
    time, share, low, high = group.observed
    ax.step(time, share, where="post", color=colour, linewidth=1.8, label=label, zorder=3)
    ax.fill_between(time, low, high, step="post", color=colour, alpha=0.16, linewidth=0, zorder=1)
    ends = watched.time[group.rows][~watched.is_event[group.rows]]
    height = share[np.searchsorted(time[:-1], ends, side="right") - 1]
    ax.plot(ends, height, "|", color=colour, markersize=5, markeredgewidth=0.8, zorder=3)


def plot_intervals(
    estimator: Any, X: Any, y: Any, *, coverage: float = COVERAGE, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Draws the prediction interval of every row, in the order of their middles, and the targets.

    The share of all rows inside stands in the legend; targets outside are orange.

    Args:
        estimator: A fitted `ConformalRegressor`, a `GradientBoostingDistribution`, or boosted trees of several
            quantiles, of which the first and the last are the ends.
        X: Rows, best such as were not in the fit; of more than 150 as many are drawn, spread over the table.
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
    weight = style.weights_of(sample_weight, len(target))
    there = np.flatnonzero(weight)
    target = target[there]
    found = intervals_of(ends[there], target, weight[there])
    ax = style.axes_to_draw_in(ax, (7.0, 4.2))
    place = np.arange(len(found.rows))
    ax.vlines(place, found.low, found.high, color=style.grey(), linewidth=1.6, alpha=0.5, zorder=1)
    parts = (
        ("inside", found.is_inside, found.share, style.blue()),
        ("outside", ~found.is_inside, 1 - found.share, style.ORANGE),
    )
    for word, own, share, colour in parts:
        label = f"{word} {share:.0%}"
        ax.scatter(place[own], target[found.rows][own], s=11, color=colour, label=label, zorder=2, linewidth=0)
    style.calm(ax)
    ax.grid(visible=False, axis="x")
    style.round_ticks(ax)
    style.name_axes(ax, "rows, in the order of their predictions", "target and interval")
    style.draw_legend(ax, loc="upper left", frameon=True, framealpha=0.85)
    return ax


def _ends(estimator: Any, X: Any, coverage: float) -> Float64[np.ndarray, "row 2"]:
    """The ends of the interval of every row."""
    if prediction_of(estimator) == Prediction.EFFECTS:
        raise InvalidTypeError(
            f"intervals of a {type(estimator).__name__} hold effects, which nobody observes, and no targets: "
            "plot_effects draws them"
        )
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
