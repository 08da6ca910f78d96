"""Tables in parts: what is one, what is read of it, and what is wrong with it."""

import importlib
import subprocess
import sys
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from jaxtree.table import Encoder, open_source
from jaxtree.table.sources import is_source
from jaxtree.table.summary import read_column

TABLE = pa.table({"x": np.arange(10, dtype=np.float32), "word": list("abcabcabca"), "label": [0, 1] * 5})


@pytest.fixture
def folder(tmp_path):
    """Two files of row groups of 3 rows, and a file that no reader of Parquet looks at."""
    pq.write_table(TABLE[:7], tmp_path / "0.parquet", row_group_size=3)
    (tmp_path / "more").mkdir()
    pq.write_table(TABLE[7:], tmp_path / "more" / "1.parquet", row_group_size=3)
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def rows_of(source):
    return [tuple(row.values()) for part in source for row in pa.table(part.table).to_pylist()]


ROWS = [tuple(row.values()) for row in TABLE.to_pylist()]
KINDS = {
    "str": lambda folder: str(folder),
    "path": lambda folder: folder,
    "paths": lambda folder: [folder / "0.parquet", str(folder / "more" / "1.parquet")],
    "dataset": lambda folder: ds.dataset(folder),
    "in-memory dataset": lambda _: ds.dataset(TABLE),
    "batches": lambda _: TABLE.to_batches(max_chunksize=4),
    "frames": lambda _: (TABLE[:4].to_pandas(), TABLE[4:].to_pandas()),
    "polars": lambda _: [pl.from_arrow(TABLE[:1]), pl.from_arrow(TABLE[1:])],
    "lazy": lambda _: [pl.from_arrow(TABLE).lazy()],
    "function": lambda _: lambda: iter(TABLE.to_batches(max_chunksize=4)),
    "again": lambda _: Again(TABLE.to_batches(max_chunksize=4)),
    "reader": lambda _: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=4)),
    "file": lambda folder: pq.ParquetFile(write_again(folder)),
}


class Again:
    """Can be iterated as often as one likes."""

    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


def write_again(folder):
    pq.write_table(TABLE, folder / "whole.parquet", row_group_size=4)
    return folder / "whole.parquet"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source(kind, folder):
    X = KINDS[kind](folder)
    assert is_source(X)
    assert rows_of(open_source(X)) == ROWS
    if kind in ("reader", "function", "again"):
        assert open_source(X).num_rows is None
    else:
        assert open_source(X).num_rows == len(ROWS)
        assert rows_of(open_source(X)) == ROWS


NO_SOURCES = [
    np.eye(2),
    [[1.0], [2.0]],
    [],
    [np.ones(2)] * 2,
    ["a", "b"],
    TABLE,
    TABLE.to_pandas(),
    pl.from_arrow(TABLE),
]


@pytest.mark.parametrize(
    "X", [*NO_SOURCES, None, 3, {"a": [1]}, TABLE["x"], pl.from_arrow(TABLE).lazy()], ids=lambda X: type(X).__name__
)
def test_a_table_that_is_held_as_a_whole_is_no_source(X):
    assert not is_source(X)
    with pytest.raises(InvalidTypeError, match="must be a path, a data set or an iterable of tables"):
        open_source(X)


@given(start=st.integers(0, 11), length=st.integers(0, 11))
def test_rows_between(folder_once, start, length):
    for X in (folder_once, TABLE.to_batches(max_chunksize=4)):
        source = open_source(X).between(start, start + length)
        assert rows_of(source) == ROWS[start : start + length]
        assert source.num_rows == len(ROWS[start : start + length])


@pytest.fixture(scope="module")
def folder_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("table")
    pq.write_table(TABLE, path / "0.parquet", row_group_size=3)
    return path


@pytest.mark.parametrize("kind", ["str", "dataset", "file", "frames", "batches"])
def test_columns(kind, folder):
    source = open_source(KINDS[kind](folder))
    assert source.names == ("x", "word", "label")
    assert rows_of(source.without(["label", "other"])) == [row[:2] for row in ROWS]
    assert rows_of(source.column("word")) == [(row[1],) for row in ROWS]
    with pytest.raises(InvalidInputError, match=r"no column 'z': its columns are \['x', 'word', 'label'\]"):
        list(source.column("z"))
    assert read_column(source, "word").categories == ("a", "b", "c")
    np.testing.assert_array_equal(read_column(source.without(["x"]), "x").values, TABLE["x"])


def test_columns_without_names():
    source = open_source(lambda: [np.eye(2), np.ones((3, 2))])
    assert source.names == () and [len(part.table) for part in source] == [2, 3]
    with pytest.raises(InvalidInputError, match="no column 'x': its columns have no names"):
        list(source.column("x"))
    with pytest.raises(InvalidInputError, match="columns of one have names"):
        list(open_source(lambda: [np.eye(2), TABLE]))


