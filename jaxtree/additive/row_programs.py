r"""Sums over pairs of bins, for accelerators by a program of XLA, and by NumPy where the kernel in C++ is not.

With the columns $Z$ of the places, each 1 where a row stands at a place in running form, the weights that places share
are $Z^T \operatorname{diag}(w) Z$, by the exact products of `jaxtree.kernels.products`.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int32, UInt

from jaxtree.additive.layout import Layout
from jaxtree.additive.padding import PaddedPlaces, PaddedTerms, pad_last, pad_places, pad_terms, sizes_of
from jaxtree.additive.prefix_sums import to_running
from jaxtree.arrays import AnyArray
from jaxtree.buckets import pad_codes, pad_to
from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.kernels.products import LIMB, operand_type, product, rows_of_chunk

COUNTED = 2**22
"""Rows and terms that NumPy counts together, some 200 MB."""

CELLS = 2**25
"""Cells of a chunk of the columns: 64 MB, on a CPU 128 MB."""


def gram_matrix(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], weight: Int32[np.ndarray, " row"]
) -> Int32[Array, "place place"]:
    """Returns the weights that all pairs of places share, padded, in running form."""
    platform = current_platform()
    if platform == "cpu":
        return jnp.asarray(count_pairs(layout, codes, weight))
    padded = pad_codes(codes)
    num_limbs = max(1, -(-int(weight.max(initial=0)).bit_length() // LIMB))
    return multiply_columns(
        pad_terms(layout), pad_places(layout), padded, pad_to(weight, padded.shape[1]),
        num_limbs=num_limbs, platform=platform,
    )  # fmt: skip


def count_pairs(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], weight: Int32[np.ndarray, " row"]
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
    """Returns the weights that all pairs of places share, in running form, as products of matrices.

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


def place_of_rows(terms: PaddedTerms, term: Any, codes: UInt[AnyArray, "feature row"]) -> Int32[Array, " row"]:
    """Returns the place of every row in a term."""
    features, bins = terms.features[term], terms.bins[term]
    first, second = (bins[axis][codes[features[axis]]].astype(jnp.int32) for axis in (0, 1))
    return terms.first[term] + first * terms.num_bins[term, 1] + second
