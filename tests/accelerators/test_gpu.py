"""Programs compile for an H200, and are what it can run well; see `tests/accelerators/programs.py`."""

from typing import NamedTuple

import pytest

from benchmarks.compile_only.boosting_programs import BOOSTING, FUNCTIONS, SMALL_FUNCTIONS, without_growth
from benchmarks.compile_only.reading import count
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends
from tests.accelerators.programs import ROWS, compiled, marked, megabytes, rows_of


class Bounds(NamedTuple):
    """Upper bounds of a program for a GPU.

    Attributes:
        ended_by_host: Loops and branches whose condition the host waits for, of all levels together with that over
            levels.
        megabytes: Temporary memory of a device.
    """

    ended_by_host: int
    megabytes: int


BOUNDS = {
    "growth, classes": Bounds(2, 200),
    "growth, numbers": Bounds(2, 200),
    "growth, float weights": Bounds(2, 200),
    "growth, subsets and missing values": Bounds(7, 400),
    "growth, missing values shared out": Bounds(16, 800),
    "growth, a forest": Bounds(13, 350),
    "growth, random thresholds": Bounds(11, 350),
    "growth, four devices": Bounds(8, 110),
    "walk": Bounds(1, 20),
    "dropout": Bounds(0, 10),
    "a soft epoch": Bounds(2, 20),
    "Shapley values": Bounds(0, 10),
    "boosting, squared": Bounds(7, 150),
    "boosting, two classes": Bounds(18, 150),
    "boosting, five classes": Bounds(14, 300),
    "boosting, whole Hessians": Bounds(14, 400),
    "boosting, a quantile": Bounds(12, 150),
    "additive, pairs of bins": Bounds(0, 150),
    "additive, boosting": Bounds(6, 20),
    "additive, boosting on rows": Bounds(10, 20),
}


@pytest.mark.parametrize("name", marked(FUNCTIONS, FUNCTIONS.keys() - {SMALL_FUNCTIONS}))
def test_programs_of_users_compile(name):
    assert count(compiled(name, "gpu", rows_of(name)).as_text()).fusions > 0


FUSIONS = {"growth, classes": 70, "walk": 10}
"""The most fusions of some programs; each is a kernel."""

EXHAUSTIVE = {"growth, numbers", "growth, float weights", "growth, a forest", *BOOSTING} - {"boosting, two classes"}


@pytest.mark.parametrize("name", marked(BOUNDS, EXHAUSTIVE))
def test_a_gpu_waits_for_the_host_at_few_places(name):
    program = compiled(name, "gpu")
    found = count(program.as_text())
    assert found.ended_by_host <= BOUNDS[name].ended_by_host
    assert found.fusions <= FUSIONS.get(name, found.fusions)
    assert megabytes(program) <= BOUNDS[name].megabytes


@pytest.mark.parametrize(
    "name", marked(BOOSTING, {"boosting, squared", "boosting, two classes", "boosting, five classes"})
)
def test_the_rounds_around_growth_fit_on_a_gpu(name):
    with without_growth():
        assert megabytes(compiled(name, "gpu")) <= BOUNDS[name].megabytes


@pytest.mark.parametrize("name", marked(["growth, classes", "growth, numbers"], {"growth, classes"}))
def test_a_gpu_calls_the_kernel_in_warp_once_a_level(name, monkeypatch):
    for module in ("warp", "jax_cuda12_plugin"):
        pytest.importorskip(module, reason="neither Warp nor JAX's calls of other libraries on GPUs: jaxtree[aot]")
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backends.GPU_WITH_WARP)
    program = compiled(name, "gpu")
    found = count(program.as_text())
    assert program.as_text().count(" custom-call(") == 1
    assert found.ended_by_host <= BOUNDS[name].ended_by_host
    assert megabytes(program) <= BOUNDS[name].megabytes


@pytest.mark.exhaustive
def test_memory_grows_no_faster_than_rows():
    temporary = [megabytes(compiled("growth, classes", "gpu", rows)) for rows in (ROWS, 10 * ROWS)]
    assert temporary[1] <= 10 * temporary[0]
