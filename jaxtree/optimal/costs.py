"""Costs of leaves: an objective that adds up over leaves, in whole numbers.

A row adds its *values* to the sums of its label: its weight, then its weighted targets, then 1 if rows are counted
apart from weights. Sums are exact, and a cost is rounded to a whole number of units once for every leaf, so that costs
of trees are exact sums, too: trees that are equally good compare as equal, in any order of work.
"""

import dataclasses
import math
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64, Int, Int32, Int64, Real

from jaxtree.arrays import AnyArray, library_of, safe_divide

BITS_OF_SUMS = 50
"""Weights and targets are rounded so that their sums have this many bits: float64 holds them."""

BITS_OF_COSTS = 44
"""Costs that are not whole numbers of weight are rounded to a fraction 2**-44 of the largest term in them."""

BITS_OF_LOSSES = 52
"""The bits of products of losses with sums of weights: float64 adds a penalty to them exactly."""

FEWEST_BITS_OF_LOSSES = 24
"""Bits of losses where neither these nor weights are multiples of a unit."""

MOST_MULTIPLES = 2**20
"""The largest multiple of a unit that numbers are written as."""

MOST_DIFFERENT = 64
"""The most different numbers for which a unit is looked for."""

FORBIDDEN = 2**58
"""The cost of a leaf with too few rows; 16 of them do not overflow."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LeafCost:
    """The cost of a leaf, given its sums.

    Attributes:
        loss: The cost of every predicted class, a row for every true one; only of "cost".
        scale: Units of cost for one of the formula's own, a power of two.
        mean: The mean of every target in units of sums, for "poisson".
        least_rows: The least number of rows of a leaf.
        formula: "cost", "gini", "entropy", "squared_error", "poisson" or "regret".
        num_labels: The number of classes, or 1.
        num_targets: The number of targets, or of actions.
        counts_rows: Whether the last value of a row is 1, or else its weight is.
        is_by_label: Whether a wrong prediction costs what its true class says, whichever class is predicted.
    """

    loss: Int64[AnyArray, "label prediction"]
    scale: Float64[AnyArray, ""]
    mean: Float64[AnyArray, " target"]
    least_rows: Int[AnyArray, ""]
    formula: str = dataclasses.field(metadata={"static": True})
    num_labels: int = dataclasses.field(metadata={"static": True})
    num_targets: int = dataclasses.field(metadata={"static": True})
    counts_rows: bool = dataclasses.field(metadata={"static": True})
    is_by_label: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def predicts_numbers(self) -> bool:
        """Whether leaves predict numbers, in place of a class or an action."""
        return self.num_targets > 0 and self.formula != "regret"

    @property
    def adds_up(self) -> bool:
        """Whether a row costs what its leaf predicts, so that it costs no less in a leaf of fewer rows' choice."""
        return self.formula in ("cost", "regret")

    @property
    def num_predictions(self) -> int:
        """The number of classes or actions that a leaf may choose, where `adds_up`."""
        return self.loss.shape[1] if self.formula == "cost" else self.num_targets

    @property
    def num_values(self) -> int:
        """The number of values of a row."""
        return 1 + self.num_targets + self.counts_rows

    @property
    def num_channels(self) -> int:
        """The number of sums of a leaf: the values of every label."""
        return self.num_labels * self.num_values

    @property
    def num_terms(self) -> int:
        """The number of terms in the cost of a leaf: one a sum, or with a matrix of losses one a pair of classes."""
        return self.loss.size if self.formula == "cost" and not self.is_by_label else self.num_channels

    def __call__(self, sums: Int64[AnyArray, "channel *leaf"]) -> Int64[AnyArray, "*leaf"]:
        """Returns the cost of every leaf in units; 0 of one without rows. 64-bit types must be enabled.

        Sums in NumPy's arrays give costs in such, of formulas without logarithms: JAX would call a program for every
        step.
        """
        xp = jnp if self.formula in _WITH_LOGARITHMS else library_of(sums)
        sums = xp.asarray(sums).reshape(self.num_labels, self.num_values, *sums.shape[1:])
        rows = sums[:, -1 if self.counts_rows else 0].sum(axis=0)
        cost = _FORMULAS[self.formula](self, sums[:, 0], sums[0, 1 : 1 + self.num_targets])
        return xp.where(rows == 0, 0, xp.where(rows < self.least_rows, FORBIDDEN, cost))

    def rounded(self, cost: Float64[AnyArray, "*leaf"] | np.float64) -> Int64[AnyArray, "*leaf"]:
        """Returns costs of the formula's own unit in whole units."""
        xp = library_of(cost)
        return xp.asarray(xp.round(cost * self.scale).astype(np.int64))


