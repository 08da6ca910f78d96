"""Trainings by the kernel in C++: its steps are those of the program, and a member has the bits of its lone run."""

import dataclasses

import jax
import numpy as np
import optax
import pytest

from jaxtree import SoftTreeClassifier
from jaxtree.boosting import poisson, squared
from jaxtree.errors import DivergedFitWarning, InterruptedFitWarning, InvalidInputError
from jaxtree.kernels import library
from jaxtree.soft import init
from jaxtree.soft import runs as runs_module
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, make_rows
from jaxtree.soft.forest import apply_forest, init_forest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.kernel_epochs import begin_for_kernel, is_for_kernel
from jaxtree.soft.losses import cross_entropy_of_shares, smoothed_cross_entropy, zero_one
from jaxtree.soft.model import apply, log_mixture
from jaxtree.soft.rates import LearningRates, constant
from jaxtree.soft.runs import Validation
from jaxtree.soft.scores import ScoredTarget
from jaxtree.soft.training import train, train_many
from tests.marks import rest_is_slow

pytestmark = pytest.mark.skipif(library.load() is None, reason="the kernel is not installed")

KEY = jax.random.key(3)
NUM_ROWS, NUM_HELD = 700, 300
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(NUM_ROWS, 5)).astype(np.float32)
X[:, 4] = DRAW.random(NUM_ROWS) < 0.2
X[X[:, 4] == 1, 1] = 0
CODES = (X[:, 0] > 0).astype(np.int32) + (X[:, 1] + X[:, 2] > 0)
SHARES = np.eye(3, dtype=np.float32)[CODES] * 0.9 + 0.1 / 3
NUMBERS = np.stack([X[:, 0] * X[:, 1], X[:, 2]], axis=1)
SCORED = ScoredTarget(NUMBERS, {}, np.array([0.1, 0.2]), np.array([1.5, 0.5]))
WEIGHT = DRAW.random(NUM_ROWS).astype(np.float32) + np.float32(0.1)

OBLIQUE, AXIS = SoftForm(3, 5, 3), SoftForm(3, 5, 3, "axis")
HARD = SoftForm(3, 5, 3, "hard")
PLAIN, MIXTURE = TrainingConfig(batch_size=100), TrainingConfig(predict=log_mixture, batch_size=100)
OF_SHARES = MIXTURE._replace(loss=cross_entropy_of_shares)
USUAL = Hyperparameters(averaging=0.9)
ERRORS = MIXTURE._replace(monitor=zero_one)


def missing(form, *features):
    return dataclasses.replace(form, missing=(features,))


CASES = {
    "shares": (missing(OBLIQUE, 1), SHARES, OF_SHARES, USUAL._replace(noise=0.1)),
    "axis gates": (missing(AXIS, 1), SHARES, OF_SHARES, USUAL._replace(noise=0.1)),
    "hard gates": (missing(HARD, 0, 1), SHARES, OF_SHARES, USUAL),
    "codes": (OBLIQUE, CODES, PLAIN, USUAL),
    "codes of a mixture": (AXIS, CODES, MIXTURE._replace(decay=constant), USUAL),
    "errors": (OBLIQUE, CODES, ERRORS, USUAL._replace(monitor_temperature=1e-6)),
    "squares": (SoftForm(5, 5, 2), SCORED, TrainingConfig(loss=squared(2)), USUAL._replace(leaf_penalty=0.1)),
    "numbers": (SoftForm(2, 5, 1), NUMBERS[:, :1], TrainingConfig(loss=squared(), batch_size=37), USUAL),
    "one leaf": (SoftForm(0, 5, 3), CODES, PLAIN, USUAL),
    "all rows at once": (AXIS, CODES, PLAIN._replace(batch_size=4096), USUAL._replace(noise=0.2)),
    **{
        f"hard gates, {name}": (dataclasses.replace(HARD, **{kind: name}), SHARES, OF_SHARES, USUAL)
        for kind, names in {"choice": ("softmax", "sparsemax"), "side": ("sigmoid", "entmoid")}.items()
        for name in names
    },
    "oblivious": (dataclasses.replace(HARD, oblivious=True), SHARES, OF_SHARES, USUAL),
}


