"""Records of forests whose leaves keep rows: compact, as they have many nodes, and far more rows in leaves."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64, Integer, UInt8, UInt16, UInt32

from jaxtree.files.records import check, require
from jaxtree.files.trees import RandomKey, TreeArrays
from jaxtree.moments.leaf_rows import LeafRows
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest
from jaxtree.tree.subsets import SharedSubsets

LEAF_MARK = -2
"""scikit-learn's mark of a leaf."""

MOST_BRANCHES = 2
"""Branches of a split of these forests."""


@dataclasses.dataclass(frozen=True, eq=False)
class LeafTrees:
    """The trees of a forest whose leaves keep rows; a *split* is a node that is no leaf, in the order of the nodes.

    Attributes:
        is_split: Whether a node is a split, a bit each.
        first_node: Where every tree begins, and the number of nodes at the end.
        feature: The feature of every split; other fields of `Tree` likewise.
        size: The number of entries of every leaf.
        num_rows: The number of rows of every leaf, where entries are no rows; else None.
        leaf_weight: The weight of every leaf; None where every row has the weight 1.
        atom: The atom of every row of a leaf.
        share: The weight of every row in its leaf, see `LeafRows`; None where all are the same.
        value: The number of every atom.
        key: The key of what trees draw.
    """

    is_split: UInt8[np.ndarray, " byte"]
    first_node: Int64[np.ndarray, " boundary"]
    feature: Integer[np.ndarray, " split"]
    code: UInt16[np.ndarray, " split"]
    next_code: UInt16[np.ndarray, " split"]
    threshold: Float64[np.ndarray, " split"]
    split_kind: UInt8[np.ndarray, " split"]
    missing_code: UInt16[np.ndarray, " split"]
    missing_branch: UInt8[np.ndarray, " split"]
    subset: UInt32[np.ndarray, "subset word"]
    subset_row: Int32[np.ndarray, " split"] | None
    gain: Float64[np.ndarray, " split"]
    size: Int32[np.ndarray, " leaf"]
    num_rows: Int32[np.ndarray, " leaf"] | None
    leaf_weight: Float64[np.ndarray, " leaf"] | None
    atom: Integer[np.ndarray, " entry"]
    share: UInt32[np.ndarray, " entry"] | None
    value: Float64[np.ndarray, " atom"]
    key: RandomKey

    @classmethod
    def of(
        cls,
        forest: Forest,
        leaves: LeafRows,
        value: Float64[np.ndarray, " atom"],
        weight: Float64[np.ndarray, " node"] | None,
        key: RandomKey,
        *,
        keeps_rows: bool = True,
    ) -> "LeafTrees":
        """The trees of a fitted forest, given the weights of its nodes where rows have some."""
        nodes, is_leaf = forest.nodes, np.asarray(forest.nodes.is_leaf)
        split, types = np.flatnonzero(~is_leaf), {name: cls.dtype_of(name) for name in SPLIT_FIELDS}
        fields = {name: np.asarray(getattr(nodes, name))[split].astype(own) for name, own in types.items()}
        feature = np.asarray(nodes.feature)[split]
        subset, row = np.zeros((0, 0), np.uint32), None
        if nodes.subset.shape[1]:
            shared = SharedSubsets.of(nodes.subset)
            subset, row = shared.words, shared.row[split].astype(np.int32)
        return cls(
            is_split=np.packbits(~is_leaf),
            first_node=np.asarray(forest.first_node, np.int64),
            feature=feature.astype(np.uint16 if feature.max(initial=0) < 2**16 else np.int32),
            subset=subset,
            subset_row=row,
            size=np.diff(leaves.first)[is_leaf].astype(np.int32),
            num_rows=None if keeps_rows else np.asarray(nodes.num_rows)[is_leaf].astype(np.int32),
            leaf_weight=None if weight is None else weight[is_leaf],
            atom=leaves.atom,
            share=leaves.weight,
            value=value,
            key=key,
            **fields,
        )

    @staticmethod
    def dtype_of(name: str) -> Any:
        """Returns the type of a field of splits."""
        return SPLIT_FIELDS[name]

    def forest(self, schema: Schema) -> "RestoredLeaves":
        """Returns the trees and what their leaves keep.

        Raises:
            ModelFileError: They are none of trees on such features.
        """
        number = int(self.first_node[-1]) if self.first_node.size else 0
        is_size = self.first_node.size >= 2 and 0 < number <= 8 * self.is_split.size < number + 8
        require(is_size, "it says another number of nodes than it holds")
        is_split = np.unpackbits(self.is_split, count=number).astype(bool)
        split, leaf = np.flatnonzero(is_split), np.flatnonzero(~is_split)
        require(split.size == self.feature.size, "it says another number of splits than it holds")
        require(leaf.size == self.size.size, "it says another number of leaves than it holds")
        require(2 * split.size + self.first_node.size - 1 == number, "its nodes are not those of trees")
        forest = self._arrays(split, number).forest(self.first_node, schema, num_classes=())
        sizes = np.zeros(number, np.int64)
        sizes[leaf] = self.size
        leaves = LeafRows(np.concatenate([[0], np.cumsum(sizes)]), self.atom, self.share, self.value.size)
        weight = num_rows = None
        if self.leaf_weight is not None:
            weight = np.zeros(number)
            weight[leaf] = self.leaf_weight
        if self.num_rows is not None:
            num_rows = np.zeros(number, np.int32)
            num_rows[leaf] = self.num_rows
        return RestoredLeaves(forest, leaves, weight, num_rows)

    def _arrays(self, split: Int64[np.ndarray, " split"], number: int) -> TreeArrays:
        """The nodes as other files keep them, without sums."""

        def spread(values: Any, dtype: Any, of_leaves: int = 0) -> Any:
            whole = np.full(number, of_leaves, dtype)
            whole[split] = values
            return whole

        whole = {name: spread(getattr(self, name), np.int32, LEAF_MARK * (name == "feature")) for name in WHOLE_FIELDS}
        children = spread(MOST_BRANCHES, np.int32)
        of_tree = np.searchsorted(self.first_node, split, side="right") - 1
        # Nodes stand in breadth-first order, so that the children of the splits of a tree follow one another.
        before = np.searchsorted(split, self.first_node[:-1])
        place = np.arange(split.size) - before[of_tree]
        first_child = spread(self.first_node[of_tree] + 1 + MOST_BRANCHES * place, np.int32)
        real = np.zeros(number)
        has_subsets = self.subset_row is not None
        return TreeArrays(
            **whole,
            threshold=spread(self.threshold, np.float64, LEAF_MARK),
            gain=spread(self.gain, np.float64),
            subset=self.subset if has_subsets else np.zeros((number, 0), np.uint32),
            subset_row=spread(self.subset_row, np.int32) if has_subsets else None,
            first_child=first_child,
            num_children=children,
            weight=real,
            count=np.zeros((number, 0)),
            target_sum=np.zeros((number, 0)),
            num_rows=np.zeros(number, np.int32),
            impurity=real,
        )


