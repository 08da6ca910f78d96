"""How good probabilities of classes are: receiver operating characteristics and calibration, of all classes at once."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from sklearn.metrics import auc, roc_curve
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.explained import class_labels
from jaxtree.plot.style import (
    axes_to_draw_in,
    blue,
    calm,
    draw_legend,
    draw_legend_beside,
    grey,
    legend_name,
    name_axes,
)

NORMAL_QUANTILE = 1.959964
"""The normal quantile of 0.975, for intervals of 95 %."""


class _OneClass(NamedTuple):
    """The rows of a class and how probable it is in each.

    Attributes:
        name: The class.
        place: Its place in `classes_`.
        is_own: Whether a row is of it.
        share: Its predicted probability.
        weight: The weights of the rows.
    """

    name: str
    place: int
    is_own: Bool[np.ndarray, " row"]
    share: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]


def plot_roc(
    estimator: Any, X: Any, y: Any, *, of_class: Any = None, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Draws the share of a class that is found against that of the other rows that are taken for it, for all limits.

    The area below the curve stands in the legend. Of two classes it is the curve of the second; of more each class has
    one against all others, if it and others are among the rows.

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
    is_new, ax = ax is None, axes_to_draw_in(ax, (5.6, 4.4))
    ax.plot([0, 1], [0, 1], color=grey(), linestyle=":", linewidth=1.2, zorder=1)
    for own in found:
        wrong, right, _ = roc_curve(own.is_own, own.share, sample_weight=own.weight)
        label = f"{legend_name(own.name)}, area {auc(wrong, right):.3f}"
        ax.plot(wrong, right, color=_colour(own, found), linewidth=1.8, label=label, zorder=2)
    _finish(ax, found, is_new=is_new)
    name = found[0].name if len(found) == 1 else "the class"
    name_axes(ax, f"share of others taken for {name}", f"share of {name} found")
    return ax


def plot_calibration(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    num_bins: int = 10,
    of_class: Any = None,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws how often a class comes against how probable it was said to be, of rows of similar probability together.

    Bins have about equally many rows. A single class has 95 % intervals of its shares (Wilson, 1927) and a histogram of
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
    is_new, ax = ax is None, axes_to_draw_in(ax, (5.6, 4.4))
    ax.plot([0, 1], [0, 1], color=grey(), linestyle=":", linewidth=1.2, zorder=1)
    for own in found:
        mean, share, number = _binned(own, num_bins)
        colour = _colour(own, found)
        if len(found) == 1:
            low, high = _wilson(share, number)
            ax.vlines(mean, low, high, color=colour, linewidth=1.2, alpha=0.6, zorder=2)
            counts, edges = np.histogram(own.share, 20, (0, 1), weights=own.weight)
            bars = {"color": grey(), "alpha": 0.45, "zorder": 0, "align": "edge", "linewidth": 0}
            ax.bar(edges[:-1], 0.12 * counts / max(counts.max(), 1e-300), np.diff(edges), **bars)
        label = legend_name(own.name)
        ax.plot(mean, share, color=colour, linewidth=1.4, marker="o", markersize=4.5, label=label, zorder=3)
    _finish(ax, found, is_new=is_new, has_legend=len(found) > 1)
    of_class = f" of {found[0].name}" if len(found) == 1 else ""
    name_axes(ax, f"predicted probability{of_class}", f"share{of_class or ' of the class'}")
    return ax


def _one_by_one(estimator: Any, X: Any, y: Any, of_class: Any, sample_weight: Any) -> list[_OneClass]:
    """The classes that are drawn, each with its rows."""
    if not hasattr(estimator, "predict_proba"):
        raise InvalidTypeError(f"estimator must predict probabilities of classes, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    shares, names, target = estimator.predict_proba(X), class_labels(estimator), np.asarray(vector_of_column(y))
    if isinstance(shares, list):
        raise InvalidInputError(f"drawings are of one output of classes, and the estimator has {len(shares)}")
    weight = np.ones(len(shares)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if target.shape != (len(shares),) or weight.shape != target.shape:
        raise InvalidInputError(
            f"y and sample_weight must have one value for each of {len(shares)} rows, got shapes {target.shape} and "
            f"{weight.shape}"
        )
    if of_class is not None and str(of_class) not in names:
        raise InvalidInputError(f"of_class must be one of {', '.join(names)}, got {of_class!r}")
    chosen = names[1:] if len(names) == 2 and of_class is None else names if of_class is None else [str(of_class)]
    found = []
    for place, label in enumerate(estimator.classes_.tolist()):
        is_own = target == label
        if names[place] in chosen and is_own[weight > 0].any() and not is_own[weight > 0].all():
            found.append(_OneClass(names[place], place, is_own, shares[:, place], weight))
    if not found:
        raise InvalidInputError(f"y must have rows of {', '.join(chosen[:10])} and rows of other classes")
    return found


def _colour(own: _OneClass, found: list[_OneClass]) -> str:
    return blue() if len(found) == 1 else colour_of_class(own.place)


def _finish(ax: Axes, found: list[_OneClass], *, is_new: bool, has_legend: bool = True) -> None:
    calm(ax)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    if len(found) > 5:
        draw_legend_beside(ax, is_new=is_new)
    elif has_legend:
        draw_legend(ax, loc="best")


def _binned(own: _OneClass, num_bins: int) -> tuple[Any, Any, Any]:
    """The mean probability, the share and the number of rows of bins of about equally many rows."""
    inner = np.unique(np.quantile(own.share, np.linspace(0, 1, num_bins + 1)[1:-1]))
    place = np.searchsorted(inner, own.share, side="left")
    weight = np.bincount(place, own.weight, inner.size + 1)
    kept = weight > 0
    mean = np.bincount(place, own.weight * own.share, inner.size + 1)[kept] / weight[kept]
    share = np.bincount(place, own.weight * own.is_own, inner.size + 1)[kept] / weight[kept]
    return mean, share, weight[kept]


def _wilson(share: Any, number: Any) -> tuple[Any, Any]:
    """The interval of a share of a number of rows."""
    z = NORMAL_QUANTILE
    middle = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z / (1 + z**2 / number) * np.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    return np.clip(middle - half, 0, share), np.clip(middle + half, share, 1)
