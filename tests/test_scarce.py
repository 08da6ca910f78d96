"""Memory that ends within the kernel is a MemoryError, wherever that is; without new threads those that run do all."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jaxtree.kernels import library
from tests.marks import rows_are_slow

HERE = Path(__file__).parent
COMPILER = shutil.which("c++") or shutil.which("g++")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="preloads a library that is compiled here"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers have their own memory"),
    pytest.mark.skipif(library.load() is None, reason="needs the kernel"),
]


@functools.cache
def library():
    """The library that ends memory and threads, compiled."""
    folder = tempfile.mkdtemp()
    made = Path(folder) / "scarce.so"
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", str(made)]
    subprocess.run([COMPILER, *options, str(HERE / "scarce.cc"), "-ldl"], check=True)
    return made


def ran(what, number, *names):
    """The output of a process in which something runs out, see `tests/scarce.py`."""
    environment = {**os.environ, "LD_PRELOAD": str(library()), "OMP_NUM_THREADS": "4"}
    command = [sys.executable, "-m", "tests.scarce", what, str(number), *names]
    ended = subprocess.run(command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("number", "names"),
    rows_are_slow([(9, ("tree", "optimal_of_bins")), (40, ())]),
)
def test_memory_that_ends_in_the_kernel_is_a_memory_error_and_the_next_fit_is_right(number, names):
    for name, outcomes in ran("memory", number, *names).items():
        allowed = {f"{what} {how}" for what in ("fit", "predict") for how in ("right", "MemoryError")}
        assert outcomes.keys() <= allowed and outcomes.get("fit MemoryError", 0) + (name in ("forest", "soft")), (
            name,
            outcomes,
        )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "names"), [(0, ("tree", "forest")), (0, ()), (1, ()), (2, ())])
def test_without_further_threads_fits_and_predictions_are_the_same(number, names):
    assert ran("threads", number, *names) == ran("threads", -1, *names)
