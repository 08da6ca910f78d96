"""The small charts in the nodes of a drawn tree: the column that a split asks about, and what the rows of a leaf are.

For classes a histogram of the column, coloured by class, and a bar of the classes of a leaf; for numbers the targets
against the column, and a histogram of the targets of a leaf. All are drawn in points, downwards from the top.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import MaxNLocator

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import group_codes
from jaxtree.export.pictures import PicturedNode, colour_of_class
from jaxtree.plot.style import BLUE, GREY, ORANGE, unit_of_times
from jaxtree.plot.tree_layout import FontSize, size_of_text
from jaxtree.table.numerals import decimals_together
from jaxtree.table.schema import Column
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.model import FittedModel

WIDTH, HEIGHT, HEIGHT_OF_BAR = 104.0, 44.0, 14.0
"""The size of a chart in points, and the height of that of a leaf of classes."""

ROOM_FOR_TICKS = 12.0
"""The height of the numbers below a chart."""

NUM_BINS = 16
MOST_POINTS = 200
"""Bars of a histogram, and the most points of a chart."""


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
        of_node: The rows that come to each node.
        target: Their classes as codes, or their numbers.
        num_classes: The number of classes; 0 for numbers.
        values: What is compared at every node that splits, for all rows; NaN is missing.
        limit: The threshold of a number there; NaN for categories.
        branch: The branch of every category there; empty for numbers.
        column: The column there.
    """

    of_node: dict[int, Int[np.ndarray, " some"]]
    target: Real[np.ndarray, " row"]
    num_classes: int
    values: dict[int, Float[np.ndarray, " row"]]
    limit: dict[int, float]
    branch: dict[int, Int[np.ndarray, " code"]]
    column: dict[int, Column]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest target."""
        return (float(self.target.min()), float(self.target.max())) if self.target.size else (0.0, 1.0)


def charted_rows(estimator: Any, model: FittedModel, nodes: Sequence[PicturedNode], X: Any, y: Any) -> ChartedRows:
    """Sends rows through a tree.

    Args:
        estimator: The tree.
        model: Its model, as drawings take it.
        nodes: The nodes that are drawn.
        X: A table.
        y: Its targets.

    Raises:
        InvalidInputError: The tree has several outputs, there is no row, or targets are not as many as rows or no
            numbers.
    """
    if model.num_outputs != 1 and model.classes:
        raise InvalidInputError(f"charts in nodes are of one output, and the tree has {model.num_outputs}")
    values = np.asarray(estimator.encoder_.values(X), np.float64)
    target = model.encode_target(y)[0] if model.classes else _numbers(y)
    if not len(values) or target.shape != (len(values),):
        raise InvalidInputError(f"X and y must have as many rows, at least one, got {len(values)} and {len(target)}")
    tree, asking = model.tree, [node.node for node in nodes if node.children]
    is_plane = hasattr(estimator, "plane_columns")
    ends = estimator.apply(X) if is_plane else model.predictor.ends(values)
    of_questions = estimator.plane_columns(X) if is_plane else values
    compared, limit, branch, column = {}, {}, {}, {}
    for node in asking:
        feature = model.schema.features[int(tree.feature[node])]
        column[node] = model.schema.columns[feature.column]
        threshold, is_number = float(tree.threshold[node]), feature.kind == "numeric"
        compared[node] = (
            _plane(estimator.tree_, node, of_questions, threshold) if is_plane else values[:, int(tree.feature[node])]
        )
        limit[node] = threshold if is_number else np.nan
        branch[node] = np.zeros(0, int) if is_number else _branches(model, node, feature.num_values)
    num_classes = len(model.classes[0]) if model.classes else 0
    return ChartedRows(_rows_of_nodes(tree, ends), target, num_classes, compared, limit, branch, column)


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


def _rows_of_nodes(tree: Tree, ends: Int[np.ndarray, " row"]) -> dict[int, Int[np.ndarray, " some"]]:
    """The rows at every node: those that end there and those of its children, which have greater numbers."""
    order = np.argsort(ends, kind="stable")
    groups = np.split(order, np.searchsorted(ends[order], np.arange(1, tree.node_count)))
    rows = dict(enumerate(groups))
    for node in range(tree.node_count - 1, 0, -1):
        parent = int(tree.parent[node])
        rows[parent] = np.concatenate([rows[parent], rows[node]])
    return {node: np.sort(own) for node, own in rows.items()}


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
    own = own[rows.target[own] >= 0] if rows.num_classes else own  # not those of a class that fit has not seen
    ax.add_patch(Rectangle(frame[:2], frame.width, frame.height, facecolor="white", edgecolor="none", zorder=3))
    if not own.size:
        return
    target = rows.target[own]
    if not node.children:
        if rows.num_classes:
            _draw_shares(ax, frame, target, rows.num_classes)
        else:
            edges = np.linspace(*_widened(*rows.range), NUM_BINS + 1)
            _draw_histogram(ax, frame, _counts(target, np.zeros(target.size, int), edges, 1), (BLUE,))
            _draw_line(ax, frame, edges, float(target.mean()))
            _draw_ticks(ax, frame, edges, fontsize, None)
    elif rows.branch[number].size:
        _draw_categories(ax, frame, rows.values[number][own], target, rows, number)
    else:
        _draw_numbers(ax, frame, number, own, rows, fontsize)


def _draw_numbers(
    ax: Axes, frame: Frame, number: int, own: Int[np.ndarray, " some"], rows: ChartedRows, fontsize: FontSize
) -> None:
    """The rows of a node by the number that it asks about."""
    values, target = rows.values[number][own], rows.target[own]
    known = np.isfinite(values)
    if not known.any():
        return
    values, target, limit = values[known], target[known], rows.limit[number]
    edges = np.linspace(*_widened(float(values.min()), float(values.max())), NUM_BINS + 1)
    if rows.num_classes:
        colours = [colour_of_class(place) for place in range(rows.num_classes)]
        _draw_histogram(ax, frame, _counts(values, target, edges, rows.num_classes), colours)
    else:
        _draw_points(ax, frame, (values - edges[0]) / (edges[-1] - edges[0]), target, rows)
        _draw_means(ax, frame, edges, (values, target, limit), rows)
    if np.isfinite(limit):
        _draw_line(ax, frame, edges, limit)
    _draw_ticks(ax, frame, edges, fontsize, rows.column[number])


def _draw_categories(ax: Axes, frame: Frame, codes: Any, target: Any, rows: ChartedRows, number: int) -> None:
    """The rows of a node by category: those of one branch next to one another, a gap between branches."""
    known = np.isfinite(codes)
    codes, target = codes[known].astype(int), target[known]
    branch = rows.branch[number]
    present = np.array([code for code in np.argsort(branch, kind="stable") if (codes == code).any()], int)
    if not present.size:
        return
    gaps = np.concatenate([[0], np.cumsum(np.diff(branch[present]) != 0)])
    place = np.arange(present.size) + 0.8 * gaps
    width = frame.width / (place[-1] + 1)
    left = frame.left + place * width
    if rows.num_classes:
        counts = np.array([np.bincount(target[codes == code], minlength=rows.num_classes) for code in present])
        colours = [colour_of_class(own) for own in range(rows.num_classes)]
        _draw_stacks(ax, frame, counts.T, left, 0.9 * width, colours)
        return
    spot = np.searchsorted(np.sort(present), codes)
    middle = (place[np.argsort(present)][spot] + 0.45) / (place[-1] + 1)
    _draw_points(ax, frame, middle, target, rows)
    low, high = _widened(*rows.range)
    for code, start in zip(present, left, strict=True):
        height = frame.bottom - frame.height * (float(target[codes == code].mean()) - low) / (high - low)
        ax.plot([start, start + 0.9 * width], [height, height], color=ORANGE, linewidth=1.4, zorder=5)


def _widened(low: float, high: float) -> tuple[float, float]:
    half = max(0.5, float(np.spacing(abs(low))))
    return (low, high) if high > low else (low - half, high + half)


def _counts(values: Any, group: Any, edges: Any, num_groups: int) -> Int[np.ndarray, "group bin"]:
    """The rows of every group in every bin."""
    return np.array([np.histogram(values[group == own], edges)[0] for own in range(num_groups)])


def _draw_histogram(ax: Axes, frame: Frame, counts: Any, colours: Sequence[str]) -> None:
    width = frame.width / counts.shape[1]
    _draw_stacks(ax, frame, counts, frame.left + width * np.arange(counts.shape[1]), 0.94 * width, colours)


def _draw_stacks(ax: Axes, frame: Frame, counts: Any, left: Any, width: float, colours: Sequence[str]) -> None:
    """Bars side by side, in each the groups on top of one another."""
    unit = 0.94 * frame.height / max(1, counts.sum(axis=0).max())
    base = np.cumsum(counts, axis=0)
    groups, places = np.nonzero(counts)
    shades = [colours[int(group)] for group in groups]
    bars = [
        Rectangle((left[place], frame.bottom - unit * base[group, place]), width, unit * counts[group, place])
        for group, place in zip(groups.tolist(), places.tolist(), strict=True)
    ]
    ax.add_collection(PatchCollection(bars, facecolor=shades, linewidth=0, zorder=4))


def _draw_shares(ax: Axes, frame: Frame, target: Any, num_classes: int) -> None:
    """One bar from left to right, of the share of every class."""
    counts = np.bincount(target, minlength=num_classes)
    ends = (np.append(0, np.cumsum(counts)) * frame.width / max(1, counts.sum())).tolist()
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


def _draw_means(ax: Axes, frame: Frame, edges: Any, points: tuple[Any, Any, float], rows: ChartedRows) -> None:
    """A line for the mean of the targets on each side of the threshold."""
    values, target, limit = points
    low, high = _widened(*rows.range)
    middle = float(np.clip((limit - edges[0]) / (edges[-1] - edges[0]), 0, 1))
    is_below: Bool[np.ndarray, " some"] = values <= limit
    for side, start, end in ((is_below, 0.0, middle), (~is_below, middle, 1.0)):
        if side.any():
            height = frame.bottom - frame.height * (float(target[side].mean()) - low) / (high - low)
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
