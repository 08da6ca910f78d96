"""Subsets of categories in searches of trees: thresholds of further columns, in which categories stand in some order.

The best subset for a squared error, or for two classes, is one of the first categories in the order of their means
(Fisher, *On grouping for maximum homogeneity*, JASA 53, 1958). So a categorical column has further columns behind those
of the table: the rank of its category by the mean of every number that a row has, and for every subset of a given tree
whether it has the category.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt

from jaxtree.optimal.nodes import CodedTable
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.subsets import words_of_subsets

FEWEST = 4
"""Up to three categories every subset is one against the rest."""

STEPS = 2**30
"""The steps of their range in which means are compared, so that the order of sums over rows does not matter."""


class SubsetColumns(NamedTuple):
    """A table with further columns, whose thresholds are subsets of categories.

    Attributes:
        table: The table with the columns behind its own.
        num_features: The number of its own columns.
        feature: The categorical column of every further one.
        rank: The place of every category in it.
        of_node: The further column of every node of the given tree that has a subset.
    """

    table: CodedTable
    num_features: int
    feature: list[int]
    rank: list[Int[np.ndarray, " _category"]]
    of_node: dict[int, int]

    def by_thresholds(self, tree: Tree) -> Tree:
        """Returns the given tree with thresholds of further columns in place of subsets."""
        feature, code, kind = tree.feature.copy(), tree.code.copy(), tree.split_kind.copy()
        for node, column in self.of_node.items():
            feature[node], code[node], kind[node] = self.num_features + column, 0, SplitKind.THRESHOLD
        return dataclasses.replace(tree, feature=feature, code=code, split_kind=kind)

    def by_subsets(self, tree: Tree) -> Tree:
        """Returns a tree of this table with subsets of categories in place of thresholds of further columns."""
        nodes = np.flatnonzero(~tree.is_leaf & (tree.feature >= self.num_features))
        columns = tree.feature[nodes] - self.num_features
        is_member = np.zeros((tree.node_count, max((len(self.rank[own]) for own in columns), default=0)), bool)
        for node, column in zip(nodes.tolist(), columns.tolist(), strict=True):
            rank = self.rank[column]
            is_member[node, : len(rank)] = rank > tree.code[node]
        feature, kind, missing_code = tree.feature.copy(), tree.split_kind.copy(), tree.missing_code.copy()
        code, next_code, threshold = tree.code.copy(), tree.next_code.copy(), tree.threshold.copy()
        feature[nodes] = np.array(self.feature, np.int32)[columns] if nodes.size else 0
        kind[nodes], code[nodes], next_code[nodes], threshold[nodes] = SplitKind.SUBSET, 0, 0, 0.0
        missing_code[nodes] = self.table.num_values[feature[nodes]]
        return dataclasses.replace(
            tree,
            feature=feature,
            split_kind=kind,
            code=code,
            next_code=next_code,
            threshold=threshold,
            missing_code=missing_code,
            subset=words_of_subsets(is_member),
            num_features=self.num_features,
        )


def with_subset_columns(
    table: CodedTable, tree: Tree, numbers: Float[np.ndarray, "number row"], weight: Float[np.ndarray, " row"]
) -> SubsetColumns:
    """Returns a table with columns for subsets of its categories.

    Args:
        table: The table.
        tree: A tree of it, with subsets.
        numbers: The numbers by whose means categories are ordered.
        weight: The weight of every row.
    """
    feature, rank, of_node = [], [], {}
    for place in np.flatnonzero(table.is_categorical & (table.num_values >= FEWEST)).tolist():
        for own in numbers:
            feature.append(place)
            rank.append(_ranks_by_mean(table.codes[place], int(table.num_values[place]), own, weight))
    for node in np.flatnonzero(~tree.is_leaf & (tree.split_kind == SplitKind.SUBSET)).tolist():
        of_node[node] = len(feature)
        place = int(tree.feature[node])
        words = np.asarray(tree.subset[node]).astype("<u4").view(np.uint8)
        is_member = np.unpackbits(words, bitorder="little", count=int(table.num_values[place]))
        feature.append(place)
        rank.append(is_member.astype(np.int64))
    if not feature:
        return SubsetColumns(table, len(table.codes), feature, rank, of_node)
    num_values = np.array([int(own.max()) + 1 for own in rank], table.num_values.dtype)
    codes = [
        np.append(own, number)[table.codes[place]].astype(table.codes.dtype)
        for place, own, number in zip(feature, rank, num_values, strict=True)
    ]
    wider = CodedTable(
        np.concatenate([table.codes, np.stack(codes)]),
        np.concatenate([table.num_values, num_values]),
        np.concatenate([table.is_categorical, np.zeros(len(rank), bool)]),
    )
    return SubsetColumns(wider, len(table.codes), feature, rank, of_node)


def _ranks_by_mean(
    code: UInt[np.ndarray, " row"],
    num_values: int,
    number: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
) -> Int[np.ndarray, " category"]:
    """The rank of every category by the mean of a number; those without rows stand at the mean of all rows."""
    whole = np.average(number, weights=weight)
    total = np.bincount(code, weight, num_values + 1)[:num_values]
    far = np.bincount(code, weight * (number - whole), num_values + 1)[:num_values]
    mean = far / np.where(total > 0, total, 1)
    steps = np.rint(mean / max(float(np.ptp(number)), np.finfo(float).tiny) * STEPS)
    rank = np.empty(num_values, np.int64)
    rank[np.argsort(steps, kind="stable")] = np.arange(num_values)
    return rank
