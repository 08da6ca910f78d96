"""How the tests themselves run."""

import pathlib
import subprocess
import sys

PYPROJECT = pathlib.Path(__file__).parent.parent / "pyproject.toml"


def test_a_crash_ends_the_run(tmp_path):
    """New workers in place of crashed ones would crash too, one after the other."""
    (tmp_path / "test_crash.py").write_text("import os\n\n\ndef test():\n    os._exit(1)\n")
    command = [sys.executable, "-m", "pytest", "-n", "1", "-c", PYPROJECT, "--rootdir", tmp_path, tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 1
    assert "crashed and worker restarting disabled" in ended.stdout
