"""Walks of rows by the kernel in C++; see native/src/walk/values.h.

A *key* is what the kernel makes of a value: a whole number, of the value's bits, in the order of values; a missing
value has the greatest. The upper levels of a tree are *complete*: ways that end at a leaf among them go on as if it had
children, so that a way needs no node to say where it leads. Trees with splits of other kinds than thresholds have no
complete levels, and a *rule* a node; but for subsets that are few chains of nested ones, which become thresholds, see
`jaxtree.kernels.nested_subsets`.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int32, Int64, UInt, UInt32

from jaxtree.cores import num_cores
from jaxtree.errors import InternalError, InvalidInputError, present
from jaxtree.kernels import library
from jaxtree.kernels.nested_subsets import SubsetRanks, rank_subsets
from jaxtree.kernels.walk import CODES_PER_WORD, GeneralSplits, SplitKind, Steps

ROWS_TOGETHER = 8
"""Rows that the kernel walks together, `kTogether` there."""

TOPS_A_NODE = 4
"""Upper levels are complete as long as they have no more than 4 times the nodes of the tree."""

COLUMNS_A_KEY = 2
"""All columns are made into keys if splits compare one in 2 of them or more: whole rows are read faster."""

ROWS_TO_RANK = 32
"""Rows from which on it pays to compute a group of 128 by ranks."""

LEVELS_TO_RANK = 32
"""Levels of all trees from which on it may pay to compute ranks; tables of fewer are not made."""

STEPS_OF_A_THREAD = 2**17
"""Steps of walks, and values that are read, that are worth a thread of their own."""


class _Pointers(ctypes.Structure):
    """`Trees` of native/src/walk/values.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("num_trees", "num_nodes", "num_columns", "is_straight", "num_ranks")),
        *((name, ctypes.c_void_p) for name in ("column", "first_top", "levels", "more_levels")),
        *((name, ctypes.c_void_p) for name in ("tops", "top_missing", "below", "nodes", "node_missing")),
        *((name, ctypes.c_void_p) for name in ("rules", "words")),
        ("num_words", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("ranks", "ranks_of_codes")),
    ]


