r"""Sums over all pairs of indicators, as products of matrices of zeros and ones, and the best splits of two levels.

With the columns $Z$ of the indicators and a value $v$ of every row, $(Z^T \operatorname{diag}(v) Z)_{ij}$ is the sum
of the values where both indicators i and j are 1; the other three quarters of a pair follow by subtraction. So one
product gives the sums of the leaves of every tree of two levels, and the product over the rows where indicator r is 1,
with the difference from the whole, those below every root r.

Products are the exact ones of `jaxtree.kernels.products`, of values cut into limbs.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, Int64, UInt16

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled
from jaxtree.kernels.products import LIMB, operand_type, product, rows_of_chunk
from jaxtree.optimal.costs import FORBIDDEN, LeafCost

CELLS = 2**24
"""Cells of a chunk of the columns, each with every label and limb: 64 MB."""


class IndicatorRows(NamedTuple):
    """The indicators of padded rows, and what every row adds to sums.

    Attributes:
        codes: The code of every row in every group.
        group: The group of an indicator; one that pads has a place below 0, and is 0 in all rows.
        place: Its place in the group.
        is_nested: Whether it is 1 where the code is at most its place, or just there.
        label: The label of every row.
        value: The values that every row adds to the sums of its label; 0 in padding.
    """

    codes: UInt16[AnyArray, "group row"]
    group: Int32[AnyArray, " indicator"]
    place: Int32[AnyArray, " indicator"]
    is_nested: Bool[AnyArray, " indicator"]
    label: Int32[AnyArray, " row"]
    value: Int64[AnyArray, "value row"]


class Sides(NamedTuple):
    """The least cost with at most 1, 2, ... leaves on both sides of every split."""

    inside: Int64[Array, "leaves indicator"]
    outside: Int64[Array, "leaves indicator"]


@compiled("depth", "num_limbs", "platform")
def best_sides(
    rows: IndicatorRows, is_member: Bool[AnyArray, " row"], cost: LeafCost, *, depth: int, num_limbs: int, platform: str
) -> Int64[Array, "side leaves indicator"]:
    """Returns the least cost on both sides of every first split, of trees of a depth of 1, 2 or 3.

    Row l of a side has trees of at most l + 1 leaves there. 64-bit types must be enabled.

    Args:
        rows: The table.
        is_member: The rows that count.
        cost: The cost of a leaf.
        depth: The depth of the whole tree.
        num_limbs: Limbs of a value.
        platform: The platform that it runs on.
    """
    whole = pair_sums(rows, is_member, num_labels=cost.num_labels, num_limbs=num_limbs, platform=platform)
    total = _total(rows, is_member, cost.num_labels)
    if depth < 3:
        sides = two_levels(whole, total, cost)
        return jnp.minimum(jnp.stack(sides)[:, :depth], FORBIDDEN)

    def below(root):
        inside_rows = is_member & column(rows, root)
        inside = pair_sums(rows, inside_rows, num_labels=cost.num_labels, num_limbs=num_limbs, platform=platform)
        own = _total(rows, inside_rows, cost.num_labels)
        return jnp.stack([best_by_leaves(inside, own, cost), best_by_leaves(whole - inside, total - own, cost)])

    return jnp.minimum(jnp.moveaxis(lax.map(below, jnp.arange(rows.place.size)), 0, 2), FORBIDDEN)


def column(rows: IndicatorRows, indicator: Int[Array, ""]) -> Bool[Array, " row"]:
    """Returns the rows where an indicator is 1."""
    codes = rows.codes[rows.group[indicator]].astype(jnp.int32)
    place = rows.place[indicator]
    return jnp.where(rows.is_nested[indicator], codes <= place, codes == place)


def pair_sums(
    rows: IndicatorRows, is_member: Bool[Array, " row"], *, num_labels: int, num_limbs: int, platform: str
) -> Int64[Array, "channel indicator indicator"]:
    """Returns the sums of the rows where both indicators of a pair are 1, for every label and value."""
    num_values, num_rows = rows.value.shape
    size, channels = rows.place.size, num_labels * num_values * num_limbs
    step, operand = rows_of_chunk(num_rows, size * channels, CELLS), operand_type(platform)

    def add(chunk, sums):
        part = lambda values: lax.dynamic_slice_in_dim(values, chunk * step, step, -1)  # noqa: E731
        codes = part(rows.codes)[rows.group].astype(jnp.int32)
        place = rows.place[:, None]
        one = jnp.where(rows.is_nested[:, None], codes <= place, codes == place).astype(operand)
        value = jnp.where(part(is_member), part(rows.value), 0)
        is_label = part(rows.label) == jnp.arange(num_labels)[:, None]
        limbs = jnp.where(is_label[:, None, None], _limbs(value, num_limbs), 0).reshape(channels, step)
        weighted = limbs.astype(operand)[:, None] * one
        return sums + product(weighted, one).astype(jnp.int64)

    sums = lax.fori_loop(0, num_rows // step, add, jnp.zeros((channels, size, size), jnp.int64))
    sums = sums.reshape(num_labels * num_values, num_limbs, size, size)
    return jnp.sum(sums << (LIMB * jnp.arange(num_limbs))[:, None, None], axis=1)


def _limbs(value: Int64[Array, "value row"], num_limbs: int) -> Int64[Array, "value limb row"]:
    """The limbs of values: the last has their sign, all others are from 0 to 255."""
    shifted = [value >> (LIMB * limb) for limb in range(num_limbs)]
    return jnp.stack([*(own & (2**LIMB - 1) for own in shifted[:-1]), shifted[-1]], axis=1)


def _total(rows: IndicatorRows, is_member: Bool[Array, " row"], num_labels: int) -> Int64[Array, " channel"]:
    is_label = (rows.label == jnp.arange(num_labels)[:, None]) & is_member
    return jnp.sum(jnp.where(is_label[:, None], rows.value, 0), axis=2).reshape(-1)


def two_levels(
    pairs: Int64[Array, "channel indicator indicator"], total: Int64[Array, " channel"], cost: LeafCost
) -> Sides:
    """Returns the least cost of one leaf, and of at most two, on both sides of every split."""
    own = jnp.diagonal(pairs, axis1=1, axis2=2)
    first, second = own[:, :, None], own[:, None, :]
    rest = total[:, None, None] - first - second + pairs
    inside = cost(pairs) + cost(first - pairs)
    outside = cost(second - pairs) + cost(rest)
    of_one = cost(own), cost(total[:, None] - own)
    of_two = inside.min(axis=1), outside.min(axis=1)
    return Sides(*(jnp.stack([one, jnp.minimum(one, two)]) for one, two in zip(of_one, of_two, strict=True)))


def best_by_leaves(
    pairs: Int64[Array, "channel indicator indicator"], total: Int64[Array, " channel"], cost: LeafCost
) -> Int64[Array, " leaves"]:
    """Returns the least cost of a tree of two levels with at most 1, 2, 3 and 4 leaves."""
    inside, outside = two_levels(pairs, total, cost)
    candidates = (
        cost(total),
        (inside[0] + outside[0]).min(),
        jnp.minimum(inside[1] + outside[0], inside[0] + outside[1]).min(),
        (inside[1] + outside[1]).min(),
    )
    return lax.cummin(jnp.stack(candidates))
