"""Rows of values walked through the trees of a forest, and predicted by the nodes where they end.

The kernel in C++ walks them on a CPU through trees of thresholds. Without it, few rows are walked on the host, where a
call costs less than that of a program, and all others go to JAX in blocks; where JAX cannot compute (`jaxtree.forks`),
all are walked on the host. A row's prediction depends on none of this: sums over trees are made tree after tree, in
float64.

A row whose value is missing may be shared out among all branches of a node. Its parts, *fractional instances*, end in
several leaves, each with a weight, and the row is predicted by their weighted mean (Quinlan, *C4.5*, 1993, chapter 3).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int, Int32, Int64

from jaxtree import forks
from jaxtree.arrays import Device
from jaxtree.blocks import blocks_of, for_blocks
from jaxtree.buckets import pad_to, row_bucket
from jaxtree.compilation import compiled
from jaxtree.devices import costs, current_platform, default_device, placed
from jaxtree.devices.costs import Work
from jaxtree.kernels import choose
from jaxtree.kernels.native_walk import BagSums, Counts, NativeTrees
from jaxtree.kernels.walk import Step, Steps, next_node, take, walk, with_step
from jaxtree.lazy import Array, jax, jnp, lax
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import ALL_BRANCHES, children_of, pad_to_bucket
from jaxtree.tree.tree import Tree
from jaxtree.tree.walk import steps_over_values, walk_values

FEW_ROWS = 512
"""Rows up to which NumPy on the host is faster than the call of a program, which pads them to 2048."""

MANY_TREES = 8
"""Trees from which on a block is read so often that it pays to make it small."""

ROWS_FOR_FEW_TREES = 2**15
"""Rows of a call on CPU: long enough that calls cost little, and short enough for the processor's cache."""

ROWS_FOR_MANY_TREES = 2**12
"""Rows of a call on CPU whose values, and places in a tree, stay in a core's own cache."""

ROWS_ON_ACCELERATOR = 2**20
"""Rows of a call elsewhere, where every call has its price."""

ROWS_OF_BAGS = 2**11
"""Rows whose scores in bags are made in one go without the kernel."""

VALUES_ON_CPU = 2**21
"""Values of a call at most, which bounds the memory of wide tables."""

VALUES_ON_ACCELERATOR = 2**28
"""Values of a call elsewhere."""


class Instances(NamedTuple):
    """Rows, or fractional instances of them, with the nodes where they end and the weight of each in its row."""

    row: Int[np.ndarray, " instance"]
    node: Int[np.ndarray, " instance"]
    weight: Float[np.ndarray, " instance"]


class Roots(NamedTuple):
    """The trees of a table, padded to a bucket.

    Attributes:
        node: The root of every tree.
        depth: The most steps of a walk from there.
        number: How many trees there are.
    """

    node: Any
    depth: Any
    number: Any


def _in_its_place(walk: Callable) -> Callable:
    """Decorates what walks rows through trees: it runs on the device that should finish first (`jaxtree.devices`)."""

    @functools.wraps(walk)
    def placed_walk(self: Any, values: Any, *more: Any) -> Any:
        with placed(None, lambda: self.work_of(*values.shape)):
            return walk(self, values, *more)

    return placed_walk


