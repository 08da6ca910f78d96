"""Soft forests of folds: models that are each trained without a fold, which ends their training, and their mean."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GroupKFold, KFold

from jaxtree import GradientBoostingClassifier, SoftForestClassifier, SoftForestRegressor, load
from jaxtree.errors import IdentifierWarning, InvalidInputError
from jaxtree.soft.forest import predict_in_blocks

pytestmark = pytest.mark.slow

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(180, 3))
NUMBER = X[:, 0] + np.abs(X[:, 1]) + 0.1 * DRAW.normal(size=180)
LABEL = np.where(X[:, 0] + 0.7 * DRAW.normal(size=180) > 0, "yes", "no")
FEW = {"depth": 2, "max_epochs": 12, "n_iter_no_change": 5, "random_state": 0}
TOGETHER = {"gate": "hard", "mixture": "by_tree", **FEW}


def test_the_trees_of_all_folds_are_one_forest():
    model = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, LABEL)
    assert model.soft_model_.num_trees == 12
    weight = np.exp(np.asarray(model.soft_model_.mixing.logit, np.float64)).reshape(3, 4)
    np.testing.assert_allclose(weight.sum(axis=1), 1, rtol=1e-5)
    assert len(model.history_["loss"]) == len(model.history_["validation_loss"]) <= 12


def test_trees_that_are_trained_apart_take_turns_at_the_folds():
    model = SoftForestClassifier(5, cv=3, **FEW).fit(X, LABEL)
    assert model.soft_model_.num_trees == 5 and model.soft_model_.mixing is None


@pytest.mark.parametrize("options", [TOGETHER, FEW], ids=["by_tree", "mean"])
def test_a_row_is_predicted_by_the_models_that_have_not_seen_it(options):
    """Other targets of the rows that a fold holds out change its model by the end of its training alone."""
    folds = list(KFold(3).split(X))
    settings = {**options, "n_iter_no_change": None, "noise": None}
    models = [SoftForestRegressor(3, cv=folds, **settings) for _ in range(2)]
    changed = np.where(np.arange(180) < 60, NUMBER[::-1], NUMBER)
    one, other = (model.fit(X, y) for model, y in zip(models, (NUMBER, changed), strict=True))
    assert np.isfinite(one.oof_predictions_).all() and one.oof_predictions_.shape == (180,)
    assert np.corrcoef(one.oof_predictions_, NUMBER)[0, 1] > 0.3
    assert not np.array_equal(one.oof_predictions_[60:], other.oof_predictions_[60:])


def test_the_same_fit_has_the_same_bits_and_bytes():
    models = [SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, LABEL) for _ in range(2)]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    np.testing.assert_array_equal(models[0].oof_predictions_, models[1].oof_predictions_)


def test_shares_are_no_worse_out_of_fold_than_those_of_all_rows():
    """Labels that nothing tells: the models are shrunk to the shares of the classes."""
    label = DRAW.permutation(np.repeat([0, 1], [150, 30]))
    model = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, label)
    share = np.bincount(label) / len(label)
    assert log_loss(label, model.oof_predictions_) <= -(share * np.log(share)).sum() + 0.01


def test_groups_stay_together_and_given_splits_are_taken():
    group = np.repeat(np.arange(30), 6)
    order = np.lexsort((-NUMBER, group))
    model = SoftForestRegressor(4, loss="ndcg", cv=3, **FEW).fit(X, np.clip(NUMBER[order], 0, 4) // 1, group=group)
    assert model.soft_model_.num_trees == 4
    given = list(GroupKFold(3).split(X, groups=group))
    left_out = [(train[::2], test) for train, test in given]
    one, other = (SoftForestRegressor(3, cv=cv, **FEW).fit(X, NUMBER) for cv in (given, left_out))
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_words_beyond_one_hot_do_not_tell_a_fold_its_own_targets():
    """A category of its own for every row says nothing of other rows."""
    word = pd.DataFrame({"word": [f"w{number}" for number in range(180)]})
    with pytest.warns(IdentifierWarning, match="'word'"):
        model = SoftForestRegressor(4, cv=3, max_categories=None, **TOGETHER).fit(word, NUMBER)
    assert r2_score(NUMBER, model.oof_predictions_) < 0.1


def test_weights_of_zero_leave_rows_out():
    weight = np.ones(180)
    weight[::3] = 0
    model = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, LABEL, weight)
    alone = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X[weight > 0], LABEL[weight > 0])
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_it_is_hardened_saved_pickled_and_goes_on(tmp_path):
    model = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, LABEL)
    hard = model.harden()
    assert isinstance(hard, GradientBoostingClassifier) and hard.agreement_ == 1
    model.save(tmp_path / "model.jaxtree")
    for own in (load(tmp_path / "model.jaxtree"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(own.predict_proba(X), model.predict_proba(X))
    before = model.predict_proba(X)
    model.partial_fit(X[:60], LABEL[:60])
    assert not np.array_equal(model.predict_proba(X), before)
    SoftForestClassifier(4, **TOGETHER).fit(X, LABEL)
    again = model.set_params(cv=None).fit(X, LABEL)
    assert not hasattr(again, "oof_predictions_") and again.soft_model_.num_trees == 4


def test_an_interrupt_leaves_the_folds_that_have_begun(monkeypatch):
    from jaxtree.soft import runs

    began = []
    train = runs._Session.train

    def interrupted(self, block):
        if len(began) == 1:
            self.is_interrupted = True
        began.append(block)
        return train(self, block)

    monkeypatch.setattr(runs._Session, "train", interrupted)
    monkeypatch.setattr(runs, "num_cores", lambda: 1)
    with pytest.warns(UserWarning, match="interrupted"):
        model = SoftForestClassifier(4, cv=3, **TOGETHER).fit(X, LABEL)
    assert model.soft_model_.num_trees == 4
    assert np.isnan(model.oof_predictions_).any() and np.isfinite(model.oof_predictions_).any()


WRONG = [
    ({"cv": 3, "mixture": "by_leaf"}, "cv is for a mixture that is one of .* got 'by_leaf'"),
    ({"cv": 5, "n_estimators": 4, "mixture": "mean"}, "n_estimators must be at least 5, the number of folds, got 4"),
    ({"cv": 1}, "cv"),
    ({"cv": 3, "warm_start": True}, "warm_start goes on with one forest"),
    ({"cv": 3, "validation_fraction": 0.1}, "cv holds out folds"),
    ({"cv": 200, "mixture": "by_tree"}, "cv must be from 2 to 180, the number of rows, got 200"),
    ({"cv": [(np.arange(10), np.arange(5, 20))]}, "cv must hold out rows that are not grown on"),
]


@pytest.mark.parametrize(("parameters", "said"), WRONG)
def test_wrong_parameters_are_named(parameters, said):
    with pytest.raises(InvalidInputError, match=said):
        SoftForestClassifier(**{**FEW, **parameters}).fit(X, LABEL)


def test_validation_rows_and_folds_exclude_each_other():
    with pytest.raises(InvalidInputError, match="cv holds out folds: give no X_val"):
        SoftForestClassifier(4, cv=3, **FEW).fit(X, LABEL, X_val=X, y_val=LABEL)


def test_a_fold_predicts_with_its_own_model():
    """With two folds, each half of the forest has seen the other half of the rows."""
    folds = list(KFold(2).split(X))
    model = SoftForestRegressor(3, cv=folds, **{**TOGETHER, "noise": None}).fit(X, NUMBER)
    trees, x = model.soft_model_.trees, model.inputs_.transform(model.encoder_.values(X))
    import jax

    from jaxtree.soft.forest import SoftForest, TreeWeights, apply_forest

    for number, (_, held) in enumerate(folds):
        own = slice(3 * number, 3 * number + 3)
        half = SoftForest(
            jax.tree.map(lambda part, own=own: part[own], trees), TreeWeights(model.soft_model_.mixing.logit[own])
        )
        outputs = predict_in_blocks(apply_forest, half, x[held], model.last_temperature_)
        expected = model.start_ + model.unit_ * outputs
        np.testing.assert_allclose(model.oof_predictions_[held], expected[:, 0], rtol=1e-5)
