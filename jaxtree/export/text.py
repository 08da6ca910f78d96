"""A tree as text."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.layouts import c45_lines, id3_lines, simplecart_lines, weka_lines
from jaxtree.export.spoken import in_drawings
from jaxtree.export.words import branch_in_words, child_nodes, class_names, node_class
from jaxtree.table.schema import Schema, value_in_words
from jaxtree.tree import Tree, output_counts, target_means

_LAYOUTS: dict[str, Callable[[Any, Schema], list[str]]] = {
    "weka": weka_lines,
    "c45": c45_lines,
    "id3": id3_lines,
    "simplecart": simplecart_lines,
}
STYLES = ("jaxtree", *_LAYOUTS)
"""The layouts that `export_text` knows."""


def export_text(estimator: Any, *, feature_names: Sequence[str] | None = None, style: str = "jaxtree") -> str:
    """Returns the tree of a fitted estimator as text, a line a branch.

    A line of jaxtree's own layout ends with the predicted class and, in brackets, the training weight of every
    class there, in the order of `classes_`; several outputs are separated by commas and semicolons. For regression
    it ends with the mean of every target and the weight. "or missing" marks the branch of a missing value, if fit
    saw one. An oblique tree asks for its planes, as `jaxtree.soft.ObliqueTree.export_text` writes them.

    Args:
        estimator: A fitted estimator of one tree with hard splits.
        feature_names: Names of the columns, for a table that had none.
        style: "jaxtree"; or the layout of another program, for a classifier of one output: "weka" that of J48 from
            the first branch to the size, "c45" that of C4.5 Release 8, "id3" and "simplecart" those of Weka's Id3
            and SimpleCart.

    Raises:
        InvalidInputError: There is not one name a column; or the style is none of these, or not for such a tree.
        InvalidTypeError: The estimator is no single tree of hard splits.

    Example:
        >>> from jaxtree import ID3Classifier, export_text
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> tree = ID3Classifier().fit(X, y)
        >>> print(export_text(tree))
        root: yes (no 5, yes 9)
        |-- outlook = overcast: yes (yes 4)
        |-- outlook = rainy: yes (no 2, yes 3)
        |   |-- windy = FALSE: yes (yes 3)
        |   |-- windy = TRUE: no (no 2)
        |-- outlook = sunny: no (no 3, yes 2)
        |   |-- humidity = high: no (no 3)
        |   |-- humidity = normal: yes (yes 2)
        >>> print(export_text(tree, style="c45"))
        outlook = overcast: yes (4.0)
        outlook = rainy:
        |   windy = FALSE: yes (3.0)
        |   windy = TRUE: no (2.0)
        outlook = sunny:
        |   humidity = high: no (3.0)
        |   humidity = normal: yes (2.0)
    """
    estimator, schema = in_drawings(estimator, feature_names)
    if style not in STYLES:
        raise InvalidInputError(f"style must be one of {', '.join(map(repr, STYLES))}, got {style!r}")
    num_outputs = len(estimator.tree_.num_classes)
    if style != "jaxtree" and num_outputs != 1:
        has = f"{num_outputs} outputs" if num_outputs else "numbers as targets"
        raise InvalidInputError(f"style {style!r} is for classes of one output, the tree has {has}")
    lines = _own_lines(estimator, schema) if style == "jaxtree" else _LAYOUTS[style](estimator, schema)
    return "\n".join(lines)


def _own_lines(estimator: Any, schema: Schema) -> list[str]:
    tree = estimator.tree_
    content = _classes_in_words(estimator) if tree.num_classes else _means_in_words(tree)
    lines, stack = [], [0]
    while stack:
        node = stack.pop()
        words = branch_in_words(tree, schema, node) if node else "root"
        indent = "|   " * (int(tree.depth[node]) - 1) + "|-- " if node else ""
        lines.append(f"{indent}{words}: {content[node]}")
        stack.extend(child_nodes(tree, node)[::-1])
    return lines


def _classes_in_words(estimator: Any) -> list[str]:
    """The class of every output and the weights of its classes, of every node."""
    outputs = range(len(estimator.tree_.num_classes))
    names = class_names(estimator)
    labels = [node_class(estimator, output).tolist() for output in outputs]
    counts = [np.asarray(output_counts(estimator.tree_, output), np.float64).tolist() for output in outputs]
    words = []
    for node in range(estimator.tree_.node_count):
        chosen = ", ".join(names[output][labels[output][node]] for output in outputs)
        weights = "; ".join(_weights_in_words(names[output], counts[output][node]) for output in outputs)
        words.append(f"{chosen} ({weights})")
    return words


def _weights_in_words(names: list[str], weights: list[float]) -> str:
    present = [f"{name} {_weight_in_words(weight)}" for name, weight in zip(names, weights, strict=True) if weight]
    return ", ".join(present) or "no rows"


def _means_in_words(tree: Tree) -> list[str]:
    """The mean of every target and the weight, of every node."""
    means = [", ".join(map(value_in_words, row)) for row in target_means(tree).tolist()]
    weights = np.asarray(tree.weight, np.float64).tolist()
    return [f"{mean} (weight {_weight_in_words(weight)})" for mean, weight in zip(means, weights, strict=True)]


def _weight_in_words(weight: float) -> str:
    """Writes a weight with up to two decimals.

    >>> [_weight_in_words(weight) for weight in (4.0, 3.164, 0.5, 20.0)]
    ['4', '3.16', '0.5', '20']
    """
    return f"{weight:.2f}".rstrip("0").rstrip(".")
