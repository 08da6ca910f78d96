"""A tree as text: in jaxtree's own layout, and in those of Weka's J48, Id3 and SimpleCart and of C4.5 Release 8.

In the layouts of other programs the *label* of a leaf is its class with the weight that reached it, and the weight of
that which is of another class. A branch to a leaf has its label on the same line. A layout is a function from the model
of a classifier of one output to lines.
"""

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import (
    branch_in_words,
    child_nodes,
    class_names,
    condition,
    group_codes,
    means_in_words,
    node_class,
    weight_in_words,
)
from jaxtree.export.models import best_of_search, drawn_model
from jaxtree.table.schema import Schema
from jaxtree.table.words import Limit, value_in_words
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import output_counts


def export_text(estimator: Any, *, feature_names: Iterable[Any] | None = None, style: str = "jaxtree") -> str:
    """Returns the tree of a fitted estimator as text, a line a branch.

    A line of jaxtree's own layout ends with the predicted class and, in brackets, the training weight of every
    class there, in the order of `classes_`; several outputs are separated by commas and semicolons. For regression
    it ends with the mean of every target and the weight. "or missing" marks the branch of a missing value, if fit
    saw one. A threshold has as many digits as it takes to separate the rows of fit as the tree does. An oblique tree
    asks for its planes, as `jaxtree.soft.oblique_tree.ObliqueTree.export_text` writes them.

    Args:
        estimator: A fitted estimator of one tree with hard splits.
        feature_names: Names of the columns, for a table that had none.
        style: "jaxtree"; or the layout of another program, for a classifier of one output: "weka" that of J48 from
            the first branch to the size, "c45" that of C4.5 Release 8, "id3" and "simplecart" those of Weka's Id3
            and SimpleCart. These print numbers as their programs do, C4.5 with six digits.

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
    estimator = best_of_search(estimator)
    model = drawn_model(estimator, feature_names)
    if style not in STYLES:
        raise InvalidInputError(f"style must be one of {', '.join(map(repr, STYLES))}, got {style!r}")
    num_outputs = len(model.classes)
    if style != "jaxtree" and num_outputs != 1:
        has = f"{num_outputs} outputs" if num_outputs else "numbers as targets"
        raise InvalidInputError(f"style {style!r} is for classes of one output, the tree has {has}")
    if style == "jaxtree":
        return "\n".join(map(_one_line, _own_lines(model)))
    layout = _LAYOUTS[style]
    tests_one = np.any((np.asarray(model.tree.split_kind) == SplitKind.ONE_VS_REST) & ~np.asarray(model.tree.is_leaf))
    # J48 writes all digits of a threshold, as in "10.0", where it may test one category against the others.
    if style == "weka" and (tests_one or getattr(estimator, "binary_splits", False)):
        layout = layout._replace(test=partial(_plain_test, number=_java_double))
    return "\n".join(map(_one_line, _lines(model, layout)))


def _one_line(line: str) -> str:
    r"""A line whose names and words do not break it.

    >>> print(_one_line("outlook = no\nsun"))
    outlook = no\nsun
    """
    if line.splitlines() == [line]:
        return line
    return "".join(sign if sign.splitlines() == [sign] else repr(sign)[1:-1] for sign in line)


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
    present = [f"{name} {weight_in_words(weight)}" for name, weight in zip(names, weights, strict=True) if weight]
    return ", ".join(present) or "no rows"


def _means_in_words(tree: Tree) -> list[str]:
    """The mean of every target and the weight, of every node."""
    weights = np.asarray(tree.weight, np.float64).tolist()
    means = means_in_words(tree)
    return [f"{mean} (weight {weight_in_words(weight)})" for mean, weight in zip(means, weights, strict=True)]


def _decimals(number: float, most: int) -> str:
    """Writes a number with at most `most` decimals.

    >>> [_decimals(number, 2) for number in (4.0, 3.164, 0.5, 20.0)], _decimals(0.1234567, 6)
    (['4', '3.16', '0.5', '20'], '0.123457')
    """
    return f"{number:.{most}f}".rstrip("0").rstrip(".")


_NOISE = 1e-6
"""A smaller weight is an error of rounding."""


class _Leaf(NamedTuple):
    """The parts of a leaf's label: its class, the weight that reached it, and that which is of another class."""

    name: str
    reached: float
    wrong: float


class _Layout(NamedTuple):
    """How a program writes a tree.

    Attributes:
        indent: The text before a line, once for each level below the first.
        test: Writes the condition of the branch to a node.
        label: Writes the label of a leaf.
        opening: The text after the test of a branch that leads to another test.
        leaves_first: Whether branches to leaves stand before others.
        sizes: The texts before the number of leaves and that of nodes; none where these are not written.
    """

    indent: str
    test: Callable[[Tree, Schema, int], str]
    label: Callable[[_Leaf], str]
    opening: str = ""
    leaves_first: bool = False
    sizes: tuple[str, ...] = ()


def _lines(model: FittedModel, layout: _Layout) -> list[str]:
    tree, leaves = model.tree, _leaves(model)
    lines, stack = [], _ordered_children(tree, 0, layout)[::-1]
    while stack:
        node = stack.pop()
        test = layout.indent * (int(tree.depth[node]) - 1) + layout.test(tree, model.schema, node)
        is_leaf = not tree.num_children[node]
        lines.append(f"{test}: {layout.label(leaves[node])}" if is_leaf else test + layout.opening)
        stack.extend(_ordered_children(tree, node, layout)[::-1])
    if not lines:  # C4.5, which has the colon after every test, has none before a single leaf
        lines = [f"{'' if layout.opening else ':'} {layout.label(leaves[0])}"]
    for words, number in zip(layout.sizes, (tree.n_leaves, tree.node_count), strict=False):
        lines += ["", f"{words}{number}"]
    return lines


