"""Drawings of trees: boxes with what nodes ask and predict, and small charts of their rows."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle
from matplotlib.ticker import MaxNLocator

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import group_codes
from jaxtree.export.models import best_of_search, drawn_model
from jaxtree.export.pictures import PicturedNode, colour_of_class, picture, with_class_names
from jaxtree.figures.nodes import MOST_BARS, NodeBars, bars_of_nodes, visits_of
from jaxtree.plot.style import BLUE, GREY, ORANGE, broken, grey, unit_of_times, weights_of
from jaxtree.plot.tree_layout import LINE_HEIGHT, PADDING, FontSize, Places, Size, lay_out, size_of_text
from jaxtree.table.numerals import decimals_together
from jaxtree.table.schema import Column
from jaxtree.table.weights import read_weights
from jaxtree.tree import SplitKind
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.model import FittedModel

WIDTH, HEIGHT, HEIGHT_OF_BAR = 104.0, 44.0, 14.0
"""The size of a chart in points, and the height of that of a leaf of classes."""

ROOM_FOR_TICKS = 12.0
"""The height of the numbers below a chart."""

MOST_POINTS = 200
"""The most points of a chart."""


class Frame(NamedTuple):
    """The place of a chart: its left upper corner, and its size without the numbers below it."""

    left: float
    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """The lower edge, on which bars stand."""
        return self.top + self.height


class ChartedRows(NamedTuple):
    """The rows that charts are of.

    Attributes:
        of_node: The rows that come to each node, also in parts.
        bars: Their histograms by what each node that splits compares, a stack a class.
        target: Their classes as codes, or their numbers.
        weight: Their weights; those of weight 0 come to no node.
        num_classes: The number of classes; 0 for numbers.
        values: The values that every node that splits compares, for all rows; NaN is missing.
        limit: The threshold of a number there; NaN for categories.
        branch: The branch of every category there; empty for numbers.
        column: The column there.
    """

    of_node: list[Int[np.ndarray, " some"]]
    bars: NodeBars
    target: Real[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]
    num_classes: int
    values: dict[int, Float[np.ndarray, " row"]]
    limit: dict[int, float]
    branch: dict[int, Int[np.ndarray, " code"]]
    column: dict[int, Column]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest target of rows of some weight."""
        target = self.target[self.weight > 0]
        return float(target.min()), float(target.max())


def charted_rows(
    estimator: Any, model: FittedModel, nodes: Sequence[PicturedNode], X: Any, y: Any, sample_weight: Any = None
) -> ChartedRows:
    """Sends rows through a tree.

    Args:
        estimator: The tree.
        model: Its model, as drawings take it.
        nodes: The nodes that are drawn.
        X: A table.
        y: Its targets.
        sample_weight: The weight of every row; None is 1.

    Raises:
        InvalidInputError: The tree has several outputs, there is no row, targets are not as many as rows or no numbers,
            or a weight is not allowed.
    """
    if model.num_outputs != 1 and model.classes:
        raise InvalidInputError(f"charts in nodes are of one output, and the tree has {model.num_outputs}")
    values = np.asarray(estimator.encoder_.values(X), np.float64)
    target = model.encode_target(y)[0] if model.classes else _numbers(y)
    if not len(values) or target.shape != (len(values),):
        raise InvalidInputError(f"X and y must have as many rows, at least one, got {len(values)} and {len(target)}")
    weight = weights_of(sample_weight, len(values))
    tree, asking = model.tree, [node.node for node in nodes if node.children]
    is_plane = estimator.model_kind == ModelKind.PLANES
    if is_plane:
        row, end = np.arange(len(values)), estimator.apply(X)
    else:
        row, end = model.predictor.instances(values)[:2]
    of_questions = estimator.plane_columns(X) if is_plane else values
    compared, limit, branch, column = {}, {}, {}, {}
    num_categories = np.zeros(tree.node_count, np.int64)
    for node in asking:
        own = column[node] = model.schema.columns[tree.feature[node]]
        threshold, is_number = float(tree.threshold[node]), own.kind == "numeric"
        num_categories[node] = 0 if is_number else own.num_values
        compared[node] = (
            _plane(estimator.tree_, node, of_questions, threshold) if is_plane else values[:, int(tree.feature[node])]
        )
        limit[node] = threshold if is_number else np.nan
        branch[node] = np.zeros(0, int) if is_number else _branches(model, node, own.num_values)
    num_classes = len(model.classes[0]) if model.classes else 0
    visits = visits_of(tree, row, end, len(values))
    is_there = weight[visits.row] > 0
    if num_classes:  # classes that fit has not seen are not drawn
        is_there &= target[visits.row] >= 0
    visits = visits.those(is_there)
    of_node = np.split(visits.row, np.searchsorted(visits.node, np.arange(1, tree.node_count)))
    asked = visits.those(np.isin(visits.node, asking))
    value = np.concatenate([np.zeros(0), *(compared[node][of_node[node]] for node in sorted(asking))])
    stack = target[asked.row] if num_classes else np.zeros(asked.row.size, np.int64)
    bars = bars_of_nodes(asked, value, num_categories, stack, max(num_classes, 1), weight[asked.row])
    return ChartedRows(of_node, bars, target, weight, num_classes, compared, limit, branch, column)


