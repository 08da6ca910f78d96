"""One step of a walk: what is read at a node, and where a row goes from there.

The time of a step is that of its reads from memory, so a table of *steps* holds as few arrays as the splits of the tree
allow: three where every split is a threshold. Where a walk stops, a step leads back to the node.

A step is written once, for NumPy and for JAX.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, Int32, Real, Shaped, UInt

from jaxtree.arrays import AnyArray, OptionalArray
from jaxtree.buckets import node_bucket
from jaxtree.tree.nodes import CODES_PER_WORD, SplitKind, Tree

NO_CODE = -1
"""A code that no row has."""

Read = Callable[[Int[AnyArray, " row"]], Real[AnyArray, " row"]]
"""Returns what every row has of the feature that it is asked for."""


class OtherSplits(NamedTuple):
    """What is read besides where not every split is a threshold whose missing values take a branch.

    Attributes:
        kind: A `SplitKind`.
        num_children: The number of branches; 0 where walks stop.
        missing_branch: The branch of a missing value.
        subset: The words of subsets, see `Tree`.
    """

    kind: Int32[AnyArray, " node"]
    num_children: Int32[AnyArray, " node"]
    missing_branch: Int32[AnyArray, " node"]
    subset: UInt[AnyArray, "node word"]


class Steps(NamedTuple):
    """What is read at a node.

    Attributes:
        question: Twice the feature, and 1 more if a missing value takes branch 1.
        limit: A value above it takes branch 1 of a threshold split; of one against the rest, the one code.
        child: Where branch 0 leads; the node itself where walks stop.
        missing_code: For rows of codes: the code that means missing, `NO_CODE` where that is no matter.
        other: What other splits read.
    """

    question: Int32[AnyArray, " node"]
    limit: Real[AnyArray, " node"]
    child: Int32[AnyArray, " node"]
    missing_code: OptionalArray
    other: OtherSplits | None

    @property
    def feature(self) -> Int32[AnyArray, " node"]:
        """The feature that is asked for at every node."""
        return self.question >> 1


def steps_over_values(tree: Tree, threshold: Real[AnyArray, " node"]) -> Steps:
    """The steps of rows of values, NaN where one is missing.

    Args:
        tree: The tree.
        threshold: Its thresholds in the type of the values.
    """
    library = _library(tree)
    limit = library.where(tree.split_kind == SplitKind.ONE_VS_REST, tree.code.astype(threshold.dtype), threshold)
    return _make_steps(tree, limit, tree.is_leaf, None)


def steps_over_codes(tree: Tree, collapsed: Bool[AnyArray, " node"] | None = None) -> Steps:
    """The steps of rows of codes.

    Args:
        tree: The tree.
        collapsed: Where walks stop besides the leaves.
    """
    stops = tree.is_leaf if collapsed is None else tree.is_leaf | collapsed
    return _make_steps(tree, tree.code.astype(np.int32), stops, tree.missing_code.astype(np.int32))


def _make_steps(
    tree: Tree, limit: Real[AnyArray, " node"], stops: Bool[AnyArray, " node"], missing_code: OptionalArray
) -> Steps:
    library = _library(tree, stops)
    greatest = np.inf if limit.dtype.kind == "f" else np.iinfo(np.int32).max
    question = 2 * library.maximum(tree.feature, 0) + (tree.missing_branch == 1)  # a leaf may have a mark for a feature
    number = library.arange(stops.shape[0], dtype=np.int32)
    return Steps(
        question=library.where(stops, 0, question).astype(np.int32),
        limit=library.where(stops, library.asarray(greatest, limit.dtype), limit),
        child=library.where(stops, number, tree.first_child).astype(np.int32),
        missing_code=None if missing_code is None else library.where(stops, NO_CODE, missing_code),
        other=None if _all_thresholds(tree) else _other_splits(tree, stops),
    )


def _other_splits(tree: Tree, stops: Bool[AnyArray, " node"]) -> OtherSplits:
    library = _library(tree, stops)
    # Where a walk stops stands a threshold split without branches, so that no negative value is taken for a branch.
    columns = (library.where(stops, 0, column) for column in (tree.split_kind, tree.num_children, tree.missing_branch))
    return OtherSplits(*(column.astype(np.int32) for column in columns), subset=tree.subset)


def _all_thresholds(tree: Tree) -> bool:
    """Whether every split is a threshold, and sends missing values to a branch; False if the tree is traced."""
    if _library(tree) is jnp:
        return False
    is_plain = (tree.split_kind == SplitKind.THRESHOLD) & (tree.num_children == 2)
    is_plain &= (tree.missing_branch == 0) | (tree.missing_branch == 1)
    return bool(np.all(is_plain | tree.is_leaf))


def _library(*parts) -> ModuleType:
    """NumPy for what is on the host alone, else JAX's."""
    return np if all(isinstance(part, np.ndarray) for part in jax.tree.leaves(parts)) else jnp


