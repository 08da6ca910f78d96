"""An objective of one's own: Newton steps, of which the engine knows nothing, against a brute-force search."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth import Data, Features, Limits, Objective, Rules, Sizes, SplitKind, grow, take_tree
from jaxtree.growth.inputs.objective import NodeResult
from jaxtree.tree.nodes import target_means

NUM_ROWS, NUM_CODES, MULTIWAY = 200, 40, 3


@dataclasses.dataclass(frozen=True)
class Newton(Objective):
    r"""The decrease of a loss by a Newton step: a row has a gradient and a Hessian, G and H are their sums.

    The risk is $-\frac12 G^2 / (H + \lambda)$, the value of a node $-G / (H + \lambda)$; the tree has it as mean.
    """

    regularisation: float = 1.0
    num_outputs: int = 2

    def risk(self, sums, parent, units):
        return self.risk_of_sums(sums, units)

    def risk_of_sums(self, sums, units):
        gradient, hessian = (sums[channel].astype(jnp.float64) * units.target for channel in (1, 2))
        return -(gradient**2) / (hessian + self.regularisation) / 2

    def node_result(self, sums, parameters, units):
        gradient, hessian = (sums[:, channel].astype(jnp.float64) * units.target for channel in (1, 2))
        weight = self.weight(sums.T).astype(jnp.float64) * units.weight
        value = -gradient / (hessian + self.regularisation)
        nothing = jnp.zeros((len(sums), 0))
        return NodeResult(self.risk_of_sums(sums.T, units), nothing, (weight * value)[:, None])


def risk_of(target, weight, regularisation):
    gradient, hessian = target @ weight
    return -(gradient**2) / (hessian + regularisation) / 2


def ways_to_split(codes, weight):
    """Every split of a node: feature, code, and the branch of every row."""
    for feature, row in enumerate(codes):
        present = np.unique(row[weight > 0])
        if feature == MULTIWAY:
            if present.size > 1:
                yield feature, present[0], row
        else:
            for code in present[:-1]:
                yield feature, code, (row > code).astype(int)


def brute_force(codes, target, weight, regularisation, depth):
    """The tree as nested lists: the value of a leaf, or gain, feature, code and branches of a split."""
    gradient, hessian = target @ weight
    whole, best = risk_of(target, weight, regularisation), (-1.0, -1, None, codes[0])
    for feature, code, branch in ways_to_split(codes, weight):
        parts = [np.where(branch == b, weight, 0) for b in np.unique(branch[weight > 0])]
        gain = (whole - sum(risk_of(target, part, regularisation) for part in parts)) / weight.sum()
        if gain > best[0] + 1e-12:
            best = gain, feature, code, branch
    if depth == 0 or best[0] < 0:
        return [-gradient / (hessian + regularisation)]
    gain, feature, code, branch = best
    branches = range(codes[MULTIWAY].max() + 1) if feature == MULTIWAY else (0, 1)
    parts = [np.where(branch == b, weight, 0) for b in branches]
    below = [brute_force(codes, target, part, regularisation, depth - 1) for part in parts if part.any()]
    return [gain, feature, code if feature != MULTIWAY else None, below]


def assert_same(tree, node, expected):
    if len(expected) == 1:
        assert tree.is_leaf[node]
        np.testing.assert_allclose(target_means(tree)[node, 0], expected[0], rtol=1e-9)
        return
    gain, feature, code, below = expected
    np.testing.assert_allclose(tree.gain[node], gain, rtol=1e-9)
    assert tree.feature[node] == feature
    assert code is None or tree.code[node] == code
    first = int(tree.first_child[node])
    reached = [n for n in range(first, first + int(tree.num_children[node])) if tree.num_rows[n]]
    assert len(reached) == len(below)
    for child, branch in zip(reached, below, strict=True):
        assert_same(tree, child, branch)


@pytest.mark.slow
@pytest.mark.parametrize("has_weights", [False, True])
def test_newton_steps_give_the_tree_of_a_brute_force_search(has_weights):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, NUM_CODES, (4, NUM_ROWS))
    codes[MULTIWAY] %= 3
    signal = codes[0] / 20 + (codes[1] > 15) * (codes[2] < 30) + (codes[MULTIWAY] == 1)
    probability = 1 / (1 + np.exp(rng.normal(size=NUM_ROWS)))
    target = np.stack([probability - (signal + rng.normal(size=NUM_ROWS) > 2), probability * (1 - probability)])
    weight = rng.random(NUM_ROWS) + 0.2 if has_weights else np.ones(NUM_ROWS)
    kinds = np.where(np.arange(4) == MULTIWAY, SplitKind.MULTIWAY, SplitKind.THRESHOLD).astype(np.int32)
    features = Features(kinds, np.where(np.arange(4) == MULTIWAY, 3, NUM_CODES).astype(np.int32))
    data = Data(codes.astype(np.uint8), target, weight if has_weights else None)
    limits = Limits(max_depth=4, min_samples_leaf=1e-3, min_samples_split=0)
    with jax.enable_x64(True):
        grown = grow(data, features, limits, Rules(Newton()), Sizes(num_bins=64, capacity=512))
    assert grown.complete
    assert_same(take_tree(grown.tree), 0, brute_force(codes, target, weight, 1.0, 4))
