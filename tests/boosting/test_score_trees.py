"""Rounds of a tree a score: each tree is that of a lone model of its score where scores do not depend on each other."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree.boosting import quantile, quantiles, softmax, squared
from jaxtree.boosting.batch import Member
from jaxtree.boosting.booster import boost
from jaxtree.boosting.data import BaseLearner, BoostData, ColumnFractions, InitialScores, Shrinkage
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.many import boost_many
from jaxtree.boosting.samples import Uniform
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Features
from jaxtree.kernels import choose
from jaxtree.losses.distributions import normal
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply
from tests.boosting.test_boost import BINS, LIMITS, SIZES, classes, numbers
from tests.marks import rest_is_slow

LONE = BaseLearner(LIMITS, SIZES)
APART = LONE._replace(one_output_per_tree=True)
ROUNDS, RATE = 6, Shrinkage(0.3)
NAMES = ("feature", "code", "next_code", "first_child", "missing_branch", "weight", "gain")


def two_targets():
    rows = numbers()
    other = np.cos(rows.codes[3] / 2) + 0.1 * rows.codes[1]
    return rows._replace(target=np.stack([rows.target, other], axis=1))


LEVELS = (0.2, 0.6)
SCORES = {
    "targets": (squared(2), two_targets, lambda score, rows: (squared(), rows._replace(target=rows.target[:, score]))),
    "quantiles": (quantiles(LEVELS), numbers, lambda score, rows: (quantile(LEVELS[score]), rows)),
}


def model_of(rows, loss, learner=APART, shrinkage=RATE, **options):
    data = {name: options.pop(name) for name in ("features", "evaluations", "earlier", "start") if name in options}
    return boost(BoostData(rows, **data), loss, learner, shrinkage, **{"num_rounds": ROUNDS, **options})


def trees_of(model, score, num_scores):
    return model.forest.take(np.arange(score, len(model.forest), num_scores))


def assert_same_trees(own, other):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(own.nodes, name), getattr(other.nodes, name), err_msg=name)


@pytest.fixture(params=rest_is_slow(["kernel", "xla"]))
def engine(request, monkeypatch):
    if request.param == "xla":
        monkeypatch.setattr(choose, "is_there", lambda: False)


@pytest.mark.parametrize("shrinkage", rest_is_slow([RATE, Shrinkage(0.3, sample=Uniform(0.6), max_leaf_nodes=5)]))
@pytest.mark.parametrize("name", SCORES)
def test_every_tree_is_that_of_a_lone_model_of_its_score(name, shrinkage, engine):
    loss, make, alone = SCORES[name]
    rows = make()
    both = model_of(rows, loss, shrinkage=shrinkage, seed=3)
    assert len(both.forest) == 2 * ROUNDS
    for score in range(2):
        lone = model_of(*alone(score, rows)[::-1], LONE, shrinkage, seed=3)
        own = trees_of(both, score, 2)
        assert_same_trees(own, lone.forest)
        np.testing.assert_array_equal(own.nodes.target_sum[:, score], lone.forest.nodes.target_sum[:, 0])
        assert not own.nodes.target_sum[:, 1 - score].any()


def test_constraints_bind_every_ordered_score_and_no_other():
    rows = numbers()
    features = Features(np.zeros(4, np.int32), np.full(4, BINS, np.int32), monotone=np.array([1, 0, 0, 0], np.int32))
    both = model_of(rows, quantiles(LEVELS), features=features)
    for score, level in enumerate(LEVELS):
        lone = model_of(rows, quantile(level), LONE, features=features)
        assert_same_trees(trees_of(both, score, 2), lone.forest)
        assert not is_rising(model_of(rows, quantile(level), LONE), 0) and is_rising(both, score)
    free, bound = (model_of(rows, normal(), features=own) for own in (None, features))
    # Scales are no location: their first tree, from the start, is free.
    assert_same_trees(trees_of(free, 1, 2).first(1), trees_of(bound, 1, 2).first(1))
    assert is_rising(bound, 0) and not is_rising(free, 0)


def is_rising(model, score):
    """Whether a score never falls where the first feature rises, the others being those of rows."""
    codes = numbers().codes[:, :50].repeat(BINS, axis=1)
    codes[0] = np.tile(np.arange(BINS), 50)
    steps = sum(target_means(tree)[np.asarray(apply(tree, codes)), score] for tree in model.forest)
    return bool((np.diff(steps.reshape(50, BINS), axis=1) >= 0).all())


@pytest.mark.parametrize("loss, make", [(softmax(3), lambda: classes(3)), (squared(2), two_targets)])
def test_many_models_are_those_that_are_boosted_alone(loss, make, engine):
    rows = make()
    data = BoostData(rows, evaluations=(rows,))
    fractions = ColumnFractions(0.5, 1.0, 0.5)
    members = [
        Member(
            LIMITS._replace(max_depth=2 + own), Shrinkage(0.2, l2=own, column_fractions=fractions), 3 + own, seed=own
        )
        for own in range(3)
    ]
    for member, own in zip(members, boost_many(data, loss, APART, members, keeps_trees=True), strict=True):
        learner = APART._replace(limits=member.limits)
        lone = boost(data, loss, learner, member.shrinkage, num_rounds=member.num_rounds, seed=member.seed)
        assert all(map(np.array_equal, jax.tree.leaves(own.forest.nodes), jax.tree.leaves(lone.forest.nodes)))
        np.testing.assert_array_equal(own.losses, lone.losses)


def test_best_trees_are_whole_rounds_and_later_rounds_go_on_where_fewer_end():
    rows, others = classes(3), classes(3, seed=1, num_rows=150)
    stopping = RATE._replace(learning_rate=1.0, patience=2)
    model = model_of(rows, softmax(3), shrinkage=stopping, evaluations=(others,), num_rounds=30)
    assert model.best_round < len(model.losses) < 30
    assert len(model.best) == 3 * model.best_round and len(model.forest) == 3 * len(model.losses)
    few, many = (model_of(rows, softmax(3), num_rounds=number) for number in (3, ROUNDS))
    scores = few.start[:, None] + sum(target_means(tree)[np.asarray(apply(tree, rows.codes))].T for tree in few.forest)
    rest = model_of(rows, softmax(3), earlier=InitialScores(3, scores), start=few.start)
    np.testing.assert_array_equal(
        np.concatenate([few.forest.nodes.target_sum, rest.forest.nodes.target_sum]), many.forest.nodes.target_sum
    )


def test_trees_of_one_round_draw_columns_of_their_own():
    shrinkage = RATE._replace(column_fractions=ColumnFractions(0.25))
    model = model_of(classes(3), softmax(3), shrinkage=shrinkage)
    of_tree = [set(tree.feature[~tree.is_leaf].tolist()) for tree in model.forest]
    assert max(map(len, of_tree)) == 1
    rounds = [set().union(*of_tree[first : first + 3]) for first in range(0, len(of_tree), 3)]
    assert max(map(len, rounds)) > 1


@pytest.mark.slow
def test_the_model_of_a_mesh_is_that_of_one_device():
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    own, lone = (model_of(classes(3), softmax(3), mesh=where) for where in (mesh, None))
    np.testing.assert_array_equal(own.forest.nodes.target_sum, lone.forest.nodes.target_sum)


def test_one_score_has_one_tree_and_trees_that_are_dropped_change_all_scores():
    own, lone = (model_of(numbers(), squared(), learner) for learner in (APART, LONE))
    np.testing.assert_array_equal(own.forest.nodes.target_sum, lone.forest.nodes.target_sum)
    with pytest.raises(InvalidInputError, match="one_output_per_tree must be False"):
        model_of(two_targets(), squared(2), shrinkage=RATE._replace(dropping=Dropping()))
