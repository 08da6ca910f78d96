"""Options that several commands have."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jaxtree.cli.session import check_choice

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean that a value is missing, unless the user names others."""

_column = functools.partial(typer.Option, rich_help_panel="Columns")
_file = functools.partial(typer.Option, rich_help_panel="The file")

Names = list[str] | None
DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="CSV, TSV, Parquet, Arrow (Feather) or ARFF, also gzipped; - is the standard input."
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `jaxtree fit` writes.")]
TargetOption = Annotated[str, _column("--target", "-t", help="The column to predict.")]
FittedTargetOption = Annotated[
    str | None, _column("--target", "-t", help="The column to compare with.", show_default="that of the fit")
]
WeightOption = Annotated[str | None, _column(help="The column of the weights of rows.", metavar="NAME")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")]


@dataclass(frozen=True)
class ColumnOptions:
    """What a fit takes the columns of a table for; columns are read as their cells tell unless they are named."""

    task: Annotated[str | None, _column(help="classification or regression.", show_default="as the target tells")] = (
        None
    )
    categorical: Annotated[Names, _column(help="Columns to read as words (also a,b,c).", metavar="NAMES")] = None
    numeric: Annotated[Names, _column(help="Columns that must be numbers.", metavar="NAMES")] = None
    ignore: Annotated[Names, _column(help="Columns to leave out.", metavar="NAMES")] = None
    weight: WeightOption = None

    def __post_init__(self) -> None:
        """Raises BadParameter for a task that there is not."""
        check_choice("--task", self.task, ("classification", "regression"))


@dataclass(frozen=True)
class TextOptions:
    """How lines of cells are read."""

    missing: Annotated[
        Names,
        _file(
            help="A word that means that a value is missing; may be given again.",
            show_default="an empty cell, ?, NA, N/A, NaN, null",
            metavar="WORD",
        ),
    ] = None
    separator: Annotated[
        str | None, _file(help="What stands between cells.", show_default="as the first line tells")
    ] = None
    header: Annotated[
        bool, _file("--header/--no-header", help="Whether the first line has names; else x0, x1, ...")
    ] = True

    def __post_init__(self) -> None:
        """Raises BadParameter for a separator that polars does not take."""
        separator = self.cell_separator
        if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
            raise typer.BadParameter(
                f"must be one character of ASCII, no quote and no line end, or tab, got {separator!r}",
                param_hint="--separator",
            )

    @property
    def cell_separator(self) -> str | None:
        """The character between cells; None to see it from the first line."""
        return {"tab": "\t", "\\t": "\t"}.get(self.separator or "", self.separator)

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The cells that mean that a value is missing."""
        return MISSING_WORDS if self.missing is None else ("", *self.missing)
