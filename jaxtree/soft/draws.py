"""Random numbers of training: the order of rows, and noise.

A step of a small tree takes a few microseconds, less than Threefry and a sort of whole rows need. So a key gives a
*seed* of two words, and every number is a hash of the seed and its place: it depends on no length of an array, and on
no other model that is trained beside.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from jaxtree.arrays import FloatLike, IntLike

MOST_PACKED = 2**16
"""Rows whose place fits in one half of a word, beside random bits in the other."""

OF_TREES = 0x9E3779B9
"""Tells what is drawn of trees from noise, and from what is drawn of epochs."""

OF_TARGETS = 0x85EBCA6B
"""Tells the noise of targets from that of inputs."""

_MEAN_OF_BYTES = 4 * 255 / 2
_DEVIATION_OF_BYTES = math.sqrt(4 * (256**2 - 1) / 12)


def seeds_of_epoch(key: PRNGKeyArray, epoch: IntLike) -> UInt32[Array, "2 2"]:
    """Returns the seeds of an epoch of a model: that of the order of its rows, and that of all else that is drawn."""
    return jax.random.bits(jax.random.fold_in(key, epoch), (2, 2), jnp.uint32)


def random_words(seed: UInt32[Array, "2"], place: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Returns a random word for every place.

    >>> place = jnp.arange(3, dtype=jnp.uint32)
    >>> random_words(jnp.array([1, 2], jnp.uint32), place).tolist()
    [3405767568, 3507691905, 3568491650]
    """
    return _mixed(_mixed(place ^ seed[0]) + seed[1])


def shuffled(seed: UInt32[Array, "2"], num_rows: IntLike, size: int) -> Int[Array, " size"]:
    """Returns the numbers of the rows in a random order, and padding after them.

    Up to 65,536 rows the order is that of 16 random bits, and of a table where these are the same: such a sort is of
    single words, and three times as fast.

    Args:
        seed: Two random words.
        num_rows: How many rows there are.
        size: How many there are with padding.

    Example:
        >>> shuffled(jnp.array([1, 2], jnp.uint32), 5, 8).tolist()
        [4, 0, 1, 2, 3, 5, 6, 7]
    """
    place = jnp.arange(size, dtype=jnp.uint32)
    word = jnp.where(place < num_rows, random_words(seed, place), jnp.uint32(0xFFFFFFFF))
    if size > MOST_PACKED:
        return jnp.argsort(word).astype(jnp.int32)
    low = jnp.uint32(MOST_PACKED - 1)
    return (jax.lax.sort((word & ~low) | place) & low).astype(jnp.int32)


def order_of_epoch(
    seed: UInt32[Array, "2"], num_rows: Int[Array, ""], size: int, num_batches: Int[Array, ""]
) -> Int[Array, " size"]:
    """Returns the numbers of the rows in a random order; on a CPU, where one batch has all rows, as they stand.

    Within a batch the order is of no account. Other devices would wait for the host to decide.
    """
    return jax.lax.platform_dependent(
        seed,
        num_rows,
        cpu=lambda seed, number: jax.lax.cond(
            num_batches > 1, lambda: shuffled(seed, number, size), lambda: jnp.arange(size, dtype=jnp.int32)
        ),
        default=lambda seed, number: shuffled(seed, number, size),
    )


def noise(seed: UInt32[Array, "2"], step: IntLike, shape: tuple[int, int]) -> Float[Array, "row feature"]:
    """Returns numbers of mean 0 and standard deviation 1, nearly normal: sums of four random bytes.

    Args:
        seed: Two random words.
        step: The number of the step, whose numbers are its own.
        shape: The shape of the rows.
    """
    size = math.prod(shape)
    place = jnp.asarray(step).astype(jnp.uint32) * jnp.uint32(size) + jnp.arange(size, dtype=jnp.uint32)
    word = random_words(seed, place.reshape(shape))
    halves = (word & 0x00FF00FF) + ((word >> 8) & 0x00FF00FF)
    total = (halves & 0xFFFF) + (halves >> 16)
    return (total.astype(jnp.int32).astype(float) - _MEAN_OF_BYTES) * (1 / _DEVIATION_OF_BYTES)


def is_drawn(seed: UInt32[Array, "2"], place: UInt32[Array, "*shape"], share: FloatLike) -> Bool[Array, "*shape"]:
    """Returns for every place whether it is drawn, with a probability of `share`.

    >>> is_drawn(jnp.array([1, 2], jnp.uint32), jnp.arange(4, dtype=jnp.uint32), 0.8).tolist()
    [True, False, False, False]
    """
    return random_words(seed, place).astype(float) < share * 2.0**32


def kept_trees(
    model: Any,
    rows: tuple[Int[Array, " row"], Int[Array, " row"]],
    shares: tuple[FloatLike | None, FloatLike | None],
    seeds: tuple[UInt32[Array, "2"], PRNGKeyArray],
) -> Bool[Array, "row tree"] | None:
    """Returns the trees of an ensemble that learn from rows in a step; None for all.

    Args:
        model: The ensemble.
        rows: The places of the rows in the epoch, and their numbers.
        shares: The share of the trees that is left out, drawn anew at every place; and the share of the rows that a
            tree learns from, drawn once; None leaves out none.
        seeds: The seed of an epoch, and the key of the model.
    """
    (place, row), (drop_rate, subsample) = rows, shares
    if drop_rate is None and subsample is None:
        return None
    tree = jnp.arange(model.num_trees, dtype=jnp.uint32)
    kept = jnp.ones((len(row), model.num_trees), bool)
    if drop_rate is not None:
        # Noise takes the same places of the seed as it is.
        own = seeds[0] ^ jnp.uint32(OF_TREES)
        kept &= ~is_drawn(own, place.astype(jnp.uint32)[:, None] * model.num_trees + tree, drop_rate)
    if subsample is not None:
        own = jax.random.bits(jax.random.fold_in(seeds[1], OF_TREES), (2,), jnp.uint32)
        kept &= is_drawn(own, row.astype(jnp.uint32)[:, None] * model.num_trees + tree, subsample)
    return kept


def _mixed(word: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """A bijection of words, every bit of which depends on all: `lowbias32` (Wellons, *Hash Prospector*, 2018)."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)
