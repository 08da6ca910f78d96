"""The program of training: some epochs, for many models side by side; and the bundles that it takes.

All numbers of `Hyperparameters` are traced: many models with numbers of their own train as one program.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from jaxtree.arrays import AnyArray, FloatLike, IntLike
from jaxtree.buckets import row_bucket
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.kernels.choose import Engine
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import OF_CLASSES, AnyLoss, loss_of, number_of_arguments
from jaxtree.soft.draws import OF_TARGETS, kept_trees, noise, order_of_epoch, seeds_of_epoch
from jaxtree.soft.functions import Schedule
from jaxtree.soft.losses import Loss, cross_entropy
from jaxtree.soft.model import apply
from jaxtree.soft.rates import LearningRates, cosine, rates_of_parts, scheduled
from jaxtree.soft.scores import OfScores, ScoredTarget, blurred, padded_rows, takes_batches, weighted_sum
from jaxtree.soft.words import indented

MOST_EPOCHS_A_CALL = 512
LEAST_ROWS = 256
"""To which fewer rows are padded: what a step and a look at validation rows cost follows from the padding."""
ROWS_A_BLOCK = 8192
"""Rows whose loss is computed at once: a power of two."""

Predict = Callable[..., Float[Array, "row output"]]
"""A function of a model, rows and `temperature=`, such as `apply`."""

_ADAM = optax.adam(1.0)


class Hyperparameters(NamedTuple):
    """The numbers of a training. Arrays of several values in any of them train as many models, see `train_many`.

    Attributes:
        rates: The learning rates.
        first_temperature: The temperature of the gates in the first step; it falls by the same factor in every step.
        last_temperature: The temperature in the last step.
        monitor_temperature: The temperature at which checkpoints are compared; None is the last one. Close to 0 the
            tree that decides at every gate is compared.
        noise: The standard deviation of nearly normal noise that is added to the inputs of every step: a penalty on
            curvature (Bishop, *Training with noise is equivalent to Tikhonov regularization*, 1995). None is no noise.
        target_noise: The same of the targets, so that no distribution is narrower (Rothfuss et al., *Noise
            Regularization for Conditional Density Estimation*, 2019), see `jaxtree.soft.scores.blurred`.
        averaging: How much of the average of the parameters remains in a step; 0 keeps the last parameters, 0.99 an
            average of about the last hundred steps (Polyak and Juditsky, 1992).
        drop_rate: The share of the trees of an ensemble that a step leaves out, of every row others; None for no tree.
        subsample: The share of the rows that a tree of an ensemble learns from, drawn once; None for all rows.
        leaf_penalty: The factor of half the squares of leaves in what a step makes small; None for no penalty.
    """

    rates: LearningRates = LearningRates()
    first_temperature: FloatLike = 1.0
    last_temperature: FloatLike = 0.3
    monitor_temperature: FloatLike | None = None
    noise: FloatLike | None = None
    target_noise: FloatLike | None = None
    averaging: FloatLike = 0.0
    drop_rate: FloatLike | None = None
    subsample: FloatLike | None = None
    leaf_penalty: FloatLike | None = None


class TrainingConfig(NamedTuple):
    """The static part of a training, which a program is compiled for.

    Attributes:
        loss: The loss, as estimators take it: a name, "log_loss" of classes or one of a `SoftTreeRegressor`; a loss of
            `jaxtree.boosting`, whose scores the outputs are; a function of outputs and targets to the loss of every
            row, see `jaxtree.soft.losses`; or the function of a `Loss`, of the scores, target and extras of a row.
        monitor: The loss by which checkpoints are compared on validation rows; None is `loss`.
        predict: The model's outputs.
        optimizer: Any optimiser of optax that needs gradients alone. Its learning rate is multiplied by those of the
            hyperparameters, so that it should be 1.
        batch_size: The most rows of a step; the batches of an epoch are equally large, within a row a batch.
        decay: The schedule of a factor of the learning rates; or `LearningRates` of schedules, one a part.
        temperature: The schedule of the temperature; None lets it fall from the first to the last temperature of the
            hyperparameters, at the last of which checkpoints are compared in any case.
        noise: The schedule of a factor of noise; None is 1.
        engine: Who computes hard gates; the kernel if `predict` takes `engine=`, as `apply` does.
    """

    loss: AnyLoss = cross_entropy
    monitor: AnyLoss | None = None
    predict: Predict = apply
    optimizer: optax.GradientTransformation = _ADAM
    batch_size: int = 256
    decay: Schedule | LearningRates = cosine
    temperature: Schedule | None = None
    noise: Schedule | None = None
    engine: Engine = Engine.XLA

    def with_losses(self) -> "TrainingConfig":
        """Returns the same, with losses in the place of names and functions of single rows."""
        monitor = None if self.monitor is None else _as_trained(self.monitor)
        return self._replace(loss=_as_trained(self.loss), monitor=monitor)

    def outputs(self, model: PyTree, x: Float[Array, "row feature"], temperature: FloatLike, **options: Any) -> Any:
        """Returns the model's outputs for rows."""
        if self.engine is not Engine.XLA:
            options["engine"] = self.engine
        return self.predict(model, x, temperature=temperature, **options)


