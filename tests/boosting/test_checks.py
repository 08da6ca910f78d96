"""The inputs of a boosting are checked: its rows, evaluations, scores to begin with, trees and shrinkage."""

import numpy as np
import pytest

from jaxtree.boosting import (
    BaseLearner,
    BoostData,
    ColumnFractions,
    Dropping,
    InitialScores,
    MinimalVariance,
    OneSided,
    ScoredRows,
    Shrinkage,
    Uniform,
    boost,
    squared,
)
from jaxtree.boosting.batch import Member
from jaxtree.boosting.many import boost_many
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth import Features, Limits, Missing, Sizes

ROWS = ScoredRows(np.array([[0, 1, 2, 3], [0, 1, 0, 1]], np.uint8), np.arange(4.0), np.ones(4), {})
DATA = BoostData(ROWS, Features(np.zeros(2, np.int32), np.array([4, 2])), (ROWS,))
LEARNER = BaseLearner(Limits(max_depth=2), Sizes(4, 7))


def boosted(data=DATA, learner=LEARNER, shrinkage=Shrinkage(), **options):  # noqa: B008
    return boost(data, squared(), learner, shrinkage, **{"num_rounds": 3, **options})


def rows(**changed):
    return dict(data=DATA._replace(rows=ROWS._replace(**changed)))


def evaluation(**changed):
    return dict(data=DATA._replace(evaluations=(ROWS._replace(**changed),)))


def features(**changed):
    return dict(data=DATA._replace(features=DATA.features._replace(**changed)))


def shrinkage(**changed):
    return dict(shrinkage=Shrinkage(**changed))


def earlier(*scores):
    return dict(data=DATA._replace(start=np.zeros(1), earlier=InitialScores(1, scores[0], scores[1:])))


