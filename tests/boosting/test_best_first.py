"""Trees of so many leaves: beside growth by a heap in NumPy."""

import numpy as np
import pytest

from jaxtree.boosting import softmax, squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.rounds import make_rounds
from jaxtree.prune import max_leaf_nodes
from jaxtree.tree.forest import take_tree
from tests.boosting.test_boost import DERIVATIVES, LIMITS, boosted, classes, nested, numbers, same, scores_of
from tests.reference import booster

DEEP = LIMITS._replace(max_depth=20, min_weight_leaf=3.0)


def leaves(tree):
    return int(np.sum(tree.num_children == 0))


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("most", [2, 5, 12])
def test_trees_are_those_of_best_first_growth(name, most):
    loss, make, derivatives = DERIVATIVES[name]
    rows = make()
    model = boosted(rows, loss, Shrinkage(0.5, max_leaf_nodes=most), num_rounds=3, limits=DEEP, capacity=1024)
    scores = np.full(rows.target.size, model.start[0])
    for tree in model.forest:
        gradient, curvature = derivatives(scores, rows.target)
        expected = booster.grow_best_first(rows.codes, gradient, curvature, most, 1.0, 3.0)
        assert leaves(tree) <= most and same(nested(tree), expected, 0.5)
        scores = scores + 0.5 * booster.predict(expected, rows.codes)


def test_it_is_the_mask_of_the_same_name():
    rows = classes(3)
    whole, cut = (
        boosted(rows, softmax(3), Shrinkage(max_leaf_nodes=most), num_rounds=1).forest[0] for most in (None, 5)
    )
    other = take_tree(whole, collapsed=np.asarray(max_leaf_nodes(whole, 5)))
    for field in ("feature", "code", "first_child", "num_children", "target_sum", "num_rows"):
        np.testing.assert_array_equal(getattr(cut, field), getattr(other, field), err_msg=field)


def test_losses_are_those_of_cut_trees():
    rows, other = numbers(), numbers(seed=1)
    model = boosted(rows, squared(), Shrinkage(max_leaf_nodes=4), evaluations=(other,))
    assert all(leaves(tree) == 4 for tree in model.forest)
    losses = np.mean((scores_of(model, other.codes)[:, 0] - other.target) ** 2 / 2, axis=1)
    np.testing.assert_allclose(model.losses[:, 0], losses, rtol=1e-12)


def test_numbers_of_leaves_share_a_program():
    boosted(numbers(), squared(), Shrinkage(max_leaf_nodes=3))
    before = make_rounds.num_programs()
    model = boosted(numbers(), squared(), Shrinkage(max_leaf_nodes=7))
    assert make_rounds.num_programs() == before and max(map(leaves, model.forest)) == 7
