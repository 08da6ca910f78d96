"""Soft estimators in files: they come back whole, go on training, and what no file can hold is refused by name."""

import copy
import math

import numpy as np
import optax
import pytest
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import read_model_file, write_model_file
from tests.examples import example, mixed_classes, mixed_table, predictions

TABLE = mixed_table()
CLASSES = mixed_classes(TABLE)


@pytest.fixture(scope="module")
def soft():
    return jaxtree.SoftTreeClassifier(depth=2, max_epochs=2, random_state=0).fit(TABLE, CLASSES)


def through_a_file(estimator, folder):
    estimator.save(folder / "model")
    return jaxtree.load(folder / "model")


def assert_same(estimator, other):
    for name, values in predictions(estimator, TABLE).items():
        np.testing.assert_array_equal(predictions(other, TABLE)[name], values)


def test_what_it_hardens_to_comes_back(soft, tmp_path):
    hardened = soft.harden()
    loaded = through_a_file(hardened, tmp_path)
    assert_same(hardened, loaded)
    assert loaded.agreement_ == hardened.agreement_
    assert loaded.export_text() == hardened.export_text()
    assert_same(hardened, through_a_file(soft, tmp_path).harden(TABLE, CLASSES))


def test_a_loaded_tree_goes_on_training(soft, tmp_path):
    loaded, again = through_a_file(soft, tmp_path), through_a_file(soft, tmp_path)
    before = loaded.predict_proba(TABLE)
    assert_same(loaded.partial_fit(TABLE, CLASSES), again.partial_fit(TABLE, CLASSES))
    assert not np.array_equal(loaded.predict_proba(TABLE), before)
    assert len(loaded.history_["loss"]) == len(soft.history_["loss"]) + 1
    with pytest.raises(InvalidInputError, match="the classes"):
        loaded.partial_fit(TABLE, ["unknown"] * len(TABLE))


@pytest.mark.parametrize(
    "name, value",
    [
        ("optimizer", optax.sgd(0.1)),
        ("init", jaxtree.DecisionTreeClassifier()),
        ("random_state", np.random.RandomState(0)),
    ],
    ids=["optimizer", "init", "random_state"],
)
def test_what_no_file_can_hold_is_refused_by_name(name, value, tmp_path):
    estimator = copy.copy(example("soft")).set_params(**{name: value})
    with pytest.raises(InvalidInputError, match=name):
        estimator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_hardened_tree_that_is_none_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        jaxtree.HardTreeClassifier().save(tmp_path / "model")


def form_of(header):
    return header["model"]["SoftTree"]["form"]


def with_length(leaf, arrays, number):
    """The values of the leaves of another number of trees."""
    leaf["value"][0] = number
    arrays["model.trees.leaf.value"] = np.zeros(math.prod(leaf["value"]), np.float32)


def unmixed(header, arrays):
    header["model"]["SoftForest"]["mixing"] = None
    del arrays["model.mixing.weight"], arrays["model.mixing.bias"]


def two_classes(arrays):
    arrays["table.outputs.order"] = arrays["table.outputs.order"][arrays["table.outputs.order"] < 2]
    return {"names": {"array": ["<U1", ["a", "b"]]}, "order": [2]}


@pytest.mark.parametrize(
    "name, wrong, words",
    [
        ("soft", lambda h, a: form_of(h).update(depth=17), "more than 16"),
        ("soft", lambda h, a: form_of(h).update(depth=3), "type and shape"),
        ("soft", lambda h, a: form_of(h).update(num_features=2**60), "not one of its inputs"),
        ("soft", lambda h, a: form_of(h).update(gate="any"), "gate must be one of"),
        ("soft", lambda h, a: form_of(h).update(missing=[[1] for _ in form_of(h)["missing"]]), "not one of its inputs"),
        ("soft", lambda h, a: a.update({"model.leaf.value": a["model.leaf.value"] * np.nan}), "has NaN"),
        ("soft", lambda h, a: form_of(h).update(num_outputs=4), "4 outputs, and its estimator 3"),
        ("soft", lambda h, a: h["inputs"]["scales"].reverse(), "not for its kind"),
        ("soft", lambda h, a: h["inputs"]["scales"][0]["Standard"].update(deviation=-1.0), "deviation is not positive"),
        ("soft", lambda h, a: a.update({"inputs.with_indicator": a["inputs.with_indicator"] + 7}), "there are not"),
        ("soft", lambda h, a: h["key"].update(kind="rbg"), "random key"),
        ("soft", lambda h, a: h.update(history=3), "history"),
        ("soft", lambda h, a: h.update(history={"loss": ["low"]}), "history.loss must be float, got 'low'"),
        ("soft_regression", lambda h, a: a.update({"inputs.scales.value": -a["inputs.scales.value"]}), "ascend"),
        ("soft_regression", lambda h, a: a.update({"unit": np.zeros(1)}), "one positive number"),
        ("soft_forest", lambda h, a: with_length(h["model"]["SoftForest"]["trees"]["leaf"], a, 2), "type and shape"),
        ("soft_forest", lambda h, a: with_length(h["model"]["SoftForest"]["trees"]["leaf"], a, 0), "number of trees"),
        ("soft_forest", unmixed, "mixed in another way"),
        ("hardened", lambda h, a: a.update({"nodes.num_children": np.minimum(a["nodes.num_children"], 1)}), "not two"),
        ("hardened", lambda h, a: a.update({"nodes.first_child": a["nodes.first_child"] * 0}), "not behind it"),
        ("hardened", lambda h, a: h["table"]["outputs"][0].update(two_classes(a)), "one share a class"),
        ("hardened_forest", lambda h, a: a.update({"nodes.target_sum": -a["nodes.target_sum"]}), "not above 0"),
        ("hardened_forest", lambda h, a: h["table"]["outputs"][0].update(two_classes(a)), "its loss is not one of"),
        ("hardened", lambda h, a: h.update(agreement="all"), "agreement must be float"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_wrong_in_one_place_is_refused(name, wrong, words, tmp_path):
    example(name).save(tmp_path / "model")
    content = read_model_file(tmp_path / "model")
    wrong(content.header["fitted"], content.arrays)
    write_model_file(tmp_path / "model", content)
    with pytest.raises(ModelFileError, match=words):
        jaxtree.load(tmp_path / "model")


def test_soft_examples_predict_more_than_one_thing():
    """The predictions that are compared after loading are worth comparing."""
    for name in ("soft", "soft_regression", "soft_forest", "hardened"):
        assert len(np.unique(next(reversed(predictions(example(name), TABLE).values())))) > 1
