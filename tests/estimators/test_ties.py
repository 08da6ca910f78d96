"""`ties`: what decides among columns of equal gain, by the estimators' parameters."""

import numpy as np
import pytest
from scipy.stats import chisquare

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from jaxtree.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = np.repeat(RNG.integers(0, 30, (300, 1)), 4, axis=1).astype(float)
Y = RNG.integers(0, 2, 300)


def columns(estimator):
    nodes = estimator.forest_.nodes if hasattr(estimator, "forest_") else estimator.tree_
    return nodes.feature[~nodes.is_leaf].tolist()


def test_two_fits_of_a_tree_are_equal_whatever_the_seed():
    trees = [columns(DecisionTreeClassifier(random_state=seed).fit(X, Y)) for seed in (None, None, 0, 1)]
    assert trees[0] == trees[1] == trees[2] == trees[3] and len(set(trees[0])) == 4


def test_forests_decide_by_their_seed():
    alike = {"bootstrap": False, "max_features": None}
    forests = [columns(RandomForestClassifier(3, random_state=seed, **alike).fit(X, Y)) for seed in (0, 0, 1)]
    assert forests[0] == forests[1] != forests[2]


def test_the_first_column_wins_where_that_is_asked_for():
    for estimator in (DecisionTreeClassifier(ties="first"), RandomForestRegressor(3, ties="first", random_state=0)):
        assert set(columns(estimator.fit(X, Y))) == {0}


def test_a_smaller_tree_is_a_part_of_the_whole_one():
    whole, part = (DecisionTreeClassifier(max_leaf_nodes=n).fit(X, Y).tree_ for n in (None, 9))
    pairs, seen = [(0, 0)], set()
    for own, other in pairs:
        if not part.is_leaf[own]:
            assert (part.feature[own], part.threshold[own]) == (whole.feature[other], whole.threshold[other])
            seen.add(int(part.feature[own]))
            pairs += [(part.first_child[own] + branch, whole.first_child[other] + branch) for branch in (0, 1)]
    assert len(pairs) == 17 and len(seen) > 1


@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
def test_forests_give_equal_columns_the_same_chance(forest):
    fitted = forest(8, n_jobs=1, random_state=0).fit(X, Y)
    assert chisquare(np.bincount(columns(fitted))).pvalue > 1e-3
    assert columns(forest(8, n_jobs=2, random_state=0).fit(X, Y)) == columns(fitted)


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier])
def test_unknown_values_are_named(estimator):
    with pytest.raises(InvalidInputError, match=r"'ties' parameter .* among {'(first|hash)', .*Got 'last'"):
        estimator(ties="last").fit(X, Y)
