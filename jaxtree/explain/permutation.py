"""How much worse an estimator predicts when the values of a column are shuffled among the rows."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain.encoded import reading_encoded
from jaxtree.explain.foreseen import Foresight, foresee
from jaxtree.table.encoder import Encoder

BYTES_OF_BATCH = 2**27
"""Bytes of the predictions that are kept at a time, unless those of one shuffle are more."""

Score = Callable[[Float[np.ndarray, "row feature"]], Any]
"""Returns the score of rows."""


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


class Batch(NamedTuple):
    """Columns that are shuffled, each in the same repeats.

    Attributes:
        columns: The columns.
        first_repeat: The number of the first repeat.
        orders: For every repeat the rows that others take their values from.
    """

    columns: Int[np.ndarray, " column"]
    first_repeat: int
    orders: Int[np.ndarray, "repeat row"]


class Rows:
    """The rows of a table, and the same rows with a column shuffled.

    Args:
        values: The rows.
        column: The column that every feature is made of.

    Attributes:
        values: The rows.
        shuffled: The rows with the columns as they were last taken; read-only, and always the same array.
    """

    def __init__(self, values: Float[np.ndarray, "row feature"], column: Int[np.ndarray, " feature"]):
        self.values = values
        self._column = column
        self._written = values.copy()
        self.shuffled = self._written.view()
        self.shuffled.flags.writeable = False

    def take_column(self, column: int, order: Int[np.ndarray, " row"]) -> None:
        """Gives every row the value of a column that another row has."""
        is_of_column = self._column == column
        self._written[:, is_of_column] = self.values[np.ix_(order, is_of_column)]


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

    Columns and repeats are walked through trees and forests in batches of bounded memory, by one compiled program on
    any device: it copies no table, and walks a row anew only from where it first meets the column. A column that no
    split asks for costs nothing and has importance 0. Soft trees and what they harden to with oblique splits, forests
    that share out rows with missing values, and tables of few rows are predicted shuffle by shuffle, to the same
    numbers; so are rows that a function for a scorer makes itself.

    Args:
        estimator: Any fitted estimator of jaxtree: a tree, a forest, a soft or a hardened one.
        X: A table.
        y: Its targets.
        scoring: A name of a scorer of scikit-learn, or a function of an estimator, rows and targets, which gets the
            rows encoded and read-only, and is asked for every column; `estimator.score` if not given.
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
    rows = Rows(values, np.array([feature.column for feature in encoder.schema_.features]))
    reading = reading_encoded(estimator)
    foresight = foresee(reading, rows.shuffled)
    score = _scoring(reading, scoring, values, y, sample_weight)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max + 1))
    whole = score(values)
    columns = np.arange(len(encoder.schema_.columns))
    scores = np.full((len(columns), n_repeats), whole, np.float64)
    if foresight is not None and not callable(scoring):
        columns = foresight.substitution.columns  # no other column changes a prediction
    for batch in _batches(rows, columns, n_repeats, seed, foresight):
        _score_batch(scores, batch, rows, score, foresight)
    importances = whole - scores
    return PermutationImportances(importances, importances.mean(axis=1), importances.std(axis=1))


def _encoded(estimator: Any, X: Any) -> tuple[Encoder, Float[np.ndarray, "row feature"]]:
    """The encoder of a fitted estimator, and the rows of a table as it reads them."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    encoder = getattr(estimator, "encoder_", None)
    if not isinstance(encoder, Encoder):
        raise InvalidTypeError(f"estimator must be one of jaxtree, got {type(estimator).__name__}")
    return encoder, encoder.values(X)


def _scoring(reading: Any, scoring: Any, values: Float[np.ndarray, "row feature"], y: Any, sample_weight: Any) -> Score:
    """The score of an estimator, as a function of rows.

    The share of rows that are predicted right is counted here once scikit-learn's scorer has accepted the target, which
    it would look at for every shuffle, for longer than a tree needs to predict.

    Args:
        reading: The estimator.
        scoring: The scoring that was asked for.
        values: The rows, no column shuffled.
        y: The target.
        sample_weight: The weight of every row.
    """
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise InvalidTypeError(
            f"scoring must be the name of one scorer, a function or None, got {scoring!r}; call once for each"
        )
    scorer: Any = check_scoring(reading, scoring)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    target = np.asarray(y)

    def by_scorer(rows: Float[np.ndarray, "row feature"]) -> Any:
        return scorer(reading, rows, y, **weights)

    def by_hits(rows: Float[np.ndarray, "row feature"]) -> float:
        return float(np.average(target == reading.predict(rows), weights=sample_weight))

    is_own = scoring is None and type(reading).score.__module__.startswith("jaxtree.")
    counts_hits = is_classifier(reading) and target.ndim == 1 and (is_own or scoring == "accuracy")
    return by_hits if counts_hits and by_hits(values) == by_scorer(values) else by_scorer


def _batches(
    rows: Rows, columns: Int[np.ndarray, " column"], n_repeats: int, seed: int, foresight: Foresight | None
) -> Iterator[Batch]:
    """Every column in every repeat, as many at a time as are kept in memory together."""
    if not len(columns):
        return
    most = 1
    if foresight is not None:
        most = max(1, BYTES_OF_BATCH // (foresight.bytes_of_row * len(rows.values)))
    most_columns = min(len(columns), most)
    most_repeats = min(n_repeats, most // most_columns)
    orders = _orders(len(rows.values), seed)
    for first in range(0, n_repeats, most_repeats):
        some = np.stack(list(islice(orders, min(most_repeats, n_repeats - first))))
        for start in range(0, len(columns), most_columns):
            yield Batch(columns[start : start + most_columns], first, some)


def _orders(num_rows: int, seed: int) -> Iterator[Int[np.ndarray, " row"]]:
    """The rows shuffled, and what was shuffled once more every time, as scikit-learn does."""
    draw = np.random.RandomState(seed)
    order, drawn = np.arange(num_rows), np.arange(num_rows)
    while True:
        draw.shuffle(drawn)
        order = order[drawn]
        yield order


def _score_batch(
    scores: Float64[np.ndarray, "column repeat"],
    batch: Batch,
    rows: Rows,
    score: Score,
    foresight: Foresight | None,
) -> None:
    """Writes the scores of the shuffles of a batch."""
    if foresight is not None:
        foresight.begin(batch.columns, batch.orders)
    for place, column in enumerate(batch.columns.tolist()):
        for repeat, order in enumerate(batch.orders):
            if foresight is not None:
                foresight.look_at(place, repeat)
            rows.take_column(column, order)
            scores[column, batch.first_repeat + repeat] = score(rows.shuffled)
        rows.take_column(column, np.arange(len(order)))
