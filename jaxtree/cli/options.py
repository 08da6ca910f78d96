"""Options that several commands have, and what they mean."""

from pathlib import Path
from typing import Annotated

import typer

from jaxtree.cli.columns import Wishes
from jaxtree.cli.files import MISSING_WORDS, Contents, Reading

_COLUMNS, _FILE = "Columns", "The file"
_TASKS = ("classification", "regression")

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="CSV, TSV, Parquet, Arrow (Feather) or ARFF, also gzipped; - is the standard input."
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `jaxtree fit` writes.")]
TargetOption = Annotated[str, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=_COLUMNS)]
FittedTargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column to compare with.", show_default="that of the fit", rich_help_panel=_COLUMNS
    ),
]
TaskOption = Annotated[
    str | None,
    typer.Option(help="classification or regression.", show_default="as the target tells", rich_help_panel=_COLUMNS),
]
Names = list[str] | None
CategoricalOption = Annotated[
    Names, typer.Option(help="Columns to read as words (also a,b,c).", rich_help_panel=_COLUMNS, metavar="NAMES")
]
NumericOption = Annotated[
    Names, typer.Option(help="Columns that must be numbers.", rich_help_panel=_COLUMNS, metavar="NAMES")
]
IgnoreOption = Annotated[Names, typer.Option(help="Columns to leave out.", rich_help_panel=_COLUMNS, metavar="NAMES")]
WeightOption = Annotated[
    str | None, typer.Option(help="The column of the weights of rows.", rich_help_panel=_COLUMNS, metavar="NAME")
]
MissingOption = Annotated[
    Names,
    typer.Option(
        "--missing",
        help="A word that means that a value is missing; may be given again.",
        show_default="an empty cell, ?, NA, N/A, NaN, null",
        rich_help_panel=_FILE,
        metavar="WORD",
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(help="What stands between cells.", show_default="as the first line tells", rich_help_panel=_FILE),
]
HeaderOption = Annotated[
    bool,
    typer.Option(
        "--header/--no-header", help="Whether the first line has names; else x0, x1, ...", rich_help_panel=_FILE
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")]
ModelOutput = Annotated[str, typer.Option("--output", "-o", help="The model file to write; - is the standard output.")]


def reading(missing: Names, separator: str | None, header: bool) -> Reading:
    """How lines of cells are read."""
    separator = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
        raise typer.BadParameter(
            f"must be one character of ASCII, no quote and no line end, or tab, got {separator!r}",
            param_hint="--separator",
        )
    return Reading(separator, header, MISSING_WORDS if missing is None else ("", *missing))


def wishes(contents: Contents, categorical: Names, numeric: Names, ignore: Names, weight: str | None) -> Wishes:
    """What the user says of columns; of names with commas those of columns are taken first."""
    columns = contents.frame.columns
    words, numbers, left_out = (_split(names, columns) for names in (categorical, numeric, ignore))
    twice = set(words) & set(numbers)
    if twice:
        raise typer.BadParameter(
            f"column {min(twice)!r} cannot be both categorical and numeric", param_hint="--numeric"
        )
    return Wishes(words, numbers, left_out, weight)


def check_task(task: str | None) -> None:
    """Raises BadParameter unless a task is one."""
    check_choice("--task", task, (None, *_TASKS))


def check_choice(option: str, given: str | None, allowed: tuple[str | None, ...]) -> None:
    """Raises BadParameter unless what was given is allowed."""
    if given not in allowed:
        known = ", ".join(choice for choice in allowed if choice is not None)
        raise typer.BadParameter(f"must be one of {known}, got {given!r}", param_hint=option)


def _split(names: Names, columns: list[str]) -> tuple[str, ...]:
    split: list[str] = []
    for name in names or ():
        split += [name] if name in columns else [part.strip() for part in name.split(",")]
    return tuple(split)