def test_folders_that_name_values(tmp_path):
    for kind, rows in (("big", TABLE[:4]), ("small", TABLE[4:])):
        (tmp_path / f"kind={kind}").mkdir()
        pq.write_table(rows, tmp_path / f"kind={kind}" / "0.parquet")
    source = open_source(tmp_path)
    assert source.names == ("x", "word", "label", "kind")
    assert [row[3] for row in rows_of(source)] == ["big"] * 4 + ["small"] * 6
    assert rows_of(source.column("kind")) == [("big",)] * 4 + [("small",)] * 6
    assert (
        Encoder().fit(tmp_path).schema_
        == Encoder().fit(pq.read_table(tmp_path).to_pandas().astype({"kind": str})).schema_
    )
    Encoder().fit(ds.dataset(tmp_path, partitioning="hive"))


def test_an_index_that_pandas_wrote_is_no_column(tmp_path):
    frame = TABLE.to_pandas()[::-1]
    frame.to_parquet(tmp_path / "0.parquet")
    assert open_source(tmp_path).names == ("x", "word", "label")
    assert rows_of(open_source(tmp_path)) == ROWS[::-1]


def test_parts_without_rows(tmp_path):
    pq.write_table(TABLE[:0], tmp_path / "0.parquet")
    pq.write_table(TABLE, tmp_path / "1.parquet")
    assert Encoder().fit(tmp_path).schema_ == Encoder().fit(TABLE).schema_
    with pytest.raises(InvalidInputError, match="no rows in any of its parts"):
        Encoder().fit(tmp_path / "0.parquet")


def test_files_of_different_columns(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    pq.write_table(TABLE.rename_columns(["x", "words", "label"]), tmp_path / "1.parquet")
    with pytest.raises(InvalidInputError, match=r"1\.parquet has no column 'word'"):
        Encoder().fit(tmp_path)
    with pytest.raises(InvalidInputError, match=r"1\.parquet has no column 'word'"):
        Encoder().fit(ds.dataset(tmp_path))


def test_files_of_different_types(tmp_path):
    """As floats of two widths numbers are the same; words are not numbers; a data set would cast."""
    pq.write_table(TABLE, tmp_path / "0.parquet")
    wide = TABLE.set_column(0, "x", pa.array(np.arange(10) / 3))
    pq.write_table(wide, tmp_path / "1.parquet")
    whole = pd.concat([TABLE.to_pandas().astype({"x": float}), wide.to_pandas()], ignore_index=True)
    assert Encoder().fit(tmp_path).schema_ == Encoder().fit(whole).schema_
    with pytest.raises(InvalidInputError, match=r"1\.parquet: column 'x' has type double, and float in the data set"):
        Encoder().fit(ds.dataset(tmp_path))
    pq.write_table(TABLE.set_column(0, "x", pa.array(list("abcdefghij"))), tmp_path / "1.parquet")
    with pytest.raises(InvalidInputError, match=r"'x' has categories in .*1\.parquet, and numbers in .*0\.parquet"):
        Encoder().fit(tmp_path)


def test_what_is_no_parquet_file(tmp_path):
    with pytest.raises(InvalidInputError, match="no file or folder"):
        Encoder().fit(tmp_path / "nothing.parquet")
    (tmp_path / "words.parquet").write_text("no Parquet")
    with pytest.raises(InvalidInputError, match="cannot be read as Parquet"):
        Encoder().fit(str(tmp_path))
    with pytest.raises(InvalidTypeError, match=r"part 0 must be a table or a record batch, got int"):
        Encoder().fit(lambda: iter([1]))
    with pytest.raises(InvalidInputError, match=r"part 0: .*must be unique"):
        Encoder().fit(lambda: [pd.DataFrame([[1, 2]], columns=["a", "a"])])


def test_what_can_be_read_once():
    reader = KINDS["reader"](None)
    with pytest.raises(InvalidInputError, match="RecordBatchReader, which can be read once"):
        Encoder().fit(reader)
    encoder = Encoder().fit(TABLE)
    np.testing.assert_array_equal(encoder.transform(reader), encoder.transform(TABLE))


def test_a_source_that_changes():
    lengths = iter([10, 7, 10, 12])
    encoder = Encoder()
    for again in (7, 12):
        with pytest.raises(InvalidInputError, match=f"gave {again} rows when it was read again, and 10 before"):
            encoder.fit_transform(lambda: [pd.DataFrame({"x": np.arange(next(lengths))})])


def test_without_pyarrow(monkeypatch, tmp_path):
    def refuse(name, *arguments):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingExtraError, match=r'pip install "jaxtree\[frames\]"'):
        Encoder().fit(tmp_path)


def test_pyarrow_is_not_needed_unless_it_is_used():
    code = (
        "import sys, numpy as np; sys.modules['pyarrow'] = None; from jaxtree.table import Encoder; "
        "Encoder().fit([[1.0, 'a'], [2.0, 'b']]); Encoder().fit(lambda: [np.eye(2), np.ones((1, 2))])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_part_is_let_go_before_the_next_is_encoded():
    alive = []

    def parts():
        for number in range(6):
            part = np.full((10, 2), float(number))
            alive.append(weakref.ref(part))
            yield part
            del part
            assert sum(part() is not None for part in alive) <= 2  # the last one is where the next is bound

    Encoder().fit([[1.0, 2.0]]).transform(parts)
    assert len(alive) == 6
