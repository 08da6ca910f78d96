"""The nodes of a tree as columns: what they say, and where every pruning of the page's sliders collapses them."""

from typing import Any

import jax
import numpy as np

from jaxtree.export.words import branch_in_words
from jaxtree.page.compact import compact, compact_rows
from jaxtree.page.subject import Subject
from jaxtree.pruning.cost_complexity import weakest_links
from jaxtree.pruning.dropout.masks import node_numbers
from jaxtree.tree import SplitKind, output_counts

DRAW = 0
"""The seed of the draw of dropout."""

FEW_DIGITS = 6
"""Significant digits of a number that is only read."""


def node_columns(subject: Subject) -> dict[str, Any]:
    """Returns the node table as the page takes it.

    Its columns are `firstChild` and `numChildren`; `column`, the column that a node asks for, -1 at a leaf;
    `threshold`, where the split is one of a numeric column; `branch`, what the parent's split asks; `rows`, `weight`,
    `impurity` and `gain`; `price`, the alpha from which on it is collapsed; `number`, its number in the draw of
    dropout. Of classes `label`, `shares` and `counts`, of numbers `mean`.
    """
    tree, schema = subject.tree, subject.schema
    columns: dict[str, Any] = {
        "firstChild": compact(tree.first_child),
        "numChildren": compact(tree.num_children),
        "column": _column_of_nodes(subject),
        "threshold": _thresholds(subject),
        "branch": ["", *(branch_in_words(tree, schema, node) for node in range(1, tree.node_count))],
        "rows": compact(tree.num_rows),
        "weight": compact(np.asarray(tree.weight, np.float64)),
        "impurity": compact(np.maximum(tree.impurity, 0.0), FEW_DIGITS),
        "gain": compact(tree.gain, FEW_DIGITS),
        "price": compact(weakest_links(tree).alpha, 17),
        "number": compact(node_numbers(tree, key=jax.random.key(DRAW)).astype(np.int64)),
    }
    if subject.labels is None:
        return columns | {"mean": compact(subject.shares[:, 0])}
    counts = np.asarray(output_counts(tree), np.float64)
    said = {"label": compact(subject.labels), "shares": compact_rows(subject.shares), "counts": compact_rows(counts)}
    return columns | said


def _column_of_nodes(subject: Subject) -> list[int]:
    column = np.array([feature.column for feature in subject.schema.features])
    of_node = column[np.maximum(np.asarray(subject.tree.feature), 0)]
    return np.where(np.asarray(subject.tree.is_leaf), -1, of_node).tolist()


def _thresholds(subject: Subject) -> list[int | float | None]:
    """The threshold of every split of a numeric column; None at other nodes."""
    tree, schema = subject.tree, subject.schema
    is_numeric = np.array([feature.kind == "numeric" for feature in schema.features])
    asks = ~np.asarray(tree.is_leaf) & (np.asarray(tree.split_kind) == SplitKind.THRESHOLD)
    asks &= is_numeric[np.maximum(np.asarray(tree.feature), 0)]
    return compact(np.where(asks, np.asarray(tree.threshold), np.inf), FEW_DIGITS)
