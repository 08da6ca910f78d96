"""Widths of bands: their definition, their factor, and how often they hold."""

import numpy as np
import pytest
from scipy.stats import norm

from jaxtree.errors import InvalidInputError
from jaxtree.figures.bands import Band, band_of_sizes, check_level, widths_of

GENERATOR = np.random.default_rng(0)
CURVE = np.repeat([0, 1], [30, 20])
WEIGHT = GENERATOR.integers(0, 4, 50).astype(float)


def widths(draws, truth=None, level=0.9):
    return widths_of(draws, np.zeros(50) if truth is None else truth, level, curve=CURVE, weight=WEIGHT)


def test_a_width_is_made_of_noise_and_of_the_mean_bias_of_its_curve():
    draws = GENERATOR.normal(size=(4000, 50)) + np.where(CURVE == 0, 2.0, 0.0) * np.sin(np.arange(50))
    found = widths(draws)
    bias = np.average((draws.mean(axis=0)[CURVE == 0]) ** 2, weights=WEIGHT[CURVE == 0])
    np.testing.assert_allclose(found.bias[0] ** 2, bias)
    np.testing.assert_allclose(found.half[:30], found.factor * np.sqrt(draws[:, :30].var(axis=0, ddof=1) + bias))
    assert found.bias[1] < 0.1 and found.half[:30].min() > found.half[30:].max()
    np.testing.assert_allclose(found.spread, 1, atol=0.05)


def test_draws_without_bias_have_the_width_of_a_normal_distribution():
    found = widths(GENERATOR.normal(size=(4000, 50)), level=0.8)
    np.testing.assert_allclose(found.half, norm.ppf(0.9), rtol=0.05)
    np.testing.assert_allclose(found.coverage, 0.8, atol=0.02)


def test_tails_that_are_longer_make_bands_wider_until_they_hold():
    draws = GENERATOR.standard_t(1.2, size=(2000, 50)) * np.where(GENERATOR.uniform(size=50) < 0.5, 0.1, 10.0)
    draws = np.where(GENERATOR.uniform(size=draws.shape) < 0.15, 20.0, 0.1) * np.sign(draws)
    found = widths(draws)
    assert found.factor > norm.ppf(0.95)
    assert np.average(found.coverage, weights=np.bincount(CURVE, WEIGHT)) >= 0.9


def test_points_of_no_weight_change_nothing():
    draws = GENERATOR.normal(size=(50, 50))
    other = np.where(WEIGHT == 0, 100 * draws, draws)
    one, two = widths(draws), widths(other)
    np.testing.assert_array_equal(one.half[WEIGHT > 0], two.half[WEIGHT > 0])
    assert one.factor == two.factor and (WEIGHT == 0).any()


def test_bands_in_other_units_are_the_same():
    draws = GENERATOR.normal(size=(50, 50)) + 0.5
    np.testing.assert_allclose(widths(4 * draws, np.ones(50)).half, 4 * widths(draws, np.full(50, 0.25)).half)


@pytest.mark.parametrize(("pull", "least", "most"), [(0.8, 0.9, 0.99), (1.0, 0.87, 0.93), (1.2, 0.9, 1.0)])
def test_bands_of_sizes_hold_what_estimates_pull_or_swell(pull, least, most):
    estimates = pull + 0.1 * GENERATOR.normal(size=2000)
    # A draw does to an estimate what the estimate has done to the size.
    draws = pull * estimates + 0.1 * GENERATOR.normal(size=(400, 2000))
    band = band_of_sizes(np.stack([estimates, estimates, *draws]), 0.9)
    assert least <= np.mean((band.lower <= 1) & (band.upper >= 1)) <= most
    assert (band.lower <= band.center).all() and (band.center <= band.upper).all()


def test_bands_of_sizes_are_never_below_0_and_the_same_in_other_units():
    found = np.abs(GENERATOR.normal(size=(52, 5)))
    band = band_of_sizes(found, 0.9)
    assert band.lower.min() == 0
    np.testing.assert_allclose(band_of_sizes(1024 * found, 0.9), 1024 * np.array(band), rtol=1e-12)


def test_what_no_draw_changes_has_no_width():
    found = widths(np.ones((30, 50)), np.ones(50))
    assert not found.half.any() and (found.coverage == 1).all()


@pytest.mark.parametrize(("level", "draws", "words"), [
    (1.0, 100, "level must be above 0 and below 1, got 1.0"),
    (0.95, 39, "draws must be at least 40 for bands of level 0.95, got 39"),
    (0.1, 1, "draws must be at least 3 for bands of level 0.1, got 1"),
])  # fmt: skip
def test_levels_that_draws_cannot_show_are_refused(level, draws, words):
    with pytest.raises(InvalidInputError, match=words):
        check_level(level, draws)
    check_level(0.9, 20)


def test_bands_are_clipped_to_what_may_be():
    band = Band(np.array([0.5]), np.array([-1.0]), np.array([2.0])).clipped(0, 1)
    assert (band.center, band.lower, band.upper) == (0.5, 0, 1)
