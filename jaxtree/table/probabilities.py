"""Targets that are probabilities: for every row, how probable each class is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Shaped

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import as_array
from jaxtree.table.target import ClassTarget, encode_classes, finite_numbers

LARGEST_ERROR = 1e-4
"""How far the probabilities of a row may add up to another number than 1: those of float32 do, of many classes."""

UNIT = 2.0**-32
"""Probabilities are rounded to multiples of this, so that sums of them are exact."""


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """A target of `fit`, of classifiers: the probabilities of the classes in place of one class.

    A row that is "a" with probability 0.7 and "b" with 0.3 counts as two rows do, one of each class, whose weights are
    0.7 and 0.3 of the row's own; but it is one row for limits that count rows, in bootstrap samples, in bags and among
    those held out. Rows of ones and zeros alone are what a vector of classes is, bit for bit. A class that has no
    probability in any row is left out, as if no row had it.

    Args:
        probabilities: A row for every row of the table, a column for every class; they add up to 1 in every row.
        classes: The classes of the columns; 0, 1, ... if not given.

    Raises:
        InvalidInputError: A probability is missing, negative or above 1, or a row does not add up to 1; there are fewer
            than two columns; or the classes are not one for each column, or one stands twice.

    Example:
        >>> from jaxtree import ClassProbabilities, DecisionTreeClassifier
        >>> y = ClassProbabilities([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], ["no", "yes"])
        >>> DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], y).predict_proba([[0.0]]).round(2)
        array([[0.85, 0.15]])
    """

    probabilities: Any
    classes: Any = None

    def __post_init__(self) -> None:
        """Reads and checks both."""
        shares = _checked(self.probabilities)
        given = range(shares.shape[1]) if self.classes is None else self.classes
        encoded = encode_classes(np.asarray(given) if isinstance(given, range | list | tuple) else given)
        names = encoded.classes[0][encoded.codes[0]]
        if len(encoded.classes) != 1 or len(names) != shares.shape[1] or len(encoded.classes[0]) != len(names):
            raise InvalidInputError(
                f"classes must be {shares.shape[1]} different ones, one for each column of the probabilities, got "
                f"{names.tolist()}"
            )
        object.__setattr__(self, "probabilities", shares)
        object.__setattr__(self, "classes", names)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.probabilities)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Raises InvalidTypeError: where an array is made of a target, classes or numbers are wanted.

        >>> np.asarray(ClassProbabilities([[0.5, 0.5]]))
        Traceback (most recent call last):
            ...
        jaxtree.errors.InvalidTypeError: y must be classes or numbers here, got ClassProbabilities, which the fit of
        classifiers takes: their labels() are the most probable classes
        """
        raise InvalidTypeError(
            "y must be classes or numbers here, got ClassProbabilities, which the fit of classifiers takes: their "
            "labels() are the most probable classes"
        )

    def take(self, rows: Any) -> "ClassProbabilities":
        """Returns those of some rows, given by their numbers or by a mask.

        >>> ClassProbabilities([[0.5, 0.5], [0.0, 1.0]]).take([1]).probabilities.tolist()
        [[0.0, 1.0]]
        """
        return ClassProbabilities(self.probabilities[rows], self.classes)

    def labels(self) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row; of equal ones the first.

        >>> ClassProbabilities([[0.4, 0.6], [0.5, 0.5]], ["no", "yes"]).labels().tolist()
        ['yes', 'no']
        """
        return self.classes[self.probabilities.argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class ShareTarget:
    """Probabilities of the classes of one output, as fits take them.

    Attributes:
        classes: The classes of some probability, in ascending order.
        shares: The probability of every class in every row, multiples of `UNIT` that add up to 1.
    """

    classes: Shaped[np.ndarray, " class"]
    shares: Float64[np.ndarray, "class row"]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.shares.shape[1]


def encode_probabilities(y: ClassProbabilities) -> ClassTarget | ShareTarget:
    """Returns the probabilities in ascending order of the classes, or the classes if every row has one alone.

    >>> encode_probabilities(ClassProbabilities([[0.25, 0.75], [1.0, 0.0]], ["b", "a"])).shares.tolist()
    [[0.75, 0.0], [0.25, 1.0]]
    >>> encode_probabilities(ClassProbabilities([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], ["c", "a", "b"])).codes.tolist()
    [[0, 1]]
    """
    units = _whole(y.probabilities)
    order = np.argsort(y.classes, kind="stable")
    order = order[units[:, order].any(axis=0)]
    shares = (units[:, order] * UNIT).T
    if np.all((shares == 0) | (shares == 1)):
        return encode_classes(y.classes[order][shares.argmax(axis=0)])
    return ShareTarget(y.classes[order], np.ascontiguousarray(shares))


def _whole(probabilities: Float64[np.ndarray, "row class"]) -> Int[np.ndarray, "row class"]:
    """The probabilities in units; the greatest of a row takes what rounding leaves, so that they add up to 1."""
    units = np.rint(probabilities / probabilities.sum(axis=1, keepdims=True) / UNIT).astype(np.int64)
    rows = np.arange(len(units))
    units[rows, units.argmax(axis=1)] += round(1 / UNIT) - units.sum(axis=1)
    return units


def _checked(given: Any) -> Float64[np.ndarray, "row class"]:
    values = as_array("probabilities", given)
    if values.ndim != 2 or values.shape[1] < 2:
        raise InvalidInputError(
            f"probabilities must have the shape (rows, classes), with two classes or more, got {values.shape}"
        )
    columns = [finite_numbers("probabilities", column) for column in values.T]
    shares = np.stack(columns, axis=1)
    if len(shares) and (shares.min() < 0 or shares.max() > 1 + LARGEST_ERROR):
        row = int(((shares < 0) | (shares > 1 + LARGEST_ERROR)).any(axis=1).argmax())
        raise InvalidInputError(f"probabilities must be from 0 to 1, got {shares[row].tolist()} in row {row}")
    error = np.abs(shares.sum(axis=1) - 1)
    if (error > LARGEST_ERROR).any():
        row = int(error.argmax())
        raise InvalidInputError(
            f"the probabilities of a row must add up to 1, got {shares[row].tolist()} in row {row}, "
            f"{shares[row].sum():.6g} in all"
        )
    return shares