def _lost(cost: LeafCost, weight, target):
    """The loss of the best prediction."""
    loss, shape = cost.loss, weight.shape[1:]
    if cost.is_by_label:
        lost = weight * loss.max(axis=1).reshape(-1, *(1,) * len(shape))
        return lost.sum(axis=0) - lost.max(axis=0)
    if library_of(weight) is np:
        return (np.asarray(loss).T @ weight.reshape(cost.num_labels, -1)).min(axis=0).reshape(shape)
    # Accelerators have no product of matrices of 64-bit integers.
    return (weight[:, None] * loss.reshape(*loss.shape, *(1,) * len(shape))).sum(axis=0).min(axis=0)


def _gini(cost: LeafCost, weight, target):
    weight = weight.astype(jnp.float64)
    total = weight.sum(axis=0)
    return cost.rounded(total - safe_divide((weight * weight).sum(axis=0), total))


def _entropy(cost: LeafCost, weight, target):
    weight = weight.astype(jnp.float64)
    log = lambda x: x * jnp.log2(jnp.where(x > 0, x, 1))  # noqa: E731
    return cost.rounded(log(weight.sum(axis=0)) - log(weight).sum(axis=0))


def _squared_error(cost: LeafCost, weight, target):
    """Returns the squared errors of leaves, less the squared targets, which are the same in every tree."""
    target = target.astype(jnp.float64)
    return cost.rounded(-safe_divide((target * target).sum(axis=0), weight[0].astype(jnp.float64)))


def _poisson(cost: LeafCost, weight, target):
    """Half the deviance from the mean of the leaf, less half that from the mean of all rows."""
    target, mean = target.astype(jnp.float64), cost.mean.reshape(-1, *(1,) * (target.ndim - 1))
    ratio = safe_divide(target, weight[0].astype(jnp.float64) * mean)
    terms = target * jnp.log(jnp.where(ratio > 0, ratio, 1))
    # A mean of 0 is no Poisson distribution's.
    return jnp.where((target > 0).all(axis=0), cost.rounded(-terms.sum(axis=0)), FORBIDDEN)


def _regret(cost: LeafCost, weight, target):
    """The regret of the best action."""
    return target.min(axis=0)


_FORMULAS = {
    "cost": _lost, "gini": _gini, "entropy": _entropy, "squared_error": _squared_error, "poisson": _poisson,
    "regret": _regret,
}  # fmt: skip

_WITH_LOGARITHMS = ("entropy", "poisson")
"""Formulas whose last bits depend on the library."""


class RowValues(NamedTuple):
    """The addition of every row to sums.

    Attributes:
        label: The class of every row; 0 for numbers.
        value: The values that it adds to the sums of that class.
    """

    label: Int32[np.ndarray, " row"]
    value: Int64[np.ndarray, "value row"]


