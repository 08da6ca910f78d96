"""Rows as boosting sees them between two readings: whole gradients, and the weights of a quadratic loss.

A *reading* takes the scores of all rows and gives the exact gradients of the loss, and where asked for its second
derivatives, which are the weights of Gram sums. All are whole numbers: of a score unit, which is a part of the largest
step and so has the target's unit, of a weight unit, a power of two, and of their product, that of gradients. So a step
of s units on rows of weight w changes their gradients by exactly w s units.

With squared errors one reading is enough: gradients after any steps are known by Gram sums alone, bit by bit.
"""

import abc
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int32, Int64

from jaxtree import buckets
from jaxtree.boosting.data import ScoredRows
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.errors import TrainingError
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.links import are_in_target_unit
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.numbers import squared
from jaxtree.losses.start import weighted_quantile

WEIGHT_BITS = 30
"""Bits of the sum of all weights, so that Gram sums fit in 32."""

SCORE_BITS = 28
"""Bits of the largest Newton step of a row at the start."""

LONGEST_STEP = 2.0
"""The longest Newton step of a row, in units of its score: gradients are read again before scores have moved far."""

LEAST_RESIDUAL = 0.1
"""The least size of residuals, in parts of their mean size, where a loss has no curvature."""


Derivatives = tuple[Float64[np.ndarray, "score row"], Float64[np.ndarray, "score row"], float]
"""Gradients, the diagonals of second derivatives, and the mean loss of the rows held out."""


class Reading(NamedTuple):
    """The loss at some scores.

    Attributes:
        gradient: The gradients of the rows that a model learns from, 0 of others, in units of gradients.
        held_loss: The mean loss of the rows held out; NaN if there are none.
        weight: The weights of rows, which are second derivatives, if they were asked for; else None.
    """

    gradient: Int64[np.ndarray, "score row"]
    held_loss: float
    weight: Int32[np.ndarray, "score row"] | None


class RowLoss(abc.ABC):
    """The loss of the rows of one model.

    Args:
        rows: The rows, those held out included; codes are not looked at.
        start: The scores before the first step.
        is_held: Which rows are held out.

    Attributes:
        score_unit: The unit of scores, as a part of `units`.
        units: The units of every score; locations of distributions move by scales.
        log_densities: Whether losses are minus log densities, which have no size of their own.
        weight_unit: The unit of the weights that were read last.
        curvature: The second derivatives of a row of weight 1 that limits and penalties count as 1, for every score.
        whole_held: For quadratic losses, the weights of the rows held out.
    """

    is_quadratic: bool
    whole_held: Int32[np.ndarray, " row"]
    score_unit: float
    weight_unit: float
    log_densities = False

    def __init__(
        self, rows: ScoredRows, start: Float64[np.ndarray, " score"], is_held: Bool[np.ndarray, " row"] | None
    ):
        self.rows, self.start, self.is_held = rows, start, is_held
        self.units = self.curvature = np.ones(len(start))
        self.num_rows = len(rows.target)
        weight = np.asarray(rows.weight, np.float64)
        self.weight = weight if is_held is None else np.where(is_held, 0.0, weight)
        self.held_weight = None if is_held is None else np.where(is_held, weight, 0.0)

    @abc.abstractmethod
    def read(self, scores: Int64[np.ndarray, "score row"], *, renews: bool = False) -> Reading:
        """Reads the rows.

        Args:
            scores: The scores of rows, without the start.
            renews: Whether weights are read, too, which set the units that gradients have from now on.
        """


class SquaredErrors(RowLoss):
    """Squared errors, whose gradients are whole from the start."""

    is_quadratic = True

    def __init__(
        self, rows: ScoredRows, start: Float64[np.ndarray, " score"], is_held: Bool[np.ndarray, " row"] | None
    ):
        super().__init__(rows, start, is_held)
        target = np.asarray(rows.target, np.float64).reshape(self.num_rows, -1).T
        offset = np.asarray(rows.extras.get("offset", 0.0), np.float64).T
        residual = target - start[:, None] - offset
        self.score_unit = score_unit_of(np.abs(residual).max(initial=0.0))
        self.residual = np.rint(residual / self.score_unit).astype(np.int64)
        self.weight_unit = unit_of_weights(np.asarray(rows.weight, np.float64))
        self.whole = whole_weights(self.weight, self.weight_unit)
        self.whole_held = whole_weights(np.asarray(rows.weight, np.float64) - self.weight, self.weight_unit)

    def read(self, scores: Int64[np.ndarray, "score row"], *, renews: bool = False) -> Reading:
        """Reads the rows; gradients are minus the weighted residuals."""
        left = self.residual - scores
        loss = np.nan
        if self.held_weight is not None:
            held = left[:, self.is_held] * self.score_unit
            loss = float(np.sum(held**2 * self.held_weight[self.is_held]) / self.held_weight.sum() / 2)
        weight = np.broadcast_to(self.whole, scores.shape) if renews else None
        return Reading(-self.whole.astype(np.int64) * left, loss, weight)


