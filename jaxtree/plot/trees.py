"""The drawing of a tree: its nodes as boxes, with what they ask and predict, and charts of rows in them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from jaxtree.errors import InvalidInputError
from jaxtree.export.models import best_of_search, drawn_model
from jaxtree.export.pictures import PicturedNode, colour_of_class, picture, with_class_names
from jaxtree.plot.node_charts import ChartedRows, charted_rows, draw_chart, frame_of_chart, size_of_chart
from jaxtree.plot.style import broken, grey
from jaxtree.plot.tree_layout import LINE_HEIGHT, PADDING, FontSize, Places, Size, lay_out, size_of_text

LETTERS_OF_LINE, MOST_LINES = 20, 6
"""Letters of a line of text before it is broken between words, and the most lines that it is broken into."""

INK = "#1a1a1a"
"""The text in boxes, whose colours are pale in every style."""

POINTS_OF_INCH = 72
MOST_INCHES = 300
"""The widest figure; a tree that needs more has smaller text."""

MARGIN = 8.0


class _Drawn(NamedTuple):
    """The drawing.

    Attributes:
        nodes: The nodes.
        sizes: What they take, by number.
        layout: Where they stand.
        rows: The rows of the charts in them; None without any.
        fontsize: The size of their text.
        legend: The names of classes, each with its colour, in lines; empty without charts.
    """

    nodes: list[PicturedNode]
    sizes: dict[int, Size]
    layout: Places
    rows: ChartedRows | None
    fontsize: float
    legend: list[list[tuple[str, str]]]

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height of all, in points."""
        return self.layout.width + 2 * MARGIN, self.start + self.layout.height + MARGIN

    @property
    def start(self) -> float:
        """The top of the tree, below the legend."""
        return MARGIN + 1.6 * self.fontsize * len(self.legend) + (MARGIN if self.legend else 0)


def plot_tree(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    feature_names: Iterable[Any] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    fontsize: float | int = 9,
    ax: Axes | None = None,
) -> Axes:
    """Draws the tree of a fitted estimator: the split column, class or mean, and weight of every node.

    On the line to a child stands the threshold or the set of its branch; a long set has its first categories and how
    many they are. A plane of a hardened tree has its three terms of greatest weight. Given rows, every node has a chart
    of those that come to it: of the column that it asks about, coloured by class or against the target, with a mark at
    the threshold; of a leaf the classes, or the targets and their mean.

    Args:
        estimator: A fitted estimator with a `tree_`: a tree, a tree of a forest or the tree of a round (`estimators_`).
        X: Rows for the charts, of the fit or others; no charts if not given.
        y: Their classes or numbers.
        feature_names: Names of the columns, for a table that had none.
        class_names: Names of the classes, in the order of `classes_`.
        max_depth: How deep to draw; to the leaves if not given. A node whose children are left out ends with "…".
        fontsize: Size of the text, in points.
        ax: Where to draw, in smaller text where the tree has no room; a new figure of the tree's size if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one name a column or class; the depth is negative; X or y is given alone, is not
            like the fitted one, or the tree has several outputs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_tree(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        >>> [text.get_text().splitlines()[0] for text in ax.texts][:3]
        ['x2?', '0 100%', '≤ 2.45']
    """
    estimator = best_of_search(estimator)
    if (X is None) != (y is None):
        raise InvalidInputError("X and y go together, got one of them alone")
    nodes = picture(estimator, feature_names=feature_names, class_names=class_names, max_depth=max_depth)
    rows, names = None, []
    if X is not None:
        model = drawn_model(estimator)
        rows = charted_rows(estimator, model, nodes, X, y)
        names = [str(name) for own in with_class_names(model, class_names).classes for name in own]
    drawn = _arranged(nodes, rows, float(fontsize), names)
    ax = _new_axes(drawn) if ax is None else ax
    _draw_all(ax, drawn)
    return ax


def _arranged(nodes: list[PicturedNode], rows: ChartedRows | None, fontsize: float, names: list[str]) -> _Drawn:
    """Measures what is drawn, and finds a place for it."""
    sizes = {node.node: _size_of(node, rows, fontsize) for node in nodes}
    layout = lay_out(nodes, sizes, fontsize)
    entries = [(broken(name, 40).split("\n")[0], colour_of_class(place)) for place, name in enumerate(names)]
    lines: list[list[tuple[str, str]]] = [[]] if entries else []
    room = max(layout.width, 220.0)
    for entry in entries:
        taken = sum(_width_of_entry(name, fontsize) for name, _ in [*lines[-1], entry])
        if lines[-1] and taken > room:
            lines.append([])
        lines[-1].append(entry)
    return _Drawn(nodes, sizes, layout, rows, fontsize, lines)


def _width_of_entry(name: str, fontsize: float) -> float:
    return size_of_text(name, fontsize)[0] + 2.8 * fontsize


def _parts(node: PicturedNode) -> tuple[str, str]:
    """The question of a node and its prediction, in lines."""
    asks = node.lines[:1] if node.children else ()
    return _lines(asks), _lines(node.lines[len(asks) :])


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(broken(text, LETTERS_OF_LINE, MOST_LINES) for text in texts)


def _label(node: PicturedNode) -> str:
    return _lines([node.answer])


