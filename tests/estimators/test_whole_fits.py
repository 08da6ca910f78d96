"""A fit that fails or is interrupted, wherever that is, leaves its estimator as it was; so do all that change one."""

import copy
import inspect
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from jaxtyping import TypeCheckError
from sklearn.base import clone

import jaxtree
from jaxtree.errors import JaxtreeError
from jaxtree.resampling.boruta import BorutaSelector
from jaxtree.resampling.conformal import ConformalRegressor
from jaxtree.search.tune import TunedSearchCV
from jaxtree.table import Encoder
from tests.examples import EXTRAS, of_every_class, predictions, unfitted
from tests.marks import rest_is_slow

PACKAGE = str(Path(jaxtree.__file__).parent)
CHECKS = str(Path(PACKAGE) / "lazy.py")
"""Its types are looked at by the checks of annotations too, which take an error there for a fault of the value."""
TRIES = 6
# An error while a generator is thrown away is lost.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
FAST = ("cart", "forest", "boosted", "additive", "soft", "optimal")


class Raising:
    """Raises an error in this thread as some function of the package begins; counts them if there is no error."""

    def __init__(self, error=None, at=0, folder=PACKAGE):
        self.error, self.at, self.number, self.folder = error, at, 0, folder

    def __call__(self, frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(self.folder) and file != CHECKS:
            self.number += 1
            if self.number == self.at:
                sys.setprofile(None)
                raise self.error("here")

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def assert_all_or_nothing(model, change, seen, seed=0, tries=TRIES):
    """An error at any of some points of a change leaves what is seen of a fitted model, or all is changed."""
    with warnings.catch_warnings(action="ignore"):
        whole = copy.deepcopy(model)
        change(whole)
        with Raising() as counted:
            change(copy.deepcopy(model))
        before, names = seen(model), set(vars(model))
        # At the first point nobody can go on; from others on a search may do without the setting that failed.
        points = [1, *np.random.default_rng(seed).integers(1, counted.number + 1, tries).tolist()]
        num_raised = 0
        for at, error in zip(points, [KeyboardInterrupt, MemoryError] * tries, strict=False):
            changed = object.__new__(type(model))
            vars(changed).update(vars(model))
            try:
                with Raising(error, at):
                    change(changed)
            except (KeyboardInterrupt, Exception):
                num_raised += 1
                assert set(vars(changed)) == names, (error, at)
                assert_same(seen(changed), before, (error, at))
            else:
                # An interrupt that ends a fit early leaves a whole model, and a warning.
                assert set(vars(changed)) == set(vars(whole))
                seen(changed)
            assert_same(seen(model), before, (error, at))
    assert num_raised


def assert_same(one, other, where):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=f"{name} {where}")


def fitted(name):
    estimator, X, y = unfitted()[name]
    with warnings.catch_warnings(action="ignore"):
        return clone(estimator).fit(X, y, **EXTRAS.get(name, {})), X, y


@pytest.mark.parametrize("name", of_every_class([own for own in unfitted() if not own.startswith("hardened")], FAST))
def test_a_second_fit_that_ends_at_any_point_changes_nothing(name):
    model, X, y = fitted(name)
    other = np.roll(np.asarray(y), 7, axis=0) if name != "c45" else y
    assert_all_or_nothing(model, lambda own: own.fit(X, other, **EXTRAS.get(name, {})), lambda own: predictions(own, X))


@pytest.mark.parametrize("name", rest_is_slow(["forest_regression", "extra", "boosted_classes", "boosted_normal"]))
def test_trees_that_are_added_to_come_all_or_not_at_all(name):
    model, X, y = fitted(name)
    model.set_params(warm_start=True, n_estimators=model.n_estimators + 3)
    assert_all_or_nothing(model, lambda own: own.fit(X, y), lambda own: predictions(own, X), seed=1)


def test_further_rows_come_all_or_not_at_all():
    model, X, y = fitted("soft_regression")
    assert_all_or_nothing(model, lambda own: own.partial_fit(X[:20], y[:20]), lambda own: predictions(own, X))


def test_batches_of_a_tree_come_all_or_not_at_all():
    estimator, X, y = unfitted()["cart"]
    model = clone(estimator).partial_fit(X[:40], y[:40])
    assert_all_or_nothing(model, lambda own: own.partial_fit(X[40:], y[40:]), lambda own: predictions(own, X))


