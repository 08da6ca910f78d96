"""What a tree or forest predicts as a program of JAX that needs no jaxtree to run."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxtyping import Array, Float32

from jaxtree.errors import InvalidInputError
from jaxtree.export.models import exported_model
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree import ALL_BRANCHES, FittedModel
from jaxtree.tree.predictor import Roots, sum_over_trees
from jaxtree.tree.walk import steps_over_values, walk_values

PLATFORMS = ("cpu", "cuda", "tpu")


def to_jax_export(
    estimator: Any, *, num_rows: int | None = None, platforms: Sequence[str] = PLATFORMS, no_missing: bool = False
) -> export.Exported:
    """Returns the prediction of a fitted tree or forest as a `jax.export.Exported`, whose `serialize()` are bytes.

    It is a function of a float32 table of shape (rows, features), of NaN where a value is missing: what
    `estimator.encoder_.values(X)` returns, the numbers of numeric columns and the codes of the others. It returns the
    place of every row's class and the shares of all classes, or the means, in float32. Walks are those of jaxtree
    itself: thresholds are rounded down, so that every float32 falls on the side where it does there. A CPU may
    take numbers closer to 0 than 1.2e-38 for 0.

    Args:
        estimator: A fitted tree or forest of one output.
        num_rows: The number of rows of a table; None for any number.
        platforms: What it shall run on.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values.

    Raises:
        InvalidInputError: The estimator has several outputs, or shares out rows with missing values.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> data = to_jax_export(DecisionTreeClassifier(max_depth=2).fit(X, y)).serialize()
        >>> place, shares = jax.export.deserialize(data).call(X[:3].astype("float32"))
        >>> place.tolist(), shares.shape
        ([0, 0, 0], (3, 3))
    """
    model = exported_model(estimator)
    nodes = model.forest.nodes
    if not no_missing and (~np.asarray(nodes.is_leaf) & (np.asarray(nodes.missing_branch) == ALL_BRANCHES)).any():
        raise InvalidInputError(
            "the tree shares out rows with missing values among all branches, which this form does not: fit with "
            "missing='learn', or export with no_missing=True for rows that have none"
        )
    most = (2**31 - 1) // model.schema.num_features
    rows = (num_rows,) if num_rows is not None else export.symbolic_shape("rows", constraints=[f"rows <= {most}"])
    table = jax.ShapeDtypeStruct((*rows, model.schema.num_features), jnp.float32)
    return export.export(jax.jit(_function(model)), platforms=list(platforms))(table)


def _function(model: FittedModel) -> Callable[[Float32[Array, "row feature"]], Any]:
    """The prediction as a function of rows of values."""
    nodes, num_trees = model.forest.nodes, len(model.forest)
    steps = jax.tree.map(jnp.asarray, steps_over_values(nodes, round_down_to_float32(nodes.threshold)))
    depth = jnp.full(num_trees, nodes.depth.max(), jnp.int32)
    roots = Roots(jnp.asarray(model.forest.first_node[:-1], jnp.int32), depth, jnp.int32(num_trees))
    node_value = jnp.asarray(model.node_value, jnp.float32)

    def predict(values: Float32[Array, "row feature"]) -> Any:
        if model.node_label is not None:
            end = walk_values(steps, depth[0], values, jnp.zeros(values.shape[0], jnp.int32))
            return jnp.asarray(model.node_label[0], jnp.int32)[end], node_value[end]
        mean = sum_over_trees(steps, roots, node_value, values) / num_trees
        return (jnp.argmax(mean, axis=1).astype(jnp.int32), mean) if model.classes else mean[:, 0]

    return predict
