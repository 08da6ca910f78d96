"""`jaxtree tune`: an ensemble in one file, a page, and a clock that is kept to."""

import html.parser
import json
import os

import numpy as np
import polars as pl
import pytest

import jaxtree
from jaxtree.boosting import batch, many
from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InvalidInputError
from jaxtree.page.tuned import tuned_page
from jaxtree.search import spaces, strategies
from jaxtree.search.budget import Budget, Forecast
from jaxtree.search.ensemble import select_with_replacement
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import make_yardstick
from jaxtree.search.results import parameter_importances
from jaxtree.search.spaces import Range, space_for
from jaxtree.search.tuning import find_ensemble
from tests.examples import mixed_classes, mixed_table
from tests.marks import rows_are_slow
from tests.search.beside import beside_plain


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


@pytest.mark.slow
def test_a_search_that_time_does_not_suffice_for_says_so(run, table):
    done = run("tune", table, "-t", "kind", "--cv", "2", "--minutes", "0.01", "-o", "m.jaxtree")
    assert "1 setting on 2 folds" in done.stdout and "one setting alone was tried beside the defaults" in done.stderr
    assert run("predict", "m.jaxtree", table).stdout.count("\n") == 61


@pytest.mark.slow
@pytest.mark.parametrize(("target", "left_out"), [("kind", "y"), ("y", "kind")])
def test_a_model_and_a_page_come_out(run, table, target, left_out):
    options = ["--n-iter", "4", "--cv", "2", "--ignore", left_out, "--seed", "3", "--minutes", "60"]
    done = run("tune", table, "-t", target, *options, "-o", "m.jaxtree", "--page", "p.html")
    assert "4 settings on 2 folds" in done.stdout and "defaults" in done.stdout
    assert "lack of time" not in done.stdout
    model = jaxtree.load("m.jaxtree")
    of_classes = target == "kind"
    assert type(model).__name__ == ("GradientBoostingClassifier" if of_classes else "GradientBoostingRegressor")
    scores = json.loads(run("evaluate", "m.jaxtree", table, "--json").stdout)
    assert scores["rows"] == 60
    page, tags = open("p.html").read(), Tags()  # noqa: SIM115
    tags.feed(page)
    assert not tags.open and "://" not in page and "src=" not in page
    assert {"settings", "progress", "curves", "calibration", "parameters"} <= tags.ids


def test_an_additive_model_and_its_page_come_out(run, table):
    options = ["--algorithm", "additive", "--n-iter", "2", "--cv", "2", "--ignore", "y", "--minutes", "60"]
    done = run("tune", table, "-t", "kind", *options, "-o", "m.jaxtree", "--page", "p.html")
    assert "2 settings on 2 folds" in done.stdout and "terms, mean of 8 bags" in done.stdout
    assert "  model  " in done.stdout and "ensemble" not in done.stdout
    assert type(jaxtree.load("m.jaxtree")).__name__ == "ExplainableBoostingClassifier"
    page, tags = open("p.html").read(), Tags()  # noqa: SIM115
    tags.feed(page)
    assert not tags.open and "<title>Additive model, tuned for kind" in page and "The ensemble" not in page
    said = run("tune", table, "-t", "kind", "--algorithm", "forest", status=2).stderr
    assert "boosting" in said and "additive" in said


