"""Patterns of which XLA makes wrong or slow programs, looked for in what is traced of ours; nothing is compiled.

- An array with a slice of itself written into it, as in `x.at[1:].set(x[:-1])`: with a reshape in one program a CPU
  gave wrong numbers (openxla/xla#49176).
- A slice of less than 256 bytes written into a large array in a loop: a CPU may write the whole array at every round
  (jax-ml/jax#40101, jaxlib 0.11.1 and later).
"""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from benchmarks.compile_only.boosting_programs import BOOSTING
from benchmarks.compile_only.captured import capture
from benchmarks.compile_only.programs import PROGRAMS
from jaxtree.kernels import choose

LARGE, SMALL_SLICE = 2**16, 256
"""Bytes of an array that is large, and of a slice that is not small."""

ROWS = 50_000
WRITES = ("dynamic_update_slice", "scatter")
SLICES = ("slice", "dynamic_slice")
PASSED_ON = ("convert_element_type", "broadcast_in_dim", "reshape", "squeeze")

NAMES = ("growth, classes", "growth, numbers", "growth, missing values shared out", "growth, a forest")
ALL = PROGRAMS | BOOSTING


def bodies(jaxpr: Any, *, in_loop: bool = False) -> Iterator[tuple[Any, bool]]:
    """A program and all within it, and whether each is in a loop."""
    yield jaxpr, in_loop
    for equation in jaxpr.eqns:
        loops = in_loop or equation.primitive.name in ("while", "scan")
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from bodies(inner, in_loop=loops)


def num_bytes(variable: Any) -> int:
    return math.prod(variable.aval.shape) * variable.aval.dtype.itemsize


def shifts(jaxpr: Any) -> list[str]:
    """Arrays into which a slice of themselves is written as it is."""
    found = []
    for body, _ in bodies(jaxpr):
        source = {}
        for equation in body.eqns:
            name = equation.primitive.name
            if name in SLICES:
                source[equation.outvars[0]] = equation.invars[0]
            elif name in PASSED_ON and not hasattr(equation.invars[0], "val"):
                source[equation.outvars[0]] = source.get(equation.invars[0])
            elif name in WRITES:
                written = equation.invars[-1 if name == "scatter" else 1]
                if not hasattr(written, "val") and source.get(written) is equation.invars[0]:
                    found.append(f"{name} of {written.aval} into {equation.invars[0].aval}")
    return found


def small_writes(jaxpr: Any) -> list[str]:
    """Small slices that are written into large arrays in loops."""
    return [
        f"{equation.invars[1].aval} into {equation.invars[0].aval}"
        for body, in_loop in bodies(jaxpr)
        for equation in body.eqns
        if in_loop and equation.primitive.name == "dynamic_update_slice"
        if num_bytes(equation.invars[1]) < SMALL_SLICE and num_bytes(equation.invars[0]) >= LARGE
    ]


def traced(name: str, platform: str) -> Any:
    program = ALL[name]
    call = capture(program.function, lambda: program.run(ROWS), platform)
    with jax.enable_x64(call.is_wide):
        arrays, keywords = call.arrays
        return call.function.jitted(call.static).trace(*arrays, **keywords).jaxpr.jaxpr


@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
@pytest.mark.parametrize("name", [*NAMES, "boosting, squared"])
def test_no_program_has_a_pattern_that_xla_gets_wrong(name, platform, monkeypatch):
    monkeypatch.setattr(choose, "is_there", lambda: False)
    jaxpr = traced(name, platform)
    assert not shifts(jaxpr)
    if platform == "cpu":
        assert not small_writes(jaxpr)


def test_the_patterns_are_found():
    assert shifts(jax.make_jaxpr(lambda x: x.at[1:].set(x[:-1]).reshape(2, -1))(jnp.zeros(8)).jaxpr)
    assert not shifts(jax.make_jaxpr(lambda x: x.at[1:].set(x[:-1] + 1))(jnp.zeros(8)).jaxpr)

    def write(size):
        body = lambda i, x: lax.dynamic_update_slice(x, jnp.ones(size), (i,))  # noqa: E731
        return jax.make_jaxpr(lambda x: lax.fori_loop(0, 9, body, x))(jnp.zeros(LARGE)).jaxpr

    assert small_writes(write(3)) and not small_writes(write(1000))
