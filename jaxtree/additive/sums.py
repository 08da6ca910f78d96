"""Sums over the rows of an additive model, by pairs of bins and by bins, and the scores of rows.

All are sums of whole numbers, and the same in whatever order they are made. The kernel in C++ makes them on a CPU, see
`native/src/additive/gram.h`; where it is not, programs of XLA make those of pairs, and NumPy the others.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64, UInt

from jaxtree.additive.layout import Layout
from jaxtree.additive.row_programs import gram_matrix
from jaxtree.arrays import AnyArray
from jaxtree.buckets import pad_codes
from jaxtree.cores import num_cores
from jaxtree.devices import current_platform
from jaxtree.kernels.choose import Attributes, Engine, call_kernel, choose, is_there

NONE = Attributes({})
"""Calls whose numbers are all in arrays."""


@dataclasses.dataclass(frozen=True)
class Gram:
    """The weights of the rows that two bins share, for all pairs of bins.

    Attributes:
        matrix: The weights, on both sides in running form, see `prefix_sums.py`. The kernel makes them on the host;
            those of a program are on its device, and padded.
        diagonal: The weight of every bin by itself.
    """

    matrix: Int32[AnyArray, "padded_place padded_place"]
    diagonal: Int64[np.ndarray, " place"]

    def minus(self, other: "Gram") -> "Gram":
        """Returns the sums without those of some of the rows."""
        return Gram(self.matrix - other.matrix, self.diagonal - other.diagonal)


def gram_sums(
    layout: Layout,
    codes: UInt[np.ndarray, "feature row"],
    weight: Int32[np.ndarray, " row"],
    *,
    num_threads: int | None = None,
) -> Gram:
    """Sums the weights of rows by all pairs of bins.

    Args:
        layout: The terms.
        codes: The codes of the rows.
        weight: The weights of the rows, 0 or more, in all below 2**31; rows of weight 0 cost next to nothing.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if choose(current_platform()) is Engine.XLA:
        diagonal = bin_sums(layout, codes, weight.astype(np.int64))
        return Gram(gram_matrix(layout, codes, weight), diagonal)
    places = layout.num_places
    results = [((places, places), np.int32), ((places,), np.int64)]
    return Gram(*_call("jaxtree_gram_sums", results, layout, codes, weight, num_threads))


def bin_sums(
    layout: Layout,
    codes: UInt[np.ndarray, "feature row"],
    values: Int64[np.ndarray, " row"],
    *,
    num_threads: int | None = None,
) -> Int64[np.ndarray, " place"]:
    """Returns the sum of the values of the rows of every bin.

    Args:
        layout: The terms.
        codes: The codes of the rows.
        values: The values of the rows.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if not is_there():
        sums = np.zeros(layout.num_places, np.int64)
        for term in range(layout.num_terms):
            np.add.at(sums, layout.first[term] + layout.bins_of(term, codes), values)
        return sums
    return _call("jaxtree_bin_sums", [((layout.num_places,), np.int64)], layout, codes, values, num_threads)[0]


def row_scores(
    layout: Layout,
    codes: UInt[np.ndarray, "feature row"],
    table: Int64[np.ndarray, " place"],
    *,
    num_threads: int | None = None,
) -> Int64[np.ndarray, " row"]:
    """Returns the sum of the table's values at the bins of every row.

    Args:
        layout: The terms.
        codes: The codes of the rows.
        table: The value of every bin.
        num_threads: The threads of the kernel; as many as there are cores if not given.
    """
    if not is_there():
        scores = np.zeros(codes.shape[1], np.int64)
        for term in range(layout.num_terms):
            scores += table[layout.first[term] + layout.bins_of(term, codes)]
        return scores
    return _call("jaxtree_row_scores", [((codes.shape[1],), np.int64)], layout, codes, table, num_threads)[0]


def _call(handler: str, results: Any, layout: Layout, codes: Any, numbers: Any, num_threads: int | None) -> list[Any]:
    """Calls the kernel with binned rows and numbers of rows or places."""
    # Codes with room behind them, as a fit has them, are read where they lie: the kernel counts rows by their numbers.
    whole = codes if codes.flags.c_contiguous else pad_codes(codes)
    described = (layout.kind, layout.features, layout.bins, layout.num_bins, whole, numbers)
    return call_kernel(handler, results, described, NONE, num_threads=num_threads or num_cores())
