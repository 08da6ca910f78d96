"""Many trees in one table: taken out all at once as one by one, and joined."""

import dataclasses

import numpy as np
import pytest

from jaxtree.tree import Tree, take_tree
from jaxtree.tree.forest import Forest, join_forests, join_trees, take_trees
from jaxtree.tree.subsets import SharedSubsets

NUM_TREES = 5


@pytest.fixture(scope="module")
def table():
    """Trees with random splits, their nodes in a random order below the roots, with padding behind."""
    rng = np.random.default_rng(0)
    parent, first_child, num_children = list(range(NUM_TREES)), [0] * NUM_TREES, [0] * NUM_TREES
    waiting = list(range(NUM_TREES))
    for _ in range(40):
        node = waiting.pop(rng.integers(len(waiting)))
        first_child[node], num_children[node] = len(parent), int(rng.integers(2, 4))
        waiting += range(len(parent), len(parent) + num_children[node])
        parent += [node] * num_children[node]
        first_child += [0] * num_children[node]
        num_children += [0] * num_children[node]
    size = len(parent)
    depth, root = np.zeros(size, np.int32), np.arange(size, dtype=np.int32)
    for node in range(NUM_TREES, size):
        depth[node], root[node] = depth[parent[node]] + 1, root[parent[node]]
    whole = [np.asarray(x, np.int32) for x in (first_child, num_children, parent, depth, root)]
    first_child, num_children, parent, depth, root = (np.pad(x, (0, 7)) for x in whole)
    numbers, real = np.arange(size + 7, dtype=np.int32), rng.random(size + 7)
    return Tree(
        feature=numbers, code=numbers, next_code=numbers, threshold=real, split_kind=numbers,
        subset=rng.integers(0, 9, (size + 7, 2)).astype(np.uint32), missing_code=numbers, missing_branch=numbers,
        first_child=first_child, num_children=num_children, parent=parent, depth=depth, root=root, weight=real,
        count=rng.random((size + 7, 3)), target_sum=np.zeros((size + 7, 0)), num_rows=numbers, impurity=real, gain=real,
        num_nodes=np.array(size, np.int32), num_classes=(3,),
    )  # fmt: skip


@pytest.fixture(scope="module")
def table_of_shared_subsets(table):
    return dataclasses.replace(table, subset=SharedSubsets.of(table.subset))


def assert_same(one, other):
    for field in dataclasses.fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


@pytest.mark.parametrize("draws", [None, 0.2])
def test_trees_are_those_taken_one_by_one(table, draws):
    collapsed = None if draws is None else np.random.default_rng(1).random(table.depth.size) < draws
    forest = take_trees(table, np.arange(NUM_TREES), collapsed=collapsed)
    assert len(forest) == NUM_TREES
    for number, tree in enumerate(forest):
        assert_same(tree, take_tree(table, root=number, collapsed=collapsed))


def test_some_trees_are_taken(table):
    forest = take_trees(table, np.array([1, 4]))
    assert_same(forest[0], take_tree(table, root=1))
    assert_same(forest[1], take_tree(table, root=4))


def test_the_table_of_a_forest_holds_its_trees(table):
    forest = take_trees(table, np.arange(NUM_TREES))
    again = take_trees(forest.nodes, forest.first_node[:-1])
    assert_same(forest.nodes, again.nodes)
    assert forest.nodes.root.tolist() == np.repeat(forest.first_node[:-1], forest.num_nodes).tolist()
    assert (forest.tree_of_node == np.repeat(np.arange(NUM_TREES), forest.num_nodes)).all()


def test_joining_undoes_slicing(table):
    forest = take_trees(table, np.arange(NUM_TREES))
    joined = join_trees(list(forest))
    assert_same(joined.nodes, forest.nodes)
    assert (joined.first_node == forest.first_node).all()
    twice = join_forests([forest, take_trees(table, np.array([2]))])
    assert_same(twice[NUM_TREES], forest[2])
    assert_same(twice[0], forest[0])


def test_shared_subsets_go_where_nodes_go(table, table_of_shared_subsets):
    """Taken, sliced and joined trees have the subsets that trees have whose nodes do not share them."""
    roots = np.arange(NUM_TREES)
    alone, shared = take_trees(table, roots), take_trees(table_of_shared_subsets, roots)
    pool = table_of_shared_subsets.subset.words
    for change in (
        lambda forest: forest,
        lambda forest: forest.first(3),
        lambda forest: forest.take(np.array([3, 0])),
        lambda forest: join_trees(list(forest)),
        lambda forest: join_forests([forest, forest.first(2)]),
    ):
        own = change(shared).nodes
        assert_same(change(alone).nodes, own)
        assert isinstance(own.subset, SharedSubsets) and own.subset.words is pool


def test_joined_subsets_are_as_wide_as_the_widest(table, table_of_shared_subsets):
    narrow, wide = take_trees(table, np.array([1])), take_trees(table_of_shared_subsets, np.array([2]))
    words = np.pad(wide.nodes.subset.words, ((0, 0), (0, 3)))
    wide = Forest.of(dataclasses.replace(wide.nodes, subset=SharedSubsets(wide.nodes.subset.row, words)))
    joined = join_forests([narrow, wide, narrow])
    expected = [np.pad(narrow.nodes.subset, ((0, 0), (0, 3))), np.asarray(wide.nodes.subset)]
    np.testing.assert_array_equal(joined.nodes.subset, np.concatenate([*expected, expected[0]]))


@pytest.mark.parametrize("number", [-1, NUM_TREES])
def test_there_is_no_other_tree(table, number):
    with pytest.raises(IndexError, match=f"tree {number} of a forest of {NUM_TREES}"):
        take_trees(table, np.arange(NUM_TREES))[number]
