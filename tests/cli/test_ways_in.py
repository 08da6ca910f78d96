"""A table says the same whatever way it comes in: to a fit, and to the predictions of a model fitted another way."""

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jaxtree
from jaxtree.files.container import read_model_file
from tests.marks import rest_is_slow

TARGET = "y"
CATEGORIES = ["code", "rate", "on"]
"""Columns of numbers and truth values that are made categories."""

ROWS = [
    # size, count, flag, code, rate, on, word; every row differs from all others in one column at least
    (1.5, 3, True, 1, 1.0, True, "NA"),
    (None, 3, True, 1, 1.0, True, "null"),
    (0.1, 3, True, 1, 1.0, True, "?"),
    (1e-7, 3, True, 1, 1.0, True, "us"),
    (1e20, 3, True, 1, 1.0, True, "True"),
    (1.5, 2**53, True, 1, 1.0, True, "01"),
    (1.5, -4, False, 1, 1.0, True, "1"),
    (1.5, -4, None, 1, 1.0, True, "a, b"),
    (1.5, -4, True, 2, 1.0, True, 'say "x"'),
    (1.5, -4, True, 10, 2.5, True, "größe"),
    (1.5, -4, True, 10, 1e20, True, "red"),
    (1.5, -4, True, 10, 2.5, False, "red"),
    (1.5, -4, True, 10, None, False, "blue"),
]
NAMES = ["size", "count", "flag", "code", "rate", "on", "word"]
FRAME = pl.DataFrame(ROWS, schema=NAMES, orient="row").with_columns(y=pl.Series([f"row {i}" for i in range(len(ROWS))]))
Y = FRAME[TARGET].to_list()


def as_objects(frame):
    return np.array(frame.rows(), object)


def as_fields(frame):
    kinds = {pl.Int64: "i8", pl.Float64: "f8"}
    return np.array(frame.rows(), [(name, kinds.get(dtype, object)) for name, dtype in frame.schema.items()])


IN_PYTHON = {
    "pandas": lambda frame: frame.to_pandas(),
    "polars": lambda frame: frame,
    "pyarrow": lambda frame: frame.to_arrow(),
    "objects": as_objects,
    "fields": as_fields,
    "rows": lambda frame: [list(row) for row in frame.rows()],
    "records": lambda frame: frame.to_dicts(),
    "path": lambda frame: write(frame, "t.parquet"),
    "parts": lambda frame: [frame[:5], frame[5:]],
}
FILES = ["t.csv", "t.parquet", "t.feather", "pandas.csv"]
WAYS = [*IN_PYTHON, *FILES]
SLOW = ["polars", "pyarrow", "fields", "records", "parts", "t.feather", "objects", "rows", "t.parquet"]
"""Ways of which fits are tested by hand and by the whole suite."""


def write(frame, name):
    match name.partition(".")[2], name:
        case "parquet", _:
            frame.write_parquet(name)
        case "feather", _:
            frame.write_ipc(name)
        case _, "pandas.csv":  # which writes whole numbers of a column with missing ones as floats, and True
            frame.to_pandas().to_csv(name, index=False)
        case _:
            frame.write_csv(name)
    return name


def fitted(way, frame, run, columns=CATEGORIES):
    """The file of a model that is fitted one way."""
    if way in IN_PYTHON:
        features = frame.drop(TARGET)
        places = [features.columns.index(name) for name in columns]
        model = jaxtree.DecisionTreeClassifier(categorical_features=places)
        model.fit(IN_PYTHON[way](features), frame[TARGET].to_numpy()).save("m.jaxtree")
    else:
        named = [option for name in columns for option in ("--categorical", name)]
        run("fit", write(frame, way), "-t", TARGET, "-o", "m.jaxtree", "--missing", "-", *named, "--quiet")
    return "m.jaxtree"


def predicted(way, model, features, run):
    if way in IN_PYTHON:
        return jaxtree.load(model).predict(IN_PYTHON[way](features)).tolist()
    done = run("predict", model, write(features, way), "--quiet")
    return pl.read_csv(io.StringIO(done.stdout), infer_schema=False)["prediction"].to_list()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("fit", [pytest.param(way, marks=[pytest.mark.slow] * (way in SLOW)) for way in WAYS])
