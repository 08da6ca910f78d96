"""Trees of another library as a table of nodes of jaxtree, and the schema whose bins lie between their limits."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64

from jaxtree.files.records import require
from jaxtree.foreign.comparisons import ThresholdRule
from jaxtree.foreign.planes import LEAST_SHARE, MOST_DEPTH, ForeignColumn, ForeignModel, NodePlanes, code_columns
from jaxtree.table.binning import Bins
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.schema import Column, Columns, Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.subsets import SharedSubsets, words_of_subsets

MOST_BITS = 2**30
"""The most codes, of all nodes together, that splits by category may look at."""


def forest_of(model: ForeignModel) -> tuple[Forest, Schema]:
    """Returns the trees and the schema of a model.

    Raises:
        ModelFileError: The nodes are those of no trees, or ask for what there is not.
    """
    order = _Order.of(model.planes)
    planes = _in_order(model.planes, order)
    _check(planes, order, model.columns)
    schema = schema_of(model.columns, planes.feature, planes.limit, model.comparison)
    weight, total = _from_leaves(planes, order)
    gain = np.where(np.isnan(planes.gain), _saved(order, weight, total), planes.gain)
    forest = Forest(_table(planes._replace(gain=gain), order, schema, weight, total), order.first_node)
    return forest, schema


@dataclasses.dataclass(frozen=True)
class _Order:
    """The nodes of trees in breadth-first order, tree after tree, without those that no root leads to.

    Attributes:
        old: The place of every node among the planes.
        parent: The node above, by its new place.
        depth: Its depth.
        first_child: The left child by its new place; 0 of a leaf, and the right one follows it.
        first_node: Where every tree begins, and the number of nodes at the end.
    """

    old: Int64[np.ndarray, " node"]
    parent: Int64[np.ndarray, " node"]
    depth: Int64[np.ndarray, " node"]
    first_child: Int64[np.ndarray, " node"]
    first_node: Int64[np.ndarray, " boundary"]

    @classmethod
    def of(cls, planes: NodePlanes) -> "_Order":
        size, level = len(planes.feature), planes.root
        tree, above = np.arange(len(level)), np.full(len(level), -1)
        seen = np.zeros(size, bool)
        levels, trees, parents = [], [], []
        while level.size:
            require(len(levels) <= MOST_DEPTH, f"a tree is deeper than {MOST_DEPTH} levels, or goes in a circle")
            require((level >= 0).all() and (level < size).all(), "a node has a child that there is not")
            is_new = np.unique(level).size == level.size and not seen[level].any()
            require(is_new, "its nodes are not those of trees: one has several parents, or is below itself")
            seen[level] = True
            levels.append(level)
            trees.append(tree)
            parents.append(above)
            split = level[planes.feature[level] >= 0]
            tree = np.repeat(tree[planes.feature[level] >= 0], 2)
            above = np.repeat(split, 2)
            level = np.stack([planes.left[split], planes.right[split]], axis=1).ravel()
        old, tree = np.concatenate(levels), np.concatenate(trees)
        depth = np.repeat(np.arange(len(levels)), [len(own) for own in levels])
        above = np.concatenate(parents)
        by_tree = np.argsort(tree, kind="stable")
        old, above, depth = old[by_tree], above[by_tree], depth[by_tree]
        new = np.zeros(size, np.int64)
        new[old] = np.arange(len(old))
        is_split = planes.feature[old] >= 0
        return cls(
            old=old,
            parent=np.where(above < 0, np.arange(len(old)), new[above]),
            depth=depth,
            first_child=np.where(is_split, new[np.where(is_split, planes.left[old], 0)], 0),
            first_node=np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=len(planes.root)))]),
        )


def _in_order(planes: NodePlanes, order: _Order) -> NodePlanes:
    """The planes with nodes in their order; children and roots are those of the order."""
    new = {int(old): place for place, old in enumerate(order.old.tolist())} if planes.codes else {}
    codes = {new[node]: own for node, own in planes.codes.items() if node in new}
    names = ("feature", "limit", "missing_left", "value", "weight", "num_rows", "gain")
    return planes._replace(**{name: getattr(planes, name)[order.old] for name in names}, codes=codes)


def _check(planes: NodePlanes, order: _Order, columns: Sequence[ForeignColumn]) -> None:
    """Raises ModelFileError if nodes ask for columns, limits or categories that there are not, or add no numbers."""
    is_split = planes.feature >= 0
    require((planes.feature < len(columns)).all(), f"a node asks for none of the {len(columns)} columns")
    by_code = np.zeros(len(is_split), bool)
    by_code[[node for node in planes.codes if is_split[node]]] = True
    has_codes = np.array([own.categories is not None for own in columns], bool)[planes.feature] & is_split
    require((by_code == has_codes).all(), "a node splits a column in a way that is not for its kind")
    require(not np.isnan(planes.limit[is_split]).any(), "a node has a threshold that is no number")
    require(np.isfinite(planes.value[~is_split]).all(), "a leaf has a value that is no finite number")
    for node, codes in planes.codes.items():
        number = len(columns[planes.feature[node]].categories or ()) if is_split[node] else 0
        require(((codes >= 0) & (codes < number)).all() or not is_split[node], "a node asks for a category of none")


def schema_of(
    columns: Sequence[ForeignColumn],
    feature: Int[np.ndarray, " node"],
    limit: Float64[np.ndarray, " node"],
    comparison: ThresholdRule,
) -> Schema:
    """Returns the schema of columns whose bins lie between the limits of their splits.

    Args:
        columns: The columns.
        feature: The column that every node splits; negative of a leaf.
        limit: Its limit.
        comparison: How rows are compared with thresholds.
    """
    is_number = (feature >= 0) & np.isfinite(limit)
    feature, limit = feature[is_number], limit[is_number]
    by_feature = np.argsort(feature, kind="stable")
    ends = np.searchsorted(feature[by_feature], np.arange(len(columns) + 1))
    made = []
    for at, column in enumerate(columns):
        if column.categories is not None:
            code_columns(len(column.categories), column.name)
            made.append(Column(column.name, "categorical", column.categories, None, column.has_missing))
            continue
        edges = np.unique(limit[by_feature[ends[at] : ends[at + 1]]])
        require(
            len(edges) < MAX_CODES,
            f"column {column.name[:40]!r} has {len(edges)} thresholds, and a column has at most {MAX_CODES - 1}",
        )
        made.append(Column(column.name, "numeric", (), _bins_of(edges, column, comparison), column.has_missing))
    return Schema(Columns.of(made))


def _bins_of(edges: Float64[np.ndarray, " edge"], column: ForeignColumn, comparison: ThresholdRule) -> Bins:
    """The bins between limits: their ends are what the words of limits may be, and at both ends a guess if unknown."""
    if not len(edges):
        low, high = column.ends or (0.0, 0.0)
        return Bins(np.array([low]), np.array([high]), edges, exact=False)
    below, above = comparison.least_alike(edges), np.nextafter(edges, np.inf)
    whole = np.floor(edges)
    if column.is_whole and (np.diff(whole) > 0).all():
        below, above = whole, whole + 1
    margin = (edges[-1] - edges[0]) / 2 if len(edges) > 1 else np.maximum(np.abs(edges[0]) / 2, 1.0)
    least, greatest = column.ends or (edges[0] - margin, edges[-1] + margin)
    if not np.isfinite([least, greatest]).all():
        least, greatest = edges[0], edges[-1]
    low = np.concatenate([[min(least, below[0])], above])
    high = np.maximum(np.concatenate([below, [max(greatest, above[-1])]]), low)
    return Bins(low, high, edges, exact=False)


def _from_leaves(
    planes: NodePlanes, order: _Order
) -> tuple[Float64[np.ndarray, " node"], Float64[np.ndarray, "node score"]]:
    """The weights of all nodes and the means of what is below them, from those of leaves."""
    is_leaf = planes.feature < 0
    given = np.where(np.isfinite(planes.weight) & (planes.weight > 0), planes.weight, 0.0)
    tree = np.repeat(np.arange(len(order.first_node) - 1), np.diff(order.first_node))
    whole = np.bincount(tree, np.where(is_leaf, given, 0.0), minlength=len(order.first_node) - 1)
    least = np.where(whole > 0, whole * LEAST_SHARE, 1.0)[tree]
    weight = np.where(is_leaf, np.maximum(given, least), 0.0)
    total = np.where(is_leaf[:, None], planes.value * weight[:, None], 0.0)
    by_depth = np.argsort(order.depth, kind="stable")
    for own in np.split(by_depth, np.cumsum(np.bincount(order.depth))[:-1])[:0:-1]:
        np.add.at(weight, order.parent[own], weight[own])
        np.add.at(total, order.parent[own], total[own])
    return weight, total


def _saved(
    order: _Order, weight: Float64[np.ndarray, " node"], total: Float64[np.ndarray, "node score"]
) -> Float64[np.ndarray, " node"]:
    """How much splits spread the means of what is below them: the squares of steps that they add."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (total * total / weight[:, None]).sum(axis=1)
        below = np.bincount(order.parent, np.where(order.depth > 0, squares, 0.0), minlength=len(squares))
        return below - squares


