"""Thousands of broken and made-up files: each is refused with a reason, or is a model that predicts."""

import copy
import math
import os
import pathlib
import time
import tracemalloc

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, JaxtreeError, ModelFileError
from jaxtree.files.container import ModelFile, read_model_file, write_model_file
from jaxtree.files.records import from_json
from tests.examples import example, rows_of, unfitted

MOST_MEMORY = 16 * 2**20
"""Bytes that no file of these few kilobytes may take."""

NASTY = [
    *(None, True, 0, 1, -1, 2**31, 2**63, 10**400, 1e308, 0.5, "", "x" * 1000, [], {}, [[[[]]]], {"number": "nan"}),
    *({"array": ["<U9", ["a" * 9, 3]]}, {"array": ["|O", [[]]]}, {"array": ["<i1", [300]]}, {"array": ["V9", []]}),
    *({"pruning": ["Dropout", {"p": 7}]}, {"pruning": ["Dropout", {}]}, {"pruning": ["Pruning", {}]}),
    *({"criterion": "eval"}, {"tuple": 3}, {"dict": [[[], 1]]}, {"dict": [[1]]}, {"unknown": 1}, "numeric", "boolean"),
]


@pytest.fixture(autouse=True)
def nobody_waits_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)


def try_to_load(path, rows):
    """Loads a file of unknown content, and uses what comes of it; returns whether it was refused."""
    tracemalloc.start()
    try:
        estimator = jaxtree.load(path)
    except ModelFileError as error:
        assert str(path) in str(error) and len(str(error)) < 2000
        return True
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_MEMORY
    for name in ("predict", "apply", "predict_proba"):
        try:
            predicted = getattr(estimator, name, estimator.predict)(rows)
        except JaxtreeError:  # the rows are not such as this model knows
            continue
        if name == "predict_proba" and hasattr(estimator, "classes_"):
            check_shares(predicted)
    if isinstance(estimator, jaxtree.HardTreeClassifier | jaxtree.HardTreeRegressor):
        assert estimator.export_text()
    elif hasattr(estimator, "tree_"):
        assert jaxtree.export_text(estimator)
    try:
        importances = getattr(estimator, "feature_importances_", None)
    except InvalidInputError:  # gains are infinite where squares of targets are
        importances = None
    assert importances is None or importances.shape == (estimator.n_features_in_,)
    return False


def check_shares(predicted):
    """Shares of classes, of every output, are from 0 to 1 and add up to 1."""
    for shares in predicted if isinstance(predicted, list) else [predicted]:
        assert (shares >= 0).all() and (shares <= 1 + 1e-9).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)


def damage_bytes(data, draw):
    """Some bits turned over, a part cut out, or one put in."""
    broken = bytearray(data)
    place = int(draw.integers(len(broken)))
    match draw.integers(5):
        case 0:
            return broken[:place]
        case 1:
            return broken[:place] + broken[place + int(draw.integers(1, 9)) :]
        case 2:
            return broken[:place] + draw.bytes(int(draw.integers(1, 9))) + broken[place:]
    for _ in range(int(draw.integers(1, 4))):
        broken[int(draw.integers(len(broken)))] ^= 1 << int(draw.integers(8))
    return broken


def damage_content(content, draw):
    """A file with a right checksum whose header or arrays are wrong in some places."""
    content = copy.deepcopy(content)
    for _ in range(int(draw.integers(1, 3))):
        if draw.random() < 0.5:
            damage_json(content.header, draw)
        else:
            damage_arrays(content.arrays, draw)
    return content


def damage_json(value, draw):
    """Changes something in nested lists and objects, deep or not."""
    places = [place for place in places_in(value) if place[1] != "format"]
    container, key = places[int(draw.integers(len(places)))]
    match draw.integers(4):
        case 0:
            del container[key]
        case 1:
            other = places[int(draw.integers(len(places)))]
            container[key] = copy.deepcopy(other[0][other[1]])
        case _:
            container[key] = copy.deepcopy(NASTY[int(draw.integers(len(NASTY)))])


