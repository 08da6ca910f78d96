"""Subsets of categories: the order of shares or means finds the best one of all (Breiman et al., 1984, theorem 4.5)."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree import criteria
from jaxtree.criteria import poisson, squared_error
from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes, SplitKind, grow, take_tree
from tests.marks import rest_is_slow
from tests.reference import weighted_oracle as oracle

ROWS, CODES = 40, 8
CASES = {
    "gini of 2": (criteria.gini, oracle.gini, 2),
    "entropy of 2": (criteria.entropy, oracle.entropy, 2),
    "gini of 4": (criteria.gini, oracle.gini, 4),
    "squared error": (squared_error, oracle.squared_error, 0),
    "poisson": (poisson, oracle.poisson, 0),
}


def all_subsets(present):
    return [inside for size in range(1, len(present)) for inside in itertools.combinations(present[1:], size)]


def subsets_by_mean(codes, target, weight, present):
    """The subsets of the categories of least mean."""
    mean = [np.average(target[0], weights=weight * (codes == code)) for code in present]
    ordered = np.array(present)[np.argsort(mean, kind="stable")]
    return [ordered[:size] for size in range(1, len(present))]


def best_gain(codes, target, weight, impurity, subsets, needs_positive):
    """The greatest gain over ways to divide the categories in two; -inf if none is allowed."""
    whole, best = impurity(target, weight), -np.inf
    for inside in subsets:
        parts = [np.where(np.isin(codes, inside) == side, weight, 0) for side in (True, False)]
        if needs_positive and min((target @ part).min() for part in parts) <= 0:
            continue
        left = sum(part.sum() * impurity(target, part) for part in parts) / weight.sum()
        best = max(best, whole - left)
    return best


@pytest.mark.parametrize("case", rest_is_slow(CASES))
@given(seed=st.integers(0, 2**32 - 1))
def test_no_subset_is_better_than_the_one_found(case, seed):
    criterion, impurity, num_classes = CASES[case]
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(2, CODES + 1), ROWS)
    target = rng.integers(0, num_classes or 20, (1, ROWS))
    if not num_classes and rng.random() < 0.5:
        target = target * (codes > 1)  # categories of zeros, which Poisson must not set apart
    weight = rng.integers(0, 5, ROWS) / 4
    weight[0] = 1
    kind = np.array([SplitKind.SUBSET], np.int32)
    data = Data(codes[None].astype(np.uint8), target.astype(np.int32 if num_classes else np.float64), weight)
    features = Features(kind, np.array([CODES], np.int32))
    limits = Limits(max_depth=1, min_samples_split=0, min_samples_leaf=0)
    objective = Classes(num_classes, criterion) if num_classes else Numbers(criterion)
    tree = take_tree(grow(data, features, limits, Rules(objective), Sizes(num_bins=CODES, capacity=8)).tree)
    present = np.unique(codes[weight > 0]).tolist()
    args = codes, target, weight, impurity
    expected = best_gain(*args, all_subsets(present), criterion is poisson)
    if expected < best_gain(*args, all_subsets(present), False) - 1e-6:
        # The theorem is of all divisions. Where the best one is not allowed, the best of the order is taken.
        expected = best_gain(*args, subsets_by_mean(codes, target, weight, present), True)
    if expected == -np.inf:
        assert tree.is_leaf[0]
    elif not tree.is_leaf[0]:
        np.testing.assert_allclose(tree.gain[0], expected, rtol=1e-5, atol=1e-6)
    else:
        assert len(np.unique(target[:, weight > 0])) == 1


def test_a_category_that_the_node_does_not_have_goes_to_the_heavier_branch():
    codes = np.array([[0, 0, 0, 2]], np.uint8)
    features = Features(np.array([SplitKind.SUBSET], np.int32), np.array([4], np.int32))
    data, sizes = Data(codes, np.array([0, 0, 0, 1])), Sizes(num_bins=4, capacity=8)
    tree = take_tree(grow(data, features, Limits(), Rules(Classes(2)), sizes).tree)
    side = [(int(tree.subset[0, 0]) >> code) & 1 for code in range(4)]
    assert side[1] == side[3] == side[0] != side[2]


def test_more_categories_than_are_tried_in_all_subsets():
    """With 40 categories and 3 classes the orders by the share of each class are cut; here one of them is perfect."""
    codes = np.arange(40, dtype=np.uint8)[None]
    label = np.where(np.arange(40) % 3 == 1, 1, np.where(np.arange(40) % 2, 2, 0))
    features = Features(np.array([SplitKind.SUBSET], np.int32), np.array([40], np.int32))
    data, sizes = Data(codes, label), Sizes(num_bins=64, capacity=128)
    tree = take_tree(grow(data, features, Limits(), Rules(Classes(3)), sizes).tree)
    assert tree.n_leaves == 3
    assert tree.subset.shape[1] == 2
    np.testing.assert_array_equal(tree.impurity[tree.is_leaf], 0)
