"""Compiled programs: those of this process used last are kept, and slow compilations are logged.

A program is what XLA compiles of a function for arguments of certain shapes. On a CPU every kernel of it takes three
memory maps, so that a growth has 1,000 to 2,000 and takes 30 to 45 MB. Linux gives a process 65,530 maps and ends it
where they run out; `jax.jit` keeps thousands of programs.
"""

import functools
import importlib.metadata
import logging
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jaxtree import forks, switches, traces
from jaxtree.devices import platform_of
from jaxtree.heap import trim_heap
from jaxtree.lazy import Tracer, jax, jax_core, when_jax_is_loaded
from jaxtree.program_folder import enable_compilation_cache as enable_compilation_cache
from jaxtree.program_folder import keep_programs

__all__ = ["enable_compilation_cache"]

LOGGER = logging.getLogger("jaxtree")
LOGGER.addHandler(logging.NullHandler())

SLOW_COMPILATION = 3.0
"""Compilations of more seconds are reported to the logger `jaxtree`, at the level INFO."""

MOST_MAPS = 2**15
"""Memory maps of all programs that are kept: half of what Linux gives a process, and about a gigabyte."""

MAPS_OF_A_PROGRAM = 256
"""Counted for a program where the operating system does not report the number of maps."""

MAPS_BESIDES = 128
"""Counted for every compiled program besides its own: 3 MB, which take as much as so many maps of a large program.

A growth by the kernel in C++ has 70 maps and takes 5 MB: without this, programs of 2 gigabytes were kept.
"""

LEAST_MAPS = 64
"""Counted for a program that has been traced for one of the user's: it has no maps, but takes memory."""

PROGRAMS_PER_SWEEP = 64
"""So many programs are added before the traces of JAX's own functions are dropped: at most some 20 MB of them."""

_COMPILED = "/jax/core/compile/backend_compile_duration"


def is_inside() -> bool:
    """Whether a function of the user's is being traced here, whose program has all that is called as a part.

    >>> is_inside(), bool(jax.jit(lambda: jax.numpy.array(is_inside()))())
    (False, True)
    """
    return jax_core.get_opaque_trace_state() != _outside()


@functools.cache
def _outside() -> Any:
    """The state outside of all traces, which is that of every new thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(jax_core.get_opaque_trace_state()))
    thread.start()
    thread.join()
    return found[0]


class Programs:
    """Programs in the order of their last use; called from several threads.

    Args:
        most_maps: Memory maps that all together may have; the program used last is kept whatever it has.
    """

    def __init__(self, most_maps: int):
        self.most_maps = most_maps
        self._kept: OrderedDict[tuple[Hashable, ...], Callable[..., Any]] = OrderedDict()
        self._maps: dict[Hashable, int] = {}
        self._num_let_go: Counter[Any] = Counter()
        self._counted = 0
        self._num_added = 0
        self._lock = threading.Lock()

    def find(self, key: tuple[Hashable, ...]) -> Callable[..., Any] | None:
        """Returns the program of a key, which thereby is the last one used; a key begins with the function."""
        with self._lock:
            program = self._kept.get(key)
            if program is not None:
                self._kept.move_to_end(key)
            return program

    def add(self, key: tuple[Hashable, ...], program: Callable[..., Any]) -> Callable[..., Any]:
        """Keeps a program before it is compiled, and returns it; or that which another thread has kept meanwhile."""
        with self._lock:
            self._maps.setdefault(key, LEAST_MAPS)
            added = self._kept.setdefault(key, program)
            let_go = self._pop_oldest()
            self._num_added += 1
            is_time = self._num_added % PROGRAMS_PER_SWEEP == 0
        if is_time:
            traces.drop_traces_of_jax()
        _free(let_go)
        return added

    @contextmanager
    def counting(self, key: tuple[Hashable, ...]) -> Iterator[None]:
        """Counts the maps that come while a program is compiled, and then lets go of those used longest ago."""
        before = num_maps()
        yield
        after = num_maps()
        with self._lock:
            # Programs that other threads have compiled in the meantime are counted once.
            new = MAPS_OF_A_PROGRAM if before is None or after is None else after - max(before, self._counted)
            if key in self._kept:
                self._maps[key] = max(new, 0) + MAPS_BESIDES
            total, let_go = sum(self._maps.values()), self._pop_oldest()
            self._counted = (after or 0) - total + sum(self._maps.values()) + MAPS_BESIDES * len(let_go)
        _free(let_go)

    def clear(self) -> None:
        """Lets go of all programs."""
        with self._lock:
            self._kept.clear()
            self._maps.clear()
            self._num_let_go.clear()
            self._counted = 0

    def number_of(self, function: Hashable) -> int:
        """How many programs of a function have been compiled since the last `clear`, kept or not."""
        with self._lock:
            kept = sum(_size(program) for key, program in self._kept.items() if key[0] is function)
            return kept + self._num_let_go[function]

    @property
    def total_maps(self) -> int:
        """The memory maps of all programs that are kept."""
        with self._lock:
            return sum(self._maps.values())

    def _pop_oldest(self) -> list[Any]:
        popped, total = [], sum(self._maps.values())
        while total > self.most_maps and len(self._kept) > 1:
            key, program = self._kept.popitem(last=False)
            total -= self._maps.pop(key, 0)
            self._num_let_go[key[0]] += _size(program)
            popped.append(program)
        return popped


PROGRAMS = Programs(MOST_MAPS)
"""All programs that follow the shapes of users' data."""