@pytest.mark.slow
def test_without_an_output_files_have_the_name_of_the_table(run, table, tmp_path):
    (tmp_path / "in.a.folder").mkdir()
    where = tmp_path / "in.a.folder" / "few.rows.csv.gz"
    pl.read_parquet(table).to_pandas().to_csv(where, index=False)
    options = ["-t", "kind", "--n-iter", "1", "--cv", "2", "--minutes", "60"]
    done = run("tune", str(where), *options)
    assert "model: few.rows.tuned.jaxtree" in done.stdout + done.stderr
    assert type(jaxtree.load("few.rows.tuned.jaxtree")).__name__ == "GradientBoostingClassifier"
    assert "page: few.rows.tuned.html" in done.stderr and os.path.exists("few.rows.tuned.html")
    run("tune", table, *options, "--page", "p.html")
    assert {"t.tuned.jaxtree", "p.html"} <= set(os.listdir()) and "t.tuned.html" not in os.listdir()
    run("tune", table, *options, "-o", "alone")
    assert "t.tuned.html" not in os.listdir()


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--minutes", "0"], 2, "0.0"),
        (["--scoring", "magic"], 2, "must be a scorer of scikit-learn"),
        (["--scoring", "r2"], 1, "scoring='r2' cannot score"),
        (["--cv", "61"], 1, "the number of folds must be at most 60"),
        (["--page", "no/where.html"], 1, "the folder of no/where.html is not there"),
        (["--n-iter", "0"], 2, "--n-iter"),
    ],
)
def test_wrong_options_are_refused_before_the_work(run, table, options, status, said, monkeypatch):
    monkeypatch.setattr("jaxtree.search.tune.find_ensemble", None)
    done = run("tune", table, "-t", "kind", "-o", "m", "--quiet", *options, status=status)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_table_of_the_standard_input_has_no_name(run):
    assert "must be given where the table is the standard input" in " ".join(
        run("tune", "-", "-t", "y", status=2).stderr.replace("│", " ").split()
    )


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
    yardstick = make_yardstick(None, y, of_classes=False)
    return Search(jaxtree.GradientBoostingRegressor(), X, y, splits, yardstick=yardstick)


def small_space():
    """Settings of a few rounds, without noise, so that several are nearly as good as the best."""
    space = space_for(40, 3)
    ranges = {name: own for name, own in space.ranges.items() if name != "random_strength"}
    ranges["max_leaf_nodes"] = ranges["max_leaf_nodes"]._replace(default=31)
    ranges["min_samples_leaf"] = Range(2, 3, True, True, 3)
    ranges["subsample"] = ranges["subsample"]._replace(default=1)
    fixed = space.fixed | {"n_estimators": 4, "n_iter_no_change": 2}
    return space._replace(ranges=ranges, fixed=fixed, batch=2, finals=None)


@pytest.fixture
def all_drawn(monkeypatch):
    """Settings that keep nothing of the defaults, several of which are nearly as good as the best."""
    monkeypatch.setattr(spaces, "PART_KEPT", 0.0)


@pytest.mark.parametrize("seconds", [40, pytest.param(120, marks=pytest.mark.slow)])
def test_the_time_is_kept_to(seconds):
    # A batch and the choice after it take some 17 looks at the clock: of 80 seconds that many are left over.
    budget = Budget(seconds, clock=Clock())
    tuned = find_ensemble(task(), small_space(), budget)
    assert 0.8 * seconds < budget.used() <= 1.05 * seconds
    assert 2 <= len(tuned.tried.settings) < 40
    assert set(np.flatnonzero(tuned.weights)) <= set(range(len(tuned.tried.settings)))


def test_without_time_there_are_the_defaults_to_their_end():
    space = small_space()
    tuned = find_ensemble(task(), space, Budget(0.5, clock=Clock()))
    assert tuned.tried.settings == space.settings(1, 0) and tuned.weights.tolist() == [1.0]
    whole = find_ensemble(task(), space, Budget(1e6, 1))
    np.testing.assert_array_equal(tuned.model.predict(task().X), whole.model.predict(task().X))
    np.testing.assert_array_equal(tuned.scores, whole.scores)


