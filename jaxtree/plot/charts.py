"""Charts of importances and prunings."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from sklearn.metrics import r2_score
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from jaxtree.dropout.scores import expected_accuracy, expected_squared_error
from jaxtree.errors import InvalidInputError
from jaxtree.export.models import best_of_search, exported_model
from jaxtree.plot.style import BLUES, GREY, ORANGE, axes_to_draw_in, blue, calm, draw_bars, draw_scale
from jaxtree.prune.draws import node_rates
from jaxtree.prune.weakest_links import cost_complexity_path, weakest_links
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.paths import ends_under, survivors


def plot_importances(estimator: Any, importances: Any = None, *, max_columns: int = 20, ax: Axes | None = None) -> Axes:
    """Draws how much each column counts, the most important one on top.

    Args:
        estimator: A fitted estimator.
        importances: A number a column, or what `sklearn.inspection.permutation_importance` returns,
            whose standard deviations are drawn as lines; `estimator.feature_importances_` if not given.
        max_columns: How many columns to draw at most.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one number a column, no column is to be drawn, or there are importances by
            several scorers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_importances(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)), max_columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x2', 'x3']
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    names = estimator.encoder_.schema_.column_names
    value, spread, label = _numbers(estimator, importances)
    if value.shape != (len(names),) or max_columns < 1:
        raise InvalidInputError(
            f"importances must be one number for each of {len(names)} columns and max_columns at least 1, got shape "
            f"{value.shape} and {max_columns}"
        )
    order = np.argsort(-value, kind="stable")[:max_columns]
    ax = draw_bars(ax, [names[column] for column in order], value[order], None if spread is None else spread[order])
    ax.set_xlabel(label)
    return ax


def _numbers(estimator: Any, importances: Any) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."] | None, str]:
    """The lengths of the bars, those of the lines on them, and what they mean."""
    if importances is None:
        return np.asarray(estimator.feature_importances_, np.float64), None, "share of the gain"
    if isinstance(importances, dict) and "importances_mean" not in importances:
        raise InvalidInputError(f"importances by several scorers are drawn one by one, got {', '.join(importances)}")
    if isinstance(importances, Bunch):
        return importances.importances_mean, importances.importances_std, "loss of score when the column is shuffled"
    return np.asarray(importances, np.float64), None, "importance"


MOST_STEPS = 250
"""The most prices of a path that are drawn."""


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
        raise InvalidInputError("X and y go together, got one of them alone")
    alpha, impurity = _steps_of_path(model.tree)
    masks = weakest_links(model.tree).alpha <= alpha[:, None]
    num_leaves = (survivors(model.tree, masks) & (masks | np.asarray(model.tree.is_leaf))).sum(axis=1)
    ax = axes_to_draw_in(ax)
    if X is None:
        _draw_path(ax, alpha, num_leaves, impurity, "impurity of the leaves")
        return ax
    score = _scores(model, estimator.encoder_.values(X), y, masks, sample_weight)
    _draw_path(ax, alpha, num_leaves, score, "accuracy" if model.classes else "R²")
    best = float(alpha[score == score.max()][-1])
    ax.axvline(max(best, ax.get_xlim()[0]), color=GREY, linestyle=":", linewidth=1.2)
    return ax


def _steps_of_path(tree: Tree) -> tuple[Float[np.ndarray, " step"], Float[np.ndarray, " step"]]:
    """The prices of the path, ascending from 0 without steps of no width, and the impurities of the trees there."""
    whole = cost_complexity_path(tree)
    steps = np.flatnonzero(np.append(np.diff(whole.ccp_alphas) > 0, True))
    if steps.size > MOST_STEPS:
        steps = steps[np.unique(np.linspace(0, steps.size - 1, MOST_STEPS).astype(int))]
    return whole.ccp_alphas[steps], whole.impurities[steps]


def _scores(
    model: FittedModel,
    values: Float[np.ndarray, "row feature"],
    y: Any,
    masks: Bool[np.ndarray, "step node"],
    sample_weight: Any,
) -> Float[np.ndarray, " step"]:
    """The score of every pruned tree."""
    end = model.predictor.ends(values)
    if model.predictor.held_up(end).size:
        raise InvalidInputError(
            "the tree shares out rows with missing values among branches: give rows without missing values"
        )
    target = model.encode_target(y)[0]
    weight = check_sample_weight(sample_weight, len(target))
    stops = [ends_under(model.tree, mask)[end] for mask in masks]
    if model.node_label is None:
        return np.array([r2_score(target, model.node_value[stop, 0], sample_weight=weight) for stop in stops])
    return np.array([np.average(model.node_label[0, stop] == target, weights=weight) for stop in stops])


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
    score = expected_accuracy if model.classes else expected_squared_error
    codes, target = estimator.encode(X), model.encode_target(y)[0]
    mean = np.stack([np.asarray(score(model.tree, codes, target, node_rates(model.tree, p, one))) for one in q])
    ax = axes_to_draw_in(ax)
    drawn = ax.pcolormesh(p, q, mean, shading="nearest", cmap=BLUES, rasterized=True)
    _mark_best(ax, p, q, mean, mean if model.classes else -mean)
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
    goodness: Float[np.ndarray, "q p"],
) -> None:
    """A mark at the best pair of rates, of equal ones that of the least p and then the least q."""
    column, row = divmod(int(goodness.T.argmax()), q.size)
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
