"""Boosted trees on the command line, from the fit to the export."""

import json
import pathlib
import re
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import r2_score

import jaxtree
from jaxtree import serving
from jaxtree.boosting import quantile


@pytest.fixture
def boosted(run, patients):
    """Boosted trees of the patients in a file."""
    options = ["--n-estimators", "4", "--learning-rate", "0.5", "--set", "min_samples_leaf=1"]
    options += ["--set", "min_child_weight=0"]
    run("fit", patients, "-t", "ill", "-a", "boosting", *options, "--ignore", "weight", "-o", "b.jaxtree", "--quiet")
    return "b.jaxtree"


@pytest.fixture
def numbers():
    """A file of counts, with a gap and a column of words."""
    row = np.arange(80)
    x = pl.Series(np.where(row % 9 == 4, np.nan, row * 7 % 31), strict=False).fill_nan(None)
    words = [("red", "green", None)[place] for place in row % 3]
    pl.DataFrame({"x": x, "word": words, "y": row * 7 % 31 // 5}).write_parquet("t.parquet")
    return "t.parquet"


def test_options_are_parameters(run, patients, boosted):
    model = jaxtree.load(boosted)
    assert type(model).__name__ == "GradientBoostingClassifier"
    assert (model.n_estimators, model.learning_rate, model.min_samples_leaf, model.verbose) == (4, 0.5, 1, 0)


def test_losses_have_names_and_numbers(run, numbers):
    fit = ["fit", numbers, "-t", "y", "--task", "regression", "-a", "boosting", "--n-estimators", "3", "-o", "m"]
    done = run(*fit, "--loss", "poisson", "--early-stopping")
    model = jaxtree.load("m")
    assert model.loss == "poisson" and model.early_stopping
    assert f"{len(model.forest_)} trees of at most 3, " in done.stdout
    best = f"{model.best_score_:.4f} after round {model.best_iteration_}"
    assert f"on rows held out by early stopping: poisson {best}" in done.stdout
    done = run(*fit, "--set", "early_stopping=cv", "--set", "cv=3", "--set", "random_state=0")
    model = jaxtree.load("m")
    assert f"{len(model.forest_)} trees of 3 models, " in done.stdout
    assert f"each row by models that have not seen it: R² {model.oof_score_:.4f}" in done.stdout
    run(*fit, "--loss", "quantile:0.9")
    assert jaxtree.load("m").loss == quantile(0.9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-a", "forest", "--learning-rate", "0.5"], "is for --algorithm boosting"),
        (["-a", "boosting", "--loss", "magic"], "must be one of squared_error, absolute_error"),
        (["-a", "boosting", "--loss", "huber:-1"], "delta of huber must be a number above 0, got -1"),
        (["-a", "boosting", "--loss", "quantile"], "quantile:LEVEL"),
        (["-a", "boosting", "--loss", "poisson"], "is for numbers, and the target has classes"),
    ],
)
def test_wrong_options_are_refused(run, patients, options, said):
    done = run("fit", patients, "-t", "ill", "-o", "m", "--quiet", *options, status=2)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_row_is_explained_by_columns_and_trees(run, patients, boosted):
    words = run("explain", boosted, patients, "--rows", "1", "--trees").stdout
    assert re.match(r"row 1: \d+% yes; ", words) and "score of yes" in words and "tree " in words
    (record,) = map(
        json.loads, run("explain", boosted, patients, "--rows", "1", "--format", "jsonl").stdout.splitlines()
    )
    total = record["base"] + sum(part["score"] for part in record["contributions"])
    assert total == pytest.approx(record["score"]) and record["of_class"] == "yes"
    done = run("explain", boosted, patients, "--shap", "--format", "jsonl", "--rows", "1")
    shap = json.loads(done.stdout)
    assert shap["base"] + sum(shap["shap"].values()) == pytest.approx(record["score"])


@pytest.mark.parametrize("form", ["c", "sql", "onnx", "treelite", "jax"])
def test_a_saved_model_is_exported(run, boosted, form):
    if form in ("onnx", "treelite"):
        pytest.importorskip(form)
    done = run("export", boosted, "--to", form, "-o", "out")
    assert done.stderr.strip() == f"{form}: out"
    with open("out", "rb") as file:
        content = file.read()
    model = jaxtree.load(boosted)
    expected = {"c": lambda: jaxtree.to_c(model).encode(), "sql": lambda: jaxtree.to_sql(model).encode() + b"\n"}
    assert content == expected[form]() if form in expected else content


def test_a_saved_model_is_compiled(run, boosted):
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    assert run("compile", boosted, "-o", "model.so", "--name", "play").stderr.strip() == "library: model.so"
    assert b"play_scores_rows" in pathlib.Path("model.so").read_bytes()
    assert serving.load("model.so").classes_.tolist() == jaxtree.load("model.so").classes_.tolist() == ["no", "yes"]
    assert "-o must name a file" in run("compile", boosted, "-o", "-", status=1).stderr
    said = run("compile", boosted, "-o", "other.so", "--compiler", "nothing-like-it", status=1).stderr
    assert "needs a C compiler, and nothing-like-it is not there" in said


def test_sql_of_a_class_and_of_a_score(run, boosted):
    model = jaxtree.load(boosted)
    done = run("export", boosted, "--to", "sql", "--share-of", "yes")
    assert done.stdout == jaxtree.to_sql(model, share_of="yes") + "\n"
    assert run("export", boosted, "--to", "sql", "--score", "0").stdout == jaxtree.to_sql(model, score=0) + "\n"
    said = run("export", boosted, "--to", "sql", "--share-of", "maybe", status=1).stderr
    assert "--share-of must be a class of the model (no, yes), got 'maybe'" in said
    said = run("export", boosted, "--to", "sql", "--dialect", "mysql").stdout
    assert said == jaxtree.to_sql(model, dialect="mysql") + "\n" and "`" in said
    said = run("export", boosted, "--to", "sql", "--score", "7", "--share-of", "yes", status=1).stderr
    assert "score must be" in said
    run("fit", "patients.csv", "-t", "ill", "-a", "forest", "--set", "n_estimators=2", "-o", "f")
    assert "give --share-of <class>" in run("export", "f", "--to", "sql", status=1).stderr
    for option in ("--score", "0"), ("--dialect", "duckdb"):
        assert "is for --to sql" in run("export", boosted, "--to", "c", *option, status=2).stderr


def test_the_help_of_a_fit_lists_boosting(run):
    said = run("fit", "--help").stdout
    assert "--learning-rate" in said and "Boosting" in said


def test_a_log_likelihood_is_not_called_r2(run):
    """The score of a model of a distribution, which only Python fits."""
    x = np.linspace(0, 1, 40)
    table = pd.DataFrame({"x": x, "y": x + np.sin(40 * x)})
    table.to_csv("rows.csv", index=False)
    model = jaxtree.GradientBoostingDistribution(n_estimators=2, max_depth=2).fit(table[["x"]], table["y"])
    model.save("model")
    said = json.loads(run("evaluate", "model", "rows.csv", "--target", "y", "--json").stdout)
    assert said["mean log likelihood"] == pytest.approx(model.score(table[["x"]], table["y"]))
    assert said["R²"] == pytest.approx(r2_score(table["y"], model.predict(table[["x"]])))