def places_in(value):
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from places_in(value[key])


def damage_arrays(arrays, draw):
    """Changes a number, the type or the shape of an array, or leaves it out."""
    if not arrays:
        return
    name = sorted(arrays)[int(draw.integers(len(arrays)))]
    array = arrays[name] = arrays[name].copy()
    match draw.integers(8):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array.astype(draw.choice(["f8", "i4", "i8", "u4", "u1", "?"]))
        case 2:
            arrays[name] = array[:-1]
        case 3:
            arrays[name] = array[..., None] if draw.random() < 0.5 else array.ravel()
        case _ if array.size:
            extremes = [-1, 0, 1, 2, 3, 7, 100, 2**30, 2**31 - 1, -(2**31), np.nan, np.inf, -np.inf, 1e300, 0.5]
            with np.errstate(all="ignore"):
                number = np.float64(extremes[int(draw.integers(len(extremes)))]).astype(array.dtype)
            array.flat[int(draw.integers(array.size))] = number


def saved(folder, name):
    """The file of an example: its bytes, and what it holds."""
    example(name).save(folder / name)
    return (folder / name).read_bytes(), read_model_file(folder / name)


def load_damaged(tmp_path, names, number, seed):
    """Loads so many broken and made-up files of some examples; returns how many of each were refused."""
    return load_damaged_of([(*saved(tmp_path, name), rows_of(name)) for name in names], tmp_path / "file", number, seed)


def load_damaged_of(originals, path, number, seed):
    """The same of files: their bytes, what they hold, and rows."""
    draw = np.random.default_rng(seed)
    refused = np.zeros(2, int)
    for attempt in range(number):
        data, content, rows = originals[attempt % len(originals)]
        path.write_bytes(damage_bytes(data, draw))
        refused[0] += try_to_load(path, rows)
        try:
            write_model_file(path, damage_content(content, draw))
        except ValueError:  # an integer too long to be written
            continue
        refused[1] += try_to_load(path, rows)
    return refused


ONE_OF_A_KIND = ("cart_vote", "c45", "optimal", "forest", "soft", "boosted_classes", "boosted_distribution")


@pytest.mark.filterwarnings("ignore")
def test_some_broken_files(tmp_path):
    number = 80
    damaged, made_up = load_damaged(tmp_path, ONE_OF_A_KIND, number, seed=0)
    assert damaged >= number - 4  # what is only white space makes no difference
    assert made_up >= number // 2


def forests_of_moments():
    """A fitted forest of every class that goes into files."""
    draw = np.random.default_rng(0)
    X, y, coin = draw.random((60, 2)), draw.random(60), np.arange(60) % 2
    few = {"n_estimators": 12, "random_state": 0}
    yield jaxtree.CausalForest(**few).fit(X, y, treatment=np.array(["no", "yes"])[coin]), X
    yield jaxtree.InstrumentalForest(**few).fit(X, y, treatment=coin, instrument=coin[::-1]), X
    yield jaxtree.QuantileForest(**few).fit(X, y), X
    yield jaxtree.SurvivalForest(**few).fit(X, y, event=coin), X
    yield jaxtree.LocalLinearForest(**few).fit(X, y), X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [100, pytest.param(1500, marks=pytest.mark.slow)])
def test_broken_files_of_forests_of_moments(tmp_path, number):
    originals = []
    for estimator, rows in forests_of_moments():
        estimator.save(tmp_path / "whole")
        originals.append(((tmp_path / "whole").read_bytes(), read_model_file(tmp_path / "whole"), rows))
    damaged, made_up = load_damaged_of(originals, tmp_path / "file", number, seed=2)
    assert damaged >= 0.95 * number
    assert made_up >= number // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_thousands_of_broken_files(tmp_path):
    damaged, made_up = load_damaged(tmp_path, unfitted(), 1500, seed=1)
    assert damaged >= 1440
    assert made_up >= 750


