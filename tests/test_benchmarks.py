"""The pure parts of the benchmark suite: whose turn it is, and what is said of the times; and a tiny run."""

import json
import math
import os
import pathlib

import numpy as np
import pytest

from benchmarks.suite.budget import LEAST_PART, Budget
from benchmarks.suite.cases import make_cases
from benchmarks.suite.contenders import PLACES
from benchmarks.suite.contenders.base import Timing
from benchmarks.suite.figures import bytes_a_row, compare, exponent, exponents, summarise
from benchmarks.suite.processes import ask
from benchmarks.suite.tables import read_rows, synthetic, write_table
from benchmarks.suite.tasks import Table
from benchmarks.suite.turns import SLOW, Turns
from benchmarks.suite.worker import score
from benchmarks.user_tables.cells import FITS, REAL, TABLES, choose_cells
from benchmarks.user_tables.command import main as run_user_tables
from benchmarks.user_tables.report import heading, line_of, summary_lines
from benchmarks.user_tables.report import summarise as summarise_cells
from jaxtree_studies.tables.readers import REGRESSION


class Machine:
    """A clock, and contenders that move it on."""

    def __init__(self):
        self.now = 0.0
        self.order = []

    def clock(self):
        return self.now

    def run(self, name, *seconds):
        """A contender that takes the given seconds in turn, and the last one from then on."""
        left = list(seconds)

        def call():
            self.order.append(name)
            taken = left.pop(0) if len(left) > 1 else left[0]
            self.now += taken
            return Timing(taken)

        return call


def test_contenders_take_turns_and_the_first_call_does_not_count():
    machine = Machine()
    turns = Turns({"a": machine.run("a", 5, 1), "b": machine.run("b", 2)})
    assert turns.take(3) == {"a": [Timing(1)] * 3, "b": [Timing(2)] * 3}
    assert machine.order == list("abababab")
    assert not turns.errors


def test_a_slow_contender_runs_once_and_that_counts_unless_it_compiles():
    machine = Machine()
    runs = {"slow": machine.run("slow", SLOW + 1), "compiled": machine.run("compiled", SLOW + 1, 1)}
    timings = Turns(runs, ["compiled"]).take(2)
    assert machine.order == ["slow", "compiled", "compiled", "compiled"]
    assert timings == {"slow": [Timing(SLOW + 1)], "compiled": [Timing(1)] * 2}


def test_something_of_every_run_counts_where_time_is_too_short_for_anything():
    machine = Machine()
    runs = {"a": machine.run("a", 2), "compiled": machine.run("compiled", 9, 3)}
    timings = Turns(runs, ["compiled"], machine.clock).take(5, seconds=1)
    assert machine.order == ["a", "compiled", "compiled"]
    assert timings == {"a": [Timing(2)], "compiled": [Timing(3)]}


def test_the_slowest_leave_first_where_time_is_short():
    machine = Machine()
    runs = {name: machine.run(name, seconds) for name, seconds in {"slow": 10, "fast": 1, "ours": 4, "even": 3}.items()}
    Turns(runs, ["ours"], machine.clock).take(3, seconds=18 + 3 * (4 + 1 + 3))
    assert machine.order == ["slow", "fast", "ours", "even"] + 3 * ["fast", "ours", "even"]
    machine.order.clear()
    # Ours stay, and the fastest peer.
    Turns(runs, ["ours"], machine.clock).take(3, seconds=18 + 3 * (4 + 1))
    assert machine.order == ["slow", "fast", "ours", "even"] + 3 * ["fast", "ours"]


def test_short_calls_are_repeated_and_their_mean_counts():
    machine = Machine()
    timings = Turns({"short": machine.run("short", 0.5, 0.01, 0.01, 0.03, 0.01)}).take(2)
    # Turns of one, one, and five calls.
    assert len(machine.order) == 7
    assert timings["short"][0] == Timing(0.01)
    assert timings["short"][1].together == pytest.approx((0.01 + 0.03 + 3 * 0.01) / 5)


def test_a_failure_is_a_result_and_stops_nobody_else():
    def fail():
        raise MemoryError("no room\nfor it")

    machine = Machine()
    turns = Turns({"bad": fail, "good": machine.run("good", 1)})
    assert turns.take(2) == {"good": [Timing(1), Timing(1)]}
    assert turns.errors == {"bad": "MemoryError: no room"}


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
def test_the_exponent_of_a_power_is_found(power):
    values = [7, 14, 28, 56]
    assert exponent(values, [3 * value**power for value in values]) == pytest.approx(power, abs=1e-12)


def test_exponents_leave_out_points_that_failed():
    def point(value, **contenders):
        return {"value": value, "contenders": contenders}

    linear = [{"growth": summarise([float(n)])} for n in (1, 10, 100)]
    points = [
        point(1, a=linear[0], b=linear[0]),
        point(10, a=linear[1], b={"error": "too large"}),
        point(100, a=linear[2], b=linear[0]),
    ]
    found = exponents(points)
    assert found["a"] == {"growth": pytest.approx(1)}
    assert found["b"] == {"growth": pytest.approx(0)}