class SlowRounds:
    """A clock that stands still but for calls of rounds: the seconds of the first, those of others, and of one more."""

    def __init__(self, monkeypatch, first, seconds, to_compile=0.0):
        self.now = 0.0
        make, firsts, waits = batch.make_rounds, list(first), [to_compile]

        def slow(*arguments, **options):
            self.now += firsts.pop() if firsts else seconds + (waits.pop() if waits else 0.0)
            return make(*arguments, **options)

        monkeypatch.setattr(batch, "make_rounds", slow)

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("seconds", "to_compile"), [(80, 0.0), (160, 0.0), (160, 60.0)])
def test_a_batch_for_which_time_does_not_suffice_ends_with_fewer_rounds(seconds, to_compile, monkeypatch):
    """The defaults take 20 seconds for 40 rounds on 2 folds, and a batch would take 80 calls of 5 seconds."""
    space = space_for(40, 3)
    space = space._replace(fixed=space.fixed | {"n_estimators": 40, "early_stopping": False}, batch=2, finals=None)
    clock = SlowRounds(monkeypatch, [0.25] * 80, 5.0, to_compile)
    monkeypatch.setattr(many, "ROUNDS_AT_A_TIME", 1)
    tuned = find_ensemble(task(), space, Budget(seconds, 3, clock=clock))
    assert 0.6 * seconds < clock.now <= 1.0 * seconds
    assert len(tuned.tried.settings) == 3 and tuned.tried.scores.shape == (3, 2)
    assert len(tuned.tests) == 2 and not tuned.was_interrupted
    # Both folds have had a like share of the time.
    assert np.ptp(tuned.tried.num_rounds[1:]) <= 1 and tuned.tried.num_rounds[1:].min() >= 3
    assert tuned.tried.was_cut.tolist() == [False, True, True] and (tuned.tried.num_rounds[0] == 40).all()


def interrupt_at(monkeypatch, number):
    """Lets the call of rounds of this number, from 1 on, end by Ctrl-C."""
    make, calls = batch.make_rounds, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return make(*arguments, **options)

    monkeypatch.setattr(batch, "make_rounds", interrupted)


@pytest.mark.parametrize(
    ("number", "num_settings", "num_folds"), rows_are_slow([(2, 1, 1), (3, 1, 2), (5, 1, 3), (16, 5, 3)], 2)
)
def test_an_interrupted_search_is_of_the_settings_that_are_finished(number, num_settings, num_folds, monkeypatch):
    """The defaults make a call of rounds on each of three folds, and a batch two, of one round and of the others."""
    whole = find_ensemble(task(3), small_space(), Budget(1e6, 8))
    interrupt_at(monkeypatch, number)
    tuned = find_ensemble(task(3), small_space(), Budget(1e6, 8))
    assert tuned.was_interrupted and not whole.was_interrupted
    assert tuned.tried.settings == whole.tried.settings[:num_settings]
    np.testing.assert_array_equal(tuned.tried.scores, whole.tried.scores[:num_settings, :num_folds])
    assert len(tuned.tests) == tuned.scores.size == num_folds
    assert tuned.model.predict(task().X).shape == (40,)
    assert "interrupted" in tuned_page(beside_plain(tuned), task().y)


def interrupt_fits(monkeypatch, numbers, kind=jaxtree.GradientBoostingRegressor):
    """Lets the fits on all rows of these numbers, from 1 on, end by Ctrl-C."""
    fit, calls = kind.fit, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) in numbers:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    monkeypatch.setattr(kind, "fit", interrupted)


@pytest.mark.usefixtures("all_drawn")
@pytest.mark.parametrize(("numbers", "left"), rows_are_slow([((1,), 1), ((2,), 1), ((3,), 2)]))
def test_members_that_are_fitted_before_an_interrupt_are_kept(numbers, left, monkeypatch):
    whole = find_ensemble(task(3), small_space(), Budget(1e6, 12))
    assert len(whole.members) > 2
    interrupt_fits(monkeypatch, numbers)
    tuned = find_ensemble(task(3), small_space(), Budget(1e6, 12))
    assert tuned.was_interrupted and len(tuned.members) == left
    assert tuned.members[0].get_params() == whole.members[0].get_params()


