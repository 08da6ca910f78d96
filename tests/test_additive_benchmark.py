"""The benchmark of additive models: folds, scores, what peers are spared, and what is said of figures."""

import io
import json

import numpy as np
import pandas
import pytest

from benchmarks.additive import contenders, measuring, searches, synthetic
from benchmarks.additive.aims import aims_of
from benchmarks.additive.cases import TRAINS, write_place
from benchmarks.additive.contenders import CONTENDERS, OURS
from benchmarks.additive.measuring import SLOW, Settings, measure_folds
from benchmarks.additive.report import compare, lines_of, means
from benchmarks.additive.synthetic import LONG, Long, draw, frame, write_long
from benchmarks.additive.worker import main as work
from benchmarks.suite.processes import MARK

pytest.importorskip("lightgbm")


@pytest.fixture
def place(tmp_path):
    """A table of 300 rows, of words, gaps and numbers; a third of them trains, and the others test two folds."""
    X, _, y = draw(300, 7, 0)
    columns = frame(X)
    columns["x0"] = columns["x0"].where(columns["x0"] > -1)
    columns["word"] = pandas.Series(np.where(X[:, 1] > 0, "much", "little")).astype("category")
    write_place(tmp_path / "table", columns, y, np.arange(300) % 3 + TRAINS)
    return tmp_path / "table"


@pytest.fixture
def ordered(monkeypatch, capsys):
    """The answers of a worker to an order, in this process."""
    monkeypatch.setattr(contenders, "CORES", 1)

    def do(**order):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
        work()
        lines = capsys.readouterr().out.splitlines()
        return [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]

    return do


def test_a_worker_fits_the_rows_that_do_not_test_a_fold(place, ordered, monkeypatch):
    seen = []

    def fit(X, y, **parameters):
        seen.append((len(X), parameters))
        return CONTENDERS["lightgbm"](X, y)

    monkeypatch.setitem(CONTENDERS, OURS, fit)
    answers = ordered(mode="folds", contender=OURS, place=str(place), folds=[0, 1], parameters={"max_bins": 8})
    assert seen == [(200, {"max_bins": 8})] * 2
    assert [answer["fold"] for answer in answers] == [0, 1]
    assert all(0.5 < answer["auc"] < 1 and answer["wall"] > 0 and answer["peak_mib"] > 0 for answer in answers)


@pytest.mark.parametrize("is_file", [False, True])
def test_a_worker_fits_a_long_table_and_tells_the_best_score(is_file, tmp_path, ordered, monkeypatch):
    def of_file(path, target):
        table = pandas.read_parquet(path)
        return CONTENDERS["lightgbm"](table.drop(columns=target), table[target].to_numpy())

    monkeypatch.setattr("benchmarks.additive.worker.ours_of_file", of_file)
    monkeypatch.setattr(synthetic, "ROWS_OF_PART", 1500)
    monkeypatch.setattr(synthetic, "NUM_TEST", 2000)
    monkeypatch.setitem(LONG, "tiny", Long(4000, 12, is_file, {}, 1, 1))
    written = write_long("tiny", tmp_path)
    (answer,) = ordered(mode="long", contender="lightgbm", place=str(written), parameters={})
    assert 0.6 < answer["auc"] < answer["best"]["auc"]
    assert answer["log_loss"] > answer["best"]["log_loss"]


def test_a_worker_searches_beside_one_fit(ordered, monkeypatch):
    monkeypatch.setattr(searches, "NUM_ROWS", 200)
    monkeypatch.setattr(searches, "NUM_COLUMNS", 7)
    monkeypatch.setattr(searches, "NUM_FOLDS", 2)
    (answer,) = ordered(mode="search", name="numbers, grid", num_settings=4)
    assert answer["settings"] == 4 and answer["fit"].keys() == answer["search"].keys()
    assert answer["cpu ratio"] == answer["search"]["cpu"] / answer["fit"]["cpu"]
    assert lines_of({"tables": {}, "first": {}, "long": {}, "search": {"numbers": answer}})[0].startswith("numbers")


@pytest.mark.parametrize(("first", "asked"), [({"wall": SLOW - 1}, [[1]]), ({"wall": SLOW + 1}, []), ({}, [])])
def test_a_slow_peer_has_one_fold(first, asked, place, tmp_path, monkeypatch):
    orders = []

    def ask(order, limit):
        orders.append(order["folds"])
        return [{"fold": fold, "wall": 1.0} for fold in order["folds"]], ""

    monkeypatch.setattr(measuring, "_ask", ask)
    settings = Settings(tmp_path, place.parent, 5, None, {})
    found = {"0": first}
    measure_folds("table", "interpret", found, settings, first_alone=True)
    assert orders == []
    measure_folds("table", "interpret", found, settings, first_alone=False)
    assert orders == asked
    measure_folds("table", OURS, {"0": first}, settings, first_alone=True)
    assert orders == [*asked, [1]]


def a_fold(wall, **scores):
    return {"wall": wall, "cpu": 2 * wall, "peak_mib": 100 * wall} | scores


CLASSES = {
    OURS: {"0": a_fold(1, auc=0.9, log_loss=0.3), "1": a_fold(3, auc=0.8, log_loss=0.5)},
    "interpret": {"0": a_fold(40, auc=0.92, log_loss=0.2), "1": {"error": "slow"}},
}
NUMBERS = {
    OURS: {"0": a_fold(1, rmse=2.0), "1": a_fold(1, rmse=4.0)},
    "interpret": {"0": a_fold(15, rmse=2.0), "1": a_fold(15, rmse=2.0)},
}


def test_contenders_are_compared_on_the_folds_that_both_have():
    told = compare(CLASSES)
    assert told["folds"] == 1
    assert told["auc difference"] == pytest.approx(-0.02)
    assert told["log loss ratio"] == pytest.approx(1.5)
    assert told["wall ratio"] == pytest.approx(1 / 40)
    assert compare(NUMBERS)["rmse ratio"] == pytest.approx(1.5)
    assert compare({OURS: CLASSES[OURS]}) == {}
    assert means(CLASSES[OURS])["peak_mib"] == 300


def test_aims_are_told_of_what_was_measured():
    report = {
        "tables": {"adult-test": {"contenders": CLASSES}, "b": {"contenders": NUMBERS}},
        "first": {"1,000 x 10": {OURS: {"first": {"wall": 2.5}}, "pygam": {"refused": "words"}}},
        "long": {"10M x 50 Parquet": {OURS: {"error": "no memory"}}},
    }
    aims = {aim.what: aim for aim in aims_of(report)}
    assert not aims["adult-test: auc"].is_reached
    assert aims["adult-test: wall ratio"].is_reached
    assert str(aims["1,000 x 10: seconds of the first fit"]) == (
        "reached: 1,000 x 10: seconds of the first fit 2.5, must be <= 3"
    )
    assert str(aims["folds: rmse ratio, worst"]) == "MISSED: folds: rmse ratio, worst 1.5, must be <= 1.03"
    assert not any("10M" in what for what in aims)