class CostedTarget(NamedTuple):
    """A target with an objective, in whole numbers.

    Attributes:
        cost: The cost of a leaf.
        values: The contribution of every row to sums.
        unit: The unit of costs in that of the objective.
        weight: The weight of every row.
        moment: The contribution of every row to the objective that does not depend on the tree.
        weighted: The target of every row, times its weight; of rewards the regret of every action; empty for classes.
        loss: The losses before they became whole numbers; only of "cost".
    """

    cost: LeafCost
    values: RowValues
    unit: float
    weight: Float64[np.ndarray, " row"]
    moment: Float64[np.ndarray, " row"]
    weighted: Float64[np.ndarray, "target row"]
    loss: Float64[np.ndarray, "label prediction"]

    def sums(self, rows: Int[np.ndarray, " some_row"]) -> Int64[np.ndarray, " channel"]:
        """Returns the sums over some rows."""
        cost, label = self.cost, self.values.label[rows]
        sums = np.zeros((cost.num_labels, cost.num_values), np.int64)
        for number, value in enumerate(self.values.value[:, rows]):
            np.add.at(sums[:, number], label, value)
        return sums.reshape(-1)

    def weight_of_labels(self, rows: Int[np.ndarray, " some_row"]) -> Float64[np.ndarray, " label"]:
        """Returns the weight of some rows of every label, the same for rows in any order.

        The weight of an action is what it gains beside the worst one of every row; 1 of each if all are equal.
        """
        if self.cost.formula == "regret":
            regret = self.weighted[:, rows]
            gains = np.array([math.fsum(own) for own in regret.max(axis=0, initial=0.0) - regret])
            return np.maximum(gains, gains.max(initial=0.0) == 0)
        label, weight = self.values.label[rows], self.weight[rows]
        return np.array([math.fsum(weight[label == number]) for number in range(self.cost.num_labels)])

    @property
    def row_costs(self) -> Int64[np.ndarray, "row prediction"]:
        """The cost of every row with every prediction, where `LeafCost.adds_up`."""
        if self.cost.formula == "regret":
            return np.ascontiguousarray(self.values.value[1 : 1 + self.cost.num_targets].T)
        return self.values.value[0][:, None] * np.asarray(self.cost.loss)[self.values.label]

    @property
    def whole_weight(self) -> Int64[np.ndarray, " row"]:
        """The weight of every row as a whole number of one unit: sums are the same for rows in any order."""
        return whole_weights(self.weight, self.weight.size)[0]

    @property
    def free_cost(self) -> LeafCost:
        """The cost of a leaf of any number of rows."""
        return dataclasses.replace(self.cost, least_rows=np.array(0))

    def risk(self, rows: Int[np.ndarray, " some_row"]) -> float:
        """Returns the cost of some rows as one leaf, in units of the objective."""
        if self.cost.formula == "cost":
            return float((self.weight_of_labels(rows) @ self.loss).min())
        if self.cost.formula == "regret":
            return min(math.fsum(own) for own in self.weighted[:, rows])
        with jax.enable_x64(True):
            cost = int(self.free_cost(self.sums(rows)))
        is_impossible = cost >= FORBIDDEN
        return math.fsum(self.moment[rows]) + (0.0 if is_impossible else self.unit * cost)


def cost_of_classes(
    label: Int[np.ndarray, " row"],
    num_classes: int,
    weight: Float64[np.ndarray, " row"] | None,
    criterion: str = "misclassification",
    loss: Real[np.ndarray, "label prediction"] | None = None,
    least_rows: int = 1,
) -> CostedTarget:
    """Returns the cost of leaves that predict classes.

    Args:
        label: The class of every row.
        num_classes: The number of classes.
        weight: The weight of every row; None is 1.
        criterion: "misclassification", which with `loss` is the least loss, "gini" or "entropy"; times weight.
        loss: The cost of predicting a class (columns) where another (rows) is true; None is 1 for every error.
        least_rows: The least number of rows of a leaf.
    """
    real = np.ones(label.size) if weight is None else weight
    of_errors = criterion == "misclassification"
    if of_errors:
        real_loss = 1 - np.eye(num_classes) if loss is None else np.asarray(loss, np.float64)
        whole, whole_loss, unit = _whole_losses(label, weight, real_loss)
    else:
        whole, unit = whole_weights(weight, label.size)
        real_loss, whole_loss = np.zeros((0, 0)), 1 - np.eye(num_classes, dtype=np.int64)
    scale = 1.0
    if not of_errors:
        scale = _scale_for(
            float(whole.sum()) * (max(math.log2(max(whole.sum(), 2)), 1) if criterion == "entropy" else 1)
        )
    counts = _counts_rows(weight, least_rows)
    value = np.stack([whole, np.ones_like(whole)]) if counts else whole[None]
    formula = "cost" if of_errors else criterion
    by_label = np.array_equal(whole_loss, whole_loss.max(axis=1, keepdims=True) * (1 - np.eye(num_classes, dtype=int)))
    cost = LeafCost(
        whole_loss, np.array(scale), np.zeros(0), np.array(least_rows), formula, num_classes, 0, counts, by_label
    )
    values = RowValues(label.astype(np.int32), value)
    nothing = np.zeros((0, label.size))
    return CostedTarget(cost, values, unit / scale, real, np.zeros(label.size), nothing, real_loss)


