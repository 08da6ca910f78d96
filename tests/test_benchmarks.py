"""The benchmarks run: whose turn it is, what is said of the times, and a tiny run."""

import importlib
import json
import math
import os
import pathlib

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import blended, fine_tuned
from benchmarks.suite.cases import make_cases
from benchmarks.suite.contenders import PLACES
from benchmarks.suite.contenders.base import Timing
from benchmarks.suite.figures import compare, exponents, summarise
from benchmarks.suite.processes import ask
from benchmarks.suite.tables import read_rows, synthetic, write_table
from benchmarks.suite.tasks import Table
from benchmarks.suite.turns import Turns
from benchmarks.user_tables.cells import FITS
from benchmarks.user_tables.command import main as run_user_tables
from benchmarks.user_tables.report import line_of
from benchmarks.user_tables.report import summarise as summarise_cells


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


def test_the_slowest_leave_first_where_time_is_short():
    machine = Machine()
    runs = {name: machine.run(name, seconds) for name, seconds in {"slow": 10, "fast": 1, "ours": 4, "even": 3}.items()}
    Turns(runs, ["ours"], machine.clock).take(3, seconds=18 + 3 * (4 + 1 + 3))
    assert machine.order == ["slow", "fast", "ours", "even"] + 3 * ["fast", "ours", "even"]
    machine.order.clear()
    # Ours stay, and the fastest peer.
    Turns(runs, ["ours"], machine.clock).take(3, seconds=18 + 3 * (4 + 1))
    assert machine.order == ["slow", "fast", "ours", "even"] + 3 * ["fast", "ours"]


def test_a_failure_is_a_result_and_stops_nobody_else():
    def fail():
        raise MemoryError("no room\nfor it")

    machine = Machine()
    turns = Turns({"bad": fail, "good": machine.run("good", 1)})
    assert turns.take(2) == {"good": [Timing(1), Timing(1)]}
    assert turns.errors == {"bad": "MemoryError: no room"}


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


def test_cases_are_told_apart_and_name_contenders_that_exist():
    for quick in (False, True):
        cases = make_cases(quick=quick, full=True)
        assert len({case.name for case in cases}) == len(cases)
        assert all(set(case.contenders) <= set(PLACES) for case in cases)
    rows = [point.table.num_rows for case in make_cases(quick=True, full=True) for point in case.points]
    assert max(rows) <= 2**17


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


def test_the_summary_of_users_tables_names_the_worst_cells():
    cells = [measured("iris", "tree", 0.5), measured("adult", "tree", 2.0, cold=9.0), measured("iris", "forest", 4.0)]
    failed = {"table": "letter", "fit": "forest", "error": "jaxtree: took more than 1 s"}
    found = summarise_cells([*cells, failed])
    assert set(found) == {"tree", "forest", "all"}
    assert found["all"]["CPU ratio, warm"] == {"median": 2.0, "worst": 4.0, "where": "iris/forest"}
    assert found["tree"]["wall ratio, warm"] == {"median": 0.625, "worst": 1.0, "where": "adult/tree"}
    assert found["all"]["cold minus warm, CPU seconds"]["where"] == "adult/tree"
    assert "took more than 1 s" in line_of(failed)


def test_users_tables_that_are_absent_are_skipped(tmp_path, capsys):
    with pytest.raises(SystemExit, match="nothing measured"):
        run_user_tables(["--tables", "iris", "credit-g", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert capsys.readouterr().out.count("skipped, its file is absent") == 2 * len(FITS)


def test_a_process_that_takes_too_long_is_ended():
    done = ask("benchmarks.user_tables.worker", {}, os.environ, 0.01)
    assert (done.answers, done.error) == ([], "took more than 0.01 s")


@pytest.mark.parametrize("name", ["defaults", "gpu", "tuning", "additive.__main__", "compile_only.__main__"])
def test_a_benchmark_has_all_that_it_imports(name):
    importlib.import_module(f"benchmarks.{name}")


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


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", [blended, fine_tuned])
def test_a_tiny_run_beside_boosting_by_folds(benchmark, tmp_path, capsys, monkeypatch):
    X, y = load_iris(return_X_y=True, as_frame=True)
    monkeypatch.setattr(benchmark, "read_table", lambda name, data: (X, y.to_numpy()))
    few = ["--seeds", "1"] if benchmark is blended else ["--folds", "2"]
    benchmark.main(["--data", ".", "--tables", "iris", "--rows", "112", *few, "--out", str(tmp_path)])
    assert "of 1 tables" in capsys.readouterr().out
    ((_, own),) = json.loads(next(tmp_path.glob("*.json")).read_text())["tables"].items()
    losses = own["losses"]
    assert all(0 < loss < 1 for loss in losses.values())
    if benchmark is blended:
        # The log loss is convex in scores, whose mean is never worse than both are in the mean.
        assert losses["halved"] <= (losses["boosted"] + losses["gradients"]) / 2
    else:
        gains = own["percent less than"]["leaves alone"]
        assert gains["by folds"] == 100 * (1 - losses["leaves alone"] / losses["by folds"])
