"""Growth of one batch of a forest's trees: its entries, the room for its nodes, and the trees taken out."""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int32, Key, PRNGKeyArray, Real, UInt

from jaxtree.arrays import Device
from jaxtree.buckets import capacity_bucket, row_bucket
from jaxtree.compilation import compiled
from jaxtree.forests.batches import Batch, TreeSize
from jaxtree.forests.drawing import Drawing, draw_rows, expected_rows, largest_count
from jaxtree.forests.exact import RoundedTarget, restore, round_targets, round_weights
from jaxtree.growth.grow import grow
from jaxtree.growth.inputs import Data, Features, Limits, Rules, Sizes
from jaxtree.growth.prepare import MOST_BINS_TABLED
from jaxtree.tree import Forest, Tree, take_trees

NODES_PER_ENTRY = 0.25
"""Room for nodes that growth of classes begins with: they are told apart before every row is alone."""

MORE_NODES = 4
"""By how much the room grows when it is too small."""

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""


class ForestSample(NamedTuple):
    """The table, and how each tree draws its rows; see `Rows` and `Sampling`."""

    codes: UInt[np.ndarray, "feature row"]
    target: Real[np.ndarray, "output row"]
    num_classes: int
    num_bins: int
    weight: Float64[np.ndarray, " row"] | None
    drawing: Drawing | None
    balances_classes: bool
    least_share: float

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.target.shape[1]

    @property
    def total(self) -> float:
        """What the weights of a tree add up to."""
        if self.drawing is not None:
            return float(self.drawing.num_draws)
        return float(self.num_rows) if self.weight is None else float(self.weight.sum())


class BatchEntries(NamedTuple):
    """The rows of a batch: row, tree and weight of each entry."""

    row: Int32[np.ndarray, " entry"]
    tree: Int32[np.ndarray, " entry"]
    weight: Real[np.ndarray, " entry"]


