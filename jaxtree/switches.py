"""The switches of JAX: a user's are for programs of the user, and jaxtree's run by those that they are written for.

Some stop at what is meant here: infinite gains of splits that are not allowed, missing values, numbers of two types, or
arrays of the host that a program takes. Others change what a seed draws. So they stand at their defaults while jaxtree
computes, but for the type of numbers (`jax_enable_x64`) and the device, which are the user's everywhere. Losses of the
user's own are traced within.
"""

import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from jaxtree.lazy import jax

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

read = operator.attrgetter(
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_disable_jit",
    "jax_check_tracer_leaks",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_transfer_guard",
    "jax_transfer_guard_host_to_device",
    "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
)

"""Returns the switches of JAX's configuration."""

_OTHERS = ("standard", "allow", False, False, False, False, "threefry2x32", True)
OWN = {(*_OTHERS, guard, guard, guard, guard) for guard in (None, "allow")}
"""The switches as jaxtree's programs have them."""


def are_own() -> bool:
    """Returns whether all switches stand as jaxtree's programs have them, or nothing has loaded JAX.

    >>> are_own()
    True
    >>> with jax.debug_infs(True):
    ...     are_own()
    False
    """
    return "jax" not in sys.modules or read(jax.config) in OWN


@contextlib.contextmanager
def own() -> Iterator[None]:
    """Sets the switches as jaxtree's programs have them, in this thread.

    >>> with jax.debug_infs(True), own():
    ...     are_own()
    True
    """
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.disable_jit(False),
        jax.check_tracer_leaks(False),
        jax.default_prng_impl("threefry2x32"),
        jax.threefry_partitionable(True),
        jax.transfer_guard("allow"),
    ):
        yield


def by_own(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorates a function that computes by jaxtree's switches, whatever a user's are.

    >>> with jax.debug_infs(True):
    ...     by_own(are_own)()
    True
    """

    @functools.wraps(function)
    def computed(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        if are_own():
            return function(*arguments, **keywords)
        with own():
            return function(*arguments, **keywords)

    return computed
