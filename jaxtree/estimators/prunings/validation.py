"""Prunings that look at rows on which the tree was not grown."""

import dataclasses
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.prunings.base import Pruning
from jaxtree.pruning.validation import HeldOut, reduced_error_of, validation_gate_of

_VALIDATION_CONSTRAINTS = {"validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither")]}


@dataclasses.dataclass(repr=False)
class ReducedError(Pruning):
    """Reduced-error pruning on rows that were held out: see `jaxtree.prune.reduced_error`.

    The rows are those given to `fit` as `X_val` and `y_val`, or a part of the table, without which the tree is grown.

    Args:
        validation_fraction: The share of the rows held out where none are given.

    Raises:
        InvalidInputError: The fraction is out of its range.

    Example:
        >>> ReducedError(validation_fraction=0.3)
        ReducedError(validation_fraction=0.3)
    """

    validation_fraction: float = 0.25

    _parameter_constraints: ClassVar[dict] = _VALIDATION_CONSTRAINTS

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(reduced_error_of(tree, _held(held), label))


@dataclasses.dataclass(repr=False)
class ValidationGate(Pruning):
    """Z.-H. Zhou's pre-pruning on rows that were held out: see `jaxtree.prune.validation_gate`.

    The rows are those given to `fit` as `X_val` and `y_val`, or a part of the table, without which the tree is grown.

    Args:
        validation_fraction: The share of the rows held out where none are given.

    Raises:
        InvalidInputError: The fraction is out of its range.

    Example:
        >>> ValidationGate()
        ValidationGate()
    """

    validation_fraction: float = 0.25

    _parameter_constraints: ClassVar[dict] = _VALIDATION_CONSTRAINTS

    def collapsed(self, tree, *, key=None, held=None, label=None):
        """The nodes that this pruning collapses."""
        return np.asarray(validation_gate_of(tree, _held(held), label))


def _held(held: HeldOut | None) -> HeldOut:
    if held is None:
        raise InvalidInputError("this pruning looks at held-out rows: give X_val and y_val to fit, or a fraction")
    return held
