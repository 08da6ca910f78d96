"""Small trees in terms of codes, and their node tables."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, UInt

from jaxtree.errors import InternalError, InvalidInputError
from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.exact import Fork
from jaxtree.optimal.indicators import Indicators
from jaxtree.tree import SplitKind, Tree


class CodedTable(NamedTuple):
    """A table in codes.

    Attributes:
        codes: The code of every feature in every row; the number of a feature's values for a missing one.
        num_values: The number of values of every feature.
        is_categorical: Whether a feature is split by one code and the rest, or by thresholds.
    """

    codes: UInt[np.ndarray, "feature row"]
    num_values: Int[np.ndarray, " feature"]
    is_categorical: Bool[np.ndarray, " feature"]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    def check(self) -> None:
        """Raises InvalidInputError if a code is none of its feature, or something does not have one value a feature."""
        shape = self.codes.shape[:1]
        if not self.num_values.shape == self.is_categorical.shape == shape:
            raise InvalidInputError(
                f"num_values and is_categorical must have one value a feature, shape {shape}, got "
                f"{self.num_values.shape} and {self.is_categorical.shape}"
            )
        wrong = np.flatnonzero(self.codes.max(axis=1, initial=0) > self.num_values)
        if wrong.size:
            feature = int(wrong[0])
            raise InvalidInputError(
                f"codes of feature {feature} must be from 0 to {self.num_values[feature]}, got "
                f"{self.codes[feature].max()}"
            )


class SplitNode(NamedTuple):
    """A node that splits its rows in two; None in its place is a leaf.

    Attributes:
        feature: The feature of the split.
        code: Its code, see `SplitKind`.
        kind: Its kind.
        missing_branch: The branch of missing values.
        first: The subtree of branch 0.
        second: The subtree of branch 1.
    """

    feature: int
    code: int
    kind: int
    missing_branch: int
    first: "SplitNode | None"
    second: "SplitNode | None"

    def takes_second(self, table: CodedTable, rows: Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Returns whether rows take branch 1."""
        codes = table.codes[self.feature, rows]
        second = codes > self.code if self.kind == SplitKind.THRESHOLD else codes == self.code
        return np.where(codes == table.num_values[self.feature], self.missing_branch == 1, second)


def split_node_of(fork: Fork | None, indicators: Indicators) -> SplitNode | None:
    """Returns a tree of indicators in terms of codes."""
    if fork is None:
        return None
    at = fork.indicator
    sides = [split_node_of(side, indicators) for side in (fork.inside, fork.outside)]
    first, second = sides if indicators.inside_branch(at) == 0 else sides[::-1]
    feature, code, kind = int(indicators.feature[at]), int(indicators.code[at]), int(indicators.kind[at])
    return SplitNode(feature, code, kind, int(indicators.missing_branch[at]), first, second)


def split_node_at(tree: Tree, node: int) -> SplitNode | None:
    """Returns the tree below a node of a node table; raises InvalidInputError if it has splits of other kinds."""
    if tree.is_leaf[node]:
        return None
    kind, missing_branch = int(tree.split_kind[node]), int(tree.missing_branch[node])
    if kind not in (SplitKind.THRESHOLD, SplitKind.ONE_VS_REST) or missing_branch > 1:
        raise InvalidInputError(
            "refine takes trees that split in two, by thresholds, categories or subsets of them, and send missing "
            f"values to one branch; node {node} has a split of kind {SplitKind(kind).name.lower()}"
        )
    first = int(tree.first_child[node])
    sides = split_node_at(tree, first), split_node_at(tree, first + 1)
    return SplitNode(int(tree.feature[node]), int(tree.code[node]), kind, missing_branch, *sides)


def split_nodes(tree: SplitNode | None) -> list[SplitNode]:
    """Returns the inner nodes of a tree."""
    return [] if tree is None else [tree, *split_nodes(tree.first), *split_nodes(tree.second)]


def objective_of(
    tree: SplitNode | None, table: CodedTable, target: CostedTarget, rows: Int[np.ndarray, " row"] | None = None
) -> float:
    """Returns the sum of the costs of the leaves of a tree, in units of the objective."""
    rows = np.arange(table.num_rows) if rows is None else rows
    if tree is None:
        return target.risk(rows)
    second = tree.takes_second(table, rows)
    parts = (tree.first, rows[~second]), (tree.second, rows[second])
    return sum(objective_of(side, table, target, own) for side, own in parts)


