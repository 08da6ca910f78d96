"""Tables of figures for a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.suite.contenders import is_ours
from benchmarks.suite.figures import COLD, LIKE, PARTS

HEADINGS = ("", "together", "encoding", "growth", "score", "cold", "cached", "new process", "peak MiB")


def show_case(case: Mapping[str, Any], console: Console) -> None:
    """Prints the figures of a case."""
    console.rule(f"{case['name']}: {case['title']}", align="left")
    for point in case["points"]:
        _show_point(point, console)
    for name, found in case.get("exponents", {}).items():
        words = ", ".join(f"{part} {value:.2f}" for part, value in found.items())
        console.print(f"  exponent in {case['axis']}, {name}: {words}", highlight=False)
    for depth in case.get("memory", ()):
        console.print(f"  depth {depth['max_depth']}: {_memory_in_words(depth)}", highlight=False, markup=False)


def _memory_in_words(found: Mapping[str, Any]) -> str:
    if "error" in found:
        return found["error"]
    return (
        f"{found['bytes_a_row']:.0f} bytes a row = {found['of_the_table']} of the table + "
        f"{found['of_the_codes']} of the codes + {found['beside']:.0f} beside"
    )


def _show_point(point: Mapping[str, Any], console: Console) -> None:
    title = f"{point['label']} ({point['rows']:,} x {point['columns']}, {point['table_mib']:.0f} MiB)"
    has_cold = any("cold" in figures for figures in point["contenders"].values())
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for heading in HEADINGS if has_cold else HEADINGS[:5]:
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, figures in point["contenders"].items():
        if "error" not in figures:
            table.add_row(*_cells(name, figures, has_cold), style="bold" if is_ours(name) else "")
    console.print(table)
    for name, figures in point["contenders"].items():
        if "error" in figures:
            console.print(f"  {name}: {escape(figures['error'])}", highlight=False, style="yellow")
    for line in ratios_in_words(point):
        console.print(f"  {line}", highlight=False)
    console.print()


def _cells(name: str, figures: Mapping[str, Any], has_cold: bool) -> list[str]:
    cells = [name, *(in_words(figures[part]["median"]) if part in figures else "-" for part in PARTS)]
    cells.append(f"{figures['score']:.4f}" if "score" in figures else "-")
    if has_cold:
        cells += [in_words(figures[key]) if key in figures else "-" for key in COLD]
        cells.append(f"{figures['peak_mib']:.0f}" if "peak_mib" in figures else "-")
    return cells


def ratios_in_words(point: Mapping[str, Any]) -> list[str]:
    """Our ratio to the fastest peer of like quality, a line a part."""
    lines = []
    for part, found in point["ratios"].items():
        line = f"{part.replace('_', ' ')}: {found['ratio']:.2f} of {found['peer']}"
        if part in PARTS:
            line += f" (minima {found['ratio_of_minima']:.2f})"
        best = max((f["score"] for f in point["contenders"].values() if "score" in f), default=0.0)
        ours = next(f.get("score", best) for name, f in point["contenders"].items() if is_ours(name))
        if part == "together" and ours < best - LIKE:
            line += f"; our score is {best - ours:.3f} below the best"
        lines.append(line)
    return lines


def in_words(seconds: float) -> str:
    """Seconds in a unit that suits them.

    >>> in_words(12.345), in_words(0.01234), in_words(0.0000123)
    ('12.35 s', '12.3 ms', '12 µs')
    """
    if seconds >= 0.1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"
