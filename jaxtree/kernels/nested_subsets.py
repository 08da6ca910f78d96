"""Splits by nested subsets of categories, as thresholds.

Subsets of which each holds the one before are a *chain*. The *rank* of a code is the number of a chain's subsets that
have it; so the subset that k others of the chain hold has the codes whose rank is above k. Subsets of a statistic of a
target, see `jaxtree.estimators.common.ordered_categories`, are one chain.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64, UInt, UInt32

from jaxtree.kernels.walk import CODES_PER_WORD, GeneralSplits, SplitKind, Steps

MOST_CHAINS = 64
"""Ranks of a row at most: they share a core's own cache with its values."""

STEPS_A_RANK = 2
"""Steps of a row's walks that are worth a rank, which costs a row about as much as a step."""


class SubsetRanks(NamedTuple):
    """Ranks that rows have besides their values, and the thresholds on them.

    Attributes:
        column: The column of the codes of every rank.
        of_codes: The rank of every code, as many as fill the words of a subset.
        node: The nodes that split by a rank.
        rank: The rank that each compares.
        limit: A rank above it takes branch 1.
    """

    column: Int[np.ndarray, " rank"]
    of_codes: list[UInt32[np.ndarray, " _code"]]
    node: Int64[np.ndarray, " node"]
    rank: Int64[np.ndarray, " node"]
    limit: Int64[np.ndarray, " node"]


def rank_subsets(steps: Steps, is_leaf: Bool[np.ndarray, " node"], num_steps: int) -> SubsetRanks | None:
    """Returns what makes all splits thresholds; None if they are already, or a split is of another kind.

    It is also None if there are too many chains: more than `MOST_CHAINS`, or than a row's walks are worth.

    Args:
        steps: The steps at the nodes.
        is_leaf: The nodes where walks end.
        num_steps: The most steps of a row's walks.
    """
    other = steps.other
    if other is None or not other.words.shape[1] or not _are_binary(other, is_leaf):
        return None
    node = np.flatnonzero(~is_leaf & (other.kind == SplitKind.SUBSET))
    column, row = steps.question[node] >> 1, node if other.row is None else other.row[node]
    most = min(MOST_CHAINS, num_steps // STEPS_A_RANK)
    columns, of_codes, rank, limit = [], [], np.empty(len(node), np.int64), np.empty(len(node), np.int64)
    for own in np.unique(column).tolist():
        at = np.flatnonzero(column == own)
        rows, subset = np.unique(row[at], return_inverse=True)
        words, same = np.unique(_trimmed(other.words[rows]), axis=0, return_inverse=True)
        subset, found = same.reshape(-1)[subset], chains_of(words, most - len(columns))
        if found is None:
            return None
        for number, chain in enumerate(found):
            above = np.full(len(words), -1)
            above[chain] = np.arange(len(chain))[::-1]
            is_own = above[subset] >= 0
            rank[at[is_own]], limit[at[is_own]] = len(columns) + number, above[subset[is_own]]
        of_codes += [_bits_of(words[chain]).sum(axis=0, dtype=np.uint32) for chain in found]
        columns += [own] * len(found)
    return SubsetRanks(np.array(columns, np.int64), of_codes, node, rank, limit)


def chains_of(words: UInt[np.ndarray, "subset word"], most: int) -> list[list[int]] | None:
    """Divides different subsets into chains, and returns the places of each, smallest first; None if there are more.

    A subset goes behind the largest that it holds, of those that nothing is behind yet.

    >>> chains_of(np.array([[1], [7], [3], [12]], np.uint32), most=2)
    [[0, 2, 1], [3]]
    """
    size = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    order = np.argsort(size, kind="stable")
    ordered = words[order]
    if not (ordered[:-1] & ~ordered[1:]).any():
        return [order.tolist()] if most >= 1 else None
    chains: list[list[int]] = []
    last = np.zeros((0, words.shape[1]), words.dtype)
    for place in order.tolist():
        held = np.flatnonzero(~(last & ~words[place]).any(axis=1))
        if not len(held):
            if len(chains) == most:
                return None
            chains.append([place])
            last = np.append(last, words[place][None], axis=0)
            continue
        largest = int(held[np.argmax(size[[chains[own][-1] for own in held]])])
        chains[largest].append(place)
        last[largest] = words[place]
    return chains


def _are_binary(other: GeneralSplits, is_leaf: Bool[np.ndarray, " node"]) -> bool:
    """Whether all splits are thresholds or subsets that send missing values to a branch."""
    is_kind = (other.kind == SplitKind.THRESHOLD) | (other.kind == SplitKind.SUBSET)
    is_binary = (other.num_children == 2) & (other.missing_branch >= 0) & (other.missing_branch <= 1)
    return bool(np.all(is_leaf | (is_kind & is_binary)))


def _trimmed(words: UInt[np.ndarray, "subset word"]) -> UInt[np.ndarray, "subset _word"]:
    """The words up to the first behind which all subsets have none: it answers for all codes behind it."""
    used = np.flatnonzero(words.any(axis=0))
    return words[:, : (used[-1] + 2 if len(used) else 1)]


def _bits_of(words: UInt[np.ndarray, "subset word"]) -> Int32[np.ndarray, "subset code"]:
    """Whether each subset has each code: 0 or 1."""
    bits = words[:, :, None] >> np.arange(CODES_PER_WORD, dtype=words.dtype) & 1
    return bits.reshape(len(words), -1).astype(np.int32)
