"""Programs of 64 bits in a user's program of 32: what they are called with, and how they are differentiated."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_wide() -> bool:
    """Whether the user has types of 64 bits."""
    return bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]


def in_double(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns a function of arrays, called where types of 64 bits are enabled, with numbers of the host in 64 bits.

    JAX transposes a part of a program after its context has been left. Where the user has types of 32 bits, the
    function therefore has a rule of its own for `jax.grad`, which enables the others again, and none for `jax.jvp`.

    Args:
        function: The function; floats of its results have the types that the user expects.
        arguments: Pytrees of arrays and numbers.
    """
    arguments = jax.tree.map(lambda own: own if isinstance(own, jax.Array) else np.asarray(own), arguments)
    if is_wide():
        return function(*arguments)
    leaves, structure = jax.tree.flatten(arguments)
    with jax.enable_x64(True):
        made = _reversible(lambda leaves: Flat.of(function(*jax.tree.unflatten(structure, leaves))))(leaves)
    return jax.tree.unflatten(made.structure, made.leaves)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Flat:
    """The leaves of a pytree, of which a rule of derivatives makes no pytree of others.

    Attributes:
        leaves: The leaves.
        structure: The structure; static.
    """

    leaves: list[Any]
    structure: Any = dataclasses.field(metadata={"static": True})

    @classmethod
    def of(cls, values: Any) -> "Flat":
        """Returns those of a pytree."""
        return cls(*jax.tree.flatten(values))


def _reversible(function: Callable[[list[Any]], Flat]) -> Callable[[list[Any]], Flat]:
    def pull(leaves: list[Any], cotangents: Flat) -> Any:
        with jax.enable_x64(True):
            return jax.vjp(function, leaves)[1](cotangents)

    reversible = jax.custom_vjp(function)
    reversible.defvjp(lambda leaves: (function(leaves), leaves), pull)
    return reversible


def in_floats(values: Any, dtype: Any) -> Any:
    """The arrays of a pytree with floats of one type."""

    def convert(own: Any) -> Any:
        return jnp.asarray(own, dtype) if jnp.issubdtype(jnp.result_type(own), jnp.floating) else own

    return jax.tree.map(convert, values)
