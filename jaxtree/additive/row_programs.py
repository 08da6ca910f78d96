r"""Programs of XLA that sum over the rows of an additive model, for accelerators and where the kernel in C++ is not.

With the columns $Z$ of the places, each 1 where a row stands at a place in running form, the weights that places share
are $Z^T \operatorname{diag}(w) Z$. Products are of bfloat16, on a CPU of float32, of weights cut into limbs of 8 bits
and in chunks of rows so few that no sum comes near 2**24: all are exact.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int32, Int64, Real, UInt

from jaxtree.additive.layout import Layout
from jaxtree.additive.padding import PaddedPlaces, PaddedTerms, pad_places, pad_terms, sizes_of
from jaxtree.arrays import AnyArray
from jaxtree.buckets import pad_codes, pad_to
from jaxtree.compilation import compiled
from jaxtree.devices import platform_of

LIMB = 8
"""Bits of a limb."""

MOST_ROWS = 2**14
"""The rows of a chunk: the sum of as many limbs has 22 bits."""

CELLS = 2**25
"""Cells of a chunk of the columns: 64 MB, on a CPU 128 MB."""


def gram_matrix(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], weight: Int32[np.ndarray, " row"]
) -> Int32[Array, "place place"]:
    """Returns the weights that all pairs of places share, padded, in running form."""
    padded = pad_codes(codes)
    num_limbs = max(1, -(-int(weight.max(initial=0)).bit_length() // LIMB))
    return _gram_matrix(
        pad_terms(layout), pad_places(layout), padded, pad_to(weight, padded.shape[1]),
        num_limbs=num_limbs, platform=platform_of(padded),
    )  # fmt: skip


def sums_of_bins(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], values: Int64[np.ndarray, " row"]
) -> Int64[np.ndarray, " place"]:
    """Returns the sum of the values of the rows of every bin."""
    padded = pad_codes(codes)
    with jax.enable_x64(True):
        sums = _sums_of_bins(
            pad_terms(layout), padded, pad_to(values, padded.shape[1]), num_places=sizes_of(layout).places
        )
    return np.array(sums)[: layout.num_places]


def scores_of_rows(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], table: Int64[np.ndarray, " place"]
) -> Int64[np.ndarray, " row"]:
    """Returns the sum of the table's values at the bins of every row."""
    with jax.enable_x64(True):
        scores = _scores_of_rows(pad_terms(layout), pad_codes(codes), pad_to(table, sizes_of(layout).places))
    return np.array(scores)[: codes.shape[1]]


@compiled("num_limbs", "platform", what=lambda *_, **__: "the sums over pairs of bins")
def _gram_matrix(
    terms: PaddedTerms,
    places: PaddedPlaces,
    codes: UInt[AnyArray, "feature row"],
    weight: Int32[AnyArray, " row"],
    *,
    num_limbs: int,
    platform: str,
) -> Int32[Array, "place place"]:
    num_rows, num_places = codes.shape[1], len(places.term)
    step = max(1, min(MOST_ROWS, num_rows, CELLS // num_places))
    step = min(1 << (step.bit_length() - 1), num_rows & -num_rows)
    operand = jnp.float32 if platform == "cpu" else jnp.bfloat16

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
            product = lax.dot_general(
                limbs * is_one, is_one, (((1,), (1,)), ((), ())),
                precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32,
            )  # fmt: skip
            sums = sums + (product.astype(jnp.int32) << (LIMB * limb))
        return sums

    return lax.fori_loop(0, num_rows // step, add, jnp.zeros((num_places, num_places), jnp.int32))


def _place(terms: PaddedTerms, term: Any, codes: UInt[AnyArray, "feature row"]) -> Int32[Array, " row"]:
    """The place of every row in a term."""
    features, bins = terms.features[term], terms.bins[term]
    first, second = (bins[axis][codes[features[axis]]].astype(jnp.int32) for axis in (0, 1))
    return terms.first[term] + first * terms.num_bins[term, 1] + second


@compiled("num_places", what=lambda *_, **__: "the sums of bins")
def _sums_of_bins(
    terms: PaddedTerms, codes: UInt[AnyArray, "feature row"], values: Int64[AnyArray, " row"], *, num_places: int
) -> Int64[Array, " place"]:
    def add(term, sums):
        return sums.at[_place(terms, term, codes)].add(values)

    return lax.fori_loop(0, terms.number, add, jnp.zeros(num_places, jnp.int64))


@compiled(what=lambda *_, **__: "the scores of an additive model")
def _scores_of_rows(
    terms: PaddedTerms, codes: UInt[AnyArray, "feature row"], table: Real[AnyArray, " place"]
) -> Int64[Array, " row"]:
    def add(term, scores):
        return scores + table[_place(terms, term, codes)]

    return lax.fori_loop(0, terms.number, add, jnp.zeros(codes.shape[1], jnp.int64))
