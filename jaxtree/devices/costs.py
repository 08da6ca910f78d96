"""Costs of work on every platform: the figures by which `jaxtree.devices.policy` chooses.

The host's figures were measured on one core of an AMD EPYC with the kernel in C++,
those of a GPU on an NVIDIA H200 without Warp (`benchmarks/results/gpu-2026-11-28.md`). **Those of a TPU were not
measured**: they follow from compiled programs and public rates, for a v5e
(`benchmarks/results/roofline-2026-11-26.md`). Only ratios count, and only by powers of ten.
"""

import enum
import math
from typing import NamedTuple

from jaxtree import buckets


class Kind(enum.StrEnum):
    """Kinds of work, each with rates of its own.

    GROWTH: trees that are grown level by level; a number is a row's code of a feature at a level.
    BOOSTING: rounds of trees; a number is the same, times the scores of a row.
    WALK: rows that walk through trees; a number is a step of a row.
    SHAPLEY: Shapley values; a number is a child of a split at a point of integration, for a row.
    SOFT: steps of gradient descent; a number is the product of a weight and a value.
    """

    GROWTH = enum.auto()
    BOOSTING = enum.auto()
    WALK = enum.auto()
    SHAPLEY = enum.auto()
    SOFT = enum.auto()


class Work(NamedTuple):
    """How much is to be computed.

    Attributes:
        kind: The kind.
        num_steps: Steps that wait for one another, such as the levels of a tree.
        num_numbers: Numbers that are worked on, in all steps.
        num_bytes: Bytes that a device is sent.
        sizes: The sizes for which a program is compiled.
    """

    kind: Kind
    num_steps: float
    num_numbers: float
    num_bytes: float
    sizes: tuple[int, ...]

    def times(self, number: int) -> "Work":
        """Returns as much work as several times this one, on the same table."""
        return self._replace(num_steps=self.num_steps * number, num_numbers=self.num_numbers * number)


class WorkRates(NamedTuple):
    """The time of work of one kind on a platform.

    Attributes:
        start: Seconds to compile its program, once.
        step: Seconds of a step that has hardly any numbers.
        number: Nanoseconds of a number.
    """

    start: float
    step: float
    number: float


HOST = {
    Kind.GROWTH: WorkRates(0.0, 2e-4, 2.5),
    Kind.BOOSTING: WorkRates(0.6, 1.5e-5, 0.25),
    Kind.WALK: WorkRates(0.0, 1e-5, 2.0),
    Kind.SHAPLEY: WorkRates(0.0, 1e-4, 1.0),
    Kind.SOFT: WorkRates(2.7, 2e-4, 0.05),
}
"""The processor, with the kernel in C++; nanoseconds are those of one core."""

WITHOUT_KERNEL = {
    **HOST,
    Kind.GROWTH: WorkRates(4.8, 1e-3, 6.0),
    Kind.BOOSTING: WorkRates(13.0, 1e-3, 6.0),
    Kind.WALK: WorkRates(0.3, 1e-4, 5.0),
    Kind.SHAPLEY: WorkRates(1.0, 1e-3, 9.0),
}
"""The processor without the kernel: XLA's programs."""

GPU = {
    Kind.GROWTH: WorkRates(5.0, 1e-3, 0.2),
    Kind.BOOSTING: WorkRates(8.0, 7e-4, 0.4),
    Kind.WALK: WorkRates(0.4, 1.5e-3, 0.1),
    Kind.SHAPLEY: WorkRates(6.5, 1e-3, 0.002),
    Kind.SOFT: WorkRates(10.0, 1.5e-4, 0.0005),
}
"""An H200. A number of a tree takes .09 ns, of a forest, whose nodes have features of their own, .4 ns."""

TPU = {
    Kind.GROWTH: WorkRates(17.0, 6e-4, 4.0),
    Kind.BOOSTING: WorkRates(48.0, 6e-4, 9.0),
    Kind.WALK: WorkRates(1.0, 2e-4, 0.5),
    Kind.SHAPLEY: WorkRates(8.0, 1e-4, 0.05),
    Kind.SOFT: WorkRates(20.0, 2e-4, 0.001),
}
"""A TPU v5e."""

BYTES_PER_SECOND = 1.8e10
"""From the host's memory to a device's, as measured to an H200."""

