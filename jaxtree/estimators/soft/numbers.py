"""Models of numbers: what these soft estimators predict by their loss, and how they read their targets."""

import dataclasses
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Float, Float64, Int
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.dataset.arguments import FitArguments, plain_target, read_arguments
from jaxtree.dataset.fields import read_fields
from jaxtree.dataset.sample import Outputs, Sample
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.estimators.boosting.distribution import DISTRIBUTIONS
from jaxtree.estimators.boosting.loss_names import LOSSES, check_name
from jaxtree.estimators.boosting.ranker import RANKING_LOSSES
from jaxtree.estimators.boosting.responses import (
    fixed_means,
    fixed_numbers,
    fixed_ranks,
    numbers_of,
    with_offset,
)
from jaxtree.estimators.boosting.rows import target_of
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.boosting.usual import OF_SPREAD
from jaxtree.estimators.common.conventions import Words
from jaxtree.estimators.common.extras import RoutesExtras, check_arguments, extras_of, fit_fields
from jaxtree.estimators.common.fixed import FixedNumbers
from jaxtree.estimators.common.parts import PredictsNumbers, part_by_part
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.parameters import LEAST_NUMBERS_TO_HOLD_OUT, rows_of_step
from jaxtree.estimators.soft.tasks import SoftTask
from jaxtree.estimators.trees.cart import DecisionTreeRegressor
from jaxtree.files.container import shortened
from jaxtree.files.records import require
from jaxtree.files.soft import SoftState
from jaxtree.losses.cox import Cox
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.links import name_of_link
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.predicted import PredictedDistribution
from jaxtree.losses.ranking import Ranking
from jaxtree.losses.several import of_outputs
from jaxtree.losses.start import weighted_quantile
from jaxtree.soft.calibration import Constant
from jaxtree.soft.epochs import Hyperparameters
from jaxtree.soft.forest import without_values
from jaxtree.soft.harden import Hardened
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.rates import constant
from jaxtree.soft.renewal import renewed
from jaxtree.soft.runs import Trained
from jaxtree.soft.scores import ScoredTarget, ScoreScale, spread_to_blur
from jaxtree.table.target import encode_numbers
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means

ROUNDING = 1e-12
"""How far predictions may be from targets, as a part of these, where they are equal but for rounding."""

LEAST_RATE = 1e-3
"""The least mean that a leaf of a tree of logarithms begins with, as a share of the mean of all."""

OF_NUMBERS: dict[str, Callable[[], BaseLoss]] = {**DISTRIBUTIONS, **RANKING_LOSSES, **LOSSES}
"""The losses that have names; "gamma" is that of means."""

LEAST_AT_THE_MEAN = ("squared", "poisson", "gamma", "tweedie")
"""Losses by which the best of all constants predicts the mean."""


def _predicts_distributions(model: Any) -> bool:
    """Whether the loss of a model, fitted or not, is a distribution; says so if it is not."""
    loss = model.loss_ if hasattr(model, "_loss") else OF_NUMBERS.get(model.loss, model.loss)
    if not (isinstance(loss, Distribution) or loss in DISTRIBUTIONS.values()):
        raise AttributeError(f"distributions are predicted with a loss such as 'normal', not {model.loss!r}")
    return True


