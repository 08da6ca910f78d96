"""Damaged and made-up files of other libraries: an error of jaxtree, or a model that predicts."""

import base64
import json
import re
import time
import tracemalloc

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, ModelFileError
from tests.files.test_fuzzed_files import damage_bytes, damage_json
from tests.foreign.test_kept_files import FOLDER

MOST_MEMORY = 2**27
FEW = (
    *("xgboost-3.2.0-words", "xgboost-1.7.6-dart", "xgboost-2.1.4-ubjson", "lightgbm-3.3.5-words"),
    *("lightgbm-4.1.0-classes", "catboost-1.2.10-words", "catboost-1.2.10-classes"),
)
NASTY = (
    *(-1, 0, 1, 2, 7, 255, 65_536, 2**31 - 1, 2**31, -(2**31), 2**63, 10**400, 0.5, 1e300, -1e300, 1e-320),
    *("NaN", "Infinity", "-Infinity", "null", '"x"', "[]", "{}", "true", "", "nan", "inf", "1 2", "-0.0"),
)
"""Texts that take the place of numbers."""


def text_of(name):
    """The bytes of the model of a kept file, as its library writes it."""
    content = json.loads((FOLDER / f"{name}.json").read_text())["model"]
    if isinstance(content, dict):
        return json.dumps(content).encode()
    return content.encode() if name.startswith("lightgbm") else base64.b64decode(content)


def read(name, data):
    """Reads a file of unknown content."""
    return getattr(jaxtree, f"from_{name.partition('-')[0]}")(data)


def is_refused(name, data):
    """Reads a file of unknown content, and uses what comes of it; returns whether it was refused."""
    tracemalloc.start()
    began = time.process_time()
    try:
        model = read(name, data)
    except (ModelFileError, InvalidInputError) as error:
        assert len(str(error)) < 2000
        return True
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_MEMORY and time.process_time() - began < 20
    predicted = model.predict_values(np.zeros((2, model.n_features_in_)))
    assert len(predicted) == 2 and not np.isnan(predicted).any()
    return False


def with_other_number(data, draw):
    """The text with something else in the place of a number."""
    text = data.decode()
    numbers = [found.span() for found in re.finditer(r"(?<![\w.\"])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)]
    begin, end = numbers[int(draw.integers(len(numbers)))]
    return f"{text[:begin]}{NASTY[int(draw.integers(len(NASTY)))]}{text[end:]}".encode()


def damaged(data, draw):
    """A file with some damage: of bytes, of a number, or of the tree of JSON."""
    is_text = data[:2] != b"{L"
    match draw.integers(3):
        case 0 if is_text:
            return with_other_number(data, draw)
        case 1 if is_text and data[:1] == b"{":
            content = json.loads(data)
            damage_json(content, draw)
            return json.dumps(content).encode()
    return bytes(damage_bytes(data, draw))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("number", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_broken_files(name, number):
    draw, data = np.random.default_rng(0), text_of(name)
    refused = sum(is_refused(name, damaged(data, draw)) for _ in range(number))
    assert refused > number // 5


def one_tree(**changed):
    """A model of XGBoost of one split, with some parts of its tree changed."""
    tree = {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0],
        "split_conditions": [2.5, -1.0, 1.0],
        "default_left": [1, 0, 0],
        "sum_hessian": [3.0, 2.0, 1.0],
        "loss_changes": [2.0, 0.0, 0.0],
        "base_weights": [0.0, -1.0, 1.0],
        "tree_param": {"num_nodes": "3"},
    }
    learner = {
        "gradient_booster": {"name": "gbtree", "model": {"trees": [tree | changed], "tree_info": [0]}},
        "objective": {"name": "reg:squarederror"},
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
    }
    return {"learner": learner, "version": [2, 1, 0]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"left_children": [0, -1, -1]}, "several parents, or is below itself"),
        ({"left_children": [2, -1, -1]}, "several parents, or is below itself"),
        ({"right_children": [7, -1, -1]}, "a child that there is not"),
        ({"split_indices": [3, 0, 0]}, "asks for none of the 1 columns"),
        ({"split_indices": [-3, 0, 0]}, "asks for none of the columns"),
        ({"split_conditions": [float("nan"), 0.0, 0.0]}, "a threshold that is no number"),
        ({"split_conditions": [1.0, float("inf"), 0.0]}, "a value that is no finite number"),
        ({"split_conditions": [1.0, 1e300, 0.0]}, "a value that is no finite number"),
        ({"split_conditions": [1.0, 0.0]}, "must have 3 numbers, got 2"),
        ({"sum_hessian": ["a", 0.0, 1.0]}, "is no list of numbers"),
        ({"default_left": [[1], 0, 0]}, "is no list of numbers"),
        ({"left_children": [1.5, -1, -1]}, "no whole number"),
        ({"left_children": []}, "a tree has no nodes"),
        ({"categories_nodes": [0], "categories_segments": [0], "categories_sizes": [9], "categories": [1]}, "are none"),
        (
            {"categories_nodes": [0], "categories_segments": [0], "categories_sizes": [1], "categories": [10**9]},
            "a category beyond",
        ),
    ],
)
def test_trees_that_are_none_are_refused(changed, words):
    assert jaxtree.from_xgboost(one_tree()).predict([[2.4]]).tolist() == [-0.5]
    with pytest.raises(ModelFileError, match=words):
        jaxtree.from_xgboost(one_tree(**changed))


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("num_feature", "99999999999", "must be a whole number"),
        ("num_class", "2000000000", "must be a whole number from 0 to 65536"),
        ("base_score", "nan", "must be a finite number"),
        ("base_score", "[1,2,3]", "must have 1 or 1 numbers"),
    ],
)
def test_sizes_that_a_file_declares_take_no_memory(part, value, words):
    content = one_tree()
    content["learner"]["learner_model_param"][part] = value
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=words):
        jaxtree.from_xgboost(content)
    assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    tracemalloc.stop()


