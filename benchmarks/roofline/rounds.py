"""How often the loops of a program go round, and which ways its branches take: counted, not guessed.

The program that a device would get is run on the CPU, on data like those of the workload, and every loop and branch
tells when it is entered. It is known by its *place*: the functions of jaxtree that lead to it, and its line. XLA
writes the same down beside every loop that it compiles. A device runs what its compiler makes of the same loops.
"""

import functools
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import jax
from jax import lax

import jaxtree
from benchmarks.compile_only.captured import Call, capture
from benchmarks.roofline.workloads import Workload
from jaxtree.boosting import batch, booster
from jaxtree.compilation import PROGRAMS

PACKAGE = str(Path(jaxtree.__file__).parent)
"""The folder of the files whose functions belong to places."""

Rounds = dict[str, float]
"""How often each place was entered: the body of a loop, or a branch, whose number follows the place and a #."""


def place_of(frames: Sequence[tuple[str, str, int]]) -> str:
    """Returns the place of a loop or a branch.

    Args:
        frames: File, function and line of every call that leads to it, the outermost first.

    Example:
        >>> own, other = f"{PACKAGE}/growth/x.py", "/elsewhere/jax/lax.py"
        >>> place_of([(own, "grow", 7), (other, "scan", 1), (own, "split.<locals>.find", 9)])
        'grow > find:9'
    """
    own = [(function.rpartition(".")[2], line) for file, function, line in frames if file.startswith(PACKAGE)]
    # A function that is traced again, as that of a map is, stands twice.
    names = [name for name, _ in itertools.groupby(function for function, _ in own)]
    return " > ".join(names) + (f":{own[-1][1]}" if own else "")


def count_rounds(workload: Workload, platform: str) -> Rounds:
    """Returns the rounds of a workload's program on a kind of device.

    Where they were counted at two sizes, they grow on a line through both.
    """
    sizes = workload.counted[platform]
    with _single_rounds():
        calls = [capture(workload.function, functools.partial(workload.run, size), platform) for size in sizes]
        found = [count_call(call) for call in calls]
    counted = on_a_line(found, sizes, workload.size)
    return {place: workload.rounds * number for place, number in counted.items()}


@contextmanager
def _single_rounds() -> Iterator[None]:
    """Has a call of boosting make one round."""
    with mock.patch.object(booster, "ROUNDS_AT_A_TIME", 1), mock.patch.object(batch, "ROUNDS_AT_A_TIME", 1):
        yield


def on_a_line(found: Sequence[Mapping[str, float]], sizes: Sequence[float], size: float) -> Rounds:
    """Returns the rounds at a size from those at one or two other sizes.

    Example:
        >>> on_a_line([{"a": 2, "b": 4}, {"a": 2, "b": 8}], (100, 200), 1000)
        {'a': 2.0, 'b': 40.0}
    """
    if len(found) == 1:
        return {place: float(number) for place, number in found[0].items()}
    first, second = found
    places = sorted(first.keys() | second.keys())
    rise = {place: (second.get(place, 0) - first.get(place, 0)) / (sizes[1] - sizes[0]) for place in places}
    return {place: max(second.get(place, 0) + rise[place] * (size - sizes[1]), 0.0) for place in places}


def count_call(call: Call) -> Counter[str]:
    """Runs a program on the CPU, and returns how often every place was entered."""
    entered: Counter[str] = Counter()
    arrays, keywords = call.arrays
    as_on_device = mock.patch.object(jax, "default_backend", lambda: call.platform)
    with jax.enable_x64(call.is_wide), _fresh_traces(), _telling(entered), as_on_device:
        function = functools.partial(call.function._function, **call.static)
        jax.block_until_ready(jax.jit(lambda *a, **k: function(*a, **k))(*arrays, **keywords))
        jax.effects_barrier()
    return entered


@contextmanager
def _fresh_traces() -> Iterator[None]:
    """Has parts of programs, which are kept once they are traced, traced anew: those that tell, and later ones."""
    _forget()
    try:
        yield
    finally:
        _forget()


def _forget() -> None:
    PROGRAMS.clear()
    jax.clear_caches()


@contextmanager
def _telling(entered: Counter[str]) -> Iterator[None]:
    """Has every loop and branch that is traced meanwhile tell when it is entered."""

    def tells(function: Callable[..., Any], place: str) -> Callable[..., Any]:
        entered[place] += 0

        def told(*arguments: Any) -> Any:
            jax.debug.callback(lambda: entered.update([place]))
            return function(*arguments)

        return told

    usual = {name: getattr(lax, name) for name in ("while_loop", "fori_loop", "cond", "switch")}

    def while_loop(condition: Any, body: Any, start: Any) -> Any:
        return usual["while_loop"](condition, tells(body, _place_here()), start)

    def fori_loop(lower: Any, upper: Any, body: Any, start: Any, **options: Any) -> Any:
        return usual["fori_loop"](lower, upper, tells(body, _place_here()), start, **options)

    def cond(chosen: Any, true: Any, false: Any, *operands: Any) -> Any:
        place = _place_here()
        return usual["cond"](chosen, tells(true, f"{place}#1"), tells(false, f"{place}#0"), *operands)

    def switch(number: Any, branches: Any, *operands: Any) -> Any:
        place = _place_here()
        told = [tells(branch, f"{place}#{number}") for number, branch in enumerate(branches)]
        return usual["switch"](number, told, *operands)

    with ExitStack() as stack:
        for function in (while_loop, fori_loop, cond, switch):
            stack.enter_context(mock.patch.object(lax, function.__name__, function))
        yield


def _place_here() -> str:
    """The place of the loop or branch that is being traced."""
    frames, frame = [], sys._getframe(2)
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return place_of(frames[::-1])
