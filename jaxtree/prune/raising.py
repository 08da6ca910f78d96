"""C4.5's pruning with subtree raising: what is below a node may give way to its heaviest branch (Quinlan, 1993, ch. 4).

A *place* is a position in the tree, named by the node that stood there first; raising puts the split of a branch into
its parent's place. A *part* of a row is at a place: a row whose value is missing is shared out among the branches, in
proportion to the known weight that each has. `RaisingState` holds where rows and splits are while subtrees move.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int, Real, UInt

from jaxtree.errors import InvalidInputError
from jaxtree.prune.inputs import check_classes
from jaxtree.prune.training_errors import SAME, SLACK, added_errors, check_confidence
from jaxtree.tree import SplitKind, Tree, take_tree
from jaxtree.tree.checks import check_codes_of, check_range, check_weights
from jaxtree.tree.nodes import branch_of_code

Impurity = Callable[[Float[np.ndarray, "node class"]], Float[np.ndarray, " node"]]
"""A function from the class weights of nodes to their impurities."""

SPLIT_FIELDS = ("feature", "code", "next_code", "threshold", "split_kind", "subset", "missing_code", "missing_branch")
"""The fields of a node's split, which move with the children to the place that the node is raised to."""

GROUP_FIRST = (SplitKind.ONE_VS_REST, SplitKind.SUBSET)
"""Splits whose branch 1 is C4.5's first: the category, or the group."""

UNCHANGED = 1e-9
"""The most that sums of the same weights may differ by if these are added in another order."""

GRID_BITS = 40
"""Bits of the whole weight that a sum of parts of rows is rounded to."""


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
            estimator's has its thresholds in units of the table, so that they determine the branch of any row.
        codes: The codes of the rows that it was grown on.
        target: Their classes.
        weight: Their weights; None is 1.
        confidence: See `jaxtree.prune.training_errors.added_errors`.
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
    state = RaisingState(tree, codes, target, lambda total, errors: added_errors(total, errors, confidence, z=z))
    state.run(RowParts(row * 0, row, own))
    return _as_tree(state, impurity)


class RowParts(NamedTuple):
    """Parts of rows, and the places where they are; a row is at a place once."""

    place: Int[np.ndarray, " entry"]
    row: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]

    def take(self, chosen: Bool[np.ndarray, " entry"] | Int[np.ndarray, " taken"]) -> "RowParts":
        """Returns some of the parts."""
        return RowParts(self.place[chosen], self.row[chosen], self.weight[chosen])


