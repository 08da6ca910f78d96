"""Trees of so many leaves: beside growth by a heap in NumPy."""

import numpy as np
import pytest

from jaxtree.boosting import softmax, squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.rounds import make_rounds
from jaxtree.boosting.samples import Uniform
from jaxtree.kernels import choose
from tests.boosting.test_boost import DERIVATIVES, LIMITS, boosted, classes, nested, numbers, same
from tests.boosting.test_boost_on_mesh import assert_same, mesh_of
from tests.growth.native_trees import needs_kernel
from tests.growth.test_best_first import assert_cut
from tests.reference import booster

DEEP = LIMITS._replace(max_depth=20, min_weight_leaf=3.0)


def leaves(tree):
    return int(np.sum(tree.num_children == 0))


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("most", [2, 5, 12])
def test_trees_are_those_of_best_first_growth(name, most):
    loss, make, derivatives = DERIVATIVES[name]
    rows = make()
    model = boosted(rows, loss, Shrinkage(0.5, max_leaf_nodes=most), num_rounds=3, limits=DEEP, capacity=32)
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
    assert_cut(cut, whole, 5)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("sample", [Uniform(), Uniform(0.5)])
@pytest.mark.parametrize("most", [4, 20])
def test_the_model_is_the_same_with_and_without_the_kernel(sample, most, monkeypatch):
    """Rows that are drawn, and those that are not, end in the same leaves, though some leaves were split at a time."""
    given = {"limits": DEEP, "capacity": 64, "evaluations": (numbers(seed=1),)}
    make = lambda: boosted(numbers(), squared(), Shrinkage(0.5, sample=sample, max_leaf_nodes=most), **given)  # noqa: E731
    by_kernel = make()
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert_same(by_kernel, make())


@pytest.mark.slow
def test_the_model_is_that_of_one_device():
    shrinkage = Shrinkage(0.5, sample=Uniform(0.7), max_leaf_nodes=6)
    assert_same(*(boosted(numbers(num_rows=401), squared(), shrinkage, mesh=mesh) for mesh in (None, mesh_of(2))))


def test_numbers_of_leaves_share_a_program():
    boosted(numbers(), squared(), Shrinkage(max_leaf_nodes=3))
    before = make_rounds.num_programs()
    model = boosted(numbers(), squared(), Shrinkage(max_leaf_nodes=7))
    assert make_rounds.num_programs() == before and max(map(leaves, model.forest)) == 7
