"""The program as a shell starts it: standard streams, exit statuses, Ctrl-C, and how soon it helps."""

import contextlib
import gc
import signal
import subprocess
import sys
import time

import pytest

import jaxtree
from jaxtree.cli.app import COMMANDS, load_command, repeat_ignored_interrupt
from tests.cli.conftest import PATIENTS

PROGRAM = [sys.executable, "-m", "jaxtree"]


@pytest.mark.slow
def test_a_pipe_of_two_programs(tmp_path):
    fit = [*PROGRAM, "fit", "-", "--target", "ill", "-o", "-", "--cores", "1", "--device", "cpu"]
    fitted = subprocess.run(fit, input=PATIENTS.encode(), capture_output=True, check=True)
    (tmp_path / "m.jaxtree").write_bytes(fitted.stdout)
    assert b"so classification" in fitted.stderr and b"accuracy 1.0000" in fitted.stderr
    predict = [*PROGRAM, "predict", str(tmp_path / "m.jaxtree"), "-"]
    said = subprocess.run(predict, input=PATIENTS.encode(), capture_output=True, check=True)
    assert said.stdout.split() == b"prediction yes no yes no yes no no yes".split()
    refused = subprocess.run([*predict, "--keep", "name"], input=PATIENTS.encode(), capture_output=True)
    assert refused.returncode == 1 and refused.stderr.startswith(b"error: standard input has no column 'name'")


def interrupt(process):
    """What a process says when it is interrupted; again where Python has ignored it, as a user does."""
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=30)[1]
    process.kill()
    raise AssertionError("three interrupts were ignored")


@pytest.mark.slow
def test_ctrl_c_leaves_the_old_file_and_no_half_one(tmp_path):
    (tmp_path / "p.csv").write_text(PATIENTS)
    (tmp_path / "m.jaxtree").write_bytes(b"old")
    slow = ["-a", "soft", "--set", "depth=8", "--set", "max_epochs=1000000"]
    command = [*PROGRAM, "fit", "p.csv", "-t", "ill", "-o", "m.jaxtree", *slow]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stderr is not None
    while b"target ill" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.5)
    said = interrupt(process)
    assert process.returncode == 130 and said.splitlines()[-1] == b"interrupted; nothing was written"
    assert (tmp_path / "m.jaxtree").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.jaxtree", "p.csv"]


def test_ctrl_c_in_a_callback_of_the_garbage_collector_still_interrupts(monkeypatch):
    def interrupted_once(phase, info):
        gc.callbacks.remove(interrupted_once)
        raise KeyboardInterrupt

    # A shell that starts the tests in the background lets them ignore Ctrl-C.
    monkeypatch.setattr(sys, "unraisablehook", repeat_ignored_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.callbacks.append(interrupted_once)
    gc.collect()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            time.sleep(0.05)
    signal.signal(signal.SIGINT, before)


def test_the_version_and_python_m():
    said = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"jaxtree {jaxtree.__version__}\n"


def test_help_waits_for_no_library():
    code = """
import sys
from jaxtree.cli import app, main
try:
    app(["--help"])
except SystemExit as end:
    assert end.code == 0
assert not {"jax", "sklearn", "numpy", "polars"} & set(sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(name in said for name in (*COMMANDS, "reproduce", "study"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_program_s_help_has_what_a_command_s_own_help_says_first(name):
    command = load_command(name)
    assert command.name == name
    assert (command.help or "").splitlines()[0] == COMMANDS[name][1]
