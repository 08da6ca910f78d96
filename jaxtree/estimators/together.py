"""A fit that several processes make together, from reading their parts to the fitted tree."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float
from sklearn.base import clone

from jaxtree.buckets import capacity_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import FitStart
from jaxtree.estimators.growing import (
    EncodedSample,
    as_summed,
    decoded,
    features_of,
    growth_rules,
    most_nodes,
    own_widths,
    trimmed,
)
from jaxtree.estimators.processes import (
    all_or_none,
    all_weights,
    divide,
    encode_together,
    naming_lost_processes,
    sum_of_all,
)
from jaxtree.estimators.sample import Sample, without_weightless_rows
from jaxtree.growth.grow import grow_completely
from jaxtree.table.codes import pad_codes
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree, take_tree


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
        values, num_classes, factor = worker._agree_on_target(target)
        if factor is not None:
            weight = factor if weight is None else weight * factor
        part = without_weightless_rows(Sample(X, values, num_classes, weight))
        worker.encoder_ = worker._encoder()
        codes = encode_together(worker.encoder_, part.X, part.num_rows)
        worker._set_column_names(worker.schema_.column_names)
        weights, num_rows = all_weights(part.weight), int(sum_of_all(np.int64(part.num_rows)))
        recipe = worker._recipe(num_rows, weights)
        encoded = EncodedSample(codes, worker.schema_, part.target, num_classes, part.weight, recipe)
        grown = _grow_divided(encoded, weights, num_rows, mesh)
    worker._finish(grown, FitStart(part, encoded, None, None))
    vars(estimator).update(vars(worker))
    return estimator


def _read_part(worker: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Float[np.ndarray, " row"] | None]:
    """The rows of this process, their target, and their weights."""
    _check_parameters(worker)
    X, y, sample_weight = worker._open(X, y, sample_weight)
    target = worker._read_target_of_part(y)
    if not target.num_rows:
        raise InvalidInputError("every process must have at least one row, got none")
    return X, target, check_sample_weight(sample_weight, target.num_rows)


def _check_parameters(estimator: Any) -> None:
    estimator._check_parameters()
    needs_all = estimator._needs_all_rows()
    if needs_all is not None:
        raise InvalidInputError(
            f"over several processes the fitted tree must follow from the grown one alone, which {needs_all} does not "
            "allow; prune afterwards with jaxtree.prune_to"
        )
    if estimator._draws_growth() and not isinstance(estimator.random_state, int | np.integer):
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
            division.place(codes),
            division.place(sample.target),
            division.place(own.astype(summed)),
            features_of(sample.schema, recipe, widths, len(codes) - len(sample.codes)),
            recipe.limits,
            **growth_rules(sample, widths),
            capacity=capacity_bucket(most_nodes(num_rows, recipe)),
            entry_capacity=2 * division.rows_of_process * jax.process_count(),
            key=None if recipe.key is None else jnp.stack([recipe.key]),
            mesh=mesh,
        )
        tree = jax.tree.map(np.asarray, tree)
    return trimmed(decoded(take_tree(tree), sample, widths), sample.num_classes)
