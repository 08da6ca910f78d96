"""Growth of a forest: many trees on one table, as roots of few growths.

Tree t of a key is the same whatever the number of trees, of batches, threads and devices: its rows and the seed of its
random splits follow from the key and t, and its sums are exact.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Float64, Int, PRNGKeyArray, Real, UInt, UInt32

from jaxtree.arrays import AnyArray, Device
from jaxtree.buckets import capacity_bucket, feature_bucket, pad_to, row_bucket
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.devices import default_device, kind_of
from jaxtree.errors import present
from jaxtree.forests.batches import ACCELERATOR_LIMITS, CPU_LIMITS, Batch, TreeSize, make_batches, run_batches
from jaxtree.forests.honest import fill_leaves
from jaxtree.forests.row_sums import MOST_WHOLE_WEIGHT
from jaxtree.forests.samples import (
    RoundedTarget,
    RowSampler,
    TreeRows,
    draw_rows,
    make_drawing,
    restore_sums,
    round_targets,
    round_weights,
    seed_of,
    split_key,
)
from jaxtree.forests.subsamples import Bags, Halves, Subsampler, units_of
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.inputs.bundles import Data, Features, Limits, Rules, Sizes, has_seeds
from jaxtree.growth.inputs.tables import MOST_BINS_TABLED
from jaxtree.growth.loop.grow import grow_checked
from jaxtree.growth.native import engine_of
from jaxtree.kernels.choose import Engine
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest, join_forests, take_trees

NODES_PER_ENTRY = 0.25
"""Room for nodes that growth of classes begins with: leaves are pure before every row has its own."""

MORE_NODES = 4
"""By how much the room grows when it is too small."""

FEWEST_ROOTS = 16
"""Roots of a growth are padded to a power of two, this at least; a root without entries costs a node."""


class Rows(NamedTuple):
    """The table that a forest is grown on.

    Attributes:
        codes: The codes of every feature.
        target: Classes of every output, or numbers.
        num_classes: The number of classes of the output that has most; 0 for numbers.
        num_bins: Codes of the feature that has most.
        weight: The weight of every row, with bootstrap samples its chance; None is 1.
        with_thresholds: Returns trees with the thresholds, in codes, at which rows are divided that fill leaves; those
            of growth, half way between the codes of a node, if not given.
    """

    codes: UInt[np.ndarray, "feature row"]
    target: Real[np.ndarray, "output row"]
    num_classes: int
    num_bins: int
    weight: Float64[np.ndarray, " row"] | None = None
    with_thresholds: Callable[[Tree], Tree] | None = None

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.target.shape[1]


class Sampling(NamedTuple):
    """The rows that each tree is grown on.

    Attributes:
        num_draws: Draws of a bootstrap sample; None for all rows, each with its weight.
        balances_classes: Whether a tree weights the classes of its sample so that all count alike.
        least_share: The least share of a tree's whole weight in a branch.
        bags: How trees draw units without replacement; None if they do not.
        split_share: The share of a tree's units that chooses splits, while the others fill leaves; None for all.
        group: The group of every row, where the rows of one are drawn, and divided, together.
    """

    num_draws: int | None = None
    balances_classes: bool = False
    least_share: float = 0.0
    bags: Bags | None = None
    split_share: float | None = None
    group: Int[np.ndarray, " row"] | None = None


class Course(NamedTuple):
    """How the work is done, on which the forest does not depend.

    Attributes:
        num_threads: Batches that grow at the same time, where there is one device.
        devices: The devices to divide the batches among; the default one if not given.
        trees_per_batch: The most trees of a batch; chosen by memory and threads if not given.
        on_grown: Called with the number of trees of every batch that is done.
    """

    num_threads: int = 1
    devices: tuple[Device, ...] = ()
    trees_per_batch: int | None = None
    on_grown: Callable[[int], Any] | None = None


def grow_forest(
    rows: Rows,
    features: Features,
    limits: Limits,
    sampling: Sampling,
    rules: Rules,
    *,
    key: PRNGKeyArray,
    trees: range,
    course: Course = Course(),
) -> Forest:
    """Grows some trees of a key's forest, by their numbers; thresholds are codes.

    Args:
        rows: The table; nothing of it is checked.
        features: How the features may be split.
        limits: When a node is not split: numbers, or arrays with one number for every tree. A row of a bootstrap sample
            counts as often as it was drawn.
        sampling: The rows of each tree.
        rules: How splits are scored, chosen and made.
        key: The key of the forest.
        trees: The numbers of the trees.
        course: Threads and batches.

    Returns:
        The trees; after an interrupt (Ctrl-C) those that come before the first that was not grown.

    Raises:
        KeyboardInterrupt: An interrupt came before the first batch was done.
        MemoryError: There is not enough memory for one tree; or JAX's own error of the kind.

    Example:
        >>> from jaxtree.growth import Classes
        >>> rows = Rows(np.array([[0, 0, 1, 1]], np.uint8), np.array([[0, 0, 1, 1]]), num_classes=2, num_bins=2)
        >>> features = Features(np.zeros(1, np.int32), np.full(1, 2))
        >>> sampling, rules = Sampling(num_draws=4), Rules(Classes(2))
        >>> forest = grow_forest(rows, features, Limits(), sampling, rules, key=jax.random.key(0), trees=range(3))
        >>> len(forest), [int(tree.count[0].sum()) for tree in forest]
        (3, [4, 4, 4])
    """
    _, own_key = split_key(key)
    # A thread does not see the device that its caller has chosen in a context.
    devices = course.devices or (default_device(),) * course.num_threads
    engine = engine_of(rules, kind_of(devices[0]), on_host=True)
    sampler = sampler_of(rows, sampling, key)
    halves = None if sampling.split_share is None else halves_of(rows, sampling, key)
    growth = _ForestGrowth(rows, sampling, sampler, halves, features, limits, rules, own_key, trees.start, engine)
    batch_limits = CPU_LIMITS if kind_of(devices[0]) == "cpu" else ACCELERATOR_LIMITS
    batches = make_batches(len(trees), growth.size_of_tree, len(devices), course.trees_per_batch, batch_limits)
    workers = [functools.partial(growth, device=device) for device in devices]
    return join_forests(run_batches(batches, workers, on_grown=course.on_grown))


def sampler_of(rows: Rows, sampling: Sampling, key: PRNGKeyArray) -> RowSampler | None:
    """Returns how the trees of a key's forest draw their rows; None if all have all rows."""
    draw_key, _ = split_key(key)
    if sampling.bags is not None:
        return Subsampler(seed_of(draw_key), *units_of(sampling.group, rows.num_rows), sampling.bags)
    if sampling.num_draws is None:
        return None
    return make_drawing(draw_key, rows.num_rows, sampling.num_draws, rows.weight)


