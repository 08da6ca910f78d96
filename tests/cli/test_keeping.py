"""A command keeps in a model how cells of its file became values, and changes no other model."""

import copy
import types

import numpy as np
import pytest

import jaxtree
from jaxtree.cli.fit import keep_reading
from jaxtree.table.cells import Cells
from tests.examples import example

CELLS = {"number": Cells(("", "?"), ","), "color": Cells(("",))}
TRAINING = types.SimpleNamespace(other_columns=("y", "w"), cells=CELLS)


def kept(model):
    return {column.name: column.cells for column in model.encoder_.schema_.columns if column.cells is not None}


@pytest.mark.parametrize("name", ["cart", "forest", "boosted", "additive", "ensemble"])
def test_models_that_share_an_encoder_stay_as_they_were(name):
    model = copy.copy(example(name))
    members = list(model.estimators_) if name == "ensemble" else []
    if members:
        model.estimators_ = [copy.copy(own) for own in members]
    before, encoder, schema = example(name), model.encoder_, model.encoder_.schema_
    keep_reading(model, TRAINING)
    assert kept(model) == {name: own for name, own in CELLS.items() if name in schema.column_names} != {}
    assert model.other_columns_ == ("y", "w")
    # The other model has the encoder that both had.
    assert before.encoder_ is encoder and encoder.schema_ is schema and not kept(before)
    assert not any(map(kept, members)) and all(kept(own) for own in (model.estimators_ if members else ()))


def test_a_search_keeps_it_in_its_best_estimator_alone(tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40.0) % 7
    search = jaxtree.TreeSearchCV(jaxtree.DecisionTreeRegressor(), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    folds = jaxtree.GradientBoostingRegressor(3, early_stopping="folds").fit(X, y)
    for model in (search.best_estimator_, folds):
        shared = copy.copy(model)
        keep_reading(model, types.SimpleNamespace(other_columns=("y",), cells={"x0": Cells(("NA",))}))
        model.save(tmp_path / "m")
        assert kept(jaxtree.load(tmp_path / "m")) == {"x0": Cells(("NA",))} and not kept(shared)
