"""`jaxtree compare`: a table of models and a verdict, a file of the table, and a page."""

import numpy as np
import polars as pl
import pytest

import jaxtree
from jaxtree.cli.compared import algorithm_of
from tests.examples import mixed_classes, mixed_numbers, mixed_table


@pytest.fixture
def table(run):
    """A file of mixed columns with a class, a number and a group, in the current folder."""
    frame = mixed_table()
    more = {"kind": mixed_classes(frame), "y": mixed_numbers(frame), "site": np.arange(len(frame)) // 3}
    pl.from_pandas(frame.assign(**more)).write_parquet("t.parquet")
    return "t.parquet"


FEW = ("--cv", 3, "--repeats", 2, "--ignore", "y", "--ignore", "site")


def test_models_are_compared_with_a_constant(run, table):
    models = ("-a", "cart", "-a", "cart:max_depth=1", "--scoring", "accuracy", "--scoring", "neg_log_loss")
    done = run("compare", table, "-t", "kind", *models, *FEW, "--results", "r.csv", "--page", "p.html", "--quiet")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("accuracy (higher is better); 3 folds, drawn twice; 95% intervals")
    assert {line.split()[1] for line in lines[2:5]} == {"cart", "cart:max_depth=1", "baseline"}
    assert " a constant" in lines[5]
    found = pl.read_csv("r.csv")
    assert found["rank"].to_list() == [1, 2, 3] and {"accuracy", "log loss", "low", "high"} <= set(found.columns)
    with open("p.html") as page:
        text = page.read()
    assert lines[5] in text and "cart:max_depth=1" in text


def test_it_is_the_comparison_of_python(run, table):
    numbers = ("--ignore", "color", "--ignore", "size")
    run("compare", table, "-t", "kind", "-a", "cart", *FEW, *numbers, "--seed", 5, "--results", "r.csv", "--quiet")
    frame = mixed_table()
    tree = {"cart": jaxtree.DecisionTreeClassifier(random_state=5)}
    columns = frame.drop(columns=["color", "size"])
    found = jaxtree.compare(tree, columns, mixed_classes(frame), cv=(3, 2), random_state=5).to_frame()
    assert pl.read_csv("r.csv")["accuracy"].to_list() == pytest.approx(found["accuracy"].tolist(), abs=1e-12)


def test_groups_stay_in_one_fold(run, table):
    given = ("compare", table, "-t", "y", "-a", "cart", "--group", "site", "--ignore", "kind", "--repeats", 1)
    done = run(*given, "--cv", 4, "--quiet")
    assert "r2 (higher is better); 4 folds of whole groups" in done.stdout
    assert "the number of groups, got 50 folds" in run(*given, "--cv", 50, status=1).output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-a", "tree"), "must be one of cart, c45"),
        (("-a", "causal_forest"), "must be one of cart, c45"),
        (("-a", "cart", "-a", "cart"), "appears twice"),
        (("-a", "cart:depth=2"), "no parameter 'depth'"),
        (("-a", "cart", "--scoring", "acuracy"), "must be a scorer of scikit-learn"),
        (("-a", "ranking"), "names the column of groups"),
    ],
)
def test_wrong_options_are_refused_before_the_work(run, options, said):
    done = run("compare", "no such file.csv", "-t", "kind", *options, status=2)
    assert said in " ".join(done.output.replace("│", " ").split())


def test_parameters_of_an_algorithm_follow_its_name():
    assert algorithm_of("boosting:loss=huber:2,max_depth=3") == ("boosting", ["loss=huber:2", "max_depth=3"])
