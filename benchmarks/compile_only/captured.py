"""The calls of compiled functions that public functions make, stopped before they run, and compiled elsewhere."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxtree.compilation import Compiled
from jaxtree.kernels.choose import Engines, choose

_ASKING = (
    "growth.loop.grow.platform_of",
    "growth.loop.prepare.platform_of",
    "boosting.booster.platform_of",
    "dropout.scores.current_platform",
    "dropout.votes.current_platform",
    "prune.draws.current_platform",
    "soft.runs.current_platform",
    "functional.boosting.platform_of",
    "functional.stack.platform_of",
)
"""The places that ask where a program will run, before it is called, or while it is traced."""


class Call(NamedTuple):
    """A call of a compiled function.

    Attributes:
        function: The function.
        arrays: Its arrays, by place and by name.
        static: Its other keywords.
        is_wide: Whether 64-bit types are enabled.
        platform: The kind of device that the call is made for.
    """

    function: Compiled
    arrays: tuple[tuple[Any, ...], dict[str, Any]]
    static: dict[str, Any]
    is_wide: bool
    platform: str


class _Reached(BaseException):
    """Stops a public function where the call is made; no handler of errors catches it."""


def capture(name: str, run: Callable[[], Any], platform: str) -> Call:
    """Returns the first call of the compiled function of a name, as it would be made on a kind of device.

    Earlier calls of `run` run on the CPU.
    """
    found: list[Call] = []
    usual = Compiled.__call__

    def call(self: Compiled, *arrays: Any, **keywords: Any) -> Any:
        if self.__name__ != name:
            return usual(self, *arrays, **keywords)
        static = {key: keywords.pop(key) for key in self.static}
        found.append(Call(self, (arrays, keywords), static, bool(jax.config.values["jax_enable_x64"]), platform))
        raise _Reached

    with mock.patch.object(Compiled, "__call__", call), _answering(platform):
        try:
            run()
        except _Reached:
            return found[0]
    raise LookupError(f"no compiled function {name} was called")


@contextmanager
def _answering(platform: str) -> Iterator[None]:
    """Answers all that ask where a program will run."""
    with contextlib.ExitStack() as asked:
        for asking in _ASKING:
            asked.enter_context(mock.patch(f"jaxtree.{asking}", lambda *arrays, mesh=None: platform))
        asked.enter_context(mock.patch.object(Engines, "of", lambda _: Engines(choose("cpu"), platform)))
        yield


def compile_call(call: Call, mesh: Mesh, *, quickly: bool = False) -> Any:
    """Returns the program of a call for described devices; arrays divided on a mesh are divided among them.

    With `quickly` a TPU's compiler takes half its time, for a program of more temporary memory; it refuses the same.
    """
    static = {key: mesh if isinstance(value, Mesh) else value for key, value in call.static.items()}
    with jax.enable_x64(call.is_wide):
        arrays, keywords = jax.tree.map(lambda values: _placed(values, mesh), call.arrays)
        with _answering(call.platform):
            lowered = call.function.jitted(static, platform=call.platform).lower(*arrays, **keywords)
        with _effort("O1" if quickly else "UNKNOWN"):
            return lowered.compile()


@contextmanager
def _effort(level: str) -> Iterator[None]:
    """Sets how hard the compiler works for a fast program; "UNKNOWN" leaves it to the compiler."""
    before = jax.config.values["jax_optimization_level"]
    jax.config.update("jax_optimization_level", level)
    try:
        yield
    finally:
        jax.config.update("jax_optimization_level", before)


def _placed(values: Any, mesh: Mesh) -> jax.ShapeDtypeStruct:
    """The shape of an array on described devices."""
    sharding = getattr(values, "sharding", None)
    spec = sharding.spec if isinstance(sharding, NamedSharding) else PartitionSpec()
    kind = getattr(values, "dtype", None)
    if kind is None or not jax.dtypes.issubdtype(kind, jax.dtypes.extended):
        kind = jax.dtypes.canonicalize_dtype(np.asarray(values).dtype if kind is None else kind)
    return jax.ShapeDtypeStruct(np.shape(values), kind, sharding=NamedSharding(mesh, spec))
