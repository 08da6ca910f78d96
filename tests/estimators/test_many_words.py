"""Columns of many words: every estimator takes them by default, and none is worse than without."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss, roc_auc_score

import jaxtree
from jaxtree.estimators.common.features import FeatureOptions
from jaxtree.estimators.common.growing import decode_thresholds, grow_tables
from jaxtree.estimators.common.ordered_categories import order_for_trees
from jaxtree.tree import SplitKind
from jaxtree.tree.predictor import Predictor
from jaxtree.tree.subsets import SharedSubsets
from tests.marks import rest_is_slow

pytestmark = pytest.mark.filterwarnings("ignore::jaxtree.errors.RareWordsWarning", "ignore::UserWarning")

SMALL = {"n_estimators": 3, "max_rounds": 20, "outer_bags": 2, "max_epochs": 2, "depth": 2, "max_depth": 3}
"""Parameters that make models small, of those that have them."""


def table(seed=0, num_rows=2000, num_words=1500, effect=1.0):
    """A column of many words, few of them frequent, a number, and a column of few categories."""
    rng, share = np.random.default_rng(seed), 1 / np.arange(1, num_words + 1)
    word, size, small = (
        rng.choice(num_words, num_rows, p=share / share.sum()),
        rng.normal(size=num_rows),
        rng.integers(0, 4, num_rows),
    )
    score = size + (small == 1) + effect * np.random.default_rng(7).normal(size=num_words)[word]
    X = pd.DataFrame({"zip": [f"z{number}" for number in word], "size": size, "small": np.array(list("abcd"))[small]})
    return X, score + rng.normal(size=num_rows)


def estimators():
    """All estimators that read a table, made small."""
    kinds = [getattr(jaxtree, name) for name in jaxtree.__all__]
    for kind in kinds:
        names = kind._get_param_names() if hasattr(kind, "_get_param_names") else ()
        if "max_categories" in names and "psi" not in names:  # equations are the user's
            yield kind(**{name: value for name, value in SMALL.items() if name in names})


def target_of(estimator, score):
    if isinstance(estimator, jaxtree.GradientBoostingRanker):
        return np.digitize(score, [0, 1]), {"group": np.arange(len(score)) // 10}
    if isinstance(estimator, jaxtree.CausalForest | jaxtree.InstrumentalForest):
        return score, dict.fromkeys(estimator.needed, np.arange(len(score)) % 2)
    if isinstance(estimator, jaxtree.PolicyTree):
        return np.stack([score, -score], axis=1), {}
    if isinstance(estimator, jaxtree.SurvivalForest):
        return np.abs(score), {}
    return (score > 0 if is_classifier(estimator) else score), {}


@pytest.mark.parametrize("estimator", rest_is_slow([*estimators()]), ids=lambda own: type(own).__name__)
def test_every_estimator_takes_many_words_by_default(estimator):
    X, score = table()
    y, extra = target_of(estimator, score)
    fitted = clone(estimator).fit(X, y, **extra)
    column = fitted.schema_.columns[0]
    assert column.rare_words is not None and column.num_values > 50
    never, rare = X.assign(zip="never"), X.assign(zip=column.rare_words.example)
    np.testing.assert_array_equal(fitted.predict(never), fitted.predict(rare))
    missing = fitted.predict(X.assign(zip=None))
    assert len(missing) == len(X)


TREES = [
    jaxtree.DecisionTreeClassifier(random_state=0),
    jaxtree.RandomForestClassifier(30, random_state=0),
    jaxtree.ExtraTreesClassifier(30, random_state=0),
    jaxtree.ID3Classifier(),
    jaxtree.C45Classifier(),
    jaxtree.C45Classifier(laplace=True),
    jaxtree.OptimalTreeClassifier(max_depth=2),
]


@pytest.mark.parametrize("estimator", rest_is_slow(TREES), ids=lambda own: type(own).__name__)
def test_trees_are_better_with_a_column_of_many_words_than_without(estimator):
    gains = []
    for seed in range(2):
        X, score = table(seed, 4000, 600, effect=1.5)
        y = score > 0
        found = []
        for columns in (["zip", "size", "small"], ["size", "small"]):
            fitted = clone(estimator).fit(X[columns][:2000], y[:2000])
            probability = fitted.predict_proba(X[columns][2000:])[:, 1]
            found.append((roc_auc_score(y[2000:], probability), -log_loss(y[2000:], probability)))
        gains.append(np.subtract(*found))
    assert np.mean(gains, axis=0)[0] > 0.02
    is_smoothed = getattr(estimator, "laplace", True)  # else some leaves are certain
    assert np.mean(gains, axis=0)[1] > 0 or not is_smoothed


@pytest.mark.parametrize("estimator", TREES[:2], ids=lambda own: type(own).__name__)
def test_trees_are_no_worse_for_a_useless_column_of_many_words(estimator):
    found = []
    for seed in range(3):
        X, score = table(seed, 4000, 600, effect=0.0)
        y = score > 0
        for columns in (["zip", "size", "small"], ["size", "small"]):
            fitted = clone(estimator).fit(X[columns][:2000], y[:2000])
            probability = fitted.predict_proba(X[columns][2000:])[:, 1]
            found.append((roc_auc_score(y[2000:], probability), -log_loss(y[2000:], probability)))
    with_column, without = np.mean(found[::2], axis=0), np.mean(found[1::2], axis=0)
    assert with_column[0] > without[0] - 0.02 and with_column[1] > 1.1 * without[1]


@pytest.mark.parametrize("missing", ["learn", "branch"])
@pytest.mark.parametrize("of_classes", [2, 3, 0])
def test_subsets_divide_other_rows_as_statistics_did(of_classes, missing):
    """A tree of statistics sends the statistic of a word where the tree in words sends the word."""
    X, score = table()
    X.loc[::11, "zip"] = None
    y = np.digitize(score, [0.0] if of_classes == 2 else [-1.0, 1.0]) if of_classes else score
    kind = jaxtree.DecisionTreeClassifier if of_classes else jaxtree.DecisionTreeRegressor
    tree = kind(max_depth=6, missing=missing)
    task = tree.growth_task(X, y)
    (grown,) = grow_tables([task])
    tree.finish_fit(grown, task)
    ordered = task.recipe.ordered
    codes = ordered.codes(task.data.encoder.transform(X))
    values = [tree.encoder_.values(X)[:, :3]]
    for feature in (0, *range(3, len(codes))):
        bins = ordered.data.schema.columns[feature].bins
        middle = np.append((bins.low + bins.high) / 2, np.nan)[codes[feature]][:, None]
        if feature == 0:
            values[0][:, :1] = middle
        else:
            values.append(middle)
    ends = Predictor(decode_thresholds(grown, ordered.data.schema)).ends(np.concatenate(values, axis=1))
    np.testing.assert_array_equal(ends, tree.apply(X))
    split = ~tree.tree_.is_leaf
    assert np.all(tree.tree_.split_kind[split & (tree.tree_.feature == 0)] == SplitKind.SUBSET)
    assert set(tree.tree_.feature[split]) <= {0, 1, 2} and np.any(tree.tree_.feature[split] == 0)


def test_no_row_sees_its_own_target():
    """The statistic of a row stays as it is whatever the row's target."""
    X, score = table()
    y = score > 0
    tree = jaxtree.DecisionTreeClassifier()
    first = tree.growth_task(X, y)
    before = order_for_trees(first.data, FeatureOptions())[1]
    for row in (3, 700):
        other = y.copy()
        other[row] = ~other[row]
        after = order_for_trees(tree.growth_task(X, other).data, FeatureOptions())[1]
        assert before is not None and after is not None
        middles = []
        for own in (before.data, after.data):
            bins, code = own.schema.columns[0].bins, own.codes[0, row]
            middles.append((bins.low[code] + bins.high[code]) / 2)
        assert middles[0] == pytest.approx(middles[1], abs=0.02)


