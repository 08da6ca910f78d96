"""Laws of forests of effects: units, order of rows, weights, groups, threads, and who is treated.

Questions that users of other libraries have asked in their trackers stand beside the tests that answer them.
"""

import numpy as np
import pytest

from tests.estimators.effect_tables import (
    KNOWN,
    NEW,
    NOISE,
    OFFERED,
    ROWS,
    TREATED,
    X,
    Y,
    assert_same,
    fields_of,
    fit_causal,
    fit_instrumental,
    numbers_of,
)
from tests.marks import rest_is_slow

FITS = pytest.mark.parametrize("fit", rest_is_slow([fit_causal, fit_instrumental]), ids=lambda fit: fit.__name__)


@pytest.fixture(scope="module")
def causal():
    return fit_causal()


# Units


@FITS
@pytest.mark.parametrize(
    ("scale", "origin", "tolerance"),
    rest_is_slow(
        [
            pytest.param(8.0, 0.0, 0.0),
            pytest.param(1e30, 0.0, 1e-8),
            pytest.param(1.0, 1e4, 1e-6),
            pytest.param(3.0, 0.0, 1e-8),
            pytest.param(1e-30, 0.0, 1e-8),
            pytest.param(1e6, 1e12, 1e-4),
        ],
        3,
    ),
)
def test_the_unit_and_the_origin_of_outcomes_change_effects_alone(fit, scale, origin, tolerance):
    found, plain = numbers_of(fit(y=Y * scale + origin)) / scale, numbers_of(fit())
    np.testing.assert_allclose(found, plain, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("scale", "origin"),
    rest_is_slow([pytest.param(1e8, 0.0), pytest.param(1.0, 1e3), pytest.param(4.0, 0.0), pytest.param(1e-8, 0.0)], 2),
)
def test_the_unit_and_the_origin_of_a_treatment_divide_effects(scale, origin):
    dose = np.random.default_rng(1).normal(size=ROWS)
    found, plain = (numbers_of(fit_causal(treatment=own)) for own in (dose * scale + origin, dose))
    np.testing.assert_allclose(found * scale, plain, rtol=1e-5, atol=1e-6)


# Rows


@FITS
def test_the_order_of_rows_with_names_changes_nothing(fit):
    """Groups are units: with one a row, rows are drawn by their names, wherever they stand."""
    names = np.arange(ROWS)
    order = np.random.default_rng(1).permutation(ROWS)
    fields = fields_of(fit)
    one = fit(groups=names, **fields)
    other = fit(X[order], Y[order], groups=names[order], **{key: own[order] for key, own in fields.items()})
    np.testing.assert_array_equal(one.predict(NEW), other.predict(NEW))
    np.testing.assert_array_equal(one.predict_std(NEW), other.predict_std(NEW))
    np.testing.assert_array_equal(one.oob_prediction_[order], other.oob_prediction_)


def test_rows_are_groups_of_their_own(causal):
    assert_same(causal, fit_causal(groups=np.arange(ROWS)))


@pytest.mark.parametrize("kind", rest_is_slow(["object", "category", "text", "float"], 2))
def test_groups_have_names_of_any_kind(kind):
    pandas = pytest.importorskip("pandas")
    number = np.arange(ROWS) // 4
    text = np.array([f"g{own:03d}" for own in number])
    of = {"text": text, "object": text.astype(object), "float": number / 3, "category": pandas.Categorical(text)}
    assert_same(fit_causal(groups=number), fit_causal(groups=of[kind]))


def test_rows_that_stand_there_twice_are_one_row_where_they_are_one_group(causal):
    """grf#178: the sizes that a branch must have are doubled, and all else is as before, standard errors as well."""
    twice = [np.concatenate([own, own]) for own in (X, Y, TREATED, np.arange(ROWS))]
    sizes = {"min_samples_leaf": 10, "min_samples_arm": 4}
    doubled = fit_causal(*twice[:2], treatment=twice[2], groups=twice[3], **sizes)
    np.testing.assert_allclose(doubled.predict(NEW), causal.predict(NEW), rtol=0, atol=1e-8)
    np.testing.assert_allclose(doubled.predict_std(NEW), causal.predict_std(NEW), rtol=0, atol=1e-8)


def test_rows_of_a_group_are_held_out_together():
    """grf#1187: expectations of a row must not come from its copies."""
    noise = np.random.default_rng(1).normal(size=ROWS)
    table, y, treatment, name = (np.concatenate([own, own]) for own in (X, noise, TREATED, np.arange(ROWS)))
    fields = {"treatment": treatment, "min_samples_leaf": 2, "honest": False}
    held, leaked = fit_causal(table, y, groups=name, **fields), fit_causal(table, y, **fields)
    of_held, of_leaked = (np.corrcoef(own.training_.y_hat, y)[0, 1] for own in (held, leaked))
    assert of_held < 0.1 and of_leaked > 0.5


def test_few_groups_leave_no_standard_error_of_zero():
    forest = fit_causal(groups=np.arange(ROWS) % 6)
    assert (forest.predict_std(NEW) > 0).all()


# Weights


@FITS
def test_the_unit_of_weights_changes_nothing(fit):
    """Weights of 8 have the bits of weights of 1."""
    plain = fit(sample_weight=np.ones(ROWS))
    assert_same(plain, fit(sample_weight=np.full(ROWS, 8.0)))
    for weight in (7.0, 1e-300):
        found = numbers_of(fit(sample_weight=np.full(ROWS, weight)))
        np.testing.assert_allclose(found, numbers_of(plain), rtol=0, atol=1e-7)


