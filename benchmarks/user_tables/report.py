"""One line of a cell, and what is said of all of them."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.suite.figures import LIKE
from benchmarks.user_tables.cells import FITS
from benchmarks.user_tables.libraries import OURS, PEER

Found = Mapping[str, Any]

HEADINGS = (
    ("table", 11), ("fit", 7),
    ("cold", 7), ("second", 7), ("warm", 7), ("sklearn", 8), ("ratio", 6),
    ("warm", 8), ("sklearn", 8), ("ratio", 6),
    ("jaxtree", 8), ("sklearn", 8),
)  # fmt: skip
"""Columns and how wide they are."""
GROUPS = (("", 2), ("CPU seconds", 5), ("wall seconds", 3), ("peak MiB", 2))
"""Groups of columns, and how many each has."""
NUM_WORDS = 2
"""Columns of words."""
MEASURES: dict[str, Callable[[Found], float]] = {
    "CPU ratio, warm": lambda cell: cell["ratios"]["cpu"],
    "wall ratio, warm": lambda cell: cell["ratios"]["wall"],
    "cold minus warm, CPU seconds": lambda cell: cell["cold_minus_warm_cpu"],
}
"""The figures of a cell that are summed up; larger is worse."""
WIDTH_OF_NAME, WIDTH_OF_MEASURE = 9, 37


def heading() -> str:
    """Two lines above those of the cells."""
    widths = [width for _, width in HEADINGS]
    groups = []
    for title, number in GROUPS:
        groups.append(title.center(sum(widths[:number]) + number - 1, "-" if title else " "))
        widths = widths[number:]
    return " ".join(groups) + "\n" + _aligned([name for name, _ in HEADINGS])


def line_of(cell: Found) -> str:
    """The figures of a cell in a line, or what went wrong."""
    if "error" in cell:
        return f"{_aligned([cell['table'], cell['fit']])} {cell['error']}"
    ours, peer, ratios = cell[OURS], cell[PEER], cell["ratios"]
    cpu = [ours["cold_cpu"], ours["second_cpu"], ours["warm_cpu"], peer["warm_cpu"], ratios["cpu"]]
    wall = [ours["warm_wall"], peer["warm_wall"], ratios["wall"]]
    memory = [f"{figures['peak_mib']:.0f}" for figures in (ours, peer)]
    return _aligned([cell["table"], cell["fit"], *map(short, cpu + wall), *memory])


def summarise(cells: Sequence[Found]) -> dict[str, dict[str, Any]]:
    """The median and the worst of every measure, by fit and of all; cells that failed do not count."""
    measured = [cell for cell in cells if "error" not in cell]
    groups = {fit: [cell for cell in measured if cell["fit"] == fit] for fit in FITS} | {"all": measured}
    return {
        name: {measure: _summary(group, of) for measure, of in MEASURES.items()}
        for name, group in groups.items()
        if group
    }


def summary_lines(cells: Sequence[Found]) -> list[str]:
    """The summary as a table, and where our score is lower."""
    summary = summarise(cells)
    lines = []
    if summary:
        lines.append(" " * WIDTH_OF_NAME + "".join(f"{measure:{WIDTH_OF_MEASURE}}" for measure in MEASURES))
        lines.append(" " * WIDTH_OF_NAME + len(MEASURES) * f"{' median   worst':{WIDTH_OF_MEASURE}}")
    for name, measures in summary.items():
        parts = "".join(f"{_in_words(found):{WIDTH_OF_MEASURE}}" for found in measures.values())
        lines.append(f"{name:{WIDTH_OF_NAME}}{parts}")
    lower = [_lower_score(cell) for cell in cells if _is_lower(cell)]
    return [line.rstrip() for line in lines] + (["", *lower] if lower else [])


def short(value: float) -> str:
    """Three digits, and no more than four decimals.

    >>> [short(value) for value in (123.456, 12.345, 1.2345, 0.12345, 0.00012345)]
    ['123', '12.3', '1.23', '0.123', '0.0001']
    """
    decimals = next((d for d, least in enumerate((100, 10, 1, 0.1)) if value >= least), 4)
    return f"{value:.{decimals}f}"


def _aligned(cells: Sequence[str]) -> str:
    """Words to the left, figures to the right."""
    widths = [width for _, width in HEADINGS]
    words = [cell.ljust(width) for cell, width in zip(cells[:NUM_WORDS], widths, strict=False)]
    figures = [cell.rjust(width) for cell, width in zip(cells[NUM_WORDS:], widths[NUM_WORDS:], strict=False)]
    return " ".join(words + figures)


def _summary(cells: Sequence[Found], of: Callable[[Found], float]) -> dict[str, Any]:
    worst = max(cells, key=of)
    return {
        "median": statistics.median(map(of, cells)),
        "worst": of(worst),
        "where": f"{worst['table']}/{worst['fit']}",
    }


def _in_words(found: Found) -> str:
    return f"{short(found['median']):>7} {short(found['worst']):>7} {found['where']}"


def _is_lower(cell: Found) -> bool:
    return "error" not in cell and cell[OURS]["score"] < cell[PEER]["score"] - LIKE


def _lower_score(cell: Found) -> str:
    scores = " and ".join(f"{cell[library]['score']:.3f} of {library}" for library in (OURS, PEER))
    return f"{cell['table']}/{cell['fit']}: our score is lower, {scores} ({cell['metric']})"
