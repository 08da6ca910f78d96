"""`Exchange`: how a fit learns of the rows of other processes, where several have a part each.

All call `fit`, each with its own rows, and with a mesh of the devices of all (see `jax.distributed`). They exchange
summaries of their parts, from which each learns the same schema, and then grow one tree; every process ends with the
whole estimator. Its tree is the one that a single process would grow on all rows, bit for bit.

`exchange_of` decides at the door of `fit` whether rows are shared. A fit of one process has an `Exchange` whose part is
the whole: it agrees with itself, and joins its rows with none. So a fit is written once, for both.
"""

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Float64, Int, Int32, Shaped, UInt

from jaxtree.errors import DistributedError, InvalidInputError
from jaxtree.kernels.mesh import check_mesh
from jaxtree.table.encoder import Encoder
from jaxtree.table.probabilities import ShareTarget
from jaxtree.table.reading import check_same_length
from jaxtree.table.summary import Summary, merge_summaries
from jaxtree.table.target import NumberTarget, in_classes

Done = TypeVar("Done")

VALUES_AT_A_TIME = 2**22
"""Values of an array that processes exchange at once."""


class AllRows(NamedTuple):
    """The rows of all processes.

    Attributes:
        num_rows: Their number.
        weight: Their weights.
    """

    num_rows: int
    weight: Float64[np.ndarray, " row"] | None


