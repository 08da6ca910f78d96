"""The study of differentiable trees: its tables, what is kept of a run, and what is said of figures."""

import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from jaxtree.errors import InvalidInputError
from jaxtree_studies.commands import study
from jaxtree_studies.differentiable import boosted, ensemble, ensembles, peers, single, ways
from jaxtree_studies.differentiable.boosted_report import pages_of as boosted_pages
from jaxtree_studies.differentiable.encoding import encode
from jaxtree_studies.differentiable.ensemble_report import pages_of as ensemble_pages
from jaxtree_studies.differentiable.published import SINGLE
from jaxtree_studies.differentiable.records import Store
from jaxtree_studies.differentiable.run import run as run_part
from jaxtree_studies.differentiable.scores import difference
from jaxtree_studies.differentiable.single_report import means_of
from jaxtree_studies.differentiable.single_report import pages_of as single_pages
from jaxtree_studies.differentiable.tables import BINARY, MULTICLASS, Part, divide


@pytest.fixture
def table():
    """120 rows of two numbers, one with gaps, a word of few values and one of many; two classes."""
    draw = np.random.default_rng(0)
    X = pandas.DataFrame(draw.normal(size=(120, 2)), columns=["a", "b"])
    y = (X["a"] > 0).to_numpy().astype(int)
    X["few"] = pandas.Series(np.where(X["b"] > 0, "much", "little")).astype("category")
    X["many"] = pandas.Series(draw.integers(0, 15, 120).astype(str)).astype("category")
    X["b"] = X["b"].where(X["b"] > -1)
    return Part(X, y)


@pytest.fixture
def run(monkeypatch, tmp_path, table):
    """Runs the program on the table, whatever its title; returns the records and the page."""
    monkeypatch.setattr(single, "read_table", lambda *_: table)
    monkeypatch.setattr(ensemble, "read_table", lambda *_: table)
    monkeypatch.setattr(peers, "read_table", lambda *_: table)
    monkeypatch.setattr(boosted, "read_table", lambda *_: (table.X, table.X["a"].to_numpy()))
    monkeypatch.setattr(boosted, "ROUNDS", 2)
    monkeypatch.setattr(boosted, "OPTIONS", {"max_epochs": 2})
    for name, way in ways.WAYS.items():
        depth = {"max_depth": 2} if way.refits else {"depth": 2} if name.startswith("gradients") else {}
        number = 2 if way.refits else 1
        fewer = [setting | depth for setting in way.settings[:number]]
        monkeypatch.setitem(ways.WAYS, name, way._replace(settings=fewer))
    for parameters, fewer in ((ways.HARD, {"n_restarts": 1}), (ensembles.HARD, {"n_estimators": 2, "depth": 2})):
        for name, value in {"max_epochs": 2, "n_iter_no_change": 1, **fewer}.items():
            monkeypatch.setitem(parameters, name, value)

    def run(part, **chosen):
        path, page = run_part(part, tmp_path, tmp_path, quick=True, **chosen)
        assert path.read_text() == page
        return json.loads(path.with_suffix(".json").read_text())["records"], page

    return run


def test_titles_have_published_scores():
    """Every table of the study has figures to stand beside."""
    assert set(SINGLE) == set(BINARY) | set(MULTICLASS)


def test_rare_classes_are_divided(table):
    """A class of one row does not hinder; held rows have no class that there is not to fit."""
    y = table.y.copy()
    y[:1] = 2
    for trial in range(6):
        train, held, test = divide(Part(table.X, y), trial)
        assert len(test.y) == 24 and len(train.y) + len(held.y) in (95, 96)
        assert set(held.y) <= set(train.y)


def test_encoding_learns_from_rows_to_fit(table):
    """Numbers are there for all cells, and rows that are held or tested change nothing."""
    parts = divide(table, 0)
    encoded = encode(parts)
    assert encoded.train.X.shape[1] == 5 and not encoded.train.X.isna().any(axis=None)
    fewer = encode(parts._replace(test=Part(parts.test.X[:3], parts.test.y[:3])))
    pandas.testing.assert_frame_equal(fewer.test.X, encoded.test.X[:3])
    pandas.testing.assert_frame_equal(fewer.train.X, encoded.train.X)


def test_grown_trees(run):
    """Ways are scored, records are kept, and a second run measures nothing."""
    asked = {"tables": ["Heart Failure"], "ways": ["CART", "grown"]}
    records, page = run("single", **asked)
    assert [record["way"] for record in records] == ["CART", "grown"]
    assert all(0 <= record["test"] <= 1 for record in records) and "grown less GradTree" in page
    assert run("single", **asked)[0] == records


@pytest.mark.slow
def test_trees_trained_by_gradients(run):
    """All ways are scored, also the best of them, and there is a verdict."""
    records, page = run("single", tables=["Heart Failure"])
    assert [record["way"] for record in records] == list(ways.WAYS)
    assert not [record["failed"] for record in records if "failed" in record]
    assert "Verdict: on 1 tables" in page and "either less GradTree" in page


