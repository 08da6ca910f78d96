"""From an encoded table to the trees of a forest, and how many rows and cores they take."""

from typing import Any

import jax
import joblib
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, PRNGKeyArray

from jaxtree.arrays import Device
from jaxtree.buckets import class_bucket, feature_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.distributed import spans_processes
from jaxtree.estimators.growing import (
    EncodedSample,
    degree_of,
    divided,
    features_of,
    num_bins_of,
    own_widths,
    rules_of,
    trimmed,
)
from jaxtree.estimators.magnitude import restored, scaled_limits
from jaxtree.forests.forest import Course, Rows, Sampling, grow_forest
from jaxtree.tree import Forest


def grow_sample(
    encoded: EncodedSample, sampling: Sampling, *, key: PRNGKeyArray, trees: range, course: Course
) -> Forest:
    """Grows some trees of a key's forest on a sample, with all sizes padded to buckets; thresholds are codes."""
    recipe, widths = encoded.recipe, own_widths(encoded)
    padding = feature_bucket(len(encoded.codes)) - len(encoded.codes)
    target, exponent = divided(encoded.target, recipe)
    forest = grow_forest(
        rows_of(encoded)._replace(codes=np.pad(encoded.codes, ((0, padding), (0, 0))), target=target),
        features_of(encoded.schema, recipe, widths, padding),
        scaled_limits(recipe.limits, exponent, degree_of(recipe)),
        sampling,
        rules_of(encoded)._replace(counts_rows=recipe.counts_rows),
        key=key,
        trees=trees,
        course=course,
    )
    nodes = restored(forest.nodes, exponent, degree_of(recipe))
    return Forest(trimmed(nodes, encoded.num_classes), forest.first_node)


def rows_of(encoded: EncodedSample) -> Rows:
    """The table of a sample as growth of forests takes it."""
    num_classes = class_bucket(max(encoded.num_classes)) if encoded.num_classes else 0
    return Rows(encoded.codes, encoded.target, num_classes, num_bins_of(own_widths(encoded)), encoded.weight)


def number_of_draws(max_samples: Any, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> int:
    """How many rows a bootstrap sample has: a number, a share of the rows or of their weight, or as many as all."""
    if max_samples is None:
        return num_rows
    if isinstance(max_samples, int | np.integer):
        return int(max_samples)
    return max(1, int(max_samples * (num_rows if weight is None else weight.sum())))


def devices_of(mesh: Mesh | None) -> tuple[Device, ...]:
    """The devices that trees are divided among; none without a mesh.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or has devices of other processes.
        InvalidTypeError: It is no mesh.
    """
    if mesh is None:
        return ()
    if spans_processes(mesh):
        raise InvalidInputError(
            "a forest is grown by one process, whose mesh has its own devices only, such as jax.local_devices(); a "
            "single tree may grow over several processes"
        )
    return tuple(mesh.devices.flat)


def number_of_threads(n_jobs: int | None) -> int:
    """How many batches grow at the same time: as many as there are cores, or as asked; one on an accelerator.

    Raises:
        InvalidInputError: 0 was asked for.
    """
    if n_jobs == 0:
        raise InvalidInputError("n_jobs must be None, an integer >= 1, or a negative one (-1: all cores), got 0")
    if jax.default_backend() != "cpu":
        return 1
    cores = joblib.cpu_count()
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