@pytest.mark.parametrize("length", [2**63, 2**40, 100_000_001, 2**25 + 1, 3, 0])
def test_a_header_longer_than_the_file_is_not_believed(tmp_path, length):
    data = saved(tmp_path, "cart")[0]
    pathlib.Path(tmp_path / "file").write_bytes(length.to_bytes(8, "little") + data[8:])
    assert try_to_load(tmp_path / "file", None)


def test_deep_json_is_refused(tmp_path):
    for text in (b"[" * 100_000, b'{"__metadata__": {"jaxtree": "' + b"[" * 100_000 + b'"}}'):
        (tmp_path / "file").write_bytes(len(text).to_bytes(8, "little") + text)
        assert try_to_load(tmp_path / "file", None)


@pytest.mark.parametrize("name", ["first_child", "num_children"])
def test_cycles_are_refused(tmp_path, name):
    content = saved(tmp_path, "cart")[1]
    for node in range(content.arrays["nodes.feature"].size):
        for value in range(5):
            arrays = {**content.arrays, f"nodes.{name}": content.arrays[f"nodes.{name}"].copy()}
            is_leaf = not arrays["nodes.num_children"][node]
            if arrays[f"nodes.{name}"][node] == value or (name == "first_child" and is_leaf):
                continue
            arrays[f"nodes.{name}"][node] = value
            write_model_file(tmp_path / "file", ModelFile(content.header, arrays))
            assert try_to_load(tmp_path / "file", None)


EXTREMES = [0, -1, 3, 1e300, 1e308, -1e308, np.nan, np.inf]
FEW = (
    *("cart_vote", "cart", "cart_fraction", "forest", "hardened"),
    *("boosted", "regression", "boosted_regression", "additive"),
)
"""Estimators whose files have all kinds of arrays."""


def with_extremes(content):
    """The content with an extreme number in the first place, or in all, of one array of floats after the other."""
    for name, array in content.arrays.items():
        for value in EXTREMES if array.dtype.kind == "f" and array.size else []:
            for place in (0, slice(None)):
                changed = array.copy()
                changed[place] = value
                yield content._replace(arrays={**content.arrays, name: changed})


def load_with_extremes(tmp_path, names):
    path = tmp_path / "file"
    for name in names:
        for content in with_extremes(saved(tmp_path, name)[1]):
            write_model_file(path, content)
            try_to_load(path, rows_of(name))


