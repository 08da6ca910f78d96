"""Losses of scores in training: their gradients, and numbers that 32 bits tell apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import boosting
from jaxtree.boosting import cox, distributions, ndcg, quantiles, squared
from jaxtree.compilation import PROGRAMS
from jaxtree.soft import epochs as epochs_module
from jaxtree.soft import init
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, make_rows, mean_loss
from jaxtree.soft.form import SoftForm
from jaxtree.soft.losses import zero_one
from jaxtree.soft.rates import LearningRates
from jaxtree.soft.scores import ScoredTarget, ScoreScale, takes_batches, weighted_sum
from jaxtree.soft.training import train

RNG = np.random.default_rng(0)
ROWS = 24
OUTPUT = RNG.normal(size=(ROWS, 1))
TARGET = RNG.exponential(size=ROWS)
WEIGHT = RNG.integers(0, 3, size=ROWS).astype(float)
EXTRAS = {"event": RNG.integers(0, 2, size=ROWS), "group": np.arange(ROWS) // 6}
JOINED = {
    "cox": (cox(), TARGET, ("event",)),
    "ndcg": (ndcg(), RNG.integers(0, 4, size=ROWS), ("group",)),
    "huber": (boosting.huber(), TARGET, ()),
    "squared": (squared(), TARGET, ()),
}


def rows_of(target, names=(), start=0.5, unit=2.0):
    return ScoredTarget(target, {name: EXTRAS[name] for name in names}, np.array([start]), np.array([unit]))


@pytest.mark.parametrize("name", JOINED)
def test_gradients_are_those_that_the_loss_says(name):
    loss, target, names = JOINED[name]
    rows = rows_of(target, names)
    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(lambda output: weighted_sum(loss, output, rows, jnp.asarray(WEIGHT)))(
            jnp.asarray(OUTPUT)
        )
        given = (0.5 + 2 * OUTPUT.T, target, WEIGHT / WEIGHT[WEIGHT > 0].mean(), rows.extras)
        expected = 2 * loss.derivatives(*given).gradient[0] * WEIGHT[WEIGHT > 0].mean()
        mean = loss.mean(*given)
    np.testing.assert_allclose(slope[:, 0], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(value, WEIGHT.sum() * mean, rtol=1e-6)


def test_only_some_losses_need_all_rows_of_a_step():
    assert [takes_batches(own) for own in (squared(), boosting.huber(), ndcg(), cox(), zero_one)] == [
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("loss", [squared(), distributions.normal(), quantiles([0.2, 0.8])], ids=repr)
def test_targets_far_from_0_stay_apart(loss):
    """The loss of rows in 32 bits differs from that of the same rows near 0 by a constant alone."""
    scores = RNG.normal(size=(ROWS, loss.num_scores))
    found = []
    for scale, shift in ((1.0, 0.0), (1e-3, 1e6), (1e9, -1e15)):
        target = scale * TARGET + shift
        of_scores = ScoreScale.of(loss, target, np.ones(ROWS), {})
        rows = of_scores.rows(loss, target, {"offset": np.full(ROWS, scale)})
        np.testing.assert_allclose(of_scores.targets(loss, rows), target)
        np.testing.assert_allclose(of_scores.outputs(of_scores.scores(scores)), scores, atol=1e-5)
        padded = make_rows(np.zeros((ROWS, 1)), rows).target[jnp.arange(ROWS)]
        found.append(np.asarray(weighted_sum(loss, jnp.asarray(scores, jnp.float32), padded, jnp.ones(ROWS))))
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-3)


def test_a_loss_that_joins_rows_is_measured_on_all_of_them():
    loss, target, names = JOINED["cox"]
    rows = make_rows(OUTPUT, rows_of(target, names), np.full(ROWS, 3.0))
    config = TrainingConfig(loss=loss, predict=lambda model, x, temperature: x * model)
    found = jax.jit(lambda model: mean_loss(model, rows, 1.0, config))(1.0)
    expected = loss.mean(0.5 + 2 * OUTPUT.T, target, np.ones(ROWS), {"event": EXTRAS["event"]})
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_several_rates_share_a_program():
    form = SoftForm(depth=1, num_features=1, num_outputs=1)
    model, config = init(form, key=jax.random.key(0)), TrainingConfig(loss=boosting.poisson(), batch_size=32)
    PROGRAMS.clear()
    for rate, start in ((0.1, 0.0), (0.2, 0.3), (0.4, 1.0)):
        rows = make_rows(OUTPUT, rows_of(TARGET, start=start))
        numbers = Hyperparameters(LearningRates(leaf=rate))
        train(model, rows, key=jax.random.key(1), num_epochs=2, config=config, hyperparameters=numbers)
    assert epochs_module.run_epochs.num_programs() == 1
