"""Training by gradients: whole epochs in one program, for one model or for many.

A *model* is a soft tree, a soft forest, or any pytree of parameters with a function that predicts. A program is
compiled for a `TrainingConfig`; the numbers of a training, `Hyperparameters`, are traced and may differ from model to
model.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from jaxtree.errors import DivergedFitWarning, InterruptedFitWarning, InvalidInputError, TrainingError, warn_user
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, TrainingRows
from jaxtree.soft.runs import Report, Run, Trained, Validation, keys_apart, train_runs

REMEDIES = "smaller learning rates, a higher last temperature, or inputs and targets of moderate size may help"


def train(
    model: PyTree,
    rows: TrainingRows,
    *,
    key: PRNGKeyArray,
    num_epochs: int,
    config: TrainingConfig = TrainingConfig(),
    hyperparameters: Hyperparameters = Hyperparameters(),
    validation: Validation | None = None,
    report: Report | None = None,
) -> Trained:
    """Trains a model.

    With validation rows the parameters after the epoch with the least loss on them are kept, computed at the last
    temperature; without any, those after the last epoch. An interrupt (Ctrl-C) keeps the best so far, with a warning;
    and so does a loss that is no longer finite: without validation rows, the best is then that of the least loss in
    training.

    Args:
        model: The parameters to begin with; or the `Progress` of an earlier training, to go on from its averages and
            its state of the optimiser.
        rows: The rows to train on.
        key: The key of the batches and the noise. The same one gives the same model.
        num_epochs: How often all rows are seen; temperature and rates follow the share of them that is done.
        config: The settings that the program is compiled for.
        hyperparameters: The numbers.
        validation: The rows on which checkpoints are compared.
        report: Called after every epoch with 1 and its losses in words.

    Raises:
        TrainingError: The loss has been infinite or not a number from the first epochs on.
    """
    trained = train_to_the_end(
        [Run(model, rows, key, num_epochs, hyperparameters, validation)], config=config, report=report
    )
    check_trained(trained)
    return trained[0]


def train_many(
    models: PyTree,
    rows: TrainingRows | Sequence[TrainingRows],
    *,
    keys: Key[Array, " model"],
    num_epochs: int | Sequence[int],
    config: TrainingConfig = TrainingConfig(),
    hyperparameters: Hyperparameters = Hyperparameters(),
    validation: Validation | Sequence[Validation | None] | None = None,
    report: Report | None = None,
) -> Trained:
    """Trains many models of one form with one program; each has the bits that `train` gives it.

    On a CPU every model has a thread, on as many as there are cores, where the kernel in C++ trains soft trees of
    classes and of squared errors; other devices train models on the same rows side by side. A model whose loss is no
    longer finite ends with its best until then, and a warning; the others go on.

    Args:
        models: As in `train`; every array has an axis of models in front, as `jax.vmap(init)` has it.
        rows: The rows that all train on; or those of every model, such as folds.
        keys: The keys, one a model.
        num_epochs: As in `train`; or that of every model.
        config: As in `train`.
        hyperparameters: The numbers. Arrays have a value for every model.
        validation: As in `train`; or that of every model. Every model keeps its own best, and ends by its own patience.
        report: As in `train`; it is called after every epoch of every model.

    Raises:
        InvalidInputError: There are more or fewer rows, numbers of epochs or validations than models.
        TrainingError: The loss of a model has been infinite or not a number from the first epoch on.

    Example: two folds of one table.
        >>> from jaxtree.soft import SoftForm, init, make_rows
        >>> x, y = np.eye(4), np.array([0, 1, 0, 1])
        >>> keys = jax.random.split(jax.random.key(0), 2)
        >>> trees = jax.vmap(lambda key: init(SoftForm(1, num_features=4, num_outputs=2), key=key))(keys)
        >>> folds = [make_rows(x[:2], y[:2]), make_rows(x[2:], y[2:])]
        >>> train_many(trees, folds, keys=keys, num_epochs=[5, 3]).loss.shape
        (2, 5)
    """
    floats = jax.dtypes.canonicalize_dtype(float)
    numbers = jax.tree.map(lambda number: np.broadcast_to(np.asarray(number, floats), keys.shape), hyperparameters)
    rows_of = _of_each("rows", rows, len(keys), is_one=isinstance(rows, TrainingRows))
    epochs_of = _of_each("num_epochs", num_epochs, len(keys), is_one=np.ndim(num_epochs) == 0)
    is_one = validation is None or isinstance(validation, Validation)
    held_of = _of_each("validation", validation, len(keys), is_one=is_one)
    models = jax.tree.map(np.asarray, models)
    runs = [
        Run(_taken(models, i), rows_of[i], key, int(epochs_of[i]), _taken(numbers, i), held_of[i])
        for i, key in enumerate(keys_apart(keys))
    ]
    trained = train_to_the_end(runs, config=config, report=report)
    check_trained(trained)
    return stacked(trained)


def train_to_the_end(runs: Sequence[Run], *, config: TrainingConfig, report: Report | None = None) -> list[Trained]:
    """Trains models that share what is compiled; an interrupt (Ctrl-C) is a warning, and keeps them as they are."""
    trained, is_interrupted = train_runs(runs, config=config.with_losses(), report=report)
    if is_interrupted:
        done, total = sum(one.loss.size for one in trained), sum(run.num_epochs for run in runs)
        text = f"interrupted: training has ended after {done} of {total} epochs"
        warn_user(text, InterruptedFitWarning)
    return trained


def check_trained(
    trained: Sequence[Trained], name: str = "model", *, needs_all: bool = True, functions: Sequence[str] = ()
) -> None:
    """Raises TrainingError if trainings have reached nothing finite, and warns of those that have diverged.

    Args:
        trained: The trainings.
        name: The noun for them in the messages.
        needs_all: Whether all must have reached something, or one is enough.
        functions: The user's own functions that they are computed by.
    """
    remedies = f"finite numbers from {' and '.join(functions)}, {REMEDIES}" if functions else REMEDIES
    is_lost = [not is_usable(one) for one in trained]
    raises = any(is_lost) if needs_all else all(is_lost)
    for number, (one, lost) in enumerate(zip(trained, is_lost, strict=True)):
        own = f"of {name} {number} " if len(trained) > 1 else ""
        found = f"the loss {own}is not finite in epoch {one.diverged_in}"
        if one.diverged_in == 0:
            found = f"the validation loss {own}is never finite"
        if lost and raises:
            raise TrainingError(f"{found}: {remedies}")
        if lost or one.diverged_in > 0:
            kept = "nothing of it is kept" if lost else f"its parameters after epoch {one.best_epoch} are kept"
            warn_user(f"{found}: it has ended, and {kept}; {remedies}", DivergedFitWarning)


def final_loss(trained: Trained) -> float:
    """Returns the loss by which trainings are compared: that of the parameters kept; infinite if nothing is."""
    if not is_usable(trained) or not trained.loss.size:
        return np.inf
    takes_best = trained.validation_loss is not None or trained.diverged_in > 0
    return float(trained.progress.best_loss if takes_best else trained.loss[-1])


def is_usable(trained: Trained) -> bool:
    """Returns whether a training has reached anything finite; one that was interrupted at its start stays there."""
    if trained.validation_loss is not None:
        return not trained.validation_loss.size or bool(np.isfinite(trained.progress.best_loss))
    return bool(trained.diverged_in == 0 or trained.best_epoch > 0)


def stacked(trained: Sequence[Trained]) -> Trained:
    """Returns trainings as one, with an axis of models; the losses of those that ended earlier are NaN afterwards."""
    most = max(one.loss.size for one in trained)

    def padded(loss: Any) -> Any:
        return np.pad(loss, (0, most - loss.size), constant_values=np.nan)

    long = [
        one._replace(
            loss=padded(one.loss),
            validation_loss=None if one.validation_loss is None else padded(one.validation_loss),
        )
        for one in trained
    ]
    return jax.tree.map(lambda *parts: np.stack(parts), *long)


def _of_each(name: str, given: Any, num_models: int, *, is_one: bool) -> Sequence[Any]:
    """The argument of every model, if there is one for all or one for each."""
    own = [given] * num_models if is_one else given
    if len(own) != num_models:
        raise InvalidInputError(f"{name} must be one, or one for each of {num_models} models, got {len(own)}")
    return own


def _taken(parts: PyTree, number: int) -> PyTree:
    return jax.tree.map(lambda part: part[number], parts)
