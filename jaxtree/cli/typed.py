"""Files whose columns have types: Parquet and Arrow (Feather)."""

import contextlib
import io
from typing import Any, NamedTuple

import pandas as pd
import polars as pl

from jaxtree.table.names import kept_names

PARQUET, ARROW = b"PAR1", b"ARROW1"
"""The first bytes of these files."""

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


def read_typed(data: bytes) -> TypedTable:
    """Reads the bytes of a file; raises an error of polars if they are none of it."""
    import pyarrow

    metadata, categories, frame = None, {}, None
    # What pyarrow does not understand says nothing.
    with contextlib.suppress(pyarrow.ArrowException, LookupError, OSError, ValueError):
        schema = _schema_of(data)
        metadata = schema.pandas_metadata
        declaring = [field.name for field in schema if _declares(field)]
        if declaring:
            table = _table_of(data)
            # A column of pandas declares as columns in Python do.
            categories = {name: table.column(name).to_pandas().dtype for name in declaring}
            frame = _without_dictionaries(table, declaring)
    if frame is None:
        frame = (pl.read_parquet if data.startswith(PARQUET) else pl.read_ipc)(io.BytesIO(data))
    kept = kept_names(frame.columns, metadata)
    index = tuple(column for column in frame.columns if column not in kept)
    return TypedTable(frame.rename(kept), index, {kept.get(name, name): own for name, own in categories.items()})


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


def _without_dictionaries(table: Any, names: list[str]) -> Any:
    """A table of pyarrow in polars, which does not read all dictionaries of pandas that have missing values."""
    for name in names:
        column = table.column(name)
        table = table.set_column(table.column_names.index(name), name, column.cast(column.type.value_type))
    return pl.from_arrow(table)
