"""Rows that a missing value holds up at a node are shared out among its branches.

Such a row ends in several leaves, each with a weight, and is predicted by the weighted mean of what those leaves say
(Quinlan, *C4.5*, 1993, chapter 3).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.ensemble.walker import Walker
from jaxtree.growth.candidates import NO_BRANCH
from jaxtree.tree import Tree


class Visits(NamedTuple):
    """Rows and the leaves where parts of them end, with the weight of each part."""

    row: Int[np.ndarray, " visit"]
    node: Int[np.ndarray, " visit"]
    weight: Float[np.ndarray, " visit"]


class Sharing:
    """Shares out the rows that end at inner nodes of a table.

    Args:
        nodes: The table, on the host.
        walker: What walks rows through it.

    Attributes:
        is_shared: The nodes whose rows are shared out. A row without a branch stays at other nodes.
    """

    def __init__(self, nodes: Tree, walker: Walker):
        self._walker = walker
        self._children = np.asarray(nodes.first_child), np.asarray(nodes.num_children)
        self._weight = np.asarray(nodes.weight, np.float64)
        self.is_shared = ~np.asarray(nodes.is_leaf) & (np.asarray(nodes.missing_branch) == NO_BRANCH)
        self.is_needed = bool(self.is_shared.any())

    def mean(
        self,
        values: Float[np.ndarray, "row feature"],
        end: Int[np.ndarray, " row"],
        of_node: Float[np.ndarray, "node column"],
    ) -> Float[np.ndarray, "row column"]:
        """What nodes say, for rows whose walk in one tree ends at `end`.

        Args:
            values: The rows.
            end: Where their walks end.
            of_node: What every node says.
        """
        result = of_node.take(end, axis=0)
        split = self.held_up(end)
        if split.size:
            visits = self.share_out(values[split], end[split])
            result[split] = 0
            np.add.at(result, split[visits.row], visits.weight[:, None] * of_node[visits.node])
        return result

    def held_up(self, end: Int[np.ndarray, " row"]) -> Int[np.ndarray, " held"]:
        """The rows to be shared out, of those that end at `end`."""
        return np.flatnonzero(self.is_shared[end]) if self.is_needed else np.zeros(0, np.int64)

    def share_out(self, values: Float[np.ndarray, "row feature"], end: Int[np.ndarray, " row"]) -> Visits:
        """The leaves where the parts of rows end that a missing value holds up at `end`."""
        held = Visits(np.arange(len(end)), end, np.ones(len(end)))
        arrived = []
        while held.row.size:
            parts = self._to_children(held)
            parts = parts._replace(node=self._walker.ends(values[parts.row], parts.node))
            has_arrived = ~self.is_shared[parts.node]
            arrived.append(Visits(*(part[has_arrived] for part in parts)))
            held = Visits(*(part[~has_arrived] for part in parts))
        return Visits(*(np.concatenate(parts) for parts in zip(*arrived, strict=True)))

    def _to_children(self, held: Visits) -> Visits:
        """A part for every child, weighted by the child's share of the training weight."""
        first_child, num_children = (values[held.node] for values in self._children)
        source = np.repeat(np.arange(held.row.size), num_children)
        before = np.cumsum(num_children) - num_children
        child = first_child[source] + np.arange(source.size) - before[source]
        weight = self._weight[child]
        whole = np.bincount(source, weight, minlength=held.row.size)
        share = held.weight[source] * weight / whole[source]
        some = share > 0
        return Visits(held.row[source[some]], child[some], share[some])
