"""Searches over additive models: every member is its fit by itself."""

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor, SearchCV
from jaxtree.search.additive_folds import AdditiveSearchCV
from jaxtree.search.alone import PlainSearchCV

GRID = {"learning_rate": [0.03, 0.2], "max_leaves": [2, 3], "interactions": [0, 1], "max_bins": [8, 16]}


def table(num_rows=160):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 3))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * draw.normal(size=num_rows)


@pytest.mark.parametrize("kind", ["classes", "numbers", "counts", "weights", "groups"])
def test_members_are_what_their_lone_fits_are(kind):
    X, y = table()
    few, params = {"outer_bags": 2, "max_rounds": 60}, {}
    estimator = ExplainableBoostingRegressor(**few)
    if kind == "classes":
        estimator, y = ExplainableBoostingClassifier(**few), y > 0
    elif kind == "counts":
        estimator, y = ExplainableBoostingRegressor(loss="poisson", **few), np.exp(y / 2).round()
    elif kind == "weights":
        params = {"sample_weight": np.arange(160) % 3}
    elif kind == "groups":
        params = {"group": np.arange(160) // 4}
    search = SearchCV(estimator, GRID, cv=2, refit=False).fit(X, y, **params)
    alone = PlainSearchCV(estimator, GRID, cv=2, refit=False).fit(X, y, **params)
    assert isinstance(search.search_, AdditiveSearchCV)
    np.testing.assert_array_equal(search.cv_results_["split0_test_score"], alone.cv_results_["split0_test_score"])
    np.testing.assert_array_equal(search.cv_results_["split1_test_score"], alone.cv_results_["split1_test_score"])


def test_the_order_of_settings_is_of_no_account():
    X, y = table()
    estimator, rates = ExplainableBoostingRegressor(outer_bags=1, max_rounds=40), [0.01, 0.1, 0.3]
    scores = [
        SearchCV(estimator, {"learning_rate": own}, cv=2, refit=False).fit(X, y).cv_results_["mean_test_score"]
        for own in (rates, rates[::-1])
    ]
    np.testing.assert_array_equal(scores[0], scores[1][::-1])


def test_rows_of_a_fold_are_encoded_once_for_every_encoder(monkeypatch):
    from jaxtree.table.encoder import Encoder

    encoded, original = [], Encoder.fit_transform
    monkeypatch.setattr(Encoder, "fit_transform", lambda own, X: encoded.append(1) or original(own, X))
    X, y = table()
    grid = {"learning_rate": [0.05, 0.1, 0.2], "max_bins": [8, 16]}
    SearchCV(ExplainableBoostingRegressor(outer_bags=1, max_rounds=20), grid, cv=2, refit=False).fit(X, y)
    assert len(encoded) == 4


def test_a_setting_that_fails_fails_alone():
    X, y = table()
    grid = {"interactions": [0, [("x0", "nowhere")]]}
    with pytest.warns(FitFailedWarning, match="nowhere"):
        search = SearchCV(ExplainableBoostingRegressor(outer_bags=1, max_rounds=20), grid, cv=2).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert search.best_params_ == {"interactions": 0}
