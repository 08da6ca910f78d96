"""Programs compile for a TPU v5e and an H200, neither of which is here, and are what those can run well.

`pip install -e '.[aot]'` brings the compilers, and `JAX_PLATFORMS=cpu` keeps JAX from looking for devices. A TPU's
compiler refuses what `jax.export` lets pass, such as products of 64-bit numbers. `python -m benchmarks.compile_only`
prints what these tests bound.
"""

from typing import NamedTuple

import pytest

from benchmarks.compile_only.captured import capture, compile_call
from benchmarks.compile_only.programs import PROGRAMS
from benchmarks.compile_only.reading import count
from benchmarks.compile_only.targets import NoCompilerError, mesh_of
from jaxtree.growth import backends, prepare

ROWS = 1_000_000


class Bounds(NamedTuple):
    """What a program for a GPU may have at most.

    Attributes:
        ended_by_host: Loops and branches whose condition the host waits for, of all levels together with that over
            levels.
        megabytes: Temporary memory of a device.
    """

    ended_by_host: int
    megabytes: int


GPU_BOUNDS = {
    "growth, classes": Bounds(7, 200),
    "growth, numbers": Bounds(7, 200),
    "growth, float weights": Bounds(7, 200),
    "growth, subsets and missing values": Bounds(7, 400),
    "growth, missing values shared out": Bounds(16, 800),
    "growth, a forest": Bounds(13, 350),
    "growth, random thresholds": Bounds(11, 350),
    "growth, four devices": Bounds(8, 100),
    "walk": Bounds(1, 20),
    "dropout": Bounds(0, 10),
    "a soft epoch": Bounds(2, 20),
    "Shapley values": Bounds(0, 10),
}

EXHAUSTIVE = {
    "gpu": {"growth, float weights", "growth, a forest"},
    "tpu": {"growth, numbers", "growth, missing values shared out", "growth, a forest", "growth, four devices"},
}
"""Programs that compile for long, or differ little from another."""


def programs_for(platform):
    marks = {name: pytest.mark.exhaustive if name in EXHAUSTIVE[platform] else pytest.mark.slow for name in PROGRAMS}
    return [pytest.param(name, marks=mark) for name, mark in marks.items()]


def the_mesh(platform, num_devices=1):
    try:
        return mesh_of(platform, num_devices)
    except NoCompilerError as error:
        pytest.skip(str(error))


def compiled(name, platform, num_rows=ROWS, *, quickly=False):
    program = PROGRAMS[name]
    mesh = the_mesh(platform, program.num_devices)
    return compile_call(capture(program.function, lambda: program.run(num_rows), platform), mesh, quickly=quickly)


def megabytes(program):
    return program.memory_analysis().temp_size_in_bytes / 1e6


@pytest.mark.parametrize("name", programs_for("gpu"))
def test_a_gpu_waits_for_the_host_at_few_places(name):
    program = compiled(name, "gpu")
    assert count(program.as_text()).ended_by_host <= GPU_BOUNDS[name].ended_by_host
    assert megabytes(program) <= GPU_BOUNDS[name].megabytes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["growth, classes", "growth, numbers"])
def test_a_gpu_calls_the_kernel_in_warp_once_a_level(name, monkeypatch):
    for module in ("warp", "jax_cuda12_plugin"):
        pytest.importorskip(module, reason="neither Warp nor JAX's calls of other libraries on GPUs: jaxtree[aot]")
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backends.GPU_WITH_WARP)
    program = compiled(name, "gpu")
    found = count(program.as_text())
    assert program.as_text().count(" custom-call(") == 1
    assert found.ended_by_host <= GPU_BOUNDS[name].ended_by_host
    assert megabytes(program) <= GPU_BOUNDS[name].megabytes


@pytest.mark.parametrize("name", programs_for("tpu"))
def test_a_tpu_multiplies_no_wide_numbers(name):
    is_whole = name == "growth, classes"
    program = compiled(name, "tpu", quickly=not is_whole)
    assert count(program.as_text()).wide_products == 0
    if is_whole:
        assert megabytes(program) <= 150


@pytest.mark.exhaustive
@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_memory_grows_no_faster_than_rows(platform):
    temporary = [megabytes(compiled("growth, classes", platform, rows)) for rows in (ROWS, 10 * ROWS)]
    assert temporary[1] <= 10 * temporary[0]


def test_what_a_tpu_cannot_multiply_is_counted():
    wide = (
        "ENTRY %main (a: s64[2,2]) -> s64[2,2] {\n  ROOT %d = s64[2,2]{1,0} dot(%a, %a), lhs_contracting_dims={1}\n}\n"
    )
    assert count(wide).wide_products == 1
    assert count(wide.replace("s64", "s32")).wide_products == 0
