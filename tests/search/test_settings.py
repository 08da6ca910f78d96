"""Settings: which of them one growth serves, and how loosely it has to grow. Nothing grows here."""

import pytest
from sklearn.base import clone

from jaxtree import (
    C45Classifier,
    ChiSquared,
    CostComplexity,
    DecisionTreeClassifier,
    Dropout,
    ID3Classifier,
    Pessimistic,
    ReducedError,
)
from jaxtree.estimators.common.conventions import configured, identity
from jaxtree.estimators.common.jobs import Job, TablePart, grouped
from jaxtree.estimators.common.limits import loosest

CART = DecisionTreeClassifier(random_state=0)


def group_by_growth(estimator, candidates):
    """The numbers of the settings that are made together, group by group."""
    part = TablePart(None, ())
    jobs = [Job(configured(estimator, own), part) for own in candidates]
    return [numbers for _, numbers in grouped(jobs)]


def loosest_of(estimator, candidates):
    return loosest([configured(estimator, own) for own in candidates])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 3, "criterion": "entropy"},
        {"pruning": ReducedError(0.3)},
        {"pruning__p": 0.5},
        {"pruning": Pessimistic(0.1), "pruning__confidence": 0.3},
        {"pruning": ChiSquared() | Pessimistic(), "pruning__first__p_value": 0.5, "pruning__second": Dropout(0.1)},
    ],
    ids=str,
)
def test_a_configured_copy_is_the_clone_with_parameters_set(parameters):
    estimator = DecisionTreeClassifier(pruning=Dropout(0.1))
    expected = clone(estimator).set_params(**clone(parameters, safe=False))
    before = repr(estimator.get_params()), repr(parameters)
    assert repr(configured(estimator, parameters).get_params()) == repr(expected.get_params())
    assert (repr(estimator.get_params()), repr(parameters)) == before


def test_a_configured_copy_keeps_what_is_fitted():
    estimator = clone(CART)
    estimator.encoder_ = object()
    assert configured(estimator, {"max_depth": 2}).encoder_ is estimator.encoder_


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"depth": 1}, "Invalid parameter 'depth' for estimator DecisionTreeClassifier"),
        ({"pruning": Pessimistic(), "pruning__p": 0.1}, "Invalid parameter 'p' for estimator Pessimistic"),
        ({"pruning__p": 0.1}, "pruning=None has no parameters"),
    ],
)
def test_names_of_no_parameter(parameters, words):
    with pytest.raises(ValueError, match=words):
        configured(CART, parameters)


def test_what_tells_values_apart():
    assert identity(Dropout(0.1)) == identity(Dropout(0.1)) != identity(Dropout(0.1, 0.5))
    assert identity(Pessimistic(0.1)) != identity(ChiSquared(0.1))
    assert identity(ChiSquared(0.1) | Dropout(0.1)) != identity(Dropout(0.1) | ChiSquared(0.1))
    assert identity(1) != identity(True) and identity(None) == identity(None)
    first, second = [1, 0], [1, 0]
    assert identity(first) == identity(first) != identity(second)


def test_prunings_of_any_length_are_told_apart():
    """Their representation is shortened in the middle; what it leaves out counts."""

    def unite(number, middle):
        if number == 0:
            return middle
        same = Pessimistic(0.123456)
        for _ in range(number):
            same = same | same
        return same | unite(number - 1, middle) | same

    one, other = (unite(4, ChiSquared(level)) for level in (0.1, 0.2))
    assert repr(one) == repr(other)
    assert identity(one) != identity(other) and identity(one) == identity(unite(4, ChiSquared(0.1)))


def test_masks_share_a_growth_and_what_changes_splits_does_not():
    candidates = [
        {"max_depth": 2},
        {"max_depth": None, "min_samples_split": 0.5, "ccp_alpha": 0.1, "max_leaf_nodes": 3},
        {"criterion": "entropy"},
        {"criterion": "gini", "pruning": Dropout(0.1)},
        {"pruning": Pessimistic(), "pruning__confidence": 0.1, "random_state": 7},
        {"min_samples_leaf": 2},
        {"min_samples_leaf": 1, "min_impurity_decrease": 0.1},
    ]
    assert group_by_growth(CART, candidates) == [[0, 1, 3, 4, 6], [2], [5]]


def test_held_out_rows_leave_other_rows_to_grow_on():
    """Which they are depends on the share and the seed, not on what they are used for."""
    candidates = [
        {"pruning": None},
        {"pruning": ReducedError(0.2)},
        {"pruning": ReducedError(0.2), "max_depth": 3},
        {"pruning": ReducedError(0.3)},
        {"pruning": ReducedError(0.2), "random_state": 1},
        {"random_state": 1},
    ]
    assert group_by_growth(CART, candidates) == [[0, 5], [1, 2], [3], [4]]


def test_the_seed_counts_where_growth_draws():
    seeds = [{"random_state": seed} for seed in (0, 1, 0)]
    assert group_by_growth(CART, seeds) == [[0, 1, 2]]
    assert group_by_growth(DecisionTreeClassifier(max_features=1), seeds) == [[0, 2], [1]]
    assert group_by_growth(DecisionTreeClassifier(splitter="random"), seeds) == [[0, 2], [1]]


def test_the_prunings_of_c45_share_its_growth():
    grid = [{"confidence": 0.1}, {"subtree_raising": False}, {"collapse": False}, {"z": "release8"}, {"gain": "ratio"}]
    assert group_by_growth(C45Classifier(), grid) == [[0, 1, 2, 3, 4]]
    assert group_by_growth(C45Classifier(), [{"min_samples_leaf": 2}, {"min_samples_leaf": 3}]) == [[0], [1]]


def test_values_that_are_not_allowed_stand_alone():
    candidates = [
        {"max_depth": 2},
        {"max_depth": -1},
        {"max_depth": -1},
        {"max_depth": 2.5},
        {"pruning": "dropout"},
        {"pruning": Dropout(0.1), "pruning__p": 3},
        {"pruning": CostComplexity(0.1), "max_depth": 4},
    ]
    assert group_by_growth(CART, candidates) == [[0, 6], [1], [2], [3], [4], [5]]


@pytest.mark.parametrize(
    ("estimator", "name", "values", "expected"),
    [
        (CART, "max_depth", [2, 7, 3], 7),
        (CART, "max_depth", [2, None], None),
        (CART, "min_samples_split", [5, 3, 9], 3),
        (CART, "min_samples_split", [0.5, 0.2], 0.2),
        (CART, "min_samples_split", [0.5, 30], 2),
        (CART, "min_impurity_decrease", [0.1, 0.01], 0.01),
        (ID3Classifier(), "min_gain", [0.3, 0.2], 0.2),
        (ID3Classifier(), "min_samples_split", [4, 2.5], 2.5),
        (C45Classifier(), "max_depth", [4, 1], 4),
    ],
)
def test_the_loosest_limit(estimator, name, values, expected):
    loose = loosest_of(estimator, [{name: value} for value in values])
    assert getattr(loose, name) == expected
    # A limit that only some settings name has the estimator's own value in the others.
    assert getattr(loosest_of(estimator, [{name: values[0]}, {}]), name) in (getattr(estimator, name), values[0])


def test_an_estimator_s_own_limit_counts_where_a_setting_does_not_name_it():
    estimator = DecisionTreeClassifier(max_depth=5)
    assert loosest_of(estimator, [{"max_depth": 2}, {}]).max_depth == 5
    assert loosest_of(estimator, [{"max_depth": 2}, {"max_depth": 3}]).max_depth == 3
    assert estimator.max_depth == 5
