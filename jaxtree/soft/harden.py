"""Soft trees made hard: axis gates become splits of a node table, oblique ones those of an `ObliqueTree`."""

import functools
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Float64, Real
from scipy.special import softmax

from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.soft.axis_splits import axis_splits, schema_of_splits, tree_of_splits
from jaxtree.soft.deciding import DROPS, GoesRight, Kept, keep_nodes, lead_rows, reached_in_box
from jaxtree.soft.from_tree import said_by_nodes
from jaxtree.soft.gates import AxisGate
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import SoftTree, apply, planes_of
from jaxtree.soft.oblique import ObliqueTree, above_planes
from jaxtree.soft.refitting import Rows, Sums, agreement, check_rows, sums_of_rows
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree

LINKS = ("identity", "softmax")
ROWS_AT_A_TIME = 8192


class Hardened(NamedTuple):
    """A soft tree made hard.

    Attributes:
        tree: A node table, with thresholds in units of the table; or an oblique tree.
        schema: What its features and thresholds mean. Its bins lie between the thresholds.
        agreement: The share of rows for which it predicts the class that the soft tree predicts; of numbers, of the
            variance of what the soft tree predicts that it explains. The mean over outputs.
    """

    tree: Tree | ObliqueTree
    schema: Schema
    agreement: float


def harden(
    soft: SoftTree,
    inputs: Inputs,
    values: Float[np.ndarray, "row value"],
    target: Real[np.ndarray, "row output"],
    *,
    num_classes: tuple[int, ...] = (),
    weight: Float[np.ndarray, " row"] | None = None,
    temperature: float = 1.0,
    refit: bool = True,
    link: str = "identity",
    drop: str = "rows",
) -> Hardened:
    r"""Returns the hard tree that sends every row where its gates rather send it.

    An axis gate becomes a split of the feature with the largest share s: a number above threshold / s, a category, or
    whether a value is missing. A missing value goes where it would rather go. Nodes that stop more than half of their
    rows become leaves, and so does a node whose leaves say the very same.

    Args:
        soft: The soft tree.
        inputs: How rows were made.
        values: The rows that leaves are refitted on: numbers, and codes of categories (`Encoder.values`).
        target: Classes from 0 on, or numbers; a column an output.
        num_classes: The classes of every output; empty for numbers.
        weight: Of the rows.
        temperature: Of the soft tree when it is compared with.
        refit: Whether a leaf says the shares of the classes, or the means, of its rows; if not, what the soft tree's
            leaf says.
        link: What makes shares of what the soft tree's leaves say: "softmax" if these are logits, else "identity".
        drop: Which branches go: "rows", those where none of the rows come; or "box", those where no point within the
            ranges of the columns comes.

    Raises:
        InvalidInputError: An option is not allowed; rows, target, weight and the soft tree do not fit one another; or
            leaves that are linear models are not to be refitted.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.soft import fit_inputs, from_tree
        >>> X, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([0, 1, 1, 0])
        >>> fitted = DecisionTreeClassifier().fit(X, y)
        >>> inputs = fit_inputs(X, fitted.schema_)
        >>> hard, schema, share = harden(from_tree(fitted.tree_, inputs), inputs, X, y[:, None], num_classes=(2,))
        >>> hard.threshold[~hard.is_leaf].round(3).tolist(), share
        ([1.5, 4.5], 1.0)
    """
    for name, given, allowed in (("link", link, LINKS), ("drop", drop, DROPS)):
        if given not in allowed:
            raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")
    if soft.leaf.weight is not None and not refit:
        raise InvalidInputError("leaves that are linear models can only be refitted: refit must be True")
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    data = Rows(np.asarray(values), np.asarray(target), weight, num_classes)
    check_rows(data, soft.form.num_outputs)
    make = _to_tree if isinstance(soft.gate, AxisGate) else _to_oblique
    tree, schema = make(soft, inputs, data, temperature, None if refit else link, drop)
    told = tree.predict(data.values) if isinstance(tree, ObliqueTree) else said_by_nodes(tree)[tree.apply(data.values)]
    compared = _soft_predictions(soft, inputs, data.values, temperature)
    return Hardened(tree, schema, agreement(compared, told, weight, num_classes))


def _to_tree(
    soft: SoftTree, inputs: Inputs, rows: Rows, temperature: float, link: str | None, drop: str
) -> tuple[Tree, Schema]:
    assert isinstance(soft.gate, AxisGate)
    splits = axis_splits(soft.gate, inputs, soft.form.selector, temperature)

    def goes_right(row, node):
        return splits.go_right(rows.values[row, splits.feature[node]], node)

    planes = np.eye(inputs.num_features)[splits.column], -splits.limit
    kept, sums = _keep(soft, goes_right, rows, inputs, planes, drop)
    schema = schema_of_splits(inputs.schema, splits, kept.heap[~kept.is_leaf], rows.values)
    if link is None:
        target = sums.target[kept.heap]
    else:
        target = _said(kept, sums, link, rows.num_classes) * sums.weight[kept.heap][:, None]
    return tree_of_splits(splits, kept, schema, sums, target, rows.num_classes), schema


