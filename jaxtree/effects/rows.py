"""The rows that an effect is estimated from: their weights, and clusters, which are drawn independently of each other.

A standard error that is robust to clusters squares the sums over clusters in place of single rows.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.dataset.arguments import numbers_of_groups
from jaxtree.errors import InvalidInputError
from jaxtree.lazy import scipy_special
from jaxtree.metrics.survival import numbers_of_rows
from jaxtree.table.weights import check_sample_weight


class IndependentRows(NamedTuple):
    """The rows of some weight, and their clusters.

    Attributes:
        is_in: Whether a row has some weight.
        weight: The weight of every row that has some.
        cluster: The number of the cluster of every such row, from 0, without gaps.
        are_clustered: Whether clusters were given; if not, every row is one.
    """

    is_in: Bool[np.ndarray, " given"]
    weight: Float[np.ndarray, " row"]
    cluster: Int[np.ndarray, " row"]
    are_clustered: bool

    @property
    def num_clusters(self) -> int:
        """The number of clusters that have a row of some weight."""
        return int(self.cluster.max()) + 1

    def sums(self, values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " cluster"]:
        """Returns the sums over clusters."""
        return np.bincount(self.cluster, values, self.num_clusters) if self.are_clustered else values

    def mean(self, values: Float[np.ndarray, " row"]) -> float:
        """Returns the weighted mean."""
        return float(self.weight @ values / self.weight.sum())

    def standard_error(self, influence: Float[np.ndarray, " row"]) -> float:
        r"""Returns $\sqrt{G / (G - 1) \sum_g (\sum_{i \in g} \psi_i)^2}$ of influences that add up to 0.

        Args:
            influence: The part of every row in the estimate, $\psi_i$.
        """
        number = self.num_clusters
        return float(np.sqrt(number / (number - 1) * np.square(self.sums(influence)).sum()))

    def in_words(self) -> str:
        """Returns how many rows and clusters there are."""
        words = f"{len(self.weight):,} rows"
        return f"{words} in {self.num_clusters:,} clusters" if self.are_clustered else words


def read_units(num_rows: int, sample_weight: Any = None, clusters: Any = None) -> IndependentRows:
    """Reads weights and clusters.

    Args:
        num_rows: The number of rows.
        sample_weight: The weight of every row, at least 0; 1 if not given.
        clusters: The cluster of every row; every row is one of its own if not given.

    Raises:
        InvalidInputError: An argument has another number of rows, a value is missing or not allowed, or fewer than two
            clusters have some weight.

    >>> units = read_units(4, [1, 0, 2, 1], ["a", "a", "b", "b"])
    >>> units.cluster.tolist(), units.num_clusters
    ([0, 1, 1], 2)
    """
    weight = check_sample_weight(sample_weight, num_rows)
    weight = np.ones(num_rows) if weight is None else weight
    is_in = weight > 0
    if clusters is None:
        cluster = np.arange(int(is_in.sum()))
    else:
        numbers = numbers_of_groups("clusters", clusters)
        if numbers.shape != (num_rows,) or np.ndim(clusters) != 1:
            raise InvalidInputError(f"clusters must have a name for each of {num_rows} rows, got {np.shape(clusters)}")
        cluster = np.unique(numbers[is_in], return_inverse=True)[1].reshape(-1)
    if len(cluster) == 0 or cluster.max() < 1:
        words = "one row" if clusters is None else "one cluster"
        raise InvalidInputError(f"a standard error needs two rows or clusters of some weight at least, got {words}")
    return IndependentRows(is_in, weight[is_in], cluster, clusters is not None)


def read_columns(**columns: Any) -> dict[str, Float[np.ndarray, " row"]]:
    """Reads numbers of rows by name, all of the length of the first.

    Raises:
        InvalidInputError: One has another length, or a number that is missing or infinite; the message names it.

    >>> read_columns(y=[1, 2], y_hat=[1.5, 1.5])["y_hat"]
    array([1.5, 1.5])
    """
    read: dict[str, Float[np.ndarray, " row"]] = {}
    for name, given in columns.items():
        first = next(iter(read.values()), None)
        read[name] = numbers_of_rows(name, given, None if first is None else len(first))
    return read


def two_sided(t: Float[np.ndarray, " number"], freedom: float) -> Float[np.ndarray, " number"]:
    """Returns the chance of a number of Student's distribution that is as far from 0.

    >>> two_sided(np.array([0.0, 12.706]), 1).round(3).tolist()
    [1.0, 0.05]
    """
    return 2 * scipy_special.stdtr(freedom, -np.abs(t))


def half_width(standard_error: float, coverage: float, freedom: float) -> float:
    """Returns half the width of an interval around an estimate, by Student's distribution.

    Raises:
        InvalidInputError: The coverage is not above 0 and below 1.

    >>> round(half_width(2.0, 0.95, 1e9), 3)
    3.92
    """
    if not 0 < coverage < 1:
        raise InvalidInputError(f"coverage must be above 0 and below 1, got {coverage}")
    return float(scipy_special.stdtrit(freedom, (1 + coverage) / 2) * standard_error)


def ratio(numerator: Any, denominator: Any) -> Any:
    """Returns `numerator / denominator`: infinite, or NaN, where the denominator is 0, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator, np.float64) / np.asarray(denominator, np.float64)
