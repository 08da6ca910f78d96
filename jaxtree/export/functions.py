"""The prediction of a fitted tree or forest as a pure function of parameters, a pytree, and rows of values."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int32

from jaxtree.export.jax_walks import MeanOfParts, mean_of_shared_rows, most_probable
from jaxtree.kernels.walk import take, with_step
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree.link import ratios
from jaxtree.tree.model import FittedModel
from jaxtree.tree.predictor import Roots, for_trees
from jaxtree.tree.walk import steps_over_values, walk_values


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class TreeParameters:
    """The parameters of a fitted tree or forest, a pytree.

    Attributes:
        value: Floats [node, column]: the prediction of every node, or its change of the scores times the number of
            trees. Predictions can be differentiated by them.
        steps: The `Steps` of walks: the splits, by which they can not.
        root: The root of every tree.
        depth: The most steps of a walk.
    """

    # Not of the types above: pytrees are also made of axes, of derivatives and of nothing.
    value: Any
    steps: Any
    root: Any
    depth: Any

    def __repr__(self) -> str:
        """The sizes in a line."""
        number, (nodes, columns) = self.root.shape[-1], self.value.shape[-2:]
        return f"TreeParameters(trees: {number}, nodes: {nodes}, columns: {columns})"


class RowAnswer(NamedTuple):
    """The prediction of rows.

    Attributes:
        numbers: The shares of classes, the outputs side by side, or the numbers.
        scores: The scores that these follow from; None of models that have none.
        label: The place of every output's class; None of numbers.
    """

    numbers: Float[Array, "row column"]
    scores: Float[Array, "row score"] | None = None
    label: Int32[Array, "output row"] | None = None


Function = Callable[[Any, Float[Array, "row feature"]], RowAnswer]
"""The prediction of rows of values by parameters."""


def function_of(
    model: FittedModel, planes: Callable[..., Any] | None, *, dtype: Any, shares_out: bool
) -> tuple[TreeParameters, Function]:
    """Returns the parameters of a model, and the function that predicts by them.

    Thresholds of 32 bits are rounded down, so that every number of 32 bits falls on the side where it does in 64.

    Args:
        model: The model.
        planes: The function from rows to the planes that splits compare with 0; None where these are along the axes.
        dtype: The type of floats.
        shares_out: Whether rows whose value is missing may be shared out among branches.
    """
    nodes, num_trees = model.forest.nodes, len(model.forest)
    double = np.asarray(nodes.threshold)
    steps = steps_over_values(nodes, round_down_to_float32(double) if dtype == np.float32 else double)
    parameters = TreeParameters(
        jnp.asarray(model.node_value, dtype),
        jax.tree.map(jnp.asarray, steps),
        jnp.asarray(model.forest.first_node[:-1], np.int32),
        jnp.int32(nodes.depth.max()),
    )
    mean_of_parts = mean_of_shared_rows(model.forest) if shares_out else None

    def predict(parameters: TreeParameters, values: Float[Array, "row feature"]) -> RowAnswer:
        values = lax.stop_gradient(values.astype(dtype))
        values = values if planes is None else planes(values).astype(dtype)
        if mean_of_parts is not None:
            return _of_parts(model, mean_of_parts, parameters.value, values)
        if model.node_label is not None or not model.averages_trees:
            start = jnp.zeros(values.shape[0], np.int32)
            end = walk_values(parameters.steps, parameters.depth, values, start)
            label = None if model.node_label is None else jnp.asarray(model.node_label, np.int32)[:, end]
            return RowAnswer(parameters.value[end], label=label)
        return _answer_of_mean(model, _sum_over_trees(parameters, values) / num_trees)

    return parameters, predict


def _sum_over_trees(parameters: TreeParameters, values: Float[Array, "row feature"]) -> Float[Array, "row column"]:
    """The sum of the values of the nodes where rows end, differentiable by these."""
    value, num_trees = parameters.value, parameters.root.shape[0]
    depth = jnp.broadcast_to(parameters.depth, (num_trees,))

    def sum_trees(step: Any) -> Any:
        add = lambda _, end, sums: sums + take(value, end)  # noqa: E731
        blank = jnp.zeros((values.shape[0], value.shape[1]), value.dtype)
        return for_trees(add, step, Roots(parameters.root, depth, num_trees), values.shape[0], blank)

    return with_step(parameters.steps, values, sum_trees)


def _answer_of_mean(model: FittedModel, mean: Float[Array, "row column"]) -> RowAnswer:
    """The answer of a forest, or of trees that add up to scores."""
    if model.link is None:
        label = [jnp.argmax(own, axis=1) for own in split_outputs(model, mean)]
        return RowAnswer(mean, label=jnp.stack(label).astype(np.int32) if label else None)
    predicted = model.link.predict(mean.T).T
    scores = ratios(mean.T).T if model.is_ratio else mean
    if model.link.classes is None:
        return RowAnswer(predicted, scores)
    shares = jnp.concatenate([1 - predicted, predicted], axis=1) if predicted.shape[1] == 1 else predicted
    return RowAnswer(shares, scores, jnp.argmax(shares, axis=1).astype(np.int32)[None])


def _of_parts(
    model: FittedModel,
    mean_of: Callable[..., MeanOfParts],
    value: Float[Array, "node column"],
    rows: Float[Array, "row feature"],
) -> RowAnswer:
    """The answer of trees that share out rows with missing values."""
    label = jnp.zeros((value.shape[0], 0)) if model.node_label is None else jnp.asarray(model.node_label).T
    found = mean_of(jnp.concatenate([value, label.astype(value.dtype)], axis=1), rows)
    mean, own = found.mean[:, : value.shape[1]], jnp.round(found.mean[:, value.shape[1] :]).astype(np.int32).T
    if model.node_label is None:
        return _answer_of_mean(model, mean)
    pairs = zip(split_outputs(model, mean), model.class_order, strict=True)
    shared = jnp.stack([most_probable(shares, order) for shares, order in pairs])
    return RowAnswer(mean, label=jnp.where(found.is_shared, shared, own))


def split_outputs(model: FittedModel, values: Float[Array, "row column"]) -> list[Float[Array, "row _class"]]:
    """The shares of the classes of every output; none of numbers."""
    ends = np.cumsum([len(names) for names in model.classes]).tolist()
    return [values[:, first:end] for first, end in zip([0, *ends], ends, strict=False)]
