"""Bins of numbers as a pure function: edges from one table, codes of others, under `jit`, `vmap` and `scan`."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Real, UInt

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.checks import MOST_BINS, check_number


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BinEdges:
    """The edges of the bins of every feature, a pytree; a call turns numbers into codes.

    Attributes:
        edge: The edges of every feature, ascending; infinite behind its last one. Bin b holds the numbers above edge
            b - 1 and up to edge b.

    Example:
        >>> BinEdges(jnp.array([[1.5, 2.5]]))(jnp.array([[1.0], [2.5], [9.0], [jnp.nan]])).tolist()
        [[0, 1, 2, 3]]
    """

    edge: Float[AnyArray, "*batch feature edge"]

    @property
    def num_bins(self) -> int:
        """The number of bins, which is also the code of a missing value."""
        return self.edge.shape[-1] + 1

    def __call__(self, X: Real[AnyArray, "row feature"]) -> UInt[Array, "feature row"]:
        """Returns the codes of rows, feature by feature: how many edges lie below a number; `num_bins` for NaN.

        Args:
            X: Numbers of shape (row, feature), in the units of those that edges are of.

        Raises:
            InvalidInputError: The rows have another number of features than the edges.
        """
        X = _numbers(X)
        if self.edge.ndim != 2 or X.shape[1] != len(self.edge):
            raise InvalidInputError(
                f"X must have a column for each feature of edges of shape (feature, edge), got {X.shape} and "
                f"{self.edge.shape}"
            )
        return _codes(self.edge, X)

    def __repr__(self) -> str:
        """The sizes in a line."""
        return f"BinEdges({self.edge.shape[-2]} features, {self.num_bins} bins)"


def bins(X: Real[AnyArray, "row feature"], num_bins: int = 64) -> BinEdges:
    """Returns edges of about equally full bins of the numbers of every column, or one bin a value where these are few.

    Edges lie midway between two neighbouring values. Where a value fills several bins, those behind it are empty; NaN,
    a missing value, counts nowhere. This is a pure function: it works under `jax.jit` and `jax.vmap`.

    Args:
        X: Numbers of shape (row, feature).
        num_bins: The most bins of a feature, from 2 to 65,535; up to 255 a code has a byte.

    Raises:
        InvalidInputError: X has another shape, or the number is out of range.

    Example:
        >>> X = jnp.array([[3.0, 0.0], [1.0, 5.0], [2.0, 5.0], [1.0, 7.0]])
        >>> edges = bins(X, 3)
        >>> edges.edge.tolist(), edges(X).tolist()
        ([[1.5, 2.5], [2.5, 6.0]], [[2, 0, 1, 0], [0, 1, 1, 2]])
    """
    check_number("num_bins", num_bins, 2, MOST_BINS - 1)
    return BinEdges(_edges(_numbers(X), num_bins=num_bins))


def _numbers(X: Any) -> Real[Array, "row feature"]:
    """The rows as an array of floats."""
    values = jnp.asarray(X)
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInputError(f"X must have the shape (row, feature), got {values.shape}")
    return values if values.dtype in (np.float32, np.float64) else values.astype(float)


@compiled("num_bins", options=options_of_small_programs)
def _edges(X: Float[Array, "row feature"], *, num_bins: int) -> Float[Array, "feature edge"]:
    return jax.vmap(lambda column: _edges_of_column(column, num_bins), in_axes=1)(X)


def _edges_of_column(values: Float[Array, " row"], num_bins: int) -> Float[Array, " edge"]:
    ordered = lax.platform_dependent(values, tpu=jnp.sort, default=_sorted)  # NaN comes last
    num_rows = jnp.sum(~jnp.isnan(ordered)).astype(jnp.int32)
    row = jnp.arange(len(ordered), dtype=jnp.int32)
    begins = (row > 0) & (row < num_rows) & (ordered != jnp.roll(ordered, 1))
    # The place of an edge among all distinct values, and that among equally full bins.
    place = jnp.cumsum(begins, dtype=jnp.int32) - 1
    is_exact = place[-1] < num_bins - 1
    following = lax.cummin(jnp.where(begins, row, len(ordered)), reverse=True)
    share = (jnp.arange(1, num_bins) * (num_rows / num_bins)).astype(jnp.int32)
    of_share = jnp.append(following, len(ordered))[jnp.minimum(share, len(ordered))]
    of_value = jnp.full(num_bins - 1, len(ordered), jnp.int32)
    of_value = of_value.at[jnp.where(begins & is_exact, place, num_bins)].set(row, mode="drop")
    first = jnp.where(is_exact, of_value, of_share)
    low, high = ordered[jnp.maximum(first - 1, 0)], ordered[jnp.minimum(first, len(ordered) - 1)]
    middle = low / 2 + high / 2
    return jnp.where(first < len(ordered), jnp.where(middle < high, middle, low), jnp.inf)


def _sorted(values: Float[Array, " row"]) -> Float[Array, " row"]:
    """Sorts by the bits as whole numbers, which a CPU does in a fifth of the time; a TPU has none of 64-bit floats."""
    kind = np.int32 if values.dtype == np.float32 else np.int64
    greatest = np.iinfo(kind).max
    turned = lambda bits: bits ^ ((bits >> (8 * np.dtype(kind).itemsize - 1)) & kind(greatest))  # noqa: E731
    bits = lax.bitcast_convert_type(jnp.where(jnp.isnan(values), jnp.nan, values), kind)
    return lax.bitcast_convert_type(turned(lax.sort(turned(bits), is_stable=False)), values.dtype)


@compiled(options=options_of_small_programs)
def _codes(edge: Float[Array, "feature edge"], X: Float[Array, "row feature"]) -> UInt[Array, "feature row"]:
    num_bins = edge.shape[1] + 1
    count = jax.vmap(lambda own, column: jnp.searchsorted(own, column, side="left"), in_axes=(0, 1))(edge, X)
    dtype = jnp.uint8 if num_bins <= np.iinfo(np.uint8).max else jnp.uint16
    return jnp.where(jnp.isnan(X.T), num_bins, count).astype(dtype)
