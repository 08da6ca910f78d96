"""Columns of words that people take for numbers, dates or truth values are noted, with what to do about them."""

import re

import polars as pl
import pytest

import jaxtree
from jaxtree.cli.disguised import remark_on

NUMBERS = [str(number) for number in range(200)]

REMARKS = {
    "thousands or decimals": (["1,200", "800"], "such as '1,200', which --thousands , reads if .* thousands"),
    "thousands": (["1,234,567", "80"], "with marks between thousands, such as '1,234,567': --thousands , reads them"),
    "thousands and decimals": (["1,234.50", "1,000"], "with marks between thousands"),
    "thousands of Germany": (["1.234,50", "7,5"], "such as '1.234,50': --thousands . --decimal , reads"),
    "thousands of Switzerland": (["1'200", "800"], 'with marks between thousands, such as "1\'200"'),
    "thousands of France": (
        ["1\u202f200", "800", "1 000"],
        "with marks between thousands, .*: --thousands space reads",
    ),
    "thousands of India": (["12,34,567", "80"], "such as '12,34,567': --thousands , reads them"),
    "decimal commas": (["0,125", "1,5", "2"], "with decimal commas, which --decimal , reads"),
    "money": (["$5", "$7.50", "$1,200"], "with '\\$' before them"),
    "money behind": (["5 €", "7,50 €"], "with '€' behind them"),
    "currencies": (["EUR 5", "EUR 7"], "with 'EUR' before them"),
    "shares": (["5%", "7.5%", "0 %"], "with '%' behind them"),
    "units": (["5 kg", "7 kg"], "with 'kg' behind them"),
    "units and missing ones": (["5 kg", "7 kg", "8 kg", "-"], "with 'kg' behind them, .*; beside '-'"),
    "brackets": (["(5)", "7"], "write -5 for"),
    "sign behind": (["5-", "7.50-", "8"], "write -5 for 5-"),
    "minus of typography": (["−5", "7", "−1,200"], "with another minus sign than -"),
    "base 16": (["0x1f", "0x20"], "to base 16, such as '0x1f'"),
    "letters of size": (["1.2k", "3M", "800"], "with letters for thousands or millions"),
    "days of Germany": (["31.01.2020", "1.2.2020"], "look like dates"),
    "days of America": (["1/31/2020", "02/01/20"], "look like dates"),
    "months in words": (["31 Jan 2020", "1 Feb 2020"], "look like dates"),
    "time zones": (["2020-01-31", "2020-01-31T00:00:00Z"], "though all look like dates"),
    "no day": (["2020-02-30", "2020-02-28"], "though all look like dates"),
    "errors of Excel": ([*NUMBERS, "#REF!"], r"3 of 603 cells are no numbers: '#REF!' \('--missing=#REF!' reads them"),
    "truth values": (["true", "false", "TRUE", "?"], "are no true and false: '\\?'"),
    "dates": (["2020-01-31", "2020-02-01", "n/a"], "3 of 9 cells are no dates: 'n/a'"),
    **{
        f"missing as {word}": ([*NUMBERS, word, word], rf"6 of 606 cells are no numbers: '{word}' \(.*reads them")
        for word in ("None", "n/a", "#N/A", "-", "na", "--", "none", "missing", "<NA>")
    },
}
"""Cells of a column, and what is said of it."""

PLAIN = [
    ["red", "blue"],
    ["yes", "no"],
    ["01234", "99999"],
    ["01234", "99999", "n/a"],
    ["A12", "B13"],
    ["v1", "v2"],
    ["12:30", "14:00"],
    ["1-2", "3-4"],
    ["1a", "2b"],
    ["x5-", "B-"],
    ["$5", "€5"],
    ["low", "3", "high"],
    ["a,b", "c"],
]