class _Results(ctypes.Structure):
    """`Results` of native/src/walk/results.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("ends", "means", "values")),
        ("num_columns", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("counts", "line_of_tree")),
        ("num_rows", ctypes.c_int64),
        ("coefficients", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("num_effects", "bag_size")),
        *((name, ctypes.c_void_p) for name in ("between", "within", "num_bags")),
    ]


class Counts(NamedTuple):
    """The trees that count for rows.

    Attributes:
        is_counted: Whether trees count for a row.
        line: The line of every tree in it.
    """

    is_counted: Bool[np.ndarray, "line row"]
    line: Int32[np.ndarray, " tree"]

    def of_tree(self, tree: int) -> Bool[np.ndarray, " row"]:
        """The rows for which a tree counts."""
        return self.is_counted[self.line[tree]]


class BagSums(NamedTuple):
    """Sums over bags of trees.

    Attributes:
        between: The squares of the means of scores in a bag.
        within: The variances of scores in a bag, over the number of its trees.
        num_bags: The bags, of which all trees count for a row.
    """

    between: Float64[np.ndarray, "effect row"]
    within: Float64[np.ndarray, "effect row"]
    num_bags: Int64[np.ndarray, " row"]


class _Tops(NamedTuple):
    """The upper levels of the trees.

    Attributes:
        first: Where each tree's begin; node i, whose children are 2 i and 2 i + 1, lies i places behind.
        levels: How many each tree has.
        node: The node of the tree that stands there.
        below: The node to which every way through the levels leads.
    """

    first: Int64[np.ndarray, " tree"]
    levels: Int32[np.ndarray, " tree"]
    node: Int64[np.ndarray, " top"]
    below: Int32[np.ndarray, " top"]


class NativeTrees:
    """The trees of a table, as the kernel reads them.

    Args:
        steps: The steps at the nodes, of thresholds in the type of the values.
        first_node: Where every tree begins, with its root, and the number of nodes at the end.
        depths: The most steps of a walk in every tree.
    """

    def __init__(self, steps: Steps, first_node: Int64[np.ndarray, " boundary"], depths: Int32[np.ndarray, " tree"]):
        self._dtype, self._num_trees = steps.limit.dtype, len(depths)
        is_leaf = steps.child == np.arange(len(steps.child))
        column, key = _keys_of(np.where(is_leaf, 0, steps.question >> 1))
        # No key is above the greatest.
        limit = np.where(is_leaf, _greatest(self._dtype), _key_of_number(steps.limit))
        ranks = rank_subsets(steps, is_leaf, int(depths.sum()))
        if ranks is not None:
            steps = steps._replace(other=None)
            limit[ranks.node] = ranks.limit
            key[ranks.node] = ROWS_TOGETHER * (len(column) + ranks.rank)
        takes_left = (~is_leaf & (steps.question % 2 == 0)).astype(np.uint8)
        tops = _complete(steps.child, is_leaf, first_node, depths if steps.other is None else np.zeros_like(depths))
        more_levels = (depths - tops.levels).astype(np.int32)
        size = len(limit) if more_levels.any() or steps.other is not None else 0
        rules, words = _rules_of(steps.other)
        self._arrays = {
            "column": column,
            "first_top": tops.first,
            "levels": tops.levels,
            "more_levels": more_levels,
            "tops": _records({"limit": limit[tops.node], "key": key[tops.node].astype(limit.dtype)}),
            "top_missing": takes_left[tops.node],
            "below": tops.below,
            "nodes": _records({"limit": limit[:size], "key": key[:size], "child": steps.child[:size]}),
            "node_missing": takes_left,
            "rules": rules,
            "words": words,
            **_tables_of(ranks, column),
        }
        self._pointers = _Pointers(
            num_trees=self._num_trees,
            num_nodes=len(limit),
            num_columns=len(column),
            is_straight=int(len(column) == column[-1] + 1),
            num_ranks=0 if ranks is None else len(ranks.column),
            num_words=words.shape[1],
            **{name: array.ctypes.data if array.size else None for name, array in self._arrays.items()},
        )
        # Rows that begin anywhere walk as long as those of any tree.
        self._most_levels = more_levels.max(keepdims=True)
        self._num_columns, self._steps_of_row = int(column[-1]) + 1, int(depths.sum()) + len(column)
        self._num_levels, self._are_thresholds = int(depths.sum()), steps.other is None and ranks is None
        self._for_ranks = steps, first_node[:-1], is_leaf, self._num_levels

    @functools.cached_property
    def _ranked(self) -> Any:
        """The trees as many rows go through them by ranks; None where they walk sooner, or some split by subsets."""
        if not self._are_thresholds or self._num_levels < LEVELS_TO_RANK:
            return None
        from jaxtree.kernels.native_ranks import RankedTrees  # a server of single rows does without

        ranked = RankedTrees(*self._for_ranks)
        return ranked if ranked.pays else None

    def ends(
        self, values: Float[np.ndarray, "row feature"], start: Int32[np.ndarray, " row"] | None = None
    ) -> Int64[np.ndarray, "row tree"]:
        """The nodes where the walks of every row end.

        Args:
            values: The rows.
            start: Where each begins in trees that have rules, and walks as in a single one; at all roots if not given.
        """
        ends = np.empty((len(values), self._num_trees if start is None else 1), np.int64)
        self._walk(values, start, {"ends": ends})
        return ends

    def means(
        self,
        values: Float[np.ndarray, "row feature"],
        node_value: Float[np.ndarray, "node column"],
        counts: Counts | None = None,
    ) -> Float64[np.ndarray, "row column"]:
        """The means over the trees of the values of the nodes where a row ends, added up tree after tree.

        Args:
            values: The rows.
            node_value: The values of nodes.
            counts: The trees that count; all if not given. The means of a row without any are NaN.
        """
        node_value = np.require(node_value, np.float64, ("C", "A"))
        means = np.empty((len(values), node_value.shape[1]))
        self._walk(values, None, {"means": means, "values": node_value, **_arrays_of(counts)}, node_value.shape[1])
        return means

    def bag_sums(
        self,
        values: Float[np.ndarray, "row feature"],
        node_value: Float64[np.ndarray, "node column"],
        coefficients: Float64[np.ndarray, "effect channel row"],
        bag_size: int,
        counts: Counts | None = None,
    ) -> BagSums:
        """The spread of scores in bags of trees and between them, see `Predictor.bag_sums`."""
        node_value = np.require(node_value, np.float64, ("C", "A"))
        coefficients = np.require(coefficients, np.float64, ("C", "A"))
        num_effects, num_rows = len(coefficients), len(values)
        between, within = np.empty((num_effects, num_rows)), np.empty((num_effects, num_rows))
        sums = BagSums(between, within, np.empty(num_rows, np.int64))
        given = {"values": node_value, "coefficients": coefficients, **_arrays_of(counts)}
        numbers = node_value.shape[1], num_effects, bag_size
        self._walk(values, None, {**sums._asdict(), **given}, *numbers)
        return sums

    def _walk(
        self,
        values: Float[np.ndarray, "row feature"],
        start: Int32[np.ndarray, " row"] | None,
        arrays: dict[str, np.ndarray],
        num_columns: int = 0,
        num_effects: int = 0,
        bag_size: int = 0,
    ) -> None:
        """Calls the kernel, which reads the values where they are, in any order of memory and at any address.

        Args:
            values: The values.
            start: Where rows begin.
            arrays: The arrays of results, and what they follow from.
            num_columns: The values of a node.
            num_effects: The scores of a tree.
            bag_size: The trees of a bag.
        """
        if values.shape[1] < self._num_columns:
            raise InvalidInputError(f"the trees split on {self._num_columns} columns, got {values.shape[1]}")
        values = np.asarray(values, self._dtype)
        size = values.dtype.itemsize
        if any(stride % size for stride in values.strides):
            values = values.copy()
        strides = (stride // size for stride in values.strides)
        num_threads = len(values) * self._steps_of_row // STEPS_OF_A_THREAD + 1
        if num_threads > 1:  # to count cores takes longer than the kernel to walk a row
            num_threads = min(num_cores(), num_threads)
        table = values.ctypes.data, size, len(values), *strides
        results = _Results(
            num_columns=num_columns, num_rows=len(values), num_effects=num_effects, bag_size=bag_size,
        )  # fmt: skip
        for name, array in arrays.items():
            setattr(results, name, array.ctypes.data)
        if start is None and len(values) >= ROWS_TO_RANK and self._ranked is not None:
            is_done = self._ranked.walk(*table, ctypes.byref(results), num_threads)
        else:
            trees, begin = self._pointers, None
            if start is not None:
                begin, trees = start.ctypes.data, _Pointers.from_buffer_copy(trees)
                trees.num_trees, trees.more_levels = 1, self._most_levels.ctypes.data
            is_done = _find_walk()(ctypes.byref(trees), *table, begin, ctypes.byref(results), num_threads)
        if not is_done:
            raise MemoryError(f"there is not enough memory to walk {len(values)} rows through {self._num_trees} trees")


def _arrays_of(counts: Counts | None) -> dict[str, np.ndarray]:
    """The trees that count, as the kernel reads them."""
    if counts is None:
        return {}
    return {
        "counts": np.require(counts.is_counted, np.bool_, ("C", "A")),
        "line_of_tree": np.require(counts.line, np.int32, ("C", "A")),
    }


@functools.cache
def _find_walk() -> Any:
    """The function of the kernel that walks rows, with the types of its arguments.

    These are the trees; values with their size, number of rows and strides; the nodes where rows begin; the results;
    and the number of threads. It returns whether there was enough memory.
    """
    walk = present(library.load()).jaxtree_walk
    whole, pointer = ctypes.c_int64, ctypes.c_void_p
    values = [pointer, whole, whole, whole, whole]
    walk.argtypes = [pointer, *values, pointer, pointer, whole]
    walk.restype = ctypes.c_bool
    return walk


def _greatest(dtype: np.dtype) -> np.unsignedinteger:
    """The key of a missing value, of values of a type."""
    whole = np.uint32 if dtype == np.float32 else np.uint64
    return whole(np.iinfo(whole).max)


def _key_of_number(values: Float[np.ndarray, " number"]) -> UInt[np.ndarray, " number"]:
    """The keys of numbers, as the kernel makes them."""
    greatest = _greatest(values.dtype)
    bits = (values + values.dtype.type(0)).view(greatest.dtype)  # -0 and 0 are one number
    sign = greatest ^ (greatest >> greatest.dtype.type(1))
    return np.where(bits & sign, bits ^ greatest, bits | sign)


def _keys_of(feature: Int32[np.ndarray, " node"]) -> tuple[Int32[np.ndarray, " key"], UInt[np.ndarray, " node"]]:
    """The columns that are made into keys, and which key the split of every node compares, as the kernel counts."""
    column, key = np.unique(feature, return_inverse=True)
    if column[-1] < COLUMNS_A_KEY * len(column):
        column, key = np.arange(column[-1] + 1), feature
    return column.astype(np.int32), (ROWS_TOGETHER * key).astype(np.uint32)


def _complete(
    child: Int32[np.ndarray, " node"],
    is_leaf: Bool[np.ndarray, " node"],
    first_node: Int64[np.ndarray, " boundary"],
    depths: Int32[np.ndarray, " tree"],
) -> _Tops:
    """The upper levels of the trees, as many as do not have too many nodes."""
    most = np.array([int(TOPS_A_NODE * number).bit_length() - 1 for number in np.diff(first_node)])
    levels = np.minimum(depths, most).astype(np.int32)
    end = np.cumsum(1 << levels.astype(np.int64))
    first = np.append(0, end[:-1])
    top_node, below = np.zeros(end[-1], np.int64), np.zeros(end[-1], np.int32)
    tree, place, node = np.arange(len(levels)), np.ones(len(levels), np.int64), first_node[:-1]
    for level in range(levels.max() + 1):
        is_below = levels[tree] == level
        below[(first[tree] + place - (1 << level))[is_below]] = node[is_below]
        tree, place, node = (array[~is_below] for array in (tree, place, node))
        top_node[first[tree] + place] = node
        tree, place = np.repeat(tree, 2), np.stack([2 * place, 2 * place + 1], axis=1).reshape(-1)
        node = np.stack([child[node], child[node] + ~is_leaf[node]], axis=1).reshape(-1)
    return _Tops(first, levels, top_node, below)


def _rules_of(other: GeneralSplits | None) -> tuple[np.ndarray, UInt32[np.ndarray, "subset word"]]:
    """The rules of the nodes, and the words of their subsets; none where every split is a threshold."""
    if other is None:
        return np.zeros(0, np.int32), np.zeros((0, 0), np.uint32)
    row = np.arange(len(other.kind), dtype=np.int32) if other.row is None else other.row
    if not other.words.shape[1] and np.any(other.kind == SplitKind.SUBSET):
        raise InternalError("splits by subsets have no words")
    columns = {"kind": other.kind, "children": other.num_children, "missing": other.missing_branch, "subset": row}
    rules = _records({name: column.astype(np.int32) for name, column in columns.items()})
    return rules, np.ascontiguousarray(other.words, np.uint32)


def _tables_of(ranks: SubsetRanks | None, column: Int32[np.ndarray, " key"]) -> dict[str, np.ndarray]:
    """The keys that ranks are, by the names of `_Pointers`."""
    if ranks is None:
        return {"ranks": np.zeros(0, np.int64), "ranks_of_codes": np.zeros(0, np.uint32)}
    num_codes = np.array(list(map(len, ranks.of_codes)))
    columns = {
        "key": np.searchsorted(column, ranks.column).astype(np.int32),
        "num_words": (num_codes // CODES_PER_WORD).astype(np.int32),
        "first": np.cumsum(num_codes) - num_codes,
    }
    return {"ranks": _records(columns), "ranks_of_codes": np.concatenate(ranks.of_codes)}


def _records(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Columns side by side, as an array of structures in C++."""
    records = np.empty(len(next(iter(columns.values()))), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        records[name] = column
    return records