def test_deep_trees_are_read_or_refused():
    def chain(size):
        left = [node + 1 if node % 2 == 0 and node < size - 1 else -1 for node in range(size)]
        right = [node + 2 if own >= 0 else -1 for node, own in enumerate(left)]
        zeros = [0.0] * size
        return one_tree(
            left_children=left,
            right_children=right,
            split_indices=[0] * size,
            split_conditions=[float(node) for node in range(size)],
            default_left=[1] * size,
            sum_hessian=[1.0] * size,
            loss_changes=zeros,
            base_weights=zeros,
        )

    model = jaxtree.from_xgboost(chain(801))
    assert model.forest_.nodes.max_depth == 400 and model.predict([[-1.0], [1e6]]).tolist() == [1.5, 800.5]
    with pytest.raises(ModelFileError, match="deeper than 5000 levels"):
        jaxtree.from_xgboost(chain(20_001))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"tree", b"{L\xff\xff\xff\xff\xff\xff\xff\xff", b"\x00" * 99])
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "model").write_bytes(data)
    for reader in (jaxtree.from_xgboost, jaxtree.from_lightgbm, jaxtree.from_catboost):
        with pytest.raises(ModelFileError, match=re.escape(f"cannot load '{tmp_path / 'model'}'")):
            reader(tmp_path / "model")
    with pytest.raises(ModelFileError, match="nested too deeply"):
        jaxtree.from_xgboost(b"{L\0\0\0\0\0\0\0\1a" + b"[" * 10_000)


def test_an_oblivious_tree_has_the_leaves_that_it_declares():
    split = {"border": 1.0, "float_feature_index": 0, "split_type": "FloatFeature"}
    column = {"feature_index": 0, "flat_feature_index": 0, "borders": []}
    for levels, words in ((60, "more than 20 levels"), (20, "must have 1048576 numbers, got 2")):
        content = {
            "oblivious_trees": [{"leaf_values": [0.0, 1.0], "splits": [split] * levels}],
            "features_info": {"float_features": [column]},
            "scale_and_bias": [1, [0.0]],
            "model_info": {},
        }
        with pytest.raises(ModelFileError, match=words):
            jaxtree.from_catboost(content)
