"""Epochs of soft trees by the kernel in C++: the same steps as those of the program in `jaxtree.soft.epochs`.

The kernel trains one tree with Adam, for classes or for squared errors; forests, other losses and other optimisers are
trained by the program. Which of the two it is follows from the form of a training alone, so that it is never another
for one of many. Both draw the same batches and noise; their sums and exponentials differ in the last bits.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float32, Int, Key, PRNGKeyArray, PyTree

from jaxtree.errors import instance_of
from jaxtree.kernels import library
from jaxtree.kernels.soft_training import (
    KernelForm,
    KernelNumbers,
    KernelRows,
    KernelState,
    loss_of_start,
    make_epochs,
)
from jaxtree.losses.numbers import squared
from jaxtree.soft.epochs import (
    Ends,
    Epochs,
    Hyperparameters,
    Progress,
    TrainingConfig,
    TrainingRows,
)
from jaxtree.soft.form import AUTO, SoftForm
from jaxtree.soft.functions import name_of
from jaxtree.soft.losses import cross_entropy, cross_entropy_of_shares, distillation, zero_one
from jaxtree.soft.model import SoftTree, apply, log_mixture
from jaxtree.soft.rates import constant, cosine
from jaxtree.soft.scores import ScoredTarget

MOST_EPOCHS_BY_KERNEL = 2**16
"""Epochs whose losses a call of the kernel returns at most."""

_OF_SHARES = cross_entropy_of_shares, distillation
_USUAL = TrainingConfig()


def is_for_kernel(
    model: PyTree, targets: Sequence[Any], hyperparameters: Hyperparameters, key: PRNGKeyArray, config: TrainingConfig
) -> bool:
    """Returns whether the kernel trains on a CPU.

    Args:
        model: The parameters to begin with.
        targets: The targets of the rows to train on, and of those to compare checkpoints on.
        hyperparameters: The numbers.
        key: The key of the batches and the noise.
        config: The settings.
    """
    if library.load() is None or not isinstance(model, SoftTree) or model.leaf.stop is not None:
        return False
    only_of_programs = hyperparameters.target_noise, hyperparameters.drop_rate, hyperparameters.subsample
    is_usual = config.optimizer == _USUAL.optimizer and config.decay in (cosine, constant) and _has_names(model.form)
    schedules = config.temperature, config.noise
    if not is_usual or any(own is not None for own in (*only_of_programs, *schedules)):
        return False
    if jnp.result_type(float) != np.float32 or jax.random.key_impl(key) != "threefry2x32":
        return False
    names = {_name_of_loss(model.form.num_outputs, own, config) for own in targets}
    return len(names) == 1 and None not in names


def _has_names(form: SoftForm) -> bool:
    """Whether all functions of gates are those that the kernel knows."""
    if form.gate == "hard":
        return isinstance(form.choice, str) and isinstance(form.side, str)
    return (form.gate, form.choice, form.side) in (("oblique", AUTO, "sigmoid"), ("axis", "softmax", "sigmoid"))


def _name_of_loss(num_outputs: int, target: Any, config: TrainingConfig) -> str | None:
    """The name by which the kernel knows the loss of outputs and targets; None if it does not."""
    if config.predict is apply and config.loss == squared(num_outputs) and config.monitor is None:
        has_others = isinstance(target, ScoredTarget) and target.extras
        values = target.target if isinstance(target, ScoredTarget) else target
        return None if has_others or np.size(values) != len(values) * num_outputs else "squared"
    if config.predict not in (apply, log_mixture) or config.monitor not in (None, zero_one):
        return None
    if isinstance(target, ScoredTarget):
        return None
    if config.loss is cross_entropy and target.ndim == 1:
        return "cross entropy"
    return "shares" if config.loss in _OF_SHARES and target.shape[1:] == (num_outputs,) else None


def epochs_by_kernel(
    progress: Progress,
    rows: TrainingRows,
    validation: TrainingRows | None,
    hyperparameters: Hyperparameters,
    keys: Key[Array, "1"],
    limits: Ends,
    *,
    config: TrainingConfig,
    seconds: float,
) -> Epochs:
    """Makes epochs of one model as `run_epochs` does, whose arguments it has; it begins none after some seconds."""
    own = _Training(progress, rows, validation, hyperparameters, config)
    first, stop, num_epochs, patience = (int(limit[0]) for limit in limits)
    key = np.asarray(jax.random.key_data(keys))[0]
    made = make_epochs(
        own.form, own.rows, own.held, own.numbers, own.state, (first, stop, num_epochs, patience),
        key=key, seconds=seconds,
    )  # fmt: skip
    number, is_finite, goes_on = (np.asarray(part)[None] for part in (made.number, made.is_finite, made.goes_on))
    return Epochs(own.progress_of(made.state), number, is_finite, goes_on, made.loss[None], made.held_loss[None])


def begin_for_kernel(models: PyTree) -> Progress:
    """Returns the state of models, with an axis of them in front, before their first step: without a program for it."""
    models = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), models)
    number = len(jax.tree.leaves(models)[0])
    zero, zeros = np.zeros(number, np.int32), jax.tree.map(np.zeros_like, models)
    steps = optax.ScaleByAdamState(zero, zeros, zeros), optax.EmptyState()
    return Progress(models, models, steps, zero, models, np.full(number, np.inf, np.float32), zero)


def start_by_kernel(
    progress: Progress, validation: TrainingRows, hyperparameters: Hyperparameters, *, config: TrainingConfig
) -> Progress:
    """Makes the model to begin with the first candidate for the best, as `monitor_start` does."""
    own = _Training(progress, validation, None, hyperparameters, config)
    return own.progress_of(loss_of_start(own.form, own.rows, own.numbers, own.state))


class _Training:
    """A training as the kernel takes it.

    Attributes:
        form: The model and its loss.
        rows: The rows to train on.
        held: The rows to compare checkpoints on.
        numbers: The numbers.
        state: The state before.

    Raises:
        InvalidInputError: The rows have other columns than the tree.
    """

    def __init__(
        self,
        progress: Progress,
        rows: TrainingRows,
        validation: TrainingRows | None,
        hyperparameters: Hyperparameters,
        config: TrainingConfig,
    ):
        self._adam, *self._others = progress.steps
        parts = progress.model, progress.average, self._adam.mu, self._adam.nu, progress.best
        counts = self._adam.count, progress.number, progress.best_loss, progress.best_epoch
        self._progress = progress
        tree = instance_of(SoftTree, progress.model)
        for own in (rows, validation):
            if own is not None:
                tree.form.check_rows("x", own.x)
        self.form = _form_of(tree, rows.target, config)
        self.rows = _rows_of(self.form, rows)
        self.held = None if validation is None else _rows_of(self.form, validation)
        self.numbers = _numbers_of(hyperparameters)
        self.state = KernelState(np.stack([_flat(part) for part in parts]), *(own.item() for own in counts))

    def progress_of(self, state: KernelState) -> Progress:
        """Returns a state of the kernel as that of the training."""
        leaves, structure = jax.tree.flatten(self._progress.model)
        places = np.cumsum([leaf.size for leaf in leaves])[:-1]

        def whole(flat: Float32[np.ndarray, " parameter"]) -> Any:
            parts = zip(np.split(flat, places), leaves, strict=True)
            return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in parts])

        model, average, mean, square, best = map(whole, state.parameters)
        steps = self._adam._replace(count=_one(state.num_updates, np.int32), mu=mean, nu=square), *self._others
        return Progress(
            model, average, steps, _one(state.num_steps, np.int32), best,
            _one(state.best_loss, np.float32), _one(state.best_epoch, np.int32),
        )  # fmt: skip


def _one(number: float | int, dtype: Any) -> Int[np.ndarray, "1"] | Float32[np.ndarray, "1"]:
    return np.array([number], dtype)


def _flat(parts: PyTree) -> Float32[np.ndarray, " parameter"]:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(parts)], dtype=np.float32)


def _form_of(tree: SoftTree, target: Any, config: TrainingConfig) -> KernelForm:
    form = tree.form
    return KernelForm(
        depth=form.depth,
        num_features=form.num_features,
        num_outputs=form.num_outputs,
        gate=name_of(form.gate),
        choice="softmax" if form.choice == AUTO else name_of(form.choice),
        side=name_of(form.side),
        is_oblivious=form.oblivious,
        is_mixture=config.predict is log_mixture,
        loss=_name_of_loss(form.num_outputs, target, config) or "",
        compares_errors=config.monitor is zero_one,
        is_constant=config.decay is constant,
        batch_size=config.batch_size,
        missing=form.missing,
    )


def _rows_of(form: KernelForm, rows: TrainingRows) -> KernelRows:
    outputs, target = form.num_outputs, rows.target
    start, unit = np.zeros(outputs, np.float32), np.ones(outputs, np.float32)
    if isinstance(target, ScoredTarget):
        start, unit = (np.array(np.broadcast_to(own, outputs), np.float32) for own in (target.start, target.unit))
        target = target.target
    target = np.asarray(target, np.int32 if form.loss == "cross entropy" else np.float32)
    target = target.reshape(-1, outputs) if form.loss == "squared" else target
    x, weight = (np.asarray(own, np.float32) for own in (rows.x, rows.weight))
    return KernelRows(x, target, weight, start, unit, int(rows.num_rows))


def _numbers_of(given: Hyperparameters) -> KernelNumbers:
    monitor = given.last_temperature if given.monitor_temperature is None else given.monitor_temperature
    rates = given.rates.gate, given.rates.leaf
    own = *rates, given.first_temperature, given.last_temperature, monitor, given.noise, given.averaging
    return KernelNumbers(
        *(0.0 if number is None else float(np.ravel(number)[0]) for number in (*own, given.leaf_penalty))
    )
