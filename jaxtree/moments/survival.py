r"""The moment of survival times: a row's pseudo-outcome is its event less the hazard that it has outlived.

With Nelson and Aalen's estimate of the node, $\Lambda(t) = \sum_{s \le t} d_s / Y_s$ ($d_s$ the weight of events at
time s, $Y_s$ the weight of the rows that are watched until then or longer), the pseudo-outcome of a row is
$\rho_i = \delta_i - \Lambda(t_i)$, its martingale residual. Its sum over a branch is the numerator of the log-rank
statistic exactly, the events of the branch less those that are expected of it:
$\sum_{i \in b} \Lambda(t_i) = \sum_s Y_{s,b}\, d_s / Y_s$. The variance of that sum over all ways to divide the rows is
in proportion to $n_b (n - n_b)$, so that $\sum_b \rho_b^2 / n_b$ orders splits as the log-rank statistic with the
variance of permutations does (Hothorn and Lausen, *On the exact distribution of maximally selected rank statistics*,
Computational Statistics & Data Analysis 43, 2003).
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.moments.moment import NodeRows, Relabelled, whole_sums

BITS_OF_HAZARD = 32
"""Bits behind the point of a hazard: sums of a batch of up to 2**24 entries are exact."""


@dataclasses.dataclass(frozen=True, eq=False)
class SurvivalTimes:
    """The moment of survival times.

    Attributes:
        rank: The place of every row's time among the different times, ascending.
        event: Whether the time is that of an event; it is the end of watching otherwise.
        unit: The unit that weights are counted in, see `whole_sums`.

    Example: of three rows one has its event while all are watched, then one of two.
        >>> nodes = NodeRows.of([0, 1, 2], [0, 0, 0], np.ones(3, np.int32), num_nodes=1)
        >>> moment = SurvivalTimes(np.array([0, 1, 2]), np.array([True, True, False]))
        >>> moment.relabel(nodes, np.zeros((1, 0))).target.round(3).tolist()
        [[0.667, 0.167, -0.833]]
    """

    rank: Int[np.ndarray, " row"]
    event: Bool[np.ndarray, " row"]
    unit: float = 1.0

    @property
    def objective(self) -> Objective:
        """The squared sum of pseudo-outcomes over the weight."""
        return Numbers()

    @property
    def start(self) -> Float64[np.ndarray, " parameter"]:
        """Nothing: the hazard of a node follows from its rows."""
        return np.zeros(0)

    def relabel(self, nodes: NodeRows, solution: Float64[np.ndarray, "node parameter"]) -> Relabelled:
        """Returns the martingale residual of every entry; a node without an event is not split."""
        event = self.event[nodes.row]
        first, share = self.steps(nodes)
        tie = np.repeat(np.arange(first.size), np.diff(np.append(first, nodes.row.size)))
        steps = np.rint(share * 2.0**BITS_OF_HAZARD).astype(np.int64)
        hazard = np.concatenate([[0], np.cumsum(steps)])
        own = hazard[1:][tie] - hazard[tie[nodes.first[:-1]]][nodes.node]
        residual = event - own * 2.0**-BITS_OF_HAZARD
        has_event = np.add.reduceat(event.astype(np.int32), nodes.first[:-1]) > 0
        return Relabelled(residual[None], has_event, solution)

    def steps(self, nodes: NodeRows) -> tuple[Int[np.ndarray, " tie"], Float64[np.ndarray, " tie"]]:
        """Returns the first entry of every time of every node, and the hazard of the node at that time."""
        time, total = self.rank[nodes.row], whole_sums(nodes, self.unit)
        begins = np.append(True, time[1:] != time[:-1])
        begins[nodes.first[:-1][np.diff(nodes.first) > 0]] = True
        first = np.flatnonzero(begins)
        watched = total[nodes.first[1:]][nodes.node[first]] - total[first]
        events = np.add.reduceat(np.where(self.event[nodes.row], np.diff(total), 0), first)
        return first, events / watched