MADE_OF_SUBSETS = {
    "tree": jaxtree.DecisionTreeClassifier(),
    "C4.5": jaxtree.C45Classifier(),
    "forest": jaxtree.RandomForestClassifier(3, random_state=0),
    "boosted": jaxtree.GradientBoostingClassifier(3, max_depth=3),
    "of classes": jaxtree.RandomForestClassifier(3, random_state=0),
    "folds": jaxtree.GradientBoostingClassifier(3, max_depth=3, early_stopping="cv", cv=2),
}


@pytest.mark.parametrize("name", rest_is_slow([*MADE_OF_SUBSETS]))
def test_nodes_share_subsets_of_words(name, tmp_path):
    """The memory of subsets grows with the bins of statistics, not with nodes; files and pickles keep them so."""
    X, score = table(num_rows=4000)
    X["many"] = np.random.default_rng(1).choice([f"m{number}" for number in range(40)], len(X))
    model = clone(MADE_OF_SUBSETS[name]).fit(X, np.digitize(score, [-1, 1]) if name == "of classes" else score > 0)
    nodes = model.tree_ if hasattr(model, "tree_") else model.forest_.nodes
    num_statistics = {"of classes": 3, "boosted": 2, "folds": 4}.get(name, 1)  # "many" has them in boosting
    of_few = len(np.unique(np.asarray(nodes.subset)[:, :2], axis=0))
    assert isinstance(nodes.subset, SharedSubsets) and nodes.subset.shape[1] > 5
    assert len(nodes.subset.words) <= 2 + 255 * num_statistics + of_few
    model.save(tmp_path / "model.jaxtree")
    for again in (jaxtree.load(tmp_path / "model.jaxtree"), pickle.loads(pickle.dumps(model))):
        other = again.tree_ if hasattr(again, "tree_") else again.forest_.nodes
        assert len(other.subset.words) <= len(nodes.subset.words)
        np.testing.assert_array_equal(other.subset, nodes.subset)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
