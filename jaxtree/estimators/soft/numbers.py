"""Models of numbers: what these soft estimators predict by their loss, and how they read their targets."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated, Any, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Int

from jaxtree.arrays import AnyArray
from jaxtree.dataset.sample import Outputs, Sample
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.loss_names import check_name
from jaxtree.estimators.boosting.parameters import OF_SPREAD
from jaxtree.estimators.boosting.responses import (
    fixed_means,
    fixed_numbers,
    fixed_ranks,
    likelihood_of,
    ndcg_of,
    score_of,
)
from jaxtree.estimators.boosting.rows import target_of, weight_of
from jaxtree.estimators.boosting.scored import NumbersByLoss, PredictsDistributions
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.extras import fit_fields
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.parameters import AUTO, LEAST_NUMBERS_TO_HOLD_OUT, auto_noise, rows_of_step
from jaxtree.estimators.soft.rows import SoftTask
from jaxtree.estimators.trees.cart import DecisionTreeRegressor
from jaxtree.export.functions import RowAnswer
from jaxtree.files.container import shortened
from jaxtree.files.records import require
from jaxtree.files.soft import SoftState
from jaxtree.losses.cox import Cox
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.links import name_of_link
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import OF_NUMBERS, AnyLoss, loss_of
from jaxtree.losses.ranking import Ranking
from jaxtree.losses.several import of_outputs
from jaxtree.losses.start import weighted_quantile
from jaxtree.serving.by_loss import numbers_of
from jaxtree.soft.calibration import Constant
from jaxtree.soft.epochs import Hyperparameters
from jaxtree.soft.forest import without_values
from jaxtree.soft.harden import Hardened
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.rates import constant
from jaxtree.soft.renewal import renewed
from jaxtree.soft.runs import Trained
from jaxtree.soft.scores import ScoredTarget, ScoreScale, spread_to_blur
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means

ROUNDING = 1e-12
"""How far predictions may be from targets, as a part of these, where they are equal but for rounding."""

LEAST_RATE = 1e-3
"""The least mean that a leaf of a tree of logarithms begins with, as a share of the mean of all."""

MOST_NARROWER = math.log(1e4)
"""How far the logarithm of a stump's scale may be from that of all rows: 32 bits tell its targets apart."""

LEAST_AT_THE_MEAN = ("squared", "poisson", "gamma", "tweedie")
"""Losses by which the best of all constants predicts the mean."""


