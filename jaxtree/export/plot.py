"""A tree drawn by Matplotlib."""

import textwrap
from collections.abc import Sequence
from typing import Any

from jaxtree.errors import MissingExtraError
from jaxtree.export.picture import PicturedNode, picture

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

    A line to a child says what its parent's split asks of its rows.

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