def test_speed_at_lost_quality_does_not_count():
    def figures(seconds, accuracy, **more):
        return {"together": summarise([seconds, 2 * seconds, 9.0]), "score": accuracy, **more}

    contenders = {
        "jaxtree": figures(1.0, 0.80, growth=summarise([0.5]), cached=3.0),
        "careless": figures(0.1, 0.70),
        "fast": figures(4.0, 0.795, growth=summarise([1.0]), cached=2.0),
        "slow": figures(5.0, 0.90, growth=summarise([0.1]), cached=9.0),
        "absent": {"error": "cannot be imported"},
    }
    ratios = compare(contenders)
    assert ratios["together"] == {"peer": "fast", "ratio": 0.25, "ratio_of_minima": 0.25}
    assert ratios["growth"]["peer"] == "slow"
    assert ratios["cached"] == {"peer": "fast", "ratio": 1.5}
    assert compare(contenders, math.inf)["together"]["peer"] == "careless"
    assert not compare({name: f for name, f in contenders.items() if name != "jaxtree"})


def test_bytes_a_row_do_not_hold_what_is_there_once():
    mib = 2**20
    assert bytes_a_row((1000, 300 + 1000 * 40 / mib), (5000, 300 + 5000 * 40 / mib)) == pytest.approx(40)


def test_scores_are_accuracy_and_r2():
    assert score(np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1])) == 0.75
    truth = np.array([1.0, 2.0, 3.0])
    assert score(truth, truth) == 1
    assert score(np.full(3, 2.0), truth) == 0


def test_a_budget_is_shared_out_and_what_is_left_over_goes_on():
    machine = Machine()
    cases = [case for case in make_cases(quick=False, full=False) if case.minutes == 1][:3]
    budget = Budget(cases, 3, machine.clock)
    assert budget.seconds_of(cases[0]) == pytest.approx(60)
    machine.now = 20
    budget.done(cases[0])
    assert budget.seconds_of(cases[1]) == pytest.approx(80)
    machine.now = 1000
    assert budget.seconds_of(cases[1]) == 0


def test_a_budget_without_room_leaves_the_longest_cases_out():
    cases = make_cases(quick=False, full=False)
    minutes = sorted(case.minutes for case in cases)
    budget = Budget(cases, LEAST_PART * sum(minutes[:-2]))
    left_out = [case.minutes for case in cases if not budget.has_room(case)]
    assert sorted(left_out) == minutes[-2:]
    assert all(Budget(cases, None).has_room(case) for case in cases)


def test_cases_are_told_apart_and_name_contenders_that_exist():
    for quick in (False, True):
        cases = make_cases(quick=quick, full=True)
        assert len({case.name for case in cases}) == len(cases)
        assert all(set(case.contenders) <= set(PLACES) for case in cases)
    rows = [point.table.num_rows for case in make_cases(quick=True, full=True) for point in case.points]
    assert max(rows) <= 2**17


@pytest.mark.parametrize("quick", [False, True])
def test_points_of_an_axis_lie_apart(quick):
    axes = [case for case in make_cases(quick=quick, full=False) if case.axis]
    assert {case.axis for case in axes} == {"rows", "columns", "classes", "depth", "trees", "bins"}
    for case in axes:
        values = [point.value for point in case.points]
        assert len(values) > 1 and values == sorted(set(values))


def test_scikit_learns_exact_tree_is_spared_what_takes_minutes():
    def with_exact(full):
        cases = {case.name: case for case in make_cases(quick=False, full=full)}
        return [p.label for p in cases["tree-10mx28"].points if "sklearn" not in p.left_out]

    assert with_exact(full=False) == []
    assert with_exact(full=True) == ["depth 6", "depth 8", "depth 10", "no limit"]


@pytest.mark.parametrize("num_classes", [0, 2, 5])
def test_a_synthetic_table_is_the_same_for_all_processes(tmp_path, num_classes):
    table = Table("synthetic", 300, 6, num_classes, 50)
    place = write_table(table, tmp_path, tmp_path)
    made = synthetic(300, 6, num_classes, 50)
    for part, rows in zip(made._fields, made, strict=True):
        X, y = read_rows(place, part)
        assert X.dtype == np.float32
        assert np.array_equal(X, rows.X)
        assert np.array_equal(y, rows.y)
    if num_classes:
        assert set(made.train.y) == set(range(num_classes))
        assert np.bincount(made.train.y).min() > 0.5 * 300 / num_classes


