"""The rules of databases: no name or word ends its own literal, and a database compares as jaxtree does."""

import itertools
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

import jaxtree
import jaxtree.export.sql as room
from jaxtree.errors import InvalidInputError
from jaxtree.export.dialects import DIALECTS
from tests.examples import example
from tests.export.running import as_frame
from tests.export.shipping import edge_rows

LITERALS = {  # a word, and a name, as the manuals of the databases have them
    "sqlite": (r"'(?:[^']|'')*'", r'"(?:[^"]|"")*"'),
    "postgresql": (r"E'(?:[^\\']|\\.|'')*'|'(?:[^']|'')*'", r'"(?:[^"]|"")*"'),
    "duckdb": (r"'(?:[^']|'')*'", r'"(?:[^"]|"")*"'),
    "mysql": (r"'(?:[^\\']|\\.|'')*'", r"`(?:[^`]|``)*`"),
    "bigquery": (r"'(?:[^\\'\n\r]|\\.)*'", r"`(?:[^\\`\n\r]|\\.)*`"),
}
SIGNS = ["'", '"', "`", "\\", "\n", "--", "/*", ";", "%", "?", "é", "E"]
HOSTILE = ["".join(pair) for pair in itertools.product(SIGNS, repeat=2)]


def meant(dialect, literal):
    """The text that a literal or name of a dialect means."""
    is_escaped = dialect == "bigquery" or (literal[-1] == "'" and (dialect == "mysql" or literal[0] == "E"))
    inner, quote = literal.removeprefix("E")[1:-1], literal[-1]
    if is_escaped:
        inner = re.sub(r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), inner)
    return inner if dialect == "bigquery" else inner.replace(quote * 2, quote)


def in_sqlite(expression, dialect):
    """An expression of another database in SQLite's terms; outside literals no sign begins or escapes one."""
    word, name = LITERALS[dialect]
    parts = re.split(f"({word}|{name})", expression, flags=re.DOTALL)
    assert not re.search(r"""['"`\\;]|--|/\*""", "".join(parts[::2]))
    for place in range(1, len(parts), 2):
        sign = "'" if parts[place][-1] == "'" else '"'
        parts[place] = sign + meant(dialect, parts[place]).replace(sign, sign * 2) + sign
    text = re.sub(r"::float8|::DOUBLE", "", "".join(parts))
    return re.sub(r"CAST\(CONVERT\((.*?) USING utf8mb4\) AS BINARY\)", r"\1", text)


def run_sqlite(expression, X, types=()):
    with sqlite3.connect(":memory:") as database:
        database.create_function("IS_NAN", 1, lambda value: False)
        return run(database, expression, X, types)


def run_duckdb(expression, X, types=()):
    duckdb = pytest.importorskip("duckdb", reason="runs DuckDB's dialect: pip install duckdb")
    with duckdb.connect() as database:
        return run(database, expression, X, types)


def run(database, expression, X, types=()):
    types = types or ["DOUBLE" if X[name].dtype.kind == "f" else "VARCHAR" for name in X]
    names = ['"' + str(name).replace('"', '""') + '"' for name in X]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    database.execute(f"CREATE TABLE told (place INTEGER, {columns})")
    rows = X.astype(object).where(X.notna(), None).values.tolist()
    marks = ", ".join("?" * (1 + len(names)))
    database.executemany(f"INSERT INTO told VALUES ({marks})", [[place, *row] for place, row in enumerate(rows)])
    return [said for (said,) in database.execute(f"SELECT {expression} FROM told ORDER BY place").fetchall()]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_word_or_name_ends_its_literal(dialect):
    rule = DIALECTS[dialect]
    for text in HOSTILE:
        assert meant(dialect, rule.word(text)) == text and re.fullmatch(
            LITERALS[dialect][0], rule.word(text), re.DOTALL
        )
        assert meant(dialect, rule.name(text)) == text and re.fullmatch(
            LITERALS[dialect][1], rule.name(text), re.DOTALL
        )
        if dialect == "mysql":  # whatever its sql_mode says of backslashes
            assert re.fullmatch(LITERALS["sqlite"][0], rule.word(text), re.DOTALL)


