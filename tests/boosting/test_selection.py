"""Quantiles of groups by digits, beside sorted rows; and the order of the floats of a TPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting import selection
from tests.marks import rest_is_slow

RNG = np.random.default_rng(0)
NEAREST = np.concatenate([RNG.normal(size=200), 10.0 ** RNG.integers(-20, 20, 200), [0.0, 1.0, -1.0]]).astype(
    np.float32
)
PAIRS = np.repeat(NEAREST.astype(float), 3) + np.repeat(np.spacing(NEAREST) / 8, 3) * np.tile([-1, 0, 1], NEAREST.size)


def test_floats_of_a_tpu_have_the_order_of_their_numbers():
    with jax.enable_x64(True):
        numbers = np.asarray(selection.pairs_in_order(jnp.asarray(PAIRS)))
        np.testing.assert_array_equal(np.sort(PAIRS), PAIRS[np.argsort(numbers)])
        np.testing.assert_array_equal(selection.pairs_from_order(jnp.asarray(numbers)), PAIRS)


@pytest.mark.parametrize("is_tpu", rest_is_slow([False, True]))
def test_quantiles_are_those_of_sorted_rows(is_tpu, monkeypatch):
    if is_tpu:
        monkeypatch.setattr(selection, "_in_order", selection.pairs_in_order)
        monkeypatch.setattr(selection, "_from_order", selection.pairs_from_order)
    group, weight = (RNG.integers(0, most, PAIRS.size) for most in (4, 5))
    levels = np.array([0.1, 0.5, 0.9])
    with jax.enable_x64(True):
        values = np.stack([PAIRS, -PAIRS, PAIRS])
        given = map(jnp.asarray, (values, weight, group.astype(np.int32), levels))
        found = selection.quantiles_of_groups(*given, num_groups=5)
    for own, level, of_groups in zip(values, levels, np.asarray(found), strict=True):
        expected = [np.sort(np.repeat(own[group == g], weight[group == g])) for g in range(4)]
        at = [int(np.ceil(level * rows.size)) - 1 for rows in expected]
        assert of_groups.tolist() == [*(rows[i] for rows, i in zip(expected, at, strict=True)), 0.0]
