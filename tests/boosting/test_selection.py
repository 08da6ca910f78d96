"""Weighted quantiles of groups beside a sort of every group."""

import jax
import numpy as np
import pytest

from jaxtree.boosting.selection import quantiles_of_groups

LEVELS = np.array([0.01, 0.3, 0.5, 0.99])


def slow(values, weight, group, level, num_groups):
    found = np.zeros(num_groups)
    for number in range(num_groups):
        own = np.flatnonzero((group == number) & (weight > 0))
        if own.size:
            own = own[np.argsort(values[own], kind="stable")]
            reached = np.cumsum(weight[own]) >= max(np.ceil(level * weight[own].sum()), 1)
            found[number] = values[own][np.argmax(reached)]
    return found


@pytest.mark.parametrize("kind", ["normal", "ties", "tiny and huge"])
def test_they_are_those_of_a_sort(kind):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 500))
    if kind == "ties":
        values = np.round(values, 1)
    elif kind == "tiny and huge":
        values = np.sign(values) * 10.0 ** (100 * values)
    # The last group has no rows, and that before it none of any weight.
    group = rng.integers(0, 9, 500).astype(np.int32)
    weight = np.where(group == 8, 0, rng.integers(0, 4, 500)).astype(np.int64)
    with jax.enable_x64(True):
        select = jax.jit(quantiles_of_groups, static_argnames="num_groups")
        found = select(values, weight, group, LEVELS, num_groups=10)
    expected = [slow(own, weight, group, level, 10) for own, level in zip(values, LEVELS, strict=True)]
    np.testing.assert_array_equal(found, expected)
