"""Facts that `describe` finds in tables, and its warnings."""

import json

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.description.description import WIDTH, cells_of
from jaxtree.description.findings import KINDS
from jaxtree.errors import InvalidInputError

RNG = np.random.default_rng(0)
ROWS = 400
NOISE = RNG.normal(size=ROWS)
Y = np.where(NOISE + RNG.normal(size=ROWS) > 0.3, "good", "bad")


def kinds(found):
    return {(own.kind, *own.columns) for own in found.warnings}


def test_facts_of_a_worked_column():
    frame = pd.DataFrame(
        {
            "size": [2.0, 2.0, None, 7.5],
            "town": ["Kiel", None, "Bonn", "Kiel"],
            "day": pd.to_datetime(["2020-03-01 00:00", "2020-01-31 12:00", None, "2020-03-01 00:00"]),
            "is_new": [True, False, True, True],
        }
    )
    found = jaxtree.describe(frame, [1.0, 2.5, 3.5, 9.0])
    assert [cells_of(own) for own in found.columns] == [
        ("size", "number", "1 (25%)", "2", "2 to 7.5", "50% 2"),
        ("town", "words", "1 (25%)", "2", "", "50% Kiel"),
        ("day", "date", "1 (25%)", "2", "2020-01-31 12:00 to 2020-03-01", "50% 2020-03-01"),
        ("is_new", "boolean", "", "2", "", "75% True"),
    ]
    (target,) = found.target
    assert target.kind == "numbers" and target.quartiles == (1.0, 1.0, 2.5, 3.5, 9.0) and target.mean == 4.0
    assert target.deviation == pytest.approx(np.std([1.0, 2.5, 3.5, 9.0]))
    assert str(found).splitlines()[0] == "4 columns, 4 rows"


def test_targets_of_every_kind():
    X = NOISE[:, None]
    assert str(jaxtree.describe(X, Y).target[0]).startswith("2 classes: bad ")
    times = jaxtree.describe(X, np.arange(ROWS) + 1.0, event=np.arange(ROWS) % 4 == 0).target[0]
    assert times.shares == {"events": 0.25, "no event yet": 0.75} and times.kind == "times"
    several = jaxtree.describe(X, np.stack([NOISE, NOISE**2], axis=1)).target
    assert [own.kind for own in several] == ["numbers", "numbers"]
    shares = jaxtree.ClassProbabilities(np.tile([0.25, 0.75], (ROWS, 1)), ["a", "b"])
    assert jaxtree.describe(X, shares).target[0].shares == {"b": 0.75, "a": 0.25}
    whole = np.arange(ROWS) % 3
    assert jaxtree.describe(X, whole).target[0].kind == "classes"
    assert jaxtree.describe(X, whole, task="regression").target[0].kind == "numbers"
    assert jaxtree.describe(X).target == ()
    with pytest.raises(InvalidInputError, match="task must be 'classification', 'regression' or None, got 'numbers'"):
        jaxtree.describe(X, whole, task="numbers")
    with pytest.raises(InvalidInputError, match="inconsistent numbers of samples"):
        jaxtree.describe(X, whole[:-1])


