"""Files of all kinds become the same columns, with the same types at predict as at fit."""

import bz2
import decimal
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

import jaxtree
from jaxtree.cli.columns import features_like, read_labelled
from jaxtree.cli.session import ColumnOptions, TextOptions
from jaxtree.errors import InvalidInputError
from jaxtree.table.files import read
from jaxtree.table.files.read import read_contents
from tests.marks import in_turn

CSV = "size,colour,kind\n1.5,red,a\n,blue,b\n3,?,a\n"
ARFF = """% a comment
@relation 'some things'
@attribute size real
@attribute 'colour' {red, blue, "dark green"}
@attribute kind {a,b}
@data
1.5, red, a
?,'blue',b
3,?,a
"""
FRAME = pl.DataFrame({"size": [1.5, None, 3.0], "colour": ["red", "blue", None], "kind": ["a", "b", "a"]})


def written(path, kind):
    match kind:
        case "csv":
            path.write_text(CSV)
        case "semicolons":
            path.write_text(CSV.replace(",", " ; "))
        case "tabs with blank lines":
            path.write_text("\n" + CSV.replace(",", "\t") + "\n\n")
        case "quoted":
            path.write_text('"size","colour","kind"\r\n1.5,"red",a\r\n,"blue",b\r\n3,NA,"a"\r\n')
        case "byte order mark":
            path.write_bytes(b"\xef\xbb\xbf" + CSV.encode())
        case "gzipped":
            path.write_bytes(gzip.compress(CSV.encode()))
        case "arff":
            path.write_text(ARFF)
        case "parquet":
            FRAME.write_parquet(path)
        case "arrow":
            FRAME.write_ipc(path)
        case "feather of categories":
            FRAME.with_columns(pl.col("colour").cast(pl.Categorical)).write_ipc(path, compression="lz4")
    return str(path)


def test_a_gzip_file_that_is_made_to_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "_LEAST_UNZIPPED", 10_000)
    (tmp_path / "bomb").write_bytes(gzip.compress(CSV.encode() + b"1,red,a\n" * 100_000))
    with pytest.raises(InvalidInputError, match="bomb unzips to more than 100 times its size"):
        read_contents(str(tmp_path / "bomb"), TextOptions())
    (tmp_path / "small").write_bytes(gzip.compress(CSV.encode() + b"1,red,a\n" * 1_000))
    assert read_contents(str(tmp_path / "small"), TextOptions()).frame.height == 1_003


KINDS = [
    "csv",
    "semicolons",
    "tabs with blank lines",
    "quoted",
    "byte order mark",
    "gzipped",
    "arff",
    "parquet",
    "arrow",
]


@pytest.mark.parametrize("kind", [*KINDS, "feather of categories"])
def test_all_kinds_of_files_say_the_same(tmp_path, kind):
    rows = read_labelled(read_contents(written(tmp_path / "things", kind), TextOptions()), "kind", ColumnOptions())
    np.testing.assert_array_equal(rows.X["size"], [1.5, np.nan, 3])
    assert [None if pd.isna(word) else word for word in rows.X["colour"]] == ["red", "blue", None]
    assert list(rows.y) == ["a", "b", "a"] and rows.task == "classification"


def test_arff_declares_categories(tmp_path):
    rows = read_labelled(read_contents(written(tmp_path / "a.arff", "arff"), TextOptions()), "kind", ColumnOptions())
    assert list(rows.X["colour"].cat.categories) == ["red", "blue", "dark green"]


TARGETS = [
    ([0, 1, 0, 2], "classification"),
    (["1", "0", None, "1"], "classification"),
    ([0.5, 1, 0, 2], "regression"),
    (list(range(11)), "regression"),
    ([True, False], "classification"),
    (["a", "b"], "classification"),
]


@pytest.mark.parametrize(("values", "task"), TARGETS)
def test_the_target_tells_the_task(tmp_path, values, task):
    path = str(tmp_path / "t.csv")
    pl.DataFrame({"x": range(len(values)), "y": values}, strict=False).write_csv(path)
    rows = read_labelled(read_contents(path, TextOptions()), "y", ColumnOptions())
    assert rows.task == task and rows.num_left_out == values.count(None)