def _table(
    planes: NodePlanes,
    order: _Order,
    schema: Schema,
    weight: Float64[np.ndarray, " node"],
    total: Float64[np.ndarray, "node score"],
) -> Tree:
    """The table of nodes, with the codes of splits by the schema."""
    is_leaf, size = planes.feature < 0, len(planes.feature)
    feature = np.where(is_leaf, 0, planes.feature)
    code, next_code = split_codes(schema, feature, planes.limit, ~is_leaf)
    kind, subset = np.zeros(size, np.int32), _subsets(planes, schema, ~is_leaf)
    for node, codes in planes.codes.items():
        if not is_leaf[node]:
            kind[node] = SplitKind.ONE_VS_REST if len(codes) == 1 else SplitKind.SUBSET
            code[node] = codes[0] if len(codes) == 1 else 0
            next_code[node] = 0
    is_threshold = ~is_leaf & (kind == SplitKind.THRESHOLD)
    return Tree(
        feature=np.where(is_leaf, -2, feature).astype(np.int32),
        code=code,
        next_code=next_code,
        threshold=np.where(is_leaf, -2.0, np.where(is_threshold, planes.limit, 0.0)),
        split_kind=kind,
        subset=subset,
        missing_code=np.where(is_leaf, 0, schema.num_values[feature]).astype(np.int32),
        missing_branch=np.where(is_leaf | planes.missing_left, 0, 1).astype(np.int32),
        first_child=order.first_child.astype(np.int32),
        num_children=np.where(is_leaf, 0, 2).astype(np.int32),
        parent=order.parent.astype(np.int32),
        depth=order.depth.astype(np.int32),
        root=np.repeat(order.first_node[:-1], np.diff(order.first_node)).astype(np.int32),
        weight=weight,
        count=np.zeros((size, 0)),
        target_sum=total,
        num_rows=np.clip(planes.num_rows, 0, 2**31 - 1).astype(np.int32),
        impurity=np.zeros(size),
        gain=np.where(is_leaf, 0.0, gain_of(planes.gain, weight)),
        num_nodes=np.array(size, np.int32),
        num_classes=(),
        num_features=schema.num_features,
    )


