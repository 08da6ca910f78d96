"""Rows at the nodes of a tree whose subtrees move, on the host.

A *place* is a position in the tree, named by the node that stood there first; raising puts the split of a branch into
its parent's place. An *entry* is a part of a row at a place: a row whose value is missing is shared out among the
branches, in proportion to the known weight that each has.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.tree import CODES_PER_WORD, SplitKind, Tree


class Entries(NamedTuple):
    """Parts of rows, and the places where they are; a row is at a place once."""

    place: Int[np.ndarray, " entry"]
    row: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]

    def take(self, chosen: Bool[np.ndarray, " entry"] | Int[np.ndarray, " taken"]) -> "Entries":
        """Some of the entries."""
        return Entries(self.place[chosen], self.row[chosen], self.weight[chosen])


class Sent(NamedTuple):
    """Entries where they are sent to.

    Attributes:
        entries: First those that a code sends, then the parts of those that are shared out.
        num_known: How many a code sends.
    """

    entries: Entries
    num_known: int


class Places:
    """The tree as raising changes it.

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

    def __init__(self, tree: Tree, codes, target):
        self.tree, self.source = tree, np.arange(tree.feature.size)
        self.is_leaf, self.has_moved = tree.is_leaf.copy(), np.zeros(tree.feature.size, bool)
        self.count, self.num_rows = tree.count.astype(np.float64), tree.num_rows.copy()
        self.known: dict[int, Float[np.ndarray, "branch class"]] = {}
        self._codes, self._target = codes, target
        self._sums = np.zeros(tree.feature.size)

    def children(self, place: int) -> slice:
        """The places of the branches."""
        first = int(self.tree.first_child[self.source[place]])
        return slice(first, first + int(self.tree.num_children[self.source[place]]))

    def class_weights(self, entries: Entries, group: Int[np.ndarray, " entry"], num_groups: int):
        """The weight of every class in each group of entries."""
        num_classes = self.count.shape[1]
        cell = group * num_classes + self._target[entries.row]
        sums = np.bincount(cell, entries.weight, num_groups * num_classes).astype(np.float64)
        return sums.reshape(num_groups, num_classes)

    def send(self, entries: Entries) -> Sent:
        """Sends entries to the branches of their places."""
        split = self.source[entries.place]
        branch = self._branches(split, entries.row)
        first, num_branches = self.tree.first_child[split], self.tree.num_children[split]
        goes = branch < num_branches
        if goes.all():
            return Sent(entries._replace(place=first + branch), goes.size)
        sent = entries.take(goes)._replace(place=(first + branch)[goes])
        shared = self._share_out(entries.take(~goes), first[~goes], num_branches[~goes], sent)
        return Sent(Entries(*(np.concatenate(parts) for parts in zip(sent, shared, strict=True))), sent.row.size)

    def _share_out(self, held: Entries, first, num_branches, sent: Entries) -> Entries:
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
        return Entries(place[some], held.row[owner[some]], (held.weight[owner] * share)[some])

    def _branches(self, split: Int[np.ndarray, " entry"], row: Int[np.ndarray, " entry"]) -> Int[np.ndarray, " entry"]:
        """`jaxtree.tree.branch_of_code` on the host."""
        tree, kind = self.tree, self.tree.split_kind[split]
        code = self._codes[tree.feature[split], row].astype(np.int64)
        own = tree.code[split]
        branch = np.where(kind == SplitKind.THRESHOLD, code > own, code == own).astype(np.int64)
        branch = np.where(kind == SplitKind.MULTIWAY, code, branch)
        if tree.subset.shape[1]:
            word = tree.subset[split, np.minimum(code // CODES_PER_WORD, tree.subset.shape[1] - 1)]
            branch = np.where(kind == SplitKind.SUBSET, word.astype(np.int64) >> code % CODES_PER_WORD & 1, branch)
        return np.where(code == tree.missing_code[split], tree.missing_branch[split], branch)
