"""Hardened forests in other programs: ratios of what their trees add up to."""

import numpy as np
import pytest

import jaxtree
from jaxtree.explain import shap_values
from tests.export.running import compile_c, run_c, run_onnx, run_sql
from tests.export.test_shipping import compiler  # noqa: F401
from tests.soft.test_hard_forest import ROWS, TABLE, predictions, random_forest
from tests.soft.test_hard_forest import TARGETS as TARGETS_OF_ROWS

TARGETS = ("two", "four", "number", "counts")


def rows_in_words():
    """Rows as the programs take them: truth values as numbers or missing."""
    rows = ROWS[:120].copy()
    rows["is_new"] = rows["is_new"].astype(float)
    rows["size"] = rows["size"].astype(object)
    return rows


@pytest.mark.parametrize("target", TARGETS)
def test_onnx_predicts_the_same(target):
    pytest.importorskip("onnxruntime")
    hard, rows = random_forest(target).harden(), rows_in_words()
    said = run_onnx(hard, rows, np.float64)
    name = "probabilities" if hasattr(hard, "classes_") else "variable"
    predicted = predictions(hard, rows)
    np.testing.assert_allclose(said[name].reshape(predicted.shape), predicted, rtol=1e-13)
    np.testing.assert_allclose(said["scores"], hard.raw_scores(rows), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("target", TARGETS)
def test_c_predicts_the_same(target, compiler, tmp_path):  # noqa: F811
    hard, rows = random_forest(target).harden(), rows_in_words()
    outputs, places = run_c(compile_c(compiler, jaxtree.to_c(hard), tmp_path), hard, rows)
    predicted = predictions(hard, rows)
    np.testing.assert_allclose(outputs.reshape(predicted.shape), predicted, rtol=1e-13)
    if target == "four":
        np.testing.assert_array_equal(hard.classes_[places], hard.predict(rows))


def test_sql_predicts_the_same():
    rows = rows_in_words()
    two, four, number = (random_forest(target).harden() for target in ("two", "four", "number"))
    np.testing.assert_allclose(run_sql(jaxtree.to_sql(number), rows), number.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(run_sql(jaxtree.to_sql(two, score=0), rows), two.decision_function(rows), rtol=1e-9)
    share = run_sql(jaxtree.to_sql(four, share_of="low"), rows)
    np.testing.assert_allclose(share, four.predict_proba(rows)[:, four.classes_.tolist().index("low")], rtol=1e-12)


def test_exported_programs_predict_the_same():
    hard = random_forest("two").harden()
    values = hard.encoder_.values(ROWS).astype(np.float32)
    place, shares, scores = jaxtree.to_jax_export(hard).call(values)
    np.testing.assert_allclose(shares, hard.predict_proba(ROWS), atol=1e-5)
    np.testing.assert_allclose(scores, hard.raw_scores(ROWS), atol=1e-4)
    np.testing.assert_array_equal(hard.classes_[np.asarray(place)], hard.predict(ROWS))


@pytest.mark.parametrize("mixture", ["mean", "by_tree"])
def test_forests_without_weights_of_leaves_have_every_form(mixture):
    hard = random_forest("four", mixture=mixture).harden()
    found = shap_values(hard, ROWS[:50])
    said = hard.predict_proba(ROWS[:50]) if mixture == "mean" else hard.raw_scores(ROWS[:50])
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), said, atol=1e-9)
    assert "color" in jaxtree.to_html(hard, TABLE, TARGETS_OF_ROWS["four"][1])
    assert hard.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("target", ["four", "number"])
def test_pages_show_scores_and_predictions(target):
    hard = random_forest(target).harden()
    page = jaxtree.to_html(hard, TABLE, TARGETS_OF_ROWS[target][1])
    assert "the mean over the trees, weighted by the leaves that it reaches" in page
    assert "Tree 2" in page
    assert "No learning curve" not in page
