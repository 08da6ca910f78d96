"""The law of results: every array that an estimator returns is a NumPy array of its own, which may be written."""

import inspect
import types

import numpy as np
import pytest

from jaxtree import GradientBoostingRegressor
from jaxtree.boosting import quantiles
from jaxtree.explain import shap_interaction_values, shap_values
from tests import examples

NO_RESULTS = {"fit", "partial_fit", "harden", "distil", "refit", "read_task", "save", "restore", "set_output"}
QUICK = ("cart", "forest_vote", "soft", "boosted_classes", "boosted_counts")


def methods_of(estimator):
    """Names of public methods that ask for a table, or for nothing, and what they are called with."""
    for name in dir(type(estimator)):
        own = inspect.getattr_static(type(estimator), name)
        if name.startswith("_") or name in NO_RESULTS or not inspect.isroutine(own):
            continue
        if not hasattr(estimator, name):  # of other settings alone, or what other libraries have
            continue
        parameters = inspect.signature(getattr(estimator, name)).parameters.values()
        asked = [own.name for own in parameters if own.default is own.empty and own.kind < own.VAR_POSITIONAL]
        if asked in (["X"], ["X", "levels"]):
            yield name, ([0.1, 0.5],)[: len(asked) - 1]


def arrays_in(result):
    """All arrays of a result; of a long sequence those of its first members."""
    if isinstance(result, list | tuple | map | types.GeneratorType):
        for _, own in zip(range(3), result, strict=False):
            yield from arrays_in(own)
    elif isinstance(result, dict):
        yield from arrays_in([*result.values()])
    elif hasattr(result, "__array__") and not np.isscalar(result):
        yield result


def check(call):
    """Checks that the arrays of a call are NumPy's, and that what is written into them is seen by no later call."""
    first = [*arrays_in(call())]
    kept = [own.copy() for own in first]
    for own in first:
        assert type(own) is np.ndarray and own.flags.writeable
        own[...] = np.zeros((), own.dtype)
    for own, before in zip(arrays_in(call()), kept, strict=True):
        np.testing.assert_array_equal(own, before)
    return bool(first)


def check_estimator(estimator, X):
    """Checks all methods of an estimator, and returns the names of those that return arrays."""
    return {
        name
        for name, further in methods_of(estimator)
        if check(lambda name=name, further=further: getattr(estimator, name)(X, *further))
    }


@pytest.mark.parametrize("name", QUICK)
def test_methods_return_arrays_of_their_own(name):
    returning = check_estimator(examples.example(name), examples.rows_of(name)[:9])
    assert "predict" in returning


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(examples.unfitted()) - {*QUICK}))
def test_methods_of_all_others_do_too(name):
    assert "predict" in check_estimator(examples.example(name), examples.rows_of(name)[:9])


def test_quantiles_distributions_and_offsets_are_arrays_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = GradientBoostingRegressor(2, loss=quantiles([0.1, 0.9])).fit(X, y)
    assert check(lambda: model.predict(X)) and check(lambda: model.predict(X, offset=y))
    assert check(lambda: model.raw_scores(X, offset=y)) and check(lambda: model.feature_importances_)
    y_before = y.copy()
    model.predict(X, offset=y)[...] = 0
    np.testing.assert_array_equal(y, y_before)
    distribution = examples.example("boosted_distribution").predict_dist(examples.rows_of("boosted_distribution"))
    for call in (
        lambda: distribution.mean,
        lambda: distribution.parameters,
        lambda: distribution.interval(0.8),
        lambda: distribution.cdf(0.0),
        lambda: distribution.log_prob(np.zeros(60)),
    ):
        assert check(call)


def test_explanations_are_arrays_of_their_own():
    model, X = examples.example("boosted_counts"), examples.rows_of("boosted_counts")[:9]
    assert check(lambda: tuple(shap_values(model, X)))
    assert check(lambda: tuple(shap_interaction_values(model, X)))
