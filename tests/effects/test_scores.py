"""Doubly robust scores: by the definition, their laws, their means where a nuisance is wrong, and bad input."""

import warnings

import numpy as np
import pytest

from jaxtree.effects import arm_scores, doubly_robust_rewards, doubly_robust_scores, instrumental_scores
from jaxtree.errors import InvalidInputError, OverlapWarning

from .trials import draw_trial

TRIAL = draw_trial(60, np.random.default_rng(0))


def test_scores_are_those_of_the_definition():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    of_control, of_treated = y_hat - chance * effect, y_hat + (1 - chance) * effect
    wanted = of_treated - of_control
    wanted = wanted + treatment / chance * (y - of_treated) - (1 - treatment) / (1 - chance) * (y - of_control)
    np.testing.assert_allclose(doubly_robust_scores(*TRIAL.arguments), wanted, rtol=1e-12)


def test_a_variance_of_the_treatment_is_that_of_a_coin_where_it_is_one():
    chance = TRIAL.treatment_hat
    own = doubly_robust_scores(*TRIAL.arguments, treatment_variance=chance * (1 - chance))
    np.testing.assert_allclose(own, doubly_robust_scores(*TRIAL.arguments), rtol=1e-12)


def test_scores_of_a_dose_have_the_mean_of_the_partial_effect():
    """Where the effects are unknown, and taken for 0, the residuals of the outcome bring them in."""
    rows = np.random.default_rng(1)
    x = rows.normal(size=20_000)
    dose = x + rows.normal(size=len(x))
    y = (1 + x) * dose + rows.normal(size=len(x))
    own = doubly_robust_scores(np.zeros(len(x)), y, dose, (1 + x) * x, x)
    assert own.mean() == pytest.approx(1, abs=0.05)


def test_rewards_of_two_arms_differ_by_the_scores():
    rewards = doubly_robust_rewards(*TRIAL.arguments)
    np.testing.assert_allclose(rewards[:, 1] - rewards[:, 0], doubly_robust_scores(*TRIAL.arguments), rtol=1e-12)
    table = np.stack([1 - TRIAL.treatment_hat, TRIAL.treatment_hat], axis=1)
    effect, y, treatment, y_hat, _ = TRIAL.arguments
    np.testing.assert_array_equal(doubly_robust_rewards(effect[:, None], y, treatment, y_hat, table), rewards)


