"""Rounded weights and targets: sums of them are exact, in any order and under any centre."""

import numpy as np
import pytest

from jaxtree.forests.exact import restore, round_targets, round_weights

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale,offset", [(1.0, 0.0), (1e-9, 1e9), (1e12, -3.0), (0.0, 7.0)])
def test_sums_of_targets_are_exact(scale, offset):
    target = (scale * RNG.normal(size=(2, 1000)) + offset).astype(np.float64)
    counts = RNG.multinomial(1000, np.full(1000, 1e-3))
    rounded = round_targets(target, total=1000.0, most_count=16, centred=True)
    reach = np.max(np.abs(target - rounded.offset[:, None]))
    assert np.max(np.abs(rounded.values + rounded.offset[:, None] - target)) <= 2**-34 * reach + 2e-16 * abs(offset)
    for order in (np.arange(1000), RNG.permutation(1000)):
        products = (rounded.values * counts)[:, order]
        one_by_one, by_centre = np.cumsum(products, axis=1)[:, -1], np.zeros(2)
        for output in range(2):
            used = rounded.values[output][counts > 0]
            centre = used.min() / 2 + used.max() / 2
            by_centre[output] = np.sum((rounded.values[output] - centre) * counts) + centre * counts.sum()
        assert (one_by_one == np.sum(rounded.values * counts, axis=1)).all()
        assert (by_centre == one_by_one).all()


def test_sums_are_restored():
    target = RNG.normal(size=(1, 100)) + 1e6
    rounded = round_targets(target, total=100.0, most_count=1, centred=True)
    restored = restore(rounded.values.sum(axis=1)[None], np.array([100], np.int32), rounded.offset)
    np.testing.assert_allclose(restored, target.sum(axis=1)[None], rtol=1e-14)


def test_targets_that_must_be_positive_are_not_centred():
    rounded = round_targets(np.array([[3.0, 5.5, 0.0]]), total=3.0, most_count=1, centred=False)
    assert rounded.values.tolist() == [[3.0, 5.5, 0.0]]
    assert rounded.offset.tolist() == [0.0]


def test_weights_are_multiples_of_one_unit():
    weight = RNG.random(1000)
    rounded = round_weights(weight, 1.0, 1000)
    assert np.max(np.abs(rounded - weight)) <= 2**-40
    assert (rounded * 2.0**39 == np.round(rounded * 2.0**39)).all()
    assert (rounded != weight).any()
