"""Drawings of a tree: its nodes, and the plane of two columns as it is divided."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import PicturedNode, colour_of_class, picture
from jaxtree.plot.charts import BLUES, axes_to_draw_in, calm, draw_legend, draw_scale
from jaxtree.table.schema import Schema

INCHES_PER_LEAF, INCHES_PER_LEVEL = 1.5, 1.35
"""The size of a new figure, in which a node of three short lines has room next to its neighbour."""

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
    box = {"boxstyle": "round,pad=0.4", "facecolor": node.colour, "edgecolor": "#6b6b6b"}
    text = "\n".join(_broken(line) for line in node.lines)
    ax.text(x, y, text, ha="center", va="center", fontsize=fontsize, bbox=box, zorder=2, parse_math=False)
    if not node.branch:
        return
    above_x, above_y = place[node.parent]
    ax.plot([above_x, x], [above_y, y], color="#6b6b6b", linewidth=1, zorder=0)
    label = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    ax.text(
        (above_x + 2 * x) / 3, (above_y + 2 * y) / 3, _broken(node.branch), ha="center", va="center",
        fontsize=0.85 * fontsize, bbox=label, zorder=1, parse_math=False,
    )  # fmt: skip


def _broken(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH_OF_LINE, break_long_words=False)) or line


STRENGTH = 0.55
"""The strength of the colour of a class where its share is 1: below 1, so that points stand out."""


def plot_decision_boundary(
    estimator: Any, X: Any, y: Any = None, *, resolution: int = 300, margin: float = 0.06, ax: Axes | None = None
) -> Axes:
    """Draws what a fitted estimator of two columns predicts at every point of their plane, and the rows on it.

    Of classes the colours are mixed by the shares of the classes; of numbers they are the darker the larger.

    Args:
        estimator: A fitted tree or forest, hard or soft, of one output and two columns of numbers.
        X: Rows, which the plane reaches around.
        y: Their classes or numbers, to draw the rows; only the plane is drawn if not given.
        resolution: Points along each side.
        margin: How far the plane reaches past the rows, as a share of their range.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There are other columns than two of numbers, or several outputs; or a number is not allowed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_decision_boundary(DecisionTreeClassifier(max_depth=3).fit(X[:, 2:], y), X[:, 2:], y)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x0', 'x1')
    """
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    _check(estimator, schema, resolution, margin)
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    sides = [_side(value, resolution, margin) for value in rows.T]
    plane = np.stack([part.ravel() for part in np.meshgrid(*sides)], axis=1)
    ax = axes_to_draw_in(ax)
    if is_classifier(estimator):
        _draw_classes(ax, estimator.classes_.tolist(), sides, estimator.predict_values(plane), rows, y)
    else:
        _draw_numbers(ax, sides, estimator.predict_values(plane).ravel(), rows, y)
    ax.set_xlabel(schema.columns[0].name, parse_math=False)
    ax.set_ylabel(schema.columns[1].name, parse_math=False)
    calm(ax, grid=False)
    return ax


def _check(estimator: Any, schema: Schema, resolution: int, margin: float) -> None:
    kinds = [column.kind for column in schema.columns]
    if kinds != ["numeric", "numeric"]:
        named = ", ".join(f"{column.name!r} ({column.kind})" for column in schema.columns[:5])
        raise InvalidInputError(f"a plane has two columns of numbers, and the estimator has {len(kinds)}: {named}")
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"a plane shows one output, and the estimator has {estimator.n_outputs_}")
    if resolution < 2 or not 0 <= margin < np.inf:
        raise InvalidInputError(f"resolution must be at least 2 and margin at least 0, got {resolution} and {margin}")


def _side(value: Float[np.ndarray, " row"], resolution: int, margin: float) -> Float[np.ndarray, " point"]:
    """The points along a side, which are the middles of the patches that are drawn."""
    known = value[~np.isnan(value)]
    if not known.size:
        raise InvalidInputError("X must have a known number in both columns")
    low, high = known.min(), known.max()
    beyond = margin * (high - low) if high > low else 0.5
    return np.linspace(low - beyond, high + beyond, resolution)


def _draw_classes(ax: Axes, names: list, sides: list, shares: Any, rows: Any, y: Any) -> None:
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(len(names))])
    mixed = 1 - STRENGTH * (1 - shares @ colours)
    image = mixed.reshape(sides[1].size, sides[0].size, 3)
    ax.pcolormesh(*sides, np.clip(image, 0, 1), shading="nearest", rasterized=True)
    if y is None:
        return
    given = np.asarray(y)
    for place, name in enumerate(names):
        chosen = given == name
        ax.scatter(*rows[chosen].T, s=22, color=colours[place], edgecolor="white", linewidth=0.6, label=str(name))
    draw_legend(ax, frameon=True, framealpha=0.9, edgecolor="none")


def _draw_numbers(ax: Axes, sides: list, means: Any, rows: Any, y: Any) -> None:
    given = None if y is None else np.asarray(y, np.float64).ravel()
    whole = means if given is None else np.concatenate([means, given])
    shades = {"cmap": BLUES, "vmin": whole.min(), "vmax": whole.max()}
    image = means.reshape(sides[1].size, sides[0].size)
    drawn = ax.pcolormesh(*sides, image, shading="nearest", rasterized=True, **shades)
    if given is not None:
        ax.scatter(*rows.T, s=22, c=given, edgecolor="white", linewidth=0.6, **shades)
    draw_scale(ax, drawn, "predicted")
