"""Walks of rows from the root of a tree to the nodes where they end.

The time of a step is that of its reads from memory, so a table of *steps* holds as few arrays as the splits of the tree
allow: three where every split is a threshold. Where a walk stops, a step leads back to the node. A step is written
once, for NumPy and for JAX.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, Real, Shaped, UInt

from jaxtree.arrays import AnyArray, IntLike, OptionalArray, is_traced, library_of
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, present
from jaxtree.tree.checks import check_codes_of, check_features_of, check_mask, known
from jaxtree.tree.nodes import NodeFields, SplitKind, branch_of, class_shares, pad_nodes, where
from jaxtree.tree.subsets import SharedSubsets, Subsets

Read = Callable[[Int[AnyArray, " row"]], Real[AnyArray, " row"]]
"""Returns every row's value of a feature, which differs from row to row."""

Step = Callable[[Int32[AnyArray, " row"]], Int32[AnyArray, " row"]]
"""Returns the nodes after those where rows are."""

T = TypeVar("T")


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
    feature, is_leaf = known(tree.feature), known(tree.is_leaf)
    if feature is not None and is_leaf is not None:
        check_features_of(feature, is_leaf, values.shape[1], "values")
    start = np.zeros(values.shape[0], np.int32)
    padded = pad_nodes(tree)
    with jax.enable_x64(values.dtype == np.float64):
        steps = steps_over_values(padded, padded.threshold)
        return walk_values(steps, _most_steps(padded), values, start)


class OtherSplits(NamedTuple):
    """The columns that are also read where not every split is a threshold whose missing values take a branch.

    Attributes:
        kind: A `SplitKind`.
        num_children: The number of branches; 0 where walks stop.
        missing_branch: The branch of a missing value.
        subset: The words of subsets, see `Tree`.
    """

    kind: Int32[AnyArray, " node"]
    num_children: Int32[AnyArray, " node"]
    missing_branch: Int32[AnyArray, " node"]
    subset: Subsets


class Steps(NamedTuple):
    """The columns that are read at a node.

    Attributes:
        question: Twice the feature, and 1 more if a missing value takes branch 1.
        limit: A value above it takes branch 1 of a threshold split; of one against the rest, the one code.
        child: Where branch 0 leads; the node itself where walks stop.
        missing_code: For rows of codes: the code that means missing, -1, which no row has, where walks stop.
        other: The columns of other splits.
    """

    question: Int32[AnyArray, " node"]
    limit: Real[AnyArray, " node"]
    child: Int32[AnyArray, " node"]
    missing_code: OptionalArray
    other: OtherSplits | None


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
    library = library_of(*jax.tree.leaves((tree, stops)))
    is_plain = library is np and _all_thresholds(tree)
    greatest = np.inf if limit.dtype.kind == "f" else np.iinfo(np.int32).max
    question = 2 * library.maximum(tree.feature, 0) + (tree.missing_branch == 1)  # a leaf may have a mark for a feature
    number = library.arange(stops.shape[0], dtype=np.int32)
    # Where a walk stops stands a threshold split without branches, so that no negative value is taken for a branch.
    other = (library.where(stops, 0, column) for column in (tree.split_kind, tree.num_children, tree.missing_branch))
    return Steps(
        question=library.where(stops, 0, question).astype(np.int32),
        limit=library.where(stops, library.asarray(greatest, limit.dtype), limit),
        child=library.where(stops, number, tree.first_child).astype(np.int32),
        missing_code=None if missing_code is None else library.where(stops, -1, missing_code),
        other=None if is_plain else OtherSplits(*(column.astype(np.int32) for column in other), subset=tree.subset),
    )


def _most_steps(tree: NodeFields) -> IntLike:
    """The depth of a tree: steps after which every walk has ended, whatever a traced table holds."""
    return tree.depth.max().clip(max=tree.depth.size).astype(np.int32)


def _all_thresholds(tree: NodeFields) -> bool:
    """Whether every split is a threshold that sends missing values to a branch."""
    is_plain = (tree.split_kind == SplitKind.THRESHOLD) & (tree.num_children == 2)
    is_plain &= (tree.missing_branch == 0) | (tree.missing_branch == 1)
    return bool(np.all(is_plain | tree.is_leaf))


def next_node(
    steps: Steps, node: Int[AnyArray, " row"], read: Read, *, has_missing: bool = True
) -> Int[AnyArray, " row"]:
    """The node where every row goes from its present one; the same where its walk has ended.

    Args:
        steps: The columns that are read at the nodes.
        node: Where every row is.
        read: Returns every row's value of a feature.
        has_missing: Whether anything may be missing; a compiled step is half as long where nothing is.
    """
    question = take(steps.question, node)
    value = read(question >> 1)
    if steps.other is not None:
        return _through_any_split(steps, node, value)
    is_above = value > take(steps.limit, node)
    if has_missing:
        is_above = where(_is_missing(steps, node, value), (question & 1) == 1, is_above)
    return take(steps.child, node) + is_above.astype(np.int32)


def _through_any_split(
    steps: Steps, node: Int[AnyArray, " row"], value: Real[AnyArray, " row"]
) -> Int[AnyArray, " row"]:
    """The next node where splits are of any kind, and a row may stay at one."""
    other = present(steps.other)
    num_words, node_of_words, words = other.subset.shape[1], node, other.subset
    if isinstance(words, SharedSubsets):
        node_of_words, words = take(words.row, node), words.words
    read_word = (lambda place: take(words, node_of_words, place.clip(max=num_words - 1))) if num_words else None
    branch = branch_of(take(other.kind, node), take(steps.limit, node), value, read_word)
    branch = where(_is_missing(steps, node, value), take(other.missing_branch, node), branch)
    stays = branch >= take(other.num_children, node)
    return where(stays, node, take(steps.child, node) + branch).astype(np.int32)


def _is_missing(steps: Steps, node: Int[AnyArray, " row"], value: Real[AnyArray, " row"]) -> Bool[AnyArray, " row"]:
    return value != value if steps.missing_code is None else value == take(steps.missing_code, node)


def take(values: Shaped[AnyArray, "..."], *place: Int[AnyArray, "..."]) -> Shaped[AnyArray, "..."]:
    """`values[place]` of places that exist."""
    if isinstance(values, np.ndarray):
        return values[place]
    return values.at[place].get(mode="promise_in_bounds", wrap_negative_indices=False)


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


def with_step(steps: Steps, values: Float[Array, "row feature"], use: Callable[[Step], T]) -> T:
    """Calls a function with the step of rows of values: the shorter one where no value is missing.

    Args:
        steps: The columns that are read at the nodes.
        values: The rows.
        use: The function.
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
