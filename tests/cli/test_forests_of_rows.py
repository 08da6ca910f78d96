"""Forests of quantiles and of survival times on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import jaxtree


@pytest.fixture
def watched(tmp_path):
    """A file of patients who were watched, in the folder."""
    row = np.arange(80)
    age = 20 + row * 37 % 60
    time = np.round(np.exp(-age / 30 + np.sin(row * 2.3)), 4)
    pd.DataFrame({"age": age, "time": time, "died": row % 3 > 0}).to_csv(tmp_path / "watched.csv", index=False)


def test_quantiles_have_intervals(run, watched):
    fit = ["fit", "watched.csv", "-a", "quantile_forest", "-t", "time", "--set", "n_estimators=8", "--ignore", "died"]
    assert "QuantileForest: 8 trees" in run(*fit, "-o", "q", "--cv", "2").stdout
    found = run("predict", "q", "watched.csv", "--interval", "0.8").stdout.splitlines()
    X = pd.read_csv("watched.csv")[["age"]]
    forest = jaxtree.load("q")
    assert found[0] == "prediction,prediction_low,prediction_high"
    cells = np.array([line.split(",") for line in found[1:]], float)
    np.testing.assert_array_equal(cells[:, 0], forest.predict(X))
    np.testing.assert_array_equal(cells[:, 1:], forest.predict_interval(X, coverage=0.8))
    run("show", "q", "--html", "q.html", "--data", "watched.csv")
    assert "a tree of this forest predicts nothing by itself" in run("show", "q", status=1).stderr


def test_survival_has_curves_and_concordance(run, watched):
    fit = ["fit", "watched.csv", "-a", "survival_forest", "-t", "time", "--set", "n_estimators=8", "-o", "s"]
    assert "concordance " in run(*fit, "--event", "died").stdout
    table = pd.read_csv("watched.csv")
    forest = jaxtree.load("s")
    found = json.loads(run("evaluate", "s", "watched.csv", "--event", "died", "--json").stdout)
    assert found["concordance"] == pytest.approx(forest.score(table[["age"]], table["time"], event=table["died"]))
    assert found["integrated Brier score"] > 0
    lines = run("predict", "s", "watched.csv", "--median", "--survival", "0.5").stdout.splitlines()
    assert lines[0] == "prediction,median,survival_0.5"
    chance = forest.predict_survival_function(table[["age"]], times=[0.5], return_array=True)[:, 0]
    np.testing.assert_allclose([float(line.split(",")[2]) for line in lines[1:]], chance)
    run("show", "s", "--html", "s.html", "--data", "watched.csv", "--event", "died")
    assert "this is a SurvivalForest: --event names the column" in run("evaluate", "s", "watched.csv", status=1).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-a", "survival_forest"], "names the column of events, which --algorithm survival_forest needs"),
        (["-a", "quantile_forest", "--event", "died"], "is for --algorithm boosting or additive or survival_forest"),
        (["-a", "quantile_forest", "--task", "classification"], "must be regression: the target has outcomes"),
    ],
)
def test_wrong_options_are_refused(run, watched, arguments, said):
    done = run("fit", "watched.csv", "-t", "time", "-o", "m", *arguments, status=2)
    assert said in " ".join(done.stderr.replace("│", " ").split())
