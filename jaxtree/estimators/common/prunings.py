"""Prunings as parameters of an estimator: the values of `pruning=`.

A pruning has scikit-learn's protocol of parameters, so that a search can set `pruning__p`. A parameter given as an
array makes a mask for each of its values. A class holds the parameters of a function of `jaxtree.prune`, and calls it.
"""

import dataclasses
from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray
from sklearn.base import BaseEstimator

from jaxtree.dropout.votes import drawn_votes, expected_votes
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import AnnotatedParameters, Role, Words, check_parameters, whole
from jaxtree.prune import stopping
from jaxtree.prune.draws import dropout, node_rates
from jaxtree.prune.training_errors import collapse, minimum_error, pessimistic, pessimistic_1987
from jaxtree.prune.validation import HeldOut, reduced_error, validation_gate
from jaxtree.prune.weakest_links import cost_complexity
from jaxtree.sklearn_compat import HasMethods, Interval, RealNotInt
from jaxtree.tree import Tree

AT_LEAST_0 = Interval(Real, 0, None, closed="left")
ABOVE_0_TO_1 = Interval(Real, 0, 1, closed="right")
PART = Interval(RealNotInt, 0, 1, closed="neither")


class Pruning(AnnotatedParameters, BaseEstimator):
    """A way to prune a fitted tree.

    A subclass is a dataclass whose fields are its parameters, annotated with its constraints; one that is not
    allowed raises `InvalidInputError`. Prunings unite: `a | b` collapses what either does.

    Attributes:
        validation_fraction: The share of the rows held out for it, where none are given; None if it needs none.
        draws_masks: Whether its masks are drawn with a key.
    """

    validation_fraction: float | None = None
    draws_masks: ClassVar[bool] = False
    _mask: ClassVar[Callable]

    def __init_subclass__(cls, of: Callable | None = None, **options: Any):
        """Takes the function whose parameters the subclass has."""
        super().__init_subclass__(**options)
        if of is not None:
            cls._mask = staticmethod(of)

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
        label: Int[np.ndarray, "output node"] | None = None,
    ) -> Bool[np.ndarray, "... node"]:
        """Returns the nodes that this pruning collapses.

        Args:
            tree: A tree with its root at node 0, on the host.
            key: The key of what is drawn.
            held: The held-out rows at the nodes, for those that `needs_validation`.
            label: The class that every node predicts, if not the lowest of its majority.
        """
        if not self.needs_validation:
            return np.asarray(type(self)._mask(tree, **vars(self)))
        if held is None:
            raise InvalidInputError("this pruning looks at held-out rows: give X_val and y_val to fit, or a fraction")
        return np.asarray(type(self)._mask(tree, held, label))

    def vote(
        self, tree: Tree, node_value: Float[np.ndarray, "node column"], *, key: PRNGKeyArray | None = None
    ) -> Float[np.ndarray, "... node column"] | None:
        """Returns the mean vote for a row that ends at each node; None where the pruning is no vote of many.

        Args:
            tree: The tree.
            node_value: The vote of every node by itself.
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
        """Returns the pruning that collapses what either does."""
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
        >>> ChiSquared(0.01) | Pessimistic(0.1)
        Union(first=ChiSquared(p_value=0.01), second=Pessimistic(confidence=0.1))
    """

    first: Annotated[Pruning, Pruning, Role.FIT]
    second: Annotated[Pruning, Pruning, Role.FIT]

    draws_masks: ClassVar[bool] = True

    def check(self) -> None:
        """Raises InvalidInputError if the prunings do not unite."""
        super().check()
        for part in (self.first, self.second):
            part.check()
            if not part.is_mask or part.needs_validation:
                raise InvalidInputError(f"only prunings that are masks of the tree alone unite, got {part!r}")

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """Returns the nodes that either pruning collapses."""
        return self.first.collapsed(tree, key=key) | self.second.collapsed(tree, key=key)


@dataclasses.dataclass(repr=False)
class Collapse(Pruning, of=collapse):
    """C4.5's collapse of subtrees that make no fewer training errors than a leaf: see `jaxtree.prune.collapse`.

    Example:
        >>> Collapse()
        Collapse()
    """


