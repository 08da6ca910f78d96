"""The style of all drawings: axes, colours, scales, legends, and names that are broken into lines."""

import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import MissingExtraError
from jaxtree.export.answers import shortened_name
from jaxtree.export.pictures import CLASS_COLOURS, colour_of_class
from jaxtree.table.weights import check_sample_weight

try:
    from matplotlib import pyplot, rcParams
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap, to_rgb
    from matplotlib.font_manager import FontProperties
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtraError('drawings need matplotlib: pip install "jaxtree[plot]"') from error

BLUE, ORANGE = CLASS_COLOURS[:2]
INCHES_OF_LINE, HEIGHT_OF_LEGEND = 0.175, 4.8
"""The height of a line of a legend, and that of a legend from which on it has several columns."""

SHARE_OF_NAMES = 0.5
"""The most that names of rows take of the width of their axes."""

INCHES_OF_WIDE = 5.0
"""The width of a figure whose axes have room for a name as wide as they are without names of rows."""

LETTERS_IN_LEGEND = 32
"""Letters of a name in a legend."""

GREY = "#6b6b6b"
PALE = "#e4e4e4"

BLUES = LinearSegmentedColormap.from_list("jaxtree_blues", ["#f2f7fb", "#9cc7e3", BLUE, "#00304d"])
"""The colours of numbers: the darker the larger."""

LETTERS_OF_NAME = 26
"""Letters of a line of a name at an axis or in a legend."""

POINTS_OF_LETTER = 6.4
"""The width of a letter of such a name at most, on average."""

MOST_LINES_OF_NAME = 3
"""The most lines of such a name; what is left of it is "…"."""


def axes_to_draw_in(ax: Axes | None, size: tuple[float, float] = (6.0, 4.2)) -> Axes:
    """Returns the axes that were given, else those of a new figure of such a size in inches."""
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def weights_of(sample_weight: Any, num_rows: int) -> Float64[np.ndarray, " row"]:
    """The weights of rows that are drawn; 1 if not given."""
    weight = check_sample_weight(sample_weight, num_rows)
    return np.ones(num_rows) if weight is None else weight


def is_dark() -> bool:
    """Whether the style in use draws on a dark ground."""
    return sum(to_rgb(rcParams["axes.facecolor"])) < 1.5


def blue() -> str:
    """The colour of what is drawn alone, light on a dark ground."""
    return CLASS_COLOURS[4] if is_dark() else BLUE


def grey() -> str:
    """The colour of lines that are no data, on the ground of the style in use."""
    return "#a8a8a8" if is_dark() else GREY


def calm(ax: Axes, *, grid: bool = True) -> None:
    """Takes away the lines above and to the right, and draws a pale grid behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(grey())
    ax.tick_params(color=grey())
    if grid:
        ax.grid(color="#3a3a3a" if is_dark() else PALE, linewidth=0.8)
        ax.set_axisbelow(True)


class _Wrapper(textwrap.TextWrapper):
    """Breaks text between words, and within them behind "_", "/" and hyphens."""

    wordsep_re = re.compile(r"([ \t\n]+)|(?<=[_/-])(?=\w)")


def broken(name: Any, letters: int = LETTERS_OF_NAME, lines: int = MOST_LINES_OF_NAME) -> str:
    r"""Breaks a name into few lines, between words where it has some.

    >>> broken("number of times that a customer has called")
    'number of times that a\ncustomer has called'
    >>> broken("od280/od315_of_diluted_wines")
    'od280/od315_of_diluted_\nwines'
    """
    text = re.sub(r"[ \t\r\n]+", " ", str(name)).strip()
    return "\n".join(_Wrapper(letters, max_lines=lines, placeholder=" …").wrap(text)) or text


def name_axes(ax: Axes, x: str | None = None, y: str | None = None) -> None:
    """Writes names at the axes, in as many lines as their lengths need, and "$" as it is."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    letter = POINTS_OF_LETTER * figure.dpi / 72
    if x is not None:
        share = 1.0 if figure.get_size_inches()[0] >= INCHES_OF_WIDE else 0.7  # names of rows move narrow axes aside
        ax.set_xlabel(broken(x, max(8, int(share * extent.width / letter))), parse_math=False)
    if y is not None:
        ax.set_ylabel(broken(y, max(8, int(extent.height / letter))), parse_math=False)


