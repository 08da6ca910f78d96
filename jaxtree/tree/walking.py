"""Walks of rows from the root of a tree to the nodes where they end."""

import functools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Int32, UInt

from jaxtree.arrays import AnyArray, IntLike
from jaxtree.errors import InvalidInputError
from jaxtree.programs import compiled
from jaxtree.tree.nodes import CODES_PER_WORD, SplitKind, Tree, class_shares, output_counts, pad_nodes
from jaxtree.tree.steps import Read, Steps, next_node, steps_over_codes, steps_over_values, take

T = TypeVar("T")
Step = Callable[[Int32[AnyArray, " row"]], Int32[AnyArray, " row"]]
"""Returns the nodes after those where rows are."""


def apply(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    collapsed: Bool[AnyArray, " node"] | None = None,
) -> Int32[Array, " row"]:
    """Returns the node where the walk of every row from node 0 ends.

    A walk ends at a leaf, at a collapsed node, or where the split has no branch for the row's code.

    Raises InvalidInputError if the tree splits on a feature that the codes do not have.
    """
    padded = pad_nodes(tree)
    if isinstance(padded.feature, np.ndarray) and np.max(padded.feature) >= len(codes):
        raise InvalidInputError(
            f"the tree splits on feature {np.max(padded.feature)}, got codes of {len(codes)} features"
        )
    if collapsed is not None and collapsed.shape != padded.feature.shape:
        library = jnp if isinstance(collapsed, jax.Array) else np
        collapsed = library.pad(collapsed, (0, padded.feature.size - collapsed.size))
    return _walk_codes(steps_over_codes(padded, collapsed), _greatest_depth(padded), codes)


def predict_proba(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    collapsed: Bool[AnyArray, " node"] | None = None,
    *,
    output: int = 0,
) -> Float[AnyArray, "row class"]:
    """Returns the share of every class at the node where the walk of every row ends, as `apply` finds it.

    The share of a class is its part of the training weight at the node, or of a node without any, at its parent.

    Args:
        tree: A tree of classes.
        codes: The codes of the rows.
        collapsed: Where walks stop besides the leaves.
        output: The target whose classes are meant, if the tree has several.

    Returns:
        On the host in float64, or JAX's arrays if anything is traced.

    Raises:
        InvalidInputError: The tree has no such output, or splits on a feature that the codes do not have.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> estimator = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 1, 0])
        >>> predict_proba(estimator.tree_, estimator.encode([[1.0], [4.0]])).round(2)
        array([[1.  , 0.  ],
               [0.33, 0.67]])
    """
    if not 0 <= output < len(tree.num_classes):
        raise InvalidInputError(f"output must be one of {len(tree.num_classes)} outputs of classes, got {output}")
    end = apply(tree, codes, collapsed)
    if not isinstance(end, Tracer):
        return class_shares(tree, output)[np.asarray(end)]
    count = output_counts(tree, output)
    weight = jnp.asarray(tree.weight)[:, None]
    share = jnp.where(weight > 0, count / jnp.where(weight > 0, weight, 1), 0)
    return jnp.where(weight > 0, share, share[tree.parent])[end]


def apply_to_values(
    tree: Tree, values: Float[AnyArray, "row feature"], start: Int32[AnyArray, " row"] | None = None
) -> Int32[Array, " row"]:
    """Returns the node where the walk of every row ends, comparing values with thresholds.

    Args:
        tree: A tree whose thresholds are of the values' type.
        values: Numbers, or the codes of categorical features; NaN is a missing value.
        start: Where every walk begins; node 0 if not given.
    """
    start = np.zeros(values.shape[0], np.int32) if start is None else start
    padded = pad_nodes(tree)
    with jax.enable_x64(values.dtype == np.float64):
        return walk_values(steps_over_values(padded, padded.threshold), _greatest_depth(padded), values, start)


@compiled()
def _walk_codes(steps: Steps, depth: IntLike, codes: UInt[AnyArray, "feature row"]) -> Int32[Array, " row"]:
    """The nodes where rows of codes end."""
    row = jnp.arange(codes.shape[1], dtype=jnp.int32)
    start = jnp.zeros(codes.shape[1], jnp.int32)
    return walk(lambda node: next_node(steps, node, lambda feature: take(codes, feature, row)), depth, start)