def _as_trained(loss: AnyLoss) -> BaseLoss | Loss:
    """A loss of scores, or a function of outputs and targets."""
    if isinstance(loss, str):
        return cross_entropy if loss in OF_CLASSES else loss_of(loss)
    is_of_rows = isinstance(loss, OfScores) or (not isinstance(loss, BaseLoss) and number_of_arguments(loss) == 2)
    return loss if is_of_rows else loss_of(loss)


class TrainingRows(NamedTuple):
    """Rows to train or validate on, padded with rows of weight 0; see `make_rows`.

    Attributes:
        x: The inputs.
        target: Whatever the loss takes: class codes, numbers, or a `jaxtree.soft.scores.ScoredTarget`.
        weight: The weight of every row.
        num_rows: How many there are; those after them are padding.
    """

    x: Float[Array, "row feature"]
    target: Any
    weight: Float[Array, " row"]
    num_rows: Int[Array, ""]


def make_rows(x: Any, target: Any, weight: Any = None) -> TrainingRows:
    """Pads rows to a bucket, so that tables of a like size share a program.

    >>> make_rows(np.ones((3, 2)), np.array([0, 1, 1])).x.shape
    (256, 2)
    """
    x, target = np.asarray(x, np.float32), target if isinstance(target, ScoredTarget) else np.asarray(target)
    weight = np.ones(len(x), np.float32) if weight is None else np.asarray(weight, np.float32)
    if not len(x) == len(target) == len(weight) or not len(x):
        raise InvalidInputError(
            f"rows, targets and weights must be as many, and one at least, got {len(x)}, {len(target)}, {len(weight)}"
        )
    number = min(row_bucket(len(x)), max(1 << (len(x) - 1).bit_length(), LEAST_ROWS))
    return TrainingRows(*(padded_rows(part, number) for part in (x, target, weight)), num_rows=jnp.int32(len(x)))


class Progress(NamedTuple):
    """The state of a training.

    Attributes:
        model: The parameters that are stepped.
        average: Their running average.
        steps: The state of the optimiser.
        number: How many steps have been made.
        best: The average with the least loss so far: on validation rows or, without any, in the next epoch of training.
        best_loss: The loss of `best`.
        best_epoch: The epoch after which it stood.
    """

    model: Any
    average: Any
    steps: Any
    number: Int[AnyArray, "*model"]
    best: Any
    best_loss: Float[AnyArray, "*model"]
    best_epoch: Int[AnyArray, "*model"]

    def __repr__(self) -> str:
        """Describes the state in some lines: its steps, its best loss, and the model."""
        steps = f"Progress: {self.number} steps, best loss {self.best_loss} after epoch {self.best_epoch}"
        return indented([steps, repr(self.model)])


def _in_words(progress: Progress, rows: TrainingRows, *_: object, **__: object) -> str:
    """Describes a program of epochs."""
    num_models, (num_rows, num_features) = progress.number.size, rows.x.shape
    return f"training of {num_models} soft models on {num_rows:,} rows x {num_features:,} columns"


class Ends(NamedTuple):
    """When a model's training ends.

    Attributes:
        first: The epoch that is made first.
        stop: The one before which this call ends.
        num_epochs: The number of all.
        patience: After how many epochs without a better loss training ends.
    """

    first: Int[AnyArray, "*model"]
    stop: Int[AnyArray, "*model"]
    num_epochs: Int[AnyArray, "*model"]
    patience: Int[AnyArray, "*model"]


class Epochs(NamedTuple):
    """The results of some epochs.

    Attributes:
        progress: The state after the last one whose loss and parameters were finite.
        number: How many epochs have been made since the first, that one included.
        is_finite: Whether losses and parameters were finite in all of them; if not, the last one has no part in the
            state.
        goes_on: Whether a model is to be trained further: it is finite, patient, and has epochs left.
        loss: The mean loss over the steps of every epoch.
        validation_loss: The loss on validation rows after it.
    """

    progress: Progress
    number: Int[AnyArray, "*model"]
    is_finite: Bool[AnyArray, "*model"]
    goes_on: Bool[AnyArray, "*model"]
    loss: Float[AnyArray, "*model epoch"]
    validation_loss: Float[AnyArray, "*model epoch"]


