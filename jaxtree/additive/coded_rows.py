"""The codes of the rows of a fit or a bag, which are seen only through sums over rows and scores of rows.

All else that is known of rows, such as targets and gradients, is there of all of them. So a process that has the codes
of a part needs to exchange nothing but these sums and scores, which are whole numbers.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32, Int64, Shaped, UInt

from jaxtree.additive.layout import Layout
from jaxtree.additive.sums import Gram, bin_sums, gram_sums, row_scores
from jaxtree.additive.terms import count_rows
from jaxtree.table.schema import Schema


class CodedRows:
    """The codes of all rows.

    Args:
        codes: The codes.

    Attributes:
        is_divided: Whether several processes have a part each.
    """

    is_divided = False

    def __init__(self, codes: UInt[np.ndarray, "feature row"]):
        self.codes = codes

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    def take(self, rows: Int64[np.ndarray, " taken"]) -> "CodedRows":
        """Returns some of the rows, whose numbers rise."""
        return CodedRows(np.ascontiguousarray(self.codes[:, rows]))

    def whole(self) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of all rows."""
        return self.codes

    def join(self, values: Shaped[np.ndarray, "score own_row"]) -> Shaped[np.ndarray, "score row"]:
        """Returns what is known of every row from what is known of those whose codes are here."""
        return values

    def counts(self, schema: Schema) -> Sequence[Int64[np.ndarray, " _code"]]:
        """Returns the rows of every code of every feature, that of missing values, the last, included."""
        return count_rows(self.codes, schema)

    def gram_sums(self, layout: Layout, weight: Int32[np.ndarray, " row"], num_threads: int | None = None) -> Gram:
        """Returns the weights that pairs of bins share; see `jaxtree.additive.sums.gram_sums`."""
        return gram_sums(layout, self.codes, weight, num_threads=num_threads)

    def bin_sums(
        self, layout: Layout, values: Int64[np.ndarray, "score row"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score place"]:
        """Returns the sums of values of the rows of every bin; see `jaxtree.additive.sums.bin_sums`."""
        return np.stack([bin_sums(layout, self.codes, own, num_threads=num_threads) for own in values])

    def row_scores(
        self, layout: Layout, table: Int64[np.ndarray, "score place"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score row"]:
        """Returns the sums of the table's values at the bins of every row; see `jaxtree.additive.sums.row_scores`."""
        return np.stack([row_scores(layout, self.codes, own, num_threads=num_threads) for own in table])