class RaisingState:
    """The tree as raising changes it, pruned place by place from the leaves up.

    An own stack holds the places, since a tree may be deeper than Python's.

    Args:
        tree: The tree.
        codes: The codes of the rows.
        target: Their classes.
        add_errors: The errors added to those of leaves, given their weights and errors.

    Attributes:
        tree: The tree as it was.
        source: The node whose split stands at each place.
        is_leaf: Whether a place is a leaf.
        has_moved: Whether raising has changed the rows at a place.
        count: The weight of every class at each place.
        num_rows: The number of rows there.
        known: For places whose split has got other rows, the weight of every class that it sends to each branch, rows
            that are shared out left aside.
    """

    def __init__(self, tree: Tree, codes, target, add_errors: Callable = added_errors):
        self.tree, self.source = tree, np.arange(tree.feature.size)
        self.is_leaf, self.has_moved = tree.is_leaf.copy(), np.zeros(tree.feature.size, bool)
        self.count, self.num_rows = tree.count.astype(np.float64), tree.num_rows.copy()
        self.known: dict[int, Float[np.ndarray, "branch class"]] = {}
        self._codes, self._target, self._add_errors = codes, target, add_errors
        self._sums, self._as_leaf, self._estimate = np.zeros((3, tree.feature.size))
        self._parts: dict[int, RowParts] = {}

    def children(self, place: int) -> slice:
        """The places of the branches."""
        first = int(self.tree.first_child[self.source[place]])
        return slice(first, first + int(self.tree.num_children[self.source[place]]))

    def class_weights(self, parts: RowParts, group: Int[np.ndarray, " entry"], num_groups: int):
        """The weight of every class in each group of parts."""
        num_classes = self.count.shape[1]
        cell = group * num_classes + self._target[parts.row]
        sums = np.bincount(cell, parts.weight, num_groups * num_classes).astype(np.float64)
        return sums.reshape(num_groups, num_classes)

    def send(self, parts: RowParts) -> tuple[RowParts, int]:
        """Returns parts at the branches of their places; first those that a code sends, and how many these are."""
        split = self.source[parts.place]
        branch = branch_of_code(self.tree, split, self._codes[self.tree.feature[split], parts.row])
        first, num_branches = self.tree.first_child[split], self.tree.num_children[split]
        goes = branch < num_branches
        if goes.all():
            return parts._replace(place=first + branch), goes.size
        sent = parts.take(goes)._replace(place=(first + branch)[goes])
        shared = self._share_out(parts.take(~goes), first[~goes], num_branches[~goes], sent)
        return RowParts(*(np.concatenate(pair) for pair in zip(sent, shared, strict=True))), sent.row.size

    def _share_out(self, held: RowParts, first, num_branches, sent: RowParts) -> RowParts:
        """A part for every branch, in proportion to the weight sent there; equal parts if nothing was sent."""
        owner = np.repeat(np.arange(held.row.size), num_branches)
        before = np.cumsum(num_branches) - num_branches
        place = first[owner] + np.arange(owner.size) - before[owner]
        np.add.at(self._sums, sent.place, sent.weight)
        part = self._sums[place]
        self._sums[sent.place] = 0
        whole = np.bincount(owner, part, held.row.size)[owner]
        share = np.where(whole > 0, part / np.where(whole > 0, whole, 1), 1 / num_branches[owner])
        some = share > 0
        return RowParts(place[some], held.row[owner[some]], (held.weight[owner] * share)[some])

    def run(self, parts: RowParts) -> None:
        """Prunes the tree, given the rows at the root."""
        self._as_leaf[:1] = self._leaf_errors(self.class_weights(parts, parts.place, 1))
        self._parts[0] = parts
        stack = [] if self.is_leaf[0] else [(0, False)]
        while stack:
            place, is_open = stack.pop()
            if not is_open:
                stack += [(place, True), *((child, False) for child in self._open(place))]
            elif self._raises(place):
                stack.append((place, False))

    def _open(self, place: int) -> list[int]:
        """Sends the parts of rows at a place to its branches, and returns those that have branches themselves."""
        parts, num_known = self.send(self._parts[place])
        children = self.children(place)
        branch, num_branches = parts.place - children.start, children.stop - children.start
        has_new_rows = self.has_moved[place] or self.source[place] != place
        if has_new_rows:
            self.known[place] = self.class_weights(parts.take(np.arange(num_known)), branch[:num_known], num_branches)
        self.count[children] = self.class_weights(parts, branch, num_branches)
        self.num_rows[children] = np.bincount(branch, minlength=num_branches)
        self.has_moved[children] = has_new_rows
        self._as_leaf[children] = self._estimate[children] = self._leaf_errors(self.count[children])
        inner = np.arange(children.start, children.stop)[~self.is_leaf[children]].tolist()
        for child in inner:
            self._parts[child] = parts.take(np.flatnonzero(parts.place == child))
        return inner

    def _raises(self, place: int) -> bool:
        """Decides about a place whose branches are pruned; returns whether its heaviest branch was raised."""
        as_leaf, as_tree = self._as_leaf[place], self._estimate[self.children(place)].sum()
        heaviest = self._heaviest_branch(place)
        # The branch must be better than the leaf if the place may become one, or else than the tree.
        may_be_leaf = as_leaf <= as_tree + SLACK + SAME
        as_branch = self._errors_below(heaviest, place, as_leaf if may_be_leaf else as_tree + SLACK + SAME)
        is_leaf = may_be_leaf and as_leaf <= as_branch + SLACK + SAME
        if not is_leaf and as_branch <= as_tree + SLACK + SAME:
            self.source[place] = self.source[heaviest]
            return True
        self.is_leaf[place], self._estimate[place] = is_leaf, as_leaf if is_leaf else as_tree
        del self._parts[place]
        return False

    def _heaviest_branch(self, place: int) -> int:
        """Returns the heaviest branch; of equal ones the last in C4.5's order, which has a group before the others."""
        children = self.children(place)
        weight = self.count[children].sum(axis=1)
        heaviest = np.flatnonzero(weight >= weight.max() - SAME)
        is_group_first = self.tree.split_kind[self.source[place]] in GROUP_FIRST
        return children.start + int(heaviest[0 if is_group_first else -1])

    def _errors_below(self, branch: int, place: int, most: float) -> float:
        """The errors estimated below a branch if all rows of the place went there; counting stops beyond `most`."""
        errors = 0.0
        if self.is_leaf[branch]:
            return float(self._as_leaf[place])
        parts = self._parts[place]
        parts = parts._replace(place=np.full_like(parts.place, branch))
        while parts.row.size and errors <= most:
            parts, _ = self.send(parts)
            reached, group = np.unique(parts.place, return_inverse=True)
            count = self.class_weights(parts, group, reached.size)
            # Where only those rows come that have come before, all is known already; so deep trees are quick.
            is_as_before = np.bincount(group) == self.num_rows[reached]
            is_as_before &= (np.abs(count - self.count[reached]) < UNCHANGED).all(axis=1)
            is_leaf = self.is_leaf[reached]
            ends = is_leaf | is_as_before
            errors += self._leaf_errors(count[is_leaf]).sum() + self._estimate[reached[is_as_before & ~is_leaf]].sum()
            parts = parts.take(~ends[group])
        return errors

    def _leaf_errors(self, count: Float[np.ndarray, "node class"]) -> Float[np.ndarray, " node"]:
        weight = count.sum(axis=1)
        errors = weight - count.max(axis=1)
        return np.where(weight > SAME, errors + self._add_errors(weight, errors), 0)


