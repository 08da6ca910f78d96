"""A small table, its codes and what boosting by other ways makes of it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_diabetes

from jaxtree import boosting, functional
from jaxtree.boosting.data import LEAST_GAIN
from jaxtree.growth import Limits, Sizes
from jaxtree.tree import apply
from jaxtree.tree.nodes import target_means

BINS, LEAVES, ROUNDS = 16, 8, 6
FORM = functional.Boosting(num_bins=BINS, num_leaves=LEAVES)


@functools.cache
def table():
    """Numbers of 442 rows, their codes and targets of deviation 1."""
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    return X, np.asarray(functional.bins(X, BINS)(X)), ((y - y.mean()) / y.std()).astype(np.float32)


def squares(scores, target):
    """Half of the squared error of every row."""
    return (scores - target) ** 2 / 2


def by_the_estimators(loss, hyper, weight=None, start=0.0, num_rounds=ROUNDS, seed=0):
    """The scores that the loop of the estimators' rounds makes of the table."""
    _, codes, y = table()
    rows, least = hyper.min_samples_leaf, 0
    if rows is not None and rows > 1:
        least = rows
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    data = boosting.BoostData(
        boosting.ScoredRows(codes, y.astype(np.float64), weight, {}), start=np.full(loss.num_scores, start)
    )
    limits = Limits(
        max_depth=2**31 - 1 if hyper.max_depth is None else hyper.max_depth,
        min_samples_split=2 * least,
        min_samples_leaf=least,
        min_weight_leaf=hyper.min_child_weight,
        min_gain=LEAST_GAIN,
    )
    learner = boosting.BaseLearner(limits, Sizes(BINS + 1, 2 * LEAVES), counts_rows=least > 0)
    shrinkage = boosting.Shrinkage(
        hyper.learning_rate, hyper.reg_lambda, hyper.reg_alpha, hyper.max_delta_step or np.inf, hyper.gamma,
        boosting.Uniform(hyper.subsample), boosting.ColumnFractions(hyper.colsample_bytree or 1.0),
        max_leaf_nodes=LEAVES,
    )  # fmt: skip
    boosted = boosting.boost(data, loss, learner, shrinkage, num_rounds=num_rounds, seed=seed)
    scores = np.tile(boosted.start, (len(y), 1))
    for tree in boosted.forest:
        scores = scores + target_means(tree)[np.asarray(apply(tree, codes))]
    return scores


def seed_of(key):
    """The seed that a boosting draws by where it is given a key."""
    return int(jax.random.bits(jax.random.fold_in(key, 0), (), jnp.uint32))
