"""Lines of cells as people and programs write them: what a row is, what a cell is, and what is said of the rest."""

import csv
import io
import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.errors import InvalidInputError
from jaxtree.lines import TextFormat
from jaxtree.table.files.read import read_contents
from jaxtree.table.files.text import divide, separator_of, without_preamble
from jaxtree.table.files.typed import read_arff

ROWS = {
    "blank lines": ("a,b\n\n1,2\n\n\n3,4\n\n", [("1", "2"), ("3", "4")]),
    "lines of spaces": ("a,b\n   \n1,2\n \t \n", [("1", "2")]),
    "blank lines in a cell": ('a,b\n1,"x\n\ny"\n\n2,z', [("1", "x\n\ny"), ("2", "z")]),
    "one column": ('a\n1\n\n2\n  \n""\n', [("1",), ("2",), ("",)]),
    "rows of nothing": ("a,b\n,\n1,2\n,", [(None, None), ("1", "2"), (None, None)]),
    "an inch": ('a,b\n5" pipe,1\n6",2\nof 7" and 8",3', [('5" pipe', "1"), ('6"', "2"), ('of 7" and 8"', "3")]),
    "an inch in quotes": ('a,b\n"5"" pipe, thick",1', [('5" pipe, thick', "1")]),
    "an inch beside quotes": ('a,b\n5" pipe,"x, y"\n"5"" pipe",1', [('5" pipe', "x, y"), ('5" pipe', "1")]),
    "nothing in quotes": ('a,b\n"",', [("", None)]),
    "quotes and a short row": ('a,b\n"x\n",2\n1', [("x\n", "2"), ("1", None)]),
    "text behind quotes": ('a,b\n"x"y,1', [("xy", "1")]),
    "spaces before quotes": ('a,b\n1, "x, y"\n2,   "he, ""no"", x"', [("1", "x, y"), ("2", 'he, "no", x')]),
    "formulas": ('a,b\n="0012",=1+2', [('="0012"', "=1+2")]),
    "a separator at the ends": ("a,b\n1,2,\n3,4,,\n", [("1", "2"), ("3", "4")]),
    "comments between": ("a,b\n# units\n#\n1,2\n# the end", [("1", "2")]),
    "cells that begin with #": ("a,b\n#ff0000,1\n#00ff00,2", [("#ff0000", "1"), ("#00ff00", "2")]),
    "short rows": ("a,b,c\n1\n2,3\n4,5,6", [("1", None, None), ("2", "3", None), ("4", "5", "6")]),
    "the last line without an end": ("a,b\n1,2", [("1", "2")]),
}


SHORT = {"short rows": 2, "quotes and a short row": 1}
COMMENTS = {"comments between": 3}


@pytest.mark.parametrize("name", ROWS)
def test_rows_and_cells(name):
    text, rows = ROWS[name]
    found = divide(text, ",")
    assert found.frame.rows()[1:] == rows and set(found.frame.dtypes) == {pl.String}
    assert (found.num_short, found.num_comments) == (SHORT.get(name, 0), COMMENTS.get(name, 0))


REFUSED = {
    'a,b\n1,2\n3,"4\n5,6\n': 'a quotation mark opens a cell in line 3, and none ends it: "4',
    'a,b\n"""\n': 'a quotation mark opens a cell in line 2, and none ends it: """',
    'a,b\n1,"x\n"",2\n': "a quotation mark opens a cell in line 2, and none ends it",
    'a,b\n1,2\n"x\ny",2\n5,"x': "a quotation mark opens a cell in line 5, and none ends it",
    'a,b\n\n5" pipe,2,"3"\n': """line 3 has 3 cells with ',' between them, and the first line has 2: 5" pipe,2,"3\"""",
    "a,b\n1\n1,2,3\n": "line 3 has 3 cells",
    'a,b\n"x\ny"\n1,2\n': "line 2 has 1 cells",
    'a,"b\n1,2\n': "a quotation mark opens a cell in line 1, and none ends it",
    "a,b\n1,2\n\n3,4,5\n": "line 4 has 3 cells with ',' between them, and the first line has 2: 3,4,5",
    "Report of today\n\na,b\n1,2\n": "line 3 has 2 cells with ',' between them, and the first line has 1: a,b",
    'a,b\n1,2,"x\ny"\n': "line 2 has 3 cells",
    "sep=;\n# made\na;b\n1;2;3\n": "line 4 has 3 cells",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items())
def test_what_is_no_row_is_named_with_its_line(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=rf"t\.csv cannot be read: {said}"):
        read_contents(str(tmp_path / "t.csv"), TextFormat())


CELLS = st.text(st.sampled_from('ab ",\n;'), max_size=4).map(str.strip)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), st.sampled_from([",", ";", "\t"]))
def test_what_a_library_writes_is_read(rows, separator):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    assert divide(text.getvalue(), separator).frame.rows()[1:] == rows


