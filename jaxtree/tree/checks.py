"""Checks of arrays that a user hands to the functions of trees, where their values are known: not those of traced ones.

Traced values out of range are brought into it by XLA, which reads and writes nothing outside an array.
"""

from typing import Any

import numpy as np

from jaxtree.arrays import concrete_or_none
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.lazy import jnp


def check_range(name: str, values: Any, limit: int) -> None:
    """Raises InvalidInputError if an array that is known has values that are not from 0 to below the limit."""
    values = concrete_or_none(values)
    if values is not None and values.size and not (values.min() >= 0 and values.max() < limit):
        raise InvalidInputError(f"{name} must be from 0 to {limit - 1}, got {values.min()} to {values.max()}")


def check_codes_of(tree: Any, codes: Any) -> None:
    """Raises InvalidInputError or InvalidTypeError unless codes are a table with all features that a tree splits on."""
    if codes.ndim != 2:
        raise InvalidInputError(f"codes must have the shape (feature, row), got {codes.shape}")
    if not jnp.issubdtype(codes.dtype, jnp.integer):
        raise InvalidTypeError(f"codes must be of an integer type, got {codes.dtype}")
    if not len(codes):
        raise InvalidInputError(f"codes must have a feature at least, got the shape {codes.shape}")
    feature, is_leaf = concrete_or_none(tree.feature), concrete_or_none(tree.is_leaf)
    if feature is not None and is_leaf is not None and feature.ndim == 1:
        check_features_of(feature, is_leaf, len(codes), "codes")


def check_features_of(feature: Any, is_leaf: Any, number: int, what: str) -> None:
    """Raises InvalidInputError if nodes on the host split on features past a number of them."""
    split = feature[~is_leaf]
    if split.size and not (split.min() >= 0 and split.max() < number):
        wrong = split.max() if split.max() >= number else split.min()
        raise InvalidInputError(f"the tree splits on feature {wrong}, got {what} of {number} features")


def check_mask(tree: Any, collapsed: Any) -> None:
    """Raises InvalidInputError or InvalidTypeError unless a mask has a truth value for every node of a table."""
    if collapsed.shape != tree.feature.shape:
        raise InvalidInputError(
            f"collapsed must have one value for each of {tree.feature.shape[0]} nodes, got the shape {collapsed.shape}"
        )
    if collapsed.dtype != bool:
        raise InvalidTypeError(f"collapsed must hold booleans, got {collapsed.dtype}")


def check_weights(name: str, weight: Any) -> None:
    """Raises InvalidInputError unless weights on the host are from 0 on and have a finite sum."""
    values = concrete_or_none(weight)
    if values is not None and values.size and not (values.min() >= 0 and np.isfinite(values.sum(dtype=np.float64))):
        raise InvalidInputError(f"{name} must be from 0 on, with a finite sum, got {values.min()} to {values.max()}")
