"""Columns that say more than chance does: Boruta's rule."""

from numbers import Real
from typing import Annotated, Any, Self

import narwhals as nw
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import binom
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError, all_or_nothing
from jaxtree.estimators.common.conventions import (
    SEED,
    AnnotatedParameters,
    Role,
    check_parameters,
    generator_of,
    progress_of,
    whole,
)
from jaxtree.estimators.common.extras import check_arguments_of_fits
from jaxtree.sklearn_compat import HasMethods, Interval, check_method_params, safe_indexing
from jaxtree.table.names import are_places
from jaxtree.table.sources import as_frame
from jaxtree.table.weights import rows_of_weight

LEAST_SHADOWS = 5
"""Shadows of a round at least: the greatest importance of fewer would be too easy to pass."""


class BorutaSelector(AnnotatedParameters, SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Selects the columns that are more important than the best of columns without meaning (Kursa and Rudnicki, 2010).

    Every round adds a shadow of each column, which is the column in a random order, fits the estimator, and counts a
    hit for a column whose importance is greater than that of all shadows. A column with more hits than chance would
    give it is confirmed, one with fewer is rejected and leaves the table, by binomial tests with Bonferroni's
    correction for the columns.

    Args:
        estimator: An estimator with `feature_importances_`, such as a forest or boosted trees of jaxtree.
        max_rounds: The most rounds; columns that are undecided after them are tentative.
        alpha: The level of the tests, for all columns together.
        random_state: The seed of the shadows, and of the estimator in every round if it has one.
        verbose: 1 for a bar of progress; n for a line every n rounds.

    Attributes:
        status_: "confirmed", "tentative" or "rejected" for every column.
        hits_: The number of rounds in which a column was more important than all shadows.
        importances_: The importance of every column in every round; NaN where it had left.
        shadow_importances_: The greatest importance of a shadow in every round.

    Raises:
        InvalidInputError: A parameter is not allowed, or the table is neither a data frame nor an array of 2 axes.
        InvalidTypeError: The table is sparse.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import RandomForestClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> noise = np.random.default_rng(0).normal(size=(len(X), 2))
        >>> forest = RandomForestClassifier(20, max_depth=5)
        >>> selector = BorutaSelector(forest, max_rounds=20).fit(np.hstack([X[:, :3], noise]), y)
        >>> selector.status_.tolist()
        ['confirmed', 'confirmed', 'confirmed', 'rejected', 'rejected']
    """

    estimator: Annotated[Any, HasMethods(["fit"]), Role.FIT]
    max_rounds: Annotated[int, whole(1), Role.FIT]
    alpha: Annotated[float, Interval(Real, 0, 1, closed="neither"), Role.FIT]
    random_state: Annotated[Any, *SEED, Role.SEED]
    verbose: Annotated[int, "verbose", Role.REPORTS]

    def __init__(
        self, estimator: Any, *, max_rounds: int = 100, alpha: float = 0.05, random_state: Any = 0, verbose: int = 0
    ):
        self.estimator = estimator
        self.max_rounds = max_rounds
        self.alpha = alpha
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: tables may hold what the estimator's may, except sparse ones."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = False
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Plays the rounds, until every column is decided.

        Args:
            X: A data frame, or an array of shape (rows, columns).
            y: The target of every row.
            **fit_params: Further arguments of the estimator's `fit`; with `sample_weight` shadows have values of the
                rows of some weight.
        """
        check_parameters(self)
        check_arguments_of_fits(self.estimator, fit_params)
        is_there = rows_of_weight(fit_params.get("sample_weight"), y)
        if is_there is not None:
            # Shadows have the values of the rows that count.
            rows_there = np.flatnonzero(is_there)
            fit_params = check_method_params(X, params=fit_params, indices=rows_there)
            X, y = safe_indexing(X, rows_there), safe_indexing(y, rows_there)
        table = _columns_of(X)
        num_columns = table.shape[1]
        generator = generator_of(self.random_state)
        self.hits_, rows = np.zeros(num_columns, int), []
        status, shadows = np.zeros(num_columns, int), []
        with progress_of(self.verbose, self.max_rounds, "selecting columns", "rounds") as report:
            for number in range(1, self.max_rounds + 1):
                is_in = status >= 0
                own, shadow = self._play(table, y, np.flatnonzero(is_in), generator, fit_params)
                rows.append(np.full(num_columns, np.nan))
                rows[-1][is_in] = own
                shadows.append(shadow.max())
                self.hits_[is_in] += own > shadow.max()
                status = np.where(status == 0, _decided(self.hits_, number, self.alpha / num_columns), status)
                if report is not None:
                    report(1)
                if status.all():
                    break
        self.importances_, self.shadow_importances_ = np.array(rows), np.array(shadows)
        self.status_ = np.array(["tentative", "confirmed", "rejected"])[status]
        self.n_features_in_ = num_columns
        vars(self).pop("feature_names_in_", None)
        if isinstance(table, nw.DataFrame) and not are_places(table.columns):
            self.feature_names_in_ = np.array(table.columns, object)
        return self

    def _play(
        self, table: Any, y: Any, columns: Int[np.ndarray, " own"], generator: Any, fit_params: dict[str, Any]
    ) -> tuple[Float[np.ndarray, " own"], Float[np.ndarray, " shadow"]]:
        """The importances of a round: of the columns that are left, and of their shadows."""
        copied = np.resize(columns, max(len(columns), LEAST_SHADOWS))
        orders = [generator.permutation(table.shape[0]) for _ in copied]
        own: Any = clone(self.estimator)
        if "random_state" in own.get_params():
            own.set_params(random_state=generator.randint(2**31 - 1))
        importances = own.fit(_with_shadows(table, columns, copied, orders), y, **fit_params).feature_importances_
        return importances[: len(columns)], importances[len(columns) :]

    def _get_support_mask(self) -> Bool[np.ndarray, " column"]:
        """The columns that `transform` keeps."""
        check_is_fitted(self)
        return self.status_ == "confirmed"


def _columns_of(X: Any) -> Any:
    """The table as a frame of narwhals or an array."""
    frame = as_frame(X)
    if isinstance(frame, nw.DataFrame):
        return frame
    keep: Any = None  # of the type of its cells; scikit-learn annotates it too narrowly
    try:
        return np.asarray(check_array(X, dtype=keep, ensure_all_finite=False))
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    except TypeError as error:
        raise InvalidTypeError(str(error)) from None


def _with_shadows(
    table: Any, columns: Int[np.ndarray, " own"], copied: Int[np.ndarray, " shadow"], orders: list[np.ndarray]
) -> Any:
    """The given columns of a table, and behind them the shadows of some."""
    if not isinstance(table, nw.DataFrame):
        shadows = [table[order, column] for column, order in zip(copied, orders, strict=True)]
        return np.column_stack([table[:, columns], *shadows])
    own = list(table.iter_columns())
    shadows = [
        own[column][order.tolist()].alias(f"shadow {number} of {own[column].name}")
        for number, (column, order) in enumerate(zip(copied, orders, strict=True))
    ]
    chosen: Any = table[:, columns.tolist()]
    return chosen.with_columns(*shadows).to_native()


def _decided(hits: Int[np.ndarray, " column"], number: int, level: float) -> Int[np.ndarray, " column"]:
    """1 for columns of more hits than chance gives in so many rounds, -1 for those of fewer, 0 for others."""
    is_more = binom.sf(hits - 1, number, 0.5) <= level / 2
    return is_more.astype(int) - (binom.cdf(hits, number, 0.5) <= level / 2)