@pytest.mark.parametrize(("cells", "said"), REMARKS.values(), ids=REMARKS)
def test_what_looks_like_another_kind_is_said(run, tmp_path, cells, said):
    """A note names the column, and nothing is read otherwise than it is written."""
    cells = [*cells] * 3
    words = {
        name: own * (len(cells) // 3) for name, own in {"word": ["red", "blue", "red"], "y": ["a", "b", "c"]}.items()
    }
    pl.DataFrame({"strange": cells, **words}).write_csv(tmp_path / "t.csv")
    noted = run("fit", "t.csv", "-t", "y", "-o", "m", "--missing", "NA", "--set", "max_depth=1").stderr
    (line,) = [line for line in noted.splitlines() if line.startswith("  strange: words")]
    assert re.search(said, line), line
    assert "  word:" not in noted
    assert {*jaxtree.load(tmp_path / "m").schema_.columns[0].categories} <= {*cells}


@pytest.mark.parametrize("cells", PLAIN)
def test_of_words_nothing_is_said(cells):
    assert remark_on(pl.Series(cells)) == ""


def test_thousands_are_not_called_decimals():
    for cells in (["1,200", "800"], ["1,200", "12,000"], ["1,200,000", "1,200"]):
        assert "--decimal" not in remark_on(pl.Series(cells))


def test_advice_has_the_words_that_it_would_take_away(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1,2,p\n2,NA,q\n3,4,p\n-,5,q\n5,6,p\n" * 3)
    noted = run("fit", "t.csv", "-t", "y", "-o", "m").stderr
    assert "a: words, since 3 of 15 cells are no numbers: '-' (--missing=NA --missing=- reads them as missing)" in noted
    noted = run("fit", "t.csv", "-t", "y", "-o", "m", "--missing=NA", "--missing=-").stderr
    assert "numbers: a (3 missing), b (3 missing)" in noted
    # A user who says what it is needs no advice.
    assert "  a: words, since" not in run("fit", "t.csv", "-t", "y", "-o", "m", "--categorical", "a").stderr


def test_points_beside_decimal_commas_are_noted(run, tmp_path):
    (tmp_path / "t.csv").write_text("a;b;y\n" + "1.200;1,5;p\n800;2,5;q\n1.500;3;p\n" * 3)
    noted = run("fit", "t.csv", "-t", "y", "-o", "m", "--decimal", ",").stderr
    assert "a: points are before decimals here, also that of 1.200" in noted


def test_as_many_predictions_as_rows_and_none_for_blank_lines(run, tmp_path):
    rows = [f"{row},{'p' if row > 4 else 'q'}" for row in range(9)]
    (tmp_path / "t.csv").write_text("a,y\n\n" + "\n\n".join(rows) + "\n\n  \n")
    run("fit", "t.csv", "-t", "y", "-o", "m")
    assert run("predict", "m", "t.csv").stdout.split() == ["prediction", *"qqqqqpppp"]
    assert run("predict", "m", "t.csv", "--keep", "a").stdout.split()[-1] == "8,p"
    assert run("explain", "m", "t.csv", "--rows", "6").stdout.startswith("row 6: p")
    (tmp_path / "u.csv").write_text("a\n\n7\n\n0\n\n")
    assert run("predict", "m", "u.csv").stdout.split() == ["prediction", "p", "q"]


def test_messages_count_the_rows_of_the_file(run, tmp_path):
    """Also where rows without a target are left out before."""
    (tmp_path / "t.csv").write_text("a,w,y\n\n1,1,\n\n2,1,p\n3,x,q\n")
    refused = run("fit", "t.csv", "-t", "y", "-o", "m", "--weight", "w", status=1).stderr
    assert "column 'w' of t.csv must have numbers, and has 'x' in row 3" in refused
    (tmp_path / "t.csv").write_text("a,w,y\n1,1,\n\n2,1,p\n3,,q\n")
    refused = run("fit", "t.csv", "-t", "y", "-o", "m", "--weight", "w", status=1).stderr
    assert "weight 'w' has no value in row 3" in refused


def test_points_between_three_digits_beside_hundreds_are_noted(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1.200,1.250,p\n800,800.5,q\n1.500,3,p\n" * 3)
    noted = run("fit", "t.csv", "-t", "y", "-o", "m").stderr
    assert "\n  a: points are before decimals here, also that of 1.200" in noted


WRITTEN = {
    "7%": "numbers with '%' behind them, such as '.*': write the numbers alone",
    "$7": "numbers with '\\$' before them",
    "1'200": "numbers with marks between thousands",
    "1,200": "--decimal , reads decimal commas, --thousands , commas between thousands",
    "-": "--missing names words",
}


@pytest.mark.parametrize(("cell", "hint"), WRITTEN.items())
def test_cells_that_must_be_numbers_are_refused_with_the_cause(run, tmp_path, cell, hint):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,p\n2,q\n3,p\n" * 3)
    run("fit", "t.csv", "-t", "y", "-o", "m")
    (tmp_path / "new.csv").write_text(f'a\n1\n\n"{cell}"\n')
    refused = run("predict", "m", "new.csv", status=1).stderr
    assert re.search(rf"column 'a' of new.csv must have numbers, and has .* in row 2 \({hint}", refused), refused


def test_a_file_of_one_column_is_told_of_separators(run, tmp_path):
    (tmp_path / "t.csv").write_text("a:y\n1:p\n2:q\n")
    assert (
        "(--separator names the character between cells)" in run("fit", "t.csv", "-t", "y", "-o", "m", status=1).stderr
    )
    run("fit", "t.csv", "-t", "y", "-o", "m", "--separator", ":")


MARKS = {
    "commas": (["1,200", "80", "1,234,567.5", "-12,000"], ["--thousands", ","]),
    "points": (["1.200", "80", "1.234.567,5", "-12.000"], ["--thousands", ".", "--decimal", ","]),
    "apostrophes": (["1'200", "80", "1’234'567.5", "-12'000"], ["--thousands", "'"]),
    "spaces": (["1\u202f200", "80", "1\u00a0234 567.5", "-12 000"], ["--thousands", "space"]),
    "lakhs": (["1,200", "80", "12,34,567.5", "-12,000"], ["--thousands", ","]),
    "underscores": (["1_200", "80", "1_234_567.5", "-12_000"], ["--thousands", "_"]),
}


@pytest.mark.parametrize(("cells", "options"), MARKS.values(), ids=MARKS)
def test_marks_between_thousands_are_read_on_demand_and_known_to_the_model(run, tmp_path, cells, options):
    """Marks of columns and of targets; plain numbers mean the same to it, and marks that are no such are none."""
    plain = ["1200", "80", "1234567.5", "-12000"]
    for name, own in (("marks.csv", cells), ("plain.csv", plain)):
        pl.DataFrame({"a": own * 6, "b": ["x", "y"] * 12, "y": own * 6}).write_csv(tmp_path / name)
    noted = run("fit", "marks.csv", "-t", "y", "-o", "m", "-a", "cart", *options).stderr
    assert "numbers: a" in noted and "numbers from -12000 to 1234567" in noted
    by_plain = run("fit", "plain.csv", "-t", "y", "-o", "p", "-a", "cart") and run("predict", "p", "plain.csv").stdout
    for name in ("marks.csv", "plain.csv"):
        assert run("predict", "m", name).stdout == by_plain
        assert "R²                       1.0000" in run("evaluate", "m", name).stdout
    assert run("predict", "p", "marks.csv", *options).stdout == by_plain
    assert "column 'a' of marks.csv must have numbers" in run("predict", "p", "marks.csv", status=1).stderr


def test_marks_that_are_between_no_thousands_stay(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + '"1,2","0,125","1,20,0000",p\n"3,4","12,5","7,00",q\n' * 6)
    noted = run("fit", "t.csv", "-t", "y", "-o", "m", "--thousands", ",").stderr
    assert "words: a (2), b (2), c (2)" in noted and "letters" not in noted
    for options in (["--thousands", ";"], ["--thousands", "."], ["--decimal", ",", "--thousands", ","]):
        refused = run("fit", "t.csv", "-t", "y", "-o", "m", *options, status=2).stderr
        assert "must be one of" in refused and "--thousands" in refused
