"""Texts as rows of cells: whatever a cell has in it, as `csv` of Python writes it; lines that differ in their cells."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.errors import InvalidInputError
from jaxtree.table.files.text import divide

CELLS = st.text('a5"#,;\t \n', max_size=6)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1)), st.sampled_from(",;\t"))
def test_cells_in_quotes_are_read_as_they_were_written(rows, separator):
    written = io.StringIO()
    csv.writer(written, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    frame, num_short, num_comments = divide(written.getvalue().strip("\n"), separator)
    assert frame.rows() == rows
    assert (num_short, num_comments) == (0, 0)


READ = {
    'a,b\n5" pipe,2': [("a", "b"), ('5" pipe', "2")],
    'a,b\n5" pipe,"x, y"': [("a", "b"), ('5" pipe', "x, y")],
    'a,b\n"x"y,"x""y"': [("a", "b"), ("xy", 'x"y')],
    'a,b\n"",': [("a", "b"), ("", None)],
    'a,b\n1, "x, y"': [("a", "b"), ("1", "x, y")],
    "a,b\n\n1\n1,2,,": [("a", "b"), ("1", None), ("1", "2")],
    'a,b\n"x\n",2\n1': [("a", "b"), ("x\n", "2"), ("1", None)],
    'a\n""\n\n  \n1': [("a",), ("",), ("1",)],
    "a\tb\n\t": [("a", "b"), (None, None)],
}


@pytest.mark.parametrize("text", READ)
def test_texts_are_read_so(text):
    assert divide(text, "\t" if "\t" in text else ",").frame.rows() == READ[text]


REFUSED = {
    "a,b\n1\n1,2,3": "line 3 has 3 cells with ',' between them, and the first line has 2: 1,2,3",
    'a,b\n\n5" pipe,2,"3"': """line 3 has 3 cells with ',' between them, and the first line has 2: 5" pipe,2,"3\"""",
    'a,b\n"x\ny"\n1,2': "line 2 has 1 cells",
    'a,b\n"x\ny",1\n1,2,3': "line 4 has 3 cells",
    'a,b\n1,2\n"x\ny",2\n5,"x': 'opens a cell in line 5, and none ends it: "x',
    'a,b\n"""': 'opens a cell in line 2, and none ends it: """',
    'a,b\n1,"x\n"",2': "opens a cell in line 2, and none ends it",
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInputError) as error:
        divide(text, ",")
    assert REFUSED[text] in str(error.value)
