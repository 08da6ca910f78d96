"""Estimators of a user's own class, derived from one of jaxtree, are saved as the class that they derive from."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.errors import InvalidTypeError
from jaxtree.files import registry
from jaxtree.files.container import read_model_file
from jaxtree.files.registry import KeptInFiles
from tests.examples import example, of_every_class, predictions, rows_of, unfitted

FAST = ("cart", "forest", "boosted", "additive", "soft")

WORDS = "Own is saved as the .* that it derives from, which load returns.*joblib.dump"


class Stump(jaxtree.DecisionTreeClassifier):
    """Has parameters of its own, and not those of its base."""

    def __init__(self, seed=0, note="own"):
        super().__init__(max_depth=1, random_state=seed)
        self.seed, self.note = seed, note

    def predict_word(self, X):
        return [f"{self.note}: {one}" for one in self.predict(X)]


def as_subclass(estimator):
    """The same fitted estimator, of a class that derives from its own."""
    other = copy.copy(estimator)
    other.__class__ = type("Own", (type(estimator),), {"other_word": lambda self: "other"})
    return other


@pytest.mark.parametrize("name", of_every_class(unfitted(), FAST))
def test_a_derived_estimator_is_loaded_as_its_base(name, tmp_path):
    estimator = example(name)
    with pytest.warns(UserWarning, match=WORDS):
        as_subclass(estimator).save(tmp_path / "own")
    estimator.save(tmp_path / "same")
    assert read_model_file(tmp_path / "own").header == read_model_file(tmp_path / "same").header
    loaded = jaxtree.load(tmp_path / "own")
    assert type(loaded) is type(estimator)
    for form, values in predictions(estimator, rows_of(name)).items():
        np.testing.assert_array_equal(predictions(loaded, rows_of(name))[form], values)


def test_a_class_with_parameters_of_its_own_is_saved_with_those_of_its_base(tmp_path):
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    stump = Stump(seed=3).fit(X, y)
    with pytest.warns(UserWarning, match="Stump is saved as the DecisionTreeClassifier"):
        stump.save(tmp_path / "m")
    loaded = jaxtree.load(tmp_path / "m")
    assert loaded.get_params()["max_depth"] == 1 and loaded.random_state == 3 and not hasattr(loaded, "note")
    np.testing.assert_array_equal(loaded.predict(X), stump.predict(X))
    assert stump.predict_word(X[:1]) == ["own: False"] and clone(stump).note == "own"


def test_a_class_of_the_name_of_one_of_jaxtree_is_not_taken_for_it(tmp_path):
    own = type("DecisionTreeRegressor", (jaxtree.DecisionTreeClassifier,), {})
    with pytest.warns(UserWarning, match="saved as the DecisionTreeClassifier"):
        own().fit(np.eye(2), [0, 1]).save(tmp_path / "m")
    assert type(jaxtree.load(tmp_path / "m")) is jaxtree.DecisionTreeClassifier


def test_a_class_that_no_file_keeps_is_named():
    with pytest.raises(InvalidTypeError, match=r"estimators of these classes are saved: .*; got KeptInFiles"):
        registry.describe_estimator(KeptInFiles())