class Compiled:
    """A function compiled for every set of shapes, as by `jax.jit`, but of whose programs only the last used are kept.

    It may stand under any transformation of JAX.

    Args:
        function: Pure, of arrays and static keywords.
        static: Names of the keywords that are no arrays.
        what: Returns in words, for the log, the purpose of a program for given arguments.
        options: Returns XLA's options for a platform and given static keywords.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[str, ...],
        what: Callable[..., str] | None,
        options: Callable[..., dict[str, Any]] | None,
    ):
        functools.update_wrapper(self, function)
        self._function = function
        self.static = static
        self._what = what
        self._options = options

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        """Runs the function, compiled if it is not yet."""
        if switches.read(jax.config) not in switches.OWN:
            return switches.by_own(self)(*arrays, **keywords)
        forks.check_is_whole("a compiled program")
        static = {name: keywords.pop(name) for name in self.static}
        leaves, structure = jax.tree.flatten((arrays, keywords))
        is_traced = is_inside() or any(isinstance(leaf, Tracer) for leaf in leaves)
        # `jit` itself looks at all else that a program may depend on, such as devices: a key need not be complete.
        # The options of XLA depend on the platform, which no shape tells.
        platform = None if self._options is None or is_traced else platform_of(*leaves)
        key = (self, is_traced, platform, *static.values(), structure, *map(_shape_and_type, leaves))
        program = PROGRAMS.find(key)
        if program is not None:
            return program(*arrays, **keywords)
        keep_programs()
        # JAX takes no options for a part of another program, which therefore is one of its own.
        program = PROGRAMS.add(key, self.jitted(static, platform=platform))
        if is_traced:
            return program(*arrays, **keywords)
        with PROGRAMS.counting(key), _telling(lambda: self._in_words(arrays, keywords | static)):
            return program(*arrays, **keywords)

    def jitted(self, static: dict[str, Any], *, platform: str | None = None) -> Any:
        """Returns the function as `jax.jit` compiles it, with static keywords, and XLA's options of a platform."""
        given = {"platform": platform} | static
        options = None if self._options is None or platform is None else self._options(**given)
        return jax.jit(functools.partial(self._function, **static), compiler_options=options)

    def num_programs(self) -> int:
        """How many programs of the function have been compiled, kept or not."""
        return PROGRAMS.number_of(self)

    def _in_words(self, arrays: tuple[Any, ...], keywords: dict[str, Any]) -> str:
        if self._what is not None:
            return self._what(*arrays, **keywords)
        return self._function.__name__.strip("_").replace("_", " ")


def compiled(
    *static: str, what: Callable[..., str] | None = None, options: Callable[..., dict[str, Any]] | None = None
) -> Callable[[Callable[..., Any]], Compiled]:
    """Decorates a function that is compiled for every set of shapes; in place of `jax.jit`.

    Args:
        static: Names of its keywords that are no arrays; they are always given by name.
        what: Returns in words the purpose of a program for given arguments; the function's name if not given.
        options: Returns XLA's options for a `platform` and given static keywords; the usual ones if not given.

    Example:
        >>> import jax.numpy as jnp
        >>> @compiled("times")
        ... def repeated_sum(x, *, times):
        ...     return times * jnp.sum(x)
        >>> int(repeated_sum(jnp.arange(3), times=2))
        6
    """
    return lambda function: Compiled(function, static, what, options)


def quick_options(level: int) -> dict[str, Any]:
    """XLA's options for a program of a CPU that is compiled quickly.

    Args:
        level: How much LLVM optimises: 0 in place of 3 compiles in a third of the time, for programs that do little
            themselves; 1 in two thirds, for programs that run as fast with it. A level that `XLA_FLAGS` names stays.
    """
    options: dict[str, Any] = {}
    if "xla_backend_optimization_level" not in os.environ.get("XLA_FLAGS", ""):
        options["xla_backend_optimization_level"] = level
    if importlib.metadata.version("jaxlib").startswith("0.10."):
        # The older of two ways to write fusions; later versions of XLA have one.
        options["xla_cpu_use_fusion_emitters"] = False
    return options


def options_of_small_programs(*, platform: str, **_: object) -> dict[str, Any]:
    """XLA's options for a program that does little itself: on a CPU those of the quickest compilation."""
    return quick_options(0) if platform == "cpu" else {}


def num_maps() -> int | None:
    """The number of memory maps of this process; None where the operating system does not report it."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return None


def _free(programs: list[Any]) -> None:
    """Frees programs that nothing else holds, outside of any lock, and hands their memory back.

    Glibc keeps what is freed, in pieces that the next program seldom fits in: a process would grow by some megabytes
    with every program.
    """
    if programs:
        programs.clear()
        trim_heap()


def _size(program: Any) -> int:
    return program._cache_size()


def _shape_and_type(leaf: Any) -> Hashable:
    return np.shape(leaf), getattr(leaf, "dtype", type(leaf))


class _Clock(threading.local):
    """Seconds that XLA has compiled in a thread."""

    seconds = 0.0


_CLOCK = _Clock()


def _on_duration(event: str, duration_secs: float, **_: str | int) -> None:
    if event == _COMPILED:
        _CLOCK.seconds += duration_secs


when_jax_is_loaded(lambda: jax.monitoring.register_event_duration_secs_listener(_on_duration))


@contextmanager
def _telling(what: Callable[[], str]) -> Iterator[None]:
    """Logs a slow compilation: the program, the seconds, and how to keep it."""
    before = _CLOCK.seconds
    yield
    seconds = _CLOCK.seconds - before
    if seconds > SLOW_COMPILATION and LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("compiled %s in %.1f s; %s", what(), seconds, _how_to_keep())


def _how_to_keep() -> str:
    folder = jax.config.values["jax_compilation_cache_dir"]
    if folder and jax.config.values["jax_enable_compilation_cache"]:
        return f"kept in {folder} for other processes"
    return "not kept for other processes"
