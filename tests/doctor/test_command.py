"""`jaxtree doctor` and the function behind it, on few rows and without their processes."""

import os
from unittest import mock

import jax
import pytest
from typer.testing import CliRunner

from jaxtree import kernel
from jaxtree.cli import app
from jaxtree.doctor import checking, from_text, running, to_text
from jaxtree.doctor.checking import check_machine
from jaxtree.doctor.fingerprints import Fingerprint
from jaxtree.doctor.fits import FITS
from jaxtree.doctor.growths import GROWTH
from jaxtree.doctor.machine import place_of
from jaxtree.doctor.report import WITHOUT_KERNEL, Compared, DeviceFacts, ProgramsKept
from jaxtree.doctor.running import FitResult
from jaxtree.errors import InvalidInputError

KEPT = ProgramsKept("cpu", True, True, "")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two devices, two fits, few rows, and no further process."""
    check = checking.check_machine
    trees = FITS[:2]
    monkeypatch.setattr(checking, "FITS", trees)
    monkeypatch.setattr(checking, "check_programs", lambda: (KEPT,))
    monkeypatch.setattr(checking, "find_devices", lambda: (jax.devices("cpu")[:2], []))
    without_kernel = [Compared(fit.name, WITHOUT_KERNEL, "", None, None) for fit in trees]
    monkeypatch.setattr(checking, "compare_without_kernel", lambda *_: without_kernel)
    monkeypatch.setattr("jaxtree.doctor.check_machine", lambda *own, **named: check(*own, **named, num_rows=240))


def run(*arguments, status=0):
    done = CliRunner().invoke(app, ["doctor", *arguments])
    assert done.exit_code == status, (done.output, done.exception)
    return done


def test_the_report_has_every_part():
    steps = []
    report = check_machine(num_rows=240, on_step=steps.append)
    places = ["host", "cpu:1", *([WITHOUT_KERNEL] if kernel.load() is not None else [])]
    assert [own.place for own in report.fits] == [place for place in places for _ in range(2)]
    assert not report.faults and report.programs == (KEPT,) and report.rows == 240
    timed = [own.place for own in report.times]
    assert timed.count("host") == timed.count("cpu:1") == 2 and "scikit-learn's DecisionTreeRegressor" in timed
    assert steps[0] == "kept programs" and "tree of numbers on cpu:1" in steps
    assert {own.place for own in report.choices} == {"cpu:0"}


def test_the_table_and_the_json_are_of_one_report():
    assert run().stdout.splitlines()[-1].startswith("All ")
    report = from_text(run("--json", "--quiet").stdout)
    assert [device.place for device in report.devices] == ["cpu:0", "cpu:1"]
    assert os.path.expanduser("~") not in (report.folder or "")


def test_accelerators_grow_a_large_tree_that_is_compared_with_the_host_s(monkeypatch):
    asked = []

    def grow_at(device):
        asked.append(device.id)
        sums = {"feature": "other" if device.id == 9 else "same"}
        return FitResult(GROWTH, Fingerprint(sums, {}, 1e-6), (2.0, 1.0, None), None)

    others = [mock.Mock(platform="gpu", id=number, device_kind="T4") for number in (9, 10)]
    monkeypatch.setattr(checking, "grow_at", grow_at)
    monkeypatch.setattr(checking, "find_devices", lambda: ([jax.devices("cpu")[0], *others], []))
    monkeypatch.setattr(checking, "describe_device", lambda own: DeviceFacts(place_of(own), own.platform, "T4", None))
    monkeypatch.setattr(checking, "predicted_seconds", lambda *own: {("T4", GROWTH): 0.25}.get(own))
    monkeypatch.setattr(checking, "way_of", lambda device: GROWTH)
    monkeypatch.setattr(checking, "_fit_on", lambda *_: [])
    report = check_machine(num_rows=240)
    large = [own for own in report.fits if own.fit == GROWTH]
    assert [(own.place, own.differs) for own in large] == [("host", None), ("gpu:9", "feature")]
    assert asked == [0, 9] and [own[5] for own in report.times if own.fit == GROWTH] == [None, 0.25]
    assert from_text(to_text(report)) == report


def test_another_tree_ends_with_status_1(monkeypatch):
    fingerprint_of = running.fingerprint_of
    sums = iter("abcdefgh")

    def different(*given, **named):
        own = fingerprint_of(*given, **named)
        return own._replace(sums=own.sums | {"parent": next(sums)})

    monkeypatch.setattr(running, "fingerprint_of", different)
    said = run(status=1).stdout
    assert "DIFFERS: parent" in said and "fits are not as they must be: tree of classes (cpu:1)" in said


def test_a_broken_kernel_is_told_of(monkeypatch):
    monkeypatch.setattr(kernel, "why_absent", lambda: "the system cannot load it: no GLIBCXX_3.4.32")
    assert "kernel in C++  is not there: the system cannot load it: no GLIBCXX_3.4.32" in run().stdout


def test_a_kind_of_device_that_is_not_here():
    done = run("--device", "tpu", status=1)
    assert done.stderr.strip().endswith("error: there is no tpu here; JAX finds cpu")
    assert {own.place for own in check_machine("cpu", num_rows=240).fits} >= {"host", "cpu:1"}
    with pytest.raises(InvalidInputError, match="num_rows must be at least 1, got 0"):
        check_machine(num_rows=0)
