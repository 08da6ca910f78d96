"""Walks of rows from the root of a tree to the nodes where they end, by the steps of `jaxtree.kernels.walk`."""

import numpy as np
from jaxtyping import Bool, Float, Int32, Real, UInt

from jaxtree.arrays import AnyArray, IntLike, OptionalArray, concrete_or_none, is_traced, library_of, where
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.walk import GeneralSplits, SplitKind, Steps, next_node, take, walk, walk_codes, with_step
from jaxtree.lazy import Array, jax, jnp
from jaxtree.tree.checks import check_codes_of, check_features_of, check_mask
from jaxtree.tree.nodes import NodeFields, class_shares, pad_nodes
from jaxtree.tree.subsets import SharedSubsets


def apply(
    tree: NodeFields, codes: UInt[AnyArray, "feature row"], collapsed: Bool[AnyArray, " node"] | None = None
) -> Int32[Array, " row"]:
    """Returns the node where the walk of every row from node 0 ends.

    A walk ends at a leaf, at a collapsed node, or where the split has no branch for the row's code.

    Raises:
        InvalidInputError: The tree splits on a feature that the codes do not have, or `collapsed` does not have one
            value a node.
        InvalidTypeError: Codes are no whole numbers, or `collapsed` holds no booleans.
    """
    check_codes_of(tree, codes)
    if collapsed is not None:
        check_mask(tree, collapsed)
    padded = pad_nodes(tree)
    stops = padded.is_leaf
    if collapsed is not None:
        stops = stops | library_of(collapsed).pad(collapsed, (0, padded.feature.size - collapsed.size))
    steps = _make_steps(padded, padded.code.astype(np.int32), stops, padded.missing_code.astype(np.int32))
    return _walk_codes(steps, _most_steps(padded), codes)


def apply_in_program(tree: NodeFields, codes: UInt[AnyArray, "feature row"], *, engine: Engine) -> Int32[Array, " row"]:
    """Returns what `apply` does of the codes that a tree was grown on, in a program that is being traced."""
    if engine is Engine.XLA:
        return apply(tree, codes)
    columns = (
        *(tree.feature, tree.code, tree.split_kind, tree.missing_code, tree.missing_branch),
        *(tree.first_child, tree.num_children),
    )
    return walk_codes(codes, jnp.stack(columns).astype(jnp.int32), instance_of(Array, tree.subset))


def predict_proba(
    tree: NodeFields,
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
    if not isinstance(output, int | np.integer) or not 0 <= output < len(tree.num_classes):
        raise InvalidInputError(f"output must be one of {len(tree.num_classes)} outputs of classes, got {output}")
    shares, end = class_shares(tree, output), apply(tree, codes, collapsed)
    return jnp.asarray(shares, float)[end] if is_traced(end) else shares[np.asarray(end)]


def apply_to_values(tree: NodeFields, values: Float[AnyArray, "row feature"]) -> Int32[Array, " row"]:
    """Returns the node where the walk of every row from node 0 ends, comparing values with thresholds.

    Args:
        tree: A tree whose thresholds are of the values' type.
        values: Numbers, or the codes of categorical features; NaN is a missing value.

    Raises:
        InvalidInputError: The tree splits on a feature that the values do not have.
    """
    if values.ndim != 2:
        raise InvalidInputError(f"values must have the shape (row, feature), got {values.shape}")
    feature, is_leaf = concrete_or_none(tree.feature), concrete_or_none(tree.is_leaf)
    if feature is not None and is_leaf is not None:
        check_features_of(feature, is_leaf, values.shape[1], "values")
    start = np.zeros(values.shape[0], np.int32)
    padded = pad_nodes(tree)
    with jax.enable_x64(values.dtype == np.float64):
        steps = steps_over_values(padded, padded.threshold)
        return walk_values(steps, _most_steps(padded), values, start)


def steps_over_values(tree: NodeFields, threshold: Real[AnyArray, " node"]) -> Steps:
    """The steps of rows of values, NaN where one is missing.

    Args:
        tree: The tree.
        threshold: Its thresholds in the type of the values.
    """
    limit = where(tree.split_kind == SplitKind.ONE_VS_REST, tree.code.astype(threshold.dtype), threshold)
    return _make_steps(tree, limit, tree.is_leaf, None)


def _make_steps(
    tree: NodeFields, limit: Real[AnyArray, " node"], stops: Bool[AnyArray, " node"], missing_code: OptionalArray
) -> Steps:
    library = library_of(stops, limit, *vars(tree).values())
    is_plain = library is np and _all_thresholds(tree)
    greatest = np.inf if limit.dtype.kind == "f" else np.iinfo(np.int32).max
    question = 2 * library.maximum(tree.feature, 0) + (tree.missing_branch == 1)  # a leaf may have a mark for a feature
    number = library.arange(stops.shape[0], dtype=np.int32)
    # Where a walk stops stands a threshold split without branches, so that no negative value is taken for a branch.
    other = (library.where(stops, 0, column) for column in (tree.split_kind, tree.num_children, tree.missing_branch))
    subset = tree.subset
    words, row = (subset.words, subset.row) if isinstance(subset, SharedSubsets) else (subset, None)
    return Steps(
        question=library.where(stops, 0, question).astype(np.int32),
        limit=library.where(stops, library.asarray(greatest, limit.dtype), limit),
        child=library.where(stops, number, tree.first_child).astype(np.int32),
        missing_code=None if missing_code is None else library.where(stops, -1, missing_code),
        other=None if is_plain else GeneralSplits(*(column.astype(np.int32) for column in other), words=words, row=row),
    )


def _most_steps(tree: NodeFields) -> IntLike:
    """The depth of a tree: steps after which every walk has ended, whatever a traced table holds."""
    return tree.depth.max().clip(max=tree.depth.size).astype(np.int32)


def _all_thresholds(tree: NodeFields) -> bool:
    """Whether every split is a threshold that sends missing values to a branch."""
    is_plain = (tree.split_kind == SplitKind.THRESHOLD) & (tree.num_children == 2)
    is_plain &= (tree.missing_branch == 0) | (tree.missing_branch == 1)
    return bool(np.all(is_plain | tree.is_leaf))


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
        steps: The columns that are read at the nodes.
        depth: The most steps of a walk.
        values: The rows.
        start: Where each begins.
    """
    return with_step(steps, values, lambda step: walk(step, depth, start))
