"""Survival times: curves and medians that boosted models of them predict, and the concordance that scores them."""

from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Float
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.estimators.boosting.rows import target_of, weight_of
from jaxtree.losses.cox import Cox
from jaxtree.losses.curves import EventTimes, SurvivalCurves, log_baseline, times_of
from jaxtree.losses.loss import BaseLoss, shifted
from jaxtree.losses.survival import FailureTime
from jaxtree.metrics import concordance_index

NAMES = ("cox", "accelerated_failure_time")
"""The losses of survival times by name."""


def is_of_times(loss: Any) -> TypeGuard[Cox | FailureTime]:
    """Returns whether a loss is one of survival times."""
    return isinstance(loss, Cox | FailureTime)


def concordance_of(loss: BaseLoss, rows: Sample, scores: Float[np.ndarray, "row score"]) -> float:
    """Returns the concordance index of rows of given scores, to which offsets are added already.

    Args:
        loss: A loss of survival times.
        rows: The rows with the fields of the loss.
        scores: Their scores: logarithms of risks, or of failure times.
    """
    risk = scores[:, 0] if isinstance(loss, Cox) else -scores[:, 0]
    event, upper = (rows.fields.get(name) for name in ("event", "upper"))
    return concordance_index(target_of(rows), risk, event=event, upper=upper, sample_weight=rows.weight)


def learn_times(loss: BaseLoss, rows: Sample, scores: Float[np.ndarray, "row score"]) -> EventTimes:
    """Returns what a fit learns of time from its rows.

    Args:
        loss: A loss of survival times.
        rows: The rows that trees were grown on, with the fields of the loss.
        scores: Their scores by the trees, without offsets.
    """
    time = np.asarray(target_of(rows), np.float64)
    if isinstance(loss, Cox):
        offset = rows.fields.get("offset")
        own = scores if offset is None else shifted(scores.T, offset, loss.has_location).T
        return log_baseline(own[:, 0], time, rows.fields["event"], weight_of(rows), loss.ties)
    upper = np.asarray(rows.fields["upper"], np.float64)
    ends = upper[upper == time] if (upper == time).any() else np.append(time[time > 0], upper[np.isfinite(upper)])
    return EventTimes(np.unique(ends))


def without_hazards(known: EventTimes | None) -> EventTimes | None:
    """Returns what other trees of the same rows know of time: no hazards, which follow from the scores."""
    return None if known is None or known.log_hazard is not None else known


def _predicts_times(model: Any) -> bool:
    """Whether the loss of a model, fitted or not, is one of survival times; says so if it is not."""
    loss = model.loss_ if hasattr(model, "_loss") else model.loss
    if not (is_of_times(loss) or (isinstance(loss, str) and loss in NAMES)):
        raise AttributeError(f"survival is predicted with loss='cox' or 'accelerated_failure_time', not {loss!r}")
    return True


class PredictsSurvival:
    """Predictions of survival curves and medians, where the loss is one of survival times."""

    loss: Any
    loss_: Any
    raw_scores: Any
    survival_: EventTimes | None

    @property
    def event_times_(self) -> Float[np.ndarray, " time"]:
        """The different times of events in the fit, at which survival curves are shown."""
        _predicts_times(self)
        return self._known_times().times

    @available_if(_predicts_times)
    def predict_survival_function(
        self, X: Any, *, times: Any = None, return_array: bool = False, offset: Any = None
    ) -> SurvivalCurves | Float[np.ndarray, "row time"]:
        """Returns the survival curve of every row: the chance to have had no event by a time.

        With `loss="cox"` hazards are proportional to a baseline, which Breslow's estimate learns from the rows of the
        fit, with weights and ties as the loss has them.

        Args:
            X: A table, or a source.
            times: Where the curves are shown; the times of events in the fit, `event_times_`, if not given.
            return_array: Whether to return the chances at these times alone, a line a row.
            offset: The numbers that are added to the scores, as in `fit`.

        Returns:
            Curves, which may be called with any times, indexed by rows, and drawn by
            `plt.step(curve.x, curve.y, where="post")`.

        Raises:
            InvalidInputError: The baseline is not known: of `truncated` models, of fits over several processes, of
                means of such, and of additive models that were changed after they came from a file or a pickle.
        """
        known = self._known_times()
        at = known.times if times is None else times_of(times)
        scores = np.asarray(self.raw_scores(X, offset=offset), np.float64)
        curves = SurvivalCurves(self.loss_, scores, known, at)
        return curves.probabilities if return_array else curves

    @available_if(_predicts_times)
    def predict_median(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, " row"]:
        """Returns the time by which the event of every row has come with a chance of one half.

        With `loss="cox"` it is the first time of an event in the fit at which the survival curve is 1/2 or less, and
        infinite where it never is. The median of failure times is exact.

        Args:
            X: A table, or a source.
            offset: The numbers that are added to the scores, as in `fit`.
        """
        curves = self.predict_survival_function(X, times=[], offset=offset)
        return instance_of(SurvivalCurves, curves).quantile(0.5)

    def _known_times(self) -> EventTimes:
        check_is_fitted(self)
        if self.survival_ is None:
            raise InvalidInputError(
                "this model does not know the baseline of hazards: a model of the first rounds, one fitted over "
                "several processes, one changed after it came from a file or a copy, and a mean of such models have "
                "none; fit it with as many rounds in one process, and change what fit returns"
            )
        return self.survival_
