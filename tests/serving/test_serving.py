"""Models that are served predict with the bits of estimators, and load nothing else than NumPy and the kernel."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxtree
from jaxtree import serving
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import FORMAT
from jaxtree.files.kept import KEPT
from tests.examples import example, of_every_class, rows_of, unfitted

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "raw_scores")
FAST = ("cart", "cart_outputs", "c45", "optimal_cost", "forest", "regression", "boosted", "boosted_ranker", "additive")
SERVED = [name for name in unfitted() if not name.startswith(("soft", "hardened"))]


def saved(name, folder):
    path = folder / f"{name}.jaxtree"
    example(name).save(path)
    return path


def answers(model, X):
    """All that a model predicts, by the name of the method, as lists of arrays."""
    made = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    return {name: value if isinstance(value, list) else [value] for name, value in made.items()}


def assert_same(found, wanted):
    assert set(found) >= set(wanted)
    for name, arrays in wanted.items():
        for own, other in zip(found[name], arrays, strict=True):
            assert own.dtype == other.dtype and own.shape == other.shape
            assert own.tolist() == other.tolist(), name


@pytest.mark.parametrize("name", of_every_class(SERVED, FAST))
def test_a_served_model_has_the_bits_of_the_estimator(name, tmp_path):
    X, model = rows_of(name), serving.load(saved(name, tmp_path))
    wanted = answers(example(name), X)
    assert_same(answers(model, X), wanted)
    assert_same(answers(pickle.loads(pickle.dumps(model)), X), wanted)
    assert (getattr(model, "feature_names_in_", None) is None) == isinstance(X, np.ndarray)


def test_distributions_are_served(tmp_path):
    X, model = rows_of("boosted_distribution"), serving.load(saved("boosted_distribution", tmp_path))
    wanted = example("boosted_distribution").predict_quantile(X, [0.1, 0.9])
    assert model.predict_quantile(X, [0.1, 0.9]).tolist() == wanted.tolist()
    with pytest.raises(InvalidInputError, match="a loss such as 'normal', and this model has squared"):
        serving.load(saved("boosted_regression", tmp_path)).predict_dist(rows_of("boosted_regression"))


def test_every_class_of_a_file_is_served_or_said_to_be_none(tmp_path):
    served = {type(example(name)).__name__ for name in SERVED}
    of_moments = ("Causal", "Instrumental", "Quantile", "Survival", "LocalLinear")
    assert {name for name in KEPT if not name.startswith(("Soft", "Hard", *of_moments))} == served
    with pytest.raises(InvalidInputError, match=r"holds a SoftTreeClassifier, .* jaxtree.load\(path\) returns"):
        serving.load(saved("soft", tmp_path))


ALONE = """
import sys
import numpy as np
from jaxtree import serving

for path in sys.argv[1:]:
    model = serving.load(path)
    X = [["red", 1.0]] if len(model.schema_.columns.is_plain) == 2 and not model.schema_.columns.is_plain[0] else None
    X = np.array([[0.5, 1.0]]) if X is None else X
    print(model.predict(X).tolist(), model.predict(np.repeat(np.asarray(X, object), 600, axis=0).tolist()).shape)
