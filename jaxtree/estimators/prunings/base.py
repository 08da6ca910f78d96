"""What all prunings share: parameters that a search can set, and how they unite."""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray
from sklearn.base import BaseEstimator

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.checks import check_parameters
from jaxtree.pruning.validation import HeldOut
from jaxtree.tree import Tree

Label = Int[np.ndarray, "output node"]


class Pruning(BaseEstimator):
    """A way to prune a fitted tree.

    A subclass is a dataclass whose fields are its parameters. Prunings unite: `a | b` collapses what either does.

    Attributes:
        validation_fraction: The share of the rows held out for it, where none are given; None if it looks at none.
        draws_masks: Whether its masks are drawn with a key.
        batched: The parameters of which an array makes many masks.
    """

    validation_fraction: float | None = None
    draws_masks: ClassVar[bool] = False
    batched: ClassVar[tuple[str, ...]] = ()

    @property
    def needs_validation(self) -> bool:
        """Whether the pruning looks at held-out rows."""
        return self.validation_fraction is not None

    @property
    def is_mask(self) -> bool:
        """Whether the pruning is a mask, once tree, key and held-out rows are there."""
        return not self.votes

    @property
    def votes(self) -> bool:
        """Whether the pruning is a vote of many masks."""
        return False

    def collapsed(
        self,
        tree: Tree,
        *,
        key: PRNGKeyArray | None = None,
        held: HeldOut | None = None,
        label: Label | None = None,
    ) -> Bool[np.ndarray, "... node"]:
        """The nodes that this pruning collapses.

        Args:
            tree: A tree with its root at node 0, on the host.
            key: The key of what is drawn.
            held: The held-out rows at the nodes, for those that `needs_validation`.
            label: The class that every node predicts, if not the lowest of its majority.
        """
        raise NotImplementedError

    def vote(
        self, tree: Tree, said: Float[np.ndarray, "node column"], *, key: PRNGKeyArray | None = None
    ) -> Float[np.ndarray, "... node column"] | None:
        """What is said of a row that ends at each node, where the pruning is a vote of many; None where it is a mask.

        Args:
            tree: The tree.
            said: What every node says by itself.
            key: The key of what is drawn.
        """
        return None

    def check(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self, vars(self))

    def __post_init__(self):
        """Checks the parameters."""
        self.check()

    def __or__(self, other: "Pruning") -> "Union":
        """The pruning that collapses what either does."""
        return Union(self, other)


@dataclasses.dataclass(repr=False)
class Union(Pruning):
    """Collapses what either of two prunings does; made by `a | b`.

    Args:
        first: A pruning that is a mask of the tree alone.
        second: Another.

    Raises:
        InvalidInputError: One of them votes, is cross-validated, or needs held-out rows.

    Example:
        >>> from jaxtree import ChiSquared, Pessimistic
        >>> ChiSquared(0.01) | Pessimistic(0.1)
        Union(first=ChiSquared(p_value=0.01), second=Pessimistic(confidence=0.1))
    """

    first: Pruning
    second: Pruning

    draws_masks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {"first": [Pruning], "second": [Pruning]}

    def check(self) -> None:
        """Raises InvalidInputError if the prunings do not unite."""
        super().check()
        for part in (self.first, self.second):
            part.check()
            if not part.is_mask or part.needs_validation:
                raise InvalidInputError(f"only prunings that are masks of the tree alone unite, got {part!r}")

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that either pruning collapses."""
        return self.first.collapsed(tree, key=key) | self.second.collapsed(tree, key=key)