def _to_oblique(
    soft: SoftTree, inputs: Inputs, rows: Rows, temperature: float, link: str | None, drop: str
) -> tuple[ObliqueTree, Schema]:
    plane = planes_of(soft, temperature)
    scale = np.asarray(plane.scale, np.float64)
    normal, offset = np.asarray(plane.weight, np.float64) * scale[:, None], np.asarray(plane.bias, np.float64) * scale
    if plane.missing is not None:
        normal[:, inputs.num_values :] += np.asarray(plane.missing)
    x = inputs.transform(rows.values)

    def goes_right(row, node):
        return above_planes(normal, offset, x[row], node)

    kept, sums = _keep(soft, goes_right, rows, inputs, (normal, offset), drop)
    is_leaf = kept.is_leaf
    own_normal, own_offset = np.zeros((is_leaf.size, inputs.num_features)), np.zeros(is_leaf.size)
    own_normal[~is_leaf], own_offset[~is_leaf] = normal[kept.heap[~is_leaf]], offset[kept.heap[~is_leaf]]
    tree = ObliqueTree(
        normal=own_normal,
        offset=own_offset,
        first_child=kept.first_child,
        num_children=np.where(is_leaf, 0, 2),
        parent=kept.parent,
        depth=kept.depth,
        num_rows=sums.num_rows[kept.heap],
        weight=sums.weight[kept.heap],
        value=_said(kept, sums, link, rows.num_classes),
        inputs=inputs,
        num_classes=rows.num_classes,
    )
    return tree, inputs.schema


def _keep(
    soft: SoftTree,
    goes_right: GoesRight,
    rows: Rows,
    inputs: Inputs,
    planes: tuple[Float[np.ndarray, "inner column"], Float[np.ndarray, " inner"]],
    drop: str,
) -> tuple[Kept, Sums]:
    """What is kept of the heap, and the sums of all of it.

    Args:
        soft: The soft tree.
        goes_right: What its gates decide.
        rows: The rows.
        inputs: How they become those of the soft tree.
        planes: The gates, as points of the box see them.
        drop: Which branches go.
    """
    form = soft.form
    num_heap = 2 * form.num_inner + 1
    stops = np.arange(num_heap) >= form.num_inner
    if soft.stop is not None:
        stops[: form.num_inner] = np.asarray(soft.stop.probability(form.depth)) > 0.5
    sums = sums_of_rows(rows, lead_rows(goes_right, len(rows.values), stops), num_heap)
    is_reached = sums.num_rows > 0
    if drop == "box":
        x = inputs.transform(rows.values)
        is_reached |= reached_in_box(*planes, x.min(axis=0), x.max(axis=0))
    told = _what_ends_say(soft)
    value = np.zeros((num_heap, told.shape[1]))
    value[num_heap - form.num_ends :] = told
    return keep_nodes(is_reached, stops, value), sums


def _what_ends_say(soft: SoftTree) -> Float64[np.ndarray, "end column"]:
    """The values of the ends, and all weights of linear models."""
    value = np.asarray(soft.leaf.value, np.float64)
    if soft.leaf.weight is None:
        return value
    return np.concatenate([value, np.asarray(soft.leaf.weight, np.float64).reshape(len(value), -1)], axis=1)


def _said(kept: Kept, sums: Sums, link: str | None, num_classes: tuple[int, ...]) -> Float64[np.ndarray, "kept column"]:
    """What the kept nodes say: of their rows if there is no link, else what leaves said, and its mean above them."""
    if link is None:
        return sums.mean[kept.heap]
    said = kept.value.copy()
    if link == "softmax":
        start = 0
        for size in num_classes:
            said[:, start : start + size] = softmax(said[:, start : start + size], axis=1)
            start += size
    weight = sums.weight[kept.heap]
    for node in np.flatnonzero(~kept.is_leaf)[::-1]:
        children = slice(kept.first_child[node], kept.first_child[node] + 2)
        said[node] = np.average(said[children], axis=0, weights=weight[children] if weight[children].any() else None)
    return said


def _soft_predictions(
    soft: SoftTree, inputs: Inputs, values: Float[np.ndarray, "row value"], temperature: float
) -> Float[np.ndarray, "row output"]:
    """What the soft tree says, block by block."""
    predict = jax.jit(functools.partial(apply, temperature=temperature))
    blocks = []
    for start in range(0, len(values), ROWS_AT_A_TIME):
        block = inputs.transform(values[start : start + ROWS_AT_A_TIME])
        padding = row_bucket(len(block)) - len(block)
        blocks.append(np.asarray(predict(soft, np.pad(block, ((0, padding), (0, 0)))))[: len(block)])
    return np.concatenate(blocks)
