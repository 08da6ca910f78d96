"""Trees that are there already as parameters: all thresholds and all values of leaves, trained by gradients.

The columns of splits, categories and the sides of missing values stay as they are, and so does the shape of the trees:
any, of any depth. The forward pass is that of hard trees; gradients pass as those of hard gates do. So what training
returns is the same forest with other numbers.

A *column* is what a split compares: a scaled number; or, of a split that compares no number with a finite threshold, 1
for the values that go right and 0 for others. A missing value is NaN. Nodes stand level by level over all trees, the
two children of a node side by side, in the order of their parents.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Float32, Float64, Int, Real

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.errors import InvalidInputError, present
from jaxtree.kernels.walk import branch_of
from jaxtree.soft.gates import straight_through
from jaxtree.soft.hard_trees import AxisSplits, code_of, schema_of_splits
from jaxtree.soft.inputs import LARGEST, Inputs, fit_inputs
from jaxtree.soft.model import LEAST_PROBABILITY
from jaxtree.soft.sides import SIDES
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import children_of

END = 1e-4
"""The weight of an end of a scale, as a share of that of all rows."""


class TunedGates(NamedTuple):
    """The thresholds of inner nodes, in units of the columns."""

    threshold: Float[AnyArray, " inner"]


class TunedLeaves(NamedTuple):
    """The values of every leaf."""

    value: Float[AnyArray, "leaf score"]


class NodesOfDepth(NamedTuple):
    """The nodes of one depth.

    Attributes:
        num_inner: The number of inner nodes.
        num_leaves: The number of leaves.
        place: The places of the nodes among the inner ones and, behind them, the leaves.
    """

    num_inner: int
    num_leaves: int
    place: Int[np.ndarray, " _level"]


@dataclasses.dataclass(frozen=True, eq=False)
class Topology:
    """How the nodes of a forest hang together: static, and equal to itself alone.

    Attributes:
        inner: The node of every threshold in the forest's table.
        leaves: The node of every value.
        column: The column that an inner node compares.
        is_fixed: Whether its threshold stays.
        missing_right: Whether missing values go right.
        levels: The levels, from the roots on.
        says: Whether a leaf has a value for every score; where False, it stays 0.
        side: The slope by which thresholds are trained.
    """

    inner: Int[np.ndarray, " inner"]
    leaves: Int[np.ndarray, " leaf"]
    column: Int[np.ndarray, " inner"]
    is_fixed: Bool[np.ndarray, " inner"]
    missing_right: Bool[np.ndarray, " inner"]
    levels: tuple[NodesOfDepth, ...]
    says: Bool[np.ndarray, "leaf score"]
    side: str


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TunedForest:
    """The parameters of a forest that is trained further."""

    gate: TunedGates
    leaf: TunedLeaves
    topology: Topology = dataclasses.field(metadata={"static": True})


def fit_scales(
    forest: Forest, schema: Schema, values: Real[np.ndarray, "row value"], weight: Float64[np.ndarray, " row"]
) -> Inputs:
    """Learns scales of numbers: quantiles, with an end on both sides that no number and no threshold is beyond.

    Args:
        forest: The forest.
        schema: The schema of its features.
        values: Rows of `Encoder.values`.
        weight: Their weights.
    """
    ends = np.zeros((2, values.shape[1]))
    tree = forest.nodes
    for feature in np.flatnonzero(~schema.is_categorical).tolist():
        own = np.asarray(tree.threshold)[~np.asarray(tree.is_leaf) & (tree.feature == feature)]
        known = np.concatenate([values[~np.isnan(values[:, feature]), feature], own[np.isfinite(own)]])
        if known.size:
            low, high = known.min(), known.max()
            beyond = high / 2 - low / 2 or 1.0
            ends[:, feature] = max(low - beyond, -LARGEST), min(high + beyond, LARGEST)
    weight = np.append(weight, 2 * [END * weight.sum()])
    return fit_inputs(np.concatenate([values, ends]), schema, scaling="quantile", weight=weight)


class Comparisons:
    """The columns that the splits of a forest compare.

    Args:
        forest: The forest, of splits in two; a missing value goes to one of them.
        inputs: The scales of numbers.

    Raises:
        InvalidInputError: A split has more than two branches, or missing values that take none.
    """

    def __init__(self, forest: Forest, inputs: Inputs):
        tree = forest.nodes
        inner = ~np.asarray(tree.is_leaf)
        if (tree.num_children[inner] != 2).any() or (tree.missing_branch[inner] > 1).any():
            raise InvalidInputError(
                "trees must have splits in two, and send missing values to one of them: this model has others"
            )
        self._tree, self._inputs = tree, inputs
        is_number = np.array([scale is not None for scale in inputs.scales])[tree.feature] & inner
        self.has_limit = is_number & (tree.split_kind == SplitKind.THRESHOLD) & np.isfinite(tree.threshold)
        self._features = np.unique(tree.feature[self.has_limit])
        self.column = np.searchsorted(self._features, tree.feature)
        others: dict[tuple, int] = {}
        self._nodes: list[int] = []
        for node in np.flatnonzero(inner & ~self.has_limit).tolist():
            own = (*(part[node].tolist() for part in (tree.feature, tree.split_kind, tree.code, tree.threshold)),)
            number = others.setdefault((own, tuple(tree.subset[node].tolist())), len(others))
            if number == len(self._nodes):
                self._nodes.append(node)
            self.column[node] = len(self._features) + number

    def limits(self) -> Float32[np.ndarray, " node"]:
        """Returns the threshold of every node in units of its column."""
        limits = np.full(self._tree.threshold.shape, 0.5, np.float32)
        for feature in self._features.tolist():
            own = self.has_limit & (self._tree.feature == feature)
            limits[own] = self._inputs.scale_values(feature, self._tree.threshold[own])
        return limits

    def transform(self, values: Real[np.ndarray, "row value"]) -> Float32[np.ndarray, "row column"]:
        """Returns the columns of rows of `Encoder.values`."""
        columns = [self._inputs.scale_values(feature, values[:, feature]) for feature in self._features.tolist()]
        tree = self._tree
        for node in self._nodes:
            value = values[:, tree.feature[node]]
            is_missing = np.isnan(value)
            code = np.where(is_missing, 0, value)
            if tree.split_kind[node] == SplitKind.THRESHOLD:
                right = code > tree.threshold[node]
            else:
                words = tree.subset[node]
                read_word = words.__getitem__ if words.size else None
                right = branch_of(tree.split_kind[[node]], tree.code[[node]], code.astype(np.int64), read_word)
            columns.append(np.where(is_missing, np.nan, right))
        return np.stack(columns, axis=1).astype(np.float32) if columns else np.zeros((len(values), 1), np.float32)


def tuned_of(
    forest: Forest,
    value: Float[np.ndarray, "node score"],
    comparisons: Comparisons,
    *,
    says: Bool[np.ndarray, "node score"] | None = None,
    side: str = "softsign",
) -> TunedForest:
    """Returns the parameters of a forest.

    Args:
        forest: The forest.
        value: The values of every node.
        comparisons: The columns that its splits compare.
        says: The scores for which a node has a value; None is all.
        side: The slope by which thresholds are trained, a name of `jaxtree.soft.sides.SIDES`.
    """
    tree, level = forest.nodes, forest.first_node[:-1]
    inner, leaves, levels = [], [], []
    while level.size:
        is_leaf = np.asarray(tree.is_leaf)[level]
        inner.append(level[~is_leaf])
        leaves.append(level[is_leaf])
        levels.append(NodesOfDepth(len(inner[-1]), len(leaves[-1]), np.argsort(np.argsort(is_leaf, kind="stable"))))
        level = children_of(tree, inner[-1])
    inner, leaves = np.concatenate(inner), np.concatenate(leaves)
    topology = Topology(
        inner,
        leaves,
        comparisons.column[inner],
        ~comparisons.has_limit[inner],
        tree.missing_branch[inner] == 1,
        tuple(levels),
        np.ones(value[leaves].shape, bool) if says is None else says[leaves],
        side,
    )
    threshold = jnp.asarray(comparisons.limits()[inner])
    return TunedForest(TunedGates(threshold), TunedLeaves(jnp.asarray(value[leaves], jnp.float32)), topology)


def shares_of_trees(
    model: TunedForest, x: Float[AnyArray, "row column"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row class"]:
    """Returns the logarithms of the mean shares of classes, whose logits the leaves have; see `leaf_sums`."""
    shares = dataclasses.replace(model, leaf=TunedLeaves(jax.nn.softmax(model.leaf.value)))
    num_trees = model.topology.levels[0].place.size
    return jnp.log(leaf_sums(shares, x, temperature=temperature) / num_trees + LEAST_PROBABILITY)


def means_of_trees(
    model: TunedForest, x: Float[AnyArray, "row column"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row output"]:
    """Returns the means over the trees of what a row's leaves say; see `leaf_sums`."""
    return leaf_sums(model, x, temperature=temperature) / model.topology.levels[0].place.size


