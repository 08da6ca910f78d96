"""Kinds of splits, and the branch that a value takes at each: written once, for NumPy and for JAX."""

import enum
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, Real, Shaped

from jaxtree.arrays import AnyArray


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


CODES_PER_WORD = 32
"""Codes of a subset that one word of bits holds."""

ALL_BRANCHES = 2**30
"""The branch of a missing value that goes to all branches, with a share in each (Quinlan's fractional instances)."""


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


def where(condition: Shaped[AnyArray, "..."], yes, no) -> Shaped[AnyArray, "..."]:
    """`where` of the condition's library."""
    return (np if isinstance(condition, np.ndarray) else jnp).where(condition, yes, no)
