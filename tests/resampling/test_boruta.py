"""Boruta's rule finds the columns that say something."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.resampling import BorutaSelector
from jaxtree.resampling.boruta import _decided

SEED = 4
FOREST = jaxtree.RandomForestRegressor(10, max_depth=2)


def table(number=250):
    generator = np.random.default_rng(SEED)
    X = generator.normal(size=(number, 5))
    return X, 3 * (X[:, 1] > 0) - 2 * (X[:, 4] > 0) + 0.1 * generator.normal(size=number)


def test_columns_that_matter_are_confirmed_and_others_rejected():
    X, y = table()
    selector = BorutaSelector(FOREST, max_rounds=60).fit(X, y)
    assert selector.status_.tolist() == ["rejected", "confirmed", "rejected", "rejected", "confirmed"]
    np.testing.assert_array_equal(selector.transform(X), X[:, [1, 4]])
    rounds = len(selector.shadow_importances_)
    assert selector.importances_.shape == (rounds, 5) and rounds < 60
    np.testing.assert_array_equal(
        np.nansum(selector.importances_ > selector.shadow_importances_[:, None], axis=0), selector.hits_
    )


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_with_words(library):
    X, y = table()
    words = np.where(X[:, 1] > 0, "a", "b")
    frame = library.DataFrame({"noise": X[:, 0], "word": words, "number": X[:, 4]})
    if library is pd:
        frame.index = frame.index[::-1]  # a shadow is in an order of its own, whatever the index
    selector = BorutaSelector(FOREST, max_rounds=25).fit(frame, y)
    assert selector.status_.tolist() == ["rejected", "confirmed", "confirmed"]
    assert selector.get_feature_names_out().tolist() == ["word", "number"]


def test_a_seed_gives_the_same_rounds_and_few_rounds_decide_nothing():
    X, y = table(60)
    first, second = (BorutaSelector(FOREST, max_rounds=3, random_state=7).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.importances_, second.importances_)
    assert set(first.status_) == {"tentative"}
    assert np.shape(first.transform(X)) == (60, 0)


def test_a_pipeline_selects_and_grows():
    X, y = table()
    model = make_pipeline(BorutaSelector(FOREST, max_rounds=15), jaxtree.DecisionTreeRegressor(max_depth=3)).fit(X, y)
    assert model[-1].n_features_in_ == 2


@pytest.mark.parametrize(("hits", "number"), [(9, 10), (1, 10), (5, 10), (20, 20), (0, 20), (14, 20)])
def test_a_column_is_decided_by_binomial_tests(hits, number):
    level = 0.05 / 4
    more = binomtest(hits, number, alternative="greater").pvalue <= level / 2
    fewer = binomtest(hits, number, alternative="less").pvalue <= level / 2
    assert _decided(np.array([hits]), number, level)[0] == int(more) - int(fewer)


class Shape(BaseEstimator):
    """Remembers the last table, and finds all columns alike."""

    def fit(self, X, y):
        self.feature_importances_ = np.ones(X.shape[1])
        Shape.seen = X.shape
        return self


class Order(BaseEstimator):
    """Finds columns important that ascend, and those of large values in every second fit."""

    rounds = 0

    def fit(self, X, y):
        Order.rounds += 1
        likeness = np.corrcoef(X.T, np.arange(len(X)))[-1, :-1]
        self.feature_importances_ = np.where(X.max(axis=0) > 1000, likeness * (-1) ** Order.rounds, likeness)
        return self


def test_a_rejected_column_leaves_and_a_tentative_one_stays():
    rows = np.arange(50.0)
    selector = BorutaSelector(Order(), max_rounds=30).fit(np.stack([rows, -rows, 1000 * rows], axis=1), rows)
    assert selector.status_.tolist() == ["confirmed", "rejected", "tentative"]
    assert selector.hits_.tolist() == [30, 0, 15]
    # One of 0.05 / 3 / 2 in 2 ** rounds.
    assert np.isnan(selector.importances_).sum(axis=0).tolist() == [0, 30 - 7, 0]


def test_there_are_five_shadows_at_least():
    X, y = table(40)
    BorutaSelector(Shape(), max_rounds=1).fit(X[:, :2], y)
    assert Shape.seen == (40, 7)


@pytest.mark.parametrize(
    ("parameters", "words"), [({"max_rounds": 0}, "max_rounds"), ({"alpha": 1.0}, "alpha"), ({"alpha": 2}, "alpha")]
)
def test_parameters_that_are_not_allowed(parameters, words):
    with pytest.raises(InvalidInputError, match=words):
        BorutaSelector(FOREST, **parameters).fit(*table(20))


def test_a_table_is_dense_and_has_two_axes():
    with pytest.raises(InvalidInputError, match="2D array"):
        BorutaSelector(FOREST).fit(np.zeros(4), np.zeros(4))
    with pytest.raises(InvalidTypeError, match="Sparse data"):
        BorutaSelector(FOREST).fit(scipy.sparse.csr_array(np.eye(4)), np.zeros(4))
