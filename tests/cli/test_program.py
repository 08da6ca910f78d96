"""The program as a shell starts it: standard streams, exit statuses, Ctrl-C, and how soon it helps."""

import contextlib
import gc
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

import jaxtree
from jaxtree.cli.app import COMMANDS, load_command, repeat_ignored_interrupt
from jaxtree.kernels.library import load
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
    """The words of a process that is interrupted; again where Python has ignored it, as a user does."""
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


@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_version_and_the_kernel_and_python_m(is_wanted):
    environment = os.environ | ({} if is_wanted else {"JAXTREE_NATIVE": "0"})
    done = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=True, env=environment)
    kernel = (
        "with its kernel in C++"
        if is_wanted and load() is not None
        else "without its kernel in C++: the same trees take longer"
    )
    assert done.stdout == f"jaxtree {jaxtree.__version__}, {kernel}\n"


def run_without(absent, *arguments):
    """The program where some packages are not installed."""
    code = f"""
import runpy, sys
from importlib.machinery import PathFinder
class Present(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {absent} else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Present
runpy.run_module("jaxtree", None, "__main__")
"""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("absent", [["rich", "typer"], ["polars"]])
def test_libraries_of_the_command_line_that_are_absent_are_one_line(absent):
    done = run_without(absent, "--version")
    said = f'error: the command line needs {", ".join(absent)}: pip install "jaxtree[cli]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_tables_of_text_and_pages_need_neither_pyarrow_nor_matplotlib(tmp_path):
    absent, path, model, page = ["pyarrow", "matplotlib"], *(tmp_path / n for n in ("t.csv", "t.jaxtree", "t.html"))
    rows = [f"{word},{number},2020-01-0{number},{number}.5" for number, word in enumerate(["x", "", "y", '5"'], 1)]
    path.write_text("\n".join(["a,b,c,y", *rows]))
    fitted = run_without(absent, "fit", path, "--target", "y", "-o", model)
    assert "dates: c" in fitted.stderr and "words: a (3, 1 missing)" in fitted.stderr
    assert run_without(absent, "predict", model, path).stdout.split() == ["prediction", "1.5", "2.5", "3.5", "4.5"]
    run_without(absent, "show", model, "--html", page, "--data", path)
    assert page.exists()
    run_without(absent, "predict", model, path, "-o", tmp_path / "t.parquet")
    done = run_without(absent, "describe", tmp_path / "t.parquet")
    assert (done.returncode, done.stderr) == (1, 'error: t.parquet needs pyarrow: pip install "jaxtree[frames]"\n')


def test_commands_of_a_package_that_is_absent_say_how_to_get_it():
    absent = ["jaxtree_studies"]
    done = run_without(absent, "reproduce")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "jaxtree reproduce needs jaxtree_studies" in done.stderr
    assert "pip install 'jaxtree[cli] @ git+" in done.stderr
    helped = run_without(absent, "--help")
    assert helped.returncode == 0 and helped.stdout.count("Is not in this installation") == 2


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


def test_no_command_s_help_waits_for_a_library():
    """So their modules have no options and work in one; what works is imported once a command, and nothing else is."""
    code = """
import sys
from jaxtree.cli.app import COMMANDS, load_command
for name in COMMANDS:
    load_command(name)
print(sorted({"jax", "sklearn", "numpy", "polars", "pandas", "pyarrow"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    sources = [path.read_text() for path in pathlib.Path(jaxtree.__file__).parent.glob("cli/*.py")]
    assert sum(len(re.findall(r"^ +(?:from|import) ", source, re.MULTILINE)) for source in sources) <= 18


@pytest.mark.parametrize("name", COMMANDS)
def test_the_program_s_help_has_what_a_command_s_own_help_says_first(name):
    command = load_command(name)
    assert command.name == name
    assert (command.help or "").splitlines()[0] == COMMANDS[name][1]
