"""Reason codes: the columns that count most against a row, as lenders in the United States must name them.

Whoever is refused credit must be told the principal reasons (Equal Credit Opportunity Act, 15 U.S.C. 1691(d);
Regulation B, 12 CFR 1002.9(b)(2)). The official interpretation says that more than four are hardly of help, and names
two ways to choose them from a scoring system (comment 9(b)(2)-5): the factors for which the applicant's score fell
furthest below the average score for each of them of all applicants, or of those applicants whose total score was at or
slightly above the least that passes. Whether a list of reasons meets the law is for a lawyer to say.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.explain.hard_forms import hard_form
from jaxtree.explain.sentences import value_words
from jaxtree.explain.shap import shap_values
from jaxtree.export.models import best_of_search
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.words import value_in_words

USUAL_REASONS = 4

SIGNS = {"high": 1.0, "low": -1.0}
"""The outcomes of numbers that may be wanted."""


class Reason(NamedTuple):
    """A reason against a row; `str()` has it in words.

    Attributes:
        column: The column.
        value: Its value in the row, in words.
        below: How far its points fall below their mean in the rows that the row is compared with.
    """

    column: str
    value: str
    below: float

    def __str__(self) -> str:
        """The reason in words."""
        return f"{self.column} is {self.value}"


def reason_codes(
    estimator: Any, X: Any, *, wanted: Any, n_reasons: int = USUAL_REASONS, reference: Any = None
) -> list[tuple[Reason, ...]]:
    """Returns the columns that count most against every row, the greatest reason first.

    The *points* of a column are its Shapley value, see `shap_values`: what it adds to the log odds of the wanted class
    (of several classes to its score less the mean score of all; of trees and forests to its share), or to the number. A
    reason is a column whose points fall below their mean over the reference, and those that fall furthest are the
    principal ones. A row without such a column has none.

    Args:
        estimator: A fitted tree, forest, boosted or additive model of one output, or a soft model with a hard form.
        X: The rows, such as applications that were refused.
        wanted: The class that whoever is behind a row wants; of numbers "high" or "low".
        n_reasons: The most reasons of a row.
        reference: The rows to compare with, such as those that just passed; the mean of the training rows, as the nodes
            have counted them, if not given.

    Raises:
        InvalidInputError: There is no such class, the model has several numbers, or `n_reasons` is not positive.
        InvalidTypeError: It is no model of jaxtree.

    Example:
        >>> from jaxtree import C45Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> (reasons,) = reason_codes(C45Classifier().fit(X, y), X.iloc[[0]], wanted="yes")
        >>> sorted(map(str, reasons))
        ['humidity is high', 'outlook is sunny']
    """
    estimator = hard_form(best_of_search(estimator)).estimator
    check_is_fitted(estimator)
    if not isinstance(n_reasons, int | np.integer) or n_reasons < 1:
        raise InvalidInputError(f"n_reasons must be a whole number above 0, got {n_reasons!r}")
    points = _points(estimator, X, wanted)
    usual = 0.0 if reference is None else _points(estimator, reference, wanted).mean(axis=0)
    below = usual - points
    schema = estimator.encoder_.schema_
    values = np.asarray(estimator.encoder_.values(X), np.float64)
    found = []
    for row, (own, order) in enumerate(zip(below, _greatest(below, int(n_reasons)), strict=True)):
        words = value_words(schema, values[row], safe_indexing(X, [row]))
        found.append(
            tuple(
                Reason(schema.columns[place].name, words[place], float(own[place])) for place in order if own[place] > 0
            )
        )
    return found


def _greatest(below: Float64[np.ndarray, "row column"], number: int) -> Sequence[list[int]]:
    """The places of the greatest in every row, the greatest first."""
    order: Int64[np.ndarray, "row column"] = np.argsort(-below, axis=1, kind="stable")
    return order[:, :number].tolist()


def _points(estimator: Any, X: Any, wanted: Any) -> Float64[np.ndarray, "row column"]:
    """The points of every column for what is wanted."""
    sign, place = _wanted(estimator, wanted)
    values = shap_values(estimator, X).values
    if not is_classifier(estimator):
        if values.ndim > 2:
            raise InvalidInputError(
                f"reasons are of a model of one number, and this {type(estimator).__name__} has {values.shape[2]}"
            )
        return sign * values
    if values.ndim == 2:  # log odds of the second class
        return values if place else -values
    own = values[:, :, place]
    return own - values.mean(axis=2) if estimator.model_kind.adds_up else own


def _wanted(estimator: Any, wanted: Any) -> tuple[float, int]:
    """The sign of what is wanted, and the number of its class."""
    if not is_classifier(estimator):
        if wanted not in SIGNS:
            raise InvalidInputError(f"wanted must be 'high' or 'low' of a model of numbers, got {wanted!r}")
        return SIGNS[wanted], 0
    names = [value_in_words(name) for name in estimator.classes_.tolist()]
    if value_in_words(wanted) not in names:
        raise InvalidInputError(f"wanted must be one of the classes {', '.join(names)}, got {wanted!r}")
    return 1.0, names.index(value_in_words(wanted))
