"""Effects of treatments on the command line: fit, show, predict and explain, and what is refused."""

import json
import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jaxtree

FIT = ("fit", "trial.csv", "-a", "causal_forest", "-t", "cured", "--treatment", "arm", "--set", "control=placebo")


@pytest.fixture
def trial(tmp_path):
    """A file of a trial in the folder: the drug helps the old."""
    row = np.arange(240)
    arm = row * 7 % 11 % 2
    age = 20 + row * 37 % 60
    table = {"age": age, "arm": np.where(arm, "drug", "placebo"), "lot": row * 7 % 11 % 3 % 2, "site": row % 40}
    table["cured"] = np.round(2.0 * arm * (age > 50) + np.sin(row * 2.3), 3)
    pd.DataFrame(table).to_csv(tmp_path / "trial.csv", index=False)
    return table


@pytest.fixture
def effects(run, trial):
    """A forest of the trial in a file, and what its fit has said."""
    return "e.jaxtree", run(*FIT, "--set", "n_estimators=40", "--ignore", "site,lot", "-o", "e.jaxtree").stdout


def in_words(message):
    return " ".join(message.replace("│", " ").split())


def test_a_fit_says_the_average_effect_and_who_gains(run, effects):
    name, said = effects
    forest = jaxtree.load(name)
    assert type(forest).__name__ == "CausalForest" and forest.control == "placebo"
    assert forest.schema_.column_names == ("age",) or list(forest.schema_.column_names) == ["age"]
    found = forest.average_treatment_effect()
    low, high = found.interval()
    line = f"average effect of drug beside placebo: {found.estimate:.4g}, 95% interval {low:.4g} to {high:.4g}"
    assert line in said and "effects of rows: they differ, and the forest finds by what (p below 0.0001)" in said
    assert "quarter of the rows of the greatest effects: " in said and f"overlap: {forest.overlap()!r}" in said
    shown = run("show", name).stdout
    assert shown.strip() == said.split("\nmodel:")[0]


def test_effects_are_predicted_with_their_intervals(run, effects):
    name, forest = effects[0], jaxtree.load(effects[0])
    run("predict", name, "trial.csv", "--interval", "0.9", "--keep", "arm", "-o", "p.parquet")
    found, X = pl.read_parquet("p.parquet"), pd.read_csv("trial.csv")[["age"]]
    assert found.columns == ["arm", "effect", "effect_low", "effect_high"]
    np.testing.assert_array_equal(found["effect"], forest.predict(X))
    np.testing.assert_array_equal(
        found[["effect_low", "effect_high"]].to_numpy(), forest.predict_interval(X, coverage=0.9)
    )
    run("predict", name, "trial.csv", "-o", "p.csv")
    assert pl.read_csv("p.csv").columns == ["effect"]


def test_several_arms_have_a_column_each(run, trial):
    run(*FIT[:-2], "--treatment", "lot", "--set", "n_estimators=8", "-o", "m", "--ignore", "arm,site")
    assert jaxtree.load("m").names_of_predictions() == ["1"]
    run("fit", "trial.csv", "-a", "causal_forest", "-t", "cured", "--treatment", "word", "-o", "m", status=1)
    table = pd.read_csv("trial.csv")
    table["kind"] = np.array(["a", "b", "c"])[np.arange(240) * 7 % 11 % 3]
    table.to_csv("arms.csv", index=False)
    fit = ["fit", "arms.csv", "-a", "causal_forest", "-t", "cured", "--treatment", "kind", "--set", "n_estimators=8"]
    run(*fit, "--groups", "site", "-o", "m", "--ignore", "arm")
    forest = jaxtree.load("m")
    assert forest.other_columns_ == ("cured", "site", "kind") and len(np.unique(forest.training_.group)) == 40
    out = run("predict", "m", "arms.csv", "--interval", "0.5").stdout.splitlines()[0]
    assert out == "effect_b,effect_c,effect_b_low,effect_b_high,effect_c_low,effect_c_high"


def test_an_instrument_makes_a_forest_of_instruments(run, trial):
    run(*FIT, "--instrument", "lot", "--set", "n_estimators=8", "-o", "m", "--ignore", "site")
    forest = jaxtree.load("m")
    assert type(forest).__name__ == "InstrumentalForest" and forest.other_columns_ == ("cured", "arm", "lot")


def test_rows_are_explained_and_a_page_is_written(run, effects):
    name = effects[0]
    (record,) = map(
        json.loads, run("explain", name, "trial.csv", "--rows", "2", "--format", "jsonl").stdout.splitlines()
    )
    total = record["base"] + sum(part["score"] for part in record["contributions"])
    assert total == pytest.approx(record["score"]) == pytest.approx(record["prediction"]) and record["kind"] == "effect"
    words = run("explain", name, "trial.csv", "--rows", "2", "--shap").stdout
    assert "age" in words and "base" in words
    run("show", name, "--html", "p.html", "--data", "trial.csv")
    page = pathlib.Path("p.html").read_text()
    assert "average effect, drug beside placebo" in page and 'id="differences"' in page
    run("export", name, "--to", "sql", "-o", "m.sql")


def test_effects_are_scored_on_folds(run, trial):
    done = run(*FIT, "--set", "n_estimators=8", "-o", "m", "--ignore", "site,lot", "--cv", "2")
    assert "2-fold cross-validation: R-score " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (FIT[:6], 2, "names the column of the treatment, which --algorithm causal_forest needs"),
        ((*FIT[:2], "-a", "cart", *FIT[4:8]), 2, "is for --algorithm causal_forest or instrumental_forest, got cart"),
        ((*FIT[:2], "-a", "instrumental_forest", *FIT[4:8]), 2, "names the column of the instrument"),
        ((*FIT, "--instrument", "lot", "--cv", "2"), 2, "effects by an instrument have no score"),
        ((*FIT, "--task", "classification"), 2, "must be regression: the target has outcomes"),
        ((*FIT, "--event", "lot"), 2, "is for --algorithm boosting or additive or survival_forest, got causal"),
        ((*FIT[:4], "-t", "arm", "--treatment", "lot"), 1, "column 'arm' of trial.csv must have numbers"),
        ((*FIT, "--treatment", "cured"), 1, "target 'cured' must be another column than"),
    ],
)
def test_wrong_options_are_refused(run, trial, arguments, status, said):
    assert said in in_words(run(*arguments, "-o", "m", status=status).stderr)


def test_a_row_without_treatment_is_refused(run, trial):
    table = pd.read_csv("trial.csv")
    table.loc[6, "arm"] = None
    table.to_csv("trial.csv", index=False)
    assert "treatment 'arm' has no value in row 7" in run(*FIT, "-o", "m", status=1).stderr


def test_what_effects_do_not_have_is_refused(run, effects, patients):
    name = effects[0]
    said = run("evaluate", name, "trial.csv", status=1).stderr
    assert "nobody observes effects, which a CausalForest predicts: show prints" in said
    assert "a tree of this forest predicts nothing by itself" in run("show", name, "--tree", "0", status=1).stderr
    run("fit", patients, "-t", "ill", "-o", "m")
    assert (
        "predict intervals, and this is a Decision"
        in run("predict", "m", patients, "--interval", "0.9", status=1).stderr
    )