class _Node(NamedTuple):
    split: SplitNode | None
    rows: Int[np.ndarray, " row"]
    parent: int
    depth: int


def node_table(tree: SplitNode | None, table: CodedTable, target: CostedTarget, *, learns_missing: bool = True) -> Tree:
    """Returns the node table of a tree with the sums of a table's rows; its thresholds are codes.

    Args:
        tree: The tree.
        table: The rows.
        target: Their target.
        learns_missing: Whether a split whose node has no missing value sends these to the branch of greater weight.
    """
    nodes = [_Node(tree, np.arange(table.num_rows), 0, 0)]
    first_child = []
    for number, node in enumerate(nodes):  # which grows
        first_child.append(len(nodes) if node.split else 0)
        if node.split:
            second = node.split.takes_second(table, node.rows)
            sides = (node.split.first, node.rows[~second]), (node.split.second, node.rows[second])
            nodes += [_Node(side, rows, number, node.depth + 1) for side, rows in sides]
    return _filled(nodes, np.array(first_child, np.int32), table, target, learns_missing=learns_missing)


def _filled(nodes, first_child, table: CodedTable, target: CostedTarget, *, learns_missing: bool) -> Tree:
    """The node table of nodes in breadth-first order."""
    cost = target.cost
    count = np.stack([target.weight_of_labels(node.rows) for node in nodes])
    weight = count.sum(axis=1)
    totals = np.array([[math.fsum(own) for own in target.weighted[:, node.rows]] for node in nodes])
    risk = np.array([target.risk(node.rows) for node in nodes])
    parent = np.array([node.parent for node in nodes], np.int32)
    is_inner = first_child > 0
    below = np.bincount(parent[1:], risk[1:], minlength=len(nodes))
    of_classes = not cost.predicts_numbers
    split = np.zeros((len(nodes), 5), np.int32)
    for number in np.flatnonzero(is_inner).tolist():
        split[number] = _split_fields(nodes[number], table, weight[first_child[number] :][:2], learns_missing)
    feature, code, next_code, kind, missing_branch = split.T
    is_threshold = kind == SplitKind.THRESHOLD
    return Tree(
        feature=feature,
        code=code,
        next_code=next_code,
        threshold=np.where(is_threshold, (code + next_code) / 2, code),
        split_kind=kind,
        subset=np.zeros((len(nodes), 0), np.uint32),
        missing_code=table.num_values[feature].astype(np.int32),
        missing_branch=missing_branch,
        first_child=first_child,
        num_children=(2 * is_inner).astype(np.int32),
        parent=parent,
        depth=np.array([node.depth for node in nodes], np.int32),
        root=np.zeros(len(nodes), np.int32),
        weight=weight,
        count=count if of_classes else np.zeros((len(nodes), 0)),
        target_sum=np.zeros((len(nodes), 0)) if of_classes else totals,
        num_rows=np.array([node.rows.size for node in nodes], np.int32),
        impurity=np.maximum(risk / weight, 0),
        gain=np.where(is_inner, np.maximum((risk - below) / weight, 0), 0),
        num_nodes=np.array(len(nodes), np.int32),
        num_classes=(count.shape[1],) if of_classes else (),
        num_features=len(table.codes),
    )


def _split_fields(
    node: _Node, table: CodedTable, weight_below: Float64[np.ndarray, " 2"], learns_missing: bool
) -> tuple[int, int, int, int, int]:
    """The fields of a node's split: of a threshold the codes of the node's rows next to it."""
    if node.split is None:
        raise InternalError("a node is split that has no split")
    feature, code, kind, missing_branch = node.split[:4]
    present, missing_code = np.unique(table.codes[feature, node.rows]), int(table.num_values[feature])
    if learns_missing and present[-1] != missing_code:
        missing_branch = int(weight_below[1] > weight_below[0])
    if kind != SplitKind.THRESHOLD:
        return feature, code, code + 1, int(kind), missing_branch
    low, high = present[present <= code], present[(present > code) & (present < missing_code)]
    next_code = int(high[0]) if high.size else missing_code
    return feature, int(low[-1]) if low.size else code, next_code, int(kind), missing_branch
