"""What every printed form of a tree says: the class of a node, and what a branch asks of its rows.

The *declared order* of the classes is the order in which a data set lists them; it decides between classes of equal
weight.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jaxtree.table.schema import Column, Feature, Schema, value_in_words
from jaxtree.tree import CODES_PER_WORD, SplitKind, Tree, output_counts


class Condition(NamedTuple):
    """What a branch asks of a column: `relation` is one of <= > = != in, not in, is known, is missing."""

    column: str
    relation: str
    values: tuple


def class_names(estimator: Any) -> list[list[str]]:
    """The names of the classes of every output, in the order of the columns of `tree.count`; none for regression."""
    num_outputs = len(estimator.tree_.num_classes)
    if not num_outputs:
        return []
    outputs = [estimator.classes_] if num_outputs == 1 else estimator.classes_
    return [[str(name) for name in names] for names in outputs]


def node_class(estimator: Any, output: int = 0) -> Int[np.ndarray, " node"]:
    """The class of every node: of equal weights the first declared; of an empty node its parent's."""
    tree = estimator.tree_
    count = np.asarray(output_counts(tree, output))
    order = declared_order(estimator, output)
    label = order[count[:, order].argmax(axis=1)]
    return np.where(count.any(axis=1), label, label[np.asarray(tree.parent)])


def declared_order(estimator: Any, output: int = 0) -> Int[np.ndarray, " class"]:
    """The classes in declared order, as positions in `classes_`."""
    num_classes = estimator.tree_.num_classes
    order = getattr(estimator, "class_order_", None)
    if order is None:
        return np.arange(num_classes[output])
    return np.asarray(order if len(num_classes) == 1 else order[output], np.int64)


def child_nodes(tree: Tree, node: int) -> list[int]:
    """The children of a node, from branch 0 on."""
    first = int(tree.first_child[node])
    return list(range(first, first + int(tree.num_children[node])))


def condition(tree: Tree, schema: Schema, node: int) -> Condition:
    """What the parent's split asks of the rows that come to a node, missing values left aside."""
    parent, feature, branch = _split_above(tree, node)
    described = schema.features[feature]
    column = schema.columns[described.column]
    code = int(tree.code[parent])
    match SplitKind(int(tree.split_kind[parent])):
        case SplitKind.THRESHOLD:
            return _threshold_condition(column, described, float(tree.threshold[parent]), branch)
        case SplitKind.MULTIWAY:
            return _category_condition(column, branch, is_it=True)
        case SplitKind.ONE_VS_REST:
            return _category_condition(column, code, is_it=bool(branch))
        case SplitKind.SUBSET:
            categories = tuple(value_in_words(column.categories[code]) for code in subset_codes(tree, schema, parent))
            if not categories:  # what is asked is whether the value is missing
                return Condition(column.name, "is missing" if branch else "is known", ())
            return Condition(column.name, "in" if branch else "not in", categories)


def branch_in_words(tree: Tree, schema: Schema, node: int) -> str:
    """Says what the parent's split asks of the rows that come to a node: "age <= 30 or missing"."""
    parent, feature, branch = _split_above(tree, node)
    words = _known_in_words(tree, schema, node)
    says_so = words.endswith((" is missing", " is known"))
    takes_missing = schema.features[feature].has_missing and int(tree.missing_branch[parent]) == branch
    return f"{words} or missing" if takes_missing and not says_so else words


def subset_codes(tree: Tree, schema: Schema, node: int) -> list[int]:
    """The codes in the subset of a node's split, that of a missing value left aside."""
    num_values = schema.features[int(tree.feature[node])].num_values
    words = tree.subset[node].tolist()
    return [code for code in range(num_values) if words[code // CODES_PER_WORD] >> (code % CODES_PER_WORD) & 1]


def _split_above(tree: Tree, node: int) -> tuple[int, int, int]:
    """The parent of a node, the feature of its split, and the branch that leads to the node."""
    parent = int(tree.parent[node])
    return parent, int(tree.feature[parent]), node - int(tree.first_child[parent])


def _known_in_words(tree: Tree, schema: Schema, node: int) -> str:
    parent, feature, branch = _split_above(tree, node)
    match SplitKind(int(tree.split_kind[parent])):
        case SplitKind.THRESHOLD:
            return schema.branch_in_words(feature, float(tree.threshold[parent]), branch)
        case SplitKind.MULTIWAY:
            return schema.category_in_words(feature, branch)
        case SplitKind.ONE_VS_REST:
            in_words = schema.category_in_words if branch else schema.rest_in_words
            return in_words(feature, int(tree.code[parent]))
        case SplitKind.SUBSET:
            name, relation, categories = condition(tree, schema, node)
            return f"{name} {relation} {{{', '.join(categories)}}}" if categories else f"{name} {relation}"


def _threshold_condition(column: Column, feature: Feature, threshold: float, branch: int) -> Condition:
    if threshold == np.inf:
        return Condition(column.name, "is missing" if branch else "is known", ())
    if feature.kind == "onehot":
        return Condition(column.name, "=" if branch else "!=", (value_in_words(feature.category),))
    if feature.kind == "boolean":
        return Condition(column.name, "=", (str(bool(branch)),))
    limit = column.number(threshold) if column.bins is not None else value_in_words(column.categories[int(threshold)])
    return Condition(column.name, ">" if branch else "<=", (limit,))


def _category_condition(column: Column, code: int, *, is_it: bool) -> Condition:
    if code == column.num_values:
        return Condition(column.name, "is missing" if is_it else "is known", ())
    value = column.categories[code] if column.bins is None else column.number(float(column.bins.low[code]))
    return Condition(column.name, "=" if is_it else "!=", (value_in_words(value),))
