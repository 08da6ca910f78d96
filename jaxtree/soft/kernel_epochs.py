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
    is_usual = config.optimizer == _USUAL.optimizer and config.decay in (cosine, constant)
    if not is_usual or any(own is not None for own in only_of_programs):
        return False
    if jnp.result_type(float) != np.float32 or jax.random.key_impl(key) != "threefry2x32":
        return False
    names = {_name_of_loss(model.form.num_outputs, own, config) for own in targets}
    return len(names) == 1 and None not in names


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
    training = _Training(progress, rows, validation, hyperparameters, config)
    first, stop, num_epochs, patience = (int(own[0]) for own in limits)
    key = np.asarray(jax.random.key_data(keys))[0]
    made = make_epochs(*training.arguments, (first, stop, num_epochs, patience), key=key, seconds=seconds)
    single = (np.asarray(own)[None] for own in (made.number, made.is_finite, made.goes_on))
    return Epochs(training.progress_of(made.state), *single, made.loss[None], made.held_loss[None])


def start_by_kernel(
    progress: Progress, validation: TrainingRows, hyperparameters: Hyperparameters, *, config: TrainingConfig
) -> Progress:
    """Makes the model to begin with the first candidate for the best, as `monitor_start` does."""
    training = _Training(progress, validation, validation, hyperparameters, config)
    return training.progress_of(loss_of_start(*training.arguments))


class _Training:
    """A training as the kernel takes it.

    Attributes:
        arguments: Its form, rows, validation rows, numbers and state.
    """

    def __init__(
        self,
        progress: Progress,
        rows: TrainingRows,
        validation: TrainingRows | None,
        hyperparameters: Hyperparameters,
        config: TrainingConfig,
    ):
        tree = instance_of(SoftTree, progress.model)
        adam, *self._others = progress.steps
        parts = progress.model, progress.average, adam.mu, adam.nu, progress.best
        self._progress, self._adam = progress, adam
        state = KernelState(
            np.stack([_flat(part) for part in parts]),
            *(own.item() for own in (adam.count, progress.number, progress.best_loss, progress.best_epoch)),
        )
        form = _form_of(tree, rows.target, config)
        held = None if validation is None else _rows_of(form, validation)
        self.arguments = form, _rows_of(form, rows), held, _numbers_of(hyperparameters), state

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
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(parts)])


def _form_of(tree: SoftTree, target: Any, config: TrainingConfig) -> KernelForm:
    form = tree.form
    return KernelForm(
        depth=form.depth,
        num_features=form.num_features,
        num_outputs=form.num_outputs,
        gate=form.gate,
        choice=form.choice,
        side=form.side,
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
    target = np.asarray(target)
    if form.loss == "squared":
        target = target.astype(np.float32, copy=False).reshape(-1, outputs)
    return KernelRows(np.asarray(rows.x), target, np.asarray(rows.weight), start, unit, int(rows.num_rows))


def _numbers_of(given: Hyperparameters) -> KernelNumbers:
    monitor = given.last_temperature if given.monitor_temperature is None else given.monitor_temperature
    rates = given.rates.gate, given.rates.leaf
    own = *rates, given.first_temperature, given.last_temperature, monitor, given.noise, given.averaging
    return KernelNumbers(
        *(0.0 if number is None else float(np.ravel(number)[0]) for number in (*own, given.leaf_penalty))
    )
