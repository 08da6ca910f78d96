"""The data that the page's script reads: the tree, rows at its nodes, and histograms of the columns of splits.

Numbers go out in few characters: nodes and rows are columns of lists, and rows of a table have only entries that are
not 0.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.sparse
from jaxtyping import Float, Int, Real

from jaxtree.errors import InvalidInputError
from jaxtree.explain.dependence import column_values
from jaxtree.export.conditions import branch_in_words, class_names
from jaxtree.export.models import exported_model
from jaxtree.export.pictures import CLASS_COLOURS, colour_of_class
from jaxtree.page.answers import PageTable
from jaxtree.prune.draws import node_numbers
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.prune.weakest_links import weakest_links
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree import Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import ancestors, output_counts, target_means

ALL_DIGITS, DIGITS, FEW_DIGITS = 17, 12, 6
"""Significant digits of a number that lies between others; of one that is summed, so that sums are right to nine; of
one only read."""

DRAW = 0
"""The seed of the draw of dropout."""

MOST_ROWS, MOST_CELLS = 5_000, 200_000
"""The most rows that can be followed one by one, and the most values that they have in all."""


class Subject(NamedTuple):
    """The tree that a page shows.

    Attributes:
        estimator: The fitted estimator that the page is of.
        number: Which tree of the forest it is; None if it is none of a forest.
        model: The tree's model.
    """

    estimator: Any
    number: int | None
    model: FittedModel

    @property
    def tree(self) -> Tree:
        """The node table."""
        return self.model.tree

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.model.schema

    @property
    def classes(self) -> list[str]:
        """The names of the classes; none for numbers."""
        return class_names(self.model)[0] if self.model.classes else []


def subject_of(estimator: Any, tree: int) -> Subject:
    """Finds the tree that a page of an estimator shows.

    Args:
        estimator: A fitted tree or forest of jaxtree.
        tree: The number of the tree in a forest; 0 for a single tree.

    Raises:
        InvalidInputError: It has several outputs, or there is no such tree.
        InvalidTypeError: It is no tree or forest of hard splits along the axes.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    check_number(tree, len(exported_model(estimator).forest))
    if not estimator.model_.averages_trees:
        return Subject(estimator, None, estimator.model_)
    return Subject(estimator, int(tree), estimator.estimators_[tree].model_)


def check_number(tree: Any, num_trees: int) -> None:
    """Raises InvalidInputError if there is no tree of a number."""
    if not isinstance(tree, int | np.integer) or not 0 <= tree < num_trees:
        raise InvalidInputError(f"tree must be a whole number from 0 to {num_trees - 1}, got {tree!r}")


def compact(values: Real[np.ndarray, " entry"], digits: int = DIGITS) -> list[int | float | None]:
    """Returns numbers as JSON has them: whole ones without a point, and None for what is not finite.

    >>> compact(np.array([1.0, 0.1 + 0.2, np.inf]))
    [1, 0.3, None]
    """
    return [_compact_number(value, digits) for value in np.asarray(values).tolist()]


def compact_rows(table: Real[np.ndarray, "row column"]) -> list[list[int | float | None]]:
    """Returns every row as its entries that are not 0: column, value, column, value.

    >>> compact_rows(np.array([[0.0, 2.5], [0.0, 0.0]]))
    [[1, 2.5], []]
    """
    table = np.asarray(table)
    rows: list[list[Any]] = [[] for _ in table]
    row, column = np.nonzero(table)
    for place, name, value in zip(row.tolist(), column.tolist(), compact(table[row, column]), strict=True):
        rows[place] += (name, value)
    return rows


def _compact_number(value: int | float, digits: int) -> int | float | None:
    if isinstance(value, int):
        return value
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.{digits}g}")


class PageRows(NamedTuple):
    """Rows that were sent down the tree.

    Attributes:
        name: "training" or "validation".
        values: The values that thresholds are compared with; NaN where one is missing.
        target: The class of every row, -1 if the tree does not know it; or its number.
        end: The node where its walk ends.
        held: Their sums at the nodes.
    """

    name: str
    values: Float[np.ndarray, "row feature"]
    target: Real[np.ndarray, " row"]
    end: Int[np.ndarray, " row"]
    held: HeldOut


def page_data(subject: Subject, rows: list[PageRows]) -> dict[str, Any]:
    """Everything that the page's script reads."""
    sets = [row_columns(subject, own) for own in rows]
    if not any(own.name == "training" for own in rows):
        of_growth = columns_of_growth(subject)
        sets = sets if of_growth is None else [of_growth, *sets]
    num_classes = len(subject.classes)
    return {
        "classes": subject.classes,
        "colours": [colour_of_class(place) for place in range(num_classes)] or [CLASS_COLOURS[0]],
        "columns": [
            {
                "name": column.name if column.unit is None else f"{column.name} ({column.unit})",
                "categories": None if column.bins is not None else [value_in_words(name) for name in column.categories],
            }
            for column in subject.schema.columns
        ],
        "canPrune": not subject.model.is_vote,
        "nodes": node_columns(subject),
        "histograms": histograms(subject, rows[0]) if rows else [],
        "sets": sets,
    }


