"""Rows at the nodes of a page's tree: their sums, the first of them one by one, and histograms of a node's column."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.parts import read_arguments
from jaxtree.page.subject import FEW_DIGITS, Subject, compact, compact_rows
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.table.reading import check_same_length
from jaxtree.tree import output_counts, target_means

MOST_ROWS, MOST_CELLS = 5_000, 200_000
"""How many rows can be followed one by one: so many, and of so many values in all."""


class PageRows(NamedTuple):
    """Rows that were sent down the tree.

    Attributes:
        name: What they are: "training" or "validation".
        values: What thresholds are compared with; NaN where a value is missing.
        target: The class of every row, -1 if the tree does not know it; or its number.
        end: The node where its walk ends.
        held: Their sums at the nodes.
    """

    name: str
    values: Float[np.ndarray, "row feature"]
    target: Real[np.ndarray, " row"]
    end: Int[np.ndarray, " row"]
    held: HeldOut


def read_rows(subject: Subject, name: str, X: Any, y: Any) -> PageRows | None:
    """Sends rows down the tree; None if none are given.

    Args:
        subject: The tree.
        name: What the rows are.
        X: A table as in fit, or a source.
        y: Its target, or the name of its column.

    Raises:
        InvalidInputError: One of X and y is given alone, or they are not as in fit.
    """
    names = ("X", "y") if name == "training" else ("X_val", "y_val")
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise InvalidInputError(f"{names[0]} and {names[1]} go together, got one of them alone")
    X, y, _, _ = read_arguments(X, y)
    model = subject.model
    target = model.encode_target(y)
    values = np.asarray(subject.member.encoder_.values(X), np.float64)
    check_same_length(len(values), target[0])
    held = hold_out_rows(subject.tree, model.predictor, values, target, None)
    return PageRows(name, values, target[0], model.predictor.ends(values), held)


def row_columns(subject: Subject, rows: PageRows) -> dict[str, Any]:
    """Returns rows as the page takes them.

    `ended` has their sums where walks end when nothing is pruned, a list a node, see `HeldOut`; `middle` is what
    numbers are counted from there. `shown` are the first rows one by one: `end`, `target`, and for every column its
    `cells`.
    """
    most = max(1, min(MOST_ROWS, MOST_CELLS // len(subject.schema.columns)))
    shown = {
        "end": compact(rows.end[:most]),
        "target": compact(rows.target[:most]),
        "cells": _cells(subject, rows.values[:most]),
    }
    columns = {"name": rows.name, "size": len(rows.target), "ended": compact_rows(rows.held.ended), "shown": shown}
    return columns if subject.classes else columns | {"middle": float(target_means(subject.tree)[0, 0])}


def columns_of_growth(subject: Subject) -> dict[str, Any] | None:
    """The same of the rows that the tree was grown on, from its own counts; None for numbers."""
    if not subject.classes:
        return None
    tree = subject.tree
    at_leaves = np.where(np.asarray(tree.is_leaf)[:, None], np.asarray(output_counts(tree), np.float64), 0.0)
    return {"name": "training", "size": int(tree.num_rows[0]), "ended": compact_rows(at_leaves), "shown": None}


def _cells(subject: Subject, values: Float[np.ndarray, "row feature"]) -> list[list[int | float | None]]:
    """The numbers of every column, or the places of its categories; None where a value is missing."""
    schema = subject.schema
    cells = []
    for place in range(len(schema.columns)):
        own = [number for number, feature in enumerate(schema.features) if feature.column == place]
        if schema.features[own[0]].kind != "onehot":
            cells.append(compact(values[:, own[0]], FEW_DIGITS))
            continue
        is_category = values[:, own] == 1
        codes = np.where(is_category.any(axis=1), is_category.argmax(axis=1), np.nan)
        cells.append(compact(codes))
    return cells


MOST_BARS, FEWEST_BARS = 16, 4
"""Bounds of the number of a histogram's bars, which is the square root of that of its rows; of categories one each."""

MOST_CATEGORIES = 24
"""More categories than this share bars, those next to one another."""

MOST_STACKS = 8
"""More classes than this are stacked together: the last stack has all that follow."""


