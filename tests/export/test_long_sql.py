"""Long sums and deep trees in SQL: databases read them, whatever their parsers bound."""

import functools
import re

import numpy as np
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.export import sql
from jaxtree.export.sql import MOST_NESTED, to_sql
from tests.examples import example
from tests.export.running import as_frame
from tests.export.shipping import FORESTS, TREES, edge_rows
from tests.export.test_dialects import run_duckdb, run_sqlite
from tests.marks import in_turn, rest_is_slow

RUN = {"sqlite": run_sqlite, "duckdb": run_duckdb}
MANY = 1_001
"""Terms that parsers do not take one after another."""


@functools.cache
def numbers(num_columns=3):
    return np.random.default_rng(0).normal(size=(60, num_columns))


@functools.cache
def long_model(name):
    X = numbers(MANY if name in ("columns", "planes") else 3)
    y, stumps = X[:, 0] + X[:, 1] ** 2, {"n_estimators": MANY, "max_depth": 1}
    classes, boosted = np.digitize(y, [0.0, 1.0]), {**stumps, "learning_rate": 0.01}
    few = {"outer_bags": 1, "max_rounds": 20, "interactions": 0, "min_samples_leaf": 2}
    return {
        "forest": lambda: jaxtree.RandomForestRegressor(**stumps, random_state=0).fit(X, y),
        "forest of classes": lambda: jaxtree.ExtraTreesClassifier(**stumps, random_state=0).fit(X, classes),
        "boosted": lambda: jaxtree.GradientBoostingRegressor(**boosted).fit(X, y),
        "two classes": lambda: jaxtree.GradientBoostingClassifier(**boosted).fit(X, y > 0),
        "three classes": lambda: jaxtree.GradientBoostingClassifier(**boosted).fit(X, classes),
        "columns": lambda: jaxtree.ExplainableBoostingRegressor(**few).fit(X, y),
        "planes": lambda: jaxtree.SoftTreeRegressor(depth=1, max_epochs=1, scaling="standard").fit(X, y).harden(),
    }[name]()


LONG = ("forest", "three classes", "forest of classes", "boosted", "two classes", "columns", "planes")


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize("name", rest_is_slow(LONG, 2))
def test_databases_read_sums_of_many_terms(name, dialect):
    model = long_model(name)
    share_of = model.classes_.tolist()[1] if is_classifier(model) else None
    rows = numbers(model.n_features_in_)[:20]
    said = RUN[dialect](to_sql(model, dialect=dialect, share_of=share_of), as_frame(rows))
    expected = model.predict(rows) if share_of is None else model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(said, expected, rtol=1e-9)


@pytest.mark.parametrize(("name", "most"), in_turn([*TREES, *FORESTS, "additive_regression"], [1, 2]))
def test_a_case_takes_in_what_would_nest_too_deep(name, most, monkeypatch):
    monkeypatch.setattr(sql, "MOST_NESTED", most)
    estimator = example(name)
    share_of = estimator.classes_.tolist()[0] if is_classifier(estimator) else None
    X, expression = as_frame(edge_rows(estimator)), to_sql(estimator, share_of=share_of)
    assert nested(expression) <= most
    expected = estimator.predict(X) if share_of is None else estimator.predict_proba(X)[:, 0]
    np.testing.assert_allclose(RUN["sqlite"](expression, X), expected, rtol=1e-15)


def nested(expression):
    """How many CASEs of an expression are in one another at most."""
    steps = [1 if word == "CASE" else -1 for word in re.findall(r"\b(?:CASE|END)\b", expression)]
    return np.cumsum([0, *steps]).max()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", RUN)
def test_a_tree_of_two_to_the_seventeenth_leaves_is_read(dialect):
    """Each of its leaves has its own number, and each split halves the rows: nested CASEs would be seventeen."""
    number = np.arange(2**17)
    X = np.stack([number // 2**9, number % 2**9], axis=1).astype(np.float64)
    model = jaxtree.DecisionTreeRegressor(max_bins=None).fit(X, number)
    assert model.get_depth() == 17 and model.get_n_leaves() == len(X)
    expression = to_sql(model, dialect=dialect)
    assert nested(expression) == MOST_NESTED
    rows = X[:: 2**12]
    assert RUN[dialect](expression, as_frame(rows)) == model.predict(rows).tolist()
