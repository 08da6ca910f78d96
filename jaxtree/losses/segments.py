"""Segments: rows that stand one after another and have something in common, such as a time or a query.

Sums within segments add the rows of a segment alone, in the same order on every device: differences of sums over the
whole table would lose digits, and sums by scattering change from run to run on a GPU.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int, Int32

from jaxtree.lazy import Array, jax, jnp


class Segments(NamedTuple):
    """The bounds of the segment of every row.

    Attributes:
        first: The index of its first row.
        last: The place of its last one.
    """

    first: Int32[Array, " row"]
    last: Int32[Array, " row"]

    @property
    def position(self) -> Int32[Array, " row"]:
        """How many rows of its segment come before a row."""
        return jnp.arange(len(self.first), dtype=jnp.int32) - self.first

    @property
    def size(self) -> Int32[Array, " row"]:
        """How many rows its segment has."""
        return self.last - self.first + 1

    def running_sums(self, values: Float[Array, " row"]) -> Float[Array, " row"]:
        """Returns the sum of a segment up to each row."""

        def add(
            left: tuple[Bool[Array, " part"], Float[Array, " part"]],
            right: tuple[Bool[Array, " part"], Float[Array, " part"]],
        ) -> tuple[Bool[Array, " part"], Float[Array, " part"]]:
            return left[0] | right[0], right[1] + jnp.where(right[0], 0, left[1])

        return jax.lax.associative_scan(add, (self.position == 0, values))[1]

    def sums(self, values: Float[Array, " row"]) -> Float[Array, " row"]:
        """Returns the sum of its segment for every row."""
        return self.running_sums(values)[self.last]

    def running_counts(self, is_counted: Bool[Array, " row"]) -> Int[Array, " row"]:
        """Returns how many rows of a segment are counted up to each row."""
        number = jnp.cumsum(is_counted, dtype=jnp.int32)
        return number - number[self.first] + is_counted[self.first]


def segments_of(is_first: Bool[Array, " row"]) -> Segments:
    """Returns the segments, given the rows that they begin with.

    >>> segments_of(jnp.array([True, False, True])).size.tolist()
    [2, 2, 1]
    """
    index = jnp.arange(len(is_first), dtype=jnp.int32)
    is_last = jnp.append(is_first[1:], True)
    first = jax.lax.cummax(jnp.where(is_first, index, 0))
    last = jax.lax.cummin(jnp.where(is_last, index, len(is_first) - 1), reverse=True)
    return Segments(first.astype(jnp.int32), last.astype(jnp.int32))
