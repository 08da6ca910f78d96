"""Soft forests made hard: trees of node tables over one schema, which predict together what the forest does.

A *heap* node is one of a soft tree. Its leaves get *columns*: what the trees of the hardened form add up, or average.
Every branch that some row could take is kept, whether a row of the fit does or not, so that all rows end where the soft
trees bring them.
"""

import functools

import numpy as np
from jaxtyping import Bool, Float64, Int, Real, UInt32

from jaxtree.errors import InvalidInputError
from jaxtree.kernels.walk import branch_of
from jaxtree.soft.forest import LeafWeights, SoftForest, TreeWeights
from jaxtree.soft.gates import ObliqueGate
from jaxtree.soft.hard_trees import (
    AxisSplits,
    HardNodeSums,
    axis_splits,
    axis_tests,
    schema_of_splits,
    tree_of_splits,
)
from jaxtree.soft.harden import keep_nodes
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.walk import walk_rows
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind
from jaxtree.tree.forest import Forest, join_trees
from jaxtree.tree.paths import Links, binary_links

LEAST_WEIGHT = 1e-9
"""The weight of a leaf that no row of the fit reaches, as a share of the weight of all: its value has to stand."""
LEAST_LOGIT = -600.0
"""The least logit of a leaf's weight below the greatest one: exponentials of less are no doubles of full precision."""


def harden_forest(
    forest: SoftForest,
    inputs: Inputs,
    values: Real[np.ndarray, "row value"],
    weight: Float64[np.ndarray, " row"],
    columns: Float64[np.ndarray, "tree leaf column"],
    *,
    temperature: float = 1.0,
    num_classes: tuple[int, ...] = (),
) -> tuple[Forest, Schema]:
    """Returns trees that send every row to the side to which the gates send more than half of it, and their schema.

    A number that is a threshold of any tree is an edge of the schema's bins.

    Args:
        forest: The soft forest, of axis gates or hard gates.
        inputs: How rows were made.
        values: Rows that nodes count, and bins describe.
        weight: Their weights.
        columns: The values of the leaves of every tree, from left to right.
        temperature: The temperature of the soft trees.
        num_classes: The classes of every output, if columns are their shares; empty for numbers.

    Raises:
        InvalidInputError: The gates are oblique.

    Example:
        >>> import jax
        >>> from jaxtree.soft import SoftForm, fit_inputs
        >>> from jaxtree.soft.forest import init_forest
        >>> from jaxtree.table.encoder import Encoder
        >>> rows = np.linspace(0.0, 1.0, 9)[:, None]
        >>> inputs = fit_inputs(rows, Encoder().fit(rows).schema_)
        >>> form = SoftForm(depth=1, num_features=1, num_outputs=1, gate="hard")
        >>> forest = init_forest(form, num_trees=2, key=jax.random.key(0))
        >>> hard, schema = harden_forest(forest, inputs, rows, np.ones(9), np.zeros((2, 2, 1)) + [[1.0], [2.0]])
        >>> len(hard), schema.num_features
        (2, 1)
    """
    if isinstance(forest.trees.gate, ObliqueGate):
        raise InvalidInputError(
            "a forest of oblique gates is not hardened: take gate='hard' or gate='axis', or harden single trees"
        )
    trees = [forest.tree(number) for number in range(forest.num_trees)]
    splits = [axis_splits(axis_tests(tree, temperature), inputs) for tree in trees]
    kept = [
        _kept_tree(own, values, weight, leaf, inputs.schema, num_classes)
        for own, leaf in zip(splits, columns, strict=True)
    ]
    together = AxisSplits(*map(np.concatenate, zip(*(own for own, _, _ in kept), strict=True)))
    schema = schema_of_splits(inputs.schema, together, values)
    return join_trees([tree_of_splits(own, links, schema, sums, num_classes) for own, links, sums in kept]), schema


def leaf_weights(forest: SoftForest) -> Float64[np.ndarray, "tree leaf"]:
    """The weights of the leaves: of a mean or of weights by tree, shares of 1; of those by leaf in proportion to them.

    Raises InvalidInputError if they depend on the row.
    """
    shape = forest.trees.leaf.value.shape[:2]
    if forest.mixing is None:
        return np.full(shape, 1.0 / shape[0])
    if isinstance(forest.mixing, TreeWeights):
        share = np.exp(np.asarray(forest.mixing.logit, np.float64) - np.max(forest.mixing.logit))
        return np.repeat((share / share.sum())[:, None], shape[1], axis=1)
    if isinstance(forest.mixing, LeafWeights):
        logit = np.asarray(forest.mixing.logit, np.float64)
        return np.exp(np.maximum(logit - logit.max(), LEAST_LOGIT))
    raise InvalidInputError(
        "weights that are linear in the row, mixture='learned', have no hard form: take mixture='mean', 'by_tree' or "
        "'by_leaf'"
    )


