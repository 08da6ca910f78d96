"""C4.5 beside the slow oracle of J48 on real data: the printed trees are equal, letter for letter."""

import numpy as np
import pandas as pd
import pytest

from jaxtree import C45Classifier, export_text
from tests.export.fitted import fitted
from tests.reference import c45_cuts, c45_oracle, c45_pruning
from tests.reference.weka import read_arff

pytestmark = pytest.mark.exhaustive

OPTIONS = {
    "default": {},
    "nocollapse": dict(collapse=False),
    "noMDL": dict(mdl_correction=False),
    "binary": dict(binary_splits=True),
    "M5": dict(min_samples_leaf=5),
    "gain": dict(gain="information"),
}
QUICK = [("vote", "default"), ("breast-cancer", "default"), ("soybean", "default"), ("labor", "gain")]
SLOW = [
    *((name, option) for name in ("vote", "breast-cancer", "labor", "soybean") for option in OPTIONS),
    *((name, option) for name in ("glass", "diabetes", "credit-g", "hypothyroid") for option in OPTIONS),
    ("ionosphere", "default"),
    ("ionosphere", "nocollapse"),
    ("kr-vs-kp", "default"),
]


PRUNED_QUICK = [("vote", "default", 0.25), ("labor", "gain", 0.5), ("breast-cancer", "nocollapse", 0.5)]
PRUNED_SLOW = [
    *((name, option, 0.25) for name in ("vote", "breast-cancer", "labor", "soybean") for option in OPTIONS),
    *((name, option, 0.25) for name in ("glass", "diabetes", "credit-g", "hypothyroid") for option in OPTIONS),
    *((name, "default", confidence) for name in ("labor", "glass", "credit-g") for confidence in (0.05, 0.5)),
    ("ionosphere", "default", 0.25),
    ("kr-vs-kp", "default", 0.25),
]


def read(real_data, name):
    if name != "kr-vs-kp":
        return read_arff(real_data / name / f"{name}.arff")
    table = pd.read_csv(real_data / name / f"{name}.data", header=None, dtype=str).add_prefix("a").astype("category")
    return table.iloc[:, :-1], table.iloc[:, -1]


def assert_equal_trees(real_data, monkeypatch, name, option):
    monkeypatch.setattr(c45_oracle, "best_cut", c45_cuts.best_cut)
    X, y = read(real_data, name)
    options = OPTIONS[option]
    expected = export_text(fitted(c45_oracle.grow_c45(X, y, **options), X, y, **options), style="weka")
    assert export_text(C45Classifier(confidence=None, **options).fit(X, y), style="weka") == expected


@pytest.mark.parametrize(("name", "option"), QUICK)
def test_same_tree(real_data, monkeypatch, name, option):
    assert_equal_trees(real_data, monkeypatch, name, option)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), [pair for pair in SLOW if pair not in QUICK])
def test_same_tree_on_more_data(real_data, monkeypatch, name, option):
    assert_equal_trees(real_data, monkeypatch, name, option)


def assert_equal_pruned_trees(real_data, monkeypatch, name, option, confidence):
    monkeypatch.setattr(c45_oracle, "best_cut", c45_cuts.best_cut)
    X, y = read(real_data, name)
    options, ones = OPTIONS[option], np.ones(len(y))
    grown = c45_oracle.grow_c45(X, y, **options)
    for raising in (True, False):
        pruned = c45_pruning.prune(grown, X, y, ones, confidence, raising)
        tree = C45Classifier(confidence=confidence, subtree_raising=raising, **options).fit(X, y)
        assert export_text(tree, style="weka") == export_text(fitted(pruned, X, y, **options), style="weka")


@pytest.mark.parametrize(("name", "option", "confidence"), PRUNED_QUICK)
def test_same_pruned_tree(real_data, monkeypatch, name, option, confidence):
    assert_equal_pruned_trees(real_data, monkeypatch, name, option, confidence)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option", "confidence"), PRUNED_SLOW)
def test_same_pruned_tree_on_more_data(real_data, monkeypatch, name, option, confidence):
    assert_equal_pruned_trees(real_data, monkeypatch, name, option, confidence)


@pytest.mark.parametrize("seed", range(3))
def test_cuts_are_counted_once_however_many_rows_have_a_value(monkeypatch, seed):
    """The MDL correction counts cuts, not rows, in nodes of few rows, too."""
    monkeypatch.setattr(c45_oracle, "best_cut", c45_cuts.best_cut)
    rng = np.random.default_rng(seed)
    # So many values, classes and columns that the rows are sorted by node.
    most = (4, 6, 10, 5, 7, 9, 200, 180)
    rows = pd.DataFrame({f"x{i}": rng.integers(0, values, 250) for i, values in enumerate(most)}, dtype=float)
    y = pd.Series(pd.Categorical((rows["x0"] + rows["x1"] + rows["x6"] / 40 + 2 * rng.random(250)) // 2.2))
    expected = fitted(c45_oracle.grow_c45(rows, y), rows, y)
    assert export_text(C45Classifier(confidence=None).fit(rows, y), style="weka") == export_text(expected, style="weka")