def node_columns(subject: Subject) -> dict[str, Any]:
    """Returns the node table as the page takes it.

    Its columns are `firstChild` and `numChildren`; `column`, the column that a node asks for, -1 at a leaf;
    `threshold`, where the split is one of a numeric column, and `limit`, that in words; `branch`, what the parent's
    split asks; `rows`, `weight`, `impurity` and `gain`; `price`, the alpha from which on it is collapsed; `number`, its
    number in the draw of dropout. Of classes `label`, `shares` and `counts`, of numbers `mean`.
    """
    tree, schema = subject.tree, subject.schema
    is_leaf, asked = np.asarray(tree.is_leaf), np.maximum(np.asarray(tree.feature), 0)
    column = np.array([feature.column for feature in schema.features])[asked]
    has_limit = ~is_leaf & np.array([feature.kind == "numeric" for feature in schema.features])[asked]
    columns: dict[str, Any] = {
        "firstChild": compact(tree.first_child),
        "numChildren": compact(tree.num_children),
        "column": np.where(is_leaf, -1, column).tolist(),
        "threshold": compact(np.where(has_limit, np.asarray(tree.threshold), np.inf), ALL_DIGITS),
        "limit": [
            schema.columns[own].limit(limit).words if is_number and np.isfinite(limit) else None
            for own, limit, is_number in zip(column.tolist(), tree.threshold.tolist(), has_limit.tolist(), strict=True)
        ],
        "branch": ["", *(branch_in_words(tree, schema, node) for node in range(1, tree.node_count))],
        "rows": compact(tree.num_rows),
        "weight": compact(np.asarray(tree.weight, np.float64)),
        "impurity": compact(np.maximum(tree.impurity, 0.0), FEW_DIGITS),
        "gain": compact(tree.gain, FEW_DIGITS),
        "price": compact(weakest_links(tree).alpha, ALL_DIGITS),
        "number": compact(node_numbers(tree, key=jax.random.key(DRAW)).astype(np.int64)),
    }
    value, label = subject.model.node_value, subject.model.node_label
    if label is None:
        return columns | {"mean": compact(value[:, 0], ALL_DIGITS)}
    counts = np.asarray(output_counts(tree), np.float64)
    return columns | {"label": compact(label[0]), "shares": compact_rows(value), "counts": compact_rows(counts)}


def rows_of_tree(subject: Subject, table: PageTable) -> PageRows:
    """Sends rows with a target down the tree."""
    model, target = subject.model, table.truth.T
    held = hold_out_rows(subject.tree, model.predictor, table.values, target, None)
    return PageRows(table.name, table.values, target[0], model.predictor.ends(table.values), held)


def row_columns(subject: Subject, rows: PageRows) -> dict[str, Any]:
    """Returns rows as the page takes them.

    `ended` has their sums where walks end when nothing is pruned, a list a node, see `HeldOut`; `middle` is what
    numbers are counted from there. `shown` are the first rows one by one: `end`, `target`, and for every column its
    `cells`.
    """
    most = max(1, min(MOST_ROWS, MOST_CELLS // len(subject.schema.columns)))
    shown = {
        "end": compact(rows.end[:most]),
        "target": compact(rows.target[:most], ALL_DIGITS),
        "cells": _cells(subject.schema, rows.values[:most]),
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


def _cells(schema: Schema, values: Float[np.ndarray, "row feature"]) -> list[list[int | float | None]]:
    """The numbers of every column, or the places of its categories; None where a value is missing."""
    cells = []
    for place in range(len(schema.columns)):
        cell = column_values(schema, values, place)
        cells.append(_cells_of(schema.columns[place], cell))
    return cells


def _cells_of(column: Column, cell: Float[np.ndarray, " row"]) -> list[int | float | None]:
    """The same of a column, in so few digits that each number stays in its bin."""
    if column.bins is None:
        return compact(cell)
    bins = np.searchsorted(column.bins.edges, cell)
    for digits in (FEW_DIGITS, 9, DIGITS):
        short = compact(cell, digits)
        if (np.searchsorted(column.bins.edges, np.array(short, np.float64)) == bins).all():
            return short
    return compact(cell, ALL_DIGITS)


MOST_BARS, FEWEST_BARS = 16, 4
"""The most and fewest bars of a histogram of numbers; between them it has the square root of its number of rows."""

MOST_CATEGORIES = 24
"""The most categories with a bar each; of more, those next to one another share bars."""

MOST_STACKS = 8
"""The most classes with a stack each; of more, the last stack has all that follow."""


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
    low, high, number = _bars(subject, node, value)
    first = np.cumsum(number) - number
    width = (high - low) / np.maximum(number, 1)
    place = np.floor((value - low[node]) / np.where(width > 0, width, 1.0)[node]).astype(np.int64)
    cell = first[node] + np.minimum(place, number[node] - 1)
    counts = np.bincount(cell * num_stacks + stack[row], minlength=int(number.sum()) * num_stacks)
    ends = zip(compact(low, ALL_DIGITS), compact(high, ALL_DIGITS), strict=True)
    parts = np.split(counts.reshape(-1, num_stacks), first[1:])
    return [
        {"low": start, "high": end, "missing": lacking, "bars": part.tolist()} if len(part) else None
        for (start, end), lacking, part in zip(ends, missing.tolist(), parts, strict=True)
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
    ended = scipy.sparse.csr_matrix(
        (np.ones(parts.row.size, np.int64), (parts.row, parts.node)), shape=(len(rows.values), tree.node_count)
    )
    row, node = (ended @ ancestors(tree)).nonzero()
    is_inner = ~np.asarray(tree.is_leaf)[node]
    return row[is_inner], node[is_inner]


def _bars(
    subject: Subject, node: Int[np.ndarray, " visit"], value: Float[np.ndarray, " visit"]
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"], Int[np.ndarray, " node"]]:
    """The start of every node's first bar, the end of its last, and their number: 0 where no row comes.

    Bars lie over the range of a node's rows, or over all categories of its column.
    """
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
    return low, high, np.where(visits > 0, number, 0)
