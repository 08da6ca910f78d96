"""What a tree or forest predicts as a program of JAX that needs no jaxtree to run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jaxtyping import Array, Float32, Int, Int32

from jaxtree.errors import InvalidInputError
from jaxtree.export.questions import SHARED_OUT
from jaxtree.export.spoken import Spoken, spoken
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree.steps import Steps, steps_over_values
from jaxtree.tree.walking import walk_values

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
    said = spoken(estimator)
    for tree in said.trees:
        shares_out = np.asarray(tree.tree.missing_branch)[~np.asarray(tree.tree.is_leaf)] == SHARED_OUT
        if shares_out.any() and not no_missing:
            raise InvalidInputError(
                "the tree shares out rows with missing values among all branches, which this form does not: fit with "
                "missing='learn', or export with no_missing=True for rows that have none"
            )
    most = (2**31 - 1) // said.schema.num_features
    rows = (num_rows,) if num_rows is not None else export.symbolic_shape("rows", constraints=[f"rows <= {most}"])
    table = jax.ShapeDtypeStruct((*rows, said.schema.num_features), jnp.float32)
    return export.export(jax.jit(_function(said)), platforms=list(platforms))(table)


def _function(said: Spoken) -> Callable[[Float32[Array, "row feature"]], Any]:
    """The prediction as a function of rows of values."""
    sizes = [tree.tree.node_count for tree in said.trees]
    roots = jnp.asarray(np.cumsum([0, *sizes[:-1]]), jnp.int32)
    steps, depth = _steps(said, np.asarray(roots)), np.int32(max(tree.tree.max_depth for tree in said.trees))
    shares = jnp.asarray(np.concatenate([tree.shares for tree in said.trees]), jnp.float32)
    labels = said.trees[0].labels

    def predict(values: Float32[Array, "row feature"]) -> Any:
        def ends(root: Int32[Array, ""]) -> Int32[Array, " row"]:
            return walk_values(steps, depth, values, jnp.full(values.shape[0], root, jnp.int32))

        total = jnp.zeros((values.shape[0], shares.shape[1]), jnp.float32)
        total = lax.fori_loop(0, len(sizes), lambda tree, total: total + shares[ends(roots[tree])], total)
        mean = total / len(sizes)
        if said.classes is None:
            return mean[:, 0]
        if labels is None:
            return jnp.argmax(mean, axis=1).astype(jnp.int32), mean
        return jnp.asarray(labels, jnp.int32)[ends(roots[0])], mean

    return predict


def _steps(said: Spoken, roots: Int[np.ndarray, " tree"]) -> Steps:
    """The steps of all trees, one after another."""
    moved = [
        replace(tree.tree, first_child=tree.tree.first_child + root)
        for tree, root in zip(said.trees, roots, strict=True)
    ]
    joined = jax.tree.map(lambda *parts: np.concatenate(parts) if parts[0].ndim else parts[0], *moved)
    return jax.tree.map(jnp.asarray, steps_over_values(joined, round_down_to_float32(joined.threshold)))
