"""Averages and tests of forests of effects, on the questions that users of other libraries have asked."""

import warnings

import numpy as np
import pytest

from jaxtree import CausalForest, InstrumentalForest
from jaxtree.effects import average_effect, average_effect_on, calibration_test, rank_average_effect
from jaxtree.errors import InvalidInputError, OverlapWarning

ROWS, TREES = 400, 80
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(ROWS, 3))
TREATED = DRAW.integers(0, 2, ROWS)
EFFECT = np.where(X[:, 0] > 0, 2.0, 0.0)
Y = EFFECT * TREATED + X[:, 1] + 0.5 * DRAW.normal(size=ROWS)
HALF = np.full(ROWS, 0.5)
ARM = np.array(["none", "pill", "shot"])[np.arange(ROWS) % 3]


def fit(y=Y, treatment=TREATED, table=X, **given):
    fields = {name: given.pop(name) for name in ("groups", "treatment_hat", "sample_weight") if name in given}
    return CausalForest(TREES, random_state=0, **given).fit(table, y, treatment=treatment, **fields)


@pytest.fixture(scope="module")
def forest():
    return fit(treatment_hat=HALF)


def test_the_average_is_found_and_its_error_is_that_of_a_mean(forest):
    """causalml#1006, EconML#479: neither the spread of effects over n, nor that of single effects."""
    found = forest.average_treatment_effect()
    low, high = found.interval()
    assert low < EFFECT.mean() < high
    assert 0.03 < found.standard_error < np.median(forest.oob_std_)


def test_the_error_of_the_average_holds_that_of_who_was_drawn():
    """EconML#993: effects that differ between rows make a mean of other rows another one."""
    effect = np.array([0.0, 10.0])[np.arange(ROWS) % 2]
    found = average_effect_on("all", effect, effect * TREATED, TREATED, effect / 2, HALF)
    assert found.standard_error == pytest.approx(5 / np.sqrt(ROWS - 1))


def test_four_times_the_rows_halve_the_error():
    scores = DRAW.normal(size=4000)
    few, many = average_effect(scores[:1000]).standard_error, average_effect(scores).standard_error
    assert many == pytest.approx(few / 2, rel=0.1)


def test_intervals_of_the_average_cover(forest):
    """The mean effect of 60 trials, whose effects are known."""
    covered = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        effect, coin = draw.normal(1, 1, 300), draw.integers(0, 2, 300)
        found = average_effect_on(
            "all", np.ones(300), effect * coin + draw.normal(size=300), coin, HALF[:300], HALF[:300]
        )
        covered += found.interval()[0] < 1 < found.interval()[1]
    assert covered >= 53


def test_averages_of_every_target(forest):
    for target in ("all", "treated", "control", "overlap"):
        found = forest.average_treatment_effect(target)
        assert abs(found.estimate - EFFECT.mean()) < 4 * found.standard_error


def test_averages_are_the_same_at_every_call(forest):
    """grf#1032."""
    for name in ("average_treatment_effect", "best_linear_projection", "calibration_test", "overlap"):
        assert repr(getattr(forest, name)()) == repr(getattr(forest, name)())


def test_subsets_are_truth_values_or_places(forest):
    """grf#745, grf#1088."""
    is_in = X[:, 0] > 0
    one, other = (forest.average_treatment_effect(subset=own) for own in (is_in, np.flatnonzero(is_in)))
    assert one == other
    assert abs(one.estimate - 2) < 4 * one.standard_error
    with pytest.raises(InvalidInputError, match="subset"):
        forest.average_treatment_effect(subset=np.zeros(ROWS, bool))


def test_targets_without_treated_are_refused(forest):
    with pytest.raises(InvalidInputError, match="treatment"):
        forest.average_treatment_effect("treated", subset=TREATED == 0)


@pytest.mark.parametrize("method", ["average_treatment_effect", "best_linear_projection", "calibration_test"])
def test_copies_of_rows_are_no_new_rows_where_groups_say_so(method):
    """grf#334, EconML#451: with each row twice errors are those of the rows once."""
    twice = {"groups": np.tile(np.arange(ROWS), 2), "treatment_hat": np.full(2 * ROWS, 0.5)}
    sizes = {"min_samples_leaf": 10, "min_samples_arm": 4}
    copies = fit(np.tile(Y, 2), np.tile(TREATED, 2), np.concatenate([X, X]), **twice, **sizes)
    one, other = (getattr(own, method)() for own in (fit(treatment_hat=HALF), copies))
    np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=0.05)
    np.testing.assert_allclose(other.estimate, one.estimate, rtol=1e-3, atol=1e-3)


