"""Rows in leaves and the weights that they give, beside sums over trees one by one."""

import numpy as np
import pytest

import jaxtree.moments.leaf_rows as leaf_rows
from jaxtree.cores import using_cores
from jaxtree.moments.leaf_rows import forest_weights, gather_leaf_rows, quantiles_of

NUM_TREES, NODES_OF_TREE, NUM_ATOMS, NUM_ROWS = 7, 5, 40, 23


def leaves_and_ends(seed=0, has_weights=False, most=3):
    """Leaves of trees that have half of the atoms each, and the leaf of every row in every tree."""
    rng = np.random.default_rng(seed)
    atom = np.concatenate([rng.permutation(NUM_ATOMS)[: NUM_ATOMS // 2] for _ in range(NUM_TREES)])
    tree = np.repeat(np.arange(NUM_TREES), NUM_ATOMS // 2)
    node = tree * NODES_OF_TREE + rng.integers(0, NODES_OF_TREE, tree.size)
    weight = rng.integers(1, most + 1, tree.size) if has_weights else None
    leaves = gather_leaf_rows(node, atom, weight, num_nodes=NUM_TREES * NODES_OF_TREE, num_atoms=NUM_ATOMS)
    ends = np.arange(NUM_TREES) * NODES_OF_TREE + rng.integers(0, NODES_OF_TREE, (NUM_ROWS, NUM_TREES))
    weight = np.ones(tree.size) if weight is None else weight
    return leaves, ends, (node, atom, weight)


def weights_by_definition(ends, entries, is_counted):
    """The mean over trees of every atom's share of the leaf; trees with an empty leaf do not count."""
    node, atom, weight = entries
    table = np.zeros((len(ends), NUM_ATOMS))
    for row, own in enumerate(ends):
        for tree, leaf in enumerate(own):
            here = node == leaf
            if is_counted[row, tree] and here.any():
                table[row, atom[here]] += weight[here] / weight[here].sum()
    with np.errstate(invalid="ignore"):
        return table / table.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("out_of_bag", [False, True])
def test_weights_are_mean_shares_of_leaves(has_weights, out_of_bag, monkeypatch):
    leaves, ends, entries = leaves_and_ends(has_weights=has_weights)
    counted = np.random.default_rng(1).random(ends.shape) < 0.5
    counted[4] = False
    is_counted = counted if out_of_bag else None
    wanted = weights_by_definition(ends, entries, counted if out_of_bag else np.ones(ends.shape, bool))
    for at_a_time in (2**19, 64):
        monkeypatch.setattr(leaf_rows, "ENTRIES_AT_A_TIME", at_a_time)
        own = forest_weights(leaves, ends, is_counted=is_counted)
        assert own.has_canonical_format or (np.diff(own.indptr) >= 0).all()
        np.testing.assert_allclose(own.toarray(), np.nan_to_num(wanted), atol=1e-8)


@pytest.mark.parametrize("has_weights", [False, True])
def test_quantiles_are_the_least_values_that_reach_a_level(has_weights, monkeypatch):
    leaves, ends, entries = leaves_and_ends(3, has_weights)
    values, levels = np.sort(np.random.default_rng(2).normal(size=NUM_ATOMS)), np.array([0.05, 0.5, 0.73, 0.95])
    table = weights_by_definition(ends, entries, np.ones(ends.shape, bool))
    wanted = [[values[np.flatnonzero(np.cumsum(row) >= level - 1e-7)[0]] for level in levels] for row in table]
    for at_a_time, cores in ((2**19, 1), (64, 2)):
        monkeypatch.setattr(leaf_rows, "ENTRIES_AT_A_TIME", at_a_time)
        with using_cores(cores):
            own = quantiles_of(leaves, ends, values, levels)
        np.testing.assert_array_equal(own, wanted)


def test_a_row_without_trees_has_no_quantile():
    leaves, ends, _ = leaves_and_ends()
    counted = np.ones(ends.shape, bool)
    counted[2] = False
    own = quantiles_of(leaves, ends, np.arange(40.0), np.array([0.5]), is_counted=counted)
    assert np.flatnonzero(np.isnan(own[:, 0])).tolist() == [2]
    assert quantiles_of(leaves, ends[:0], np.arange(40.0), np.array([0.5])).shape == (0, 1)


def test_leaves_of_many_atoms_have_wider_numbers():
    node, atom = np.zeros(3, int), np.array([2, 70_000, 69_999])
    leaves = gather_leaf_rows(node, atom, None, num_nodes=1, num_atoms=70_001)
    assert leaves.atom.dtype == np.int32 and leaves.atom.tolist() == [2, 69_999, 70_000]
    assert forest_weights(leaves, np.zeros((2, 1), int)).indices.tolist() == [2, 69_999, 70_000] * 2


def test_the_order_of_entries_does_not_matter():
    leaves, _, (node, atom, weight) = leaves_and_ends(5, has_weights=True)
    order = np.random.default_rng(0).permutation(node.size)
    sizes = dict(num_nodes=NUM_TREES * NODES_OF_TREE, num_atoms=NUM_ATOMS)
    other = gather_leaf_rows(node[order], atom[order], weight[order], **sizes)
    assert all(np.array_equal(own, others) for own, others in zip(leaves[:3], other[:3], strict=True))
