"""Forests, planes, weights of leaves and soft models explained: contributions add up to what is predicted."""

import functools
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.explain import coalitions, explain_row, shap_interaction_values, shap_values
from jaxtree.explain.coalitions import predictions_of_coalitions, weights_of, weights_of_pairs
from jaxtree.explain.hard_forms import has_no_sum
from tests.examples import example, rows_of

FORESTS = ("forest", "forest_vote", "forest_regression", "bagged", "bagged_regression")
NO_SUMS = ("hardened", "hardened_regression", "hardened_forest", "hardened_forest_regression")
SOFT = ("soft", "soft_regression", "soft_poisson")


def first_rows(name, number=6):
    X = rows_of(name)
    return X.iloc[:number] if isinstance(X, pd.DataFrame) else X[:number]


def explained(estimator, X):
    """The sum of contributions: scores of models that have some."""
    if hasattr(type(estimator), "raw_scores"):
        return estimator.raw_scores(X)
    return estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X).reshape(len(X), -1)


@pytest.mark.parametrize("name", FORESTS)
def test_a_row_of_a_forest_is_explained_by_columns_and_trees(name):
    estimator, X = example(name), first_rows(name)
    labels = estimator.predict(X)
    for place in range(len(X)):
        said = explain_row(estimator, X[place : place + 1])
        total = said.base + sum(part.score for part in said.contributions)
        assert total == pytest.approx(said.score, abs=1e-12) and said.prediction == labels[place]
        if is_classifier(estimator):
            shares = estimator.predict_proba(X[place : place + 1])[0]
            assert said.share == said.score == pytest.approx(shares.max())
            assert f"share of {said.of_class}" in str(said)
        else:
            assert said.score == pytest.approx(labels[place]) and "\nmean " in str(said)
        assert said.note == "" and 1 <= len(said.steps) <= 3 and "\ntree " not in str(said)
        assert said.text(trees=True).count("\ntree ") == len(said.steps)


def test_the_steps_of_all_trees_of_a_forest_add_up():
    estimator, X = example("forest_regression"), first_rows("forest_regression", 1)
    said = explain_row(estimator, X)
    assert sum(step.score for step in said.steps) + said.base == pytest.approx(said.score)


@pytest.mark.parametrize("name", NO_SUMS)
def test_values_of_what_has_no_sum_add_up(name):
    estimator, X = example(name), first_rows(name)
    assert has_no_sum(estimator)
    for background in (None, first_rows(name, 30)):
        found = shap_values(estimator, X, background=background)
        values, base = found
        total = values.reshape(len(X), values.shape[1], -1).sum(axis=1) + base
        np.testing.assert_allclose(total, explained(estimator, X), atol=1e-9)
        assert "exact over all coalitions of" in found.how and pickle.loads(pickle.dumps(found)).how == found.how


@functools.cache
def many_columns():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 10))
    y = X[:, 0] + X[:, 1] > 0
    return jaxtree.SoftTreeClassifier(depth=2, max_epochs=20, random_state=0).fit(X, y), X


def test_values_of_many_columns_are_estimated_and_say_so():
    soft, X = many_columns()
    hard = soft.harden()
    found = shap_values(hard, X[:20], background=X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, hard.predict_proba(X[:20]), atol=1e-12)
    assert found.how == "estimated over 64 orders of columns, in comparison with 100 rows"
    size = np.abs(found.values[..., 1]).mean(axis=0)
    assert set(np.argsort(-size)[:2].tolist()) == {0, 1}
    assert found.how in found._repr_html_()


