"""Chooses the device of a fit that the user has not placed: the one that is predicted to finish first.

Results have the same bits on every device, so that the choice is free. A mesh, JAX's arrays, `set_device` and
`jax.default_device` come before it, in this order. Work that is chosen for the host touches no accelerator, whose
memory stays free.
"""

import contextlib
import contextvars
import functools
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from jaxtree import forks, switches
from jaxtree.arrays import Device
from jaxtree.cores import num_cores
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.devices.current import (
    default_device,
    device_of,
    devices_of_kind,
    given_device,
    is_given,
    kind_of,
)
from jaxtree.errors import InvalidInputError
from jaxtree.kernels import library
from jaxtree.lazy import Mesh, jax

LOGGER = logging.getLogger("jaxtree")

AUTO = "auto"

PLATFORMS = ("cpu", "gpu", "tpu")


class Placement(NamedTuple):
    """The device of some work, and the reason.

    Attributes:
        platform: The platform that was chosen.
        other: The accelerator that it was compared with.
        host_seconds: The time that the host is expected to take.
        device_seconds: The time that the accelerator is expected to take once its program is compiled.
        start_seconds: The time that its program is expected to take to compile; 0 if it is.
    """

    platform: str
    other: str
    host_seconds: float
    device_seconds: float
    start_seconds: float

    @property
    def reason(self) -> str:
        """The seconds by which it was chosen, in words."""
        compiling = f" and {self.start_seconds:.2g} s to compile" if self.start_seconds else ""
        return f"expected {self.host_seconds:.2g} s on the host, {self.device_seconds:.2g} s{compiling} on {self.other}"


class _Memory:
    """A process's memory of its choices.

    Attributes:
        setting: The argument of `set_device`.
        compiled: Programs that an accelerator has.
        lost: Seconds that the host has taken longer than the accelerator would have with a program, by program.
    """

    def __init__(self) -> None:
        self.setting: str | Device = AUTO
        self.compiled: set[Any] = set()
        self.lost: dict[Any, float] = {}
        self.lock = threading.Lock()


_MEMORY = _Memory()

_IS_PLACED = contextvars.ContextVar("is_placed", default=False)
"""Whether work is under way whose place is chosen, so that its parts choose none."""


class set_device:
    """Says where estimators, searches and predictions compute, from now on or in a `with` block.

    It holds for all threads of the process. A mesh, and JAX's arrays given as tables, come before it; where it is
    "auto", so does `jax.default_device`.

    Args:
        device: "cpu", "gpu" or "tpu", or a device of JAX. "auto", as at first: JAX's default device, or if this is an
            accelerator, the host for what it does sooner.

    Raises:
        InvalidInputError: There is no such device.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> with set_device("cpu"):
        ...     tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
        >>> tree.predict([[0.2]])
        array([0])
    """

    def __init__(self, device: "str | Device" = AUTO):
        if device != AUTO:
            _named(device)
        self._before, _MEMORY.setting = _MEMORY.setting, device

    def __enter__(self) -> Self:
        """Returns the choice, which holds already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Chooses what held before."""
        _MEMORY.setting = self._before


@contextlib.contextmanager
def computing_on(device: "str | Device") -> Iterator[None]:
    """Computes all that stands in the block on a device, also what no estimator does; see `set_device`."""
    with set_device(device), contextlib.nullcontext() if device == AUTO else jax.default_device(_named(device)):
        yield


def _named(device: "str | Device") -> Device:
    """Returns a device by its platform; raises InvalidInputError if there is none."""
    if isinstance(device, jax.Device):
        return device
    if device in PLATFORMS:
        found = devices_of_kind(device)
        if found:
            return found[0]
        there = ", ".join(platform for platform in PLATFORMS if devices_of_kind(platform))
        raise InvalidInputError(f"there is no {device} here; JAX finds {there}")
    allowed = ", ".join(repr(name) for name in (AUTO, *PLATFORMS))
    raise InvalidInputError(f"device must be one of {allowed}, or a device of JAX, got {device!r}")


