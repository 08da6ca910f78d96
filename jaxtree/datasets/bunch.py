"""From a short list of rows to what scikit-learn's loaders return.

A *table* is a list of rows whose last value is the class. A *bunch* is scikit-learn's dictionary with attributes;
its `data` is an object array here, because words, numbers and blanks stand side by side.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from jaxtree.errors import MissingExtraError


class Table(NamedTuple):
    """Rows with their column names, the target's column last, and the classes in their customary order."""

    rows: list[tuple]
    columns: list[str]
    classes: list[str]
    description: str


def deliver(table: Table, *, return_X_y: bool, as_frame: bool) -> Any:
    """Returns a table as a `Bunch`, or as the pair `(data, target)`, in NumPy or in pandas.

    Raises `MissingExtraError` if `as_frame` is true and pandas is not installed.
    """
    cells = np.array(table.rows, dtype=object)
    data, target, frame = cells[:, :-1], cells[:, -1], None
    if as_frame:
        frame = _to_frame(cells, table.columns)
        data, target = frame[table.columns[:-1]], frame[table.columns[-1]]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=table.columns[:-1],
        target_names=list(table.classes),
        DESCR=table.description,
    )


def _to_frame(cells: np.ndarray, columns: list[str]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError('as_frame=True needs pandas: pip install "jaxtree[frames]"') from error
    return pandas.DataFrame(cells, columns=pandas.Index(columns)).infer_objects()
