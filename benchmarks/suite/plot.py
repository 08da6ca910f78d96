"""Pictures of the figures: seconds of every point, and lines of every scaling case."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite.contenders import PLACES

MARKERS = "osD^vPX*<>"


def draw(cases: Sequence[Mapping[str, Any]], path: Path) -> list[Path]:
    """Draws what there is; returns the files, named after `path`."""
    import matplotlib

    matplotlib.use("Agg")
    points = [(case, point) for case in cases if not case["axis"] for point in case["points"]]
    scalings = [case for case in cases if case["axis"]]
    written = []
    if points:
        written.append(_save(_dots(points), path.with_suffix(".png")))
    if scalings:
        written.append(_save(_lines(scalings), path.with_name(f"{path.name}-scaling.png")))
    return written


def _save(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot

    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
    return path


def _style(name: str) -> dict[str, Any]:
    """The same colour and marker in every picture; both forms of a library's search look like the library."""
    number = list(PLACES).index(name.removesuffix("-search") if name.endswith("-search") else name)
    return {"color": f"C{number}", "marker": MARKERS[number]}


def _dots(points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Any:
    """A row a point, a dot a contender: median seconds from raw table to model, or of the prediction."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.28 * len(points)))
    labels: dict[str, Any] = {}
    for row, (_, point) in enumerate(points):
        for name, figures in point["contenders"].items():
            if "together" in figures:
                dots = axes.plot(figures["together"]["median"], row, linestyle="none", **_style(name))
                labels.setdefault(name.removesuffix("-search"), dots[0])
    axes.set_yticks(range(len(points)), [f"{case['name']}, {point['label']}" for case, point in points])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds, median of warm calls, encoding included")
    axes.grid(alpha=0.3)
    axes.legend(labels.values(), labels.keys(), loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _lines(cases: Sequence[Mapping[str, Any]]) -> Any:
    """A panel an axis: seconds of growth where they are apart, of all where not, and the exponents."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(cases), figsize=(3.4 * len(cases), 3.4), squeeze=False)
    for case, axes in zip(cases, panels[0], strict=True):
        for name, found in case["exponents"].items():
            part = "growth" if "growth" in found else "together"
            timed = [(p["value"], p["contenders"].get(name, {}).get(part)) for p in case["points"]]
            values, seconds = zip(*((v, t["median"]) for v, t in timed if t), strict=True)
            axes.plot(values, seconds, label=f"{name}, {part}: {found[part]:.2f}", **_style(name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [point["value"] for point in case["points"]]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize="small")
        axes.minorticks_off()
        axes.set_xlabel(case["axis"])
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    panels[0][0].set_ylabel("seconds, median of warm calls")
    return figure