class Predictor:
    """Predicts rows by the trees of a table.

    Args:
        trees: A forest, or a single tree without padding; thresholds are in units of the values.

    Attributes:
        num_trees: The number of trees.
        shares_out: The nodes at which a missing value goes to all branches. A row without a branch stays at others.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.tree.forest import join_trees
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, 5.0]).tree_
        >>> predictor, rows = Predictor(join_trees([tree, tree])), np.array([[0.0], [9.0]])
        >>> predictor.ends_in_trees(rows).tolist(), tree.num_nodes.item()
        ([[3, 8], [2, 7]], 5)
        >>> predictor.mean(rows, np.concatenate([tree.target_sum, 3 * tree.target_sum])).tolist()
        [[0.0], [10.0]]
    """

    def __init__(self, trees: Forest | Tree):
        forest = Forest.of(trees) if isinstance(trees, Tree) else trees
        self._forest, self._nodes = forest, forest.nodes
        self._roots = forest.first_node[:-1].astype(np.int32)
        self._depths = np.maximum.reduceat(forest.nodes.depth, self._roots)
        self.num_trees = len(forest)
        self.shares_out = ~forest.nodes.is_leaf & (forest.nodes.missing_branch == ALL_BRANCHES)
        self._shares_any = bool(self.shares_out.any())
        self._steps: dict[np.dtype, Steps] = {}
        self._native: dict[np.dtype, NativeTrees] = {}
        self._on_device: dict[tuple[np.dtype, Device], tuple[Steps, Roots]] = {}

    def __reduce__(self) -> tuple[type, tuple[Forest]]:
        """Stores the trees alone: nothing that lies on a device or follows from them."""
        return type(self), (self._forest,)

    @_in_its_place
    def ends(
        self, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, " row"] | None = None
    ) -> Int64[np.ndarray, " row"]:
        """The node where the walk of every row ends, in one tree.

        Args:
            values: The rows: numbers, or the codes of categories; NaN is a missing value.
            start: Where each begins; at the root of the first tree if not given.
        """
        if self._is_for_the_kernel(values) and (start is None or self._shares_any):
            begin = None if start is None else start.astype(np.int32)
            return self._native_trees(values.dtype).ends(values, begin)[:, 0]
        start = np.full(len(values), self._roots[0]) if start is None else start.astype(np.int32)
        if _is_for_the_host(values):
            return self._walk_on_the_host(values, start[:, None])[:, 0]
        (steps, _), depth = self._tables(values.dtype), self._depths.max()

        def walk_block(rows, start):
            return walk_values(steps, depth, rows, start)

        return _in_blocks(walk_block, 1, np.empty(len(values), np.int64), values, start)

    @_in_its_place
    def ends_in_trees(self, values: Float[np.ndarray, "row feature"]) -> Int64[np.ndarray, "row tree"]:
        """The nodes where the walks of every row end, in all trees."""
        if self._is_for_the_kernel(values):
            return self._native_trees(values.dtype).ends(values)
        if _is_for_the_host(values):
            return self._walk_on_the_host(values, np.broadcast_to(self._roots, (len(values), self.num_trees)))
        tables = self._tables(values.dtype)
        result = np.empty((len(values), self.num_trees), np.int64)

        def walk_block(rows):
            return np.asarray(_walk_trees(*tables, rows))[: self.num_trees].T

        return _in_blocks(walk_block, self.num_trees, result, values)

    @_in_its_place
    def mean(
        self, values: Float[np.ndarray, "row feature"], node_value: Float[np.ndarray, "node column"]
    ) -> Float64[np.ndarray, "row column"]:
        """The mean over the trees of the values of the nodes where a row ends.

        Trees are added one after the other in float64, so that a row's mean does not depend on other rows, nor on the
        device. No array holds the ends of all rows in all trees.

        Args:
            values: The rows.
            node_value: The values of the nodes of all trees.
        """
        if self.num_trees == 1:
            return self.mean_at(values, self.ends(values), node_value)
        if self._is_for_the_kernel(values) and not self._shares_any:
            return self._native_trees(values.dtype).means(values, node_value)
        total = np.zeros((len(values), node_value.shape[1]))
        if not (_is_for_the_host(values) or self._shares_any):
            tables = self._tables(values.dtype)
            with jax.enable_x64(True):
                padded = jnp.asarray(pad_to_bucket(node_value.astype(np.float64)))
            _in_blocks(lambda rows: sum_over_trees(*tables, padded, rows), self.num_trees, total, values)
            return total / self.num_trees
        for block in blocks_of(len(values), rows_at_a_time(self.num_trees, values.shape[1])):
            for end in self.ends_in_trees(values[block]).T:
                total[block] += self.mean_at(values[block], end, node_value)
        return total / self.num_trees

    @_in_its_place
    def masked_mean(
        self, values: Float[np.ndarray, "row feature"], node_value: Float64[np.ndarray, "node column"], counts: Counts
    ) -> Float64[np.ndarray, "row column"]:
        """The mean over the trees that count for a row of the values of the nodes where it ends; NaN without any.

        Args:
            values: The rows.
            node_value: The values of the nodes of all trees.
            counts: The trees that count.

        Example:
            >>> from jaxtree import DecisionTreeRegressor
            >>> from jaxtree.tree.forest import join_trees
            >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0]).tree_
            >>> predictor, value = Predictor(join_trees([tree, tree])), np.concatenate([tree.target_sum] * 2)
            >>> counts = Counts(np.array([[True, False], [False, False]]), np.arange(2, dtype=np.int32))
            >>> predictor.masked_mean(np.array([[2.0], [2.0]]), value, counts).tolist()
            [[1.0], [nan]]
        """
        if self._is_for_the_kernel(values):
            return self._native_trees(values.dtype).means(values, node_value, counts)
        means = np.empty((len(values), node_value.shape[1]))

        def fill_block(block: slice) -> None:
            total, number = np.zeros_like(means[block]), np.zeros(len(means[block]))
            for tree, end in enumerate(self.ends_in_trees(values[block]).T):
                is_counted = counts.of_tree(tree)[block]
                total += np.where(is_counted[:, None], node_value.take(end, axis=0), 0.0)
                number += is_counted
            with np.errstate(invalid="ignore"):
                means[block] = total / number[:, None]

        for_blocks(fill_block, len(values), ROWS_OF_BAGS)
        return means

    @_in_its_place
    def bag_sums(
        self,
        values: Float[np.ndarray, "row feature"],
        node_value: Float64[np.ndarray, "node column"],
        coefficients: Float64[np.ndarray, "effect channel row"],
        bag_size: int,
        counts: Counts | None = None,
    ) -> BagSums:
        """Returns how scores spread in bags of trees that follow one another, and between bags.

        A *score* of a tree at a row is coefficient 0, and the next ones times the values of the node where the row
        ends, added up in this order. Trees of a last bag that is not full have no part.

        Args:
            values: The rows.
            node_value: The values of the nodes of all trees.
            coefficients: The coefficients of every row.
            bag_size: The trees of a bag.
            counts: The trees that count; all if not given. A bag counts for a row if all of its trees do.

        Example:
            >>> from jaxtree import DecisionTreeRegressor
            >>> from jaxtree.tree.forest import join_trees
            >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0]).tree_
            >>> predictor, value = Predictor(join_trees([tree, tree])), np.concatenate([tree.target_sum] * 2)
            >>> predictor.bag_sums(np.array([[2.0]]), value, np.array([[[1.0], [3.0]]]), 2)  # scores are 4
            BagSums(between=array([[16.]]), within=array([[0.]]), num_bags=array([1]))
        """
        if self._is_for_the_kernel(values):
            return self._native_trees(values.dtype).bag_sums(values, node_value, coefficients, bag_size, counts)
        shape = len(coefficients), len(values)
        sums = BagSums(np.zeros(shape), np.zeros(shape), np.zeros(len(values), np.int64))

        def fill_block(block: slice) -> None:
            ends, own = self.ends_in_trees(values[block]), coefficients[:, :, block]
            for first in range(0, self.num_trees - bag_size + 1, bag_size):
                total, squares = np.zeros((2, *sums.between[:, block].shape))
                is_used = np.ones(len(ends), bool)
                for tree in range(first, first + bag_size):
                    score = own[:, 0].copy()
                    for channel, column in enumerate(node_value.take(ends[:, tree], axis=0).T, 1):
                        score += own[:, channel] * column
                    total += score
                    squares += score * score
                    if counts is not None:
                        is_used &= counts.of_tree(tree)[block]
                mean = total / bag_size
                sums.between[:, block] += np.where(is_used, mean * mean, 0.0)
                sums.within[:, block] += np.where(is_used, squares / bag_size - mean * mean, 0.0)
                sums.num_bags[block] += is_used

        for_blocks(fill_block, len(values), ROWS_OF_BAGS)
        return sums

    def mean_at(
        self,
        values: Float[np.ndarray, "row feature"],
        end: Int[np.ndarray, " row"],
        node_value: Float[np.ndarray, "node column"],
    ) -> Float[np.ndarray, "row column"]:
        """The values of the nodes where walks of one tree end; the mean of its fractional instances for a row of such.

        Args:
            values: The rows.
            end: Where their walks end.
            node_value: The values of the nodes.
        """
        result = node_value.take(end, axis=0)
        if self._shares_any:
            held = self.rows_to_share(end)
            parts = self._share_out(values[held], end[held])
            result[held] = 0
            np.add.at(result, held[parts.row], parts.weight[:, None] * node_value[parts.node])
        return result

    def rows_to_share(self, end: Int[np.ndarray, " row"]) -> Int[np.ndarray, " held"]:
        """The rows to be shared out, of those whose walks end at `end`."""
        return np.flatnonzero(self.shares_out[end])

    def instances(self, values: Float[np.ndarray, "row feature"]) -> Instances:
        """Returns where rows end in a single tree, or their fractional instances."""
        return self._share_out(values, self.ends(values))

    def _share_out(self, values: Float[np.ndarray, "row feature"], end: Int[np.ndarray, " row"]) -> Instances:
        """Rows whose walks end at `end`, or the fractional instances of those that are held up there."""
        parts, arrived = Instances(np.arange(len(end)), end, np.ones(len(end))), []
        while parts.row.size or not arrived:
            is_held = self.shares_out[parts.node]
            arrived.append(Instances(*(part[~is_held] for part in parts)))
            parts = self._to_children(Instances(*(part[is_held] for part in parts)))
            parts = parts._replace(node=self.ends(values[parts.row], parts.node))
        return Instances(*(np.concatenate(columns) for columns in zip(*arrived, strict=True)))

    def _to_children(self, held: Instances) -> Instances:
        """A part for every child, weighted by the child's share of the training weight."""
        num_children = self._nodes.num_children[held.node]
        source = np.repeat(np.arange(held.row.size), num_children)
        child = children_of(self._nodes, held.node)
        weight = np.asarray(self._nodes.weight, np.float64)[child]
        whole = np.bincount(source, weight, minlength=held.row.size)
        share = held.weight[source] * weight / whole[source]
        some = share > 0
        return Instances(held.row[source[some]], child[some], share[some])

    def work_of(self, num_rows: int, num_features: int) -> Work:
        """Returns how much is done to walk rows through all trees."""
        return costs.walk(num_rows, num_features, levels=float(self._depths.mean()), trees=self.num_trees)

    def _walk_on_the_host(
        self, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, "row walk"]
    ) -> Int64[np.ndarray, "row walk"]:
        """Returns the nodes at which the walks of every row from some nodes end."""
        steps, has_missing = self._host_steps(values.dtype), bool(np.isnan(values).any())
        ends, num_walks = np.empty(start.shape, np.int64), start.shape[1]

        def walk_block(block: slice) -> None:
            rows, node = values[block], start[block].reshape(-1)
            row = np.repeat(np.arange(len(rows)), num_walks)
            for _ in range(self._depths.max()):
                node = next_node(steps, node, lambda feature: rows[row, feature], has_missing=has_missing)
            ends[block] = node.reshape(-1, num_walks)

        for_blocks(walk_block, len(values), max(FEW_ROWS, ROWS_FOR_FEW_TREES // num_walks))
        return ends

    def _host_steps(self, dtype: np.dtype) -> Steps:
        if dtype not in self._steps:
            double = self._nodes.threshold
            threshold = round_down_to_float32(double) if dtype == np.float32 else double
            self._steps[dtype] = steps_over_values(self._nodes, threshold)
        return self._steps[dtype]

    def _is_for_the_kernel(self, values: Float[np.ndarray, "row feature"]) -> bool:
        """Whether the kernel walks these rows; many rows are for an accelerator, if JAX has one."""
        return (len(values) <= FEW_ROWS or current_platform() == "cpu") and choose.is_there()

    def _native_trees(self, dtype: np.dtype) -> NativeTrees:
        if dtype not in self._native:
            self._native[dtype] = NativeTrees(self._host_steps(dtype), self._forest.first_node, self._depths)
        return self._native[dtype]

    def _tables(self, dtype: np.dtype) -> tuple[Steps, Roots]:
        """The tables that programs read, which stay on the device between calls."""
        place = dtype, default_device()
        if place not in self._on_device:
            steps, size = jax.tree.map(pad_to_bucket, self._host_steps(dtype)), 1 << (self.num_trees - 1).bit_length()
            roots = Roots(pad_to(self._roots, size), pad_to(self._depths, size), np.array(self.num_trees, np.int32))
            with jax.enable_x64(True):
                self._on_device[place] = jax.tree.map(jnp.asarray, (steps, roots))
        return self._on_device[place]


def _is_for_the_host(values: Float[np.ndarray, "row feature"]) -> bool:
    """Whether NumPy walks these rows, if the kernel does not."""
    return len(values) <= FEW_ROWS or forks.is_on_host()


def rows_at_a_time(num_trees: int, num_features: int) -> int:
    """Returns how many rows are walked through some trees in one call, by the numbers of trees and features.

    >>> rows_at_a_time(1, 28), rows_at_a_time(100, 28), rows_at_a_time(1, 10_000)
    (32768, 4096, 128)
    """
    most, rows = VALUES_ON_ACCELERATOR, ROWS_ON_ACCELERATOR
    if current_platform() == "cpu":
        most, rows = VALUES_ON_CPU, ROWS_FOR_MANY_TREES if num_trees >= MANY_TREES else ROWS_FOR_FEW_TREES
    return min(rows, 1 << max(most // num_features, 1).bit_length() - 1)


def _in_blocks(
    program: Callable, num_trees: int, result: np.ndarray, values: np.ndarray, *more: np.ndarray
) -> np.ndarray:
    """Writes the results of a program for the rows, block by block."""
    size = rows_at_a_time(num_trees, values.shape[1])

    def fill_block(block: slice) -> None:
        # Tables of a like length share a program.
        padded = min(row_bucket(block.stop - block.start), size)
        with jax.enable_x64(True):
            made = np.asarray(program(*(pad_to(rows[block], padded) for rows in (values, *more))))
        result[block] = made[: block.stop - block.start]

    for_blocks(fill_block, len(values), size)
    return result


@compiled()
def _walk_trees(steps: Steps, roots: Roots, values: Float[Array, "row feature"]) -> Int32[Array, "tree row"]:
    """The nodes where rows end, tree by tree."""
    ends = jnp.zeros((roots.node.shape[0], values.shape[0]), jnp.int32)

    def walk_trees(step):
        return for_trees(lambda tree, end, ends: ends.at[tree].set(end), step, roots, values.shape[0], ends)

    return with_step(steps, values, walk_trees)


@compiled()
def sum_over_trees(
    steps: Steps, roots: Roots, node_value: Float[Array, "node column"], values: Float[Array, "row feature"]
) -> Float[Array, "row column"]:
    """The sum, tree by tree, of the values of the nodes where rows end."""
    sums = jnp.zeros((values.shape[0], node_value.shape[1]), node_value.dtype)

    def sum_trees(step):
        return for_trees(lambda _, end, sums: sums + take(node_value, end), step, roots, values.shape[0], sums)

    return with_step(steps, values, sum_trees)


def for_trees(
    use: Callable[[Array, Array, Array], Array], step: Step, roots: Roots, num_rows: Any, carry: Array
) -> Array:
    """Calls a function with every tree and the nodes where the rows end in it, one tree after the other.

    The number of rows may be a symbol, in a program for any number. A number of trees that is not traced makes a loop
    that can be differentiated.
    """

    def walk_tree(tree, carry):
        start = jnp.full(num_rows, roots.node[tree])
        return use(tree, walk(step, roots.depth[tree], start), carry)

    return lax.fori_loop(0, roots.number, walk_tree, carry)