@compiled("config", what=_in_words)
def run_epochs(
    progress: Progress,
    rows: TrainingRows,
    validation: TrainingRows | None,
    hyperparameters: Hyperparameters,
    keys: Key[Array, " model"],
    limits: Ends,
    *,
    config: TrainingConfig,
) -> Epochs:
    """Trains models side by side for some epochs; each stops by itself.

    A model that is alone, as all are on a CPU, is trained without an axis of models: its products of matrices would
    have other bits with one.

    Args:
        progress: Their state; all arrays have an axis of models, as those of `hyperparameters`, `keys` and `limits`.
        rows: The rows to train on.
        validation: The rows to compare checkpoints on.
        hyperparameters: The numbers of each.
        keys: The key of each.
        limits: When each ends.
        config: The settings that the program is compiled for.
    """

    def run(progress, hyperparameters, key, limits):
        nothing = jnp.zeros(MOST_EPOCHS_A_CALL)

        def goes_on(state):
            epoch, made = state
            return (epoch < limits.stop) & made.goes_on

        def one_epoch(state):
            epoch, made = state
            new, loss = _epoch(made.progress, rows, hyperparameters, key, (epoch, limits.num_epochs), config)
            parts = [jnp.isfinite(loss), *(jnp.isfinite(part).all() for part in jax.tree.leaves(new.model))]
            is_finite = jnp.stack(parts).all()
            new = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), new, made.progress)
            if validation is None:
                # The loss of an epoch is of the models before its steps.
                found, candidate, after = loss, made.progress.average, epoch
            else:
                found = _monitor(new.average, validation, hyperparameters, config)
                candidate, after = new.average, epoch + 1
            at, is_better = epoch - limits.first, is_finite & (found < made.progress.best_loss)
            new = _keep_best(new, candidate, found, after, is_better=is_better)
            is_patient = epoch + 1 - new.best_epoch <= limits.patience
            return epoch + 1, Epochs(
                new,
                at + 1,
                is_finite,
                is_finite & is_patient & (epoch + 1 < limits.num_epochs),
                made.loss.at[at].set(loss),
                made.validation_loss.at[at].set(found),
            )

        start = Epochs(progress, jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.ones((), bool), nothing, nothing)
        return jax.lax.while_loop(goes_on, one_epoch, (limits.first, start))[1]

    models = progress, hyperparameters, keys, limits
    if len(keys) > 1:
        return jax.vmap(run)(*models)
    return jax.tree.map(lambda part: part[None], run(*jax.tree.map(lambda part: part[0], models)))


@compiled("config")
def monitor_start(
    progress: Progress, validation: TrainingRows, hyperparameters: Hyperparameters, *, config: TrainingConfig
) -> Progress:
    """Makes the models to begin with the first candidates for the best."""
    found = jax.lax.map(lambda one: _monitor(one[0].average, validation, one[1], config), (progress, hyperparameters))
    return progress._replace(best_loss=found)


def _monitor(
    model: PyTree, validation: TrainingRows, hyperparameters: Hyperparameters, config: TrainingConfig
) -> Float[Array, ""]:
    """The loss by which a checkpoint is compared."""
    temperature = hyperparameters.monitor_temperature
    temperature = hyperparameters.last_temperature if temperature is None else temperature
    loss = config.loss if config.monitor is None else config.monitor
    return mean_loss(model, validation, temperature, config._replace(loss=loss))


def _keep_best(
    progress: Progress, candidate: PyTree, loss: Float[Array, ""], after: IntLike, *, is_better: Bool[Array, ""]
) -> Progress:
    """Takes a candidate, which stood after so many epochs, as the best so far if it is."""
    return progress._replace(
        best=jax.tree.map(lambda new, old: jnp.where(is_better, new, old), candidate, progress.best),
        best_loss=jnp.where(is_better, loss, progress.best_loss),
        best_epoch=jnp.where(is_better, after, progress.best_epoch).astype(jnp.int32),
    )