def choose(work: Work, accelerator: str) -> Placement:
    """Returns where work would be computed that nobody has placed.

    The host has it if it is done sooner there. A program that is not compiled yet counts with the seconds to compile
    it, less those that work of its sizes has lost on the host so far: who fits again and again pays for a program at
    most twice.

    Args:
        work: The work.
        accelerator: The platform of JAX's default device.

    >>> small = costs.growth(150, 4, levels=8)
    >>> large = costs.soft(10**6, 50, nodes=256, steps=10**5, rows_of_step=2**12)
    >>> choose(small, "gpu").platform, choose(large, "gpu").platform
    ('cpu', 'gpu')
    """
    host_start, host = costs.seconds(work, _rates("cpu"), cores=num_cores())
    start, device = costs.seconds(work, _rates(accelerator))
    program = accelerator, work.kind, work.sizes
    with _MEMORY.lock:
        start = 0.0 if program in _MEMORY.compiled else start
        lost = _MEMORY.lost.get(program, 0.0)
    host_start = 0.0 if ("cpu", work.kind, work.sizes) in _MEMORY.compiled else host_start
    is_sooner = host_start + host <= device + max(start - lost, 0.0)
    return Placement("cpu" if is_sooner else accelerator, accelerator, host_start + host, device, start)


def remember(work: Work, choice: Placement) -> None:
    """Remembers that work was done where it was chosen."""
    program = choice.other, work.kind, work.sizes
    with _MEMORY.lock:
        _MEMORY.compiled.add((choice.platform, work.kind, work.sizes))
        if choice.platform == "cpu":
            lost = max(choice.host_seconds - choice.device_seconds, 0.0)
            _MEMORY.lost[program] = _MEMORY.lost.get(program, 0.0) + lost


def placed(
    what: str | None, work: Callable[[], Work | None], *arrays: Any, mesh: Mesh | None = None
) -> contextlib.AbstractContextManager[None]:
    """Returns a context that computes where it is to be computed, by switches of JAX's that jaxtree is written for.

    So do all contexts within it.

    Args:
        what: The work in words, for the log; None for work that is too frequent for it.
        work: Returns how much it is; None if that is not known, which counts as much.
        arrays: The inputs; JAX's arrays say where.
        mesh: Devices that it is divided among.
    """
    if _IS_PLACED.get() or forks.is_on_host():
        return contextlib.nullcontext()
    if switches.read(jax.config) not in switches.OWN:
        return _with_own_switches(what, work, *arrays, mesh=mesh)
    given, default = device_of(*arrays, mesh=mesh), default_device()
    if (_MEMORY.setting == AUTO or given is not None) and kind_of(given or default) == kind_of(default) == "cpu":
        # There is nothing to choose: one core is as good as another.
        return contextlib.nullcontext()
    return _at_a_place(what, work, given)


@contextlib.contextmanager
def _with_own_switches(
    what: str | None, work: Callable[[], Work | None], *arrays: Any, mesh: Mesh | None
) -> Iterator[None]:
    """Computes where it is to be computed, by switches of JAX that jaxtree is written for."""
    with switches.own(), placed(what, work, *arrays, mesh=mesh):
        yield


@contextlib.contextmanager
def _at_a_place(what: str | None, work: Callable[[], Work | None], given: Device | None) -> Iterator[None]:
    """Computes on a device that is given, or on the one that is chosen."""
    device, known, choice = given, None, None
    if given is None and _MEMORY.setting != AUTO:
        device = _named(_MEMORY.setting)
    elif given is None and not is_given() and devices_of_kind("cpu"):
        # `JAX_PLATFORMS` may leave out the host.
        known = work()
        if known is not None:
            choice = choose(known, kind_of(default_device()))
            level = logging.DEBUG if what is None else logging.INFO
            LOGGER.log(level, "%s computes on %s: %s", what or known.kind, choice.platform, choice.reason)
            device = _named(choice.platform)
    token = _IS_PLACED.set(True)
    try:
        # A context with the device that JAX has anyway would have programs of its own.
        with contextlib.nullcontext() if device in (None, default_device()) else jax.default_device(device):
            yield
    finally:
        _IS_PLACED.reset(token)
    if known is not None and choice is not None:
        remember(known, choice)


def in_callers_context(work: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that computes in any thread where this one does: threads begin without contexts."""
    if forks.is_on_host():
        return work
    device, is_placed = given_device(), _IS_PLACED.get()

    @functools.wraps(work)
    def in_thread(*arguments: Any) -> Any:
        token = _IS_PLACED.set(is_placed)
        try:
            with jax.default_device(device):
                is_own = switches.read(jax.config) in switches.OWN
                return work(*arguments) if is_own else switches.by_own(work)(*arguments)
        finally:
            _IS_PLACED.reset(token)

    return in_thread


def _rates(platform: str) -> dict[costs.Kind, costs.WorkRates]:
    if platform == "cpu":
        return costs.HOST if library.load() is not None else costs.WITHOUT_KERNEL
    return costs.TPU if platform == "tpu" else costs.GPU
