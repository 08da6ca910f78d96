"""A tree as text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree, majority_class


def export_text(estimator: Any, *, feature_names: Sequence[str] | None = None) -> str:
    """Returns the tree of a fitted estimator as text: a line a branch, with its class and class counts.

    A line ends with the predicted class and, in brackets, how many training rows of every class are
    there, in the order of `classes_`.

    Args:
        estimator: A fitted estimator.
        feature_names: Names of the columns, for a table that had none.

    Raises:
        InvalidInputError: There is not one name a column.

    Example:
        >>> from jaxtree import ID3Classifier, export_text
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> print(export_text(ID3Classifier().fit(X, y)))
        root: yes (no 5, yes 9)
        |-- outlook = overcast: yes (yes 4)
        |-- outlook = rainy: yes (no 2, yes 3)
        |   |-- windy = FALSE: yes (yes 3)
        |   |-- windy = TRUE: no (no 2)
        |-- outlook = sunny: no (no 3, yes 2)
        |   |-- humidity = high: no (no 3)
        |   |-- humidity = normal: yes (yes 2)
    """
    check_is_fitted(estimator)
    tree, majority = estimator.tree_, np.asarray(majority_class(estimator.tree_))
    schema = estimator.schema_ if feature_names is None else estimator.schema_.renamed(feature_names)
    classes = [str(name) for name in estimator.classes_]
    lines, stack = [], [0]
    while stack:
        node = stack.pop()
        condition = branch_in_words(tree, schema, node) if node else "root"
        indent = "|   " * (int(tree.depth[node]) - 1) + "|-- " if node else ""
        lines.append(f"{indent}{condition}: {classes[majority[node]]} ({_counts(tree, node, classes)})")
        children = int(tree.first_child[node]) + np.arange(tree.num_children[node])
        stack.extend(children[::-1].tolist())
    return "\n".join(lines)


def branch_in_words(tree: Tree, schema: Schema, node: int) -> str:
    """Says what the parent's split asks of the rows that come to a node."""
    parent = int(tree.parent[node])
    feature, branch = int(tree.feature[parent]), node - int(tree.first_child[parent])
    match SplitKind(int(tree.split_kind[parent])):
        case SplitKind.THRESHOLD:
            return schema.branch_in_words(feature, float(tree.threshold[parent]), branch)
        case SplitKind.MULTIWAY:
            return schema.category_in_words(feature, branch)
        case SplitKind.ONE_VS_REST:
            in_words = schema.category_in_words if branch else schema.rest_in_words
            return in_words(feature, int(tree.code[parent]))


def _counts(tree: Tree, node: int, classes: list[str]) -> str:
    present = [f"{name} {count}" for name, count in zip(classes, tree.count[node].tolist(), strict=True) if count]
    return ", ".join(present) or "no rows"
