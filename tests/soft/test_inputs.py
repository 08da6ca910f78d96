"""Values become rows: scaled, one-hot, with indicators."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from jaxtree.errors import InvalidInputError
from jaxtree.soft import fit_inputs
from jaxtree.soft.form import SoftForm
from jaxtree.soft.scales import MOST_KNOTS, fit_scale, scaled
from jaxtree.table import Encoder
from tests.marks import in_turn
from tests.soft.tables import mixed_table


def fitted(X, **options):
    encoder = Encoder().fit(X)
    return fit_inputs(encoder.values(X), encoder.schema_, **options), encoder


def test_columns_stand_in_the_order_of_the_features_and_indicators_last():
    X, _ = mixed_table(50, 0, missing=0.2)
    inputs, encoder = fitted(X)
    rows = inputs.transform(encoder.values(X))
    assert rows.dtype == np.float32 and rows.shape == (50, inputs.num_features) == (50, len(inputs.names))
    assert np.isfinite(rows).all()
    is_missing = pd.isna(pd.DataFrame(X)).to_numpy()
    np.testing.assert_array_equal(rows[:, -5:], is_missing)
    first = list(inputs.columns_of(2))
    assert [inputs.names[column] for column in first] == [f"x2 = {letter}" for letter in "abcdefg"]
    for letter, column in zip("abcdefg", first, strict=True):
        np.testing.assert_array_equal(rows[:, column], X[:, 2] == letter)
    assert inputs.missing[2] == tuple(first) and inputs.missing[0] == (0,)
    known = ~is_missing[:, 0]
    np.testing.assert_allclose(rows[known, 0].mean(), 0, atol=1e-5)
    np.testing.assert_allclose(rows[known, 0].std(), 1, rtol=1e-5)
    assert (rows[~known, 0] == 0).all()
    SoftForm(2, inputs.num_features, 1, missing=inputs.missing)


def test_indicators_are_those_of_missing_values_or_all():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert fitted(X)[0].missing == ((1,),)
    assert fitted(X, indicators="all")[0].missing == ((0,), (1,))
    inputs, encoder = fitted(X)
    np.testing.assert_array_equal(inputs.transform(encoder.values(np.array([[np.nan, 3.0]]))), [[0, 0, 0]])


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_a_weight_is_a_repeated_row(scaling):
    random = np.random.default_rng(0)
    X, weight = random.exponential(size=(30, 2)), random.integers(0, 4, 30)
    encoder = Encoder().fit(X)
    values = encoder.values(X)
    by_weight = fit_inputs(values, encoder.schema_, scaling=scaling, weight=weight.astype(float))
    by_rows = fit_inputs(np.repeat(values, weight, axis=0), encoder.schema_, scaling=scaling)
    np.testing.assert_allclose(by_weight.transform(values), by_rows.transform(values), atol=1e-6)


@pytest.mark.parametrize(("scaling", "unit"), in_turn(["standard", "quantile", "none"], [2.0**-30, 1.0, 1e6]))
def test_scales_increase_and_the_same_rows_are_above_a_limit_in_both_units(scaling, unit):
    value = unit * np.sort(np.random.default_rng(1).normal(size=5000))
    scale = fit_scale(value, np.ones(5000), scaling)
    there = scaled(scale, value)
    assert (np.diff(there) >= 0).all() and (np.diff(there) > 0).mean() > 0.99
    inputs, encoder = fitted(value[:, None], scaling=scaling)
    column = inputs.transform(encoder.values(value[:, None]))[:, 0]
    limits = np.concatenate([column[::500], column[::700] + np.float32(1e-3), [-1e9, 0, 1e9]]).astype(np.float32)
    for limit, at in zip(limits, inputs.limits_in_table(0, limits), strict=True):
        np.testing.assert_array_equal(value > at, column > limit)
        # It is the last that is not above.
        near = np.array([[at], [np.nextafter(at, np.inf)]])
        if np.isfinite(at):
            assert (inputs.transform(near)[:, 0] > limit).tolist() == [False, True]


def test_quantiles_are_those_of_a_normal_distribution():
    value = np.random.default_rng(2).exponential(size=20_000)
    scale = fit_scale(value, np.ones(value.size), "quantile")
    assert len(scale.value) <= MOST_KNOTS + 1
    np.testing.assert_allclose(np.quantile(scaled(scale, value), [0.1, 0.5, 0.9]), norm.ppf([0.1, 0.5, 0.9]), atol=0.01)
    ends = scaled(scale, np.array([-1e9, 1e9]))
    assert np.isfinite(ends).all() and ends[0] < -3 and ends[1] > 3
    inputs, _ = fitted(value[:, None], scaling="quantile")
    assert inputs.limits_in_table(0, np.array([ends[0] - 1, ends[1] + 1])).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("heavy", [0, 10, 19])
def test_numbers_of_next_to_no_weight_keep_their_order(heavy):
    """One row outweighs all others together by more than a float's digits, so that sums of the others vanish."""
    value, weight = np.arange(20.0), np.full(20, 1e-20)
    weight[heavy] = 1.0
    scale = fit_scale(value, weight, "quantile")
    assert scale.share[0] > 0 and scale.share[-1] < 1 and (np.diff(scale.share) > 0).all()
    column = scaled(scale, value)
    assert np.isfinite(column).all() and (np.diff(column) > 0).all()


@pytest.mark.filterwarnings("error")
def test_the_largest_floats_have_a_mean_and_a_deviation():
    small = fit_scale(np.array([1.0, 2.0, 3.0, 6.0]), np.ones(4), "standard")
    large = fit_scale(np.ldexp([1.0, 2.0, 3.0, 6.0], 1020), np.ones(4), "standard")
    assert (large.mean, large.deviation) == (np.ldexp(small.mean, 1020), np.ldexp(small.deviation, 1020))


def test_columns_of_one_value_or_none_are_harmless():
    X = np.array([[5.0, np.nan], [5.0, np.nan]])
    for scaling in ("standard", "quantile"):
        inputs, encoder = fitted(X, scaling=scaling)
        assert np.isfinite(inputs.transform(encoder.values(np.array([[5.0, 1.0], [7.0, np.nan]])))).all()


def test_what_does_not_fit_is_refused():
    X = np.array([[1.0], [2.0]])
    encoder = Encoder().fit(X)
    for options in (dict(scaling="log"), dict(indicators="some")):
        with pytest.raises(InvalidInputError, match="must be one of"):
            fit_inputs(X, encoder.schema_, **options)
    with pytest.raises(InvalidInputError, match="at least one row"):
        fit_inputs(X[:0], encoder.schema_)
    with pytest.raises(InvalidInputError, match="features"):
        fit_inputs(X, encoder.schema_).transform(np.ones((2, 3)))