def _numbers(y: Any) -> Float[np.ndarray, " row"]:
    try:
        numbers = np.asarray(vector_of_column(y), np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("y must be numbers, for a tree that predicts numbers") from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidInputError(f"y must be finite numbers in one column, got shape {numbers.shape}")
    return numbers


def _plane(oblique: Any, node: int, x: Any, limit: float) -> Float[np.ndarray, " row"]:
    """The sum that a plane compares with its limit."""
    return x @ oblique.normal[node] + oblique.offset[node] + limit


def _branches(model: FittedModel, node: int, num_codes: int) -> Int[np.ndarray, " code"]:
    tree, codes = model.tree, np.arange(num_codes)
    if tree.split_kind[node] == SplitKind.MULTIWAY:
        return codes
    if tree.split_kind[node] == SplitKind.THRESHOLD:
        return (codes > float(tree.threshold[node])).astype(int)
    return np.isin(codes, group_codes(tree, model.schema, node)).astype(int)


def size_of_chart(node: PicturedNode, rows: ChartedRows) -> tuple[float, float]:
    """The width and the height that the chart of a node takes, with the numbers below it."""
    frame = frame_of_chart(node, rows, 0.0, 0.0)
    return frame.width, frame.height + (ROOM_FOR_TICKS if frame.height == HEIGHT else 0.0)


def frame_of_chart(node: PicturedNode, rows: ChartedRows, middle: float, top: float) -> Frame:
    """The frame of the chart of a node, in the middle below some height."""
    is_bar = rows.num_classes and not node.children
    return Frame(middle - WIDTH / 2, top, WIDTH, HEIGHT_OF_BAR if is_bar else HEIGHT)


def draw_chart(ax: Axes, frame: Frame, node: PicturedNode, rows: ChartedRows, fontsize: FontSize) -> None:
    """Draws the chart of a node.

    Args:
        ax: The axes, in points.
        frame: Where.
        node: The node.
        rows: The rows.
        fontsize: The size of the numbers.
    """
    own, number = rows.of_node[node.node], node.node
    ax.add_patch(Rectangle(frame[:2], frame.width, frame.height, facecolor="white", edgecolor="none", zorder=3))
    if not own.size:
        return
    target, weight = rows.target[own], rows.weight[own]
    if not node.children:
        if rows.num_classes:
            _draw_shares(ax, frame, np.bincount(target, weight, rows.num_classes))
        else:
            edges = np.linspace(*_widened(*rows.range), MOST_BARS + 1)
            _draw_histogram(ax, frame, np.histogram(target, edges, weights=weight)[0][None], (BLUE,))
            _draw_line(ax, frame, edges, float(np.average(target, weights=weight)))
            _draw_ticks(ax, frame, edges, fontsize, None)
    elif rows.branch[number].size:
        _draw_categories(ax, frame, own, rows, number)
    else:
        _draw_numbers(ax, frame, number, own, rows, fontsize)


def _draw_numbers(
    ax: Axes, frame: Frame, number: int, own: Int[np.ndarray, " some"], rows: ChartedRows, fontsize: FontSize
) -> None:
    """The rows of a node by the number that it asks about."""
    own = own[np.isfinite(rows.values[number][own])]
    if not own.size:
        return
    values, target, limit = rows.values[number][own], rows.target[own], rows.limit[number]
    heights = rows.bars.heights[number]
    edges = np.linspace(*_widened(float(rows.bars.low[number]), float(rows.bars.high[number])), len(heights) + 1)
    if rows.num_classes:
        colours = [colour_of_class(place) for place in range(rows.num_classes)]
        _draw_histogram(ax, frame, heights.T, colours)
    else:
        _draw_points(ax, frame, (values - edges[0]) / (edges[-1] - edges[0]), target, rows)
        _draw_means(ax, frame, edges, number, own, rows)
    if np.isfinite(limit):
        _draw_line(ax, frame, edges, limit)
    _draw_ticks(ax, frame, edges, fontsize, rows.column[number])


def _draw_categories(ax: Axes, frame: Frame, own: Int[np.ndarray, " some"], rows: ChartedRows, number: int) -> None:
    """The rows of a node by category: those of one branch next to one another, a gap between branches."""
    own = own[np.isfinite(rows.values[number][own])]
    codes, target, weight = rows.values[number][own].astype(int), rows.target[own], rows.weight[own]
    branch = rows.branch[number]
    present = np.array([code for code in np.argsort(branch, kind="stable") if (codes == code).any()], int)
    if not present.size:
        return
    gaps = np.concatenate([[0], np.cumsum(np.diff(branch[present]) != 0)])
    place = np.arange(present.size) + 0.8 * gaps
    width = frame.width / (place[-1] + 1)
    left = frame.left + place * width
    if rows.num_classes:
        is_code = codes == present[:, None]
        counts = np.array([np.bincount(target[chosen], weight[chosen], rows.num_classes) for chosen in is_code])
        colours = [colour_of_class(place) for place in range(rows.num_classes)]
        _draw_stacks(ax, frame, counts.T, left, 0.9 * width, colours)
        return
    spot = np.searchsorted(np.sort(present), codes)
    middle = (place[np.argsort(present)][spot] + 0.45) / (place[-1] + 1)
    _draw_points(ax, frame, middle, target, rows)
    low, high = _widened(*rows.range)
    for code, start in zip(present, left, strict=True):
        mean = float(np.average(target[codes == code], weights=weight[codes == code]))
        height = frame.bottom - frame.height * (mean - low) / (high - low)
        ax.plot([start, start + 0.9 * width], [height, height], color=ORANGE, linewidth=1.4, zorder=5)


def _widened(low: float, high: float) -> tuple[float, float]:
    half = max(0.5, float(np.spacing(abs(low))))
    return (low, high) if high > low else (low - half, high + half)


def _draw_histogram(ax: Axes, frame: Frame, counts: Any, colours: Sequence[str]) -> None:
    width = frame.width / counts.shape[1]
    _draw_stacks(ax, frame, counts, frame.left + width * np.arange(counts.shape[1]), 0.94 * width, colours)


def _draw_stacks(ax: Axes, frame: Frame, counts: Any, left: Any, width: float, colours: Sequence[str]) -> None:
    """Bars side by side, in each the groups on top of one another."""
    most = counts.sum(axis=0).max()
    unit = 0.94 * frame.height / (most if most > 0 else 1)
    base = np.cumsum(counts, axis=0)
    groups, places = np.nonzero(counts)
    shades = [colours[int(group)] for group in groups]
    bars = [
        Rectangle((left[place], frame.bottom - unit * base[group, place]), width, unit * counts[group, place])
        for group, place in zip(groups.tolist(), places.tolist(), strict=True)
    ]
    ax.add_collection(PatchCollection(bars, facecolor=shades, linewidth=0, zorder=4))


def _draw_shares(ax: Axes, frame: Frame, counts: Float[np.ndarray, " class"]) -> None:
    """One bar from left to right, of the share of every class."""
    ends = (np.append(0, np.cumsum(counts)) * frame.width / counts.sum()).tolist()
    places = np.flatnonzero(counts).tolist()
    bars = [Rectangle((frame.left + ends[own], frame.top), ends[own + 1] - ends[own], frame.height) for own in places]
    colours = [colour_of_class(own) for own in places]
    ax.add_collection(PatchCollection(bars, facecolor=colours, edgecolor="white", linewidth=0.4, zorder=4))


def _draw_points(ax: Axes, frame: Frame, place: Float[np.ndarray, " some"], target: Any, rows: ChartedRows) -> None:
    """A point a row, at most some, evenly chosen: from left to right by its place, upwards by its target."""
    low, high = _widened(*rows.range)
    chosen: Int[np.ndarray, " some"] = np.linspace(0, place.size - 1, min(place.size, MOST_POINTS)).astype(int)
    height = frame.bottom - frame.height * (target[chosen] - low) / (high - low)
    ax.scatter(frame.left + frame.width * place[chosen], height, s=4.0, color=BLUE, alpha=0.6, linewidth=0, zorder=4)


def _draw_means(
    ax: Axes, frame: Frame, edges: Any, number: int, own: Int[np.ndarray, " some"], rows: ChartedRows
) -> None:
    """A line for the mean of the targets on each side of the threshold."""
    values, target, weight, limit = rows.values[number][own], rows.target[own], rows.weight[own], rows.limit[number]
    low, high = _widened(*rows.range)
    middle = float(np.clip((limit - edges[0]) / (edges[-1] - edges[0]), 0, 1))
    is_below: Bool[np.ndarray, " some"] = values <= limit
    for side, start, end in ((is_below, 0.0, middle), (~is_below, middle, 1.0)):
        if side.any():
            mean = float(np.average(target[side], weights=weight[side]))
            height = frame.bottom - frame.height * (mean - low) / (high - low)
            ends = [frame.left + frame.width * start, frame.left + frame.width * end]
            ax.plot(ends, [height, height], color=ORANGE, linewidth=1.4, zorder=5)


def _draw_line(ax: Axes, frame: Frame, edges: Any, value: float) -> None:
    """A line at a number, with a mark below the chart."""
    x = frame.left + frame.width * float(np.clip((value - edges[0]) / (edges[-1] - edges[0]), 0, 1))
    ax.plot([x, x], [frame.top, frame.bottom], color="black", linewidth=0.8, linestyle=(0, (3, 2)), zorder=5)
    mark = [(x, frame.bottom), (x - 2.6, frame.bottom + 4.2), (x + 2.6, frame.bottom + 4.2)]
    ax.add_patch(Polygon(mark, facecolor="black", edgecolor="none", zorder=6))


def _draw_ticks(ax: Axes, frame: Frame, edges: Any, fontsize: FontSize, column: Column | None) -> None:
    """A line below the chart, and a round number near each of its ends, if there is room for two."""
    ax.plot([frame.left, frame.left + frame.width], [frame.bottom] * 2, color=GREY, linewidth=0.6, zorder=4)
    unit = 1.0 if column is None or column.time is None else unit_of_times(float(edges[-1] - edges[0]))[0]
    ticks = unit * np.array(MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(edges[0] / unit, edges[-1] / unit))
    ticks = ticks[(ticks >= edges[0]) & (ticks <= edges[-1])]
    chosen = ticks[:: max(1, len(ticks) - 1)][:2].tolist()
    taken = frame.left
    for tick, words in zip(chosen, _in_words(chosen, column, float(edges[-1] - edges[0])), strict=True):
        half = size_of_text(words, fontsize.laid_out)[0] / 2
        x = frame.left + frame.width * (tick - edges[0]) / (edges[-1] - edges[0])
        middle = min(max(x, frame.left + half), frame.left + frame.width - half)
        if middle - half >= taken:
            ax.plot([x, x], [frame.bottom, frame.bottom + 1.6], color=GREY, linewidth=0.6, zorder=4)
            look = {"fontsize": fontsize.drawn, "color": "#3a3a3a", "zorder": 6, "ha": "center", "va": "top"}
            ax.text(middle, frame.bottom + 4.6, words, parse_math=False, **look)
            taken = middle + half + fontsize.laid_out


FEWEST_DAYS = 4.0
"""Days that a chart of dates spans before its ticks are written without the time of day."""


def _in_words(ticks: list[float], column: Column | None, span: float) -> list[str]:
    """Writes numbers so that they can be told apart, and days as dates."""
    if column is None or column.time is None:
        return decimals_together(ticks, 3)
    is_day = span > FEWEST_DAYS and column.time.kind != "duration"
    words = [column.time.in_words(float(round(tick)) if is_day else tick).removesuffix(" UTC") for tick in ticks]
    return [word[:10] for word in words] if is_day else words


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
        sizes: Their widths and heights, by number.
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
    **weights: Any,
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
        **weights: `sample_weight`, the weight of every row of X in the charts; rows of weight 0 are left out.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one name a column or class; the depth is negative; X or y is given alone, is not
            like the fitted one, or the tree has several outputs.
        InvalidTypeError: There is no such argument.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_tree(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        >>> [text.get_text().splitlines()[0] for text in ax.texts][:3]
        ['x2?', '0 100%', '≤ 2.45']
    """
    estimator = best_of_search(estimator)
    if (X is None) != (y is None):
        raise InvalidInputError("X and y go together, got only one")
    nodes = picture(estimator, feature_names=feature_names, class_names=class_names, max_depth=max_depth)
    rows, names = None, []
    weight = read_weights("plot_tree", [] if X is None else X, weights)
    if X is not None:
        model = drawn_model(estimator)
        rows = charted_rows(estimator, model, nodes, X, y, weight)
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
