"""Losses of order, beside slow loops over all pairs of every group."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.metrics

from jaxtree.errors import InvalidInputError
from jaxtree.losses.ranking import average_precision, ndcg, pairwise
from tests.losses.derivatives import derive, evaluate, mean_of, numeric
from tests.marks import are_slow

ROWS = np.random.default_rng(11)
NUMBER_OF_ROWS = 30
GROUP = ROWS.choice([-3, 5, 8, 2], size=NUMBER_OF_ROWS, p=[0.4, 0.3, 0.25, 0.05])
SCORES = ROWS.normal(size=(1, NUMBER_OF_ROWS))
DEGREES = ROWS.integers(0, 4, size=NUMBER_OF_ROWS)
HITS = (DEGREES > 1).astype(int)
QUERY_WEIGHT = {-3: 1.0, 5: 2.0, 8: 0.5, 2: 1.5}
WEIGHT_OF_ROWS = ROWS.uniform(0.5, 2, size=NUMBER_OF_ROWS)
WEIGHT = np.array([QUERY_WEIGHT[group] for group in GROUP])


def slow_ndcg(score, relevance, top):
    discount = 1 / np.log2(np.arange(len(score)) + 2)
    discount[top or len(score) :] = 0
    gain = 2.0**relevance - 1
    best = np.sum(np.sort(gain)[::-1] * discount)
    return np.sum(gain[np.argsort(-score, kind="stable")] * discount) / best if best else 1.0


def slow_average_precision(score, relevance, top):
    ordered = relevance[np.argsort(-score, kind="stable")] > 0
    precision = np.cumsum(ordered) / (np.arange(len(ordered)) + 1)
    return precision[ordered].mean() if ordered.any() else 1.0


CASES = {
    "ndcg": (ndcg(), DEGREES, slow_ndcg, None),
    "ndcg_of_the_top": (ndcg(3), DEGREES, slow_ndcg, 3),
    "average_precision": (average_precision(), HITS, slow_average_precision, None),
    "pairwise": (pairwise(), DEGREES, None, None),
}
OF_MEASURES = [name for name in CASES if name != "pairwise"]


def slow_derivatives(measure, target, top):
    """One pair after another; what a pair changes is found by changing the scores of its rows."""
    gradient, hessian = np.zeros(NUMBER_OF_ROWS), np.zeros(NUMBER_OF_ROWS)
    for group in np.unique(GROUP):
        rows = np.flatnonzero(group == GROUP)
        for better in rows:
            for worse in rows:
                if target[better] <= target[worse]:
                    continue
                changed = SCORES[0].copy()
                changed[[better, worse]] = changed[[worse, better]]
                change = 1.0
                if measure is not None:
                    now, then = (measure(score[rows], target[rows], top) for score in (SCORES[0], changed))
                    change = abs(then - now)
                wrong = 1 / (1 + np.exp(SCORES[0, better] - SCORES[0, worse]))
                weight = change * (WEIGHT_OF_ROWS[better] + WEIGHT_OF_ROWS[worse]) / 2
                gradient[better] -= weight * wrong
                gradient[worse] += weight * wrong
                hessian[[better, worse]] += weight * wrong * (1 - wrong)
    return gradient, hessian


@pytest.mark.parametrize("name", CASES)
def test_derivatives_beside_a_loop_over_pairs(name):
    loss, target, measure, top = CASES[name]
    gradient, hessian = slow_derivatives(measure, target, top)
    with jax.enable_x64(True):
        derivatives = derive(loss, SCORES, target, WEIGHT_OF_ROWS, {"group": GROUP})
    np.testing.assert_allclose(derivatives.gradient[0], gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(derivatives.hessian[0], hessian, rtol=1e-9, atol=1e-12)
    assert np.abs(gradient).max() > 0.01


@pytest.mark.parametrize("name", OF_MEASURES)
def test_values_are_what_the_measure_lacks(name):
    loss, target, measure, top = CASES[name]
    with jax.enable_x64(True):
        values = evaluate(loss, SCORES, target, {"group": GROUP})
        mean = mean_of(loss, SCORES, target, WEIGHT, {"group": GROUP})
    measures = {}
    for group in np.unique(GROUP):
        rows = group == GROUP
        measures[group] = 1 - measure(SCORES[0, rows], target[rows], top)
        np.testing.assert_allclose(np.asarray(values)[rows], measures[group], atol=1e-12)
    weights = [QUERY_WEIGHT[group] for group in measures]
    np.testing.assert_allclose(mean, np.average(list(measures.values()), weights=weights), rtol=1e-12)


def test_measures_are_those_of_scikit_learn():
    rows = GROUP == -3
    values = evaluate(ndcg(4), SCORES, DEGREES, {"group": GROUP})
    other = sklearn.metrics.ndcg_score([2.0 ** DEGREES[rows] - 1], SCORES[:, rows], k=4)
    np.testing.assert_allclose(1 - np.asarray(values)[rows], other, rtol=1e-5)
    values = evaluate(average_precision(), SCORES, HITS, {"group": GROUP})
    other = sklearn.metrics.average_precision_score(HITS[rows], SCORES[0, rows])
    np.testing.assert_allclose(1 - np.asarray(values)[rows], other, rtol=1e-5)


def orders_of(score):
    """All orders by falling scores; rows of equal scores stand in every order."""
    parts = [np.flatnonzero(score == value) for value in np.unique(score)[::-1]]
    for orders in itertools.product(*map(itertools.permutations, parts)):
        yield np.concatenate([np.array(order, int) for order in orders])


def mean_over_orders(name, score, target, exchanged=()):
    """The mean of a measure over all orders of a group, or of the size of its change if two rows are exchanged."""
    _, _, measure, top = CASES[name]
    found = []
    for order in orders_of(score):
        places = np.empty(len(order))
        places[order] = -np.arange(len(order))
        value = measure(places, target, top)
        if len(exchanged):
            one, other = exchanged
            places[[one, other]] = places[[other, one]]
            value = abs(measure(places, target, top) - value)
        found.append(value)
    return np.mean(found)


TIED_GROUP = np.repeat([4, 1, 9, 2, 7], [5, 4, 5, 6, 1])
TIED_SCORES = np.array([[0, 0, 0, 0, 0, 2, 1, 1, 0, 3, 3, 2, 2, 2, 1, 0, 1, 0, 0, -1, 5]]) / 2
TIED_DEGREES = np.array([2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 2, 1, 0, 2, 0, 1, 0, 2, 0, 1, 1])


def tied_case(name):
    return CASES[name][0], TIED_DEGREES if "ndcg" in name else (TIED_DEGREES > 0).astype(int)


@pytest.mark.parametrize("name", OF_MEASURES)
def test_measures_of_tied_rows_are_means_over_all_their_orders(name):
    loss, target = tied_case(name)
    with jax.enable_x64(True):
        values = np.asarray(evaluate(loss, TIED_SCORES, target, {"group": TIED_GROUP}))
    for group in np.unique(TIED_GROUP):
        rows = group == TIED_GROUP
        expected = mean_over_orders(name, TIED_SCORES[0, rows], target[rows])
        np.testing.assert_allclose(1 - values[rows], expected, rtol=1e-12)
        if "ndcg" in name and rows.sum() > 1:
            other = sklearn.metrics.ndcg_score([2.0 ** target[rows] - 1], TIED_SCORES[:, rows], k=loss.k)
            assert other == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", OF_MEASURES)
def test_pairs_push_by_the_mean_change_over_all_orders_of_tied_rows(name):
    loss, target = tied_case(name)
    expected, score = np.zeros(len(target)), TIED_SCORES[0]
    for better, worse in itertools.permutations(range(len(target)), 2):
        if TIED_GROUP[better] != TIED_GROUP[worse] or target[better] <= target[worse]:
            continue
        rows = np.flatnonzero(TIED_GROUP[better] == TIED_GROUP)
        change = mean_over_orders(name, score[rows], target[rows], np.searchsorted(rows, [better, worse]))
        push = change / (1 + np.exp(score[better] - score[worse]))
        expected[better] -= push
        expected[worse] += push
    with jax.enable_x64(True):
        found = derive(loss, TIED_SCORES, target, np.ones(len(target)), {"group": TIED_GROUP})
    np.testing.assert_allclose(found.gradient[0], expected, rtol=1e-12, atol=1e-14)
    assert np.abs(expected[TIED_GROUP == 4]).min() > 0, "all scores of this group are equal, and yet it learns"


@pytest.mark.parametrize("name", CASES)
def test_any_order_of_the_table_gives_the_same_numbers(name):
    loss, target = tied_case(name)
    weight = 1 + (TIED_GROUP % 3) / 2
    with jax.enable_x64(True):
        mean = mean_of(loss, TIED_SCORES, target, weight, {"group": TIED_GROUP})
        found = derive(loss, TIED_SCORES, target, weight, {"group": TIED_GROUP})
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(target))
            given = TIED_SCORES[:, order], target[order], weight[order], {"group": TIED_GROUP[order]}
            assert mean_of(loss, *given) == mean
            for own, other in zip(derive(loss, *given), found, strict=True):
                np.testing.assert_allclose(own, other[:, order], rtol=1e-12, atol=1e-15)


def test_pairwise_derivatives_are_those_of_its_values():
    loss, extras = pairwise(), {"group": GROUP}
    with jax.enable_x64(True):
        found = derive(loss, SCORES, DEGREES, np.ones(NUMBER_OF_ROWS), extras)
        for row in range(5):
            unit = np.eye(1, NUMBER_OF_ROWS, row)

            def total(at, unit=unit):
                return np.sum(evaluate(loss, SCORES + at * unit, DEGREES, extras), keepdims=True)

            def slope(at, unit=unit, row=row):
                moved = derive(loss, SCORES + at * unit, DEGREES, np.ones(NUMBER_OF_ROWS), extras)
                return moved.gradient[0, row : row + 1]

            here = np.zeros((1, 1))
            np.testing.assert_allclose(found.gradient[0, row], numeric(total, here)[0, 0], atol=1e-7)
            np.testing.assert_allclose(found.hessian[0, row], numeric(slope, here)[0, 0], atol=1e-7)


@pytest.mark.parametrize("name", are_slow(CASES, "ndcg_of_the_top"))
def test_rows_of_weight_zero_are_not_there_and_the_order_of_rows_does_not_matter(name):
    loss, target, *_ = CASES[name]
    weight = np.where(ROWS.uniform(size=NUMBER_OF_ROWS) < 0.3, 0, WEIGHT)
    shuffled = ROWS.permutation(np.flatnonzero(weight))
    with jax.enable_x64(True):
        padded = derive(loss, SCORES, target, weight, {"group": GROUP})
        some = {"group": GROUP[shuffled]}
        alone = derive(loss, SCORES[:, shuffled], target[shuffled], weight[shuffled], some)
        means = (
            mean_of(loss, SCORES, target, weight, {"group": GROUP}),
            mean_of(loss, SCORES[:, shuffled], target[shuffled], weight[shuffled], some),
        )
    for one, other in zip(padded, alone, strict=True):
        np.testing.assert_allclose(one[0, shuffled], other[0], rtol=1e-12, atol=1e-14)
        assert (np.asarray(one)[0, weight == 0] == 0).all()
    np.testing.assert_allclose(*means, rtol=1e-12)


@pytest.mark.slow
def test_extreme_scores_groups_of_one_and_groups_without_relevant_rows():
    group = np.array([1, 2, 2, 3, 3, 3])
    target = np.array([1, 0, 0, 1, 1, 0])
    for loss in (ndcg(), average_precision(), pairwise()):
        for size in (0.0, 1e4):
            scores = jnp.asarray([[size, size, -size, -size, size, size]], jnp.float32)
            derivatives = derive(loss, scores, target, np.ones(6), {"group": group})
            assert all(np.isfinite(part).all() and (part[0, :3] == 0).all() for part in derivatives)
            assert np.isfinite(evaluate(loss, scores, target, {"group": group})).all()
        assert (evaluate(loss, scores, target, {"group": group})[:3] == 0).all()


def test_equal_losses_are_traced_once():
    traced = []

    def trace(scores, loss):
        traced.append(0)
        return loss.derivatives(scores, DEGREES, WEIGHT, {"group": GROUP})

    trace = jax.jit(trace, static_argnums=1)
    for _ in range(2):
        trace(jnp.zeros((1, NUMBER_OF_ROWS)), ndcg(5))
    assert len(traced) == 1 and ndcg(5) != ndcg() and pairwise() != average_precision()
    assert (ndcg().start(DEGREES, WEIGHT, {"group": GROUP}) == 0).all()


@pytest.mark.parametrize(
    "loss, target, extras, message",
    [
        (ndcg(), [1, 0], {}, r"ndcg\(k=None\) needs the extra 'group' of every row, got \[\]"),
        (ndcg(2), [0, 32], {"group": [1, 1]}, r"ndcg\(k=2\): a target must be a whole number from 0 to 31, got 32"),
        (average_precision(), [0, 2], {"group": [1, 1]}, "a target must be a whole number from 0 to 1, got 2"),
        (pairwise(), [0.5, np.nan], {"group": [1, 1]}, r"pairwise\(\): a target must be a finite number, got nan"),
        (pairwise(), [0, 1], {"group": [0.5, 1]}, "the extra 'group' must be a whole number, got 0.5"),
    ],
)
def test_wrong_rows_are_named(loss, target, extras, message):
    with pytest.raises(InvalidInputError, match=message):
        loss.check(np.array(target), {name: np.array(values) for name, values in extras.items()})


def test_a_wrong_parameter_is_named():
    with pytest.raises(InvalidInputError, match="k of ndcg must be None, or 1 or more, got 0"):
        ndcg(0)