loaded = {"jax", "jaxlib", "sklearn", "pandas", "narwhals", "scipy", "joblib"} & set(sys.modules)
assert not loaded, f"serving loads {loaded}"
"""


@pytest.mark.parametrize("has_kernel", [True, False], ids=["kernel", "NumPy"])
def test_a_new_process_loads_neither_jax_nor_scikit_learn(tmp_path, has_kernel):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 2))
    words = [[("red", "green", None)[row % 3], float(row)] for row in range(60)]
    classes, target = np.where(numbers[:, 0] > 0, "yes", "no"), numbers[:, 1] + np.arange(60) % 3
    few = {"n_estimators": 3, "random_state": 0}
    fitted = [
        jaxtree.DecisionTreeClassifier(max_depth=3).fit(words, classes),
        jaxtree.RandomForestRegressor(**few).fit(words, target),
        jaxtree.GradientBoostingClassifier(**few).fit(numbers, classes),
        jaxtree.GradientBoostingRegressor(**few).fit(words, target),
        jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=5, random_state=0).fit(words, classes),
    ]
    paths = [str(tmp_path / f"{number}.jaxtree") for number in range(len(fitted))]
    for estimator, path in zip(fitted, paths, strict=True):
        estimator.save(path)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "JAXTREE_NATIVE": str(int(has_kernel))}
    run = subprocess.run(
        [sys.executable, "-c", ALONE, *paths], capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr
    rows = [
        [["red", 1.0]] if estimator.n_features_in_ and "red" in str(estimator.schema_) else [[0.5, 1.0]]
        for estimator in fitted
    ]
    wanted = [f"{estimator.predict(X).tolist()} (600,)" for estimator, X in zip(fitted, rows, strict=True)]
    assert run.stdout.splitlines() == wanted


def test_jax_that_is_loaded_later_knows_the_trees():
    code = """
import sys
from jaxtree.tree import Tree
from jaxtree.kernels import choose

choose.is_there()
assert "jax" not in sys.modules
import jax, numpy
from jaxtree import DecisionTreeClassifier

tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
assert isinstance(tree, Tree) and len(jax.tree.leaves(tree)) > 10
assert jax.jit(lambda own: own.first_child + 1)(tree).tolist() == [2, 1, 1]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


FORKED = """
import os, pickle, sys
from jaxtree import serving

model = serving.load(sys.argv[1])
X, wanted = pickle.load(open(sys.argv[2], "rb"))
model.predict_proba(X)
for child in range(2):
    number = os.fork()
    if not number:
        os._exit(0 if model.predict_proba(X).tolist() == wanted.tolist() else 1)
    assert os.waitpid(number, 0)[1] == 0
"""


@pytest.mark.parametrize("name", ["forest", "boosted"])
def test_children_of_a_fork_and_threads_predict(name, tmp_path):
    X, model = rows_of(name), serving.load(saved(name, tmp_path))
    wanted = model.predict_proba(X)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: model.predict_proba(X), range(8)):
            assert found.tolist() == wanted.tolist()
    rows = tmp_path / "rows.pickle"
    rows.write_bytes(pickle.dumps((X, wanted)))
    forked = subprocess.run([sys.executable, "-c", FORKED, str(tmp_path / f"{name}.jaxtree"), str(rows)], timeout=60)
    assert forked.returncode == 0


def test_a_file_that_is_damaged_or_later_is_refused_as_by_load(tmp_path):
    path = saved("boosted", tmp_path)
    data = path.read_bytes()
    later, damaged, none = (tmp_path / name for name in ("later", "damaged", "none"))
    later.write_bytes(data.replace(rb"\"format\": %d" % FORMAT, rb"\"format\": 9"))
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    none.write_bytes(b"no model")
    for file in (later, damaged, none):
        with pytest.raises(ModelFileError) as by_load:
            jaxtree.load(file)
        with pytest.raises(ModelFileError) as by_serving:
            serving.load(file)
        assert str(by_load.value) == str(by_serving.value)
    with pytest.raises(FileNotFoundError):
        serving.load(tmp_path / "absent")


@pytest.mark.parametrize("number", [1, 100])
def test_sigmoids_of_few_numbers_have_the_bits_of_scipy(number, monkeypatch):
    from scipy.special import expit

    from jaxtree import either

    monkeypatch.setattr(either, "is_loaded", lambda _: False)
    scores = np.random.default_rng(0).normal(size=(1, number)) * [[10.0]]
    scores[0, 0] = 700.0
    assert either.sigmoid(scores).tolist() == expit(scores).tolist()
    assert either.sigmoid(np.array([-1000.0, np.nan])).tolist()[0] == 0.0
