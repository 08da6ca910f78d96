"""Cumulative sums that a CPU computes fast."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

RUN = 16
"""Values that are summed by plain additions."""


def cumulative_sum(values: Int[Array, "channel place"]) -> Int[Array, "channel place"]:
    """Sums of the values up to each, about three times as fast as `jnp.cumsum` on a CPU.

    Runs of 16 values are summed by plain additions, and the sums of the runs the same way.
    """
    # Without the barrier XLA would do the last addition anew, and unvectorised, for everything that reads the sums.
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
