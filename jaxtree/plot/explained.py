"""Shapley values of one kind of prediction with what drawings of them say: names, values of cells, and a unit."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.errors import InvalidInputError
from jaxtree.explain.shap import ShapValues, shap_values
from jaxtree.export.conditions import features_of
from jaxtree.table.schema import Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree.link import Link


class Explained(NamedTuple):
    """Shapley values of rows.

    Attributes:
        values: Those of every row and column, for every class or score.
        base: The prediction of no row in particular.
        labels: The classes, or the numbers of the scores; one empty word if there is one.
        unit: What values add up to, such as "probability" or "log odds".
        rows: The rows as `encoder_.values` has encoded them.
        schema: Their columns.
    """

    values: Float64[np.ndarray, "row column class"]
    base: Float64[np.ndarray, " class"]
    labels: list[str]
    unit: str
    rows: Float[np.ndarray, "row feature"]
    schema: Schema

    @property
    def of_what(self) -> list[str]:
        """The unit with each class: "probability of setosa"."""
        return [f"{self.unit} of {label}" if label else self.unit for label in self.labels]

    def numbers(self, column: int) -> Float[np.ndarray, " row"]:
        """The numbers of a column by which rows have an order; NaN where they have none, and of missing values."""
        place = features_of(self.schema, column)[0]
        if self.schema.columns[column].kind == "categorical":
            return np.full(len(self.rows), np.nan)
        return np.asarray(self.rows[:, place], np.float64)

    def cell(self, row: int, column: int) -> str:
        """The value of a column in a row, in words."""
        own, places = self.schema.columns[column], features_of(self.schema, column)
        if self.schema.features[places[0]].kind != "onehot":
            return own.in_words(float(self.rows[row, places[0]]))
        named = [self.schema.features[place].category for place in places if self.rows[row, place] == 1]
        return value_in_words(named[0]) if named else "missing"


def explained(estimator: Any, X: Any, values: ShapValues | None, of_class: Any) -> Explained:
    """Returns Shapley values of rows.

    Args:
        estimator: What `shap_values` takes.
        X: The rows.
        values: What it has returned of them; computed if not given.
        of_class: One of `classes_`; None for all of them, of two classes the second.

    Raises:
        InvalidInputError: There are no rows, the values are not theirs, or there is no such class.
    """
    names = class_labels(estimator)
    given = shap_values(estimator, X) if values is None else values
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    schema = estimator.encoder_.schema_
    if not len(rows) or given.values.shape[:2] != (len(rows), len(schema.columns)):
        raise InvalidInputError(
            f"X must have rows, and the Shapley values be of them and of {len(schema.columns)} columns, got "
            f"{len(rows)} rows and values of shape {given.values.shape}"
        )
    table = given.values.reshape(len(rows), len(schema.columns), -1)
    base, unit = np.ravel(given.base), _unit(estimator)
    if len(names) == 2 and table.shape[2] == 1:
        labels, places = names[1:], {names[1]: 0}
    elif names:
        labels, places = names, {name: place for place, name in enumerate(names)}
        of_class = names[1] if of_class is None and len(names) == 2 else of_class
    else:
        labels = [""] if base.size == 1 else [str(number) for number in range(base.size)]
        places = {}
    if of_class is not None:
        chosen = places.get(str(of_class))
        if chosen is None:
            allowed = ", ".join(places) or "none, since numbers are predicted"
            raise InvalidInputError(f"of_class must be one of {allowed}, got {of_class!r}")
        table, base, labels = table[:, :, [chosen]], base[[chosen]], [str(of_class)]
    return Explained(table, base, labels, unit, rows, schema)


def class_labels(estimator: Any) -> list[str]:
    """The names of the classes that an estimator predicts; none of numbers."""
    return [str(name) for name in getattr(estimator, "classes_", [])]


def _unit(estimator: Any) -> str:
    """The sum of an estimator's Shapley values."""
    model = getattr(estimator, "model_", None)
    if hasattr(estimator, "classes_"):
        link = None if model is None else model.link
        return "probability" if link is None else "log odds" if link.kind == Link.LOGISTIC else "score"
    return "prediction" if model is None or model.link is None or model.link.kind == Link.IDENTITY else "score"
