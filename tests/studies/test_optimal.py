"""The study of optimal trees: its data, its measurements, its sentences, its page and its command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxtree.cli.app import app
from jaxtree.datasets import load_car_evaluation
from jaxtree.errors import InvalidInputError
from jaxtree_studies import optimal_trees as study
from jaxtree_studies import ranks
from jaxtree_studies.optimal_page import mean_accuracies, write_report
from jaxtree_studies.optimal_tables import optimal_tables, read_arff, thinned
from jaxtree_studies.optimal_verdict import verdict
from jaxtree_studies.prunings import StudyTable

NUM_DATA = 8


def comparison(gains=None, *, num_data=NUM_DATA, cars=0.0):
    """Results in which CART has 0.8 everywhere, and every other method so much more; 0 if not said."""
    gain = {name: np.zeros(num_data) + (gains or {}).get(name, 0.0) for name in study.METHODS}
    same = lambda value: {budget: dict(value) for budget in study.BUDGETS}  # noqa: E731
    data = [
        {
            "name": f"data {place}", "rows": 100, "columns": 4, "classes": 2, "division": "shuffled", "folds": [{}, {}],
            "accuracy": same({name: 0.8 + own[place] for name, own in gain.items()}),
            "train_accuracy": same({name: 0.9 + own[place] for name, own in gain.items()}),
            "leaves": same(dict.fromkeys(gain, 4.0)),
        }
        for place in range(num_data)
    ]  # fmt: skip
    tree = lambda test: {"train": 0.95, "test": test, "leaves": 8}  # noqa: E731
    results = {
        "plan": {"folds": 2, "inner": 2, "seed": 0, "time_limit": 1.0, "most_rows": 500},
        "versions": {"jaxtree": "0.1.0"},
        "methods": [{"name": name, "family": family} for name, family in study.METHODS.items()],
        "budgets": list(study.BUDGETS),
        "data": data,
        "cars": [
            {"max_depth": depth, "paper": 0.85, "optimality": optimality, "cart": tree(0.85), "best": tree(0.85 + cars)}
            for depth, optimality in ((3, "proven"), (5, 0.125), (None, "refined"))
        ],
        "skipped": [{"name": "avila", "reason": "no reader"}],
        "seconds": {**{table["name"]: dict.fromkeys(study.METHODS, 0.5) for table in data}, "in all": 12.5},
    }
    results["ranks"] = {budget: study.ranks_of(results, budget) for budget in study.BUDGETS}
    return results


def test_without_a_folder_the_cars_alone_are_there():
    tables, skipped = optimal_tables(None, 300, 0)
    assert [(table.name, len(table.y)) for table in tables] == [("car, original order", 300), ("car, shuffled", 300)]
    assert {"letter", "magic04", "avila"} <= {absent["name"] for absent in skipped}


def test_rows_are_drawn_in_their_order_from_each_part():
    table = StudyTable("made up", np.arange(100)[:, None], np.arange(100), num_train=60)
    few = thinned(table, 20, 0)
    assert few.num_train == 20 and len(few.y) == 40
    assert np.all(np.diff(few.y) > 0) and np.all(few.y[:20] < 60) and np.all(few.y[20:] >= 60)
    assert thinned(table, None, 0) is table


def test_numbers_and_words_of_a_file_are_read(tmp_path):
    (tmp_path / "made.arff").write_text(
        "% a remark\n@relation made\n@attribute a numeric\n@attribute b {x,'y z'}\n@DATA\n1.5,x\n?,'y z'\n"
    )
    table = read_arff(tmp_path / "made.arff")
    np.testing.assert_array_equal(table[0], [1.5, np.nan])
    assert table[1].tolist() == ["x", "y z"]


@pytest.mark.slow
def test_a_choice_is_within_the_budget_and_the_best_on_the_inner_folds():
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    order = np.random.default_rng(0).permutation(len(y))[:400]
    rows = [(X[part], y[part]) for part in np.array_split(order, 4)]
    outer = ((np.concatenate([own[0] for own in rows[:3]]), np.concatenate([own[1] for own in rows[:3]])), rows[3])
    methods, seconds = study._run_fold(outer, [(rows[0], rows[1]), (rows[1], rows[2])], 0, 0.2)
    assert list(methods) == list(seconds) == list(study.METHODS)
    for name, own in methods.items():
        inner = [own[budget]["inner_accuracy"] for budget in study.BUDGETS]
        assert inner == sorted(inner), name
        assert all(own[budget]["leaves"] <= most for budget, most in study.BUDGETS.items()), name
    assert methods[study.BEST]["free size"]["leaves"] <= 8 and methods[study.NEAR]["free size"]["leaves"] <= 16


def test_fewer_than_two_folds_are_refused():
    with pytest.raises(InvalidInputError, match="inner must be at least 2, got 1"):
        study.run(study.OptimalPlan(inner=1))


def test_no_difference_is_said_to_be_none():
    sentences = verdict(comparison())
    assert "no way to search is more accurate for sure, by Wilcoxon's test" in sentences[0]
    assert "cannot be told apart (Friedman's test, p = 1.000)" in sentences[1]
    assert all(sentence.endswith(".") for sentence in sentences)
    assert "better than its cell at 0 depths, worse at 0" in sentences[-1]


def test_sure_gains_and_losses_are_said():
    gain = np.linspace(0.01, 0.03, NUM_DATA)
    sentences = verdict(comparison({study.BEST: gain, study.NEAR: -gain}, cars=0.01))
    assert f"more accurate by {study.BEST} with 4 leaves, {study.BEST} with 8 leaves" in sentences[0]
    assert f"less accurate by {study.NEAR} with 4 leaves" in sentences[0]
    assert "with 4 leaves better on 8 data sets, equal on 0, worse on 0 (+2.00 points" in sentences[5]
    assert "gains on 8 of 8 data sets, most on data 7 (+3.00 points)" in sentences[-3]
    assert "of 1 of 3 depths" in sentences[-1] and "at 3 depths, worse at 0, the highest being 0.8600" in sentences[-1]


def test_few_data_sets_are_said_to_tell_nothing():
    assert verdict(comparison(num_data=3))[0].endswith("On 3 data sets alone Wilcoxon's test could not tell anything.")


@pytest.mark.slow
def test_the_page_has_every_figure_and_sentence(tmp_path):
    made_up = comparison({study.BEST: np.linspace(0, 0.03, NUM_DATA)})
    paths = write_report(made_up, tmp_path)
    text = paths[0].read_text()
    assert [path.name for path in paths[2:]] == [*(f"ranks_{place}.png" for place in range(4)), "accuracy.png"]
    assert all(word in text for word in (*study.METHODS, *study.BUDGETS, "avila", "12.5 % at most to save"))
    stated = json.loads(paths[1].read_text())
    assert stated.pop("verdict") == verdict(made_up)
    assert stated == json.loads(json.dumps(made_up))
    assert mean_accuracies(made_up)["4 leaves"][study.CART] == pytest.approx(0.8)


def test_ranks_are_those_of_a_budget():
    found = study.ranks_of(comparison({study.BEST: 0.1}), "8 leaves")
    assert min(found["mean"], key=found["mean"].get) == study.BEST
    assert found["critical_difference"] == ranks.critical_difference(len(study.METHODS), NUM_DATA)


@pytest.mark.slow
def test_the_command_end_to_end(tmp_path):
    options = ["--folds", "2", "--inner", "2", "--rows", "200", "--time-limit", "0.2", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["study", "optimal", *options])
    assert done.exit_code == 0, done.output
    stated = json.loads((tmp_path / "report.json").read_text())
    assert stated["plan"]["most_rows"] == 200 and len(stated["data"]) == 2
    assert [row["optimality"] for row in stated["cars"]][3:] == ["refined"] * 3


def test_the_command_explains_itself():
    text = CliRunner().invoke(app, ["study", "optimal", "--help"], env={"COLUMNS": "200"}).output
    assert all(
        option in text for option in ("--data", "--out", "--folds", "--inner", "--seed", "--time-limit", "--rows")
    )
