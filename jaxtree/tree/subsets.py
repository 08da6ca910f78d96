"""Subsets of codes, as bits of words: one a node, or one that many nodes share.

Columns of many categories have few different subsets, each of thousands of words, in trees of many nodes.
"""

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Int, Shaped, UInt, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.kernels.walk import CODES_PER_WORD
from jaxtree.lazy import register_dataclass


@register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class SharedSubsets:
    """The subsets of nodes that share them; it is read like the array of (node, word) that it stands for.

    Attributes:
        row: The row of `words` that every node has.
        words: Different subsets.

    Example:
        >>> shared = SharedSubsets(np.array([1, 0, 1]), np.array([[1], [6]], np.uint32))
        >>> shared.shape, shared[2, 0].item(), np.asarray(shared[:2]).tolist()
        ((3, 1), 6, [[6], [1]])
    """

    row: Int[AnyArray, " node"]
    words: UInt[AnyArray, "subset word"]

    @classmethod
    def of(cls, subset: "UInt[np.ndarray, 'node word'] | SharedSubsets") -> "SharedSubsets":
        """Returns subsets, of which equal ones are shared."""
        if isinstance(subset, SharedSubsets):
            return subset
        if not subset.shape[1]:
            return cls(np.zeros(len(subset), np.int32), np.zeros((1, 0), np.uint32))
        words, row = np.unique(subset, axis=0, return_inverse=True)
        return cls(row.reshape(-1).astype(np.int32), words)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of nodes and of words."""
        return self.row.shape[0], self.words.shape[1]

    @property
    def ndim(self) -> int:
        """Nodes and words are two axes."""
        return 2

    @property
    def dtype(self) -> np.dtype:
        """The type of words."""
        return self.words.dtype

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.row)

    def __getitem__(self, place: Any) -> Any:
        """Returns some nodes, the words of one, or words of some: `array[place]`."""
        if isinstance(place, tuple):
            node, word = place
            return self.words[self.row[node], word]
        row = self.row[place]
        return SharedSubsets(row, self.words) if np.ndim(row) else self.words[row]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Shaped[np.ndarray, "node word"]:
        """The words of every node."""
        return np.asarray(self.words)[np.asarray(self.row)].astype(dtype or self.dtype, copy=False)

    def without_unused(self) -> "SharedSubsets":
        """Returns the same without subsets that no node has."""
        used, row = np.unique(self.row, return_inverse=True)
        return SharedSubsets(row.reshape(-1).astype(np.int32), self.words[used])


Subsets: TypeAlias = UInt[AnyArray, "*tree node word"] | SharedSubsets
"""The words of the subsets of nodes."""


def map_columns(function: Any, *tables: Any) -> Any:
    """Returns a table whose columns a function makes of those of tables of nodes; shared subsets are one."""
    made = {}
    for field in dataclasses.fields(tables[0]):
        if not field.metadata.get("static"):
            made[field.name] = function(*map(operator.attrgetter(field.name), tables))
    return dataclasses.replace(tables[0], **made)


def on_host(column: Any) -> Any:
    """Returns a column of a table of nodes in NumPy."""
    if isinstance(column, SharedSubsets):
        return SharedSubsets(np.asarray(column.row), np.asarray(column.words))
    return np.asarray(column)


def words_of_subsets(is_member: Bool[np.ndarray, "node code"]) -> UInt32[np.ndarray, "node word"]:
    """Returns subsets of codes as bits: `NodeFields.subset`."""
    num_words = -(-is_member.shape[1] // CODES_PER_WORD)
    packed = np.packbits(is_member, axis=1, bitorder="little")
    padded = np.zeros((len(packed), num_words * CODES_PER_WORD // 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u4").astype(np.uint32, copy=False)


def join_subsets(parts: Sequence[UInt[np.ndarray, "_node _word"] | SharedSubsets]) -> Subsets:
    """Puts the subsets of some nodes behind those of others; all become as wide as the widest.

    >>> parts = np.array([[1]], np.uint32), np.array([[2, 3]], np.uint32)
    >>> join_subsets(parts).tolist()
    [[1, 0], [2, 3]]
    """
    width = max(part.shape[1] for part in parts)
    if not any(isinstance(part, SharedSubsets) for part in parts):
        return np.concatenate([_widened(np.asarray(part), width) for part in parts])
    shared = list(map(SharedSubsets.of, parts))
    pools = {id(own.words): own.words for own in shared}  # trees of one fit share theirs
    first = dict(zip(pools, np.cumsum([0, *map(len, pools.values())]).tolist(), strict=False))
    row = np.concatenate([own.row + first[id(own.words)] for own in shared]).astype(np.int32)
    words = [_widened(own, width) for own in pools.values()]
    return SharedSubsets(row, words[0] if len(words) == 1 else np.concatenate(words))


def _widened(words: UInt[np.ndarray, "subset word"], width: int) -> UInt[np.ndarray, "subset _"]:
    """Subsets with empty words behind theirs."""
    return words if words.shape[1] == width else np.pad(words, ((0, 0), (0, width - words.shape[1])))
