"""C4.5's pruning with subtree raising: what is below a node may give way to its heaviest branch (Quinlan, 1993, ch. 4).

Where its rows and splits are while subtrees move is told by `Places`.
"""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Float, Int, Real, UInt

from jaxtree.errors import InvalidInputError
from jaxtree.pruning.inputs import check_classes
from jaxtree.pruning.pessimistic import SAME, SLACK, added_errors, check_confidence
from jaxtree.pruning.places import Entries, Places
from jaxtree.tree import SplitKind, Tree, take_tree

Impurity = Callable[[Float[np.ndarray, "node class"]], Float[np.ndarray, " node"]]
"""From the class weights of nodes to their impurities."""

SPLIT_FIELDS = ("feature", "code", "next_code", "threshold", "split_kind", "subset", "missing_code", "missing_branch")
"""What a node's split is made of; with the children it goes where the node is raised to."""

GROUP_FIRST = (SplitKind.ONE_VS_REST, SplitKind.SUBSET)
"""Splits whose branch 1 is C4.5's first: the category, or the group."""

UNCHANGED = 1e-9
"""By how much sums of the same weights may differ that were added in another order."""

GRID_BITS = 40
"""Bits of the whole weight that a sum of parts of rows is told to."""


def entropy_in_bits(count: Float[np.ndarray, "node class"]) -> Float[np.ndarray, " node"]:
    r"""Returns $-\sum_c p_c \log_2 p_c$ of the class weights of every node, 0 where there is none.

    Example:
        >>> entropy_in_bits(np.array([[9.0, 5.0], [4.0, 0.0]])).round(4)
        array([0.9403, 0.    ])
    """
    total = count.sum(axis=1, keepdims=True)
    share = np.divide(count, total, out=np.zeros_like(count), where=total > 0)
    return -np.sum(share * np.log2(np.where(share > 0, share, 1)), axis=1) + 0.0


def prune_with_raising(
    tree: Tree,
    codes: UInt[np.ndarray, "feature row"],
    target: Int[np.ndarray, " row"],
    weight: Real[np.ndarray, " row"] | None = None,
    *,
    confidence: float | int = 0.25,
    z: str = "exact",
    impurity: Impurity = entropy_in_bits,
) -> Tree:
    """Returns the tree that C4.5 prunes with subtree raising (J48 without `-S`, C4.5 Release 8).

    From the leaves up, the errors of a node are estimated in three ways: as a leaf; as the tree that it is; and as
    the tree below its heaviest branch, if all rows of the node went there (of equal branches the last). It becomes a
    leaf if that is at most 0.1 errors worse than either. Else, if the branch is at most 0.1 worse than the tree, the
    branch is raised into the node's place with all rows of the node, and the node is pruned again (Quinlan, *C4.5:
    Programs for Machine Learning*, 1993, section 4.2; Weka's J48).

    Where the rows at a node have changed, its counts, weight, rows and impurity are those of the new rows. The gain of
    a split whose rows have changed is the known share of the weight times the decrease of impurity among the known
    rows; other than of a grown threshold, nothing is taken from it for the number of cuts tried. Splits stay as they
    are, the branch of a missing value included; a row that has no branch is shared out. If no row is known, all
    branches get the same share.

    Args:
        tree: A classification tree of one output, alone in its table with its root at node 0, on the host; an
            estimator's has its thresholds in units of the table, so that they tell the branch of any row.
        codes: The codes of the rows that it was grown on.
        target: Their classes.
        weight: Their weights; None is 1.
        confidence: See `jaxtree.prune.added_errors`.
        z: See there.
        impurity: The criterion that the tree was grown with.

    Raises:
        InvalidInputError: The tree is no classification tree of one output, or the rows or the confidence are not
            allowed.

    Example:
        >>> from jaxtree import C45Classifier
        >>> from jaxtree.datasets import load_car_evaluation
        >>> X, y = load_car_evaluation(return_X_y=True)
        >>> grown = C45Classifier(confidence=None).fit(X, y)
        >>> target = np.searchsorted(grown.classes_, y).astype(np.int32)
        >>> pruned = prune_with_raising(grown.tree_, grown.encode(X), target)
        >>> grown.tree_.n_leaves, pruned.n_leaves
        (134, 131)
    """
    check_classes(tree, "pessimistic pruning", of_one_output=True)
    check_confidence(confidence, z)
    _check_rows(tree, codes, target, weight)
    tree = jax.tree.map(np.asarray, tree)
    row = np.arange(target.size) if weight is None else np.flatnonzero(weight)
    own = np.ones(row.size) if weight is None else weight[row].astype(np.float64)
    places = Places(tree, codes, target)
    _Pruner(places, lambda total, errors: added_errors(total, errors, confidence, z=z)).run(Entries(row * 0, row, own))
    return _as_tree(places, impurity)


