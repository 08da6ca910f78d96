"""How reports are written: whole or not at all, the same results always as the same bytes."""

import base64
import json
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxtree.errors import InvalidInputError


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


def write_files(
    out_dir: str | os.PathLike, page: str, results: Mapping[str, Any], pictures: Mapping[str, bytes]
) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
        ValueError: A result is no number that JSON knows.
    """
    folder = check_output_dir(out_dir)
    files = {folder / "report.html": page.encode(), folder / "report.json": as_json(results).encode()}
    files |= {folder / "figures" / f"{name}.png": picture for name, picture in pictures.items()}
    for path, content in files.items():
        _write_atomically(path, content)
    return list(files)


def as_json(results: Mapping[str, Any]) -> str:
    """Returns results as JSON in one order of keys."""
    return json.dumps(results, indent=1, sort_keys=True, allow_nan=False) + "\n"


def embed(picture: bytes) -> dict[str, Any]:
    """Returns a PNG as a data address, with the size that its header states, so that the page does not jump."""
    width, height = struct.unpack(">II", picture[16:24])
    return {"address": f"data:image/png;base64,{base64.b64encode(picture).decode()}", "width": width, "height": height}


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


def _write_atomically(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
