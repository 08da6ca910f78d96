"""Boosting with the rows divided among devices: the model is that of one device, bit for bit."""

import dataclasses

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree.boosting import ColumnFractions, absolute, cox, logistic, softmax, squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.data import InitialScores
from jaxtree.boosting.samples import MinimalVariance, OneSided, Uniform
from jaxtree.errors import InvalidInputError
from tests.boosting.test_boost import boosted, classes, numbers
from tests.marks import rows_are_slow


def mesh_of(num_devices):
    return Mesh(np.array(jax.devices()[:num_devices]), ("any name",))


def assert_same(one, other):
    for field in dataclasses.fields(one.forest.nodes):
        a, b = (np.asarray(getattr(model.forest.nodes, field.name)) for model in (one, other))
        np.testing.assert_array_equal(a, b, err_msg=field.name)
    np.testing.assert_array_equal(one.losses, other.losses)


CASES = {
    "squared": (squared(), numbers),
    "logistic": (logistic(), classes),
    "absolute": (absolute(), numbers),
    "softmax": (softmax(3, "full"), lambda **options: classes(3, **options)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, num_devices",
    rows_are_slow(
        [
            ("absolute", 2),
            ("softmax", 4),
            *(pytest.param(name, 4, marks=pytest.mark.exhaustive) for name in CASES if name != "softmax"),
        ]
    ),
)
def test_the_model_is_that_of_one_device(name, num_devices):
    loss, make = CASES[name]
    # 401 rows do not divide equally.
    given = {
        "shrinkage": Shrinkage(0.3, sample=Uniform(0.7), least_gain=0.01),
        "evaluations": (make(seed=1),),
        "seed": 3,
    }
    one = boosted(make(num_rows=401), loss, **given)
    assert_same(one, boosted(make(num_rows=401), loss, mesh=mesh_of(num_devices), **given))


@pytest.mark.slow
def test_columns_drawn_are_those_of_one_device():
    rows, drawn = numbers(num_rows=401, num_features=8), Shrinkage(column_fractions=ColumnFractions(0.75, 0.75, 0.75))
    assert_same(*(boosted(rows, squared(), drawn, mesh=mesh) for mesh in (None, mesh_of(2))))


@pytest.mark.slow
def test_earlier_rounds_are_those_of_one_device():
    rows, other = numbers(num_rows=401), numbers(seed=1)
    earlier = InitialScores(3, np.linspace(0, 1, 401)[None], (np.zeros((1, 400)),))
    given = {"evaluations": (other,), "start": np.zeros(1), "earlier": earlier}
    assert_same(boosted(rows, squared(), **given), boosted(rows, squared(), mesh=mesh_of(2), **given))


@pytest.mark.slow
@pytest.mark.parametrize("sample", [pytest.param(OneSided(0.2, 0.2), marks=pytest.mark.slow), MinimalVariance(0.4)])
def test_rows_are_drawn_as_on_one_device(sample):
    given = {"shrinkage": Shrinkage(0.3, sample=sample), "evaluations": (classes(seed=1),), "seed": 3}
    one, other = (boosted(classes(num_rows=401), logistic(), mesh=mesh, **given) for mesh in (None, mesh_of(2)))
    assert_same(one, other)


def test_what_cannot_be_divided_is_named():
    two_axes = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("a", "b"))
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        boosted(numbers(), squared(), mesh=two_axes)
    rows = numbers()._replace(target=np.ones(400), extras={"event": np.ones(400)})
    with pytest.raises(InvalidInputError, match=r"cox\(ties='efron'\) cannot be given with a mesh"):
        boosted(rows, cox(), mesh=mesh_of(2))


def test_rows_without_weight_change_nothing():
    rows, is_there = numbers(), np.arange(400) % 3 > 0
    given = {"shrinkage": Shrinkage(sample=MinimalVariance(0.5)), "seed": 1}
    part = rows._replace(codes=rows.codes[:, is_there], target=rows.target[is_there], weight=rows.weight[is_there])
    few = boosted(part, squared(), start=np.zeros(1), **given)
    assert_same(few, boosted(rows._replace(weight=is_there.astype(float)), squared(), start=np.zeros(1), **given))