@pytest.mark.parametrize("name", rest_is_slow(CASES, number=3))
def test_the_kernel_makes_the_steps_of_the_program(name, request):
    """A few steps, after which rounding is not yet multiplied."""
    form, target, config, numbers = CASES[name]
    tree = init(form, key=KEY, inputs=X)
    rows = make_rows(X[:NUM_HELD], target[np.arange(NUM_HELD)], WEIGHT[:NUM_HELD])
    after = np.arange(NUM_HELD, NUM_ROWS)
    held = Validation(make_rows(X[after], target[after], WEIGHT[after]), keeps_start=True)
    arguments = {"key": KEY, "num_epochs": 2, "config": config, "hyperparameters": numbers, "validation": held}
    assert is_for_kernel(tree, [rows.target, held.rows.target], numbers, KEY, config)
    ours = train(tree, rows, **arguments)
    request.getfixturevalue("trained_by_programs")
    theirs = train(tree, rows, **arguments)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.validation_loss, theirs.validation_loss, rtol=1e-4)


FOREST = init_forest(OBLIQUE, num_trees=2, key=KEY)
TREE = init(OBLIQUE, key=KEY)
OTHERS = {
    "a forest": {"model": FOREST, "config": PLAIN._replace(predict=apply_forest)},
    "stops": {"model": init(dataclasses.replace(OBLIQUE, stops=True), key=KEY)},
    "another loss": {"config": PLAIN._replace(loss=smoothed_cross_entropy(0.1))},
    "counts": {"target": SCORED, "config": PLAIN._replace(loss=poisson())},
    "an offset": {
        "target": dataclasses.replace(SCORED, extras={"offset": CODES}), "config": PLAIN._replace(loss=squared(3))
    },
    "another optimiser": {"config": PLAIN._replace(optimizer=optax.sgd(1.0))},
    "another schedule": {"config": PLAIN._replace(decay=lambda done: 1.0)},
    "noise of targets": {"numbers": USUAL._replace(target_noise=0.1)},
    "other random numbers": {"key": jax.random.key(0, impl="rbg")},
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_kernel_does_not_know_is_trained_by_the_program(name):
    usual = {"model": TREE, "target": CODES, "numbers": USUAL, "key": KEY, "config": PLAIN}
    assert is_for_kernel(usual["model"], [usual["target"]], *list(usual.values())[2:])
    own = usual | OTHERS[name]
    assert not is_for_kernel(own["model"], [own["target"]], own["numbers"], own["key"], own["config"])


def test_targets_of_two_kinds_are_trained_by_the_program():
    assert not is_for_kernel(TREE, [SHARES, CODES], USUAL, KEY, OF_SHARES)


def many(numbers, **keywords):
    """Trees of several seeds, each with rows, rates, epochs and patience of its own; and some without patience."""
    numbers = list(numbers)
    keys = jax.random.split(KEY, 64)[np.array(numbers)]
    config = TrainingConfig(predict=log_mixture, batch_size=64)
    leaf = np.linspace(0.05, 1.0, 64)[numbers]
    firsts = [20 * (number % 5) for number in numbers]
    return train_many(
        jax.vmap(lambda key: init(OBLIQUE, key=key))(keys),
        [make_rows(X[first:200], CODES[first:200]) for first in firsts],
        keys=keys,
        num_epochs=[3 + number % 7 for number in numbers],
        config=config,
        hyperparameters=Hyperparameters(LearningRates(leaf=leaf), noise=0.1, averaging=0.9),
        validation=[
            Validation(make_rows(X[400:], CODES[400:]), patience=1 + number % 3 if number % 2 else None)
            for number in numbers
        ],
        **keywords,
    )


def assert_member(all_of_them, place, alone):
    own = alone.loss.shape[1]
    for one, other in zip(jax.tree.leaves(all_of_them), jax.tree.leaves(alone), strict=True):
        part = one[place, :own] if one.ndim == 2 and one.shape[1] == all_of_them.loss.shape[1] else one[place]
        np.testing.assert_array_equal(part, other[0])


def test_a_member_is_its_lone_run_bit_for_bit_whatever_their_number():
    alone = {number: many([number]) for number in (0, 13, 15, 16, 31, 63)}
    for size in (1, 15, 16, 17, 64):
        numbers = list(range(64 - size, 64))
        together = many(numbers)
        for number in set(alone) & set(numbers):
            assert_member(together, numbers.index(number), alone[number])
    ends = np.isfinite(together.loss).sum(axis=1)
    assert len(set(ends.tolist())) > 3 and (ends < [3 + number % 7 for number in range(64)]).any(), "some lose patience"


def test_calls_of_any_length_make_the_same_training(monkeypatch):
    x, y = make_rows(X[:50], CODES[:50]), {"key": KEY, "num_epochs": 90, "config": MIXTURE, "hyperparameters": USUAL}
    whole, told = train(TREE, x, **y), []
    monkeypatch.setattr(runs_module, "SECONDS_A_CALL", 0.0)
    parts = train(TREE, x, **y, report=lambda number, words: told.append(words))
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(told) == 90


def test_an_interrupt_keeps_what_the_last_call_has_made(monkeypatch):
    monkeypatch.setattr(runs_module, "SECONDS_A_CALL", 0.0)

    def interrupt(number, words):
        raise KeyboardInterrupt

    rows = make_rows(X[:50], CODES[:50])
    arguments = {"key": KEY, "num_epochs": 500, "config": MIXTURE._replace(decay=constant)}
    with pytest.warns(InterruptedFitWarning, match="of 500 epochs"):
        ended = train(TREE, rows, **arguments, report=interrupt)
    made = len(ended.loss)
    assert 0 < made < 100
    numbers = Hyperparameters(last_temperature=1.0)
    whole = train(TREE, rows, **arguments | {"num_epochs": made, "hyperparameters": numbers})
    assert ended.progress.number == whole.progress.number == made


def test_a_tree_that_diverges_ends_alone_with_its_start():
    rows, keys = make_rows(X[:100], NUMBERS[:100, 0]), jax.random.split(KEY, 3)
    trees = jax.vmap(lambda key: init(SoftForm(1, 5, 1), key=key))(keys)
    rates = np.array([0.1, 3e37, 0.1], np.float32)
    config, held = TrainingConfig(loss=squared()), Validation(rows, keeps_start=True)

    def trained(chosen):
        own = Hyperparameters(LearningRates(leaf=rates[chosen]))
        taken = jax.tree.map(lambda part: part[chosen], trees)
        return train_many(
            taken, rows, keys=keys[chosen], num_epochs=5, config=config, hyperparameters=own, validation=held
        )

    with pytest.warns(DivergedFitWarning, match="the loss of model 1 is not finite in epoch 2"):
        together = trained(np.arange(3))
    assert together.diverged_in.tolist() == [0, 2, 0] and np.isfinite(together.model.leaf.value).all()
    for number in (0, 2):
        alone = trained(np.array([number]))
        assert_member(together, number, alone)


def test_a_training_begins_in_the_state_of_the_program():
    trees = jax.vmap(lambda key: init(AXIS, key=key))(jax.random.split(KEY, 2))
    ours, theirs = begin_for_kernel(trees), runs_module._begin(trees, config=PLAIN)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_fits_that_go_on_are_made_by_the_kernel(monkeypatch):
    """`warm_start` and `partial_fit` take up the state of the kernel, and a program would have to be compiled."""
    monkeypatch.setattr(runs_module, "run_epochs", None)
    estimator = SoftTreeClassifier(depth=2, max_epochs=3, warm_start=True, random_state=0).fit(X, CODES)
    steps = estimator.progress_.number
    estimator.fit(X, CODES).partial_fit(X[:100], CODES[:100])
    assert estimator.progress_.number > steps > 0
    assert apply(estimator.soft_model_, estimator.inputs_.transform(X[:5].astype(np.float64))).shape == (5, 3)


@pytest.mark.parametrize("num_columns", [0, 4, 6])
@pytest.mark.parametrize("wrong", ["rows", "validation"])
def test_rows_of_other_columns_than_the_tree_are_refused(wrong, num_columns):
    rows = {"rows": make_rows(X, CODES), "validation": make_rows(X[:NUM_HELD], CODES[:NUM_HELD])}
    other = np.zeros((NUM_HELD, num_columns), np.float32)
    rows[wrong] = make_rows(other, CODES[:NUM_HELD])
    held = Validation(rows["validation"], keeps_start=True)
    with pytest.raises(InvalidInputError, match=rf"x must have the shape \(row, 5\), got \(\d+, {num_columns}\)"):
        train(init(OBLIQUE, key=KEY), rows["rows"], key=KEY, num_epochs=1, config=PLAIN, validation=held)