class _Bars(NamedTuple):
    """The bars of all nodes, side by side.

    Attributes:
        low: Where the first bar of every node begins.
        high: Where its last ends.
        number: How many it has; 0 at a leaf, and where no row comes.
    """

    low: Float[np.ndarray, " node"]
    high: Float[np.ndarray, " node"]
    number: Int[np.ndarray, " node"]


def histograms(subject: Subject, rows: PageRows) -> list[dict[str, Any] | None]:
    """Returns a histogram for every inner node that rows come to, of those whose value is known; None for the others.

    `low` and `high` are the ends of the bars in units of the column, or for categories in their places; `missing` is
    how many rows lack a value; `bars` has a list for each bar with the number of rows in every stack.
    """
    num_nodes = subject.tree.node_count
    stack, num_stacks = _stacks(subject, rows)
    row, node = _passing(subject, rows)
    value = rows.values[row, np.asarray(subject.tree.feature)[node]]
    known = ~np.isnan(value)
    missing = np.bincount(node[~known], minlength=num_nodes)
    row, node, value = row[known], node[known], value[known]
    bars = _bars(subject, node, value)
    first = np.cumsum(bars.number) - bars.number
    width = (bars.high - bars.low) / np.maximum(bars.number, 1)
    place = np.floor((value - bars.low[node]) / np.where(width > 0, width, 1.0)[node]).astype(np.int64)
    cell = first[node] + np.minimum(place, bars.number[node] - 1)
    counts = np.bincount(cell * num_stacks + stack[row], minlength=int(bars.number.sum()) * num_stacks)
    ends = zip(compact(bars.low, FEW_DIGITS), compact(bars.high, FEW_DIGITS), strict=True)
    parts = np.split(counts.reshape(-1, num_stacks), first[1:])
    return [
        {"low": low, "high": high, "missing": lacking, "bars": part.tolist()} if len(part) else None
        for (low, high), lacking, part in zip(ends, missing.tolist(), parts, strict=True)
    ]


def _stacks(subject: Subject, rows: PageRows) -> tuple[Int[np.ndarray, " row"], int]:
    """The stack of every row, and how many there are; rows of unknown classes are in the last."""
    if not subject.classes:
        return np.zeros(len(rows.target), np.int64), 1
    has_unknown = bool(np.any(rows.target < 0))
    num_stacks = min(len(subject.classes) + has_unknown, MOST_STACKS)
    stack = np.where(rows.target < 0, num_stacks - 1, rows.target).astype(np.int64)
    return np.minimum(stack, num_stacks - 1), num_stacks


def _passing(subject: Subject, rows: PageRows) -> tuple[Int[np.ndarray, " visit"], Int[np.ndarray, " visit"]]:
    """All pairs of a row and an inner node that it comes to, also in parts."""
    tree = subject.tree
    parts = subject.model.predictor.instances(rows.values)
    depth, parent, is_leaf = (np.asarray(values) for values in (tree.depth, tree.parent, tree.is_leaf))
    node, pairs = parts.node, []
    for level in range(int(depth.max()), -1, -1):
        here = (depth[node] == level) & ~is_leaf[node]
        pairs.append(np.unique(parts.row[here].astype(np.int64) * tree.node_count + node[here]))
        node = np.where(depth[node] == level, parent[node], node)
    row, node = np.divmod(np.concatenate(pairs), tree.node_count)
    return row, node


def _bars(subject: Subject, node: Int[np.ndarray, " visit"], value: Float[np.ndarray, " visit"]) -> _Bars:
    """The bars of every node: over the range of its rows, or over all categories of its column."""
    tree, features = subject.tree, subject.schema.features
    low, high = np.full(tree.node_count, np.inf), np.full(tree.node_count, -np.inf)
    np.minimum.at(low, node, value)
    np.maximum.at(high, node, value)
    visits = np.bincount(node, minlength=tree.node_count)
    number = np.clip(np.ceil(np.sqrt(visits)), FEWEST_BARS, MOST_BARS).astype(np.int64)
    asked = np.maximum(np.asarray(tree.feature), 0)
    is_numeric = np.array([feature.kind == "numeric" for feature in features])[asked]
    categories = np.array([feature.num_values for feature in features])[asked]
    low, high = np.where(is_numeric, low, -0.5), np.where(is_numeric, high, categories - 0.5)
    number = np.where(is_numeric, np.where(low < high, number, 1), np.minimum(categories, MOST_CATEGORIES))
    return _Bars(low, high, np.where(visits > 0, number, 0))