def test_weights_change_what_averages_are_of():
    """grf#1103: errors have the weights, too."""
    weight = np.where(X[:, 0] > 0, 5.0, 1.0)
    found = fit(sample_weight=weight, treatment_hat=HALF).average_treatment_effect()
    expected = np.average(EFFECT, weights=weight)
    assert abs(found.estimate - expected) < 3 * found.standard_error
    assert abs(found.estimate - EFFECT.mean()) > 3 * found.standard_error
    seven = fit(sample_weight=7 * weight, treatment_hat=HALF).average_treatment_effect()
    assert seven.standard_error == pytest.approx(found.standard_error, rel=1e-6)


def test_a_treatment_without_overlap_warns_and_points_to_the_overlap():
    """grf#1024, grf#406: propensities of 0 and 1 gave NaN."""
    chance = 1 / (1 + np.exp(-6 * X[:, 0]))
    forest = fit(treatment=(DRAW.random(ROWS) < chance) * 1)
    with pytest.warns(OverlapWarning, match="overlap"):
        found = forest.average_treatment_effect()
    assert np.isfinite([found.estimate, found.standard_error]).all()
    assert not forest.overlap().is_good
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverlapWarning)
        found = forest.average_treatment_effect("overlap")
    assert np.isfinite([found.estimate, found.standard_error]).all()


def test_a_dose_has_no_overlap_to_warn_of():
    """grf#557: bounds of 0 and 1 mean nothing to it."""
    dose = 3 * DRAW.normal(size=ROWS)
    y = EFFECT * dose + 0.5 * DRAW.normal(size=ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverlapWarning)
        found = fit(y, dose).average_treatment_effect()
    assert abs(found.estimate - EFFECT.mean()) < 4 * found.standard_error


def test_arms_have_averages_of_their_own():
    """causalml#828."""
    y = np.array([0.0, 1.0, 3.0])[np.arange(ROWS) % 3] + 0.3 * DRAW.normal(size=ROWS)
    found = fit(y, ARM).average_treatment_effect()
    assert list(found) == ["pill", "shot"]
    assert abs(found["pill"].estimate - 1) < 0.2 and abs(found["shot"].estimate - 3) < 0.2


@pytest.mark.slow
def test_effects_of_noise_are_not_significant():
    """grf#1019: the test must not look at the rows that trees have seen."""
    draw = np.random.default_rng(2)
    rejected = 0
    for _ in range(10):
        forest = fit(draw.normal(size=ROWS), treatment_hat=HALF)
        fitted = forest.calibration_test()
        rejected += fitted.estimate[1] / fitted.standard_error[1] > 1.645
    assert rejected <= 2


def test_effects_that_differ_are_significant(forest):
    fitted = forest.calibration_test()
    assert fitted.estimate[1] / fitted.standard_error[1] > 3


def test_calibration_of_few_groups_ends():
    """grf#1475."""
    effect, rows = DRAW.normal(size=40_000), 40_000
    coin = DRAW.integers(0, 2, rows)
    half = np.full(rows, 0.5)
    found = calibration_test(
        effect, effect * coin, y_hat=effect / 2, treatment=coin, treatment_hat=half, clusters=np.arange(rows) % 7
    )
    assert found.estimate == pytest.approx([1, 1], abs=0.1)


def test_priorities_that_tie_say_nothing():
    """grf#1086."""
    scores = DRAW.normal(size=300)
    found = rank_average_effect(scores, np.ones(300))
    assert found.estimate[0] == pytest.approx(0, abs=1e-12) and np.isfinite(found.standard_error).all()


def test_priorities_that_tie_do_not_depend_on_the_order_of_rows():
    scores, priority = DRAW.normal(size=300), np.arange(300) % 4
    order = DRAW.permutation(300)
    one, other = rank_average_effect(scores, priority), rank_average_effect(scores[order], priority[order])
    assert one.estimate[0] == pytest.approx(other.estimate[0], abs=1e-12)


def test_ranks_by_a_rule_of_gains(forest):
    rule, noise = X[:, 0], DRAW.normal(size=ROWS)
    gain, none = (forest.rank_average_treatment_effect(own) for own in (rule, noise))
    assert gain.estimate[0] > 4 * gain.standard_error[0]
    assert abs(none.estimate[0]) < 4 * none.standard_error[0]


def test_instruments_have_the_average_of_those_whom_they_move():
    """grf#550: of an instrument the average is the local one."""
    offered, will = DRAW.integers(0, 2, 1500), DRAW.normal(size=1500)
    table = DRAW.normal(size=(1500, 2))
    taken = offered * (will > -0.5)
    y = 2 * taken + will + 0.3 * DRAW.normal(size=1500)
    forest = InstrumentalForest(TREES, random_state=0).fit(table, y, treatment=taken, instrument=offered)
    found = forest.average_treatment_effect()
    assert abs(found.estimate - 2) < 4 * found.standard_error < 1
    with pytest.raises(InvalidInputError, match="instruments"):
        forest.calibration_test()


def test_few_trees_leave_rows_that_none_has_not_seen():
    forest = CausalForest(4, random_state=0).fit(X, Y, treatment=TREATED)
    with pytest.raises(InvalidInputError, match="more trees"):
        forest.average_treatment_effect()
