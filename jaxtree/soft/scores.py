"""Losses of scores, which boosting has, as training takes them: the scores are a start and what a model puts out."""

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int, Real, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.losses.domain import NUMBERS, Domain
from jaxtree.losses.links import are_in_target_unit, are_logarithms_of_means
from jaxtree.losses.loss import BaseLoss, Extras, identity

FAR = 16
"""Means between 2**-16 and 2**16 are left as they are: 32 bits hold their losses, and steps are long enough."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class ScoredTarget:
    """The target of rows with all else that turns the outputs of a model into losses.

    Attributes:
        target: The numbers that the loss compares scores with.
        extras: The further inputs of the loss, by name.
        start: The scores of a model whose outputs are 0.
        unit: How much an output of 1 adds to them.

    Example:
        >>> rows = ScoredTarget(np.array([1.0, 2.0]), {"offset": np.array([0.5, 0.6])}, np.zeros(1), np.ones(1))
        >>> len(rows), rows[np.array([1])].extras["offset"].tolist()
        (2, [0.6])
    """

    target: Shaped[AnyArray, "row *output"]
    extras: dict[str, Any]
    start: Float[AnyArray, " score"]
    unit: Float[AnyArray, " score"]

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.target)

    def __getitem__(self, rows: Int[AnyArray, " taken"] | Bool[np.ndarray, " row"]) -> "ScoredTarget":
        """Returns some of the rows."""
        extras = {name: values[rows] for name, values in self.extras.items()}
        return dataclasses.replace(self, target=self.target[rows], extras=extras)


def padded_rows(values: Any, number: int) -> Any:
    """Returns rows in 32 bits, followed by zeros up to a number of them.

    >>> padded_rows(np.array([1.0, 2.0]), 3).tolist()
    [1.0, 2.0, 0.0]
    """
    if isinstance(values, ScoredTarget):
        extras = {name: padded_rows(own, number) for name, own in values.extras.items()}
        shared = (jnp.asarray(part, float) for part in (values.start, values.unit))
        return ScoredTarget(padded_rows(values.target, number), extras, *shared)
    values = values.astype(np.int32 if values.dtype.kind in "iub" else np.float32)
    return jnp.asarray(np.pad(values, [(0, number - len(values))] + [(0, 0)] * (values.ndim - 1)))


@dataclasses.dataclass(frozen=True)
class OfScores:
    """A loss of scores as training takes it, a function of outputs and a `ScoredTarget`, or of scores and a target.

    Attributes:
        loss: The loss, such as `jaxtree.boosting.poisson()`.

    Example:
        >>> from jaxtree.boosting import squared
        >>> rows = ScoredTarget(jnp.array([1.0, 5.0]), {}, jnp.ones(1), 2 * jnp.ones(1))
        >>> OfScores(squared())(jnp.array([[0.0], [1.0]]), rows).tolist()
        [0.0, 2.0]
    """

    loss: BaseLoss

    @property
    def takes_batches(self) -> bool:
        """Whether a step may see a part of the rows."""
        return self.loss.takes_batches

    def __call__(self, output: Float[Array, "row output"], target: Any) -> Float[Array, " row"]:
        """Returns the loss of every row, of rows that depend on one another with weight 1."""
        return self.loss.values(*_scored(output, target))

    def weighted_sum(
        self, output: Float[Array, "row output"], target: Any, weight: Float[Array, " row"]
    ) -> Float[Array, ""]:
        """Returns the sum over rows, each times its weight; its gradient is that which the loss says it has."""
        if not self.loss.joins_rows:
            # Rows that only fill a batch may have losses that are no numbers; so would their gradients be.
            return jnp.sum(weight * jnp.where(weight > 0, self(output, target), 0))
        scores, target, extras = _scored(output, target)
        at, total = jax.lax.stop_gradient(scores), jnp.sum(weight)
        # Cox's loss depends on the size of weights: here they are 1 in the mean.
        mean = total / jnp.sum(weight > 0)
        rows = (at, target, weight / mean, extras)
        return total * self.loss.mean(*rows) + mean * jnp.sum(self.loss.derivatives(*rows).gradient * (scores - at))


def _scored(output: Float[Array, "row output"], target: Any) -> tuple[Float[Array, "score row"], Any, dict[str, Any]]:
    """Scores, targets and extras."""
    if not isinstance(target, ScoredTarget):
        return output.T, target, {}
    return (target.start + target.unit * output).T, target.target, target.extras


def weighted_sum(
    loss: Any, output: Float[Array, "row output"], target: Any, weight: Float[Array, " row"]
) -> Float[Array, ""]:
    """Returns the sum of a loss over rows, each times its weight; see `jaxtree.soft.epochs.TrainingConfig`."""
    loss = OfScores(loss) if isinstance(loss, BaseLoss) else loss
    if isinstance(loss, OfScores):
        return loss.weighted_sum(output, target, weight)
    return jnp.sum(weight * loss(output, target))


def _blurs_on(domain: Domain) -> tuple[Any, Any]:
    """The scale on which noise is added to targets, and its inverse: one on which all numbers are allowed."""
    if math.isfinite(domain.highest):
        return jax.scipy.special.logit, jax.nn.sigmoid
    return (jnp.log, jnp.exp) if math.isfinite(domain.lowest) else (identity, identity)


def spread_to_blur(loss: BaseLoss, rows: ScoredTarget, weight: Float[np.ndarray, " row"]) -> float | None:
    """Returns the standard deviation of the targets on the scale on which noise is added; None for none.

    Counts, hazards and orders get no noise: they cannot be blurred a little, and the first have no narrow distribution.

    Example:
        >>> from jaxtree.boosting.distributions import lognormal
        >>> rows = ScoredTarget(np.exp([1.0, 3.0]), {}, np.zeros(2), np.ones(2))
        >>> spread_to_blur(lognormal(), rows, np.ones(2))
        1.0
    """
    if loss.joins_rows or loss.domain.is_whole:
        return None
    number = np.asarray(_blurs_on(loss.domain)[0](np.asarray(rows.target, float)))
    is_known = np.isfinite(number) & (weight > 0)
    if not is_known.any():
        return None
    mean = np.average(number[is_known], weights=weight[is_known])
    return float(np.sqrt(np.average((number[is_known] - mean) ** 2, weights=weight[is_known])))


def blurred(loss: BaseLoss, rows: ScoredTarget, change: Float[Array, " row"]) -> ScoredTarget:
    """Returns rows whose targets are moved: shares by log odds, what is above 0 by factors, with its upper bounds.

    Args:
        loss: A loss that `spread_to_blur` has a spread for.
        rows: The rows.
        change: By how much each moves, on the scale of its kind.
    """
    if loss.domain == NUMBERS:
        return dataclasses.replace(rows, target=rows.target + change)
    to_scale, back = _blurs_on(loss.domain)
    if math.isfinite(loss.domain.highest):
        return dataclasses.replace(rows, target=back(to_scale(rows.target) + change))
    factor = back(change)
    extras = {name: own * factor if name == "upper" else own for name, own in rows.extras.items()}
    return dataclasses.replace(rows, target=rows.target * factor, extras=extras)


def takes_batches(loss: Any) -> bool:
    """Whether a step may see a part of the rows: of a loss that joins rows it may not, unless that says so."""
    return not isinstance(loss, BaseLoss | OfScores) or loss.takes_batches


SPREAD_OF_EQUAL_TARGETS = 3.0
"""The steps of the location between equal targets and the two that stand in for them. A distribution that begins too
wide is narrower within a few batches; in one that begins too narrow, tails decide its first steps."""


class ScoreScale(NamedTuple):
    """How the outputs of a model become scores, `start + unit * output`: in float64, on the host.

    Attributes:
        start: The scores that are best for all rows together.
        unit: The change of each score for an output of 1.
    """

    start: Float64[np.ndarray, " score"]
    unit: Float64[np.ndarray, " score"]

    @classmethod
    def of(
        cls,
        loss: BaseLoss,
        target: Real[np.ndarray, "row *output"],
        weight: Real[np.ndarray, " row"],
        extras: Extras,
        *,
        has_more: bool = False,
    ) -> "ScoreScale":
        """Returns the scale of the scores of a loss: locations move by deviations of the target, all else by 1.

        Args:
            loss: The loss.
            target: The targets of the first rows.
            weight: Their weights.
            extras: The further inputs of the loss, for these rows.
            has_more: Whether other rows follow. Equal targets do not tell how wide a distribution of these is: it
                begins as that of two targets some steps of its location away, and not as that of one number.
        """
        start = np.asarray(loss.start(target, weight, extras), np.float64)
        if has_more and loss.has_location and target.ndim == 1 and np.ptp(target) == 0:
            step = np.array([-SPREAD_OF_EQUAL_TARGETS, SPREAD_OF_EQUAL_TARGETS])
            two = target[:1] + step if loss.domain == NUMBERS else target[:1] * np.exp(step)
            if loss.domain.allows(two).all():
                start = np.asarray(loss.start(two, np.ones(2), {}), np.float64)
        return cls(start, _units(loss, target, weight))

    def scores(self, output: Float[AnyArray, "row output"]) -> Float64[np.ndarray, "row score"]:
        """Returns the scores of outputs."""
        return self.start + self.unit * np.asarray(output, np.float64)

    def outputs(self, scores: Float[np.ndarray, "row score"]) -> Float64[np.ndarray, "row output"]:
        """Returns the outputs of scores."""
        return (scores - self.start) / self.unit

    def rows(self, loss: BaseLoss, target: Real[np.ndarray, "row *output"], extras: Extras) -> ScoredTarget:
        """Returns rows as training takes them, in numbers that 32 bits tell apart.

        Where locations move as targets do, both are counted from the start, in units of the outputs. Targets whose
        means are far from 1, and have logarithms as scores, are divided by a power of two.
        """
        if not loss.moves_with_target:
            factor = self._factor(loss)
            moved = target if np.all(factor == 1) else target / factor
            return ScoredTarget(moved, dict(extras), self.start - np.log(factor), self.unit)
        origin, factor = self._frame(loss, target)
        start, unit = self.start.copy(), self.unit.copy()
        where = slice(1) if loss.has_location else slice(None)
        start[where], unit[where] = (start[where] - origin) / factor, unit[where] / factor
        if loss.has_location:
            start[1:] -= np.log(factor)
        others = dict(extras)
        if "offset" in others:
            offset = np.asarray(others["offset"], np.float64)
            others["offset"] = offset / (unit_of_offset(self.unit, loss) if offset.ndim > 1 else factor)
        return ScoredTarget((target - origin) / factor, others, start, unit)

    def targets(self, loss: BaseLoss, rows: ScoredTarget) -> Real[np.ndarray, "row *output"]:
        """Returns the targets of such rows in their own unit."""
        if not loss.moves_with_target:
            factor = self._factor(loss)
            return rows.target if np.all(factor == 1) else rows.target * factor
        origin, factor = self._frame(loss, rows.target)
        return rows.target * factor + origin

    def _factor(self, loss: BaseLoss) -> Any:
        """The power of two near means that are beyond `FAR`, of several outputs one each; else 1."""
        if not are_logarithms_of_means(loss):
            return 1.0
        exponent = np.round(self.start / math.log(2))
        factor = np.exp2(np.where(np.abs(exponent) > FAR, exponent, 0))
        return factor if len(factor) > 1 else factor[0]

    def _frame(self, loss: BaseLoss, target: Real[np.ndarray, "row *output"]) -> tuple[Any, Any]:
        """The origin and the unit of targets: of several outputs one each."""
        if target.ndim == 2:
            return self.start, self.unit
        return self.start[0] if loss.has_location else self.start.mean(), self.unit[0]


def unit_of_offset(unit: Float64[np.ndarray, " score"], loss: BaseLoss) -> Float64[np.ndarray, " score"]:
    """The units of offsets with a column for every score."""
    return np.where(np.arange(unit.size) < (1 if loss.has_location else unit.size), unit, 1.0)


def _units(
    loss: BaseLoss, target: Real[np.ndarray, "row *output"], weight: Real[np.ndarray, " row"]
) -> Float64[np.ndarray, " score"]:
    """Deviations of the target for scores that are in its unit, 1 for others."""
    units, moves = np.ones(loss.num_scores), are_in_target_unit(loss, target)
    if not moves.any():
        return units
    values = np.asarray(target, np.float64).reshape(len(target), -1)
    mean = np.average(values, axis=0, weights=weight)
    deviation = np.sqrt(np.average(np.square(values - mean), axis=0, weights=weight))
    units[moves] = np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)
    return units
