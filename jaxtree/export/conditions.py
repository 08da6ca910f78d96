"""The conditions that splits set for rows: in words, and as the yes-or-no questions that other programs know.

As questions, a split with a branch for every category becomes a chain; a one-hot feature becomes a question about its
column. Where a row stays at an inner node, that node is an *end* as leaves are.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from jaxtree.kernels.walk import CODES_PER_WORD
from jaxtree.table.numerals import LEAST_DIGITS, decimal_near, decimals_together
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import Limit, value_in_words
from jaxtree.tree import ALL_BRANCHES, SplitKind, Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import declared_majority, target_means


class Condition(NamedTuple):
    """A condition that a branch sets for a column: `relation` is <=, >, =, !=, in, not in, is known, or is missing."""

    column: str
    relation: str
    values: tuple

    def in_words(self, number: Callable[[float], str] = value_in_words, comma: str = ", ") -> str:
        """Writes the condition: "age <= 30", "color in {green, red}".

        Args:
            number: Writes a threshold that is no date or duration, instead of its own words.
            comma: Separates the categories of a set.
        """
        words = [
            number(value) if isinstance(value, Limit) and not value.is_time else value_in_words(value)
            for value in self.values
        ]
        if self.relation in ("in", "not in"):
            words = [f"{{{comma.join(words)}}}"]
        return " ".join([self.column, self.relation, *words])


def class_names(model: FittedModel) -> list[list[str]]:
    """The names of the classes of every output, in the order of the columns of `tree.count`; none for regression."""
    return [[str(name) for name in names] for names in model.classes]


def node_class(model: FittedModel) -> Int[np.ndarray, "output node"]:
    """The class of every node by its own weights: of equal ones the first declared; of an empty node its parent's."""
    return declared_majority(model.tree, model.class_order)


def means_in_words(tree: Tree, least_digits: int = LEAST_DIGITS) -> list[str]:
    """Writes the means of all targets at every node, with enough digits to tell them apart."""
    columns = [decimals_together(column.tolist(), least_digits) for column in target_means(tree).T]
    return [", ".join(row) for row in zip(*columns, strict=True)]


def weight_in_words(weight: float) -> str:
    """Writes a weight with two decimals, or with three digits that are not 0.

    >>> [weight_in_words(weight) for weight in (4.0, 3.164, 12345678.5, 1 / 3000, 0.0)]
    ['4', '3.16', '12345678.5', '0.000333', '0']
    """
    decimals = max(2, 2 - math.floor(math.log10(weight))) if weight > 0 else 2
    return decimal_near(round(weight, decimals), 0.0, 3)


def child_nodes(tree: Tree, node: int) -> list[int]:
    """The children of a node, from branch 0 on."""
    first = int(tree.first_child[node])
    return list(range(first, first + int(tree.num_children[node])))


def _split(tree: Tree, schema: Schema, node: int) -> tuple[int, Column, float]:
    """The kind of a node's split, what it asks about, and its threshold."""
    return int(tree.split_kind[node]), schema.columns[tree.feature[node]], float(tree.threshold[node])


def condition(tree: Tree, schema: Schema, node: int, *, names_fewest: bool = True) -> Condition:
    """Returns the condition that the parent's split sets for rows that come to a node, missing values left aside.

    Args:
        tree: The tree.
        schema: Its columns.
        node: A node below the root.
        names_fewest: Whether a subset of the categories is written by those in it or by those that are not, whichever
            are fewer; else by those of the second branch.
    """
    parent = int(tree.parent[node])
    kind, column, threshold = _split(tree, schema, parent)
    branch = node - int(tree.first_child[parent])
    if kind == SplitKind.THRESHOLD:
        return _threshold_condition(column, threshold, branch)
    is_listed = branch == 1 or kind == SplitKind.MULTIWAY
    codes = [branch] if kind == SplitKind.MULTIWAY else group_codes(tree, schema, parent)
    if (
        names_fewest and kind == SplitKind.SUBSET and 2 * len(codes) > column.num_values
    ):  # the others are fewer, and are named
        codes, is_listed = [code for code in range(column.num_values) if code not in codes], not is_listed
    values = tuple(value_in_words(column.categories[code]) for code in codes if code < column.num_values)
    if not values:  # the split asks whether the value is missing
        return Condition(column.name, "is missing" if is_listed else "is known", ())
    relations = ("not in", "in") if kind == SplitKind.SUBSET else ("!=", "=")
    return Condition(column.name, relations[is_listed], values)


def _threshold_condition(column: Column, threshold: float, branch: int) -> Condition:
    if threshold == np.inf:
        return Condition(column.name, "is missing" if branch else "is known", ())
    if column.kind == "boolean":
        return Condition(column.name, "=", (str(bool(branch)),))
    limit = column.limit(threshold) if column.bins is not None else value_in_words(column.categories[int(threshold)])
    return Condition(column.name, ">" if branch else "<=", (limit,))


