"""Where commands write: into pipes and the standard output by any of their names, and files keep their permissions."""

import os
import stat
import threading

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of permissions and pipes of Unix")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_other_names_of_the_standard_output(run, patients, name):
    for arguments in (("example", "car"), ("fit", patients, "-t", "ill"), ("fit", patients, "-t", "ill", "-a", "c45")):
        wanted, done = (run(*arguments, "-o", output) for output in ("-", name))
        # The parts of a model file stand in any order.
        assert sorted(done.stdout_bytes) == sorted(wanted.stdout_bytes)
    run("fit", patients, "-t", "ill", "-o", "model")
    for arguments in (
        ("predict", "model", patients, "-o"),
        ("export", "model", "--to", "c", "-o"),
        ("show", "model", "--html"),
    ):
        wanted, done = (run(*arguments, output) for output in ("-", name))
        assert done.stdout_bytes == wanted.stdout_bytes


def test_a_named_pipe_gets_a_table(run, tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    thread.start()
    run("example", "play-tennis", "-o", path)
    thread.join(60)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert read == [run("example", "play-tennis").stdout_bytes]


def test_results_keep_the_mode_of_files(run, patients, tmp_path):
    for name in ("model", "predictions.csv", "tree.c", "page.html"):
        (tmp_path / name).touch(0o600)
    run("fit", patients, "-t", "ill", "-o", "model")
    run("predict", "model", patients, "-o", "predictions.csv")
    run("export", "model", "--to", "c", "-o", "tree.c")
    run("show", "model", "--html", "page.html")
    for name in ("model", "predictions.csv", "tree.c", "page.html"):
        status = (tmp_path / name).stat()
        assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_size
