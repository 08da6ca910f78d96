"""Progress of long work: lines in logs, bars in terminals and in notebooks."""

import sys
import warnings

import pytest

from jaxtree import GradientBoostingRegressor, RandomForestRegressor, SearchCV, SoftTreeRegressor
from jaxtree.estimators.common import progress
from jaxtree.estimators.common.conventions import progress_of

X, Y = [[float(n), n % 3] for n in range(40)], [float(n % 7) for n in range(40)]
ESTIMATORS = [
    GradientBoostingRegressor(4),
    RandomForestRegressor(4),
    SoftTreeRegressor(max_epochs=4, depth=1),
    SearchCV(RandomForestRegressor(2), {"max_depth": [1, 2]}, cv=2),
]


class Time:
    """A clock that moves when it is told to."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(progress, "time", Time())
    return progress.time


def work(verbose, total=20, step=1, **words):
    with progress_of(verbose, total, "boosting", "rounds") as report:
        for number in range(0, total, step):
            report(step, f"loss {number}", **words)


def test_nothing_is_said_at_0(capsys):
    for silence in (0, False):
        with progress_of(silence, 3) as report:
            assert report is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("verbose", "step", "told"),
    [
        (1, 1, range(2, 21, 2)),
        (True, 1, range(2, 21, 2)),
        (5, 1, (5, 10, 15, 20)),
        (7, 1, (7, 14, 20)),
        (3, 5, (5, 10, 15, 20)),
        (100, 1, (20,)),
    ],
)
def test_a_log_gets_lines(verbose, step, told, capsys, clock):
    work(verbose, step=step)
    out, err = capsys.readouterr()
    assert not out
    assert [line.split(", ")[0] for line in err.splitlines()] == [f"boosting: {n} of 20 rounds" for n in told]


def test_slow_steps_are_told_and_time_is(capsys, clock):
    with progress_of(1, 100, "boosting", "rounds") as report:
        for _ in range(3):
            clock.now += 4
            report(1)
        report(0, "now known")
    assert capsys.readouterr().err.splitlines() == ["boosting: 3 of 100 rounds, about 6 min left"]


def test_work_that_is_measured_in_seconds_tells_every_so_many_steps(capsys, clock):
    with progress_of(2, 60, "tuning", "s") as report:
        for words in ("one", "", "two", "", "three", "four"):
            report(1, words)
    assert capsys.readouterr().err.splitlines() == ["tuning: 3 of 60 s, two", "tuning: 6 of 60 s, four"]


def test_work_that_is_to_take_no_whole_second_fills_no_log(capsys, clock):
    with progress_of(1, 0, "tuning", "s") as report:
        for _ in range(50):
            clock.now += 0.5
            report(0.5, "the plain estimator")
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "tuning: 10 of 0 s",
        "tuning: 20 of 0 s",
    ]


def test_an_error_is_not_held_back(capsys):
    with pytest.raises(ZeroDivisionError), progress_of(1, 3):
        raise ZeroDivisionError


class Handle:
    """A display of a notebook."""

    def __init__(self):
        self.shown = []

    def update(self, shown):
        self.shown.append(shown)


@pytest.fixture
def notebook(monkeypatch):
    """A kernel of Jupyter, as far as it matters here."""
    display = pytest.importorskip("IPython.display")
    shell, handle = type("Shell", (), {"kernel": None})(), Handle()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)

    def show(shown, *, display_id):
        assert display_id
        handle.update(shown)
        return handle

    monkeypatch.setattr(display, "display", show)
    return handle


def test_a_notebook_gets_a_bar_of_html(notebook, clock, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with warnings.catch_warnings(), progress_of(1, 4, "boosting", "rounds") as report:
        warnings.simplefilter("error")
        for _ in range(4):
            clock.now += 0.06
            report(1, "loss <1")
    assert capsys.readouterr() == ("", "")
    # Not more often than is seen, and the end in any case.
    assert [bar.now.done for bar in notebook.shown] == [0, 2, 4, 4]
    assert 'value="4" max="4"' in notebook.shown[-1]._repr_html_() and "loss &lt;1" in notebook.shown[-1]._repr_html_()
    assert "color" not in notebook.shown[-1]._repr_html_() and "4 of 4 rounds" in repr(notebook.shown[-1])


def test_lines_in_a_notebook_are_no_errors(notebook, clock, capsys):
    work(10)
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 and not err and not notebook.shown


def test_a_bar_within_a_bar_is_not_drawn(notebook):
    for _ in range(2):
        with progress_of(1, 4) as outer, progress_of(1, 9) as inner, progress_of(3, 9) as lines:
            assert outer is not None and inner is None and lines is not None
    assert {bar.now.total for bar in notebook.shown} == {4}


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_terminal_gets_a_bar_where_rich_is_there(has_rich, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    if has_rich:
        rich = pytest.importorskip("rich.progress")
        calls = []
        monkeypatch.setattr(rich.Progress, "update", lambda self, task, **own: calls.append(own))
        work(1)
        assert calls[-1] == {"completed": 20, "description": "boosting loss 19"}
    else:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
        work(1)
        assert len(capsys.readouterr().err.splitlines()) == 10


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_every_second_is_told_by_every_estimator(estimator, capsys):
    estimator.set_params(verbose=2).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    if isinstance(estimator, SearchCV):
        assert [line.split(",")[0] for line in lines] == [
            f"2 settings x 2 folds: {share}" for share in ("50.0%", "100%")
        ]
        assert "best R² " in lines[-1]
        return
    assert [line.split(": ")[1].split(" ")[:3] for line in lines] == [[n, "of", "4"] for n in "24"]


def test_the_time_that_is_left_goes_by_the_steps_after_the_first(capsys, clock):
    """The first compiles, or stands for all that is known already."""
    with progress_of(1, 10_000, "500 settings x 20 folds", "%") as report:
        clock.now += 60
        report(10, "best loss 2")
        clock.now += 30
        report(10, "best loss 1")
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "500 settings x 20 folds: 0.2%, about 8 h left, best loss 1"


def test_a_long_time_is_told_in_minutes(capsys, clock):
    with progress_of(2, 600, "tuning", "s") as report:
        for words in ("one", "two"):
            report(150, words)
    assert capsys.readouterr().err.splitlines() == ["tuning: 5 min of 10 min, two"]