def test_types_of_the_fit_hold_at_predict(run, tmp_path):
    """Codes that were words stay words, though here they could be numbers; columns come in another order."""
    (tmp_path / "fit.csv").write_text("zip,age,y\n" + "01,10,a\n02,20,b\nX,30,b\n" * 3)
    run("fit", "fit.csv", "-t", "y", "-o", "m.jaxtree")
    (tmp_path / "new.csv").write_text("note,age,zip\nhello,10,01\nhello,?,02\nhello,10,77\n")
    done = run("predict", "m.jaxtree", "new.csv")
    assert done.stdout.split()[1:3] == ["a", "b"]
    assert "zip: 1 row has a word that the fit has not seen, such as '77'" in done.stderr
    (tmp_path / "bad.csv").write_text("age,zip\nten,01\n")
    done = run("predict", "m.jaxtree", "bad.csv", status=1)
    assert "column 'age' of bad.csv must have numbers, and has 'ten' in row 1" in done.stderr
    (tmp_path / "less.csv").write_text("age\n1\n")
    assert "has no column 'zip'" in run("predict", "m.jaxtree", "less.csv", status=1).stderr


def test_wishes_and_words_for_missing(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,code,size,y\n" + "1,7,-,a\n2,8,5,b\n3,7,6,a\n4,8,-,b\n" * 4)
    run(*["fit", "t.csv", "-t", "y", "-o", "m.jaxtree", "--categorical", "code", "--ignore", "id", "--missing", "-"])
    code, size = jaxtree.load("m.jaxtree").schema_.columns
    assert code.kind == "categorical" and code.categories == (7, 8)
    assert size.kind == "numeric" and size.has_missing
    assert "words: size" in run(*["fit", "t.csv", "-t", "y", "-o", "m.jaxtree", "--ignore", "id,code"]).stderr


def test_without_a_header_columns_are_numbered(run, tmp_path):
    (tmp_path / "t.csv").write_text("1,a\n2,b\n3,a\n")
    run(*["fit", "t.csv", "--no-header", "-t", "x1", "-o", "m.jaxtree"])
    assert run(*["predict", "m.jaxtree", "t.csv", "--no-header", "--quiet"]).stdout.split() == [
        "prediction",
        "a",
        "b",
        "a",
    ]


def test_row_numbers_are_pointed_out(run, tmp_path):
    lines = [f"{row},{row % 3},{'ab'[row % 2]}" for row in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["row,x,y", *lines]))
    assert (
        "column 'row' has another whole number in every row"
        in run(*["fit", "t.csv", "-t", "y", "-o", "m.jaxtree"]).stderr
    )


WRONG = {
    "is empty": b"",
    "has no rows": b"a,b\n",
    "'a' appears twice": b"a,a\n1,2\n",
    "cannot be read": b"a,b\n1,2,3,4\n1,2\n",
    "damaged gzip": gzip.compress(b"a,b\n1,2\n" * 99)[:30],
    "has no @data": b"@relation r\n@attribute a real\n",
    "sparse rows": b"@relation r\n@attribute a real\n@data\n{0 1}\n",
    "kind 'date'": b"@relation r\n@attribute a date\n@data\n1\n",
    "2 cells instead of 1": b"@relation r\n@attribute a real\n@data\n1,2\n",
}


@pytest.mark.parametrize(("said", "content"), WRONG.items(), ids=WRONG)
def test_files_that_are_none(tmp_path, said, content):
    (tmp_path / "wrong").write_bytes(content)
    with pytest.raises(InvalidInputError, match=said):
        read_contents(str(tmp_path / "wrong"), TextOptions())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nodes"), [("labor", 5), ("vote", 11)])
def test_files_of_weka_give_its_trees(run, real_data, name, nodes):
    target = {"labor": "class", "vote": "Class"}[name]
    run("fit", real_data / name / f"{name}.arff", "-t", target, "-a", "c45", "-o", "m.jaxtree")
    assert run("show", "m.jaxtree", "--style", "weka").stdout.rstrip().endswith(f"Size of the tree : \t{nodes}")