def halves_of(rows: Rows, sampling: Sampling, key: PRNGKeyArray) -> Halves:
    """Returns how the rows of a tree of a key's forest are divided, where some fill its leaves alone."""
    share = present(sampling.split_share)
    return Halves(seed_of(split_key(key)[0]), *units_of(sampling.group, rows.num_rows), share)


class _ForestGrowth:
    """Grows batches of a forest; called from several threads, which share what is the same for all batches.

    Args:
        rows: The table.
        sampling: The rows of each tree.
        drawing: How they are drawn; None for all rows.
        halves: How those of a tree are divided; None if they are not.
        features: How the features may be split.
        limits: Numbers, or arrays with one number for every tree.
        rules: How splits are scored, chosen and made.
        key: The key of the random splits.
        first_tree: The number of the first tree of the first batch.
        engine: Who grows.

    Attributes:
        size_of_tree: The size of a tree while it grows.
    """

    def __init__(
        self,
        rows: Rows,
        sampling: Sampling,
        drawing: RowSampler | None,
        halves: Halves | None,
        features: Features,
        limits: Limits,
        rules: Rules,
        key: PRNGKeyArray,
        first_tree: int,
        engine: Engine,
    ):
        self._rows, self._sampling, self._drawing, self._halves = rows, sampling, drawing, halves
        self._features, self._limits, self._rules = features, limits, rules
        self._key, self._first_tree, self._engine = key, first_tree, engine
        self.size_of_tree = self._size_of_tree()
        self._rounded = None if rows.num_classes else self._round_targets()
        self._weight = rounded_weight(rows)
        self._target = rows.target if self._rounded is None else self._rounded.values
        self._on_devices: dict[Device, tuple[Any, Any]] = {}
        # Random thresholds take more of them until leaves are pure.
        share = NODES_PER_ENTRY * (1 + rules.samples_thresholds)
        self._share_of_nodes = share if rows.num_classes else 1.0
        self._spread = 2

    def __call__(self, batch: Batch, device: Device) -> Forest:
        """Grows the trees of a batch on a device."""
        entries, others = self._entries(batch)
        with jax.default_device(device):
            table = (
                self._on_host(batch, entries)
                if self._engine is Engine.HOST
                else self._on_device(batch, entries, device)
            )
        forest = take_trees(table, np.arange(batch.end - batch.first))
        if others is not None:
            limits = self._limits_of(batch, batch.end - batch.first, entries)
            parameters = np.asarray(limits.parameters, np.float64)
            filling = self._values_of_codes, self._target, others, self._rules.objective, parameters
            if self._rows.with_thresholds is not None:
                forest = dataclasses.replace(forest, nodes=self._rows.with_thresholds(forest.nodes))
            forest = fill_leaves(forest, *filling)
        return forest if self._rounded is None else _restored(forest, self._rounded)

    @functools.cached_property
    def _values_of_codes(self) -> Float32[np.ndarray, "row feature"]:
        """The codes as thresholds that are codes compare them: NaN where a value is missing."""
        features = self._features
        known = features.num_codes if features.num_values is None else features.num_values
        values = self._rows.codes.T.astype(np.float32)
        values[np.asarray(known) <= self._rows.codes.T] = np.nan
        return values

    def _on_host(self, batch: Batch, entries: TreeRows) -> Tree:
        num_trees = batch.end - batch.first
        data = Data(self._rows.codes, self._target, entries.weight, entries.row, entries.tree)
        seeds = np.asarray(self._seeds(batch))[:num_trees]
        limits = self._limits_of(batch, num_trees, entries)
        return grow_on_host(data, self._features, limits, self._rules, self._rows.num_bins, seeds)

    def _on_device(self, batch: Batch, entries: TreeRows, device: Device) -> Tree:
        """Grows with more room for nodes and entries until it is enough; batches that follow begin with as much."""
        num_roots = self._num_roots(batch)
        num_entries = row_bucket(max(entries.row.size, self._room_for_entries(batch.room)))
        row, tree, weight = (pad_to(values, num_entries) for values in entries)
        codes, target = self._arrays_on(device)
        data, limits = Data(codes, target, weight, row, tree), self._limits_of(batch, num_roots, entries)
        features = self._features.with_empty(len(codes) - len(self._rows.codes))
        seeds = self._seeds(batch)
        while True:
            share, spread = self._share_of_nodes, self._spread
            most_nodes = int(share * batch.room * self.size_of_tree.num_nodes)
            capacity = capacity_bucket(most_nodes, self._rows.num_classes)
            sizes = Sizes(self._rows.num_bins, capacity, num_roots, spread * num_entries)
            # Grown in float64 whatever the user's setting, which every thread has for itself.
            with jax.enable_x64(True):
                table, complete = grow_checked(data, features, limits, self._rules, sizes, seeds)
                if complete:
                    return table
            self._share_of_nodes, self._spread = MORE_NODES * share, 2 * spread

    @staticmethod
    def _num_roots(batch: Batch) -> int:
        """The roots of a growth on a device, some of which may have no tree."""
        return max(FEWEST_ROOTS, 1 << (batch.room - 1).bit_length())

    def _seeds(self, batch: Batch) -> UInt32[AnyArray, " root"]:
        """The seeds of what the roots of a batch draw; one program serves many numbers of trees."""
        num_roots = self._num_roots(batch)
        if not has_seeds(self._rules):
            return np.zeros(num_roots, np.uint32)
        return tree_seeds(self._key, self._first_tree + batch.first, num_roots=num_roots)

    def _entries(self, batch: Batch) -> tuple[TreeRows, TreeRows | None]:
        """The rows that trees grow on, and those that fill their leaves, if these are others."""
        num_trees, num_rows = batch.end - batch.first, self._rows.num_rows
        if self._drawing is None:
            row = np.tile(np.arange(num_rows, dtype=np.int32), num_trees)
            tree = np.repeat(np.arange(num_trees, dtype=np.int32), num_rows)
            drawn = TreeRows(row, tree, np.tile(self._weight, num_trees))
        else:
            drawn = draw_rows(self._drawing, self._first_tree + batch.first, num_trees)
        if self._sampling.balances_classes:
            drawn = _balanced(drawn, self._rows.target, present(self._drawing))
        if self._halves is None:
            return drawn, None
        return self._halves.divide(drawn, self._first_tree + batch.first)

    def _limits_of(self, batch: Batch, num_roots: int, entries: TreeRows) -> Limits:
        """The limits of the batch's trees; the roots without a tree have any."""
        padding, share = (0, num_roots - (batch.end - batch.first)), self._sampling.least_share
        *numbers, parameters = self._limits
        of_roots = (
            np.pad(limit[batch.first : batch.end], padding, mode="edge") if np.ndim(limit) else limit
            for limit in numbers
        )
        if np.ndim(parameters) > 1:
            parameters = np.pad(parameters[batch.first : batch.end], (padding, (0, 0)), mode="edge")
        limits = Limits(*of_roots, parameters=parameters)
        if not share:
            return limits
        total = np.bincount(entries.tree, entries.weight, minlength=num_roots)
        return limits._replace(min_weight_leaf=np.maximum(limits.min_weight_leaf, share * total))

    def _size_of_tree(self) -> TreeSize:
        rows, deepest = self._rows, min(int(np.max(self._limits.max_depth)), 30)
        num_entries = rows.num_rows if self._drawing is None else self._drawing.expected_rows()
        if self._halves is not None:
            num_entries = max(1, math.ceil(self._halves.share * num_entries))
        num_nodes = min(2 * num_entries, 2 ** (deepest + 1))
        num_sums = len(rows.target) * rows.num_classes or 2 + len(rows.target)
        num_scanned = int(np.sum(np.asarray(self._features.num_codes) > MOST_BINS_TABLED))
        return TreeSize(num_entries, num_nodes, num_sums, num_scanned)

    def _room_for_entries(self, num_trees: int) -> int:
        """Entries of so many trees, except for one batch in a hundred thousand."""
        expected = num_trees * self.size_of_tree.num_entries
        return expected if self._drawing is None else expected + int(4 * np.sqrt(expected))

    def _round_targets(self) -> RoundedTarget:
        if self._drawing is not None:
            total, most_count = self._drawing.num_draws, self._drawing.largest_count()
        elif self._rows.weight is None:
            total, most_count = self._rows.num_rows, 1
        else:
            total, most_count = float(self._rows.weight.sum()), math.ceil(self._rows.weight.max())
        centred = self._rules.objective.is_centred
        return round_targets(self._rows.target, total=total, most_count=most_count, centred=centred)

    def _arrays_on(self, device: Device) -> tuple[Any, Any]:
        """Codes and target on a device, in buckets, once for all its batches; its threads may race to put them there.

        Where features are scanned they stay on the host, which sorts the entries.
        """
        if device not in self._on_devices:
            num_features, num_rows = self._rows.codes.shape
            further, rows = feature_bucket(num_features) - num_features, (0, row_bucket(num_rows) - num_rows)
            padded = np.pad(self._rows.codes, ((0, further), rows)), np.pad(self._target, ((0, 0), rows))
            with jax.enable_x64(True):
                is_scanned = self.size_of_tree.num_scanned > 0
                self._on_devices[device] = padded if is_scanned else jax.device_put(padded, device)
        return self._on_devices[device]