def test_a_first_fit_that_fails_leaves_no_part_of_a_model():
    estimator, X, y = unfitted()["forest"]
    for at in (5, 50, 150, 300):
        model = clone(estimator)
        before = set(vars(model))
        # A check of types, which tests have, makes an error of its own of one that is raised within it.
        with pytest.raises((MemoryError, TypeCheckError)), Raising(MemoryError, at):
            model.fit(X, y)
        assert set(vars(model)) == before


X = np.random.default_rng(0).normal(size=(60, 3))
CLASSES, NUMBERS = np.where(X[:, 0] > 0, "a", "b"), X[:, 0] + X[:, 1] ** 2
BOOSTED = jaxtree.GradientBoostingRegressor(3, max_depth=2)
SEARCHES = {
    "trees": (jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2), CLASSES),
    "boosted": (jaxtree.SearchCV(BOOSTED, {"learning_rate": [0.1, 0.3]}, cv=2), NUMBERS),
    "ensemble": (jaxtree.SearchCV(BOOSTED, {"learning_rate": [0.1, 0.3]}, cv=2, refit="ensemble"), NUMBERS),
    "forests": (
        jaxtree.SearchCV(jaxtree.RandomForestRegressor(3, random_state=0), {"max_depth": [1, 2]}, cv=2),
        NUMBERS,
    ),
    "additive": (
        jaxtree.SearchCV(
            jaxtree.ExplainableBoostingRegressor(outer_bags=1, max_rounds=20), {"learning_rate": [0.1, 0.2]}, cv=2
        ),
        NUMBERS,
    ),
    "soft": (
        jaxtree.SearchCV(jaxtree.SoftTreeRegressor(depth=1, max_epochs=2), {"scaling": ["standard", "quantile"]}, cv=2),
        NUMBERS,
    ),
    "tuned": (TunedSearchCV(BOOSTED, n_iter=2, cv=2, minutes=600), NUMBERS),
    "conformal": (ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=2), cv=2), NUMBERS),
    "leaves": (jaxtree.LeafEncoder(jaxtree.DecisionTreeClassifier(max_depth=2), sparse_output=False), CLASSES),
}


def seen_of_search(own):
    if hasattr(own, "transform") and not hasattr(own, "cv_results_"):
        return {"transform": own.transform(X)}
    scores = {"score": own.cv_results_["mean_test_score"]} if hasattr(own, "cv_results_") else {}
    return {"predict": own.predict(X), **scores}


@pytest.mark.parametrize("name", rest_is_slow(SEARCHES, 2))
def test_a_second_search_that_ends_at_any_point_changes_nothing(name):
    search, y = SEARCHES[name]
    model = clone(search).fit(X, y)
    assert_all_or_nothing(model, lambda own: own.fit(X, np.roll(y, 7)), seen_of_search, seed=2)


def test_a_selection_that_ends_at_any_point_changes_nothing():
    estimator = jaxtree.RandomForestClassifier(3, max_depth=2, random_state=0)
    model = BorutaSelector(estimator, max_rounds=3, random_state=0).fit(X, CLASSES)
    assert_all_or_nothing(
        model, lambda own: own.fit(X, np.roll(CLASSES, 7)), lambda own: {"status": own.status_, "hits": own.hits_}
    )


TABLE = [["a", 1.5], ["b", 2.5], ["a", 4.0]] * 4
OTHER = [["c", 0.5], ["d", 2.25], ["c", 9.0]] * 4
CHANGES_OF_ENCODERS = {
    "fit": lambda own: own.fit(OTHER),
    "fit_transform": lambda own: own.fit_transform(OTHER),
    "fit_numbers": lambda own: own.fit(X[:, :2]),
    "fit_summary": lambda own: own.fit_summary(own.summarise(OTHER)),
    "encode_part": lambda own: own.encode_part([["a", -5.0]]),
    "widen": lambda own: own.widen(own.bin_ranges() * [[-3.0], [3.0]]),
    "fit_source": lambda own: own.fit(lambda: iter([OTHER[:6], OTHER[6:]])),
    "transform_source": lambda own: own.fit_transform(lambda: iter([OTHER[:6], OTHER[6:]])),
}


