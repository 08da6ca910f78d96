"""Effects of the few rows at an end of a column are seen, by models whose bins are few."""

import numpy as np
import pytest

from jaxtree import (
    DecisionTreeRegressor,
    ExplainableBoostingRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from tests.marks import rest_is_slow

NUM_ROWS = 40_000
BINNED = {
    "boosting": GradientBoostingRegressor(20, learning_rate=0.3),
    "tree": DecisionTreeRegressor(max_depth=3, max_bins=255),
    "forest": RandomForestRegressor(5, max_depth=4, random_state=0),
    "additive": ExplainableBoostingRegressor(interactions=0, outer_bags=1, max_bins=255),
}


@pytest.fixture(scope="module")
def table():
    """Two columns, and a target that rises in the last 32 of one's rows, and falls in the first 32."""
    rng = np.random.default_rng(0)
    X = np.exp(3 * rng.normal(size=(NUM_ROWS, 2)))
    rank = X[:, 0].argsort().argsort()
    y = np.where(rank >= NUM_ROWS - 32, 100.0, 0) - np.where(rank < 32, 100.0, 0)
    return X, y + rng.normal(size=NUM_ROWS)


@pytest.mark.parametrize("model", rest_is_slow(BINNED.values(), 2), ids=BINNED)
def test_a_model_sees_what_the_few_rows_at_an_end_do(model, table):
    X, y = table
    assert model.fit(X, y).score(X, y) > 0.6