@compiled("num_roots", options=options_of_small_programs)
def tree_seeds(key: PRNGKeyArray, first: Any, *, num_roots: int) -> UInt32[Array, " root"]:
    """Returns the seeds of what trees that follow one another draw, each as if it grew alone; see `root_seeds`."""
    number = jnp.uint32(first) + jnp.arange(num_roots, dtype=jnp.uint32)
    draw = lambda tree: jax.random.bits(jax.random.fold_in(jax.random.fold_in(key, tree), 0), (), jnp.uint32)  # noqa: E731
    return jax.vmap(draw)(number)


def rounded_weight(rows: Rows) -> Real[np.ndarray, " row"]:
    """Returns the weights of rows that are all used, in the type that growth sums them in."""
    weight = rows.weight
    if weight is None:
        return np.ones(rows.num_rows, np.int32)
    if np.all(weight == np.floor(weight)) and weight.sum() <= MOST_WHOLE_WEIGHT:
        return weight.astype(np.int32)
    return round_weights(weight, weight.max(), rows.num_rows)


def _balanced(drawn: TreeRows, targets: Real[np.ndarray, "output row"], drawing: RowSampler) -> TreeRows:
    """The rows with weights by which all classes of a tree's sample count alike; of several outputs multiplied."""
    weight, num_trees = drawn.weight.astype(np.float64), int(drawn.tree[-1]) + 1
    for target in targets:
        num_classes = int(target.max()) + 1
        cell = drawn.tree * num_classes + target[drawn.row]
        count = np.bincount(cell, drawn.weight, minlength=num_trees * num_classes).reshape(num_trees, num_classes)
        present = np.maximum(np.sum(count > 0, axis=1, keepdims=True), 1)
        factor = np.divide(count.sum(axis=1, keepdims=True), present * count, out=np.zeros_like(count), where=count > 0)
        weight *= factor.ravel()[cell]
    most = float(drawing.num_draws) ** len(targets)
    return drawn._replace(weight=round_weights(weight, most, drawing.num_rows))


def _restored(forest: Forest, rounded: RoundedTarget) -> Forest:
    nodes = forest.nodes
    target_sum = restore_sums(nodes.target_sum, nodes.weight, rounded.offset)
    return dataclasses.replace(forest, nodes=dataclasses.replace(nodes, target_sum=target_sum))