PREAMBLES = {
    "sep=;\na;b\n1;2\n": (["a", "b"], ";"),
    '"sep=;"\na;b\n1;2\n': (["a", "b"], ";"),
    "SEP=|\na|b\n1|2\n": (["a", "b"], "|"),
    "sep=;;\na;b,c\n1;2\n": (["a", "b,c"], ";"),
    "sep=\t\na\tb\n1\t2\n": (["a", "b"], "\t"),
    "\n  \n# made today\n# by me, and you\na,b\n1,2\n": (["a", "b"], ","),
    "#made by me, today\na,b\n1,2\n": (["a", "b"], ","),
    "# x\n\na,b\n1,2\n": (["a", "b"], ","),
    "#,b\n1,2\n": (["#", "b"], ","),
    "#a,b\nred,x\nblue,y\n": (["#a", "b"], ","),
    "# first\n#a,b\n1,2\n": (["#a", "b"], ","),
    "# a,b\n1,2\n": (["# a", "b"], ","),
    "colour,b\n#ff0000,1\n#00ff00,2\n": (["colour", "b"], ","),
}


@pytest.mark.parametrize(("text", "found"), PREAMBLES.items())
def test_what_stands_before_the_names_is_left_out(tmp_path, text, found):
    (tmp_path / "t.csv").write_text(text)
    contents = read_contents(str(tmp_path / "t.csv"), TextFormat())
    assert contents.frame.columns == found[0]
    assert contents.frame.height == (2 if "colour" in text or "blue" in text else 1)
    assert bool(contents.notes) == text.lstrip().startswith(("# made", "#made", "# x", "# first"))
    assert without_preamble(text, "t.csv", None).separator in (None, found[1])


def test_a_separator_that_the_user_gives_counts():
    assert without_preamble("sep=;\na,b\n", "t.csv", ",").separator == ","


def test_columns_without_name_and_cells_are_none(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,\n1,2,\n3,4,\n")
    assert read_contents(str(tmp_path / "t.csv"), TextFormat()).frame.columns == ["a", "b"]
    (tmp_path / "t.csv").write_text("a,b,\n1,2,\n3,4,5\n")
    assert read_contents(str(tmp_path / "t.csv"), TextFormat()).frame.columns == ["a", "b", "x2"]


def seconds(work, *arguments):
    began = time.process_time()
    work(*arguments)
    return time.process_time() - began


def wide(number):
    attributes = "".join(f"@attribute a{place} real\n" for place in range(number))
    return f"@relation r\n{attributes}@data\n{','.join('1' * number)}"


SPACES = 'a b "c"\n1 2 "3"' + " "


@pytest.mark.parametrize(
    "work",
    [
        lambda size: read_arff(wide(size // 8), TextFormat()),
        lambda size: divide(SPACES + " " * size, " "),
        lambda size: divide('a,b\n1,"2"\n1,' + " " * size + "2", ","),
        lambda size: divide('a,b\n1,"' + '""' * size + '"', ","),
        lambda size: divide("a,b\n" + "".join(f"{row}\n" for row in range(size // 8)), ","),
    ],
    ids=["attributes", "spaces", "spaces in cells", "quotes", "short rows"],
)
def test_time_is_in_proportion_to_a_file(work):
    work(1_000)
    assert seconds(work, 240_000) < 3


def test_text_of_windows_has_its_signs(tmp_path):
    for encoding in ("cp1252", "utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "t.csv").write_bytes("price,name\n€5,“größe”\n".encode(encoding))
        assert read_contents(str(tmp_path / "t.csv"), TextFormat()).frame.rows() == [("€5", "“größe”")]
    (tmp_path / "t.csv").write_bytes(b"a\n\x81\xe9\n")
    assert read_contents(str(tmp_path / "t.csv"), TextFormat()).frame.rows() == [("\x81é",)]


@pytest.mark.parametrize("text", ["sep=;\n", "\n\n", "sep=;\n\n  \n"])
def test_a_file_without_lines_has_no_rows(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=r"has no rows|is empty"):
        read_contents(str(tmp_path / "t.csv"), TextFormat())


SEPARATED = [
    'pipe;y\n5" pipe, thin, new;1\n6";2\n7" pipe, thick, old;3\n',
    'pipe;y\n"5, 6, 7";1\n"8, 9, 10\n11, 12, 13";2\n',
    '"a, b";y\n "1, 2, 3";1\n4" and 5";2\n',
]


@pytest.mark.parametrize("text", SEPARATED)
def test_separators_are_found_beside_quotation_marks(text):
    assert separator_of(text, "t.csv") == ";"


def test_a_column_of_nothing_changes_no_index(tmp_path):
    for text, columns, index in [
        (",a,,b\n7,1,,2\n8,3,,4\n", ["x0", "a", "b"], ("x0",)),
        ("a,,b\n1,,2\n", ["a", "b"], ()),
        (",,a\n1,2,3\n", ["x0", "x1", "a"], ()),
        (",,\n,,\n", ["x0", "x1", "x2"], ()),
    ]:
        (tmp_path / "t.csv").write_text(text)
        contents = read_contents(str(tmp_path / "t.csv"), TextFormat())
        assert (contents.frame.columns, contents.index) == (columns, index)
