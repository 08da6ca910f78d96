"""Moment equations of one's own beside solutions that are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.moments.equation import (
    EquationMoment,
    EstimatingEquation,
    check_equation,
    rounded,
    solve_nodes,
    terms_and_jacobians,
)
from jaxtree.moments.moment import NodeRows
from tests.moments.tables import Mean, coded_table, grow, half_samples
from tests.moments.test_growth import assert_same

SIZES = np.array([4, 9, 12])


def mean_of(theta, nu, y):
    return y - theta


def slope_and_level(theta, nu, row):
    residual = row[0] - theta * row[1] - nu
    return residual, residual * row[1]


def expectile(theta, nu, y):
    return jnp.where(y < theta, 0.2, 0.8) * (y - theta)


def rate(theta, nu, y):
    return y - jnp.exp(theta)


def step(theta, nu, y):
    return jnp.where(y < theta, 1.0, 0.0) - 0.5


def three_nodes(seed=0, weighted=True):
    """Entries of three nodes, with weights."""
    rng, number = np.random.default_rng(seed), SIZES.sum()
    weight = rng.integers(1, 4, number) if weighted else np.ones(number)
    row = rng.permutation(40)[:number]
    return NodeRows.of(row, np.repeat(np.arange(3), SIZES), weight, 3)


def test_means_and_slopes_are_those_of_least_squares():
    rng, nodes = np.random.default_rng(1), three_nodes()
    observation = rng.normal(size=(2, 40)) * [[3], [100]]
    means = solve_nodes(EstimatingEquation(mean_of), observation[:1], nodes, np.zeros((3, 1)))
    slopes = solve_nodes(EstimatingEquation(slope_and_level, 1, 1), observation, nodes, np.ones((3, 2)))
    assert means.is_regular.all() and slopes.is_regular.all()
    for node in range(3):
        own = slice(*nodes.first[node : node + 2])
        (y, x), weight = observation[:, nodes.row[own]], nodes.weight[own]
        np.testing.assert_allclose(means.solution[node], np.average(y, weights=weight), rtol=1e-12)
        design = np.column_stack([x, np.ones(len(x))]) * np.sqrt(weight)[:, None]
        np.testing.assert_allclose(slopes.solution[node], np.linalg.lstsq(design, y * np.sqrt(weight))[0], rtol=1e-9)


@pytest.mark.parametrize("psi", [expectile, rate])
def test_terms_add_up_to_nothing_at_a_solution(psi):
    nodes = three_nodes()
    y = np.random.default_rng(2).gamma(2.0, 5.0, (1, 40))
    found = solve_nodes(EstimatingEquation(psi), y, nodes, np.full((3, 1), 2.0))
    assert found.is_regular.all()
    total = np.add.reduceat(found.terms[0] * nodes.weight, nodes.first[:-1])
    np.testing.assert_allclose(total, 0, atol=1e-6)


def test_solutions_do_not_depend_on_the_order_of_entries_nor_on_other_nodes():
    y, nodes, equation = np.random.default_rng(3).gamma(2.0, 5.0, (1, 40)), three_nodes(), EstimatingEquation(rate)
    order = np.concatenate([np.random.default_rng(4).permutation(np.arange(*nodes.first[n : n + 2])) for n in range(3)])
    shuffled = NodeRows.of(nodes.row[order], nodes.node, nodes.weight[order], 3)
    alone = NodeRows.of(*(values[nodes.node == 2] for values in (nodes.row, nodes.node - 2, nodes.weight)), 1)
    start = np.full((3, 1), 2.0)
    found = [solve_nodes(equation, y, own, start[: own.num_nodes]).solution for own in (nodes, shuffled, alone)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0][2:], found[2])


def test_units_of_targets_and_parameters_do_not_make_a_jacobian_singular():
    nodes, observation = three_nodes(), np.random.default_rng(5).normal(size=(2, 40))
    equation = EstimatingEquation(slope_and_level, 1, 1)
    plain = solve_nodes(equation, observation, nodes, np.zeros((3, 2)))
    far = solve_nodes(equation, observation * [[1.0], [2.0**40]], nodes, np.zeros((3, 2)))
    assert plain.is_regular.all() and far.is_regular.all()
    np.testing.assert_allclose(far.solution[:, 0] * 2.0**40, plain.solution[:, 0], rtol=1e-9)
    constant = np.stack([observation[0], np.ones(40)])
    assert not solve_nodes(equation, constant, nodes, np.zeros((3, 2))).is_regular.any()


def test_a_step_has_no_solution_by_newton_and_makes_no_split():
    nodes, y = three_nodes(), np.random.default_rng(6).normal(size=(1, 40))
    assert not solve_nodes(EstimatingEquation(step), y, nodes, np.zeros((3, 1))).is_regular.any()
    table = coded_table(40)
    moment = EquationMoment(EstimatingEquation(step), y, np.zeros(1))
    assert grow(moment, table, half_samples(40, 2)).node_count == 2


def test_the_mean_as_an_equation_grows_the_trees_of_means():
    table, entries = coded_table(60), half_samples(60, 3)
    y = np.random.default_rng(7).integers(0, 50, 60).astype(float)
    own = EquationMoment(EstimatingEquation(mean_of), y[None], np.array([25.0]))
    limits = Limits(min_samples_leaf=2, max_features=2)
    assert_same(*(grow(moment, table, entries, limits, samples_features=True) for moment in (own, Mean(y))))


def test_a_slope_splits_where_slopes_differ():
    table = coded_table(400, 4, 6, 1)
    x = np.random.default_rng(8).normal(size=400)
    y = np.where(table.codes[2] > 2, 3, -1) * x + 0.3 * table.codes[1]
    moment = EquationMoment(EstimatingEquation(slope_and_level, 1, 1), np.stack([y, x]), np.zeros(2))
    tree = grow(moment, table, half_samples(400, 2), Limits(max_depth=1))
    assert tree.feature[:2].tolist() == [2, 2] and tree.code[:2].tolist() == [2, 2]


def test_one_program_serves_nodes_of_a_bucket():
    y, equation = np.random.default_rng(9).normal(size=(1, 40)), EstimatingEquation(mean_of)
    nodes = three_nodes()
    solve_nodes(equation, y, nodes, np.zeros((3, 1)))
    before = terms_and_jacobians.num_programs()
    smaller = NodeRows.of(nodes.row[:4], nodes.node[:4], nodes.weight[:4], 1)
    solve_nodes(equation, y, smaller, np.zeros((1, 1)))
    assert terms_and_jacobians.num_programs() == before


def test_pseudo_outcomes_are_rounded_alike_whatever_other_nodes_there_are():
    outcome, nodes = np.random.default_rng(10).normal(size=(2, SIZES.sum())) * 1e9, three_nodes()
    whole, exponent = rounded(outcome, nodes)
    alone = NodeRows.of(*(values[nodes.node == 1] for values in (nodes.row, nodes.node - 1, nodes.weight)), 1)
    part, own = rounded(outcome[:, nodes.node == 1], alone)
    np.testing.assert_array_equal(whole[:, nodes.node == 1], part)
    assert own[0] == exponent[1] and np.abs(whole).max() <= 1
    np.testing.assert_allclose(np.ldexp(whole, exponent[nodes.node]), outcome, atol=2.0)


@pytest.mark.parametrize("psi", [lambda theta, nu, y: (y, y), lambda theta: theta, lambda theta, nu, y: "none"])
def test_a_function_that_is_no_equation_is_an_error(psi):
    with pytest.raises(InvalidInputError, match="psi"):
        check_equation(EstimatingEquation(psi), np.zeros((1, 3)))