def gain_of(gain: Float64[np.ndarray, " node"], weight: Float64[np.ndarray, " node"]) -> Float64[np.ndarray, " node"]:
    """Returns gains by weight, of which jaxtree's are; one that is no number is 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        made = gain / weight
    return np.where(np.isfinite(made) & (made > 0), made, 0.0)


def split_codes(
    schema: Schema,
    feature: Int[np.ndarray, " node"],
    limit: Float64[np.ndarray, " node"],
    is_split: Bool[np.ndarray, " node"],
) -> tuple[Int32[np.ndarray, " node"], Int32[np.ndarray, " node"]]:
    """Returns the codes below and above every limit, which is one of the edges of its column.

    An infinite one separates the last code from that of a missing value.
    """
    bins, code = schema.columns.bins, np.zeros(len(feature), np.int32)
    next_code = np.zeros(len(feature), np.int32)
    split = np.flatnonzero(is_split)
    by_feature = split[np.argsort(feature[split], kind="stable")]
    for at, nodes in zip(*_groups(feature[by_feature], by_feature), strict=True):
        number = int(bins.num_bins[at])
        edges = bins[at].edges
        code[nodes] = np.searchsorted(edges, limit[nodes], side="left")
        next_code[nodes] = np.minimum(code[nodes] + 1, number)
    return code, next_code


def _groups(
    ordered: Int[np.ndarray, " node"], nodes: Int[np.ndarray, " node"]
) -> tuple[list[int], list[Int[np.ndarray, " _node"]]]:
    """The different numbers of an ascending vector, and the nodes of each."""
    found, first = np.unique(ordered, return_index=True)
    return found.tolist(), np.split(nodes, first[1:]) if len(found) else []


def _subsets(planes: NodePlanes, schema: Schema, is_split: Bool[np.ndarray, " node"]) -> SharedSubsets | np.ndarray:
    """The subsets of codes that go to the right; no words where no node has several such."""
    several = [node for node, codes in planes.codes.items() if is_split[node] and len(codes) != 1]
    if not several:
        return np.zeros((len(is_split), 0), np.uint32)
    most = int(schema.num_values[planes.feature[several]].max())
    require(len(several) * most <= MOST_BITS, "splits by category take more than a GiB")
    is_member = np.zeros((len(several) + 1, most), bool)
    for row, node in enumerate(several, 1):
        is_member[row, planes.codes[node]] = True
    row = np.zeros(len(is_split), np.int32)
    row[several] = np.arange(1, len(several) + 1)
    return SharedSubsets(row, words_of_subsets(is_member))
