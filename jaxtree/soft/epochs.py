"""The program of training: some epochs, for many models side by side."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree, Shaped

from jaxtree.arrays import FloatLike, IntLike
from jaxtree.programs import compiled
from jaxtree.soft.courses import Course, Method, Rates, Rows
from jaxtree.soft.model import SoftTree
from jaxtree.soft.regularisers import Shares, penalty

MOST_EPOCHS_A_CALL = 64
NUMBERS_IN_CACHE = 2**18
"""Of one array: rows of a step times ends of the trees that are trained side by side on a CPU."""
ROWS_A_BLOCK = 8192
"""Rows that are judged at once: a power of two."""


class Progress(NamedTuple):
    """Where a training stands.

    Attributes:
        model: The parameters that are stepped.
        average: Their running average.
        steps: The state of the optimiser.
        shares: Running shares of the gates, for the balance penalty.
        number: How many steps have been made.
        best: The average with the least loss on validation rows so far.
        best_loss: That loss.
        best_epoch: The epoch after which it stood.
    """

    model: Any
    average: Any
    steps: Any
    shares: Shares | None
    number: Int[Array, "*model"]
    best: Any
    best_loss: Float[Array, ""]
    best_epoch: Int[Array, ""]


def _in_words(progress: Progress, rows: Rows, *_: object, **__: object) -> str:
    """What a program of epochs does."""
    num_models, (num_rows, num_features) = progress.number.size, rows.x.shape
    return f"training of {num_models} soft models on {num_rows:,} rows x {num_features:,} columns"


@compiled("method", what=_in_words)
def run_epochs(
    progress: Progress,
    rows: Rows,
    validation: Rows | None,
    courses: Course,
    keys: Key[Array, " model"],
    limits: Int[Array, " limit"],
    *,
    method: Method,
) -> tuple[Progress, tuple[Float[Array, "model epoch"], Float[Array, "model epoch"]]]:
    """Trains all models for some epochs.

    Args:
        progress: Where they stand; all arrays have an axis of models, as those of `courses` and `keys`.
        rows: What they train on.
        validation: What they are judged by.
        courses: The numbers of each.
        keys: The key of each.
        limits: The first epoch, the one after the last, the number of all epochs, and the patience.
        method: What is compiled.
    """
    run = partial(_run_one, rows, validation, limits=limits, method=method)
    width = models_at_once(progress.model, method.batch_size, jax.default_backend())
    if width == 1:
        return jax.lax.map(lambda one: run(*one), (progress, courses, keys))
    return jax.lax.map(lambda one: run(*one), (progress, courses, keys), batch_size=width)


@compiled("method")
def judge_start(progress: Progress, validation: Rows, courses: Course, *, method: Method) -> Progress:
    """Makes the models to begin with the first candidates for the best."""
    judged = jax.lax.map(lambda one: _judge(one[0].average, validation, one[1], method), (progress, courses))
    return progress._replace(best_loss=judged)


def models_at_once(models: PyTree, batch_size: int, backend: str) -> int:
    """How many models take a step side by side; the others of the program follow one after another.

    A CPU is fastest where what a step works on fits its cache: small trees go side by side, large ones do not. Other
    devices take all at once.
    """
    number = jax.tree.leaves(models)[0].shape[0]
    trees = getattr(models, "trees", models)
    if backend != "cpu" or not isinstance(trees, SoftTree):
        return number
    num_ends = math.prod(trees.leaf.value.shape[1:-1])
    return max(1, min(number, NUMBERS_IN_CACHE // (batch_size * num_ends)))


def _run_one(
    rows: Rows,
    validation: Rows | None,
    progress: Progress,
    course: Course,
    key: PRNGKeyArray,
    *,
    limits: Int[Array, " limit"],
    method: Method,
) -> tuple[Progress, tuple[Float[Array, " epoch"], Float[Array, " epoch"]]]:
    first, stop, num_epochs, patience = limits

    def one_epoch(epoch, carry):
        progress, losses, validation_losses = carry
        progress, loss = _epoch(progress, rows, course, jax.random.fold_in(key, epoch), epoch, num_epochs, method)
        if validation is not None:
            judged = _judge(progress.average, validation, course, method)
            progress = _keep_best(progress, judged, epoch, patience)
            validation_losses = validation_losses.at[epoch - first].set(judged)
        return progress, losses.at[epoch - first].set(loss), validation_losses

    nothing = jnp.zeros(MOST_EPOCHS_A_CALL)
    progress, *losses = jax.lax.fori_loop(first, stop, one_epoch, (progress, nothing, nothing))
    return progress, (losses[0], losses[1])


def _judge(model: PyTree, validation: Rows, course: Course, method: Method) -> Float[Array, ""]:
    """How bad a checkpoint is."""
    temperature = course.last_temperature if course.judging_temperature is None else course.judging_temperature
    judge = method.loss if method.judge is None else method.judge
    return mean_loss(model, validation, temperature, method._replace(loss=judge))


def _keep_best(progress: Progress, loss: Float[Array, ""], epoch: IntLike, patience: IntLike) -> Progress:
    """Takes the average as the best so far, if it is and if the patience had not ended before."""
    is_better = (loss < progress.best_loss) & (epoch - progress.best_epoch <= patience)
    best = jax.tree.map(lambda new, old: jnp.where(is_better, new, old), progress.average, progress.best)
    return progress._replace(
        best=best,
        best_loss=jnp.where(is_better, loss, progress.best_loss),
        best_epoch=jnp.where(is_better, epoch + 1, progress.best_epoch).astype(jnp.int32),
    )


def _epoch(
    progress: Progress,
    rows: Rows,
    course: Course,
    key: PRNGKeyArray,
    epoch: IntLike,
    num_epochs: IntLike,
    method: Method,
) -> tuple[Progress, Float[Array, ""]]:
    """Sees all rows once, in batches of nearly equal size; returns the mean loss of the steps too."""
    order_key, noise_key = jax.random.split(key)
    num_batches = -(-rows.num_rows // method.batch_size)
    batch_rows = -(-rows.num_rows // num_batches)
    place = jnp.arange(rows.x.shape[0])
    order = jnp.argsort(jnp.where(place < rows.num_rows, jax.random.uniform(order_key, place.shape), 2.0))
    lane = jnp.arange(method.batch_size)
    mean_weight = rows.weight.sum() / num_batches

    def one_step(number, carry):
        progress, total = carry
        at = number * batch_rows + lane
        is_there = (lane < batch_rows) & (at < rows.num_rows)
        chosen = order[jnp.minimum(at, rows.num_rows - 1)]
        x = rows.x[chosen]
        if course.noise is not None:
            x += course.noise * jax.random.normal(jax.random.fold_in(noise_key, number), x.shape, x.dtype)
        share = jnp.where(is_there, rows.weight[chosen], 0) / mean_weight
        done = (epoch * num_batches + number) / (num_epochs * num_batches)
        progress, loss = _step(progress, x, rows.target[chosen], share, course, done, method)
        return progress, total + loss

    progress, total = jax.lax.fori_loop(0, num_batches, one_step, (progress, jnp.zeros(())))
    return progress, total / num_batches


def _step(
    progress: Progress,
    x: Float[Array, "row feature"],
    target: Shaped[Array, "row *output"],
    share: Float[Array, " row"],
    course: Course,
    done: Float[Array, ""],
    method: Method,
) -> tuple[Progress, Float[Array, ""]]:
    """One step of the optimiser."""
    temperature = method.annealing(course.first_temperature, course.last_temperature, done)

    def objective(model):
        output = method.predict(model, x, temperature=temperature)
        loss = jnp.sum(share * method.loss(output, target))
        extra, shares = penalty(model, x, share, temperature, course.penalties, progress.shares)
        return loss + extra, shares

    (loss, shares), slope = jax.value_and_grad(objective, has_aux=True)(progress.model)
    change, steps = method.optimizer.update(slope, progress.steps, progress.model)
    factor = method.decay(done)
    rates = rates_of_parts(progress.model, course.rates)
    model = jax.tree.map(lambda old, rate, new: old + factor * rate * new, progress.model, rates, change)
    kept = jnp.minimum(course.averaging, (1 + progress.number) / (10 + progress.number))
    average = jax.tree.map(lambda old, new: kept * old + (1 - kept) * new, progress.average, model)
    number = progress.number + 1
    return progress._replace(model=model, average=average, steps=steps, shares=shares, number=number), loss


def rates_of_parts(model: PyTree, rates: Rates) -> PyTree:
    """The learning rate of every array: that of the first part of its path that is a name of `Rates`, or `other`.

    What a `FixedStop` holds stays as it is.
    """

    def rate_of(path: tuple, _: Any) -> FloatLike:
        names = [getattr(step, "name", getattr(step, "key", None)) for step in path]
        if names[-2:] == ["stop", "rate"]:
            return 0.0
        return next((getattr(rates, name) for name in names if name in Rates._fields), rates.other)

    return jax.tree_util.tree_map_with_path(rate_of, model)


def mean_loss(model: PyTree, rows: Rows, temperature: FloatLike, method: Method) -> Float[Array, ""]:
    """The weighted mean loss of a model on rows, without penalties; computed block by block."""

    def of_block(at):
        x, target, weight = (jax.lax.dynamic_slice_in_dim(part, at, block) for part in rows[:3])
        return jnp.sum(weight * method.loss(method.predict(model, x, temperature=temperature), target))

    block = math.gcd(rows.x.shape[0], ROWS_A_BLOCK)
    return jnp.sum(jax.lax.map(of_block, jnp.arange(0, rows.x.shape[0], block))) / rows.weight.sum()
