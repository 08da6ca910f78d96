"""Results in files, whole or not at all, or on the standard output; and `jaxtree example`, which writes tables."""

import functools
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import jaxtree
from jaxtree.cli.session import Session, command
from jaxtree.errors import InvalidInputError
from jaxtree.files.writing import STANDARD_OUTPUT, check_writable, descriptor_of, write_file

_KIND_OF_SUFFIX = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_EXAMPLES = {
    "car": "load_car_evaluation",
    "play-tennis": "load_play_tennis",
    "contact-lenses": "load_contact_lenses",
    "watermelon": "load_watermelon",
}


def as_output(output: str | None) -> str | None:
    """Returns the name of a file to write: "-" where it is another name of the standard output."""
    return "-" if output is not None and descriptor_of(output) == STANDARD_OUTPUT else output


file_option = functools.partial(typer.Option, callback=as_output)
output_option = functools.partial(file_option, "--output", "-o")
OutputOption = Annotated[str, output_option(help="The file to write; - is standard output.")]
TableFormat = Annotated[
    Literal["csv", "parquet", "jsonl"] | None,
    typer.Option("--format", show_default="by the file's suffix, else csv"),
]


@command
def example(
    *,
    name: Annotated[
        Literal["car", "play-tennis", "contact-lenses", "watermelon"],
        typer.Argument(help="1,728 cars in 4 classes, 14 days, 24 patients or 17 melons.", show_default=False),
    ],
    output: OutputOption = "-",
    table: TableFormat = None,
    session: Session,
) -> None:
    """Writes one of the embedded tables, with the target in the last column."""
    kind = kind_of_table(output, table)
    X, y = getattr(jaxtree.datasets, _EXAMPLES[name])(return_X_y=True, as_frame=True)
    target = str(y.name or "class")
    write_table({**X.astype(object), target: y.astype(object)}, output, kind)
    if output != "-":
        session.note(f"{len(X)} rows, target {target!r}: {output}")


def check_output(output: str) -> None:
    """Raises InvalidInputError, before the work, if a file or the standard output cannot be written."""
    if output != "-":
        check_writable(output)
    elif sys.stdout is None:
        raise InvalidInputError("the standard output is closed: name a file to write")


def kind_of_table(output: str, given: str | None, option: str = "--output") -> str:
    """Returns the kind of a table to write: the given one, else that of the name's ending; csv into pipes and devices.

    Args:
        output: The file's name, or "-" for the standard output.
        given: The kind that the user names.
        option: The option that names the file.

    Raises:
        InvalidInputError: The file cannot be written.
        typer.BadParameter: The name does not end with a kind.
    """
    path = Path(output)
    # A pipe or a device may have any name.
    is_stream = output == "-" or (path.exists() and not path.is_file() and not path.is_dir())
    kind = given or _KIND_OF_SUFFIX.get(path.suffix.lower(), "csv" if is_stream else None)
    if kind is None:
        raise typer.BadParameter(f"must end with one of csv, parquet, jsonl, got {output!r}", param_hint=option)
    check_output(output)
    return kind


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
    write_file(output, content)
