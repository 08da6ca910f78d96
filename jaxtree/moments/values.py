"""The moment of means: numbers are their own pseudo-outcomes, whatever the node."""

import dataclasses

import numpy as np
from jaxtyping import Float64

from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.moments.moment import NodeRows, Relabelled


@dataclasses.dataclass(frozen=True, eq=False)
class Values:
    """The moment of the means of numbers.

    Attributes:
        target: The numbers of every row.

    Example:
        >>> nodes = NodeRows.of([0, 1], [0, 0], np.ones(2), num_nodes=1)
        >>> Values(np.array([[1.0, 4.0]])).relabel(nodes, np.zeros((1, 0))).target.tolist()
        [[1.0, 4.0]]
    """

    target: Float64[np.ndarray, "output row"]
    rank = None

    @property
    def objective(self) -> Objective:
        """The squared error."""
        return Numbers(num_outputs=len(self.target))

    @property
    def start(self) -> Float64[np.ndarray, " parameter"]:
        """Nothing: a node needs none of its parent's means."""
        return np.zeros(0)

    def relabel(self, nodes: NodeRows, solution: Float64[np.ndarray, "node parameter"]) -> Relabelled:
        """Returns the numbers of every entry."""
        return Relabelled(self.target[:, nodes.row], np.ones(nodes.num_nodes, bool), solution)