class ByLoss(RoutesExtras, PredictsSurvival, PredictsNumbers, BaseSoft):
    """Numbers that a loss predicts: outputs of the model are its scores, behind a start and in units of their own.

    Attributes:
        start_: The scores of a model whose outputs are 0.
        unit_: What an output of 1 adds to each.
        survival_: What a fit of survival times has learned of time.
    """

    start_: Float64[np.ndarray, " score"]
    unit_: Float64[np.ndarray, " score"]
    survival_: EventTimes | None = None
    loss: Any
    _loss: BaseLoss
    _loss_of_one: BaseLoss
    """The loss of one target, of which that of several is the sum."""

    _no_fields = MappingProxyType({})
    _named_losses = OF_NUMBERS

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_name(type(self).__name__, "loss", self.loss, self._named_losses)
        super().check_parameters()

    @property
    def loss_(self) -> BaseLoss:
        """The loss of the fit."""
        check_is_fitted(self)
        return self._loss

    def raw_scores(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row score"]:
        """Returns the scores of every row, which the loss turns into predictions: a column a score.

        Args:
            X: A table, or a source.
            offset: What is added to the scores, as in `fit`.
        """
        return with_offset(self.loss_, self._scores(X), offset)

    def predict(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *prediction"]:
        """Returns the number of every row; of several outputs or quantiles a column each; see `raw_scores`.

        Of distributions they are means, of Cox's loss hazards relative to that of a row of score 0, and of losses of
        order the scores themselves: within a group the most relevant rows have the highest.
        """
        return self._fixed(self.raw_scores(X, offset=offset)).predict()

    @available_if(_predicts_distributions)
    def predict_dist(self, X: Any, *, offset: Any = None) -> PredictedDistribution:
        """Returns the distribution of every row, where the loss is one; see `raw_scores`."""
        scores = self.raw_scores(X, offset=offset)
        return PredictedDistribution(instance_of(Distribution, self.loss_), scores)

    @available_if(_predicts_distributions)
    def predict_quantile(self, X: Any, levels: Any, *, offset: Any = None) -> Float[np.ndarray, "row *level"]:
        """Returns the quantiles of a level, or of each of several levels in a column.

        Args:
            X: A table, or a source.
            levels: Between 0 and 1.
            offset: What is added to the scores.
        """
        return self.predict_dist(X, offset=offset).quantile(levels)

    @property
    def score_name_(self) -> str:
        """The name of the score: "R²", "concordance", "NDCG", "mean log likelihood"; else the loss in words."""
        return self._fixed(np.zeros((1, self.loss_.num_scores))).score_name_

    def score(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> float:
        """Returns the coefficient of determination, a concordance index, the NDCG, or minus the mean loss.

        The concordance index is that of survival times, the normalised discounted cumulative gain that of orders. Minus
        the mean loss is for predictions that are not numbers close to the targets: for distributions it is the mean log
        likelihood.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            extras: What the loss asks for, as in `fit`.
        """
        check_is_fitted(self)
        given = read_arguments(X, y, sample_weight, extras)
        check_arguments(self, "score", given.fields, extras_of(self.loss_))
        fixed = self._fixed(self._scores(given.X), given.fields.get("offset"))
        return fixed.score(given.X, plain_target(given.y), given.sample_weight, **given.fields)

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row prediction"]:
        """Returns what `predict` does, of rows that `encoder_.values` has encoded, with a column for every number."""
        return self._hard_value(self._outputs_of(values))

    @part_by_part
    def _scores(self, X: Any) -> Float[np.ndarray, "row score"]:
        values = self._values(X)
        return self._scale.scores(self._outputs_of(values))

    def _fixed(self, scores: Float[np.ndarray, "row score"], offset: Any = None) -> FixedNumbers:
        """Predictions from scores, as an estimator that scores itself."""
        if isinstance(self.loss_, Ranking):
            return fixed_ranks(self.loss_, self._outputs, scores, offset, k=getattr(self.loss_, "k", None))
        of_loss = fixed_numbers
        if isinstance(self.loss_, Distribution) and not is_of_times(self.loss_):
            of_loss = fixed_means
        return of_loss(self.loss_, self._outputs, scores, offset)

    @property
    def _outputs(self) -> Outputs:
        return Outputs(self.n_outputs_, is_vector=self.is_vector_)

    @property
    def _scale(self) -> ScoreScale:
        return ScoreScale(self.start_, self.unit_)

    @property
    def _num_outputs(self) -> int:
        return self._loss.num_scores

    def _make_loss(self) -> BaseLoss:
        """The loss that the parameter names."""
        return OF_NUMBERS[self.loss]() if isinstance(self.loss, str) else self.loss

    def _rows_of_step(self, num_rows: int) -> int:
        return rows_of_step(self, self._make_loss(), num_rows)

    def _training_loss(self, target: Any) -> BaseLoss:
        return self._loss

    def _loss_of_rows(self, target: Any) -> BaseLoss:
        return self._loss

    @property
    def _is_of_spread(self) -> bool:
        """Whether the loss tells more of a target than its mean, see `jaxtree.estimators.boosting.usual`."""
        return self._loss.num_scores > self.n_outputs_ or self._loss.name in OF_SPREAD

    def _learns_by_heart(self, sample: SoftSample) -> bool:
        return self._is_of_spread and len(sample.weight) >= LEAST_NUMBERS_TO_HOLD_OUT

    def _with_target_noise(self, numbers: Hyperparameters, sample: SoftSample) -> Hyperparameters:
        loss = self._loss
        has_width = loss.num_scores > self.n_outputs_ and (isinstance(loss, Distribution) or loss.renewal is not None)
        if not has_width or numbers.noise is None:
            return numbers
        spread = spread_to_blur(loss, sample.target, sample.weight)
        return numbers if spread is None else numbers._replace(target_noise=numbers.noise * spread)

    def _constant_leaf(self, sample: SoftSample) -> Constant:
        return Constant(np.zeros(self._num_outputs))

    def _read_target(self, given: FitArguments, classes: Any, *, is_known: bool) -> ScoredTarget:
        numbers = encode_numbers(given.y)
        num_rows = numbers.values.shape[1]
        if is_known and len(numbers.values) != self.n_outputs_:
            raise InvalidInputError(f"y must have {self.n_outputs_} outputs, as in fit, got {len(numbers.values)}")
        if not numbers.values.size:
            raise InvalidInputError("Found array with 0 sample(s) in y while a minimum of 1 is required.")
        outputs = Outputs.of(numbers)
        of_one = self._make_loss()
        if is_known and of_one != self._loss_of_one:
            raise InvalidInputError(f"the loss must be that of the first fit, {self._loss_of_one}, got {of_one}")
        loss = self._loss if is_known else of_outputs(of_one, outputs.number)
        weight = check_sample_weight(given.sample_weight, num_rows)
        fields = read_fields(given.fields, num_rows)
        sample = fit_fields(loss, Sample(None, numbers.values, outputs, weight, fields, ()))
        target, counts = target_of(sample), slice(None) if weight is None else weight > 0
        extras = {name: values[counts] for name, values in sample.fields.items()}
        (loss.check if is_known else loss.check_fit)(target[counts], extras)
        if not is_known:
            self._loss_of_one, self._loss = of_one, loss
            self.n_outputs_, self.is_vector_ = outputs.number, outputs.is_vector
            known = np.ones(num_rows) if weight is None else weight
            self.start_, self.unit_ = ScoreScale.of(loss, target[counts], known[counts], extras)
        return self._scale.rows(loss, target, sample.fields)

    def finish_fit(self, task: SoftTask, trained: Sequence[Trained]) -> Self:
        """Takes what the models of a fit have become; where the start alone predicts all targets, only that is left."""
        super().finish_fit(task, trained)
        goes_on, target = task.config.decay is constant, task.sample.target
        if not goes_on and not target.extras:
            at_start = self._hard_value(np.zeros((1, self._num_outputs)))
            if np.allclose(self._hard_target(target), at_start, rtol=ROUNDING, atol=0):
                self.soft_model_ = without_values(self.soft_model_)
        return self

    def _learn_beside(self, sample: SoftSample) -> None:
        vars(self).pop("survival_", None)
        if is_of_times(self._loss):
            rows = sample.target
            of_loss = Sample(None, rows.target[None], self._outputs, sample.weight, rows.extras, ())
            self.survival_ = learn_times(self._loss, of_loss, self._scale.scores(self._outputs_of(sample.values)))

    def _refits(self, refit: bool | None, target: ScoredTarget) -> bool:
        loss, num_predictions = self._loss, self._hard_value(np.zeros((1, self._num_outputs))).shape[1]
        if (loss.num_scores, num_predictions) != (self.n_outputs_, self.n_outputs_):
            raise InvalidInputError(
                f"harden() is for losses of one score and one prediction a target: {loss} has {loss.num_scores} scores "
                f"and {num_predictions} predictions for {self.n_outputs_}"
            )
        has_best = (loss.name in LEAST_AT_THE_MEAN or self._level is not None) and "offset" not in target.extras
        if refit and not has_best:
            raise InvalidInputError(
                f"refit must be False: for leaves with means or quantiles there is none of {loss}, or there are offsets"
            )
        return has_best if refit is None else refit

    def _renewed(self, hardened: Hardened, sample: SoftSample) -> Hardened:
        level = self._level
        if level is None:
            return hardened
        target, weight = self._hard_target(sample.target), sample.weight
        compared = self.predict_values(sample.values)

        def best(rows: Int[np.ndarray, " taken"]) -> Float64[np.ndarray, " output"]:
            return np.array([weighted_quantile(column, weight[rows], level) for column in target[rows].T])

        return renewed(hardened, sample.values, weight, compared, best)

    @property
    def _level(self) -> float | None:
        """The level of the quantile that the loss of one target is least at; None if it is another loss."""
        level = self._loss_of_one.renewal
        return level if isinstance(level, float) else None

    def _hard_value(self, value: Float[AnyArray, "end output"]) -> Float64[np.ndarray, "end prediction"]:
        return numbers_of(self._loss, self._scale.scores(value))

    def _hard_target(self, target: ScoredTarget) -> Float64[np.ndarray, "row output"]:
        return np.asarray(self._scale.targets(self._loss, target), np.float64).reshape(len(target), -1)

    def _target_of_means(self, target: ScoredTarget) -> Float64[np.ndarray, "row output"] | None:
        """The targets; None of survival times, which may be censored, and of targets that are not finite."""
        numbers = self._hard_target(target)
        return None if is_of_times(self._loss_of_one) or not np.isfinite(numbers).all() else numbers

    def _stump_of(self, columns: Float[np.ndarray, "row column"], sample: SoftSample) -> Tree | None:
        target = self._target_of_means(sample.target)
        if target is None or (target.shape[1] > 1 and self._loss.has_location):
            return None
        return DecisionTreeRegressor(max_depth=1).fit(columns, target, sample.weight).tree_

    def _value_of_nodes(self, tree: Tree) -> Float64[np.ndarray, "node output"]:
        means, kind = target_means(tree), name_of_link(self._loss)
        if isinstance(self._loss, Cox):
            raise InvalidInputError(f"init predicts numbers, and {self._loss} has hazards: init must be None")
        if kind in ("exp", "exp_of_first", "time"):
            means = np.log(np.maximum(means, LEAST_RATE * np.abs(means[:1])))
        scores = np.broadcast_to(self.start_, (len(means), self._num_outputs)).copy()
        scores[:, : 1 if self._loss.has_location else None] = means
        return self._scale.outputs(scores)

    def _learned_of_loss(self) -> tuple[Any, ...]:
        return self.start_, self.unit_, self._loss_of_one, self.survival_

    def restore(self, state: SoftState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        super().restore(state)
        made = self._make_loss()
        fits = (made.name, made.num_scores) == (state.loss.name, state.loss.num_scores)
        require(fits, f"its loss is {shortened(state.loss)}, and its parameters are of {shortened(made)}")
        self._loss_of_one, self._loss = state.loss, of_outputs(state.loss, self.n_outputs_)
        self.start_, self.unit_ = state.start, state.unit
        if state.survival is not None:
            self.survival_ = state.survival


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftRegressor(ByLoss):
    """Soft models of numbers, of one target or several."""

    loss: Annotated[str | BaseLoss, Words(OF_NUMBERS), BaseLoss] = "squared_error"

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> Self:
        """Goes over some rows once, at the last temperature.

        Columns, categories and scales are learned from the rows of the first call, or of an earlier `fit`.

        Args:
            X: A table.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row.
            extras: What else the loss asks for, as in `fit`.
        """
        return self._partial_fit(X, y, sample_weight, fields=extras)
