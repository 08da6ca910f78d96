r"""The rows in the leaves of a forest, and the weights that these give them for a new row.

An *atom* is a row of the fit, or one of its values of the target, by a number. A leaf has entries, each an atom with a
weight. The weight of atom i at x is the mean over trees of its share of the leaf in which x lies,
$\alpha_i(x) = \frac{1}{B} \sum_b \frac{w_i 1\{i \in L_b(x)\}}{\sum_j w_j 1\{j \in L_b(x)\}}$ (Meinshausen, *Quantile
regression forests*, JMLR 7, 2006; Athey, Tibshirani and Wager, *Generalized random forests*, Annals of Statistics 47,
2019, equation 3). Weights are found block by block of rows, in threads: there is no matrix of rows x rows. They are
whole numbers of a small unit, so that sums of them do not depend on an order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float64, Int, Int64, Real, UInt16, UInt32

from jaxtree.blocks import blocks_of, in_threads
from jaxtree.cores import num_cores

ONE = 2**31
"""The weight of a leaf in whole numbers."""

KEY_BITS = 31
"""Bits of a row of a block and of an atom together; the weight has the 32 bits below."""

ENTRIES_AT_A_TIME = 2**19
"""Entries of a block, roughly: they stay in a core's cache."""

MOST_SHORT = 2**16
"""The numbers of at most this many atoms are kept in 16 bits."""

Found = TypeVar("Found")


class LeafRows(NamedTuple):
    """The entries of every node of a forest, those of a node in ascending order of their atoms.

    Attributes:
        first: Where the entries of every node begin, and the number of all.
        atom: The atom of every entry.
        weight: The weight of every entry, of `ONE`; None where all entries of a leaf have the same share of it.
        num_atoms: The number of atoms.
    """

    first: Int64[np.ndarray, " boundary"]
    atom: UInt16[np.ndarray, " entry"] | Int[np.ndarray, " entry"]
    weight: UInt32[np.ndarray, " entry"] | None
    num_atoms: int


class RowAtoms(NamedTuple):
    """The atoms of a block of rows, row after row and in ascending order; one may stand several times.

    Attributes:
        first: Where the atoms of every row begin, and the number of all.
        atom: The atoms.
        weight: Their weights in whole numbers.
        total: The running sum of weights, 0 first.
    """

    first: Int64[np.ndarray, " boundary"]
    atom: Int64[np.ndarray, " pair"]
    weight: Int64[np.ndarray, " pair"]
    total: Int64[np.ndarray, " pair_boundary"]


def gather_leaf_rows(
    node: Int[np.ndarray, " entry"],
    atom: Int[np.ndarray, " entry"],
    weight: Real[np.ndarray, " entry"] | None,
    *,
    num_nodes: int,
    num_atoms: int,
) -> LeafRows:
    """Returns the entries of leaves, each with its share of the leaf's weight.

    Args:
        node: The leaf of every entry, among the nodes of all trees.
        atom: Its atom.
        weight: Its weight, above 0; None for 1.
        num_nodes: The number of nodes.
        num_atoms: The number of atoms.

    Example:
        >>> leaves = gather_leaf_rows(np.array([2, 1, 2]), np.array([5, 0, 3]), None, num_nodes=3, num_atoms=6)
        >>> leaves.first.tolist(), leaves.atom.tolist()
        ([0, 0, 1, 3], [0, 3, 5])
    """
    order = np.argsort(node * np.int64(num_atoms) + atom, kind="stable")
    node, atom = node[order], atom[order].astype(np.uint16 if num_atoms <= MOST_SHORT else np.int32)
    first = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=num_nodes))])
    if weight is None or weight.size == 0 or (weight == weight[0]).all():
        return LeafRows(first, atom, None, num_atoms)
    own = weight[order].astype(np.float64)
    total = np.bincount(node, own, minlength=num_nodes)
    return LeafRows(first, atom, np.rint(own / total[node] * ONE).astype(np.uint32), num_atoms)


