r"""The objective of forests that solve a moment equation which is linear in its parameters, by sums of a branch alone.

The *treatments* $W$ of a row are the variables whose effect on the *outcome* $Y$ is estimated, its *instruments* $Z$
those by which it is identified: the treatments themselves, unless others are given. At a node the effect $\theta$
solves $\sum_i (Z_i - \bar Z)(Y_i - \bar Y - \theta^\top (W_i - \bar W)) = 0$. The *pseudo-outcomes* of its rows are the
terms of that sum, for several treatments times the inverse of $\sum_i (Z_i - \bar Z)(W_i - \bar W)^\top$; a split gains
$\sum_b \rho_b^2 / w_b$, where $\rho_b$ is their sum in branch b (Athey, Tibshirani and Wager, *Generalized random
forests*, Annals of Statistics 47, 2019, section 2.3). They are polynomials of the row with coefficients of the node, so
that their sums follow from sums of Y, W, Z and of their products, which no node has to make anew.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int, Real

from jaxtree.arrays import AnyArray, FloatLike, library_of, safe_divide
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.objective import EntryWeights, NodeResult, Objective, ParentStats, Quantised, Units
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices

SINGULAR = 1e-10
"""Share of the products' size below which their centred sum, or a pivot of a matrix of such, counts as 0."""


class MomentLimits(NamedTuple):
    """The parameters of `LinearMoments`, in the order of `Limits.parameters`; numbers, or arrays.

    Attributes:
        alpha: The least share of a node that a branch has: of the variation of its instruments, if splits are
            stabilised, else of its weight.
        imbalance_penalty: Taken from the gain of a split for each branch, over the branch's variation or weight.
        arm_rows: The least number of a branch's rows whose instrument is above 0, and of the others; of stabilised
            splits.
        rows: The least number of a branch's rows; of stabilised splits.
    """

    alpha: FloatLike = 0.05
    imbalance_penalty: FloatLike = 0.0
    arm_rows: FloatLike = 0.0
    rows: FloatLike = 0.0


