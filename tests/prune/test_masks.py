"""The effect of masks on a tree, beside walks from the root."""

import numpy as np
import pytest

from jaxtree.growth import apply
from jaxtree.tree.paths import ends_under, levels, stop_at, survivors
from tests.prune.growths import CLASSES, children, leaves_of, reached, stop, tree_of

KINDS = (*CLASSES, "numbers")


def random_masks(tree, num_masks=8, seed=0):
    """Masks that mark leaves and unreachable nodes, too; the first marks the root, the second nothing."""
    masks = np.random.default_rng(seed).random((num_masks, tree.capacity)) < np.linspace(0.05, 0.6, num_masks)[:, None]
    masks[:, 0] = False
    masks[0, 0], masks[1] = True, False
    return masks


@pytest.fixture(params=[(kind, is_stopped) for kind in KINDS for is_stopped in (False, True)])
def tree(request):
    kind, is_stopped = request.param
    return stop(tree_of(kind)) if is_stopped else tree_of(kind)


def end_of_walk(tree, mask, node):
    """Where a walk towards a node ends, from the path that leads to it."""
    path = [node]
    while path[-1] != tree.parent[path[-1]]:
        path.append(int(tree.parent[path[-1]]))
    return next((n for n in reversed(path) if mask[n] or not tree.num_children[n]), node)


def test_survivors_are_the_nodes_that_walks_come_to(tree):
    masks = random_masks(tree)
    kept = survivors(tree, masks)
    assert kept.shape == masks.shape
    for mask, row in zip(masks, kept, strict=True):
        assert set(np.flatnonzero(row)) == set(reached(tree, mask))
    assert kept[0].sum() == 1


def test_walks_end_at_the_first_collapsed_node(tree):
    for mask in random_masks(tree):
        end = ends_under(tree, mask)
        assert end.tolist() == [end_of_walk(tree, mask, node) for node in range(tree.capacity)]


def test_stopping_one_mask_after_the_other_is_stopping_at_both(tree):
    masks = random_masks(tree)
    for first, second in zip(masks, masks[::-1], strict=True):
        stopped = stop_at(tree, first)
        assert leaves_of(stopped, second) == leaves_of(tree, first | second)
        np.testing.assert_array_equal(survivors(stopped, second[None]), survivors(tree, (first | second)[None]))
        np.testing.assert_array_equal(ends_under(stopped, second), ends_under(tree, first | second))


def test_a_stopped_tree_is_the_table_with_other_leaves():
    tree = tree_of("multiway")
    mask = random_masks(tree)[4]
    stopped = stop_at(tree, mask)
    assert stopped.num_children.dtype == tree.num_children.dtype
    np.testing.assert_array_equal(stopped.is_leaf, tree.is_leaf | mask)
    np.testing.assert_array_equal(stopped.num_children[~mask], tree.num_children[~mask])
    assert stopped.first_child is tree.first_child and stopped.count is tree.count
    codes = np.random.default_rng(0).integers(0, 6, (4, 50)).astype(np.uint8)
    np.testing.assert_array_equal(apply(stopped, codes), apply(tree, codes, mask))
    np.testing.assert_array_equal(apply(stopped, codes), ends_under(tree, mask)[np.asarray(apply(tree, codes))])


def test_levels_are_the_nodes_of_every_depth(tree):
    by_depth = levels(tree)
    assert sorted(np.concatenate(by_depth).tolist()) == list(range(tree.capacity))
    for depth, nodes in enumerate(by_depth):
        assert nodes.size and np.all(tree.depth[nodes] == depth)
        assert all(tree.depth[child] == depth + 1 for node in nodes for child in children(tree, node))


def test_a_tree_of_one_node():
    tree = tree_of("classes")
    root = stop_at(tree, np.arange(tree.capacity) == 0)
    assert leaves_of(root) == {0}
    np.testing.assert_array_equal(ends_under(root, np.zeros(tree.capacity, bool)), 0)
