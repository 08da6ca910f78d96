"""Types for annotations besides JAX's own, arithmetic on arrays of either library, and hashes of integers.

A tree and its inputs are NumPy's arrays on the host and JAX's elsewhere. The tests check which is which; the
static checker, which cannot distinguish operations of the two, takes them as of any type.
"""

import functools
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Float, Float64, Int, Real, Shaped, UInt32

from jaxtree.lazy import Array, Tracer, jax, jnp, lax
from jaxtree.lazy import Device as _Device

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any
    IntLike: TypeAlias = Any
    FloatLike: TypeAlias = Any
    OptionalArray: TypeAlias = Any
    Device: TypeAlias = Any
else:
    AnyArray = Array | np.ndarray
    IntLike = Int[AnyArray, "..."] | int | np.integer
    FloatLike = Real[AnyArray, "..."] | float | int | np.number
    # Needed by some rules of growth only, and None under the others.
    OptionalArray = AnyArray | None
    Device = _Device


def library_of(*values: Any) -> Any:
    """The array library to compute with: JAX's if any of the arrays is JAX's, or else NumPy."""
    for value in values:
        if isinstance(value, Array):
            return jnp
    return np


def where(condition: Shaped[AnyArray, "..."], yes, no) -> Shaped[AnyArray, "..."]:
    """Returns `where` of the condition's library."""
    return library_of(condition).where(condition, yes, no)


def is_traced(*values: object) -> bool:
    """Whether any array in the values is being traced."""
    return "jax" in sys.modules and any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def concrete_or_none(values: Any) -> np.ndarray | None:
    """The values as a NumPy array; None if they are absent, traced, or with other processes."""
    if values is None or isinstance(values, Tracer) or not getattr(values, "is_fully_addressable", True):
        return None
    return np.asarray(values)


def safe_divide(
    numerator: Real[AnyArray, "*#shape"], denominator: Real[AnyArray, "*#shape"]
) -> Float[AnyArray, "*#shape"]:
    """`numerator / denominator`, and 0 where the denominator is 0 or less; differentiable there."""
    library = library_of(numerator, denominator)
    positive = denominator > 0
    return library.where(positive, numerator / library.where(positive, denominator, 1), 0.0)


MOST_WRITTEN_OUT = 32
"""Terms up to which a sum is written out, one addition after another; more are added in a loop.

XLA works on many sums at once where they are written out, in a seventh of the time of a reduction for three terms and
half of it for 26. But its programs grow with every term.
"""


def sum_in_order(term: Callable[[IntLike], Real[AnyArray, "*shape"]], number: int) -> Real[AnyArray, "*shape"]:
    """Returns `term(0) + term(1) + ...`, added from the first to the last, so that all programs make the same bits.

    Args:
        term: The function from a number, which may be traced, to a term.
        number: How many terms there are, 1 or more.

    >>> sum_in_order(lambda place: jnp.arange(100)[place], 100).tolist()
    4950
    """
    if number <= MOST_WRITTEN_OUT:
        return functools.reduce(operator.add, map(term, range(number)))
    return lax.fori_loop(1, number, lambda place, total: total + term(place), term(0))


def mix(number: UInt32[AnyArray, "*shape"]) -> UInt32[AnyArray, "*shape"]:
    """Returns numbers that look random: the finaliser of MurmurHash3 (Appleby, public domain), which spreads every bit.

    It is a bijection.
    """
    number = (number ^ (number >> 16)) * np.uint32(0x85EBCA6B)
    number = (number ^ (number >> 13)) * np.uint32(0xC2B2AE35)
    return number ^ (number >> 16)


def child_hash(parent: UInt32[AnyArray, "*shape"], branch: UInt32[AnyArray, "*shape"]) -> UInt32[AnyArray, "*shape"]:
    """Returns a node's hash from its parent's and its branch: it depends on the path from the root alone."""
    return mix(parent + branch + np.uint32(1))


def near_normal(seed: UInt32[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Returns numbers of mean 0 and deviation 1, which are near normal ones: each is the sum of four uniform ones.

    They are whole numbers times a constant, and so the same on every device.
    """
    following = mix(seed + jnp.uint32(0x9E3779B9))
    total = (seed & 0xFFFF) + (seed >> 16) + (following & 0xFFFF) + (following >> 16)
    return (total.astype(jnp.float64) - 2 * 65535.0) / (65536 / 3**0.5)


def equal_bins(
    values: Float[np.ndarray, " row"], number: int, weight: Float[np.ndarray, " row"] | None = None
) -> tuple[Real[np.ndarray, " bin"], Float64[np.ndarray, " edge"]]:
    """Counts numbers, or sums their weights, in bins of equal width; returns the counts, and the edges of the bins.

    Where so few numbers lie between the least and the greatest that edges would be equal, there are fewer bins.

    Args:
        values: Finite numbers, one or more.
        number: The most bins.
        weight: The weight of every number; 1 if not given.

    Example:
        >>> equal_bins(np.array([0.0, 1.0, 1.0, 4.0]), 2)
        (array([3, 1]), array([0., 2., 4.]))
        >>> equal_bins(np.array([1e16, 1e16 + 4]), 30)[0].tolist()
        [1, 1]
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        half = max(0.5, float(np.spacing(abs(low))))
        low, high = low - half, high + half
    part = np.linspace(0.0, 1.0, number + 1)
    edges = np.unique(low + (high - low) * part if np.isfinite(high - low) else low * (1 - part) + high * part)
    return np.histogram(values, edges, weights=weight)


def spread(number: int, most: int) -> Int[np.ndarray, " row"]:
    """Returns the places of rows, spread evenly over a table where these are more than the most.

    >>> spread(5, 10).tolist(), spread(9, 3).tolist()
    ([0, 1, 2, 3, 4], [0, 4, 8])
    """
    return np.unique(np.linspace(0, max(number - 1, 0), min(number, most)).round().astype(int))