def _as_tree(state: RaisingState, impurity: Impurity) -> Tree:
    """The tree of all places that are left."""
    tree, source = state.tree, state.source
    moved = np.flatnonzero(state.has_moved)
    count, node_impurity, gain = (x.astype(np.float64) for x in (tree.count, tree.impurity, tree.gain))
    count[moved] = _on_grid(state.count[moved], count[0].sum())
    weight = np.where(state.has_moved, count.sum(axis=1), tree.weight)
    if state.known:
        node_impurity[moved] = impurity(count[moved])
        gain[list(state.known)] = _gains(list(state.known.values()), weight[list(state.known)], impurity)
    changed = dataclasses.replace(
        tree,
        **{name: getattr(tree, name)[source] for name in SPLIT_FIELDS},
        first_child=tree.first_child[source],
        num_children=np.where(state.is_leaf, 0, tree.num_children[source]).astype(np.int32),
        count=count,
        weight=weight,
        num_rows=np.where(state.has_moved, state.num_rows, tree.num_rows).astype(np.int32),
        impurity=node_impurity,
        gain=gain,
    )
    return take_tree(changed)


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


def _check_rows(tree: Tree, codes, target, weight) -> None:
    shapes = [values.shape for values in (codes, target, weight) if values is not None]
    if len({shape[-1] for shape in shapes}) > 1:
        raise InvalidInputError(f"codes, target and weight must be of the same rows, got the shapes {shapes}")
    check_codes_of(tree, codes)
    check_range("target", target, tree.num_classes[0])
    check_weights("weight", weight)
