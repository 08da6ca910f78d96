"""Boosted estimators that draw rows, drop trees, grow best-first or follow a schedule."""

import numpy as np
import optax
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from jaxtree import GradientBoostingClassifier
from tests.marks import rest_is_slow

X, y = load_breast_cancer(return_X_y=True)
OWN, HELD = (X[::2], y[::2]), (X[1::2], y[1::2])

WAYS = {
    "goss": {"sampling": "goss", "top_rate": 0.3, "other_rate": 0.2},
    "mvs": {"sampling": "mvs", "subsample": 0.4},
    "dropping": {"drop_rate": 0.3, "skip_drop": 0.2},
    "best-first": {"max_leaf_nodes": 4, "max_depth": 5},
    "schedule": {"learning_rate": optax.exponential_decay(0.3, 1, 0.97)},
}


def fitted(**options):
    model = GradientBoostingClassifier(60, early_stopping=True, n_iter_no_change=5, random_state=0, **options)
    return model.fit(*OWN, eval_set=[HELD])


@pytest.mark.parametrize("way", rest_is_slow(WAYS, 2))
def test_the_trees_kept_have_the_least_loss(way):
    model, plain = fitted(**WAYS[way]), fitted()
    least = min(model.evals_result_["validation_0"]["log_loss"])
    assert log_loss(HELD[1], model.predict_proba(HELD[0])) == pytest.approx(least, rel=1e-9)
    assert np.any(model.predict_proba(HELD[0]) != plain.predict_proba(HELD[0])) and least < 0.3
    if way == "best-first":
        assert max(tree.n_leaves for tree in model.forest_) == 4


@pytest.mark.parametrize("way", ["goss", "mvs", "dropping"])
def test_the_random_state_decides_about_draws(way):
    one, same = (fitted(**WAYS[way]).raw_scores(X) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    free = GradientBoostingClassifier(5, **WAYS[way])
    assert free.seed() != free.seed() and GradientBoostingClassifier(5).seed() == 0
