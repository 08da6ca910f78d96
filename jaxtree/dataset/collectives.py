"""Exchanges between several processes, of which each has a part of the rows.

All call `fit`, each with its own rows, and with a mesh of the devices of all (see `jax.distributed`). They exchange
summaries of their parts, from which each learns the same schema, and then grow one tree together; every process ends
with the whole estimator. Its tree is the one that a single process would grow on all rows, bit for bit.
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
from jaxtyping import Float64, Int, Int32, Shaped, UInt

from jaxtree.errors import DistributedError, InvalidInputError
from jaxtree.growth.inputs.mesh import check_mesh
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.summary import Summary, merge_summaries
from jaxtree.table.target import ClassTarget, NumberTarget

Done = TypeVar("Done")

VALUES_AT_A_TIME = 2**22
"""Values of an array that processes exchange at once."""


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
    sizes = _gather_alike(np.int64(len(data))).reshape(-1)
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    gathered = _gather_alike(padded).reshape(len(sizes), -1)
    return [row[:size].tobytes() for row, size in zip(gathered, sizes, strict=True)]


def _gather_alike(values: Shaped[np.ndarray, "..."] | np.generic) -> Shaped[np.ndarray, "..."]:
    try:
        return np.asarray(multihost_utils.process_allgather(values))
    except ValueError as error:
        # Where JAX's CPU does not wait for a program but runs it at once, a lost connection is an error of values.
        raise jax.errors.JaxRuntimeError(str(error)) from error


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
    counts = [sum_of_all(np.bincount(c, minlength=len(names))) for c, names in zip(codes, classes, strict=True)]
    return ClassTarget(classes, codes, orders, ((),) * len(classes)), counts


def common_groups(group: Any) -> Int32[np.ndarray, " row"]:
    """Returns the groups of the rows of this process as numbers among those that rows of any process have."""
    names, own = np.unique(np.asarray(group), return_inverse=True)
    # Words have no type of Python objects, which processes do not exchange.
    of_all = np.unique(np.concatenate(gather_arrays(np.array(names.tolist()))))
    return np.searchsorted(of_all, names)[own.reshape(-1)].astype(np.int32)


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

    first_row = rows_among_all(num_rows).start
    summary = all_or_none(lambda: encoder.summarise(X, first_row=first_row))
    summary = replace(summary, label=f"process {jax.process_index()}")
    encoder.fit_summary(merge_summaries([Summary.from_bytes(data) for data in gather(summary.to_bytes())]))
    codes = all_or_none(encode_part)
    encoder.widen(*gather_arrays(encoder.bin_ranges()))
    return codes


def sum_of_all(values: Int[np.ndarray, " *axis"] | np.integer) -> Int[np.ndarray, " *axis"]:
    """Returns the sum of what all processes gave, of one shape; of many values some at a time."""
    if values.size <= VALUES_AT_A_TIME:
        return np.sum(gather_arrays(values), axis=0)
    blocks = np.array_split(values.reshape(-1), -(-values.size // VALUES_AT_A_TIME))
    return np.concatenate([np.sum(gather_arrays(own), axis=0) for own in blocks]).reshape(values.shape)


def join_rows(values: Shaped[np.ndarray, "*part row"]) -> Shaped[np.ndarray, "*part all_rows"]:
    """Returns the rows of all processes, in their order; the last axis is that of rows."""
    return np.concatenate(gather_arrays(values), axis=-1)


def rows_among_all(num_rows: int) -> slice:
    """Returns where the rows of this process are among those of all."""
    numbers = np.array(gather_arrays(np.int64(num_rows)))
    first = int(numbers[: jax.process_index()].sum())
    return slice(first, first + num_rows)


def check_same(value: Any, message: str) -> None:
    """Raises InvalidInputError in all processes unless they have the same value."""
    if np.any([np.any(own != value) for own in gather_arrays(np.asarray(value))]):
        raise InvalidInputError(f"{message}; they differ")


def weights_of_all(weight: Float64[np.ndarray, " row"] | None) -> Float64[np.ndarray, " row"] | None:
    """Returns the weights of the rows of all processes, or None.

    Raises:
        InvalidInputError: Some processes have weights, and others none.
    """
    have = [bool(flag) for flag in gather_arrays(np.bool_(weight is not None))]
    if any(have) and not all(have):
        raise InvalidInputError(f"sample_weight must be given in all processes or in none, got {have}")
    return None if weight is None else np.concatenate(gather_arrays(weight))


@contextlib.contextmanager
def fails_in_all(mesh: Mesh | None, estimator: Any) -> Iterator[None]:
    """Leaves an estimator as it was in all processes of a mesh, if its fit fails in one.

    Raises:
        DistributedError: JAX says that another process is gone.
    """
    before = dict(vars(estimator))
    try:
        yield
    except Exception as error:
        if mesh is None or not spans_processes(mesh):
            raise
        vars(estimator).clear()
        vars(estimator).update(before)
        if not isinstance(error, jax.errors.JaxRuntimeError):
            raise
        raise DistributedError(
            f"process {jax.process_index()} of {jax.process_count()} lost touch with another one, which may have "
            f"died; nothing was fitted. JAX said: {str(error).splitlines()[0]}"
        ) from error


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
