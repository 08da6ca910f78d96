"""A tree as text: in jaxtree's own layout, and in those of Weka's J48, Id3 and SimpleCart and of C4.5 Release 8.

In the layouts of other programs the *label* of a leaf is its class with the weight that reached it, and the weight of
that which is of another class. A branch to a leaf has its label on the same line. A layout is a function from the model
of a classifier of one output to lines.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import (
    Condition,
    branch_in_words,
    child_nodes,
    class_names,
    condition,
    node_class,
    subset_codes,
)
from jaxtree.export.models import drawn_model
from jaxtree.table.schema import Schema, value_in_words
from jaxtree.table.times import Days
from jaxtree.tree import FittedModel, SplitKind, Tree, output_counts, target_means


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
    model = drawn_model(estimator, feature_names)
    if style not in STYLES:
        raise InvalidInputError(f"style must be one of {', '.join(map(repr, STYLES))}, got {style!r}")
    num_outputs = len(model.classes)
    if style != "jaxtree" and num_outputs != 1:
        has = f"{num_outputs} outputs" if num_outputs else "numbers as targets"
        raise InvalidInputError(f"style {style!r} is for classes of one output, the tree has {has}")
    if style == "weka":
        lines = weka_lines(model, has_binary_splits=getattr(estimator, "binary_splits", False))
    else:
        lines = _LAYOUTS[style](model)
    return "\n".join(lines)


def _own_lines(model: FittedModel) -> list[str]:
    tree, schema = model.tree, model.schema
    content = _classes_in_words(model) if model.classes else _means_in_words(tree)
    lines, stack = [], [0]
    while stack:
        node = stack.pop()
        words = branch_in_words(tree, schema, node) if node else "root"
        indent = "|   " * (int(tree.depth[node]) - 1) + "|-- " if node else ""
        lines.append(f"{indent}{words}: {content[node]}")
        stack.extend(child_nodes(tree, node)[::-1])
    return lines


def _classes_in_words(model: FittedModel) -> list[str]:
    """The class of every output and the weights of its classes, of every node."""
    outputs = range(model.num_outputs)
    names, labels = class_names(model), node_class(model).tolist()
    counts = [np.asarray(output_counts(model.tree, output), np.float64).tolist() for output in outputs]
    words = []
    for node in range(model.tree.node_count):
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


_NOISE = 1e-6
"""A smaller weight is an error of rounding."""


class _Leaf(NamedTuple):
    """What the label of a leaf is made of."""

    name: str
    reached: float
    wrong: float


class _Layout(NamedTuple):
    """How a program writes a tree.

    Attributes:
        indent: What stands before a line, once for each level below the first.
        test: Says what a branch asks.
        label: Says what a leaf has.
        opening: What follows the test of a branch that leads to another test.
        order: The children of a node in the order of their lines.
    """

    indent: str
    test: Callable[[int], str]
    label: Callable[[_Leaf], str]
    opening: str
    order: Callable[[int], list[int]]


def weka_lines(model: FittedModel, *, has_binary_splits: bool = False) -> list[str]:
    """The layout of Weka's J48: `wage <= 2.5: bad (15.27/2.27)`, and how many leaves and nodes there are.

    Wrong weight is left out if there is none. Thresholds have up to six decimals; but all they have, as in `10.0`, if
    the estimator has `binary_splits`, or the tree tests one category against the others.
    """
    tree, schema = model.tree, model.schema
    tests_one = np.any((np.asarray(tree.split_kind) == SplitKind.ONE_VS_REST) & ~np.asarray(tree.is_leaf))
    number = _java_double if tests_one or has_binary_splits else _six_decimals

    def label(leaf: _Leaf) -> str:
        wrong = f"/{_java_double(_rounded(leaf.wrong))}" if leaf.wrong > _NOISE else ""
        return f"{leaf.name} ({_java_double(_rounded(leaf.reached))}{wrong})"

    def test(node: int) -> str:
        return _plain_test(condition(tree, schema, node), number)

    lines = _lines(model, _Layout("|   ", test, label, "", lambda node: _group_first(tree, node)))
    return [*lines, "", f"Number of Leaves  : \t{tree.n_leaves}", "", f"Size of the tree : \t{tree.node_count}"]


def c45_lines(model: FittedModel) -> list[str]:
    """The layout of C4.5 Release 8: `humidity <= 75 : Play (2.0)`, of the branches of a node those to leaves first.

    A group of categories is `color in {black,green}`. Release 8 writes subtrees that are too deep for a page apart,
    this does not.
    """
    tree, schema = model.tree, model.schema

    def label(leaf: _Leaf) -> str:
        wrong = f"/{leaf.wrong:.1f}" if leaf.wrong > _NOISE else ""
        return f"{leaf.name} ({leaf.reached:.1f}{wrong})"

    def order(node: int) -> list[int]:
        return sorted(_group_first(tree, node), key=lambda child: bool(tree.num_children[child]))

    lines = _lines(model, _Layout("|   ", lambda node: _c45_test(tree, schema, node), label, ":", order))
    return lines if tree.num_children[0] else [lines[0].removeprefix(":")]


def id3_lines(model: FittedModel) -> list[str]:
    """The layout of Weka's Id3: `humidity = high: no`; a leaf without rows is `null`."""
    tree, schema = model.tree, model.schema

    def test(node: int) -> str:
        return _plain_test(condition(tree, schema, node), value_in_words)

    def label(leaf: _Leaf) -> str:
        return leaf.name if leaf.reached > 0 else "null"

    return _lines(model, _Layout("|  ", test, label, "", lambda node: _group_first(tree, node)))