@FITS
def test_a_row_of_weight_0_is_no_row(fit):
    weight = np.where(np.arange(ROWS) % 7 == 3, 0.0, 1.0 + np.arange(ROWS) % 2)
    left = weight > 0
    fields = fields_of(fit)
    table, y = np.where(left[:, None], X, 1e6), np.where(left, Y, 1e9)
    one = fit(table, y, weight, **fields)
    other = fit(X[left], Y[left], weight[left], **{key: own[left] for key, own in fields.items()})
    assert_same(one, other)


def test_weights_move_effects():
    """grf#752: weights count in the moment, and not only in the splits."""
    effect = np.where(np.arange(ROWS) % 2, 0.0, 2.0)
    y = effect * TREATED + 0.1 * NOISE
    weight = np.where(np.arange(ROWS) % 2, 1.0, 9.0)
    plain, weighted = (fit_causal(X, y, own, max_depth=1).predict(NEW).mean() for own in (None, weight))
    assert abs(plain - 1.0) < 0.3
    assert abs(weighted - 1.8) < 0.3


def test_weights_go_with_known_expectations():
    """EconML#485."""
    found = fit_causal(sample_weight=1 + np.arange(ROWS) % 2, **KNOWN)
    assert np.isfinite(found.predict(NEW)).all()


# Who is treated


@pytest.mark.parametrize(
    "kind", rest_is_slow(["bool", "category", "series", "float", "column", "list", "words", "object"], 3)
)
def test_a_treatment_of_two_arms_may_be_called_anything(kind, causal):
    pandas = pytest.importorskip("pandas")
    words = np.where(TREATED, "drug", "control")
    of = {
        "bool": TREATED.astype(bool),
        "float": TREATED.astype(float),
        "column": TREATED[:, None],
        "list": TREATED.tolist(),
        "words": words,
        "object": words.astype(object),
        "category": pandas.Categorical(words, ["never", "drug", "control"]),
        "series": pandas.Series(words, index=np.arange(ROWS)[::-1]),
    }
    assert_same(causal, fit_causal(treatment=of[kind]))


def test_the_control_is_the_first_arm_or_the_one_that_is_named():
    """grf#564: the sign of an effect is that of the treated less the control."""
    words = np.where(TREATED, "a drug", "none")
    y = 3 * TREATED + 0.1 * NOISE
    first, named = fit_causal(y=y, treatment=words), fit_causal(y=y, treatment=words, control="none")
    assert first.predict(NEW).mean() == pytest.approx(-3, abs=0.3)
    assert named.predict(NEW).mean() == pytest.approx(3, abs=0.3)
    assert named.classes_of_treatment_.tolist() == ["none", "a drug"]


@pytest.mark.parametrize("stabilize", [True, False])
def test_who_is_called_treated_turns_the_signs_of_effects(stabilize):
    """Branches need as many rows of either arm."""
    one, other = (fit_causal(control=control, stabilize=stabilize, **KNOWN) for control in (0, 1))
    np.testing.assert_array_equal(one.predict(NEW), -other.predict(NEW))
    np.testing.assert_array_equal(one.predict_std(NEW), other.predict_std(NEW))


def test_outcomes_of_the_other_sign_turn_the_signs_of_effects():
    one, other = fit_causal(), fit_causal(y=-Y)
    np.testing.assert_array_equal(one.predict(NEW), -other.predict(NEW))
    np.testing.assert_array_equal(one.predict_interval(NEW), -other.predict_interval(NEW)[:, ::-1])


def test_outcomes_may_be_truth_values():
    """EconML#775."""
    assert_same(fit_causal(y=Y > 0), fit_causal(y=(Y > 0).astype(float)))


def test_every_arm_has_its_own_effect():
    """causalml#828: averages over rows must not mix arms."""
    arm = np.random.default_rng(1).integers(0, 3, ROWS)
    y = np.array([0.0, 1.0, 3.0])[arm] + 0.1 * NOISE
    words = np.array(["none", "pill", "shot"])[arm]
    forest = fit_causal(y=y, treatment=words)
    assert forest.predict(NEW).shape == (20, 2) and forest.predict_interval(NEW).shape == (20, 2, 2)
    np.testing.assert_allclose(forest.predict(NEW).mean(0), [1, 3], atol=0.15)
    beside_pills = fit_causal(y=y, treatment=words, control="pill")
    np.testing.assert_allclose(beside_pills.predict(NEW).mean(0), [-1, 2], atol=0.15)
    assert beside_pills.classes_of_treatment_.tolist() == ["pill", "none", "shot"]


def test_doses_have_slopes():
    """grf#558: a treatment of numbers where one of two arms works."""
    dose = np.random.default_rng(1).normal(size=(ROWS, 2))
    y = 2 * dose[:, 0] - dose[:, 1] + 0.1 * NOISE
    np.testing.assert_allclose(fit_causal(y=y, treatment=dose).predict(NEW).mean(0), [2, -1], atol=0.15)


# Instruments


def test_a_treatment_that_is_its_own_instrument_is_a_causal_forest(causal):
    assert_same(causal, fit_instrumental(treatment=TREATED, instrument=TREATED))


def test_the_unit_of_an_instrument_changes_nothing():
    one, other = (numbers_of(fit_instrumental(instrument=OFFERED * scale)) for scale in (1.0, 7.0))
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_an_instrument_that_moves_nothing_has_wide_intervals():
    """grf#1145: it has no effect to find, and must not claim one."""
    offered = np.random.default_rng(1).integers(0, 2, ROWS)
    forest = fit_instrumental(treatment=TREATED, instrument=offered)
    assert np.isfinite(numbers_of(forest)[:40]).all()
    assert np.median(forest.predict_std(NEW)) > 3 * np.median(fit_causal().predict_std(NEW))