def leaf_sums(
    model: TunedForest, x: Float[AnyArray, "row column"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row score"]:
    """Returns the sums over the trees of what a row's leaves say.

    Gradients reach the thresholds of all nodes on the way of a row: as far as the leaves differ where it would be sent.

    Args:
        model: The forest.
        x: Rows of `Comparisons.transform`.
        temperature: The width of the slope by which thresholds are trained.
    """
    topology = model.topology
    value = model.leaf.value if topology.says.all() else jnp.where(topology.says, model.leaf.value, 0)
    compared = jnp.asarray(x, value.dtype).T[topology.column]
    threshold = jnp.where(topology.is_fixed, lax.stop_gradient(model.gate.threshold), model.gate.threshold)
    is_missing = jnp.isnan(compared)
    distance = jnp.where(is_missing, 0.0, compared - threshold[:, None])
    right = straight_through((distance > 0).astype(value.dtype), SIDES[topology.side](distance / temperature))
    right = jnp.where(is_missing, jnp.asarray(topology.missing_right, value.dtype)[:, None], right)
    inner_end, leaf_end, below = right.shape[0], value.shape[0], None
    for num_inner, num_leaves, place in reversed(topology.levels):
        own = value[leaf_end - num_leaves : leaf_end]
        said = [jnp.broadcast_to(own[..., None], (*own.shape, x.shape[0]))]
        if num_inner:
            children = present(below)
            children = children.reshape(num_inner, 2, *children.shape[1:])
            side = right[inner_end - num_inner : inner_end, None]
            said.insert(0, side * children[:, 1] + (1 - side) * children[:, 0])
        below = lax.optimization_barrier(jnp.concatenate(said))[place]
        inner_end, leaf_end = inner_end - num_inner, leaf_end - num_leaves
    return present(below).sum(axis=0).T


def with_thresholds(
    forest: Forest, before: TunedForest, after: TunedForest, inputs: Inputs, values: Real[np.ndarray, "row value"]
) -> tuple[Forest, Schema]:
    """Returns a forest with the thresholds of training, in units of the table, and the schema with bins between them.

    Rows, weights and gains of nodes stay those of the growth.

    Args:
        forest: The forest.
        before: Its parameters.
        after: The parameters after training. Thresholds that training has not changed keep their old value, to the last
            digit.
        inputs: The scales of numbers.
        values: The rows that the bins describe.
    """
    tree, topology, schema = forest.nodes, before.topology, inputs.schema
    threshold, kind = np.array(tree.threshold, np.float64), np.asarray(tree.split_kind)
    limit = np.asarray(after.gate.threshold, np.float32)
    moved = ~topology.is_fixed & (limit != np.asarray(before.gate.threshold))
    for feature in np.unique(tree.feature[topology.inner[moved]]).tolist():
        own = moved & (tree.feature[topology.inner] == feature)
        at = inputs.limits_in_table(feature, limit[own])
        if schema.columns[feature].bins is None:
            # Half way between the codes on both sides.
            at = np.clip(np.floor(at), -1, schema.num_values[feature] - 1) + 0.5
        threshold[topology.inner[own]] = at
    inner = np.sort(topology.inner)
    of_inner = (tree.feature, kind, threshold, tree.missing_branch, tree.subset)
    splits = AxisSplits(*(np.asarray(part)[inner] for part in of_inner))
    schema = schema_of_splits(schema, splits, values)
    code, next_code, missing_code = (np.array(part) for part in (tree.code, tree.next_code, tree.missing_code))
    by_threshold = inner[kind[inner] == SplitKind.THRESHOLD]
    rows = zip(*(part[by_threshold].tolist() for part in (tree.feature, kind, threshold)), strict=True)
    code[by_threshold] = [code_of(schema, *row) for row in rows]
    next_code[by_threshold] = code[by_threshold] + 1
    missing_code[inner] = schema.num_values[tree.feature[inner]]
    changed = {"threshold": threshold, "code": code, "next_code": next_code, "missing_code": missing_code}
    return dataclasses.replace(forest, nodes=dataclasses.replace(tree, **changed)), schema


def sums_of_nodes(
    forest: Forest, model: TunedForest, value: Float64[np.ndarray, "leaf column"]
) -> Float64[np.ndarray, "node column"]:
    """Returns the sums of every node: values of leaves times their weight, and above them the sums of the children."""
    tree = forest.nodes
    sums = np.zeros((len(tree.weight), value.shape[1]))
    leaves = model.topology.leaves
    sums[leaves] = value * np.asarray(tree.weight, np.float64)[leaves, None]
    for level in range(int(tree.depth.max()), 0, -1):
        own = np.flatnonzero(tree.depth == level)
        np.add.at(sums, tree.parent[own], sums[own])
    return sums
