"""The arguments of `fit`: a table or a source, whose columns may also be the target, the weights and fields."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from jaxtree.dataset.fields import split_structured
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.columns import TableColumn, as_array
from jaxtree.table.names import column_place
from jaxtree.table.reading import take_rows
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.summary import read_column
from jaxtree.table.target import typed
from jaxtree.table.weights import check_sample_weight, rows_of_weight


class FitArguments(NamedTuple):
    """The arguments of `fit`, with the columns of a source in the place of their names.

    Attributes:
        X: The table; a source without the columns that are no features.
        y: The target.
        sample_weight: The weights.
        fields: What else rows have, by name.
        beside: The columns of a source that are no features: target, weights and fields.
    """

    X: Any
    y: Any
    sample_weight: Any
    fields: dict[str, Any]
    beside: tuple[str, ...]

    def without_weightless_rows(self) -> "FitArguments":
        """Returns the rows of some weight of a table in memory; of one that is read in parts all.

        Raises:
            InvalidInputError: The weights are not allowed, or X has another number of rows than y.
        """
        is_there = None if is_source(self.X) else rows_of_weight(self.sample_weight, self.y)
        if is_there is None:
            return self
        rows = np.flatnonzero(is_there)
        values = {**self.fields, "sample_weight": check_sample_weight(self.sample_weight, len(is_there))}
        taken = {name: own if own is None else safe_indexing(own, rows) for name, own in values.items()}
        X, weight = take_rows(self.X, rows, len(is_there)), taken.pop("sample_weight")
        return self._replace(X=X, y=safe_indexing(self.y, rows), sample_weight=weight, fields=taken)


def read_arguments(X: Any, y: Any, sample_weight: Any = None, fields: Mapping[str, Any] | None = None) -> FitArguments:
    """Reads target, weights and fields where X is a source and they are names of its columns.

    Args:
        X: A table, or a source.
        y: A target, or the name of a column, or a list of several names; where fields are given also
            times and events in a structured array. A number names a column, see `jaxtree.table.names`.
        sample_weight: Weights, or the name of a column.
        fields: What else rows have: arrays, or names of columns, by name; None where a model takes none.

    Raises:
        InvalidInputError: If there is no such column, or the source can be read only once.
    """
    given = dict(fields or {})
    if not is_source(X):
        y, given = (y, given) if fields is None else split_structured(y, given)
        return FitArguments(X, y, sample_weight, given, ())
    source = open_source(X, to_fit=True)
    beside: list[str] = []

    def read(given: Any, parameter: str) -> TableColumn:
        names = source.names
        beside.append(given if isinstance(given, str) else names[column_place(given, names, parameter)])
        return read_column(source, beside[-1])

    if _is_name(y):
        y = read(y, "y")
    elif isinstance(y, list | tuple) and y and all(isinstance(name, str) and name in source.names for name in y):
        y = [read(name, "y") for name in y]
    if _is_name(sample_weight):
        sample_weight = values_of(read(sample_weight, "sample_weight"))
    for name, column in given.items():
        if _is_name(column):
            given[name] = values_of(read(column, name))
    y, given = (y, given) if fields is None else split_structured(y, given)
    return FitArguments(source.without(beside), y, sample_weight, given, tuple(beside))


def _is_name(given: Any) -> bool:
    """Whether an argument is the name or the place of a column of a source, where rows have values."""
    return isinstance(given, str | int | np.integer) and not isinstance(given, bool)


def values_of(y: Any) -> Any:
    """Returns the values of a column that was read from a source, or of several; anything else as it is.

    >>> values_of(TableColumn("kind", "categorical", np.array([1, 0, 2], np.int32), True, ("a", "b")))
    array(['b', 'a', None], dtype=object)
    """
    if isinstance(y, TableColumn):
        return y.items()
    if isinstance(y, list) and y and all(isinstance(column, TableColumn) for column in y):
        return np.stack([values_of(column) for column in y], axis=1)
    return y


def plain_target(y: Any) -> Any:
    """Returns a target as scikit-learn's metrics and splitters take it: not as objects where it need not be.

    >>> plain_target(np.array([1.5, 2], object))
    array([1.5, 2. ])
    """
    y = values_of(y)
    if y is None or scipy.sparse.issparse(y) or getattr(getattr(y, "dtype", None), "kind", "O") != "O":
        return y
    values = as_array("y", y)
    plain = typed(values)
    return y if plain is values else plain  # strings stay in the type that declares their order


def vector_of_column(y: Any) -> Any:
    """Returns the values of a target of one column, of shape (rows, 1), as a vector; any other target as it is.

    >>> vector_of_column([[1.5], [2.0]]), vector_of_column(["no", "yes"])
    (array([1.5, 2. ]), ['no', 'yes'])
    """
    shape = np.shape(y)
    return np.asarray(plain_target(y)).reshape(-1) if len(shape) == 2 and shape[1] == 1 else y
