"""Files with types take memory in proportion to their size."""

import io

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.lines import TextFormat
from jaxtree.table.files import typed
from jaxtree.table.files.read import read_contents
from tests.marks import in_turn

WORD = "x" * 1_000
TABLES = {
    "constants": {f"c{place}": [0.0] * 200_000 for place in range(6)},
    "words": {"word": [WORD] * 20_000},
    "categories": {"word": pa.array([WORD] * 20_000 + [None]).dictionary_encode()},
}
WAYS = {
    "parquet": pyarrow.parquet.write_table,
    "feather": lambda table, path: pyarrow.feather.write_feather(table, path, compression="zstd"),
}


@pytest.mark.parametrize(("name", "way"), in_turn(TABLES, WAYS))
def test_a_table_out_of_proportion_to_its_file_is_refused(tmp_path, monkeypatch, name, way):
    path = tmp_path / f"t.{way}"
    WAYS[way](pa.table(TABLES[name]), path)
    assert read_contents(str(path), TextFormat()).frame.height >= 20_000
    monkeypatch.setattr(typed, "_LEAST_UNPACKED", 1_000_000)
    monkeypatch.setattr(typed, "_MOST_RATIO", 20)
    with pytest.raises(InvalidInputError, match=rf"t.{way} has a table of \d+ MiB, more than 20 times its own size"):
        read_contents(str(path), TextFormat())


def test_numbers_are_counted_before_they_are_read(monkeypatch):
    """425 kB of constants would take 700 MB."""
    data = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({f"c{place}": pa.nulls(2**20, pa.float64()) for place in range(24)}), data)
    monkeypatch.setattr(typed.pl, "read_parquet", lambda _: pytest.fail("it was read"))
    with pytest.raises(InvalidInputError, match="t has a table of 192 MiB"):
        typed.read_typed(data.getvalue(), "t")


def test_words_of_a_dictionary_stand_in_memory_once():
    data = io.BytesIO()
    words = pa.array([word * 500 for word in "ab"] * 2_000 + [None]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"word": words, "number": range(4_001)}), data)
    frame = typed.read_typed(data.getvalue(), "t").frame
    assert frame.columns == ["word", "number"] and frame["word"].to_list() == words.to_pylist()
