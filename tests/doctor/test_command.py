"""`jaxtree doctor` and the function behind it, on few rows and without their processes."""

import json
import os
import subprocess

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import jaxtree
from jaxtree.cli import app
from jaxtree.doctor import checking
from jaxtree.doctor.checking import FitResult, check_machine, compare, fit_at, fit_without_kernel, make_table
from jaxtree.doctor.report import WITHOUT_KERNEL, ProgramsKept
from jaxtree.errors import InvalidInputError
from jaxtree.kernels import library

KEPT = ProgramsKept("cpu", True, True, "")
ROWS = 240


@pytest.fixture(scope="module")
def host():
    return fit_at(jax.devices("cpu")[0], ROWS)


@pytest.fixture
def quick(monkeypatch, host):
    """Two devices, few rows, and no further process."""
    check = checking.check_machine
    monkeypatch.setattr(checking, "check_programs", lambda: (KEPT,))
    monkeypatch.setattr(checking, "find_devices", lambda: (jax.devices("cpu")[:2], []))
    monkeypatch.setattr(checking, "fit_without_kernel", lambda _: host)
    monkeypatch.setattr("jaxtree.doctor.check_machine", lambda *own, **named: check(*own, **named, num_rows=ROWS))


def run(*arguments, status=0):
    done = CliRunner().invoke(app, ["doctor", *arguments])
    assert done.exit_code == status, (done.output, done.exception)
    return done


def test_the_table_has_what_the_tree_is_about():
    X, y = make_table(ROWS)
    assert np.bincount(y, minlength=3).min() > ROWS / 10 and 0 < np.isnan(X).mean() < 0.05
    # Divisions by powers of two alone: all numbers are whole ones of so many parts.
    assert (X[~np.isnan(X)] * 2.0**7 % 1 == 0).all()


def test_the_report_has_every_part(quick):
    steps = []
    report = check_machine(num_rows=ROWS, on_step=steps.append)
    places = ["host", "cpu:1", *([WITHOUT_KERNEL] if library.load() is not None else [])]
    assert [own.place for own in report.fits] == places and all(own.seconds for own in report.fits)
    assert not report.faults and report.programs == (KEPT,) and report.rows == ROWS
    assert len({own.digest for own in report.fits}) == 1 and len(report.fits[0].digest) == 16
    assert steps[:3] == ["kept programs", "a tree on the host", "a tree on cpu:1"]
    assert {own.place for own in report.choices} == {"cpu:0"}


def test_the_table_and_the_json_are_of_one_report(quick):
    assert run().stdout.splitlines()[-1].startswith("All ")
    report = json.loads(run("--json", "--quiet").stdout)
    assert [device["place"] for device in report["devices"]] == ["cpu:0", "cpu:1"]
    assert os.path.expanduser("~") not in (report["folder"] or "")


def test_another_tree_ends_with_status_1(quick, monkeypatch, host):
    other = host._replace(sums=host.sums | {"threshold": "0", "value": "1"})
    monkeypatch.setattr(checking, "fit_at", lambda device, _: other if device.id else host)
    said = run(status=1).stdout
    assert "DIFFERS: threshold" in said and "trees are not as they must be: cpu:1." in said


def test_a_broken_kernel_is_told_of(quick, monkeypatch):
    monkeypatch.setattr(library, "why_absent", lambda: "the system cannot load it: no GLIBCXX_3.4.32")
    assert "kernel in C++  is not there: the system cannot load it: no GLIBCXX_3.4.32" in run().stdout


def test_a_kind_of_device_that_is_not_here(quick):
    done = run("--device", "tpu", status=1)
    assert done.stderr.strip().endswith("error: there is no tpu here; JAX finds cpu")
    assert {own.place for own in check_machine("cpu", num_rows=ROWS).fits} >= {"host", "cpu:1"}
    with pytest.raises(InvalidInputError, match="num_rows must be at least 1, got 0"):
        check_machine(num_rows=0)


def test_last_bits_of_gains_and_of_predictions_do_not_matter_where_they_may_differ(host):
    for factor, differs in ((1 + 1e-9, None), (1.01, "gain")):
        gains = [own * factor for own in host.values["gain"]]
        other = host._replace(values=host.values | {"gain": gains})
        assert compare("gpu:0", other, host).differs == differs
    other = host._replace(sums=host.sums | {"predictions": "0"})
    found = compare("gpu:0", other, host)
    assert found.differs == "predictions" and found.digest == host.digest
    short = host._replace(values=host.values | {"gain": [0.5]})
    assert compare("gpu:0", short, host).differs == "gain"


def test_a_fit_that_fails_is_one_line(host, monkeypatch):
    def broken(self, X, y):
        raise MemoryError("no\nroom in /home")

    monkeypatch.setattr(jaxtree.DecisionTreeClassifier, "fit", broken)
    failed = fit_at(jax.devices("cpu")[0], ROWS)
    assert failed == FitResult({}, {}, None, "MemoryError: no room in /home")
    assert compare("gpu:0", failed, host) == ("gpu:0", "", None, failed.error, None)


def test_the_process_without_the_kernel_is_read(host, capsys, monkeypatch):
    def run(command, *, env, **_):
        assert env["JAXTREE_NATIVE"] == "0" and env["JAX_PLATFORMS"] == "cpu"
        checking.print_fit(ROWS)
        return subprocess.CompletedProcess(command, 0, capsys.readouterr().out, "")

    monkeypatch.setattr(checking.subprocess, "run", run)
    same = compare(WITHOUT_KERNEL, fit_without_kernel(ROWS), host)
    assert (same.place, same.differs, same.error) == ("host without kernel", None, None) and same.digest == host.digest


def test_a_process_that_ends_badly_is_an_error_of_its_fit(monkeypatch):
    ended = subprocess.CompletedProcess([], -4, "", "")
    monkeypatch.setattr(checking.subprocess, "run", lambda *_, **__: ended)
    assert fit_without_kernel(ROWS).error == "the process ended with status -4"

    def late(*_, **__):
        raise subprocess.TimeoutExpired([], 1)

    monkeypatch.setattr(checking.subprocess, "run", late)
    assert fit_without_kernel(ROWS).error == "the process was not done after 300 s"


@pytest.mark.slow
def test_xla_grows_the_tree_of_the_kernel(host):
    """In a process of its own, as the command does it."""
    found = compare(WITHOUT_KERNEL, fit_without_kernel(ROWS), host)
    assert (found.differs, found.error) == (None, None)
