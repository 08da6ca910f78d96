"""Traces of JAX's own functions, which JAX keeps for ever.

A trace is what JAX writes down of a function before XLA compiles it. Most functions of `jax.numpy`, `+` too, are traced
by themselves inside a program, and JAX keeps these traces for as long as the function lives, which is for ever: 20 to
300 kB for every program, whether that is kept or not.
"""

import functools
import gc
import sys
import types
from typing import Any

from jaxtree.lazy import jax

_NO_PROGRAM = {"jaxtree_has_no_program_of": True}

_REFERENCES = 4
"""References from a name of one of JAX's modules to a function that it jits, at most."""


def drop_traces_of_jax() -> None:
    """Drops the traces of JAX's own functions, such as `jnp.where`, that programs have left in JAX's caches.

    Compiled programs stay, with the traces of all other functions, of the user's too. A program that is traced later
    traces anew the functions of JAX that it calls; and a transformation outside of any `jit`, such as
    `jax.vmap(jnp.sort)(x)`, compiles these again. (`jax.clear_caches` would drop every program of the process.) Other
    threads may trace at the same time.
    """
    for function in _functions_of_jax(sum(name.startswith("jax") for name in list(sys.modules))):
        # Traces belong to the function and programs to the pair of it and options. With options that no program has,
        # this clears the traces alone.
        jitted: Any = jax.jit(function, compiler_options=_NO_PROGRAM)
        jitted.clear_cache()


@functools.lru_cache(1)
def _functions_of_jax(_num_modules: int) -> list[Any]:
    """The functions that JAX's modules jit, found again after more of them have been imported.

    They are sought a few references behind the names of its modules, since most are none of these: `jnp.add` holds one
    in a private attribute. A look at all objects would miss those that `gc.freeze` has set aside.
    """
    jitted, found = type(jax.jit(_nothing)), []
    modules = [own for name, own in list(sys.modules.items()) if name.split(".")[0] == "jax"]
    # Functions refer to the names of their modules, whatever package these are of.
    seen = {id(getattr(own, "__dict__", None)) for own in list(sys.modules.values())}
    level = [value for own in modules for value in list(getattr(own, "__dict__", {}).values())]
    for _ in range(_REFERENCES):
        held: list[Any] = []
        for each in level:
            is_foreign = isinstance(each, types.ModuleType) or (
                isinstance(each, type) and not str(each.__module__).startswith("jax")
            )
            if id(each) in seen or is_foreign:
                continue
            seen.add(id(each))
            if isinstance(each, jitted):
                found.append(each)
            else:
                held.extend(gc.get_referents(each))
        level = held
    # A function that another thread jits at this moment may not have the attribute yet.
    functions = [getattr(each, "__wrapped__", None) for each in found]
    return [function for function in functions if _module(function).split(".")[0] == "jax"]


def _nothing() -> None:
    """A function to jit."""


def _module(function: Any) -> str:
    return str(getattr(getattr(function, "func", function), "__module__", None))
