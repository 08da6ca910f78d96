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
    all_weights,
    divide,
    encode_together,
    naming_lost_processes,
    total_rows,
)
from jaxtree.estimators.sample import Sample
from jaxtree.growth.grow import grow_completely
from jaxtree.table.codes import pad_codes
from jaxtree.table.target import check_same_length
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
    _check_parameters(estimator)
    worker: Any = clone(estimator)
    with naming_lost_processes():
        X, y, sample_weight = worker._open(X, y, sample_weight)
        target, num_classes = worker._read_target_of_all(y)
        weight = check_sample_weight(sample_weight, target.shape[1])
        worker.encoder_ = worker._encoder()
        codes = encode_together(worker.encoder_, X, target.shape[1])
        check_same_length(codes.shape[1], target[0])
        worker._set_column_names(worker.schema_.column_names)
        weights, num_rows = all_weights(weight), total_rows(codes.shape[1])
        recipe = worker._recipe(num_rows, weights)
        sample = EncodedSample(codes, worker.schema_, target, num_classes, weight, recipe)
        grown = _grow_divided(sample, weights, num_rows, mesh)
    worker._finish(grown, FitStart(Sample(X, target, num_classes, weight), sample, None, None))
    vars(estimator).update(vars(worker))
    return estimator


def _check_parameters(estimator: Any) -> None:
    estimator._check_parameters()
    if not estimator._fits_in_processes:
        raise InvalidInputError(
            f"{type(estimator).__name__} is not fitted over several processes; DecisionTreeClassifier and "
            "DecisionTreeRegressor are"
        )
    pruning = estimator.pruning
    if pruning is not None and (pruning.needs_validation or not pruning.is_mask):
        raise InvalidInputError(
            f"over several processes a pruning must follow from the grown tree alone, got {pruning}; prune afterwards "
            "with jaxtree.prune_to"
        )
    if getattr(estimator, "class_weight", None) is not None:
        raise InvalidInputError(
            f"class_weight must be None over several processes, got {estimator.class_weight!r}; pass sample_weight"
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
