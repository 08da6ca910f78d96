"""Results in files: whole or not at all, or on the standard output."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import typer

from jaxtree.cli.files import import_polars
from jaxtree.cli.options import check_choice
from jaxtree.errors import InvalidInputError
from jaxtree.export.model_file import replace_file

TABLES = ("csv", "parquet", "jsonl")
"""Kinds of files that tables are written in."""


def check_writable(output: str) -> None:
    """Raises InvalidInputError, before the work, if a file cannot be written."""
    if output == "-":
        if sys.stdout is None:
            raise InvalidInputError("the standard output is closed: name a file to write")
        return
    path = Path(output)
    if path.is_dir():
        raise InvalidInputError(f"{output!r} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"the folder of {output} is not there")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InvalidInputError(f"the folder of {output} cannot be written to")


def kind_of_table(output: str, given: str | None, option: str = "--output") -> str:
    """Returns the kind of file to write: as the user says, else as the name ends, else csv.

    Args:
        output: The file's name, or "-" for the standard output.
        given: What the user says.
        option: The option that names the file.

    Raises:
        typer.BadParameter: It is no kind, or the name does not end with one.
    """
    check_choice("--format", given, (None, *TABLES))
    suffix = Path(output).suffix.lstrip(".").lower()
    suffix = {"ndjson": "jsonl", "pq": "parquet"}.get(suffix, suffix)
    if given is None and output != "-" and suffix not in TABLES:
        other = ", or --format names it" if option == "--output" else ""
        raise typer.BadParameter(f"must end with one of {', '.join(TABLES)}{other}, got {output!r}", param_hint=option)
    return given or (suffix if suffix in TABLES else "csv")


def write_table(columns: dict[str, Any], output: str, kind: str) -> None:
    """Writes columns as a table."""
    polars = import_polars()
    frame = polars.DataFrame({name: list(values) for name, values in columns.items()}, strict=False)
    whole = io.BytesIO()
    write = {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind]
    write(whole)
    write_bytes(whole.getvalue(), output)


def write_bytes(content: bytes, output: str) -> None:
    """Writes a file at once; "-" is the standard output."""
    if output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    replace_file(Path(os.path.realpath(output)), content)
