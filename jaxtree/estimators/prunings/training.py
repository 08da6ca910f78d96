"""Prunings that look at the grown tree alone, and the training rows that it counts."""

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.prunings.base import Pruning
from jaxtree.pruning.best_first import max_leaf_nodes
from jaxtree.pruning.collapse import collapse
from jaxtree.pruning.cost_complexity import cost_complexity
from jaxtree.pruning.expected_errors import minimum_error, pessimistic_1987
from jaxtree.pruning.pessimistic import pessimistic
from jaxtree.pruning.stopping import chi_squared, critical_value


@dataclasses.dataclass(repr=False)
class Collapse(Pruning):
    """C4.5's collapse of subtrees that make no fewer training errors than a leaf: see `jaxtree.prune.collapse`.

    Example:
        >>> Collapse()
        Collapse()
    """

    _parameter_constraints: ClassVar[dict] = {}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(collapse(tree))


@dataclasses.dataclass(repr=False)
class Pessimistic(Pruning):
    """C4.5's error-based pruning without subtree raising: see `jaxtree.prune.pessimistic`.

    `C45Classifier` has it, with raising, by its own parameters.

    Args:
        confidence: The confidence level of the upper limit of a leaf's errors, above 0 and at most 0.5.
        z: "exact", or "release8" for the interpolated quantile of C4.5 Release 8.

    Raises:
        InvalidInputError: A parameter is out of its range.

    Example:
        >>> Pessimistic(confidence=0.1)
        Pessimistic(confidence=0.1)
    """

    confidence: Any = 0.25
    z: str = "exact"

    batched: ClassVar[tuple[str, ...]] = ("confidence",)
    _parameter_constraints: ClassVar[dict] = {
        "confidence": [Interval(Real, 0, 0.5, closed="right")],
        "z": [StrOptions({"exact", "release8"})],
    }

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(pessimistic(tree, self.confidence, z=self.z))


@dataclasses.dataclass(repr=False)
class Pessimistic1987(Pruning):
    """Quinlan's pessimistic pruning of 1987, with a continuity correction: see `jaxtree.prune.pessimistic_1987`.

    Args:
        standard_errors: By how many standard errors a subtree must be better than a leaf, 0 or more.

    Raises:
        InvalidInputError: The number is negative.

    Example:
        >>> Pessimistic1987()
        Pessimistic1987()
    """

    standard_errors: Any = 1.0

    batched: ClassVar[tuple[str, ...]] = ("standard_errors",)
    _parameter_constraints: ClassVar[dict] = {"standard_errors": [Interval(Real, 0, None, closed="left")]}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(pessimistic_1987(tree, self.standard_errors))


@dataclasses.dataclass(repr=False)
class MinimumError(Pruning):
    """Minimum-error pruning by the m-estimate: see `jaxtree.prune.minimum_error`.

    Args:
        m: How many rows the classes' shares at the root weigh as much as, 0 or more.

    Raises:
        InvalidInputError: m is negative.

    Example:
        >>> MinimumError(m=8)
        MinimumError(m=8)
    """

    m: Any = 2.0

    batched: ClassVar[tuple[str, ...]] = ("m",)
    _parameter_constraints: ClassVar[dict] = {"m": [Interval(Real, 0, None, closed="left")]}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(minimum_error(tree, self.m))


@dataclasses.dataclass(repr=False)
class ChiSquared(Pruning):
    """Quinlan's chi-squared test of every split: see `jaxtree.prune.chi_squared`.

    Args:
        p_value: Splits with a greater p-value are undone; above 0 and at most 1.

    Raises:
        InvalidInputError: The p-value is out of its range.

    Example:
        >>> ChiSquared(p_value=0.01)
        ChiSquared(p_value=0.01)
    """

    p_value: Any = 0.05

    batched: ClassVar[tuple[str, ...]] = ("p_value",)
    _parameter_constraints: ClassVar[dict] = {"p_value": [Interval(Real, 0, 1, closed="right")]}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(chi_squared(tree, self.p_value))


@dataclasses.dataclass(repr=False)
class CriticalValue(Pruning):
    """Mingers' critical value pruning: see `jaxtree.prune.critical_value`.

    Args:
        value: The least gain that a split, or one below it, must have; 0 or more.

    Raises:
        InvalidInputError: The value is negative.

    Example:
        >>> CriticalValue(value=0.1)
        CriticalValue(value=0.1)
    """

    value: Any

    batched: ClassVar[tuple[str, ...]] = ("value",)
    _parameter_constraints: ClassVar[dict] = {"value": [Interval(Real, 0, None, closed="left")]}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(critical_value(tree, self.value))


@dataclasses.dataclass(repr=False)
class MaxLeafNodes(Pruning):
    """Stops at a number of leaves, the split of greatest weighted gain first: see `jaxtree.prune.max_leaf_nodes`.

    Args:
        max_leaf_nodes: The most leaves, at least 2.

    Raises:
        InvalidInputError: There may be fewer than 2 leaves.

    Example:
        >>> MaxLeafNodes(20)
        MaxLeafNodes(max_leaf_nodes=20)
    """

    max_leaf_nodes: Any

    batched: ClassVar[tuple[str, ...]] = ("max_leaf_nodes",)
    _parameter_constraints: ClassVar[dict] = {"max_leaf_nodes": [Interval(Integral, 2, None, closed="left")]}

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(max_leaf_nodes(tree, self.max_leaf_nodes))


@dataclasses.dataclass(repr=False)
class CostComplexity(Pruning):
    """Minimal cost-complexity pruning: see `jaxtree.prune.cost_complexity`.

    Args:
        ccp_alpha: The price of a leaf, 0 or more; or "cv" to find it by cross-validation (Breiman et al., 1984,
            section 3.4): folds of the table are grown, the prices half way (geometrically) between the steps of the
            whole tree's path are tried on the rows left out, and `rule` chooses.
        rule: "min" for the price of least error, or "1se" for the greatest one whose error is within one standard error
            of that.
        folds: Number of folds, stratified by class and shuffled, a splitter of scikit-learn, or a list of the rows that
            each fold trains and is tested on.
        cost: "impurity", or "error" for the misclassified share.

    Raises:
        InvalidInputError: A parameter is not allowed.

    Example:
        >>> CostComplexity(ccp_alpha=0.01)
        CostComplexity(ccp_alpha=0.01)
    """

    ccp_alpha: Any = "cv"
    rule: str = "min"
    folds: Any = 10
    cost: str = "impurity"

    batched: ClassVar[tuple[str, ...]] = ("ccp_alpha",)
    _parameter_constraints: ClassVar[dict] = {
        "ccp_alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"cv"})],
        "rule": [StrOptions({"min", "1se"})],
        "folds": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), list, tuple],
        "cost": [StrOptions({"impurity", "error"})],
    }

    @property
    def is_mask(self) -> bool:
        """Whether the price is known."""
        return not isinstance(self.ccp_alpha, str)

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        if not self.is_mask:
            raise InvalidInputError("CostComplexity('cv') finds its price when an estimator is fitted; give a number")
        return np.asarray(cost_complexity(tree, self.ccp_alpha, cost=self.cost))
