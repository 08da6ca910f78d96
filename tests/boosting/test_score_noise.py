"""Noise on the scores of columns among which nodes choose."""

import jax
import numpy as np
import pytest

from jaxtree import GradientBoostingRegressor
from jaxtree.boosting import BaseLearner, BoostData, Newton, ScoredRows, Shrinkage, boost, squared
from jaxtree.boosting.batch import Member
from jaxtree.boosting.many import boost_many
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Classes, Data, Limits, Rules, Selection, Sizes, grow

COLUMNS, BINS, ROWS = 12, 16, 500
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, BINS, (COLUMNS, ROWS)).astype(np.uint8)
TARGET = np.sin(CODES[:6]).sum(axis=0) + RNG.normal(0, 0.1, ROWS)
LEARNER = BaseLearner(Limits(max_depth=4, min_samples_split=0, min_samples_leaf=0, min_gain=1e-300), Sizes(BINS, 64))


def boosted(noise, *, rate=0.1, target=TARGET, num_rounds=20, seed=5):
    data = BoostData(ScoredRows(CODES, target, np.ones(ROWS), {}))
    return boost(data, squared(), LEARNER, Shrinkage(rate, score_noise=noise), num_rounds=num_rounds, seed=seed)


def features_of(model):
    nodes = model.forest.nodes
    return nodes.feature[nodes.num_children > 0]


def roots_of(model):
    return np.array([tree.feature[0] for tree in model.forest])


def same(one, other):
    return all(
        np.array_equal(*pair) for pair in zip(jax.tree.leaves(one.nodes), jax.tree.leaves(other.nodes), strict=True)
    )


def test_noise_draws_other_columns_and_a_seed_draws_the_same():
    plain, noisy = boosted(0.0), boosted(6.0)
    assert not np.array_equal(roots_of(plain), roots_of(noisy))
    assert same(noisy.forest, boosted(6.0).forest)
    assert not same(noisy.forest, boosted(6.0, seed=6).forest)


def test_under_strong_noise_all_columns_are_roots_equally_often():
    """Squares of the counts of 12 columns over 240 trees are those of equal chances (chi-squared of 11 degrees)."""
    roots = np.concatenate([roots_of(boosted(1e9, rate=1e-3, seed=1000 * seed)) for seed in range(12)])
    counts = np.bincount(roots, minlength=COLUMNS)
    assert ((counts - 20) ** 2 / 20).sum() < 31.3, counts


def test_noise_is_in_deviations_of_a_column_that_tells_nothing():
    """Among columns that tell nothing the best is often chosen, and often not."""
    rng, is_best = np.random.default_rng(1), []
    for seed in range(40):
        target = rng.normal(size=ROWS)
        drawn, best = (roots_of(boosted(noise, target=target, num_rounds=1, seed=seed))[0] for noise in (1.0, 0.0))
        is_best.append(drawn == best)
    assert 0.2 < np.mean(is_best) < 0.8


def test_the_unit_of_the_target_changes_no_choice():
    small, large = boosted(6.0), boosted(6.0, target=TARGET * 2.0**40)
    assert np.array_equal(features_of(small), features_of(large))


def test_noise_fades_as_scores_move():
    """Rounds times the learning rate far above the logarithm of the rows: the second tree is that without noise."""
    schedule = lambda number: 1e-9 if number == 0 else 1000.0  # noqa: E731
    noisy, plain = (boosted(noise, rate=schedule, num_rounds=2) for noise in (6.0, 0.0))
    assert not np.array_equal(noisy.forest[0].feature, plain.forest[0].feature)
    assert np.array_equal(noisy.forest[1].feature, plain.forest[1].feature)


def test_a_model_without_noise_is_the_same_among_noisy_ones():
    data = BoostData(ScoredRows(CODES, TARGET, np.ones(ROWS), {}))
    noises = (0.0, 6.0, 2.0)
    members = [Member(LEARNER.limits, Shrinkage(0.1, score_noise=noise), 12, seed=5) for noise in noises]
    made = boost_many(data, squared(), LEARNER, members, keeps_trees=True)
    for number, noise in enumerate(noises):
        assert same(made[number].forest, boosted(noise, num_rounds=12).forest)


def test_the_estimator_draws_with_its_seed_and_fits_without_one_differ():
    X, y = CODES.T.astype(float), TARGET
    fit = lambda seed: GradientBoostingRegressor(5, random_strength=6.0, random_state=seed).fit(X, y).predict(X)  # noqa: E731
    assert np.array_equal(fit(0), fit(0))
    assert not np.array_equal(fit(0), fit(1))
    assert not np.array_equal(fit(None), fit(None))


@pytest.mark.parametrize("rules", [Rules(Classes(2)), Rules(Newton(), selection=Selection.GAIN_RATIO)])
def test_only_gains_of_newton_steps_are_drawn(rules):
    data = Data(np.array([[0, 0, 1, 1]], np.uint8), np.array([0, 1, 1, 0]))
    with pytest.raises(InvalidInputError, match="draws_scores needs the objective Newton"):
        grow(data, None, Limits(), rules._replace(draws_scores=True), Sizes(2, 8))


def test_noise_below_0_is_refused():
    with pytest.raises(ValueError, match="random_strength"):
        GradientBoostingRegressor(random_strength=-1.0).fit(CODES.T.astype(float), TARGET)
