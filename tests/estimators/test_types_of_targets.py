"""A target's numbers and classes are the same in whatever type a table hands them over; seeds are of any kind.

Tables leave columns of Python objects behind: pandas after `dropna`, databases with `decimal.Decimal`.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jaxtree
from tests.marks import rest_is_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TRUTH = X[:, 0] + 0.5 * RNG.normal(size=60) > 0
CLASSIFIERS = [
    jaxtree.DecisionTreeClassifier(max_depth=2),
    jaxtree.ID3Classifier(max_depth=2),
    jaxtree.C45Classifier(),
    jaxtree.RandomForestClassifier(2, random_state=0),
    jaxtree.GradientBoostingClassifier(2),
    jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=20, interactions=0),
    jaxtree.SoftTreeClassifier(depth=2, max_epochs=2, random_state=0),
    jaxtree.OptimalTreeClassifier(max_depth=1),
]
REGRESSORS = [
    jaxtree.DecisionTreeRegressor(max_depth=2),
    jaxtree.ExtraTreesRegressor(2, random_state=0),
    jaxtree.GradientBoostingRegressor(2),
    jaxtree.ExplainableBoostingRegressor(outer_bags=1, max_rounds=20, interactions=0),
    jaxtree.SoftTreeRegressor(depth=2, max_epochs=2, random_state=0),
    jaxtree.OptimalTreeRegressor(max_depth=1),
]
AS_CLASSES = {
    "truth values after dropna": lambda y: pd.Series([*y.tolist(), None], dtype=object).dropna(),
    "integers after dropna": lambda y: pd.Series([*y.astype(int).tolist(), None], dtype=object).dropna(),
    "objects of NumPy": lambda y: np.array(list(y), object),
    "floats": lambda y: y.astype(float).astype(object),
    "decimals": lambda y: np.array([Decimal(int(value)) for value in y], object),
    "a list of decimals": lambda y: [Decimal(int(value)) for value in y],
    "decimals of polars": lambda y: pl.Series([Decimal(int(value)) for value in y]),
    "decimals of pyarrow": lambda y: pa.array([Decimal(int(value)) for value in y]),
    "objects of polars": lambda y: pl.Series(y.tolist(), dtype=pl.Object),
    "a column of a frame": lambda y: pd.DataFrame({"y": y.astype(object)})["y"],
}
AS_NUMBERS = {
    "decimals": lambda y: [Decimal(value) for value in y.tolist()],
    "decimals of pandas": lambda y: pd.Series([Decimal(value) for value in y.tolist()]),
    "fractions": lambda y: [Fraction(value) for value in y.tolist()],
    "objects": lambda y: pd.Series(y.tolist(), dtype=object),
}


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", rest_is_slow(CLASSIFIERS, 3), ids=name_of)
def test_classes_are_those_of_their_values(estimator):
    expected = type(estimator)(**estimator.get_params(deep=False)).fit(X, TRUTH.astype(int))
    for words, convert in AS_CLASSES.items():
        y = convert(TRUTH)
        model = type(estimator)(**estimator.get_params(deep=False)).fit(X, y)
        np.testing.assert_array_equal(model.predict(X).astype(int), expected.predict(X), err_msg=words)
        assert model.classes_.dtype != object, words
        assert model.score(X, y) == expected.score(X, TRUTH.astype(int)), words


@pytest.mark.parametrize("estimator", rest_is_slow(REGRESSORS, 3), ids=name_of)
def test_numbers_are_those_of_their_values(estimator):
    numbers = np.round(X[:, 1], 3)
    expected = type(estimator)(**estimator.get_params(deep=False)).fit(X, numbers)
    for words, convert in AS_NUMBERS.items():
        y = convert(numbers)
        model = type(estimator)(**estimator.get_params(deep=False)).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X), err_msg=words)
        assert model.score(X, y) == expected.score(X, numbers), words


def test_weights_may_be_decimals():
    weight = np.linspace(1, 2, 60).round(2)
    given, plain = (
        jaxtree.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 1], sample_weight=own)
        for own in ([Decimal(str(value)) for value in weight], weight)
    )
    np.testing.assert_array_equal(given.predict(X), plain.predict(X))


def test_missing_decimals_are_missing():
    with pytest.raises(jaxtree.errors.InvalidInputError, match="NaN"):
        jaxtree.DecisionTreeRegressor().fit(X[:2], [Decimal("NaN"), Decimal(1)])
    with pytest.raises(jaxtree.errors.InvalidInputError, match="NaN"):
        jaxtree.DecisionTreeClassifier().fit(X[:2], np.array([Decimal("NaN"), Decimal(1)], object))


DRAWING = [
    jaxtree.RandomForestClassifier(3),
    jaxtree.DecisionTreeClassifier(max_features=1, max_depth=1),
    jaxtree.GradientBoostingClassifier(3, subsample=0.5),
    jaxtree.GradientBoostingClassifier(3, early_stopping=True),
    jaxtree.SoftTreeClassifier(depth=2, max_epochs=2, validation_fraction=0.2),
    jaxtree.ID3Classifier(pruning=jaxtree.Dropout(p=0.2, q=0.5)),
]


@pytest.mark.parametrize("estimator", DRAWING, ids=name_of)
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_a_seed(estimator, kind):
    """Equal generators give equal models, and a generator moves on, so that the next fit draws anew."""
    first, again, generator = kind(5), kind(5), kind(5)
    models = [
        type(estimator)(**(estimator.get_params(deep=False) | {"random_state": own})).fit(X, TRUTH)
        for own in (first, again, generator, generator)
    ]
    shares = [own.predict_proba(X) for own in models]
    np.testing.assert_array_equal(shares[0], shares[1])
    np.testing.assert_array_equal(shares[0], shares[2])
    assert not np.array_equal(shares[2], shares[3])


def test_a_generator_draws_what_searches_draw():
    space = {"max_depth": range(1, 50)}
    settings = [
        jaxtree.SearchCV(
            jaxtree.DecisionTreeClassifier(), space, n_iter=2, cv=2, random_state=np.random.default_rng(seed)
        )
        .fit(X, TRUTH)
        .cv_results_["params"]
        for seed in (0, 0, 1)
    ]
    assert settings[0] == settings[1] != settings[2]
