"""Commands run inside the tests' process, on small tables."""

import pytest
from typer.testing import CliRunner

from jaxtree.cli import app

PATIENTS = """age,smokes,sex,weight,ill
50, true, m, 1, yes
20, false, f, 1, no
61, true, f, 2, yes
33, ?, m, 1, no
45, true, f, 1, yes
?, false, , 1, no
25, true, m, 1, no
70, false, f, 2, yes
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a command in an empty folder and returns what became of it."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0, **options):
        done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "300"}, **options)
        assert done.exit_code == status, (done.output, done.exception)
        return done

    return run


@pytest.fixture
def patients(tmp_path):
    """A file of patients in the folder."""
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS)
    return path.name


@pytest.fixture
def model(run, patients):
    """A tree of the patients in a file."""
    run("fit", patients, "--target", "ill", "--ignore", "weight", "-o", "m.jaxtree", "--quiet")
    return "m.jaxtree"
