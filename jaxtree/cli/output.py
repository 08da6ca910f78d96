"""Results in files, whole or not at all, or on the standard output; and `jaxtree example`, which writes tables."""

import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxtree.cli.session import Session, check_choice, command
from jaxtree.errors import InvalidInputError

TABLES = ("csv", "parquet", "jsonl")
"""Kinds of files that tables are written in."""

_EXAMPLES = {
    "car": ("load_car_evaluation", "1,728 cars in 4 classes"),
    "play-tennis": ("load_play_tennis", "14 days"),
    "contact-lenses": ("load_contact_lenses", "24 patients"),
    "watermelon": ("load_watermelon", "17 melons"),
}

TableOutput = Annotated[str, typer.Option("--output", "-o", help="The file to write; - is the standard output.")]
TableFormat = Annotated[
    str | None, typer.Option("--format", help=f"{', '.join(TABLES)}.", show_default="as the file's name ends, else csv")
]


@command
def example(
    *,
    name: Annotated[
        str, typer.Argument(help="; ".join(f"{name}: {what}" for name, (_, what) in _EXAMPLES.items()), metavar="NAME")
    ],
    output: TableOutput = "-",
    table: TableFormat = None,
    session: Session,
) -> None:
    """Writes one of the embedded tables, its target in the last column."""
    check_choice("NAME", name, tuple(_EXAMPLES))
    kind = kind_of_table(output, table)
    check_writable(output)
    from jaxtree import datasets

    X, y = getattr(datasets, _EXAMPLES[name][0])(return_X_y=True, as_frame=True)
    target = str(y.name or "class")
    columns = {**{str(column): X[column] for column in X}, target: y}
    write_table({column: values.astype(object).tolist() for column, values in columns.items()}, output, kind)
    if output != "-":
        session.note(f"{len(X)} rows, target {target!r}: {output}")


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
    """Returns the kind of file to write: the given one, else that of the name's ending, else csv.

    Args:
        output: The file's name, or "-" for the standard output.
        given: The kind that the user names.
        option: The option that names the file.

    Raises:
        typer.BadParameter: There is no such kind, or the name does not end with one.
    """
    check_choice("--format", given, TABLES)
    suffix = Path(output).suffix.lstrip(".").lower()
    suffix = {"ndjson": "jsonl", "pq": "parquet"}.get(suffix, suffix)
    if given is None and output != "-" and suffix not in TABLES:
        other = ", or --format names it" if option == "--output" else ""
        raise typer.BadParameter(f"must end with one of {', '.join(TABLES)}{other}, got {output!r}", param_hint=option)
    return given or (suffix if suffix in TABLES else "csv")


def write_table(columns: Mapping[str, Any], output: str, kind: str) -> None:
    """Writes columns as a table."""
    import polars as pl

    frame = pl.DataFrame({name: list(values) for name, values in columns.items()}, strict=False)
    whole = io.BytesIO()
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](whole)
    write_bytes(whole.getvalue(), output)


def write_bytes(content: bytes, output: str) -> None:
    """Writes a file at once; "-" is the standard output."""
    if output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    from jaxtree.files.container import replace_file

    replace_file(Path(os.path.realpath(output)), content)
