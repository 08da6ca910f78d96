"""A child that is forked after JAX has started predicts as its parent does, and says at once what it cannot do."""

import functools
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings

import jax
import jax.extend.core
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.boosting import Loss
from jaxtree.errors import ForkedProcessError
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.kernels import library
from tests.estimators.forking import in_forked_child
from tests.examples import EXTRAS, example, of_every_class, predictions, rows_of, unfitted
from tests.marks import rest_is_slow

REPEATED = 12
"""Times that rows stand in a table of so many that a parent has JAX walk them."""

METHODS = ("decision_function", "predict_log_proba", "raw_scores")
STAGED = ("staged_predict", "staged_predict_proba")


def everything(estimator, X):
    """All predictions of rows, by name."""
    found = predictions(estimator, X)
    found |= {name: getattr(estimator, name)(X) for name in METHODS if hasattr(estimator, name)}
    found |= {name: np.array(list(getattr(estimator, name)(X))) for name in STAGED if hasattr(estimator, name)}
    if hasattr(estimator, "predict_dist"):
        predicted = estimator.predict_dist(X)
        found |= predicted.parameters | {"interval": predicted.interval(0.8), "cdf": predicted.cdf(1.0)}
    return found


def tables(name):
    """The rows of an example, and many of them."""
    X = rows_of(name)
    join = pd.concat if isinstance(X, pd.DataFrame) else np.concatenate
    return X, join([X] * REPEATED)


def predicted_by_a_child(estimator, X):
    found, error = in_forked_child(everything, estimator, X)
    assert error is None, error
    return found


FAST = (
    "cart",
    "forest",
    "soft",
    "boosted_classes",
)
"""One of every engine."""


@pytest.mark.parametrize("name", of_every_class(unfitted(), FAST))
def test_a_child_predicts_what_its_parent_does(name):
    estimator = example(name)
    for X in tables(name):
        of_parent, of_child = everything(estimator, X), predicted_by_a_child(estimator, X)
        assert of_parent.keys() == of_child.keys()
        for what, values in of_parent.items():
            pairs = zip(values, of_child[what], strict=True) if isinstance(values, list) else [(values, of_child[what])]
            for one, other in pairs:
                np.testing.assert_array_equal(other, one, what)


