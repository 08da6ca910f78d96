"""Additive fits of rows of which several processes have a part each; see `jaxtree.dataset.exchange`.

Every process keeps the codes of its own rows, and all that is a number or two a row, such as targets, weights and
scores, of all rows. So all read the loss alike, bit for bit, and take the same decisions; sums over rows are of whole
numbers, and those of one process whatever its part.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32, Int64, Shaped, UInt

from jaxtree.additive.coded_rows import CodedRows
from jaxtree.dataset.exchange import SharedExchange
from jaxtree.dataset.sample import Sample
from jaxtree.kernels.additive import Gram
from jaxtree.kernels.choose import Engines
from jaxtree.kernels.layout import Layout
from jaxtree.table.schema import Schema


class DividedRows(CodedRows):
    """The codes of rows that follow one another, among those of all processes; all of them call its methods.

    Args:
        codes: The codes of the rows of this process.
        engines: Who computes on them.
        num_rows: The number of the rows of all.
        first: How many rows are before those of this process.
        exchange: How the processes know of one another.
    """

    is_divided = True

    def __init__(
        self,
        codes: UInt[np.ndarray, "feature row"],
        engines: Engines,
        num_rows: int,
        first: int,
        exchange: SharedExchange,
    ):
        super().__init__(codes, engines)
        self.number, self.first, self.exchange = num_rows, first, exchange

    @property
    def num_rows(self) -> int:
        """The number of rows of all processes."""
        return self.number

    @property
    def own(self) -> slice:
        """The rows of this process."""
        return slice(self.first, self.first + self.codes.shape[1])

    def take(self, rows: Int64[np.ndarray, " taken"]) -> "DividedRows":
        """Returns some of the rows, by their numbers among all, which rise."""
        first, end = np.searchsorted(rows, [self.own.start, self.own.stop]).tolist()
        codes = np.ascontiguousarray(self.codes[:, rows[first:end] - self.first])
        return DividedRows(codes, self.engines, len(rows), first, self.exchange)

    def whole(self) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of the rows of all processes."""
        return self.exchange.join(self.codes)

    def join(self, values: Shaped[np.ndarray, "score own_row"]) -> Shaped[np.ndarray, "score row"]:
        """Returns what is known of the rows of all processes, of which each knows its own."""
        return self.exchange.join(values)

    def counts(self, schema: Schema) -> Sequence[Int64[np.ndarray, " _code"]]:
        """Returns the rows of every code of every feature, that of missing values, the last, included."""
        own = super().counts(schema)
        return np.split(self.exchange.sum(np.concatenate(own)), np.cumsum([len(count) for count in own])[:-1])

    def gram_sums(self, layout: Layout, weight: Int32[np.ndarray, " row"], num_threads: int | None = None) -> Gram:
        """Returns the weights that pairs of bins share, from the weights of all rows."""
        own = super().gram_sums(layout, weight[self.own], num_threads)
        matrix = self.exchange.sum(np.asarray(own.matrix)).astype(np.int32)
        return Gram(matrix, self.exchange.sum(own.diagonal))

    def bin_sums(
        self, layout: Layout, values: Int64[np.ndarray, "score row"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score place"]:
        """Returns the sums of the values of the rows of every bin, from the values of all rows."""
        return self.exchange.sum(super().bin_sums(layout, values[:, self.own], num_threads))

    def row_scores(
        self, layout: Layout, table: Int64[np.ndarray, "score place"], num_threads: int | None = None
    ) -> Int64[np.ndarray, "score row"]:
        """Returns the sums of the table's values at the bins of every row, of the rows of all processes."""
        return self.exchange.join(super().row_scores(layout, table, num_threads))


def join_sample(sample: Sample, exchange: SharedExchange) -> Sample:
    """Returns the targets, weights and fields of the rows of all processes; the table stays that of this one.

    Raises:
        InvalidInputError: Some processes have weights, and others none.
    """
    target, weight = exchange.join(sample.target), exchange.join_weights(sample.weight)
    fields = {name: exchange.join(sample.fields[name].T).T for name in sorted(sample.fields)}
    return sample._replace(target=target, weight=weight, fields=fields)
