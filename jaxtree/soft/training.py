"""Training by gradients: whole epochs in one program, for one model or for many at once.

A *model* is a soft tree, a soft forest, or any pytree of parameters with a function that predicts. A `Method` is what
a program is compiled for; a `Course` holds the numbers of a training, which are traced and may differ from model to
model.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.programs import compiled
from jaxtree.soft.courses import Course, Method, Rows
from jaxtree.soft.epochs import MOST_EPOCHS_A_CALL, Progress, judge_start, run_epochs
from jaxtree.soft.regularisers import no_shares

SECONDS_A_CALL = 1.0
"""About how long one call of the program takes: how often progress is told, and an interrupt is heard."""


class Trained(NamedTuple):
    """What training has made.

    Attributes:
        model: The model; of `train_many` with an axis of models in front of every array.
        loss: The mean loss and penalties over the steps of every epoch.
        validation_loss: The loss on validation rows after every epoch, at the last temperature; None without any.
        best_epoch: The number of epochs after which the model stood as it is.
        progress: Where training ended, to go on from.
    """

    model: Any
    loss: Float[np.ndarray, "*model epoch"]
    validation_loss: Float[np.ndarray, "*model epoch"] | None
    best_epoch: Int[np.ndarray, "*model"]
    progress: Progress


def train(
    model: PyTree,
    rows: Rows,
    *,
    key: PRNGKeyArray,
    num_epochs: int,
    method: Method = Method(),
    course: Course = Course(),
    validation: Rows | None = None,
    patience: int | None = None,
    keeps_start: bool = False,
    start: Progress | None = None,
    report: Callable[[int], Any] | None = None,
) -> Trained:
    """Trains a model.

    With validation rows the parameters after the epoch with the least loss on them are kept, judged at the last
    temperature; without any, those after the last epoch. An interrupt (Ctrl-C) keeps the best so far, with a warning.

    Args:
        model: The parameters to begin with.
        rows: What to train on.
        key: The key of the batches and the noise. The same one gives the same model.
        num_epochs: How often all rows are seen; temperature and rates follow the share of them that is done.
        method: What is compiled.
        course: The numbers.
        validation: Rows to judge by.
        patience: After how many epochs without a better validation loss training ends; None is never.
        keeps_start: Whether the model as it is given is a candidate, too, so that fine-tuning never makes a good one
            worse on validation rows; the best epoch is then 0.
        start: Where an earlier training of the model ended: its averages and the state of the optimiser.
        report: What is called with the number of further epochs.

    Raises:
        TrainingError: The loss has become infinite or not a number.
    """
    one = train_many(
        jax.tree.map(lambda leaf: leaf[None], model),
        rows,
        keys=key[None],
        num_epochs=num_epochs,
        method=method,
        course=course,
        validation=validation,
        patience=patience,
        keeps_start=keeps_start,
        start=None if start is None else jax.tree.map(lambda leaf: leaf[None], start),
        report=report,
    )
    return jax.tree.map(lambda leaf: leaf[0], one)


def train_many(
    models: PyTree,
    rows: Rows,
    *,
    keys: Key[Array, " model"],
    num_epochs: int,
    method: Method = Method(),
    course: Course = Course(),
    validation: Rows | None = None,
    patience: int | None = None,
    keeps_start: bool = False,
    start: Progress | None = None,
    report: Callable[[int], Any] | None = None,
) -> Trained:
    """Trains many models of one form as one program.

    Args:
        models: The parameters to begin with; every array has an axis of models in front, as `jax.vmap(init)` has it.
        rows: What all train on.
        keys: The keys, one a model.
        num_epochs: As in `train`.
        method: As in `train`.
        course: The numbers. Those that are arrays have a value for every model.
        validation: As in `train`; every model keeps its own best.
        patience: Training ends when every model's patience has.
        keeps_start: As in `train`.
        start: As in `train`, with an axis of models.
        report: As in `train`.

    Raises:
        TrainingError: The loss of a model has become infinite or not a number.
    """
    if num_epochs < 1:
        raise InvalidInputError(f"num_epochs must be at least 1, got {num_epochs}")
    floats = jnp.result_type(float)
    courses = jax.tree.map(lambda number: np.broadcast_to(np.asarray(number, floats), keys.shape), course)
    has_shares = course.penalties.balance is not None
    progress = _begin(models, method=method, has_shares=has_shares) if start is None else _go_on(start)
    if keeps_start and validation is not None:
        progress = judge_start(progress, validation, courses, method=method)
    told: list[_Told] = []
    done, at_once = 0, 1
    try:
        while done < num_epochs and not _is_over(told, progress, patience, done):
            began = time.perf_counter()
            stop = min(done + at_once, num_epochs)
            limits = np.array([done, stop, num_epochs, num_epochs if patience is None else patience], np.int32)
            progress, losses = jax.block_until_ready(
                run_epochs(progress, rows, validation, courses, keys, limits, method=method)
            )
            told.append(_Told(*(np.asarray(part)[:, : stop - done] for part in losses)))
            _check_finite(told, done)
            number, done = stop - done, stop
            at_once = _next_number(at_once, time.perf_counter() - began)
            if report is not None:
                report(number)
    except KeyboardInterrupt:
        text = f"interrupted: training has ended after {done} of {num_epochs} epochs"
        warnings.warn(text, InterruptedFitWarning, stacklevel=2)
    return _ended(progress, told, done, validation is not None)


class _Told(NamedTuple):
    """The losses of the epochs of one call."""

    loss: Float[np.ndarray, "model epoch"]
    validation_loss: Float[np.ndarray, "model epoch"]


@compiled("method", "has_shares")
def _begin(models: PyTree, *, method: Method, has_shares: bool) -> Progress:
    """The state before the first step."""
    models = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), models)
    num_models = jax.tree.leaves(models)[0].shape[0]
    steps = jax.vmap(method.optimizer.init)(models)
    shares = jax.vmap(no_shares)(models) if has_shares else None
    never = jnp.full(num_models, jnp.inf)
    zero = jnp.zeros(num_models, jnp.int32)
    return Progress(models, models, steps, shares, zero, models, never, zero)


def _go_on(progress: Progress) -> Progress:
    """The state before the first further step: nothing has been judged yet."""
    never, zero = jnp.full_like(progress.best_loss, jnp.inf), jnp.zeros_like(progress.best_epoch)
    return progress._replace(best=progress.average, best_loss=never, best_epoch=zero)


def _next_number(number: int, seconds: float) -> int:
    """How many epochs the next call makes, when the last has made `number` in so many seconds."""
    if seconds > SECONDS_A_CALL:
        return max(1, number // 2)
    return min(2 * number, MOST_EPOCHS_A_CALL) if seconds < SECONDS_A_CALL / 2 else number


def _is_over(told: list[_Told], progress: Progress, patience: int | None, done: int) -> bool:
    """Whether no model can get better any more."""
    return patience is not None and bool(told) and bool(np.all(done - np.asarray(progress.best_epoch) > patience))


def _check_finite(told: list[_Told], done: int) -> None:
    """Raises TrainingError where a loss of the last call, which began after `done` epochs, is no number."""
    bad = ~np.isfinite(told[-1].loss)
    if bad.any():
        model, epoch = np.argwhere(bad)[0]
        raise TrainingError(
            f"the loss of model {model} is {told[-1].loss[model, epoch]} in epoch {done + epoch + 1}: smaller learning "
            "rates, a higher last temperature, or inputs and targets of moderate size may help"
        )


def _ended(progress: Progress, told: list[_Told], done: int, has_validation: bool) -> Trained:
    """What training has made when it ends, by itself or by an interrupt."""
    nothing = np.zeros((len(progress.best_loss), 0), np.float32)
    loss, validation_loss = (np.concatenate(parts, axis=1) for parts in zip((nothing, nothing), *told, strict=True))
    if not has_validation:
        return Trained(progress.average, loss, None, np.full(len(loss), done), progress)
    return Trained(progress.best, loss, validation_loss, np.asarray(progress.best_epoch), progress)
