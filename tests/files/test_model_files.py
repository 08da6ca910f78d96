"""Estimators in files: what is loaded is what was saved."""

import copy
import json
import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxtree
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files import registry
from jaxtree.files.container import FORMAT, ModelFile, read_model_file, write_model_file
from jaxtree.files.records import from_json, to_json
from tests.examples import example, predictions, rows_of, unfitted
from tests.marks import are_slow

SLOW = (
    "extra_regression",
    "soft_regression",
    "soft_poisson",
    "soft_forest",
    "soft_forest_regression",
    "hardened_regression",
    "hardened_axis",
    "hardened_forest_regression",
)
"""Other names of what is in a file with the words of another example."""

TRAINING = {"_rows", "progress_"}
"""The state from which further training begins, which stands in no file."""


@pytest.mark.parametrize("name", are_slow(unfitted(), *SLOW))
def test_a_loaded_estimator_predicts_the_same_and_saves_the_same_file(name, tmp_path):
    """Nothing is lost on the way: parameters, schema, classes, nodes and votes all stand in the second file."""
    estimator = example(name)
    estimator.save(tmp_path / "first")
    loaded = jaxtree.load(tmp_path / "first")
    for form, values in predictions(estimator, rows_of(name)).items():
        np.testing.assert_array_equal(predictions(loaded, rows_of(name))[form], values)
    if name.startswith(("boosted", "additive", "soft")):
        assert vars(estimator).keys() - vars(loaded).keys() <= TRAINING
    for attribute in {"evals_result_", "history_", "best_epoch_"} & vars(estimator).keys():
        np.testing.assert_equal(getattr(loaded, attribute), getattr(estimator, attribute))
    loaded.save(tmp_path / "second")
    first, second = (read_model_file(tmp_path / file) for file in ("first", "second"))
    assert first.header == second.header
    assert first.arrays.keys() == second.arrays.keys()
    for part, array in first.arrays.items():
        assert array.dtype == second.arrays[part].dtype
        np.testing.assert_array_equal(array, second.arrays[part])


def test_there_is_an_example_of_every_estimator_that_goes_into_files():
    hardened = {"HardTreeClassifier", "HardTreeRegressor", "HardForestClassifier", "HardForestRegressor"}
    of_moments = {"CausalForest", "InstrumentalForest", "QuantileForest", "SurvivalForest", "LocalLinearForest"}
    elsewhere = hardened | of_moments  # whose files are tested with them
    assert {type(estimator).__name__ for estimator, _, _ in unfitted().values()} | elsewhere == set(registry.KEPT)


@pytest.mark.slow
def test_out_of_bag_shares_of_several_outputs_come_back(tmp_path):
    X = np.arange(60.0)[:, None]
    for last in (X[:, 0] > 20, X[:, 0] // 20):
        target = np.stack([X[:, 0] > 40, last], axis=1).astype(int)
        forest = jaxtree.RandomForestClassifier(12, max_depth=2, oob_score=True, random_state=0).fit(X, target)
        forest.save(tmp_path / "forest")
        loaded = jaxtree.load(tmp_path / "forest").oob_decision_function_
        assert isinstance(loaded, type(forest.oob_decision_function_))
        for ours, theirs in zip(loaded, forest.oob_decision_function_, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@settings(max_examples=8)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, -1.5, 2.25, np.nan]), st.sampled_from("abc")), min_size=4, max_size=12),
    st.integers(1, 4),
)
def test_a_fitted_tree_comes_back(tmp_path_factory, rows, max_depth):
    X, y = [[number, word] for number, word in rows], [number % 3 for number in range(len(rows))]
    tree = jaxtree.DecisionTreeClassifier(max_depth=max_depth, random_state=3).fit(X, y)
    path = tmp_path_factory.mktemp("trees") / "tree"
    tree.save(path)
    loaded = jaxtree.load(path)
    assert loaded.get_params() == tree.get_params()
    assert loaded.schema_ == tree.schema_
    assert vars(loaded).keys() == vars(tree).keys()
    for name, values in predictions(tree, X).items():
        np.testing.assert_array_equal(predictions(loaded, X)[name], values)
    for name, values in vars(tree.tree_).items():
        np.testing.assert_array_equal(getattr(loaded.tree_, name), values)