ONE = np.zeros((1, 4))
WRONG = [
    (rows(codes=ROWS.codes + 4), "codes must be from 0 to 3, got 7"),
    (rows(codes=ROWS.codes[0]), "codes must have the shape"),
    (rows(codes=ROWS.codes.astype(np.int32)), "type uint8 or uint16"),
    (rows(codes=ROWS.codes[:, :3]), "target of rows must have 3 rows"),
    (rows(target=np.arange(3.0)), "target of rows must have 4 rows"),
    (rows(weight=np.ones(3)), "weight of rows must have 4 rows"),
    (rows(weight=np.ones((4, 1))), "weight of rows must have 4 rows"),
    (rows(weight=np.array([1, 1, 1, -1.0])), "weight must be from 0 on"),
    (rows(weight=np.array([1, 1, 1, np.nan])), "weight must be from 0 on"),
    (rows(weight=np.array([1, 1, 1, np.inf])), "weight must be from 0 on"),
    (rows(weight=np.zeros(4)), "weight must be above 0"),
    (rows(extras={"offset": np.zeros(3)}), "extra 'offset' of rows must have 4 rows"),
    (evaluation(codes=ROWS.codes + 4), "codes must be from 0 to 3, got 7"),
    (evaluation(codes=ROWS.codes[:1]), "codes of evaluation 0 must have 2 features"),
    (evaluation(target=np.arange(3.0)), "target of evaluation 0 must have 4 rows"),
    (evaluation(target=np.zeros((4, 2))), "targets of the shape"),
    (evaluation(weight=-np.ones(4)), "weight must be from 0 on"),
    (evaluation(extras={"offset": np.zeros(4)}), "the extras"),
    (features(num_codes=np.array([3, 2])), "codes of feature 0 must be from 0 to 2"),
    (features(num_codes=np.array([4, -2])), "num_codes must be"),
    (features(split_kind=np.array([0, 9])), "split_kind must be"),
    (features(split_kind=np.zeros(3, np.int32)), "split_kind must have one value a feature"),
    (features(next_separable=np.zeros((2, 1), np.int32)), "next_separable must have a row"),
    (features(sets=np.ones((1, 1), np.uint32)), "sets must have a row"),
    (dict(data=DATA._replace(start=np.zeros(2))), "start must have the shape"),
    (dict(data=DATA._replace(start=np.full(1, np.nan))), "start must be finite"),
    (earlier(ONE), "scores of 1 evaluations, got 0"),
    (earlier(ONE, ONE[:, :3]), "evaluation 0 must have the shape"),
    (earlier(ONE[0], ONE), "scores must have the shape"),
    (earlier(np.full((1, 4), np.nan), ONE), "scores must be finite"),
    (dict(learner=LEARNER._replace(sizes=Sizes(0, 7))), "num_bins must be"),
    (dict(learner=LEARNER._replace(sizes=Sizes(4, 0))), "capacity must be"),
    (dict(learner=LEARNER._replace(sizes=Sizes(4, 7, 2))), "num_roots must be 1"),
    (dict(learner=LEARNER._replace(limits=Limits(max_depth=-1))), "max_depth must be"),
    (dict(learner=LEARNER._replace(limits=Limits(min_samples_leaf=np.nan))), "min_samples_leaf must be"),
    (dict(learner=LEARNER._replace(limits=Limits(max_depth=np.array([1, 2])))), "max_depth must be one number"),
    (dict(learner=LEARNER._replace(missing=Missing.FRACTION)), "missing must be LEARN or BRANCH"),
    (dict(learner=LEARNER._replace(missing=7)), "missing must be one of"),
    (shrinkage(l2=-1.0), "l2 must be"),
    (shrinkage(l2=np.nan), "must be numbers|l2 must be"),
    (shrinkage(l1=np.inf), "l1 must be"),
    (shrinkage(max_step=0.0), "max_step must be"),
    (shrinkage(least_gain=np.nan), "least_gain must be"),
    (shrinkage(tolerance=np.nan), "tolerance must be"),
    (shrinkage(patience=0), "patience must be"),
    (shrinkage(max_leaf_nodes=0), "max_leaf_nodes must be"),
    (shrinkage(learning_rate=np.nan), "learning rates must be"),
    (shrinkage(sample=Uniform(0.0)), "fraction must be above 0"),
    (shrinkage(sample=Uniform(1.5)), "fraction must be from 0 to 1"),
    (shrinkage(sample=OneSided(0.7, 0.7)), "top_rate and other_rate"),
    (shrinkage(sample=OneSided(-0.1, 0.7)), "top_rate must be"),
    (shrinkage(sample=MinimalVariance(np.nan)), "fraction must be"),
    (shrinkage(column_fractions=ColumnFractions(tree=0.0)), "columns of a tree"),
    (shrinkage(dropping=Dropping(rate=2.0)), "rate must be"),
    (shrinkage(dropping=Dropping(skip=-1.0)), "skip must be"),
    (dict(seed=-1), "seed must be"),
    (dict(seed=2**32), "seed must be"),
    (dict(num_rounds=0), "num_rounds must be"),
]


@pytest.mark.parametrize(("changed", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_wrong_is_named(changed, words):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=words):
        boosted(**changed)


def test_what_is_right_is_boosted():
    assert len(boosted().forest) == 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (dict(shrinkage=Shrinkage(l2=-1.0)), "l2 must be"),
        (dict(shrinkage=Shrinkage(max_leaf_nodes=0)), "max_leaf_nodes must be"),
        (dict(limits=Limits(max_depth=-1)), "max_depth must be"),
        (dict(seed=-1), "seed must be"),
        (dict(num_rounds=0), "num_rounds must be"),
    ],
)
def test_each_of_many_models_is_checked(changed, words):
    members = [Member(Limits(), Shrinkage(), 3), Member(Limits(), Shrinkage(), 3)._replace(**changed)]
    with pytest.raises(InvalidInputError, match=words):
        boost_many(DATA, squared(), LEARNER, members)
