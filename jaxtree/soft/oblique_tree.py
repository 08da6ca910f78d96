"""Hard trees whose splits are planes: they compare weighted sums of columns."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.soft.inputs import Inputs
from jaxtree.soft.scales import Standard
from jaxtree.soft.statistics import Statistics
from jaxtree.soft.walk import walk_rows
from jaxtree.table.numerals import LEAST_DIGITS, decimal_near, decimals_together, exact_decimal

LARGEST_ERROR = 1e-6
"""By how much rounding may change a term of a plane in words, as a share of the greatest weight per deviation."""

ERROR_OF_FEW, DIGITS_OF_FEW = 0.005, 3
"""The same, and the least digits, where few terms alone are named."""

LEAST_SHARE = 0.01
"""A share of the largest weight of a plane; columns of less weight are left out of its text."""


@dataclasses.dataclass(frozen=True, eq=False)
class ObliqueTree:
    """A tree whose nodes compare weighted sums of columns with 0; its nodes stand in breadth-first order.

    Attributes:
        normal: The weight of every column of `inputs` at a node; 0 in a leaf.
        offset: A number that is added; where the sum is above 0 a row goes to the second child.
        first_child: The first of two children; 0 for a leaf.
        num_children: 2, or 0 for a leaf.
        parent: The node above; the root is its own parent.
        depth: Edges to the root.
        num_rows: Rows at the node, of those that it was hardened on.
        weight: Their weight.
        value: The value of every node: shares of classes, the outputs side by side, or means.
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

    @property
    def num_outputs(self) -> int:
        """Number of classes, or of outputs of numbers."""
        return self.value.shape[1]

    def apply(self, values: Float[np.ndarray, "row value"]) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends.

        Args:
            values: Numbers, and codes of categories, NaN where one is missing: `Encoder.values`.
        """
        return self.ends(self.inputs.transform(values))

    def ends(self, x: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends, of rows of `inputs.transform`."""
        return walk_rows(
            lambda row, node: above_planes(self.normal, self.offset, x[row], node),
            np.where(self.is_leaf, 0, self.first_child),
            len(x),
        )

    def predict(self, values: Float[np.ndarray, "row value"]) -> Float64[np.ndarray, "row output"]:
        """Returns the value of the leaf where every row ends."""
        return self.value[self.apply(values)]

    def export_text(self) -> str:
        """Returns the tree as text, a line a branch.

        A branch is a sum of columns up to or above a limit: numbers in units of the table, or, scaled by quantiles, as
        q(name) on that scale; of a category 1 or 0; of a column of many categories mean(name), the smoothed mean of the
        target that each has. Columns of less than a hundredth of the greatest weight are left out. A line ends with
        the value of the node, and its rows.
        """
        columns = [decimals_together(column.tolist()) for column in self.value.T]
        values = [", ".join(row) for row in zip(*columns, strict=True)]
        lines, stack = [], [0]
        while stack:
            node = stack.pop()
            indent = "|   " * (int(self.depth[node]) - 1) + "|-- " if node else ""
            lines.append(f"{indent}{self.branch_in_words(node)}: {values[node]} (rows {self.num_rows[node]})")
            if not self.is_leaf[node]:
                first = int(self.first_child[node])
                stack += [first + 1, first]
        return "\n".join(lines)

    def branch_in_words(self, node: int) -> str:
        """Returns the condition of the rows that come to a node from the one above; "root" for the root."""
        if node == 0:
            return "root"
        above = int(self.parent[node])
        relation = ">" if node > self.first_child[above] else "<="
        words, limit = self.plane_in_words(above)
        return f"{words} {relation} {exact_decimal(limit)}"

    def plane_in_words(self, node: int, most_terms: int | None = None) -> tuple[str, float]:
        """Returns the sum that a node compares, as `export_text` writes it, and its limit, of as few digits.

        With `most_terms` it names the terms of greatest weight per deviation and how many more there are, and all
        numbers are rounded; the limit is that of all terms.
        """
        normal, limit = self.normal[node].copy(), -float(self.offset[node])
        shown = np.abs(normal) >= LEAST_SHARE * np.abs(normal).max()
        names, far = list(self.inputs.names), np.ones(len(normal))
        share, digits = (LARGEST_ERROR, LEAST_DIGITS) if most_terms is None else (ERROR_OF_FEW, DIGITS_OF_FEW)
        error = share * float(np.abs(normal).max())
        for feature, scale in enumerate(self.inputs.scales):
            column = self.inputs.columns_of(feature).start
            if isinstance(scale, Standard | Statistics):
                own = slice(column, column + self.inputs.width(feature))
                mean, unit = scale if isinstance(scale, Standard) else (scale.mean, scale.unit)
                normal[own] /= unit
                limit += float(np.sum(normal[own] * mean, where=shown[own]))
                far[own] = np.abs(mean) + unit
            elif scale is not None:
                names[column] = f"q({names[column]})"
        columns = np.flatnonzero(shown & (normal != 0))
        greatest = np.argsort(-np.abs(self.normal[node][columns]), kind="stable")[:most_terms]
        chosen = columns[np.sort(greatest)].tolist()
        terms = [_term(float(normal[column]), names[column], float(error / far[column]), digits) for column in chosen]
        terms += [f"+ {len(columns) - len(chosen)} more"] * (len(columns) > len(chosen))
        return " ".join(terms).removeprefix("+ ") or "0", float(decimal_near(limit, error, digits))


def above_planes(
    normal: Float[np.ndarray, "node column"],
    offset: Float[np.ndarray, " node"],
    x: Float[np.ndarray, "row column"],
    node: Int[np.ndarray, " row"],
) -> Bool[np.ndarray, " row"]:
    """Whether every row lies above the plane of the node where it is."""
    return np.einsum("rc,rc->r", normal[node], x) + offset[node] > 0


def _term(weight: float, name: str, error: float, digits: int) -> str:
    name = f"[{name}]" if " " in name else name
    size = decimal_near(abs(weight), error, digits)
    return f"{'-' if weight < 0 else '+'} {name if size == '1' else f'{size} {name}'}"
