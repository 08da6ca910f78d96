"""Curves of learning: epoch by epoch of soft trees, round by round of boosted ones."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.style import axes_to_draw_in, calm, draw_legend, grey, legend_name, name_axes


def plot_learning_curve(estimator: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws the losses of a soft tree or forest after every epoch, or what was measured of boosted trees every round.

    A dotted line stands at the epoch whose parameters were kept, or at the round up to which early stopping kept the
    trees, of folds in the mean; without early stopping, at the `best_iteration_`.

    Args:
        estimator: A fitted soft estimator; or boosted trees fitted with `eval_set=` or `early_stopping=True`.
        metric: Which of the measured metrics of boosted trees; the first if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: Nothing was measured in the fit, or not by this metric.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import GradientBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> data = {"training": (X[::2], y[::2]), "test": (X[1::2], y[1::2])}
        >>> model = GradientBoostingClassifier(12).fit(X[::2], y[::2], eval_set=data)
        >>> ax = plot_learning_curve(model)
        >>> [line.get_label() for line in ax.lines][:2], len(ax.lines[0].get_xdata())
        (['training', 'test'], 12)
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    if hasattr(estimator, "history_"):
        names = {name: name.replace("_", " ") for name in estimator.history_}
        curves = {names[name]: curve for name, curve in estimator.history_.items()}
        return _draw(ax, curves, (estimator.best_epoch_, "kept"), ("epoch", "loss"))
    measured = getattr(estimator, "evals_result_", None)
    if not measured:
        raise InvalidInputError(
            f"{type(estimator).__name__} has no learning curve: give a soft tree or forest, or boosted trees fitted "
            "with eval_set= or early_stopping=True"
        )
    metrics = list(dict.fromkeys(metric for own in measured.values() for metric in own))
    name = metrics[0] if metric is None else metric
    if name not in metrics:
        raise InvalidInputError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    curves = {evaluation: own[name] for evaluation, own in measured.items() if name in own}
    return _draw(ax, curves, _mark(estimator), ("round", name))


def _mark(estimator: Any) -> tuple[int, str]:
    """The round that counts, and why."""
    if estimator.folds_ is not None:
        return estimator.best_iteration_, f"kept, {estimator.best_iteration_} rounds a fold on average"
    if estimator.early_stopping:
        return estimator.n_estimators_, f"kept, {estimator.n_estimators_} rounds"
    return estimator.best_iteration_, f"best, round {estimator.best_iteration_}"


def _draw(ax: Axes | None, curves: dict[str, Any], mark: tuple[int, str], names: tuple[str, str]) -> Axes:
    ax = axes_to_draw_in(ax)
    for place, (name, curve) in enumerate(curves.items()):
        rounds = range(1, len(curve) + 1)
        ax.plot(rounds, curve, color=colour_of_class(place), linewidth=1.8, label=legend_name(name))
    ax.axvline(mark[0], color=grey(), linestyle=":", linewidth=1.4, label=mark[1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    calm(ax)
    name_axes(ax, *names)
    draw_legend(ax)
    return ax