def test_fit_and_predict_agree_through_any_two_ways_in(fit, run):
    model = fitted(fit, FRAME, run)
    features = FRAME.drop(TARGET)
    assert {way: predicted(way, model, features, run) for way in WAYS} == dict.fromkeys(WAYS, Y)
    few = features[::-1][:5]  # the words of a row do not depend on the other rows
    assert {way: predicted(way, model, few, run) for way in WAYS} == dict.fromkeys(WAYS, Y[::-1][:5])


DATES = pl.DataFrame(
    {
        "day": [datetime.date(2020, 1, 1), *[datetime.date(2020, 1, 2)] * 3, None],
        "at": [datetime.datetime(2020, 1, 1, 12)] * 2 + [datetime.datetime(2020, 1, 1, 12, 0, 0, 1)] * 3,
        "zone": [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)] * 3
        + [datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.UTC)] * 2,
        "y": list("abcde"),
    }
)


@pytest.mark.parametrize("fit", ["objects", "t.csv", "t.parquet"])
def test_dates_are_the_same_through_any_two_ways_in(fit, run):
    model, features = fitted(fit, DATES, run, columns=[]), DATES.drop(TARGET)
    assert {way: predicted(way, model, features, run) for way in WAYS} == {way: list("abcde") for way in WAYS}


TARGETS = {
    "truth values": [True, False, True, False],
    "integers": [0, 1, 1, 0],
    "whole floats": [0.0, 1.0, 2.0, 1.0],
    "words": ["a", "NA", "?", "a b"],
    "words like numbers": ["1", "0", "01", "1"],
    "words like truth values": ["True", "true", "x", "x"],
}


@pytest.mark.parametrize("classes", rest_is_slow(TARGETS.values(), 4), ids=TARGETS)
def test_classes_are_the_same_through_any_two_ways_in(classes, run):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], TARGET: classes})
    for fit in ("objects", "t.csv", "t.parquet"):
        if fit == "objects":
            jaxtree.DecisionTreeClassifier().fit(frame[["x"]].to_numpy(), classes).save("m.jaxtree")
        else:
            options = ["--task", "classification", "--missing", "-"]
            run("fit", write(frame, fit), "-t", TARGET, "-o", "m.jaxtree", *options)
        for name in ("pandas.csv", "t.parquet"):
            printed = run("evaluate", "m.jaxtree", write(frame, name), "-t", TARGET).stdout
            assert printed.startswith("rows               4\naccuracy           1.0000"), (fit, name)


def test_what_is_missing_is_kept_with_the_model(run):
    """With ? for missing cells NA is a word, and a class; no later command needs to be told."""
    with open("t.csv", "w") as file:
        file.write("size,word,y\n" + "1,NA,NA\n?,NA,NA\n3,b,b\n?,null,null\n4,?,?\n" * 3)
    run("fit", "t.csv", "-t", "y", "-o", "m.jaxtree", "--missing", "?")
    assert jaxtree.load("m.jaxtree").file_notes_ == {"missing": ["?"]}
    done = run("evaluate", "m.jaxtree", "t.csv")
    assert "accuracy           1.0000" in done.stdout and "3 rows without a target are left out" in done.stderr
    assert "not seen" not in done.stderr
    predicted = run("predict", "m.jaxtree", "t.csv", "--missing", "?", "--missing", "null").stdout.split()
    assert predicted[1:5] == ["NA", "NA", "b", "null"], "a category is never missing, whatever is said"


def test_no_category_of_a_model_from_python_is_missing(run):
    words = ["NA", "null", "", "?", "nan", "red"]
    X = pd.DataFrame({"word": words, "size": 1.0})
    jaxtree.DecisionTreeClassifier().fit(X, words).save("m.jaxtree")
    for name in ("pandas.csv", "t.csv", "t.parquet"):
        write(pl.from_pandas(X.assign(y=words)), name)
        printed = run("evaluate", "m.jaxtree", name, "-t", "y").stdout
        rows = 5 if name == "pandas.csv" else 6  # there an empty target looks as one that is missing
        assert f"rows               {rows}" in printed and "accuracy           1.0000" in printed


