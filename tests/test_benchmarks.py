"""The pure parts of the benchmark suite: whose turn it is, and what is said of the times."""

import math

import numpy as np
import pytest

from benchmarks.suite.budget import LEAST_PART, Budget
from benchmarks.suite.cases import make_cases
from benchmarks.suite.contenders import PLACES
from benchmarks.suite.contenders.base import Timing
from benchmarks.suite.figures import bytes_a_row, compare, exponent, exponents, summarise
from benchmarks.suite.tables import read_rows, synthetic, write_table
from benchmarks.suite.tasks import Table
from benchmarks.suite.turns import SLOW, Turns
from benchmarks.suite.worker import score


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
