"""The codes of the rows of a fit or a bag, which are seen only through sums over rows and scores of rows.

All else that is known of rows, such as targets and gradients, is there of all of them. So a process that has the codes
of a part needs to exchange nothing but these sums and scores, which are whole numbers.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32, Int64, Shaped, UInt

from jaxtree.additive.terms import count_rows
from jaxtree.buckets import pad_codes
from jaxtree.kernels.additive import Gram, bin_sums, gram_sums, row_scores
from jaxtree.kernels.choose import Engines
from jaxtree.kernels.layout import Layout
from jaxtree.table.schema import Schema


class CodedRows:
    """The codes of all rows.

    Args:
        codes: The codes.
        engines: Who computes on them.

    Attributes:
        padded: The codes, and room behind them, as operations read them.
        is_divided: Whether several processes have a part each.
    """

    is_divided = False

    def __init__(self, codes: UInt[np.ndarray, "feature row"], engines: Engines):
        self.codes, self.engines = codes, engines
        self.padded = codes if codes.flags.c_contiguous else pad_codes(codes)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    def take(self, rows: Int64[np.ndarray, " taken"]) -> "CodedRows":
        """Returns some of the rows, whose numbers rise."""
        return CodedRows(np.ascontiguousarray(self.codes[:, rows]), self.engines)

    def whole(self) -> UInt[np.ndarray, "feature padded_row"]:
        """Returns the codes of all rows, and room behind them."""
        return self.padded

    def join(self, values: Shaped[np.ndarray, "score own_row"]) -> Shaped[np.ndarray, "score row"]:
        """Returns what is known of every row from what is known of those whose codes are here."""
        return values

    def counts(self, schema: Schema) -> Sequence[Int64[np.ndarray, " _code"]]:
        """Returns the rows of every code of every feature, that of missing values, the last, included."""
        return count_rows(self.codes, schema)

    def gram_sums(self, layout: Layout, weight: Int32[np.ndarray, " row"], num_threads: int | None = None) -> Gram:
        """Returns the weights that pairs of bins share; see `jaxtree.kernels.additive.gram_sums`."""
        return gram_sums(layout, self.padded, weight, engines=self.engines, num_threads=num_threads)

    def bin_sums(
        self, layout: Layout, values: Int64[np.ndarray, "score row"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score place"]:
        """Returns the sums of values of the rows of every bin; see `jaxtree.kernels.additive.bin_sums`."""
        engine = self.engines.of_host
        return np.stack([bin_sums(layout, self.padded, own, engine=engine, num_threads=num_threads) for own in values])

    def row_scores(
        self, layout: Layout, table: Int64[np.ndarray, "score place"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score row"]:
        """Returns the sums of a table's values at the bins of every row; see `jaxtree.kernels.additive.row_scores`."""
        number, engine = self.codes.shape[1], self.engines.of_host
        return np.stack(
            [row_scores(layout, self.padded, own, number, engine=engine, num_threads=num_threads) for own in table]
        )