class SlowSteps:
    """A clock that stands still but for a search's fits and those on all rows, where a program is compiled first."""

    def __init__(self, monkeypatch, a_setting, a_member, to_compile):
        self.now, sizes, members = 0.0, set(), []
        fit_many, fit = strategies.fit_many, jaxtree.GradientBoostingRegressor.fit

        def slow_batch(jobs, **options):
            size = len({id(job.estimator) for job in jobs})
            self.now += a_setting * size + to_compile * (size not in sizes)
            sizes.add(size)
            return fit_many(jobs, **options)

        def slow_fit(*arguments, **options):
            self.now += a_member + to_compile * (not members)
            members.append(1)
            return fit(*arguments, **options)

        monkeypatch.setattr(strategies, "fit_many", slow_batch)
        monkeypatch.setattr(jaxtree.GradientBoostingRegressor, "fit", slow_fit)

    def __call__(self):
        return self.now


@pytest.mark.slow
@pytest.mark.usefixtures("all_drawn")
@pytest.mark.parametrize(
    ("seconds", "a_setting", "a_member"),
    [
        (30, 1.2, 0.8),
        *(pytest.param(30, *given, marks=pytest.mark.slow) for given in [(0.5, 0.1), (1.5, 0.3)]),
        *(pytest.param(60, *given, marks=pytest.mark.slow) for given in [(0.5, 0.1), (1.5, 0.3), (1.2, 0.8)]),
    ],
)
def test_what_the_fits_of_members_leave_is_searched_in(seconds, a_setting, a_member, monkeypatch):
    budget = Budget(seconds, clock=SlowSteps(monkeypatch, a_setting, a_member, 2.0))
    tuned = find_ensemble(task(3), small_space()._replace(batch=6), budget)
    assert 0.87 * seconds <= budget.used() <= 0.96 * seconds
    assert not tuned.tried.was_cut.any() and tuned.weights.sum() == pytest.approx(1)
    members = [model.get_params() for model in tuned.members]
    chosen = np.argsort(-tuned.weights, kind="stable")[: np.count_nonzero(tuned.weights)]
    assert [own["learning_rate"] for own in members] == [tuned.tried.settings[own]["learning_rate"] for own in chosen]


@pytest.mark.usefixtures("all_drawn")
def test_a_later_choice_whose_members_are_not_fitted_gives_way_to_the_one_before(monkeypatch):
    """With no time for the new members, or Ctrl-C during their fits, all is as after the fits of the first choice."""
    monkeypatch.setattr(Forecast, "size_for", lambda self, seconds: 2 if self.of_member() or not self._compiled else 0)
    first = find_ensemble(task(3), small_space(), Budget(1e6, 2))
    later = find_ensemble(task(3), small_space(), Budget(1e6, 12))
    assert np.flatnonzero(later.weights).max() > 1
    interrupt_fits(monkeypatch, (len(first.members) + 1,))
    kept = find_ensemble(task(3), small_space(), Budget(1e6, 12))
    assert kept.was_interrupted and kept.tried.settings == later.tried.settings
    np.testing.assert_array_equal(kept.weights, np.pad(first.weights, (0, 10)))
    np.testing.assert_array_equal(kept.scores, first.scores)
    np.testing.assert_array_equal(kept.model.predict(task().X), first.model.predict(task().X))


@pytest.mark.usefixtures("all_drawn")
def test_an_ensemble_that_lacks_members_is_judged_by_those_that_it_has(monkeypatch):
    interrupt_fits(monkeypatch, (2,))
    tuned = find_ensemble(task(3), small_space(), Budget(1e6, 12))
    (member,) = np.flatnonzero(tuned.weights)
    np.testing.assert_array_equal(tuned.predicted, tuned.tried.predicted[member])
    np.testing.assert_array_equal(tuned.scores, tuned.tried.scores[member])


