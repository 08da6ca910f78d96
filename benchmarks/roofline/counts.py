"""The counts of a program: the work of its parts, each as often as it is done.

XLA writes a loop once, however often it goes round. So a program is a list of *parts*, the entry, the bodies and the
conditions of loops and the branches, each with the number of times that it is done. Rounds that the compiler knows are
taken from it, and those of loops that it adds from their conditions; others from `rounds`, by the place of the loop in
the sources.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple
from unittest import mock

import jax

from benchmarks.compile_only.captured import capture, compile_call
from benchmarks.compile_only.targets import mesh_of
from benchmarks.roofline.program import Operation, ProgramText, read
from benchmarks.roofline.rounds import Rounds, count_rounds
from benchmarks.roofline.work import Work, without_estimate, work_of
from benchmarks.roofline.workloads import Workload
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends


class Part(NamedTuple):
    """A part of a program.

    Attributes:
        place: Where it stands in the sources; "entry" for what is done once.
        times: How often it is done in a call.
        work: What is done each time.
        reads: Conditions that the host reads for it in a call.
        is_known: Whether its rounds are known; if not, they are taken to be one.
    """

    place: str
    times: float
    work: dict[str, float]
    reads: float
    is_known: bool = True


class Counts(NamedTuple):
    """The counts of a program.

    Attributes:
        parts: Its parts.
        argument_bytes: The bytes of its arguments.
        temporary_bytes: The bytes of memory that it needs besides.
        compile_seconds: Seconds of a core that its compilation took.
    """

    parts: list[Part]
    argument_bytes: int
    temporary_bytes: int
    compile_seconds: float

    @property
    def total(self) -> Work:
        """The work of a call."""
        total: Work = Counter()
        for part in self.parts:
            for name, amount in part.work.items():
                total[name] += amount * part.times
        total["reads"] = sum(part.reads for part in self.parts)
        return total

    @property
    def num_bytes(self) -> int:
        """The bytes of memory that it needs."""
        return self.argument_bytes + self.temporary_bytes

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Counts":
        """Returns counts that were stored as JSON."""
        return cls(**{**stored, "parts": [Part(**part) for part in stored["parts"]]})

    def stored(self) -> dict[str, Any]:
        """Returns the counts for JSON."""
        return {**self._asdict(), "parts": [part._asdict() for part in self.parts]}


def count_workload(workload: Workload, platform: str, size: int | None = None) -> Counts:
    """Compiles the program of a workload for a kind of device, and counts what it does in a call.

    Raises:
        NoCompilerError: There is no compiler for the device.
        LookupError: The compiler does not write down what part of the sources an operation is of.
    """
    workload = workload if size is None else workload._replace(size=size)
    rounds = count_rounds(workload, platform)
    with _kernel() if workload.has_kernel else nullcontext():
        call = capture(workload.function, lambda: workload.run(workload.size), platform)
        start = time.process_time()
        with _whole_places():
            compiled = compile_call(call, mesh_of(platform))
        seconds = time.process_time() - start
    program, memory = read(compiled.as_text()), compiled.memory_analysis()
    if not program.frames:
        raise LookupError(
            f"no operation names its place in the sources: JAX 0.12 writes it down, got {jax.__version__}"
        )
    parts = list(parts_of(program, rounds, host_ends_loops=platform == "gpu"))
    return Counts(parts, memory.argument_size_in_bytes, memory.temp_size_in_bytes, round(seconds, 1))


@contextmanager
def _kernel() -> Iterator[None]:
    """Has a GPU sum histograms by the kernel in Warp, though none is there to try it on."""
    with mock.patch.object(prepare, "backend_of", lambda *_: backends.GPU_WITH_WARP):
        yield


@contextmanager
def _whole_places() -> Iterator[None]:
    """Has XLA write down all calls that lead to an operation, and not only the last ten."""
    before = jax.config.values["jax_traceback_in_locations_limit"]
    jax.config.update("jax_traceback_in_locations_limit", -1)
    try:
        yield
    finally:
        jax.config.update("jax_traceback_in_locations_limit", before)


def parts_of(program: ProgramText, rounds: Rounds, *, host_ends_loops: bool) -> Iterator[Part]:
    """Yields the parts of a program.

    Args:
        program: The program.
        rounds: How often each place is entered in a call.
        host_ends_loops: Whether the host reads the conditions of loops whose rounds the compiler does not know, as that
            of a GPU does; if not, work without an estimate of cycles is told apart.
    """
    shares = Counter(place for _, place in _loops_and_branches(program))

    def entered(place: str, before: float) -> tuple[float, bool]:
        """How often a place is entered; several copies of it share that."""
        if place in rounds:
            return rounds[place] / max(shares[place.partition("#")[0]], 1), True
        return before, False

    def walk(name: str, place: str, times: float, reads: float, *, is_known: bool = True) -> Iterator[Part]:
        operations = program.computations[name]
        types = {operation.name: operation.type for operation in operations}
        work: Work = Counter()
        for operation in operations:
            own = work_of(operation, program, types)
            work.update(own if host_ends_loops or operation.cycles else without_estimate(own))
        yield Part(place, times, {name: amount for name, amount in work.items() if amount}, reads, is_known)
        for operation in operations:
            own = program.place(operation)
            if operation.kind == "while":
                known = operation.known_rounds
                inside, is_sure = (times * known, True) if known is not None else entered(own, times)
                bound = None if is_sure else program.bound(operation.called("condition"))
                inside, is_sure = (inside, is_sure) if bound is None else (times * bound, True)
                asked = inside + times
                host = asked if host_ends_loops and known is None else 0
                yield from walk(operation.called("condition"), f"{own} condition", asked, host, is_known=is_sure)
                yield from walk(operation.called("body"), own, inside, 0, is_known=is_sure)
            elif operation.kind == "conditional":
                for number, branch in enumerate(operation.branches):
                    inside, is_sure = entered(f"{own}#{number}", times / len(operation.branches))
                    host = inside if host_ends_loops else 0
                    yield from walk(branch, f"{own}#{number}", inside, host, is_known=is_sure)
            elif operation.kind == "call":
                yield from walk(operation.called("to_apply"), f"{place} call", times, 0, is_known=is_known)

    yield from walk(program.entry, "entry", 1.0, 0)


def _loops_and_branches(program: ProgramText) -> Iterator[tuple[Operation, str]]:
    for operations in program.computations.values():
        for operation in operations:
            if operation.kind in ("while", "conditional"):
                yield operation, program.place(operation)
