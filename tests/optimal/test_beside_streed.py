"""STreeD (Demirovic et al.), another search for optimal trees, finds the same objectives."""

import numpy as np
import pytest

from jaxtree import OptimalTreeClassifier, OptimalTreeRegressor

streed = pytest.importorskip("pystreed", reason="STreeD is not installed")


def binary_table(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 7))
    return X, (X[:, 0] ^ X[:, 1]) + (X[:, 2] & X[:, 3]) + (rng.random(60) < 0.2)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("penalty", [0, 3])
def test_errors_and_penalties_are_the_same(depth, penalty):
    for seed in range(3):
        X, y = binary_table(seed)
        task = "cost-complex-accuracy" if penalty else "accuracy"
        other = streed.STreeDClassifier(task, max_depth=depth, cost_complexity=penalty / len(y)).fit(X, y)
        best = OptimalTreeClassifier(max_depth=depth, leaf_penalty=penalty).fit(X, y)
        assert best.objective_ == np.sum(other.predict(X) != y) + penalty * other.get_n_leaves()


@pytest.mark.parametrize("depth", [2, 3])
def test_squared_errors_are_the_same(depth):
    X, y = binary_table(5)
    y = y + np.random.default_rng(0).normal(size=len(y))
    other = streed.STreeDRegressor("cost-complex-regression", max_depth=depth, cost_complexity=0.0).fit(X, y)
    best = OptimalTreeRegressor(max_depth=depth).fit(X, y)
    np.testing.assert_allclose(best.objective_, np.sum((other.predict(X) - y) ** 2), rtol=1e-6)
