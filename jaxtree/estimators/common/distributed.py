"""Fits on tables of which every process has a part.

All processes call `fit`, each with its own rows, and with a mesh of the devices of all (see `jax.distributed`). They
exchange summaries of their parts, from which each learns the same schema, and then grow one tree together; every
process ends with the whole estimator. Its tree is the one that a single process would grow on all rows, bit for bit.
"""

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Int, Shaped, UInt
from sklearn.base import clone

from jaxtree.buckets import pad_codes
from jaxtree.errors import DistributedError, InvalidInputError
from jaxtree.estimators.common.conventions import set_column_names
from jaxtree.estimators.common.growing import EncodedSample, as_summed, grow_roots
from jaxtree.estimators.common.magnitude import Magnitude, exponent_of
from jaxtree.estimators.common.parts import read_arguments
from jaxtree.estimators.common.sample import PreparedFit, Weights
from jaxtree.growth.inputs import Data
from jaxtree.growth.mesh import check_mesh
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.summary import Summary, merge_summaries
from jaxtree.table.target import ClassTarget, NumberTarget
from jaxtree.table.weights import check_sample_weight

Done = TypeVar("Done")


def spans_processes(mesh: Mesh) -> bool:
    """Returns whether the devices of a mesh belong to several processes.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or lacks the devices of some process.
    """
    check_mesh(mesh)
    owners = {device.process_index for device in mesh.devices.flat}
    if len(owners) > 1 and len(owners) != jax.process_count():
        raise InvalidInputError(
            f"a mesh of several processes must have devices of all {jax.process_count()}, got those of {sorted(owners)}"
        )
    return len(owners) > 1


def gather(data: bytes) -> list[bytes]:
    """Returns what every process gave, in the order of the processes; raises JAX's error if one is gone."""
    sizes = np.asarray(multihost_utils.process_allgather(np.int64(len(data)))).reshape(-1)
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    gathered = np.asarray(multihost_utils.process_allgather(padded)).reshape(len(sizes), -1)
    return [row[:size].tobytes() for row, size in zip(gathered, sizes, strict=True)]


def gather_arrays(values: Shaped[np.ndarray, "..."] | np.generic) -> list[Shaped[np.ndarray, "..."]]:
    """Returns the array that every process gave; they may differ in shape, but hold no Python objects."""
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values), allow_pickle=False)
    return [np.load(io.BytesIO(data), allow_pickle=False) for data in gather(buffer.getvalue())]


def all_or_none(work: Callable[[], Done]) -> Done:
    """Returns what work on this process's part gives, if it succeeds in all processes; if not, all raise.

    So no process waits for one that has given up.

    Raises:
        DistributedError: It failed in another process. Where it failed, its own error is raised.
    """
    done, failure = None, None
    try:
        done = work()
    except Exception as error:
        failure = error
    failures = gather(b"" if failure is None else f"{type(failure).__name__}: {failure}".encode())
    if failure is not None:
        raise failure
    for process, message in enumerate(failures):
        if message:
            raise DistributedError(
                f"process {process} of {len(failures)} gave up, so nothing was fitted: {message.decode()}"
            )
    return cast(Done, done)


def common_target(target: Any) -> tuple[Any, list[Int[np.ndarray, " class"]] | None]:
    """Returns a target with the classes that rows of any process have, and how many rows have each; None for numbers.

    Raises:
        InvalidInputError: Processes have different numbers of outputs.
    """
    is_number = isinstance(target, NumberTarget)
    numbers = np.array(gather_arrays(np.int64(len(target.values if is_number else target.classes))))
    if np.any(numbers != numbers[0]):
        raise InvalidInputError(f"y must have one number of outputs in all processes, got {numbers.tolist()}")
    if is_number:
        return target, None
    classes = tuple(np.unique(np.concatenate(gather_arrays(own))) for own in target.classes)
    parts = zip(classes, target.classes, target.codes, strict=True)
    codes = np.stack([np.searchsorted(names, own)[own_codes] for names, own, own_codes in parts]).astype(np.int32)
    orders = tuple(np.arange(len(names), dtype=np.int32) for names in classes)
    counts = [_sum_of_all(np.bincount(c, minlength=len(names))) for c, names in zip(codes, classes, strict=True)]
    return ClassTarget(classes, codes, orders, ((),) * len(classes)), counts


