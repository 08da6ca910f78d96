"""How many models are trained side by side, and that it makes no difference."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.boosting import squared
from jaxtree.compilation import PROGRAMS
from jaxtree.errors import DivergedFitWarning, InvalidInputError, TrainingError
from jaxtree.soft import epochs as epochs_module
from jaxtree.soft import init
from jaxtree.soft import runs as runs_module
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, make_rows
from jaxtree.soft.forest import SoftForest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.model import log_mixture
from jaxtree.soft.rates import LearningRates
from jaxtree.soft.runs import Validation, models_side_by_side
from jaxtree.soft.training import train, train_many

KEYS = jax.random.split(jax.random.key(0), 6)
CONFIG = TrainingConfig(predict=log_mixture, batch_size=64)
X = np.random.default_rng(0).normal(size=(180, 3)).astype(np.float32)
Y = (X[:, 0] > X[:, 1] * X[:, 2]).astype(np.int32)
FOLDS = [make_rows(X[at:], Y[at:]) for at in (0, 40, 90)]
HELD = [make_rows(X[:at], Y[:at]) for at in (90, 50, 40)]


def trees(depth=2, gate="oblique"):
    return jax.vmap(lambda key: init(SoftForm(depth, 3, 2, gate), key=key))(KEYS)


def taken(parts, number):
    return jax.tree.map(lambda part: part[number], parts)


def assert_equal(one, other):
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def assert_same_run(one, alone):
    """A run among others, whose losses are NaN after its own end, and by itself."""
    own = slice(alone.loss.size)
    assert np.isnan(one.loss[own.stop :]).all()
    assert_equal(one._replace(loss=one.loss[own], validation_loss=one.validation_loss[own]), alone)


def test_a_cpu_takes_one_model_a_thread_and_other_devices_a_number_that_follows_from_the_form():
    def tree(depth):
        return jax.eval_shape(lambda key: init(SoftForm(depth, 4, 2), key=key), KEYS[0])

    assert models_side_by_side(tree(3), 2048, 256, "cpu") == 1
    assert models_side_by_side(tree(3), 2048, 256, "gpu") == 64
    assert models_side_by_side(tree(8), 2048, 256, "gpu") == 16
    assert models_side_by_side(tree(3), 2**18, 256, "gpu") == 4
    assert models_side_by_side(tree(3), 2**22, 256, "gpu") == 1
    assert models_side_by_side({"any": np.zeros((5, 2))}, 2048, 256, "gpu") == 64
    assert models_side_by_side(SoftForest(jax.eval_shape(lambda: trees(8)), None), 2048, 256, "gpu") == 2


def several(seconds_a_call=1.0, order=range(6), **keywords):
    """Six models that differ in rows, rates, temperature, epochs and patience."""
    order = list(order)
    leaf, last = np.linspace(0.05, 0.3, 6)[order], np.linspace(0.1, 1.0, 6)[order]
    numbers = Hyperparameters(LearningRates(leaf=leaf), last_temperature=last, noise=0.1, averaging=0.9)
    held = [Validation(HELD[number % 3], patience=2 + number) for number in order]
    return train_many(
        jax.tree.map(lambda part: part[np.array(order)], trees(**keywords)),
        [FOLDS[number % 3] for number in order],
        keys=KEYS[np.array(order)], num_epochs=[20 + number for number in order], config=CONFIG,
        hyperparameters=numbers, validation=held,
    )  # fmt: skip


@pytest.mark.usefixtures("trained_by_programs")
def test_a_member_is_its_lone_run_bit_for_bit_in_any_order_and_company():
    PROGRAMS.clear()
    many = several()
    for number in (0, 4):
        alone = several(order=[number])
        assert_same_run(taken(many, number), taken(alone, 0))
    assert_equal(taken(many, 5).model, taken(several(order=[5, 2, 0]), 0).model)
    assert epochs_module.run_epochs.num_programs() == 1
    assert len(set(np.isfinite(many.loss).sum(axis=1).tolist())) > 1, "each ends by its own patience"


@pytest.mark.slow
@pytest.mark.usefixtures("trained_by_programs")
@pytest.mark.parametrize("gate", ["oblique", "axis"])
def test_a_block_of_an_accelerator_is_its_lone_run_bit_for_bit(gate, monkeypatch):
    monkeypatch.setattr(runs_module, "models_side_by_side", lambda *own: 4)
    many = several(gate=gate)
    for number in (0, 4):
        alone = several(gate=gate, order=[number])
        assert_same_run(taken(many, number), taken(alone, 0))


def test_a_model_that_diverges_ends_alone_with_its_best():
    """Rates that grow a millionfold after some epochs leave the numbers, unless they are nothing."""
    rates = np.array([1e-9, 0.1, 1e-9, 1e-9, 1e-9, 1e-9], np.float32)
    target = Y[:, None].astype(np.float32)

    def growing(progress):
        return jnp.where(progress < 0.5, 1.0, 1e6)

    config = TrainingConfig(loss=squared(), optimizer=optax.sgd(1.0), batch_size=64, decay=growing)

    models = jax.vmap(lambda key: init(SoftForm(1, 3, 1), key=key))(KEYS)
    numbers = Hyperparameters(LearningRates(gate=0.0, leaf=rates))
    rows = make_rows(X, target)
    with pytest.warns(DivergedFitWarning, match="the loss of model 1 is not finite in epoch"):
        many = train_many(models, rows, keys=KEYS, num_epochs=6, config=config, hyperparameters=numbers)
    assert many.diverged_in[1] == 5 and many.diverged_in[[0, 2, 3, 4, 5]].max() == 0
    assert np.isfinite(many.model.leaf.value).all() and many.best_epoch[1] == np.nanargmin(many.loss[1])
    alone = train(
        taken(models, 0), rows, key=KEYS[0], num_epochs=6, config=config,
        hyperparameters=numbers._replace(rates=LearningRates(gate=0.0, leaf=rates[0])),
    )  # fmt: skip
    assert_equal(alone.model, taken(many.model, 0))


def test_what_is_never_finite_is_an_error_that_names_the_model():
    bad = X.copy()
    bad[3, 0] = np.nan
    rows = [FOLDS[0]] * 5 + [make_rows(bad, Y)]
    with pytest.raises(TrainingError, match="of model 5 is not finite in epoch 1: smaller learning rates"):
        train_many(trees(), rows, keys=KEYS, num_epochs=2, config=CONFIG)


def test_rows_of_another_number_of_models_are_named():
    with pytest.raises(InvalidInputError, match="rows must be one, or one for each of 6 models, got 3"):
        train_many(trees(), FOLDS, keys=KEYS, num_epochs=2, config=CONFIG)


@pytest.mark.usefixtures("trained_by_programs")
def test_an_error_in_a_thread_ends_the_others(monkeypatch):
    calls = []

    def failing(*arguments, **keywords):
        calls.append(threading.current_thread())
        time.sleep(0.2)
        raise MemoryError("no room")

    monkeypatch.setattr(runs_module, "run_epochs", failing)
    with pytest.raises(MemoryError, match="no room"):
        train_many(trees(), FOLDS[0], keys=KEYS, num_epochs=2, config=CONFIG)
    # Two threads, and what these began before the error was seen.
    assert len(calls) <= 4
