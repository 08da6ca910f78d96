"""The order of rows within groups, learned by a boosted estimator."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, cross_val_predict

import jaxtree
from jaxtree import GradientBoostingRanker
from jaxtree.boosting import pairwise
from jaxtree.errors import InvalidInputError

FEW = {"n_estimators": 15, "max_depth": 3}
SIZE = 10


def queries(num_groups=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_groups * SIZE, 3))
    relevance = np.digitize(X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.2, len(X)), [0, 1, 2])
    return X, relevance, np.repeat([f"q{number}" for number in range(num_groups)], SIZE)


def mean_gain(relevance, score, top):
    """The mean NDCG of rows of a matrix; of equal scores the mean over all orders."""
    return ndcg_score(2.0**relevance - 1, score, k=top)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "top"),
    [("ndcg", None), ("ndcg", 4), ("map", 4), ("pairwise", None), (pairwise(), 4)],
    ids=str,
)
def test_an_order_is_learned_wherever_groups_stand(loss, top, tmp_path):
    X, relevance, group = queries()
    target = relevance > 1 if loss == "map" else relevance
    model = GradientBoostingRanker(**FEW, loss=loss, ndcg_at=top).fit(X, target, group=group)
    assert model.predict(X).shape == (len(X),) and model.score(X, relevance, group=group) > 0.8
    expected = mean_gain(relevance.reshape(-1, SIZE), model.predict(X).reshape(-1, SIZE), top or SIZE)
    assert model.score(X, relevance, group=group) == pytest.approx(expected, abs=1e-9)
    order = np.arange(len(X)).reshape(-1, SIZE).T.ravel()
    again = GradientBoostingRanker(**FEW, loss=loss, ndcg_at=top).fit(X[order], target[order], group=group[order])
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.slow
def test_evaluations_have_groups_and_stop_a_fit_by_whole_groups():
    X, relevance, group = queries()
    other = queries(seed=1)
    model = GradientBoostingRanker(**FEW, ndcg_at=5)
    model.fit(X, relevance, group=group, eval_set=[(other[0], other[1], {"group": other[2]})], eval_metric="pairwise")
    result = model.evals_result_["validation_0"]
    assert list(result) == ["ndcg(k=5)", "pairwise"]
    assert 1 - result["ndcg(k=5)"][-1] == pytest.approx(model.score(*other[:2], group=other[2]), abs=0.02)
    stopped = GradientBoostingRanker(100, max_depth=2, early_stopping=True, validation_fraction=0.25, random_state=0)
    stopped.fit(X, relevance, group=group)
    assert stopped.n_estimators_ <= len(next(iter(stopped.evals_result_["validation_0"].values())))
    with pytest.raises(InvalidInputError, match="of 2 groups leaves a part without groups"):
        stopped.fit(X[: 2 * SIZE], relevance[: 2 * SIZE], group=group[: 2 * SIZE])


@pytest.mark.parametrize(
    ("loss", "metric", "best"), [("ndcg", "ndcg@5", max), ("map", None, min), ("map", "pairwise", min)]
)
def test_the_best_round_of_measures_of_order_is_the_greatest_and_of_losses_the_least(loss, metric, best):
    X, relevance, group = queries()
    target = relevance if loss == "ndcg" else relevance > 0
    model = GradientBoostingRanker(**FEW, loss=loss)
    model.fit(X, target, group=group, eval_set=[(X, target, {"group": group})], eval_metric=metric)
    *_, values = model.evals_result_["validation_0"].values()
    assert model.best_score_ == best(values) != (min if best is max else max)(values)
    assert model.best_iteration_ == 1 + values.index(model.best_score_)


def test_groups_are_divided_by_a_cross_validation():
    X, relevance, group = queries()
    model = GradientBoostingRanker(**FEW)
    folds = GroupKFold(2)
    predicted = cross_val_predict(model, X, relevance, groups=group, cv=folds, params={"group": group})
    assert np.mean(ndcg_score(relevance.reshape(-1, SIZE), predicted.reshape(-1, SIZE))) > 0.85


@pytest.mark.parametrize(
    "fit, words",
    [
        ({}, "needs group, the group of every row, got None"),
        ({"group": np.full(40, SIZE)}, r"group must have a value for each of 400 rows, .*np.repeat\(np.arange"),
        ({"group": np.zeros(3)}, r"group must have a value for each of 400 rows, got shape \(3,\)$"),
        ({"y": np.full(400, 0.5)}, r"ndcg\(k=None\): a target must be a whole number from 0 to 31, got 0.5"),
        ({"loss": "map", "group": np.zeros(400)}, "a target must be a whole number from 0 to 1, got"),
        ({"eval_set": [queries()[:2]]}, "needs the extra 'group'"),
    ],
)
def test_bad_input_is_named(fit, words):
    X, relevance, group = queries()
    if "y" in fit or "eval_set" in fit:
        fit = {"group": group, **fit}
    model = GradientBoostingRanker(**FEW, loss=fit.pop("loss", "ndcg"))
    with pytest.raises(InvalidInputError, match=words):
        model.fit(X, fit.pop("y", relevance), **fit)
