"""Rows of values walked through the trees of one table of nodes.

Few rows are walked on the host, where a call costs less than that of a program. All others go to JAX in blocks. What a
row gets depends on neither: sums over trees are made tree after tree, in float64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Float64, Int, Int32, Int64

from jaxtree.buckets import node_bucket
from jaxtree.ensemble.blocks import FEW_ROWS, for_blocks, pad_rows, rows_at_a_time
from jaxtree.programs import compiled
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree import Tree
from jaxtree.tree.steps import Steps, next_node, pad_steps, steps_over_values, take
from jaxtree.tree.walking import Step, walk, walk_values, with_step


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


class Walker:
    """Walks rows through the trees of a table.

    Args:
        nodes: The table, on the host and without padding; thresholds in units of the values.
        roots: The roots of its trees, in ascending order, each the first node of its tree.
    """

    def __init__(self, nodes: Tree, roots: Int[np.ndarray, " tree"]):
        self._nodes = nodes
        self._roots = np.asarray(roots, np.int32)
        tree_of_node = np.searchsorted(self._roots, np.arange(nodes.capacity), side="right") - 1
        self._depths = np.zeros(self._roots.size, np.int32)
        np.maximum.at(self._depths, tree_of_node, nodes.depth)
        self._forget()

    def _forget(self) -> None:
        """Lets go of what follows from the table; it is made again where it is needed."""
        self._steps: dict[np.dtype, Steps] = {}
        self._on_device: dict[np.dtype, tuple[Steps, Roots]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: nothing that lies on a device or follows from the rest."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_steps", "_on_device")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what was stored."""
        self.__dict__.update(state)
        self._forget()

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return self._roots.size

    def ends(
        self, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, " row"] | None = None
    ) -> Int64[np.ndarray, " row"]:
        """The node where the walk of every row ends, in one tree.

        Args:
            values: The rows; NaN is a missing value.
            start: Where each begins; at the root of the first tree if not given.
        """
        start = np.full(len(values), self._roots[0]) if start is None else start.astype(np.int32)
        if len(values) <= FEW_ROWS:
            return self._walk_on_the_host(values, np.arange(len(values)), start)
        (steps, _), depth = self._tables(values.dtype), self._depths.max()
        size = rows_at_a_time(1, values.shape[1])
        result = np.empty(len(values), np.int64)

        def walk_block(block: slice) -> None:
            with jax.enable_x64(True):
                end = walk_values(steps, depth, pad_rows(values[block], size), pad_rows(start[block], size))
            result[block] = np.asarray(end)[: block.stop - block.start]

        for_blocks(walk_block, len(values), size)
        return result

    def ends_in_trees(self, values: Float[np.ndarray, "row feature"]) -> Int64[np.ndarray, "row tree"]:
        """The nodes where the walks of every row end, in all trees."""
        if len(values) <= FEW_ROWS:
            return self._walk_trees_on_the_host(values)
        tables, size = self._tables(values.dtype), rows_at_a_time(self.num_trees, values.shape[1])
        result = np.empty((len(values), self.num_trees), np.int64)

        def walk_block(block: slice) -> None:
            with jax.enable_x64(True):
                ends = np.asarray(_walk_trees(*tables, pad_rows(values[block], size)))
            result[block] = ends[: self.num_trees, : block.stop - block.start].T

        for_blocks(walk_block, len(values), size)
        return result

    def sum_over_trees(
        self, values: Float[np.ndarray, "row feature"], of_node: Float[np.ndarray, "node column"]
    ) -> Float64[np.ndarray, "row column"]:
        """The sum over trees of what stands at the node where a row's walk ends."""
        result = np.zeros((len(values), of_node.shape[1]))
        if len(values) <= FEW_ROWS:
            for end in self._walk_trees_on_the_host(values).T:
                result += of_node[end]
            return result
        tables, size = self._tables(values.dtype), rows_at_a_time(self.num_trees, values.shape[1])
        padding = node_bucket(len(of_node)) - len(of_node)
        with jax.enable_x64(True):
            said = jnp.asarray(np.pad(of_node.astype(np.float64), ((0, padding), (0, 0))))

        def sum_block(block: slice) -> None:
            with jax.enable_x64(True):
                sums = np.asarray(_sum_over_trees(*tables, said, pad_rows(values[block], size)))
            result[block] = sums[: block.stop - block.start]

        for_blocks(sum_block, len(values), size)
        return result

    def _walk_trees_on_the_host(self, values: Float[np.ndarray, "row feature"]) -> Int64[np.ndarray, "row tree"]:
        row = np.repeat(np.arange(len(values)), self.num_trees)
        return self._walk_on_the_host(values, row, np.tile(self._roots, len(values))).reshape(-1, self.num_trees)

    def _walk_on_the_host(
        self, values: Float[np.ndarray, "row feature"], row: Int[np.ndarray, " walk"], node: Int[np.ndarray, " walk"]
    ) -> Int64[np.ndarray, " walk"]:
        """Where walks of some rows from some nodes end."""
        steps, has_missing = self._host_steps(values.dtype), bool(np.isnan(values).any())
        for _ in range(self._depths.max()):
            node = next_node(steps, node, lambda feature: values[row, feature], has_missing=has_missing)
        return node.astype(np.int64)

    def _host_steps(self, dtype: np.dtype) -> Steps:
        if dtype not in self._steps:
            double = self._nodes.threshold
            threshold = round_down_to_float32(double) if dtype == np.float32 else double
            self._steps[dtype] = steps_over_values(self._nodes, threshold)
        return self._steps[dtype]

    def _tables(self, dtype: np.dtype) -> tuple[Steps, Roots]:
        """What programs read, where it stays between calls."""
        if dtype not in self._on_device:
            steps = pad_steps(self._host_steps(dtype))
            padding = _tree_bucket(self.num_trees) - self.num_trees
            number = np.array(self.num_trees, np.int32)
            roots = Roots(np.pad(self._roots, (0, padding)), np.pad(self._depths, (0, padding)), number)
            with jax.enable_x64(True):
                self._on_device[dtype] = jax.tree.map(jnp.asarray, (steps, roots))
        return self._on_device[dtype]


