"""The local solution of a linear moment, from means of statistics that a forest predicts.

A forest predicts the mean over its trees of the means of statistics in the leaf of a row. The *columns* of such means
are the statistics of `LinearMoments` from the outcome on, up to the products that the solution needs.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.arrays import AnyArray, library_of
from jaxtree.growth.inputs.moments import LinearMoments, Solution, solve_sums


@dataclasses.dataclass(frozen=True)
class LocalSolution:
    """Solves a linear moment in means of statistics; static and hashable.

    Attributes:
        moments: The moment.

    Example:
        >>> local = LocalSolution(LinearMoments(num_arms=1))
        >>> local.effects(np.array([[3.0], [0.5], [2.0], [0.5]])).tolist()  # Y, W, WY, WW of a coin W
        [[2.0]]
    """

    moments: LinearMoments

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        places = self.moments.places
        last = max(places.with_treatment[-1]) if self.moments.num_arms else self.moments.num_outcomes
        return last

    @property
    def num_effects(self) -> int:
        """The number of parameters: effects of treatments, or means of outcomes."""
        return self.moments.num_arms or self.moments.num_outcomes

    def solve(self, means: Float[AnyArray, "column row"]) -> Solution:
        """Returns the solution in the means of every row."""
        library = library_of(means)
        one = library.ones_like(means[0])
        return solve_sums(self.moments, lambda channel: means[channel - 1] if channel else one)

    def effects(self, means: Float[AnyArray, "column row"]) -> Float[AnyArray, "effect row"]:
        """Returns the parameters at every row; 0 where the moment has no single solution."""
        solution = self.solve(means)
        found = solution.effect if self.moments.num_arms else solution.outcome
        return library_of(means).stack(found)

    def influence(self, solution: Solution) -> Float64[np.ndarray, "effect channel row"]:
        r"""Returns the coefficients by which the means of a tree add to the parameters at every row.

        Channel 0 is that of the constant 1, and the next ones are the columns. The product with the means of a tree is
        $-\xi^\top V^{-1} \psi$ of its leaf, so that the forest's own means have the product 0, and the variance of the
        mean over trees is that of the parameter (the delta method; Athey, Tibshirani and Wager, 2019, section 4).
        """
        places, arms = self.moments.places, range(self.moments.num_arms)
        num_rows = np.shape(solution.intercept)
        made = np.zeros((self.num_effects, 1 + self.num_columns, *num_rows))
        if not self.moments.num_arms:
            for outcome, mean in enumerate(solution.outcome):
                made[outcome, 1 + outcome], made[outcome, 0] = 1, -mean
            return made
        scores = np.zeros((len(arms), 1 + self.num_columns, *num_rows))
        for arm in arms:
            own, mean = scores[arm], solution.instrument[arm]
            own[places.with_outcome[arm]] += 1
            own[places.instrument[arm]] -= solution.intercept
            own[1] -= mean
            own[0] += mean * solution.intercept
            for other, effect in enumerate(solution.effect):
                own[places.with_treatment[arm][other]] -= effect
                own[places.treatment[other]] += mean * effect
        for effect in arms:
            for arm in arms:
                made[effect] += solution.inverse[effect][arm] * scores[arm]
        return made


def restored(
    sums: Float64[np.ndarray, "node statistic"], moments: LinearMoments, exponents: Any
) -> Float64[np.ndarray, "node statistic"]:
    """Returns sums of statistics of divided variables in the variables' own units.

    Args:
        sums: The sums.
        moments: The moment.
        exponents: The exponents of the powers of two that outcome, treatments and instruments were divided by, see
            `Exponents`.
    """
    powers = np.zeros(moments.num_outputs, np.int64)
    places, arms = moments.places, range(moments.num_arms)
    powers[1 : 1 + moments.num_outcomes] = exponents.outcome
    for arm in arms:
        instrument = exponents.instrument[arm] if moments.has_instruments else exponents.treatment[arm]
        powers[places.treatment[arm]] = exponents.treatment[arm]
        powers[places.instrument[arm]] = instrument
        powers[places.with_outcome[arm]] = instrument + exponents.outcome[0]
        for other in arms:
            powers[places.with_treatment[arm][other]] = instrument + exponents.treatment[other]
        if moments.is_stabilised:
            powers[places.squares[arm]] = 2 * instrument
    return np.ldexp(sums, powers)


@dataclasses.dataclass(frozen=True)
class Exponents:
    """The exponents of powers of two that variables are divided by, so that each is below 1 in size.

    Attributes:
        outcome: One for every outcome.
        treatment: One for every treatment.
        instrument: One for every instrument.
    """

    outcome: tuple[int, ...]
    treatment: tuple[int, ...] = ()
    instrument: tuple[int, ...] = ()


def exponents_of(variables: Float64[np.ndarray, "variable row"]) -> tuple[int, ...]:
    """Returns the exponent of every variable's largest value; 0 where all are 0.

    >>> exponents_of(np.array([[0.3, -5.0], [0.0, 0.0]]))
    (3, 0)
    """
    largest = np.max(np.abs(variables), axis=1, initial=0.0)
    return tuple(int(exponent) for exponent in np.frexp(largest)[1])


def divided(
    variables: Float64[np.ndarray, "variable row"], exponents: tuple[int, ...]
) -> Float64[np.ndarray, "variable row"]:
    """Returns variables over the powers of two of some exponents, one each.

    >>> divided(np.array([[0.5, -6.0]]), (3,)).tolist()
    [[0.0625, -0.75]]
    """
    return np.ldexp(variables, -np.array(exponents, np.int64)[:, None])
