"""Survival times and rankings on the command line: columns of events and groups, from the fit to the search."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold

import jaxtree
from jaxtree.metrics import integrated_brier_score, mean_reciprocal_rank, ndcg

ROWS = 80
RNG = np.random.default_rng(0)
AGE = RNG.normal(60, 10, ROWS).round(1)
DAYS = np.ceil(RNG.exponential(np.exp((60 - AGE) / 10)) * 100)
DIED = RNG.random(ROWS) < 0.7
QUERY = np.arange(ROWS) % 10
FEW = ["--set", "n_estimators=3", "--set", "min_samples_leaf=4"]


@pytest.fixture
def lives(run):
    """A file of survival times, with a row that has none."""
    table = pd.DataFrame({"age": AGE, "died": DIED.astype(int), "days": DAYS, "kind": [*"ab"] * (ROWS // 2)})
    table.loc[7, "days"] = np.nan
    table.to_csv("lives.csv", index=False)
    return "lives.csv"


@pytest.fixture
def queries(run):
    """A file of queries."""
    table = pd.DataFrame({"x": AGE, "query": [f"q{number}" for number in QUERY], "rel": np.digitize(AGE, [55, 65])})
    table.to_csv("queries.csv", index=False)
    return "queries.csv"


def kept(table):
    return table.dropna(subset=["days"])


def test_survival_times_from_fit_to_prediction(run, lives):
    done = run("fit", lives, "-t", "days", "--event", "died", "-a", "boosting", *FEW, "--cv", "2", "-o", "m")
    model, table = jaxtree.load("m"), kept(pd.read_csv(lives))
    assert (model.loss, model.other_columns_) == ("cox", ("days", "died"))
    assert list(model.feature_names_in_) == ["age", "kind"]
    X, given = table[["age", "kind"]], {"y": table["days"], "event": table["died"]}
    assert f"on the rows of the fit: concordance {model.score(X, **given):.4f}" in done.stdout
    assert "2-fold cross-validation: concordance 0." in done.stdout
    assert "numbers from" in done.stderr and "left out: died" in done.stderr
    scores = json.loads(run("evaluate", "m", lives, "--event", "died", "--json").stdout)
    times = model.event_times_[model.event_times_ < table["days"].max()]
    curves = model.predict_survival_function(X)(times)
    assert scores["rows"] == ROWS - 1 and scores["concordance"] == pytest.approx(model.score(X, **given))
    brier = integrated_brier_score(table["days"], curves, times, event=table["died"])
    assert scores["integrated Brier score"] == pytest.approx(brier)
    run("predict", "m", lives, "--median", "--survival", "30, 100.5", "-o", "p.csv")
    shown, whole = pd.read_csv("p.csv"), pd.read_csv(lives)[["age", "kind"]]
    np.testing.assert_allclose(shown["median"].fillna(np.inf), model.predict_median(whole))
    np.testing.assert_allclose(
        shown[["survival_30", "survival_100.5"]], model.predict_survival_function(whole)([30, 100.5])
    )
    page = run("show", "m", "--html", "-", "--data", lives, "--event", "died").stdout
    assert "concordance" in page


@pytest.mark.slow
def test_survival_times_are_searched(run, lives):
    grid = ["--set", "loss=cox,accelerated_failure_time", "--set", "n_estimators=2,3"]
    done = run("search", lives, "-t", "days", "--event", "died", "-a", "boosting", *grid, "--cv", "2", "-o", "m")
    table = kept(pd.read_csv(lives)).reset_index()
    X, model = table[["age", "kind"]], jaxtree.load("m")
    assert "4 settings; concordance, mean" in done.stdout and model.score_name_ == "concordance"
    scores = []
    for train, test in KFold(2, shuffle=True, random_state=0).split(X):
        fold = jaxtree.GradientBoostingRegressor(model.n_estimators, loss=model.loss, random_state=0)
        fold.fit(X.loc[train], table.loc[train, "days"], event=table.loc[train, "died"])
        scores.append(fold.score(X.loc[test], table.loc[test, "days"], event=table.loc[test, "died"]))
    assert f"{np.mean(scores):.4f} ± {np.std(scores):.4f}  loss={model.loss}" in done.stdout


@pytest.mark.slow
def test_groups_are_ranked_and_stay_whole(run, queries):
    run("fit", queries, "-t", "rel", "--group", "query", "-a", "ranking", *FEW, "-o", "m", "--quiet")
    model, table = jaxtree.load("m"), pd.read_csv(queries)
    rows = {"group": table["query"]}
    scores = json.loads(run("evaluate", "m", queries, "--group", "query", "--json").stdout)
    ranked = table["rel"], model.predict(table[["x"]])
    assert scores["NDCG"] == pytest.approx(ndcg(*ranked, **rows))
    assert scores["NDCG of the first 10"] == pytest.approx(ndcg(*ranked, **rows, k=10))
    assert scores["mean reciprocal rank"] == pytest.approx(mean_reciprocal_rank(*ranked, **rows))
    grid = ["--set", "n_estimators=2,3", "--cv", "2", "--scoring", "ndcg@3"]
    done = run("search", queries, "-t", "rel", "--group", "query", "-a", "ranking", *grid, "--results", "r.csv")
    found = []
    for train, test in GroupKFold(2, shuffle=True, random_state=0).split(table, groups=table["query"]):
        fold = jaxtree.GradientBoostingRanker(2, random_state=0)
        fold.fit(table.loc[train, ["x"]], table.loc[train, "rel"], group=table.loc[train, "query"])
        predicted = fold.predict(table.loc[test, ["x"]])
        found.append(ndcg(table.loc[test, "rel"], predicted, group=table.loc[test, "query"], k=3))
    assert "2 settings; ndcg@3, mean" in done.stdout
    assert pd.read_csv("r.csv")["mean_test_score"][0] == pytest.approx(np.mean(found))


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            "fit lives.csv -t days --event kind -a boosting -o m",
            1,
            "events are 1 or true, others 0 or false: .*'a' in row 1",
        ),
        ("fit lives.csv -t days --event died -a forest -o m", 2, "is for --algorithm boosting or additive"),
        ("fit lives.csv -t days --event dead -a boosting -o m", 1, "has no column 'dead'"),
        ("fit lives.csv -t died --event died -a boosting -o m", 1, "target 'died' must be another column"),
        ("fit lives.csv -t days --event died -a boosting --task classification -o m", 2, "target has times"),
        ("fit lives.csv -t days --group kind -a boosting -o m", 2, "--group: is for --algorithm ranking"),
        ("fit lives.csv -t days -a ranking -o m", 2, "--group: names the column of groups"),
        ("fit lives.csv -t kind -a distribution -o m", 1, "distribution is for targets of numbers"),
        ("fit lives.csv -t kind --group days -a ranking -o m", 1, "'kind' of .* must have numbers"),
        (
            "search lives.csv -t days --group kind -a ranking --set max_depth=1 --cv 3",
            1,
            "at most 2, the number of groups",
        ),
        ("search lives.csv -t days -a cart --set max_depth=1 --scoring concordance", 1, "--event names the column"),
        ("search lives.csv -t days -a cart --set max_depth=1 --scoring ndcg", 1, "--group names their column"),
        ("search lives.csv -t days -a cart --set max_depth=1 --scoring ndgc", 2, "'ndcg@5'"),
    ],
)
def test_what_does_not_fit_is_named(run, lives, arguments, status, message):
    done = run(*arguments.split(), status=status)
    assert pd.Series([" ".join(done.stderr.split())]).str.contains(message)[0], done.stderr


def test_models_say_which_columns_they_need(run, lives):
    run("fit", lives, "-t", "days", "-a", "boosting", *FEW, "-o", "plain", "--ignore", "died", "--quiet")
    assert (
        "--event is for models that take events" in run("evaluate", "plain", lives, "--event", "died", status=1).stderr
    )
    assert "--median is for models of survival times" in run("predict", "plain", lives, "--median", status=1).stderr
    run("fit", lives, "-t", "days", "--event", "died", "-a", "boosting", *FEW, "-o", "m", "--quiet")
    assert "--event names the column of events" in run("evaluate", "m", lives, status=1).stderr
    done = run("predict", "m", lives, "--survival", "soon", status=1)
    assert "--survival must be times, as 30 or 30,365.25, got 'soon'" in done.stderr