def cost_of_numbers(
    target: Real[np.ndarray, "target row"],
    weight: Float64[np.ndarray, " row"] | None,
    criterion: str = "squared_error",
    least_rows: int = 1,
) -> CostedTarget:
    """Returns the cost of leaves that predict numbers: times weight, the mean over targets.

    Args:
        target: The targets.
        weight: The weight of every row; None is 1.
        criterion: "squared_error", or "poisson" for half the deviance.
        least_rows: The least number of rows of a leaf.
    """
    real = np.ones(target.shape[1]) if weight is None else weight
    whole, unit = whole_weights(weight, target.shape[1])
    total, num_targets = math.fsum(real), len(target)
    mean = np.array([math.fsum(real * own) / total for own in target])
    moved = target - _few_bits(mean, target) if criterion == "squared_error" else target.astype(np.float64)
    exact, target_unit = _whole(real * moved)
    if criterion == "squared_error":
        moment = (real * moved * moved).sum(axis=0)
        scale, own_unit = _scale_for(math.fsum(moment) * unit / target_unit**2), target_unit**2 / unit
    else:
        moment = (real * moved * np.log(np.where(moved > 0, moved, 1) / mean[:, None])).sum(axis=0)
        largest = math.fsum((real * moved).sum(axis=0)) * max(math.log(target.shape[1]), 1)
        scale, own_unit = _scale_for(largest / target_unit), target_unit
    counts = _counts_rows(weight, least_rows)
    value = np.concatenate([whole[None], exact, np.ones((int(counts), whole.size), np.int64)])
    middle = mean * unit / target_unit
    cost = LeafCost(
        np.zeros((1, 1), np.int64), np.array(scale), middle, np.array(least_rows), criterion, 1, num_targets, counts
    )
    values = RowValues(np.zeros(whole.size, np.int32), value)
    unit = own_unit / scale / num_targets
    return CostedTarget(cost, values, unit, real, moment / num_targets, real * target, np.zeros((0, 0)))


def cost_of_rewards(
    reward: Real[np.ndarray, "action row"], weight: Float64[np.ndarray, " row"] | None, least_rows: int = 1
) -> CostedTarget:
    """Returns the cost of leaves that choose actions: by how much the best action of every row has a greater reward.

    A constant that is added to all rewards of a row changes nothing.

    Args:
        reward: The reward of every action in every row.
        weight: The weight of every row; None is 1.
        least_rows: The least number of rows of a leaf.
    """
    real = np.ones(reward.shape[1]) if weight is None else weight
    regret = real * (reward.max(axis=0) - reward)
    whole, unit = _whole(regret)
    value = np.concatenate([np.ones((1, real.size), np.int64), whole])
    cost = LeafCost(
        np.zeros((1, 1), np.int64), np.array(1.0), np.zeros(0), np.array(least_rows), "regret", 1, len(reward), False
    )
    values = RowValues(np.zeros(real.size, np.int32), value)
    return CostedTarget(cost, values, unit, real, np.zeros(real.size), regret, np.zeros((0, 0)))


def _few_bits(mean: Float64[np.ndarray, " target"], target: Real[np.ndarray, "target row"]):
    """Means to 8 bits of the targets' range: targets of few digits stay so when these are subtracted."""
    grain = 2.0 ** (np.frexp(np.ptp(target, axis=1))[1] - 8)
    return (np.round(mean / grain) * grain)[:, None]


