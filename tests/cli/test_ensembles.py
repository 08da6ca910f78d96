"""Ensembles on the command line: they are one model, whose members can be looked at one by one."""

import json

import pytest

import jaxtree
from tests.examples import mixed_classes, mixed_table


@pytest.fixture
def ensemble(run):
    """An ensemble in a file, and the table that it was fitted on."""
    table = mixed_table()
    y = mixed_classes(table)
    few = {"n_estimators": 3, "min_samples_leaf": 4}
    members = [jaxtree.GradientBoostingClassifier(**few, max_depth=depth) for depth in (2, 3)]
    model = jaxtree.BoostedEnsembleClassifier(members, [1, 3]).fit(table, y)
    model.other_columns_ = ("class",)
    model.save("e.jaxtree")
    table.assign(**{"class": y}).to_csv("t.csv", index=False)
    return "e.jaxtree", "t.csv"


@pytest.mark.slow
def test_an_ensemble_predicts_and_is_scored(run, ensemble):
    first = json.loads(run("predict", *ensemble, "--proba", "--format", "jsonl").stdout.splitlines()[0])
    assert set(first) == {"prediction", "proba_high", "proba_low", "proba_middle"}
    assert json.loads(run("evaluate", *ensemble, "--json").stdout)["accuracy"] > 0.4


def test_an_ensemble_is_shown_and_explained_member_by_member(run, ensemble):
    model, table = ensemble
    said = run("show", model).stdout.splitlines()
    assert len(said) == 3 and "75.0%  3 trees  " in said[2] and "max_depth=3" in said[2]
    assert run("show", model, "--member", "1", "--tree", "0").stdout.startswith("root")
    for one in ([], ["--member", "0"]):
        assert "score of" in run("explain", model, table, *one, "--rows", "1").stdout
        assert "base" in run("explain", model, table, *one, "--shap", "--rows", "1").stdout
    run("export", model, "--to", "c", "-o", "x.c")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("explain", "e.jaxtree", "t.csv", "--member", "2"), "--member must be below 2"),
        (("show", "e.jaxtree", "--tree", "0"), "--member 0 is the first one"),
    ],
)
def test_what_ensembles_cannot_do_is_said(run, ensemble, command, said):
    assert said in run(*command, status=1).stderr


def test_other_models_have_no_members(run, model, patients):
    assert "--member is for ensembles" in run("explain", model, patients, "--member", "0", status=1).stderr
