"""Concordance and Brier scores: beside scikit-survival's numbers, a loop over pairs, and numbers by hand."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from jaxtree.errors import InvalidInputError
from jaxtree.figures.survival import groups_by_risk
from jaxtree.metrics import (
    KaplanMeier,
    concordance_index,
    concordance_index_ipcw,
    integrated_brier_score,
    survival_brier_score,
)
from jaxtree.metrics.survival import sums_below

ROW = np.arange(40)
TIME, EVENT, RISK = 1.0 + ROW * 7 % 23, ROW * 5 % 7 < 4, np.round(np.sin(ROW * 1.3), 1)
FITTED = (1.0 + ROW * 11 % 29, ROW * 3 % 5 < 3)
TIMES = np.array([3.0, 7.0, 12.0, 18.0])
SURVIVAL = np.exp(-np.exp(RISK)[:, None] * TIMES / 15)


def test_numbers_are_those_of_scikit_survival():
    """Numbers of `sksurv.metrics` 0.28.0 on the same rows."""
    assert concordance_index(TIME, RISK, event=EVENT) == pytest.approx(0.4894230769230769, abs=1e-14)
    of_fit = {"event": EVENT, "censoring": FITTED}
    assert concordance_index_ipcw(TIME, RISK, **of_fit) == pytest.approx(0.49297025913427306, abs=1e-14)
    assert concordance_index_ipcw(TIME, RISK, **of_fit, tau=20) == pytest.approx(0.4744554292059686, abs=1e-14)
    by_fit = [0.12133208, 0.28913129, 0.3165565, 0.25706294]
    np.testing.assert_allclose(survival_brier_score(TIME, SURVIVAL, TIMES, **of_fit), by_fit, atol=1e-8)
    own = [0.11941965, 0.27513143, 0.32271409, 0.34539713]
    np.testing.assert_allclose(survival_brier_score(TIME, SURVIVAL, TIMES, event=EVENT), own, atol=1e-8)
    assert integrated_brier_score(TIME, SURVIVAL, TIMES, **of_fit) == pytest.approx(0.270400303154891, abs=1e-14)


def slow_concordance(lower, upper, risk, weight):
    """The index by a loop over all pairs."""
    right = total = 0.0
    for i in range(len(lower)):
        for j in range(len(lower)):
            j_is_later = upper[i] < lower[j] or (upper[i] == lower[j] and upper[j] > lower[j])
            if i != j and j_is_later:
                total += weight[i] * weight[j]
                right += weight[i] * weight[j] * (1.0 if risk[j] < risk[i] else 0.5 if risk[j] == risk[i] else 0.0)
    return right / total


@pytest.mark.parametrize("seed", range(3))
def test_concordance_beside_a_loop_over_pairs(seed):
    rng = np.random.default_rng(seed)
    lower, risk, weight = rng.integers(0, 9, 33) * 1.0, rng.integers(0, 6, 33) * 1.0, rng.integers(0, 4, 33) * 1.0
    upper = np.choose(rng.integers(0, 3, 33), [lower, lower + 2, np.inf])
    found = concordance_index(lower, risk, upper=upper, sample_weight=weight)
    assert found == pytest.approx(slow_concordance(lower, upper, risk, weight), abs=1e-14)


def test_units_row_order_and_monotone_risks_change_nothing():
    whole, mixed = concordance_index(TIME, RISK, event=EVENT), np.random.default_rng(0).permutation(40)
    assert concordance_index(TIME[mixed] * 365.25, np.exp(RISK[mixed]), event=EVENT[mixed]) == whole
    structured = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("died", bool), ("days", float)])
    assert concordance_index(structured, RISK) == whole
    assert concordance_index(TIME, -RISK, event=EVENT) == pytest.approx(1 - whole, abs=1e-14)


def test_ties_by_hand():
    """At equal times the event is the earlier one; two events at one time are not compared; equal risks are a half."""
    assert concordance_index([2, 2], [1.0, 0.0], event=[1, 0]) == 1
    assert concordance_index([2, 2, 3], [1.0, 0.0, 0.5], event=[1, 1, 1]) == 0.5
    assert concordance_index([1, 2], [0.5, 0.5], event=[1, 1]) == 0.5
    assert concordance_index([1, 2], [0.5, 0.5 + 1e-9], event=[1, 1]) == 0.5
    assert concordance_index([1, 2], [0.5, 0.5 + 1e-9], event=[1, 1], tied_tol=0) == 0


def test_without_a_pair_it_is_not_defined():
    for time, event in (([3.0], [1]), ([1.0, 2.0], [0, 0]), ([2.0, 2.0], [1, 1])):
        with pytest.warns(UndefinedMetricWarning, match="whose event comes first"):
            assert np.isnan(concordance_index(time, np.zeros(len(time)), event=event))


def test_brier_scores_by_hand():
    """One of four rows is censored at 2: those beyond count 1 / (2/3) from then on."""
    time, event, half = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], np.full((4, 2), 0.5)
    scores = survival_brier_score(time, half, [1.5, 3.5], event=event)
    np.testing.assert_allclose(scores, [0.25, 0.25 * (1 + 1.5 + 1.5) / 4])
    perfect = np.array([[0, 0], [1, 0], [1, 0], [1, 1]], float)
    np.testing.assert_allclose(survival_brier_score(time, perfect, [1.5, 3.5], event=event), 0, atol=1e-15)
    weighted = survival_brier_score([1.0, 3.0], [[0.5], [0.8]], [2.0], sample_weight=[3, 1])
    np.testing.assert_allclose(weighted, [(3 * 0.25 + 0.04) / 4])


def test_sums_over_suffixes_beside_a_loop():
    rng = np.random.default_rng(0)
    for number in (1, 2, 7, 16, 37):
        values, weight = rng.integers(0, 5, number) * 1.0, rng.uniform(0, 2, number)
        start, thresholds = rng.integers(0, number + 1, 20), rng.uniform(-1, 6, (20, 2))
        slow = [
            [np.sum(weight[first:][values[first:] < end]) for end in ends]
            for first, ends in zip(start, thresholds, strict=True)
        ]
        np.testing.assert_allclose(sums_below(values, weight, start, thresholds), slow, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concordance_index([1, 2], [1], event=[1, 0]), r"risk must be a number for each row.*shape \(1,\)"),
        (lambda: concordance_index([1, 2], [1, 2], event=[1, 2]), "event must be 1 or True.*got 2"),
        (lambda: concordance_index([1, np.nan], [1, 2]), "time must be finite numbers, got nan in row 1"),
        (lambda: concordance_index([1, 2], [1, 2], upper=[0, 2]), "upper must not be below time, got 0.0 for 1.0"),
        (lambda: concordance_index([1, 2], [1, 2], event=[1, 1], upper=[1, 2]), "give one of them"),
        (lambda: concordance_index(["a", "b"], [1, 2]), "time must be a number for each row"),
        (
            lambda: concordance_index_ipcw([1, 2, 3], [1, 2, 3], censoring=([1, 2], [1, 0])),
            "an event is at 2.0, when all rows of censoring were censored",
        ),
        (lambda: survival_brier_score([1, 2], [[0.5], [1.5]], [1.0]), "chances from 0 to 1"),
        (lambda: survival_brier_score([1, 2], [0.5, 0.5], [1.0]), r"shape \(rows, times\), \(2, 1\)"),
        (lambda: integrated_brier_score([1, 2], np.ones((2, 1)), [1.0]), "two or more, ascending, got 1"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_kaplan_and_meier_s_curve_is_that_of_the_book():
    """Remission times of Freireich et al. (1963), as in Kleinbaum and Klein, Survival Analysis, table 2.1."""
    time = np.array([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], float)
    curve = KaplanMeier.of(time, event=np.arange(21) < 9)
    assert curve.time.tolist() == [0, 6, 7, 10, 13, 16, 22, 23]
    np.testing.assert_allclose(curve.share[1:], [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], atol=5e-5)
    assert (curve.low[1:] < curve.share[1:]).all() and (curve.share[1:] < curve.high[1:]).all()


def test_groups_of_risk_have_equal_weight_and_keep_equal_risks_together():
    risk = np.array([3.0, 1.0, 2.0, 1.0, 5.0, 4.0])
    assert [own.tolist() for own in groups_by_risk(risk, np.ones(6), 3)] == [[1, 3], [2, 0], [5, 4]]
    assert [own.tolist() for own in groups_by_risk(risk, np.array([1.0, 1, 1, 1, 4, 1]), 2)] == [[1, 3, 2, 0, 5], [4]]
    assert [own.tolist() for own in groups_by_risk(np.zeros(4), np.ones(4), 3)] == [[0, 1, 2, 3]]
