"""Files whose columns have types: Parquet and Arrow (Feather)."""

import contextlib
import io
from typing import Any, NamedTuple

import pandas as pd
import polars as pl

from jaxtree.errors import InvalidInputError
from jaxtree.table.names import kept_names

PARQUET, ARROW = b"PAR1", b"ARROW1"
"""The first bytes of these files."""

_MOST_RATIO, _LEAST_UNPACKED = 1_000, 2**26
"""A table may have 1,000 times the bytes of its file, or 64 MiB: columns of few values are packed well."""

_BYTES_OF_CELL = 8
"""The bytes of a cell, at least, when its column is a feature."""

_OF_POLARS = b"_PL_"
"""How polars begins what it says of a dictionary: it reads its own as it wrote them."""


class TypedTable(NamedTuple):
    """The columns of a file with types.

    Attributes:
        frame: The columns, by the names that pandas had for them if it wrote the file.
        index: Those that are the index of a saved table.
        categories: Declared categories, of dictionaries that polars does not read as such.
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
        PolarsError: The bytes are none of such a file.
    """
    import pyarrow

    scan, read = (pl.scan_parquet, pl.read_parquet) if data.startswith(PARQUET) else (pl.scan_ipc, pl.read_ipc)
    lazy = scan(io.BytesIO(data))
    num_cells = lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
    _check_size(_BYTES_OF_CELL * num_cells, data, name)
    metadata, categories, frame = None, {}, None
    # What pyarrow does not understand says nothing.
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
    import pyarrow
    from pyarrow import ipc, parquet

    if data.startswith(PARQUET):
        return parquet.read_schema(io.BytesIO(data))
    return ipc.open_file(pyarrow.py_buffer(data)).schema


def _table_of(data: bytes) -> Any:
    import pyarrow
    from pyarrow import ipc, parquet

    if data.startswith(PARQUET):
        return parquet.read_table(io.BytesIO(data))
    return ipc.open_file(pyarrow.py_buffer(data)).read_all()


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
