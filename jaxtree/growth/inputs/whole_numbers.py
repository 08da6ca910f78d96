"""Fast cumulative sums and sorts of whole numbers on a CPU."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, Int32, Int64, UInt32

RUN = 16
"""Number of values that a cumulative sum adds one by one."""

HALF_RANGE = 2**31


def cumulative_sum(values: Int[Array, "channel place"]) -> Int[Array, "channel place"]:
    """Sums of the values up to each, about three times as fast as `jnp.cumsum` on a CPU.

    Runs of 16 values are summed by plain additions, and the sums of the runs the same way.
    """
    # Without the barrier XLA would repeat the last addition, unvectorised, for every reader of the sums.
    return lax.optimization_barrier(_by_runs(values))


def _by_runs(values: Int[Array, "channel place"]) -> Int[Array, "channel place"]:
    num_channels, num_values = values.shape
    run = min(num_values, RUN)
    if num_values % run:
        return jnp.cumsum(values, axis=1, dtype=values.dtype)
    runs = values.reshape(num_channels, num_values // run, run)
    steps = [runs[:, :, 0]]
    for i in range(1, run):
        steps.append(steps[-1] + runs[:, :, i])
    sums = jnp.stack(steps, axis=-1)
    if num_values > run:
        before = _by_runs(steps[-1]) - steps[-1]
        sums = sums + before[:, :, None]
    return sums.reshape(num_channels, num_values)


def sort_pairs(
    first: Int32[Array, "*pair"] | UInt32[Array, "*pair"], second: Int32[Array, "*pair"], *, axis: int = -1
) -> tuple[Int64[Array, "*pair"], Int32[Array, "*pair"]]:
    """Sorts by the first number, of up to 32 bits, and among equals by the second; neither may be negative.

    A CPU sorts 64-bit numbers four times as fast as one array by another (65 against 270 ns per number). 64-bit types
    must be enabled.

    Example:
        >>> import jax
        >>> with jax.enable_x64(True):
        ...     sort_pairs(jnp.array([2, 1, 2], jnp.int32), jnp.array([5, 9, 3], jnp.int32))[1].tolist()
        [9, 3, 5]
    """
    # The first number is shifted down by half its range, because a signed word cannot hold 32 bits above the second.
    packed = ((first.astype(jnp.int64) - HALF_RANGE) << 32) | second.astype(jnp.int64)
    packed = lax.sort(packed, dimension=axis, is_stable=False)
    return (packed >> 32) + HALF_RANGE, packed.astype(jnp.int32)
