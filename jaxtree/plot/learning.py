"""Curves of learning, epoch by epoch and round by round."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.plot.style import BLUE, ORANGE, axes_to_draw_in, calm, draw_legend, grey


def plot_learning_curve(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the losses of a soft tree or forest after every epoch, and the epoch whose parameters were kept.

    Args:
        estimator: A fitted soft estimator.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: The estimator is none that has learned in epochs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import SoftTreeClassifier
        >>> tree = SoftTreeClassifier(depth=1, max_epochs=4).fit(*load_iris(return_X_y=True))
        >>> len(plot_learning_curve(tree).lines[0].get_xdata())
        4
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "history_"):
        raise InvalidInputError(f"{type(estimator).__name__} has not learned in epochs: give a soft tree or forest")
    ax = axes_to_draw_in(ax)
    for name, curve in estimator.history_.items():
        colour = BLUE if name == "loss" else ORANGE
        ax.plot(range(1, len(curve) + 1), curve, color=colour, linewidth=1.8, label=name.replace("_", " "))
    ax.axvline(estimator.best_epoch_, color=grey(), linestyle=":", linewidth=1.2, label="kept")
    ax.set(xlabel="epoch", ylabel="loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    draw_legend(ax)
    calm(ax)
    return ax
