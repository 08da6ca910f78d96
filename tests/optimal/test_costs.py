"""The digits of costs: losses, weights and penalties of any size, against all trees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import OptimalTreeClassifier
from jaxtree.optimal.costs import cost_of_classes
from tests.marks import in_turn
from tests.optimal.tables import IS_CATEGORICAL, NUM_VALUES, draw_table
from tests.reference.optimal_oracle import all_splits, best_costs

LOSSES = {
    "errors": lambda rng: 1 - np.eye(3),
    "1_and_100": lambda rng: np.array([[0.0, 1, 1], [100, 0, 1], [100, 1, 0]]),
    "decimals": lambda rng: rng.integers(0, 40, (3, 3)) / 10,
    "any": lambda rng: rng.random((3, 3)),
    "wide": lambda rng: 10.0 ** rng.uniform(-4, 4, (3, 3)),
    "tiny": lambda rng: rng.random((3, 3)) * 1e-30,
    "huge": lambda rng: rng.integers(0, 9, (3, 3)) * 1e30,
    "none": lambda rng: np.zeros((3, 3)),
}
WEIGHTS = {
    "ones": lambda rng, y: np.ones(y.size),
    "balanced": lambda rng, y: y.size / (np.unique(y).size * np.bincount(y)[y]),
    "decimals": lambda rng, y: rng.integers(1, 40, y.size) / 10,
    "any": lambda rng, y: rng.random(y.size) + 1e-3,
    "any_of_classes": lambda rng, y: rng.random(3)[y],
    "wide": lambda rng, y: 10.0 ** rng.uniform(-4, 4, y.size),
    "tiny": lambda rng, y: rng.integers(1, 5, y.size) * 1e-30,
    "huge": lambda rng, y: (rng.random(y.size) + 0.1) * 1e30,
}


def cost_of(model, X, y, weight, loss):
    """The cost of the predictions of a model."""
    return float((weight * loss[y, np.asarray(model.predict(X), int)]).sum())


def pairs():
    """All losses and weights, every other pair slow."""
    for row, losses in enumerate(LOSSES):
        for column, weights in enumerate(WEIGHTS):
            yield pytest.param(losses, weights, marks=[pytest.mark.slow] * ((row + column) % 2))


@pytest.mark.parametrize(("losses", "weights"), list(pairs()))
def test_no_tree_costs_less_whatever_losses_and_weights(losses, weights):
    rng = np.random.default_rng([list(LOSSES).index(losses), list(WEIGHTS).index(weights)])
    codes, y = draw_table(3, missing=0.0)[:2]
    loss, weight = LOSSES[losses](rng), WEIGHTS[weights](rng, y)
    splits = all_splits(codes, NUM_VALUES, np.zeros(IS_CATEGORICAL.size, bool))
    least = best_costs(splits, y[None], weight, 2, criterion="misclassification", loss=loss)[-1]
    X = codes.T.astype(float)
    model = OptimalTreeClassifier(max_depth=2, cost_matrix=loss).fit(X, y, sample_weight=weight)
    assert model.optimality_ == "proven"
    # For any weights and any losses 26 bits are compared; the cost of the tree has all its digits.
    assert cost_of(model, X, y, weight, loss) == pytest.approx(least, rel=1e-6)
    assert model.objective_ == pytest.approx(cost_of(model, X, y, weight, loss), rel=1e-12)


def test_balanced_classes_keep_costs_of_1_and_100():
    """Rows of class 1 are a hundredth: four bits of costs made 0 of 1, and any tree the best."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (400, 3)).astype(float)
    y = ((X[:, 0] > 1) & (rng.random(400) < 0.1)).astype(int)
    loss = np.array([[0.0, 1.0], [100.0, 0.0]])
    model = OptimalTreeClassifier(max_depth=2, cost_matrix=loss, class_weight="balanced").fit(X, y)
    weight = WEIGHTS["balanced"](rng, y)
    one_class = min(float((weight * loss[y, own]).sum()) for own in (0, 1))
    assert model.objective_ == pytest.approx(cost_of(model, X, y, weight, loss))
    assert model.objective_ < 0.8 * one_class


@pytest.mark.parametrize("depth", [2, 4])
def test_a_penalty_just_below_what_a_split_saves_lets_it_be(depth):
    """Two errors are saved by two further leaves."""
    X = np.array([[0.0], [1.0], [2.0]]).repeat(4, axis=0)
    y = np.array([0] * 4 + [1, 1, 0, 0] + [0] * 4)
    X[[4, 5]] = 0.5
    model = lambda penalty: OptimalTreeClassifier(max_depth=depth, leaf_penalty=penalty).fit(X, y)  # noqa: E731
    assert model(1 - 1e-9).get_n_leaves() == 3
    assert model(1 + 1e-9).get_n_leaves() == 1


@pytest.mark.parametrize(("losses", "library"), in_turn(LOSSES, [np, jnp]))
def test_a_leaf_costs_the_least_loss_of_all_predictions(losses, library):
    rng = np.random.default_rng(0)
    target = cost_of_classes(rng.integers(0, 3, 50), 3, None, loss=LOSSES[losses](rng))
    sums = rng.integers(0, 20, (3, 4, 5))
    expected = np.einsum("cij,cp->pij", sums, np.asarray(target.cost.loss)).min(axis=0)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(target.cost(library.asarray(sums)), expected)


def test_costs_of_classes_are_as_small_a_program_for_100_as_for_10():
    def size(classes, loss):
        cost = cost_of_classes(np.arange(classes), classes, None, loss=loss).cost
        with jax.enable_x64(True):
            return len(jax.make_jaxpr(cost)(jnp.ones((classes, 5), jnp.int64)).eqns)

    assert size(100, None) == size(10, None)
    rng = np.random.default_rng(0)
    assert size(100, rng.integers(0, 9, (100, 100))) == size(10, rng.integers(0, 9, (10, 10)))