def loaded(name, folder):
    example(name).save(folder / name)
    return jaxtree.load(folder / name)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        -0.25,
        1e300,
        "words \ud800 and\n more",
        float("inf"),
        [1, [2, "x"], None],
        (1, (2.5,), []),
        [{0, 1}, {2}],
        {"a": 1, 2: [3.0], True: None},
        jaxtree.Dropout(0.2, 0.5, draws="all"),
        jaxtree.ChiSquared(0.01) | (jaxtree.Pessimistic(0.1) | jaxtree.Collapse()),
        jaxtree.CostComplexity("cv", cv=[([0, 1], [2]), ([2], [0, 1])]),
        jaxtree.criteria.gini,
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value),
)
def test_parameters_come_back_as_they_were(value):
    back = from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_sets_come_back_whatever_the_order_of_their_words():
    """Words hash anew in every process, so that two equal sets may print differently."""
    value = [{1, 0, "b"}, set()]
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


def test_numbers_of_libraries_become_those_of_python():
    numbers = np.float64(0.5), np.int32(3), np.bool_(True), jnp.asarray(2)
    assert [to_json(value) for value in numbers] == [0.5, 3, True, 2]


@pytest.mark.parametrize("values", [[1, 2], [1.5, -0.0], ["a", "bcd"], [True, False], []], ids=repr)
def test_vectors_come_back(values):
    array = np.array(values)
    back = from_json(json.loads(json.dumps(to_json(array))))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "parameters",
    [
        {"random_state": np.random.RandomState(0)},
        {"criterion": lambda weights: weights.sum()},
        {"class_weight": {"low": object()}},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_what_cannot_be_kept_is_refused_by_name(parameters, tmp_path):
    tree = copy.copy(example("cart")).set_params(**parameters)
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        tree.save(tmp_path / "tree")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "tree"
    example("cart_plain").save(path)
    before = path.read_bytes()

    def interrupted(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        example("cart_plain").save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "number, cure", [(FORMAT + 1, "install a newer jaxtree"), (FORMAT - 1, "fit the estimator again")]
)
def test_a_file_of_another_format_says_which_version_wrote_it(number, cure, tmp_path):
    write_model_file(tmp_path / "other", ModelFile({"format": number, "jaxtree": "9.7"}, {}))
    with pytest.raises(ModelFileError, match=rf"other'.*format {number}.*jaxtree 9.7.*reads format {FORMAT}: {cure}"):
        jaxtree.load(tmp_path / "other")


@pytest.mark.slow
def test_loading_a_tree_loads_no_soft_trees(tmp_path):
    example("cart_plain").save(tmp_path / "tree")
    code = """
import sys, jaxtree
jaxtree.load(sys.argv[1])
assert not {"optax", "jaxtree.soft.model", "jaxtree.files.soft"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "tree"], check=True)


def test_files_that_are_none_are_refused_by_name(tmp_path):
    for name, content in {"empty": b"", "text": b"hello, this is no model", "zip": b"PK\x03\x04" + bytes(100)}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelFileError, match=f"{name}'.*no model file"):
            jaxtree.load(tmp_path / name)
    with pytest.raises(ModelFileError, match="no regular file"):
        jaxtree.load("/dev/zero")
    with pytest.raises(FileNotFoundError):
        jaxtree.load(tmp_path / "absent")


def test_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="no regular file"):
        jaxtree.load(tmp_path / "pipe")


def test_a_file_of_safetensors_that_is_not_ours_is_refused(tmp_path):
    import safetensors.numpy

    safetensors.numpy.save_file({"weights": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="no model file of jaxtree"):
        jaxtree.load(tmp_path / "other")
