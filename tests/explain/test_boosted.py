"""Boosted scores explained: Shapley values that add up, and rows in words."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.explain import shap_values
from tests.examples import example
from tests.explain.test_shap import by_definition, unknowing
from tests.export.shipping import edge_rows
from tests.marks import rest_is_slow

EXPECTED = [
    "65% yes; most for it: outlook is overcast (+2 points); against it: humidity is high (-1 point)",
    "score of yes 0.6048, of all rows 0.5781",
    "    +0.0842  outlook = overcast",
    "    -0.0575  humidity = high",
    "tree 1 +0.0745: outlook in {overcast}",
    "tree 0 -0.0575: humidity in {high}",
]
NAMES = ("boosted", "boosted_classes", "boosted_regression", "boosted_counts", "boosted_normal")


def added_up(values, base, num_rows):
    return values.reshape(num_rows, values.shape[1], -1).sum(axis=1) + np.atleast_1d(base)


@pytest.mark.parametrize("name", NAMES)
def test_values_add_up_to_the_scores(name):
    estimator = example(name)
    X = edge_rows(estimator, 60)
    for background in (None, X[:7]):
        values, base = shap_values(estimator, X, background=background)
        np.testing.assert_allclose(added_up(values, base, 60), estimator.raw_scores(X), atol=1e-12)
    assert values.ndim == (3 if estimator.start_.size > 1 else 2)


@pytest.mark.parametrize("name", ["boosted", "boosted_classes", "boosted_regression"])
def test_values_are_sums_of_those_of_the_definition(name):
    estimator = example(name)
    X = edge_rows(estimator, 6)
    num_columns, rows = len(estimator.schema_.columns), estimator.encoder_.values(X)
    trees = [tree.model_ for tree in estimator.estimators_]
    expected = [sum(by_definition(partial(unknowing, tree, row), num_columns) for tree in trees) for row in rows]
    values, base = shap_values(estimator, X)
    np.testing.assert_allclose(values.reshape(np.shape(expected)), expected, atol=1e-12)
    at_start = estimator.start_ + sum(unknowing(tree, rows[0], set()) for tree in trees)
    np.testing.assert_allclose(np.atleast_1d(base), at_start, atol=1e-12)


def test_of_quantiles_that_cross_the_score_of_the_predicted_one_is_explained():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 3))
    loss, y = jaxtree.boosting.quantiles([0.45, 0.5, 0.55]), draw.normal(size=400) + X[:, 0]
    model = jaxtree.GradientBoostingRegressor(n_estimators=30, max_depth=3, learning_rate=0.3, loss=loss).fit(X, y)
    crossing = np.flatnonzero(model.raw_scores(X).argmin(axis=1))
    assert crossing.size
    explained = jaxtree.explain_row(model, X[crossing[0]])
    assert explained.prediction == explained.score == model.predict(X)[crossing[0], 0]


@pytest.mark.parametrize("name", rest_is_slow(NAMES, 2))
def test_a_row_is_explained_by_what_adds_up_to_its_score(name):
    estimator = example(name)
    X = edge_rows(estimator, 20)
    for number in range(20):
        row = X[number : number + 1]
        why, scores = jaxtree.explain_row(estimator, row), estimator.raw_scores(row)[0]
        (prediction,) = estimator.predict(row).tolist()
        assert why.prediction == (prediction if is_classifier(estimator) else pytest.approx(prediction))
        place = estimator.classes_.tolist().index(why.of_class) if name == "boosted_classes" else 0
        assert why.score == pytest.approx(scores[place], abs=1e-12)
        assert why.base + sum(part.score for part in why.contributions) == pytest.approx(why.score, abs=1e-12)
        if is_classifier(estimator):
            assert why.share == pytest.approx(estimator.predict_proba(row).max())


def test_the_strongest_trees_are_told_first():
    estimator = example("boosted_regression")
    row = edge_rows(estimator, 1)
    why = jaxtree.explain_row(estimator, row)
    steps = [tree.predict(row)[0] for tree in estimator.estimators_]
    order = np.argsort(-np.abs(steps), kind="stable")[:3]
    assert [step.tree for step in why.steps] == order.tolist()
    np.testing.assert_allclose([step.score for step in why.steps], np.array(steps)[order], atol=1e-12)
    of_tree = jaxtree.explain_row(estimator.estimators_[order[0]], row)
    assert why.steps[0].conditions == of_tree.conditions


def test_an_explanation_in_words():
    X, y = jaxtree.datasets.load_play_tennis(return_X_y=True, as_frame=True)
    model = jaxtree.GradientBoostingClassifier(2, max_depth=1, min_samples_leaf=1, min_child_weight=0.0).fit(X, y)
    why = jaxtree.explain_row(model, X.iloc[[2]])
    assert why.text(trees=True).splitlines() == EXPECTED and str(why).splitlines() == EXPECTED[:-2]


def test_a_loss_without_its_link_is_named(tmp_path):
    own = jaxtree.boosting.Loss(lambda scores, target, extras: jnp.square(scores - target), link=lambda scores: -scores)
    X = np.arange(40.0)[:, None]
    jaxtree.GradientBoostingRegressor(2, loss=own).fit(X, X[:, 0]).save(tmp_path / "model")
    model = jaxtree.load(tmp_path / "model")
    values, base = shap_values(model, X)
    np.testing.assert_allclose(values.sum(axis=1) + base, model.raw_scores(X)[:, 0], atol=1e-12)
    with pytest.raises(InvalidInputError, match="<lambda>"):
        jaxtree.explain_row(model, X[:1])