HOSTILE_TABLE = pd.DataFrame(
    {'a \\\' "b" `c` --': [f"{word}{number % 3}" for number, word in enumerate(HOSTILE)], "z\\": np.arange(144.0)}
)
HOSTILE_Y = np.array(["\\' OR 1=1 --", "it's", '"`\\'])[np.arange(144) * 7 % 3]


@pytest.fixture(scope="module")
def hostile_tree():
    return jaxtree.DecisionTreeClassifier(max_depth=5).fit(HOSTILE_TABLE, HOSTILE_Y)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_tables_are_predicted_the_same(dialect, hostile_tree):
    expression = jaxtree.to_sql(hostile_tree, dialect=dialect)
    predicted = hostile_tree.predict(HOSTILE_TABLE).tolist()
    assert len(set(predicted)) > 1
    assert run_sqlite(in_sqlite(expression, dialect), HOSTILE_TABLE) == predicted
    if dialect == "duckdb":
        assert run_duckdb(expression, HOSTILE_TABLE) == predicted


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["cart", "regression", "boosted", "hardened", "c45_words"])
def test_every_dialect_predicts_the_same(name, dialect):
    """The expressions of the others are read by SQLite after their literals; DuckDB reads its own."""
    estimator = example(name)
    X = edge_rows(example("cart") if name == "hardened" else estimator, 60, known=name == "c45_words")
    options = {"share_of": True} if name == "boosted" else {"no_missing": name == "c45_words"}
    expression = jaxtree.to_sql(estimator, dialect=dialect, **options)
    expected = estimator.predict_proba(X)[:, 1] if name == "boosted" else estimator.predict(X)
    frame = as_frame(X)
    said = [run_sqlite(in_sqlite(expression, dialect), frame)]
    if dialect == "duckdb":
        kinds = {"numeric": "DOUBLE", "boolean": "BOOLEAN"}
        said.append(run_duckdb(expression, frame, [kinds.get(c.kind, "VARCHAR") for c in estimator.schema_.columns]))
    for answers in said:
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(answers, expected, rtol=1e-12)
        else:
            assert answers == expected.tolist()


def test_nan_of_duckdb_is_missing():
    X = pd.DataFrame({"x": np.append(np.arange(30.0), [np.nan] * 6)})
    for y in (np.arange(36) >= 15, np.arange(36) % 30 < 15):  # missing values go up, and down
        tree = jaxtree.DecisionTreeClassifier().fit(X, y)
        expression = jaxtree.to_sql(tree, dialect="duckdb").replace('"x"', "n")
        duckdb = pytest.importorskip("duckdb", reason="runs DuckDB's dialect: pip install duckdb")
        query = f"SELECT {expression} FROM (SELECT unnest([1.5, 29.5, 'NaN'::DOUBLE, NULL]) AS n)"
        said = [answer for (answer,) in duckdb.sql(query).fetchall()]
        assert said == tree.predict(pd.DataFrame({"x": [1.5, 29.5, np.nan, np.nan]})).tolist()


def test_neighbours_and_long_numbers_are_compared_exactly():
    x = [0.1]
    while len(x) < 40:
        x.append(np.nextafter(x[-1], 1.0))
    X = pd.DataFrame({"x": x})
    tree = jaxtree.DecisionTreeClassifier().fit(X, np.arange(40) % 2)
    assert run_duckdb(jaxtree.to_sql(tree, dialect="duckdb"), X) == tree.predict(X).tolist()
    assert run_sqlite(jaxtree.to_sql(tree), X) == tree.predict(X).tolist()