def pad_steps(steps: Steps) -> Steps:
    """Returns steps on the host padded to a bucket of nodes, so that trees of a like size share compiled programs."""
    size = steps.child.size
    padding = node_bucket(size) - size
    return jax.tree.map(lambda x: np.pad(x, [(0, padding)] + [(0, 0)] * (x.ndim - 1)), steps)


def next_node(
    steps: Steps, node: Int[AnyArray, " row"], read: Read, *, has_missing: bool = True
) -> Int[AnyArray, " row"]:
    """The node where every row goes from its present one; the same where its walk has ended.

    Args:
        steps: What is read at the nodes.
        node: Where every row is.
        read: Returns what every row has of the feature that it is asked for.
        has_missing: Whether anything may be missing; a compiled step is half as long where nothing is.
    """
    question = take(steps.question, node)
    value = read(question >> 1)
    if steps.other is not None:
        return _through_any_split(steps, node, value)
    is_above = value > take(steps.limit, node)
    if has_missing:
        is_above = _where(_is_missing(steps, node, value), (question & 1) == 1, is_above)
    return take(steps.child, node) + is_above.astype(np.int32)


def _through_any_split(
    steps: Steps, node: Int[AnyArray, " row"], value: Real[AnyArray, " row"]
) -> Int[AnyArray, " row"]:
    """The next node where splits are of any kind, and a row may stay at one."""
    other = steps.other
    assert other is not None
    kind, limit, is_missing = take(other.kind, node), take(steps.limit, node), _is_missing(steps, node, value)
    is_threshold = kind == SplitKind.THRESHOLD
    code = _where(is_missing | is_threshold, 0, value).astype(np.int32)  # a number may be none that a code could be
    branch = _where(is_threshold, value > limit, value == limit).astype(np.int32)
    branch = _where(kind == SplitKind.MULTIWAY, code, branch)
    num_words = other.subset.shape[1]
    if num_words:
        word = take(other.subset, node, (code // CODES_PER_WORD).clip(max=num_words - 1))
        member = (word >> (code % CODES_PER_WORD).astype(word.dtype)) & 1
        branch = _where(kind == SplitKind.SUBSET, member.astype(np.int32), branch)
    branch = _where(is_missing, take(other.missing_branch, node), branch)
    stays = branch >= take(other.num_children, node)
    return _where(stays, node, take(steps.child, node) + branch).astype(np.int32)


def _is_missing(steps: Steps, node: Int[AnyArray, " row"], value: Real[AnyArray, " row"]) -> Bool[AnyArray, " row"]:
    return value != value if steps.missing_code is None else value == take(steps.missing_code, node)


def take(values: Shaped[AnyArray, "..."], *place: Int[AnyArray, "..."]) -> Shaped[AnyArray, "..."]:
    """`values[place]` of places that exist."""
    if isinstance(values, np.ndarray):
        return values[place]
    return values.at[place].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _where(condition: Bool[AnyArray, " row"], yes, no) -> Shaped[AnyArray, " row"]:
    return (np if isinstance(condition, np.ndarray) else jnp).where(condition, yes, no)