@compiled()
def _walk_trees(steps: Steps, roots: Roots, values: Float[Array, "row feature"]) -> Int32[Array, "tree row"]:
    """The nodes where rows end, tree by tree."""
    ends = jnp.zeros((roots.node.shape[0], values.shape[0]), jnp.int32)

    def walk_trees(step):
        return _for_trees(lambda tree, end, ends: ends.at[tree].set(end), step, roots, len(values), ends)

    return with_step(steps, values, walk_trees)


@compiled()
def _sum_over_trees(
    steps: Steps, roots: Roots, of_node: Float64[Array, "node column"], values: Float[Array, "row feature"]
) -> Float64[Array, "row column"]:
    """The sum, tree by tree, of what stands where rows end."""
    sums = jnp.zeros((values.shape[0], of_node.shape[1]))

    def sum_trees(step):
        return _for_trees(lambda _, end, sums: sums + take(of_node, end), step, roots, len(values), sums)

    return with_step(steps, values, sum_trees)


def _for_trees(
    use: Callable[[Array, Array, Array], Array], step: Step, roots: Roots, num_rows: int, carry: Array
) -> Array:
    """Calls a function with every tree and the nodes where the rows end in it, one tree after the other."""

    def walk_tree(tree, carry):
        start = jnp.full(num_rows, roots.node[tree])
        return use(tree, walk(step, roots.depth[tree], start), carry)

    return lax.fori_loop(0, roots.number, walk_tree, carry)


def _tree_bucket(num_trees: int) -> int:
    """Trees rounded up to a power of two."""
    return 1 << (num_trees - 1).bit_length()