def round_ticks(ax: Axes, axis: str = "both") -> None:
    """Sets a few ticks at round numbers, the fewer the less room there is."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    for name, inches in (("x", extent.width / figure.dpi / 0.75), ("y", extent.height / figure.dpi / 0.45)):
        if axis in (name, "both"):
            number = max(2, min(5, int(inches)))
            getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(number, steps=[1, 2, 2.5, 5, 10]))


def unit_of_times(days: float) -> tuple[float, str]:
    """The greatest of a day, an hour, a minute and a second of which some days have two, in days, and its name.

    >>> unit_of_times(0.25)[1]
    'h'
    """
    units = ((1.0, "days"), (1 / 24, "h"), (1 / 1440, "min"), (1 / 86_400, "s"))
    return next((unit for unit in units if days >= 2 * unit[0]), units[-1])


def draw_legend(ax: Axes, **options: Any) -> None:
    """Draws the legend; names are as they are, where Matplotlib would read "$" as the beginning of a formula."""
    for text in ax.legend(**{"frameon": False, "fontsize": "small", **options}).get_texts():
        text.set_parse_math(False)


def draw_legend_beside(ax: Axes, *, is_new: bool) -> None:
    """Draws the legend to the right of the axes, where it covers nothing.

    Args:
        ax: The axes.
        is_new: Whether the figure is drawn for them alone, and may become as wide as the legend needs.
    """
    figure: Any = ax.figure
    labels = ax.get_legend_handles_labels()[1]
    width, height = figure.get_size_inches()
    room = max(height, HEIGHT_OF_LEGEND) if is_new else height
    num_columns = -(-len(labels) // max(4, int((room - 0.5) / INCHES_OF_LINE)))
    if is_new and labels:
        longest = max(map(len, labels)) * 0.85 * POINTS_OF_LETTER / 72
        lines = -(-len(labels) // num_columns)
        size = (width + num_columns * (longest + 0.6) - 0.8, max(height, 0.5 + INCHES_OF_LINE * lines))
        figure.set_size_inches(*size)
    draw_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, ncols=num_columns)


def legend_name(name: Any) -> str:
    """A name of few letters for a legend, which leaves out those that begin with "_"."""
    words = shortened_name(str(name), LETTERS_IN_LEGEND)
    return f" {words}" if words.startswith("_") else words


def draw_scale(ax: Axes, drawn: Any, label: str) -> Any:
    """Draws the scale of the colours next to the axes, and returns it."""
    figure: Any = ax.figure
    bar = figure.colorbar(drawn, ax=ax, label=label)
    bar.outline.set_visible(False)
    return bar


def draw_bars(ax: Axes | None, names: Sequence[str], lengths: Any, spread: Any = None, *, colours: Any = None) -> Axes:
    """Draws a bar a name from the top down, with lines for standard deviations, and returns the axes."""
    ax = axes_to_draw_in(ax, (6.0, height_of_rows(names)))
    place = range(len(names))
    ax.barh(place, lengths, xerr=spread, color=colours or blue(), height=0.7, error_kw={"ecolor": grey(), "capsize": 2})
    name_rows(ax, names)
    round_ticks(ax, "x")
    return ax


def _inches_of_row(names: Sequence[str], letters: int = LETTERS_OF_NAME) -> float:
    """How far apart rows stand, so that no name lies on the next."""
    lines = [broken(name, letters).count("\n") + 1 for name in names]
    pairs = [0.0, *((one + other) / 2 for one, other in itertools.pairwise(lines))]
    return 0.17 * max(pairs) + 0.06


def height_of_rows(names: Sequence[str], least: float = 0.32, beside: float = 1.0) -> float:
    """The height of a new figure of rows of these names, in inches.

    Args:
        names: The names.
        least: The least height of a row.
        beside: The height above and below the rows.
    """
    return beside + len(names) * max(least, _inches_of_row(names))


def name_rows(ax: Axes, names: Sequence[str]) -> float:
    """Writes a name at each row of a chart, from the top down; returns the factor of text that lacks room.

    >>> name_rows(axes_to_draw_in(None), ["one", "two"])
    1.0
    """
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    points = extent.width * 72 / figure.dpi
    letters = min(LETTERS_OF_NAME, max(12, int(SHARE_OF_NAMES * points / POINTS_OF_LETTER)))
    ax.set_yticks(range(len(names)), [broken(name, letters) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    calm(ax)
    ax.grid(visible=False, axis="y")
    size = FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()
    room = extent.height / figure.dpi / max(1, len(names))
    factor = min(1.0, max(0.25, room / _inches_of_row(names, letters)))
    ax.tick_params(axis="y", length=0, labelsize=size * factor)
    return factor


def class_colour(place: int, *, of_many: bool = True) -> str:
    """The colour of a class or output; that of what is drawn alone, if it is."""
    return colour_of_class(place) if of_many else blue()


def named_shares(words: Sequence[str], shares: Iterable[float]) -> list[str]:
    """Names with their shares of the rows, as rows of a chart have them."""
    return [f"{shortened_name(word)}\N{NO-BREAK SPACE}({share:.0%})" for word, share in zip(words, shares, strict=True)]


def draw_points_by_name(ax: Axes, names: Sequence[str], points: dict[int, tuple[str, Any]], *, is_new: bool) -> None:
    """Draws points in a row a name: of every class its name and its values.

    Args:
        ax: The axes.
        names: The names of the rows, from the top down.
        points: The name and the values of each class, by its place; of one class alone in the colour of one.
        is_new: Whether the figure is drawn for these axes alone, and may become as wide as the legend needs.
    """
    for place, (label, values) in points.items():
        colour = class_colour(place, of_many=len(points) > 1)
        ax.plot(values, range(len(names)), "o", color=colour, label=legend_name(label), zorder=3)
    name_rows(ax, names)
    ax.grid(visible=True, axis="y")
    if len(points) > 1:
        draw_legend_beside(ax, is_new=is_new)
    round_ticks(ax, "x")


HEIGHT_OF_BARS = 0.14
"""The part of the axes that bars along its lower edge take."""


def draw_bars_below(ax: Axes, edges: Any, heights: Any) -> None:
    """Draws bars along the lower edge, below all curves."""
    most = heights.max(initial=0.0)
    low, high = ax.get_ylim()
    bars = {"transform": ax.get_xaxis_transform(), "color": grey(), "alpha": 0.45, "zorder": 0, "linewidth": 0}
    ax.bar(edges[:-1], 0.8 * HEIGHT_OF_BARS * heights / (most or 1.0), edges[1:] - edges[:-1], align="edge", **bars)
    ax.set_ylim(low - HEIGHT_OF_BARS / (1 - HEIGHT_OF_BARS) * (high - low), high)
