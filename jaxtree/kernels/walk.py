"""A step of a walk from node to node, written once for NumPy and for JAX, and walks of codes by the kernel in C++.

The time of a step is that of its reads from memory, so a table of *steps* holds as few arrays as the splits of the tree
allow: three where every split is a threshold. Where a walk stops, a step leads back to the node.
"""

import enum
import functools
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Real, Shaped, UInt

from jaxtree.arrays import AnyArray, IntLike, OptionalArray, where
from jaxtree.errors import present
from jaxtree.lazy import Array, jax, jnp, lax

CODES_PER_WORD = 32
"""Codes of a subset that one word of bits holds."""

Read = Callable[[Int[AnyArray, " row"]], Real[AnyArray, " row"]]
"""Returns every row's value of a feature, which differs from row to row."""

Step = Callable[[Int32[AnyArray, " row"]], Int32[AnyArray, " row"]]
"""Returns the nodes after those where rows are."""

T = TypeVar("T")


class SplitKind(enum.IntEnum):
    """How a split sends a code to a branch; a missing value has a branch of its own choice, `Tree.missing_branch`.

    THRESHOLD: codes up to the split's code go to branch 0, larger ones to branch 1.
    MULTIWAY: every code has the branch of its number; a code past the branches stays at the node.
    ONE_VS_REST: the split's code goes to branch 1, every other to branch 0.
    SUBSET: the codes of the split's subset go to branch 1, every other to branch 0.
    """

    THRESHOLD = 0
    MULTIWAY = 1
    ONE_VS_REST = 2
    SUBSET = 3


class GeneralSplits(NamedTuple):
    """The columns that are also read where not every split is a threshold whose missing values take a branch.

    Attributes:
        kind: A `SplitKind`.
        num_children: The number of branches; 0 where walks stop.
        missing_branch: The branch of a missing value.
        words: The words of subsets, see `Tree`: a row a node, or one that many nodes share.
        row: The row of `words` that every node has where they are shared; None where each has its own.
    """

    kind: Int32[AnyArray, " node"]
    num_children: Int32[AnyArray, " node"]
    missing_branch: Int32[AnyArray, " node"]
    words: UInt[AnyArray, "subset word"]
    row: OptionalArray


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
    other: GeneralSplits | None


def branch_of(
    kind: Int[AnyArray, "..."],
    limit: Real[AnyArray, "..."],
    value: Real[AnyArray, "..."],
    read_word: Callable[[AnyArray], AnyArray] | None,
) -> Int[AnyArray, "..."]:
    """The branch that every known value takes at its split.

    Args:
        kind: The `SplitKind`.
        limit: A value above it takes branch 1 of a threshold split; of one against the rest, the one code.
        value: A number, or the code of a category.
        read_word: Reads the words of subsets, given the place of each; None if no split has a subset.
    """
    is_threshold = kind == SplitKind.THRESHOLD
    branch = where(is_threshold, value > limit, value == limit).astype(np.int32)
    is_number = value.dtype.kind == "f"  # which may be none that a code could be
    code = (where(is_threshold | (value != value), 0, value) if is_number else value).astype(np.int32)
    branch = where(kind == SplitKind.MULTIWAY, code, branch)
    if read_word is not None:
        word = read_word(code // CODES_PER_WORD)
        member = (word >> (code % CODES_PER_WORD).astype(word.dtype)) & 1
        branch = where(kind == SplitKind.SUBSET, member.astype(np.int32), branch)
    return branch


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
    num_words, row = other.words.shape[1], node if other.row is None else take(other.row, node)
    read_word = (lambda place: take(other.words, row, place.clip(max=num_words - 1))) if num_words else None
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


def walk_codes(
    codes: UInt[Array, "feature row"], columns: Int32[Array, "7 node"], words: UInt[Array, "node word"]
) -> Int32[Array, " row"]:
    """Returns the nodes where the walks of rows of codes end, by the kernel in a program; see native/src/walk/codes.cc.

    Args:
        codes: The codes of the rows.
        columns: The feature, code, kind of split, missing code, missing branch, first child and number of children of
            every node.
        words: The words of the subsets of nodes.
    """
    end = jax.ShapeDtypeStruct(codes.shape[1:], jnp.int32)
    return jax.ffi.ffi_call("jaxtree_walk_codes", end, vmap_method="expand_dims")(codes, columns, words)
