"""What a page is of: a tree, or one tree of a forest."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import is_classifier

from jaxtree.errors import InvalidInputError
from jaxtree.export.spoken import spoken
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree


class Subject(NamedTuple):
    """The tree that a page shows.

    Attributes:
        whole: The fitted estimator that the page is of.
        member: The same, or the tree of the forest as an estimator.
        number: Which tree of the forest it is; None if it is none of a forest.
        shares: What its nodes say: the share of every class, or one column with the mean.
        labels: The class that its nodes say; None for numbers.
    """

    whole: Any
    member: Any
    number: int | None
    shares: Float[np.ndarray, "node column"]
    labels: Int[np.ndarray, " node"] | None

    @property
    def tree(self) -> Tree:
        """The node table."""
        return self.member.tree_

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.member.schema_

    @property
    def classes(self) -> list[str]:
        """The names of the classes; none for numbers."""
        return [str(name) for name in self.member.classes_] if is_classifier(self.member) else []

    @property
    def is_vote(self) -> bool:
        """Whether nodes say what a vote of prunings does, so that further prunings have no meaning."""
        return self.member._said is not None


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
    said = spoken(estimator)
    if not isinstance(tree, int | np.integer) or not 0 <= tree < len(said.trees):
        raise InvalidInputError(f"tree must be a whole number from 0 to {len(said.trees) - 1}, got {tree!r}")
    member = estimator.estimators_[tree] if said.is_forest else estimator
    (own,) = spoken(member).trees
    return Subject(estimator, member, int(tree) if said.is_forest else None, own.shares, own.labels)
