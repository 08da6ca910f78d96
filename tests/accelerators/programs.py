"""Programs compiled for a TPU v5e and an H200, neither of which is here.

`pip install -e '.[aot]'` brings the compilers, and `JAX_PLATFORMS=cpu` keeps JAX from looking for devices. A TPU's
compiler refuses what `jax.export` lets pass, such as products of 64-bit numbers. `python -m benchmarks.compile_only`
prints what these tests bound.
"""

import pytest

from benchmarks.compile_only.additive_programs import ADDITIVE
from benchmarks.compile_only.boosting_programs import BOOSTING, FUNCTIONS, MANY
from benchmarks.compile_only.captured import capture, compile_call
from benchmarks.compile_only.programs import PROGRAMS
from benchmarks.compile_only.targets import NoCompilerError, mesh_of

ROWS = 1_000_000

ROWS_OF_MANY = 200_000
"""Rows that many models share."""

ROWS_OF_USERS = 10_000
"""Rows of the programs of users: tables of which many models fit at once."""

ALL = PROGRAMS | BOOSTING | MANY | FUNCTIONS | ADDITIVE


def marked(names, exhaustive):
    """Names as parameters: of programs that compile for long, or differ little from another, tested by hand."""
    return [
        pytest.param(name, marks=pytest.mark.exhaustive if name in exhaustive else pytest.mark.slow) for name in names
    ]


def compiled(name, platform, num_rows=ROWS, *, quickly=False):
    program = ALL[name]
    try:
        mesh = mesh_of(platform, program.num_devices)
    except NoCompilerError as error:
        pytest.skip(str(error))
    return compile_call(capture(program.function, lambda: program.run(num_rows), platform), mesh, quickly=quickly)


def rows_of(name):
    """The rows that a program is compiled for."""
    if name in FUNCTIONS:
        return ROWS_OF_USERS
    return ROWS_OF_MANY if name in MANY else ROWS


def megabytes(program):
    return program.memory_analysis().temp_size_in_bytes / 1e6