class NewtonRows(RowLoss):
    """Any loss: gradients are rounded at every reading, and second derivatives at some.

    Args:
        loss: The loss.
        rows: The rows.
        start: The scores before the first step.
        is_held: Which rows are held out.

    Raises:
        TrainingError: Derivatives at the start are no numbers.
    """

    is_quadratic = False
    mean_residual = 0.0
    _at_start: Derivatives | None

    def __init__(
        self,
        loss: BaseLoss,
        rows: ScoredRows,
        start: Float64[np.ndarray, " score"],
        is_held: Bool[np.ndarray, " row"] | None,
    ):
        super().__init__(rows, start, is_held)
        self.loss, self.size = loss, buckets.row_bucket(self.num_rows)
        self.log_densities = isinstance(loss, Distribution)
        units = loss.units(start)
        if units is not None:
            self.units = np.asarray(units, np.float64)
        self.longest = LONGEST_STEP * self._usual_steps(is_counted=units is not None)
        pad = functools.partial(buckets.pad_to, size=self.size)
        extras = {name: pad(np.asarray(values)) for name, values in rows.extras.items()}
        self.padded = ScoredRows(rows.codes, pad(rows.target), pad(self.weight), extras)
        self.padded_held = pad(self.weight if self.held_weight is None else self.held_weight)
        self.score_unit, self.weight_unit = 1.0, 1.0
        self._at_start = self._derivatives(np.zeros((len(start), self.num_rows), np.int64))
        gradient, hessian, _ = self._at_start
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise TrainingError(f"{loss}: derivatives at the start, {start.tolist()}, are no numbers")
        total = self.weight.sum()
        # The size of a row's step, as large as gradients are, on rows of mean curvature.
        heaviest = np.abs(gradient / np.where(self.weight > 0, self.weight, 1)).max(initial=0.0)
        mean = hessian.sum() / max(total * len(start), np.finfo(float).tiny)
        self.score_unit = score_unit_of(heaviest / mean if mean > 0 else 1.0)

    def read(self, scores: Int64[np.ndarray, "score row"], *, renews: bool = False) -> Reading:
        """Reads the rows; see `RowLoss.read`."""
        # They are those of the constructor before the first step, and let go of at the first reading.
        at_start, self._at_start = self._at_start, None
        gradient, hessian, held = self._derivatives(scores) if at_start is None or scores.any() else at_start
        weight = self._weights(gradient, hessian) if renews else None
        whole = np.rint(gradient / (self.score_unit * self.weight_unit))
        held = held if self.held_weight is not None else np.nan
        return Reading(np.nan_to_num(whole).astype(np.int64), held, weight)

    def _weights(
        self, gradient: Float64[np.ndarray, "score row"], hessian: Float64[np.ndarray, "score row"]
    ) -> Int32[np.ndarray, "score row"]:
        """Returns whole weights, and sets their unit."""
        # Far from the least loss a Newton step of a row alone would go too far, but not one by a bound of curvature.
        if self.loss.renewal is None:
            hessian = np.maximum(hessian, np.abs(gradient) / self.longest[:, None])
        hessian = np.nan_to_num(hessian, posinf=0.0)
        self.weight_unit = power_of_two(hessian.sum(axis=1).max()) * 2.0**-WEIGHT_BITS
        return whole_weights(hessian, self.weight_unit)

    def _derivatives(self, scores: Int64[np.ndarray, "score row"]) -> Derivatives:
        """Returns gradients, the diagonals of second derivatives, and the mean loss of the rows held out."""
        real = np.zeros((len(scores), self.size))
        real[:, : self.num_rows] = self.start[:, None] + scores * (self.score_unit * self.units[:, None])
        rows = self.padded
        with jax.enable_x64(True):
            gradient, hessian, held = _derivatives(
                real, rows.target, rows.weight, self.padded_held, rows.extras, loss=self.loss
            )
        gradient, hessian = (np.asarray(own)[:, : self.num_rows] for own in (gradient, hessian))
        if self.loss.renewal is not None:
            return gradient, self._majorised(real[:, : self.num_rows]), float(held)
        return gradient * self.units[:, None], hessian * np.square(self.units[:, None]), float(held)

    def gradient_at(self, scores: Float64[np.ndarray, "score row"]) -> Float64[np.ndarray, "score row"]:
        """Returns the gradients of rows at any scores, in units of scores.

        Args:
            scores: The scores, with the start.
        """
        unit = self.score_unit * self.units[:, None]
        return self._derivatives(np.rint((scores - self.start[:, None]) / unit).astype(np.int64))[0]

    def _residuals(self, scores: Float64[np.ndarray, "score #row"]) -> Float64[np.ndarray, "score row"]:
        """Returns what scores leave of targets, of which there is one or one a score."""
        target = np.asarray(self.rows.target, np.float64).reshape(self.num_rows, -1).T
        return target - np.asarray(self.rows.extras.get("offset", 0.0), np.float64).T - scores

    def _usual_steps(self, *, is_counted: bool) -> Float64[np.ndarray, " score"]:
        """Returns how far scores usually go: those in the target's unit by the median size of residuals, others by 1.

        Args:
            is_counted: Whether scores are counted in units of the loss.
        """
        steps, target = np.ones(len(self.start)), np.asarray(self.rows.target)
        moves = are_in_target_unit(self.loss, target)
        if is_counted or not moves.any():
            return steps
        sizes = np.abs(self._residuals(self.start[:, None]))
        middles = np.array([weighted_quantile(own, self.weight, 0.5) or np.max(own) for own in sizes])
        return np.where(moves & (middles > 0), middles, 1.0)

    def _majorised(self, scores: Float64[np.ndarray, "score row"]) -> Float64[np.ndarray, "score row"]:
        """Returns the curvature of the quadratic that lies on a loss of quantiles at these scores, and above it.

        It is half of the inverse of a residual's size (Hunter and Lange, *Quantile regression via an MM algorithm*,
        Journal of Computational and Graphical Statistics 9, 2000).
        """
        size = np.abs(self._residuals(scores))
        if not self.mean_residual:
            mean = float(np.average(size.mean(axis=0), weights=self.weight)) if self.weight.any() else 1.0
            self.mean_residual = mean or 1.0
            self.curvature = np.full(len(scores), 1 / (2 * self.mean_residual))
        return self.weight / (2 * np.maximum(size, LEAST_RESIDUAL * self.mean_residual))


