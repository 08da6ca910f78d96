"""Soft estimators: what they learn, keep, refuse, and hand on."""

import pickle

import numpy as np
import optax
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier as ScikitLearnTree

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    HardTreeClassifier,
    ID3Classifier,
    RandomForestClassifier,
    SoftForestClassifier,
    SoftForestRegressor,
    SoftTreeClassifier,
    SoftTreeRegressor,
    distil,
    load,
)
from jaxtree.boosting import Loss
from jaxtree.errors import InvalidInputError, InvalidTypeError

pytestmark = pytest.mark.slow

IRIS, SPECIES = load_iris(return_X_y=True)
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(300, 3))
NUMBER = np.abs(X[:, 0]) + 0.1 * DRAW.normal(size=300)


PLAIN = {"noise": None, "random_state": 0}
"""Few epochs are enough, and laws are seen, where no noise is added to the inputs."""


def a_tree(**parameters):
    return SoftTreeClassifier(**{"depth": 2, "max_epochs": 60, "label_smoothing": 0.0, **PLAIN, **parameters})


def a_regressor(**parameters):
    return SoftTreeRegressor(**{"depth": 3, "max_epochs": 150, **PLAIN, **parameters})


def test_words_numbers_and_missing_values_go_in_as_they_are():
    size = np.where(DRAW.random(300) < 0.2, np.nan, X[:, 0])
    colour = DRAW.choice(["red", "green", "blue"], 300)
    label = np.where(np.isnan(size), "none", np.where((size > 0) == (colour == "red"), "yes", "no"))
    table = pd.DataFrame({"size": size, "colour": colour})
    tree = a_tree(depth=3, max_epochs=120).fit(table, label)
    assert tree.score(table, label) > 0.97
    assert tree.classes_.tolist() == ["no", "none", "yes"]
    assert tree.inputs_.names[-1] == "size is missing"
    unseen = pd.DataFrame({"size": [1.0, np.nan], "colour": ["violet", None]})
    np.testing.assert_allclose(tree.predict_proba(unseen).sum(axis=1), 1, rtol=1e-6)


def test_weights_are_repeated_rows_but_for_rounding():
    weight = DRAW.integers(0, 4, 150)
    weighted = a_tree().fit(IRIS, SPECIES, sample_weight=weight)
    repeated = a_tree().fit(IRIS.repeat(weight, axis=0), SPECIES.repeat(weight))
    np.testing.assert_allclose(weighted.predict_proba(IRIS), repeated.predict_proba(IRIS), atol=0.02)


