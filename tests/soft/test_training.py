"""Training: what it reaches, what it keeps, what it repeats, and how it ends."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.programs import PROGRAMS
from jaxtree.soft import SoftForm, apply, init, with_dropout, with_rates
from jaxtree.soft import epochs as epochs_module
from jaxtree.soft import training as training_module
from jaxtree.soft.courses import Course, Method, Rates, Rows, make_rows
from jaxtree.soft.epochs import mean_loss, rates_of_parts
from jaxtree.soft.losses import cross_entropy, quantile, squared_error, zero_one
from jaxtree.soft.outputs import log_mixture
from jaxtree.soft.regularisers import Penalties
from jaxtree.soft.training import train, train_many

FORM = SoftForm(depth=2, num_features=3, num_outputs=2)
MIXTURE = Method(predict=log_mixture, batch_size=64)
KEY = jax.random.key(7)


def made_up(number=200, seed=0):
    """Classes that a tree of depth 2 can tell apart by two planes."""
    x = np.random.default_rng(seed).normal(size=(number, 3)).astype(np.float32)
    return x, ((x[:, 0] + x[:, 1] > 0) ^ (x[:, 2] > 0.3)).astype(np.int32)


def a_tree(form=FORM, seed=0):
    return init(form, key=jax.random.key(seed))


def same(one, other):
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_tree_learns_what_it_can_say():
    x, y = made_up(1000)
    trained = train(a_tree(), make_rows(x, y), key=KEY, num_epochs=60, method=MIXTURE)
    said = log_mixture(trained.model, jnp.asarray(x), temperature=0.3).argmax(axis=1)
    assert np.mean(np.asarray(said) == y) > 0.97
    assert trained.loss.shape == (60,) and trained.loss[-1] < trained.loss[0] / 4
    assert trained.validation_loss is None and trained.best_epoch == 60


def test_a_whole_epoch_in_one_batch_is_gradient_descent_by_hand():
    x, y = made_up(50)
    weight = np.random.default_rng(1).random(50).astype(np.float32)
    method = Method(predict=log_mixture, optimizer=optax.sgd(1.0), batch_size=64, decay=lambda done: jnp.ones(()))
    course = Course(rates=Rates(gate=0.1, leaf=0.3), first_temperature=0.5, last_temperature=0.5)
    found = train(a_tree(), make_rows(x, y, weight), key=KEY, num_epochs=3, method=method, course=course).model

    def loss(tree):
        each = cross_entropy(log_mixture(tree, jnp.asarray(x), temperature=0.5), jnp.asarray(y))
        return jnp.sum(each * weight) / weight.sum()

    tree = a_tree()
    for _ in range(3):
        slope = jax.grad(loss)(tree)
        gate = jax.tree.map(lambda old, new: old - 0.1 * new, tree.gate, slope.gate)
        leaf = jax.tree.map(lambda old, new: old - 0.3 * new, tree.leaf, slope.leaf)
        tree = dataclasses.replace(tree, gate=gate, leaf=leaf)
    same(found, tree)


def test_batches_of_an_epoch_hold_every_row_once():
    """With a loss that is linear in a parameter, plain descent adds up the rows of the epoch."""
    method = Method(
        loss=lambda output, target: output[:, 0] * target[:, 0],
        predict=lambda model, x, temperature: x @ model,
        optimizer=optax.sgd(1.0),
        batch_size=64,
        decay=lambda done: jnp.ones(()),
    )
    target = np.random.default_rng(0).normal(size=(150, 1)).astype(np.float32)
    weight = np.random.default_rng(1).random(150).astype(np.float32)
    rows = make_rows(np.eye(150), target, weight)
    model = train(
        jnp.zeros((150, 1)), rows, key=KEY, num_epochs=2, method=method, course=Course(Rates(other=1.0))
    ).model
    np.testing.assert_allclose(model, -2 * 3 * target * weight[:, None] / weight.sum(), rtol=1e-3, atol=1e-7)


def test_a_row_of_weight_two_is_two_rows():
    x, y = made_up(40)
    method = MIXTURE._replace(batch_size=128)
    twice = train(a_tree(), make_rows(np.tile(x, (2, 1)), np.tile(y, 2)), key=KEY, num_epochs=4, method=method)
    weighted = train(a_tree(), make_rows(x, y, np.full(40, 2.0)), key=KEY, num_epochs=4, method=method)
    same(twice.model, weighted.model)


def test_one_key_gives_one_model_and_another_key_another():
    x, y = made_up()
    rows, course = make_rows(x, y), Course(noise=0.1)
    one, again, other = (
        train(a_tree(), rows, key=jax.random.key(seed), num_epochs=3, method=MIXTURE, course=course).model
        for seed in (1, 1, 2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(again), strict=True))
    assert not np.allclose(one.leaf.value, other.leaf.value)


def test_how_many_epochs_a_call_makes_changes_nothing(monkeypatch):
    x, y = made_up()
    rows, validation = make_rows(x, y), make_rows(*made_up(100, seed=1))
    slow = train(a_tree(), rows, key=KEY, num_epochs=9, method=MIXTURE, validation=validation, patience=2)
    monkeypatch.setattr(training_module, "SECONDS_A_CALL", 0.0)
    one_by_one = train(a_tree(), rows, key=KEY, num_epochs=9, method=MIXTURE, validation=validation, patience=2)
    same(slow.model, one_by_one.model)
    assert slow.best_epoch == one_by_one.best_epoch


def test_the_best_epoch_on_validation_rows_is_kept():
    x, y = made_up(60)
    noisy = np.where(np.random.default_rng(3).random(60) < 0.4, 1 - y, y)
    validation = make_rows(*made_up(400, seed=5))
    course = Course(rates=Rates(gate=0.2, leaf=0.5), last_temperature=0.2)
    trained = train(
        a_tree(SoftForm(5, 3, 2)),
        make_rows(x, noisy),
        key=KEY,
        num_epochs=40,
        method=MIXTURE,
        course=course,
        validation=validation,
    )
    assert trained.best_epoch < 40
    assert trained.validation_loss[trained.best_epoch - 1] == trained.validation_loss.min()
    judged = mean_loss(trained.model, validation, 0.2, MIXTURE)
    np.testing.assert_allclose(judged, trained.validation_loss.min(), rtol=1e-3)


def test_a_good_model_is_not_made_worse():
    """The model to begin with may be a candidate, too: steps that are far too long leave it as it is."""
    x, y = made_up(200)
    rows = make_rows(x, y)
    good = train(a_tree(), rows, key=KEY, num_epochs=40, method=MIXTURE).model
    wild = Course(rates=Rates(gate=50.0, leaf=50.0))
    fine_tune = functools.partial(
        train, good, rows, key=KEY, num_epochs=3, method=MIXTURE, course=wild, validation=rows
    )
    trained = fine_tune(keeps_start=True)
    assert trained.best_epoch == 0
    same(trained.model, good)
    assert fine_tune().best_epoch > 0


def test_checkpoints_are_judged_by_what_decides():
    x, y = made_up(200)
    held = make_rows(*made_up(100, seed=1))
    method = MIXTURE._replace(judge=zero_one)
    course = Course(judging_temperature=1e-6)
    trained = train(a_tree(), make_rows(x, y), key=KEY, num_epochs=20, method=method, course=course, validation=held)
    told = log_mixture(trained.model, held.x[:100], temperature=1e-6).argmax(axis=1)
    assert np.mean(np.asarray(told) != np.asarray(held.target[:100])) == pytest.approx(trained.validation_loss.min())
    assert trained.best_epoch == trained.validation_loss.argmin() + 1


def test_patience_ends_training_early():
    x, y = made_up(60)
    trained = train(
        a_tree(),
        make_rows(x, 1 - y),
        key=KEY,
        num_epochs=1000,
        method=MIXTURE,
        validation=make_rows(x, y),
        patience=3,
    )
    assert trained.best_epoch <= 2 and len(trained.loss) < 200


@pytest.mark.slow
def test_many_models_are_what_each_is_alone():
    x, y = made_up()
    rows, validation = make_rows(x, y), make_rows(*made_up(50, seed=1))
    keys = jax.random.split(KEY, 3)
    trees = jax.vmap(lambda key: init(FORM, key=key))(keys)
    leaf_rate, decay = np.array([0.05, 0.1, 0.2], np.float32), np.array([0.0, 0.1, 1.0], np.float32)

    def course(at=slice(None)):
        return Course(Rates(leaf=leaf_rate[at]), noise=0.1, penalties=Penalties(balance=0.1, leaf_decay=decay[at]))

    many = train_many(trees, rows, keys=keys, num_epochs=4, method=MIXTURE, course=course(), validation=validation)
    for number in range(3):
        tree = jax.tree.map(lambda part, number=number: part[number], trees)
        alone = train(
            tree, rows, key=keys[number], num_epochs=4, method=MIXTURE, course=course(number), validation=validation
        )
        same(jax.tree.map(lambda part, number=number: part[number], many.model), alone.model)
        np.testing.assert_allclose(many.loss[number], alone.loss, rtol=1e-4)
    assert not np.allclose(many.loss[0], many.loss[1])


def test_averages_are_of_the_last_steps():
    x, y = made_up()
    rows = make_rows(x, y)
    last = train(a_tree(), rows, key=KEY, num_epochs=5, method=MIXTURE).progress
    kept = train(a_tree(), rows, key=KEY, num_epochs=5, method=MIXTURE, course=Course(averaging=0.9)).progress
    same(last.model, kept.model)
    same(last.average, last.model)
    assert not np.allclose(kept.average.leaf.value, kept.model.leaf.value, atol=1e-3)


def test_training_goes_on_where_it_ended():
    """With rates and temperature constant, two epochs and two more are four, but for the order of rows."""
    x, y = made_up(60)
    rows = make_rows(x, y)
    method = MIXTURE._replace(decay=lambda done: jnp.ones(()))
    course = Course(last_temperature=1.0, averaging=0.9)
    whole = train(a_tree(), rows, key=KEY, num_epochs=4, method=method, course=course)
    half = train(a_tree(), rows, key=KEY, num_epochs=2, method=method, course=course)
    rest = train(half.model, rows, key=KEY, num_epochs=2, method=method, course=course, start=half.progress)
    same(whole.model, rest.model)


@pytest.mark.parametrize("step", ["sigmoid", "smooth_step", "hard"])
@pytest.mark.parametrize("gate", ["oblique", "axis"])
def test_every_kind_of_gate_learns(gate, step):
    x, y = made_up(400)
    y = (x[:, 0] > 0.2).astype(np.int32) if gate == "axis" else y
    form = dataclasses.replace(FORM, gate=gate, step=step)
    trained = train(a_tree(form), make_rows(x, y), key=KEY, num_epochs=20, method=MIXTURE)
    assert trained.loss[-1] < 0.85 * trained.loss[0]


def test_linear_leaves_and_stops_learn_numbers():
    x, _ = made_up(400)
    target = np.where(x[:, :1] > 0, 2 * x[:, 1:2], -x[:, 2:])
    form = SoftForm(depth=2, num_features=3, num_outputs=1, leaf="linear", stops=True)
    method = Method(loss=squared_error, batch_size=64)
    trained = train(a_tree(form), make_rows(x, target), key=KEY, num_epochs=60, method=method)
    assert trained.loss[-1] < 0.05 * np.var(target)
    assert not np.allclose(trained.model.stop.logit, a_tree(form).stop.logit)


def test_rates_of_dropout_are_trained_with_gates_and_leaves():
    x, y = made_up(300)
    tree = a_tree(dataclasses.replace(FORM, stops=True))
    model = {"tree": tree, "p_logit": jnp.zeros(()), "q_log": jnp.zeros(())}

    def predict(model, x, *, temperature):
        p, q = jax.nn.sigmoid(model["p_logit"]), jnp.exp(model["q_log"])
        return apply(with_dropout(model["tree"], p, q), x, temperature=temperature)

    method = Method(predict=predict, batch_size=64)
    trained = train(model, make_rows(x, y), key=KEY, num_epochs=30, method=method, course=Course(Rates(other=0.05)))
    assert trained.model["p_logit"] < -0.2, "rows that stop early are classified worse"
    assert trained.loss[-1] < 0.9 * trained.loss[0]


def test_rates_that_are_fixed_stay_and_those_of_nodes_do_not():
    x, y = made_up(300)
    free = a_tree(dataclasses.replace(FORM, stops=True))
    fixed = with_rates(free, jnp.full(3, 0.2))
    method, course = Method(batch_size=64), Course(Rates(stop=0.05))
    free_then, fixed_then = (
        train(tree, make_rows(x, y), key=KEY, num_epochs=5, method=method, course=course).model.stop
        for tree in (free, fixed)
    )
    assert np.abs(free_then.logit - free.stop.logit).max() > 0.01
    np.testing.assert_array_equal(fixed_then.rate, fixed.stop.rate)


def test_a_user_s_loss_and_the_quantile_are_followed():
    x, _ = made_up(300)
    target = np.random.default_rng(0).exponential(size=(300, 1)).astype(np.float32)
    form = SoftForm(depth=0, num_features=3, num_outputs=1)
    course = Course(rates=Rates(leaf=0.05))
    for loss, expected in ((quantile(0.8), np.quantile(target, 0.8)), (lambda f, y: jnp.abs(f - 3)[:, 0], 3.0)):
        method = Method(loss=loss, batch_size=64)
        trained = train(a_tree(form), make_rows(x, target), key=KEY, num_epochs=60, method=method, course=course)
        assert trained.model.leaf.value[0, 0] == pytest.approx(expected, abs=0.1)


def test_any_pytree_with_a_function_trains():
    x, _ = made_up()
    model = {"slope": jnp.zeros((3, 1)), "tree": a_tree(SoftForm(1, 3, 1))}

    def predict(model, x, *, temperature):
        return x @ model["slope"] + apply(model["tree"], x, temperature=temperature)

    method = Method(loss=squared_error, predict=predict, batch_size=64)
    rows = make_rows(x, x[:, :1])
    trained = train(model, rows, key=KEY, num_epochs=50, method=method, course=Course(Rates(other=0.1)))
    assert trained.loss[-1] < 0.02


def test_parts_have_rates_of_their_own():
    tree = a_tree(dataclasses.replace(FORM, stops=True))
    rates = rates_of_parts({"head": tree, "scale": jnp.ones(1)}, Rates(gate=1.0, leaf=2.0, stop=3.0, other=4.0))
    assert set(jax.tree.leaves(rates["head"].gate)) == {1.0}
    assert rates["head"].leaf.value == 2 and rates["head"].stop.logit == 3 and rates["scale"] == 4


def test_a_loss_that_is_no_number_stops_with_a_reason():
    x, y = made_up()
    x[3, 0] = np.nan
    with pytest.raises(TrainingError, match=r"loss .* is nan in epoch 1: smaller learning rates"):
        train(a_tree(), make_rows(x, y), key=KEY, num_epochs=5, method=MIXTURE)


def test_an_interrupt_keeps_the_best_so_far():
    x, y = made_up()

    def interrupt(number):
        told.append(number)
        if sum(told) >= 3:
            raise KeyboardInterrupt

    told: list[int] = []
    rows = make_rows(x, y)
    with pytest.warns(InterruptedFitWarning, match="after 3 of 500 epochs"):
        trained = train(a_tree(), rows, key=KEY, num_epochs=500, method=MIXTURE, validation=rows, report=interrupt)
    assert len(trained.loss) == 3 and 1 <= trained.best_epoch <= 3
    assert np.isfinite(trained.model.leaf.value).all()


def test_progress_tells_every_epoch_once():
    x, y = made_up()
    told: list[int] = []
    train(a_tree(), make_rows(x, y), key=KEY, num_epochs=11, method=MIXTURE, report=told.append)
    assert sum(told) == 11


def test_tables_of_a_like_size_and_other_numbers_share_a_program():
    PROGRAMS.clear()
    for number, rate in ((100, 0.1), (150, 0.2), (1900, 0.1)):
        course = Course(Rates(gate=rate), last_temperature=rate, noise=rate)
        train(a_tree(), make_rows(*made_up(number)), key=KEY, num_epochs=2, method=MIXTURE, course=course)
    assert epochs_module.run_epochs.num_programs() == 1


def test_judging_in_blocks_is_judging_at_once(monkeypatch):
    x, y = made_up(3000)
    rows = make_rows(x, y, np.random.default_rng(0).random(3000))
    whole = mean_loss(a_tree(), rows, 0.5, MIXTURE)
    monkeypatch.setattr(epochs_module, "ROWS_A_BLOCK", 128)
    np.testing.assert_allclose(mean_loss(a_tree(), rows, 0.5, MIXTURE), whole, rtol=1e-5)


def test_wrong_arguments_are_named():
    x, y = made_up(5)
    with pytest.raises(InvalidInputError, match="got 5, 4, 5"):
        make_rows(x, y[:4])
    with pytest.raises(InvalidInputError, match="num_epochs must be at least 1, got 0"):
        train(a_tree(), make_rows(x, y), key=KEY, num_epochs=0)
    assert isinstance(make_rows(x, y), Rows)