def branch_in_words(tree: Tree, schema: Schema, node: int) -> str:
    """Writes the condition that the parent's split sets for rows that come to a node: "age <= 30 or missing"."""
    asked = condition(tree, schema, node)
    return asked.in_words() + (" or missing" if asked.values and takes_missing(tree, schema, node) else "")


def takes_missing(tree: Tree, schema: Schema, node: int) -> bool:
    """Whether the parent's split sends missing values, of which fit has seen some, to a node."""
    parent = int(tree.parent[node])
    branch_of_missing = int(tree.first_child[parent]) + int(tree.missing_branch[parent])
    return bool(schema.columns.has_missing[tree.feature[parent]]) and branch_of_missing == node


def group_codes(tree: Tree, schema: Schema, node: int) -> list[int]:
    """The codes of the node's column that its split, which has two branches, sends to branch 1; none of numbers."""
    kind, column, threshold = _split(tree, schema, node)
    codes = range(column.num_values)
    if kind == SplitKind.ONE_VS_REST:
        return [code for code in codes if code == tree.code[node]]
    if kind == SplitKind.SUBSET:
        words = tree.subset[node].tolist()
        return [code for code in codes if words[code // CODES_PER_WORD] >> (code % CODES_PER_WORD) & 1]
    if column.kind == "numeric" or threshold == np.inf:
        return []
    return list(codes[int(threshold) + 1 :])


class Question(NamedTuple):
    """One question of a tree, or one of its ends.

    Attributes:
        column: The column that it is about; -1 for an end.
        limit: Whether the number is at most this; infinite: whether the value is known at all.
        codes: Whether the code of the category is one of these, instead of a limit; none where there is a limit.
        yes: The number of the question that follows on yes.
        no: The number of the question that follows on no.
        missing_is_yes: Whether yes is what follows on a missing value.
        node: The node that asks, or at which the walk ends.
    """

    column: int
    limit: float
    codes: tuple[int, ...]
    yes: int
    no: int
    missing_is_yes: bool
    node: int

    @property
    def is_end(self) -> bool:
        """Whether the walk ends here."""
        return self.column < 0


class _Test(NamedTuple):
    """A question that sends values to a branch; see `Question`."""

    branch: int
    limit: float = 0.0
    codes: tuple[int, ...] = ()


def questions_of(tree: Tree, schema: Schema) -> list[Question]:
    """Returns the questions of a tree with its root at node 0, each before those that follow on it.

    Rows whose missing value is shared out among all branches take the last one: `exported_model` refuses such trees,
    unless the rows miss nothing.
    """
    questions: list[Question] = []
    _add_questions(questions, tree, schema)
    return questions


def questions_of_forest(model: FittedModel) -> tuple[list[Question], list[int]]:
    """Returns the questions of all trees, tree after tree with nodes of the forest, and the first of every tree."""
    questions: list[Question] = []
    roots = []
    for tree, first_node in zip(model.forest, model.forest.first_node.tolist(), strict=False):
        roots.append(len(questions))
        _add_questions(questions, tree, model.schema, first_node)
    return questions, roots


def _add_questions(questions: list[Question], tree: Tree, schema: Schema, first_node: int = 0) -> None:
    waiting = [(0, len(questions))]
    questions.append(_end(first_node))
    while waiting:
        node, place = waiting.pop()
        end = questions[place] = _end(first_node + node)
        if not tree.num_children[node]:
            continue
        column, children = int(tree.feature[node]), child_nodes(tree, node)
        missing = rest = _branch_of_missing(tree, node)
        tests = _tests(tree, schema, node)
        if missing < len(tests):  # the last branch needs no question
            rest = tests.pop().branch
        for branch, limit, codes in tests:
            yes, no = len(questions), len(questions) + 1
            questions += [end, end]
            questions[place] = Question(column, limit, codes, yes, no, missing == branch, end.node)
            waiting.append((children[branch], yes))
            place = no
        if rest < len(children):  # else the row stays
            waiting.append((children[rest], place))


def _end(node: int) -> Question:
    return Question(-1, 0.0, (), -1, -1, False, node)


def _branch_of_missing(tree: Tree, node: int) -> int:
    missing = int(tree.missing_branch[node])
    return int(tree.num_children[node]) - 1 if missing == ALL_BRANCHES else missing


def _tests(tree: Tree, schema: Schema, node: int) -> list[_Test]:
    """The tests that send known values to branches, in the order in which they are asked."""
    kind, column, threshold = _split(tree, schema, node)
    if kind == SplitKind.MULTIWAY:
        number = min(column.num_values, int(tree.num_children[node]))
        return [_Test(code, codes=(code,)) for code in range(number)]
    group = [] if column.kind == "numeric" else group_codes(tree, schema, node)
    first = _Test(1, codes=tuple(group)) if group else _Test(0, threshold if column.kind == "numeric" else np.inf)
    return [first, _Test(1 - first.branch, np.inf)]  # whatever else is known
