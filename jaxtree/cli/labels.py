"""True classes and numbers of rows that a fitted model is judged by."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped
from sklearn.base import is_classifier

from jaxtree.cli.columns import Wishes, check_columns, typed, typed_exactly
from jaxtree.cli.files import Contents
from jaxtree.cli.wording import listed
from jaxtree.errors import InvalidInputError


class Known(NamedTuple):
    """Rows with a known target.

    Attributes:
        rows: Their numbers.
        y: Their classes, as the model names them, or numbers.
    """

    rows: Int[np.ndarray, " known"]
    y: Shaped[np.ndarray, " known"]


def fitted_target(estimator: Any, given: str | None) -> str:
    """Returns the name of the target: as given, else that of the fit, if the model's file has kept it.

    Raises:
        InvalidInputError: It has not.
    """
    beside: Any = getattr(estimator, "_beside", ())
    if given is None and not beside:
        raise InvalidInputError("the model does not know the name of its target: --target names it")
    return given or beside[0]


def read_labels(estimator: Any, contents: Contents, target: str) -> Known:
    """Returns what the rows of a file are, in the types of a model's classes or as numbers.

    Raises:
        InvalidInputError: There is no such column, no row has a value in it, or none is a class or number of the model.
    """
    check_columns(contents, (target,))
    rows = np.flatnonzero(contents.frame[target].is_not_null().to_numpy())
    if not rows.size:
        raise InvalidInputError(f"target {target!r} has no value in any row")
    kept = contents._replace(frame=contents.frame[rows.tolist()])
    if not is_classifier(estimator):
        return Known(rows, typed(kept, target, Wishes(numeric=(target,))))
    classes = np.asarray(estimator.classes_)
    wishes = Wishes(categorical=(target,)) if classes.dtype.kind in "OUT" else Wishes()
    y = np.asarray(typed_exactly(kept, target, wishes))
    if classes.dtype.kind in "OUT":
        classes = classes.astype(object)
    is_class = np.isin(y, classes) if y.dtype != object else np.array([label in set(classes.tolist()) for label in y])
    if not is_class.any():
        raise InvalidInputError(
            f"no value of target {target!r}, such as {y[0]!r}, is a class of the model: {listed(classes)}"
        )
    return Known(rows, y.astype(classes.dtype) if y.dtype.kind == "f" and is_class.all() else y)
