"""Additive models on the command line, from the fit to the export."""

import re

import numpy as np
import pandas as pd
import pytest

import jaxtree

FEW = ["--set", "outer_bags=2", "--set", "max_rounds=60", "--set", "validation_size=0", "--set", "min_samples_leaf=1"]


@pytest.fixture
def additive(run, patients):
    """An additive model of the patients in a file."""
    options = [*FEW, "--set", "interactions=1", "--learning-rate", "0.2"]
    run("fit", patients, "-t", "ill", "-a", "additive", *options, "--ignore", "weight", "-o", "a.jaxtree", "--quiet")
    return "a.jaxtree"


def test_options_are_parameters(run, patients, additive):
    model = jaxtree.load(additive)
    assert type(model).__name__ == "ExplainableBoostingClassifier"
    assert (model.outer_bags, model.learning_rate, model.interactions) == (2, 0.2, 1)


def test_a_fit_says_how_large_the_model_is(run, patients):
    done = run("fit", patients, "-t", "ill", "-a", "additive", *FEW, "--set", "interactions=0", "-o", "m", "--cv", "2")
    terms = len(jaxtree.load("m").term_names_)
    assert f"ExplainableBoostingClassifier: {terms} terms of columns, 0 of pairs, " in done.stdout
    assert "2-fold cross-validation: accuracy" in done.stdout


def test_numbers_have_losses(run):
    row = np.arange(60)
    pd.DataFrame({"x": row % 13, "word": np.array(["a", "b"])[row % 2], "y": row % 13 // 3}).to_csv(
        "t.csv", index=False
    )
    fit = ["fit", "t.csv", "-t", "y", "--task", "regression", "-a", "additive", *FEW, "-o", "m"]
    run(*fit, "--loss", "poisson")
    assert jaxtree.load("m").loss == "poisson"
    run(*fit, "--set", "max_leaves=2")
    assert jaxtree.load("m").max_leaves == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-a", "additive", "--n-estimators", "5"], "is for --algorithm boosting"),
        (["-a", "forest", "--loss", "poisson"], "is for --algorithm boosting or additive"),
        (["-a", "additive", "--loss", "poisson"], "is for numbers, and the target has classes"),
        (["-a", "additive", "--set", "max_iter=3"], "it is max_rounds here"),
        (["-a", "additive", "--prune", "collapse"], "ExplainableBoostingClassifier is not pruned"),
    ],
)
def test_wrong_options_are_refused(run, patients, options, said):
    done = run("fit", patients, "-t", "ill", "-o", "m", "--quiet", *options, status=2)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_row_is_explained(run, patients, additive):
    words = run("explain", additive, patients, "--rows", "1").stdout
    assert re.match(r"row 1: \d+% yes; ", words) and "score of yes" in words
