"""What the splits of a tree ask of its rows: in words, and as the yes-or-no questions that other programs know.

As questions, a split with a branch for every category becomes a chain; a one-hot feature becomes a question about its
column. Where a row stays at an inner node, that node is an *end* as leaves are.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from jaxtree.errors import InvalidInputError
from jaxtree.table.schema import Column, Feature, Schema, value_in_words
from jaxtree.tree import ALL_BRANCHES, CODES_PER_WORD, FittedModel, SplitKind, Tree, declared_majority


class Condition(NamedTuple):
    """What a branch asks of a column: `relation` is one of <= > = != in, not in, is known, is missing."""

    column: str
    relation: str
    values: tuple


def class_names(model: FittedModel) -> list[list[str]]:
    """The names of the classes of every output, in the order of the columns of `tree.count`; none for regression."""
    return [[str(name) for name in names] for names in model.classes]


def node_class(model: FittedModel) -> Int[np.ndarray, "output node"]:
    """The class of every node by its own weights: of equal ones the first declared; of an empty node its parent's."""
    return declared_majority(model.tree, model.class_order)


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


STAYS = -1
"""The place of what a row is asked that stays at its node."""


class Question(NamedTuple):
    """One question, or an end.

    Attributes:
        column: The column that it is about; -1 for an end.
        limit: Whether the number is at most this; infinite: whether the value is known at all.
        codes: Whether the code of the category is one of these, for columns of words, unless the limit is infinite; at
            least one, for not every program knows an empty set.
        yes: The number of the question that follows on yes.
        no: That which follows on no.
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
    """A question about the column of a node's split, and the branch to take on yes."""

    limit: float
    codes: tuple[int, ...]
    missing_is_yes: bool
    branch: int


class _Split(NamedTuple):
    """The tests of a node, asked one after the other, and the branch of rows that pass none; or `STAYS`."""

    tests: list[_Test]
    rest: int


def questions_of(tree: Tree, schema: Schema, *, no_missing: bool) -> list[Question]:
    """Returns the questions of a tree, each before those that follow on it.

    Args:
        tree: The tree, its root at node 0.
        schema: Its columns.
        no_missing: Whether the rows have no missing value and no unseen category, so that it does not matter where
            these go.

    Raises:
        InvalidInputError: The tree shares out rows that miss a value, which questions cannot express.
    """
    questions, waiting = [_end(0)], [(0, 0)]
    while waiting:
        node, place = waiting.pop()
        questions[place] = _end(node)
        if not tree.num_children[node]:
            continue
        column = schema.features[int(tree.feature[node])].column
        first_child = int(tree.first_child[node])
        split = _split_of(tree, schema, node, no_missing=no_missing)
        for limit, codes, missing_is_yes, branch in split.tests:
            yes, no = len(questions), len(questions) + 1
            questions += [_end(node), _end(node)]
            questions[place] = Question(column, limit, codes, yes, no, missing_is_yes, node)
            waiting.append((first_child + branch, yes))
            place = no
        if split.rest != STAYS:
            waiting.append((first_child + split.rest, place))
    return questions


def _end(node: int) -> Question:
    return Question(-1, 0.0, (), -1, -1, False, node)


def _split_of(tree: Tree, schema: Schema, node: int, *, no_missing: bool) -> _Split:
    missing, num_children = int(tree.missing_branch[node]), int(tree.num_children[node])
    kind, feature = SplitKind(int(tree.split_kind[node])), schema.features[int(tree.feature[node])]
    if missing == ALL_BRANCHES and not no_missing:
        raise InvalidInputError(
            f"the tree shares out rows whose {schema.columns[feature.column].name!r} is missing among all branches, "
            "which this form cannot say: fit with missing='learn', or export with no_missing=True for rows that have "
            "no missing value and no unseen category"
        )
    if missing == ALL_BRANCHES:
        missing = num_children - 1
    if kind == SplitKind.MULTIWAY:
        return _multiway(feature.num_values, num_children, missing)
    if kind != SplitKind.THRESHOLD:
        group = subset_codes(tree, schema, node) if kind == SplitKind.SUBSET else [int(tree.code[node])]
        return _two_groups(tuple(group), feature.num_values, missing)
    threshold = float(tree.threshold[node])
    if feature.kind == "onehot":
        column = schema.columns[feature.column]
        missing = missing if feature.has_missing else 0
        if threshold < np.inf:
            return _two_groups((column.categories.index(feature.category),), column.num_values, missing)
    elif feature.kind != "numeric" and threshold < np.inf:
        above = tuple(range(int(threshold) + 1, feature.num_values))
        return _two_groups(above, feature.num_values, missing)
    return _threshold(threshold, missing)


def _threshold(threshold: float, missing: int) -> _Split:
    """At most the threshold, or above it; or the value is missing."""
    below = _Test(threshold, (), missing == 0, 0)
    if missing <= 1:
        return _Split([below], 1)
    return _Split([below, _Test(np.inf, (), False, 1)], STAYS)


def _two_groups(group: tuple[int, ...], num_values: int, missing: int) -> _Split:
    """One of some categories, or one of the others; or the value is missing."""
    known = tuple(code for code in group if code < num_values)
    if not known:  # what is asked is whether the value is missing
        return _Split([_Test(np.inf, (), missing == 0, 0)], 1 if missing <= 1 else STAYS)
    among = _Test(0.0, known, missing == 1, 1)
    if missing <= 1:
        return _Split([among], 0)
    others = tuple(code for code in range(num_values) if code not in known)
    return _Split([among, *([_Test(0.0, others, False, 0)] if others else [])], STAYS)


def _multiway(num_values: int, num_children: int, missing: int) -> _Split:
    """A branch for every category, and perhaps one for missing values."""
    tests = [_Test(0.0, (code,), missing == code, code) for code in range(min(num_values, num_children))]
    if missing >= num_children:
        return _Split(tests, STAYS)
    if missing < len(tests):  # the last category needs no question
        return _Split(tests[:-1], len(tests) - 1)
    return _Split(tests, missing)
