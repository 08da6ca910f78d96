"""The rows of folds: those of a number, of "auto", of splitters and of given splits, and what is said of wrong ones."""

import logging

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)

from jaxtree import GradientBoostingRanker, GradientBoostingRegressor
from jaxtree.dataset.sample import Outputs, Sample
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.fold_rows import Scheme, divide, scheme_of
from tests.estimators.lone_folds import CLASSES, FEW, ROWS, SIGNAL, X, assert_models_are_lone

NUMBERS = Outputs(1, is_vector=True)
THREE = Outputs(1, classes=(np.arange(3),))


def sample_of(target, outputs=NUMBERS, weight=None, **fields):
    return Sample(None, np.asarray(target)[None], outputs, weight, fields, ())


def test_every_row_is_held_out_once_a_repeat():
    folds = divide(sample_of(SIGNAL), 4, 0)
    assert np.sort(np.concatenate([fold.held for fold in folds])).tolist() == list(range(ROWS))
    assert all(len(fold.held) == ROWS // 4 and not len(fold.left_out) for fold in folds)
    repeated = divide(sample_of(SIGNAL), RepeatedKFold(n_splits=4, n_repeats=3, random_state=0), 0)
    assert np.bincount(np.concatenate([fold.held for fold in repeated])).tolist() == [3] * ROWS


@pytest.mark.parametrize("folds", [5, RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)])
def test_classes_have_their_shares_in_every_fold(folds):
    for fold in divide(sample_of(CLASSES, THREE), folds, 0):
        assert np.abs(np.bincount(CLASSES[fold.held], minlength=3) - np.bincount(CLASSES) / 5).max() <= 1


def test_events_have_their_shares_too():
    event = np.arange(ROWS) % 8 == 0
    for fold in divide(sample_of(SIGNAL, event=event.astype(float)), 4, 0):
        assert event[fold.held].sum() == 5


@pytest.mark.parametrize("folds", ["auto", 4, GroupKFold(4), StratifiedGroupKFold(4)])
def test_rows_of_a_group_stay_together(folds):
    group = np.arange(ROWS) % 16
    sample = sample_of(CLASSES, THREE, group=group)
    for fold in divide(sample, folds, 0):
        assert not np.isin(group[fold.held], np.delete(group, fold.held)).any()


def test_folds_are_those_of_the_seed():
    alike = [np.concatenate([fold.held for fold in divide(sample_of(SIGNAL), 4, seed)]).tolist() for seed in (0, 0, 1)]
    assert alike[0] == alike[1] != alike[2]


def test_rows_without_weight_are_in_no_fold_and_do_not_move_those_of_given_splits():
    weight = np.where(np.arange(ROWS) % 5 == 0, 0.0, 1.0)
    there = np.flatnonzero(weight)
    sample = sample_of(SIGNAL, weight=weight)
    assert np.sort(np.concatenate([fold.held for fold in divide(sample, 4, 0)])).tolist() == list(range(len(there)))
    quarters = PredefinedSplit(np.arange(ROWS) // 40)
    for folds in (quarters, list(quarters.split()), [tuple(map(mask_of, split)) for split in quarters.split()]):
        for number, fold in enumerate(divide(sample, folds, 0)):
            assert (there[fold.held] // 40 == number).all() and len(fold.held) == 32


def mask_of(rows):
    return np.isin(np.arange(ROWS), rows)


def test_a_model_is_not_grown_on_rows_that_its_split_leaves_out():
    """In a series of times these are rows that come later."""
    splitter = TimeSeriesSplit(4)
    for fold, (grown, held) in zip(divide(sample_of(SIGNAL), splitter, 0), splitter.split(X), strict=True):
        assert fold.held.tolist() == held.tolist()
        assert np.setdiff1d(np.arange(ROWS), [*fold.held, *fold.left_out]).tolist() == grown.tolist()
    model = GradientBoostingRegressor(**FEW | {"cv": splitter}).fit(X, SIGNAL)
    assert_models_are_lone(model, X, SIGNAL)
    later = np.where(np.arange(ROWS) < 64, SIGNAL, -9.0)
    moved = GradientBoostingRegressor(**FEW | {"cv": splitter}).fit(X, later)
    np.testing.assert_array_equal(model.oof_predictions_[32:64], moved.oof_predictions_[32:64])
    assert np.isnan(model.oof_predictions_[:32]).all() and np.isfinite(model.oof_predictions_[32:]).all()


def test_auto_is_chosen_from_the_rows_and_said(caplog):
    caplog.set_level(logging.INFO, "jaxtree")
    folds = divide(sample_of(SIGNAL), "auto", 0)
    assert np.bincount(np.concatenate([fold.held for fold in folds])).tolist() == [3] * ROWS and len(folds) == 15
    assert caplog.messages == ['cv="auto": 3 x 5 folds of 160 rows']
    assert scheme_of(3, 3) == Scheme(3, 1) and scheme_of(10**6, 10**6) == scheme_of(10**6, 500) == Scheme(8, 1)
    caplog.clear()
    divide(sample_of(SIGNAL, group=np.arange(ROWS) % 5), "auto", 0)
    assert caplog.messages == ['cv="auto": 1 x 5 folds of 5 groups']


WRONG = {
    "cv must be from 2 to 160, the number of rows, got 161": 161,
    "must be a number, a splitter, or a list of pairs of rows to grow on and to hold out, got None": None,
    r"got \[\], which has none": [],
    "got ndarray as split 0": [np.arange(3)],
    "split 1 has 7 in both": [(np.arange(9, 20), np.arange(9)), (np.arange(7, 20), np.arange(8))],
    "some of the 160 rows of weight, and grow on others, and split 0 holds out 0 and grows on 9": [(np.arange(9), [])],
    "grow on others, and split 0 holds out 160 and grows on 0": [([], np.arange(ROWS))],
    "from 0 to 159, or masks of 160, got int64 of shape": [(np.arange(9), [ROWS])],
    "got bool of shape": [(np.ones(9, bool), np.zeros(9, bool))],
    "got float64 of shape": [(np.arange(9.0), np.arange(9.0, 12))],
    r"cv=GroupKFold.* cannot divide the rows \(The 'groups' parameter should not be None.\)": GroupKFold(4),
}


@pytest.mark.parametrize(("message", "folds"), WRONG.items())
def test_wrong_folds_are_said(message, folds):
    with pytest.raises(InvalidInputError, match=message):
        divide(sample_of(SIGNAL), folds, 0)


def test_a_generator_of_splits_is_used_up_by_a_fit():
    folds = KFold(4).split(X)
    assert len(divide(sample_of(SIGNAL), folds, 0)) == 4
    with pytest.raises(InvalidInputError, match="which has none"):
        divide(sample_of(SIGNAL), folds, 0)


def test_too_few_rows_and_groups_that_are_cut_are_said():
    with pytest.raises(InvalidInputError, match="folds need two rows of weight or more, got 1"):
        divide(sample_of([1.0]), "auto", 0)
    with pytest.raises(InvalidInputError, match="need two groups of weight or more, got 1"):
        divide(sample_of(SIGNAL, group=np.zeros(ROWS)), "auto", 0)
    group = np.repeat(np.arange(16), 10)
    with pytest.raises(InvalidInputError, match="must keep the rows of a group together, and split 0 cuts one"):
        GradientBoostingRanker(**FEW | {"cv": KFold(4, shuffle=True)}).fit(X, CLASSES, group=group)
