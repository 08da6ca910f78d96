"""The models of folds beside those that are made alone."""

import numpy as np
from sklearn.base import clone

from jaxtree.estimators.boosting.folds import task_of_fold
from jaxtree.estimators.boosting.training import Rounds, encode, train
from jaxtree.tree.nodes import target_means

ROWS = 160
FEW = {"n_estimators": 12, "n_iter_no_change": 3, "min_samples_leaf": 5, "early_stopping": "cv", "cv": 4}
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(ROWS, 4))
SIGNAL = X[:, 0] + X[:, 1] ** 2 + 0.3 * RANDOM.normal(size=ROWS)
WEIGHT = RANDOM.integers(1, 4, ROWS).astype(float)
CLASSES = np.digitize(SIGNAL, [0.3, 1.2])


def assert_same_rounds(trees, other):
    """Two sums of trees make the same splits, and steps of the same bits."""
    assert len(trees) == len(other)
    for field in ("feature", "threshold", "first_child", "num_children"):
        np.testing.assert_array_equal(getattr(trees.nodes, field), getattr(other.nodes, field))
    np.testing.assert_array_equal(target_means(trees.nodes), target_means(other.nodes))


def assert_models_are_lone(model, table, y, **fit):
    """Every model is the one that a fit without its fold makes, and stopped for what it says of these rows."""
    task = model.read_task(table, y, **fit)
    assert len(task.folds) == len(model.folds_)
    for fold in range(len(task.folds)):
        own = task_of_fold(task, fold)
        rows = encode(own)
        lone = train(own, rows, model.config(task.data.num_rows, rows.num_bins))
        assert_same_rounds(model.folds_.model_of(fold, model.forest_), lone.forest)
        np.testing.assert_array_equal(model.folds_.start[fold], lone.start)
        measured = np.array(list(model.evals_result_[f"fold_{fold}"].values())).T
        # A mean over other rows of weight 0.
        np.testing.assert_allclose(measured, lone.measured.values, rtol=1e-12)


def models_of(model, table, y, **fit):
    """The models of the folds as estimators."""
    task, folds = model.read_task(table, y, **fit), model.folds_
    models = []
    for fold in range(len(folds)):
        alone = clone(model).set_params(early_stopping=False)
        trees = folds.model_of(fold, model.forest_)
        alone.set_model(task, Rounds(trees, folds.start[fold], model.measured_, model.trees_per_round_))
        models.append(alone)
    return models