def test_an_interrupt_before_anything_is_finished_is_raised(monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            find_ensemble(task(), small_space(), Budget(1e6, 4))
    interrupt_fits(monkeypatch, (1, 2))
    with pytest.raises(KeyboardInterrupt):
        find_ensemble(task(), small_space(), Budget(1e6, 4))


@pytest.mark.slow
def test_an_interrupted_command_writes_what_is_finished_and_says_so(run, table, monkeypatch):
    arguments = ["tune", table, "-t", "kind", "--ignore", "y", "--n-iter", "4", "--cv", "2", "--minutes", "60"]
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        done = run(*arguments, "-o", "none.jaxtree", status=130)
    assert "interrupted; nothing was written" in done.stderr and not os.path.exists("none.jaxtree")
    interrupt_fits(monkeypatch, (1,), jaxtree.GradientBoostingClassifier)
    done = run(*arguments, "-o", "m.jaxtree", "--page", "p.html", status=130)
    assert "interrupted; the ensemble is of the settings that were finished" in done.stdout
    # It ended the final round before a first finalist: the members are single models of the choice that was made.
    assert len(jaxtree.load("m.jaxtree").ensemble_weights_) == 2
    assert "interrupted" in open("p.html").read()  # noqa: SIM115


def test_progress_is_told_and_more_settings_begin_alike():
    said = []
    few, many = (
        find_ensemble(
            task(), small_space(), Budget(1e6, number), 5, lambda used, words: said.append(words) if words else None
        )
        for number in (2, 6)
    )
    assert few.tried.settings == many.tried.settings[:2]
    np.testing.assert_array_equal(few.tried.predicted, many.tried.predicted[:2])
    assert said[0].startswith("1 setting, root mean squared error ") and "members on all rows" in said[-1]


def test_a_choice_ends_with_what_it_has_when_its_time_is_over():
    rng = np.random.default_rng(0)
    predicted, target = rng.normal(size=(6, 30, 1)), rng.normal(size=30)
    looked_at = []

    def score(mean):
        looked_at.append(1)
        return -np.square(mean[:, 0] - target).mean()

    whole = select_with_replacement(list(predicted), score, 20)
    assert (whole > 0).sum() > 1
    looked_at.clear()
    clock = Clock()
    cut = select_with_replacement(list(predicted), score, 20, Deadline(1.0, clock))
    # One member, whatever the time.
    assert (cut > 0).sum() == 1 and len(looked_at) == len(predicted)


def test_important_parameters_are_found():
    rng = np.random.default_rng(1)
    settings = [{"rate": rng.uniform(), "leaves": int(rng.integers(2, 30)), "noise": rng.uniform()} for _ in range(90)]
    scores = np.array([-abs(own["rate"] - 0.5) + 0.002 * own["leaves"] for own in settings])
    results = {"params": settings, "mean_test_score": scores}
    found = parameter_importances(results, "score", n_repeats=5, random_state=0)
    share = dict(zip(found.names, found.mean, strict=True))
    assert max(share, key=share.get) == "rate" and share["rate"] > 0.5 and share["noise"] < 0.1
    with pytest.raises(InvalidInputError, match="importances need scores of at least 4 different settings, got 3"):
        parameter_importances(
            {"params": settings[:3], "mean_test_score": scores[:3]}, "score", n_repeats=5, random_state=0
        )


def test_spaces_suit_the_size_of_the_table():
    for shape in ((30, 1, 0), (500, 2, 3), (50_000, 200, 7), (10**6, 10, 0)):
        space = space_for(*shape)
        drawn = space.settings(50, seed=1)
        for own in drawn:
            jaxtree.GradientBoostingRegressor(**space.fixed, **own).check_parameters()
        assert drawn[:7] == space.settings(7, seed=1)
        alike = [sum(own[name] == value for name, value in drawn[0].items()) for own in drawn[1:]]
        assert np.mean(alike[::2]) > 3 and np.mean(alike[1::2]) < 2
    assert space_for(50_000, 10).batch < space_for(1_000, 10).batch
