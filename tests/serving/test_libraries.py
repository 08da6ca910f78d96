"""Compiled models predict with the bits of estimators, in Python and in C, and errors come before a compiler starts."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxtree
from jaxtree import serving
from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError, ModelFileError
from jaxtree.export import c_rows
from jaxtree.serving import libraries
from jaxtree.tree.predictor import Predictor
from tests.examples import example, of_every_class, rows_of, unfitted
from tests.serving.test_serving import FORKED, answers, assert_same

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler")

REFUSED = ("cart_fraction", "cart_outputs", "regression_outputs", "extra_regression")
"""Models that share out rows, or have several outputs."""

COMPILED = [name for name in unfitted() if not name.startswith(("soft", "hardened", "c45")) and name not in REFUSED]
FAST = ("cart", "forest", "boosted", "boosted_classes", "regression", "additive")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    """Small programs need no optimisation, but rows of these models would walk."""
    monkeypatch.setattr(libraries, "_FLAGS", tuple(flag.replace("-O3", "-O1") for flag in libraries._FLAGS))
    monkeypatch.setattr(c_rows, "pays", lambda *_: True)


def compiled(name, folder):
    path = folder / f"{name}.so"
    jaxtree.to_library(example(name), path)
    return path


def many_rows(name, number=300):
    """Rows of an example, some of them often, in another order."""
    X = rows_of(name)
    place = np.random.default_rng(0).integers(len(X), size=number)
    return X[place] if isinstance(X, np.ndarray) else X.iloc[place]


@pytest.mark.parametrize("name", of_every_class(COMPILED, FAST))
def test_a_library_has_the_bits_of_the_estimator(name, tmp_path):
    path, X = compiled(name, tmp_path), many_rows(name)
    model, wanted = serving.load(path), answers(example(name), X)
    assert isinstance(model._model.predictor, libraries.CompiledTrees)
    assert_same(answers(model, X), wanted)
    assert_same(answers(jaxtree.load(path), X), wanted)
    for number in (1, 13):
        few = X[:number]
        assert_same(answers(model, few), answers(example(name), few))


@pytest.mark.parametrize("missing", ["learn", "branch"])
def test_rows_at_the_ends_of_numbers(missing, tmp_path):
    """Numbers on thresholds, both zeros, numbers past 2^53, and missing values, where each may go either way."""
    rng = np.random.default_rng(0)
    special = np.array(
        [0.0, -0.0, 2.0**53, 2.0**53 + 2, -(2.0**53), 1e308, -1e308, 5e-324, np.nan, 0.1, np.float32(0.1)]
    )
    X = rng.choice(special, (400, 6))
    y = np.nan_to_num(X, nan=3.0).clip(-9, 9) @ rng.normal(size=6) + np.isnan(X).sum(axis=1)
    model = jaxtree.GradientBoostingRegressor(12, max_depth=4, missing=missing, random_state=0).fit(X, y)
    jaxtree.to_library(model, tmp_path / "model.so")
    served, rows = serving.load(tmp_path / "model.so"), rng.choice(special, (1000, 6))

    def walked(table):
        """Few rows walk from node to node in the kernel."""
        return np.concatenate([model.predict(table[first : first + 20]) for first in range(0, len(table), 20)]).tolist()

    assert served.predict(rows).tolist() == walked(rows) == model.predict(rows).tolist()
    assert served.predict(np.asfortranarray(rows)).tolist() == walked(rows)
    narrow = rows.clip(-1e30, 1e30).astype(np.float32)
    assert served.predict(narrow).tolist() == walked(narrow) == model.predict(narrow).tolist()


def test_categories_that_are_none_are_in_no_set(tmp_path):
    """C has no rule for the integer of NaN, of an infinite number, or of one past all integers."""
    model = jaxtree.DecisionTreeRegressor(max_depth=3).fit([["a"], ["b"], ["c"], ["d"]] * 5, [0.0, 5.0, 1.0, 9.0] * 5)
    jaxtree.to_library(model, tmp_path / "model.so")
    rows = ctypes.CDLL(str(tmp_path / "model.so")).tree_predict_rows
    given = np.array([np.nan, np.inf, -np.inf, 1e300, -1.0, 4.0, 2.0**32] * 4)
    number = np.empty(len(given))
    rows.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    rows(given.ctypes.data, len(given), number.ctypes.data)
    assert set(number[~np.isnan(given)].tolist()) == {number[1]}


def test_threads_forks_pickles_and_a_file_that_is_replaced(tmp_path):
    path, X = compiled("boosted", tmp_path), many_rows("boosted", 5000)
    model, wanted = serving.load(path), example("boosted").predict_proba(X)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: model.predict_proba(X), range(8)):
            assert found.tolist() == wanted.tolist()
    again = pickle.loads(pickle.dumps(model))
    assert type(again._model.predictor) is Predictor and again.predict_proba(X).tolist() == wanted.tolist()
    rows = tmp_path / "rows.pickle"
    rows.write_bytes(pickle.dumps((X, wanted)))
    assert subprocess.run([sys.executable, "-c", FORKED, str(path), str(rows)], timeout=120).returncode == 0
    jaxtree.to_library(example("forest"), path)
    assert model.predict_proba(X).tolist() == wanted.tolist()
    other = many_rows("forest")
    assert serving.load(path).predict_proba(other).tolist() == example("forest").predict_proba(other).tolist()
    path.unlink()
    assert model.predict_proba(X).tolist() == wanted.tolist()


ALONE = """
import sys
import numpy as np
from jaxtree import serving