def measured(table, fit, ratio, *, cold=3.0, score=0.9):
    """The figures of a cell in which scikit-learn takes a second."""
    ours = {"cold_cpu": cold, "second_cpu": ratio, "warm_cpu": ratio, "warm_wall": ratio, "peak_mib": 400.0}
    peer = {"cold_cpu": 1.0, "second_cpu": 1.0, "warm_cpu": 1.0, "warm_wall": 1.0, "peak_mib": 200.0}
    return {
        "table": table, "fit": fit, "metric": "accuracy", "cold_minus_warm_cpu": cold - ratio,
        "jaxtree": ours | {"score": score}, "sklearn": peer | {"score": 0.9},
        "ratios": {"cpu": ratio, "wall": ratio / 2, "cold_cpu": cold, "memory": 2.0},
    }  # fmt: skip


def test_cells_of_users_tables_are_chosen_by_name():
    names = [cell.name for cell in choose_cells(TABLES, FITS, [], full=True)]
    assert len(names) == len(set(names)) == len(TABLES) * len(FITS)
    short = {cell.name for cell in choose_cells(TABLES, FITS, [], full=False)}
    assert set(names) - short == {"1mx28/forest", "1mx28/extra"}
    chosen = choose_cells(["iris", "adult"], ["tree", "forest"], ["adult/*", "*/forest"], full=False)
    assert [cell.name for cell in chosen] == ["iris/tree"]


def test_the_summary_of_users_tables_names_the_worst_cells():
    cells = [measured("iris", "tree", 0.5), measured("adult", "tree", 2.0, cold=9.0), measured("iris", "forest", 4.0)]
    failed = {"table": "letter", "fit": "forest", "error": "jaxtree: took more than 1 s"}
    found = summarise_cells([*cells, failed])
    assert set(found) == {"tree", "forest", "all"}
    assert found["all"]["CPU ratio, warm"] == {"median": 2.0, "worst": 4.0, "where": "iris/forest"}
    assert found["tree"]["wall ratio, warm"] == {"median": 0.625, "worst": 1.0, "where": "adult/tree"}
    assert found["all"]["cold minus warm, CPU seconds"]["where"] == "adult/tree"
    assert "took more than 1 s" in line_of(failed)


def test_a_cell_is_a_line_below_its_heading():
    line = line_of(measured("covtype-20k", "depth-8", 0.01234))
    assert len({len(text) for text in (line, *heading().splitlines())}) == 1
    cpu, wall = "3.00 0.0123 0.0123 1.00 0.0123", "0.0123 1.00 0.0062"
    assert " ".join(line.split()) == f"covtype-20k depth-8 {cpu} {wall} 400 200"


def test_a_lower_score_is_said():
    assert not any("score" in line for line in summary_lines([measured("iris", "tree", 1.0, score=0.895)]))
    assert "iris/tree: our score is lower" in summary_lines([measured("iris", "tree", 1.0, score=0.8)])[-1]


@pytest.mark.parametrize("name", REAL)
def test_a_real_table_is_read(name, real_data, tmp_path):
    place = write_table(TABLES[name], tmp_path, real_data)
    train, test = (read_rows(place, part) for part in ("train", "test"))
    assert len(train.X) == len(train.y) == pytest.approx(3 * len(test.y), rel=0.05)
    assert train.y.dtype == (np.float64 if name in REGRESSION else np.int32)
    assert set(test.y) <= set(train.y) or name in REGRESSION


def test_users_tables_that_are_absent_are_skipped(tmp_path, capsys):
    with pytest.raises(SystemExit, match="nothing measured"):
        run_user_tables(["--tables", "iris", "credit-g", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert capsys.readouterr().out.count("skipped, its file is absent") == 2 * len(FITS)


def test_a_process_that_takes_too_long_is_ended():
    done = ask("benchmarks.user_tables.worker", {}, os.environ, 0.01)
    assert (done.answers, done.error) == ([], "took more than 0.01 s")


def test_the_page_names_every_benchmark():
    folder = pathlib.Path(__file__).parent.parent / "benchmarks"
    page = (folder / "README.md").read_text()
    own = {path.stem for path in (*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py")))}
    missing = {name for name in own - {"__main__"} if f"/{name}.py`" not in page and f".{name}`" not in page}
    assert not {name for name in missing if f"(`{name}/`)" not in page}


@pytest.mark.slow
def test_a_tiny_run_on_users_tables(tmp_path, capsys):
    run_user_tables(["--tables", "1kx10", "--fits", "depth-8", "--repeats", "1", "--out", str(tmp_path)])
    assert "1kx10       depth-8" in capsys.readouterr().out
    report = json.loads(next(tmp_path.glob("user-tables-*.json")).read_text())
    (cell,) = report["cells"]
    assert (cell["rows"], cell["columns"]) == (1000, 10)
    assert all(seconds > 0 for name in ("jaxtree", "sklearn") for seconds in cell[name].values())
    assert cell["ratios"]["cpu"] == cell["jaxtree"]["warm_cpu"] / cell["sklearn"]["warm_cpu"]
    assert cell["cold_minus_warm_cpu"] > 0
    assert set(report["summary"]) == {"depth-8", "all"}
