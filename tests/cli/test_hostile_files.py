"""No input ends a command in a traceback: it succeeds, or says in a line what is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jaxtree.cli import app
from tests.cli import hostile_files
from tests.cli.hostile_files import SMALL, Attack

LONGEST_LINE = 2500
PROGRAM = [sys.executable, "-m", "jaxtree"]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder with good tables, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(hostile_files.TABLE)
    Path("numbers.csv").write_text(hostile_files.NUMBERS)
    return tmp_path


@pytest.fixture
def models(tables):
    """The folder with models of the tables."""
    fits = {
        "m.jaxtree": ("good.csv",),
        "r.jaxtree": ("numbers.csv",),
        "f.jaxtree": ("good.csv", "-a", "forest", "--set", "n_estimators=2"),
    }
    for model, (table, *options) in fits.items():
        done = CliRunner().invoke(app, ["fit", table, "-t", "y", "-o", model, *SMALL, *options])
        assert done.exit_code == 0, done.output
    return tables


def run(attack: Attack):
    for name, content in attack.files.items():
        Path(name).write_bytes(content)
    return CliRunner().invoke(app, list(attack.arguments), input=attack.stdin, env={"COLUMNS": "200"})


def faults(attack: Attack) -> list[str]:
    """The faults of the end of a command."""
    done = run(attack)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return [f"ended in {done.exception!r}"]
    wrong = []
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if done.exit_code == 1 and (len(errors) != 1 or errors[0] != done.stderr.splitlines()[-1] or len(errors[0]) < 12):
        wrong.append("did not say in one line at the end what is wrong")
    if done.exit_code == 2 and "Error" not in done.stderr:
        wrong.append("did not say what is wrong with the use")
    if done.exit_code not in (0, 1, 2):
        wrong.append(f"ended with status {done.exit_code}")
    if "Warning" in done.stderr or "Traceback" in done.stderr:
        wrong.append("warned")
    if any(len(line) > LONGEST_LINE or "\x1b" in line or "\0" in line for line in done.stderr.split("\n")):
        wrong.append("wrote a line that is too long or steers a terminal")
    if done.exit_code and attack.arguments[0] != "fit" and done.stdout:
        wrong.append("printed results and failed")
    if attack.outcome == "read" and done.exit_code:
        wrong.append("did not read what can be read")
    elif attack.outcome not in (None, "read") and (not done.exit_code or attack.outcome not in done.stderr):
        wrong.append(f"did not say {attack.outcome!r}")
    if "--json" in attack.arguments and done.stdout:
        json.loads(done.stdout, parse_constant=wrong.append)
    return [f"{fault}: {done.stderr[-200:]!r}" for fault in wrong]


def test_strange_tables_are_read_or_refused(tables, monkeypatch):
    """The fits end where growth would begin."""
    monkeypatch.setattr("jaxtree.cli.training.fit_and_save", lambda *arguments: None)
    found = {attack.name: faults(attack) for attack in list(hostile_files.fits_of_tables())[::2]}
    assert not {name: wrong for name, wrong in found.items() if wrong} and len(found) > 80


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fits_of_tables", "models_of_tables", "options", "places", "damaged_files"])
def test_no_attack_ends_in_a_traceback(models, kind):
    found = {attack.name: faults(attack) for attack in getattr(hostile_files, kind)()}
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_attacks_are_more_than_500_and_the_same_in_every_run():
    first, second = hostile_files.attacks(), hostile_files.attacks()
    assert len({attack.name for attack in first}) == len(first) >= 500
    assert [attack.arguments for attack in first] == [attack.arguments for attack in second]
    of_damage = [[attack.files for attack in own if "damaged" in attack.name] for own in (first, second)]
    assert of_damage[0] == of_damage[1]


def refusal(*command: str, **options) -> str:
    """The words of a real process that refuses."""
    done = subprocess.run([*PROGRAM, *command], capture_output=True, timeout=120, **options)
    assert done.returncode == 1 and not done.stdout, done
    said = done.stderr.decode().splitlines()
    assert len(said) == 1 and said[0].startswith("error: "), said
    return said[0]


@pytest.mark.slow
def test_closed_streams_and_damaged_files_of_real_processes(tables):
    def closed(number: int):
        return {"preexec_fn": lambda: os.close(number)}

    assert "the standard input is closed" in refusal("fit", "-", "-t", "y", "-o", "new", **closed(0))
    assert "the standard output is closed" in refusal("fit", "good.csv", "-t", "y", "-o", "-", **closed(1))
    Path("t").write_bytes(hostile_files.strange_tables()["Arrow cut short"][1])
    assert "t cannot be read" in refusal("fit", "t", "-t", "y", "-o", "new")


@pytest.mark.slow
def test_a_terminal_without_a_character_gets_an_escape(tables):
    """The characters of R², and of a file's name that is no UTF-8."""
    model = os.fsdecode(b"\xff.jaxtree")
    fit = [*PROGRAM, "fit", "numbers.csv", "-t", "y", "-o", model, *SMALL]
    done = subprocess.run(fit, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True)
    assert rb"R\xb2 1.0000" in done.stdout and rb"model: \udcff.jaxtree" in done.stdout
    assert os.listdir(b".").count(b"\xff.jaxtree") == 1
