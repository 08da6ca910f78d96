"""The tree that a page shows, and its nodes as columns of numbers in few characters."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Real

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import branch_in_words
from jaxtree.export.models import exported_model
from jaxtree.prune.draws import node_numbers
from jaxtree.prune.weakest_links import weakest_links
from jaxtree.table.schema import Schema
from jaxtree.tree import FittedModel, SplitKind, Tree, output_counts


class Subject(NamedTuple):
    """The tree that a page shows.

    Attributes:
        whole: The fitted estimator that the page is of.
        member: The same, or the tree of the forest as an estimator.
        number: Which tree of the forest it is; None if it is none of a forest.
        model: The tree's model.
    """

    whole: Any
    member: Any
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
        return [str(name) for names in self.model.classes for name in names]


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
    num_trees = len(exported_model(estimator).forest)
    if not isinstance(tree, int | np.integer) or not 0 <= tree < num_trees:
        raise InvalidInputError(f"tree must be a whole number from 0 to {num_trees - 1}, got {tree!r}")
    is_forest = estimator.model_.averages_trees
    member = estimator.estimators_[tree] if is_forest else estimator
    return Subject(estimator, member, int(tree) if is_forest else None, member.model_)


DIGITS = 12
"""Significant digits of a number that is compared or summed, so that sums are right to nine."""


def compact(values: Real[np.ndarray, " entry"], digits: int = DIGITS) -> list[int | float | None]:
    """Returns numbers as JSON has them: whole ones without a point, and None for what is not finite.

    >>> compact(np.array([1.0, 0.1 + 0.2, np.inf]))
    [1, 0.3, None]
    """
    return [_compact_number(value, digits) for value in np.asarray(values).tolist()]


def compact_rows(table: Real[np.ndarray, "row column"], digits: int = DIGITS) -> list[list[int | float | None]]:
    """Returns every row as its entries that are not 0: column, value, column, value.

    >>> compact_rows(np.array([[0.0, 2.5], [0.0, 0.0]]))
    [[1, 2.5], []]
    """
    table = np.asarray(table)
    rows: list[list[Any]] = [[] for _ in table]
    row, column = np.nonzero(table)
    for place, name, value in zip(row.tolist(), column.tolist(), compact(table[row, column], digits), strict=True):
        rows[place] += (name, value)
    return rows


def _compact_number(value: int | float, digits: int) -> int | float | None:
    if isinstance(value, int):
        return value
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.{digits}g}")


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
    value, label = subject.model.node_value, subject.model.node_label
    if label is None:
        return columns | {"mean": compact(value[:, 0])}
    counts = np.asarray(output_counts(tree), np.float64)
    return columns | {"label": compact(label[0]), "shares": compact_rows(value), "counts": compact_rows(counts)}


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