class RestoredLeaves(NamedTuple):
    """The trees of a file.

    Attributes:
        forest: The trees.
        leaves: The entries of their leaves.
        weight: The weights of leaves, where rows have some.
        num_rows: The numbers of their rows, where entries are no rows.
    """

    forest: Forest
    leaves: LeafRows
    weight: Float64[np.ndarray, " node"] | None
    num_rows: Int32[np.ndarray, " node"] | None


SPLIT_FIELDS: dict[str, Any] = {
    "code": np.uint16, "next_code": np.uint16, "threshold": np.float64, "split_kind": np.uint8,
    "missing_code": np.uint16, "missing_branch": np.uint8, "gain": np.float64,
}  # fmt: skip
"""The fields of splits that are kept, and their types."""

WHOLE_FIELDS = ("feature", "code", "next_code", "split_kind", "missing_code", "missing_branch")
"""The fields of splits that are whole numbers."""


@check.register
def _(trees: LeafTrees) -> None:
    atom = trees.atom
    is_atom = atom.size == 0 or (atom.min() >= 0 and atom.max() < trees.value.size)
    require(is_atom and trees.value.size > 0, "a leaf has a row that is none")
    num_rows = trees.size if trees.num_rows is None else trees.num_rows
    require((num_rows > 0).all() and (trees.size >= 0).all(), "a leaf has no rows")
    require(trees.size.sum(dtype=np.int64) == atom.size, "its leaves have other numbers of rows than they say")
    require(np.isfinite(trees.value).all(), "a value of its rows is not finite")
    require(trees.share is None or trees.share.size == atom.size, "its rows have other weights than their number")
    if trees.leaf_weight is not None:
        is_weight = np.isfinite(trees.leaf_weight) & (trees.leaf_weight > 0)
        require(is_weight.all(), "a leaf has no weight")
    if trees.subset_row is not None:
        row, number = trees.subset_row, len(trees.subset)
        require(row.size == 0 or (row.min() >= 0 and row.max() < number), "a node has a subset of none")
