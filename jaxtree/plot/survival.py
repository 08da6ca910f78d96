"""Survival curves of rows in groups of predicted risk: what has happened, and what a model has said."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.dataset.fields import split_structured
from jaxtree.errors import InvalidInputError
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.metrics.risk_groups import Curves, RiskGroup, WatchedRows, survival_by_risk
from jaxtree.plot.style import axes_to_draw_in, calm, draw_legend, grey, name_axes, round_ticks
from jaxtree.table.weights import check_sample_weight


def plot_survival(
    estimator: Any,
    X: Any,
    y: Any,
    event: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    num_groups: int = 3,
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
        offset: What is added to the scores of every row, as in `fit`.
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
    is_hazard = getattr(getattr(estimator, "loss_", None), "name", "") == "cox"
    weight = check_sample_weight(sample_weight, time.size)
    weight = np.ones(time.size) if weight is None else weight
    kept = np.flatnonzero(weight)
    risk = predicted if is_hazard else -predicted
    watched = WatchedRows(time[kept], happened[kept], risk[kept], weight[kept])
    groups = survival_by_risk(watched, num_groups, _curves_of(estimator, X, kept, moved))
    ax = axes_to_draw_in(ax, (6.4, 4.4))
    for number, (name, group) in enumerate(zip(_names(len(groups)), groups, strict=True)):
        _draw_group(ax, watched, group, f"{name} ({group.rows.size} rows)", _colour(number, len(groups)))
    for number, group in enumerate(groups):
        if group.predicted is not None:
            colour = _colour(number, len(groups))
            ax.plot(group.times, group.predicted, color=colour, linestyle="--", linewidth=1.3, zorder=2)
    if groups[0].predicted is not None:
        ax.plot([], [], color=grey(), linestyle="--", linewidth=1.3, label="predicted")
    calm(ax)
    ax.set(xlim=(0, time.max() * 1.02 or 1.0), ylim=(0, 1.03))
    round_ticks(ax)
    name_axes(ax, "time", "share without the event")
    draw_legend(ax, loc="best")
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


def _names(number: int) -> list[str]:
    """The names of groups, from the least risk to the greatest."""
    few = {1: ["all"], 2: ["low risk", "high risk"], 3: ["low risk", "middle", "high risk"]}
    return few.get(number, [f"risk {place + 1} of {number}" for place in range(number)])


def _colour(number: int, num_groups: int) -> str:
    """Blue of low risk, green and pink between, orange-red of the highest."""
    colours = [CLASS_COLOURS[place] for place in (0, 2, 3, 4, 1, 6)]
    return CLASS_COLOURS[5] if number == num_groups - 1 and num_groups > 1 else colours[number % len(colours)]


def _curves_of(estimator: Any, X: Any, kept: Int[np.ndarray, " row"], moved: dict[str, Any]) -> Curves | None:
    """The survival that a model predicts of the rows that are kept; None where it knows no hazards."""
    if not hasattr(estimator, "predict_survival_function") or getattr(estimator, "survival_", estimator) is None:
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
