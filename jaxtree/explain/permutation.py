"""How much worse an estimator predicts when the values of a column are shuffled among the rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain.encoded import reading_encoded
from jaxtree.table.encoder import Encoder


class PermutationImportances(NamedTuple):
    """What shuffling the columns costs.

    Attributes:
        importances: By how much the score falls, for every column and permutation.
        mean: Their mean for every column.
        std: Their standard deviation for every column.
    """

    importances: Float64[np.ndarray, "column repeat"]
    mean: Float64[np.ndarray, " column"]
    std: Float64[np.ndarray, " column"]


def permutation_importances(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
    sample_weight: Any = None,
) -> PermutationImportances:
    """Returns by how much the score of a fitted estimator falls when a column's values are shuffled (Breiman, 2001).

    The table is encoded once; what is shuffled are its numbers and codes. The same `random_state`, an integer, makes
    the permutations of `sklearn.inspection.permutation_importance`, and so its importances.

    Args:
        estimator: Any fitted estimator of jaxtree: a tree, a forest, a soft or a hardened one.
        X: A table.
        y: Its targets.
        scoring: A name of a scorer of scikit-learn, or a function of an estimator, rows and targets, which gets the
            rows encoded; `estimator.score` if not given.
        n_repeats: How often every column is shuffled.
        random_state: Seed of the permutations.
        sample_weight: The weight of every row in the score.

    Raises:
        InvalidInputError: There is no repeat, the table is not like the fitted one, or it has not as many rows as y.
        InvalidTypeError: It is no estimator of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
        >>> permutation_importances(tree, X, y, random_state=0).mean.round(2)
        array([0.  , 0.  , 0.44, 0.31])
    """
    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise InvalidInputError(f"n_repeats must be an integer >= 1, got {n_repeats!r}")
    encoder, values = _encoded(estimator, X)
    if len(values) != len(y):
        raise InvalidInputError(f"X and y must have as many rows, got {len(values)} and {len(y)}")
    reading = reading_encoded(estimator)
    scorer: Any = check_scoring(reading, scoring)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max + 1))
    whole = scorer(reading, values, y, **weights)
    column = np.array([feature.column for feature in encoder.schema_.features])
    scores = [
        [scorer(reading, shuffled, y, **weights) for shuffled in _shuffles(values, column == place, n_repeats, seed)]
        for place in range(len(encoder.schema_.columns))
    ]
    importances = whole - np.array(scores, np.float64)
    return PermutationImportances(importances, importances.mean(axis=1), importances.std(axis=1))


def _encoded(estimator: Any, X: Any) -> tuple[Encoder, Float[np.ndarray, "row feature"]]:
    """The encoder of a fitted estimator, and the rows of a table as it reads them."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    encoder = getattr(estimator, "encoder_", None)
    if not isinstance(encoder, Encoder):
        raise InvalidTypeError(f"estimator must be one of jaxtree, got {type(estimator).__name__}")
    return encoder, encoder.values(X)


def _shuffles(
    values: Float[np.ndarray, "row feature"], is_of_column: Bool[np.ndarray, " feature"], n_repeats: int, seed: int
) -> Iterator[Float[np.ndarray, "row feature"]]:
    """The rows with the values of a column shuffled, once more every time, as scikit-learn does."""
    draw = np.random.RandomState(seed)
    shuffled, order = values.copy(), np.arange(len(values))
    for _ in range(n_repeats):
        draw.shuffle(order)
        shuffled[:, is_of_column] = shuffled[np.ix_(order, is_of_column)]
        yield shuffled
