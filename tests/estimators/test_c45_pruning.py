"""How `C45Classifier` prunes: what its parameters do, weights, several outputs, and what is refused."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxtree import C45Classifier, CostComplexity, Dropout, prune
from jaxtree.datasets import load_car_evaluation
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.prune.raising import prune_with_raising
from jaxtree.prune.training_errors import pessimistic

ROWS = 160


def draw_table(seed):
    """Numbers of many values, so that thresholds lie between them, and words; some of both are missing."""
    rng = np.random.default_rng(seed)
    number, other = rng.normal(size=(2, ROWS)).round(2)
    word = rng.integers(0, 4, ROWS)
    y = np.digitize(number + (word == 1) * (other > 0) + rng.normal(0, 0.7, ROWS), [-0.3, 0.6])
    number[rng.random(ROWS) < 0.1] = np.nan
    word = pd.Categorical.from_codes(np.where(rng.random(ROWS) < 0.15, -1, word), list("abcd"))
    return pd.DataFrame({"number": number, "word": word, "other": other}), np.array(["no", "perhaps", "yes"])[y]


def assert_same_trees(ours, theirs, atol=0.0):
    for field in dataclasses.fields(ours):
        ours_field, theirs_field = getattr(ours, field.name), getattr(theirs, field.name)
        np.testing.assert_allclose(ours_field, theirs_field, rtol=0, atol=atol, err_msg=field.name)


def test_by_default_it_is_pruned_with_raising_and_else_by_a_mask():
    changed = 0
    for seed in (7, 8):
        X, y = draw_table(seed)
        grown, raised = (C45Classifier(confidence=confidence).fit(X, y) for confidence in (None, 0.05))
        masked = C45Classifier(confidence=0.05, subtree_raising=False).fit(X, y).tree_
        target = np.searchsorted(grown.classes_, y).astype(np.int32)
        split = ~raised.tree_.is_leaf
        expected = prune_with_raising(grown.tree_, grown.encode(X), target, confidence=0.05)
        np.testing.assert_array_equal(raised.tree_.count, expected.count)
        np.testing.assert_array_equal(raised.tree_.threshold[split], expected.threshold[split])
        np.testing.assert_array_equal(raised.tree_.feature[~split], -2)
        np.testing.assert_array_equal(
            masked.count, take_tree(grown.tree_, collapsed=pessimistic(grown.tree_, 0.05)).count
        )
        changed += masked.node_count != raised.tree_.node_count
    assert changed


def test_a_criterion_that_is_not_c45_s_is_that_of_raised_nodes_too():
    for seed in range(12):
        tree = C45Classifier(criterion="gini", confidence=0.1, missing="learn").fit(*draw_table(seed)).tree_
        shares = tree.count / np.maximum(tree.weight, 1e-300)[:, None]
        np.testing.assert_allclose(tree.impurity, (tree.weight > 0) - (shares**2).sum(axis=1), atol=1e-9)


def test_weights_of_classes_count_for_the_errors():
    X, y = draw_table(1)
    factor = {"no": 1.0, "perhaps": 2.5, "yes": 1.0}
    weight = np.where(y == "perhaps", 2.5, 1.0)
    ours, theirs = C45Classifier(class_weight=factor).fit(X, y), C45Classifier().fit(X, y, sample_weight=weight)
    assert_same_trees(ours.tree_, theirs.tree_)


def test_a_pruning_takes_the_place_of_c45_s_after_the_collapse():
    X, y = load_car_evaluation(return_X_y=True)
    grown = C45Classifier(confidence=None).fit(X, y).tree_
    assert_same_trees(C45Classifier(pruning=Dropout(p=0.0)).fit(X, y).tree_, grown)
    ours = C45Classifier(pruning=CostComplexity(0.01)).fit(X, y).tree_
    theirs = take_tree(grown, collapsed=prune.cost_complexity(grown, 0.01))
    assert 1 < ours.node_count < grown.node_count
    np.testing.assert_array_equal(ours.count, theirs.count)


@pytest.mark.slow
def test_trees_of_several_outputs_are_not_pruned():
    X, y = draw_table(0)
    both = np.stack([y, np.where(X["other"] > 0, "up", "down")], axis=1)
    ours, grown = (C45Classifier(confidence=confidence).fit(X, both).tree_ for confidence in (0.01, None))
    assert ours.node_count > 1
    assert_same_trees(ours, grown)


@pytest.mark.parametrize("confidence", [0, 0.51, 2, "low"])
def test_what_is_no_confidence(confidence):
    with pytest.raises(
        InvalidInputError, match=r"'confidence' parameter of C45Classifier must be .* \(0\.0, 0\.5\] or None"
    ):
        C45Classifier(confidence=confidence).fit(*draw_table(0))


def test_what_is_no_deviate():
    with pytest.raises(InvalidInputError, match="'z' parameter of C45Classifier"):
        C45Classifier(z="normal").fit(*draw_table(0))