CORES_FOR_HALF = {Kind.GROWTH: 16, Kind.BOOSTING: 8, Kind.WALK: 64, Kind.SHAPLEY: 64, Kind.SOFT: 8}
"""Cores of which each does half of what one alone does."""


def growth(
    num_rows: int, num_features: int, *, levels: float, trees: int = 1, features_of_node: int | None = None
) -> Work:
    """Returns the work of growing trees side by side.

    Args:
        num_rows: Rows of a tree.
        num_features: Columns of the table.
        levels: Levels of a tree.
        trees: The trees.
        features_of_node: Columns that a node looks at, if not at all.
    """
    looked_at = num_features if features_of_node is None else features_of_node
    numbers = float(num_rows) * looked_at * levels * trees
    return Work(Kind.GROWTH, levels, numbers, _bytes(num_rows, num_features), _sizes(num_rows, num_features))


def boosting(num_rows: int, num_features: int, *, levels: float, rounds: int, scores: int = 1) -> Work:
    """Returns the work of boosting."""
    numbers = float(num_rows) * num_features * levels * rounds * scores
    sizes = _sizes(num_rows, num_features)
    return Work(Kind.BOOSTING, levels * rounds, numbers, _bytes(num_rows, num_features), sizes)


def additive(num_rows: int, num_features: int, *, passes: int, bags: int) -> Work:
    """Returns the work of additive models: ten steps of every term in a pass, one after another, and readings of rows.

    Steps are small, so that they decide: an accelerator takes longer for them than the kernel.
    """
    numbers = 2.0 * num_rows * num_features * passes * bags
    sizes = _sizes(num_rows, num_features)
    return Work(Kind.BOOSTING, 10.0 * num_features * passes * bags, numbers, _bytes(num_rows, num_features), sizes)


def walk(num_rows: int, num_features: int, *, levels: float, trees: int = 1) -> Work:
    """Returns the work of walking rows of float64 through trees."""
    numbers, num_bytes = float(num_rows) * levels * trees, 8 * _bytes(num_rows, num_features)
    return Work(Kind.WALK, 1.0 + trees * levels / 64, numbers, num_bytes, _sizes(num_rows, num_features))


def shapley(num_rows: int, num_features: int, *, numbers: float) -> Work:
    """Returns the work of Shapley values."""
    return Work(Kind.SHAPLEY, 1.0, numbers, 8 * _bytes(num_rows, num_features), (num_features,))


def soft(num_rows: int, num_features: int, *, nodes: int, steps: int, rows_of_step: int) -> Work:
    """Returns the work of gradient descent: a step has three products of rows and planes."""
    numbers = 3.0 * steps * rows_of_step * nodes * num_features
    return Work(Kind.SOFT, steps, numbers, 4 * _bytes(num_rows, num_features), (num_features, nodes))


def seconds(work: Work, rates: dict[Kind, WorkRates], *, cores: int | None = None) -> tuple[float, float]:
    """Returns the seconds to compile a program for some work, and those of the work.

    Args:
        work: The work.
        rates: The rates of a platform.
        cores: The cores of the host; None for a device, which is sent the table.

    >>> start, warm = seconds(growth(1_000_000, 28, levels=8), HOST, cores=1)
    >>> start, round(warm, 2)
    (0.0, 0.56)
    """
    own = rates[work.kind]
    number = own.number * 1e-9 * work.num_numbers
    if cores is None:
        return own.start, own.step * work.num_steps + number + work.num_bytes / BYTES_PER_SECOND
    half = CORES_FOR_HALF[work.kind]
    return own.start, own.step * work.num_steps + number * (1 + cores / half) / (cores * (1 + 1 / half))


def levels_of(num_rows: int, max_depth: int | None) -> float:
    """Returns how many levels a tree of so many rows is expected to have.

    >>> levels_of(1000, None), levels_of(1000, 3)
    (13.0, 3.0)
    """
    full = math.ceil(1.3 * math.log2(max(num_rows, 2)))
    return float(full if max_depth is None else min(full, max_depth))


def _bytes(num_rows: int, num_features: int) -> float:
    return float(num_rows) * num_features


def _sizes(num_rows: int, num_features: int) -> tuple[int, ...]:
    return buckets.row_bucket(num_rows), buckets.feature_bucket(num_features)