class ForestGrowth:
    """Grows batches of a forest; called from several threads, which share what is the same for all batches.

    Args:
        sample: The table.
        features: How the features may be split.
        limits: Numbers, or arrays with one number for every tree.
        rules: How splits are judged, chosen and made.
        key: The key of the random splits.
        first_tree: The number of the first tree of the first batch.

    Attributes:
        size_of_tree: What a tree takes.
    """

    def __init__(
        self,
        sample: ForestSample,
        features: Features,
        limits: Limits,
        rules: Rules,
        *,
        key: PRNGKeyArray,
        first_tree: int,
    ):
        self._sample = sample
        self._features = features
        self._limits = limits
        self._rules = rules
        self._first_tree = first_tree
        self._draws = rules.samples_features or rules.samples_thresholds
        self._key = key
        self.size_of_tree = self._size_of_tree()
        self._rounded = None if sample.num_classes else self._round_targets()
        self._weight = _rounded_weight(sample)
        self._codes, self._target = self._padded_arrays()
        self._on_devices: dict[Device, tuple[Any, Any]] = {}
        self._share_of_nodes = NODES_PER_ENTRY if sample.num_classes else 1.0
        self._spread = 2

    def __call__(self, batch: Batch, device: Device) -> Forest:
        """Grows the trees of a batch on a device."""
        with jax.default_device(device):
            return self._grow(batch, *self._arrays_on(device))

    def _grow(self, batch: Batch, codes: Any, target: Any) -> Forest:
        entries = self._entries(batch)
        num_entries = row_bucket(max(entries.row.size, self._room_for_entries(batch.room)))
        row, tree, weight = (np.pad(values, (0, num_entries - entries.row.size)) for values in entries)
        num_roots = _root_bucket(batch.room)
        data, limits = Data(codes, target, weight, row, tree), self._limits_of(batch, num_roots, entries)
        key = _tree_keys(self._key, self._first_tree + batch.first, num_roots=num_roots) if self._draws else None

        def grow_once(**room):
            sizes = Sizes(self._sample.num_bins, num_roots=num_roots, **room)
            return grow(data, self._features, limits, self._rules, sizes, key=key)

        table = self._grow_completely(grow_once, batch.room * self.size_of_tree.num_nodes, num_entries)
        forest = take_trees(table, np.arange(batch.end - batch.first))
        return forest if self._rounded is None else _restored(forest, self._rounded)

    def _grow_completely(self, grow_once: Any, most_nodes: int, num_entries: int) -> Tree:
        """Grows with more room for nodes and entries until it is enough; batches that follow begin with as much."""
        while True:
            share, spread = self._share_of_nodes, self._spread
            # Grown in float64 whatever the user's setting, which every thread has for itself.
            with jax.enable_x64(True):
                capacity = capacity_bucket(int(share * most_nodes))
                tree, complete = grow_once(capacity=capacity, entry_capacity=spread * num_entries)
                if complete:
                    return _on_host(tree)
            self._share_of_nodes, self._spread = MORE_NODES * share, 2 * spread

    def _entries(self, batch: Batch) -> BatchEntries:
        num_trees, sample = batch.end - batch.first, self._sample
        if sample.drawing is None:
            row = np.tile(np.arange(sample.num_rows, dtype=np.int32), num_trees)
            tree = np.repeat(np.arange(num_trees, dtype=np.int32), sample.num_rows)
            return BatchEntries(row, tree, np.tile(self._weight, num_trees))
        drawn = BatchEntries(*draw_rows(sample.drawing, self._first_tree + batch.first, num_trees))
        return _balanced(drawn, sample, num_trees) if sample.balances_classes else drawn

    def _limits_of(self, batch: Batch, num_roots: int, entries: BatchEntries) -> Limits:
        """The limits of the batch's trees; the roots without a tree have any."""
        of_tree = slice(batch.first, batch.end)
        limits = Limits(*(_of_roots(limit, of_tree, num_roots) for limit in self._limits))
        if not self._sample.least_share:
            return limits
        total = np.bincount(entries.tree, entries.weight, minlength=num_roots)
        return limits._replace(min_weight_leaf=np.maximum(limits.min_weight_leaf, self._sample.least_share * total))

    def _size_of_tree(self) -> TreeSize:
        sample, deepest = self._sample, min(int(np.max(self._limits.max_depth)), 30)
        num_entries = sample.num_rows if sample.drawing is None else expected_rows(sample.drawing)
        num_nodes = min(2 * num_entries, 2 ** (deepest + 1))
        num_sums = len(sample.target) * sample.num_classes or 2 + len(sample.target)
        num_scanned = int(np.sum(np.asarray(self._features.num_codes) > MOST_BINS_TABLED))
        return TreeSize(num_entries, num_nodes, num_sums, num_scanned)

    def _room_for_entries(self, num_trees: int) -> int:
        """Entries of so many trees, but for one batch in a hundred thousand."""
        expected = num_trees * self.size_of_tree.num_entries
        return expected if self._sample.drawing is None else expected + int(4 * np.sqrt(expected))

    def _round_targets(self) -> RoundedTarget:
        sample = self._sample
        if sample.drawing is not None:
            most_count = largest_count(sample.drawing)
        else:
            most_count = 1 if sample.weight is None else math.ceil(sample.weight.max())
        centred = self._rules.objective.is_centred
        return round_targets(sample.target, total=sample.total, most_count=most_count, centred=centred)

    def _padded_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes and target padded to a bucket of rows."""
        target = self._sample.target if self._rounded is None else self._rounded.values
        padding = ((0, 0), (0, row_bucket(self._sample.num_rows) - self._sample.num_rows))
        return np.pad(self._sample.codes, padding), np.pad(target, padding)

    def _arrays_on(self, device: Device) -> tuple[Any, Any]:
        """Codes and target on a device, once for all its batches; its threads may race to put them there.

        Where features are scanned they stay on the host, which sorts the entries.
        """
        if self.size_of_tree.num_scanned:
            return self._codes, self._target
        if device not in self._on_devices:
            with jax.enable_x64(True):
                self._on_devices[device] = jax.device_put((self._codes, self._target), device)
        return self._on_devices[device]


def _on_host(tree: Tree) -> Tree:
    """The tree without the room that was left."""
    num_nodes = int(tree.num_nodes)
    return jax.tree.map(lambda x: np.asarray(x)[:num_nodes] if x.ndim else np.asarray(x), tree)


@compiled("num_roots")
def _tree_keys(key: PRNGKeyArray, first: Any, *, num_roots: int) -> Key[Array, " root"]:
    """The keys of trees that follow one another."""
    return jax.vmap(functools.partial(jax.random.fold_in, key))(
        jnp.uint32(first) + jnp.arange(num_roots, dtype=jnp.uint32)
    )


def _root_bucket(num_trees: int) -> int:
    """Trees rounded up to a power of two, 16 at least; a root without entries costs a node."""
    return max(16, 1 << (num_trees - 1).bit_length())


def _of_roots(limit: Any, of_tree: slice, num_roots: int) -> Any:
    values = np.asarray(limit)
    if not values.ndim:
        return limit
    values = values[of_tree]
    return np.pad(values, (0, num_roots - values.size), mode="edge")


def _rounded_weight(sample: ForestSample) -> Real[np.ndarray, " row"]:
    """The weights of rows that are all used, in the type that growth sums them in."""
    weight = sample.weight
    if weight is None:
        return np.ones(sample.num_rows, np.int32)
    if np.all(weight == np.floor(weight)) and weight.sum() <= MOST_WHOLE_WEIGHT:
        return weight.astype(np.int32)
    return round_weights(weight, weight.max(), sample.num_rows)


def _balanced(drawn: BatchEntries, sample: ForestSample, num_trees: int) -> BatchEntries:
    """The entries with weights by which all classes of a tree's sample count alike; of several outputs multiplied."""
    weight, most = drawn.weight.astype(np.float64), 1.0
    for target in sample.target:
        num_classes = int(target.max()) + 1
        cell = drawn.tree * num_classes + target[drawn.row]
        count = np.bincount(cell, drawn.weight, minlength=num_trees * num_classes).reshape(num_trees, num_classes)
        present = np.maximum(np.sum(count > 0, axis=1, keepdims=True), 1)
        factor = np.divide(count.sum(axis=1, keepdims=True), present * count, out=np.zeros_like(count), where=count > 0)
        weight *= factor.ravel()[cell]
        most *= sample.total
    return drawn._replace(weight=round_weights(weight, most, sample.num_rows))


def _restored(forest: Forest, rounded: RoundedTarget) -> Forest:
    nodes = forest.nodes
    target_sum = restore(nodes.target_sum, nodes.weight, rounded.offset)
    return dataclasses.replace(forest, nodes=dataclasses.replace(nodes, target_sum=target_sum))