@pytest.mark.parametrize("most", [0, coalitions.MOST_COLUMNS])
def test_coalitions_have_the_values_of_the_definition(most, monkeypatch):
    """All orders of four columns, by adding one column after the other; estimates differ by little."""
    monkeypatch.setattr(coalitions, "MOST_COLUMNS", most)
    monkeypatch.setattr(coalitions, "NUM_PAIRS", 400)
    draw = np.random.default_rng(1)
    rows, others = draw.normal(size=(3, 4)), draw.normal(size=(4, 4))

    def predict(values):
        return np.stack([values[:, 0] * values[:, 1] - values[:, 2] ** 2, np.abs(values).max(axis=1)], axis=1)

    def known(columns, row):
        return predict(np.where(np.isin(np.arange(4), columns), row, others)).mean(axis=0)

    expected = np.zeros((3, 4, 2))
    for order in itertools.permutations(range(4)):
        for place, column in enumerate(order):
            for number, row in enumerate(rows):
                step = known(order[: place + 1], row) - known(order[:place], row)
                expected[number, column] += step / math.factorial(4)
    predicted = predictions_of_coalitions(predict, rows, others)
    found = np.einsum("ck,kro->rco", weights_of(4).weight, predicted)
    np.testing.assert_allclose(found, expected, atol=0.1 if most == 0 else 1e-12)
    np.testing.assert_allclose(predicted[0, 0], known((), rows[0]))


def test_a_product_is_shared_by_its_pair():
    rows, others = np.array([[2.0, 3.0, 5.0]]), np.zeros((1, 3))

    def predict(values):
        return values[:, :1] * values[:, 1:2] + values[:, 2:]

    predicted = predictions_of_coalitions(predict, rows, others)
    pairs = weights_of_pairs(3) @ predicted[:, 0, 0]
    np.testing.assert_allclose(pairs, [[0, 3, 0], [3, 0, 0], [0, 0, 0]], atol=1e-12)
    with pytest.raises(InvalidInputError, match="up to 8 columns, got 10"):
        shap_interaction_values(many_columns()[0], many_columns()[1][:3])


def test_a_row_of_planes_has_them_as_conditions():
    for name in ("hardened", "hardened_regression"):
        estimator, X = example(name), first_rows(name)
        for place in range(len(X)):
            said = explain_row(estimator, X[place : place + 1])
            assert said.prediction == pytest.approx(estimator.predict(X[place : place + 1])[0]) or (
                said.prediction == estimator.predict(X[place : place + 1])[0]
            )
            assert said.conditions and all(" <= " in words or " > " in words for words in said.conditions)


@pytest.mark.parametrize("name", ["hardened_forest", "hardened_forest_regression"])
def test_a_row_of_weights_of_leaves_is_compared_with_rows(name):
    estimator, X = example(name), first_rows(name, 1)
    said = explain_row(estimator, X)
    assert said.base + sum(part.score for part in said.contributions) == pytest.approx(said.score)
    # A fifth of the 60 rows is held out.
    assert said.note in str(said) and "in comparison with 48 rows" in said.note
    assert sum(step.score for step in said.steps) == pytest.approx(said.score)


@pytest.mark.parametrize("name", SOFT)
def test_soft_models_are_explained_by_their_hard_form_and_say_how_far_both_agree(name):
    estimator, X = example(name), first_rows(name)
    hard = estimator.harden()
    found, expected = shap_values(estimator, X), shap_values(hard, X)
    np.testing.assert_array_equal(found.values, expected.values)
    words = f"agreement with this {type(estimator).__name__} is {hard.agreement_:.1%}"
    assert words in found.how
    said = explain_row(estimator, X[:1])
    assert words in said.note and said.note in str(said)
    assert said.prediction == explain_row(hard, X[:1]).prediction


def test_what_has_no_hard_form_or_no_rows_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="mixture='learned', have no hard form"):
        explain_row(jaxtree.SoftForestClassifier(2, depth=1, max_epochs=1, gate="axis", mixture="learned").fit(
            [[0.0], [1.0]] * 5, [0, 1] * 5
        ), [0.0])  # fmt: skip
    loaded = pickle.loads(pickle.dumps(many_columns()[0]))
    with pytest.raises(InvalidInputError, match="the rows of the fit are not kept"):
        shap_values(loaded, many_columns()[1])
    forest = example("hardened_forest")
    forest.save(tmp_path / "model.jaxtree")
    read, X = jaxtree.load(tmp_path / "model.jaxtree"), first_rows("hardened_forest")
    assert shap_values(read, X).how.endswith("in comparison with 6 rows")
    with pytest.raises(InvalidInputError, match="call shap_values with background"):
        explain_row(read, X[:1])
