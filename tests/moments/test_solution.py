"""Local solutions of linear moments, against two-stage least squares of rows, and their influence functions."""

import numpy as np
import pytest

from jaxtree.growth.inputs.moments import LinearMoments
from jaxtree.moments.solution import Exponents, LocalSolution, divided, exponents_of, restored

RNG = np.random.default_rng(5)
NUM_ROWS = 50
KINDS = [LinearMoments(1), LinearMoments(1, True), LinearMoments(3), LinearMoments(2, True, False), LinearMoments(0)]
MOMENTS = [*KINDS, LinearMoments(0, num_outcomes=3)]


def variables(moments, num_rows=NUM_ROWS):
    outcome = RNG.normal(size=(moments.num_outcomes, num_rows)) + 3
    treatment = RNG.normal(size=(moments.num_arms, num_rows)) - 1
    noise = RNG.normal(size=treatment.shape)
    return outcome, treatment, treatment + noise if moments.has_instruments else None


def solved_by_rows(moments, outcome, treatment, instrument, weight):
    """The parameters that make the weighted moments of rows 0."""
    if not moments.num_arms:
        return np.average(outcome, axis=1, weights=weight)
    one = np.ones((1, outcome.shape[1]))
    by = np.concatenate([one, treatment if instrument is None else instrument]) * weight
    return np.linalg.solve(by @ np.concatenate([one, treatment]).T, by @ outcome[0])[1:]


@pytest.mark.parametrize("moments", MOMENTS, ids=str)
def test_the_solution_is_that_of_rows(moments):
    given, weight = variables(moments), RNG.random(NUM_ROWS) + 0.1
    local = LocalSolution(moments)
    sums = moments.statistics(*given, weight).sum(axis=1)
    means = sums[1 : 1 + local.num_columns] / sums[0]
    expected = solved_by_rows(moments, *given, weight)
    np.testing.assert_allclose(local.effects(means[:, None])[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("moments", MOMENTS, ids=str)
def test_the_influence_is_the_derivative_by_means(moments):
    """A step of the means by a part of another tree's moves the solution by its score."""
    local = LocalSolution(moments)

    def means_of(rows):
        sums = moments.statistics(*rows).sum(axis=1)
        return (sums[1 : 1 + local.num_columns] / sums[0])[:, None]

    mean, other = means_of(variables(moments)), means_of(variables(moments))
    coefficients = local.influence(local.solve(mean))[:, :, 0]
    np.testing.assert_allclose(coefficients[:, 0] + coefficients[:, 1:] @ mean[:, 0], 0, atol=1e-9)
    step = 1e-6
    moved = (local.effects(mean + step * (other - mean)) - local.effects(mean))[:, 0] / step
    np.testing.assert_allclose(coefficients[:, 0] + coefficients[:, 1:] @ other[:, 0], moved, rtol=1e-3, atol=1e-4)


def test_a_treatment_that_does_not_vary_has_no_solution():
    moments = LinearMoments(1)
    rows = moments.statistics(RNG.normal(size=(1, 9)), np.full((1, 9), 0.3))
    solution = LocalSolution(moments).solve((rows.sum(axis=1)[1:5] / 9)[:, None])
    assert not solution.is_regular[0]
    assert solution.effect[0][0] == 0


@pytest.mark.parametrize("moments", MOMENTS, ids=str)
def test_sums_of_divided_variables_are_restored(moments):
    outcome, treatment, instrument = variables(moments)
    given = 1e5 * outcome, 1e-4 * treatment, None if instrument is None else 300 * instrument
    whole = moments.statistics(*given).sum(axis=1)
    known = given if instrument is not None else (*given[:2], given[1])
    exponents = Exponents(*map(exponents_of, known))
    scaled = [divided(own, by) for own, by in zip(known, vars(exponents).values(), strict=True)]
    assert all(np.abs(own).max(initial=0) < 1 for own in scaled)
    sums = moments.statistics(*scaled[:2], scaled[2] if moments.has_instruments else None).sum(axis=1)
    np.testing.assert_allclose(restored(sums[None], moments, exponents)[0], whole, rtol=1e-12)
