"""Forests of moments that make their pseudo-outcomes anew at every node, and the rows that fill their leaves.

Tree t of a key is the same whatever the number of trees, of batches and of threads: its rows and the seed of its random
splits follow from the key and t, as in `jaxtree.forests.forest`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float32, Int, PRNGKeyArray

from jaxtree.arrays import Device
from jaxtree.blocks import in_threads
from jaxtree.devices import default_device, kind_of
from jaxtree.forests.batches import ACCELERATOR_LIMITS, CPU_LIMITS, Batch, TreeSize, make_batches, run_batches
from jaxtree.forests.forest import Course, Rows, Sampling, halves_of, rounded_weight, sampler_of, tree_seeds
from jaxtree.forests.honest import fill_leaves
from jaxtree.forests.samples import RowSampler, TreeRows, draw_rows, round_targets, split_key
from jaxtree.growth.inputs.bundles import Features, Limits, Rules
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.growth.native import engine_of
from jaxtree.moments.growth import RowCodes, TreeEntries, grow_relabelled
from jaxtree.moments.leaf_rows import LeafRows, gather_leaf_rows, join_leaf_rows
from jaxtree.moments.moment import Moment
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest, join_forests, take_trees
from jaxtree.tree.predictor import Predictor

FEWEST_ROOTS = 16
"""Seeds are drawn for a power of two of trees, this at least, so that few programs serve all batches."""


class MomentRules(NamedTuple):
    """How the trees of a moment grow.

    Attributes:
        moment: The moment.
        limits: When a node is not split.
        rules: How splits are chosen and made.
        least_share: The least share of a node's weight in a branch.
        with_thresholds: Returns a tree with the thresholds, in codes, by which rows that fill leaves are divided; those
            half way between the codes of its splits if not given.
    """

    moment: Moment
    limits: Limits
    rules: Rules
    least_share: float = 0.0
    with_thresholds: Callable[[Tree], Tree] | None = None


def grow_moment_forest(
    rows: Rows,
    features: Features,
    growth: MomentRules,
    sampling: Sampling,
    *,
    key: PRNGKeyArray,
    trees: range,
    course: Course = Course(),
) -> Forest:
    """Grows some trees of a key's forest; thresholds are codes. Nodes have the sums of the rows' targets.

    Args:
        rows: The table; its targets, numbers, are summed at the nodes alone.
        features: How the features may be split.
        growth: The moment, and how its trees grow.
        sampling: The rows of each tree.
        key: The key of the forest.
        trees: The numbers of the trees.
        course: Threads and batches.

    Returns:
        The trees; after an interrupt (Ctrl-C) those that come before the first that was not grown.
    """
    devices = course.devices or (default_device(),) * course.num_threads
    weight = rounded_weight(rows)
    # Multiples of one power of two, whose sums are exact in every batch.
    rounded = round_targets(
        rows.target, total=float(weight.sum()), most_count=int(np.ceil(weight.max())), centred=False
    )
    rows = rows._replace(target=rounded.values)
    own = _MomentGrowth(rows, features, growth, sampling, key, trees.start, kind_of(devices[0]))
    limits = CPU_LIMITS if kind_of(devices[0]) == "cpu" else ACCELERATOR_LIMITS
    batches = make_batches(len(trees), own.size_of_tree, len(devices), course.trees_per_batch, limits)
    workers = [functools.partial(own, device=device) for device in devices]
    return join_forests(run_batches(batches, workers, on_grown=course.on_grown))


class _MomentGrowth:
    """Grows batches of a forest; called from several threads."""

    def __init__(
        self,
        rows: Rows,
        features: Features,
        growth: MomentRules,
        sampling: Sampling,
        key: PRNGKeyArray,
        first_tree: int,
        kind_of_device: str,
    ):
        self._rows, self._features, self._growth = rows, features, growth
        self._table = RowCodes(rows.codes, features, rows.num_bins)
        self._drawing = sampler_of(rows, sampling, key)
        self._halves = None if sampling.split_share is None else halves_of(rows, sampling, key)
        self._key, self._first_tree = split_key(key)[1], first_tree
        rules = growth.rules._replace(objective=growth.moment.objective)
        self._engine = engine_of(rules, kind_of_device, on_host=True)
        number = rows.num_rows if self._drawing is None else self._drawing.expected_rows()
        if self._halves is not None:
            number = max(1, int(np.ceil(self._halves.share * number)))
        self.size_of_tree = TreeSize(number, 2 * number, 4 + len(rows.target), 0)
        self._values = values_of_codes(rows, features)

    def __call__(self, batch: Batch, device: Device) -> Forest:
        """Grows the trees of a batch on a device."""
        first, number = self._first_tree + batch.first, batch.end - batch.first
        drawn = draw_weighted(self._rows, self._drawing, first, number)
        grow, fill = (drawn, drawn) if self._halves is None else self._halves.divide(drawn, first)
        num_seeds = max(FEWEST_ROOTS, 1 << (batch.room - 1).bit_length())
        with jax.default_device(device):
            seeds = np.asarray(tree_seeds(self._key, first, num_roots=num_seeds))[:number]
            limits = self._growth.limits
            tree = grow_relabelled(
                self._table, TreeEntries(*grow), self._growth.moment, limits, self._growth.rules, seeds,
                engine=self._engine, least_share=self._growth.least_share,
            )  # fmt: skip
        forest = take_trees(tree, np.arange(number))
        if self._growth.with_thresholds is not None:
            forest = Forest(self._growth.with_thresholds(forest.nodes), forest.first_node)
        objective = Numbers(num_outputs=len(self._rows.target))
        return fill_leaves(forest, self._values, self._rows.target, fill, objective, np.zeros(0))


def draw_weighted(rows: Rows, drawing: RowSampler | None, first_tree: int, num_trees: int) -> TreeRows:
    """Returns the rows that some trees draw without replacement, each with its weight."""
    weight = rounded_weight(rows)
    if drawing is None:
        row = np.tile(np.arange(rows.num_rows, dtype=np.int32), num_trees)
        tree = np.repeat(np.arange(num_trees, dtype=np.int32), rows.num_rows)
        return TreeRows(row, tree, weight[row])
    drawn = draw_rows(drawing, first_tree, num_trees)
    return drawn if rows.weight is None else drawn._replace(weight=weight[drawn.row])


def values_of_codes(rows: Rows, features: Features) -> Float32[np.ndarray, "row feature"]:
    """Returns codes as thresholds that are codes compare them: NaN where a value is missing."""
    known = features.num_codes if features.num_values is None else features.num_values
    values = rows.codes.T.astype(np.float32)
    values[np.asarray(known) <= rows.codes.T] = np.nan
    return values


class Filling(NamedTuple):
    """The rows that fill the leaves of trees.

    Attributes:
        rows: The table.
        features: How the features may be split.
        sampling: The rows of each tree.
        key: The key of the forest.
    """

    rows: Rows
    features: Features
    sampling: Sampling
    key: PRNGKeyArray


def over_leaves(
    forest: Forest, filling: Filling, work: Callable[[int, Int[np.ndarray, " entry"], TreeRows], LeafRows]
) -> LeafRows:
    """Returns what the leaves of all trees keep.

    Args:
        forest: The trees from the first on, as `grow_moment_forest` has grown them.
        filling: The rows that fill them.
        work: The function of the number of a tree's nodes, of the leaf of every row that fills it, and of these rows.
    """
    rows, _, sampling, key = filling
    drawing = sampler_of(rows, sampling, key)
    halves = None if sampling.split_share is None else halves_of(rows, sampling, key)
    values = values_of_codes(rows, filling.features)

    def of_tree(number: int) -> LeafRows:
        drawn = draw_weighted(rows, drawing, number, 1)
        own = drawn if halves is None else halves.divide(drawn, number)[1]
        node = Predictor(Forest.of(forest[number])).ends_in_trees(values[own.row])[:, 0]
        return work(int(forest.num_nodes[number]), node, own)

    return join_leaf_rows(in_threads(of_tree, range(len(forest))))


def fill_with_rows(forest: Forest, filling: Filling, atom: Int[np.ndarray, " row"], *, num_atoms: int) -> LeafRows:
    """Returns the rows in the leaves of a forest, see `over_leaves`.

    Args:
        forest: The trees.
        filling: The rows that fill them.
        atom: The atom of every row.
        num_atoms: The number of atoms.
    """

    def of_tree(num_nodes: int, node: Int[np.ndarray, " entry"], own: TreeRows) -> LeafRows:
        weight: Any = None if filling.rows.weight is None else own.weight
        return gather_leaf_rows(node, atom[own.row], weight, num_nodes=num_nodes, num_atoms=num_atoms)

    return over_leaves(forest, filling, of_tree)
