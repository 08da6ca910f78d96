r"""The moment of quantiles: a row's pseudo-outcome is the interval between the node's quantiles in which it lies.

At level $\tau_k$ the quantile $q_k$ of a node solves $\sum_i (1\{y_i \le q_k\} - \tau_k) = 0$. The intervals between
$q_1, ..., q_K$ are classes, and branches are chosen by Gini's impurity of them, as in Athey, Tibshirani and Wager
(*Generalized random forests*, Annals of Statistics 47, 2019, section 5).
"""

import dataclasses

import numpy as np
from jaxtyping import Float64, Int

from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Classes
from jaxtree.moments.moment import NodeRows, Relabelled, whole_sums


@dataclasses.dataclass(frozen=True, eq=False)
class Quantiles:
    """The moment of several quantiles.

    Attributes:
        rank: The place of every row's target among the different targets, ascending.
        levels: The levels, ascending.
        unit: The unit that weights are counted in, see `whole_sums`.

    Example:
        >>> nodes = NodeRows.of([0, 1, 2, 3], [0, 0, 0, 0], np.ones(4, np.int32), num_nodes=1)
        >>> Quantiles(np.array([0, 1, 1, 2]), (0.25, 0.5)).relabel(nodes, np.zeros((1, 0))).target.tolist()
        [[0, 1, 1, 2]]
    """

    rank: Int[np.ndarray, " row"]
    levels: tuple[float, ...]
    unit: float = 1.0

    @property
    def objective(self) -> Objective:
        """Gini's impurity of the intervals."""
        return Classes(len(self.levels) + 1)

    @property
    def start(self) -> Float64[np.ndarray, " parameter"]:
        """Nothing: the quantiles of a node follow from its rows."""
        return np.zeros(0)

    def relabel(self, nodes: NodeRows, solution: Float64[np.ndarray, "node parameter"]) -> Relabelled:
        """Returns the interval of every entry; the quantile of a level is the least target that reaches it."""
        own, total = self.rank[nodes.row], whole_sums(nodes, self.unit)
        before, after = total[nodes.first[:-1]], total[nodes.first[1:]]
        interval = np.zeros(nodes.row.size, np.int32)
        for level in self.levels:
            # At least one unit of weight lies up to the quantile.
            wanted = before + np.maximum(np.ceil(level * (after - before) * (1 - 1e-12)), 1).astype(np.int64)
            quantile = own[np.searchsorted(total[1:], wanted)]
            interval += own > quantile[nodes.node]
        return Relabelled(interval[None], np.ones(nodes.num_nodes, bool), solution)