@pytest.mark.slow
def test_ensembles(run):
    """Two of the ensembles are scored, with ranks and GRANDE's difference."""
    records, page = run("ensemble", tables=["Adult"], ways=["softsign, by_leaf", "sigmoid, by_leaf"])
    assert len(records) == 2 and all(0 <= record["test"] <= 1 for record in records)
    assert "(GRANDE: +0.011)" in page and "Nemenyi" in page


@pytest.mark.slow
def test_boosted(run):
    """Held rows never get worse, and all three models are scored."""
    records, page = run("boosted", tables=["concrete"])
    assert records[0]["held_after"] <= records[0]["held_before"]
    assert "boosted on all rows" in page


def test_peers_that_are_not_there(run, monkeypatch):
    """A peer without an environment is told of."""
    for variable in peers.PEERS.values():
        monkeypatch.delenv(variable, raising=False)
    records, page = run("peers", ways=["gradtree", "grande"])
    assert all("failed" in record for record in records) and "JAXTREE_GRANDE names no Python" in page


@pytest.mark.parametrize(
    ("part", "chosen", "words"),
    [
        ("double", {}, "single, ensemble, boosted, peers, got 'double'"),
        ("single", {"tables": ["nowhere"]}, "single has no table 'nowhere'; there are Blood"),
        ("boosted", {"ways": ["somehow"]}, "boosted has no way 'somehow'; there are tuned"),
    ],
)
def test_unknown_names_are_told(part, chosen, words, tmp_path):
    """A part, table or way that is not there is told of before anything is read."""
    with pytest.raises(InvalidInputError, match=words):
        run_part(part, tmp_path, tmp_path, **chosen)
    assert not [*tmp_path.iterdir()]


def test_a_table_without_a_file_is_told_of(tmp_path):
    """Its records would be those of another set of tables."""
    with pytest.raises(InvalidInputError, match=r"no file .*transfusion.data: name those to read"):
        run_part("single", tmp_path, tmp_path / "out")


def test_the_command(run, tmp_path):
    """It measures, prints the page and says where it is; with --report it writes the page of what is there."""
    asked = ["differentiable", "single", "--data", str(tmp_path), "--out", str(tmp_path), "--quick", "--way", "CART"]
    done = CliRunner().invoke(study, asked)
    assert done.exit_code == 0 and "Iris, trial 0, CART: " in done.output and "Mean differences" in done.output
    page = tmp_path / "differentiable-single-quick.md"
    written = page.read_text()
    page.unlink()
    again = CliRunner().invoke(study, [*asked, "--report"])
    assert again.exit_code == 0 and "trial 0" not in again.output and page.read_text() == written


def test_failures_are_told():
    """A way that failed stands under the tables."""
    (part,) = single_pages([{"table": "Iris", "trial": 0, "way": "CART", "failed": "ValueError: no"}])
    assert part[-1] == "- Iris, CART: ValueError: no"


def test_either_is_chosen_on_held_rows():
    """The best on held rows of every trial counts, whatever its test score."""
    base = {"table": "Iris", "trial": 0}
    scores = {"grown": (0.9, 0.5), "gradients": (0.8, 0.7), "both": (0.7, 0.9)}
    records = [base | {"way": way, "held": held, "test": test} for way, (held, test) in scores.items()]
    assert means_of(records)["Iris"]["either"] == 0.5
    assert "either" not in means_of(records[:2])["Iris"]


def test_words_follow_figures():
    """Ensembles whose slopes differ on all tables are told apart, those that are the same are not."""
    score = {"softsign, by_leaf": 0.9, "entmoid, by_leaf": 0.8, "softsign, mean": 0.9}
    records = [
        {"table": table, "trial": 0, "way": way, "test": value}
        for table in ("Adult", "German", "Hepatitis", "Spambase", "Thyroid")
        for way, value in score.items()
    ]
    *_, words = ensemble_pages(records)
    assert any("entmoid" in line and "it pays (GRANDE: +0.008)" in line for line in words)
    assert any("mean" in line and "not sure" in line for line in words)
    assert any("Adult: 0.900, the aim of 0.795 is reached" in line for line in words)


def test_boosted_words():
    """Losses that fall on all tables pay."""
    seconds = {"seconds_boosted": 1.0, "seconds_tuned": 1.0}
    records = [{"table": t, "trial": 0, "part": 2.0, "tuned": 1.0, "all": 0.5, **seconds} for t in "abcde"]
    *_, words = boosted_pages(records)
    assert "it pays" in words[2] and "it costs" in words[3]


def test_intervals_hold_the_mean():
    """The mean lies in its interval."""
    found = difference(np.array([0.9, 0.7, 0.8]), np.array([0.8, 0.8, 0.7]))
    assert found.low <= found.mean <= found.high and found.wins == 2 and not found.is_sure
    lower = np.zeros(9)
    assert difference(lower + 0.1, lower).is_sure and not difference(lower[:4] + 0.1, lower[:4]).is_sure


def test_store_goes_on(tmp_path):
    """Records of an earlier run are there."""
    Store(tmp_path / "a.json", {"date": "today"}).add({"table": "a", "test": 0.5})
    again = Store(tmp_path / "a.json", {"date": "today"})
    assert again.has(table="a") and not again.has(table="b")
    again.add({"table": "b", "test": 0.6})
    assert json.loads((tmp_path / "a.json").read_text())["date"] == "today"
