"""Hardened soft forests: they predict what forests of hard gates do, of any row."""

import dataclasses

import jax
import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.soft.forest import LeafWeights, SoftForest, TreeWeights, init_forest
from jaxtree.soft.form import SoftForm
from jaxtree.tree import SplitKind
from tests.examples import mixed_classes, mixed_numbers, mixed_table
from tests.marks import in_turn

MIXTURES = ("mean", "by_tree", "by_leaf")
TABLE = mixed_table()
CLASSES, NUMBERS = mixed_classes(TABLE), mixed_numbers(TABLE)
FOUR = np.where(TABLE["is_new"] & (CLASSES == "low"), "lowest", CLASSES)
TARGETS = {
    "two": (jaxtree.SoftForestClassifier, CLASSES == "low", {}),
    "four": (jaxtree.SoftForestClassifier, FOUR, {}),
    "number": (jaxtree.SoftForestRegressor, 100 + 7 * NUMBERS, {}),
    "numbers": (jaxtree.SoftForestRegressor, np.stack([NUMBERS, 5 - NUMBERS], axis=1), {}),
    "counts": (jaxtree.SoftForestRegressor, np.round(np.abs(NUMBERS)), {"loss": "poisson"}),
}
OF_MIXTURE = {"mean": "RandomForest", "by_tree": "GradientBoosting", "by_leaf": "HardForest"}


def random_forest(
    target="four", *, depth=3, mixture="by_leaf", gate="hard", oblivious=False, trees=4, seed=0, **options
):
    """A soft estimator whose parameters are drawn, and not trained."""
    kind, y, of_target = TARGETS[target]
    draw = np.random.default_rng(seed)

    class Drawn(kind):
        def _train(self, task):
            return []

        def finish_fit(self, task, trained):
            outputs = self.n_classes_ if hasattr(self, "classes_") else self.n_outputs_
            sizes = {"num_features": self.inputs_.num_features, "num_outputs": outputs}
            form = SoftForm(depth, **sizes, gate=gate, oblivious=oblivious, missing=self.inputs_.missing)
            parameters = {"num_trees": trees, "mixture": mixture, "key": jax.random.key(0)}
            shapes = jax.eval_shape(lambda: init_forest(form, **parameters))
            self.soft_model_ = jax.tree.map(lambda part: draw.normal(size=part.shape).astype(np.float32), shapes)
            self._rows, self.history_, self.best_epoch_ = task.sample, {"loss": []}, 0
            return self

    names = {"gate": gate, "mixture": mixture, "oblivious": oblivious, "max_epochs": 1}
    return Drawn(trees, depth=depth, **names, **of_target, **options).fit(TABLE, y)


def new_rows(number=400):
    """Rows with numbers, words and truth values that fit has not seen, and missing ones."""
    draw = np.random.default_rng(1)
    words = np.array(["red", "green", "blue", "grey", None, "unseen"], object)
    return pd.DataFrame(
        {
            "number": np.where(draw.random(number) < 0.1, np.nan, np.round(draw.normal(size=number) * 8, 2)),
            "color": pd.Series(draw.choice(words, number), dtype=object),
            "size": pd.Categorical(draw.choice(["s", "m", "l", None], number), ["s", "m", "l"], ordered=True),
            "is_new": pd.Series(draw.choice(np.array([True, False, None], object), number), dtype=object),
        }
    )


ROWS = new_rows()


def predictions(estimator, X=ROWS):
    return estimator.predict_proba(X) if hasattr(estimator, "classes_") else estimator.predict(X)


def assert_same(soft, hard, X=ROWS):
    of_soft, of_hard = predictions(soft, X), predictions(hard, X)
    np.testing.assert_allclose(of_hard, of_soft, rtol=1e-5, atol=1e-5 * np.abs(of_soft).max())


@pytest.mark.parametrize(("target", "mixture"), in_turn(TARGETS, MIXTURES))
def test_all_rows_are_predicted_as_by_the_soft_forest(target, mixture):
    soft = random_forest(target, mixture=mixture)
    # A mean of logarithms is no mean of numbers.
    kind = "GradientBoosting" if (target, mixture) == ("counts", "mean") else OF_MIXTURE[mixture]
    hard = soft.harden()
    assert type(hard).__name__.startswith(kind)
    assert_same(soft, hard)
    assert hard.agreement_ > 1 - 1e-6
    assert len(np.unique(predictions(hard).round(9), axis=0)) > 5


