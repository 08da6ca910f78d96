"""Charts of importances and prunings."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from jaxtree.errors import InvalidInputError
from jaxtree.export.models import best_of_search, exported_model
from jaxtree.figures.prunings import JudgedRows, dropout_scores, pruning_path
from jaxtree.plot.style import BLUES, GREY, ORANGE, axes_to_draw_in, blue, calm, draw_scale
from jaxtree.table.weights import check_sample_weight


def plot_pruning_path(
    estimator: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draws the leaves of the trees of cost-complexity pruning against `ccp_alpha`, and how good each tree is.

    Without rows that is the impurity of the leaves; with rows the accuracy on them, or for numbers the coefficient of
    determination, and the largest price of the best score has a line.

    Args:
        estimator: A fitted tree of one output.
        X: Rows to score the trees on, best such as were not in the fit.
        y: Their classes or numbers.
        sample_weight: Their weights.
        ax: Where to draw, leaves on a second axis; a new figure if not given.

    Returns:
        The axes of the score.

    Raises:
        InvalidInputError: X or y is given alone; the estimator is a forest or has several outputs; or rows with
            missing values are shared out among branches.
        InvalidTypeError: It is no tree of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_pruning_path(DecisionTreeClassifier(max_depth=3).fit(X[::2], y[::2]), X[1::2], y[1::2])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('ccp_alpha', 'accuracy')
    """
    estimator = best_of_search(estimator)
    model = exported_model(estimator, one_tree=True)
    if (X is None) != (y is None):
        raise InvalidInputError("X and y go together, got only one")
    rows = None
    if X is not None:
        values, target = estimator.encoder_.values(X), model.encode_target(y)[0]
        rows = JudgedRows(values, target, check_sample_weight(sample_weight, len(target)))
    alpha, num_leaves, score = pruning_path(model, rows)
    ax = axes_to_draw_in(ax)
    label = "impurity of the leaves" if rows is None else "accuracy" if model.classes else "R²"
    _draw_path(ax, alpha, num_leaves, score, label)
    if rows is not None:
        best = float(alpha[score == score.max()][-1])
        ax.axvline(max(best, ax.get_xlim()[0]), color=GREY, linestyle=":", linewidth=1.2)
    return ax


def _draw_path(
    ax: Axes,
    alpha: Float[np.ndarray, " step"],
    num_leaves: Int[np.ndarray, " step"],
    score: Float[np.ndarray, " step"],
    label: str,
) -> None:
    positive = alpha[alpha > 0]
    first = positive[0] / 2 if positive.size else 0.5
    place = np.maximum(np.append(alpha, 2 * alpha[-1] or 1.0), first)
    of_leaves = ax.twinx()
    of_leaves.step(place, np.append(num_leaves, num_leaves[-1]), where="post", color=ORANGE, linewidth=1.6)
    of_leaves.set_ylabel("leaves", color=ORANGE)
    of_leaves.set_yscale("log", base=2)
    of_leaves.yaxis.set_major_formatter("{x:g}")
    ax.step(place, np.append(score, score[-1]), where="post", color=blue(), linewidth=1.8)
    ax.set(xscale="log", xlim=(first, place[-1]), xlabel="ccp_alpha")
    ax.set_ylabel(label, color=blue())
    calm(ax)
    of_leaves.spines[["top", "left", "right"]].set_visible(False)
    ax.set_zorder(of_leaves.get_zorder() + 1)
    ax.patch.set_visible(False)


def plot_dropout(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    p: Any = None,
    q: Any = None,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the exact mean accuracy of all draws of dropout pruning on some rows, for many rates p and q.

    For numbers it is the mean squared error. The best pair of rates has a mark.

    Args:
        estimator: A fitted tree of one output.
        X: Rows that were not in the fit, to see where pruning helps.
        y: Their classes or numbers.
        p: Probabilities at level 0, ascending; 41 from 0 to 0.8 if not given.
        q: Growths from level to level, ascending; 41 from 0 to 2 if not given.
        sample_weight: The weight of every row in the means.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: The rates or weights are not allowed, the estimator has several outputs or is a forest, or
            the table or its targets are not like the fitted ones.
        InvalidTypeError: It is no tree of jaxtree with hard splits along the axes.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_dropout(DecisionTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], p=[0, 0.5], q=[0, 1])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('p', 'q')
    """
    estimator = best_of_search(estimator)
    model = exported_model(estimator, one_tree=True)
    p, q = _rates(p, 0.8, "p"), _rates(q, 2.0, "q")
    codes, target = estimator.encode(X), model.encode_target(y)[0]
    weight = check_sample_weight(sample_weight, len(target))
    mean, best = dropout_scores(model, codes, target, weight, p, q)
    ax = axes_to_draw_in(ax)
    drawn = ax.pcolormesh(p, q, mean, shading="nearest", cmap=BLUES, rasterized=True)
    _mark_best(ax, p, q, mean, best)
    draw_scale(ax, drawn, f"mean {'accuracy' if model.classes else 'squared error'} of all draws")
    ax.set(xlabel="p", ylabel="q")
    calm(ax, grid=False)
    return ax


def _rates(given: Any, most: float, name: str) -> Float[np.ndarray, " rate"]:
    rates = np.linspace(0, most, 41) if given is None else np.asarray(given, np.float64)
    if rates.ndim != 1 or rates.size < 2 or (np.diff(rates) <= 0).any():
        raise InvalidInputError(f"{name} must be two or more ascending rates, got {given!r}")
    return rates


def _mark_best(
    ax: Axes,
    p: Float[np.ndarray, " p"],
    q: Float[np.ndarray, " q"],
    mean: Float[np.ndarray, "q p"],
    best: tuple[int, int],
) -> None:
    """A mark at the best pair of rates."""
    row, column = best
    ax.plot(p[column], q[row], "o", markersize=9, color=ORANGE, markeredgecolor="white", clip_on=False, zorder=3)
    is_right, is_above = column > p.size / 2, row > q.size / 2
    ax.annotate(
        f"{mean[row, column]:.4g}",
        (p[column], q[row]),
        (-9 if is_right else 9, -9 if is_above else 9),
        textcoords="offset points",
        color="#1a1a1a",
        ha="right" if is_right else "left",
        va="top" if is_above else "bottom",
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )
