"""Numbers that look random and depend on a key and a path alone."""

import jax.numpy as jnp
from jaxtyping import Array, UInt32


def mix(number: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The finaliser of MurmurHash3 (Appleby, public domain): a bijection that spreads every bit."""
    number = (number ^ (number >> 16)) * jnp.uint32(0x85EBCA6B)
    number = (number ^ (number >> 13)) * jnp.uint32(0xC2B2AE35)
    return number ^ (number >> 16)


def child_hash(parent: UInt32[Array, "*shape"], branch: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The hash of a node from its parent's and its branch, so that it depends on the path from the root alone."""
    return mix(parent + branch + jnp.uint32(1))
