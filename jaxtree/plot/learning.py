"""How the loss of a soft estimator has fallen in training."""

from typing import Any

from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.curves import plot_curves


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
    return plot_curves(estimator.history_, estimator.best_epoch_, ax)
