"""Dropped trees: beside a booster in NumPy that keeps every tree's share, and the laws of shares."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting import logistic, softmax, squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.dropping import Dropping, draw_trees
from jaxtree.boosting.rounds import make_rounds
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply
from tests.boosting.test_boost import DEPTH, DERIVATIVES, boosted, classes, nested, numbers, same, scores_of
from tests.marks import rest_is_slow
from tests.reference import booster

RATE, ROUNDS = 0.3, 12
OFTEN = Dropping(rate=0.4, skip=0.2)


def drawn(num_rounds, dropping=OFTEN, seed=0):
    """Which trees every round drops."""
    with jax.enable_x64(True):
        draw = jax.jit(lambda round_: draw_trees(num_rounds, round_, dropping, jnp.uint32(seed)))
        return np.array([draw(np.int32(number)) for number in range(num_rounds)])


def boost_with_shares(rows, start, derivatives):
    """Trees and their shares after every round, in NumPy."""
    trees, share, history = [], np.zeros(0), []
    for dropped in drawn(ROUNDS):
        dropped = dropped[: len(trees)]
        steps = np.array([RATE * booster.predict(tree, rows.codes) for tree in trees]).reshape(-1, rows.target.size)
        gradient, curvature = derivatives(start + (share * ~dropped) @ steps, rows.target)
        trees.append(booster.grow(rows.codes, gradient, curvature, np.arange(rows.target.size), DEPTH, 1.0, 1.0))
        number = dropped.sum()
        share = np.append(
            np.where(dropped, share * number / (number + RATE), share), 1 / (number + RATE) if number else 1
        )
        history.append(share)
    return trees, history


@pytest.mark.parametrize("name", rest_is_slow(DERIVATIVES))
def test_trees_and_shares_are_those_of_a_booster_in_numpy(name):
    loss, make, derivatives = DERIVATIVES[name]
    rows = make()
    model = boosted(rows, loss, Shrinkage(RATE, dropping=OFTEN), num_rounds=ROUNDS)
    trees, history = boost_with_shares(rows, model.start[0], derivatives)
    assert np.sum(drawn(ROUNDS)) > 10
    for tree, other, share in zip(model.forest, trees, history[-1], strict=True):
        assert same(nested(tree), other, RATE * share)


@pytest.mark.parametrize("loss", rest_is_slow([squared(), softmax(3, "full")]), ids=str)
def test_losses_are_those_of_the_shares_of_their_round(loss):
    make = numbers if loss.name == "squared" else lambda **options: classes(3, **options)
    rows, other = make(), make(seed=1)
    model = boosted(rows, loss, Shrinkage(RATE, dropping=OFTEN), num_rounds=ROUNDS, evaluations=(other, rows))
    for evaluation, own in enumerate((other, rows)):
        with jax.enable_x64(True):
            loss_now = loss.mean(scores_of(model, own.codes)[-1], own.target, own.weight, {})
        np.testing.assert_allclose(model.losses[-1, evaluation], loss_now, rtol=1e-10)


def test_the_best_trees_count_as_they_did_then():
    rows, other = numbers(), numbers(seed=1)
    shrinkage = Shrinkage(0.6, dropping=OFTEN, patience=8)
    model = boosted(rows, squared(), shrinkage, num_rounds=200, evaluations=(other,))
    assert len(model.best) == model.best_round == len(model.forest) - 8
    best = model._replace(forest=model.best)
    loss = np.mean((scores_of(best, other.codes)[-1, 0] - other.target) ** 2) / 2
    assert loss == pytest.approx(model.losses[:, 0].min(), rel=1e-10)
    later = model._replace(forest=model.forest.first(model.best_round))
    assert np.any(scores_of(later, other.codes)[-1] != scores_of(best, other.codes)[-1])


def test_without_chance_nothing_is_dropped():
    rows = classes()
    plain = boosted(rows, logistic(), Shrinkage(RATE))
    for dropping in (Dropping(0.0, 0.0), Dropping(1.0, 1.0)):
        model = boosted(rows, logistic(), Shrinkage(RATE, dropping=dropping))
        np.testing.assert_array_equal(model.forest.nodes.target_sum, plain.forest.nodes.target_sum)


def test_the_rates_of_dropping_are_chances():
    dropped = drawn(400, Dropping(0.25, 0.4))
    earlier = np.tri(400, k=-1, dtype=bool)
    assert not dropped[~earlier].any()
    is_skipped = ~dropped[20:].any(axis=1)
    assert abs(is_skipped.mean() - 0.4) < 0.08
    assert dropped[20:][~is_skipped].sum() / earlier[20:][~is_skipped].sum() == pytest.approx(0.25, abs=0.01)


@pytest.mark.slow
def test_calls_of_the_loop_join(monkeypatch):
    given = {"num_rounds": 7, "evaluations": (numbers(seed=1),)}
    whole = boosted(numbers(), squared(), Shrinkage(RATE, dropping=OFTEN), **given)
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 3)
    parts = boosted(numbers(), squared(), Shrinkage(RATE, dropping=OFTEN), **given)
    np.testing.assert_array_equal(parts.forest.nodes.target_sum, whole.forest.nodes.target_sum)
    np.testing.assert_array_equal(parts.losses, whole.losses)


def test_a_sweep_of_chances_compiles_once():
    boosted(numbers(), squared(), Shrinkage(RATE, dropping=OFTEN))
    before = make_rounds.num_programs()
    boosted(numbers(), squared(), Shrinkage(0.1, dropping=Dropping(0.9, 0.0)), seed=3)
    assert make_rounds.num_programs() == before


@pytest.mark.slow
def test_trees_of_all_rounds_fall_on_the_same_leaves():
    """The walk of a kept tree is that of the tree given back."""
    rows = numbers()
    model = boosted(rows, squared(), Shrinkage(RATE, dropping=Dropping(1.0, 0.0)), num_rounds=2)
    # Both trees aim at the same target: k = 1.
    first = target_means(model.forest[0])[np.asarray(apply(model.forest[0], rows.codes))]
    alone = boosted(rows, squared(), Shrinkage(RATE), num_rounds=1).forest[0]
    np.testing.assert_allclose(first, target_means(alone)[np.asarray(apply(alone, rows.codes))] / (1 + RATE))
