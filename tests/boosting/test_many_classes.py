"""Programs of many classes: those of 40 and of 80 have as many equations, so compilation does not grow with them."""

import jax
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxtree.arrays import MOST_WRITTEN_OUT, sum_in_order
from jaxtree.boosting import boost, quantiles, softmax
from jaxtree.boosting.batch import BatchPlan, Member, blank_states, rates_of
from jaxtree.boosting.booster import Shrinkage, open_boosting
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.rounds import make_round
from jaxtree.growth import Limits
from jaxtree.growth.inputs.bundles import Sizes
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Units, parent_stats
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.kernels import choose

FEW, MANY = MOST_WRITTEN_OUT + 8, 2 * MOST_WRITTEN_OUT + 16
LOSSES = {"softmax": softmax, "quantiles": lambda number: quantiles(np.linspace(0.1, 0.9, number).tolist())}


def equations(jaxpr):
    """The number of equations of a program and of all programs in it."""
    inner = (
        part.jaxpr if isinstance(part, ClosedJaxpr) else part
        for equation in jaxpr.eqns
        for value in equation.params.values()
        for part in jax.tree.leaves(value, is_leaf=lambda own: isinstance(own, ClosedJaxpr | Jaxpr))
        if isinstance(part, ClosedJaxpr | Jaxpr)
    )
    return len(jaxpr.eqns) + sum(map(equations, inner))


def rows_of(number):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 16, (4, 200)).astype(np.uint8)
    return ScoredRows(codes, (np.arange(200) % number).astype(np.float64), np.ones(200), {})


def equations_of_round(number, loss, trees_per_round):
    data = BoostData(rows_of(number), evaluations=(rows_of(number),))
    learner = BaseLearner(Limits(max_depth=3), Sizes(16, capacity=16), one_output_per_tree=trees_per_round == "each")
    shrinkage = Shrinkage()
    with jax.enable_x64(True):
        call = open_boosting(data, loss(number), learner, shrinkage)
        members = [Member(learner.limits, shrinkage, 3)]
        rates = rates_of(call, members)
        plan = BatchPlan(call, members, rates, None, 3, keeps_trees=True, keeps_scores=False)
        state = jax.tree.map(lambda own: own[0], blank_states(plan, 1))
        round_of = lambda *given: make_round(*given, jax.numpy.float64(0.1), plan=call.plan, loss=call.loss)  # noqa: E731
        return equations(jax.make_jaxpr(round_of)(call.prepared, call.rows, call.evaluations, rates[0], state).jaxpr)


@pytest.mark.parametrize("engine", ["kernel", "xla"])
@pytest.mark.parametrize("loss, trees", [("softmax", "one"), ("softmax", "each"), ("quantiles", "one")])
def test_the_program_of_a_round_does_not_grow_with_classes(loss, trees, engine, monkeypatch):
    if engine == "xla":
        monkeypatch.setattr(choose, "is_there", lambda: False)
    elif not choose.is_there():
        pytest.skip("the kernel is not installed")
    few, many = (equations_of_round(number, LOSSES[loss], trees) for number in (FEW, MANY))
    assert few == many


@pytest.mark.parametrize(
    "objective", [Newton, lambda number: Numbers(num_outputs=number), lambda number: Newton(number, number), Classes]
)
def test_risks_of_many_scores_are_made_by_one_program(objective):
    def equations_of_risk(number):
        own = objective(number)
        units = Units(*np.ones(3), np.zeros(number), is_scaled=True)

        def risk(sums, parameters):
            parent = parent_stats(own, sums[:, 0], parameters, units)
            return own.risk(sums, parent, units), own.node_result(sums.T, jax.numpy.tile(parameters, (2, 1)), units)

        sums = np.ones((own.num_node_channels, 2), np.int64)
        return equations(jax.make_jaxpr(risk)(sums, np.array([1.0, 0.0, np.inf])).jaxpr)

    with jax.enable_x64(True):
        assert equations_of_risk(FEW) == equations_of_risk(MANY)


def test_a_sum_in_a_loop_is_the_sum_written_out():
    values = np.random.default_rng(0).normal(size=(MANY, 3))
    with jax.enable_x64(True):
        total = sum_in_order(lambda place: jax.numpy.asarray(values)[place], MANY)
    np.testing.assert_array_equal(total, np.add.accumulate(values)[-1])


@pytest.mark.slow
def test_many_classes_are_boosted_alike_with_and_without_the_kernel(monkeypatch):
    if not choose.is_there():
        pytest.skip("the kernel is not installed")

    def model():
        learner = BaseLearner(Limits(max_depth=3), Sizes(16, capacity=16))
        return boost(BoostData(rows_of(FEW)), softmax(FEW), learner, Shrinkage(), num_rounds=2).forest.nodes

    by_kernel = model()
    monkeypatch.setattr(choose, "is_there", lambda: False)
    for name in ("feature", "code", "num_rows", "weight", "target_sum"):
        np.testing.assert_array_equal(getattr(by_kernel, name), getattr(model(), name), err_msg=name)
