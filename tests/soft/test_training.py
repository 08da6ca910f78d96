"""Training: what it reaches, what it keeps, what it repeats, and how it ends."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.boosting import quantile, squared
from jaxtree.compilation import PROGRAMS
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.soft import apply, init, with_dropout
from jaxtree.soft import epochs as epochs_module
from jaxtree.soft import runs as runs_module
from jaxtree.soft.epochs import (
    Hyperparameters,
    TrainingConfig,
    TrainingRows,
    make_rows,
    mean_loss,
)
from jaxtree.soft.form import SoftForm
from jaxtree.soft.losses import cross_entropy, zero_one
from jaxtree.soft.model import log_mixture
from jaxtree.soft.rates import LearningRates, constant, rates_of_parts
from jaxtree.soft.runs import Validation
from jaxtree.soft.training import train

FORM = SoftForm(depth=2, num_features=3, num_outputs=2)
mixture_of = jax.jit(log_mixture)
MIXTURE = TrainingConfig(predict=log_mixture, batch_size=64)
KEY = jax.random.key(7)


def made_up(number=200, seed=0):
    """Classes that a tree of depth 2 can tell apart by two planes."""
    x = np.random.default_rng(seed).normal(size=(number, 3)).astype(np.float32)
    return x, ((x[:, 0] + x[:, 1] > 0) ^ (x[:, 2] > 0.3)).astype(np.int32)


@functools.partial(jax.jit, static_argnums=0)
def a_tree(form=FORM, seed=0):
    return init(form, key=jax.random.key(seed))


def same(one, other):
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_tree_learns_what_it_can_say():
    x, y = made_up(1000)
    trained = train(a_tree(), make_rows(x, y), key=KEY, num_epochs=60, config=MIXTURE)
    said = np.asarray(mixture_of(trained.model, x, temperature=0.3)).argmax(axis=1)
    assert np.mean(said == y) > 0.97
    assert trained.loss.shape == (60,) and trained.loss[-1] < trained.loss[0] / 4
    assert trained.validation_loss is None and trained.best_epoch == 60


def test_a_whole_epoch_in_one_batch_is_gradient_descent_by_hand():
    x, y = made_up(50)
    weight = np.random.default_rng(1).random(50).astype(np.float32)
    config = TrainingConfig(predict=log_mixture, optimizer=optax.sgd(1.0), batch_size=64, decay=constant)
    numbers = Hyperparameters(rates=LearningRates(gate=0.1, leaf=0.3), first_temperature=0.5, last_temperature=0.5)
    found = train(
        a_tree(), make_rows(x, y, weight), key=KEY, num_epochs=3, config=config, hyperparameters=numbers
    ).model

    def loss(tree):
        each = cross_entropy(log_mixture(tree, jnp.asarray(x), temperature=0.5), jnp.asarray(y))
        return jnp.sum(each * weight) / weight.sum()

    @jax.jit
    def moved(tree):
        slope = jax.grad(loss)(tree)
        gate = jax.tree.map(lambda old, new: old - 0.1 * new, tree.gate, slope.gate)
        leaf = jax.tree.map(lambda old, new: old - 0.3 * new, tree.leaf, slope.leaf)
        return dataclasses.replace(tree, gate=gate, leaf=leaf)

    same(found, moved(moved(moved(a_tree()))))


def test_batches_of_an_epoch_hold_every_row_once():
    """With a loss that is linear in a parameter, plain descent adds up the rows of the epoch."""
    config = TrainingConfig(
        loss=lambda output, target: output[:, 0] * target[:, 0],
        predict=lambda model, x, temperature: x @ model,
        optimizer=optax.sgd(1.0),
        batch_size=64,
        decay=constant,
    )
    target = np.random.default_rng(0).normal(size=(150, 1)).astype(np.float32)
    weight = np.random.default_rng(1).random(150).astype(np.float32)
    rows = make_rows(np.eye(150), target, weight)
    model = train(
        jnp.zeros((150, 1)),
        rows,
        key=KEY,
        num_epochs=2,
        config=config,
        hyperparameters=Hyperparameters(LearningRates(other=1.0)),
    ).model
    np.testing.assert_allclose(model, -2 * 3 * target * weight[:, None] / weight.sum(), rtol=1e-3, atol=1e-7)


def test_a_row_of_weight_two_is_two_rows():
    x, y = made_up(40)
    config = MIXTURE._replace(batch_size=128)
    twice = train(a_tree(), make_rows(np.tile(x, (2, 1)), np.tile(y, 2)), key=KEY, num_epochs=4, config=config)
    weighted = train(a_tree(), make_rows(x, y, np.full(40, 2.0)), key=KEY, num_epochs=4, config=config)
    same(twice.model, weighted.model)


def test_one_key_gives_one_model_and_another_key_another():
    x, y = made_up()
    rows, numbers = make_rows(x, y), Hyperparameters(noise=0.1)
    one, again, other = (
        train(a_tree(), rows, key=jax.random.key(seed), num_epochs=3, config=MIXTURE, hyperparameters=numbers).model
        for seed in (1, 1, 2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(again), strict=True))
    assert not np.allclose(one.leaf.value, other.leaf.value)


@pytest.mark.slow
def test_how_many_epochs_a_call_makes_changes_nothing(monkeypatch):
    x, y = made_up()
    rows, validation = make_rows(x, y), make_rows(*made_up(100, seed=1))
    slow = train(a_tree(), rows, key=KEY, num_epochs=9, config=MIXTURE, validation=Validation(validation, 2))
    monkeypatch.setattr(runs_module, "SECONDS_A_CALL", 0.0)
    one_by_one = train(a_tree(), rows, key=KEY, num_epochs=9, config=MIXTURE, validation=Validation(validation, 2))
    same(slow.model, one_by_one.model)
    assert slow.best_epoch == one_by_one.best_epoch


@pytest.mark.slow
def test_the_best_epoch_on_validation_rows_is_kept():
    x, y = made_up(60)
    noisy = np.where(np.random.default_rng(3).random(60) < 0.4, 1 - y, y)
    validation = make_rows(*made_up(400, seed=5))
    numbers = Hyperparameters(rates=LearningRates(gate=0.2, leaf=0.5), last_temperature=0.2)
    trained = train(
        a_tree(SoftForm(5, 3, 2)),
        make_rows(x, noisy),
        key=KEY,
        num_epochs=40,
        config=MIXTURE,
        hyperparameters=numbers,
        validation=Validation(validation),
    )
    assert trained.best_epoch < 40
    assert trained.validation_loss[trained.best_epoch - 1] == trained.validation_loss.min()
    judged = mean_loss(trained.model, validation, 0.2, MIXTURE)
    np.testing.assert_allclose(judged, trained.validation_loss.min(), rtol=1e-3)


def test_a_good_model_is_not_made_worse():
    """The model to begin with may be a candidate, too: steps that are far too long leave it as it is."""
    x, y = made_up(200)
    rows = make_rows(x, y)
    good = train(a_tree(), rows, key=KEY, num_epochs=40, config=MIXTURE).model
    wild = Hyperparameters(rates=LearningRates(gate=50.0, leaf=50.0))
    fine_tune = functools.partial(train, good, rows, key=KEY, num_epochs=3, config=MIXTURE, hyperparameters=wild)
    trained = fine_tune(validation=Validation(rows, keeps_start=True))
    assert trained.best_epoch == 0
    same(trained.model, good)
    assert fine_tune(validation=Validation(rows)).best_epoch > 0


@pytest.mark.slow
def test_checkpoints_are_judged_by_what_decides():
    x, y = made_up(200)
    held = make_rows(*made_up(100, seed=1))
    config = MIXTURE._replace(monitor=zero_one)
    numbers = Hyperparameters(monitor_temperature=1e-6)
    trained = train(
        a_tree(),
        make_rows(x, y),
        key=KEY,
        num_epochs=20,
        config=config,
        hyperparameters=numbers,
        validation=Validation(held),
    )
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
        config=MIXTURE,
        validation=Validation(make_rows(x, y), patience=3),
    )
    assert trained.best_epoch <= 2 and len(trained.loss) < 200


def test_averages_are_of_the_last_steps():
    x, y = made_up()
    rows = make_rows(x, y)
    last = train(a_tree(), rows, key=KEY, num_epochs=5, config=MIXTURE).progress
    kept = train(
        a_tree(), rows, key=KEY, num_epochs=5, config=MIXTURE, hyperparameters=Hyperparameters(averaging=0.9)
    ).progress
    same(last.model, kept.model)
    same(last.average, last.model)
    assert not np.allclose(kept.average.leaf.value, kept.model.leaf.value, atol=1e-3)


def test_training_goes_on_where_it_ended():
    """With rates and temperature constant, two epochs and two more are four, but for the order of rows."""
    x, y = made_up(60)
    rows = make_rows(x, y)
    config = MIXTURE._replace(decay=constant)
    numbers = Hyperparameters(last_temperature=1.0, averaging=0.9)
    whole = train(a_tree(), rows, key=KEY, num_epochs=4, config=config, hyperparameters=numbers)
    half = train(a_tree(), rows, key=KEY, num_epochs=2, config=config, hyperparameters=numbers)
    rest = train(half.progress, rows, key=KEY, num_epochs=2, config=config, hyperparameters=numbers)
    same(whole.model, rest.model)


@pytest.mark.parametrize("gate", ["oblique", "axis"])
def test_every_kind_of_gate_learns(gate):
    x, y = made_up(400)
    y = (x[:, 0] > 0.2).astype(np.int32) if gate == "axis" else y
    form = dataclasses.replace(FORM, gate=gate)
    trained = train(a_tree(form), make_rows(x, y), key=KEY, num_epochs=20, config=MIXTURE)
    assert trained.loss[-1] < 0.85 * trained.loss[0]


def test_rates_of_dropout_are_trained_with_gates_and_leaves():
    x, y = made_up(300)
    tree = a_tree(dataclasses.replace(FORM, stops=True))
    model = {"tree": tree, "p_logit": jnp.zeros(()), "q_log": jnp.zeros(())}

    def predict(model, x, *, temperature):
        p, q = jax.nn.sigmoid(model["p_logit"]), jnp.exp(model["q_log"])
        return apply(with_dropout(model["tree"], p, q), x, temperature=temperature)

    config = TrainingConfig(predict=predict, batch_size=64)
    trained = train(
        model,
        make_rows(x, y),
        key=KEY,
        num_epochs=30,
        config=config,
        hyperparameters=Hyperparameters(LearningRates(other=0.05)),
    )
    assert trained.model["p_logit"] < -0.2, "rows that stop early are classified worse"
    assert trained.loss[-1] < 0.9 * trained.loss[0]


def test_stops_stay_as_they_are():
    x, y = made_up(300)
    tree = a_tree(dataclasses.replace(FORM, stops=True))
    tree = dataclasses.replace(tree, leaf=tree.leaf._replace(stop=jnp.full(3, 0.2)))
    trained = train(tree, make_rows(x, y), key=KEY, num_epochs=5, config=TrainingConfig(batch_size=64)).model
    np.testing.assert_array_equal(trained.leaf.stop, tree.leaf.stop)
    assert (trained.leaf.value != tree.leaf.value).all()


@pytest.mark.slow
def test_a_user_s_loss_and_the_quantile_are_followed():
    x, _ = made_up(300)
    target = np.random.default_rng(0).exponential(size=(300, 1)).astype(np.float32)
    form = SoftForm(depth=0, num_features=3, num_outputs=1)
    numbers = Hyperparameters(rates=LearningRates(leaf=0.05))
    for loss, expected in ((quantile(0.8), np.quantile(target, 0.8)), (lambda f, y: jnp.abs(f - 3)[:, 0], 3.0)):
        config = TrainingConfig(loss=loss, batch_size=64)
        trained = train(
            a_tree(form), make_rows(x, target), key=KEY, num_epochs=60, config=config, hyperparameters=numbers
        )
        assert trained.model.leaf.value[0, 0] == pytest.approx(expected, abs=0.1)


def test_any_pytree_with_a_function_trains():
    x, _ = made_up()
    model = {"slope": jnp.zeros((3, 1)), "tree": a_tree(SoftForm(1, 3, 1))}

    def predict(model, x, *, temperature):
        return x @ model["slope"] + apply(model["tree"], x, temperature=temperature)

    config = TrainingConfig(loss=squared(), predict=predict, batch_size=64)
    rows = make_rows(x, x[:, :1])
    trained = train(
        model, rows, key=KEY, num_epochs=50, config=config, hyperparameters=Hyperparameters(LearningRates(other=0.1))
    )
    assert trained.loss[-1] < 0.02


def test_parts_have_rates_of_their_own():
    tree = a_tree(dataclasses.replace(FORM, stops=True))
    rates = rates_of_parts({"head": tree, "scale": jnp.ones(1)}, LearningRates(gate=1.0, leaf=2.0, other=4.0))
    assert set(jax.tree.leaves(rates["head"].gate)) == {1.0}
    assert rates["head"].leaf.value == 2 and rates["head"].leaf.stop == 0 and rates["scale"] == 4


def test_a_loss_that_is_no_number_stops_with_a_reason():
    x, y = made_up()
    x[3, 0] = np.nan
    with pytest.raises(TrainingError, match=r"the loss is not finite in epoch 1: smaller learning rates"):
        train(a_tree(), make_rows(x, y), key=KEY, num_epochs=5, config=MIXTURE)


@pytest.mark.usefixtures("trained_by_programs")
def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    x, y = made_up()
    # However long it takes to compile, the second call makes twice as many epochs as the first.
    monkeypatch.setattr("jaxtree.soft.runs.SECONDS_A_CALL", 1e9)

    def interrupt(number, words):
        told.append(number)
        if sum(told) >= 3:
            raise KeyboardInterrupt

    told: list[int] = []
    rows = make_rows(x, y)
    own = functools.partial(train, a_tree(), rows, key=KEY, config=MIXTURE, validation=Validation(rows))
    own(num_epochs=1)  # compiles, so that calls make one epoch and then two
    with pytest.warns(InterruptedFitWarning, match="after 3 of 500 epochs"):
        trained = own(num_epochs=500, report=interrupt)
    assert len(trained.loss) == 3 and 1 <= trained.best_epoch <= 3
    assert np.isfinite(trained.model.leaf.value).all()


@pytest.mark.usefixtures("trained_by_programs")
def test_tables_of_a_like_size_and_other_numbers_share_a_program():
    PROGRAMS.clear()
    for number, rate in ((100, 0.1), (150, 0.2), (250, 0.1)):
        numbers = Hyperparameters(LearningRates(gate=rate), last_temperature=rate, noise=rate)
        train(a_tree(), make_rows(*made_up(number)), key=KEY, num_epochs=2, config=MIXTURE, hyperparameters=numbers)
    assert epochs_module.run_epochs.num_programs() == 1


@pytest.mark.usefixtures("trained_by_programs")
def test_first_epochs_and_later_ones_share_a_program():
    PROGRAMS.clear()
    rows = make_rows(*made_up())
    train(a_tree(), rows, key=KEY, num_epochs=4, config=MIXTURE, validation=Validation(rows))
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
    assert isinstance(make_rows(x, y), TrainingRows)


@pytest.mark.parametrize("penalty", [0.0, 5.0, 40.0])
def test_a_penalty_counts_as_rows_of_nothing(penalty):
    """A leaf of a squared error becomes the sum of its rows over their number and the penalty."""
    x, _ = made_up(60)
    y = 2 + x[:, :1]
    numbers = Hyperparameters(LearningRates(leaf=0.1), leaf_penalty=penalty / 60)
    one_leaf = a_tree(SoftForm(depth=0, num_features=3, num_outputs=1))
    config = TrainingConfig(loss=squared(), predict=apply, batch_size=64)
    trained = train(one_leaf, make_rows(x, y[:, 0]), key=KEY, num_epochs=300, config=config, hyperparameters=numbers)
    np.testing.assert_allclose(trained.model.leaf.value, [[y.sum() / (60 + penalty)]], rtol=1e-3)
