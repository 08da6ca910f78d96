"""Files whose columns have types: Parquet, Arrow (Feather), and ARFF, the files of Weka, as its manual describes them.

Nominal attributes of ARFF declare their categories. Attributes of dates and relations, sparse rows, and weights of rows
are refused. scipy reads no attributes of strings, and no other library of ARFF has had a release for years.
"""

import contextlib
import io
import re
from collections.abc import Sequence, Set
from importlib import import_module
from typing import Any, NamedTuple

import pandas as pd
import polars as pl

from jaxtree.errors import InvalidInputError, import_extra
from jaxtree.lines import TextFormat, in_short, listed
from jaxtree.table.files.text import check_unique
from jaxtree.table.names import kept_names

PARQUET, ARROW = b"PAR1", b"ARROW1"
"""The first bytes of these files."""

_MOST_RATIO, _LEAST_UNPACKED = 1_000, 2**26
"""A table may have 1,000 times the bytes of its file, or 64 MiB: columns of few values are packed well."""

_BYTES_OF_CELL = 8
"""The bytes of a cell, at least, when its column is a feature."""

_OF_POLARS = b"_PL_"
"""How polars begins what it says of a dictionary: it reads its own as it wrote them."""


_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s+(?P<name>{_QUOTED}|[^\s{{'"][^\s{{]*)\s*(?P<kind>\{{.*\}}|[^\s{{]+).*""",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"\{\s*[\d.eE+-]+\s*\}")
# The second group is what no cell can be.
_CELL = re.compile(rf"""\s*({_QUOTED}|(?:[^\s,'"][^,]*)?)\s*,|(.+)""")


class TypedTable(NamedTuple):
    """The columns of a file with types.

    Attributes:
        frame: The columns, by the names that pandas had for them if it wrote the file.
        index: Names of columns that are the index of a saved table.
        categories: Declared categories of columns that polars has as words or numbers.
    """

    frame: pl.DataFrame
    index: tuple[str, ...]
    categories: dict[str, pd.CategoricalDtype]


def read_typed(data: bytes, name: str) -> TypedTable:
    """Reads the bytes of a file.

    Args:
        data: The bytes.
        name: The name of the file, for messages.

    Raises:
        InvalidInputError: The table is out of proportion to the file.
        MissingExtraError: pyarrow is not installed: polars alone sees no declared categories.
        PolarsError: The bytes are none of such a file.
    """
    pyarrow = import_extra("pyarrow", name, "frames")
    scan, read = (pl.scan_parquet, pl.read_parquet) if data.startswith(PARQUET) else (pl.scan_ipc, pl.read_ipc)
    lazy = scan(io.BytesIO(data))
    num_cells = lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
    _check_size(_BYTES_OF_CELL * num_cells, data, name)
    metadata, categories, frame = None, {}, None
    # Metadata that pyarrow does not understand is ignored.
    with contextlib.suppress(pyarrow.ArrowException, LookupError, OSError, ValueError):
        schema = _schema_of(data)
        metadata = schema.pandas_metadata
        declaring = [field.name for field in schema if _declares(field)]
        if declaring:
            table = _table_of(data)
            # A column of pandas declares as columns in Python do.
            categories = {column: table.column(column).to_pandas().dtype for column in declaring}
            frame = _without_dictionaries(table, declaring)
    frame = read(io.BytesIO(data)) if frame is None else frame
    # Words may be long.
    _check_size(int(frame.estimated_size()), data, name)
    kept = kept_names(frame.columns, metadata)
    index = tuple(column for column in frame.columns if column not in kept)
    return TypedTable(frame.rename(kept), index, {kept.get(own, own): dtype for own, dtype in categories.items()})


def _check_size(size: int, data: bytes, name: str) -> None:
    """Raises InvalidInputError if the bytes of a table are out of proportion to its file."""
    if size > max(_LEAST_UNPACKED, _MOST_RATIO * len(data)):
        raise InvalidInputError(
            f"{name} has a table of {size / 2**20:,.0f} MiB, more than {_MOST_RATIO:,} times its own size, as no usual "
            "file has: write it as CSV, or without compression"
        )


def _schema_of(data: bytes) -> Any:
    if data.startswith(PARQUET):
        return import_module("pyarrow.parquet").read_schema(io.BytesIO(data))
    return import_module("pyarrow.ipc").open_file(data).schema


def _table_of(data: bytes) -> Any:
    if data.startswith(PARQUET):
        return import_module("pyarrow.parquet").read_table(io.BytesIO(data))
    return import_module("pyarrow.ipc").open_file(data).read_all()


def _declares(field: Any) -> bool:
    is_dictionary = hasattr(field.type, "value_type") and hasattr(field.type, "ordered")
    return is_dictionary and not any(key.startswith(_OF_POLARS) for key in field.metadata or ())


def _without_dictionaries(table: Any, names: list[str]) -> pl.DataFrame:
    """A table of pyarrow in polars, which does not read all dictionaries of pandas that have missing values."""
    frame: Any = pl.from_arrow(table.drop_columns(names))
    columns = {name: _values_of(table.column(name)) for name in names}
    return pl.DataFrame({name: columns[name] if name in columns else frame[name] for name in table.column_names})


def _values_of(column: Any) -> pl.Series:
    """The values of a dictionary; they stand in memory once."""
    encoded = column.unify_dictionaries().combine_chunks()
    values, places = pl.Series(encoded.dictionary), pl.Series(encoded.indices)
    return values.gather(places.cast(pl.UInt32))


def read_arff(text: str, options: TextFormat) -> TypedTable:
    """Reads a text; raises InvalidInputError if it is none, has what is not read, or a cell that is not of its kind."""
    attributes: dict[str, tuple[str, ...] | None] = {}
    lines = (line for line in map(str.strip, text.split("\n")) if line and not line.startswith("%"))
    for line in lines:
        if line.lower().startswith("@data"):
            break
        if line.lower().startswith("@attribute"):
            column, categories = _attribute(line)
            if column in attributes:
                check_unique([*attributes, column], "the names of its columns")
            attributes[column] = categories
    else:
        raise InvalidInputError("the ARFF file has no @data")
    missing = [
        {*(options.missing or ())} if own is None else {*options.missing_words} - {*own} for own in attributes.values()
    ]
    rows = [_arff_row(line, list(attributes.values()), missing) for line in lines]
    columns = zip(*rows, strict=True) if rows else ((),) * len(attributes)
    frame = pl.DataFrame([pl.Series(name, own, pl.String) for name, own in zip(attributes, columns, strict=True)])
    for name, categories in attributes.items():
        if categories:
            allowed = f"its declared categories {listed(categories)}"
            _check_cells(frame[name], frame[name].is_in(list(categories)), allowed)
    numbers = frame.select([name for name, categories in attributes.items() if categories == ()])
    floats, integers = (numbers.cast(kind, strict=False) for kind in (pl.Float64, pl.Int64))
    counts = (own.null_count().row(0) if own.width else () for own in (numbers, floats, integers))
    kept = []
    for name, known, of_floats, of_integers in zip(numbers.columns, *counts, strict=True):
        if of_floats > known:
            _check_cells(numbers[name], floats[name].is_not_null(), "numbers")
        kept.append((integers if of_integers == known else floats)[name])
    frame = frame.with_columns(kept)
    return TypedTable(frame, (), {name: pd.CategoricalDtype(own) for name, own in attributes.items() if own})


def _check_cells(cells: pl.Series, is_right: pl.Series, allowed: str) -> None:
    """Raises InvalidInputError for the first cell that is not missing and not right."""
    wrong = (cells.is_not_null() & ~is_right.fill_null(False)).arg_true()
    if len(wrong):
        found = in_short(repr(cells[wrong[0]]))
        raise InvalidInputError(f"attribute {cells.name!r} must have {allowed}, and has {found} in row {wrong[0] + 1}")


def _attribute(line: str) -> tuple[str, tuple[str, ...] | None]:
    """The name of an attribute, and its categories: none of numbers, None of strings."""
    match = _ATTRIBUTE.fullmatch(line)
    name, kind = (_unquoted(match["name"]), match["kind"]) if match else ("", "")
    if not name:
        raise InvalidInputError(
            "an attribute of the ARFF file must be written as @attribute NAME KIND, with quotes around a name with "
            f"spaces, got {line!r}"
        )
    if not kind.startswith("{"):
        if kind.lower() not in ("numeric", "real", "integer", "string"):
            raise InvalidInputError(
                f"attribute {in_short(repr(name))} is of kind {in_short(repr(kind))}; read are numeric, "
                "nominal and string"
            )
        return name, None if kind.lower() == "string" else ()
    if not kind[1:-1].strip():
        raise InvalidInputError(f"attribute {name!r} must declare its categories, as {{a,b}}, and declares none")
    categories = [_unquoted(cell) for cell in _arff_cells(kind[1:-1])]
    check_unique(categories, f"the categories of attribute {name!r}")
    return name, tuple(categories)


def _arff_row(line: str, attributes: Sequence[tuple[str, ...] | None], missing: Sequence[Set[str]]) -> list[str | None]:
    """The cells of a row: null for ? without quotes, for nothing, and for words that mean so; no category is null."""
    if line.startswith("{"):
        raise InvalidInputError("the ARFF file has sparse rows, which are not read: write all cells")
    cells = _arff_cells(line)
    if len(cells) == len(attributes) + 1 and _WEIGHT.fullmatch(cells[-1]):
        raise InvalidInputError(
            f"a row of the ARFF file ends with its weight, {cells[-1]}: make weights an attribute, for --weight"
        )
    if len(cells) != len(attributes):
        raise InvalidInputError(
            f"a row of the ARFF file has {len(cells)} cells instead of {len(attributes)}: {in_short(repr(line))}"
        )
    words = [
        None if cell in ("?", "") and cell not in (categories or ()) else _unquoted(cell)
        for cell, categories in zip(cells, attributes, strict=True)
    ]
    return [None if word in own else word for word, own in zip(words, missing, strict=True)]


def _arff_cells(line: str) -> list[str]:
    """The cells of a line with the quotes around them."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    # Every cell ends with a comma, also the last.
    cells = _CELL.findall(f"{line},")
    if cells[-1][1]:
        raise InvalidInputError(f"a cell of the ARFF file has a quote that is not closed, or text after it: {line!r}")
    return [cell.strip() for cell, _ in cells]


def _unquoted(text: str) -> str:
    """A word without the quotes around it, if there are some, and without the backslashes that escape within them."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]).strip() if text.startswith(("'", '"')) else text
