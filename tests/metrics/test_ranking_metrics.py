"""Measures of order: beside the losses of boosting, scikit-learn, means over all orders, and numbers by hand."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from jaxtree.errors import InvalidInputError
from jaxtree.metrics import mean_average_precision, mean_reciprocal_rank, ndcg

ROWS = np.random.default_rng(3)
GROUP, SCORE = ROWS.integers(0, 6, 48), ROWS.integers(0, 5, 48) * 1.0
RELEVANCE, WEIGHT = ROWS.integers(0, 4, 48), ROWS.uniform(0.5, 2, 48)


def of_groups(measure, target, **more):
    """The mean of a measure of one group over groups of equal size, whose scores differ."""
    order = np.arange(60) % 12
    score = np.sin(order * 1.9 + np.arange(60) // 12)
    return measure(target, score, group=np.arange(60) // 12, **more), score.reshape(5, 12), target.reshape(5, 12)


def test_measures_are_those_of_scikit_learn():
    target = np.arange(60) * 7 % 4
    found, score, relevance = of_groups(ndcg, target, k=5)
    assert found == pytest.approx(
        np.mean([ndcg_score([2.0**y - 1], [s], k=5) for y, s in zip(relevance, score, strict=True)])
    )
    hits = target // 3
    found, score, relevant = of_groups(mean_average_precision, hits)
    assert found == pytest.approx(
        np.mean([average_precision_score(y, s) for y, s in zip(relevant, score, strict=True)])
    )


def mean_over_orders(measure, target, score):
    """The mean of a measure over all orders of tied rows."""
    orders = [order for order in itertools.permutations(range(len(score))) if np.all(np.diff(score[list(order)]) <= 0)]
    values = []
    for order in orders:
        falling = np.empty(len(score))
        falling[list(order)] = -np.arange(len(score))
        values.append(measure(target, falling, group=np.zeros(len(score))))
    return np.mean(values)


@pytest.mark.parametrize("measure", [ndcg, mean_average_precision, mean_reciprocal_rank])
def test_measures_of_tied_rows_are_means_over_all_their_orders(measure):
    for target, score in (
        ([0, 1, 0, 1, 0], [2, 1, 1, 1, 0]),
        ([0, 1, 1, 0], [1, 1, 1, 1]),
        ([0, 0, 1, 0], [1, 1, 0, 0]),
    ):
        target, score = np.array(target), np.array(score, float)
        found = measure(target, score, group=np.zeros(len(score)))
        assert found == pytest.approx(mean_over_orders(measure, target, score), abs=1e-12)


@pytest.mark.parametrize("measure", [ndcg, mean_average_precision, mean_reciprocal_rank])
def test_order_of_rows_words_of_groups_and_rows_of_no_weight_change_nothing(measure):
    hits, mixed = (RELEVANCE > 1).astype(int), np.random.default_rng(0).permutation(48)
    whole = measure(hits, SCORE, group=GROUP, sample_weight=WEIGHT)
    words = np.array([f"query {number}" for number in 10 - GROUP])[mixed]
    assert measure(hits[mixed], SCORE[mixed], group=words, sample_weight=WEIGHT[mixed]) == pytest.approx(
        whole, abs=1e-12
    )
    more = [np.append(values, [value] * 2) for values, value in ((hits, 1), (SCORE, 9), (GROUP, 99), (WEIGHT, 0))]
    assert measure(more[0], more[1], group=more[2], sample_weight=more[3]) == pytest.approx(whole, abs=1e-12)


def test_reciprocal_ranks_by_hand():
    target, score, group = [0, 1, 0, 0, 0, 1], [3, 2, 1, 1, 2, 0], ["a"] * 3 + ["b"] * 3
    assert mean_reciprocal_rank(target, score, group=group) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert mean_reciprocal_rank(target, score, group=group, k=2) == pytest.approx(1 / 4)
    assert mean_reciprocal_rank([0, 0], [1, 2], group=[1, 1]) == 0
    assert ndcg([0, 0], [1, 2], group=[1, 1]) == mean_average_precision([0, 0], [1, 2], group=[1, 1]) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([1, 40], [1, 2], group=[0, 0]), "whole numbers from 0 to 31, got 40"),
        (lambda: mean_average_precision([1, 2], [1, 2], group=[0, 0]), "whole numbers from 0 to 1, got 2"),
        (lambda: mean_reciprocal_rank([1, -2], [1, 2], group=[0, 0]), "0 or more, got -2"),
        (lambda: ndcg([1, 0], [1, 2], group=[2]), r"group of each of 2 rows, got shape \(1,\)"),
        (lambda: ndcg([1, 0], [1, np.nan], group=[0, 0]), "score must be finite numbers, got nan in row 1"),
        (lambda: ndcg([1, 0], [1, 2], group=[0, 0], k=0), "k must be None, or a whole number of 1 or more, got 0"),
        (lambda: ndcg([], [], group=[]), "a row or more"),
        (lambda: ndcg([1, 0], [1, 2], group=[0, 0], sample_weight=[0, 0]), "above 0 somewhere"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
