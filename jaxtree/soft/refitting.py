"""What the nodes of a hardened tree know of the rows that come to them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int, Real

from jaxtree.errors import InvalidInputError
from jaxtree.soft.deciding import sum_up


class Rows(NamedTuple):
    """The rows that a tree is hardened on.

    Attributes:
        values: Numbers and codes, NaN where one is missing.
        target: The class of every output, or the number.
        weight: Of every row.
        num_classes: The classes of every output; empty for numbers.
    """

    values: Float[np.ndarray, "row value"]
    target: Real[np.ndarray, "row output"]
    weight: Float64[np.ndarray, " row"]
    num_classes: tuple[int, ...]


class Sums(NamedTuple):
    """Of every heap node rows, their weight, the weights of classes or sums of targets, and weight times impurity."""

    num_rows: Int[np.ndarray, " heap"]
    weight: Float64[np.ndarray, " heap"]
    target: Float64[np.ndarray, "heap column"]
    risk: Float64[np.ndarray, " heap"]

    @property
    def impurity(self) -> Float64[np.ndarray, " heap"]:
        """Gini impurity, or the variance; the mean over outputs."""
        return np.divide(self.risk, self.weight, out=np.zeros_like(self.risk), where=self.weight > 0)

    @property
    def mean(self) -> Float64[np.ndarray, "heap column"]:
        """Shares of the classes, or means; of a node without weight those of the node above."""
        mean = np.zeros_like(self.target)
        for node in range(len(mean)):
            has_weight = self.weight[node] > 0
            mean[node] = self.target[node] / self.weight[node] if has_weight else mean[max(node - 1, 0) // 2]
        return mean


def check_rows(rows: Rows, num_outputs: int) -> None:
    """Raises InvalidInputError if rows do not fit one another or the soft tree."""
    num_rows = len(rows.values)
    if not num_rows or len(rows.target) != num_rows or len(rows.weight) != num_rows:
        raise InvalidInputError(
            f"values, target and weight must have as many rows, and one at least, got {num_rows}, {len(rows.target)} "
            f"and {len(rows.weight)}"
        )
    columns = sum(rows.num_classes) if rows.num_classes else rows.target.shape[1]
    if columns != num_outputs or (rows.num_classes and len(rows.num_classes) != rows.target.shape[1]):
        raise InvalidInputError(
            f"the soft tree has {num_outputs} outputs, the target {columns} columns of classes or numbers"
        )


def sums_of_rows(rows: Rows, end: Int[np.ndarray, " row"], num_heap: int) -> Sums:
    """The sums of all heap nodes, given where rows end."""
    columns = columns_of(rows)
    num_rows = np.bincount(end[rows.weight > 0], minlength=num_heap)
    weight = np.bincount(end, rows.weight, minlength=num_heap)
    target = np.zeros((num_heap, columns.shape[1]))
    np.add.at(target, end, columns * rows.weight[:, None])
    square = np.bincount(end, rows.weight * np.square(columns).sum(axis=1), minlength=num_heap)
    packed = sum_up(np.column_stack([num_rows, weight, square, target]))
    weight, target = packed[:, 1], packed[:, 3:]
    mean_square = np.divide(np.square(target).sum(axis=1), weight, out=np.zeros(num_heap), where=weight > 0)
    num_outputs = len(rows.num_classes) or rows.target.shape[1]
    risk = np.maximum(packed[:, 2] - mean_square, 0) / num_outputs
    return Sums(packed[:, 0].astype(np.int64), weight, target, risk)


def columns_of(rows: Rows) -> Float64[np.ndarray, "row column"]:
    """One-hot classes, the outputs side by side, or the targets."""
    if not rows.num_classes:
        return np.asarray(rows.target, np.float64)
    outputs = [np.eye(size)[rows.target[:, number]] for number, size in enumerate(rows.num_classes)]
    return np.concatenate(outputs, axis=1)


def agreement(
    soft: Float[np.ndarray, "row output"],
    hard: Float[np.ndarray, "row output"],
    weight: Float64[np.ndarray, " row"],
    num_classes: tuple[int, ...],
) -> float:
    """The share of rows for which both predict the same class; of numbers, of the variance of `soft` that `hard` has.

    The mean over outputs.
    """
    if not num_classes:
        mean = np.average(soft, axis=0, weights=weight)
        missed = np.average(np.square(soft - hard), axis=0, weights=weight)
        spread = np.average(np.square(soft - mean), axis=0, weights=weight)
        share = np.divide(missed, spread, out=(missed > 0).astype(float), where=spread > 0)
        return float(np.mean(1 - share))
    same, start = [], 0
    for size in num_classes:
        output = slice(start, start + size)
        same.append(soft[:, output].argmax(axis=1) == hard[:, output].argmax(axis=1))
        start += size
    return float(np.average(np.mean(same, axis=0), weights=weight))
