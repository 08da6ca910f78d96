"""Targets that are drawn again: their means and variances, and what they keep."""

import numpy as np
import pytest

from jaxtree.forests.redraws import Times, draw_classes, draw_numbers, draw_times
from jaxtree.table.redraws import RedrawnRows

NUMBER = 20_000
UNIFORM = (np.arange(NUMBER) + 0.5) / NUMBER


@pytest.mark.parametrize("least", [-np.inf, 0.0])
@pytest.mark.parametrize(("target", "truth"), [(3.0, 2.0), (1.0, 2.0), (9.0, 2.0), (0.0, 0.5)])
def test_numbers_have_the_truth_as_mean_and_the_residual_as_deviation(target, truth, least):
    drawn = draw_numbers(np.full((NUMBER, 1), target), np.full((NUMBER, 1), truth), UNIFORM, least)
    assert drawn.min() >= least and len(np.unique(drawn.round(9))) == 2
    np.testing.assert_allclose(drawn.mean(), truth, rtol=1e-3)
    np.testing.assert_allclose(drawn.std(), abs(target - truth), rtol=2e-3)


def test_rows_of_one_number_keep_the_signs_of_their_residuals():
    target, truth = np.array([[1.0, 4.0], [-1.0, 0.0]]), np.zeros((2, 2))
    drawn = [draw_numbers(target, truth, np.full(2, own)) for own in (0.2, 0.8)]
    np.testing.assert_array_equal(drawn[0], target)
    np.testing.assert_array_equal(drawn[1], -target)


def test_a_truth_at_the_least_number_stays():
    drawn = draw_numbers(np.array([[3.0]]), np.array([[0.0]]), np.array([0.1]), least=0.0)
    np.testing.assert_array_equal(drawn, [[0.0]])


def test_classes_have_their_shares():
    shares = np.array([0.2, 0.0, 0.5, 0.3])
    codes = draw_classes(np.broadcast_to(shares, (NUMBER, 4)), UNIFORM)
    np.testing.assert_allclose(np.bincount(codes, minlength=4) / NUMBER, shares, atol=1e-3)


def test_times_have_the_chances_of_their_curves():
    given = Times(np.full(NUMBER, 5.0), np.ones(NUMBER, bool))
    chances = np.broadcast_to([0.7, 0.4, 0.1], (NUMBER, 3))
    drawn = draw_times(given, chances, np.array([1.0, 2.0, 3.0]), np.stack([UNIFORM, UNIFORM]))
    left = [np.mean(drawn.time > own) for own in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(left, [0.7, 0.4, 0.1], atol=1e-3)
    assert drawn.time.max() == 5 and not drawn.is_event[drawn.time == 5].any()  # nobody knows of a time behind the last


def test_censored_rows_keep_their_end_and_others_draw_a_later_one():
    generator = np.random.default_rng(0)
    time, is_event = generator.uniform(size=500), generator.uniform(size=500) < 0.6
    none, event_times = np.ones((500, 1)), np.array([2.0])
    drawn = draw_times(Times(time, is_event), none, event_times, generator.uniform(size=(2, 500)))
    assert not drawn.is_event.any()
    np.testing.assert_array_equal(drawn.time[~is_event], time[~is_event])
    own = drawn.time[is_event]
    assert (own >= time[is_event]).all() and np.isin(own, [*time[~is_event], time.max()]).all()


def test_rows_of_a_group_have_their_numbers_in_common():
    drawn = RedrawnRows(3, np.array([0, 1, 0]))
    numbers = drawn.uniform(drawn.generator(0), 2, 3)
    np.testing.assert_array_equal(numbers[:, 0], numbers[:, 2])
    assert numbers.shape == (2, 3) and len(np.unique(numbers)) == 4