@pytest.mark.slow
@pytest.mark.skipif(library.load() is None, reason="the kernel explains in a child")
def test_a_child_predicts_with_estimators_that_hold_others_and_explains():
    X, y = np.sin(np.arange(90.0)).reshape(30, 3), np.arange(30) % 7
    few = {"max_depth": 2}
    search = jaxtree.SearchCV(jaxtree.DecisionTreeRegressor(), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    conformal = jaxtree.resampling.ConformalRegressor(jaxtree.DecisionTreeRegressor(**few), cv=2).fit(X, y)
    leaves = jaxtree.LeafEncoder(jaxtree.DecisionTreeClassifier(**few), sparse_output=False).fit(X, y)
    boosted, rows = example("boosted_classes"), rows_of("boosted_classes")

    def work():
        explained = [shap_values(boosted, rows).values, shap_interaction_values(boosted, rows).values]
        words = np.array(str(jaxtree.explain_row(boosted, rows[:1])))
        return search.predict(X), conformal.predict_interval(X), leaves.transform(X), words, *explained

    found, error = in_forked_child(work)
    assert error is None, error
    for of_child, of_parent in zip(found, work(), strict=True):
        np.testing.assert_array_equal(of_child, of_parent)


def test_links_of_ones_own_are_an_error_in_a_child():
    """They are written in JAX, and their models need it to predict."""
    loss = Loss(lambda scores, target, extras: (scores[0] - target) ** 2, link=lambda scores: 2 * scores)
    X, y = rows_of("boosted_counts"), np.arange(60.0)
    model = jaxtree.GradientBoostingRegressor(n_estimators=4, max_depth=2, min_samples_leaf=4, loss=loss).fit(X, y)
    found, error = in_forked_child(errors_of({"predict": lambda: model.predict(X)}))
    assert error is None, error
    assert type(found["predict"]) is ForkedProcessError


NEVER_COMPUTED = """
import os, sys
import numpy as np
import jaxtree
# This loads much, and computes nothing.
from jaxtree import DecisionTreeClassifier, GradientBoostingClassifier, errors, search

X, y = np.arange(8.0)[:, None], np.arange(8) % 2
child = os.fork()
if child == 0:
    score = DecisionTreeClassifier().fit(X, y).score(X, y)
    if (grandchild := os.fork()) == 0:
        try:
            GradientBoostingClassifier(2).fit(X, y)
        except errors.ForkedProcessError:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(grandchild, 0)
    os._exit(5 if score == 1 and os.waitstatus_to_exitcode(status) == 7 else 1)
_, status = os.waitpid(child, 0)
sys.exit(0 if os.waitstatus_to_exitcode(status) == 5 and DecisionTreeClassifier().fit(X, y).score(X, y) == 1 else 1)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_of_a_parent_that_has_not_computed_does_all():
    """It starts JAX for itself, and so does the parent afterwards; a child of that child is cut off."""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", NEVER_COMPUTED], timeout=120).returncode == 0


def of_bytes(method, path, X):
    """Predictions of a model that comes into a process as a pickle or as a file."""
    model = pickle.loads(path.read_bytes()) if method == "pickle" else jaxtree.load(path)
    return everything(model, X)


@pytest.mark.parametrize("method", rest_is_slow(["pickle", "file"]))
@pytest.mark.parametrize("name", ["forest", "soft_forest", "soft", "boosted_classes", "cart_vote"])
def test_a_child_loads_models(name, method, tmp_path):
    estimator, path = example(name), tmp_path / "model"
    if method == "pickle":
        path.write_bytes(pickle.dumps(estimator))
    else:
        estimator.save(path)
    found, error = in_forked_child(of_bytes, method, path, rows_of(name))
    assert error is None, error
    for what, values in everything(estimator, rows_of(name)).items():
        np.testing.assert_array_equal(found[what], values, what)


def fits():
    """Fits that need JAX, by name."""
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    few = {"n_estimators": 2}
    unfitted = {
        "tree": jaxtree.DecisionTreeRegressor(criterion="poisson"),
        "votes": jaxtree.DecisionTreeClassifier(pruning=jaxtree.Dropout(0.2)),
        "optimal": jaxtree.OptimalTreeClassifier(),
        "forest": jaxtree.RandomForestRegressor(**few),
        "boosting": jaxtree.GradientBoostingClassifier(**few),
        "distribution": jaxtree.GradientBoostingDistribution(**few),
        "soft": jaxtree.SoftTreeClassifier(max_epochs=1),
        "leaves": jaxtree.LeafEncoder(jaxtree.ExtraTreesClassifier()),
        "search": jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}),
        "boost_search": jaxtree.SearchCV(jaxtree.GradientBoostingClassifier(), {"learning_rate": [0.1, 0.2]}),
        "conformal": jaxtree.resampling.ConformalRegressor(jaxtree.RandomForestRegressor()),
    }
    return {name: functools.partial(model.fit, X, y) for name, model in unfitted.items()}


def other_work():
    """Other work that needs JAX, on estimators that are fitted."""
    tree, boosted, soft = example("cart_plain"), example("boosted_counts"), example("soft")
    distribution, rows = example("boosted_distribution"), rows_of("boosted_distribution")
    X, y = rows_of("boosted_counts"), np.ones(60)
    codes = tree.encode(rows_of("cart_plain"))
    loss = jaxtree.boosting.squared()
    return {
        "partial_fit": lambda: soft.partial_fit(rows_of("soft"), unfitted()["soft"][2]),
        "harden": lambda: soft.harden(),
        "refit": lambda: boosted.refit(X, y),
        "refit of a tree": lambda: tree.refit(rows_of("cart_plain"), unfitted()["cart_plain"][2]),
        "add_rows": lambda: tree.add_rows(rows_of("cart_plain"), unfitted()["cart_plain"][2]),
        "refine": lambda: jaxtree.refine(tree, rows_of("cart_plain"), unfitted()["cart_plain"][2], n_restarts=1),
        "score": lambda: distribution.score(rows, y),
        "density": lambda: distribution.predict_dist(rows).log_prob(y),
        "apply": lambda: jaxtree.growth.apply(tree.tree_, codes),
        "dropout": lambda: jaxtree.tune_dropout(tree, rows_of("cart_plain"), unfitted()["cart_plain"][2]),
        "boost": lambda: jaxtree.boosting.boost(
            jaxtree.boosting.BoostData(jaxtree.boosting.ScoredRows(codes, np.ones(60), np.ones(60), {})),
            loss,
            jaxtree.boosting.BaseLearner(jaxtree.growth.Limits(), jaxtree.growth.Sizes(num_bins=64, capacity=8)),
            jaxtree.boosting.Shrinkage(0.1),
            num_rounds=1,
        ),
    }


def errors_of(works):
    """The errors of functions, by name."""

    def errors():
        found = {}
        for name, work in works.items():
            try:
                work()
            except Exception as error:
                found[name] = error
        return found

    return errors


@pytest.mark.parametrize("make", [fits, other_work])
def test_what_needs_jax_is_an_error_at_once(make):
    jaxtree.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    works = make()
    found, error = in_forked_child(errors_of(works))
    assert error is None, error
    assert set(found) == set(works)
    for name, error in found.items():
        assert type(error) is ForkedProcessError, (name, error)
        assert "JAX" in str(error)
        assert "spawn" in str(error)


def fitted_without_jax(name):
    """The predictions of an estimator that is fitted here, or "refused"; JAX does no work in this process any more."""

    def fails(*arguments, **options):
        raise AssertionError("JAX works in a child")

    jax.extend.core.Primitive.bind = jax.device_put = jax.local_devices = fails
    estimator, X, y = unfitted()[name]
    try:
        return predictions(clone(estimator).fit(X, y, **EXTRAS.get(name, {})), X)
    except ForkedProcessError:
        return "refused"


GROWN_BY_THE_KERNEL = {
    *("cart", "cart_dates", "cart_plain", "cart_fraction", "cart_outputs", "regression", "regression_outputs"),
    *("id3", "id3_onehot"),
}
"""The examples that are trees of CART and ID3 whose prunings need no JAX."""


@pytest.mark.skipif(library.load() is None, reason="the kernel grows the trees of a child")
@pytest.mark.parametrize("name", of_every_class([own for own in unfitted() if "hardened" not in own], ("cart", "c45")))
def test_a_child_fits_by_the_kernel_or_refuses(name):
    expected = predictions(example(name), rows_of(name))
    found, error = in_forked_child(fitted_without_jax, name)
    assert error is None, error
    assert (found == "refused") == (name not in GROWN_BY_THE_KERNEL)
    for what, values in expected.items() if name in GROWN_BY_THE_KERNEL else ():
        np.testing.assert_array_equal(found[what], values, what)


DRAWING = {
    "features": jaxtree.DecisionTreeClassifier(max_features=2, random_state=3),
    "thresholds": jaxtree.DecisionTreeRegressor(splitter="random", random_state=np.int64(5)),
    "a generator": jaxtree.DecisionTreeClassifier(max_features=1, random_state=np.random.RandomState(0)),
}


def fitted_by_processes(tree, X, y, context):
    """The predictions of trees on parts of the rows, each fitted in a process of its own."""
    # JAX and Python warn that such a child may hang.
    with warnings.catch_warnings(action="ignore"), multiprocessing.get_context(context).Pool(2) as pool:
        return pool.starmap_async(_fit_and_predict, [(tree, X, y, part) for part in range(3)]).get(timeout=120)


def _fit_and_predict(tree, X, y, part):
    rows = np.arange(len(X)) % 3 != part
    return clone(tree).fit(X[rows], y[rows]).predict(X)


@pytest.mark.skipif(library.load() is None, reason="the kernel grows the trees of a child")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("name", rest_is_slow(DRAWING))
def test_forked_processes_fit_trees_that_draw(name):
    """Pools of multiprocessing fork, and joblib's backend of that name; its loky starts processes anew."""
    tree, X, y = DRAWING[name], np.sin(np.arange(180.0)).reshape(60, 3), np.arange(60) // 7 % 3
    expected = [_fit_and_predict(tree, X, y, part) for part in range(3)]
    forked = fitted_by_processes(tree, X, y, "fork")
    jobs = [joblib.delayed(_fit_and_predict)(tree, X, y, part) for part in range(3)]
    with warnings.catch_warnings(action="ignore"):
        by_joblib = joblib.Parallel(2, backend="multiprocessing")(jobs)
    for own in (forked, by_joblib):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.slow
def test_processes_of_loky_fit_trees_that_draw():
    tree, X, y = DRAWING["features"], np.sin(np.arange(180.0)).reshape(60, 3), np.arange(60) // 7 % 3
    jobs = [joblib.delayed(_fit_and_predict)(tree, X, y, part) for part in range(3)]
    expected = [_fit_and_predict(tree, X, y, part) for part in range(3)]
    np.testing.assert_array_equal(joblib.Parallel(2, backend="loky")(jobs), expected)


LOADED = """
import sys
import jaxtree
from jax._src import xla_bridge

models = [jaxtree.load(path) for path in sys.argv[1:]]
sys.exit(xla_bridge.backends_are_initialized())
"""


@pytest.mark.slow
def test_loading_a_model_does_not_start_jax(tmp_path):
    """So that children of a server that has loaded its models can do all."""
    names = ("cart_vote", "c45", "forest", "soft", "soft_forest", "hardened", "boosted_classes")
    for name in names:
        example(name).save(tmp_path / name)
    command = [sys.executable, "-c", LOADED, *(str(tmp_path / name) for name in names)]
    assert subprocess.run(command, timeout=120).returncode == 0