print(serving.load(sys.argv[1]).predict(np.array([[0.5, 1.0]])).tolist())
loaded = {"jax", "jaxlib", "sklearn", "pandas", "narwhals", "scipy", "joblib"} & set(sys.modules)
assert not loaded, f"serving loads {loaded}"
"""


def test_a_library_is_loaded_without_jax_and_without_the_kernel(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = jaxtree.GradientBoostingRegressor(3, random_state=0).fit(X, X[:, 0])
    jaxtree.to_library(model, tmp_path / "model.so")
    run = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "model.so")],
        capture_output=True,
        text=True,
        env={**os.environ, "JAXTREE_NATIVE": "0"},
        check=False,
    )
    assert run.stdout.strip() == str(model.predict([[0.5, 1.0]]).tolist()), run.stderr


def test_what_no_library_can_be_is_said_before_the_compiler_starts(tmp_path, monkeypatch):
    path = tmp_path / "model.so"
    monkeypatch.setattr(libraries, "_compile", lambda _: pytest.fail("the compiler has been started"))
    with pytest.raises(InvalidInputError, match="shares out rows whose"):
        jaxtree.to_library(example("cart_fraction"), path)
    with pytest.raises(InvalidInputError, match="must have one output, got 2"):
        jaxtree.to_library(example("cart_outputs"), path)
    with pytest.raises(InvalidTypeError, match=r"harden\(\) it first"):
        jaxtree.to_library(example("soft"), path)
    with pytest.raises(MissingExtraError, match="needs a C compiler, and nothing-like-it is not there: apt"):
        jaxtree.to_library(example("cart"), path, compiler="nothing-like-it")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingExtraError, match="cc, gcc, clang is not there"):
        jaxtree.to_library(example("cart"), path)
    assert not path.exists()


def test_a_compiler_that_fails_and_libraries_that_are_damaged(tmp_path):
    path = tmp_path / "model.so"
    with pytest.raises(InvalidInputError, match="false did not compile the model: exit status 1"):
        jaxtree.to_library(example("cart"), path, compiler="false")
    assert not path.exists()
    data = compiled("cart", tmp_path).read_bytes()
    path.write_bytes(b"\0" * 64 + data[64:])
    with pytest.raises(ModelFileError, match="the system cannot load it as a library"):
        serving.load(path)
    for damaged in (data[:-60] + bytes([data[-60] ^ 1]) + data[-59:], data[:-24] + b"\xff" * 8 + data[-16:], data[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            serving.load(path)