@compiled()
def walk_values(
    steps: Steps, depth: IntLike, values: Float[AnyArray, "row feature"], start: Int32[AnyArray, " row"]
) -> Int32[Array, " row"]:
    """The nodes where rows of values end that start at given nodes.

    Args:
        steps: What is read at the nodes.
        depth: The most steps of a walk.
        values: The rows.
        start: Where each begins.
    """
    return with_step(steps, values, lambda step: walk(step, depth, start))


def with_step(steps: Steps, values: Float[Array, "row feature"], use: Callable[[Step], T]) -> T:
    """Calls a function with the step of rows of values: the shorter one where no value is missing.

    Args:
        steps: What is read at the nodes.
        values: The rows.
        use: Makes of a step what is wanted.
    """
    read = _reader(values)
    step = functools.partial(next_node, steps, read=read)
    if steps.other is not None:
        return use(step)
    known = functools.partial(step, has_missing=False)
    return lax.cond(jnp.isnan(values).any(), lambda: use(step), lambda: use(known))


def walk(step: Step, depth: IntLike, start: Int32[AnyArray, " row"]) -> Int32[Array, " row"]:
    """Moves every row one level at a time; those that have ended stay where they are.

    Args:
        step: Returns the nodes after those where the rows are.
        depth: The most steps.
        start: Where every row begins.
    """
    # Two steps a round save half of what the loop itself costs.
    return lax.fori_loop(0, (depth + 1) // 2, lambda _, node: step(step(node)), start)


def _reader(values: Float[Array, "row feature"]) -> Read:
    """Reads a feature of every row; in one dimension, which is faster, as far as 32 bits reach."""
    num_rows, num_features = values.shape
    row = jnp.arange(num_rows, dtype=jnp.int32)
    if values.size >= 2**31:
        return lambda feature: take(values, row, feature)
    flat, first = values.reshape(-1), row * num_features
    return lambda feature: take(flat, first + feature)


def _greatest_depth(tree: Tree) -> IntLike:
    """The depth of the deepest node, as an array, so that no program depends on it."""
    library = np if isinstance(tree.depth, np.ndarray) else jnp
    return library.max(tree.depth).astype(np.int32)


def branch_of_code(
    tree: Tree, node: Int32[Array, " row"], code: Int32[Array, " row"], *, has_missing: bool = True
) -> Int[Array, " row"]:
    """The branch that a code takes at a node's split; see `SplitKind`.

    Args:
        tree: The tree.
        node: The node where every row is.
        code: The row's code of the node's feature.
        has_missing: Whether any code may mean missing.
    """
    kind, split_code = tree.split_kind[node], tree.code[node]
    branch = jnp.where(kind == SplitKind.THRESHOLD, code > split_code, code == split_code).astype(jnp.int32)
    branch = jnp.where(kind == SplitKind.MULTIWAY, code, branch)
    if tree.subset.shape[-1]:
        word = tree.subset.at[node, code // CODES_PER_WORD].get(mode="clip")
        member = (word >> (code % CODES_PER_WORD).astype(word.dtype)) & 1
        branch = jnp.where(kind == SplitKind.SUBSET, member.astype(jnp.int32), branch)
    if has_missing:
        branch = jnp.where(code == tree.missing_code[node], tree.missing_branch[node], branch)
    return branch


def ancestors(tree: Tree) -> scipy.sparse.csr_matrix:
    """Which nodes (columns) lie on the path from its root to every node (rows), itself included."""
    number = np.arange(tree.node_count)
    node, pairs = number, [(number, number)]
    while np.any(tree.parent[node] != node):
        below = tree.depth[node] > 0
        number, node = number[below], tree.parent[node[below]]
        pairs.append((number, node))
    row, column = (np.concatenate(part) for part in zip(*pairs, strict=True))
    shape = (tree.node_count, tree.node_count)
    return scipy.sparse.csr_matrix((np.ones(row.size, np.int64), (row, column)), shape=shape)
