"""Rank-weighted average effects: by the definition, ties, weights, half-samples, coverage, and bad input."""

import numpy as np
import pandas as pd
import pytest

from jaxtree.effects import rank_average_effect
from jaxtree.errors import InvalidInputError

ROWS = np.random.default_rng(0)
SCORES, PRIORITY = ROWS.normal(size=40), ROWS.normal(size=40)
FEW = {"num_samples": 2}


def definition(scores, priority, target):
    """The mean over i of the mean score of the first i rows less that of all, times i / n for QINI."""
    ordered = scores[np.argsort(-priority)]
    number = len(scores)
    curve = np.array([ordered[: i + 1].mean() - scores.mean() for i in range(number)])
    return (curve * (np.arange(1, number + 1) / number if target == "qini" else 1)).mean()


@pytest.mark.parametrize("target", ["autoc", "qini"])
def test_estimates_are_those_of_the_definition(target):
    found = rank_average_effect(SCORES, PRIORITY, target=target, **FEW)
    assert found.estimate[0] == pytest.approx(definition(SCORES, PRIORITY, target))
    for share, value in zip(found.share, found.curve[0], strict=True):
        first = SCORES[np.argsort(-PRIORITY)][: round(share * 40)]
        assert value == pytest.approx(first.mean() - SCORES.mean())
    assert found.curve[0, -1] == pytest.approx(0, abs=1e-12)


def test_the_area_of_a_linear_effect_is_known():
    """With uniform effects 1 - q at the share q, TOC is (1 - q) / 2: AUTOC 1/4, QINI 1/12."""
    effect = (np.arange(100_000) + 0.5) / 100_000
    for target, area in (("autoc", 1 / 4), ("qini", 1 / 12)):
        assert rank_average_effect(effect, effect, target=target, **FEW).estimate[0] == pytest.approx(area, abs=1e-4)


@pytest.mark.parametrize("target", ["autoc", "qini"])
def test_tied_rows_count_as_the_mean_over_their_orders(target):
    tied = np.round(PRIORITY)
    found = rank_average_effect(SCORES, tied, target=target, **FEW)
    orders = [definition(SCORES, tied + 1e-6 * ROWS.random(40), target) for _ in range(4000)]
    assert found.estimate[0] == pytest.approx(np.mean(orders), abs=4 * np.std(orders) / np.sqrt(4000))
    assert rank_average_effect(SCORES, np.zeros(40), target=target, **FEW).estimate[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("target", ["autoc", "qini"])
def test_laws_of_ranks(target):
    def both(scores, priorities, **more):
        found = rank_average_effect(scores, priorities, target=target, **more)
        return np.append(found.estimate, found.curve), np.append(found.standard_error, found.curve_error)

    groups = np.arange(40) // 2
    own = both(SCORES, PRIORITY, clusters=groups)
    # A monotone map of priorities, a shift of scores, and their unit.
    np.testing.assert_allclose(both(4 * SCORES + 7, np.exp(PRIORITY), clusters=groups), np.multiply(4, own), atol=1e-12)
    # The order of rows: half-samples are those of clusters in their order.
    order = ROWS.permutation(40)
    np.testing.assert_allclose(both(SCORES[order], PRIORITY[order], clusters=groups[order]), own, atol=1e-12)
    # Single rows as clusters.
    np.testing.assert_array_equal(both(SCORES, PRIORITY, clusters=np.arange(40)), both(SCORES, PRIORITY))
    # Rows of weight 0 and the unit of weights.
    is_in = np.arange(40) % 3 > 0
    np.testing.assert_allclose(
        both(SCORES, PRIORITY, sample_weight=is_in * 3.0), both(SCORES[is_in], PRIORITY[is_in]), atol=1e-12
    )


def test_repeated_rows_are_weights_up_to_the_grid():
    """A row of weight 2 is one point of the curve, two rows are two, between which the tie leaves it flat in QINI."""
    weight = ROWS.integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weight)
    own = rank_average_effect(SCORES, PRIORITY, sample_weight=weight, **FEW)
    repeated = rank_average_effect(SCORES[rows], PRIORITY[rows], **FEW)
    np.testing.assert_allclose(repeated.curve, own.curve, atol=1e-12)
    assert repeated.estimate[0] == pytest.approx(own.estimate[0], abs=0.1)


def test_two_rules_are_compared_on_the_same_samples():
    frame = pd.DataFrame({"by effect": SCORES, "by luck": PRIORITY})
    found = rank_average_effect(SCORES, frame, target="qini")
    assert found.rules == ("by effect", "by luck", "by effect - by luck")
    assert found.estimate[2] == pytest.approx(found.estimate[0] - found.estimate[1])
    np.testing.assert_allclose(found.curve[2], found.curve[0] - found.curve[1])
    alone = rank_average_effect(SCORES, PRIORITY, target="qini")
    assert (alone.estimate[0], alone.standard_error[0]) == (found.estimate[1], found.standard_error[1])
    same = rank_average_effect(SCORES, np.stack([PRIORITY, PRIORITY], axis=1))
    assert same.estimate[2] == 0 and same.standard_error[2] == 0 and np.isnan(same.p_value[2])
    lines = repr(found).splitlines()
    assert len(lines) == 3 and lines[2].startswith("qini of by effect - by luck: ")


def test_half_samples_have_the_error_of_the_mean():
    """With priorities of two values the curve at the share of the first is a difference of means."""
    scores, first = ROWS.normal(size=2_000), np.arange(2_000) < 1_000
    found = rank_average_effect(scores, first * 1.0, shares=[0.5], num_samples=400)
    assert found.curve[0, 0] == pytest.approx((scores[:1_000].mean() - scores[1_000:].mean()) / 2)
    assert found.curve_error[0, 0] == pytest.approx(1 / np.sqrt(2_000), rel=0.12)


def test_intervals_cover():
    rows, covered = np.random.default_rng(1), []
    for _ in range(250):
        effect = rows.random(300)
        found = rank_average_effect(
            effect + rows.normal(size=300), effect, num_samples=60, random_state=rows.integers(1e6)
        )
        low, high = found.interval()[0]
        covered.append(low <= 0.25 <= high)
    assert 0.9 <= np.mean(covered) <= 0.98


def test_seeds_decide_on_samples():
    found = [rank_average_effect(SCORES, PRIORITY, random_state=seed).standard_error[0] for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("priorities", "more", "words"),
    [
        (
            PRIORITY[1:],
            {},
            r"priorities must be a number for each of 40 rows, or two columns of these, got shape \(39,\)",
        ),
        (np.ones((40, 3)), {}, "or two columns of these"),
        (np.where(np.arange(40) == 2, np.nan, PRIORITY), {}, "priorities must not be missing, got nan in row 2"),
        (["a"] * 40, {}, "priorities must be numbers, got list"),
        (PRIORITY, {"target": "AUTOC"}, "target must be 'autoc' or 'qini', got 'AUTOC'"),
        (PRIORITY, {"shares": [0.5, 0.5]}, r"shares must ascend, above 0 and up to 1, got \[0.5, 0.5\]"),
        (PRIORITY, {"shares": [0, 1]}, "shares must ascend"),
        (PRIORITY, {"num_samples": 1}, "num_samples must be a whole number from 2, got 1"),
        (PRIORITY, {"clusters": [1] * 40}, "got one cluster"),
    ],
)
def test_bad_input_is_named(priorities, more, words):
    with pytest.raises(InvalidInputError, match=words):
        rank_average_effect(SCORES, priorities, **more)
