"""Rows at the nodes of a page's tree: their sums, and the first of them one by one."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.holding import hold_out_rows
from jaxtree.estimators.parts import read_arguments
from jaxtree.page.compact import compact, compact_rows
from jaxtree.page.nodes import FEW_DIGITS
from jaxtree.page.subject import Subject
from jaxtree.pruning.validation import HeldOut
from jaxtree.table.target import check_same_length
from jaxtree.tree import output_counts, target_means

MOST_ROWS, MOST_CELLS = 5_000, 200_000
"""How many rows can be followed one by one: so many, and of so many values in all."""


class Rows(NamedTuple):
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


def read_rows(subject: Subject, name: str, X: Any, y: Any) -> Rows | None:
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
    member = subject.member
    target = member._read_target(y)
    values = np.asarray(member.encoder_.values(X), np.float64)
    check_same_length(len(values), target[0])
    held = hold_out_rows(subject.tree, member._predicting, values, target, None)
    return Rows(name, values, target[0], member._predicting.apply(values), held)


def row_columns(subject: Subject, rows: Rows) -> dict[str, Any]:
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
    told = {"name": rows.name, "size": len(rows.target), "ended": compact_rows(rows.held.ended), "shown": shown}
    return told if subject.labels is not None else told | {"middle": float(target_means(subject.tree)[0, 0])}


def columns_of_growth(subject: Subject) -> dict[str, Any] | None:
    """The same of the rows that the tree was grown on, from its own counts; None for numbers."""
    if subject.labels is None:
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