class TiltedRows(NewtonRows):
    """A loss to which a linear function of scores is added, so that it is least elsewhere.

    Args:
        loss: The loss.
        rows: The rows.
        start: The scores before the first step.
        tilt: Added to the gradients of rows, see `NewtonRows.gradient_at`.
    """

    def __init__(
        self,
        loss: BaseLoss,
        rows: ScoredRows,
        start: Float64[np.ndarray, " score"],
        tilt: Float64[np.ndarray, "score row"],
    ):
        self.tilt = tilt
        super().__init__(loss, rows, start, None)

    def _derivatives(self, scores: Int64[np.ndarray, "score row"]) -> Derivatives:
        gradient, hessian, held = super()._derivatives(scores)
        return gradient + self.tilt, hessian, held


@compiled("loss", what=lambda *_, loss: f"the derivatives of {loss}", options=options_of_small_programs)
def _derivatives(
    scores: Float[Array, "score row"], target: Any, weight: Any, held_weight: Any, extras: Any, *, loss: BaseLoss
) -> tuple[Float[Array, "score row"], Float[Array, "score row"], Float[Array, ""]]:
    """Gradients and the diagonals of Hessians of rows, and the mean loss with other weights."""
    scores = jnp.asarray(scores)
    gradient, hessian = loss.derivatives(scores, target, weight, extras)
    if hessian.ndim == 3:
        hessian = jnp.diagonal(hessian).T
    return gradient, jnp.broadcast_to(hessian, gradient.shape), loss.mean(scores, target, held_weight, extras)


_squared = functools.cache(squared)


def is_quadratic(loss: BaseLoss) -> bool:
    """Returns whether a loss is that of squared errors, of which one reading of rows tells all gradients."""
    return loss == _squared(loss.num_scores)


def rows_of_loss(
    loss: BaseLoss, rows: ScoredRows, start: Float64[np.ndarray, " score"], is_held: Bool[np.ndarray, " row"] | None
) -> RowLoss:
    """Returns the rows of a model as its boosting sees them."""
    if is_quadratic(loss):
        return SquaredErrors(rows, start, is_held)
    return NewtonRows(loss, rows, start, is_held)


def score_unit_of(largest: float) -> float:
    """Returns the unit of scores of which the largest step is a number.

    It is proportional to that step, so that whole numbers are the same in any unit of the target.
    """
    return float(np.clip(largest, 2.0**-900, 2.0**1000) if largest > 0 else 1.0) * 2.0**-SCORE_BITS


def power_of_two(number: float) -> float:
    """Returns the least power of two that is not below a number; 1 for 0.

    >>> power_of_two(5.0), power_of_two(0.25), power_of_two(0.0)
    (8.0, 0.25, 1.0)
    """
    if not (number > 0 and np.isfinite(number)):
        return 1.0
    fraction, exponent = np.frexp(number)
    return float(2.0 ** np.clip(int(exponent) - (fraction == 0.5), -900, 900))


def unit_of_weights(weight: Float64[np.ndarray, " row"]) -> float:
    """Returns the unit of given weights: 1 where they are whole, so that they are exact."""
    is_whole = bool(np.all(weight == np.floor(weight)))
    if is_whole and weight.sum() < 2**WEIGHT_BITS:
        return 1.0
    return power_of_two(float(weight.sum())) * 2.0**-WEIGHT_BITS


def whole_weights(weight: Float64[np.ndarray, "*score row"], unit: float) -> Int32[np.ndarray, "*score row"]:
    """Returns weights in a unit; none of a row of some weight is 0."""
    return np.where(weight > 0, np.maximum(np.rint(weight / unit), 1), 0).astype(np.int32)
