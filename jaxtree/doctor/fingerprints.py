"""Comparison of two fits: all arrays of nodes and all predictions, by the first field that differs."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from jaxtree.tree import Tree

PREDICTIONS = "predictions"
"""The field of what a model says of all rows."""

REPORTED = ("impurity", "gain")
"""Fields of nodes that are told and decide nothing: made of logarithms, they may differ in their last bits."""

TOLERANCE = 1e-6
"""How far such numbers may be apart, in parts of them where they are greater than 1."""

TRAINED = 1e-3
"""How far probabilities of models may be apart that gradient descent has trained."""

MOST_VALUES = 256
"""The number of values compared where the bits need not be the same."""


class Fingerprint(NamedTuple):
    """A fitted model, by field.

    Attributes:
        sums: SHA-256 sums of what must have the same bits.
        values: The first values of what must be close.
        tolerance: How far these may be apart.
    """

    sums: dict[str, str]
    values: dict[str, list[float]]
    tolerance: float

    @property
    def digest(self) -> str:
        """16 digits that stand for the sums of nodes, alike on all machines; "" if there are none.

        Predictions are left out: exponentials of NumPy differ in a last bit between processors.
        """
        sums = "".join(f"{name} {own}\n" for name, own in self.sums.items() if name != PREDICTIONS)
        return _sum_of(sums.encode())[:16] if sums else ""


def fingerprint_of(estimator: Any, X: Any, *, has_same_bits: bool) -> Fingerprint:
    """Returns what is compared of a fitted estimator.

    Args:
        estimator: A tree, a forest, boosted trees or a soft tree.
        X: The rows that it predicts.
        has_same_bits: Whether the model's arrays have the same bits everywhere.
    """
    said = np.asarray(getattr(estimator, "predict_proba", estimator.predict)(X))
    if not has_same_bits:
        return Fingerprint({}, {PREDICTIONS: _first(said)}, TRAINED)
    nodes = estimator.forest_.nodes if hasattr(estimator, "forest_") else estimator.tree_
    return fingerprint_of_nodes(nodes, {PREDICTIONS: said})


def fingerprint_of_nodes(nodes: Tree, others: Mapping[str, Shaped[np.ndarray, "..."]]) -> Fingerprint:
    """Returns what is compared of a table of nodes.

    Args:
        nodes: The nodes.
        others: Further arrays that must have the same bits.
    """
    fields = {name: np.asarray(value) for name, value in vars(nodes).items()} | dict(others)
    sums = {name: _sum_of(_bytes_of(value)) for name, value in fields.items() if name not in REPORTED}
    return Fingerprint(sums, {name: _first(fields[name]) for name in REPORTED}, TOLERANCE)


def first_difference(fingerprint: Fingerprint, expected: Fingerprint) -> str | None:
    """Returns the first field in which a fingerprint differs from the expected one; None if there is none.

    >>> one, other = (Fingerprint({"feature": "a"}, {"gain": [gain]}, 1e-6) for gain in (2.0, 2.1))
    >>> first_difference(one, one), first_difference(one, other)
    (None, 'gain')
    """
    for name in dict.fromkeys([*expected.sums, *fingerprint.sums]):
        if fingerprint.sums.get(name) != expected.sums.get(name):
            return name
    for name, values in expected.values.items():
        if not _are_close(fingerprint.values.get(name, []), values, expected.tolerance):
            return name
    return None


def _are_close(values: list[float], expected: list[float], tolerance: float) -> bool:
    is_as_long = len(values) == len(expected)
    return is_as_long and np.allclose(values, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def _first(values: Shaped[np.ndarray, "..."]) -> list[float]:
    return values.ravel()[:MOST_VALUES].astype(float).tolist()


def _bytes_of(values: Shaped[np.ndarray, "..."]) -> bytes:
    """Type, shape and contents, in the order of bytes that most machines have."""
    ordered = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return f"{values.dtype.str[1:]} {values.shape} ".encode() + ordered.tobytes()


def _sum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
