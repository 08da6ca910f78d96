"""Rows whose values of one column are those of other rows, walked through trees without being made.

A *repeat* is one order of the rows: each takes its value of the column from the row that stands in its place there.
Only splits on the column send such a row another way than its own values do, so its walk begins where the row's own
walk first meets the column, and a row whose walk never does ends where it always does.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float64, Int, Int32, Shaped

from jaxtree.arrays import AnyArray, IntLike, OptionalArray
from jaxtree.buckets import feature_round, node_bucket, row_bucket
from jaxtree.programs import compiled
from jaxtree.tree import Tree
from jaxtree.tree.steps import Steps, next_node, pad_steps, steps_over_values, take
from jaxtree.tree.walking import walk

NUMBERS_ON_CPU = 2**17
"""Numbers of a block's result on a CPU: what a core's own cache holds."""

NUMBERS_ON_ACCELERATOR = 2**26

_LEAST_ROWS, _MOST_ROWS_ON_CPU = 32, 2**12
_NO_COLUMN = -1
_UNMET = -1


class Trees(NamedTuple):
    """The trees of a table, padded to buckets.

    Attributes:
        steps: What is read at the nodes.
        root: The root of every tree.
        depth: The most steps of a walk from there.
        number: How many trees there are.
        column: The column that every feature is made of; None where every column is one feature.
    """

    steps: Steps
    root: Int32[AnyArray, " tree"]
    depth: Int32[AnyArray, " tree"]
    number: IntLike
    column: OptionalArray


class Block(NamedTuple):
    """Rows, and those whose values they take, as the places where rows begin in the values, one row after the other.

    Attributes:
        values: All rows, flat.
        own: Where each row of the block begins.
        other: Where the row begins whose value it takes, in every repeat.
    """

    values: Float64[AnyArray, " value"]
    own: Int[AnyArray, " row"]
    other: Int[AnyArray, "repeat row"]


class Substitution:
    """Walks rows through trees with the values of one column taken from other rows, for many columns at once.

    Args:
        nodes: The table of nodes, on the host and without padding; thresholds in units of the values.
        roots: The roots of its trees, in ascending order, each the first node of its tree.
        column: The column that every feature is made of.
        values: The rows: numbers, or the codes of categories; NaN is a missing value.

    Attributes:
        columns: The columns that splits ask for, in ascending order.
        num_trees: The number of trees.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
        >>> tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1]).tree_
        >>> substitution = Substitution(tree, np.array([0]), np.array([0, 1]), X)
        >>> substitution.columns.tolist()
        [0]
        >>> substitution.ends(np.array([0]), np.array([[3, 2, 1, 0]])).tolist()
        [[[2, 2, 1, 1]]]
    """

    def __init__(
        self,
        nodes: Tree,
        roots: Int[np.ndarray, " tree"],
        column: Int[np.ndarray, " feature"],
        values: Shaped[np.ndarray, "row feature"],
    ):
        self.num_trees = len(roots)
        self._shape = values.shape
        self._has_missing = bool(np.isnan(values).any())
        depths = np.maximum.reduceat(nodes.depth, roots).astype(np.int32)
        self._levels = int((depths * (depths + 1) // 2).sum()), int(depths.sum())
        self.columns = np.unique(column[nodes.feature[~nodes.is_leaf]]).astype(np.int32)
        padding = (0, (1 << (len(roots) - 1).bit_length()) - len(roots))
        trees = Trees(
            steps=pad_steps(steps_over_values(nodes, np.asarray(nodes.threshold, np.float64))),
            root=np.pad(roots.astype(np.int32), padding),
            depth=np.pad(depths, padding),
            number=np.array(len(roots), np.int32),
            column=None if np.array_equal(column, np.arange(column.size)) else column.astype(np.int32),
        )
        rows = np.pad(np.asarray(values, np.float64), ((0, row_bucket(len(values)) - len(values)), (0, 0)))
        with jax.enable_x64(True):
            self._trees, self._values = jax.tree.map(jnp.asarray, (trees, rows.reshape(-1)))

    def ends(
        self, columns: Int[np.ndarray, " column"], orders: Int[np.ndarray, "repeat row"]
    ) -> Int32[np.ndarray, "column repeat row"]:
        """The node of the first tree where every row ends.

        Args:
            columns: The columns whose values are substituted, some of `columns`.
            orders: The rows that they are taken from.
        """
        result = np.empty((len(columns), *orders.shape), np.int32)
        self._fill(result, _ends, columns, orders)
        return result

    def sums(
        self,
        columns: Int[np.ndarray, " column"],
        orders: Int[np.ndarray, "repeat row"],
        of_node: Shaped[np.ndarray, "node output"],
    ) -> Float64[np.ndarray, "column repeat row output"]:
        """The sum, tree after tree, of what stands at the nodes where rows end.

        Args:
            columns: The columns whose values are substituted, some of `columns`.
            orders: The rows that they are taken from.
            of_node: What stands at every node.
        """
        padding = node_bucket(len(of_node)) - len(of_node)
        with jax.enable_x64(True):
            said = jnp.asarray(np.pad(of_node.astype(np.float64), ((0, padding), (0, 0))))
        result = np.empty((len(columns), *orders.shape, of_node.shape[1]))
        self._fill(np.moveaxis(result, 3, 2), partial(_sums, said), columns, orders)
        return result

    def _fill(
        self,
        result: Shaped[np.ndarray, "column repeat *output row"],
        program: Callable[..., Any],
        columns: Int[np.ndarray, " column"],
        orders: Int[np.ndarray, "repeat row"],
    ) -> None:
        """Writes what a program says of all rows, block by block and on a CPU in threads."""
        num_rows, num_features = self._shape
        padded = np.full(feature_round(len(columns)), _NO_COLUMN, np.int32)
        padded[: len(columns)] = columns
        crossings, steps = self._levels
        static = {"by_level": crossings < len(padded) * steps, "has_missing": self._has_missing}
        size = _rows_of_block(result[..., 0].size // len(columns) * len(padded), num_rows)
        whole = np.int32 if self._values.size < 2**31 else np.int64

        def fill_block(first: int) -> None:
            own = np.arange(first, min(first + size, num_rows))
            padding = (0, size - len(own))
            own_place = np.pad(own, padding).astype(whole) * num_features
            other_place = np.pad(orders[:, own], ((0, 0), padding)).astype(whole) * num_features
            with jax.enable_x64(True):
                said = program(self._trees, Block(self._values, own_place, other_place), padded, **static)
            result[..., own] = np.asarray(said)[: len(columns), ..., : len(own)]

        with ThreadPoolExecutor((os.cpu_count() or 1) if _is_cpu() else 1) as pool:
            list(pool.map(fill_block, range(0, num_rows, size)))


@compiled("by_level", "has_missing")
def _ends(
    trees: Trees, block: Block, columns: Int32[AnyArray, " column"], *, by_level: bool, has_missing: bool
) -> Int32[Array, "column repeat row"]:
    """The nodes of the first tree where rows end."""
    return (_ends_by_level if by_level else _ends_by_column)(trees, 0, block, columns, has_missing=has_missing)


@compiled("by_level", "has_missing")
def _sums(
    of_node: Float64[Array, "node output"],
    trees: Trees,
    block: Block,
    columns: Int32[AnyArray, " column"],
    *,
    by_level: bool,
    has_missing: bool,
) -> Float64[Array, "column repeat output row"]:
    """The sums, tree after tree, of what stands where rows end."""
    ends_in_tree = _ends_by_level if by_level else _ends_by_column
    num_repeats, num_rows = block.other.shape

    def add(tree, sums):
        ends = ends_in_tree(trees, tree, block, columns, has_missing=has_missing)
        return sums + jnp.stack([take(said, ends) for said in of_node.T], axis=2)

    zeros = jnp.zeros((len(columns), num_repeats, of_node.shape[1], num_rows))
    return lax.fori_loop(0, trees.number, add, zeros)


def _ends_by_column(
    trees: Trees, tree: IntLike, block: Block, columns: Int32[AnyArray, " column"], *, has_missing: bool
) -> Int32[Array, "column repeat row"]:
    """The nodes of one tree where rows end, each walked from the root once a column."""
    start = jnp.full(block.own.shape, trees.root[tree])

    def walk_column(column):
        there = jnp.broadcast_to(column, start.shape)
        return _walk_substituted(trees, block, there, start, trees.depth[tree], has_missing=has_missing)

    return jax.vmap(walk_column)(jnp.asarray(columns))


def _ends_by_level(
    trees: Trees, tree: IntLike, block: Block, columns: Int32[AnyArray, " column"], *, has_missing: bool
) -> Int32[Array, "column repeat row"]:
    """The nodes of one tree where rows end, each walked once a level of its own path.

    At every level the row's own walk meets one column. With another value of that column the row leaves from there,
    unless it has done so further up.
    """
    depth, columns = trees.depth[tree], jnp.asarray(columns)[:, None]

    def visit(level, carry):
        node, ends = carry
        column = _column(trees, take(trees.steps.feature, node))
        there = _walk_substituted(trees, block, column, node, depth - level, has_missing=has_missing)
        leaves_here = (columns == column) & (ends[:, 0] == _UNMET)
        following = next_node(
            trees.steps, node, lambda feature: take(block.values, block.own + feature), has_missing=has_missing
        )
        return following, jnp.where(leaves_here[:, None], there, ends)

    start = jnp.full(block.own.shape, trees.root[tree]), jnp.full((len(columns), *block.other.shape), _UNMET, jnp.int32)
    node, ends = lax.fori_loop(0, depth, visit, start)
    return jnp.where(ends == _UNMET, node, ends)


def _walk_substituted(
    trees: Trees,
    block: Block,
    column: Int[Array, " row"],
    start: Int32[Array, " row"],
    depth: IntLike,
    *,
    has_missing: bool,
) -> Int32[Array, "repeat row"]:
    """Walks rows from given nodes, once a repeat, that read one column of other rows and all others of their own."""

    def walk_repeat(other):
        def read(feature):
            begin = jnp.where(_column(trees, feature) == column, other, block.own)
            return take(block.values, begin + feature)

        return walk(lambda node: next_node(trees.steps, node, read, has_missing=has_missing), depth, start)

    return jax.vmap(walk_repeat)(jnp.asarray(block.other))


def _column(trees: Trees, feature: Int[Array, " row"]) -> Int[Array, " row"]:
    """The columns that features are made of."""
    return feature if trees.column is None else take(trees.column, feature)


def _rows_of_block(numbers_of_rows: int, num_rows: int) -> int:
    """Rows that are worked on at a time, a power of two.

    Args:
        numbers_of_rows: Numbers in the result of one row.
        num_rows: How many rows there are.
    """
    numbers = NUMBERS_ON_CPU if _is_cpu() else NUMBERS_ON_ACCELERATOR
    most = max(_LEAST_ROWS, numbers // numbers_of_rows)
    if _is_cpu():
        most = min(most, _MOST_ROWS_ON_CPU)
    return min(1 << (most.bit_length() - 1), 1 << max(num_rows - 1, 1).bit_length())


def _is_cpu() -> bool:
    return jax.default_backend() == "cpu"
