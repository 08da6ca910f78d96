"""The meaning of "auto" in soft estimators: it follows from the kind of model, and numbers that are given count."""

import numpy as np
import pytest

from jaxtree import SoftForestClassifier, SoftTreeClassifier, SoftTreeRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.soft.parameters import AUTO, settings_of
from tests.marks import are_slow

DRAW = np.random.default_rng(0)
X = np.exp(DRAW.normal(size=(80, 3)))
NUMBER = np.log(X[:, 0]) + 0.1 * DRAW.normal(size=80)
FEW = {"depth": 2, "max_epochs": 4, "random_state": 0}

KINDS = {
    "soft classes": SoftTreeClassifier(**FEW),
    "soft numbers": SoftTreeRegressor(**FEW),
    "hard": SoftTreeClassifier(gate="hard", **FEW),
    "hard together": SoftForestClassifier(2, gate="hard", mixture="by_leaf", **FEW),
    "hard folds": SoftForestClassifier(2, gate="hard", **FEW),
    "hard apart": SoftForestClassifier(2, gate="hard", mixture="mean", **FEW),
}
"""Estimators whose parameters are the default."""


@pytest.mark.parametrize("kind", are_slow(KINDS, "soft numbers", "hard folds", "hard apart"))
def test_auto_is_the_numbers_that_it_stands_for(kind):
    model = KINDS[kind]
    own = {name: value for name, value in settings_of(model)._asdict().items() if hasattr(model, name)}
    y = NUMBER if kind == "soft numbers" else NUMBER > 0
    predict = "predict" if kind == "soft numbers" else "predict_proba"
    found = [getattr(one.fit(X, y), predict)(X) for one in (model, model.__class__(**model.get_params() | own))]
    np.testing.assert_array_equal(*found)


def test_kinds_of_models_have_settings_of_their_own():
    settings = {name: settings_of(model)._replace(n_estimators=2) for name, model in KINDS.items()}
    assert len(set(settings.values())) == len(KINDS) - 1
    assert settings["hard apart"] == settings["hard"]


def test_a_number_that_is_given_counts():
    model = SoftTreeClassifier(gate="hard", leaf_rate=0.03, scaling="none")
    assert settings_of(model) == settings_of(KINDS["hard"])._replace(leaf_rate=0.03, scaling="none")


@pytest.mark.parametrize("name", ["gate_rate", "last_temperature", "label_smoothing", "scaling"])
def test_other_words_are_refused(name):
    assert SoftTreeClassifier().get_params()[name] == AUTO
    with pytest.raises(InvalidInputError, match=f"{name}.*'most'"):
        SoftTreeClassifier(**{name: "most"}).fit(X, NUMBER > 0)


def test_the_order_of_magnitude_of_a_column_is_nothing_to_hard_gates():
    """Their scale is by quantiles: any rising function of a column makes the same tree."""
    far = X.copy()
    far[:, 0] = np.exp(3 * far[:, 0])
    trees = [SoftTreeClassifier(gate="hard", **FEW).fit(table, NUMBER > 0) for table in (X, far)]
    np.testing.assert_array_equal(trees[0].predict_proba(X), trees[1].predict_proba(far))


RARE = np.arange(400) % 40 == 0
BLANK = np.random.default_rng(5).normal(size=(400, 3))


def test_labels_are_spread_by_the_shares_of_the_classes_which_probabilities_keep():
    few = {"depth": 1, "max_epochs": 40, "validation_fraction": None, "random_state": 0}
    for label_smoothing in ("auto", 0.5):
        model = SoftTreeClassifier(label_smoothing=label_smoothing, **few).fit(BLANK, RARE)
        assert model.predict_proba(BLANK)[:, 1].mean() == pytest.approx(RARE.mean(), abs=0.01)
    halves = model.set_params(class_weight="balanced").fit(BLANK, RARE).predict_proba(BLANK)[:, 1]
    assert halves.mean() == pytest.approx(0.5, abs=0.1)


def test_rows_are_held_out_where_classes_are_uneven():
    few = {"depth": 1, "max_epochs": 3, "random_state": 0}
    for y in (RARE, np.arange(400) % 10 < 3):
        assert "validation_loss" in SoftTreeClassifier(**few).fit(BLANK, y).history_
    for y, options in (
        (np.arange(400) % 3 == 0, {}),
        (RARE, {"validation_fraction": None}),
        (RARE, {"class_weight": "balanced"}),
    ):
        assert "validation_loss" not in SoftTreeClassifier(**few, **options).fit(BLANK, y).history_
    assert "validation_loss" not in SoftTreeClassifier(**few).fit(BLANK[:80], RARE[:80]).history_
    assert "validation_loss" not in SoftTreeRegressor(**few).fit(BLANK, RARE.astype(float)).history_
