"""Training by gradients: whole epochs in one program, for one model or for many at once.

A *model* is a soft tree, a soft forest, or any pytree of parameters with a function that predicts. A program is
compiled for a `TrainingConfig`; the numbers of a training, `Hyperparameters`, are traced and may differ from model to
model.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.soft.epochs import (
    MOST_EPOCHS_A_CALL,
    Hyperparameters,
    Progress,
    TrainingConfig,
    TrainingRows,
    monitor_start,
    run_epochs,
)

NAMES_OF_LOSSES = ("loss", "validation loss")

SECONDS_A_CALL = 1.0
"""About how long one call of the program takes: how often progress is reported, and an interrupt is noticed."""


class Validation(NamedTuple):
    """Rows on which checkpoints are compared, to keep the best.

    Attributes:
        rows: The rows.
        patience: After how many epochs without a better loss training ends; None is never.
        keeps_start: Whether the model as it is given is a candidate, too, so that fine-tuning never makes a good one
            worse on these rows; the best epoch is then 0.
    """

    rows: TrainingRows
    patience: int | None = None
    keeps_start: bool = False


class Trained(NamedTuple):
    """The result of a training.

    Attributes:
        model: The model; of `train_many` with an axis of models in front of every array.
        loss: The mean loss over the steps of every epoch.
        validation_loss: The loss on validation rows after every epoch; None without any.
        best_epoch: The number of epochs after which the model stood as it is.
        progress: The state at the end, to go on from.
    """

    model: Any
    loss: Float[np.ndarray, "*model epoch"]
    validation_loss: Float[np.ndarray, "*model epoch"] | None
    best_epoch: Int[np.ndarray, "*model"]
    progress: Progress


def train(
    model: PyTree,
    rows: TrainingRows,
    *,
    key: PRNGKeyArray,
    num_epochs: int,
    config: TrainingConfig = TrainingConfig(),
    hyperparameters: Hyperparameters = Hyperparameters(),
    validation: Validation | None = None,
    report: Callable[[int, str], Any] | None = None,
) -> Trained:
    """Trains a model.

    With validation rows the parameters after the epoch with the least loss on them are kept, computed at the last
    temperature; without any, those after the last epoch. An interrupt (Ctrl-C) keeps the best so far, with a warning.

    Args:
        model: The parameters to begin with; or the `Progress` of an earlier training, to go on from its averages and
            its state of the optimiser.
        rows: The rows to train on.
        key: The key of the batches and the noise. The same one gives the same model.
        num_epochs: How often all rows are seen; temperature and rates follow the share of them that is done.
        config: What is compiled.
        hyperparameters: The numbers.
        validation: The rows on which checkpoints are compared.
        report: Called after every epoch with 1 and its losses in words.

    Raises:
        TrainingError: The loss has become infinite or not a number.
    """
    one = train_many(
        jax.tree.map(lambda leaf: leaf[None], model),
        rows,
        keys=key[None],
        num_epochs=num_epochs,
        config=config,
        hyperparameters=hyperparameters,
        validation=validation,
        report=report,
    )
    return jax.tree.map(lambda leaf: leaf[0], one)


def train_many(
    models: PyTree,
    rows: TrainingRows,
    *,
    keys: Key[Array, " model"],
    num_epochs: int,
    config: TrainingConfig = TrainingConfig(),
    hyperparameters: Hyperparameters = Hyperparameters(),
    validation: Validation | None = None,
    report: Callable[[int, str], Any] | None = None,
) -> Trained:
    """Trains many models of one form as one program.

    Args:
        models: As in `train`; every array has an axis of models in front, as `jax.vmap(init)` has it.
        rows: The rows that all train on.
        keys: The keys, one a model.
        num_epochs: As in `train`.
        config: As in `train`.
        hyperparameters: The numbers. Those that are arrays have a value for every model.
        validation: As in `train`; every model keeps its own best, and training ends when every model's patience has.
        report: As in `train`.

    Raises:
        TrainingError: The loss of a model has become infinite or not a number.
    """
    if num_epochs < 1:
        raise InvalidInputError(f"num_epochs must be at least 1, got {num_epochs}")
    floats = jnp.result_type(float)
    numbers = jax.tree.map(lambda number: np.broadcast_to(np.asarray(number, floats), keys.shape), hyperparameters)
    progress = _go_on(models) if isinstance(models, Progress) else _begin(models, config=config)
    held, patience, keeps_start = (None, None, False) if validation is None else validation
    patience = num_epochs if patience is None else patience
    if held is not None and keeps_start:
        progress = monitor_start(progress, held, numbers, config=config)
    losses = [2 * [np.zeros((len(keys), 0), np.float32)]]
    done, at_once = 0, 1
    try:
        while done < num_epochs and np.any(done - np.asarray(progress.best_epoch) <= patience):
            began = time.perf_counter()
            stop = min(done + at_once, num_epochs)
            limits = np.array([done, stop, num_epochs, patience], np.int32)
            progress, latest = jax.block_until_ready(
                run_epochs(progress, rows, held, numbers, keys, limits, config=config, platform=current_platform())
            )
            losses.append([np.asarray(part)[:, : stop - done] for part in latest])
            _check_finite(losses[-1][0], done)
            done = stop
            at_once = _next_number(at_once, time.perf_counter() - began)
            if report is not None:
                for words in _in_words(losses[-1][: 1 if held is None else 2]):
                    report(1, words)
    except KeyboardInterrupt:
        text = f"interrupted: training has ended after {done} of {num_epochs} epochs"
        warnings.warn(text, InterruptedFitWarning, stacklevel=2)
    loss, validation_loss = (np.concatenate(parts, axis=1) for parts in zip(*losses, strict=True))
    if held is None:
        return Trained(progress.average, loss, None, np.full(len(loss), done), progress)
    return Trained(progress.best, loss, validation_loss, np.asarray(progress.best_epoch), progress)


@compiled("config")
def _begin(models: PyTree, *, config: TrainingConfig) -> Progress:
    """The state before the first step."""
    models = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), models)
    num_models = jax.tree.leaves(models)[0].shape[0]
    steps = jax.vmap(config.optimizer.init)(models)
    # Of a type of its own: a weak one, as of a number of Python, is another program than that of the next call.
    never = jnp.full(num_models, jnp.inf, jnp.result_type(float))
    zero = jnp.zeros(num_models, jnp.int32)
    return Progress(models, models, steps, zero, models, never, zero)


def _go_on(progress: Progress) -> Progress:
    """The state before the first further step: there is no best so far."""
    never, zero = jnp.full_like(progress.best_loss, jnp.inf), jnp.zeros_like(progress.best_epoch)
    return progress._replace(best=progress.average, best_loss=never, best_epoch=zero)


def _in_words(losses: Sequence[Float[np.ndarray, "model epoch"]]) -> list[str]:
    """Returns the losses of every epoch, means over the models: that of training, and that of validation."""
    parts = [part.mean(axis=0) for part in losses]
    rows = np.stack(parts, axis=1).tolist()
    return [", ".join(f"{name} {x:z.5g}" for name, x in zip(NAMES_OF_LOSSES, row, strict=False)) for row in rows]


def _next_number(number: int, seconds: float) -> int:
    """How many epochs the next call makes, when the last has made `number` in so many seconds."""
    if seconds > SECONDS_A_CALL:
        return max(1, number // 2)
    return min(2 * number, MOST_EPOCHS_A_CALL) if seconds < SECONDS_A_CALL / 2 else number


def _check_finite(loss: Float[np.ndarray, "model epoch"], done: int) -> None:
    """Raises TrainingError where a loss of the last call, which began after `done` epochs, is no number."""
    bad = ~np.isfinite(loss)
    if bad.any():
        model, epoch = np.argwhere(bad)[0]
        raise TrainingError(
            f"the loss of model {model} is {loss[model, epoch]} in epoch {done + epoch + 1}: smaller learning "
            "rates, a higher last temperature, or inputs and targets of moderate size may help"
        )
