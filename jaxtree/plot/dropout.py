"""The mean score of dropout pruning over a plane of its rates."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.canvas import BLUES, ORANGE, axes_to_draw_in, calm, scale_beside
from jaxtree.pruning.dropout import expected_accuracy, expected_squared_error


def plot_dropout(estimator: Any, X: Any, y: Any, *, p: Any = None, q: Any = None, ax: Axes | None = None) -> Axes:
    """Draws the exact mean accuracy of all draws of dropout pruning on some rows, for many rates p and q.

    Of numbers it is the mean squared error. The best pair of rates has a mark.

    Args:
        estimator: A fitted tree of one output.
        X: Rows that were not in the fit, to see where pruning helps.
        y: Their classes or numbers.
        p: Probabilities at level 0, ascending; 41 from 0 to 0.8 if not given.
        q: Growths from level to level, ascending; 41 from 0 to 2 if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: The rates are not allowed, the estimator has several outputs or is a forest, or the table or
            its targets are not like the fitted ones.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_dropout(DecisionTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], p=[0, 0.5], q=[0, 1])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('p', 'q')
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "tree_") or not hasattr(estimator, "encode"):
        raise InvalidInputError(f"estimator must be a single tree of jaxtree, got {type(estimator).__name__}")
    p, q = _rates(p, 0.8, "p"), _rates(q, 2.0, "q")
    of_classes = is_classifier(estimator)
    score = expected_accuracy if of_classes else expected_squared_error
    codes, target = estimator.encode(X), estimator._read_target(y)[0]
    mean = np.stack([np.asarray(score(estimator.tree_, codes, target, p, one)) for one in q])
    ax = axes_to_draw_in(ax)
    drawn = ax.pcolormesh(p, q, mean, shading="nearest", cmap=BLUES, rasterized=True)
    _mark_best(ax, p, q, mean if of_classes else -mean, f"{(mean.max() if of_classes else mean.min()):.4g}")
    scale_beside(ax, drawn, "mean accuracy of all draws" if of_classes else "mean squared error of all draws")
    ax.set(xlabel="p", ylabel="q")
    calm(ax, grid=False)
    return ax


def _rates(given: Any, most: float, name: str) -> Float[np.ndarray, " rate"]:
    rates = np.linspace(0, most, 41) if given is None else np.asarray(given, np.float64)
    if rates.ndim != 1 or rates.size < 2 or (np.diff(rates) <= 0).any():
        raise InvalidInputError(f"{name} must be two or more ascending rates, got {given!r}")
    return rates


def _mark_best(
    ax: Axes, p: Float[np.ndarray, " p"], q: Float[np.ndarray, " q"], goodness: Float[np.ndarray, "q p"], words: str
) -> None:
    """A mark at the best pair of rates, of equal ones that of the least p and then the least q."""
    of_p = goodness.max(axis=0)
    column = int(of_p.argmax())
    row = int(goodness[:, column].argmax())
    ax.plot(p[column], q[row], "o", markersize=9, color=ORANGE, markeredgecolor="white", clip_on=False, zorder=3)
    is_right, is_above = column > p.size / 2, row > q.size / 2
    ax.annotate(
        words, (p[column], q[row]), (-9 if is_right else 9, -9 if is_above else 9), textcoords="offset points",
        ha="right" if is_right else "left", va="top" if is_above else "bottom",
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )  # fmt: skip