class ByLoss(PredictsSurvival, PredictsDistributions, NumbersByLoss, BaseSoft):
    """Numbers that a loss predicts: outputs of the model are its scores, behind a start and in units of their own.

    Attributes:
        start_: The scores of a model whose outputs are 0.
        unit_: The change of each score for an output of 1.
        survival_: The baseline over time that a fit of survival times has learned.
    """

    start_: Float64[np.ndarray, " score"]
    unit_: Float64[np.ndarray, " score"]
    survival_: EventTimes | None = None
    loss: Any
    _loss_of_one: BaseLoss
    """The loss of one target, of which that of several is the sum."""

    _no_fields = MappingProxyType({})
    _named_losses = OF_NUMBERS

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_name(type(self).__name__, "loss", self.loss, self._named_losses)
        super().check_parameters()

    def _answer_of(self, output: Float[Array, "row output"]) -> RowAnswer:
        scores = jnp.asarray(self.start_, output.dtype) + jnp.asarray(self.unit_, output.dtype) * output
        return RowAnswer(self._loss.predict(scores.T).T, scores)

    def scores_of(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows that `encoder_.values` has encoded."""
        return self._scale.scores(self._outputs_of(values))

    @property
    def _fixed_predictions(self) -> Any:
        """The function that predicts outputs from scores and an offset."""
        if isinstance(self.loss_, Ranking):
            return functools.partial(fixed_ranks, k=getattr(self.loss_, "k", None))
        return fixed_means if isinstance(self.loss_, Distribution) and not is_of_times(self.loss_) else fixed_numbers

    @property
    def _measure(self) -> Any:
        """The loss of rows with their scores."""
        if isinstance(self.loss_, Ranking):
            return functools.partial(ndcg_of, k=getattr(self.loss_, "k", None))
        return likelihood_of if isinstance(self.loss_, Distribution) and not is_of_times(self.loss_) else score_of

    @property
    def _scale(self) -> ScoreScale:
        return ScoreScale(self.start_, self.unit_)

    @property
    def _num_outputs(self) -> int:
        return self._loss.num_scores

    def _make_loss(self) -> BaseLoss:
        """The loss that the parameter names."""
        return loss_of(self.loss)

    def _rows_of_step(self, num_rows: int) -> int:
        return rows_of_step(self, self._make_loss(), num_rows)

    def _training_loss(self, target: Any) -> BaseLoss:
        return self._loss

    def _loss_of_rows(self, target: Any) -> BaseLoss:
        return self._loss

    @property
    def _is_of_spread(self) -> bool:
        """Whether the loss tells more of a target than its mean, see `jaxtree.estimators.boosting.parameters`."""
        return self._loss.num_scores > self.n_outputs_ or self._loss.name in OF_SPREAD

    def _learns_by_heart(self, sample: SoftSample) -> bool:
        return self._is_of_spread and len(sample.weight) >= LEAST_NUMBERS_TO_HOLD_OUT

    def _with_target_noise(self, numbers: Hyperparameters, sample: SoftSample) -> Hyperparameters:
        loss = self._loss
        has_width = loss.num_scores > self.n_outputs_ and (isinstance(loss, Distribution) or loss.renewal is not None)
        noise = numbers.noise
        if noise is None and self.noise == AUTO and self.init is None:
            noise = auto_noise(len(sample.weight))  # of ensembles of hard trees targets alone have some
        if not has_width or noise is None:
            return numbers
        spread = spread_to_blur(loss, sample.target, sample.weight)
        return numbers if spread is None else numbers._replace(target_noise=noise * spread)

    def _as_table(self, sample: SoftSample) -> Sample:
        rows = sample.target
        return Sample(None, rows.target.reshape(len(rows), -1).T, self.outputs(), sample.weight, rows.extras, ())

    def _constant_leaf(self, sample: SoftSample) -> Constant:
        return Constant(np.zeros(self._num_outputs))

    def _known_outputs(self, y: Any) -> Outputs:
        return self.outputs()

    def _read_target(self, sample: Sample, *, is_known: bool, has_more: bool = False) -> ScoredTarget:
        outputs, weight = sample.outputs, sample.weight
        if not sample.target.size:
            raise InvalidInputError("Found array with 0 sample(s) in y while a minimum of 1 is required.")
        of_one = self._make_loss()
        if is_known and of_one != self._loss_of_one:
            raise InvalidInputError(f"the loss must be that of the first fit, {self._loss_of_one}, got {of_one}")
        loss = self._loss if is_known else of_outputs(of_one, outputs.number)
        sample = fit_fields(loss, sample)
        target, counts = target_of(sample), slice(None) if weight is None else weight > 0
        extras = {name: values[counts] for name, values in sample.fields.items()}
        (loss.check if is_known else loss.check_fit)(target[counts], extras)
        if not is_known:
            self._loss_of_one, self._loss = of_one, loss
            self.n_outputs_, self.is_vector_ = outputs.number, outputs.is_vector
            known = weight_of(sample)[counts]
            self.start_, self.unit_ = ScoreScale.of(loss, target[counts], known, extras, has_more=has_more)
        return self._scale.rows(loss, target, sample.fields)

    def finish_fit(self, task: SoftTask, trained: Sequence[Trained]) -> Self:
        """Takes what the models of a fit have become; where the start alone predicts all targets, only that is left."""
        super().finish_fit(task, trained)
        vars(self).pop("survival_", None)
        if is_of_times(self._loss):
            self.survival_ = learn_times(self._loss, self._as_table(task.sample), self.scores_of(task.sample.values))
        goes_on, target = task.config.decay is constant, task.sample.target
        if not goes_on and not target.extras:
            at_start = self._hard_value(np.zeros((1, self._num_outputs)))
            if np.allclose(self._hard_target(target), at_start, rtol=ROUNDING, atol=0):
                self.soft_model_ = without_values(self.soft_model_)
        return self

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

    def _stump_of(
        self, columns: Float[np.ndarray, "row column"], sample: SoftSample
    ) -> tuple[Tree, Float64[np.ndarray, "node output"]] | None:
        target, loss = self._target_of_means(sample.target), self._loss
        if target is None or (target.shape[1] > 1 and loss.has_location):
            return None
        fitted = DecisionTreeRegressor(max_depth=1).fit(columns, target, sample.weight)
        value = self._value_of_nodes(fitted.tree_)
        if not isinstance(loss, Distribution) and loss.renewal is None:
            return fitted.tree_, value
        # A mean alone would leave a node the width, or the quantiles, of all rows.
        node, rows = fitted.apply(columns), sample.target
        for own in np.unique(node).tolist():
            there = node == own
            extras = {name: values[there] for name, values in rows.extras.items()}
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = np.array(loss.start(rows.target[there], sample.weight[there], extras), np.float64)
            if loss.has_location:
                scores[1:] = np.clip(scores[1:], rows.start[1:] - MOST_NARROWER, rows.start[1:] + MOST_NARROWER)
            output = (scores - rows.start) / rows.unit
            value[own] = np.where(np.isfinite(output), output, value[own])
        return fitted.tree_, value

    def _value_of_nodes(self, tree: Tree) -> Float64[np.ndarray, "node output"]:
        means, kind = target_means(tree), name_of_link(self._loss)
        if isinstance(self._loss, Cox):
            raise InvalidInputError(f"init predicts numbers, and {self._loss} has hazards: init must be None")
        if kind in ("exp", "exp_of_first", "time"):
            means = np.log(np.maximum(means, LEAST_RATE * np.abs(means[:1])))
        scores = np.broadcast_to(self.start_, (len(means), self._num_outputs)).copy()
        scores[:, : 1 if self._loss.has_location else None] = means
        return self._scale.outputs(scores)

    def fitted_state(self) -> SoftState:
        """Returns what fitting has learned: what a model file keeps."""
        state = super().fitted_state()
        learned = {"start": self.start_, "unit": self.unit_, "loss": self._loss_of_one, "survival": self.survival_}
        return dataclasses.replace(state, **learned)

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
    """Soft models of numbers, of one target or several.

    Args:
        loss: A loss of boosted trees by name: "squared_error", "absolute_error", "huber", "pseudo_huber",
            "poisson", "gamma", "tweedie", "cox" or "accelerated_failure_time" of survival times, "ndcg", "map" or
            "pairwise" of orders within groups; or a distribution, "normal", "lognormal", "laplace", "logistic",
            "student_t", "weibull", "negative_binomial" or "beta". Or a loss of `jaxtree.boosting`, such as
            `quantile(0.9)`, a `jaxtree.boosting.Loss` of one's own, or its function alone, of the scores of a row, its
            target and its extras; or a function of outputs and targets of rows, as in `jaxtree.soft.losses`. Training
            begins at its best constant, and where scores are in the target's unit, outputs are in deviations of the
            target. "cox" and orders are trained on all rows in a step.
    """

    loss: Annotated[AnyLoss, Words(OF_NUMBERS), BaseLoss, callable, Role.FIT] = "squared_error"

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> Self:
        """Goes over some rows once, at the last temperature.

        Columns, categories and scales are learned from the rows of the first call, or of an earlier `fit`.

        Args:
            X: A table.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row.
            extras: Further inputs of the loss, as in `fit`.
        """
        return self._partial_fit(X, y, sample_weight, fields=extras)