def _epoch(
    progress: Progress,
    rows: TrainingRows,
    hyperparameters: Hyperparameters,
    key: PRNGKeyArray,
    at_epoch: tuple[IntLike, IntLike],
    config: TrainingConfig,
) -> tuple[Progress, Float[Array, ""]]:
    """Sees all rows once, in batches of nearly equal size; returns the mean loss of the steps too.

    The key is that of the model. `at_epoch` has the number of the epoch, and of all epochs.
    """
    epoch, num_epochs = at_epoch
    seeds = seeds_of_epoch(key, epoch)
    num_batches = -(-rows.num_rows // config.batch_size)
    batch_rows = -(-rows.num_rows // num_batches)
    size = rows.x.shape[0]
    order = order_of_epoch(seeds[0], rows.num_rows, size, num_batches)
    lane = jnp.arange(min(config.batch_size, size))
    mean_weight = rows.weight.sum() / num_batches

    def one_step(number, carry):
        progress, total = carry
        at = number * batch_rows + lane
        is_there = (lane < batch_rows) & (at < rows.num_rows)
        chosen = order[jnp.minimum(at, rows.num_rows - 1)]
        x = rows.x[chosen]
        done = (epoch * num_batches + number) / (num_epochs * num_batches)
        factor = None if config.noise is None else config.noise(done)
        if hyperparameters.noise is not None:
            x += _times(factor, hyperparameters.noise) * noise(seeds[1], number, (len(lane), x.shape[1]))
        target = rows.target[chosen]
        if hyperparameters.target_noise is not None:
            change = noise(seeds[1] ^ jnp.uint32(OF_TARGETS), number, (len(lane), 1))[:, 0]
            target = blurred(
                instance_of(BaseLoss, config.loss), target, _times(factor, hyperparameters.target_noise) * change
            )
        share = jnp.where(is_there, rows.weight[chosen], 0) / mean_weight
        shares = hyperparameters.drop_rate, hyperparameters.subsample
        kept = kept_trees(progress.model, (at, chosen), shares, (seeds[1], key))
        options = {} if kept is None else {"kept": kept}
        progress, loss = _step(progress, (x, target, share), hyperparameters, done, config, options)
        return progress, total + loss

    progress, total = jax.lax.fori_loop(0, num_batches, one_step, (progress, jnp.zeros(())))
    return progress, total / num_batches


def _times(factor: FloatLike | None, number: FloatLike) -> FloatLike:
    """A number of the hyperparameters, by a schedule if there is one."""
    return number if factor is None else factor * number


def _step(
    progress: Progress,
    batch: tuple[Float[Array, "row feature"], Any, Float[Array, " row"]],
    hyperparameters: Hyperparameters,
    done: Float[Array, ""],
    config: TrainingConfig,
    options: dict[str, Any],
) -> tuple[Progress, Float[Array, ""]]:
    """One step of the optimiser, on rows, their targets and their shares of the weight."""
    x, target, share = batch
    first, last = hyperparameters.first_temperature, hyperparameters.last_temperature
    falling = first * (last / first) ** done if config.temperature is None else config.temperature(done)
    temperature = jnp.asarray(falling)

    def objective(model):
        loss = weighted_sum(config.loss, config.outputs(model, x, temperature, **options), target, share)
        penalty = hyperparameters.leaf_penalty
        return loss if penalty is None else loss + penalty / 2 * jnp.square(model.leaf.value).sum()

    loss, slope = jax.value_and_grad(objective)(progress.model)
    change, steps = config.optimizer.update(slope, progress.steps, progress.model)
    rates = rates_of_parts(progress.model, scheduled(hyperparameters.rates, config.decay, done))
    model = jax.tree.map(lambda old, rate, new: old + rate * new, progress.model, rates, change)
    kept = jnp.minimum(hyperparameters.averaging, (1 + progress.number) / (10 + progress.number))
    # So what stays as it is stays so to the last digit.
    average = jax.tree.map(lambda old, new: new + kept * (old - new), progress.average, model)
    return progress._replace(model=model, average=average, steps=steps, number=progress.number + 1), loss


def mean_loss(model: PyTree, rows: TrainingRows, temperature: FloatLike, config: TrainingConfig) -> Float[Array, ""]:
    """The weighted mean loss of a model on rows, block by block unless they depend on one another."""

    def of_block(at):
        x, target, weight = (part[at + jnp.arange(block)] for part in rows[:3])
        return weighted_sum(config.loss, config.outputs(model, x, temperature), target, weight)

    block = math.gcd(rows.x.shape[0], ROWS_A_BLOCK) if takes_batches(config.loss) else rows.x.shape[0]
    return jnp.sum(jax.lax.map(of_block, jnp.arange(0, rows.x.shape[0], block))) / rows.weight.sum()