class _Pruner:
    """Prunes places from the leaves up; an own stack holds the places, since a tree may be deeper than Python's."""

    def __init__(self, places: Places, add_errors: Callable):
        self._places, self._add_errors = places, add_errors
        size = places.is_leaf.size
        self._as_leaf, self._estimate = np.zeros(size), np.zeros(size)
        self._entries: dict[int, Entries] = {}

    def run(self, entries: Entries) -> None:
        """Prunes the tree, given the entries at the root."""
        places = self._places
        self._as_leaf[:1] = self._leaf_errors(places.class_weights(entries, entries.place, 1))
        self._entries[0] = entries
        stack = [] if places.is_leaf[0] else [(0, False)]
        while stack:
            place, is_open = stack.pop()
            if not is_open:
                stack += [(place, True), *((child, False) for child in self._open(place))]
            elif self._raises(place):
                stack.append((place, False))

    def _open(self, place: int) -> list[int]:
        """Sends the entries of a place to its branches, and returns those that have branches themselves."""
        places = self._places
        entries, num_known = places.send(self._entries[place])
        children = places.children(place)
        branch, num_branches = entries.place - children.start, children.stop - children.start
        has_new_rows = places.has_moved[place] or places.source[place] != place
        if has_new_rows:
            places.known[place] = places.class_weights(
                entries.take(np.arange(num_known)), branch[:num_known], num_branches
            )
        places.count[children] = places.class_weights(entries, branch, num_branches)
        places.num_rows[children] = np.bincount(branch, minlength=num_branches)
        places.has_moved[children] = has_new_rows
        self._as_leaf[children] = self._estimate[children] = self._leaf_errors(places.count[children])
        inner = np.arange(children.start, children.stop)[~places.is_leaf[children]].tolist()
        for child in inner:
            self._entries[child] = entries.take(np.flatnonzero(entries.place == child))
        return inner

    def _raises(self, place: int) -> bool:
        """Decides about a place whose branches are pruned; says whether its heaviest branch was raised."""
        places = self._places
        as_leaf, as_tree = self._as_leaf[place], self._estimate[places.children(place)].sum()
        heaviest = self._heaviest_branch(place)
        # What is asked of the branch: whether it is better than the leaf if that may be had, or else than the tree.
        may_be_leaf = as_leaf <= as_tree + SLACK + SAME
        as_branch = self._errors_below(heaviest, place, as_leaf if may_be_leaf else as_tree + SLACK + SAME)
        is_leaf = may_be_leaf and as_leaf <= as_branch + SLACK + SAME
        if not is_leaf and as_branch <= as_tree + SLACK + SAME:
            places.source[place] = places.source[heaviest]
            return True
        places.is_leaf[place], self._estimate[place] = is_leaf, as_leaf if is_leaf else as_tree
        del self._entries[place]
        return False

    def _heaviest_branch(self, place: int) -> int:
        """Of equal branches the last in C4.5's order, which has a group before the others."""
        places = self._places
        children = places.children(place)
        weight = places.count[children].sum(axis=1)
        heaviest = np.flatnonzero(weight >= weight.max() - SAME)
        is_group_first = places.tree.split_kind[places.source[place]] in GROUP_FIRST
        return children.start + int(heaviest[0 if is_group_first else -1])

    def _errors_below(self, branch: int, place: int, most: float) -> float:
        """The errors estimated below a branch if all rows of the place went there; counting stops beyond `most`."""
        places, errors = self._places, 0.0
        if places.is_leaf[branch]:
            return float(self._as_leaf[place])
        entries = self._entries[place]
        entries = entries._replace(place=np.full_like(entries.place, branch))
        while entries.row.size and errors <= most:
            entries = places.send(entries).entries
            reached, group = np.unique(entries.place, return_inverse=True)
            count = places.class_weights(entries, group, reached.size)
            # Where only those rows come that have come before, all is known already; so deep trees are quick.
            is_as_before = np.bincount(group) == places.num_rows[reached]
            is_as_before &= (np.abs(count - places.count[reached]) < UNCHANGED).all(axis=1)
            is_leaf = places.is_leaf[reached]
            ends = is_leaf | is_as_before
            errors += self._leaf_errors(count[is_leaf]).sum() + self._estimate[reached[is_as_before & ~is_leaf]].sum()
            entries = entries.take(~ends[group])
        return errors

    def _leaf_errors(self, count: Float[np.ndarray, "node class"]) -> Float[np.ndarray, " node"]:
        weight = count.sum(axis=1)
        errors = weight - count.max(axis=1)
        return np.where(weight > SAME, errors + self._add_errors(weight, errors), 0)