def arms(number, generator):
    """Rows of three arms, the effects of which are x and 2."""
    x = generator.uniform(-1, 1, number)
    chance = np.stack([0.4 - 0.2 * x, 0.3 + 0 * x, 0.3 + 0.2 * x], axis=1)
    arm = (generator.random(number)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    means = np.stack([x**2, x**2 + x, x**2 + 2], axis=1)
    y = means[np.arange(number), arm] + generator.normal(size=number)
    return means, arm, y, chance


def test_the_mean_reward_of_an_arm_is_its_mean_outcome_whichever_nuisance_is_wrong():
    means, arm, y, chance = arms(40_000, np.random.default_rng(2))
    effect, y_hat = means[:, 1:] - means[:, :1], (means * chance).sum(axis=1)
    np.testing.assert_allclose(
        doubly_robust_rewards(effect, y, arm, y_hat, chance).mean(axis=0), [1 / 3, 1 / 3, 7 / 3], atol=0.06
    )
    wrong = doubly_robust_rewards(np.zeros_like(effect), y, arm, np.zeros(len(y)), chance)
    np.testing.assert_allclose(wrong.mean(axis=0), [1 / 3, 1 / 3, 7 / 3], atol=0.06)
    # With flat chances the outcome's model alone is right: means of every arm have to follow from it.
    flat = np.full_like(chance, 1 / 3)
    own = doubly_robust_rewards(effect, y, arm, means.mean(axis=1), flat)
    np.testing.assert_allclose(own.mean(axis=0), [1 / 3, 1 / 3, 7 / 3], atol=0.06)


def test_scores_of_arms_are_differences_from_the_first():
    means, arm, y, chance = arms(50, np.random.default_rng(3))
    given = means[:, 1:] - means[:, :1], y, arm, (means * chance).sum(axis=1), chance
    rewards = doubly_robust_rewards(*given)
    np.testing.assert_array_equal(arm_scores(*given), rewards[:, 1:] - rewards[:, :1])
    residual = y - means[np.arange(50), arm]
    np.testing.assert_allclose(
        arm_scores(*given)[:, 1],
        means[:, 2] - means[:, 0] + residual * ((arm == 2) / chance[:, 2] - (arm == 0) / chance[:, 0]),
        rtol=1e-9,
    )


def test_an_instrument_that_is_the_treatment_gives_its_scores():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    own = instrumental_scores(effect, y, treatment, y_hat, chance, treatment, chance, np.ones(len(y)))
    np.testing.assert_allclose(own, doubly_robust_scores(*TRIAL.arguments), rtol=1e-12)


def test_scores_of_an_instrument_have_the_mean_of_the_effect_despite_confounding():
    rows = np.random.default_rng(4)
    number = 40_000
    hidden, coin = rows.normal(size=number), (rows.random(number) < 0.5) * 1.0
    treatment = coin * (hidden > -0.5)  # those who are moved have a greater outcome anyway
    y = 2 * treatment + 3 * hidden + rows.normal(size=number)
    share = treatment.mean()
    constant = np.ones(number)
    own = instrumental_scores(
        0 * y, y, treatment, y.mean() * constant, share * constant, coin, 0.5 * constant, 2 * share * constant
    )
    assert own.mean() == pytest.approx(2, abs=0.15)
    naive = doubly_robust_scores(0 * y, y, treatment, y.mean() * constant, share * constant)
    assert naive.mean() > 4


@pytest.mark.parametrize(("unit", "origin"), [(8.0, 0.0), (1.0, 3.0)])
def test_scores_follow_the_unit_of_y_and_not_its_origin(unit, origin):
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    moved = doubly_robust_scores(unit * effect, unit * y + origin, treatment, unit * y_hat + origin, chance)
    np.testing.assert_allclose(moved, unit * doubly_robust_scores(*TRIAL.arguments), rtol=1e-11)
    rewards = doubly_robust_rewards(unit * effect, unit * y + origin, treatment, unit * y_hat + origin, chance)
    np.testing.assert_allclose(rewards, unit * doubly_robust_rewards(*TRIAL.arguments) + origin, rtol=1e-9, atol=1e-9)


def test_a_treatment_without_overlap_is_warned_of_with_numbers():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    chance = np.where(np.arange(60) < 3, np.where(treatment == 1, 0.02, 0.5), chance)
    number = (chance < 0.05).sum()
    assert number
    with pytest.warns(
        OverlapWarning, match=rf"treatment_hat: .* between 0.02 .*: {number / 60:.1%} of the rows are below"
    ):
        doubly_robust_scores(effect, y, treatment, y_hat, chance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubly_robust_scores(*TRIAL.arguments)


def test_a_sure_treatment_that_came_has_a_score_and_one_that_did_not_has_none():
    """A forest may say 0 of a row that was not treated, and be right."""
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    right = np.where(np.arange(60) == 0, treatment, chance)
    with pytest.warns(OverlapWarning):
        own = doubly_robust_scores(effect, y, treatment, y_hat, right)
    assert np.isfinite(own).all()
    wrong = np.where(np.arange(60) < 2, 1 - treatment, chance)
    with pytest.raises(InvalidInputError, match="the treatment of row 0 has the chance 0, as in 1 others"):
        doubly_robust_scores(effect, y, treatment, y_hat, wrong)


def test_a_weak_instrument_is_warned_of():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    given = effect, y, treatment, y_hat, chance, treatment, chance
    weak = np.where(np.arange(60) < 6, 1e-4, 0.5)
    with pytest.warns(OverlapWarning, match=r"10.0% of the rows: compliance is between 0.0001 and 0.5"):
        instrumental_scores(*given, weak)
    with pytest.raises(InvalidInputError, match="no effect in 6 rows"):
        instrumental_scores(*given, np.where(weak < 0.5, 0, weak))


def _changed(**changes):
    names = ("effect", "y", "treatment", "y_hat", "treatment_hat")
    return {**dict(zip(names, TRIAL.arguments, strict=True)), **changes}


GAP = np.where(np.arange(60) == 7, np.nan, TRIAL.y)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"treatment": np.ones(60)}, "treatment must have two values at least, got 1 in every row"),
        ({"treatment": np.full(60, 3.5)}, "got 3.5 in every row"),
        ({"y": TRIAL.y[1:]}, r"y must be a number for each row, of shape \(60,\), got shape \(59,\)"),
        ({"y": GAP}, "y must be finite numbers, got nan in row 7"),
        ({"treatment_hat": TRIAL.treatment_hat * 3}, "treatment_hat must be between 0 and 1"),
        ({"treatment": np.array(["a", "b"] * 30)}, "treatment must be a number for each row"),
        ({"treatment_variance": np.zeros(60)}, "treatment_variance must be above 0, got 0.0 in row 0"),
        ({"effect": TRIAL.effect[:, None]}, r"effect must be a number for each row, of one axis"),
    ],
)
def test_bad_input_of_scores_is_named(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        doubly_robust_scores(**_changed(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"treatment": np.zeros(60)}, "must have rows of every arm, got none of arm 1"),
        ({"treatment": TRIAL.treatment + 1}, "whole number from 0 to 1, got 2 in row"),
        ({"treatment_hat": np.full((60, 3), 1 / 3)}, "effect must have a column for each arm but the first"),
        ({"treatment_hat": np.full((60, 2), 0.4)}, "must add up to 1 in every row, got 0.8 in row 0"),
        ({"y_hat": GAP}, "y_hat must be finite numbers, got nan in row 7"),
        ({"effect": np.where(np.arange(60) == 3, np.nan, 1)}, "effect must be finite numbers, got .nan. in row 3"),
    ],
)
def test_bad_input_of_rewards_is_named(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        doubly_robust_rewards(**_changed(**changes))
