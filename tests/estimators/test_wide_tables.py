"""Tables of many columns: a further column of numbers costs no call of Python in a fit or in a prediction."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import jaxtree

PACKAGE = str(Path(jaxtree.__file__).parent)
ROWS = 20
FEW, MANY = 40, 440


def array(num_columns):
    return np.random.default_rng(0).normal(size=(ROWS, num_columns))


def with_missing(num_columns):
    """Every third column misses a value, and every seventh all."""
    X = array(num_columns)
    X[3, ::3] = np.nan
    X[:, ::7] = np.nan
    return X


def frame(num_columns):
    return pd.DataFrame(array(num_columns), columns=[f"c{at}" for at in range(num_columns)])


def mixed(num_columns):
    """Numbers of several types among words, truth values and dates."""
    X = frame(num_columns)
    X = X.astype({name: np.float32 for name in X.columns[::2]})
    X.insert(1, "word", list("ab") * (ROWS // 2))
    X.insert(3, "day", pd.date_range("2020-01-01", periods=ROWS))
    return X.assign(flag=[True, False] * (ROWS // 2), count=1)


TABLES = {
    "array": array,
    "missing": with_missing,
    "pandas": frame,
    "polars": lambda num_columns: pl.DataFrame(frame(num_columns).to_dict("list")),
    "pyarrow": lambda num_columns: pl.DataFrame(frame(num_columns).to_dict("list")).to_arrow(),
    "mixed": mixed,
    "sparse": lambda num_columns: scipy.sparse.csr_array(array(num_columns)),
}
ESTIMATORS = {
    "tree": jaxtree.DecisionTreeClassifier(),
    "C4.5": jaxtree.C45Classifier(),
    "forest": jaxtree.RandomForestClassifier(3, random_state=0),
    "extra trees": jaxtree.ExtraTreesClassifier(3, random_state=0),
    "boosting": jaxtree.GradientBoostingClassifier(n_estimators=3, min_samples_leaf=2),
}


def calls_of(function, *arguments):
    """How many calls of functions come from the package, whatever they call."""
    number = 0

    def count(frame, event, _):
        nonlocal number
        number += event in ("call", "c_call") and frame.f_code.co_filename.startswith(PACKAGE)

    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return number


PAIRS = [("array", name) for name in ESTIMATORS] + [(name, "tree") for name in TABLES if name != "array"]


@pytest.mark.parametrize(("table", "estimator"), PAIRS)
def test_a_further_column_of_numbers_costs_no_call(table, estimator):
    calls, y = [], np.arange(ROWS) % 2
    for num_columns in (FEW, MANY):
        X = TABLES[table](num_columns)
        model = ESTIMATORS[estimator].fit(X, y)
        model.predict(X)
        calls.append((calls_of(model.fit, X, y), calls_of(model.predict, X)))
    (fit, predict), (wider_fit, wider_predict) = calls
    # The trees differ, and with them a few calls; a call for each further column would be 400 more.
    assert abs(wider_fit - fit) < (MANY - FEW) // 4
    assert abs(wider_predict - predict) < (MANY - FEW) // 4
