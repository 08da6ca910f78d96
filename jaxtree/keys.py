"""Random keys on the host: those of JAX's usual generator, with the same bits, by NumPy.

The generator is Threefry-2x32 with 20 rounds (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, SC 2011). A
key is two words. Keys of NumPy take no program to be compiled, and serve processes in which JAX cannot compute.
"""

import numpy as np
from jaxtyping import UInt32

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Bits that a word is rotated by in four rounds, and in the next four."""

PARITY = 0x1BD11BDA
"""The constant of the third word of the key schedule."""


def key_of_seed(seed: int) -> UInt32[np.ndarray, "2"]:
    """Returns the words of `jax.random.key(seed)`, for a seed from 0 to below 2**32.

    >>> key_of_seed(7).tolist()
    [0, 7]
    """
    return np.array([0, seed], np.uint32)


def fold_in(key: UInt32[np.ndarray, "*key 2"], number: int) -> UInt32[np.ndarray, "*key 2"]:
    """Returns `jax.random.fold_in(key, number)`; also the child of that number of `jax.random.split(key, ...)`.

    >>> fold_in(key_of_seed(7), 1).tolist()
    [195045567, 4062205631]
    """
    return np.stack(_threefry(key, number), axis=-1)


def bits(key: UInt32[np.ndarray, "*key 2"]) -> UInt32[np.ndarray, "*key"]:
    """Returns `jax.random.bits(key, (), jnp.uint32)` of every key."""
    first, second = _threefry(key, 0)
    return first ^ second


def _threefry(key: UInt32[np.ndarray, "*key 2"], number: int) -> tuple[np.ndarray, np.ndarray]:
    """Enciphers the words 0 and a number."""
    schedule = (key[..., 0], key[..., 1], key[..., 0] ^ key[..., 1] ^ np.uint32(PARITY))
    with np.errstate(over="ignore"):
        first, second = schedule[0], np.uint32(number) + schedule[1]
        for step in range(5):
            for rotation in ROTATIONS[step % 2]:
                first = first + second
                second = (second << np.uint32(rotation) | second >> np.uint32(32 - rotation)) ^ first
            first = first + schedule[(step + 1) % 3]
            second = second + schedule[(step + 2) % 3] + np.uint32(step + 1)
    return first, second