STRANGE = {
    "identifier": [f"row {number}" for number in range(ROWS)],
    "leak": np.where(Y == "good", 1.0, 0.0) + RNG.random(ROWS) / 2,
    "no value": np.full(ROWS, np.nan),
    "constant": np.full(ROWS, 3.0),
    "nearly constant": (np.arange(ROWS) < 3) * 1.0,
    "dates as words": pd.Series(pd.date_range("2020-01-01", periods=ROWS // 4)).dt.strftime("%d.%m.%Y").tolist() * 4,
    "numbers as words": [str(number / 4) for number in range(ROWS // 4)] * 4,
}
"""Columns with one thing wrong each, by the kind of the warning."""


@pytest.mark.parametrize("kind", STRANGE)
def test_one_strange_column_gives_its_warning_and_no_other(kind):
    frame = pd.DataFrame({"plain": NOISE, "few": np.arange(ROWS) % 5, "strange": STRANGE[kind]})
    assert kinds(jaxtree.describe(frame, Y)) == {(kind, "strange")}
    assert kinds(jaxtree.describe(frame.drop(columns="strange"), Y)) == set()


def test_numbers_of_rows_are_identifiers_and_measures_are_none():
    frame = pd.DataFrame({"row": np.arange(ROWS) * 3 + 17, "noise": NOISE, "often": np.arange(ROWS) // 2})
    assert kinds(jaxtree.describe(frame, Y)) == {("identifier", "row")}
    mixed = frame.sample(frac=1, random_state=0)
    assert kinds(jaxtree.describe(mixed, Y[mixed.index])) == {("identifier", "row")}


def test_codes_with_zeros_in_front_are_words():
    frame = pd.DataFrame({"zip": [f"{number % 90:05d}" for number in range(ROWS)]})
    assert kinds(jaxtree.describe(frame)) == set()


LEAKS = {
    "a copy of a number": (lambda y: y, True),
    "a rounded copy": (lambda y: np.round(y, 1), True),
    "its cube": (lambda y: y**3, True),
    "its distance to 1": (lambda y: np.abs(y - 1), False),
    "a copy with a third as much noise": (lambda y: y + RNG.normal(size=ROWS) / 3, False),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_tells_numbers(name):
    make, is_leak = LEAKS[name]
    found = jaxtree.describe(pd.DataFrame({"x": make(NOISE), "z": RNG.normal(size=ROWS)}), NOISE)
    assert (("leak", "x") in kinds(found)) == is_leak
    if is_leak:
        (text,) = [own.text for own in found.warnings if own.kind == "leak"]
        assert text.startswith("column 'x' alone predicts the target (a tree of it has R² 0.99") or "R² 1.0" in text


def test_words_tell_classes_of_several():
    y = np.arange(ROWS) % 4
    frame = pd.DataFrame({"word": np.array(["a", "b", "c", "d"])[y], "half": y // 2, "noise": NOISE})
    found = jaxtree.describe(frame, y)
    assert kinds(found) == {("leak", "word")}
    assert "saves 100.0% of the errors" in found.warnings[0].text
    wrong = frame.assign(word=np.where(np.arange(ROWS) % 10 == 0, "a", frame["word"]))  # 7 % of the rows are wrong
    assert kinds(jaxtree.describe(wrong, y)) == set()


def test_words_that_few_rows_have_tell_nothing():
    """Each stands in two or three rows whose classes are drawn: held-out rows are what counts."""
    frame = pd.DataFrame({"word": [f"w{number // 3}" for number in range(ROWS)]})
    assert not any(own.kind == "leak" for own in jaxtree.describe(frame, Y).warnings)


def test_few_rows_are_not_judged():
    y = np.arange(30) % 2
    assert kinds(jaxtree.describe(y[:, None] * 1.0, y)) == set()


def test_a_rare_class_is_judged_by_the_errors_that_are_saved():
    """99 % of the rows have one class, so that every column is right nearly always."""
    y = np.arange(4000) % 100 == 0
    column = np.random.default_rng(1).normal(size=4000)
    found = jaxtree.describe(np.stack([column, y + column / 100], axis=1), y)
    assert kinds(found) == {("leak", "x1")}


def test_repeated_rows_beyond_chance():
    fine = pd.DataFrame(RNG.normal(size=(ROWS, 3)).round(3), columns=list("abc"))
    twice = pd.concat([fine, fine[: ROWS // 20]], ignore_index=True)
    y = NOISE[np.arange(len(twice)) % ROWS]
    found = jaxtree.describe(twice, y)
    assert found.repeats == ROWS // 20 and kinds(found) == {("repeated rows",)}
    coarse = pd.DataFrame(RNG.integers(0, 2, size=(ROWS, 4)), columns=list("abcd"))
    found = jaxtree.describe(coarse)
    assert found.repeats >= ROWS - 16 and kinds(found) == set()


def test_validation_rows_beside_training_rows():
    frame = pd.DataFrame({"noise": NOISE, "other": RNG.normal(size=ROWS), "town": ["Kiel", "Bonn"] * (ROWS // 2)})
    assert kinds(jaxtree.describe(frame[:300], Y[:300], X_val=frame[300:])) == set()
    held = frame[280:].assign(town=["Ulm"] * 5 + ["Bonn"] * (ROWS - 285))
    assert kinds(jaxtree.describe(frame[:300], Y[:300], X_val=held)) == {("unseen words", "town")}
    assert kinds(jaxtree.describe(frame[:300], Y[:300], X_val=frame[280:])) == {("shared rows",)}
    lost = frame[300:].assign(noise=np.nan)
    assert kinds(jaxtree.describe(frame[:300], Y[:300], X_val=lost)) == {("lost column", "noise")}
    fewer = frame[300:][["noise", "town"]]
    found = jaxtree.describe(frame[:300], Y[:300], X_val=fewer)
    assert kinds(found) == {("missing column", "other")}
    assert str(found.warnings[0]) == "column 'other' has no place in the validation rows"


def test_a_description_is_text_html_and_plain_values():
    frame = pd.DataFrame({"<b>": NOISE, "a\nb": ["x", "y"] * (ROWS // 2), "id": STRANGE["identifier"]})
    found = jaxtree.describe(frame, Y)
    text = str(found)
    assert repr(found) == text and text.splitlines()[-2].startswith("! column 'id' has a different word in every row")
    assert "&lt;b&gt;" in found._repr_html_()
    record = json.loads(json.dumps(found.to_dict()))
    assert record["columns"][0]["name"] == "<b>" and record["warnings"][0]["kind"] == "identifier"
    assert {own["kind"] for own in record["warnings"]} <= set(KINDS)
    assert max(map(len, text.splitlines()[-2:])) <= WIDTH
    wide = jaxtree.describe(RNG.normal(size=(20, 60)))
    assert "... and 20 more columns" in str(wide) and "and 20 more" in wide._repr_html_()


def test_a_declared_column_without_any_value_is_described():
    table = pd.DataFrame({"color": pd.Categorical([None, None], categories=["red", "blue"]), "size": [np.nan] * 2})
    found = jaxtree.describe(table, ["yes", "no"])
    assert [(own.kind, own.columns) for own in found.warnings] == [("no value", ("color", "size"))]
