"""Whether JAX keeps compiled programs in a folder, and finds them there in the next process.

On some processors of Intel XLA never finds a program of the CPU again: it notes a preference of its compiler among the
features that a processor must have, and the processor does not name it (jax#38445).
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from jaxtree.doctor.report import ProgramsKept, without_home

PROGRAM = """
import json, jax, jax.monitoring, jax.numpy as jnp
counts = {}
def count(event, **_):
    counts[event] = counts.get(event, 0) + 1
jax.monitoring.register_event_listener(count)
jax.jit(lambda x: jnp.sort(jnp.sin(x) @ x.T, axis=1).cumsum())(jnp.ones((8, 8))).block_until_ready()
print(json.dumps([jax.default_backend(), counts]))
"""
"""The script of both processes: it prints how often JAX has looked for a program, and how often it has found one."""

FOUND, COMPILED = "/jax/compilation_cache/cache_hits", "/jax/compilation_cache/cache_misses"

PATIENCE = 120.0
"""Seconds that a process may take, most of which a device takes to start."""

UNKNOWN = "first device"
"""The platform of a process that did not say which it has."""

_LONGEST = 300
_UNLIKE = re.compile(r"Target machine feature (\S+) is not\s+supported")


def check_programs() -> tuple[ProgramsKept, ...]:
    """Compiles a program twice, in two processes with one folder of their own: on JAX's first device, and on the CPU.

    Call it before JAX starts in this process: a TPU is for one process at a time.

    Example:
        >>> found = check_programs()[-1]
        >>> found.platform, found.keeps
        ('cpu', True)
    """
    first = _check({})
    return (first,) if first.platform == "cpu" else (first, _check({"JAX_PLATFORMS": "cpu"}))


def _check(variables: dict[str, str]) -> ProgramsKept:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        platform, counts, said = _run(folder, variables)
        if not counts or not any(os.scandir(folder)):
            return ProgramsKept(platform, False, False, said)
        platform, counts, said = _run(folder, variables)
        return ProgramsKept(platform, True, counts.get(FOUND, 0) > 0 == counts.get(COMPILED, 0), said)


def _run(folder: str, variables: dict[str, str]) -> tuple[str, dict[str, int], str]:
    """The device of a process, the number of events there, and what went wrong."""
    environment = {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        # This process may have most of a GPU's memory.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    command = [sys.executable, "-c", PROGRAM]
    environment = os.environ | environment | variables
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return UNKNOWN, {}, f"the process was not done after {PATIENCE:.0f} s"
    said = _fault_of(done.stderr, done.returncode)
    with contextlib.suppress(ValueError, IndexError):
        platform, counts = json.loads(done.stdout.splitlines()[-1])
        return platform, counts, said
    return UNKNOWN, {}, said


def _fault_of(stderr: str, status: int) -> str:
    """The line of a process's output that matters: the feature that the processor lacks, or the last line of a failure.

    >>> _fault_of("E0000 Target machine feature +prefer-no-gather is not  supported on the host machine.", 0)
    'XLA refuses the program: this processor does not name the feature +prefer-no-gather'
    """
    features = sorted(set(_UNLIKE.findall(stderr)))
    if features:
        return f"XLA refuses the program: this processor does not name the feature {', '.join(features)}"
    if status == 0:
        return ""
    lines = [line for line in stderr.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return without_home([f"the process ended with status {status}", *lines][-1])[:_LONGEST]