def _size_of(node: PicturedNode, rows: ChartedRows | None, fontsize: float) -> Size:
    above, below = (size_of_text(text, fontsize) for text in _parts(node))
    label = size_of_text(_label(node), 0.92 * fontsize)
    chart = size_of_chart(node, rows) if rows is not None else (0.0, 0.0)
    pad = PADDING * fontsize
    height = above[1] + below[1] + chart[1] + 2 * pad + (2 * 0.4 * fontsize if rows is not None else 0.0)
    width = max(above[0], below[0], chart[0] + 6.0 if rows is not None else 0.0) + 2 * pad
    return Size(width, height, label[0], label[1] + (0.35 * fontsize if label[1] else 0.0))


def _new_axes(drawn: _Drawn) -> Axes:
    """Axes that fill a figure of the size of the tree."""
    width, height = drawn.size
    shrunk = min(1.0, MOST_INCHES * POINTS_OF_INCH / max(width, height))
    inches = (max(1.5, shrunk * width / POINTS_OF_INCH), max(0.6, shrunk * height / POINTS_OF_INCH))
    figure = pyplot.figure(figsize=inches)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _draw_all(ax: Axes, drawn: _Drawn) -> None:
    """Draws the tree in the middle of axes whose unit is a point, or less where there is no room."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    room = (extent.width * POINTS_OF_INCH / figure.dpi, extent.height * POINTS_OF_INCH / figure.dpi)
    width, height = drawn.size
    scale = min(1.0, room[0] / width, room[1] / height)
    left, top = (room[0] / scale - width) / 2, (room[1] / scale - height) / 2
    ax.set(xlim=(-left, room[0] / scale - left), ylim=(room[1] / scale - top, -top))
    ax.set_autoscale_on(False)
    ax.set_axis_off()
    _draw_legend(ax, drawn, scale)
    for node in drawn.nodes:
        _draw_node(ax, node, drawn, scale)


def _draw_legend(ax: Axes, drawn: _Drawn, scale: float) -> None:
    size = drawn.fontsize
    for row, entries in enumerate(drawn.legend):
        x, y = MARGIN, MARGIN + 1.6 * size * row
        for name, colour in entries:
            ax.add_patch(Rectangle((x, y + 0.2 * size), 0.9 * size, 0.9 * size, facecolor=colour, edgecolor="none"))
            ax.text(
                x + 1.3 * size,
                y + 0.65 * size,
                name,
                va="center",
                fontsize=FontSize(size, scale).drawn,
                parse_math=False,
            )
            x += _width_of_entry(name, size)


def _draw_node(ax: Axes, node: PicturedNode, drawn: _Drawn, scale: float) -> None:
    size, layout, fontsize = drawn.sizes[node.node], drawn.layout, drawn.fontsize
    x, top = MARGIN + layout.middle[node.node], drawn.start + layout.top[node.depth]
    pad = PADDING * fontsize
    box = FancyBboxPatch(
        (x - size.width / 2, top), size.width, size.height, boxstyle=f"round,pad=0,rounding_size={0.4 * fontsize}",
        facecolor=node.colour, edgecolor=grey(), linewidth=max(0.3, 0.8 * scale), zorder=2, gid=f"node {node.node}",
    )  # fmt: skip
    ax.add_patch(box)
    words = {"ha": "center", "va": "center", "fontsize": FontSize(fontsize, scale).drawn, "color": INK, "zorder": 6}
    above, below = _parts(node)
    num_above, num_below = (text.count("\n") + 1 if text else 0 for text in (above, below))
    line = LINE_HEIGHT * fontsize
    if drawn.rows is None:
        text = "\n".join(part for part in (above, below) if part)
        ax.text(x, top + size.height / 2, text, parse_math=False, **words)
    else:
        if above:
            ax.text(x, top + pad + num_above * line / 2, above, parse_math=False, **words)
        frame = frame_of_chart(node, drawn.rows, x, top + pad + num_above * line + 0.4 * fontsize)
        draw_chart(ax, frame, node, drawn.rows, FontSize(0.72 * fontsize, scale))
        ax.text(x, top + size.height - pad - num_below * line / 2, below, parse_math=False, **words)
    if node.answer:
        _draw_branch(ax, node, drawn, scale)


def _draw_branch(ax: Axes, node: PicturedNode, drawn: _Drawn, scale: float) -> None:
    """The line from the parent, and the label that it ends at."""
    layout, sizes, fontsize = drawn.layout, drawn.sizes, drawn.fontsize
    x, above = MARGIN + layout.middle[node.node], MARGIN + layout.middle[node.parent]
    top, label = drawn.start + layout.top[node.depth], _label(node)
    end = top - sizes[node.node].label_height
    level = drawn.start + layout.top[node.depth - 1]
    heights = [level + sizes[node.parent].height, drawn.start + layout.bottom[node.depth - 1]]
    line = np.array([[above, heights[0]], [above, heights[1]], [x, drawn.start + layout.band[node.depth]], [x, end]])
    ax.plot(*line.T, color=grey(), linewidth=max(0.4, scale), zorder=1, solid_joinstyle="round")
    middle = end + (top - end - 0.25 * fontsize) / 2
    ax.text(
        x,
        middle,
        label,
        ha="center",
        va="center",
        fontsize=FontSize(0.92 * fontsize, scale).drawn,
        zorder=6,
        parse_math=False,
    )
