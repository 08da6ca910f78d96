"""Rows in blocks of one shape: a program of edges, a rule and rows is called with all of them, in threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from jaxtree.explain.edges import Edges
from jaxtree.explain.kernel import Rule
from jaxtree.tree import SplitKind

_NUMBERS_OF_BLOCK = 2**16
"""Numbers that the widest level of a block of rows has on a CPU: what its caches hold."""

_NUMBERS_ON_ACCELERATOR = 2**26

_MOST_ROWS = 4096
_LEAST_ROWS = 16


def values_of(estimator: Any, X: Any) -> Float64[np.ndarray, "row feature"]:
    """What thresholds are compared with; float32 stands for the same numbers in float64."""
    return np.asarray(estimator.encoder_.values(X), np.float64)


def fill(
    result: Float64[np.ndarray, "row *column output"],
    program: Callable[..., Float64[Any, "*column output row"]],
    edges: Edges,
    values: Float64[np.ndarray, "row feature"],
    factor: float,
    *,
    numbers_an_edge: int = 1,
) -> None:
    """Writes what a program says of all rows, block by block and in threads.

    Args:
        result: Where to write.
        program: A function of the edges, the rule and some rows.
        edges: The trees.
        values: The rows.
        factor: What the program's sums are multiplied with.
        numbers_an_edge: How many numbers of every row, point and output the program holds for an edge.
    """
    point, weight = np.polynomial.legendre.leggauss(max(1, -(-edges.most_columns // 2)))
    with jax.enable_x64(True):
        rule = Rule(jnp.asarray((point + 1) / 2), jnp.asarray(weight / 2))
        on_device = jax.tree.map(jnp.asarray, edges)
    size = _rows_of_block(edges, len(point) * numbers_an_edge, len(values))

    def fill_block(first: int) -> None:
        block = values[first : first + size]
        padded = np.pad(block, ((0, size - len(block)), (0, 0))).T
        with jax.enable_x64(True):
            sums = np.asarray(program(on_device, rule, padded))
        result[first : first + size] = np.moveaxis(sums, -1, 0)[: len(block)] * factor

    _in_threads(fill_block, range(0, len(values), size))


def is_plain(edges: Edges) -> bool:
    """Whether all splits are thresholds that send a missing value to a branch."""
    splits = edges.splits
    return bool((splits.kind == SplitKind.THRESHOLD).all() and (splits.missing_branch <= 1).all())


def _rows_of_block(edges: Edges, num_points: int, num_rows: int) -> int:
    """Rows that are worked on at a time, a power of two."""
    widest = max(level.parent.shape[1] for level in edges.levels) * num_points * edges.base.size
    numbers = _NUMBERS_OF_BLOCK if jax.default_backend() == "cpu" else _NUMBERS_ON_ACCELERATOR
    most = min(_MOST_ROWS, max(_LEAST_ROWS, numbers // widest))
    return min(1 << (most.bit_length() - 1), 1 << max(num_rows - 1, 1).bit_length())


def _in_threads(work: Callable[[int], None], items: range) -> None:
    """Calls a function with every item; on a CPU in as many threads as there are cores."""
    if jax.default_backend() != "cpu" or len(items) < 2:
        for item in items:
            work(item)
        return
    work(items[0])  # compiles
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, items[1:]))