class Exchange:
    """The exchange of a fit whose process has all rows."""

    is_shared: ClassVar[bool] = False
    """Whether several processes have a part of the rows each."""

    def agree(self, work: Callable[..., Done], *arguments: Any) -> Done:
        """Returns what some work on the rows of this process gives, if it succeeds in all processes."""
        return work(*arguments)

    def check_same(self, value: Any, message: str) -> None:
        """Raises InvalidInputError in all processes unless they have the same value."""

    def join(self, values: Shaped[np.ndarray, "*part row"]) -> Shaped[np.ndarray, "*part all_rows"]:
        """Returns the rows of all processes, in their order; the last axis is that of rows."""
        return values

    def join_weights(self, weight: Float64[np.ndarray, " row"] | None) -> Float64[np.ndarray, " row"] | None:
        """Returns the weights of the rows of all processes, or None."""
        return weight

    def any(self, flags: Iterable[Any]) -> bool:
        """Returns whether anything is true in any process."""
        return any(flags)

    def own_rows(self, num_rows: int) -> slice:
        """Returns where the rows of this process are among those of all."""
        return slice(0, num_rows)

    def encode(self, encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
        """Fits an encoder to the rows of all processes, and returns the codes of this one's.

        Args:
            encoder: An encoder with the same parameters in all processes.
            X: The rows of this process, a table or a source.
            num_rows: How many they are.
        """
        return encoder.fit_transform(X)


LONE = Exchange()
"""The exchange of one process."""


def exchange_of(mesh: Mesh) -> Exchange:
    """Returns the exchange of a fit: between processes if the devices of its mesh belong to several.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or lacks the devices of some process.
        InvalidTypeError: It is no mesh.
    """
    check_mesh(mesh)
    owners = {device.process_index for device in mesh.devices.flat}
    if len(owners) == 1:
        return LONE
    if len(owners) != jax.process_count():
        raise InvalidInputError(
            f"a mesh of several processes must have devices of all {jax.process_count()}, got those of {sorted(owners)}"
        )
    return SharedExchange(mesh)


class SharedExchange(Exchange):
    """The exchange of several processes, of which each has a part of the rows; all call its methods, in one order.

    Args:
        mesh: The devices of all processes.
    """

    is_shared = True

    def __init__(self, mesh: Mesh):
        self.mesh = mesh

    def gather(self, values: Shaped[np.ndarray, "..."] | np.generic) -> list[Shaped[np.ndarray, "..."]]:
        """Returns the array that every process gave; they may differ in shape, but hold no Python objects."""
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(values), allow_pickle=False)
        return [np.load(io.BytesIO(data), allow_pickle=False) for data in gather_bytes(buffer.getvalue())]

    @contextlib.contextmanager
    def keeping(self, estimator: Any) -> Iterator[None]:
        """Leaves an estimator as it was in all processes, if its fit fails in one.

        Raises:
            DistributedError: JAX says that another process is gone.
        """
        before = dict(vars(estimator))
        try:
            yield
        except Exception as error:
            vars(estimator).clear()
            vars(estimator).update(before)
            if not isinstance(error, jax.errors.JaxRuntimeError):
                raise
            raise DistributedError(
                f"process {jax.process_index()} of {jax.process_count()} lost touch with another one, which may have "
                f"died; nothing was fitted. JAX said: {str(error).splitlines()[0]}"
            ) from error

    def agree(self, work: Callable[..., Done], *arguments: Any) -> Done:
        """Returns what some work on the rows of this process gives, if it succeeds in all processes; if not, all raise.

        So no process waits for one that has given up.

        Raises:
            DistributedError: It failed in another process. Where it failed, its own error is raised.
        """
        done, failure = None, None
        try:
            done = work(*arguments)
        except Exception as error:
            failure = error
        failures = gather_bytes(b"" if failure is None else f"{type(failure).__name__}: {failure}".encode())
        if failure is not None:
            raise failure
        for process, message in enumerate(failures):
            if message:
                raise DistributedError(
                    f"process {process} of {len(failures)} gave up, so nothing was fitted: {message.decode()}"
                )
        return cast(Done, done)

    def check_same(self, value: Any, message: str) -> None:
        """Raises InvalidInputError in all processes unless they have the same value."""
        if np.any([np.any(own != value) for own in self.gather(np.asarray(value))]):
            raise InvalidInputError(f"{message}; they differ")

    def sum(self, values: Int[np.ndarray, " *axis"] | np.integer) -> Int[np.ndarray, " *axis"]:
        """Returns the sum of what all processes give, of one shape; of many values some at a time."""
        if values.size <= VALUES_AT_A_TIME:
            return np.sum(self.gather(values), axis=0)
        blocks = np.array_split(values.reshape(-1), -(-values.size // VALUES_AT_A_TIME))
        return np.concatenate([np.sum(self.gather(own), axis=0) for own in blocks]).reshape(values.shape)

    def join(self, values: Shaped[np.ndarray, "*part row"]) -> Shaped[np.ndarray, "*part all_rows"]:
        """Returns the rows of all processes, in their order; the last axis is that of rows."""
        return np.concatenate(self.gather(values), axis=-1)

    def join_weights(self, weight: Float64[np.ndarray, " row"] | None) -> Float64[np.ndarray, " row"] | None:
        """Returns the weights of the rows of all processes, or None.

        Raises:
            InvalidInputError: Some processes have weights, and others none.
        """
        have = [bool(flag) for flag in self.gather(np.bool_(weight is not None))]
        if any(have) and not all(have):
            raise InvalidInputError(f"sample_weight must be given in all processes or in none, got {have}")
        return None if weight is None else self.join(weight)

    def any(self, flags: Iterable[Any]) -> bool:
        """Returns whether anything is true in any process."""
        return bool(np.any(self.gather(np.bool_(any(flags)))))

    def own_rows(self, num_rows: int) -> slice:
        """Returns where the rows of this process are among those of all."""
        numbers = np.array(self.gather(np.int64(num_rows)))
        first = int(numbers[: jax.process_index()].sum())
        return slice(first, first + num_rows)

    def all_rows(self, num_rows: int, weight: Float64[np.ndarray, " row"] | None) -> AllRows:
        """Returns the number of rows of all processes and their weights."""
        return AllRows(int(self.sum(np.int64(num_rows))), self.join_weights(weight))

    def common_target(self, target: Any) -> tuple[Any, list[Int[np.ndarray, " class"]] | None]:
        """Returns a target with the classes that rows of any process have, and how many rows of all have each.

        Raises:
            InvalidInputError: A process has no rows, or probabilities of classes, or another number of outputs.
        """
        self.agree(_check_part, target)
        is_number = isinstance(target, NumberTarget)
        numbers = np.array(self.gather(np.int64(len(target.values if is_number else target.classes))))
        if np.any(numbers != numbers[0]):
            raise InvalidInputError(f"y must have one number of outputs in all processes, got {numbers.tolist()}")
        if is_number:
            return target, None
        classes = tuple(np.unique(np.concatenate(self.gather(own))) for own in target.classes)
        target = in_classes(target, classes)
        outputs = zip(target.codes, classes, strict=True)
        return target, [self.sum(np.bincount(codes, minlength=len(names))) for codes, names in outputs]

    def common_groups(self, group: Any) -> Int32[np.ndarray, " row"]:
        """Returns the groups of the rows of this process as numbers among those that rows of any process have."""
        names, own = np.unique(np.asarray(group), return_inverse=True)
        # Words have no type of Python objects, which processes do not exchange.
        of_all = np.unique(np.concatenate(self.gather(np.array(names.tolist()))))
        return np.searchsorted(of_all, names)[own.reshape(-1)].astype(np.int32)

    def encode(self, encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
        """Fits an encoder on the rows of all processes, and returns the codes of this one's."""
        first_row = self.own_rows(num_rows).start
        summary = self.agree(lambda: encoder.summarise(X, first_row=first_row))
        summary = replace(summary, label=f"process {jax.process_index()}")
        encoder.fit_summary(merge_summaries([Summary.from_bytes(data) for data in gather_bytes(summary.to_bytes())]))
        codes = self.agree(_encode_part, encoder, X, num_rows)
        encoder.widen(*self.gather(encoder.bin_ranges()))
        return codes

    def rows_with_padding(self, num_rows: int) -> int:
        """Returns the number of rows of every process after padding, given that of this one."""
        devices = len(self.mesh.local_devices)
        return -(-int(np.max(self.gather(np.int64(num_rows)))) // devices) * devices

    def place(self, values: Shaped[np.ndarray, "..."], size: int, *, axis: int = -1) -> jax.Array:
        """Returns the rows of all processes on the mesh; this one has some of `size`, and zeros behind them.

        Args:
            values: The rows of this process.
            size: The number of rows that every process then has.
            axis: The axis of the rows.
        """
        padding, spec = [(0, 0)] * values.ndim, [None] * values.ndim
        padding[axis], spec[axis] = (0, size - values.shape[axis]), self.mesh.axis_names[0]
        return jax.make_array_from_process_local_data(NamedSharding(self.mesh, P(*spec)), np.pad(values, padding))


def _check_part(target: Any) -> None:
    """Raises InvalidInputError if a process has no rows, or probabilities of classes."""
    if isinstance(target, ShareTarget):
        raise InvalidInputError("over several processes y must have a class for every row, got ClassProbabilities")
    if not target.num_rows:
        raise InvalidInputError("every process must have at least one row, got none")


def _encode_part(encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
    """The codes of the rows of this process."""
    codes = encoder.encode_part(X)
    check_same_length(codes.shape[1], np.empty(num_rows))
    return codes


def gather_bytes(data: bytes) -> list[bytes]:
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
