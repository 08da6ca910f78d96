"""Shapes and types of every jaxtree function are checked while the tests run, and programs are kept between runs."""

import gc
import importlib.metadata
import os
import pathlib
import sys

# Most of the time of these tests is compilation. Programs that are not optimised compile in a quarter of the time, and
# must give the same trees. The flags are read when JAX is first imported. The last one saves a third of that time,
# but jaxlib knows it up to 0.10 alone, and XLA ends a process that is given an unknown flag; those before it a fifth.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if importlib.metadata.version("jaxlib").startswith("0.10.") else ""),
)

# The host is what tests compute on, where there is a GPU, too: stand-ins take the place of accelerators. Growth is
# tested on a GPU by `JAX_PLATFORMS=cuda,cpu pytest tests/growth/test_grow.py tests/growth/test_backends.py`.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Pictures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

ROOT = pathlib.Path(__file__).parent.parent

CACHE = os.environ.get("JAXTREE_TEST_CACHE", str(ROOT / ".cache" / "jax"))
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
# For the processes that tests start.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", CACHE)
# A program is lowered in two thirds of the time without the lines of Python that every operation comes from.
jax.config.update("jax_traceback_in_locations_limit", 0)
# Estimators check their parameters themselves, and their tests hand them wrong ones.
CHECKED = (
    "tree",
    "buckets",
    "table",
    "datasets",
    "growth",
    "prune",
    "dropout",
    "soft",
    "forests",
    "boosting",
    "export",
    "explain",
    "optimal",
    "additive",
    "page",
)
install_import_hook([*(f"jaxtree.{room}" for room in CHECKED), "jaxtree_studies"], "beartype.beartype")


SLOW_TESTS = tuple(os.environ.get("JAXTREE_SLOW_TESTS", "").split())
"""The beginnings of the names of tests whose slow ones run among the fast ones."""


def pytest_configure(config):
    """Leaves slow tests in, of which `pytest_collection_modifyitems` takes out those that are not asked for."""
    if SLOW_TESTS and config.option.markexpr == "not slow and not exhaustive":
        config.option.markexpr = "not exhaustive"


def pytest_collection_modifyitems(config, items):
    """Takes out slow tests that are not asked for."""
    if SLOW_TESTS and config.option.markexpr == "not exhaustive":
        left = {own for own in items if own.get_closest_marker("slow") and not own.nodeid.startswith(SLOW_TESTS)}
        config.hook.pytest_deselected(items=list(left))
        items[:] = [own for own in items if own not in left]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Leaves what imports make, which stays, out of all collections of garbage: each would walk through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # A trace makes many objects and little garbage: by default a tenth of its time is looking for some.
        gc.set_threshold(50_000, 20, 20)


settings.register_profile("jaxtree", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("jaxtree")


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data sets that stand beside a checkout, not in it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def logs(real_data):
    """The folder of what other programs printed."""
    folder = real_data.parent / "reference"
    if not folder.is_dir():
        pytest.skip("the logs of other programs are not beside this checkout")
    return folder


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Closes what a test has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


MOST_GROWTH_PROGRAMS = 60
"""Bound for one file of tests: a kind of split, target, weight or missing value is a program of its own,
but without buckets every data set would be one too."""


@pytest.fixture(scope="module", autouse=True)
def few_growth_programs(request):
    """Fails a file in which growth compiled more programs than the bound, or than its own, and lets go of the programs.

    Growth lets go of programs by itself, but tests compile many others; hundreds may use up a process's memory maps.
    """
    yield
    from jaxtree.compilation import PROGRAMS
    from jaxtree.growth.loop.grow import num_programs

    number = num_programs()
    PROGRAMS.clear()
    jax.clear_caches()
    most = getattr(request.module, "MOST_GROWTH_PROGRAMS", MOST_GROWTH_PROGRAMS)
    assert number <= most, f"{number} growth programs compiled"


@pytest.fixture
def trained_by_programs(monkeypatch):
    """Soft trees are trained by programs of XLA, whether or not the kernel is there."""
    monkeypatch.setattr("jaxtree.soft.runs.is_for_kernel", lambda *own: False)
