"""Small tables and moments that several tests grow on."""

import dataclasses

import numpy as np

from jaxtree.growth.inputs.bundles import Features, Limits, Rules
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.growth.native import engine_of
from jaxtree.moments.growth import RowCodes, TreeEntries, grow_relabelled
from jaxtree.moments.moment import Relabelled, sums_of_nodes


def coded_table(num_rows=60, num_features=4, num_bins=6, seed=0):
    """A table of codes drawn alike."""
    codes = np.random.default_rng(seed).integers(0, num_bins, (num_features, num_rows)).astype(np.uint8)
    return RowCodes(codes, Features(np.zeros(num_features, np.int32), np.full(num_features, num_bins)), num_bins)


def half_samples(num_rows, num_trees, seed=0):
    """TreeEntries of trees that have half of the rows each."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.permutation(num_rows)[: num_rows // 2] for _ in range(num_trees)]).astype(np.int32)
    tree = np.repeat(np.arange(num_trees, dtype=np.int32), num_rows // 2)
    return TreeEntries(rows.ravel(), tree, np.ones(tree.size, np.int32))


def grow(moment, table, entries, limits=Limits(), engine=None, **rules):
    """Grows trees of a moment by the engine of this host, or the given one."""
    rules = Rules(moment.objective, **rules)
    engine = engine_of(rules, "cpu", on_host=True) if engine is None else engine
    seeds = np.arange(entries.tree.max() + 1, dtype=np.uint32)
    return grow_relabelled(table, entries, moment, limits, rules, seeds, engine=engine)


@dataclasses.dataclass(frozen=True, eq=False)
class Mean:
    """The mean of numbers, whose trees the engine grows at once, too."""

    y: np.ndarray
    rank = None
    start = np.zeros(0)
    objective = Numbers()

    def relabel(self, nodes, solution):
        """The numbers less the mean of the node."""
        weight, own = nodes.weight.astype(float), self.y[nodes.row]
        mean = sums_of_nodes(weight * own, nodes) / sums_of_nodes(weight, nodes)
        return Relabelled((own - mean[nodes.node])[None], np.ones(nodes.num_nodes, bool), solution)