def test_class_weights_multiply_weights():
    by_class = a_tree(class_weight={0: 1.0, 1: 5.0, 2: 1.0}).fit(IRIS, SPECIES)
    by_row = a_tree().fit(IRIS, SPECIES, sample_weight=np.where(SPECIES == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.predict_proba(IRIS), by_row.predict_proba(IRIS), atol=1e-4)


def test_validation_rows_choose_the_epoch_and_end_training():
    given = a_tree(max_epochs=400, n_iter_no_change=20).fit(
        IRIS[::2], SPECIES[::2], X_val=IRIS[1::2], y_val=SPECIES[1::2]
    )
    losses = given.history_["validation_loss"]
    assert np.argmin(losses) + 1 == given.best_epoch_ < len(losses) == len(given.history_["loss"])
    held_out = a_tree(validation_fraction=0.3).fit(IRIS, SPECIES)
    assert len(held_out.history_["validation_loss"]) == 60
    # As in scikit-learn, whose checks set it everywhere, it means nothing where no rows are held out.
    assert len(a_tree(n_iter_no_change=3).fit(IRIS, SPECIES).history_["loss"]) == 60
    with pytest.raises(InvalidInputError, match="monitor is for validation rows"):
        a_tree(monitor="hardened").fit(IRIS, SPECIES)
    with pytest.raises(InvalidInputError, match="go together"):
        a_tree().fit(IRIS, SPECIES, X_val=IRIS)


def test_the_best_of_several_restarts_is_kept():
    held = dict(X_val=IRIS[1::2], y_val=SPECIES[1::2])
    many = a_tree(n_restarts=4, max_epochs=15).fit(IRIS[::2], SPECIES[::2], **held)
    one = a_tree(max_epochs=15).fit(IRIS[::2], SPECIES[::2], **held)
    assert len(many.history_["loss"]) == 15
    assert min(many.history_["validation_loss"]) <= min(one.history_["validation_loss"]) + 1e-3


def test_a_user_s_loss_and_optimizer_are_used():
    def far_from_five(scores, target, extras):
        return (scores - 5) ** 2

    tree = a_regressor(loss=Loss(far_from_five), optimizer=optax.sgd(1.0), leaf_rate=0.5, depth=1).fit(X, NUMBER)
    np.testing.assert_allclose(tree.predict(X), 5, atol=0.1)


@pytest.mark.parametrize("gate", ["oblique", "axis"])
def test_a_hardened_tree_decides_and_agrees(gate):
    tree = a_tree(gate=gate, max_epochs=150, last_temperature=0.05).fit(IRIS, SPECIES)
    hard = tree.harden()
    assert hard.agreement_ > 0.95
    assert np.mean(hard.predict(IRIS) == tree.predict(IRIS)) == pytest.approx(hard.agreement_)
    assert hard.predict_proba(IRIS).shape == (150, 3)
    assert hard.score(IRIS, SPECIES) > 0.9 and hard.get_n_leaves() <= 4
    assert isinstance(hard, HardTreeClassifier if gate == "oblique" else DecisionTreeClassifier)


def test_hardening_needs_rows_after_a_pickle():
    tree = a_tree().fit(IRIS, SPECIES)
    kept = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(kept.predict_proba(IRIS), tree.predict_proba(IRIS))
    with pytest.raises(InvalidInputError, match="give harden"):
        kept.harden()
    np.testing.assert_array_equal(kept.harden(IRIS, SPECIES).predict(IRIS), tree.harden().predict(IRIS))
    hard = pickle.loads(pickle.dumps(tree.harden()))
    np.testing.assert_array_equal(hard.predict(IRIS), tree.harden().predict(IRIS))


@pytest.mark.parametrize("of_classes", [True, False])
def test_fine_tuning_begins_with_the_hard_tree_s_predictions(of_classes):
    target = SPECIES if of_classes else IRIS[:, 3] + IRIS[:, 2] ** 2
    hard = (DecisionTreeClassifier if of_classes else DecisionTreeRegressor)(max_depth=3).fit(IRIS, target)
    # One step with tiny rates, at a temperature that decides.
    still = dict(max_epochs=1, gate_rate=1e-9, leaf_rate=1e-9, first_temperature=1e-3, last_temperature=1e-3)
    make = a_tree if of_classes else a_regressor
    soft = make(init=hard, gate="axis", **{"depth": 3, **still}).fit(IRIS, target)
    if of_classes:
        assert np.mean(soft.predict(IRIS) == hard.predict(IRIS)) == 1
    else:
        np.testing.assert_allclose(soft.predict(IRIS), hard.predict(IRIS), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(soft.harden(refit=True).predict(IRIS), hard.predict(IRIS), rtol=1e-6)


def test_fine_tuning_betters_a_shallow_tree():
    label = (X[:, 0] + 0.4 * X[:, 1] > 0.1).astype(int)
    hard = DecisionTreeClassifier(max_depth=2).fit(X, label)
    soft = a_tree(init=hard, max_epochs=100).fit(X, label)
    assert soft.harden().score(X, label) > hard.score(X, label) + 0.02


@pytest.mark.parametrize("seed", range(3))
def test_fine_tuning_monitored_as_hardened_is_no_worse_on_validation_rows(seed):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(400, 4))
    label = (np.sin(2 * x[:, 0]) + x[:, 1] + draw.normal(size=400) > 0).astype(int)
    hard = DecisionTreeClassifier(max_depth=4).fit(x[:200], label[:200])
    held = x[200:], label[200:]
    soft = a_tree(depth=4, gate="axis", init=hard, monitor="hardened", gate_rate=0.1, max_epochs=30)
    soft.fit(x[:200], label[:200], X_val=held[0], y_val=held[1])
    tuned = soft.harden()
    assert tuned.score(*held) >= hard.score(*held)
    assert 1 - min(soft.history_["validation_loss"]) <= tuned.score(*held) + 1e-6


def test_a_tree_begun_with_one_hot_columns_comes_back_from_a_file(tmp_path):
    table = DRAW.choice(["red", "green", "blue"], (60, 2))
    label = table[:, 0] == table[:, 1]
    start = ID3Classifier(max_depth=2, encoding="onehot").fit(table, label)
    hard = SoftTreeClassifier(gate="axis", init=start, max_epochs=1, random_state=0).fit(table, label).harden()
    hard.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(table), hard.predict(table))


