"""Derivatives of scores and losses beside finite differences, where the structure of trees stays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import boosting
from jaxtree.functional import Boosting, FitRows, Hyper, fit
from tests.functional.tables import FORM, squares, table

STEP = 2e-4
"""Derivatives of rows are rounded to 23 digits, which shows where steps are smaller."""


def structure(made):
    tree = made.stack.tree
    return np.stack([tree.feature, tree.code, tree.num_children])


def check(function, point, direction, tolerance=2e-3):
    """Checks a derivative of the mean square of scores, and of the last loss of held-out rows, along a direction."""
    with jax.enable_x64(True):
        point, direction = (jax.tree.map(lambda own: jnp.asarray(own, np.float64), own) for own in (point, direction))
        ends = [jax.tree.map(lambda own, way: own + part * way, point, direction) for part in (-STEP, STEP)]  # noqa: B023
        made = [function(end) for end in ends]
        np.testing.assert_array_equal(*map(structure, made))
        for value in (lambda made: jnp.mean(made.scores**2), lambda made: made.losses[-1, 0]):
            numeric = (value(made[1]) - value(made[0])) / (2 * STEP)
            slope = jax.grad(lambda point: value(function(point)))(point)  # noqa: B023
            exact = sum(jnp.sum(own * way) for own, way in zip(*map(jax.tree.leaves, (slope, direction)), strict=True))
            assert abs(exact) > 1e-7
            assert float(exact) == pytest.approx(float(numeric), rel=tolerance)
        _, along = jax.jvp(lambda point: function(point).losses[-1, 0], (point,), (direction,))
        assert float(along) == pytest.approx(float(exact), rel=1e-6)


def held():
    _, codes, y = table()
    return FitRows(codes[:, ::3], y[::3] + 0.5)


NUMBERS = {"learning_rate": 0.2, "reg_lambda": 3.0, "reg_alpha": 1.5}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    _, codes, y = table()
    boost = fit(squares, 3, FORM)
    check(lambda own: boost(codes, y, Hyper(**NUMBERS | {name: own}), held=held()), NUMBERS[name], 1.0)


def test_targets_weights_and_the_start():
    _, codes, y = table()
    direction = np.random.default_rng(0).normal(size=(2, len(y)))
    boost = fit(boosting.squared(), 3, FORM)

    def of_rows(own):
        return boost(codes, own["target"], weight=own["weight"], held=held())

    # One after the other, as the steps of all together would change a split.
    point = {"target": y, "weight": np.ones_like(y)}
    for name, way in zip(point, direction, strict=True):
        check(of_rows, point, {other: (other == name) * way for other in point})
    check(lambda start: boost(codes, y, start=start, held=held()), 0.2, 1.0)


def test_losses_of_classes_matrices_and_functions():
    _, codes, y = table()
    classes = np.digitize(y, [-0.5, 0.5]).astype(np.int32)
    form = Boosting(num_bins=16, num_leaves=4, num_outputs=3)
    rows = FitRows(codes[:, ::2], classes[::2])
    boost = fit(boosting.softmax(3), 2, form)
    check(lambda rate: boost(codes, classes, Hyper(rate), held=rows, start=0.1), 0.2, 1.0)

    def joined(scores, target, extras):
        """All rows together: the error of the worst, and a factor from outside."""
        return extras["factor"] * jax.nn.logsumexp((scores - target) ** 2)

    rows = FitRows(codes[:, ::2], y[::2], extras={"factor": np.ones(())})
    own = fit(joined, 2, FORM)
    check(lambda factor: own(codes, y, extras={"factor": factor}, held=rows), 3.0, 1.0)


def test_programs_of_32_bits_have_the_same_derivatives():
    _, codes, y = table()

    def loss(target, rate):
        return jnp.mean(fit(squares, 3, FORM)(codes, target, Hyper(rate)).scores ** 2)

    single = jax.jit(jax.grad(loss, argnums=(0, 1)))(y, 0.25)
    assert single[0].dtype == np.float32
    with jax.enable_x64(True):
        double = jax.grad(loss, argnums=(0, 1))(y, 0.25)
    for own, other in zip(single, double, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-7)


def test_rounds_of_updates_have_derivatives():
    _, codes, y = table()

    def loss(rate):
        state = FORM.init(codes, 3)
        for _ in range(3):
            state = FORM.update(state, jax.grad(lambda own: squares(own, y).sum())(state.scores), None, Hyper(rate))
        return jnp.mean(FORM.apply(state, codes) ** 2), jnp.mean(state.scores**2)

    by_trees, by_scores = (jax.jit(jax.grad(lambda rate, place=place: loss(rate)[place]))(0.25) for place in (0, 1))
    whole = jax.grad(lambda rate: jnp.mean(fit(squares, 3, FORM)(codes, y, Hyper(rate)).scores ** 2))(0.25)
    np.testing.assert_allclose([by_trees, by_scores], whole, rtol=1e-4)