@dataclasses.dataclass(repr=False)
class Pessimistic(Pruning, of=pessimistic):
    """C4.5's error-based pruning without subtree raising: see `jaxtree.prune.pessimistic`.

    `C45Classifier` has it, with raising, by its own parameters.

    Args:
        confidence: The confidence level of the upper limit of a leaf's errors, above 0 and at most 0.5.
        z: "exact", or "release8" for the interpolated quantile of C4.5 Release 8.

    Example:
        >>> Pessimistic(confidence=0.1)
        Pessimistic(confidence=0.1)
    """

    confidence: Annotated[Any, Interval(Real, 0, 0.5, closed="right"), Role.BATCHED] = 0.25
    z: Annotated[str, Words({"exact", "release8"}), Role.FIT] = "exact"


@dataclasses.dataclass(repr=False)
class Pessimistic1987(Pruning, of=pessimistic_1987):
    """Quinlan's pessimistic pruning of 1987, with a continuity correction: see `jaxtree.prune.pessimistic_1987`.

    Args:
        standard_errors: By how many standard errors a subtree must be better than a leaf, 0 or more.

    Example:
        >>> Pessimistic1987(standard_errors=2)
        Pessimistic1987(standard_errors=2)
    """

    standard_errors: Annotated[Any, AT_LEAST_0, Role.BATCHED] = 1.0


@dataclasses.dataclass(repr=False)
class MinimumError(Pruning, of=minimum_error):
    """Minimum-error pruning by the m-estimate: see `jaxtree.prune.minimum_error`.

    Args:
        m: How many rows the classes' shares at the root weigh as much as, 0 or more.

    Example:
        >>> MinimumError(m=8)
        MinimumError(m=8)
    """

    m: Annotated[Any, AT_LEAST_0, Role.BATCHED] = 2.0


@dataclasses.dataclass(repr=False)
class ChiSquared(Pruning, of=stopping.chi_squared):
    """Quinlan's chi-squared test of every split: see `jaxtree.prune.chi_squared`.

    Args:
        p_value: Splits with a greater p-value are undone; above 0 and at most 1.

    Example:
        >>> ChiSquared(p_value=0.01)
        ChiSquared(p_value=0.01)
    """

    p_value: Annotated[Any, ABOVE_0_TO_1, Role.BATCHED] = 0.05


@dataclasses.dataclass(repr=False)
class CriticalValue(Pruning, of=stopping.critical_value):
    """Mingers' critical value pruning: see `jaxtree.prune.critical_value`.

    Args:
        value: The least gain that a split, or one below it, must have; 0 or more.

    Example:
        >>> CriticalValue(value=0.01)
        CriticalValue(value=0.01)
    """

    value: Annotated[Any, AT_LEAST_0, Role.BATCHED]


@dataclasses.dataclass(repr=False)
class MaxLeafNodes(Pruning, of=stopping.max_leaf_nodes):
    """Stops at a number of leaves, the split of greatest weighted gain first: see `jaxtree.prune.max_leaf_nodes`.

    Args:
        max_leaf_nodes: The most leaves, at least 2.

    Example:
        >>> MaxLeafNodes(max_leaf_nodes=8)
        MaxLeafNodes(max_leaf_nodes=8)
    """

    max_leaf_nodes: Annotated[Any, whole(2), Role.BATCHED]


@dataclasses.dataclass(repr=False)
class CostComplexity(Pruning):
    """Minimal cost-complexity pruning: see `jaxtree.prune.cost_complexity`.

    Args:
        ccp_alpha: The price of a leaf, 0 or more; or "cv" to find it by cross-validation (Breiman et al., 1984,
            section 3.4): folds of the table are grown, the prices half way (geometrically) between the steps of the
            whole tree's path are tried on the rows left out, and `rule` chooses.
        rule: "min" for the price of least error, or "1se" for the greatest one whose error is within one standard error
            of that.
        cv: Number of folds, stratified by class and shuffled, a splitter of scikit-learn, or a list of the rows that
            each fold trains and is tested on.
        cost: "impurity", or "error" for the misclassified share.

    Example:
        >>> CostComplexity(ccp_alpha=0.01)
        CostComplexity(ccp_alpha=0.01)
    """

    ccp_alpha: Annotated[Any, AT_LEAST_0, Words({"cv"}), Role.BATCHED] = "cv"
    rule: Annotated[str, Words({"min", "1se"}), Role.FIT] = "min"
    cv: Annotated[Any, whole(2), HasMethods(["split"]), list, tuple, Role.FIT] = 10
    cost: Annotated[str, Words({"impurity", "error"}), Role.FIT] = "impurity"

    @property
    def is_mask(self) -> bool:
        """Whether the price is known."""
        return not isinstance(self.ccp_alpha, str)

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """Returns the nodes that this pruning collapses."""
        if not self.is_mask:
            raise InvalidInputError("CostComplexity('cv') finds its price when an estimator is fitted; give a number")
        return np.asarray(cost_complexity(tree, self.ccp_alpha, cost=self.cost))