def join_leaf_rows(parts: Sequence[LeafRows]) -> LeafRows:
    """Puts the leaves of trees behind one another; without weights only if none has some.

    Example:
        >>> leaves = gather_leaf_rows(np.array([0, 1]), np.array([1, 0]), None, num_nodes=2, num_atoms=2)
        >>> join_leaf_rows([leaves, leaves]).first.tolist()
        [0, 1, 2, 3, 4]
    """
    begins = np.cumsum([0, *(part.atom.size for part in parts)])
    first = np.concatenate([part.first[:-1] + begin for part, begin in zip(parts, begins, strict=False)])
    weight = None
    if any(part.weight is not None for part in parts):
        weight = np.concatenate([part.weight if part.weight is not None else _equal(part) for part in parts])
    atom = np.concatenate([part.atom for part in parts])
    return LeafRows(np.append(first, begins[-1]), atom, weight, parts[0].num_atoms)


def _equal(leaves: LeafRows) -> UInt32[np.ndarray, " entry"]:
    """The weights of entries that have the same share of their leaf."""
    sizes = np.diff(leaves.first)
    return np.repeat(ONE // np.maximum(sizes, 1), sizes).astype(np.uint32)


def over_rows(
    leaves: LeafRows,
    ends: Int[np.ndarray, "row tree"],
    work: Callable[[slice, RowAtoms], Found],
    *,
    is_counted: Bool[np.ndarray, "row tree"] | None = None,
) -> list[Found]:
    """Calls a function for the atoms of blocks of rows, in threads, and returns its results in their order.

    Args:
        leaves: The entries of leaves.
        ends: The leaf of every row in every tree, among the nodes of all trees.
        work: The function of the rows of a block and of their atoms.
        is_counted: The trees that count for a row: those that have not seen it, out of bag.
    """
    sizes = np.diff(leaves.first)[ends]
    if is_counted is not None:
        sizes = np.where(is_counted, sizes, 0)
    mean = max(int(sizes.sum()) // max(len(ends), 1), 1)
    most = 1 << max(KEY_BITS - int(leaves.num_atoms).bit_length(), 0)
    blocks = blocks_of(len(ends), max(1, min(most, ENTRIES_AT_A_TIME // mean)))

    def of_block(block: slice) -> Found:
        return work(block, _atoms_of(leaves, ends[block], sizes[block]))

    return in_threads(of_block, blocks, num_threads=min(num_cores(), max(len(blocks), 1)))


def _atoms_of(leaves: LeafRows, ends: Int[np.ndarray, "row tree"], sizes: Int64[np.ndarray, "row tree"]) -> RowAtoms:
    """The atoms of some rows, given the number of entries of every leaf that counts."""
    of_leaf = sizes.ravel()
    begins = np.cumsum(of_leaf)
    entry = np.repeat(leaves.first[ends].ravel() - begins + of_leaf, of_leaf) + np.arange(of_leaf.sum())
    if leaves.weight is None:
        weight = np.repeat(ONE // np.maximum(of_leaf, 1), of_leaf)
    else:
        weight = leaves.weight[entry].astype(np.int64)
    of_row = sizes.sum(axis=1)
    bits = np.int64(int(leaves.num_atoms).bit_length())
    key = np.repeat(np.arange(len(ends), dtype=np.int64) << bits, of_row)
    key |= leaves.atom[entry]
    key <<= np.int64(32)
    key |= weight
    key.sort()
    weight = key & np.int64(0xFFFFFFFF)
    key >>= np.int64(32)
    key &= (np.int64(1) << bits) - np.int64(1)
    first = np.concatenate([[0], np.cumsum(of_row)])
    return RowAtoms(first, key, weight, np.concatenate([[0], np.cumsum(weight)]))


def quantiles_of(
    leaves: LeafRows,
    ends: Int[np.ndarray, "row tree"],
    values: Float64[np.ndarray, " atom"],
    levels: Float64[np.ndarray, " level"],
    *,
    is_counted: Bool[np.ndarray, "row tree"] | None = None,
) -> Float64[np.ndarray, "row level"]:
    r"""Returns quantiles of the weighted values of every row.

    The quantile of a level is the least value up to which the weights add up to the level, $\inf\{v :
    \sum_i \alpha_i 1\{v_i \le v\} \ge \tau\}$, so that quantiles follow any increasing map of the values. NaN of a row
    for which no tree counts.

    Args:
        leaves: The entries of leaves.
        ends: The leaf of every row in every tree.
        values: The value of every atom, ascending.
        levels: The levels, between 0 and 1.
        is_counted: The trees that count for a row.

    Example: a tree with the values 1, 2 and 4 in the only leaf.
        >>> leaves = gather_leaf_rows(np.zeros(3, int), np.arange(3), None, num_nodes=1, num_atoms=3)
        >>> ends = np.zeros((1, 1), int)
        >>> quantiles_of(leaves, ends, np.array([1.0, 2.0, 4.0]), np.array([0.3, 0.5, 0.9])).tolist()
        [[1.0, 2.0, 4.0]]
    """

    def of_block(_: slice, atoms: RowAtoms) -> Float64[np.ndarray, "block level"]:
        before, after = atoms.total[atoms.first[:-1]], atoms.total[atoms.first[1:]]
        own = (after - before)[:, None]
        # A level that a sum of shares reaches but for their rounding is reached.
        wanted = np.ceil(levels * own * (1 - 2.0**-24))
        place = np.searchsorted(atoms.total[1:], before[:, None] + np.maximum(wanted, 1).astype(np.int64))
        place = np.minimum(place, max(atoms.atom.size - 1, 0))
        found = values[atoms.atom[place]] if atoms.atom.size else np.empty(place.shape)
        return np.where(own > 0, found, np.nan)

    found = over_rows(leaves, ends, of_block, is_counted=is_counted)
    return np.concatenate(found) if found else np.empty((0, levels.size))


def forest_weights(
    leaves: LeafRows, ends: Int[np.ndarray, "row tree"], *, is_counted: Bool[np.ndarray, "row tree"] | None = None
) -> scipy.sparse.csr_matrix:
    """Returns the weights of atoms (columns) for every row (rows), which add up to 1 where any tree counts.

    Example:
        >>> leaves = gather_leaf_rows(np.array([0, 0, 1]), np.arange(3), None, num_nodes=2, num_atoms=3)
        >>> forest_weights(leaves, np.array([[0], [1]])).toarray().tolist()
        [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """

    def of_block(_: slice, atoms: RowAtoms) -> scipy.sparse.csr_matrix:
        merged = merge(atoms)
        share = merged.weight / np.repeat(np.diff(merged.total[merged.first]), np.diff(merged.first))
        return scipy.sparse.csr_matrix((share, merged.atom, merged.first), (len(merged.first) - 1, leaves.num_atoms))

    found = over_rows(leaves, ends, of_block, is_counted=is_counted)
    return scipy.sparse.csr_matrix(scipy.sparse.vstack(found) if found else (0, leaves.num_atoms))


def merge(atoms: RowAtoms) -> RowAtoms:
    """Returns the atoms of rows with those that stand several times as one."""
    if not atoms.atom.size:
        return atoms
    begins = np.append(True, atoms.atom[1:] != atoms.atom[:-1])
    filled = atoms.first[:-1][np.diff(atoms.first) > 0]
    begins[filled] = True
    place = np.flatnonzero(begins)
    first = np.append(0, np.cumsum(begins))[atoms.first]
    total = np.append(atoms.total[place], atoms.total[-1])
    return RowAtoms(first, atoms.atom[place], np.diff(total), total)
