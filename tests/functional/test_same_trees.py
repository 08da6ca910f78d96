"""A fit by functions has the bits of the loop of the estimators, alone, in a program and as a member of many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import boosting
from jaxtree.functional import Boosting, Hyper, fit
from tests.functional.tables import FORM, ROUNDS, by_the_estimators, seed_of, squares, table

SETTINGS = {
    "defaults": Hyper(),
    "any rows": Hyper(min_samples_leaf=None, max_depth=2),
    "penalties": Hyper(learning_rate=0.3, reg_lambda=2.5, reg_alpha=1.5, max_delta_step=0.25, gamma=0.5),
    "draws": Hyper(subsample=0.5, colsample_bytree=0.5, min_child_weight=12.0),
}


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fit_has_the_bits_of_the_estimators(name, is_wide):
    _, codes, y = table()
    key, hyper = jax.random.key(3), SETTINGS[name]
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    wanted = by_the_estimators(boosting.squared(), hyper, weight, 0.25, seed=seed_of(key))[:, 0]
    with jax.enable_x64(is_wide):
        made = fit(boosting.squared(), ROUNDS, FORM)(codes, y, hyper, key, weight.astype(np.float32), start=0.25)
        in_program = jax.jit(lambda y: fit(boosting.squared(), ROUNDS, FORM)(codes, y, hyper, key, weight, start=0.25))
        assert made.scores.dtype == (np.float64 if is_wide else np.float32)
        np.testing.assert_array_equal(made.scores, wanted.astype(made.scores.dtype))
        np.testing.assert_array_equal(in_program(y).scores, made.scores)


def test_other_losses_have_the_bits_too():
    _, codes, y = table()
    for loss in (boosting.huber(1.0), boosting.absolute(), boosting.quantiles((0.1, 0.9))):
        form = Boosting(num_bins=16, num_leaves=8, num_outputs=None if loss.num_scores == 1 else loss.num_scores)
        made = fit(loss, ROUNDS, form)(codes, y, start=0.25)
        wanted = by_the_estimators(loss, Hyper(), start=0.25)
        np.testing.assert_array_equal(np.reshape(made.scores, wanted.shape), wanted.astype(np.float32))


def test_members_of_many_are_those_of_lone_fits():
    _, codes, y = table()
    boost = fit(boosting.logistic(), ROUNDS, FORM)
    target, keys = (y > 0).astype(np.int32), jax.random.split(jax.random.key(0), 3)
    hypers = Hyper(jnp.array([0.1, 0.2, 0.5]), jnp.array([1, 3, 9]), reg_lambda=jnp.array([0.0, 1.0, 9.0]),
                   min_samples_leaf=jnp.array([1, 20, 50]), subsample=jnp.array([0.5, 1.0, 0.8]))  # fmt: skip
    whole = jax.tree.map(lambda own: jnp.broadcast_to(jnp.asarray(own), (3,)), hypers)
    weight = jax.random.poisson(jax.random.key(1), 1.0, (3, len(y))).astype(np.float32)
    many = jax.vmap(boost, in_axes=(None, None, 0, 0, 0))(codes, target, whole, keys, weight)
    for member in range(3):
        own = jax.tree.map(lambda values, member=member: values[member], (whole, keys, weight))
        lone = boost(codes, target, *own)
        for of_many, alone in zip(jax.tree.leaves(many), jax.tree.leaves(lone), strict=True):
            np.testing.assert_array_equal(of_many[member], alone)


def test_rounds_by_updates_are_those_of_a_fit():
    _, codes, y = table()
    with jax.enable_x64(True):
        target = jnp.asarray(y, np.float64)
        state = FORM.init(codes, ROUNDS)
        for _ in range(ROUNDS):
            state = FORM.update(state, state.scores - target, None)
        made = fit(squares, ROUNDS, FORM)(codes, target)
        np.testing.assert_array_equal(state.scores, made.scores)
        np.testing.assert_array_equal(FORM.apply(state, codes), made.scores)
        np.testing.assert_array_equal(made(codes), made.scores)
        # There is no room for a further round.
        again = FORM.update(state, state.scores - target, None)
        np.testing.assert_array_equal(again.scores, state.scores)
