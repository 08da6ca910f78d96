"""The benchmark of forests of moments: its simulations, scores and aims, and the orders to its workers."""

import io
import json
import pickle

import numpy as np
import pytest

from benchmarks.moments import __main__ as command
from benchmarks.moments import contenders, scores, worker
from benchmarks.moments.cases import CASES
from benchmarks.moments.contenders import NUISANCES, OURS, Contender
from benchmarks.moments.report import aims_of
from benchmarks.moments.simulations import NUM_DAYS, QUANTILES, SIMULATIONS, simulate
from benchmarks.suite.processes import MARK, Answered
from jaxtree.metrics import concordance_index

PEERS = "/bin/sh"
"""A program that there is, in the place of the peers' Python."""


@pytest.mark.parametrize("name", SIMULATIONS)
def test_a_seed_draws_one_table(name):
    first, again, other = (simulate(name, 50, 8, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not np.array_equal(first["X"], other["X"])
    assert first["X"].shape == (50, 8)


def test_effects_are_those_of_treated_less_untreated():
    table = simulate("aw2", 200_000, 3, 0)
    near = (table["X"][:, :2] > 0.6).all(1)
    treated = table["treatment"] == 1
    difference = table["y"][near & treated].mean() - table["y"][near & ~treated].mean()
    assert difference == pytest.approx(4, abs=0.05)


def test_an_instrument_finds_the_effect_that_the_treated_hide():
    table = simulate("instrumental", 400_000, 6, 0, nuisance=0.0)
    y, treatment, instrument = (table[key] for key in ("y", "treatment", "instrument"))
    truth = table["test_effect"].mean()
    naive = y[treatment == 1].mean() - y[treatment == 0].mean()
    by_instrument = np.cov(y, instrument)[0, 1] / np.cov(treatment, instrument)[0, 1]
    assert by_instrument == pytest.approx(truth, abs=0.05)
    assert naive > truth + 0.3


def test_effects_that_are_not_additive_are_hinges_of_sums():
    table = simulate("instrumental", 10, 6, 0, additive=False)
    assert np.array_equal(table["test_effect"], np.maximum(table["test_X"][:, :2].sum(1), 0))


def test_quantiles_are_above_their_share_of_the_targets():
    table = simulate("quantiles", 10, 8, 0, test_rows=100_000)
    share = (table["test_y"][:, None] <= table["test_quantiles"]).mean(0)
    assert share == pytest.approx(QUANTILES, abs=0.005)


def test_survival_times_are_days_and_some_are_censored():
    table = simulate("survival", 20_000, 27, 0)
    assert table["time"].min() >= 1 and table["time"].max() <= NUM_DAYS
    assert np.array_equal(table["time"], np.floor(table["time"]))
    assert 0.3 < 1 - table["event"].mean() < 0.5
    assert scores.concordance(table["test_time"], table["test_event"], table["test_risk"]) > 0.7


def test_concordance_is_that_of_the_library():
    draw = np.random.default_rng(0)
    time, event, risk = draw.integers(1, 9, 300), draw.random(300) < 0.5, draw.integers(0, 20, 300).astype(float)
    assert scores.concordance(time, event, risk, block=70) == pytest.approx(concordance_index(time, risk, event=event))


def test_scores_of_the_truth_are_the_best():
    table = simulate("quantiles", 10, 8, 0, test_rows=3000)
    best = scores.score(table, {"quantiles": table["test_quantiles"]})
    assert best["rmse"] == best["crossing"] == 0 and best["pinball"] == best["pinball of the truth"]
    worse = scores.score(table, {"quantiles": table["test_quantiles"][:, ::-1]})
    assert worse["pinball"] > best["pinball"] and worse["crossing"] == 1


def test_coverage_counts_intervals_that_hold_the_truth():
    table = {"test_effect": np.array([0.0, 1.0, 2.0, 3.0])}
    interval = np.array([[-1, 1], [1.5, 2], [2, 2.5], [0, 2.9]])
    figures = scores.score(table, {"effect": np.array([0.0, 1.0, 2.0, 5.0]), "interval": interval})
    assert figures["mse"] == 1 and figures["coverage"] == 0.5
    assert figures["std"] == pytest.approx((2 + 0.5 + 0.5 + 2.9) / 4 / 3.92, rel=1e-3)


def test_every_case_names_contenders_that_there_are():
    for case in CASES.values():
        libraries = {name.split(",")[0] for name in case.contenders}
        assert OURS in libraries <= set(contenders.CONTENDERS[case.model])
        assert all(not aim.peer or aim.peer in case.contenders for aim in case.aims)


@pytest.fixture
def averages(monkeypatch):
    """A contender that predicts the difference of means."""

    def fit(table, **parameters):
        treated = table["treatment"] == 1
        return {"effect": table["y"][treated].mean() - table["y"][~treated].mean()} | parameters

    def predict(model, X):
        return {"effect": np.full(len(X), model["effect"])}

    kinds = {
        "causal": {OURS: Contender("math", fit, predict, lambda model, path: path.write_bytes(pickle.dumps(model)))}
    }
    monkeypatch.setattr(contenders, "CONTENDERS", kinds)
    monkeypatch.setattr(worker, "CONTENDERS", kinds)
    return kinds


@pytest.fixture
def in_this_process(monkeypatch, capsys):
    """Orders that this process does, and the Pythons that were to."""
    pythons = []

    def ask(module, order, environment, limit, python):
        assert module == command.WORKER
        pythons.append((python, "PYTHONPATH" in environment))
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
        worker.main()
        lines = capsys.readouterr().out.splitlines()
        return Answered([json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)], 0.0, "")

    monkeypatch.setattr(command, "ask", ask)
    monkeypatch.setattr(command, "_versions_of", lambda python: {})
    return pythons


def test_a_command_measures_all_repeats_and_writes_them(averages, in_this_process, tmp_path, capsys):
    out = tmp_path / "found.json"
    command.main(["causal-100k", "--repeats", "1", "--only", OURS, "--out", str(out)])
    (found,) = json.loads(out.read_text())["cases"]["causal-100k"][OURS].values()
    assert found["wall"] == found["fit wall"] + found["predict wall"]
    assert 0 < found["mse"] < 2 and found["file_mib"] > 0 and found["peak_mib"] > 0
    assert "reached: cpu" in capsys.readouterr().out


def test_contenders_have_the_same_nuisances(averages, in_this_process, monkeypatch, tmp_path):
    seen = []

    def fit(table, **parameters):
        seen.append(table.get("y_hat"))
        return {"effect": 0.0}

    averages["causal"][OURS] = averages["causal"]["econml"] = averages["causal"][OURS]._replace(fit=fit)
    hats = {"y_hat": np.arange(1600.0), "treatment_hat": np.full(1600, 0.5)}
    averages[NUISANCES] = {OURS: averages["causal"][OURS]._replace(predict=lambda model, X: hats, fit=lambda t, **p: 0)}
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    out = tmp_path / "found.json"
    command.main(["aw2", "--repeats", "1", "--only", OURS, "econml", "--peers", PEERS, "--out", str(out)])
    assert len(seen) == 2 and all(np.array_equal(own, hats["y_hat"]) for own in seen)
    assert [has_path for _, has_path in in_this_process] == [True, True, False]
    assert in_this_process[-1][0] == PEERS


def test_figures_of_peers_are_taken_from_a_former_run(averages, in_this_process, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "_find_nuisances", lambda table, settings: {})
    former, out = tmp_path / "former.json", tmp_path / "found.json"
    kept = {"econml": {"0": {"mse": 0.5}}, OURS: {"0": {"mse": 0.1}}}
    former.write_text(json.dumps({"cases": {"aw2": kept}}))
    command.main(["aw2", "--repeats", "1", "--former", str(former), "--out", str(out)])
    found = json.loads(out.read_text())["cases"]["aw2"]
    assert found["econml"] == kept["econml"] and found[OURS]["0"]["mse"] != 0.1


def test_aims_compare_the_tables_that_both_have():
    case = CASES["aw2"]
    found = {OURS: {"0": {"mse": 1.0, "coverage": 0.9}}, "econml": {"0": {"mse": 1.0}, "1": {"mse": 100.0}}}
    mse, coverage = aims_of(case, found)
    assert "reached: mse 1, must be <= 1.05 (econml: 1)" in mse and "reached: coverage" in coverage
    found[OURS]["0"] = {"mse": 1.06, "coverage": 0.8}
    assert all("MISSED" in line for line in aims_of(case, found))
