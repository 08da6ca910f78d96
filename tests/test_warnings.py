"""A warning stands at the line of the user, however deep in the package it arises, and once a fact."""

import pathlib
import re
import warnings

import numpy as np
import pytest

import jaxtree
from jaxtree.estimators.common.parameters import WITHOUT_NEW_TREES
from jaxtree.metrics import concordance_index

PACKAGE = pathlib.Path(jaxtree.__file__).parent
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 2))
CLASSES, NUMBERS = (X[:, 0] > 0).astype(int), X[:, 0] + GENERATOR.normal(size=60)
WORDS = [f"row {number}" for number in range(60)]


def again(model, y):
    """Fits a model twice, the second time with nothing to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    model.fit(X, y)


def interrupted(model, y):
    """Fits a model that an interrupt ends after its first rounds."""

    def stop(*_):
        raise KeyboardInterrupt

    model.fit(X, y, callbacks=[stop])


CALLS = {
    "many classes": lambda: jaxtree.DecisionTreeClassifier(max_depth=1).fit(X, WORDS),
    "many classes of a forest": lambda: jaxtree.RandomForestClassifier(2).fit(X, WORDS),
    "many classes of a search": lambda: jaxtree.SearchCV(
        jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=[(np.arange(60), np.arange(60))], refit=False
    ).fit(X, WORDS),
    "a column of classes": lambda: jaxtree.DecisionTreeClassifier().fit(X, CLASSES[:, None]),
    "a column of numbers": lambda: jaxtree.GradientBoostingRegressor(2).fit(X, NUMBERS[:, None]),
    "a column of numbers, additive": lambda: jaxtree.ExplainableBoostingRegressor(max_rounds=2, outer_bags=1).fit(
        X, NUMBERS[:, None]
    ),
    "classes told apart": lambda: jaxtree.ExplainableBoostingClassifier(outer_bags=1).fit(X * 100, CLASSES),
    "few trees out of bag": lambda: jaxtree.RandomForestClassifier(1, oob_score=True).fit(X, CLASSES),
    "an old name": lambda: jaxtree.DecisionTreeRegressor(criterion="friedman_mse"),
    "an old name of a forest": lambda: jaxtree.RandomForestRegressor(criterion="friedman_mse"),
    "a warm start of boosting": lambda: again(jaxtree.GradientBoostingRegressor(2, warm_start=True), NUMBERS),
    "a warm start of folds": lambda: again(
        jaxtree.GradientBoostingRegressor(2, warm_start=True, early_stopping="cv"), X[:, 0]
    ),
    "a warm start of a forest": lambda: again(jaxtree.RandomForestRegressor(2, warm_start=True), NUMBERS),
    "an interrupt": lambda: interrupted(jaxtree.GradientBoostingRegressor(60), NUMBERS),
    "no comparable pair": lambda: concordance_index([1.0, 2.0], [0.0, 1.0], event=[False, False]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_stands_once_at_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert [warning.filename for warning in caught] == [__file__]


def test_a_warm_start_without_new_rounds_is_said_and_keeps_the_model():
    model = jaxtree.GradientBoostingRegressor(2, warm_start=True).fit(X, NUMBERS)
    before = model.predict(X)
    with pytest.warns(UserWarning, match=re.escape(WITHOUT_NEW_TREES)):
        model.fit(X, NUMBERS)
    assert np.array_equal(model.predict(X), before)


def test_no_module_chooses_the_line_of_a_warning_itself():
    calls = re.compile(r"warnings\.warn\(|stacklevel")
    found = [str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if calls.search(path.read_text())]
    assert found == ["errors.py"]
