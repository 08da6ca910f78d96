"""Lines in a box, as the numbers that a template draws an SVG from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.table.numerals import decimals_together, exact_decimal

WIDTH, HEIGHT = 320.0, 170.0
DIGITS_OF_ENDS, DIGITS_OF_TICKS = 4, 3
"""Significant digits at least."""

NUM_TICKS = 5
LONGEST_WORD = 12
MOST_WORDS = 10
LETTER = 6.5
"""Width of a letter below the box."""


class Line(NamedTuple):
    """A line of a chart.

    Attributes:
        name: What it is, for the legend.
        colour: "#rrggbb".
        height: Its number at every place.
    """

    name: str
    colour: str
    height: Float[np.ndarray, " place"]


class Chart(NamedTuple):
    """A chart, in units of the drawing.

    Attributes:
        title: Its heading.
        paths: Of every line its name, colour and path.
        across: Texts below the box, and where they stand.
        up: Texts beside the box, and where they stand.
        mark: Where a line from below to above stands; None for none.
        has_dots: Whether paths are dots that no lines join.
    """

    title: str
    paths: list[tuple[str, str, str]]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    mark: float | None
    has_dots: bool


def make_chart(
    title: str,
    place: Float[np.ndarray, " place"],
    lines: list[Line],
    *,
    words: list[str] | None = None,
    ends: tuple[str, str] | None = None,
    mark: float | None = None,
) -> Chart:
    """Returns a chart of lines over places; numbers that are not finite leave a gap.

    Args:
        title: Its heading.
        place: Where the numbers of all lines stand, ascending; the texts there are whole numbers.
        lines: The lines.
        words: Texts at every place, in the place of numbers; what has words is drawn as dots.
        ends: Texts at the first and the last place, in the place of numbers.
        mark: A place for a line from below to above.

    >>> chart = make_chart("", np.array([1.0, 2.0]), [Line("loss", "#000000", np.array([3.0, 1.0]))])
    >>> chart.paths[0][2], chart.up[0], chart.across[-1]
    ('M0.0 0.0L320.0 170.0', (170.0, '1'), (320.0, '2'))
    """
    heights = np.concatenate([line.height for line in lines])
    heights = heights[np.isfinite(heights)] if np.isfinite(heights).any() else np.zeros(1)
    low, high = float(heights.min()), float(heights.max())
    first, last = float(place[0]), float(place[-1])

    def at(x: float) -> float:
        return WIDTH * (x - first) / (last - first) if last > first else WIDTH / 2

    def above(y: float) -> float:
        return HEIGHT * (high - y) / (high - low) if high > low else HEIGHT / 2

    paths = []
    for line in lines:
        points = [
            f"{at(x):.1f} {above(y):.1f}" if np.isfinite(y) else None
            for x, y in zip(place.tolist(), line.height.tolist(), strict=True)
        ]
        path = "".join(f"M{point}h0" for point in points if point) if words is not None else _path(points)
        paths.append((line.name, line.colour, path))
    across = [(at(x), exact_decimal(x)) for x in np.unique(np.rint(np.linspace(first, last, NUM_TICKS))).tolist()]
    if words is not None:
        step = -(-len(words) // MOST_WORDS)
        letters = min(LONGEST_WORD, int(WIDTH * step / max(len(words) - 1, 1) / LETTER))
        across = [(at(x), _short(word, letters)) for x, word in zip(place.tolist()[::step], words[::step], strict=True)]
    elif ends is not None:
        across = [(at(x), word) for x, word in dict(zip((first, last), ends, strict=True)).items()]
    ticks = np.unique(np.linspace(low, high, NUM_TICKS)).tolist()
    up = [(above(y), words) for y, words in zip(ticks, decimals_together(ticks, DIGITS_OF_TICKS), strict=True)]
    return Chart(title, paths, across, up, None if mark is None else at(mark), words is not None)


def _path(points: list[str | None]) -> str:
    """The path through points, which begins anew behind a gap."""
    parts, is_begun = [], False
    for number, point in enumerate(points):
        if point is not None:
            is_alone = not is_begun and (number + 1 == len(points) or points[number + 1] is None)
            parts.append(f"{'L' if is_begun else 'M'}{point}" + ("h0" if is_alone else ""))
        is_begun = point is not None
    return "".join(parts)


def _short(word: str, letters: int) -> str:
    return word if len(word) <= letters else f"{word[: letters - 1]}…"
