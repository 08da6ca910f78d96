"""Runs: trainings of one program, each with rows, numbers and an end of its own.

On a CPU each is trained by itself, in a thread, so that it has the bits of its lone run by construction: soft trees of
classes and of squared errors by the kernel in C++, see `jaxtree.soft.kernel_epochs`, all others by a program that runs
of one form share. Other devices train runs on the same rows side by side, in blocks of one width that a lone run fills
with copies.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from jaxtree.blocks import Threads
from jaxtree.compilation import compiled
from jaxtree.cores import num_cores, with_share_of_cores
from jaxtree.devices import current_platform, in_callers_context
from jaxtree.errors import InvalidInputError
from jaxtree.soft.epochs import (
    MOST_EPOCHS_A_CALL,
    Ends,
    Epochs,
    Hyperparameters,
    Progress,
    TrainingConfig,
    TrainingRows,
    monitor_start,
    run_epochs,
)
from jaxtree.soft.kernel_epochs import (
    MOST_EPOCHS_BY_KERNEL,
    begin_for_kernel,
    epochs_by_kernel,
    is_for_kernel,
    start_by_kernel,
)
from jaxtree.soft.model import SoftTree
from jaxtree.soft.words import indented, losses_in_words

NAMES_OF_LOSSES = ("loss", "validation loss")

SECONDS_A_CALL = 1.0
"""About how long one call of the program takes: how often progress is reported, and an interrupt is noticed."""

MOST_SIDE_BY_SIDE = 64
NUMBERS_SIDE_BY_SIDE = 2**20
"""The most numbers of one array: rows of a step times ends of the trees that an accelerator trains side by side."""
ROWS_SIDE_BY_SIDE = 2**20
"""Whose order an accelerator draws for all models of a step."""

Report = Callable[[int, str], Any]
"""Is called after every epoch with 1 and its losses in words."""


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


class Run(NamedTuple):
    """One training.

    Attributes:
        model: The parameters to begin with, or the `Progress` of an earlier training, to go on from.
        rows: The rows to train on.
        key: The key of the batches and the noise.
        num_epochs: How often all rows are seen.
        hyperparameters: The numbers.
        validation: The rows on which checkpoints are compared.
    """

    model: PyTree
    rows: TrainingRows
    key: PRNGKeyArray
    num_epochs: int
    hyperparameters: Hyperparameters = Hyperparameters()
    validation: Validation | None = None


class Trained(NamedTuple):
    """The result of a training.

    Attributes:
        model: The model; of `train_many` with an axis of models in front of every array.
        loss: The mean loss over the steps of every epoch; of `train_many` NaN after a model's own end.
        validation_loss: The loss on validation rows after every epoch; None without any.
        best_epoch: The number of epochs after which the model stood as it is.
        diverged_in: The epoch in which a loss or a parameter was no longer finite, which is left out of all the others;
            0 if they always were.
        progress: The state at the end, to go on from.
    """

    model: Any
    loss: Float[np.ndarray, "*model epoch"]
    validation_loss: Float[np.ndarray, "*model epoch"] | None
    best_epoch: Int[np.ndarray, "*model"]
    diverged_in: Int[np.ndarray, "*model"]
    progress: Progress

    def __repr__(self) -> str:
        """Describes the training in some lines: its epochs, its losses, and the model."""
        lines = [f"Trained: {np.shape(self.loss)[-1]} epochs, the model as it stood after {self.best_epoch}"]
        lines += [losses_in_words("loss", self.loss)]
        if self.validation_loss is not None:
            lines += [losses_in_words("validation loss", self.validation_loss)]
        if np.any(self.diverged_in):
            lines += [f"diverged in epoch {self.diverged_in}"]
        return indented([*lines, repr(self.model)])


class _Block(NamedTuple):
    """Runs that are trained side by side, or one that the kernel in C++ trains."""

    numbers: list[int]
    runs: list[Run]
    width: int
    form: Hashable
    is_for_kernel: bool


def train_runs(
    runs: Sequence[Run], *, config: TrainingConfig, report: Report | None = None
) -> tuple[list[Trained], bool]:
    """Trains models that share what is compiled, and returns each as a lone run would, and whether it was interrupted.

    After an interrupt (Ctrl-C) every run is as it stood; those that had not begun are at their start, with no epoch.

    Args:
        runs: The trainings.
        config: The settings that the program is compiled for.
        report: Called after every epoch of a run.

    Raises:
        InvalidInputError: A number of epochs is below 1.
    """
    for run in runs:
        if run.num_epochs < 1:
            raise InvalidInputError(f"num_epochs must be at least 1, got {run.num_epochs}")
    session = _Session(config, report)
    blocks = _blocks(runs, config)
    num_threads = min(len(blocks), num_cores()) if current_platform() == "cpu" else 1
    if num_threads == 1:
        parts = [session.train(block) for block in blocks]
    else:
        parts = session.train_in_threads(blocks, num_threads)
    found: dict[int, Trained] = {}
    for block, part in zip(blocks, parts, strict=True):
        found.update(zip(block.numbers, part, strict=True))
    return [found[number] for number in range(len(runs))], session.is_interrupted


class _Session:
    """The trainings of one call: who reports, who compiles, and whether they are to end."""

    def __init__(self, config: TrainingConfig, report: Report | None):
        self.is_interrupted = False
        self._config = config
        self._report = report
        self._lock = threading.Lock()
        self._first_calls: dict[Hashable, threading.Lock] = {}
        self._compiled: set[Hashable] = set()

    def train_in_threads(self, blocks: Sequence[_Block], num_threads: int) -> list[list[Trained]]:
        """Trains blocks, as many at a time as there are threads."""
        with Threads(num_threads) as pool:
            work = with_share_of_cores(in_callers_context(self.train), num_threads)
            futures = [pool.submit(work, block) for block in blocks]
            try:
                for future in futures:
                    future.result()
            except BaseException as error:
                # Threads end after their calls; the rest then takes no time.
                self.is_interrupted = True
                if not isinstance(error, KeyboardInterrupt):
                    raise
            return [future.result() for future in futures]

    def train(self, block: _Block) -> list[Trained]:
        """Trains the models of a block."""
        runs = block.runs + [block.runs[-1]] * (block.width - len(block.runs))
        members, num_epochs = _Members(runs, self._config, is_for_kernel=block.is_for_kernel), 1
        try:
            while members.goes_on.any() and not self.is_interrupted:
                began = time.perf_counter()
                members.take(self._make_epochs(block, members, num_epochs))
                num_epochs = _next_number(num_epochs, time.perf_counter() - began)
                self._tell([losses[-1] for losses in members.losses[: len(block.runs)]])
        except KeyboardInterrupt:
            self.is_interrupted = True
        return members.trained()[: len(block.runs)]

    def _make_epochs(self, block: _Block, members: "_Members", num_epochs: int) -> Epochs:
        """Makes some epochs by a program, or as many as the kernel makes in that time."""
        first = block.runs[0]
        held = None if first.validation is None else first.validation.rows
        models = members.progress, first.rows, held, members.numbers, members.keys
        if block.is_for_kernel:
            ends = members.ends(MOST_EPOCHS_BY_KERNEL)
            return epochs_by_kernel(*models, ends, config=self._config, seconds=SECONDS_A_CALL)
        with self._compiling_once(block.form):
            made = run_epochs(*models, members.ends(num_epochs), config=self._config)
            return jax.block_until_ready(made)

    @contextlib.contextmanager
    def _compiling_once(self, form: Hashable) -> Iterator[None]:
        """Lets one thread alone make the first call of a program, which compiles it."""
        with self._lock:
            own = self._first_calls.setdefault(form, threading.Lock())
        with contextlib.nullcontext() if form in self._compiled else own:
            yield
            self._compiled.add(form)

    def _tell(self, losses: Sequence[Float[np.ndarray, "kind _epoch"]]) -> None:
        if self._report is None:
            return
        with self._lock:
            for own in losses:
                for epoch in own.T.tolist():
                    words = (f"{name} {x:z.5g}" for name, x in zip(NAMES_OF_LOSSES, epoch, strict=False))
                    self._report(1, ", ".join(words))


class _Members:
    """The models of a block between calls of the program.

    Args:
        runs: Their runs, which have rows in common.
        config: The settings that the program is compiled for.

    Attributes:
        numbers: The numbers of each.
        keys: The key of each.
        progress: The state of each.
        losses: The losses of every call, of each.
        goes_on: Which are to be trained further.
    """

    def __init__(self, runs: Sequence[Run], config: TrainingConfig, *, is_for_kernel: bool):
        self.numbers = _stacked([_numbers_of(run) for run in runs])
        self.keys = _keys_together([run.key for run in runs])
        self.progress, held = _start(runs, is_for_kernel=is_for_kernel, config=config), runs[0].validation
        if held is not None and held.keeps_start:
            compare = start_by_kernel if is_for_kernel else monitor_start
            self.progress = compare(self.progress, held.rows, self.numbers, config=config)
        most = np.array([run.num_epochs for run in runs], np.int32)
        patience = [None if run.validation is None else run.validation.patience for run in runs]
        whole = [last if own is None else own for own, last in zip(patience, most, strict=True)]
        self._ends = Ends(np.zeros_like(most), most, most, np.array(whole, np.int32))
        self._kinds_of_losses, self._diverged_in = 1 if held is None else 2, np.zeros_like(most)
        self.losses: list[list[Float[np.ndarray, "kind _epoch"]]] = [[] for _ in runs]
        self.goes_on = np.ones(len(runs), bool)

    def ends(self, num_epochs: int) -> Ends:
        """Returns where the next call of the program ends, which makes up to some number of epochs."""
        done = self._ends.first
        stop = np.where(self.goes_on, np.minimum(done + num_epochs, self._ends.num_epochs), done)
        return self._ends._replace(stop=stop)

    def take(self, made: Epochs) -> None:
        """Takes the results of a call; the epoch in which a model has diverged is left out."""
        self.progress, is_finite, number = made.progress, np.asarray(made.is_finite), np.asarray(made.number)
        done = self._ends.first
        self._diverged_in = np.where(~is_finite, done + number, self._diverged_in)
        number = number - ~is_finite
        latest = [np.asarray(made.loss), np.asarray(made.validation_loss)][: self._kinds_of_losses]
        for own_losses, count, *parts in zip(self.losses, number, *latest, strict=True):
            own_losses.append(np.stack([part[:count] for part in parts]))
        self._ends, self.goes_on = self._ends._replace(first=done + number), self.goes_on & np.asarray(made.goes_on)

    def trained(self) -> list[Trained]:
        """Returns the trainings as they stand."""
        state, has_held = jax.tree.map(np.asarray, self.progress), self._kinds_of_losses > 1
        each = enumerate(zip(self.losses, self._diverged_in.tolist(), strict=True))
        return [
            _trained(jax.tree.map(lambda part, at=at: part[at], state), losses, diverged_in, has_held=has_held)
            for at, (losses, diverged_in) in each
        ]


def _blocks(runs: Sequence[Run], config: TrainingConfig) -> list[_Block]:
    """Divides runs into those that are trained side by side: of one form, and on the same rows."""
    platform = current_platform()
    groups: dict[Hashable, list[list[int]]] = {}
    for number, run in enumerate(runs):
        of_form = groups.setdefault(_form_of(run), [])
        alike = [group for group in of_form if _have_same_rows(runs[group[0]], run)]
        if alike:
            alike[0].append(number)
        else:
            of_form.append([number])
    blocks = []
    for form, of_form in groups.items():
        for numbers in of_form:
            one = runs[numbers[0]]
            model = one.model.model if isinstance(one.model, Progress) else one.model
            targets = [one.rows.target] if one.validation is None else [one.rows.target, one.validation.rows.target]
            by_kernel = platform == "cpu" and is_for_kernel(model, targets, one.hyperparameters, one.key, config)
            width = models_side_by_side(model, one.rows.x.shape[0], config.batch_size, platform)
            for at in range(0, len(numbers), width):
                own = numbers[at : at + width]
                blocks.append(_Block(own, [runs[number] for number in own], width, form, by_kernel))
    return blocks


def _have_same_rows(one: Run, other: Run) -> bool:
    """Whether runs are trained, and compared, on the same arrays of rows."""
    held, other_held = one.validation, other.validation
    if held is None or other_held is None:
        return one.rows is other.rows and held is other_held
    are_held_alike = held.rows is other_held.rows and held.keeps_start == other_held.keeps_start
    return one.rows is other.rows and are_held_alike


def models_side_by_side(model: PyTree, num_rows: int, batch_size: int, platform: str) -> int:
    """How many models take a step side by side, whatever the number of them: so none changes a bit of another.

    On a CPU it is one, as other models have threads of their own. Other devices, which wait for the host in the steps
    of small trees, take a fixed number of models, made up by copies.

    Args:
        model: A model, without an axis of models.
        num_rows: The rows of the table, with padding.
        batch_size: The rows of a step.
        platform: The platform.
    """
    if platform == "cpu":
        return 1
    trees = getattr(model, "trees", model)
    num_ends = math.prod(trees.leaf.value.shape[:-1]) if isinstance(trees, SoftTree) else 1
    most = min(NUMBERS_SIDE_BY_SIDE // (batch_size * num_ends), ROWS_SIDE_BY_SIDE // num_rows, MOST_SIDE_BY_SIDE)
    return 1 << max(most, 1).bit_length() - 1


def _form_of(run: Run) -> tuple[Hashable, ...]:
    """The key of the program of a run."""
    parts = run.model, run.rows, run.hyperparameters, None if run.validation is None else run.validation.rows
    leaves, structure = jax.tree.flatten(parts)
    return structure, tuple((np.shape(leaf), getattr(leaf, "dtype", float)) for leaf in leaves)


def _numbers_of(run: Run) -> Hyperparameters:
    floats = jnp.result_type(float)
    return jax.tree.map(lambda number: np.asarray(number, floats), run.hyperparameters)


def keys_apart(keys: Key[Array, " model"]) -> list[PRNGKeyArray]:
    """Returns the keys of models one by one, without a program for it."""
    impl = jax.random.key_impl(keys)
    return [jax.random.wrap_key_data(own, impl=impl) for own in np.asarray(jax.random.key_data(keys))]


def _keys_together(keys: Sequence[PRNGKeyArray]) -> Key[Array, " model"]:
    data: Any = np.stack([np.asarray(jax.random.key_data(key)) for key in keys])
    return jax.random.wrap_key_data(data, impl=jax.random.key_impl(keys[0]))


def _stacked(parts: Sequence[PyTree]) -> PyTree:
    return jax.tree.map(lambda *own: np.stack(own), *parts)


def _start(runs: Sequence[Run], *, is_for_kernel: bool, config: TrainingConfig) -> Progress:
    """The state of models before their first step, or before their first further one."""
    models = _stacked([run.model for run in runs])
    if isinstance(models, Progress):
        return _go_on(models)
    return begin_for_kernel(models) if is_for_kernel else _begin(models, config=config)


@compiled("config")
def _begin(models: PyTree, *, config: TrainingConfig) -> Progress:
    """The state before the first step."""
    models = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), models)
    num_models = jax.tree.leaves(models)[0].shape[0]
    steps = jax.vmap(config.optimizer.init)(models)
    never = jnp.full(num_models, jnp.inf, float)  # of no weak type, as after the first call
    zero = jnp.zeros(num_models, jnp.int32)
    return Progress(models, models, steps, zero, models, never, zero)


def _go_on(progress: Progress) -> Progress:
    """The state before the first further step: there is no best so far."""
    never, zero = np.full_like(progress.best_loss, np.inf), np.zeros_like(progress.best_epoch)
    return progress._replace(best=progress.average, best_loss=never, best_epoch=zero)


def _trained(
    progress: Progress, losses: Sequence[Float[np.ndarray, "kind _epoch"]], diverged_in: int, *, has_held: bool
) -> Trained:
    """The model of a run: the best on validation rows or, where training diverged, in training; else the last."""
    loss = np.concatenate(losses, axis=1) if losses else np.zeros((1 + has_held, 0), np.float32)
    takes_best = has_held or diverged_in > 0
    return Trained(
        model=progress.best if takes_best else progress.average,
        loss=loss[0],
        validation_loss=loss[1] if has_held else None,
        best_epoch=np.asarray(progress.best_epoch if takes_best else loss.shape[1], np.int32),
        diverged_in=np.asarray(diverged_in, np.int32),
        progress=progress,
    )


def _next_number(number: int, seconds: float) -> int:
    """How many epochs the next call makes, when the last has made `number` in so many seconds."""
    if seconds > SECONDS_A_CALL:
        return max(1, number // 2)
    return min(2 * number, MOST_EPOCHS_A_CALL) if seconds < SECONDS_A_CALL / 2 else number
