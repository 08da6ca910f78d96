"""Sums over rows at the nodes of trees whose splits stay: rows are added and removed exactly.

Every row is whole numbers of units that stay the same (see `jaxtree.kernels.fixed_point`), so that sums depend neither
on the order of rows nor on how they are divided, and what was added can be removed without a trace.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int32, Int64, Real

from jaxtree.buckets import capacity_bucket, pad_to
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.objective import EntryWeights, NodeResult, Objective, Units, quantise_numbers
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices
from jaxtree.tree import Tree
from jaxtree.tree.model import RowSums
from jaxtree.tree.predictor import Predictor

ONE_DEVICE = Devices(1)

FEWEST_TERMS = 2**24
"""Rows that units leave room for at least: up to a million rows, each is exact to 2**-37 of the largest."""

TIMES_AS_MANY = 16
"""How many times as many rows units leave room for as there are."""

ENDS_AT_A_TIME = 2**22
"""Ends of rows in trees that are held at a time."""

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""

MOST_SUM = 2.0**62
"""Sums beyond this many units are refused: whole numbers of 64 bits hold those of half as many more, too."""

NO_ROOM = (
    "weights, or targets, are too large to be added to the exact sums of the model: refit(X, y) with all rows makes "
    "room for them"
)
"""The message of rows that units are too small for."""


class GivenRows(NamedTuple):
    """Rows of some weight that are added, or removed.

    Attributes:
        values: The numbers and the codes of categories that thresholds are compared with; NaN is a missing value.
        target: Their classes, or their numbers.
        weight: Their weights.
    """

    values: Float[np.ndarray, "row feature"]
    target: Real[np.ndarray, "output row"]
    weight: Float64[np.ndarray, " row"]

    @property
    def are_whole(self) -> bool:
        """Whether all weights are whole numbers."""
        return bool(np.all(self.weight == np.floor(self.weight)))


class NodeSums(NamedTuple):
    """Sums over rows at some nodes, those above them among these.

    Attributes:
        node: The nodes, in ascending order.
        sums: The weight of every class, the outputs side by side; or weight, targets and moment.
        num_rows: The number of rows.
    """

    node: Int64[np.ndarray, " some"]
    sums: Int64[np.ndarray, "channel some"]
    num_rows: Int64[np.ndarray, " some"]

    def plus(self, others: "NodeSums", sign: int) -> "NodeSums":
        """Returns the sums with those of rows at the same nodes that are added (1) or removed (-1)."""
        return NodeSums(self.node, self.sums + sign * others.sums, self.num_rows + sign * others.num_rows)

    def weight(self, num_classes: tuple[int, ...]) -> Int64[np.ndarray, " some"]:
        """Returns the weight of every node, given the number of classes of every output, none of numbers."""
        return self.sums[: num_classes[0]].sum(axis=0) if num_classes else self.sums[0]


def units_of_rows(rows: GivenRows, objective: Classes | Numbers) -> Units:
    """Returns units in which rows are summed, and others like them may be added.

    The number that is subtracted from targets is a multiple of a power of two of the size of their range, and units do
    not follow from the number of rows up to a million, so that other rows of like targets have the same units.
    """
    weights = _weights(rows, is_scaled=not rows.are_whole or bool(rows.weight.sum() > MOST_WHOLE_WEIGHT))
    none = np.zeros(len(rows.target))
    if isinstance(objective, Classes):
        return Units(weights.unit, 1.0, 1.0, none, weights.is_scaled)
    center = none
    if objective.is_centred:
        low, high = rows.target.min(axis=1), rows.target.max(axis=1)
        step = np.ldexp(1.0, np.frexp(high - low)[1])
        center = np.round((low / 2 + high / 2) / step) * step
    quantised = quantise_numbers(rows.target - center[:, None], weights, ONE_DEVICE, moment=objective.criterion.moment)
    return dataclasses.replace(quantised.units, center=center)


def check_can_add(rows: GivenRows, units: Units, objective: Classes | Numbers) -> None:
    """Raises InvalidInputError if rows cannot be added to others, or removed, in their units."""
    if not units.is_scaled and not rows.are_whole:
        raise InvalidInputError(
            "weights must be whole numbers, as those of the rows that the model has: refit(X, y, sample_weight) with "
            "all rows makes a model of other weights"
        )
    weight = rows.weight / units.weight
    if weight.min() < 0.5:
        raise InvalidInputError(
            f"a weight of {rows.weight.min():g} is too small beside those of the rows that the model has, which are "
            f"summed in units of {units.weight:g}"
        )
    sizes = [weight.sum()]
    if isinstance(objective, Numbers):
        shifted = rows.target - units.center[:, None]
        sizes.extend(np.abs(shifted * rows.weight).sum(axis=1) / units.target)
        sizes.append(np.abs(objective.criterion.moment(shifted).sum(axis=0) * rows.weight).sum() / units.moment)
    if max(sizes) > MOST_SUM / 2:
        raise InvalidInputError(NO_ROOM)


def check_has_room(known: NodeSums, num_classes: tuple[int, ...], units: Units) -> None:
    """Raises InvalidInputError if sums with new rows are larger than nodes hold, or leave no room for others."""
    most = MOST_SUM if units.is_scaled else MOST_WHOLE_WEIGHT
    if known.weight(num_classes).max() > most or np.abs(known.sums).max() > MOST_SUM:
        raise InvalidInputError(NO_ROOM)


def sum_rows(
    predictor: Predictor, nodes: Tree, rows: GivenRows, objective: Classes | Numbers, units: Units
) -> NodeSums:
    """Returns the sums of rows at the nodes of trees that they come through.

    Args:
        predictor: The trees, which rows walk through.
        nodes: Their table.
        rows: The rows.
        objective: The objective that the trees were grown by.
        units: The units of the sums.
    """
    weights, size = _weights(rows, unit=units.weight, is_scaled=units.is_scaled), nodes.node_count
    if isinstance(objective, Classes):
        start = np.cumsum([0, *nodes.num_classes])
        channel, values = start[:-1, None] + rows.target, weights.whole[None]
        num_channels = int(start[-1])
    else:
        moment = objective.criterion.moment
        values = quantise_numbers(rows.target, weights, ONE_DEVICE, moment=moment, units=units).value
        num_channels = len(values)
        channel = np.arange(num_channels)[:, None]
    channels, values = np.broadcast_arrays(channel, values)
    # Memory of zeros that are not written to is not taken.
    sums, num_rows = np.zeros((num_channels, size), np.int64), np.zeros((1, size), np.int64)
    is_reached = np.zeros(size, bool)
    for block, ends in _walked(predictor, rows):
        is_reached[ends] = True
        for end in ends.T:
            for channel, value in zip(channels[:, block], values[:, block], strict=True):
                np.add.at(sums, (channel, end), value)
            np.add.at(num_rows[0], end, 1)
    node = _with_those_above(nodes, is_reached)
    _add_to_parents(nodes, sums, node)
    _add_to_parents(nodes, num_rows, node)
    return NodeSums(node, sums[:, node], num_rows[0, node])


def _with_those_above(nodes: Tree, is_reached: Bool[np.ndarray, " node"]) -> Int64[np.ndarray, " some"]:
    """The nodes where rows end, and those on the way."""
    is_among, added = is_reached.copy(), np.flatnonzero(is_reached)
    while added.size:
        parent = nodes.parent[added]
        added = np.unique(parent[~is_among[parent]])
        is_among[added] = True
    return np.flatnonzero(is_among)


def first_at(predictor: Predictor, rows: GivenRows, sought: Int64[np.ndarray, " sought"]) -> int | None:
    """Returns the first row that ends at one of some nodes; None if none does."""
    for block, ends in _walked(predictor, rows):
        found = np.flatnonzero(np.isin(ends, sought).any(axis=1))
        if found.size:
            return block.start + int(found[0])
    return None


def _walked(predictor: Predictor, rows: GivenRows) -> Iterator[tuple[slice, Int64[np.ndarray, "_row tree"]]]:
    """Blocks of rows, and the nodes where they end in every tree."""
    step = max(1, ENDS_AT_A_TIME // predictor.num_trees)
    for first in range(0, len(rows.values), step):
        block = slice(first, first + step)
        yield block, predictor.ends_in_trees(rows.values[block])


def are_whole_counts(nodes: Tree) -> bool:
    """Returns whether nodes have weights of classes that are whole numbers."""
    count = nodes.count
    return bool(nodes.num_classes) and (np.issubdtype(count.dtype, np.integer) or np.array_equal(count, np.rint(count)))


def sums_at(nodes: Tree, kept: RowSums | None, node: Int64[np.ndarray, " some"]) -> NodeSums:
    """Returns the sums of the rows that some nodes have, themselves or kept."""
    sums = nodes.count[node].T if kept is None or kept.sums is None else kept.sums[:, node]
    return NodeSums(node, np.ascontiguousarray(sums, np.int64), nodes.num_rows[node].astype(np.int64))


def keep_sums(
    kept: Int64[np.ndarray, "channel node"] | None, known: NodeSums, units: Units, *, num_nodes: int
) -> RowSums:
    """Returns what is kept of sums: those of all nodes, of which some have changed.

    Args:
        kept: The sums of all nodes before; None if there were none.
        known: The new sums of some nodes.
        units: Their units.
        num_nodes: How many nodes there are; 0 if they have their sums themselves.
    """
    numbers = float(units.weight), float(units.target), float(units.moment)
    sums = None
    if num_nodes:
        sums = np.zeros((len(known.sums), num_nodes), np.int64) if kept is None else kept.copy()
        sums[:, known.node] = known.sums
    return RowSums(*numbers, np.asarray(units.center), units.is_scaled, sums)


def units_of_kept(kept: RowSums | None, num_outputs: int) -> Units:
    """Returns the units of sums that are kept; those of whole weights if none are."""
    if kept is None:
        return Units(1.0, 1.0, 1.0, np.zeros(num_outputs), is_scaled=False)
    return Units(kept.weight, kept.target, kept.moment, kept.center, kept.is_scaled)


def lacks_rows(known: NodeSums, num_classes: tuple[int, ...]) -> Bool[np.ndarray, " some"]:
    """Returns the nodes that lack rows: removed were more of them, of their weight or of a class, than there were."""
    weight = known.weight(num_classes)
    is_empty = known.num_rows == 0
    lacks = (known.num_rows < 0) | (weight < 0) | (is_empty != (weight == 0))
    if num_classes:
        return lacks | (known.sums < 0).any(axis=0)
    return lacks | (is_empty & (known.sums != 0).any(axis=0))


def without_rows(nodes: Tree, units: Units) -> Tree:
    """Returns trees whose nodes have no rows, with the types of sums in some units."""
    size = nodes.node_count
    weight_type = np.float64 if units.is_scaled else np.int32
    return dataclasses.replace(
        nodes,
        num_rows=np.zeros(size, np.int32),
        weight=np.zeros(size, weight_type),
        impurity=np.zeros(size),
        count=np.zeros(nodes.count.shape, weight_type if nodes.num_classes else nodes.count.dtype),
        target_sum=np.zeros(nodes.target_sum.shape),
    )


def with_sums(nodes: Tree, known: NodeSums, objective: Classes | Numbers, units: Units) -> Tree:
    """Returns trees some of whose nodes have the weights, values and impurities of sums; gains stay those of growth."""
    sums, weight = known.sums, known.weight(nodes.num_classes)
    if isinstance(objective, Classes):
        place = _padded_places(nodes.num_classes, objective.num_classes)
        sums = np.zeros((objective.num_channels, len(weight)), np.int64)
        sums[place] = known.sums
    fields = describe(objective, sums.T, np.zeros((len(weight), 1)), units)
    new: dict[str, Any] = {
        "num_rows": known.num_rows,
        "weight": weight * units.weight if units.is_scaled else weight,
        "impurity": fields.impurity,
        "target_sum": fields.target_sum,
    }
    if isinstance(objective, Classes):
        new["count"] = fields.count[:, place]
    changed = {name: np.array(getattr(nodes, name)) for name in new}
    for name, values in new.items():
        changed[name][known.node] = values
    return dataclasses.replace(nodes, **changed)


def describe(
    objective: Objective,
    sums: Int64[np.ndarray, "node channel"],
    parameters: Float64[np.ndarray, "node parameter"],
    units: Units,
) -> NodeResult:
    """Returns the fields that follow from sums; of classes by a program, whose criterion is a function of JAX."""
    if not objective.classes:
        return objective.node_result(sums, parameters, units)
    size = capacity_bucket(len(sums), max(objective.classes))
    with jax.enable_x64(True):
        fields = _describe_classes(pad_to(sums, size), jax.tree.map(np.asarray, units), objective=objective)
    return NodeResult(*(np.asarray(field)[: len(sums)] for field in fields))


@compiled("objective")
def _describe_classes(sums: Int64[Array, "node channel"], units: Units, *, objective: Objective) -> NodeResult:
    return objective.node_result(sums, jnp.zeros((len(sums), 0)), units)


def add_up(nodes: Tree, sums: Int64[np.ndarray, "channel node"]) -> Int64[np.ndarray, "channel node"]:
    """Returns the sums of all nodes, from those of the nodes where rows end."""
    sums = sums.copy()
    _add_to_parents(nodes, sums, np.arange(nodes.node_count))
    return sums


def _add_to_parents(nodes: Tree, sums: Int64[np.ndarray, "channel node"], node: Int64[np.ndarray, " some"]) -> None:
    """Adds the sums of nodes to those of their parents, from the deepest level up."""
    depth = nodes.depth[node]
    order = np.argsort(-depth, kind="stable")
    for of_level in np.split(node[order], np.flatnonzero(np.diff(depth[order])) + 1)[:-1]:
        for own in sums:
            np.add.at(own, nodes.parent[of_level], own[of_level])


def _weights(rows: GivenRows, *, is_scaled: bool, unit: float | None = None) -> EntryWeights:
    """The weights in a unit, or in that which leaves room for all."""
    real = rows.weight
    num_terms = max(FEWEST_TERMS, TIMES_AS_MANY * real.size)
    if not is_scaled:
        return EntryWeights(real, real.astype(np.int64), 1.0, num_terms, is_scaled)
    unit = unit_of(num_terms, exponent(real)) if unit is None else unit
    return EntryWeights(real, to_fixed_point(real, unit), unit, num_terms, is_scaled)


def _padded_places(num_classes: tuple[int, ...], padded: int) -> Int32[np.ndarray, " channel"]:
    """The channels of growth, whose outputs have equally many, of the classes of all outputs side by side."""
    return np.concatenate(
        [output * padded + np.arange(number, dtype=np.int32) for output, number in enumerate(num_classes)]
    )