def encode_together(encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
    """Fits an encoder on the parts of all processes, and returns the codes of this one's.

    Args:
        encoder: An encoder with the same parameters in all processes.
        X: The rows of this process, a table or a source.
        num_rows: How many they are.
    """

    def encode_part() -> UInt[np.ndarray, "feature row"]:
        codes = encoder.encode_part(X)
        check_same_length(codes.shape[1], np.empty(num_rows))
        return codes

    numbers = np.array(gather_arrays(np.int64(num_rows)))
    first_row = int(numbers[: jax.process_index()].sum())
    summary = all_or_none(lambda: encoder.summarise(X, first_row=first_row))
    summary = replace(summary, label=f"process {jax.process_index()}")
    encoder.fit_summary(merge_summaries([Summary.from_bytes(data) for data in gather(summary.to_bytes())]))
    codes = all_or_none(encode_part)
    encoder.widen(*gather_arrays(encoder.bin_ranges()))
    return codes


def _sum_of_all(values: Int[np.ndarray, " *axis"] | np.integer) -> Int[np.ndarray, " *axis"]:
    """Returns the sum of what all processes gave, of one shape."""
    return np.sum(gather_arrays(values), axis=0)


def _all_weights(weight: Weights) -> Weights:
    """Returns the weights of the rows of all processes, or None.

    Raises:
        InvalidInputError: Some processes have weights, and others none.
    """
    have = [bool(flag) for flag in gather_arrays(np.bool_(weight is not None))]
    if any(have) and not all(have):
        raise InvalidInputError(f"sample_weight must be given in all processes or in none, got {have}")
    return None if weight is None else np.concatenate(gather_arrays(weight))


@contextlib.contextmanager
def lost_processes_named() -> Iterator[None]:
    """Raises DistributedError where JAX says that another process is gone."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise DistributedError(
            f"process {jax.process_index()} of {jax.process_count()} lost touch with another one, which may have "
            f"died; nothing was fitted. JAX said: {str(error).splitlines()[0]}"
        ) from error


def fit_together(estimator: Any, X: Any, y: Any, sample_weight: Any, mesh: Mesh) -> Any:
    """Fits an estimator on the rows of all processes; one that fails is left as it was.

    Args:
        estimator: A tree with the same parameters in every process.
        X: The rows of this process, a table or a source.
        y: Their targets.
        sample_weight: Their weights, or None.
        mesh: The devices of all processes.

    Raises:
        DistributedError: Another process is gone.
        InvalidInputError: A parameter is one that needs all rows in one process; and see `fit`.
    """
    worker: Any = clone(estimator)
    with lost_processes_named():
        X, target, weight = all_or_none(lambda: _read_part(worker, X, y, sample_weight))
        target, counts = common_target(target)
        part = worker.learn_sample(X, target, weight, counts).without_weightless_rows()
        worker.encoder_ = worker.make_encoder()
        codes = encode_together(worker.encoder_, part.X, part.num_rows)
        set_column_names(worker, worker.schema_.column_names)
        weights, num_rows = _all_weights(part.weight), int(_sum_of_all(np.int64(part.num_rows)))
        recipe = worker.make_recipe(num_rows, weights)
        encoded = EncodedSample(codes, worker.schema_, part.target, part.num_classes, part.weight, recipe)
        (grown,) = grow_roots(_divided(encoded, weights, num_rows, mesh), [encoded], [num_rows], Magnitude(), mesh)
    worker.finish_fit(grown, PreparedFit(part, encoded, None, None))
    vars(estimator).update(vars(worker))
    return estimator


def _read_part(worker: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Weights]:
    """Returns the rows of this process, their target, and their weights."""
    check_fits_together(worker)
    X, y, sample_weight, worker.other_columns_ = read_arguments(X, y, sample_weight)
    target = worker.encode_target(y)
    if isinstance(target, NumberTarget) and exponent_of(target.values) > 0:
        raise InvalidInputError(
            "over several processes y must be below 2**400 in size, so that it can be squared, got "
            f"{np.abs(target.values).max():g}: divide it by a constant"
        )
    if not target.num_rows:
        raise InvalidInputError("every process must have at least one row, got none")
    return X, target, check_sample_weight(sample_weight, target.num_rows)


def check_fits_together(estimator: Any) -> None:
    """Raises InvalidInputError if a parameter is not allowed, or not over several processes."""
    estimator.check_parameters()
    needs_all = estimator.needs_all_rows()
    if needs_all is not None:
        raise InvalidInputError(
            f"over several processes the fitted tree must follow from the grown one alone, which {needs_all} does not "
            "allow; prune afterwards with jaxtree.prune_to"
        )
    if estimator.draws_growth() and not isinstance(estimator.random_state, int | np.integer):
        raise InvalidInputError(
            f"random_state must be an integer over several processes, the same in all, got {estimator.random_state!r}"
        )


def _divided(sample: EncodedSample, weights: Weights, num_rows: int, mesh: Mesh) -> Data:
    """Returns the rows of all processes on the mesh, of which the sample has this process's.

    Every process has as many rows as any other, with padding of weight 0.

    Args:
        sample: The rows of this process.
        weights: The weights of all rows.
        num_rows: The number of all rows.
        mesh: The devices of all processes.
    """
    codes = pad_codes(sample.codes)
    size = rows_of_process(codes.shape[1], mesh)

    def place(values: Shaped[np.ndarray, "*axis row"]) -> jax.Array:
        return place_part(values, size, mesh)

    own = np.ones(sample.codes.shape[1]) if sample.weight is None else sample.weight
    # Types of 64 bits stay as they are whatever the user's setting.
    with jax.enable_x64(True):
        return Data(*map(place, (codes, sample.target, own.astype(as_summed([weights], num_rows).dtype))))


def rows_of_process(num_rows: int, mesh: Mesh) -> int:
    """Returns how many rows every process has, with padding, if this one has so many."""
    devices = len(mesh.local_devices)
    return -(-int(np.max(gather_arrays(np.int64(num_rows)))) // devices) * devices


def place_part(values: Shaped[np.ndarray, "..."], size: int, mesh: Mesh, *, axis: int = -1) -> jax.Array:
    """Returns the rows of all processes on the mesh; this one has some of `size`, and zeros behind them.

    Args:
        values: The rows of this process.
        size: The number of rows that every process then has.
        mesh: The devices of all processes.
        axis: The axis of the rows.
    """
    padding, spec = [(0, 0)] * values.ndim, [None] * values.ndim
    padding[axis], spec[axis] = (0, size - values.shape[axis]), mesh.axis_names[0]
    return jax.make_array_from_process_local_data(NamedSharding(mesh, P(*spec)), np.pad(values, padding))