@pytest.mark.parametrize(("target", "mixture"), in_turn(["two", "number", "numbers"], MIXTURES))
def test_means_of_words_become_subsets(target, mixture):
    for oblivious in (False, True):
        soft = random_forest(target, mixture=mixture, oblivious=oblivious, trees=12, one_hot_max_size=2)
        assert soft.inputs_.has_statistics
        trees = soft.soft_model_.trees
        # Means of few words lie close together, and so do the limits between them.
        near = dataclasses.replace(trees, gate=trees.gate._replace(threshold=trees.gate.threshold / 8))
        soft.soft_model_ = dataclasses.replace(soft.soft_model_, trees=near)
        hard = soft.harden()
        assert_same(soft, hard)
        assert {*hard.forest_.nodes.split_kind.tolist()} >= {SplitKind.SUBSET, SplitKind.ONE_VS_REST}


@pytest.mark.parametrize(("mixture", "depth"), in_turn(MIXTURES, [0, 1, 2, 4, 6]))
def test_trees_of_any_depth_are_hardened(depth, mixture):
    soft = random_forest("four", depth=depth, mixture=mixture, seed=depth)
    assert_same(soft, soft.harden())


@pytest.mark.parametrize("oblivious", [False, True])
def test_single_trees_are_hardened(oblivious):
    """Among their gates are some that send all known words to one side, and missing ones to the other."""
    soft = random_forest("four", trees=12, mixture="mean", oblivious=oblivious)
    alone = jaxtree.SoftTreeClassifier(gate="hard", oblivious=oblivious, depth=3)
    alone.__dict__.update({name: part for name, part in vars(soft).items() if name not in alone.get_params()})
    for number in range(12):
        alone.soft_model_ = soft.soft_model_.tree(number)
        assert_same(alone, alone.harden(refit=False, drop_unreached_by="rows"), TABLE)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_the_order_of_trees_is_no_matter(mixture):
    soft = random_forest("four", mixture=mixture)
    hard, order = soft.harden(), np.array([2, 0, 3, 1])
    soft.soft_model_ = jax.tree.map(lambda part: part[order], soft.soft_model_)
    np.testing.assert_allclose(predictions(soft.harden()), predictions(hard), rtol=1e-12)


def test_equal_weights_of_leaves_make_the_mean_of_logits():
    soft = random_forest("four", mixture="by_leaf")
    trees = soft.soft_model_.trees
    soft.soft_model_ = SoftForest(trees, LeafWeights(np.full((4, 8), 3.0, np.float32)))
    by_leaf = soft.harden()
    soft.soft_model_ = SoftForest(trees, TreeWeights(np.zeros(4, np.float32)))
    by_tree = soft.harden()
    np.testing.assert_allclose(predictions(by_leaf), predictions(by_tree), rtol=1e-12)
    np.testing.assert_allclose(by_leaf.decision_function(ROWS), by_tree.decision_function(ROWS), atol=1e-12)


def test_nodes_count_the_rows_of_the_fit_or_those_given():
    soft = random_forest("four", validation_fraction=None)
    assert (soft.harden().forest_.nodes.num_rows[soft.harden().forest_.first_node[:-1]] == len(TABLE)).all()
    weight = np.full(len(ROWS), 2.0)
    hard = soft.harden(ROWS, weight)
    np.testing.assert_allclose(hard.forest_[0].weight[0], 2 * len(ROWS), rtol=1e-6)
    assert_same(soft, hard)
    del soft._rows
    with pytest.raises(InvalidInputError, match=r"not kept in a file or pickle: give harden\(\) X"):
        soft.harden()


def test_axis_gates_decide():
    soft = random_forest("four", gate="axis", mixture="by_tree")
    hard = soft.harden()
    sharp = dataclasses.replace(
        soft.soft_model_.trees, gate=soft.soft_model_.trees.gate._replace(log_sharpness=np.full((4, 7), 30, np.float32))
    )
    soft.soft_model_ = dataclasses.replace(soft.soft_model_, trees=sharp)
    known = TABLE.dropna()
    sharp_proba, hard_proba = predictions(soft, known), predictions(hard, known)
    assert np.mean(np.abs(sharp_proba - hard_proba).max(axis=1) < 1e-3) > 0.5


def test_forests_without_a_hard_form_say_so():
    with pytest.raises(InvalidInputError, match="mixture='learned', have no hard form"):
        random_forest(mixture="learned").harden()
    with pytest.raises(InvalidInputError, match="oblique gates is not hardened"):
        random_forest(gate="oblique").harden()
    with pytest.raises(InvalidInputError, match="cannot be fitted"):
        jaxtree.HardForestClassifier().fit(TABLE, CLASSES)
