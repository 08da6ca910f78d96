"""Models of folds of tables in parts, and over several devices, are those of the table as a whole on one."""

import jax
import numpy as np
import pandas as pd
import pytest
from jax.sharding import Mesh
from sklearn.base import clone

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.table import open_source
from jaxtree.table.sources import rows_of_source
from tests.estimators.lone_folds import CLASSES, FEW, ROWS, SIGNAL, WEIGHT, X, assert_same_rounds
from tests.marks import are_slow

TABLE = pd.DataFrame(X, columns=list("abcd")).assign(word=[f"word {place % 23}" for place in range(ROWS)])
NUMBERS = list("abcd")

CASES = {
    "numbers": (GradientBoostingRegressor(**FEW), NUMBERS, SIGNAL, {}),
    "classes": (GradientBoostingClassifier(**FEW), NUMBERS, CLASSES, {}),
    "ordered categories": (GradientBoostingRegressor(**FEW, random_state=0), [*NUMBERS, "word"], SIGNAL, {}),
    "metric": (GradientBoostingRegressor(**FEW), NUMBERS, SIGNAL, {"eval_metric": "r2"}),
    "survival": (GradientBoostingRegressor(**FEW, loss="cox"), NUMBERS, np.exp(SIGNAL), {"event": WEIGHT > 1}),
}


def assert_same_model(one, other):
    assert_same_rounds(one.forest_, other.forest_)
    for name in ("fold_of_tree", "start", "row", "first", "residual", "predictions", "num_measured"):
        np.testing.assert_array_equal(getattr(one.folds_, name), getattr(other.folds_, name), err_msg=name)
    assert one.evals_result_ == other.evals_result_ and one.oof_score_ == other.oof_score_


@pytest.mark.parametrize("name", are_slow(CASES, "classes", "metric", "survival"))
def test_a_source_makes_the_model_of_its_table(name, tmp_path):
    model, columns, y, fit = CASES[name]
    fit = {name: np.asarray(values, float) if name == "event" else values for name, values in fit.items()}
    whole = clone(model).fit(TABLE[columns], y, **fit)
    bounds, paths = (0, 70, 71, ROWS), []
    for number in range(3):
        paths.append(tmp_path / f"{number}.parquet")
        part = TABLE[columns].assign(y=y).iloc[bounds[number] : bounds[number + 1]]
        part.to_parquet(paths[-1], row_group_size=32)
    assert_same_model(clone(model).fit(paths, "y", **fit), whole)


def test_rows_of_a_source_are_those_of_its_table():
    parts = [TABLE.iloc[:70], TABLE.iloc[70:71], TABLE.iloc[71:]]
    rows = np.array([0, 69, 70, 71, 159])
    source = rows_of_source(open_source(parts), rows)
    assert source.num_rows == 5
    pd.testing.assert_frame_equal(pd.concat([part.table for part in source]), TABLE.iloc[rows])
    shifted = rows_of_source(open_source(parts).between(60, 160).without(["a"]), np.array([0, 11]))
    assert pd.concat([part.table for part in shifted]).equals(TABLE.iloc[[60, 71]].drop(columns="a"))


@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", are_slow(CASES, "classes", "ordered categories", "metric", "survival"))
def test_models_divided_among_devices_are_those_of_one(name, number):
    model, columns, y, fit = CASES[name]
    mesh = Mesh(np.array(jax.devices()[:number]), ("models",))
    divided = clone(model).fit(TABLE[columns], y, mesh=mesh, **fit)
    assert_same_model(divided, clone(model).fit(TABLE[columns], y, **fit))