@pytest.mark.filterwarnings("ignore")
def test_shares_are_shares_whatever_the_arrays_hold(tmp_path):
    load_with_extremes(tmp_path, FEW[:1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_shares_are_shares_in_all_kinds_of_files(tmp_path):
    load_with_extremes(tmp_path, FEW[1:])


@pytest.mark.parametrize(
    ("example", "array", "value"),
    [
        ("cart", "nodes.count", 0),
        ("cart", "nodes.count", 1e308),
        ("cart", "nodes.weight", 0.5),
        ("cart_vote", "votes", 2.0),
        ("cart_vote", "votes", -0.5),
        ("regression", "nodes.target_sum", 1e308),
        ("boosted", "start", 1e308),
        ("boosted_regression", "nodes.weight", 1e-308),
    ],
)
def test_values_that_no_model_has_are_refused(tmp_path, example, array, value):
    content = saved(tmp_path, example)[1]
    content.arrays[array] = np.full_like(content.arrays[array], value, np.float64)
    write_model_file(tmp_path / "file", content)
    assert try_to_load(tmp_path / "file", None)


@pytest.mark.parametrize(
    ("example", "loss"),
    [
        ("boosted", {"loss": ["squared", {}]}),
        ("boosted", {"loss": ["poisson", {}]}),
        ("boosted_regression", {"loss": ["logistic", {}]}),
        ("boosted_regression", {"loss": ["gamma", {}]}),
    ],
)
def test_a_loss_of_another_class_is_refused(tmp_path, example, loss):
    """Its scores are as many, and its predictions are other numbers: shares of classes below 0."""
    content = saved(tmp_path, example)[1]
    content.header["fitted"]["loss"] = loss
    write_model_file(tmp_path / "file", content)
    with pytest.raises(ModelFileError, match=r"its loss is \w+\(\), and its parameters and target are of"):
        jaxtree.load(tmp_path / "file")


@pytest.mark.parametrize("width", [9, 100, 60_000_000, 99_999_999])
def test_declared_widths_of_strings_take_no_memory(tmp_path, width):
    content = saved(tmp_path, "cart")[1]
    names = content.header["fitted"]["table"]["outputs"][0]["names"]
    names["array"][0] = f"<U{width}"
    write_model_file(tmp_path / "file", content)
    assert not try_to_load(tmp_path / "file", rows_of("cart"))
    loaded = jaxtree.load(tmp_path / "file")
    assert loaded.classes_.tolist() == names["array"][1]
    assert loaded.classes_.dtype == (f"<U{width}" if width < 1000 else "<U6")
    np.testing.assert_array_equal(loaded.predict(rows_of("cart")), example("cart").predict(rows_of("cart")))


def test_one_long_class_among_many_short_ones_takes_no_memory():
    names = ["x" * 100_000, *map(str, range(5000))]
    tracemalloc.start()
    array = from_json({"array": ["<U100000", names]})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert array.tolist() == names and peak < MOST_MEMORY


@pytest.mark.parametrize("keeps_beginning", [False, True])
def test_a_file_of_holes_is_not_read(tmp_path, keeps_beginning):
    """It has gigabytes, which take nothing on the disk."""
    path = tmp_path / "file"
    path.write_bytes(saved(tmp_path, "cart")[0] if keeps_beginning else b"")
    os.truncate(path, 6 * 2**30)
    assert try_to_load(path, None)


def test_a_header_that_names_other_sizes_is_refused_before_the_rest_is_read(tmp_path):
    data = saved(tmp_path, "cart")[0]
    (tmp_path / "file").write_bytes(data + bytes(2**25))
    assert try_to_load(tmp_path / "file", None)


def test_long_strings_in_many_classes_are_refused(tmp_path):
    content = saved(tmp_path, "cart")[1]
    names = ["x" * 2**21, *(str(number) for number in range(1000))]
    content.header["fitted"]["table"]["outputs"][0]["names"] = {"array": ["<U9", names]}
    write_model_file(tmp_path / "file", content)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="too long strings"):
        jaxtree.load(tmp_path / "file")
    assert tracemalloc.get_traced_memory()[1] < 2**28
    tracemalloc.stop()


def test_a_cycle_beside_the_root_is_refused(tmp_path):
    """Every node but the root has one parent here, and two of them are each other's."""
    content = saved(tmp_path, "cart")[1]
    arrays = content.arrays
    for name, shape in content.header["fitted"]["nodes"].items():
        if shape is None:
            continue
        shape[0] = 5
        arrays[f"nodes.{name}"] = arrays[f"nodes.{name}"][: math.prod(shape)]
    arrays["first_node"] = np.array([0, 5])
    arrays["nodes.num_children"] = np.array([0, 2, 0, 2, 0], np.int32)
    arrays["nodes.first_child"] = np.array([0, 3, 0, 1, 0], np.int32)
    write_model_file(tmp_path / "file", content)
    with pytest.raises(ModelFileError, match="children that are not behind it"):
        jaxtree.load(tmp_path / "file")


def test_a_table_without_a_number_of_outputs_is_refused_at_once(tmp_path):
    """`None in range(1, 2**31)` takes minutes: it compares all numbers."""
    _, content = saved(tmp_path, "regression")
    content.header["fitted"]["table"]["num_outputs"] = None
    write_model_file(tmp_path / "file", content)
    began = time.process_time()
    assert try_to_load(tmp_path / "file", None)
    assert time.process_time() - began < 5