def test_a_tree_to_begin_with_must_fit():
    with pytest.raises(InvalidTypeError, match="must be a fitted tree of jaxtree, got DecisionTreeClassifier"):
        a_tree(init=ScikitLearnTree().fit(IRIS, SPECIES)).fit(IRIS, SPECIES)
    other = DecisionTreeClassifier(max_depth=2).fit(IRIS, SPECIES + 7)
    with pytest.raises(InvalidInputError, match=r"classes of y, \[0, 1, 2\], got \[7, 8, 9\]"):
        a_tree(init=other).fit(IRIS, SPECIES)


def test_warm_start_goes_on():
    tree = a_tree(warm_start=True, max_epochs=20).fit(IRIS, SPECIES)
    first = tree.history_["loss"]
    tree.fit(IRIS, SPECIES)
    assert tree.history_["loss"][0] < 0.7 * first[0]
    with pytest.raises(InvalidInputError, match="warm_start"):
        tree.set_params(depth=3).fit(IRIS, SPECIES)


def test_partial_fit_learns_row_by_row():
    tree = a_tree(gate_rate=0.05)
    order = DRAW.permutation(150)
    for _ in range(40):
        for part in np.array_split(order, 3):
            tree.partial_fit(IRIS[part], SPECIES[part], classes=[0, 1, 2])
    assert len(tree.history_["loss"]) == 120 and tree.score(IRIS, SPECIES) > 0.9
    with pytest.raises(InvalidInputError, match=r"classes must be those of the first call, \[0, 1, 2\]"):
        tree.partial_fit(IRIS, SPECIES, classes=[0, 1])
    with pytest.raises(InvalidInputError, match=r"y has the classes \[7\]"):
        tree.partial_fit(IRIS[:2], [7, 7])


def test_a_student_says_what_its_teacher_says():
    teacher = RandomForestClassifier(20, max_depth=3, random_state=0).fit(IRIS, SPECIES)
    student = distil(teacher, a_tree(depth=3, max_epochs=300, averaging=0.9), IRIS, cv=None)
    far = np.abs(student.predict_proba(IRIS) - teacher.predict_proba(IRIS)).mean()
    labels_only = a_tree(depth=3, max_epochs=300, averaging=0.9).fit(IRIS, SPECIES)
    assert far < 0.03 < np.abs(labels_only.predict_proba(IRIS) - teacher.predict_proba(IRIS)).mean() + 0.02
    assert student.harden().score(IRIS, SPECIES) > 0.9
    assert student.fit(IRIS, SPECIES).score(IRIS, SPECIES) > 0.9, "it can be fitted again as usual"


@pytest.mark.parametrize("mixture", ["mean", "learned"])
def test_forests_of_classes_and_numbers(mixture):
    few = dict(n_estimators=3, mixture=mixture, random_state=0)
    forest = SoftForestClassifier(depth=2, max_epochs=150, **few).fit(IRIS, SPECIES)
    assert forest.soft_model_.num_trees == 3 and (forest.soft_model_.mixing is None) == (mixture == "mean")
    assert forest.score(IRIS, SPECIES) > 0.9
    np.testing.assert_allclose(forest.predict_proba(IRIS).sum(axis=1), 1)
    assert SoftForestRegressor(depth=3, max_epochs=150, **few).fit(X, NUMBER).score(X, NUMBER) > 0.8
    forest.partial_fit(IRIS, SPECIES)
    assert len(forest.history_["loss"]) == 151


@pytest.mark.parametrize(
    "wrong",
    [{"depth": -1}, {"gate": "round"}, {"max_epochs": 0}, {"gate_rate": 0}, {"loss": "hinge"}, {"scaling": "log"}],
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(InvalidInputError, match=f"The '{next(iter(wrong))}' parameter"):
        a_tree(**wrong).fit(IRIS, SPECIES)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"X_val": IRIS, "y_val": SPECIES + 1}, "y has the classes \\[3\\]"),
        ({"X_val": IRIS[:, :2], "y_val": SPECIES}, "2 features"),
        ({"X_val": IRIS, "y_val": SPECIES[:3]}, "inconsistent"),
        ({"X_val": IRIS[:0], "y_val": SPECIES[:0]}, "0 sample"),
    ],
)
def test_errors_of_validation_rows_say_so(wrong, said):
    with pytest.raises(InvalidInputError, match=f"^X_val and y_val: .*{said}"):
        a_tree().fit(IRIS, SPECIES, **wrong)
