"""Every estimator names what its `score` returns, and pages and commands print that name."""

import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, ndcg_score, r2_score

import jaxtree
from jaxtree import boosting
from jaxtree.table.numerals import score_in_words

ROWS = 40
CHANCE = np.random.default_rng(3)
X = CHANCE.normal(size=(ROWS, 2))
NUMBERS = X[:, 0] + 0.2 * CHANCE.normal(size=ROWS)
CLASSES = np.where(X[:, 0] > 0, "a", "b")
GROUP = np.arange(ROWS) // 8
FEW = {"n_estimators": 2, "max_depth": 2}

MEASURES = {
    "accuracy": lambda model, y: accuracy_score(y, model.predict(X)),
    "R²": lambda model, y: r2_score(y, model.predict(X)),
    "mean log likelihood": lambda model, y: float(np.mean(model.predict_dist(X).log_prob(y))),
}
"""The meaning of names, by other means than `score`."""

ADDITIVE = {"outer_bags": 1, "max_rounds": 20}
ESTIMATORS = [
    (jaxtree.DecisionTreeClassifier(max_depth=2), CLASSES),
    (jaxtree.DecisionTreeRegressor(max_depth=2), NUMBERS),
    (jaxtree.C45Classifier(), CLASSES),
    (jaxtree.OptimalTreeRegressor(max_depth=1), NUMBERS),
    (jaxtree.RandomForestRegressor(2, max_depth=2, random_state=0), NUMBERS),
    (jaxtree.SoftTreeRegressor(depth=1, max_epochs=2, random_state=0), NUMBERS),
    (jaxtree.GradientBoostingClassifier(**FEW), CLASSES),
    (jaxtree.GradientBoostingRegressor(**FEW, loss="absolute_error"), NUMBERS),
    (jaxtree.GradientBoostingRegressor(**FEW, loss=boosting.quantiles([0.2, 0.8])), NUMBERS),
    (jaxtree.ExplainableBoostingClassifier(**ADDITIVE), CLASSES),
    (jaxtree.ExplainableBoostingRegressor(**ADDITIVE), NUMBERS),
    (jaxtree.GradientBoostingRanker(**FEW, ndcg_at=3), np.digitize(NUMBERS, [-0.5, 0.5])),
    (jaxtree.GradientBoostingDistribution(**FEW), NUMBERS),
]


def mean_ndcg(scores, relevance):
    groups = np.split(np.arange(ROWS), 5)
    return np.mean([ndcg_score(2.0 ** relevance[None, own] - 1, scores[None, own], k=3) for own in groups])


@pytest.mark.parametrize(("estimator", "y"), ESTIMATORS, ids=[repr(own)[:45] for own, _ in ESTIMATORS])
def test_the_name_is_that_of_the_number(estimator, y):
    extras = {"group": GROUP} if isinstance(estimator, jaxtree.GradientBoostingRanker) else {}
    model = estimator.fit(X, y, **extras)
    score, name = model.score(X, y, **extras), model.score_name_
    if extras:  # equal scores may count in any order, from the worst to the best
        worst, best = (mean_ndcg(model.predict(X) + nudge * y, y) for nudge in (-1e-9, 1e-9))
        assert name == "NDCG of the first 3" and worst - 1e-9 <= score <= best + 1e-9
        return
    if name.startswith("minus mean"):
        low, high = model.predict(X).T
        losses = [np.where(y > at, (y - at) * q, (at - y) * (1 - q)) for at, q in ((low, 0.2), (high, 0.8))]
        assert name == f"minus mean {model.loss_}" and score == pytest.approx(-np.mean(np.sum(losses, axis=0)))
    else:
        assert score == pytest.approx(MEASURES[name](model, y))


@pytest.mark.parametrize("number", [4, 6, 7, 8, 10])
def test_pages_print_the_name_with_the_number(number):
    model, y = ESTIMATORS[number]
    page = jaxtree.to_html(model.fit(X, y), X, y)
    said = re.findall(r"<dt>(?:forest, )?training ([^<]*)</dt><dd>([^<]*)</dd>", page)
    assert (model.score_name_.replace("'", "&#39;"), score_in_words(model.score(X, y))) in said
