"""Contributions to the solution of a moment add up to it, and are Shapley values where the solution is a sum."""

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.errors import InvalidTypeError
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.explain.carried import carried
from tests.examples import effects

RNG = np.random.default_rng(0)


def test_contributions_add_up_and_those_to_a_sum_are_themselves():
    parts, base = RNG.normal(size=(7, 4, 3)), RNG.normal(size=3)
    weights = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, 0.0]])
    found, begin = carried(parts, base, lambda means: weights @ means)
    np.testing.assert_allclose(found, parts @ weights.T, atol=1e-9)
    np.testing.assert_allclose(begin, weights @ base)


def test_contributions_to_a_product_share_what_both_do_together():
    """Two factors that each change alone get half each of what they change together."""
    parts, base = np.array([[[3.0, 0.0], [0.0, 5.0]]]), np.array([1.0, 2.0])
    found, begin = carried(parts, base, lambda means: means[:1] * means[1:])
    np.testing.assert_allclose(found[0, :, 0], [3 * 2 + 15 / 2, 5 * 1 + 15 / 2], rtol=1e-9)
    assert begin.tolist() == [2.0]


def test_a_line_without_a_solution_somewhere_adds_up_all_the_same():
    parts, base = np.array([[[2.0], [0.0]]]), np.array([-1.0])
    found, begin = carried(parts, base, lambda means: np.where(np.abs(means) > 1e-9, 1 / means, 0.0))
    assert found.sum() == pytest.approx(1.0 - begin[0])
    empty, _ = carried(np.zeros((0, 2, 1)), base, lambda means: means)
    assert empty.shape == (0, 2, 1)


@pytest.mark.parametrize("name", ["causal", "arms", "instrumental"])
def test_shapley_values_of_effects_add_up_to_them(name):
    forest, X, _ = effects(name)
    rows = X[::9]
    found, expected = shap_values(forest, rows), forest.predict(rows).reshape(len(rows), -1)
    total = (found.values.sum(axis=1) + found.base).reshape(len(rows), -1)
    np.testing.assert_allclose(total, expected, rtol=1e-8, atol=1e-8)
    assert "carried to the solution" in found.how
    sizes = np.abs(found.values).reshape(len(rows), X.shape[1], -1).mean(axis=(0, 2))
    assert sizes.argmax() == list(X.columns).index("number")
    background = shap_values(forest, rows, background=X[:20])
    total = (background.values.sum(axis=1) + background.base).reshape(len(rows), -1)
    np.testing.assert_allclose(total, expected, rtol=1e-8, atol=1e-8)


def test_interactions_of_effects_are_refused():
    forest, X, _ = effects("causal")
    with pytest.raises(InvalidTypeError, match="those of a CausalForest are not: shap_values"):
        shap_interaction_values(forest, X[:3])


@pytest.mark.parametrize("name", ["causal", "arms"])
def test_a_row_is_explained_by_what_raises_its_effect(name):
    forest, X, _ = effects(name)
    row = X.iloc[[20]]
    found, effect = jaxtree.explain_row(forest, row), np.ravel(forest.predict(row))
    place = int(np.abs(effect).argmax())
    assert found.prediction == pytest.approx(effect[place]) and found.kind == "effect"
    assert found.of_class == (None if name == "causal" else forest.names_of_predictions()[place])
    assert found.base + sum(part.score for part in found.contributions) == pytest.approx(found.score)
    assert len(found.steps) == 3 and str(found).splitlines()[1].startswith("effect")


def test_the_steps_of_all_trees_lead_from_the_base_to_the_effect(monkeypatch):
    monkeypatch.setattr("jaxtree.explain.scores.STRONGEST", 1000)
    forest, X, _ = effects("instrumental")
    found = jaxtree.explain_row(forest, pd.DataFrame(X.iloc[[7]]))
    model = forest.model_
    roots = model.node_value[model.forest.first_node[:-1]].mean(axis=0)
    base = model.link.predict_on_host(roots[:, None])[0, 0]
    assert len(found.steps) == len(forest.forest_)
    assert base + sum(step.score for step in found.steps) == pytest.approx(found.prediction)
