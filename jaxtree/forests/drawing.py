"""The rows that every tree of a forest is grown on.

A *bootstrap* sample has as many rows as are drawn, with replacement; a row counts as often as it was drawn. All draws
of a forest are one stream of random numbers, in which tree t has the place t, so that its rows depend neither on the
batch in which it grows nor on how many trees there are.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int, Int32, PRNGKeyArray, UInt32

from jaxtree.compilation import compiled

CELLS_AT_A_TIME = 2**18
"""Counts (trees times rows) made in one go, which stay in a core's cache."""

NUMBERS_PER_STEP = 4
"""Numbers that the generator makes at a step of its counter."""


class Drawing(NamedTuple):
    """How the rows of every tree are drawn.

    Attributes:
        seed: Two words of a key.
        num_rows: The number of rows of the table.
        num_draws: The number of draws of a tree.
        cumulative: The cumulative weights of the rows, which are their chances; None if all are the same.
    """

    seed: Int[np.ndarray, " two"]
    num_rows: int
    num_draws: int
    cumulative: Float64[np.ndarray, " row"] | None


class Drawn(NamedTuple):
    """Rows that were drawn, tree by tree and in ascending order.

    Attributes:
        row: The row.
        tree: The number of the tree, counted from the first that was asked for.
        count: How often it was drawn.
    """

    row: Int32[np.ndarray, " entry"]
    tree: Int32[np.ndarray, " entry"]
    count: Int32[np.ndarray, " entry"]


def make_drawing(
    key: PRNGKeyArray, num_rows: int, num_draws: int, weight: Float64[np.ndarray, " row"] | None = None
) -> Drawing:
    """Returns how rows are drawn with a key, each with a chance in proportion to its weight."""
    cumulative = None if weight is None or np.all(weight == weight[0]) else np.cumsum(weight)
    seed = np.asarray(_two_words(key)).astype(np.uint64)
    return Drawing(seed, num_rows, num_draws, cumulative)


@compiled()
def split_key(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Returns the two keys of `jax.random.split(key)`, in one program."""
    first, second = jax.random.split(key)
    return first, second


@compiled()
def _two_words(key: PRNGKeyArray) -> UInt32[Array, " word"]:
    return jax.random.bits(key, (2,), jnp.uint32)


def draw_counts(drawing: Drawing, first_tree: int, num_trees: int) -> Int[np.ndarray, "tree row"]:
    """Returns how often every row is drawn by some trees that follow one another.

    Example:
        >>> counts = draw_counts(make_drawing(jax.random.key(0), num_rows=5, num_draws=8), 10, 3)
        >>> counts.shape, counts.sum(axis=1).tolist()
        ((3, 5), [8, 8, 8])
    """
    steps = -(-drawing.num_draws // NUMBERS_PER_STEP)
    generator = np.random.Philox(key=drawing.seed).advance(first_tree * steps)
    numbers = generator.random_raw(num_trees * steps * NUMBERS_PER_STEP).reshape(num_trees, -1)
    # 53 bits of every number: uniform from 0 up to, but without, 1.
    uniform = (numbers[:, : drawing.num_draws] >> np.uint64(11)) * 2.0**-53
    if drawing.cumulative is None:
        row = (uniform * drawing.num_rows).astype(np.int64)
    else:
        row = np.searchsorted(drawing.cumulative, uniform * drawing.cumulative[-1], side="right")
        row = np.minimum(row, drawing.num_rows - 1)
    row += np.arange(num_trees)[:, None] * drawing.num_rows
    return np.bincount(row.ravel(), minlength=num_trees * drawing.num_rows).reshape(num_trees, -1)


def draw_rows(drawing: Drawing, first_tree: int, num_trees: int) -> Drawn:
    """Returns the rows drawn by some trees that follow one another, each once and with its count."""
    step = max(1, CELLS_AT_A_TIME // max(drawing.num_rows, drawing.num_draws))
    parts = []
    for first in range(0, num_trees, step):
        counts = draw_counts(drawing, first_tree + first, min(step, num_trees - first))
        cell = np.flatnonzero(counts)
        tree = np.repeat(np.arange(len(counts), dtype=np.int32), np.count_nonzero(counts, axis=1))
        row = cell.astype(np.int32) - tree * np.int32(drawing.num_rows)
        parts.append((row, first + tree, counts.ravel()[cell].astype(np.int32)))
    return Drawn(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def expected_rows(drawing: Drawing) -> int:
    """Returns how many different rows a tree draws, on average and rounded up."""
    if drawing.cumulative is None:
        missed = (1 - 1 / drawing.num_rows) ** drawing.num_draws * drawing.num_rows
    else:
        share = np.diff(drawing.cumulative, prepend=0.0) / drawing.cumulative[-1]
        missed = np.sum((1 - share) ** drawing.num_draws)
    return int(np.ceil(drawing.num_rows - missed))


def largest_count(drawing: Drawing) -> int:
    """Returns how often no row is drawn but by a chance of less than one in a billion, roughly."""
    share = 1 / drawing.num_rows
    if drawing.cumulative is not None:
        share = np.max(np.diff(drawing.cumulative, prepend=0.0)) / drawing.cumulative[-1]
    return int(16 + 2 * share * drawing.num_draws)
