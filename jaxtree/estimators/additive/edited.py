"""Additive estimators changed by hand: each change returns a new estimator, and says what was done."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float64, UInt
from sklearn.utils.validation import check_is_fitted

from jaxtree.additive.edits import (
    Edit,
    EditCosts,
    ModelAndBags,
    Stretch,
    flattened,
    monotone,
    scaled,
    with_value,
    without_terms,
)
from jaxtree.additive.model import AdditiveModel
from jaxtree.dataset.sample import Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.responses import likelihood_of
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.boosting.survival import learn_times
from jaxtree.estimators.common.extras import check_arguments, extras_of, loss_in_words
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.loss import BaseLoss


class TimedRows(NamedTuple):
    """The rows of a fit of survival times, from which the baseline of hazards is learned again after a change.

    Attributes:
        codes: Their codes.
        sample: Their times, weights and fields.
    """

    codes: UInt[np.ndarray, "feature row"]
    sample: Sample

    def learn(self, loss: BaseLoss, model: AdditiveModel) -> EventTimes:
        """Returns what the rows say of time by the scores of a model."""
        return learn_times(loss, self.sample, model.intercept + model.term_values(self.codes).sum(axis=1))


class EditsTerms:
    """An additive estimator whose terms can be changed; terms are given by name or by number in `term_names_`.

    A change of survival times of Cox's loss learns the baseline of hazards anew from the rows of the fit. A model from
    a file or a pickle has no rows: once it is changed, it predicts risks, and no survival curves.
    """

    additive_: AdditiveModel
    bag_values_: Float64[np.ndarray, "bag place score"]
    edits_: tuple[Edit, ...] = ()
    """The changes since the fit, in their order."""

    loss_: Any
    outputs: Callable[[], Any]
    set_terms: Callable[[AdditiveModel], None]
    survival_: EventTimes | None
    timed_rows: TimedRows | None = None
    """The rows of the fit, where hazards are learned from their scores; copies and files have none."""

    term_importances_: Any
    term_names_: Sequence[str]
    _codes: Callable[[Any], Any]

    def flatten(self, term: Any, *, low: Any = None, high: Any = None, categories: Sequence[Any] | None = None) -> Self:
        """Returns an estimator of which a curve has one value in a stretch: its mean there, by the rows of the fit.

        Args:
            term: A term of one column.
            low: A number, a date or a duration in the first bin of the stretch; the least if not given.
            high: One in its last bin; the greatest if not given.
            categories: The categories, of a column that has some; all if not given.

        Raises:
            InvalidInputError: There is no such term or category, or it is a pair.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
            >>> model = ExplainableBoostingRegressor().fit(X, X[:, 0])
            >>> level = model.flatten("x0", low=1)
            >>> level.predict([[1.0], [2.0]]).round(1).tolist(), str(level.edits_[0])
            ([1.5, 1.5], 'x0: level from 1')
        """
        return self._edited(flattened(self._bagged(), term, Stretch(low, high, categories)))

    def set_values(
        self,
        term: Any,
        value: Any,
        *,
        low: Any = None,
        high: Any = None,
        categories: Sequence[Any] | None = None,
        missing: bool = False,
    ) -> Self:
        """Returns an estimator of which a curve has a given value in a stretch.

        Where that changes the mean of the curve, the intercept takes it, so that all other bins add what they did.

        Args:
            term: A term of one column.
            value: What the stretch adds to the score; one number, or one a class.
            low: See `flatten`.
            high: See `flatten`.
            categories: See `flatten`.
            missing: Whether the value is that of missing values, and of nothing else.

        Raises:
            InvalidInputError: There is no such term or category, it is a pair, or the value is no finite number.
        """
        return self._edited(with_value(self._bagged(), term, value, Stretch(low, high, categories, missing)))

    def monotonize(self, term: Any, *, increasing: bool | str = "auto") -> Self:
        """Returns an estimator of which a curve rises, or falls, all along; its value where it is missing stays.

        The curve is the nearest one by squares that are weighted with the rows of the fit (isotonic regression).

        Args:
            term: A term of one column in order.
            increasing: Whether it rises; "auto" takes the way that changes it less.

        Raises:
            InvalidInputError: The term has no order, or the model several scores.
        """
        return self._edited(monotone(self._bagged(), term, increasing))

    def scale(self, term: Any, factor: float) -> Self:
        """Returns an estimator of which a term adds so many times as much.

        Args:
            term: A term.
            factor: A finite number.

        Raises:
            InvalidInputError: There is no such term, or the factor is no such number.
        """
        return self._edited(scaled(self._bagged(), term, factor))

    def remove_terms(self, terms: Any) -> Self:
        """Returns an estimator without some terms; their mean is 0, so that the mean score stays.

        Args:
            terms: A term, or a list of some.

        Raises:
            InvalidInputError: There is no such term, or none would be left.
        """
        return self._edited(without_terms(self._bagged(), terms))

    def sweep(self) -> Self:
        """Returns an estimator without the terms that add nothing to any row of the fit.

        Raises:
            InvalidInputError: None would be left.
        """
        idle = [self.term_names_[term] for term in np.flatnonzero(self.term_importances_ == 0).tolist()]
        return self.remove_terms(idle) if idle else copy.copy(self)

    def cost_of_edits(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> EditCosts:
        """Returns the mean loss of rows before the edits and after each of them.

        Args:
            X: A table, or a source; best of rows that the fit has not seen.
            y: Its target.
            sample_weight: The weight of every row.
            extras: What else the loss asks for, as in `fit`.

        Raises:
            InvalidInputError: The estimator has not been edited, or the rows are not as in fit.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
            >>> model = ExplainableBoostingRegressor().fit(X, X[:, 0]).flatten("x0")
            >>> print(model.cost_of_edits(X, X[:, 0]).words[0])
            x0: level everywhere
        """
        check_is_fitted(self)
        if not self.edits_:
            raise InvalidInputError("edits must have been made before they are judged: this model is as it was fitted")
        check_arguments(self, "cost_of_edits", extras, extras_of(self.loss_))
        rows = allowed_rows(self.loss_, read_known(self.outputs(), X, y, sample_weight, extras))
        codes = self._codes(rows.X)
        models = [*(edit.before for edit in self.edits_), self.additive_]
        scores = [own.intercept + own.term_values(codes).sum(axis=1) for own in models]
        losses = tuple(-likelihood_of(self.loss_, rows, own) for own in scores)
        return EditCosts(tuple(str(edit) for edit in self.edits_), losses, loss_in_words(self), rows.num_rows)

    def _bagged(self) -> ModelAndBags:
        check_is_fitted(self)
        return ModelAndBags(self.additive_, self.bag_values_)

    def _edited(self, found: tuple[ModelAndBags, str]) -> Self:
        """Returns a copy with changed terms; what it shares with this estimator, neither changes."""
        (model, values), words = found
        changed = copy.copy(self)
        changed.edits_ = (*self.edits_, Edit(words, self.additive_))
        changed.bag_values_ = values
        changed.set_terms(model)
        if self.survival_ is not None and self.survival_.log_hazard is not None:
            changed.timed_rows = self.timed_rows
            if self.timed_rows is None:
                del changed.survival_  # hazards follow from the scores
            else:
                changed.survival_ = self.timed_rows.learn(self.loss_, model)
        return changed
