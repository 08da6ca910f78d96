"""`jaxtree tune`: an ensemble in one file, a page, and a clock that is kept to."""

import html.parser
import json

import numpy as np
import polars as pl
import pytest

import jaxtree
from jaxtree.files.container import read_model_file
from jaxtree.page.tuned import parameter_importances
from jaxtree.search.out_of_fold import make_yardstick, predictions_of_other_choices, scores_of_folds
from jaxtree.search.spaces import space_for
from jaxtree.search.tuning import Budget, Task, tune
from tests.examples import mixed_classes, mixed_table


@pytest.fixture
def table(run):
    """A file of mixed columns with a class and a number, in the current folder."""
    frame = mixed_table()
    number = np.round(np.cos(np.arange(len(frame))) + frame["is_new"], 2)
    pl.from_pandas(frame.assign(kind=mixed_classes(frame), y=number)).write_parquet("t.parquet")
    return "t.parquet"


class Tags(html.parser.HTMLParser):
    """Checks that every element of a page ends, and collects the ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], set()

    def handle_starttag(self, tag, attrs):
        self.ids |= {value for name, value in attrs if name == "id"}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(("target", "left_out"), [("kind", "y"), ("y", "kind")])
def test_a_model_and_a_page_come_out(run, table, target, left_out):
    options = ["--settings", "10", "--folds", "2", "--ignore", left_out, "--seed", "3", "--minutes", "60"]
    done = run("tune", table, "-t", target, *options, "-o", "m.jaxtree", "--page", "p.html")
    assert "10 settings on 2 folds" in done.stdout and "defaults" in done.stdout
    model = jaxtree.load("m.jaxtree")
    of_classes = target == "kind"
    assert type(model).__name__ == ("BoostedEnsembleClassifier" if of_classes else "BoostedEnsembleRegressor")
    scores = json.loads(run("evaluate", "m.jaxtree", table, "--json").stdout)
    assert scores["rows"] == 60
    page, tags = open("p.html").read(), Tags()  # noqa: SIM115
    tags.feed(page)
    assert not tags.open and "://" not in page and "<script" not in page
    assert {"settings", "progress", "curves", "calibration", "parameters"} <= tags.ids


def test_the_same_settings_and_seed_give_the_same_model(run, table):
    for name in ("a", "b"):
        run(
            *("tune", table, "-t", "kind", "--settings", "3", "--folds", "2", "--ignore", "y", "--minutes", "60"),
            *("-o", name, "--metric", "accuracy", "--quiet"),
        )
    first, second = map(read_model_file, ("a", "b"))
    assert first.header == second.header and first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name])


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--minutes", "0"], 2, "0.0"),
        (["--metric", "magic"], 2, "must be a scorer of scikit-learn"),
        (["--metric", "r2"], 1, "--metric r2 cannot score"),
        (["--folds", "61"], 1, "--folds must be at most 60"),
        (["--page", "no/where.html"], 1, "the folder of no/where.html is not there"),
        (["--settings", "0"], 2, "--settings"),
    ],
)
def test_wrong_options_are_refused_before_the_work(run, table, options, status, said, monkeypatch):
    monkeypatch.setattr("jaxtree.search.tuning.tune", None)
    done = run("tune", table, "-t", "kind", "-o", "m", "--quiet", *options, status=status)
    assert said in " ".join(done.stderr.replace("│", " ").split())


class Clock:
    """A clock that every look at it moves on by a second."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def task(folds=2):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    halves = np.arange(40) % folds
    splits = [(np.flatnonzero(halves != fold), np.flatnonzero(halves == fold)) for fold in range(folds)]
    return Task(jaxtree.GradientBoostingRegressor(), X, y, None, splits, make_yardstick(None, y, of_classes=False))


def small_space():
    space = space_for(40, 3)
    return space._replace(fixed=space.fixed | {"n_estimators": 4, "n_iter_no_change": 2}, batch=2)


@pytest.mark.parametrize("seconds", [40, 80])
def test_the_time_is_kept_to(seconds):
    budget = Budget(seconds, clock=Clock())
    tuned = tune(task(), small_space(), budget)
    assert 0.6 * seconds < budget.used() <= 1.05 * seconds
    assert 2 <= len(tuned.tried.settings) < 40
    assert set(np.flatnonzero(tuned.weights)) <= set(range(len(tuned.tried.settings)))


def test_without_time_there_is_a_batch_and_a_member():
    tuned = tune(task(), small_space(), Budget(0.5, clock=Clock()))
    assert len(tuned.tried.settings) == 2 and len(tuned.model.estimators_) == 1
    assert tuned.weights.sum() == 1


def test_progress_is_told_and_more_settings_begin_alike():
    said = []
    few, many = (
        tune(task(), small_space(), Budget(1e6, number), 5, lambda used, words: said.append(words)) for number in (2, 6)
    )
    assert few.tried.settings == many.tried.settings[:2]
    np.testing.assert_array_equal(few.tried.predicted, many.tried.predicted[:2])
    assert said[0].startswith("2 settings, root mean squared error ") and "members on all rows" in said[-1]


def test_an_ensemble_is_judged_by_choices_of_other_folds():
    """What is predicted of a fold does not depend on its targets, where the choice on all rows does."""
    rng = np.random.default_rng(2)
    y, tests = rng.normal(size=60), np.arange(60).reshape(3, 20)
    predicted = y[None, :, None] + rng.normal(size=(6, 60, 1))

    def of_other_choices(target):
        yardstick = make_yardstick(None, target, of_classes=False)
        scores = scores_of_folds(yardstick, predicted, tests)
        return predictions_of_other_choices(yardstick, predicted, scores, tests)

    changed = np.where(np.arange(60) < 20, -y, y)
    np.testing.assert_array_equal(of_other_choices(changed)[:20], of_other_choices(y)[:20])
    assert not np.array_equal(of_other_choices(changed), of_other_choices(y))


def test_important_parameters_are_found():
    rng = np.random.default_rng(1)
    settings = [{"rate": rng.uniform(), "leaves": int(rng.integers(2, 30)), "noise": rng.uniform()} for _ in range(90)]
    scores = np.array([-abs(own["rate"] - 0.5) + 0.002 * own["leaves"] for own in settings])
    found = dict(parameter_importances(settings, scores))
    assert next(iter(found)) == "rate" and found["rate"] > 0.5 and found["noise"] < 0.1
    assert parameter_importances(settings[:3], scores[:3]) == []


def test_spaces_suit_the_size_of_the_table():
    for shape in ((30, 1, 0), (500, 2, 3), (50_000, 200, 7), (10**6, 10, 0)):
        space = space_for(*shape)
        drawn = space.settings(50, seed=1)
        for own in drawn:
            jaxtree.GradientBoostingRegressor(**space.fixed, **own).check_parameters()
        assert drawn[:7] == space.settings(7, seed=1)
    assert space_for(50_000, 10).batch < space_for(1_000, 10).batch