def test_numbers_are_doubles_where_decimals_would_be_rounded():
    """MySQL keeps four further digits of a quotient of decimals, and DuckDB's sums of decimals overflow."""
    for dialect in ("mysql", "duckdb"):
        text = jaxtree.to_sql(example("forest_regression"), dialect=dialect)
        assert not re.search(r"\d\.\d+(?![\de])", text) and text.endswith("/ 3e0")


FORMATS = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"]


def test_sqlite_compares_texts_of_dates_whatever_their_length():
    """Thresholds of C4.5 are values: as a text '2020-01-02 12:00' is below '2020-01-02 12:00:00'."""
    for step, formats in (("1D", FORMATS), ("90min", FORMATS[1:]), ("7s", FORMATS[2:]), ("3us", FORMATS[3:])):
        X = pd.DataFrame(
            {"seen": pd.date_range("2020-01-02 12:00" if step != "1D" else "2020-01-02", periods=24, freq=step)}
        )
        for tree in (jaxtree.C45Classifier(min_samples_leaf=1, pruning=None), jaxtree.DecisionTreeClassifier()):
            tree = tree.fit(X, np.arange(24) // 5 % 2)
            for text in formats:
                rows = pd.DataFrame({"seen": X["seen"].dt.strftime(text)})
                assert run_sqlite(jaxtree.to_sql(tree, no_missing=True), rows) == tree.predict(X).tolist()


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_duckdb_compares_its_own_dates(zone):
    X = pd.DataFrame({"seen": pd.date_range("2020-01-02 12:00", periods=24, freq="7s", tz=zone)})
    tree = jaxtree.C45Classifier(min_samples_leaf=1, pruning=None).fit(X, np.arange(24) // 5 % 2)
    rows = pd.DataFrame({"seen": X["seen"].astype(str)})
    said = run_duckdb(
        jaxtree.to_sql(tree, dialect="duckdb", no_missing=True), rows, ["TIMESTAMPTZ" if zone else "TIMESTAMP"]
    )
    assert said == tree.predict(X).tolist()


def test_mysql_tells_words_apart_that_its_collation_does_not():
    table = {"word": ["a", "A", "b", "ä"] * 5, "plain": ["c", "d"] * 10}
    tree = jaxtree.DecisionTreeClassifier().fit(pd.DataFrame(table), [0, 1, 0, 1] * 5)
    assert "CAST(CONVERT(`word` USING utf8mb4) AS BINARY) IN" in jaxtree.to_sql(tree, dialect="mysql")
    tree = jaxtree.DecisionTreeClassifier().fit(pd.DataFrame(table)[["plain"]], [0, 1] * 10)
    assert "CASE WHEN `plain` IN" in jaxtree.to_sql(tree, dialect="mysql")


def test_what_is_wrong_is_refused_before_any_work(monkeypatch):
    def work(*_):
        raise AssertionError("worked before it looked")

    monkeypatch.setattr(room, "questions_of_forest", work)
    wrong = [
        ("forest", {}, "share_of"),
        ("forest", {"share_of": "nobody"}, "share_of must be a class"),
        ("cart", {"dialect": "oracle"}, "dialect must be one of 'sqlite', 'postgresql', 'duckdb', 'mysql', 'bigquery'"),
        ("cart", {"score": 0}, "score is for boosted trees"),
        ("boosted_classes", {}, "share_of"),
        ("boosted", {"score": 7}, "score must be from 0 to 0"),
    ]
    for name, options, message in wrong:
        with pytest.raises(InvalidInputError, match=message):
            jaxtree.to_sql(example(name), **options)
    X = pd.DataFrame({"w": ["a\0b", "c"] * 4})
    with pytest.raises(InvalidInputError, match="zero character"):
        jaxtree.to_sql(jaxtree.DecisionTreeClassifier().fit(X, [0, 1] * 4))
    with pytest.raises(InvalidInputError, match="zero character"):
        jaxtree.to_sql(jaxtree.DecisionTreeClassifier().fit(pd.DataFrame({"a\0": [0.0, 1.0]}), [0, 1]))
