"""`jaxtree describe`, and what a fit says of its table."""

import json

import pytest

ROWS = 60
LINES = [
    f"r{row},{row % 7},{row % 3 / 4},2020-01-{1 + row % 28:02d},{['lo', 'hi'][row % 7 > 2]},{row % 2}"
    for row in range(ROWS)
]
TABLE = "\n".join(["id,size,share,day,kind,w", *LINES])


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    return "t.csv"


IDENTIFIER = (
    "column 'id' has a different word in every row: it looks like an identifier, from which no model can "
    "learn; leave it out (--ignore id)"
)
LEAK = (
    "column 'size' alone predicts the target (a tree of it saves 100.0% of the errors of the most frequent class on "
    "held-out rows): was it known before? (--ignore size)"
)


def test_a_table_is_described_with_its_target(run, table):
    lines = run("describe", table, "-t", "kind", "--ignore", "w").stdout.splitlines()
    assert lines[:2] == ["4 columns, 60 rows", "target: 2 classes: hi 55.0%, lo 45.0%"]
    assert lines[3].split() == ["column", "kind", "missing", "unique", "range", "most", "frequent"]
    assert lines[5].split() == ["size", "number", "7", "0", "to", "6", "15%", "0"]
    assert lines[7].split()[:3] == ["day", "date", "28"]
    assert lines[9:] == [f"! {IDENTIFIER}", f"! {LEAK}"]


def test_a_table_is_described_without_a_target(run, table):
    lines = run("describe", table).stdout.splitlines()
    assert lines[0] == "6 columns, 60 rows" and lines[-1] == f"! {IDENTIFIER}"
    assert not any(line.startswith("target") for line in lines)
    run("describe", table, "--event", "w", status=2)


def test_weights_and_kinds_are_the_options_of_a_fit(run, table):
    lines = run("describe", table, "-t", "kind", "--weight", "w", "--categorical", "size").stdout.splitlines()
    assert lines[0] == "4 columns, 30 rows"
    assert lines[5].split()[:2] == ["size", "words"]
    times = run("describe", table, "-t", "size", "--event", "w").stdout
    assert "target: times from 0 to 6" in times and "events 50.0%" in times


def test_json_has_all_of_it(run, table):
    record = json.loads(run("describe", table, "-t", "kind", "--json").stdout)
    assert record["columns"][1]["most"] == 6.0 and record["target"][0]["shares"]["hi"] == pytest.approx(33 / 60)
    assert [own["kind"] for own in record["warnings"]] == ["identifier", "leak"]


def test_a_fit_prints_the_warnings(run, table):
    said = run("fit", table, "-t", "kind", "-o", "m.jaxtree").stderr.splitlines()
    assert f"  {IDENTIFIER}" in said and f"  {LEAK}" in said and len(said) <= 15
    fine = run("fit", table, "-t", "kind", "-o", "m.jaxtree", "--ignore", "id,size").stderr
    assert "column '" not in fine


def test_words_that_look_like_numbers_are_said_once(run, tmp_path):
    (tmp_path / "p.csv").write_text("\n".join(["price,y", *(f"${row % 20}.5,{row % 2}" for row in range(40))]))
    lines = run("describe", "p.csv", "-t", "y").stdout.splitlines()
    assert lines[-1] == "! price: words that are numbers with '$' before them, such as '$0.5': write the numbers alone"


def test_a_prediction_names_lost_columns_and_new_words(run, table, tmp_path):
    run("fit", table, "-t", "kind", "-o", "m.jaxtree", "--ignore", "id", "--categorical", "share")
    (tmp_path / "new.csv").write_text("size,share,day,w\n,0.25,2020-01-01,1\n,9,2020-01-01,0\n")
    said = run("predict", "m.jaxtree", "new.csv").stderr
    assert "share: 1 row has a word that the fit has not seen, such as '9'; it counts as missing" in said
    assert "size is missing in every row, but was never missing in the fit" in said
