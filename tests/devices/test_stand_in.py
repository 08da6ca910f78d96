"""Estimators on a device that stands for a GPU or a TPU: its plans, no kernel in C++, and the bits of the host."""

import pickle
import warnings

import jax
import numpy as np
import pytest
from safetensors import safe_open
from sklearn.base import clone

import jaxtree
from jaxtree import set_device
from tests.devices.stand_ins import stand_in, standing_in
from tests.examples import EXTRAS, example, of_every_class, predictions, rows_of, unfitted

TRAINED = ("soft", "hardened")
"""Models of floats, whose last bits differ between programs."""

FAST = ("cart", "boosted_regression")


def fitted_there(name, platform):
    """An example fitted on a stand-in, and what it predicts there."""
    estimator, X, y = unfitted()[name]
    with stand_in(platform), set_device(platform), warnings.catch_warnings(action="ignore"):
        fitted = clone(estimator).fit(X, y, **EXTRAS.get(name, {}))
        fitted = fitted.harden() if name.startswith("hardened") else fitted
        return fitted, predictions(fitted, X)


def saved(estimator, path):
    """The content of an estimator's file: arrays by name, and words."""
    estimator.save(path)
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()["jaxtree"]  # noqa: SIM118


def assert_same_file(there, here):
    """Holds two files against one another; what is reported of splits may differ in its last bit."""
    (arrays, words), (own, own_words) = there, here
    assert words == own_words and arrays.keys() == own.keys()
    for name, array in own.items():
        assert arrays[name].dtype == array.dtype
        if name.rpartition(".")[2] in ("gain", "impurity"):
            np.testing.assert_allclose(arrays[name], array, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(arrays[name], array, err_msg=name)


@pytest.mark.parametrize("name", of_every_class(unfitted(), FAST))
def test_a_gpu_gives_the_model_of_the_host(name, tmp_path):
    assert_same_model(name, "gpu", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", of_every_class(unfitted(), ()))
def test_a_tpu_gives_the_model_of_the_host(name, tmp_path):
    assert_same_model(name, "tpu", tmp_path)


def assert_same_model(name, platform, tmp_path):
    """Holds an example, fitted on a stand-in, against the host's: what stands in their files, and all predictions."""
    fitted, told = fitted_there(name, platform)
    here = predictions(example(name), rows_of(name))
    assert told.keys() == here.keys()
    if name.startswith(TRAINED):
        for key, value in here.items():
            if np.issubdtype(value.dtype, np.floating):
                np.testing.assert_allclose(told[key], value, rtol=1e-3, atol=1e-4)
        return
    assert_same_file(saved(fitted, tmp_path / "there"), saved(example(name), tmp_path / "here"))
    for key, value in here.items():
        np.testing.assert_array_equal(told[key], value)


def test_a_model_moves_between_devices(tmp_path):
    """Fitted there and predicted here, or the other way; pickled, saved and loaded: the same predictions."""
    rows = np.random.default_rng(0).normal(size=(600, 2))
    here = jaxtree.RandomForestRegressor(3, max_depth=3, random_state=0).fit(rows, rows[:, 0])
    expected = here.predict(rows)
    with stand_in("gpu") as there:
        with set_device("gpu"):
            np.testing.assert_array_equal(here.predict(rows), expected)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(here)).predict(rows), expected)
            fitted = clone(here).fit(rows, rows[:, 0])
            assert not [leaf for leaf in jax.tree.leaves(fitted.forest_.nodes) if isinstance(leaf, jax.Array)]
            fitted.save(tmp_path / "model")
        for device in (jax.devices()[0], there):
            with jax.default_device(device):
                for model in (here, fitted, jaxtree.load(tmp_path / "model")):
                    np.testing.assert_array_equal(model.predict(rows), expected)
    np.testing.assert_array_equal(fitted.predict(rows), expected)


def test_the_tables_of_a_model_lie_where_it_predicts():
    rows = np.random.default_rng(0).normal(size=(600, 2))
    model = jaxtree.RandomForestRegressor(3, max_depth=3, random_state=0).fit(rows, rows[:, 0])
    others = jax.devices()[1:3]
    for device in others:
        with standing_in(device, "gpu"), set_device("gpu"):
            model.predict(rows)
    tables = model.model_.predictor._on_device.values()
    assert [{leaf.device for leaf in jax.tree.leaves(own)} for own in tables] == [{device} for device in others]


SEARCHES = {
    "trees": lambda: jaxtree.SearchCV(
        jaxtree.DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2], "ccp_alpha": [0.0, 0.02]}, cv=2
    ),
    "boosting": lambda: jaxtree.SearchCV(
        jaxtree.GradientBoostingClassifier(3, max_depth=2, min_samples_leaf=4), {"learning_rate": [0.1, 0.3]}, cv=2
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_gives_the_scores_of_the_host(name):
    table, classes = rows_of("cart"), unfitted()["cart"][2]
    here = SEARCHES[name]().fit(table, classes)
    with stand_in("gpu"), set_device("gpu"):
        there = SEARCHES[name]().fit(table, classes)
    assert there.best_params_ == here.best_params_
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    for key, value in predictions(here.best_estimator_, table).items():
        np.testing.assert_array_equal(predictions(there.best_estimator_, table)[key], value)