def simplecart_lines(model: FittedModel) -> list[str]:
    """The layout of Weka's SimpleCart: `petalwidth < 1.75`, `age=(young)|(old): soft(4.0/1.0)`, and the tree's size.

    A label has the right and the wrong weight, cut off after two decimals.
    """
    tree, schema = model.tree, model.schema

    def label(leaf: _Leaf) -> str:
        right, wrong = (_java_double(_cut_off(weight)) for weight in (leaf.reached - leaf.wrong, leaf.wrong))
        return f"{leaf.name}({right}/{wrong})"

    def test(node: int) -> str:
        return _simplecart_test(condition(tree, schema, node))

    lines = _lines(model, _Layout("|  ", test, label, "", lambda node: _group_first(tree, node)))
    return [*lines, "", f"Number of Leaf Nodes: {tree.n_leaves}", "", f"Size of the Tree: {tree.node_count}"]


def _lines(model: FittedModel, layout: _Layout) -> list[str]:
    tree, leaves = model.tree, _leaves(model)
    if not tree.num_children[0]:
        return [f": {layout.label(leaves[0])}"]
    lines, stack = [], layout.order(0)[::-1]
    while stack:
        node = stack.pop()
        test = layout.indent * (int(tree.depth[node]) - 1) + layout.test(node)
        is_leaf = not tree.num_children[node]
        lines.append(f"{test}: {layout.label(leaves[node])}" if is_leaf else test + layout.opening)
        stack.extend(layout.order(node)[::-1])
    return lines


def _leaves(model: FittedModel) -> list[_Leaf]:
    """What a leaf's label would be made of, for every node."""
    tree = model.tree
    names, count = class_names(model)[0], np.asarray(output_counts(tree), np.float64)
    label, reached = node_class(model)[0], count.sum(axis=1)
    wrong = reached - count[np.arange(len(label)), label]
    return [_Leaf(names[c], r, w) for c, r, w in zip(label.tolist(), reached.tolist(), wrong.tolist(), strict=True)]


def _group_first(tree: Tree, node: int) -> list[int]:
    """The children of a node; the branch of a category or of a subset, which is branch 1, before that of the others."""
    children = child_nodes(tree, node)
    is_group = tree.split_kind[node] in (SplitKind.ONE_VS_REST, SplitKind.SUBSET)
    return children[::-1] if is_group else children


def _plain_test(asked: Condition, number: Callable[[float], str]) -> str:
    as_words = (value_in_words(value) if isinstance(value, Days) else value for value in asked.values)
    values = [number(value) if isinstance(value, float) else value for value in as_words]
    if asked.relation in ("in", "not in"):
        return f"{asked.column} {asked.relation} {{{','.join(values)}}}"
    return " ".join([asked.column, asked.relation, *values])


def _c45_test(tree: Tree, schema: Schema, node: int) -> str:
    asked = condition(tree, schema, node)
    if asked.relation in ("!=", "in", "not in"):
        categories = _categories_of_branch(tree, schema, node)
        relation, values = ("=", categories[0]) if len(categories) == 1 else ("in", f"{{{','.join(categories)}}}")
        return f"{asked.column} {relation} {values}"
    is_number = any(isinstance(value, float) for value in asked.values)
    return _plain_test(asked, value_in_words) + (" " if is_number else "")


def _categories_of_branch(tree: Tree, schema: Schema, node: int) -> list[str]:
    """The categories that go to a node from a split of one category, or a subset, against the others."""
    parent = int(tree.parent[node])
    feature = int(tree.feature[parent])
    is_subset = tree.split_kind[parent] == SplitKind.SUBSET
    group = subset_codes(tree, schema, parent) if is_subset else [int(tree.code[parent])]
    is_group = node != int(tree.first_child[parent])
    codes = range(schema.features[feature].num_values)
    return [schema.code_in_words(feature, code) for code in codes if (code in group) == is_group]


def _simplecart_test(asked: Condition) -> str:
    if asked.relation in ("<=", ">") and isinstance(asked.values[0], float) and not isinstance(asked.values[0], Days):
        return f"{asked.column} {'<' if asked.relation == '<=' else '>='} {_java_double(asked.values[0])}"
    if asked.relation in ("=", "!=", "in", "not in"):
        relation = "=" if asked.relation in ("=", "in") else "!="
        return f"{asked.column}{relation}" + "|".join(f"({value})" for value in asked.values)
    return _plain_test(asked, value_in_words)


def _rounded(weight: float) -> float:
    return math.floor(weight * 100 + 0.5) / 100


def _cut_off(weight: float) -> float:
    return math.floor(weight * 100 + _NOISE) / 100


def _six_decimals(number: float) -> str:
    """Writes a number with up to six decimals.

    >>> [_six_decimals(number) for number in (2.5, 75.0, 0.1234567)]
    ['2.5', '75', '0.123457']
    """
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _java_double(number: float) -> str:
    """Writes a number as Java does: all its digits, with a decimal point, and an exponent if very small or large.

    >>> [_java_double(number) for number in (27.0, 3.16, 12345678.0, 0.00025)]
    ['27.0', '3.16', '1.2345678E7', '2.5E-4']
    """
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(float(number))
    sign, digits, exponent = Decimal(repr(float(number))).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{len(rest) + int(exponent)}"


_LAYOUTS: dict[str, Callable[[FittedModel], list[str]]] = {
    "jaxtree": _own_lines,
    "weka": weka_lines,
    "c45": c45_lines,
    "id3": id3_lines,
    "simplecart": simplecart_lines,
}
STYLES = tuple(_LAYOUTS)
"""The layouts that `export_text` knows."""
