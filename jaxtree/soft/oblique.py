"""Hard trees whose splits are planes."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.soft.inputs import Inputs
from jaxtree.soft.scaling import Standard
from jaxtree.table.schema import value_in_words

LEAST_SHARE = 0.01
"""Of the largest weight of a plane; what weighs less is left out of its text."""


@dataclasses.dataclass(frozen=True, eq=False)
class ObliqueTree:
    """A tree whose nodes ask whether a sum of columns is above 0; its nodes stand in breadth-first order.

    Attributes:
        normal: What every column of `inputs` counts at a node; 0 in a leaf.
        offset: What is added; where the sum is above 0 a row goes to the second child.
        first_child: The first of two children; 0 for a leaf.
        num_children: 2, or 0 for a leaf.
        parent: The node above; the root is its own parent.
        depth: Edges to the root.
        num_rows: Rows at the node, of those that it was hardened on.
        weight: Their weight.
        value: What a node says: shares of classes, the outputs side by side, or means.
        inputs: How rows are made of values.
        num_classes: The classes of every output; empty for numbers.
    """

    normal: Float64[np.ndarray, "node column"]
    offset: Float64[np.ndarray, " node"]
    first_child: Int[np.ndarray, " node"]
    num_children: Int[np.ndarray, " node"]
    parent: Int[np.ndarray, " node"]
    depth: Int[np.ndarray, " node"]
    num_rows: Int[np.ndarray, " node"]
    weight: Float64[np.ndarray, " node"]
    value: Float64[np.ndarray, "node output"]
    inputs: Inputs
    num_classes: tuple[int, ...]

    @property
    def is_leaf(self) -> Bool[np.ndarray, " node"]:
        """Whether a node has no children."""
        return self.num_children == 0

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.offset.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def max_depth(self) -> int:
        """Depth of the deepest node."""
        return int(self.depth.max())

    def apply(self, values: Float[np.ndarray, "row value"]) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends.

        Args:
            values: Numbers, and codes of categories, NaN where one is missing: `Encoder.values`.
        """
        x = self.inputs.transform(values)
        node = np.zeros(len(x), np.int64)
        moving = np.flatnonzero(~self.is_leaf[node])
        while moving.size:
            at = node[moving]
            node[moving] = self.first_child[at] + above_planes(self.normal, self.offset, x[moving], at)
            moving = moving[~self.is_leaf[node[moving]]]
        return node

    def predict(self, values: Float[np.ndarray, "row value"]) -> Float64[np.ndarray, "row output"]:
        """Returns what the leaf says where every row ends."""
        return self.value[self.apply(values)]

    def export_text(self) -> str:
        """Returns the tree as text, a line a branch.

        A branch says what sum of columns is up to or above which limit: numbers in units of the table, or where they
        are scaled by quantiles, as q(name) on that scale; of a category 1 or 0. Columns that weigh less than a
        hundredth of what the heaviest does are left out. A line ends with what the node says, and its rows.
        """
        lines, stack = [], [0]
        while stack:
            node = stack.pop()
            indent = "|   " * (int(self.depth[node]) - 1) + "|-- " if node else ""
            said = ", ".join(value_in_words(value) for value in self.value[node].tolist())
            lines.append(f"{indent}{self.branch_in_words(node)}: {said} (rows {self.num_rows[node]})")
            if not self.is_leaf[node]:
                first = int(self.first_child[node])
                stack += [first + 1, first]
        return "\n".join(lines)

    def branch_in_words(self, node: int) -> str:
        """Says what holds of the rows that come to a node from the one above; "root" of the root."""
        if node == 0:
            return "root"
        above = int(self.parent[node])
        relation = ">" if node > self.first_child[above] else "<="
        words, limit = self.plane_in_words(above)
        return f"{words} {relation} {value_in_words(limit)}"

    def plane_in_words(self, node: int) -> tuple[str, float]:
        """The sum that a node looks at, as `export_text` writes it, and its limit."""
        normal, limit = self.normal[node].copy(), -float(self.offset[node])
        shown = np.abs(normal) >= LEAST_SHARE * np.abs(normal).max()
        names = list(self.inputs.names)
        for feature, scale in enumerate(self.inputs.scales):
            column = self.inputs.columns_of(feature).start
            if isinstance(scale, Standard):
                normal[column] /= scale.deviation
                limit += float(normal[column]) * scale.mean if shown[column] else 0.0
            elif scale is not None:
                names[column] = f"q({names[column]})"
        terms = [_term(float(normal[column]), names[column]) for column in np.flatnonzero(shown & (normal != 0))]
        return " ".join(terms).removeprefix("+ ") or "0", limit


def above_planes(
    normal: Float[np.ndarray, "node column"],
    offset: Float[np.ndarray, " node"],
    x: Float[np.ndarray, "row column"],
    node: Int[np.ndarray, " row"],
) -> Bool[np.ndarray, " row"]:
    """Whether every row lies above the plane of the node where it is."""
    return np.einsum("rc,rc->r", normal[node], x) + offset[node] > 0


def _term(weight: float, name: str) -> str:
    name = f"[{name}]" if " " in name else name
    size = value_in_words(abs(weight))
    return f"{'-' if weight < 0 else '+'} {name if size == '1' else f'{size} {name}'}"