DATES = {
    "days": (["2020-01-31", "2021-02-28"], "M", None),
    "minutes": (["2020-01-31 12:00", "2021-02-28 13:30"], "M", None),
    "to the microsecond": (["2020-01-31T12:00:00.000001", "2021-02-28"], "M", None),
    "with a time zone": (["2020-01-31T12:00:00Z", "2021-02-28T00:00:00+02:00"], "M", "UTC"),
    "with and without a time zone": (["2020-01-31T12:00:00Z", "2021-02-28T00:00:00"], "O", None),
    "no day of the calendar": (["2020-01-31", "2021-02-29"], "O", None),
    "ambiguous": (["01/02/2020", "02/02/2020"], "O", None),
    "months": (["2020-01", "2021-02"], "O", None),
    "numbers": (["20200131", "20210228"], "f", None),
}


@pytest.mark.parametrize(("cells", "kind", "zone"), DATES.values(), ids=DATES)
def test_dates_that_can_be_read_in_one_way_are_dates(tmp_path, cells, kind, zone):
    path = tmp_path / "dates.csv"
    path.write_text("when,y\n" + "".join(f"{cell},{place}\n" for place, cell in enumerate([*cells, "?"])))
    contents = read_contents(str(path), TextOptions())
    column = read_labelled(contents, "y", ColumnOptions()).X["when"]
    assert column.dtype.kind == kind and str(getattr(column.dt, "tz", None) if kind == "M" else None) == str(zone)
    assert column.isna().tolist() == [False, False, True]
    asked = read_labelled(contents, "y", ColumnOptions(categorical=["when"]))
    assert asked.X["when"].dtype.kind == ("f" if kind == "f" else "O")
    assert asked.parameters == ({"categorical_features": ["when"]} if kind == "f" else {})
    target = read_labelled(contents, "when", ColumnOptions()).y  # classes, whatever they look like
    assert kind == "f" or target.tolist() == cells


def test_dates_of_binary_files(tmp_path):
    dates = pl.Series(["2020-01-31", None]).str.to_date()
    frame = pl.DataFrame({"day": dates, "at": dates.cast(pl.Datetime("ms", "UTC")), "span": dates - dates[0]})
    frame.with_columns(y=pl.Series([0, 1])).write_parquet(tmp_path / "dates.parquet")
    X = read_labelled(read_contents(str(tmp_path / "dates.parquet"), TextOptions()), "y", ColumnOptions()).X
    assert [X[name].dtype.kind for name in X] == ["M", "M", "m"] and str(X["at"].dt.tz) == "UTC"
    schema = jaxtree.growth.Encoder().fit(X).schema_
    encoder = jaxtree.growth.Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(X), encoder.fit_transform(frame))
    (tmp_path / "new.csv").write_text("day,at,span\n2020-02-01,2020-01-31T00:00:00+02:00,?\n")
    like = features_like(read_contents(str(tmp_path / "new.csv"), TextOptions()), schema.columns)
    encoder = jaxtree.growth.Encoder().fit(X)
    np.testing.assert_allclose(encoder.values(like), [[1.0, -1 / 12, np.nan]])
    (tmp_path / "bad.csv").write_text("day,at,span\nyesterday,2020-01-31T00:00:00Z,?\n")
    with pytest.raises(InvalidInputError, match=r"column 'day' of bad.csv must have dates, .* and has 'yesterday'"):
        features_like(read_contents(str(tmp_path / "bad.csv"), TextOptions()), schema.columns)


