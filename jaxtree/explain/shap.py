"""Shapley values of the columns of a table, for every row and what is predicted of it."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Float64

from jaxtree.explain.edges import Edges, edges_of
from jaxtree.explain.kernel import Rule, sums, sums_against_rows
from jaxtree.export.spoken import Spoken, spoken
from jaxtree.tree import SplitKind

_NUMBERS_OF_BLOCK = 2**16
"""Numbers that the widest level of a block of rows has on a CPU: what its caches hold."""

_NUMBERS_ON_ACCELERATOR = 2**26

_MOST_ROWS = 4096
_LEAST_ROWS = 16


class ShapValues(NamedTuple):
    """Shapley values.

    Attributes:
        values: Of every row and column; of classes also for every class. With `base` they add up to the prediction.
        base: What is predicted of no row in particular.
    """

    values: Float64[np.ndarray, "row column *class"]
    base: Float64[np.ndarray, "*class"]


def shap_values(estimator: Any, X: Any, *, background: Any = None) -> ShapValues:
    r"""Returns the exact Shapley values of what a fitted tree or forest predicts: means, or shares of classes.

    The value of a column is its mean contribution over all orders in which columns become known. What is predicted
    where a column is not known is the mean over the training rows that reach a node (path-dependent TreeSHAP: Lundberg
    et al., *From local explanations to global understanding*, 2020), or over the rows of a background
    (interventional TreeSHAP). A column that is split one-hot is one column. Where a missing value shares out a row
    among branches, it says as much as if it were not known.

    The cost grows with the number of nodes and with half the most columns on a path, and for a background with its
    rows.

    Args:
        estimator: A fitted tree or forest of one output.
        X: A table.
        background: A table of rows to compare with; None for the training rows, as the nodes have counted them.

    Raises:
        InvalidInputError: The estimator has several outputs, or a table is not like the fitted one.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 2.0, 4.0, 6.0]
        >>> explained = shap_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]])
        >>> explained.base.item(), explained.values.tolist()
        (3.0, [[2.0, 1.0]])
    """
    said = spoken(estimator)
    values = _values(estimator, X)
    edges = edges_of(said)
    phi, base = _zeros(said, len(values)), edges.base
    if background is not None:
        others = _values(estimator, background)
        base = np.asarray(_predict(estimator, background), np.float64).reshape(len(others), -1).mean(axis=0)
    if edges.levels and len(values):
        _fill(phi, said, edges, values, None if background is None else others)
    if said.classes is None:
        return ShapValues(phi[:, :, 0], base[0])
    return ShapValues(phi, base)


def _values(estimator: Any, X: Any) -> Float64[np.ndarray, "row feature"]:
    """What thresholds are compared with; float32 stands for the same numbers in float64."""
    return np.asarray(estimator.encoder_.values(X), np.float64)


def _predict(estimator: Any, X: Any) -> Float[np.ndarray, "row *class"]:
    return (estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.predict)(X)


def _zeros(said: Spoken, num_rows: int) -> Float64[np.ndarray, "row column output"]:
    return np.zeros((num_rows, len(said.schema.columns), said.trees[0].shares.shape[1]))


def _fill(
    phi: Float64[np.ndarray, "row column output"],
    said: Spoken,
    edges: Edges,
    values: Float64[np.ndarray, "row feature"],
    background: Float64[np.ndarray, "other feature"] | None,
) -> None:
    """Writes the Shapley values of all rows, block by block and in threads."""
    point, weight = np.polynomial.legendre.leggauss(max(1, -(-edges.most_columns // 2)))
    with jax.enable_x64(True):
        rule = Rule(jnp.asarray((point + 1) / 2), jnp.asarray(weight / 2))
        on_device = jax.tree.map(jnp.asarray, edges)
        others = None if background is None else jnp.asarray(background.T)
    size = _rows_of_block(edges, len(point), len(values))
    factor = 1 / (len(said.trees) * (1 if background is None else len(background)))
    static = {"num_columns": phi.shape[1], "is_plain": _is_plain(edges)}

    def fill_block(first: int) -> None:
        block = values[first : first + size]
        padded = np.pad(block, ((0, size - len(block)), (0, 0))).T
        with jax.enable_x64(True):
            if others is None:
                result = sums(on_device, rule, padded, **static)
            else:
                result = sums_against_rows(on_device, rule, padded, others, **static)
        phi[first : first + size] = np.asarray(result).transpose(2, 0, 1)[: len(block)] * factor

    _in_threads(fill_block, range(0, len(values), size))


def _is_plain(edges: Edges) -> bool:
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
