"""Charts of a search: curves of all settings, parameters that count, shares of an ensemble."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.plot.style import ORANGE, axes_to_draw_in, blue, calm, draw_bars, draw_legend
from jaxtree.table.numerals import exact_decimal


def plot_search_curves(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the loss on the test rows after every round, of every setting the mean over its folds.

    The curve of the best setting is orange. A curve ends where the first of its folds has stopped; those that were
    stopped by successive halving end in a dot.

    Args:
        search: A fitted `BoostSearchCV`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It is no such search, or all its models were fitted by themselves, without curves.
    """
    _check(search, "learning_curves_")
    curves = [_mean_curve(folds) for folds in search.learning_curves_]
    if not any(map(len, curves)):
        raise InvalidInputError("the search has no curves: its models were fitted by themselves")
    best = getattr(search, "best_index_", None)
    rung = search.cv_results_.get("iter", np.zeros(len(curves), int))
    ax = axes_to_draw_in(ax)
    for number, curve in enumerate(curves):
        if number != best:
            _draw_curve(ax, curve, rung[number] < rung.max(), color=blue(), linewidth=0.8, alpha=0.45)
    if best is not None and len(curves[best]):
        _draw_curve(ax, curves[best], False, color=ORANGE, linewidth=2.2, label="best setting", zorder=3)
        draw_legend(ax)
    ax.set(xlabel="round", ylabel="mean loss on the test rows")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    calm(ax)
    return ax


def _mean_curve(folds: Any) -> Float[np.ndarray, " round"]:
    length = min(map(len, folds))
    return np.mean([curve[:length] for curve in folds], axis=0)


def _draw_curve(ax: Axes, curve: Float[np.ndarray, " round"], was_stopped: bool, **how: Any) -> None:
    rounds = np.arange(1, len(curve) + 1)
    ax.plot(rounds, curve, marker="o", markersize=3, markevery=[-1] if was_stopped and len(curve) else [], **how)


def plot_parameter_importances(search: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws how much each parameter of a search counts, the most important one on top.

    By `parameter_importances` of the search: what a forest that predicts scores from settings loses when the values of
    a parameter are shuffled, with standard deviations as lines.

    Args:
        search: A fitted `TreeSearchCV` or `BoostSearchCV`.
        metric: The name of the metric; the one that chose if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It is no such search, or it has too few settings with scores.
    """
    _check(search, "parameter_importances")
    own = search.parameter_importances(metric)
    order = np.argsort(-own.mean, kind="stable")
    labels = [own.names[number] for number in order]
    ax = draw_bars(ax, labels, own.mean[order], own.std[order])
    ax.set_xlabel("loss of R² of the score when the parameter is shuffled")
    return ax


def plot_ensemble_weights(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the share of every setting in the ensemble of a search, the largest on top, and what settings differ in.

    Args:
        search: A `BoostSearchCV` that was fitted with `refit="ensemble"`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It has no ensemble.
    """
    _check(search, "ensemble_weights_")
    weights = np.asarray(search.ensemble_weights_)
    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] > 0]
    settings = [search.cv_results_["params"][number] for number in order]
    labels = [
        f"{number}: {_words(own, settings)}".removesuffix(": ") for number, own in zip(order, settings, strict=True)
    ]
    ax = draw_bars(ax, labels, weights[order])
    ax.set_xlabel("share in the ensemble")
    return ax


def _words(own: dict[str, Any], settings: list[dict[str, Any]]) -> str:
    """The parameters of a setting in which some of them differ."""
    differ = [name for name in own if len({repr(one.get(name)) for one in settings}) > 1]
    return ", ".join(f"{name}={_short(own[name])}" for name in differ)


def _short(value: Any) -> str:
    return exact_decimal(value) if isinstance(value, float) else str(value)


def _check(search: Any, attribute: str) -> None:
    """Raises an error unless a search has what is drawn."""
    check_is_fitted(search, "cv_results_")
    if not hasattr(search, attribute):
        name = type(search).__name__
        raise InvalidInputError(f"what is drawn must be {_WANTED[attribute]}, got {name} without {attribute}")


_WANTED = {
    "learning_curves_": "a fitted BoostSearchCV",
    "parameter_importances": "a fitted TreeSearchCV or BoostSearchCV",
    "ensemble_weights_": 'a BoostSearchCV with refit="ensemble"',
}
"""The searches that have what is drawn."""
