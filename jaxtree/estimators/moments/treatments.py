"""Treatments and instruments as arguments of `fit`: numbers, or arms that have names."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Shaped

from jaxtree.errors import InvalidInputError, JaxtreeError
from jaxtree.table.target import encode_classes, encode_numbers
from jaxtree.table.words import value_in_words

MOST_ARMS = 20
"""The most arms of a treatment: every further one is an effect of its own, with a split of its own."""


@dataclasses.dataclass(frozen=True)
class Treatments:
    """The treatments of rows.

    Attributes:
        values: One line a treatment: whether a row has the arm, or the number.
        classes: The names of the arms, ascending, the first of which is the control; None of numbers.
        arm: The place of every row's arm among the names; None of numbers.
    """

    values: Float64[np.ndarray, "arm row"]
    classes: Shaped[np.ndarray, " class"] | None
    arm: Int[np.ndarray, " row"] | None

    @property
    def is_binary(self) -> bool:
        """Whether there are two arms."""
        return self.classes is not None and len(self.classes) == 2


def read_treatments(name: str, given: Shaped[np.ndarray, "row *part"], control: Any = None) -> Treatments:
    """Returns treatments: words, booleans, and the numbers 0 and 1 are arms; others are numbers.

    Args:
        name: The name of the argument.
        given: The treatment of every row; several columns of numbers for several treatments.
        control: The arm that others are compared with; the first if not given.

    Raises:
        InvalidInputError: A row has none, all rows have the same, or there are too many arms.
    """
    values = np.asarray(given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if _has_arms(values):
        return _arms(name, values, control)
    try:
        numbers = encode_numbers(values).values
    except JaxtreeError as error:
        raise type(error)(str(error).replace("Input y", name)) from None
    for number, own in enumerate(numbers):
        if own.min() == own.max():
            which = name if len(numbers) == 1 else f"column {number} of {name}"
            raise InvalidInputError(f"{which} is {own[0]:g} in all rows: an effect needs rows that differ in it")
    if control is not None:
        raise InvalidInputError(f"control={control!r} is one of some arms, and {name} has numbers")
    return Treatments(numbers, None, None)


def _arms(name: str, values: Shaped[np.ndarray, " row"], control: Any) -> Treatments:
    """Returns the arms of rows, the control first."""
    try:
        target = encode_classes(values)
    except JaxtreeError as error:
        raise type(error)(str(error).replace("Input y", name)) from None
    classes, arm = target.classes[0], target.codes[0]
    _check_arms(name, classes, control)
    order = np.arange(len(classes))
    if control is not None:
        first = int(np.flatnonzero(classes == control)[0])
        order = np.concatenate([[first], np.delete(order, first)])
    place = np.argsort(order)
    return Treatments(np.eye(len(classes))[place[arm]].T[1:], classes[order], place[arm])


def _has_arms(values: Shaped[np.ndarray, "row *part"]) -> bool:
    if values.ndim > 1:
        return False
    if values.dtype.kind in "OUSb":
        return True
    return values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())


def _check_arms(name: str, classes: Shaped[np.ndarray, " class"], control: Any) -> None:
    if len(classes) < 2:
        raise InvalidInputError(
            f"{name} is {value_in_words(classes.tolist()[0])} in all rows: an effect needs rows that differ in it"
        )
    if len(classes) > MOST_ARMS + 1:
        raise InvalidInputError(
            f"{name} has {len(classes)} arms, allowed are {MOST_ARMS + 1}: join some, or give numbers"
        )
    if control is not None and not np.any(classes == control):
        raise InvalidInputError(f"control must be one of {', '.join(map(repr, classes.tolist()))}, got {control!r}")
