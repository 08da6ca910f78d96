"""Every way in leaves the accelerator alone where the work is small: no program is made for it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import jaxtree
from jaxtree import compilation, dropout, explain, resampling
from jaxtree.devices.current import current_platform
from jaxtree.dropout import votes
from tests.devices.stand_ins import stand_in
from tests.marks import rest_is_slow

X, Y = load_iris(return_X_y=True)
FEW = {"n_estimators": 2, "max_depth": 2, "min_samples_leaf": 4}
SHORT = {"depth": 2, "max_epochs": 2, "random_state": 0}
TREE = jaxtree.DecisionTreeClassifier(max_depth=2, random_state=0)


def boosted():
    return jaxtree.GradientBoostingClassifier(**FEW).fit(X, Y)


WAYS = {
    "tree": lambda: TREE.fit(X, Y).predict_proba(np.tile(X, (8, 1))),
    "dropout": lambda: jaxtree.DecisionTreeClassifier(pruning=jaxtree.Dropout(0.2, draws=5), random_state=0).fit(X, Y),
    "forest": lambda: jaxtree.RandomForestClassifier(3, oob_score=True, random_state=0).fit(X, Y),
    "extra trees": lambda: jaxtree.ExtraTreesClassifier(3, random_state=0).fit(X, Y),
    "C4.5": lambda: jaxtree.C45Classifier().fit(X, Y),
    "optimal": lambda: jaxtree.OptimalTreeClassifier(max_depth=2).fit(X, Y),
    "boosting": lambda: boosted().predict(np.tile(X, (8, 1))),
    "warm start": lambda: boosted().set_params(warm_start=True, n_estimators=3).fit(X, Y),
    "refit": lambda: boosted().refit(X[::-1], Y[::-1]),
    "soft": lambda: jaxtree.SoftTreeClassifier(**SHORT).fit(X, Y).predict(np.tile(X, (8, 1))),
    "batches": lambda: jaxtree.DecisionTreeClassifier().partial_fit(X[::2], Y[::2]).partial_fit(X[1::2], Y[1::2]),
    "partial fit": lambda: jaxtree.SoftTreeClassifier(**SHORT).partial_fit(X, Y),
    "distil": lambda: jaxtree.distil(TREE.fit(X, Y), jaxtree.SoftTreeClassifier(**SHORT), X, cv=None),
    "harden": lambda: jaxtree.SoftTreeClassifier(**SHORT).fit(X, Y).harden(),
    "search": lambda: jaxtree.SearchCV(TREE, {"ccp_alpha": [0.0, 0.01]}, cv=2).fit(X, Y),
    "search of boosting": lambda: jaxtree.SearchCV(
        jaxtree.GradientBoostingClassifier(**FEW), {"learning_rate": [0.1, 0.2]}, cv=2
    ).fit(X, Y),
    "tuning": lambda: jaxtree.tune(X[::2], Y[::2], n_iter=1, cv=2, minutes=0.05, verbose=0),
    "trees by size": lambda: jaxtree.trees_by_size(X, Y, sizes=[2], methods=["greedy", "optimal"], max_depth=2),
    "refine": lambda: jaxtree.refine(TREE.fit(X, Y), X, Y, n_restarts=1),
    "bag": lambda: resampling.bag(jaxtree.GradientBoostingClassifier(**FEW), X, Y, n_estimators=2, random_state=0),
    "Shapley values": lambda: explain.shap_values(boosted(), X),
    "expected votes": lambda: votes.expected_votes(
        TREE.fit(X, Y).tree_, dropout.node_rates(TREE.fit(X, Y).tree_, 0.2)
    ),
}  # fmt: skip

BY_JAX = {"expected votes"}
"""Functions of arrays, which compute where JAX does by default."""


@pytest.mark.parametrize("name", rest_is_slow(WAYS, 8))
def test_small_work_makes_no_program_for_the_accelerator(name, monkeypatch):
    made, call = set(), compilation.Compiled.__call__

    def noted(self, *arrays, **keywords):
        made.add((self.__name__, current_platform()))
        return call(self, *arrays, **keywords)

    monkeypatch.setattr(compilation.Compiled, "__call__", noted)
    with stand_in("gpu"):
        WAYS[name]()
    wrong = sorted(function for function, platform in made if platform != "cpu")
    assert bool(wrong) == (name in BY_JAX), wrong
