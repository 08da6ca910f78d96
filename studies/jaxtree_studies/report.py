"""How the studies report: figures of one style, and a page that needs no network; whole or not at all.

The same results always give the same bytes. Colours are those of Okabe and Ito (2008), which colour-blind readers can
distinguish.
"""

import base64
import functools
import io
import json
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxtree.errors import InvalidInputError, MissingExtraError

try:
    import jinja2
    import matplotlib.style
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError('reports need jinja2 and matplotlib: pip install "jaxtree[cli,plot]"') from error

BLUE, SKY, VERMILLION, GREEN = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
INK, GREY, PALE = "#1a1a1a", "#6b6b6b", "#e4e4e4"
DOTS_PER_INCH = 170

_STYLE: dict[Any, Any] = {
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.columnspacing": 1.6,
}


house_style = functools.partial(matplotlib.style.context, _STYLE, after_reset=True)
"""Draws in this module's style alone, whatever settings the user has."""


def check_output_dir(out_dir: str | os.PathLike) -> Path:
    """Returns the folder for the report, made if it was missing; to be called before the long work.

    Raises `InvalidInputError` if it, or the folder `figures` in it, cannot be made or written to.
    """
    folder = Path(out_dir)
    try:
        for place in (folder, folder / "figures"):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInputError(
            f"out_dir must be a folder that can be written to, got {str(folder)!r}: {reason}"
        ) from error
    return folder


def write_report(
    out_dir: str | os.PathLike,
    template: str,
    values: Mapping[str, Any],
    results: Mapping[str, Any],
    figures: Mapping[str, Figure],
) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Args:
        out_dir: The folder.
        template: The name of the page's template.
        values: The values that the template names, except the figures.
        results: The numbers for the JSON file.
        figures: The figures by name.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
        ValueError: A result is no number that JSON has.
    """
    folder = check_output_dir(out_dir)
    pictures = {name: render_png(figure) for name, figure in figures.items()}
    page = _render(template, **values, pictures={name: _embed(picture) for name, picture in pictures.items()})
    files = {folder / "report.html": page.encode(), folder / "report.json": _stated(results)}
    files |= {folder / "figures" / f"{name}.png": picture for name, picture in pictures.items()}
    for path, content in files.items():
        _write_atomically(path, content)
    return list(files)


def write_results(out_dir: str | os.PathLike, results: Mapping[str, Any]) -> Path:
    """Writes `report.json` alone, complete or, after a failure, what it was before; returns its path."""
    path = check_output_dir(out_dir) / "report.json"
    _write_atomically(path, _stated(results))
    return path


@house_style()
def render_png(figure: Figure) -> bytes:
    """Returns the figure as a PNG file, the same bytes for the same figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()


def typeset(sentence: str) -> str:
    """Keeps "q = 1" and "5 %" on one line, and curls the apostrophes."""
    for loose, tight in [(" = ", "\xa0=\xa0"), (" > ", "\xa0>\xa0"), (" %", "\xa0%"), ("'", "’")]:
        sentence = sentence.replace(loose, tight)
    return sentence


def duration(seconds: float) -> str:
    """Returns a time in words, in the unit that suits it."""
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 120:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds:.2f} seconds"


def _stated(results: Mapping[str, Any]) -> bytes:
    return (json.dumps(results, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _write_atomically(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _render(template: str, **values: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": duration, "typeset": typeset}
    return environment.get_template(template).render(**values)


def _embed(picture: bytes) -> dict[str, Any]:
    """A PNG as a data address, with the size that its header states, so that the page does not jump."""
    width, height = struct.unpack(">II", picture[16:24])
    return {"address": f"data:image/png;base64,{base64.b64encode(picture).decode()}", "width": width, "height": height}
