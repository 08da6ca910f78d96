"""Trees as yes-or-no questions about columns, which is all that most other programs know.

A split with a branch for every category becomes a chain of questions; a one-hot feature becomes a question about its
column. Where a row stays at an inner node, that node is an *end* as leaves are.
"""

from typing import NamedTuple

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.words import subset_codes
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree

SHARED_OUT = 2**30
"""The branch of a missing value by which a row is shared out among all branches."""

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
        InvalidInputError: The tree shares out rows that miss a value, which questions cannot say.
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
    if missing == SHARED_OUT and not no_missing:
        raise InvalidInputError(
            f"the tree shares out rows whose {schema.columns[feature.column].name!r} is missing among all branches, "
            "which this form cannot say: fit with missing='learn', or export with no_missing=True for rows that have "
            "no missing value and no unseen category"
        )
    if missing == SHARED_OUT:
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
