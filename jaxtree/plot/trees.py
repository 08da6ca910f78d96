"""Drawings of a tree, and of how it is pruned."""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from sklearn.base import is_classifier
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from jaxtree.dropout.scores import expected_accuracy, expected_squared_error
from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.export.models import exported_model
from jaxtree.export.pictures import PicturedNode, picture
from jaxtree.plot.canvas import BLUE, BLUES, GREY, ORANGE, axes_to_draw_in, calm, scale_beside
from jaxtree.prune.draws import node_rates
from jaxtree.prune.weakest_links import cost_complexity_path, weakest_links
from jaxtree.tree import FittedModel, Tree
from jaxtree.tree.paths import ends_under, survivors

try:
    from matplotlib import pyplot
    from matplotlib.axes import Axes
except ImportError as error:
    raise MissingExtraError('drawings need matplotlib: pip install "jaxtree[plot]"') from error

INCHES_PER_LEAF, INCHES_PER_LEVEL = 1.5, 1.35
"""The size of a new figure, in which a node of three short lines has room beside its neighbour."""

WIDTH_OF_LINE = 14
"""Characters of a line of text before it is broken between words."""


def plot_tree(
    estimator: Any,
    *,
    feature_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    fontsize: float | int = 9,
    ax: Axes | None = None,
) -> Axes:
    """Draws the tree of a fitted estimator: the split column, class or mean, and weight of every node.

    A line to a child has what its parent's split asks of its rows.

    Args:
        estimator: A fitted estimator with a `tree_`.
        feature_names: Names of the columns, for a table that had none.
        max_depth: How deep to draw; to the leaves if not given. A node whose children are left out ends with "…".
        fontsize: Size of the text, in points.
        ax: Where to draw; a new figure with room for every leaf if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one name a column, or the depth is negative.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_tree(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        >>> [text.get_text().splitlines()[0] for text in ax.texts][:3]
        ['x2?', '0 100%', 'x2 <= 2.45']
    """
    nodes = picture(estimator, feature_names=feature_names, max_depth=max_depth)
    place = _places(nodes)
    if ax is None:
        num_leaves, num_levels = sum(not node.children for node in nodes), 1 + max(node.depth for node in nodes)
        size = (max(4.0, INCHES_PER_LEAF * num_leaves), max(2.5, INCHES_PER_LEVEL * num_levels))
        figure, ax = pyplot.subplots(figsize=size)
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.98)
    for node in nodes:
        _draw(ax, node, place, fontsize)
    ax.set_axis_off()
    ax.margins(x=0.06, y=0.12)
    return ax


def _places(nodes: list[PicturedNode]) -> dict[int, tuple[float, float]]:
    """Leaves stand side by side, a node in the middle of its children."""
    place: dict[int, tuple[float, float]] = {}
    num_leaves = 0
    for node in nodes:
        if not node.children:
            place[node.node] = (float(num_leaves), -float(node.depth))
            num_leaves += 1
    for node in reversed(nodes):
        if node.children:
            of_children = [place[child][0] for child in node.children]
            place[node.node] = ((of_children[0] + of_children[-1]) / 2, -float(node.depth))
    return place


def _draw(ax: Axes, node: PicturedNode, place: dict[int, tuple[float, float]], fontsize: float | int) -> None:
    x, y = place[node.node]
    shown = (*node.lines, "…") if node.hides_children else node.lines
    box = {"boxstyle": "round,pad=0.4", "facecolor": node.colour, "edgecolor": "#6b6b6b"}
    text = "\n".join(_broken(line) for line in shown)
    ax.text(x, y, text, ha="center", va="center", fontsize=fontsize, bbox=box, zorder=2)
    if not node.branch:
        return
    above_x, above_y = place[node.parent]
    ax.plot([above_x, x], [above_y, y], color="#6b6b6b", linewidth=1, zorder=0)
    label = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    ax.text(
        (above_x + 2 * x) / 3, (above_y + 2 * y) / 3, _broken(node.branch), ha="center", va="center",
        fontsize=0.85 * fontsize, bbox=label, zorder=1,
    )  # fmt: skip


def _broken(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH_OF_LINE, break_long_words=False)) or line


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
    model = exported_model(estimator)
    if model.averages_trees:
        raise InvalidInputError("a path is that of one tree: give one of the forest's members, `estimators_`")
    if (X is None) != (y is None):
        raise InvalidInputError("X and y go together, got one of them alone")
    alpha, num_leaves, score = _path(model.tree)
    label, best = "impurity of the leaves", None
    if X is not None:
        score = _scores(model, estimator.encoder_.values(X), y, alpha)
        label, best = "accuracy" if model.classes else "R²", float(alpha[score == score.max()][-1])
    ax = axes_to_draw_in(ax)
    _draw_path(ax, _Path(alpha, num_leaves, score), label, best)
    return ax


def _path(tree: Tree) -> _Path:
    """The trees at the prices of the path, without steps of no width."""
    whole = cost_complexity_path(tree)
    last = np.append(np.diff(whole.ccp_alphas) > 0, True)
    alpha, impurity = whole.ccp_alphas[last], whole.impurities[last]
    if alpha.size > MOST_STEPS:
        chosen = np.unique(np.linspace(0, alpha.size - 1, MOST_STEPS).astype(int))
        alpha, impurity = alpha[chosen], impurity[chosen]
    masks = weakest_links(tree).alpha <= alpha[:, None]
    return _Path(alpha, (survivors(tree, masks) & (masks | np.asarray(tree.is_leaf))).sum(axis=1), impurity)


def _scores(
    model: FittedModel, values: Float[np.ndarray, "row feature"], y: Any, alpha: Float[np.ndarray, " step"]
) -> Float[np.ndarray, " step"]:
    """The score of the tree at every price."""
    end = model.predictor.ends(values)
    if model.predictor.held_up(end).size:
        raise InvalidInputError(
            "the tree shares out rows with missing values among branches: give rows without missing values"
        )
    target = model.encode_target(y)[0]
    price = weakest_links(model.tree).alpha
    stops = [ends_under(model.tree, price <= one)[end] for one in alpha]
    if model.node_label is None:
        return np.array([r2_score(target, model.node_value[stop, 0]) for stop in stops])
    return np.array([np.mean(model.node_label[0, stop] == target) for stop in stops])


def _draw_path(ax: Axes, path: _Path, label: str, best: float | None) -> None:
    positive = path.alpha[path.alpha > 0]
    first = positive[0] / 2 if positive.size else 0.5
    place = np.maximum(np.append(path.alpha, 2 * path.alpha[-1] or 1.0), first)
    score, leaves = (np.append(curve, curve[-1]) for curve in (path.score, path.num_leaves))
    of_leaves = ax.twinx()
    of_leaves.step(place, leaves, where="post", color=ORANGE, linewidth=1.6)
    of_leaves.set_ylabel("leaves", color="#a86f00")
    of_leaves.set_yscale("log", base=2)
    of_leaves.yaxis.set_major_formatter("{x:g}")
    ax.step(place, score, where="post", color=BLUE, linewidth=1.8)
    ax.set_xscale("log")
    ax.set_xlim(first, place[-1])
    ax.set_xlabel("ccp_alpha")
    ax.set_ylabel(label, color=BLUE)
    if best is not None:
        ax.axvline(max(best, first), color=GREY, linestyle=":", linewidth=1.2)
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
    codes, target = estimator.encode(X), estimator.model_.encode_target(y)[0]
    tree = estimator.tree_
    mean = np.stack([np.asarray(score(tree, codes, target, node_rates(tree, p, one))) for one in q])
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