def learned(path):
    """A model file without what the target's frame decides: its name, and the type of an array of class names."""
    content = read_model_file(path)
    assert content.header["fitted"]["table"].pop("beside") in ([], ["y"])
    assert content.header["fitted"]["table"]["outputs"][0]["names"]["array"].pop(0) in ("|O", "<U3")
    return content.header, {name: array.tolist() for name, array in content.arrays.items()}


@pytest.mark.parametrize("algorithm", ["cart", pytest.param("boosting", marks=pytest.mark.slow)])
def test_a_command_fits_the_model_of_a_frame_that_polars_reads(algorithm, run):
    rows = 60
    frame = pl.DataFrame(
        {
            "whole": [row * 7 % 40 for row in range(rows)],
            "gaps": [None if row % 9 == 0 else row % 5 for row in range(rows)],
            "share": [row * 13 % 17 / 8 for row in range(rows)],
            "on": [row % 3 == 0 for row in range(rows)],
            "word": [None if row % 11 == 0 else "abc"[row % 3] for row in range(rows)],
            "code": [row % 4 for row in range(rows)],
            "day": [datetime.date(2020, 1, 1 + row % 28) for row in range(rows)],
            "y": ["no" if row * 5 % 7 < 3 else "yes" for row in range(rows)],
        }
    )
    frame.write_csv("t.csv")
    run("fit", "t.csv", "-t", "y", "-o", "m.jaxtree", "-a", algorithm, "--categorical", "code")
    read = pl.read_csv("t.csv", try_parse_dates=True)
    kind = {"cart": jaxtree.DecisionTreeClassifier, "boosting": jaxtree.GradientBoostingClassifier}[algorithm]
    model = kind(random_state=0, categorical_features=["code"])
    model.fit(read.drop("y"), read["y"]).save("python.jaxtree")
    assert learned("m.jaxtree") == learned("python.jaxtree")


def test_spaces_around_words_of_text_are_no_matter(run):
    """A file with types keeps them, and so does Python; a command knows a word with and without them."""
    frame = pl.DataFrame({"word": [" us", "de", "us ", "de"] * 3, "y": ["a", "b"] * 6})
    for fit, categories in (("t.csv", ("de", "us")), ("t.parquet", (" us", "de", "us "))):
        run("fit", write(frame, fit), "-t", "y", "-o", "m.jaxtree")
        assert jaxtree.load("m.jaxtree").schema_.columns[0].categories == categories
        for name in ("t.csv", "t.parquet"):
            assert run("evaluate", "m.jaxtree", write(frame, name)).stdout.split()[3] == "1.0000"


@pytest.mark.parametrize("cells", [("true", "false"), ("TRUE", "False"), ("True", "false")])
def test_truth_values_are_those_of_any_spelling(cells, run):
    frame = pl.DataFrame({"on": [True, False] * 4, "y": ["yes", "no"] * 4})
    for options in ([], ["--categorical", "on"]):
        run("fit", write(frame, "t.parquet"), "-t", "y", "-o", "m.jaxtree", *options)
        for yes, no in (cells, ("1", "0"), ("1.0", "0.0")):
            with open("new.csv", "w") as file:
                file.write(f"on\n{yes}\n{no}\n?\n")
            assert run("predict", "m.jaxtree", "new.csv").stdout.split()[1:3] == ["yes", "no"]


@pytest.mark.slow
def test_what_tune_returns_keeps_how_cells_are_read(run):
    with open("t.csv", "w") as file:
        file.write("word,y\n" + "".join(f"{'NA' if row % 2 else 'b'},{row % 2}\n" for row in range(60)))
    run("tune", "t.csv", "-t", "y", "-o", "m.jaxtree", "--missing", "-", "--n-iter", "2", "--cv", "2")
    assert "accuracy           1.0000" in run("evaluate", "m.jaxtree", "t.csv").stdout


def test_columns_of_a_file_with_types_stay_what_they_are(run):
    frame = pl.DataFrame({"word": ["1", " 1", "NA", "2020-01-31"] * 3, "y": list("abcd") * 3})
    run("fit", write(frame, "t.parquet"), "-t", "y", "-o", "m.jaxtree")
    (column,) = jaxtree.load("m.jaxtree").schema_.columns
    assert column.categories == (" 1", "1", "2020-01-31", "NA")
