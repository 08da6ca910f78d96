"""Dropout pruning as a parameter: one draw, or a vote of draws."""

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.prunings.base import Pruning
from jaxtree.pruning.dropout import drawn_votes, dropout, expected_votes


@dataclasses.dataclass(repr=False)
class Dropout(Pruning):
    """Dropout pruning (Zhu and Zhou, 2023), made with the estimator's `random_state`: see `jaxtree.prune.dropout`.

    One draw is a mask. The vote of several keeps the whole tree: `predict` is what most draws say, and `predict_proba`
    (for numbers, `predict`) the share of draws that say it (the mean over draws). A row that is shared out among the
    branches of a missing value votes with all its parts.

    Args:
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more.
        draws: How many draws vote, or "all" for the exact vote of infinitely many.

    Raises:
        InvalidInputError: p, q or draws is out of its range.

    Example:
        >>> Dropout(p=0.1, q=0.5)
        Dropout(p=0.1, q=0.5)
    """

    p: Any
    q: Any = 0.0
    draws: int | str = 1

    draws_masks: ClassVar[bool] = True
    batched: ClassVar[tuple[str, ...]] = ("p", "q")
    _parameter_constraints: ClassVar[dict] = {
        "p": [Interval(Real, 0, 1, closed="both")],
        "q": [Interval(Real, 0, None, closed="left")],
        "draws": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
    }

    @property
    def votes(self) -> bool:
        """Whether there are several draws."""
        return self.draws != 1

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses: none if it is a vote."""
        if self.votes:
            return np.zeros(np.asarray(tree.depth).shape, bool)
        return np.asarray(dropout(tree, *self._rates(), key=_needed(key)))

    def vote(self, tree, said, *, key=None):
        """The mean over the draws of what is said where they stop."""
        if not self.votes:
            return None
        if self.draws == "all":
            votes = expected_votes(tree, *self._rates(), said)
        else:
            votes = drawn_votes(tree, *self._rates(), key=_needed(key), num_draws=int(self.draws), said=said)
        # A mean lies among what it is the mean of; rounding must not make a share greater than 1.
        return np.clip(votes, said.min(axis=0), said.max(axis=0))

    def _rates(self) -> tuple[np.ndarray, np.ndarray]:
        """P and q of one type, so that whole numbers compile nothing anew."""
        return np.asarray(self.p, np.float64), np.asarray(self.q, np.float64)


def _needed(key: PRNGKeyArray | None) -> PRNGKeyArray:
    if key is None:
        raise InvalidInputError("dropout pruning draws: give it a key, such as jax.random.key(0)")
    return key
