"""Estimators in files: what is loaded is what was saved, and files that were kept load for ever."""

import functools
import json
import os
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxtree
from jaxtree.datasets import load_play_tennis
from jaxtree.errors import InvalidInputError, InvalidTypeError, ModelFileError
from jaxtree.estimators.files import registry
from jaxtree.export.json_values import from_json, to_json
from jaxtree.export.model_file import FORMAT, ModelFile, read_model_file, write_model_file
from tests.export.keeping import dates_table, mixed_table, said

KEPT = sorted((pathlib.Path(__file__).parent / "kept").glob("*.jaxtree"))


def rows_for(estimator):
    """Rows like those that a kept estimator was fitted on."""
    columns = estimator.encoder_.schema_.column_names
    if "outlook" in columns:
        return load_play_tennis(return_X_y=True, as_frame=True)[0]
    if "joined" in columns:
        return dates_table()
    table = mixed_table()
    return table[["number", "is_new"]].to_numpy(np.float64) if len(columns) == 2 else table


@functools.cache
def simple():
    return jaxtree.load(next(path for path in KEPT if path.stem.endswith("_cart_plain")))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_file_predicts_as_when_it_was_written(path):
    estimator = jaxtree.load(path)
    now = said(estimator, rows_for(estimator))
    then = json.loads(path.with_suffix(".json").read_text())
    assert now.keys() == then.keys()
    for name, values in then.items():
        if now[name].dtype.kind != "f":
            np.testing.assert_array_equal(now[name], np.array(values, now[name].dtype))
            continue
        rtol = 1e-4 if hasattr(estimator, "model_") else 1e-7  # soft models multiply in float32
        np.testing.assert_allclose(now[name], np.array(values, now[name].dtype), rtol=rtol)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_loaded_estimator_saves_the_same_file(path, tmp_path):
    """Nothing is lost on the way: parameters, schema, classes, nodes and votes all stand in the second file."""
    jaxtree.load(path).save(tmp_path / "again")
    assert read_model_file(tmp_path / "again").header == {
        **read_model_file(path).header,
        "jaxtree": jaxtree.__version__,
    }
    first, second = (read_model_file(file).arrays for file in (path, tmp_path / "again"))
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype
        np.testing.assert_array_equal(array, second[name])


def test_every_registered_estimator_of_every_written_format_is_kept():
    headers = [read_model_file(path).header for path in KEPT]
    written = {(header["class"], header["format"]) for header in headers}
    trees = {"C45Classifier", "ID3Classifier", "DecisionTreeClassifier", "DecisionTreeRegressor"}
    kinds = ("RandomForest", "ExtraTrees", "SoftTree", "SoftForest", "HardTree")
    forests = {f"{kind}{task}" for kind in kinds for task in ("Classifier", "Regressor")}
    assert trees | forests <= set(registry._ENTRIES)
    assert {(name, number) for name in trees | forests for number in range(1, FORMAT + 1)} <= written


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
    for name, values in said(tree, X).items():
        np.testing.assert_array_equal(said(loaded, X)[name], values)
    for name, values in vars(tree.tree_).items():
        np.testing.assert_array_equal(getattr(loaded.tree_, name), values)


def test_a_tree_goes_on_after_loading(tmp_path):
    """It can be pruned, printed, cloned and fitted again."""
    tree = simple()
    assert jaxtree.prune_to(tree, jaxtree.prune.max_depth(tree.tree_, 1)).get_depth() == 1
    assert "number" in jaxtree.export_text(tree, feature_names=["number", "is_new"])
    forest = jaxtree.load(next(path for path in KEPT if path.stem.endswith("_forest")))
    assert len(forest.estimators_) == 3
    assert forest.oob_decision_function_.shape == (60, 3) and 0 < forest.oob_score_ < 1


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
        {"a": 1, 2: [3.0], True: None},
        jaxtree.Dropout(0.2, 0.5, draws="all"),
        jaxtree.ChiSquared(0.01) | (jaxtree.Pessimistic(0.1) | jaxtree.Collapse()),
        jaxtree.CostComplexity("cv", folds=[([0, 1], [2]), ([2], [0, 1])]),
        jaxtree.criteria.gini,
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value),
)
def test_parameters_come_back_as_they_were(value):
    from jaxtree.estimators.files.parameters import read_parameter, write_parameter

    text = json.dumps(write_parameter("name", value), allow_nan=False)
    back = read_parameter(json.loads(text))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_numbers_of_libraries_become_those_of_python():
    from jaxtree.estimators.files.parameters import write_parameter

    assert [write_parameter("x", value) for value in (np.float64(0.5), np.int32(3), np.bool_(True))] == [0.5, 3, True]
    assert write_parameter("x", jnp.asarray(2)) == 2


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
    tree = jaxtree.load(KEPT[0].with_name("format1_cart.jaxtree")).set_params(**parameters)
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        tree.save(tmp_path / "tree")
    assert not list(tmp_path.iterdir())


def test_estimators_of_other_classes_are_refused(tmp_path):
    class Mine(jaxtree.DecisionTreeClassifier):
        pass

    with pytest.raises(InvalidTypeError, match="Mine"):
        Mine().save(tmp_path / "tree")


def test_another_kind_of_estimator_can_be_registered(tmp_path, monkeypatch):
    class Constant(jaxtree.DecisionTreeRegressor):
        def fit(self, X, y):
            self.mean_ = np.asarray(y, np.float64).mean(keepdims=True)
            return self

    def join(estimator, parts):
        estimator.mean_ = parts.arrays["mean"]

    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    registry.register(Constant, registry.Kind(lambda e: ModelFile({}, {"mean": e.mean_}), join))
    Constant(max_depth=2).fit([[0]], [1.0, 4.0]).save(tmp_path / "constant")
    loaded = jaxtree.load(tmp_path / "constant")
    assert (type(loaded), loaded.max_depth, loaded.mean_.tolist()) == (Constant, 2, [2.5])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "tree"
    simple().save(path)
    before = path.read_bytes()

    def interrupted(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simple().save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_a_newer_file_says_which_version_wrote_it(tmp_path):
    write_model_file(tmp_path / "new", ModelFile({"format": FORMAT + 1, "jaxtree": "9.7"}, {}))
    with pytest.raises(ModelFileError, match=r"new'.*format 2.*jaxtree 9.7.*newer"):
        jaxtree.load(tmp_path / "new")


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
