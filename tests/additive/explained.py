"""Fitted additive models of small tables with numbers, words with gaps, missing values and idle columns."""

import functools

import numpy as np
import pandas as pd

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor

FEW = {"outer_bags": 4, "max_rounds": 300, "max_bins": 64}


@functools.cache
def table(num_rows=500):
    """Numbers, words with gaps, an order, dates, a column of one value and one of none, with missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40, 10, num_rows).round(), "hours": rng.uniform(0, 60, num_rows)})
    X["job"] = pd.Categorical(rng.choice(["none at all", "at sea", "in a mill"], num_rows))
    X["size"] = pd.Categorical(rng.choice(["S", "M", "L"], num_rows), ["S", "M", "L"], ordered=True)
    X["since"] = np.datetime64("2020-01-01") + rng.integers(0, 600, num_rows).astype("timedelta64[D]")
    X["one"], X["nothing"] = 1.0, np.nan
    X.loc[rng.random(num_rows) < 0.1, "hours"] = np.nan
    score = np.sin(X["age"] / 8) + (X["job"] == "at sea") * (X["age"] > 40) + 0.02 * X["hours"].fillna(60)
    return X, score.to_numpy() + 0.3 * rng.normal(size=num_rows)


@functools.cache
def fitted(kind):
    """A model of "numbers", "two" classes, "three" classes, or of "one" column."""
    X, y = table()
    if kind == "numbers":
        return ExplainableBoostingRegressor(interactions=3, **FEW).fit(X, y)
    if kind == "one":
        return ExplainableBoostingRegressor(**FEW).fit(X[["hours"]], y)
    labels = np.digitize(y, [0.8]) if kind == "two" else np.digitize(y, [0.3, 1.2])
    options = {"interactions": 3} if kind == "two" else {"interactions": 1, "max_rounds": 30}
    return ExplainableBoostingClassifier(**{**FEW, **options}).fit(X, np.array(["low", "mid", "top"])[labels])


def rows(kind):
    """The table that a model was fitted on."""
    return table()[0][["hours"]] if kind == "one" else table()[0]
