"""Every command on a small table: what it prints, writes and refuses."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import jaxtree
from jaxtree.cli import app
from tests.cli.conftest import PATIENTS
from tests.marks import rows_are_slow


def test_fit_says_what_it_read_and_writes_a_model(run, patients):
    done = run(
        "fit", patients, "-t", "ill", "-o", "m.jaxtree", "--set", "max_depth=1", "--weight", "weight", "--cv", "2"
    )
    assert "patients.csv: 8 rows, 3 features" in done.stderr
    assert "numbers: age (1 missing)" in done.stderr and "true or false: smokes (1 missing)" in done.stderr
    assert "words: sex (2, 1 missing)" in done.stderr
    assert "target ill: 2 classes, no 4, yes 4, so classification" in done.stderr
    assert "2-fold cross-validation: accuracy" in done.stdout and "3 nodes, 2 leaves, depth 1" in done.stdout
    tree = jaxtree.load("m.jaxtree")
    assert tree.schema_.column_names == ("age", "smokes", "sex") and tree.random_state == 0
    assert tree.tree_.weighted_n_node_samples[0] == 10


@pytest.mark.parametrize(
    ("algorithm", "options", "kind"),
    rows_are_slow(
        [
            ("id3", ["--prune", "dropout:p=0.1,q=0.5"], "ID3Classifier"),
            ("c45", ["--prune", "none"], "C45Classifier"),
            ("optimal", ["--max-depth", "3"], "OptimalTreeClassifier"),
            ("forest", ["--set", "n_estimators=3"], "RandomForestClassifier"),
            ("soft", ["--set", "depth=2", "--set", "max_epochs=2"], "SoftTreeClassifier"),
        ],
        4,
    ),
)
def test_every_algorithm_goes_into_a_file_and_predicts(run, patients, algorithm, options, kind):
    run("fit", patients, "-t", "ill", "-a", algorithm, "-o", "m.jaxtree", *options)
    estimator = jaxtree.load("m.jaxtree")
    assert type(estimator).__name__ == kind
    lines = run("predict", "m.jaxtree", patients, "--quiet").stdout.splitlines()
    assert lines[0] == "prediction" and len(lines) == 9 and set(lines[1:]) <= {"yes", "no"}


def test_an_optimal_tree_says_among_what_it_is_the_best(run, patients):
    ask = ("fit", patients, "-t", "ill", "-a", "optimal", "-o", "m.jaxtree", "--max-depth", "1")
    assert "depth 1, proven\n" in run(*ask).stdout
    assert (
        "depth 1, proven on bins\n" in run(*ask, "--set", "max_thresholds=1", "--set", "refine_thresholds=false").stdout
    )


def test_none_leaves_c45_unpruned(run, patients):
    run("fit", patients, "-t", "ill", "-a", "c45", "-o", "m.jaxtree", "--prune", "none")
    tree = jaxtree.load("m.jaxtree")
    assert tree.confidence is None and tree.pruning is None


def test_numbers_are_predicted_and_judged(run):
    pl.DataFrame({"x": range(40), "y": [0.5 * x for x in range(40)]}).write_parquet("t.parquet")
    done = run("fit", "t.parquet", "-t", "y", "-o", "m.jaxtree")
    assert "numbers from 0 to 19.5, so regression" in done.stderr and "R² 1.0000" in done.stdout
    measured = json.loads(run("evaluate", "m.jaxtree", "t.parquet", "--json").stdout)
    assert measured.pop("constant") == pytest.approx(
        {"R²": 0.0, "mean absolute error": 5.0, "root mean squared error": 5.771698}
    )
    assert measured == {"rows": 40, "R²": 1.0, "mean absolute error": 0.0, "root mean squared error": 0.0}
    done = run("fit", "t.parquet", "-t", "y", "-a", "c45", "-o", "n.jaxtree", status=1)
    assert done.stderr.splitlines()[-1].startswith("error: c45 predicts classes")


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.jsonl"])
def test_predictions_in_every_kind_of_file(run, patients, model, name):
    run("predict", model, patients, "-o", name, "--proba", "--keep", "age")
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[name.split(".")[1]]
    table = read(name)
    assert table.columns == ["age", "prediction", "proba_no", "proba_yes"]
    assert table["prediction"].to_list() == ["yes", "no", "yes", "no", "yes", "no", "no", "yes"]
    assert table["proba_yes"].to_list() == [1, 0, 1, 0, 1, 0, 0, 1]


def test_evaluate_knows_the_target_and_counts(run, patients, model):
    printed = run("evaluate", model, patients).stdout
    assert "accuracy           1.0000" in printed
    assert printed.splitlines()[-3:] == ["     no  yes", "no    4    0", "yes   0    4"]
    wrong = PATIENTS.replace("50, true, m, 1, yes", "50, true, m, 1, no").replace(
        "20, false, f, 1, no", "20, false, f, 1, dead"
    )
    with open("wrong.csv", "w") as file:
        file.write(wrong)
    done = run("evaluate", model, "wrong.csv", "--json")
    measured = json.loads(done.stdout)
    assert measured["accuracy"] == 0.75 and measured["classes"] == ["no", "yes", "dead"]
    assert measured["confusion matrix"] == [[3, 1, 0], [0, 3, 0], [1, 0, 0]]
    assert "1 rows have a class that the fit has not seen, such as 'dead'" in done.stderr


def test_show_prints_a_tree_and_a_tree_of_a_forest(run, patients, model):
    assert run("show", model).stdout == jaxtree.export_text(jaxtree.load(model)) + "\n"
    assert "Size of the tree" in run("show", model, "--style", "weka").stdout
    run("show", model, "--tree", "0", status=1)
    run("fit", patients, "-t", "ill", "-a", "forest", "--set", "n_estimators=2", "-o", "f.jaxtree")
    assert "2 trees: --tree 0 shows" in run("show", "f.jaxtree", status=1).stderr
    forest = jaxtree.load("f.jaxtree")
    assert run("show", "f.jaxtree", "--tree", "1").stdout == jaxtree.export_text(forest.estimators_[1]) + "\n"
    assert "Error by number of trees" in run("show", "f.jaxtree", "--html", "-", "--data", patients).stdout


def test_show_writes_a_page(run, patients, model):
    run("show", model, "--html", "page.html", "--data", patients, "--title", "My patients")
    with open("page.html") as file:
        page = file.read()
    assert "My patients" in page and "<html" in page


def test_explain_says_why(run, patients, model):
    done = run("explain", model, patients, "--rows", "1,3:4")
    rows = [line for line in done.stdout.splitlines() if line.startswith("row")]
    assert rows == ["row 1: yes (100%)", "row 3: yes (100%)", "row 4: no (100%)"]
    assert "because age > " in done.stdout
    assert "the first 5 of 8 rows" in run("explain", model, patients).stderr
    records = [
        json.loads(line)
        for line in run("explain", model, patients, "--format", "jsonl", "--rows", "all").stdout.splitlines()
    ]
    assert [record["row"] for record in records] == list(range(1, 9)) and records[0]["prediction"] == "yes"
    run("explain", model, patients, "--rows", "9", status=1)


@pytest.mark.slow
def test_search_ranks_and_fits_the_best(run):
    run("example", "play-tennis", "-o", "t.csv", "--quiet")
    settings = ["--set", "max_depth=1:3", "--set", "min_samples_leaf=1,2"]
    done = run("search", "t.csv", "-t", "play", *settings, "--cv", "2", "--results", "s.csv", "-o", "m.jaxtree")
    table = pl.read_csv("s.csv")
    assert table.columns == ["max_depth", "min_samples_leaf", "mean_test_score", "std_test_score", "rank_test_score"]
    assert table.height == 6 and "6 settings; accuracy" in done.stdout
    first = table.sort("rank_test_score", maintain_order=True).row(0, named=True)
    tree = jaxtree.load("m.jaxtree")
    assert (tree.max_depth, tree.min_samples_leaf) == (first["max_depth"], first["min_samples_leaf"])


@pytest.mark.parametrize(
    ("algorithm", "setting"), [("forest", "n_estimators=2,4"), ("boosting", "learning_rate=0.1,0.5")]
)
def test_a_search_over_many_trees(run, patients, algorithm, setting):
    done = run("search", patients, "-t", "ill", "-a", algorithm, "--set", setting, "--cv", "2", "-o", "m.jaxtree")
    assert "2 settings; accuracy" in done.stdout
    name, _, values = setting.partition("=")
    assert getattr(jaxtree.load("m.jaxtree"), name) in map(float, values.split(","))


@pytest.mark.parametrize(
    ("name", "rows"), [("car", 1728), ("play-tennis", 14), ("contact-lenses", 24), ("watermelon", 17)]
)
def test_examples_are_tables(run, name, rows):
    assert len(run("example", name, "--quiet").stdout.splitlines()) == rows + 1


USAGE = {
    "no parameter 'depht'": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--set", "depht=3"],
    "NAME=VALUE": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--set", "max_depth"],
    "must be one of none, ": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--prune", "magic"],
    "parameters of dropout are p, q, draws": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--prune", "dropout:r=1"],
    "'magic' is not one of 'cart', 'c45', 'id3', 'optimal', 'forest', 'boosting', 'additive', 'soft'": [
        "fit",
        "patients.csv",
        "-t",
        "ill",
        "-o",
        "m",
        "-a",
        "magic",
    ],
    "'magic' is not one of 'classification', 'regression'": [
        "fit",
        "patients.csv",
        "-t",
        "ill",
        "-o",
        "m",
        "--task",
        "magic",
    ],
    "'magic' is not one of 'auto', 'cpu', 'gpu', 'tpu'": [
        "fit",
        "patients.csv",
        "-t",
        "ill",
        "-o",
        "m",
        "--device",
        "magic",
    ],
    "must be one character": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--separator", "ab"],
    "both categorical and numeric": [
        *["fit", "patients.csv", "-t", "ill", "-o", "m", "--categorical", "age", "--numeric", "age"]
    ],
    "ascending": ["search", "patients.csv", "-t", "ill", "--set", "max_depth=3:1"],
    "Missing option '--target'": ["fit", "patients.csv", "-o", "m"],
    "must end with one of csv, parquet, jsonl": ["predict", "m.jaxtree", "patients.csv", "-o", "p.xls"],
    "is for --html": ["show", "m.jaxtree", "--title", "a"],
}


@pytest.mark.parametrize(("said", "arguments"), USAGE.items(), ids=USAGE)
def test_wrong_use_ends_with_2(run, patients, said, arguments):
    done = run(*arguments, status=2)
    assert said in " ".join(done.stderr.replace("│", " ").split()) and not done.stdout


FAULTS = {
    "has no column 'sick'; its columns are age, smokes": ["fit", "patients.csv", "-t", "sick", "-o", "m"],
    "has no column 'Smokes': do you mean 'smokes'?": ["fit", "patients.csv", "-t", "Smokes", "-o", "m"],
    "nowhere.csv: No such file": ["fit", "nowhere.csv", "-t", "ill", "-o", "m"],
    "the folder of no/m is not there": ["fit", "patients.csv", "-t", "ill", "-o", "no/m"],
    "'sex' of patients.csv must have numbers, and has 'm' in row 1": [
        *["fit", "patients.csv", "-t", "ill", "-o", "m", "--numeric", "sex"]
    ],
    "max_depth": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--set", "max_depth=-1"],
    "m.jaxtree: No such file": ["show", "m.jaxtree"],
    "it is no model file": ["show", "patients.csv"],
    "must be at most 8, the number of rows": ["fit", "patients.csv", "-t", "ill", "-o", "m", "--cv", "9"],
}


@pytest.mark.parametrize(("said", "arguments"), FAULTS.items(), ids=FAULTS)
def test_what_is_wrong_with_data_is_one_line_and_status_1(run, patients, tmp_path, said, arguments):
    done = run(*arguments, "--quiet", status=1)
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("error: ") and said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not isinstance(run(*arguments, "--quiet", "--debug", status=1).exception, SystemExit)


@pytest.mark.usefixtures("trained_by_programs")
def test_an_interrupted_training_ends_the_command(run, patients, tmp_path, monkeypatch):
    """In Python it returns the best parameters; a script could not tell them from those of a whole training."""

    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxtree.soft.runs.run_epochs", interrupted)
    done = run("fit", patients, "-t", "ill", "-o", "m.jaxtree", "-a", "soft", "--set", "depth=2", status=130)
    assert done.stderr.splitlines()[-1] == "interrupted; nothing was written"
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "T", "-t", "y", "-o", "m", "--set", "max_dept=3"], "max_dept"),
        (["fit", "T", "-t", "y", "-o", "m", "--set", "max_depth=-3"], "max_depth"),
        (["fit", "T", "-t", "y", "-o", "m", "--prune", "nothing"], "nothing"),
        (["fit", "T", "-t", "y", "-o", "m", "-a", "boosting", "--learning-rate", "-1"], "learning_rate"),
        (["fit", "T", "-t", "y", "-o", "m", "-a", "c45", "--task", "regression"], "c45 predicts classes"),
        (["search", "T", "-t", "y", "--set", "max_dept=3,4"], "max_dept"),
        (["search", "T", "-t", "y", "--set", "max_depth=3", "--scoring", "best"], "must be a scorer"),
        (["tune", "T", "-t", "y", "--scoring", "best"], "must be a scorer"),
        (["explain", "M", "T", "--rows", "first"], "--rows must be rows"),
        (["export", "M", "--to", "c", "--dialect", "mysql"], "is for --to sql"),
        (["predict", "M", "T", "-o", "out.docx"], "out.docx"),
    ],
)
def test_options_are_checked_before_a_table_is_read(model, arguments, message):
    """The table is not there, and yet it is not what the error is about."""
    given = [{"T": "nowhere.csv", "M": model}.get(own, own) for own in arguments]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "300"})
    assert done.exit_code in (1, 2) and message in done.stderr
    assert "nowhere" not in done.stderr