def seen_of_encoder(own):
    return {"schema": np.array(repr(own.schema_)), "is_sampled": own._is_sampled}


@pytest.mark.parametrize("name", CHANGES_OF_ENCODERS)
def test_an_encoder_learns_a_table_as_a_whole_or_not_at_all(name):
    encoder = Encoder(max_bins=2).fit(TABLE)
    assert_all_or_nothing(encoder, CHANGES_OF_ENCODERS[name], seen_of_encoder, seed=3, tries=12)


def test_an_encoder_that_refuses_a_table_keeps_the_first():
    encoder = Encoder().fit(TABLE)
    before = seen_of_encoder(encoder)
    parts = lambda: iter([OTHER[:6], [["c", 1.0, 2.0]]])  # noqa: E731
    for wrong in (parts, [["a", object()]], np.zeros((0, 2))):
        for method in (encoder.fit, encoder.fit_transform):
            with pytest.raises(JaxtreeError):
                method(wrong)
            assert seen_of_encoder(encoder) == before
    first = Encoder()
    with pytest.raises(JaxtreeError):
        first.fit(parts)
    assert not hasattr(first, "schema_")


WITH_PARAMETERS = {name: search for name, (search, _) in SEARCHES.items()} | {
    name: getattr(jaxtree, name)()
    for name in jaxtree.__all__
    if inspect.isclass(getattr(jaxtree, name))
    and hasattr(getattr(jaxtree, name), "get_params")
    and inspect.signature(getattr(jaxtree, name)).parameters
    and all(own.default is not own.empty for own in inspect.signature(getattr(jaxtree, name)).parameters.values())
}


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_parameters_are_set_all_or_none(name):
    """Whatever fails: one that there is not, within one that has none, or an interrupt; also those within another."""
    model = copy.deepcopy(WITH_PARAMETERS[name])
    before = {key: id(value) for key, value in model.get_params().items()}
    own = [key for key in model.get_params(deep=False) if key != "estimator"]
    nested = [key for key in before if "__" in key][:2]
    changes = dict.fromkeys([*own, *nested], "changed")
    for wrong in ("bogus", f"{own[-1]}__bogus", "estimator__bogus"):
        with pytest.raises((ValueError, AttributeError, TypeError)):
            model.set_params(**changes, **{wrong: 1})
        assert {key: id(value) for key, value in model.get_params().items()} == before, wrong
    for at in itertools.count(1):
        try:
            with Raising(KeyboardInterrupt, at, str(Path(sklearn.__file__).parent)):
                model.set_params(**changes)
        except KeyboardInterrupt:
            assert {key: id(value) for key, value in model.get_params().items()} == before, at
        else:
            break
    assert at > 1 and set(model.get_params(deep=False).values()) <= {"changed", getattr(model, "estimator", None)}


def test_an_interrupted_first_search_keeps_its_scores_and_a_second_one_the_first():
    def interrupting(estimator, X, y):
        if estimator.min_samples_leaf == stop:
            raise KeyboardInterrupt
        return estimator.score(X, y)

    stop = 4
    grid = {"min_samples_leaf": [1, 4]}
    search = jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), grid, cv=2, scoring=interrupting)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, CLASSES)
    assert search.cv_results_["params"] == [{"min_samples_leaf": 1}] and not hasattr(search, "best_estimator_")
    stop = 0
    search.fit(X, CLASSES)
    stop, whole = 4, vars(search).copy()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, np.roll(CLASSES, 7))
    assert vars(search) == whole


def test_a_second_search_has_no_results_of_the_first_and_leaves_those_of_a_subclass():
    class Own(jaxtree.SearchCV):
        threshold_ = 0.5

        def __init__(self, estimator, param_grid, *, cv=2, refit=True):
            super().__init__(estimator, param_grid, cv=cv, refit=refit)
            self.threshold_ = 0.7

    search = Own(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]})
    search.fit(X, CLASSES).set_params(refit=False).fit(X, CLASSES)
    assert search.threshold_ == 0.7 and not hasattr(search, "best_estimator_")
    for name in ("trees", "boosted", "ensemble", "forests"):
        own, y = SEARCHES[name]
        again = clone(own).fit(X, y).set_params(refit=False).fit(X, y)
        assert vars(again).keys() == vars(clone(own).set_params(refit=False).fit(X, y)).keys()