def whole_weights(weight: Float64[np.ndarray, " row"] | None, num_rows: int) -> tuple[Int64[np.ndarray, " row"], float]:
    """Returns weights as whole numbers, never 0, and their unit."""
    if weight is None:
        return np.ones(num_rows, np.int64), 1.0
    if np.all(weight == np.floor(weight)) and weight.sum() < 2.0**31:
        return weight.astype(np.int64), 1.0
    whole, unit = _whole(weight)
    return np.maximum(whole, weight > 0), unit


def _whole(
    values: Float64[np.ndarray, "*shape"], bits: int = BITS_OF_SUMS
) -> tuple[Int64[np.ndarray, "*shape"], float]:
    """Returns values as whole numbers of a unit, whose sum over all has `bits` bits at most, and the unit."""
    largest = float(np.max(np.abs(values), initial=0.0))
    unit = 2.0 ** (math.frexp(largest)[1] + values.shape[-1].bit_length() - bits)
    return np.round(values / unit).astype(np.int64), unit


def _whole_losses(
    label, weight, loss
) -> tuple[Int64[np.ndarray, " row"], Int64[np.ndarray, "label prediction"], float]:
    """Weights and losses as whole numbers, and the unit of their products.

    Where the weights of every class are multiples of a unit of its own, as those of `class_weight` are, this becomes a
    factor of its losses; otherwise weights have the bits that losses leave them.
    """
    if weight is None or (np.all(weight == np.floor(weight)) and weight.sum() < 2.0**31):
        whole, units = whole_weights(weight, label.size)[0], np.ones(len(loss))
    else:
        found = [_common_unit(weight[label == number]) for number in range(len(loss))]
        if all(found):
            units = np.array(found)
            whole = np.round(weight / units[label]).astype(np.int64)
        else:
            bits = max(_largest_multiple(loss).bit_length(), 1)
            whole, unit = _whole(weight, min(BITS_OF_SUMS, BITS_OF_LOSSES - bits))
            whole, units = np.maximum(whole, weight > 0), np.full(len(loss), unit)
    lost = loss * units[:, None]
    largest, total = float(lost.max(initial=0.0)), int(whole.sum())
    unit = _common_unit(lost) or 0.0
    if not unit or largest / unit * total >= 2.0**BITS_OF_LOSSES:
        unit = 2.0 ** (math.frexp(largest)[1] - BITS_OF_LOSSES + total.bit_length())
    return whole, np.round(lost / unit).astype(np.int64), unit


def _largest_multiple(loss: Float64[np.ndarray, "label prediction"]) -> int:
    """The largest loss in units that all are multiples of, or of the bits that others have."""
    unit = _common_unit(loss)
    return round(float(loss.max(initial=0.0)) / unit) if unit else 2**FEWEST_BITS_OF_LOSSES - 1


def _common_unit(values: Float64[np.ndarray, "*shape"]) -> float | None:
    """A number of which some numbers, 0 or more, are small multiples but for rounding; None if there is none."""
    if np.all(values == np.floor(values)) and values.max(initial=0.0) <= MOST_MULTIPLES:
        return 1.0
    different = np.unique(values[values > 0])
    if different.size > MOST_DIFFERENT:
        return None
    ratios = [Fraction(own / different[0]).limit_denominator(MOST_MULTIPLES) for own in different.tolist()]
    unit = float(different[0]) / math.lcm(*(own.denominator for own in ratios))
    multiples = np.round(different / unit)
    is_exact = np.all(np.abs(multiples * unit - different) <= 4 * np.spacing(different))
    return unit if is_exact and multiples[-1] <= MOST_MULTIPLES else None


def _scale_for(largest: float) -> float:
    """The power of two that makes terms of this size whole numbers of `BITS_OF_COSTS` bits."""
    return 2.0 ** (BITS_OF_COSTS - math.frexp(largest)[1])


def _counts_rows(weight, least_rows: int) -> bool:
    return weight is not None and least_rows > 1
