"""Fits on tables of which every process has a part.

All processes call `fit`, each with its own rows, and with a mesh of the devices of all (see `jax.distributed`). They
exchange summaries of their parts, from which each learns the same schema, and then grow one tree together; every
process ends with the whole estimator. Its tree is the one that a single process would grow on all rows, bit for bit.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Float, Int, Shaped, UInt
from sklearn.base import clone

from jaxtree.buckets import capacity_bucket, pad_codes
from jaxtree.errors import DistributedError, InvalidInputError
from jaxtree.estimators.conventions import set_column_names
from jaxtree.estimators.growing import (
    EncodedSample,
    as_summed,
    decoded,
    features_of,
    most_nodes,
    num_bins_of,
    own_widths,
    rules_of,
    trimmed,
)
from jaxtree.estimators.parts import read_arguments
from jaxtree.estimators.sample import PreparedFit, Sample, without_weightless_rows
from jaxtree.growth.grow import grow_completely
from jaxtree.growth.inputs import Data, Sizes
from jaxtree.growth.mesh import check_mesh
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.summary import Summary, merge_summaries
from jaxtree.table.target import ClassTarget, check_sample_weight
from jaxtree.tree import Tree, take_tree

Done = TypeVar("Done")


def spans_processes(mesh: Mesh | None) -> bool:
    """Whether the devices of a mesh belong to several processes.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or lacks the devices of some process.
    """
    if mesh is None:
        return False
    check_mesh(mesh)
    owners = {device.process_index for device in mesh.devices.flat}
    if len(owners) > 1 and len(owners) != jax.process_count():
        raise InvalidInputError(
            f"a mesh of several processes must have devices of all {jax.process_count()}, got those of {sorted(owners)}"
        )
    return len(owners) > 1


def gather(data: bytes) -> list[bytes]:
    """Returns what every process gave, in the order of the processes.

    Raises:
        DistributedError: A process is gone.
    """
    with naming_lost_processes():
        sizes = np.asarray(multihost_utils.process_allgather(np.int64(len(data)))).reshape(-1)
        padded = np.zeros(int(sizes.max()), np.uint8)
        padded[: len(data)] = np.frombuffer(data, np.uint8)
        gathered = np.asarray(multihost_utils.process_allgather(padded)).reshape(len(sizes), -1)
    return [row[:size].tobytes() for row, size in zip(gathered, sizes, strict=True)]


@contextmanager
def naming_lost_processes() -> Iterator[None]:
    """Says what the failure of a collective operation means, in the place of JAX's own error."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise DistributedError(
            f"process {jax.process_index()} of {jax.process_count()} lost touch with another one, which may have "
            f"died; nothing was fitted. JAX said: {str(error).splitlines()[0]}"
        ) from error


def gather_arrays(values: Shaped[np.ndarray, "..."] | np.generic) -> list[Shaped[np.ndarray, "..."]]:
    """Returns the array that every process gave; they may differ in shape, but hold no Python objects."""
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values), allow_pickle=False)
    return [np.load(io.BytesIO(data), allow_pickle=False) for data in gather(buffer.getvalue())]


def _encode_rows(encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
    codes = encoder.encode_part(X)
    check_same_length(codes.shape[1], np.empty(num_rows))
    return codes


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
    told = gather(b"" if failure is None else f"{type(failure).__name__}: {failure}".encode())
    if failure is not None:
        raise failure
    for process, message in enumerate(told):
        if message:
            raise DistributedError(
                f"process {process} of {len(told)} gave up, so nothing was fitted: {message.decode()}"
            )
    return cast(Done, done)


def common_number_of_outputs(number: int) -> None:
    """Checks that targets have as many outputs in all processes.

    Raises:
        InvalidInputError: They have not.
    """
    numbers = [int(of_process) for of_process in gather_arrays(np.int64(number))]
    if len(set(numbers)) > 1:
        raise InvalidInputError(f"y must have one number of outputs in all processes, got {numbers}")


def common_classes(target: ClassTarget) -> ClassTarget:
    """The target with the classes that rows of any process have, and the codes that they then have.

    Raises:
        InvalidInputError: Processes have different numbers of outputs.
    """
    common_number_of_outputs(len(target.classes))
    classes, codes = [], []
    for own, own_codes in zip(target.classes, target.codes, strict=True):
        all_classes = np.unique(np.concatenate(gather_arrays(own)))
        classes.append(all_classes)
        codes.append(np.searchsorted(all_classes, own)[own_codes])
    order = tuple(np.arange(len(names), dtype=np.int32) for names in classes)
    return ClassTarget(tuple(classes), np.stack(codes).astype(np.int32), order, ((),) * len(classes))


def encode_together(encoder: Encoder, X: Any, num_rows: int) -> UInt[np.ndarray, "feature row"]:
    """Fits an encoder on the parts of all processes, and returns the codes of this one's.

    Args:
        encoder: An encoder with the same parameters in all processes.
        X: The rows of this process, a table or a source.
        num_rows: How many they are.
    """
    numbers = np.array(gather_arrays(np.int64(num_rows)))
    first_row = int(numbers[: jax.process_index()].sum())
    summary = all_or_none(lambda: encoder.summarise(X, first_row=first_row))
    summary = replace(summary, label=f"process {jax.process_index()}")
    encoder.fit_summary(merge_summaries([Summary.from_bytes(data) for data in gather(summary.to_bytes())]))
    codes = all_or_none(lambda: _encode_rows(encoder, X, num_rows))
    encoder.widen(*gather_arrays(encoder.bin_ranges()))
    return codes


class Division(NamedTuple):
    """How the rows of all processes lie on a mesh.

    Attributes:
        mesh: The devices.
        rows_of_process: Rows of every process, padding included: as many as of any other.
    """

    mesh: Mesh
    rows_of_process: int

    def place(self, values: Shaped[np.ndarray, "*axis row"]) -> jax.Array:
        """One array of the rows of all processes, from the rows of this one."""
        padding = self.rows_of_process - values.shape[-1]
        values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, padding)])
        spec = P(*[None] * (values.ndim - 1), self.mesh.axis_names[0])
        return jax.make_array_from_process_local_data(NamedSharding(self.mesh, spec), values)


