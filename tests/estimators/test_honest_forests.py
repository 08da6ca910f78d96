"""Forests whose leaves are filled by other rows than those that chose their splits."""

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.errors import InvalidInputError

RNG = np.random.default_rng(2)
X = RNG.random((300, 3))
Y = np.sin(6 * X[:, 0]) + 0.3 * RNG.normal(size=300)
CLASSES = np.where(Y > 0.3, "high", np.where(Y < -0.3, "low", "middle"))
KINDS = {
    "forest of numbers": (jaxtree.RandomForestRegressor, Y),
    "extra trees of numbers": (jaxtree.ExtraTreesRegressor, Y),
    "forest of classes": (jaxtree.RandomForestClassifier, CLASSES),
    "extra trees of classes": (jaxtree.ExtraTreesClassifier, CLASSES),
}


def fitted(name, **options):
    kind, y = KINDS[name]
    return kind(**{"n_estimators": 12, "random_state": 0, "honest": True, **options}).fit(X, y)


@pytest.mark.parametrize("name", KINDS)
def test_an_honest_forest_is_smaller_and_learns(name):
    honest, other = fitted(name), fitted(name, honest=False)
    assert honest.forest_.num_nodes.mean() < 0.7 * other.forest_.num_nodes.mean()
    assert honest.score(X, KINDS[name][1]) > 0.6


@pytest.mark.parametrize("name", KINDS)
def test_leaves_do_not_know_the_rows_that_chose_them(name):
    """Trees that are not honest predict the rows that they grew on without an error, where leaves are pure."""
    assert fitted(name, bootstrap=False, max_features=None).score(X, KINDS[name][1]) < 0.95


@pytest.mark.parametrize("name", KINDS)
def test_a_search_finds_what_lone_fits_find(name):
    kind, y = KINDS[name]
    own = kind(8, random_state=0, honest=True)
    search = jaxtree.SearchCV(own, {"max_depth": [2, None], "min_samples_split": [2, 40], "n_estimators": [4, 8]}, cv=2)
    search.fit(X, y)
    folds = search.cv_results_["split0_test_score"]
    train, test = next(iter(jaxtree_folds(y)))
    for params, score in zip(search.cv_results_["params"], folds, strict=True):
        alone = clone(own).set_params(**params).fit(X[train], y[train])
        assert alone.score(X[test], y[test]) == pytest.approx(score, abs=1e-12)


def jaxtree_folds(y):
    from sklearn.model_selection import check_cv

    return check_cv(2, y, classifier=y.dtype.kind == "U").split(X, y)


def test_a_file_and_a_warm_start_go_on(tmp_path):
    forest = fitted("forest of classes", warm_start=True, oob_score=True)
    forest.save(tmp_path / "honest.jaxtree")
    again = jaxtree.load(tmp_path / "honest.jaxtree")
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    more = forest.set_params(n_estimators=16).fit(X, CLASSES)
    whole = fitted("forest of classes", n_estimators=16, oob_score=True)
    np.testing.assert_array_equal(more.predict_proba(X), whole.predict_proba(X))


def test_rows_that_are_shared_out_cannot_fill_leaves():
    with pytest.raises(InvalidInputError, match="honest=True fills leaves by whole rows"):
        fitted("forest of classes", missing="fraction")
