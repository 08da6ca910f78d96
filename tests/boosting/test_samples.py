"""Drawn rows: how many, which, and with what weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting import squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.samples import MinimalVariance, OneSided, RowsToDraw, Uniform
from jaxtree.kernels.mesh import Devices
from jaxtree.losses.loss import Derivatives
from tests.boosting.test_boost import boosted, numbers
from tests.marks import rest_is_slow

ROWS = 1000


@pytest.fixture(autouse=True)
def in_double():
    with jax.enable_x64(True):
        yield


def derivatives_of(seed=0, num_scores=1):
    rng = np.random.default_rng(seed)
    gradient, hessian = rng.normal(0, 1, (num_scores, ROWS)) ** 3, rng.uniform(0.1, 1, (num_scores, ROWS))
    return Derivatives(jnp.asarray(gradient), jnp.asarray(hessian))


@jax.jit
def draw(sample, is_there, number, derivatives, l2):
    return sample.draw(RowsToDraw(is_there, number, derivatives, l2, Devices(1)))


def drawn(sample, derivatives, seed=0, l2=1.0, is_there=None):
    is_there = np.ones(ROWS, bool) if is_there is None else is_there
    used, factor = draw(sample, is_there, np.random.default_rng(seed).random(ROWS), derivatives, l2)
    return np.asarray(used), None if factor is None else np.asarray(factor)


def exact_threshold(size, wanted):
    """By a sort: of the k largest, which are taken for sure, the others share what is left (their algorithm 1)."""
    ordered = np.sort(size)
    for number_sure in range(len(size)):
        rest = ordered[: len(size) - number_sure]
        threshold = rest.sum() / (wanted - number_sure)
        if threshold >= rest[-1]:
            return threshold
    raise AssertionError("no threshold")


def test_large_gradients_are_kept_and_the_rest_is_drawn():
    derivatives, size = derivatives_of(), np.abs(derivatives_of().gradient[0])
    used, factor = drawn(OneSided(0.2, 0.1), derivatives)
    is_top = size >= np.sort(size)[-200]
    assert used[is_top].all() and np.all(factor[is_top] == 1)
    assert abs(used[~is_top].sum() - 100) < 40
    np.testing.assert_allclose(factor[~is_top], (1 - 0.2) / 0.1)


def test_the_size_of_several_gradients_is_their_norm():
    derivatives = derivatives_of(num_scores=3)
    norm = np.linalg.norm(derivatives.gradient, axis=0)
    _, factor = drawn(OneSided(0.3, 0.1), derivatives)
    np.testing.assert_array_equal(factor == 1, norm >= np.sort(norm)[-300])


def test_equal_gradients_have_equal_chances():
    flat = Derivatives(jnp.full((1, ROWS), -2.0), jnp.ones((1, ROWS)))
    tops = np.array([drawn(OneSided(0.3, 0.1), flat, seed)[1] == 1 for seed in range(40)])
    assert abs(tops.mean() - 0.3) < 0.02 and np.all(tops.mean(axis=0) < 0.8)
    used = np.array([drawn(OneSided(0.3, 0.1), flat, seed)[0] for seed in range(40)])
    assert abs(used.mean() - 0.4) < 0.02


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("num_scores", [1, 3])
def test_chances_of_minimal_variance_are_those_of_a_sort(fraction, num_scores):
    gradient, hessian = derivatives = derivatives_of(num_scores=num_scores)
    size = np.sqrt(np.sum(np.square(gradient), axis=0) + 2.0 * np.sum(np.square(hessian), axis=0))
    chance = np.minimum(1, size / exact_threshold(size, fraction * ROWS))
    used, factor = drawn(MinimalVariance(fraction), derivatives, l2=2.0)
    np.testing.assert_allclose(1 / factor, chance, rtol=1e-5)
    np.testing.assert_array_equal(used, np.random.default_rng(0).random(ROWS) < 1 / factor)


def test_a_matrix_counts_by_its_diagonal():
    gradient, hessian = derivatives_of(num_scores=3)
    matrix = jnp.eye(3)[:, :, None] * hessian + 0.3 * (1 - jnp.eye(3))[:, :, None]
    one, other = (drawn(MinimalVariance(0.4), Derivatives(gradient, own))[1] for own in (hessian, matrix))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("sample", [OneSided(0.2, 0.2), MinimalVariance(0.3)])
def test_sums_are_right_in_the_mean(sample):
    derivatives = derivatives_of()
    gradient = np.asarray(derivatives.gradient[0])
    sums = [np.sum(np.where(used, factor * gradient, 0)) for used, factor in draws(sample, derivatives)]
    error = np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - gradient.sum()) < 4 * error


def draws(sample, derivatives, number=200):
    return [drawn(sample, derivatives, seed) for seed in range(number)]


def test_minimal_variance_varies_less_than_equal_chances():
    derivatives = derivatives_of()
    gradient = np.asarray(derivatives.gradient[0])
    spread = lambda sample, scale: np.std(  # noqa: E731
        [np.sum(gradient * used * (scale if factor is None else factor)) for used, factor in draws(sample, derivatives)]
    )
    assert spread(MinimalVariance(0.3), None) < 0.6 * spread(Uniform(0.3), 1 / 0.3)


@pytest.mark.parametrize("sample", [OneSided(1.0, 0.0), OneSided(0.4, 0.6), MinimalVariance(1.0)])
def test_all_rows_may_be_used(sample):
    used, factor = drawn(sample, derivatives_of())
    assert used.all() and np.all(factor == 1)


@pytest.mark.parametrize("sample", [OneSided(0.5, 0.2), MinimalVariance(0.9)])
def test_rows_without_weight_are_not_there(sample):
    is_there = np.arange(ROWS) % 2 == 0
    derivatives = Derivatives(*(jnp.where(is_there, part, 0) for part in derivatives_of()))
    used, _ = drawn(sample, derivatives, is_there=is_there)
    assert not used[~is_there].any() and abs(used.sum() - (350 if isinstance(sample, OneSided) else 450)) < 40


@pytest.mark.parametrize("sample", rest_is_slow([OneSided(0.1, 0.1), MinimalVariance(0.2)]))
def test_few_rows_learn_what_all_do(sample):
    rows, other = numbers(num_rows=2000), numbers(num_rows=2000, seed=1)
    loss = lambda sample: boosted(  # noqa: E731
        rows, squared(), Shrinkage(0.2, sample=sample), num_rounds=40, evaluations=(other,)
    ).losses[-1, 0]
    nothing = np.mean((other.target - other.target.mean()) ** 2) / 2
    assert nothing - loss(sample) > 0.9 * (nothing - loss(Uniform()))