def divide(mesh: Mesh, num_rows: int) -> Division:
    """How rows are to be divided, given those of this process, padding to a bucket included."""
    most = int(np.max(gather_arrays(np.int64(num_rows))))
    devices = len(mesh.local_devices)
    return Division(mesh, -(-most // devices) * devices)


def sum_of_all(values: Int[np.ndarray, " *axis"] | np.integer) -> Int[np.ndarray, " *axis"]:
    """The sum of what all processes gave, of one shape."""
    return np.sum(gather_arrays(values), axis=0)


def all_weights(weight: Float[np.ndarray, " row"] | None) -> Float[np.ndarray, " _row"] | None:
    """The weights of the rows of all processes; ones where only others have some.

    Raises:
        InvalidInputError: Some processes have weights, and others none.
    """
    have = [bool(flag) for flag in gather_arrays(np.bool_(weight is not None))]
    if any(have) and not all(have):
        raise InvalidInputError(f"sample_weight must be given in all processes or in none, got {have}")
    return None if weight is None else np.concatenate(gather_arrays(weight))


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
    with naming_lost_processes():
        X, target, weight = all_or_none(lambda: _read_part(worker, X, y, sample_weight))
        agreed = worker.agree_on_target(target)
        part = without_weightless_rows(Sample(X, agreed.values, agreed.num_classes, agreed.weigh(weight)))
        worker.encoder_ = worker.make_encoder()
        codes = encode_together(worker.encoder_, part.X, part.num_rows)
        set_column_names(worker, worker.schema_.column_names)
        weights, num_rows = all_weights(part.weight), int(sum_of_all(np.int64(part.num_rows)))
        recipe = worker.make_recipe(num_rows, weights)
        encoded = EncodedSample(codes, worker.schema_, part.target, part.num_classes, part.weight, recipe)
        grown = _grow_divided(encoded, weights, num_rows, mesh)
    worker.finish_fit(grown, PreparedFit(part, encoded, None, None))
    vars(estimator).update(vars(worker))
    return estimator


def _read_part(worker: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Float[np.ndarray, " row"] | None]:
    """The rows of this process, their target, and their weights."""
    _check_parameters(worker)
    X, y, sample_weight, worker.other_columns_ = read_arguments(X, y, sample_weight)
    target = worker.read_target_of_part(y)
    if not target.num_rows:
        raise InvalidInputError("every process must have at least one row, got none")
    return X, target, check_sample_weight(sample_weight, target.num_rows)


def _check_parameters(estimator: Any) -> None:
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


def _grow_divided(
    sample: EncodedSample, weights: Float[np.ndarray, " all_row"] | None, num_rows: int, mesh: Mesh
) -> Tree:
    """The tree of the rows of all processes, which the sample has this one's of; the thresholds are codes."""
    codes, recipe = pad_codes(sample.codes), sample.recipe
    division, widths = divide(mesh, codes.shape[1]), own_widths(sample)
    summed = as_summed([weights], num_rows).dtype
    own = np.ones(sample.codes.shape[1]) if sample.weight is None else sample.weight
    with jax.enable_x64(True):
        tree = grow_completely(
            Data(*(division.place(values) for values in (codes, sample.target, own.astype(summed)))),
            features_of(sample.schema, recipe, widths, len(codes) - len(sample.codes)),
            recipe.limits,
            rules_of(sample),
            Sizes(
                num_bins=num_bins_of(widths),
                capacity=capacity_bucket(most_nodes(num_rows, recipe)),
                entry_capacity=2 * division.rows_of_process * jax.process_count(),
            ),
            key=None if recipe.key is None else jnp.stack([recipe.key]),
            mesh=mesh,
        )
        tree = jax.tree.map(np.asarray, tree)
    return trimmed(decoded(take_tree(tree), sample, widths), sample.num_classes)
