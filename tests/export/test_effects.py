"""Exports of forests of effects: they solve the moment in the means of statistics, as `predict` does."""

import shutil

import numpy as np
import pytest

import jaxtree
from tests.examples import effects
from tests.export.running import c_rows, compile_c, run_sql

COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.mark.parametrize("name", ["causal", "arms", "instrumental"])
def test_sql_says_the_effects(name):
    forest, X, _ = effects(name)
    expected = forest.predict(X).reshape(len(X), -1)
    for place, own in enumerate(expected.T):
        text = jaxtree.to_sql(forest, score=place) if expected.shape[1] > 1 else jaxtree.to_sql(forest)
        np.testing.assert_allclose(run_sql(text, X), own, rtol=1e-9, atol=1e-9)


def test_sql_writes_the_sum_of_a_statistic_once():
    forest = effects("causal")[0]
    one = jaxtree.to_sql(forest, score=0)
    assert len(jaxtree.to_sql(forest)) < 4.5 * len(one)
    assert "UNNEST([STRUCT(" in jaxtree.to_sql(forest, dialect="bigquery")


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_c_says_the_effects_of_all_arms(tmp_path):
    forest, X, _ = effects("arms")
    text = jaxtree.to_c(forest)
    assert "A forest of a moment equation" in text
    library = compile_c(COMPILER, text, tmp_path)
    found = c_rows(library, library.tree_predict, forest, X[:40], 2)
    np.testing.assert_allclose(found, forest.predict(X[:40]), rtol=1e-9, atol=1e-9)


def test_a_frame_has_what_a_node_alone_would_give():
    forest = effects("arms")[0]
    frame = jaxtree.to_dataframe(forest)
    means = frame[[name for name in frame if name.startswith("mean of statistic")]].to_numpy()
    expected = forest.model_.link.predict_on_host(means.T).T
    np.testing.assert_allclose(frame[["prediction 0", "prediction 1"]].to_numpy(), expected)
    assert "prediction" in jaxtree.to_dataframe(effects("dose")[0])
