"""The rows that every tree of a forest is grown on, the same in every batch, and predictions of those not drawn.

A *bootstrap* sample has as many rows as are drawn, with replacement; a row counts as often as it was drawn. All draws
of a forest are one stream of random numbers, in which tree t has the place t, so that its rows depend neither on the
batch in which it grows nor on how many trees there are. Predictions of rows by the trees that have not drawn them are
*out of bag* (Breiman, *Out-of-bag estimation*, 1996).

Growth sums weights and targets in fixed point, with a unit that follows from all entries of a batch (see
`jaxtree.kernels.fixed_point`). So they are rounded here to multiples of a coarser unit, chosen from the whole
table alone, which are summed exactly in every batch.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Int, Int32, PRNGKeyArray, Real, UInt8, UInt32, UInt64

from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.errors import present
from jaxtree.kernels.fixed_point import BITS
from jaxtree.tree.forest import Forest
from jaxtree.tree.predictor import Predictor

CELLS_AT_A_TIME = 2**18
"""Counts (trees times rows) made in one go, which stay in a core's cache."""

NUMBERS_PER_STEP = 4
"""Numbers that the generator makes at a step of its counter."""

ROWS_AT_A_TIME = 2**13
"""Rows predicted in one go, which bounds the memory."""

EXACT_BITS = 52
"""Bits of a sum that float64 holds with a bit to spare for half a unit, where a batch's targets are centred."""

MOST_ENTRIES = 2**21
"""Entries of a batch up to which sums are exact; of one tree as many as it has."""

LEAST_DRAWS_BITS = 4
"""Bits of the greatest count of a row in a bootstrap sample of equal chances, except once in a billion forests."""


@runtime_checkable
class RowSampler(Protocol):
    """How the rows of every tree are drawn; tree t draws the same rows whatever other trees there are."""

    @property
    def num_rows(self) -> int:
        """The number of rows of the table."""
        ...

    @property
    def num_draws(self) -> int:
        """The number of draws of a tree."""
        ...

    def expected_rows(self) -> int:
        """How many different rows a tree draws, on average and rounded up."""
        ...

    def largest_count(self) -> int:
        """A count that no row exceeds, except with a chance of less than one in a billion, roughly."""
        ...

    def draw_counts(self, first_tree: int, num_trees: int) -> Int[np.ndarray, "tree row"]:
        """Returns how often every row is drawn by some trees that follow one another."""
        ...


class TreeRows(NamedTuple):
    """The rows of some trees, tree by tree and in ascending order.

    Attributes:
        row: The row.
        tree: The number of the tree, counted from the first of these trees.
        weight: The weight of the row; of one that was drawn how often.
    """

    row: Int32[np.ndarray, " entry"]
    tree: Int32[np.ndarray, " entry"]
    weight: Real[np.ndarray, " entry"]


class BootstrapSampler(NamedTuple):
    """Draws with replacement, see `RowSampler`.

    Attributes:
        seed: Two words of a key.
        num_rows: The number of rows of the table.
        num_draws: The number of draws of a tree.
        cumulative: The cumulative weights of the rows, which are their chances; None if all are the same.
    """

    seed: UInt64[np.ndarray, " two"]
    num_rows: int
    num_draws: int
    cumulative: Float64[np.ndarray, " row"] | None

    def expected_rows(self) -> int:
        """How many different rows a tree draws, on average and rounded up."""
        if self.cumulative is None:
            missed = (1 - 1 / self.num_rows) ** self.num_draws * self.num_rows
        else:
            missed = np.sum((1 - self._shares()) ** self.num_draws)
        return int(np.ceil(self.num_rows - missed))

    def largest_count(self) -> int:
        """A count that no row exceeds, except with a chance of less than one in a billion, roughly."""
        share = 1 / self.num_rows if self.cumulative is None else np.max(self._shares())
        return int(16 + 2 * share * self.num_draws)

    def _shares(self) -> Float64[np.ndarray, " row"]:
        cumulative = present(self.cumulative)
        return np.diff(cumulative, prepend=0.0) / cumulative[-1]

    def draw_counts(self, first_tree: int, num_trees: int) -> Int[np.ndarray, "tree row"]:
        """Returns how often every row is drawn by some trees that follow one another.

        Example:
            >>> counts = make_drawing(jax.random.key(0), num_rows=5, num_draws=8).draw_counts(10, 3)
            >>> counts.shape, counts.sum(axis=1).tolist()
            ((3, 5), [8, 8, 8])
        """
        numbers = random_numbers(self.seed, first_tree, num_trees, self.num_draws)
        # 53 bits of every number: uniform from 0 up to, but without, 1.
        uniform = (numbers >> np.uint64(11)) * 2.0**-53
        if self.cumulative is None:
            row = (uniform * self.num_rows).astype(np.int64)
        else:
            row = np.searchsorted(self.cumulative, uniform * self.cumulative[-1], side="right")
            row = np.minimum(row, self.num_rows - 1)
        row += np.arange(num_trees)[:, None] * self.num_rows
        return np.bincount(row.ravel(), minlength=num_trees * self.num_rows).reshape(num_trees, -1)