@dataclasses.dataclass(repr=False)
class ReducedError(Pruning, of=reduced_error):
    """Reduced-error pruning on rows that were held out: see `jaxtree.prune.reduced_error`.

    The rows are those given to `fit` as `X_val` and `y_val`, or a part of the table, without which the tree is grown.

    Args:
        validation_fraction: The share of the rows held out where none are given.

    Example:
        >>> ReducedError(validation_fraction=0.3)
        ReducedError(validation_fraction=0.3)
    """

    validation_fraction: Annotated[float, PART, Role.FIT] = 0.25


@dataclasses.dataclass(repr=False)
class ValidationGate(Pruning, of=validation_gate):
    """Z.-H. Zhou's pre-pruning on rows that were held out: see `jaxtree.prune.validation_gate`.

    The rows are those given to `fit` as `X_val` and `y_val`, or a part of the table, without which the tree is grown.

    Args:
        validation_fraction: The share of the rows held out where none are given.

    Example:
        >>> ValidationGate(validation_fraction=0.3)
        ValidationGate(validation_fraction=0.3)
    """

    validation_fraction: Annotated[float, PART, Role.FIT] = 0.25


@dataclasses.dataclass(repr=False)
class Dropout(Pruning):
    """Dropout pruning (Zhu and Zhou, 2023), made with the estimator's `random_state`: see `jaxtree.prune.dropout`.

    One draw is a mask. The vote of several keeps the whole tree: `predict` is the class of most draws, and
    `predict_proba` its share of the draws; for numbers `predict` is the mean over draws. A row that is shared out among
    the branches of a missing value votes with all its parts.

    Args:
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more.
        draws: How many draws vote, or "all" for the exact vote of infinitely many.

    Example:
        >>> Dropout(p=0.1, q=0.5)
        Dropout(p=0.1, q=0.5)
    """

    p: Annotated[Any, Interval(Real, 0, 1, closed="both"), Role.BATCHED]
    q: Annotated[Any, AT_LEAST_0, Role.BATCHED] = 0.0
    draws: Annotated[int | str, whole(1), Words({"all"}), Role.FIT] = 1

    draws_masks: ClassVar[bool] = True

    @property
    def votes(self) -> bool:
        """Whether there are several draws."""
        return self.draws != 1

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """Returns the nodes that this pruning collapses: none if it is a vote."""
        if self.votes:
            return np.zeros(np.asarray(tree.depth).shape, bool)
        return np.asarray(dropout(tree, self._rates(tree), key=_needed(key)))

    def vote(self, tree, node_value, *, key=None):
        """Returns the mean over the draws of the values of the nodes where they stop."""
        if not self.votes:
            return None
        if self.draws == "all":
            votes = expected_votes(tree, self._rates(tree), node_value)
        else:
            votes = drawn_votes(
                tree, self._rates(tree), key=_needed(key), num_draws=int(self.draws), node_value=node_value
            )
        # A mean lies among what it is the mean of; rounding must not make a share greater than 1.
        return np.clip(votes, node_value.min(axis=0), node_value.max(axis=0))

    def _rates(self, tree: Tree) -> Float[np.ndarray, "... node"]:
        return np.asarray(node_rates(tree, self.p, self.q))


def _needed(key: PRNGKeyArray | None) -> PRNGKeyArray:
    if key is None:
        raise InvalidInputError("dropout pruning draws: give it a key, such as jax.random.key(0)")
    return key


PRUNINGS: tuple[type[Pruning], ...] = (
    Dropout, ChiSquared, Collapse, CostComplexity, CriticalValue, MaxLeafNodes, MinimumError, Pessimistic,
    Pessimistic1987, ReducedError, ValidationGate,
)  # fmt: skip
"""All kinds that have a name of their own."""