def _leaves(model: FittedModel) -> list[_Leaf]:
    """The parts of the label that each node would have as a leaf."""
    tree = model.tree
    names, count = class_names(model)[0], np.asarray(output_counts(tree), np.float64)
    label, reached = node_class(model)[0], count.sum(axis=1)
    wrong = reached - count[np.arange(len(label)), label]
    return [_Leaf(names[c], r, w) for c, r, w in zip(label.tolist(), reached.tolist(), wrong.tolist(), strict=True)]


def _ordered_children(tree: Tree, node: int, layout: _Layout) -> list[int]:
    """The children of a node; the branch of a category or of a subset, which is branch 1, before that of the others."""
    children = child_nodes(tree, node)
    if tree.split_kind[node] in (SplitKind.ONE_VS_REST, SplitKind.SUBSET):
        children = children[::-1]
    return sorted(children, key=lambda child: layout.leaves_first and bool(tree.num_children[child]))


def _plain_test(tree: Tree, schema: Schema, node: int, number: Callable[[float], str] = value_in_words) -> str:
    return condition(tree, schema, node).in_words(number, ",")


def _weka_label(leaf: _Leaf) -> str:
    """`bad (15.27/2.27)`: the wrong weight is left out if there is none."""
    wrong = f"/{_hundredths(leaf.wrong, added=0.5)}" if leaf.wrong > _NOISE else ""
    return f"{leaf.name} ({_hundredths(leaf.reached, added=0.5)}{wrong})"


def _c45_test(tree: Tree, schema: Schema, node: int) -> str:
    """`humidity <= 75 `; of a group of categories `color in {black,green}`, at either branch its own categories."""
    asked = condition(tree, schema, node, names_fewest=False)
    if asked.relation in ("!=", "in", "not in"):
        parent = int(tree.parent[node])
        categories = schema.columns[tree.feature[parent]].categories
        group = group_codes(tree, schema, parent)
        codes = [code for code in range(len(categories)) if (code in group) == (asked.relation == "in")]
        values = tuple(value_in_words(categories[code]) for code in codes)
        asked = asked._replace(relation="=" if len(values) == 1 else "in", values=values)
    is_number = any(isinstance(value, float) for value in asked.values)
    return asked.in_words(_six_digits, ",") + (" " if is_number else "")


def _six_digits(number: float) -> str:
    """Writes a number as "%g" of C does, with which C4.5 prints: it may not separate what the threshold does.

    >>> _six_digits(20180102.5)
    '2.01801e+07'
    """
    return f"{number + 0.0:g}"


def _c45_label(leaf: _Leaf) -> str:
    wrong = f"/{leaf.wrong:.1f}" if leaf.wrong > _NOISE else ""
    return f"{leaf.name} ({leaf.reached:.1f}{wrong})"


def _id3_label(leaf: _Leaf) -> str:
    """The class alone; a leaf without rows is `null`."""
    return leaf.name if leaf.reached > 0 else "null"


def _simplecart_test(tree: Tree, schema: Schema, node: int) -> str:
    """`petalwidth < 1.75`, `age=(young)|(old)`, `age!=(young)`."""
    asked = condition(tree, schema, node, names_fewest=False)
    if asked.relation in ("<=", ">") and isinstance(asked.values[0], Limit) and not asked.values[0].is_time:
        return f"{asked.column} {'<' if asked.relation == '<=' else '>='} {_java_double(asked.values[0])}"
    if asked.relation in ("=", "!=", "in", "not in"):
        relation = "=" if asked.relation in ("=", "in") else "!="
        return f"{asked.column}{relation}" + "|".join(f"({value})" for value in asked.values)
    return asked.in_words()


def _simplecart_label(leaf: _Leaf) -> str:
    """The right and the wrong weight, cut off after two decimals: `soft(4.0/1.0)`."""
    right, wrong = (_hundredths(weight, added=_NOISE) for weight in (leaf.reached - leaf.wrong, leaf.wrong))
    return f"{leaf.name}({right}/{wrong})"


def _hundredths(weight: float, *, added: float) -> str:
    """Writes a weight, to which some hundredths are added, cut off after two decimals."""
    return _java_double(math.floor(weight * 100 + added) / 100)


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


_LAYOUTS = {
    "weka": _Layout(
        "|   ",
        partial(_plain_test, number=partial(_decimals, most=6)),
        _weka_label,
        sizes=("Number of Leaves  : \t", "Size of the tree : \t"),
    ),
    # Release 8 writes subtrees that are too deep for a page apart, this does not.
    "c45": _Layout("|   ", _c45_test, _c45_label, opening=":", leaves_first=True),
    "id3": _Layout("|  ", _plain_test, _id3_label),
    "simplecart": _Layout(
        "|  ", _simplecart_test, _simplecart_label, sizes=("Number of Leaf Nodes: ", "Size of the Tree: ")
    ),
}
STYLES = ("jaxtree", *_LAYOUTS)
"""The layouts that `export_text` knows."""
