"""Sums over rows at the nodes of trees whose splits stay: rows are added and removed exactly.

Every row is whole numbers of units that stay the same (see `jaxtree.kernels.fixed_point`), so that sums depend neither
on the order of rows nor on how they are divided, and what was added can be removed without a trace.
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

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
"""Sums beyond this many units are refused: whole numbers of 64 bits hold twice as many."""


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
    """Sums over rows at every node.

    Attributes:
        sums: The weight of every class, the outputs side by side; or weight, targets and moment.
        num_rows: The number of rows.
    """

    sums: Int64[np.ndarray, "channel node"]
    num_rows: Int64[np.ndarray, " node"]

    def plus(self, others: "NodeSums", sign: int) -> "NodeSums":
        """Returns the sums with those of rows that are added (1) or removed (-1)."""
        return NodeSums(self.sums + sign * others.sums, self.num_rows + sign * others.num_rows)

    def weight(self, num_classes: tuple[int, ...]) -> Int64[np.ndarray, " node"]:
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


def check_can_add(
    rows: GivenRows, known: NodeSums, num_classes: tuple[int, ...], units: Units, objective: Classes | Numbers
) -> None:
    """Raises InvalidInputError if rows cannot be added to sums, or removed, in their units."""
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
    sizes, most = [weight.sum()], MOST_SUM if units.is_scaled else MOST_WHOLE_WEIGHT
    has_room = sizes[0] + known.weight(num_classes).max() <= most
    if isinstance(objective, Numbers):
        shifted = rows.target - units.center[:, None]
        sizes.extend(np.abs(shifted * rows.weight).sum(axis=1) / units.target)
        sizes.append(np.abs(objective.criterion.moment(shifted).sum(axis=0) * rows.weight).sum() / units.moment)
        has_room = has_room and max(sizes) + np.abs(known.sums).max() <= MOST_SUM
    if not has_room:
        raise InvalidInputError(
            "weights, or targets, are too large to be added to the exact sums of the model: refit(X, y) with all rows "
            "makes room for them"
        )


def sum_rows(
    predictor: Predictor, nodes: Tree, rows: GivenRows, objective: Classes | Numbers, units: Units
) -> NodeSums:
    """Returns the sums of rows at every node of trees.

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
        label, values = start[:-1, None] + rows.target, weights.whole[None]
        num_channels = int(start[-1])
    else:
        values = quantise_numbers(
            rows.target, weights, ONE_DEVICE, moment=objective.criterion.moment, units=units
        ).value
        num_channels = len(values)
        label = np.broadcast_to(np.arange(num_channels)[:, None], values.shape)
    sums, num_rows = np.zeros((num_channels, size), np.int64), np.zeros(size, np.int64)
    for block, ends in _walked(predictor, rows):
        for end in ends.T:
            for channel, value in zip(*np.broadcast_arrays(label[:, block], values[:, block]), strict=True):
                np.add.at(sums, (channel, end), value)
            num_rows += np.bincount(end, minlength=size)
    return NodeSums(add_up(nodes, sums), add_up(nodes, num_rows[None])[0])


def first_at(predictor: Predictor, rows: GivenRows, is_sought: Bool[np.ndarray, " node"]) -> int | None:
    """Returns the first row that ends at one of some nodes; None if none does."""
    for block, ends in _walked(predictor, rows):
        found = np.flatnonzero(is_sought[ends].any(axis=1))
        if found.size:
            return block.start + int(found[0])
    return None


def _walked(predictor: Predictor, rows: GivenRows) -> Iterator[tuple[slice, Int64[np.ndarray, "_row tree"]]]:
    """Blocks of rows, and the nodes where they end in every tree."""
    step = max(1, ENDS_AT_A_TIME // predictor.num_trees)
    for first in range(0, len(rows.values), step):
        block = slice(first, first + step)
        yield block, predictor.ends_in_trees(rows.values[block])


def sums_of_nodes(nodes: Tree, kept: RowSums | None) -> NodeSums | None:
    """Returns the sums of the rows that nodes have; None if these are not known as whole numbers.

    Args:
        nodes: The trees in one table.
        kept: Their sums, where they are kept; the weights of classes may be whole numbers without.
    """
    num_rows = nodes.num_rows.astype(np.int64)
    if kept is not None and kept.sums is not None:
        return NodeSums(kept.sums, num_rows)
    whole = nodes.count.astype(np.int64)
    if not nodes.num_classes or not np.array_equal(whole, nodes.count):
        return None
    return NodeSums(np.ascontiguousarray(whole.T), num_rows)


def kept_sums(known: NodeSums, units: Units, *, in_nodes: bool) -> RowSums:
    """Returns what is kept of sums, which nodes may have themselves."""
    numbers = float(units.weight), float(units.target), float(units.moment)
    return RowSums(*numbers, np.asarray(units.center), units.is_scaled, None if in_nodes else known.sums)


def units_of_kept(kept: RowSums | None, num_outputs: int) -> Units:
    """Returns the units of sums that are kept; those of whole weights if none are."""
    if kept is None:
        return Units(1.0, 1.0, 1.0, np.zeros(num_outputs), is_scaled=False)
    return Units(kept.weight, kept.target, kept.moment, kept.center, kept.is_scaled)


def lacks_rows(known: NodeSums, num_classes: tuple[int, ...]) -> Bool[np.ndarray, " node"]:
    """Returns the nodes that lack rows: removed were more of them, of their weight or of a class, than there were."""
    weight = known.weight(num_classes)
    is_empty = known.num_rows == 0
    lacks = (known.num_rows < 0) | (weight < 0) | (is_empty != (weight == 0))
    if num_classes:
        return lacks | (known.sums < 0).any(axis=0)
    return lacks | (is_empty & (known.sums != 0).any(axis=0))


def with_sums(nodes: Tree, known: NodeSums, objective: Classes | Numbers, units: Units) -> Tree:
    """Returns trees whose nodes have the weights, values and impurities of sums; gains stay those of growth."""
    sums, weight = known.sums, known.weight(nodes.num_classes)
    if isinstance(objective, Classes):
        place = _padded_places(nodes.num_classes, objective.num_classes)
        sums = np.zeros((objective.num_channels, len(weight)), np.int64)
        sums[place] = known.sums
    fields = describe(objective, sums.T, np.zeros((len(weight), 1)), units)
    count = fields.count[:, place] if isinstance(objective, Classes) else nodes.count
    is_whole = not units.is_scaled
    return dataclasses.replace(
        nodes,
        num_rows=known.num_rows.astype(np.int32),
        weight=weight.astype(np.int32) if is_whole else weight * units.weight,
        impurity=np.asarray(fields.impurity, np.float64),
        count=np.ascontiguousarray(count, np.int32 if is_whole and nodes.num_classes else None),
        target_sum=np.asarray(fields.target_sum, np.float64),
    )


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
    for depth in range(int(nodes.depth.max()), 0, -1):
        of_level = np.flatnonzero(nodes.depth == depth)
        for own in sums:
            np.add.at(own, nodes.parent[of_level], own[of_level])
    return sums


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