@dataclasses.dataclass(frozen=True)
class LinearMoments(Objective):
    r"""Moments that are linear in their parameters: regression, effects of treatments, instruments.

    The targets of a row are its statistics, see `statistics`: its weight, and sums of powers and products with it.
    `Limits.parameters` are `MomentLimits`. Without treatments the parameters are the means of `num_outcomes` outcomes.
    A node in which the moment has no single solution is not split.

    Attributes:
        num_arms: The number of treatments.
        has_instruments: Whether each treatment has an instrument that is not the treatment.
        is_stabilised: Whether `MomentLimits` are of the variation of instruments, and of the rows of arms.
        num_outcomes: The number of outcomes; one with treatments.

    Example:
        >>> moments = LinearMoments(num_arms=1)
        >>> moments.statistics(np.array([[2.0, 4.0]]), np.array([[1.0, -1.0]])).tolist()  # w, Y, W, WY, WW, W > 0, 1
        [[1.0, 1.0], [2.0, 4.0], [1.0, -1.0], [2.0, -4.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """

    num_arms: int = 0
    has_instruments: bool = False
    is_stabilised: bool = True
    num_outcomes: int = 1
    compares_targets = False

    def __post_init__(self) -> None:
        """Checks that there is one outcome, or no treatment."""
        if self.num_arms < 0 or self.num_outcomes < 1 or (self.num_arms and self.num_outcomes > 1):
            raise InvalidInputError(
                f"treatments have one outcome, got {self.num_arms} treatments and {self.num_outcomes} outcomes"
            )

    # The channels

    @property
    def places(self) -> "Channels":
        """The channels of the statistics."""
        arms, first = self.num_arms, 1 + self.num_outcomes
        treatment = range(first, first + arms)
        instrument = range(first + arms, first + 2 * arms) if self.has_instruments else treatment
        at = itertools.count(instrument.stop)
        with_outcome = [next(at) for _ in range(arms)]
        cells = {}
        for row, column in itertools.product(range(arms), range(arms)):
            is_known = not self.has_instruments and row > column
            cells[row, column] = cells[column, row] if is_known else next(at)
        with_treatment = [[cells[row, column] for column in range(arms)] for row in range(arms)]
        squares = [with_treatment[arm][arm] for arm in range(arms)]
        above, rows = [], 0
        if self.counts_arms:
            if self.has_instruments:
                squares = [next(at) for _ in range(arms)]
            above, rows = [next(at) for _ in range(arms)], next(at)
        return Channels(treatment, instrument, with_outcome, with_treatment, squares, above, rows, next(at))

    @property
    def counts_arms(self) -> bool:
        """Whether limits are of the variation of instruments, and of the rows of arms."""
        return self.is_stabilised and self.num_arms > 0

    @property
    def num_outputs(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of statistics of a row."""
        return self.places.number

    @property
    def num_channels(self) -> int:
        """One channel for every statistic."""
        return self.num_outputs

    def statistics(
        self,
        outcome: Float64[np.ndarray, "outcome row"],
        treatment: Float64[np.ndarray, "arm row"] | None = None,
        instrument: Float64[np.ndarray, "arm row"] | None = None,
        weight: Float64[np.ndarray, " row"] | None = None,
    ) -> Float64[np.ndarray, "statistic row"]:
        """Returns the statistics of rows, which are the targets of a growth."""
        num_rows, places = outcome.shape[1], self.places
        treatment = np.zeros((0, num_rows)) if treatment is None else treatment
        instrument = treatment if instrument is None else instrument
        weight = np.ones(num_rows) if weight is None else weight
        rows = np.empty((places.number, num_rows))
        rows[0], rows[1 : 1 + self.num_outcomes] = weight, weight * outcome
        for arm in range(self.num_arms):
            rows[places.treatment[arm]] = weight * treatment[arm]
            rows[places.instrument[arm]] = weight * instrument[arm]
            rows[places.with_outcome[arm]] = weight * instrument[arm] * outcome[0]
            for other in range(self.num_arms):
                rows[places.with_treatment[arm][other]] = weight * instrument[arm] * treatment[other]
            if self.is_stabilised:
                rows[places.squares[arm]] = weight * instrument[arm] ** 2
                rows[places.above[arm]], rows[places.rows] = instrument[arm] > 0, 1
        return rows

    def check_parameters(self, shape: tuple[int, ...], values: np.ndarray | None) -> None:
        """Raises InvalidInputError if parameters are no `MomentLimits`."""
        if shape[-1] != len(MomentLimits._fields):
            raise InvalidInputError(
                f"parameters must be the {len(MomentLimits._fields)} numbers of MomentLimits, got {shape[-1]}"
            )
        if values is not None and not np.all((values >= 0) & np.isfinite(values)):
            raise InvalidInputError(f"parameters must be finite numbers of at least 0, got {values}")

    def quantise(self, target: Real[AnyArray, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Converts the statistics of entries of positive weight, which have their weights already, in one unit."""
        library = library_of(target, weights.real)
        values = library.where(weights.real > 0, target, 0.0)
        unit = unit_of(weights.num_terms, devices.greatest(exponent(values)))
        none = library.zeros(0, np.float64)
        units = Units(unit, unit, library.float64(1), none, is_scaled=True)
        label = library.zeros((0, target.shape[1]), np.int32)
        return Quantised(label, to_fixed_point(values, unit), units)

    # Values of sums

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """Minus the squared sums of pseudo-outcomes over the weight; infinite of branches that are too small."""
        library, limits, places = library_of(sums), MomentLimits(*parent.parameters), self.places
        of = self._reader(sums, units)
        solution = self.solve(parent.sums, units)
        weight, outcomes = of(0), self._pseudo_outcomes(of, solution)
        inverse = safe_divide(library.ones_like(weight), weight)
        explained = outcomes[0] * outcomes[0]
        for outcome in outcomes[1:]:
            explained = explained + outcome * outcome
        risk = -(explained * inverse)
        whole, is_allowed = self._reader(parent.sums, units), solution.is_regular
        if not self.counts_arms:
            is_allowed &= weight >= limits.alpha * whole(0)
            return library.where(is_allowed, risk + safe_divide(limits.imbalance_penalty, weight), library.inf)
        rows = of(places.rows)
        is_allowed &= rows >= limits.rows
        for arm in range(self.num_arms):
            size = _variation(of, places, arm)
            is_allowed &= size >= limits.alpha * _variation(whole, places, arm)
            above = of(places.above[arm])
            is_allowed &= (above >= limits.arm_rows) & (rows - above >= limits.arm_rows)
            risk = risk + safe_divide(limits.imbalance_penalty, size)
        return library.where(is_allowed, risk, library.inf)

    def solve(self, sums: Int[AnyArray, "channel *p"], units: Units) -> "Solution":
        """Returns the solution of the moment in sums, and the coefficients of pseudo-outcomes."""
        of = self._reader(sums, units)
        return solve_sums(self, of)

    def _reader(self, sums: Int[AnyArray, "channel *p"], units: Units) -> Any:
        return lambda channel: sums[channel].astype(np.float64) * units.target

    def _pseudo_outcomes(self, of: Any, solution: "Solution") -> list[Any]:
        """The sums of pseudo-outcomes of branches, of a node with a solution."""
        weight, places = of(0), self.places
        if not self.num_arms:
            return [of(1 + number) - mean * weight for number, mean in enumerate(solution.outcome)]
        residual = of(1)
        for effect, channel in zip(solution.effect, places.treatment, strict=True):
            residual = residual - effect * of(channel)
        residual = residual - solution.intercept * weight
        scores = []
        for arm in range(self.num_arms):
            own = of(places.with_outcome[arm])
            for effect, channel in zip(solution.effect, places.with_treatment[arm], strict=True):
                own = own - effect * of(channel)
            own = own - solution.intercept * of(places.instrument[arm])
            scores.append(own - solution.instrument[arm] * residual)
        if self.num_arms == 1:
            return scores
        return [_product(row, scores) for row in solution.inverse]

    def monotone_value(
        self, sums: Int[Array, "channel candidate"], parameters: Float[Array, "parameter *candidate"], units: Units
    ) -> Float[Array, " candidate"]:
        """The effect of the first treatment, or the mean of the first outcome."""
        solution = self.solve(sums, units)
        return (solution.effect if self.num_arms else solution.outcome)[0]

    def category_orders(self, sums: Int[Array, "channel bin"]) -> Float[Array, "order bin"]:
        """The sums of pseudo-outcomes of every category, in a unit of their own."""
        one = np.float64(1)
        units = Units(one, one, one, np.zeros(0), is_scaled=True)
        library = library_of(sums)
        total = library.sum(sums, axis=1, dtype=sums.dtype)
        return library.stack(self._pseudo_outcomes(self._reader(sums, units), self.solve(total, units)))

    def is_mixed(self, sums: Int[AnyArray, "node channel"], slack: Any) -> Bool[AnyArray, " node"]:
        """True: sums do not tell whether pseudo-outcomes differ."""
        return sums[:, 0] > 0

    # Values of a node

    def node_result(
        self, sums: Int[AnyArray, "node channel"], parameters: Float[AnyArray, "node parameter"], units: Units
    ) -> NodeResult:
        """The statistics of every node."""
        library, num_nodes = library_of(sums), len(sums)
        target_sum = sums[:, : self.num_channels].astype(np.float64) * units.target
        return NodeResult(library.zeros(num_nodes), library.zeros((num_nodes, 0)), target_sum)


class Channels(NamedTuple):
    """The channels of statistics; the first has the weight, the next ones the outcomes.

    Attributes:
        treatment: The channel of every treatment.
        instrument: The channel of every instrument.
        with_outcome: The channels of products of instruments and outcome.
        with_treatment: The channels of products of every instrument and every treatment.
        squares: The channels of squared instruments.
        above: The channels that count rows whose instrument is above 0.
        rows: The channel that counts all rows, where those are counted.
        number: The number of channels.
    """

    treatment: Sequence[int]
    instrument: Sequence[int]
    with_outcome: Sequence[int]
    with_treatment: Sequence[Sequence[int]]
    squares: Sequence[int]
    above: Sequence[int]
    rows: int
    number: int


class Solution(NamedTuple):
    """The solution of a linear moment in sums of statistics; every field has the shape of a channel.

    Attributes:
        effect: The effect of every treatment.
        intercept: The mean outcome less that of the treatments times their effects.
        outcome: The mean of every outcome.
        instrument: The mean of every instrument.
        inverse: The inverse of the centred products of instruments and treatments, line by line.
        is_regular: Whether there is one solution.
    """

    effect: list[Any]
    intercept: Any
    outcome: list[Any]
    instrument: list[Any]
    inverse: list[list[Any]]
    is_regular: Any


def solve_sums(moments: LinearMoments, of: Any) -> Solution:
    """Returns the solution of a moment.

    Args:
        moments: The moment.
        of: A function from a channel to its sums, or to its means.
    """
    places, arms, weight = moments.places, range(moments.num_arms), of(0)
    outcome = [safe_divide(of(1 + number), weight) for number in range(moments.num_outcomes)]
    instrument = [safe_divide(of(channel), weight) for channel in places.instrument]
    products = [
        [of(places.with_treatment[row][column]) - instrument[row] * of(places.treatment[column]) for column in arms]
        for row in arms
    ]
    sizes = [
        abs(of(places.with_treatment[arm][arm])) + abs(instrument[arm] * of(places.treatment[arm])) for arm in arms
    ]
    inverse, is_regular = _inverse(products, sizes, weight)
    scores = [of(places.with_outcome[arm]) - instrument[arm] * of(1) for arm in arms]
    effect = [_product(row, scores) for row in inverse]
    intercept = outcome[0]
    for own, channel in zip(effect, places.treatment, strict=True):
        intercept = intercept - own * safe_divide(of(channel), weight)
    return Solution(effect, intercept, outcome, instrument, inverse, is_regular)


def _variation(of: Any, places: Channels, arm: int) -> Any:
    """The centred sum of squares of an instrument."""
    total, weight = of(places.instrument[arm]), of(0)
    return of(places.squares[arm]) - total * total * safe_divide(weight * 0 + 1, weight)


def _product(row: Sequence[Any], column: Sequence[Any]) -> Any:
    total = row[0] * column[0]
    for first, second in zip(row[1:], column[1:], strict=True):
        total = total + first * second
    return total


def _inverse(matrix: list[list[Any]], sizes: list[Any], weight: Any) -> tuple[list[list[Any]], Any]:
    """Returns the inverse of a small matrix, elementwise for all of its arrays, and whether there is one.

    It eliminates column by column (Gauss and Jordan) with the pivots of the diagonal, which are positive of a matrix of
    centred squares; 0 in place of what a pivot that is too small would divide.
    """
    library, size = library_of(weight), len(matrix)
    one, is_regular = weight * 0 + 1, weight > 0
    left = [list(row) for row in matrix]
    right = [[one if row == column else one * 0 for column in range(size)] for row in range(size)]
    for pivot in range(size):
        value = left[pivot][pivot]
        is_enough = abs(value) > SINGULAR * sizes[pivot]
        is_regular &= is_enough
        factor = library.where(is_enough, 1 / library.where(is_enough, value, 1.0), 0.0)
        left[pivot] = [cell * factor for cell in left[pivot]]
        right[pivot] = [cell * factor for cell in right[pivot]]
        for row in range(size):
            if row == pivot:
                continue
            times = left[row][pivot]
            left[row] = [cell - times * own for cell, own in zip(left[row], left[pivot], strict=True)]
            right[row] = [cell - times * own for cell, own in zip(right[row], right[pivot], strict=True)]
    return right, is_regular
