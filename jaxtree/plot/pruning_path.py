"""The trees of cost-complexity pruning: how many leaves they have, and how good they are."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from sklearn.base import is_classifier
from sklearn.metrics import r2_score

from jaxtree.errors import InvalidInputError
from jaxtree.export.canvas import BLUE, GREY, ORANGE, axes_to_draw_in, calm
from jaxtree.export.spoken import Spoken, spoken
from jaxtree.pruning.cost_complexity import cost_complexity_path, weakest_links
from jaxtree.tree import Tree

MOST_STEPS = 250
"""Of a longer path so many prices are looked at."""


class _Path(NamedTuple):
    """The trees that are drawn.

    Attributes:
        alpha: Their prices, ascending from 0.
        num_leaves: Their leaves.
        score: Their impurity, or their score on some rows.
    """

    alpha: Float[np.ndarray, " step"]
    num_leaves: Int[np.ndarray, " step"]
    score: Float[np.ndarray, " step"]


def plot_pruning_path(estimator: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draws the leaves of the trees of cost-complexity pruning against `ccp_alpha`, and how good each tree is.

    Without rows that is the impurity of the leaves; with rows the accuracy on them, or for numbers the coefficient of
    determination, and the largest price of the best score has a line.

    Args:
        estimator: A fitted tree of one output.
        X: Rows to score the trees on, best such as were not in the fit.
        y: Their classes or numbers.
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
    said = spoken(estimator)
    if said.is_forest:
        raise InvalidInputError("a path is that of one tree: give one of the forest's members, `estimators_`")
    if (X is None) != (y is None):
        raise InvalidInputError("X and y go together, got one of them alone")
    path = _path(said.trees[0].tree)
    label = "impurity of the leaves"
    if X is not None:
        path = path._replace(score=_scores(estimator, said, X, y, path.alpha))
        label = "R²" if said.classes is None else "accuracy"
    ax = axes_to_draw_in(ax)
    _draw(ax, path, label, best=None if X is None else float(path.alpha[path.score == path.score.max()][-1]))
    return ax


def _path(tree: Tree) -> _Path:
    """The trees at the prices of the path, without steps of no width."""
    whole = cost_complexity_path(tree)
    last = np.append(np.diff(whole.ccp_alphas) > 0, True)
    alpha, impurity = whole.ccp_alphas[last], whole.impurities[last]
    if alpha.size > MOST_STEPS:
        chosen = np.unique(np.linspace(0, alpha.size - 1, MOST_STEPS).astype(int))
        alpha, impurity = alpha[chosen], impurity[chosen]
    price = weakest_links(tree).alpha
    return _Path(alpha, np.array([_num_leaves(tree, price <= one) for one in alpha]), impurity)


def _num_leaves(tree: Tree, collapsed: Bool[np.ndarray, " node"]) -> int:
    is_there = _stops(tree, collapsed) == np.arange(collapsed.size)
    return int(np.count_nonzero(is_there & (collapsed | np.asarray(tree.is_leaf))))


def _stops(tree: Tree, collapsed: Bool[np.ndarray, " node"]) -> Int[np.ndarray, " node"]:
    """The node where a walk that would end at each stops: the highest collapsed one on the path, or itself."""
    stop = np.arange(collapsed.size)
    for level in range(1, tree.max_depth + 1):
        nodes = np.flatnonzero(np.asarray(tree.depth) == level)
        above = stop[np.asarray(tree.parent)[nodes]]
        stop[nodes] = np.where(collapsed[above], above, nodes)
    return stop


def _scores(
    estimator: Any, said: Spoken, X: Any, y: Any, alpha: Float[np.ndarray, " step"]
) -> Float[np.ndarray, " step"]:
    """The score of the tree at every price."""
    tree, shares, labels = said.trees[0]
    end = estimator._predicting.apply(estimator.encoder_.values(X))
    if estimator._predicting.held_up(end).size:
        raise InvalidInputError(
            "the tree shares out rows with missing values among branches: give rows without missing values"
        )
    target = estimator._read_target(y)[0]
    price = weakest_links(tree).alpha
    stops = [_stops(tree, price <= one)[end] for one in alpha]
    if is_classifier(estimator):
        assert labels is not None
        return np.array([np.mean(labels[stop] == target) for stop in stops])
    return np.array([r2_score(target, shares[stop, 0]) for stop in stops])


def _draw(ax: Axes, path: _Path, label: str, best: float | None) -> None:
    positive = path.alpha[path.alpha > 0]
    first = positive[0] / 2 if positive.size else 0.5
    place = np.maximum(np.append(path.alpha, 2 * path.alpha[-1] or 1.0), first)
    score, leaves = (np.append(curve, curve[-1]) for curve in (path.score, path.num_leaves))
    beside = ax.twinx()
    beside.step(place, leaves, where="post", color=ORANGE, linewidth=1.6)
    beside.set_ylabel("leaves", color="#a86f00")
    beside.set_yscale("log", base=2)
    beside.yaxis.set_major_formatter("{x:g}")
    ax.step(place, score, where="post", color=BLUE, linewidth=1.8)
    ax.set_xscale("log")
    ax.set_xlim(first, place[-1])
    ax.set_xlabel("ccp_alpha")
    ax.set_ylabel(label, color=BLUE)
    if best is not None:
        ax.axvline(max(best, first), color=GREY, linestyle=":", linewidth=1.2)
    calm(ax)
    beside.spines[["top", "left", "right"]].set_visible(False)
    ax.set_zorder(beside.get_zorder() + 1)
    ax.patch.set_visible(False)