def read_target(path, values, task):
    path.write_text("x,y\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values)))
    return read_labelled(read_contents(str(path), TextOptions()), "y", ColumnOptions(task=task)).y


def test_classes_beyond_the_whole_numbers_of_floats(tmp_path):
    classes = [2**53, 2**53 + 1, 2**63 - 1]
    assert read_target(tmp_path / "t.csv", classes, "classification").tolist() == classes
    with pytest.raises(InvalidInputError, match=r"below 2\*\*53 or words as classes, and has 1.8446744"):
        read_target(tmp_path / "t.csv", [2**64, 1], "classification")


def test_text_in_utf_16_is_read_and_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(CSV.encode("utf-16"))
    assert read_contents(str(tmp_path / "t.csv"), TextOptions()).frame.columns == ["size", "colour", "kind"]
    (tmp_path / "t.csv").write_bytes(CSV.encode("utf-16-le"))
    with pytest.raises(InvalidInputError, match="it has NUL bytes; text is read in UTF-8"):
        read_contents(str(tmp_path / "t.csv"), TextOptions())


def test_a_float_that_is_no_number_is_a_missing_target(tmp_path):
    pl.DataFrame({"x": [1, 2, 3], "y": [1.5, float("nan"), 2]}).write_parquet(tmp_path / "t")
    rows = read_labelled(read_contents(str(tmp_path / "t"), TextOptions()), "y", ColumnOptions())
    assert rows.y.tolist() == [1.5, 2] and rows.num_left_out == 1


def test_arff_reads_quotes_of_both_kinds_and_names_with_commas(tmp_path):
    (tmp_path / "t").write_text(
        "@relation r\n@attribute 'a,b' string\n@attribute c {x,\"y z\"}\n@data\n\"it's\",'y z'\n"
    )
    contents = read_contents(str(tmp_path / "t"), TextOptions())
    assert contents.frame.rows() == [("it's", "y z")] and contents.frame.columns == ["a,b", "c"]


NO_NUMBERS = {
    "ids beyond 2**53": ("9007199254740993", "9007199254740995"),
    "nanoseconds": ("1577836800000000001", "1577836800000000002"),
    "an id with a sign": ("-9007199254740993", "+9007199254740993"),
    "a thousand digits": ("9" * 1000, "8" * 1000),
}


@pytest.mark.parametrize("cells", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_integers_that_float64_cannot_tell_apart_are_no_numbers(run, tmp_path, cells):
    (tmp_path / "t.csv").write_text("id,y\n" + "".join(f"{cell},{y}\n" for cell, y in zip(cells, "ab", strict=True)))
    fit = ["fit", "t.csv", "-t", "y", "-o", "m.jaxtree"]
    for options in ([], ["--numeric", "id"]):
        assert "'id' holds integers beyond 2**53" in run(*fit, *options, status=1).stderr
    run(*fit, "--categorical", "id")
    assert run("evaluate", "m.jaxtree", "t.csv").stdout.split()[3] == "1.0000"
    (tmp_path / "new.csv").write_text("id,y\n1,a\n2,b\n")
    run("fit", "new.csv", "-t", "y", "-o", "m.jaxtree")
    assert "'id' holds integers beyond 2**53" in run("predict", "m.jaxtree", "t.csv", status=1).stderr


def test_integers_beyond_2_53_with_missing_ones_are_refused_in_files_with_types(run, tmp_path):
    frame = pl.DataFrame({"id": [2**53 + 1, None, 2**53 + 3], "y": ["a", "b", "b"]})
    for kind in (pl.Int64, pl.UInt64, pl.Decimal(20, 0), pl.Int128):
        frame.with_columns(pl.col("id").cast(kind)).write_ipc(tmp_path / "t.arrow")
        assert "'id' holds integers" in run("fit", "t.arrow", "-t", "y", "-o", "m", status=1).stderr
        run("fit", "t.arrow", "-t", "y", "-o", "m.jaxtree", "--categorical", "id")
        assert run("evaluate", "m.jaxtree", "t.arrow").stdout.split()[3] == "1.0000"


def test_floats_may_be_large(tmp_path):
    (tmp_path / "t.csv").write_text("size,y\n9007199254740993.0,a\n1e300,b\n9007199254740992,b\n")
    rows = read_labelled(read_contents(str(tmp_path / "t.csv"), TextOptions()), "y", ColumnOptions())
    assert rows.X["size"].tolist() == [2.0**53, 1e300, 2.0**53]


def test_identifiers_are_words(run, tmp_path):
    (tmp_path / "t.csv").write_text("zip,share,y\n01234,0.5,a\n1234,0,b\n12,-0.5,b\n")
    rows = read_labelled(read_contents(str(tmp_path / "t.csv"), TextOptions()), "y", ColumnOptions())
    assert rows.X["zip"].tolist() == ["01234", "1234", "12"] and rows.X["share"].tolist() == [0.5, 0, -0.5]
    assert (
        read_labelled(read_contents(str(tmp_path / "t.csv"), TextOptions()), "zip", ColumnOptions()).y.dtype.kind == "O"
    )
    rows = read_labelled(read_contents(str(tmp_path / "t.csv"), TextOptions()), "y", ColumnOptions(numeric=["zip"]))
    assert rows.X["zip"].tolist() == [1234, 1234, 12]


ARFF_OF_STRANGE_WORDS = """@relation r
@attribute size real
@attribute sure {?, yes}
@attribute colour {red, NA}
@attribute note string
@attribute y {a,b,c,d}
@data
?,?,NA,NA,a
1,yes,red,'?',b
NA,yes,?,?,c
2,yes,red,"",d
"""


def test_what_is_missing_in_arff_follows_from_what_a_column_declares(run, tmp_path):
    (tmp_path / "t.arff").write_text(ARFF_OF_STRANGE_WORDS)
    rows = read_labelled(read_contents(str(tmp_path / "t.arff"), TextOptions()), "y", ColumnOptions())
    known = {name: column.astype(object).where(column.notna(), None).tolist() for name, column in rows.X.items()}
    assert known == {
        "size": [None, 1, None, 2],
        "sure": ["?", "yes", "yes", "yes"],
        "colour": ["NA", "red", None, "red"],
        "note": ["NA", "?", None, ""],
    }
    run("fit", "t.arff", "-t", "y", "-o", "m.jaxtree")
    assert run("evaluate", "m.jaxtree", "t.arff").stdout.split()[3] == "1.0000"
    rows.X.assign(y=list("abcd")).to_parquet(tmp_path / "t.parquet")
    assert run("evaluate", "m.jaxtree", "t.parquet").stdout.split()[3] == "1.0000"


INDEXES = {
    "numbers in disorder": pd.Index(range(39, -1, -1)),
    "names": pd.Index([f"row {row}" for row in range(40)], name="row"),
    "numbers": pd.RangeIndex(40),
    "numbers with a name": pd.Index(range(40), name="id"),
    "dates": pd.date_range("2020-01-01", periods=40, name="day"),
    "two levels": pd.MultiIndex.from_product([range(20), ["a", "b"]], names=[None, "half"]),
}


def write_feather(frame, path):
    pyarrow.feather.write_feather(pa.Table.from_pandas(frame), path)


SAVED = {"t.parquet": pd.DataFrame.to_parquet, "t.feather": write_feather}


@pytest.mark.parametrize(("index", "name"), in_turn(INDEXES.values(), SAVED))
def test_a_saved_index_is_no_feature(tmp_path, index, name):
    frame = pd.DataFrame({"x": range(40), "y": ["a", "b"] * 20}).set_index(index)
    SAVED[name](frame, tmp_path / name)
    contents = read_contents(str(tmp_path / name), TextOptions())
    assert list(read_labelled(contents, "y", ColumnOptions()).X) == ["x"]
    if contents.index:  # it is one if it is asked for
        own = read_labelled(contents, "y", ColumnOptions(categorical=[contents.index[-1]])).X
        assert list(own) == ["x", contents.index[-1]]


def test_the_names_of_rows_in_text_are_no_feature(tmp_path):
    frame = pd.DataFrame({"x": range(3), "y": list("aba")}, index=[7, 8, 9])
    frame.to_csv(tmp_path / "t.csv")
    contents = read_contents(str(tmp_path / "t.csv"), TextOptions())
    assert list(read_labelled(contents, "y", ColumnOptions()).X) == ["x"]
    assert list(read_labelled(contents, "y", ColumnOptions(numeric=["x0"])).X) == ["x0", "x"]


def test_names_of_several_levels_are_those_that_pandas_had(run, tmp_path):
    frame = pd.DataFrame([[1.0, 5.0], [5.0, 1.0]] * 3, columns=pd.MultiIndex.from_tuples([("pay", 5), ("age", "")]))
    jaxtree.DecisionTreeClassifier().fit(frame, ["a", "b"] * 3).save("m.jaxtree")
    frame[frame.columns[::-1]].to_parquet("t.parquet")
    assert run("predict", "m.jaxtree", "t.parquet").stdout.split()[1:] == ["a", "b"] * 3


def test_columns_of_a_model_without_names_are_taken_in_order(run, tmp_path):
    jaxtree.DecisionTreeClassifier().fit([[1.0, 5.0], [5.0, 1.0]], ["a", "b"]).save("m.jaxtree")
    (tmp_path / "t.csv").write_text("u,y,v\n1,a,5\n5,b,1\n")
    assert run("evaluate", "m.jaxtree", "t.csv", "-t", "y").stdout.split()[3] == "1.0000"
    (tmp_path / "t.csv").write_text("1,0\n5,1\n1,5\n")
    assert run("predict", "m.jaxtree", "t.csv").stdout.split()[1:] == ["a", "b"]


SEPARATED = {
    "names with commas": ("t.csv", "length, cm\twidth, cm\ty\n1.5\t2\ta\n2.5\t3\tb\n"),
    "cells with commas": ("t.csv", "town\tname\ty\nBerlin, A, B, C\tx, y\ta\nRoma\tz\tb\n"),
    "one row, and the name of the file": ("t.tsv", "l, cm, mm\tw, cm\ty\n1, 2, 3\t2, 4\ta\n"),
    "decimal commas": ("t.csv", "l;w;y\n1,5;2,5;a\n2,5;3,25;b\n"),
    "names with semicolons": ("t.csv", "l;w;h,w;x,y\n1,2,a\n2,3,b\n"),
    "cells in quotes": ("t.csv", 'l,w,y\n"1;2;3;4\n;5",2,a\n"3;4;5;6",3,b\n'),
    "bars": ("t.txt", "a, b, c, d|w|y\n1|2|a\n2|3|b\n"),
}


@pytest.mark.parametrize(("name", "text"), SEPARATED.values(), ids=SEPARATED)
def test_separators_cut_all_lines_alike(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_contents(str(tmp_path / name), TextOptions()).frame.width == 3


HEADLESS = {
    "numbers": "5.1,3.5,a\n4.9,3.0,b\n4.7,3.2,a\n",
    "numbers that repeat": "1,1,a\n2,1,b\n",
    "words": "x,s,n\nx,s,y\nb,s,n\n",
}


@pytest.mark.parametrize("text", HEADLESS.values(), ids=HEADLESS)
def test_a_table_without_a_header_is_told_how_to_say_so(run, tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert "--no-header" in run("fit", "t.csv", "-t", "species", "-o", "m.jaxtree", status=1).stderr
    run("fit", "t.csv", "-t", "x2", "-o", "m.jaxtree", "--no-header")
    (tmp_path / "t.csv").write_text(CSV)
    assert "--no-header" not in run("fit", "t.csv", "-t", "species", "-o", "m.jaxtree", status=1).stderr


def zipped(name):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, CSV)
    return data.getvalue()


OTHERS = {
    "is a zip archive": zipped("t.csv"),
    "is an Excel workbook: save it as CSV": zipped("xl/workbook.xml"),
    "is a bzip2 file": bz2.compress(CSV.encode()),
    "is an xz file": lzma.compress(CSV.encode()),
    "is a Zstandard file": b"(\xb5/\xfd" + bytes(9),
    "is an old Excel workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(9),
    "is JSON": b'[{"size": 1, "y": "a"}]',
    "is an HTML page": b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
    "is an SQLite database": b"SQLite format 3\0" + bytes(9),
}


@pytest.mark.parametrize(("said", "content"), OTHERS.items(), ids=OTHERS)
def test_files_of_other_kinds_are_called_by_their_names(tmp_path, said, content):
    for data in (content, gzip.compress(content)):
        (tmp_path / "t.csv").write_bytes(data)
        with pytest.raises(InvalidInputError, match=said):
            read_contents(str(tmp_path / "t.csv"), TextOptions())


def test_decimal_commas(run, tmp_path):
    """They are pointed out, read on demand, and known to the model."""
    rows = [f"{i % 2 + 0.5};{i % 3};{i % 2 + 0.25}" for i in range(12)]
    (tmp_path / "points.csv").write_text("a;b;y\n" + "\n".join(rows))
    (tmp_path / "t.csv").write_text("a;b;y\n" + "\n".join(rows).replace(".", ","))
    fit = ["fit", "t.csv", "-t", "y", "-o", "m.jaxtree"]
    assert "a, y: words that are numbers with decimal commas, which --decimal , reads" in run(*fit).stderr
    assert "--decimal , reads decimal commas" in run(*fit, "--numeric", "a", status=1).stderr
    done = run(*fit, "--decimal", ",")
    assert "numbers: a, b" in done.stderr and "numbers from 0.25 to 1.25" in done.stderr
    for name in ("t.csv", "points.csv"):
        assert "R²                       1.0000" in run("evaluate", "m.jaxtree", name).stdout
    run("fit", "points.csv", "-t", "y", "-o", "m.jaxtree")
    assert "--decimal , reads" in run("predict", "m.jaxtree", "t.csv", status=1).stderr
    assert "R²                       1.0000" in run("evaluate", "m.jaxtree", "t.csv", "--decimal", ",").stdout
    (tmp_path / "t.csv").write_text("a;y\n1.234,5;b\n1.500;c\n0,5;b\n")
    assert "words: a" in run(*fit).stderr
    assert "with a comma, as '0,5', and with a point, as '1.500'" in run(*fit, "--decimal", ",", status=1).stderr


def test_decimals_are_numbers(run, tmp_path):
    prices = [decimal.Decimal("1.5"), None, decimal.Decimal("2.25")]
    frame = pl.DataFrame({"price": prices, "y": ["a", "b", "c"]}, schema_overrides={"price": pl.Decimal(9, 2)})
    frame.write_parquet(tmp_path / "t.parquet")
    rows = read_labelled(read_contents(str(tmp_path / "t.parquet"), TextOptions()), "y", ColumnOptions())
    np.testing.assert_array_equal(rows.X["price"], [1.5, np.nan, 2.25])
    run("fit", "t.parquet", "-t", "price", "-o", "m.jaxtree")


def test_categories_that_a_file_declares_are_those_of_a_frame(run, tmp_path):
    """Numbers, too, which polars reads as such and of which Parquet keeps no categories; and their order."""
    frame = pd.DataFrame(
        {
            "code": pd.Categorical([10, 2, None, 2]),
            "size": pd.Categorical(["small", "big", "small", None], ["small", "medium", "big"], ordered=True),
            "share": pd.Categorical([0.5, None, 1.0, 0.5], [1.0, 0.5, 0.25]),
            "y": list("abcd"),
        }
    )
    for name, save in SAVED.items():
        save(frame, tmp_path / name)
        again = (pd.read_parquet if name == "t.parquet" else pd.read_feather)(tmp_path / name)
        schema = jaxtree.growth.Encoder().fit(again.drop(columns="y")).schema_
        contents = read_contents(str(tmp_path / name), TextOptions())
        assert jaxtree.growth.Encoder().fit(read_labelled(contents, "y", ColumnOptions()).X).schema_ == schema
        run("fit", name, "-t", "y", "-o", "m.jaxtree")
        assert run("evaluate", "m.jaxtree", name).stdout.split()[3] == "1.0000"
        assert jaxtree.load("m.jaxtree").score(again.drop(columns="y"), again["y"]) == 1
        assert read_labelled(contents, "size", ColumnOptions()).task == "classification"
        numbers = read_labelled(contents, "y", ColumnOptions(numeric=["code"])).X["code"]
        np.testing.assert_array_equal(numbers, [10, 2, np.nan, 2])


def test_spaces_around_names_are_no_matter(run, tmp_path):
    X = pd.DataFrame({" age": [1.0, 2.0], "word ": [" us", "de"]})
    jaxtree.DecisionTreeClassifier().fit(X, ["a", "b"]).save("m.jaxtree")
    X.to_csv("t.csv", index=False)
    X.rename(columns=str.strip).to_parquet("t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert run("predict", "m.jaxtree", name).stdout.split()[1:] == ["a", "b"]