class RoundedTarget(NamedTuple):
    """Targets less a constant, as multiples of a power of two.

    Attributes:
        values: The targets less the offset.
        offset: The constant of every output.
    """

    values: Float64[np.ndarray, "output row"]
    offset: Float64[np.ndarray, " output"]


def make_drawing(
    key: PRNGKeyArray, num_rows: int, num_draws: int, weight: Float64[np.ndarray, " row"] | None = None
) -> BootstrapSampler:
    """Returns how rows are drawn with a key, each with a chance in proportion to its weight."""
    cumulative = None if weight is None or np.all(weight == weight[0]) else np.cumsum(weight)
    return BootstrapSampler(seed_of(key), num_rows, num_draws, cumulative)


@compiled(options=options_of_small_programs)
def split_key(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Returns the two keys of `jax.random.split(key)`, in one program."""
    first, second = jax.random.split(key)
    return first, second


def seed_of(key: PRNGKeyArray) -> UInt64[np.ndarray, " two"]:
    """Returns two words of a key, the seed of a stream of random numbers."""
    return np.asarray(_two_words(key)).astype(np.uint64)


@compiled()
def _two_words(key: PRNGKeyArray) -> UInt32[Array, " word"]:
    return jax.random.bits(key, (2,), jnp.uint32)


def random_numbers(
    seed: UInt64[np.ndarray, " two"], first: int, number: int, size: int
) -> UInt64[np.ndarray, "draw number"]:
    """Returns the random numbers of 64 bits of some draws that follow one another; each has its place in one stream.

    Args:
        seed: Two words of a key.
        first: The number of the first draw.
        number: How many draws there are.
        size: Numbers of a draw.
    """
    steps = -(-size // NUMBERS_PER_STEP)
    generator = np.random.Philox(key=seed).advance(first * steps)
    return generator.random_raw(number * steps * NUMBERS_PER_STEP).reshape(number, -1)[:, :size]


def draw_rows(drawing: RowSampler, first_tree: int, num_trees: int) -> TreeRows:
    """Returns the rows drawn by some trees that follow one another, each once and with its count."""
    parts = []
    for first, counts in _counts_in_blocks(drawing, first_tree, num_trees):
        cell = np.flatnonzero(counts)
        tree = np.repeat(np.arange(len(counts), dtype=np.int32), np.count_nonzero(counts, axis=1))
        row = cell.astype(np.int32) - tree * np.int32(drawing.num_rows)
        parts.append((row, first + tree, counts.ravel()[cell].astype(np.int32)))
    return TreeRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _counts_in_blocks(
    drawing: RowSampler, first_tree: int, num_trees: int
) -> Iterator[tuple[int, Int[np.ndarray, "_tree row"]]]:
    """The first tree of every block of trees, and how often these draw every row."""
    step = max(1, CELLS_AT_A_TIME // max(drawing.num_rows, drawing.num_draws))
    for first in range(0, num_trees, step):
        yield first, drawing.draw_counts(first_tree + first, min(step, num_trees - first))


def round_weights(weight: Float64[np.ndarray, " entry"], most: float, num_rows: int) -> Float64[np.ndarray, " entry"]:
    """Returns weights as multiples of one power of two: for up to two million rows 2**-40 of the greatest.

    Args:
        weight: The weights.
        most: The bound of the weights of all trees.
        num_rows: Rows of the table.
    """
    unit = 2.0 ** (int(np.frexp(most)[1]) - (BITS - _bits(max(MOST_ENTRIES, num_rows))))
    return np.round(weight / unit) * unit


def round_targets(
    target: Float64[np.ndarray, "output row"], *, total: int | float, most_count: int, centred: bool
) -> RoundedTarget:
    """Returns targets as multiples of a power of two, so that sums of them are exact in float64, too.

    For a million rows the unit is 2**-32 of half the range of the targets, for a hundred thousand 2**-35 of it.

    Args:
        target: The targets.
        total: The sum of the weights of a tree.
        most_count: The bound of the weights.
        centred: Whether the middle of the range may be taken off.
    """
    low, high = target.min(axis=1), target.max(axis=1)
    offset = low / 2 + high / 2 if centred else np.zeros(len(target))
    size = np.frexp(np.max(np.abs(target - offset[:, None])))[1]
    counts = max(LEAST_DRAWS_BITS, _bits(most_count))
    # A batch is centred anew, by half the range at most and half a unit.
    bits = min(EXACT_BITS - _bits(total), BITS - _bits(max(MOST_ENTRIES, target.shape[1])) - counts - 2)
    unit = np.ldexp(1.0, int(size) - bits)
    return RoundedTarget(np.round((target - offset[:, None]) / unit) * unit, offset)


def restore_sums(
    sums: Float[np.ndarray, "node output"], weight: Real[np.ndarray, " node"], offset: Float64[np.ndarray, " output"]
) -> Float64[np.ndarray, "node output"]:
    """Returns the sums of targets from those of rounded targets."""
    return sums + weight.astype(np.float64)[:, None] * offset


def _bits(number: int | float) -> int:
    """Bits of numbers up to this one."""
    return max(math.ceil(number) - 1, 0).bit_length()


def out_of_bag_means(
    forest: Forest,
    values: Float[np.ndarray, "row feature"],
    node_value: Float[np.ndarray, "node column"],
    drawing: RowSampler,
) -> Float64[np.ndarray, "row column"]:
    """Returns the mean prediction of rows by the trees that have not drawn them; NaN for a row that all have drawn.

    Args:
        forest: The trees, with thresholds in units of the values.
        values: The rows: numbers, or the codes of categories; NaN is a missing value.
        node_value: The values of the nodes of all trees.
        drawing: How the trees drew their rows.

    Example:
        >>> import jax
        >>> from jaxtree import RandomForestRegressor
        >>> from jaxtree.forests.samples import make_drawing
        >>> X, y = np.arange(10.0)[:, None], np.arange(10.0)
        >>> forest = RandomForestRegressor(50, random_state=0).fit(X, y)
        >>> drawing = make_drawing(jax.random.key(0), 10, 10)
        >>> out_of_bag_means(forest.forest_, X, forest.forest_.nodes.target_sum[:, :0], drawing).shape
        (10, 0)
    """
    predictor = Predictor(forest)
    counts = (counts for _, counts in _counts_in_blocks(drawing, 0, len(forest)))
    # Whether every tree has not drawn every row, a bit each.
    unseen: UInt8[np.ndarray, "tree byte"] = np.concatenate([np.packbits(some == 0, axis=1) for some in counts])
    means = np.empty((len(values), node_value.shape[1]))
    for first in range(0, len(values), ROWS_AT_A_TIME):
        rows = values[first : first + ROWS_AT_A_TIME]
        total, num_trees = np.zeros((len(rows), node_value.shape[1])), np.zeros(len(rows), np.int64)
        bits = unseen[:, first // 8 : (first + ROWS_AT_A_TIME) // 8]
        for end, of_tree in zip(predictor.ends_in_trees(rows).T, bits, strict=True):
            unseen_rows = np.flatnonzero(np.unpackbits(of_tree, count=len(rows)))
            total[unseen_rows] += predictor.mean_at(rows[unseen_rows], end[unseen_rows], node_value)
            num_trees[unseen_rows] += 1
        with np.errstate(invalid="ignore"):
            means[first : first + len(rows)] = total / num_trees[:, None]
    return means
