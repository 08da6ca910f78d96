"""`jaxtree explain` in sentences, tables and reasons; `jaxtree search` with a page, and taken up from a file."""

import io
import json

import pandas as pd
import pytest

import jaxtree
from jaxtree.explain import reason_codes, shap_values
from jaxtree.search.journal import Journal

X, Y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
ROWS = X.iloc[[0, 900, 1699]]


@pytest.fixture(scope="module")
def fitted():
    return jaxtree.RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, Y)


@pytest.fixture
def car(fitted, tmp_path):
    """A table and a forest in the folder."""
    X.assign(**{"class": Y}).to_csv(tmp_path / "car.csv", index=False)
    fitted.save(tmp_path / "m")
    return "explain", "m", "car.csv", "--rows", "1,901,1700"


def test_a_row_begins_with_the_sentence_of_python(run, car, fitted):
    said, records = run(*car).stdout, run(*car, "--format", "jsonl").stdout.splitlines()
    for number, (row, record) in enumerate(zip((1, 901, 1700), map(json.loads, records), strict=True)):
        why = jaxtree.explain_row(fitted, ROWS.iloc[[number]])
        assert f"row {row}: {why}\n" in said
        assert record["sentence"] == why.sentence and why.sentence.startswith(f"{why.share:.0%} {why.prediction}; ")
    assert "\ntree " not in said
    why = jaxtree.explain_row(fitted, ROWS.iloc[[0]])
    assert f"row 1: {why.text(trees=True)}\n" in run(*car, "--trees").stdout


def test_a_table_has_a_column_a_contribution(run, car, fitted):
    table = pd.read_csv(io.StringIO(run(*car, "--format", "csv").stdout))
    values, base = shap_values(fitted, ROWS)
    places = [fitted.classes_.tolist().index(label) for label in fitted.predict(ROWS)]
    for number, place in enumerate(places):
        own = table.iloc[number]
        assert own["row"] == (1, 901, 1700)[number] and own["prediction"] == fitted.classes_[place]
        assert own["base"] == pytest.approx(base[place])
        assert [own[f"contribution_{name}"] for name in X] == pytest.approx(values[number, :, place])
        assert own["total"] == pytest.approx(fitted.predict_proba(ROWS)[number, place])


def test_reasons_are_those_of_python(run, car, fitted):
    expected = reason_codes(fitted, ROWS, wanted="good", n_reasons=2)
    said = run(*car, "--reasons", 2, "--wanted", "good")
    table = pd.read_csv(io.StringIO(run(*car, "--reasons", 2, "--wanted", "good", "--format", "csv").stdout))
    for number, reasons in enumerate(expected):
        for place, reason in enumerate(reasons, 1):
            assert f"{place}. {reason}\n" in said.stdout and table[f"reason_{place}"][number] == str(reason)
    (record, *_) = run(*car, "--reasons", 2, "--wanted", "good", "--format", "jsonl").stdout.splitlines()
    assert json.loads(record)["reasons"] == [reason._asdict() for reason in expected[0]]


def test_what_is_wrong_is_said(run, car):
    assert "--wanted go together" in run(*car, "--reasons", 2, status=2).stderr
    assert "--wanted go together" in run(*car, "--wanted", "good", status=2).stderr
    said = run(*car, "--reasons", 2, "--wanted", "fine", status=1).stderr
    assert "wanted must be one of the classes acc, good, unacc, vgood, got 'fine'" in said


def test_an_unseen_word_is_named_in_a_note_and_counts_as_missing(run, car, tmp_path):
    ROWS.assign(safety="superb", persons=None).to_csv(tmp_path / "new.csv", index=False)
    done = run("explain", "m", "new.csv", "--rows", "2")
    said = done.stdout.splitlines()[0]
    assert "safety is superb, which the fit has not seen" in said and "persons is missing" in said
    assert "a word that the fit has not seen, such as 'superb'" in done.stderr


def test_a_search_has_a_page_and_is_taken_up(run, car, tmp_path, monkeypatch):
    command = ("search", "car.csv", "--target", "class", "--set", "max_depth=1:3", "--cv", 3, "--resume", "s.jsonl")
    first = run(*command, "--page", "page.html").stdout
    page = (tmp_path / "page.html").read_text()
    assert "<title>Settings for class</title>" in page and "Scores by parameter" in page
    monkeypatch.setattr(Journal, "keep", lambda *_: pytest.fail("a fit was made"))
    assert run(*command).stdout == first
    assert "has the results of another search" in run(*command, "--seed", 1, status=1).stderr
