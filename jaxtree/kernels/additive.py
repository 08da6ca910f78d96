r"""Sums over the rows of an additive model, by pairs of bins and by bins, scores of rows, and cyclic boosting on them.

All are of whole numbers, and the same in whatever order they are made. The kernel in C++ makes them on a CPU, see
`native/src/additive`; where it is not, NumPy makes those of rows, and programs of XLA boost.

*Cyclic boosting* passes through the terms of a model and makes a step on each. On Gram sums a step changes the
gradients of all bins by a product with the weights that they share with the bins of its term, so that no row is read.
With the columns $Z$ of the places, each 1 where a row stands at a place in running form, these weights are
$Z^T \operatorname{diag}(w) Z$.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float64, Int32, Int64, UInt

from jaxtree.arrays import AnyArray
from jaxtree.buckets import pad_codes, pad_to, round_up
from jaxtree.compilation import compiled
from jaxtree.cores import num_cores
from jaxtree.kernels.choose import Attributes, Engine, Engines, call_kernel
from jaxtree.kernels.cyclic_program import MemberInputs, Shared, WeightedRows, boost_member_on_rows, boost_members
from jaxtree.kernels.cyclic_steps import TracedRules
from jaxtree.kernels.layout import Layout, to_plain, to_running
from jaxtree.kernels.padded_terms import PaddedPlaces, PaddedTerms, pad_last, pad_places, pad_terms, sizes_of
from jaxtree.kernels.products import LIMB, operand_type, product, rows_of_chunk

COUNTED = 2**22
"""Rows and terms that NumPy counts together, some 200 MB."""

CELLS = 2**25
"""Cells of a chunk of the columns: 64 MB, on a CPU 128 MB."""

NONE = Attributes({})
"""Calls whose numbers are all in arrays."""


NUM_REALS = 6
"""The fields of rules before those that are whole numbers."""


class StepRules(NamedTuple):
    """The rules of steps, in the units of the whole numbers that they are made of, in the order of the kernel.

    The last three are whole numbers; see `native/src/additive/leaves.h`.

    Attributes:
        learning_rate: The part of a Newton step that is made.
        l2: Added to the second derivatives of a leaf.
        l1: Taken from the size of the gradient of a leaf.
        max_step: The greatest size of a leaf's step before the learning rate; infinite for any.
        min_hessian: The least second derivatives of a leaf.
        smoothing: Added to the second derivatives of a category when categories are put in order.
        min_rows: The least rows of a leaf.
        max_leaves: The most leaves of a step of one feature, 2 or more; 2 where it is monotone. Missing values are a
            further one.
        greedy_steps: The steps on the terms that gain most, after every pass through the terms.
    """

    learning_rate: float
    l2: float = 0.0
    l1: float = 0.0
    max_step: float = float("inf")
    min_hessian: float = 0.0
    smoothing: float = 0.0
    min_rows: int = 1
    max_leaves: int = 3
    greedy_steps: int = 0


@dataclasses.dataclass(frozen=True)
class Gram:
    """The weights of the rows that two bins share, for all pairs of bins.

    Attributes:
        matrix: The weights, on both sides in running form, see `layout.py`. The kernel makes them on the host; those
            of a program are on its device, and padded.
        diagonal: The weight of every bin by itself.
    """

    matrix: Int32[AnyArray, "padded_place padded_place"]
    diagonal: Int64[np.ndarray, " place"]

    def minus(self, other: "Gram") -> "Gram":
        """Returns the sums without those of some of the rows."""
        return Gram(self.matrix - other.matrix, self.diagonal - other.diagonal)


class Members(NamedTuple):
    """Boostings side by side, such as those of bags, folds and settings, which do not depend on each other.

    Attributes:
        gradient: The sums of the gradients of bins.
        gram: The set of rows of every member.
        rules: The rules of steps of every member.
    """

    gradient: Int64[np.ndarray, "member place"]
    gram: Int32[np.ndarray, " member"]
    rules: Sequence[StepRules]


def gram_sums(
    layout: Layout,
    codes: UInt[np.ndarray, "feature padded_row"],
    weight: Int32[np.ndarray, " row"],
    *,
    engines: Engines,
    num_threads: int | None = None,
) -> Gram:
    """Sums the weights of rows by all pairs of bins.

    Args:
        layout: The terms.
        codes: The codes of the rows, and room behind them.
        weight: The weights of the rows, 0 or more, in all below 2**31; rows of weight 0 cost next to nothing.
        engines: Who computes.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if engines.of_device is not Engine.XLA:
        places = layout.num_places
        results = [((places, places), np.int32), ((places,), np.int64)]
        described = (*_binned(layout, codes), weight)
        return Gram(*call_kernel("jaxtree_gram_sums", results, described, NONE, num_threads=num_threads or num_cores()))
    diagonal = bin_sums(layout, codes, weight.astype(np.int64), engine=engines.of_host, num_threads=num_threads)
    if engines.platform == "cpu":
        return Gram(jnp.asarray(count_pairs(layout, codes, weight)), diagonal)
    padded = pad_codes(codes)
    num_limbs = max(1, -(-int(weight.max(initial=0)).bit_length() // LIMB))
    matrix = multiply_columns(
        pad_terms(layout), pad_places(layout), padded, pad_to(weight, padded.shape[1]),
        num_limbs=num_limbs, platform=engines.platform,
    )  # fmt: skip
    return Gram(matrix, diagonal)


def bin_sums(
    layout: Layout,
    codes: UInt[np.ndarray, "feature padded_row"],
    values: Int64[np.ndarray, " row"],
    *,
    engine: Engine,
    num_threads: int | None = None,
) -> Int64[np.ndarray, " place"]:
    """Returns the sum of the values of the rows of every bin.

    Args:
        layout: The terms.
        codes: The codes of the rows, and room behind them.
        values: The values of the rows.
        engine: Who computes on the host.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if engine is not Engine.XLA:
        results, described = [((layout.num_places,), np.int64)], (*_binned(layout, codes), values)
        return call_kernel("jaxtree_bin_sums", results, described, NONE, num_threads=num_threads or num_cores())[0]
    sums = np.zeros(layout.num_places, np.int64)
    for term in range(layout.num_terms):
        np.add.at(sums, layout.first[term] + layout.bins_of(term, codes[:, : len(values)]), values)
    return sums


def row_scores(
    layout: Layout,
    codes: UInt[np.ndarray, "feature padded_row"],
    table: Int64[np.ndarray, " place"],
    num_rows: int,
    *,
    engine: Engine,
    num_threads: int | None = None,
) -> Int64[np.ndarray, " row"]:
    """Returns the sum of the table's values at the bins of every row.

    Args:
        layout: The terms.
        codes: The codes of the rows, and room behind them.
        table: The value of every bin.
        num_rows: The number of rows.
        engine: Who computes on the host.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if engine is not Engine.XLA:
        results, described = [((num_rows,), np.int64)], (*_binned(layout, codes), table)
        return call_kernel("jaxtree_row_scores", results, described, NONE, num_threads=num_threads or num_cores())[0]
    scores = np.zeros(num_rows, np.int64)
    for term in range(layout.num_terms):
        scores += table[layout.first[term] + layout.bins_of(term, codes[:, :num_rows])]
    return scores


def boost_on_grams(
    layout: Layout,
    grams: Sequence[Gram],
    rows: Int32[np.ndarray, "gram place"],
    members: Members,
    *,
    num_passes: int,
    engine: Engine,
    num_threads: int | None = None,
) -> tuple[Int64[np.ndarray, "member place"], Int64[np.ndarray, "member place"]]:
    """Boosts members, each as `tests/additive/reference.py` defines, with the same bits.

    Args:
        layout: The terms.
        grams: The weights that bins share, which are the second derivatives, of one or more sets of rows.
        rows: The numbers of the rows of bins, of every set.
        members: The members.
        num_passes: How many passes through the terms.
        engine: Who computes on the device, as for `grams`.
        num_threads: The threads of the kernel; as many as there are cores if not given.

    Returns:
        The sums of all steps, and the gradients after them.
    """
    diagonal, (reals, wholes) = np.stack([own.diagonal for own in grams]), _numbers(members.rules)
    if engine is not Engine.XLA:
        described = (layout.kind, layout.num_bins, layout.monotone, members.gradient, rows, diagonal, members.gram)
        steps, left = call_kernel(
            "jaxtree_boost_cyclic",
            [(members.gradient.shape, np.int64)] * 2,
            [*described, reals, wholes, *(own.matrix for own in grams)],
            _passes(num_passes),
            num_threads=num_threads or num_cores(),
        )
        return steps, left
    # Numbers of members that differ little share a program; one that pads has the first rules, and no gradients.
    num_members = len(members.gradient)
    number = round_up(num_members, 1)
    reals, wholes = (np.concatenate([own, own[:1].repeat(number - num_members, axis=0)]) for own in (reals, wholes))
    sizes = sizes_of(layout, int(wholes[:, 1].max()))
    hessian, counts, gradient = (
        pad_last(to_running(layout, own), sizes.places) for own in (diagonal, rows.astype(np.int64), members.gradient)
    )
    with jax.enable_x64(True):
        total, left = boost_members(
            pad_terms(layout),
            Shared(tuple(own.matrix for own in grams), hessian, counts),
            MemberInputs(pad_to(members.gram, number), TracedRules(*reals.T, *wholes.T)),
            pad_to(gradient, number),
            np.int32(num_passes),
            sizes=sizes,
            is_greedy=bool(wholes[:, 2].max() > 0),
        )
    total, left = (np.array(own)[:num_members, : layout.num_places] for own in (total, left))
    return total, to_plain(layout, left)


def boost_on_rows(
    layout: Layout,
    codes: UInt[np.ndarray, "feature padded_row"],
    weight: Int32[np.ndarray, " row"],
    gradient: Int64[np.ndarray, " row"],
    rules: StepRules,
    *,
    num_passes: int,
    engines: Engines,
) -> tuple[Int64[np.ndarray, " place"], Int64[np.ndarray, " row"]]:
    """Boosts one member by reading its rows, with the bits of `boost_on_grams`.

    It needs no sums over pairs of bins: where these would be larger than memory allows, or the rows are few.

    Args:
        layout: The terms.
        codes: The codes of the rows, and room behind them.
        weight: The weights of the rows, which are second derivatives; rows of weight 0 are not looked at.
        gradient: The gradients of the rows.
        rules: The rules of steps.
        num_passes: How many passes through the terms.
        engines: Who computes.

    Returns:
        The sums of all steps, and the gradients of the rows after them.
    """
    reals, wholes = _numbers([rules])
    if engines.of_device is not Engine.XLA:
        steps, left = call_kernel(
            "jaxtree_boost_rows",
            [((layout.num_places,), np.int64), (gradient.shape, np.int64)],
            [*_binned(layout, codes), layout.monotone, weight, gradient, reals, wholes],
            _passes(num_passes),
            num_threads=1,
        )
        return steps, left
    sizes, padded, is_read = sizes_of(layout, rules.max_leaves), pad_codes(codes), weight > 0
    sums = [bin_sums(layout, codes, own.astype(np.int64), engine=engines.of_host) for own in (weight, is_read)]
    hessian, number = pad_last(to_running(layout, np.stack(sums)), sizes.places)
    pad = functools.partial(pad_to, size=padded.shape[1])
    with jax.enable_x64(True):
        made = boost_member_on_rows(
            pad_terms(layout),
            WeightedRows(padded, pad(weight), pad(np.where(is_read, gradient, 0))),
            hessian, number, TracedRules(*reals[0], *wholes[0]), np.int32(num_passes),
            sizes=sizes, is_greedy=rules.greedy_steps > 0,
        )  # fmt: skip
        left = np.asarray(made.gradient)[: len(gradient)]
        return np.array(made.total)[: layout.num_places], np.where(is_read, left, gradient)


def count_pairs(
    layout: Layout, codes: UInt[np.ndarray, "feature padded_row"], weight: Int32[np.ndarray, " row"]
) -> Int32[np.ndarray, "place place"]:
    """Returns the weights that all pairs of places share, padded, in running form, by NumPy.

    A CPU counts quicker than it multiplies zeros and ones. Sums of floats are exact: they are below 2**31.
    """
    used, size, first = np.flatnonzero(weight), layout.num_places, layout.first
    matrix = np.zeros((size, size), np.int32)
    step = max(1, COUNTED // max(layout.num_terms, 1))
    for begin in range(0, len(used), step):
        row = used[begin : begin + step]
        place = np.stack([first[term] + layout.bins_of(term, codes[:, row]) for term in range(layout.num_terms)])
        for term in range(layout.num_terms):
            # Terms before this one have counted their pairs with it.
            own, width = place[term] - first[term], size - first[term]
            cell = own * width + (place[term:] - first[term])
            held = np.broadcast_to(weight[row], cell.shape).ravel()
            sums = np.bincount(cell.ravel(), held, int(layout.size[term]) * width)
            matrix[layout.places(term), first[term] :] += sums.reshape(-1, width).astype(np.int32)
    for term in range(layout.num_terms):
        matrix[first[term + 1] :, layout.places(term)] = matrix[layout.places(term), first[term + 1] :].T
    running = to_running(layout, np.ascontiguousarray(to_running(layout, matrix).T))
    return pad_last(pad_to(running, sizes_of(layout).places), sizes_of(layout).places)


@compiled("num_limbs", "platform", what=lambda *_, **__: "the sums over pairs of bins")
def multiply_columns(
    terms: PaddedTerms,
    places: PaddedPlaces,
    codes: UInt[AnyArray, "feature row"],
    weight: Int32[AnyArray, " row"],
    *,
    num_limbs: int,
    platform: str,
) -> Int32[Array, "place place"]:
    """Returns the weights that all pairs of places share, in running form, by the products of `products.py`.

    Args:
        terms: The terms.
        places: The places.
        codes: The codes of the rows.
        weight: The weights of the rows.
        num_limbs: Limbs of a weight.
        platform: The platform that it runs on.
    """
    num_rows, num_places = codes.shape[1], len(places.term)
    step, operand = rows_of_chunk(num_rows, num_places, CELLS), operand_type(platform)

    def bins_of(term, part):
        features, bins = terms.features[term], terms.bins[term]
        return jnp.stack([bins[axis][part[features[axis]]] for axis in (0, 1)])

    def add(chunk, sums):
        part = lax.dynamic_slice_in_dim(codes, chunk * step, step, 1)
        held = lax.dynamic_slice_in_dim(weight, chunk * step, step, 0)
        bins = lax.map(lambda term: bins_of(term, part), jnp.arange(len(terms.kind))).astype(jnp.int32)
        own, limit = bins[places.term], places.bins[:, :, None]
        is_there = jnp.where(places.is_running[:, None, None], own <= limit, own == limit)
        is_one = jnp.all(is_there & (limit >= 0), axis=1).astype(operand)
        for limb in range(num_limbs):
            limbs = ((held >> (LIMB * limb)) & (2**LIMB - 1)).astype(operand)
            sums = sums + (product(limbs * is_one, is_one) << (LIMB * limb))
        return sums

    return lax.fori_loop(0, num_rows // step, add, jnp.zeros((num_places, num_places), jnp.int32))


def _binned(layout: Layout, codes: UInt[np.ndarray, "feature padded_row"]) -> tuple[np.ndarray, ...]:
    """Returns binned rows as the kernel reads them; it counts rows by their numbers."""
    return layout.kind, layout.features, layout.bins, layout.num_bins, codes


@functools.lru_cache
def _passes(number: int) -> Attributes:
    return Attributes({"num_passes": np.int64(number)})


def _numbers(rules: Sequence[StepRules]) -> tuple[Float64[np.ndarray, "member 6"], Int64[np.ndarray, "member 3"]]:
    """Returns the numbers of rules as the kernel reads them."""
    numbers = np.array(rules, np.float64).reshape(-1, len(StepRules._fields))
    return numbers[:, :NUM_REALS], numbers[:, NUM_REALS:].astype(np.int64)