def _as_tree(places: Places, impurity: Impurity) -> Tree:
    """The tree of all places that are left."""
    tree, source = places.tree, places.source
    moved = np.flatnonzero(places.has_moved)
    count, node_impurity, gain = (x.astype(np.float64) for x in (tree.count, tree.impurity, tree.gain))
    count[moved] = _on_grid(places.count[moved], count[0].sum())
    weight = np.where(places.has_moved, count.sum(axis=1), tree.weight)
    if places.known:
        node_impurity[moved] = impurity(count[moved])
        gain[list(places.known)] = _gains(list(places.known.values()), weight[list(places.known)], impurity)
    changed = dataclasses.replace(
        tree,
        **{name: getattr(tree, name)[source] for name in SPLIT_FIELDS},
        first_child=tree.first_child[source],
        num_children=np.where(places.is_leaf, 0, tree.num_children[source]).astype(np.int32),
        count=count,
        weight=weight,
        num_rows=np.where(places.has_moved, places.num_rows, tree.num_rows).astype(np.int32),
        impurity=node_impurity,
        gain=gain,
    )
    return take_tree(_with_ancestry(changed))


def _on_grid(count: Float[np.ndarray, "node class"], whole: float) -> Float[np.ndarray, "node class"]:
    """The weights as multiples of a power of two, so that equal sums of parts of rows are equal to the last bit."""
    unit = 2.0 ** (np.floor(np.log2(max(whole, 1e-300))) - GRID_BITS)
    return np.round(count / unit) * unit


def _gains(known: list[Float[np.ndarray, "_ class"]], weight, impurity: Impurity) -> Float[np.ndarray, " split"]:
    """The gains of splits that send these class weights to their branches, in nodes of these weights."""
    split = np.repeat(np.arange(len(known)), [len(branches) for branches in known])
    whole, parts = np.stack([branches.sum(axis=0) for branches in known]), np.concatenate(known)
    below = np.bincount(split, parts.sum(axis=1) * impurity(parts), len(known))
    return (whole.sum(axis=1) * impurity(whole) - below) / weight


def _with_ancestry(tree: Tree) -> Tree:
    """The tree with the parents and depths that its children tell of."""
    parent, depth, level = tree.parent.copy(), tree.depth.copy(), np.zeros(1, np.int64)
    while level.size:
        size = tree.num_children[level]
        owner = np.repeat(level, size)
        level = np.repeat(tree.first_child[level] - np.cumsum(size) + size, size) + np.arange(owner.size)
        parent[level], depth[level] = owner, depth[owner] + 1
    return dataclasses.replace(tree, parent=parent, depth=depth)


def _check_rows(tree: Tree, codes, target, weight) -> None:
    shapes = [values.shape for values in (codes, target, weight) if values is not None]
    if len({shape[-1] for shape in shapes}) > 1:
        raise InvalidInputError(f"codes, target and weight must be of the same rows, got the shapes {shapes}")
    if np.max(tree.feature) >= len(codes):
        raise InvalidInputError(
            f"the tree splits on feature {np.max(tree.feature)}, got codes of {len(codes)} features"
        )
