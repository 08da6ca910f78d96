"""Shapley values of rows: how much columns count, in what order, and where a row's value lies in its column."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.errors import InvalidInputError
from jaxtree.explain.shap import ShapValues
from jaxtree.figures.importances import MOST_COLUMNS
from jaxtree.figures.outputs import place_of_class, score_labels
from jaxtree.table.schema import Schema


class Explained(NamedTuple):
    """Shapley values of rows.

    Attributes:
        values: A value for every row and column, for every class or score.
        base: The prediction of no row in particular.
        labels: The classes, or the names of the scores; one empty word if there is one.
        unit: The sum of the values in words, such as "probability" or "log odds".
        rows: The rows as `encoder_.values` has encoded them.
        schema: Their columns.
        weight: Their weights.
    """

    values: Float64[np.ndarray, "row column class"]
    base: Float64[np.ndarray, " class"]
    labels: list[str]
    unit: str
    rows: Float[np.ndarray, "row feature"]
    schema: Schema
    weight: Float[np.ndarray, " row"]

    @property
    def of_what(self) -> list[str]:
        """The unit with each class: "probability of setosa"."""
        return [f"{self.unit} of {label}" if label else self.unit for label in self.labels]

    @property
    def sizes(self) -> Float64[np.ndarray, "column class"]:
        """The mean absolute values."""
        return np.average(np.abs(self.values), axis=0, weights=self.weight)

    @property
    def totals(self) -> Float64[np.ndarray, "row class"]:
        """The sum of the values of a row: what is predicted of it."""
        return self.base + self.values.sum(axis=1)

    def only(self, label: int) -> "Explained":
        """Returns the values of one class or score."""
        return self._replace(values=self.values[:, :, [label]], base=self.base[[label]], labels=[self.labels[label]])

    def order(self, most: int = MOST_COLUMNS) -> list[int]:
        """Returns the columns whose values are the greatest, in the sum over classes, the most important first."""
        return np.argsort(-self.sizes.sum(axis=1), kind="stable")[:most].tolist()

    def numbers(self, column: int) -> Float64[np.ndarray, " row"]:
        """Returns the numbers of a column by which rows have an order; NaN of missing ones and where there is none."""
        if self.schema.columns[column].kind == "categorical":
            return np.full(len(self.rows), np.nan)
        return np.asarray(self.rows[:, column], np.float64)

    def ranks(self, column: int) -> Float64[np.ndarray, " row"]:
        """Returns the share of the other numbers of a column below each row's: 0 of the least, 1 of the greatest."""
        numbers = self.numbers(column)
        ranks, known = np.full(numbers.size, np.nan), np.isfinite(numbers)
        distinct, place = np.unique(numbers[known], return_inverse=True)
        ranks[known] = place / max(1, distinct.size - 1)
        return ranks

    def cell(self, row: int, column: int) -> str:
        """Returns the value of a column in a row, in words."""
        return self.schema.columns[column].in_words(float(self.rows[row, column]))


def explained_by(
    estimator: Any,
    found: ShapValues,
    rows: Float[np.ndarray, "row feature"],
    weight: Float[np.ndarray, " row"] | None = None,
) -> Explained:
    """Returns the Shapley values of rows with the words for them.

    Args:
        estimator: The estimator that they explain.
        found: The result of `shap_values`.
        rows: The rows, encoded.
        weight: Their weights; 1 if not given.

    Raises:
        InvalidInputError: There are no rows, or the values are not theirs.
    """
    schema = estimator.encoder_.schema_
    if not len(rows) or found.values.shape[:2] != (len(rows), len(schema.columns)):
        raise InvalidInputError(
            f"X must have rows, and the Shapley values be of them and of {len(schema.columns)} columns, got "
            f"{len(rows)} rows and values of shape {found.values.shape}"
        )
    values = found.values.reshape(len(rows), len(schema.columns), -1)
    labels, unit = score_labels(estimator, values.shape[2])
    weight = np.ones(len(rows)) if weight is None else weight
    return Explained(values, np.ravel(found.base), labels, unit, rows, schema, weight)


def of_class(found: Explained, names: list[str], chosen: Any) -> Explained:
    """Returns the values of a class; without one those of all, of two classes of the second.

    Args:
        found: The values.
        names: The names of the classes; none of numbers.
        chosen: One of the classes, or None.

    Raises:
        InvalidInputError: There is no such class.
    """
    known = found.labels if names else []
    if chosen is None and (len(names) != 2 or len(known) < 2):
        return found
    return found.only(place_of_class(known, names[1] if chosen is None else chosen))