def _kept_tree(
    splits: AxisSplits,
    values: Real[np.ndarray, "row value"],
    weight: Float64[np.ndarray, " row"],
    leaf: Float64[np.ndarray, "leaf column"],
    schema: Schema,
    num_classes: tuple[int, ...],
) -> tuple[AxisSplits, Links, HardNodeSums]:
    """The splits of a tree, without those with one side that no row could take, its links, and the sums of its nodes.

    Args:
        splits: The splits of all inner heap nodes.
        values: The rows.
        weight: Their weights.
        leaf: The columns of the leaves.
        schema: The schema of the values.
        num_classes: As in `harden_forest`.
    """
    num_inner = len(splits.feature)
    num_heap = 2 * num_inner + 1
    children = np.where(np.arange(num_heap) < num_inner, 2 * np.arange(num_heap) + 1, 0)
    branch = functools.partial(_branch_of_rows, splits, values)
    end = walk_rows(branch, children, len(values))
    is_reached = reachable(splits, schema)
    column = np.zeros((num_heap, leaf.shape[1]))
    column[num_inner:] = leaf
    num_rows = np.bincount(end, minlength=num_heap)
    weight_of = np.bincount(end, weight, minlength=num_heap)
    is_empty = is_reached & (weight_of == 0) & (np.arange(num_heap) >= num_inner)
    weight_of[is_empty] = LEAST_WEIGHT * weight.sum()
    total = weight_of[:, None] * column
    square = weight_of * np.square(column).sum(axis=1)
    for sums in (num_rows, weight_of, total, square):
        for node in range(num_heap - 1, 0, -1):
            sums[(node - 1) // 2] += sums[node]
    if num_classes:
        square = weight_of * len(num_classes)  # Gini's impurity is 1 less the sum of squares
    spread = square - np.divide(np.square(total).sum(axis=1), weight_of, out=np.zeros(num_heap), where=weight_of > 0)
    risk = np.maximum(spread, 0) / (len(num_classes) or leaf.shape[1])
    heap, is_leaf, _ = keep_nodes(is_reached, np.arange(num_heap) >= num_inner, column, splits.turned)
    sums = HardNodeSums(num_rows[heap], weight_of[heap], total[heap], risk[heap])
    of_inner = AxisSplits(*(part[heap[~is_leaf]] for part in splits))
    return of_inner.turned_around(schema), binary_links(is_leaf), sums


def _branch_of_rows(
    splits: AxisSplits,
    values: Real[np.ndarray, "row value"],
    row: Int[np.ndarray, " moving"],
    node: Int[np.ndarray, " moving"],
) -> Int[np.ndarray, " moving"]:
    return splits.branch(values[row, splits.feature[node]], node)


def reachable(splits: AxisSplits, schema: Schema) -> Bool[np.ndarray, " heap"]:
    """Which heap nodes some row could come to, given the splits of the inner ones.

    A number may be any, a category any code, and each may be missing.
    """
    num_inner = len(splits.feature)
    is_reached = np.zeros(2 * num_inner + 1, bool)
    is_reached[0] = True
    allowed_at: dict[int, dict[int, _Allowed]] = {0: {}}
    for node in range(num_inner):
        allowed = allowed_at.pop(node, None)
        if allowed is None:
            continue
        feature = int(splits.feature[node])
        own = allowed.get(feature) or _Allowed.all_of(schema, feature)
        split = int(splits.kind[node]), float(splits.threshold[node]), int(splits.missing_branch[node])
        for branch, below in enumerate(own.divided(*split, splits.subset[node])):
            if below.some:
                child = 2 * node + 1 + branch
                is_reached[child] = True
                allowed_at[child] = {**allowed, feature: below}
    return is_reached


class _Allowed:
    """The values of a feature that rows may have: numbers above low and up to high, or codes; and missing ones."""

    def __init__(self, low: float, high: float, codes: Bool[np.ndarray, " code"] | None, *, is_missing: bool):
        self.low, self.high, self.codes, self.is_missing = low, high, codes, is_missing

    @classmethod
    def all_of(cls, schema: Schema, feature: int) -> "_Allowed":
        """All values of a feature."""
        codes = None if schema.columns.is_numeric[feature] else np.ones(schema.num_values[feature], bool)
        return cls(-np.inf, np.inf, codes, is_missing=True)

    @property
    def some(self) -> bool:
        """Whether there is any value."""
        known = self.low < self.high if self.codes is None else bool(self.codes.any())
        return known or self.is_missing

    def divided(
        self, kind: int, threshold: float, missing_branch: int, subset: UInt32[np.ndarray, " word"]
    ) -> "tuple[_Allowed, _Allowed]":
        """The values on both sides of a split."""
        is_missing = self.is_missing and missing_branch == 0, self.is_missing and missing_branch == 1
        if self.codes is None:
            return (
                _Allowed(self.low, min(self.high, threshold), None, is_missing=is_missing[0]),
                _Allowed(max(self.low, threshold), self.high, None, is_missing=is_missing[1]),
            )
        code = np.arange(self.codes.size)
        read_word = None if kind != SplitKind.SUBSET else subset.__getitem__
        is_right = branch_of(np.full(code.size, kind), np.full(code.size, threshold), code, read_word) == 1
        return (
            _Allowed(0.0, 0.0, self.codes & ~is_right, is_missing=is_missing[0]),
            _Allowed(0.0, 0.0, self.codes & is_right, is_missing=is_missing[1]),
        )
