"""One search over every estimator: its results are those of scikit-learn's on the same folds."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import randint
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline

import jaxtree
from jaxtree import SearchCV
from jaxtree.errors import InternalError, InvalidInputError
from jaxtree.estimators.common.prunings import ReducedError
from jaxtree.metrics import concordance_index, mean_reciprocal_rank, ndcg, scorer
from jaxtree.resampling import cross_validate
from tests.examples import EXTRAS, ROWS, of_every_class, unfitted
from tests.marks import are_slow
from tests.search.beside import assert_same_results

FOLDS = list(KFold(2, shuffle=True, random_state=0).split(np.zeros((ROWS, 1))))
OTHER_PARAMETERS = {
    "c45": {"min_samples_leaf": [2, 5]},
    "c45_words": {"min_samples_leaf": [2, 5]},
    "id3": {"max_depth": [1, 3]},
    "optimal": {"leaf_penalty": [0.0, 0.05]},
}
SEARCHED = [name for name in unfitted() if name != "cart_outputs"]
"""Several targets of classes have no score in scikit-learn."""

FAST = ("cart", "forest")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
TIME, EVENT = RNG.exponential(np.exp(X[:, 0])), RNG.random(120) < 0.7
QUERY = RNG.integers(0, 15, 120)
RELEVANCE = np.digitize(X[:, 0], [0.0, 1.0])
DEPTHS = {"max_depth": [1, 2]}


def ranker():
    return jaxtree.GradientBoostingRanker(4, min_samples_leaf=4, ndcg_at=3)


def cox():
    return jaxtree.GradientBoostingRegressor(4, min_samples_leaf=4, loss="cox")


def grid_of(name, estimator):
    names = estimator.get_params(deep=False)
    depth = "max_depth" if "max_depth" in names else "depth"
    usual = {"max_leaves": [2, 3]} if name.startswith("additive") else {depth: [1, 2]}
    return OTHER_PARAMETERS.get(name, usual)


def quietly(search, *arguments, **params):
    with warnings.catch_warnings(action="ignore"):
        return search.fit(*arguments, **params)


@pytest.mark.parametrize("name", of_every_class(SEARCHED, FAST))
def test_results_are_those_of_scikit_learn_for_every_estimator(name):
    estimator, table, target = unfitted()[name]
    folds = FOLDS if len(table) == ROWS else 2
    grid, extras, options = grid_of(name, estimator), EXTRAS.get(name, {}), {"cv": folds, "error_score": "raise"}
    own = quietly(SearchCV(clone(estimator), grid, **options), table, target, **extras)
    with sklearn.config_context(enable_metadata_routing=True):
        theirs = quietly(GridSearchCV(clone(estimator), grid, **options), table, target, **extras)
    found = {name: values for name, values in own.cv_results_.items() if "n_rounds" not in name}
    assert_same_results(found, theirs.cv_results_)
    for attribute in ("best_index_", "best_params_", "multimetric_", "n_splits_"):
        assert repr(getattr(own, attribute)) == repr(getattr(theirs, attribute))
    np.testing.assert_allclose(own.best_score_, theirs.best_score_, rtol=1e-9)
    np.testing.assert_array_equal(own.predict(table), theirs.predict(table))
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_array_equal(own.predict_proba(table), theirs.predict_proba(table))
    assert own.score(table, target, **extras) == own.best_estimator_.score(table, target, **extras)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"factor": 2},
            "factor=2 is for searches over boosted trees without .*, got DecisionTreeClassifier",
        ),
        ({"refit": "ensemble"}, "refit='ensemble' averages boosted models of classes"),
    ],
)
def test_options_of_boosted_trees_are_refused_by_others(options, said):
    with pytest.raises(InvalidInputError, match=said):
        SearchCV(jaxtree.DecisionTreeClassifier(), DEPTHS, **options).fit(X, X[:, 0] > 0)


def test_training_scores_are_refused_with_what_needs_rounds():
    search = SearchCV(jaxtree.GradientBoostingClassifier(2), DEPTHS, factor=2, return_train_score=True)
    with pytest.raises(InvalidInputError, match=r"factor=2 .* and return_train_score=True"):
        search.fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("name", ["cart", "forest", "boosted", "additive", "soft"])
def test_a_defect_of_fits_together_is_no_slow_way(name, monkeypatch):
    estimator, table, target = unfitted()[name]
    ways = ("estimators.boosting.many._open", "estimators.additive.base.fit_alike", "estimators.soft.base.train_runs")
    for way in (*ways, "estimators.trees.base.loosest", "estimators.forests.base.loosest"):
        monkeypatch.setattr(f"jaxtree.{way}", lambda *arguments, **options: undefined)
    with pytest.raises(InternalError, match="fits together failed, and none of them alone: name 'undefined' is not"):
        SearchCV(clone(estimator), grid_of(name, estimator), cv=FOLDS).fit(table, target)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (jaxtree.DecisionTreeClassifier(), {"max_depth": [2, -1]}),
        (jaxtree.RandomForestClassifier(2), {"max_depth": [2, -1]}),
        (jaxtree.GradientBoostingClassifier(2), {"class_weight": [None, {7: 2.0}]}),
    ],
)
def test_a_setting_that_fails_is_named(estimator, grid):
    search = SearchCV(estimator, grid, cv=2, error_score="raise")
    with pytest.raises(InvalidInputError) as caught:
        search.fit(X, X[:, 0] > 0)
    ((name, (_, wrong)),) = grid.items()
    assert caught.value.__notes__ == [f"the setting that failed: { ({name: wrong}) }"]


def test_measures_of_order_by_name_beside_those_of_scikit_learn():
    scoring = ["ndcg@3", "mrr", "map", "r2"]
    relevant = (RELEVANCE > 0).astype(int)
    search = SearchCV(ranker(), DEPTHS, cv=3, scoring=scoring, refit="mrr").fit(X, relevant, group=QUERY)
    options = {"cv": 3, "scoring": scoring, "fit_params": {"group": QUERY}}
    together = cross_validate(ranker().set_params(max_depth=1), X, relevant, **options)
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, groups=QUERY)):
        model = ranker().set_params(max_depth=1).fit(X[train], relevant[train], group=QUERY[train])
        rows = relevant[test], model.predict(X[test])
        expected = {
            "ndcg@3": ndcg(*rows, group=QUERY[test], k=3),
            "mrr": mean_reciprocal_rank(*rows, group=QUERY[test]),
            "r2": sklearn.metrics.r2_score(*rows),
        }
        for name, value in expected.items():
            assert search.cv_results_[f"split{fold}_test_{name}"][0] == pytest.approx(value)
            assert together[f"test_{name}"][fold] == pytest.approx(value)
    assert search.score(X, relevant, group=QUERY) == mean_reciprocal_rank(relevant, search.predict(X), group=QUERY)


@pytest.mark.slow
@pytest.mark.parametrize("loss", are_slow(["cox", "accelerated_failure_time"], "accelerated_failure_time"))
def test_survival_times_by_name_by_default_and_structured(loss):
    model = cox().set_params(loss=loss)
    y = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("died", bool), ("days", float)])
    given = {"y": TIME, "event": EVENT}
    own, named = (SearchCV(model, DEPTHS, cv=3, scoring=by).fit(X, **given) for by in (None, "concordance"))
    apart = SearchCV(model, DEPTHS, cv=3).fit(X, y)
    expected = []
    for train, test in KFold(3).split(X):
        fitted = clone(model).set_params(max_depth=2).fit(X[train], TIME[train], event=EVENT[train])
        risk = fitted.predict(X[test]) * (1 if loss == "cox" else -1)
        expected.append(concordance_index(TIME[test], risk, event=EVENT[test]))
    for search in (own, named, apart):
        found = [search.cv_results_[f"split{fold}_test_score"][1] for fold in range(3)]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert own.score(X, TIME, event=EVENT) == named.score(X, TIME, event=EVENT) == apart.score(X, y)
    plain = SearchCV(model, DEPTHS, cv=3, return_train_score=True).fit(X, y)
    np.testing.assert_allclose(plain.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"], rtol=1e-6)
    scores = cross_validate(clone(model).set_params(max_depth=2), X, TIME, cv=3, fit_params={"event": EVENT})
    np.testing.assert_allclose(scores["test_score"], expected, rtol=1e-6)


@pytest.mark.slow
def test_scikit_learn_routes_to_own_scorers():
    with sklearn.config_context(enable_metadata_routing=True):
        theirs = GridSearchCV(ranker(), DEPTHS, cv=FOLDS, scoring=scorer("ndcg@3"), error_score="raise")
        theirs = theirs.fit(X[:ROWS], RELEVANCE[:ROWS], group=QUERY[:ROWS])
    own = SearchCV(ranker(), DEPTHS, cv=FOLDS, scoring="ndcg@3").fit(X[:ROWS], RELEVANCE[:ROWS], group=QUERY[:ROWS])
    np.testing.assert_allclose(own.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


@pytest.mark.slow
def test_early_stopping_by_own_measures():
    held = [(X[:40], TIME[:40], {"event": EVENT[:40]})]
    model = cox().set_params(n_estimators=12, max_depth=2, early_stopping=True, n_iter_no_change=3)
    model.fit(X[40:], TIME[40:], event=EVENT[40:], eval_set=held, eval_metric="concordance")
    measured = model.evals_result_["validation_0"]["concordance"]
    assert model.n_estimators_ == np.argmax(measured) + 1
    assert max(measured) == pytest.approx(model.score(X[:40], TIME[:40], event=EVENT[:40]))
    order = ranker().fit(
        X, RELEVANCE, group=QUERY, eval_set=[(X, RELEVANCE, {"group": QUERY})], eval_metric=["mrr", "ndcg@3"]
    )
    shown = order.evals_result_["validation_0"]
    assert shown["mrr"][-1] == pytest.approx(mean_reciprocal_rank(RELEVANCE, order.predict(X), group=QUERY))
    assert shown["ndcg@3"][-1] == pytest.approx(order.score(X, RELEVANCE, group=QUERY))


def test_weights_are_cut_by_folds():
    weight = RNG.uniform(0.5, 2, 120)
    classes = np.where(X[:, 0] > 0, "a", "b")
    own, theirs = (
        search(jaxtree.SoftTreeClassifier(max_epochs=2, random_state=0), {"depth": [1]}, cv=2).fit(
            X, classes, sample_weight=weight
        )
        for search in (SearchCV, GridSearchCV)
    )
    assert own.cv_results_["split0_test_score"][0] == theirs.cv_results_["split0_test_score"][0]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (lambda: SearchCV(DummyClassifier(), {}), r"searches over estimators of jaxtree, got DummyClassifier; .*Grid"),
        (lambda: SearchCV(make_pipeline(ranker()), {}), "got Pipeline; .*GridSearchCV searches over anything"),
        (lambda: SearchCV(cox, {}), "estimators of jaxtree, got function"),
        (lambda: SearchCV(cox(), []), "param_grid must have one setting or more"),
        (lambda: SearchCV(cox(), {"max_depth": []}), "param_grid"),
        (lambda: SearchCV(cox(), {"eta": [0.1]}), "Invalid parameter 'eta'.*learning_rate"),
        (lambda: SearchCV(jaxtree.SoftTreeClassifier(), {"dept": [1]}), "Invalid parameter 'dept'"),
        (lambda: SearchCV(cox(), {"max_depth": randint(1, 3)}), "n_iter must be the number of settings"),
        (lambda: SearchCV(cox(), DEPTHS, refit="ensemble"), "averages boosted models of classes, or of numbers"),
        (lambda: SearchCV(cox(), DEPTHS, scoring="concordanc"), "'concordanc'"),
    ],
)
def test_what_cannot_be_searched_is_named(search, message):
    with pytest.raises(ValueError, match=message):
        search().fit(X, TIME, event=EVENT)


def test_scores_that_cannot_be_given_are_named():
    with pytest.raises(InvalidInputError, match="'ndcg' needs group"):
        SearchCV(jaxtree.SoftTreeRegressor(max_epochs=1), {}, scoring="ndcg", cv=2, error_score="raise").fit(X, TIME)
    with pytest.raises(InvalidInputError, match="'concordance' scores models of survival times"):
        scorer("concordance")(jaxtree.DecisionTreeRegressor().fit(X, TIME), X, TIME)
    with pytest.raises(InvalidInputError, match=r"'concordance', 'ndcg', .* got 'ndcg@0'"):
        scorer("ndcg@0")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        SearchCV(cox(), DEPTHS).score(X, TIME, event=EVENT)


def test_another_fit_leaves_nothing_of_the_first(monkeypatch):
    y = pd.Series(np.where(X[:, 0] > 0, "a", "b"))
    search = SearchCV(jaxtree.DecisionTreeClassifier(), DEPTHS, cv=2).fit(pd.DataFrame(X, columns=list("abc")), y)
    assert list(search.feature_names_in_) == ["a", "b", "c"]
    search.set_params(refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_") and not hasattr(search, "feature_names_in_")
    assert clone(search).get_params()["refit"] is False


VALIDATED = {
    "tree": (jaxtree.DecisionTreeRegressor(pruning=ReducedError()), {"max_depth": [3, None]}),
    "boosting": (jaxtree.GradientBoostingRegressor(20, early_stopping=True), {"max_depth": [2, 3]}),
    "boosting, alone": (
        jaxtree.GradientBoostingRegressor(30, early_stopping=True, drop_rate=0.1),
        {"random_state": [0]},
    ),
}


@pytest.mark.parametrize("kind", VALIDATED)
def test_as_many_validation_rows_as_the_table_has_stay_whole(kind):
    estimator, grid = VALIDATED[kind]
    y = X[:, 0] + RNG.normal(size=len(X))
    # In this order a fold's validation rows would be those of one half of the line.
    order = np.argsort(X[:, 0])
    given = {"X_val": X[order] + 0.1, "y_val": X[order, 0]}
    search = SearchCV(estimator, grid, cv=KFold(2)).fit(X, y, **given)
    for fold, (train, test) in enumerate(KFold(2).split(X)):
        alone = [
            clone(estimator).set_params(**own).fit(X[train], y[train], **given).score(X[test], y[test])
            for own in search.cv_results_["params"]
        ]
        np.testing.assert_allclose(search.cv_results_[f"split{fold}_test_score"], alone, rtol=1e-12)
    again = cross_validate(clone(estimator).set_params(**search.best_params_), X, y, cv=KFold(2), fit_params=given)
    assert again["test_score"].mean() == pytest.approx(search.best_score_)
