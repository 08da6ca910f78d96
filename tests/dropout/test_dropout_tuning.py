"""Rates of dropout pruning tuned on held-out rows."""

import numpy as np
import pytest

from jaxtree.dropout.scores import expected_accuracy, expected_log_loss, expected_squared_error
from jaxtree.dropout.tuning import tune
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import level_rates, node_rates
from tests.prune import dropouts
from tests.reference import dropout_oracle as oracle

GRID = np.linspace(0, 1, 41)[:, None], np.concatenate([np.linspace(0, 4, 21), [8.0, 16.0]])


@pytest.fixture(scope="module")
def noisy():
    return dropouts.noisy()


@pytest.fixture(scope="module")
def tuned(noisy):
    return {(per, loss): tune(*noisy, per=per, loss=loss) for per in PER for loss in ("log_loss", "accuracy")}


PER = ("tree", "level", "node")


@pytest.mark.slow
def test_the_loss_is_that_of_the_rates(noisy, tuned):
    for (per, loss), found in tuned.items():
        assert found.losses.shape == (1000,)
        assert found.losses.min() == found.expected_loss
        assert found.rates[0] == 0 and not found.rates[noisy[0].is_leaf].any()
        if loss == "log_loss":
            assert expected_log_loss(*noisy, found.rates) == pytest.approx(found.expected_loss, abs=1e-6)
        else:
            assert 1 - expected_accuracy(*noisy, found.rates) == pytest.approx(found.expected_loss, abs=1e-6)
        inner = ~noisy[0].is_leaf
        if per == "tree":
            np.testing.assert_allclose(found.rates[inner], node_rates(noisy[0], found.p, found.q)[inner], atol=1e-5)
        if per != "node":
            np.testing.assert_allclose(found.rates[inner], level_rates(noisy[0], found.level_rates)[inner], atol=1e-6)


def test_p_and_q_are_no_worse_than_the_best_of_a_grid(noisy, tuned):
    rates = node_rates(noisy[0], *GRID)
    least = expected_log_loss(*noisy, rates).min()
    assert tuned["tree", "log_loss"].expected_loss < least + 1e-3
    assert tuned["tree", "accuracy"].expected_loss < 1 - expected_accuracy(*noisy, rates).max() + 1e-3


def test_more_rates_are_no_worse(tuned):
    for loss in ("log_loss", "accuracy"):
        tree, level, node = (tuned[per, loss].expected_loss for per in PER)
        assert node < level + 1e-4 and level < tree + 1e-4
    assert tuned["node", "log_loss"].expected_loss < tuned["tree", "log_loss"].expected_loss - 0.002


def test_rates_of_nodes_of_least_error_are_reduced_error_pruning(noisy, tuned):
    found = tuned["node", "accuracy"]
    best = oracle.accuracy(*noisy, oracle.reduced_error_mask(*noisy))
    assert best > oracle.accuracy(*noisy, None) + 0.02
    assert oracle.accuracy(*noisy, found.rates > 0.5) == pytest.approx(best, abs=0.5 / noisy[2].size)
    assert 1 - found.expected_loss == pytest.approx(best, abs=1e-3)


def test_tuning_repeats_to_the_last_bit(noisy, tuned):
    again = tune(*noisy, per="node")
    np.testing.assert_array_equal(again.rates, tuned["node", "log_loss"].rates)
    np.testing.assert_array_equal(again.losses, tuned["node", "log_loss"].losses)


def test_a_tree_that_is_right_everywhere_is_not_pruned(noisy):
    """The rows say what the leaves say."""
    tree, codes, _ = noisy
    y = dropouts.majority_table(tree)[oracle.end_nodes(tree, codes, None)].argmax(axis=1).astype(np.int32)
    for per in PER:
        assert tune(tree, codes, y, per=per, loss="accuracy").expected_loss < 1e-3


def test_squared_errors_of_a_regression_tree():
    tree, codes, y = dropouts.tiny_regression()
    found = tune(tree, codes, y, per="node", loss="squared_error")
    least = min(oracle.squared_error(tree, codes, y, mask) for mask, _ in oracle.all_masks(tree, np.zeros(99)))
    assert found.expected_loss == pytest.approx(least, rel=1e-3)
    assert expected_squared_error(tree, codes, y, found.rates) == pytest.approx(found.expected_loss, rel=1e-5)


def test_a_tree_that_is_one_leaf(noisy):
    leaf = dropouts.stop_at(noisy[0], 0)[1]
    found = tune(leaf, *noisy[1:], per="level")
    assert found.rates.tolist() == [0] and found.level_rates.size == 0


def test_what_is_not_allowed(noisy):
    with pytest.raises(InvalidInputError, match="per must be one of"):
        tune(*noisy, per="forest")
    with pytest.raises(InvalidInputError, match="loss must be one of"):
        tune(*noisy, loss="gini")
    with pytest.raises(InvalidInputError, match="steps"):
        tune(*noisy, steps=0)
