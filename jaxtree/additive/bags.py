"""The rows that additive models are fitted on, by bags, and what fits on the same rows have in common."""

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.loop import BYTES_OF_CELL, GramsAtStart, boosts_on_grams
from jaxtree.additive.row_loss import RowLoss, SquaredErrors, is_quadratic, rows_of_loss
from jaxtree.additive.rules import AdditiveRules
from jaxtree.additive.terms import main_terms
from jaxtree.arrays import Device
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.kernels.additive import Gram
from jaxtree.kernels.layout import Layout
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.schema import Schema


class BagRows(NamedTuple):
    """The rows of a bag.

    Attributes:
        rows: Their numbers; all if None.
        is_held: Which of them are held out; none if None.
    """

    rows: Int64[np.ndarray, " _row"] | None
    is_held: Bool[np.ndarray, " _row"] | None


class FitData(NamedTuple):
    """The rows of a fit.

    Attributes:
        codes: Their codes.
        schema: The meaning of the codes.
        rows: Targets, weights and extras, without padding.
        loss: The loss.
        start: The scores before the first step.
        bags: The rows of every bag.
        devices: Devices that bags are divided among; none for the one that JAX computes on.
        weight_unit: The unit of the weights of the rows: these times it are those that the user gave.
    """

    codes: CodedRows
    schema: Schema
    rows: ScoredRows
    loss: BaseLoss
    start: Float64[np.ndarray, " score"]
    bags: Sequence[BagRows]
    devices: Sequence[Device] = ()
    weight_unit: float = 1.0

    @property
    def share_left_out(self) -> float:
        """The share of all rows that a bag does not learn from."""
        number = self.codes.num_rows
        learned = [len(own.rows) if own.rows is not None else number for own in self.bags]
        held = [0 if own.is_held is None else int(own.is_held.sum()) for own in self.bags]
        return 1 - float(np.mean(np.subtract(learned, held))) / number


class Bag(NamedTuple):
    """The codes of the rows of a bag, and their loss."""

    codes: CodedRows
    loss: RowLoss

    @classmethod
    def of(cls, data: FitData, bag: BagRows) -> "Bag":
        """Returns a bag; of all rows without a copy of their codes."""
        if bag.rows is None:
            return cls(data.codes, rows_of_loss(data.loss, data.rows, data.start, bag.is_held))
        target, weight, extras = data.rows.target, data.rows.weight, data.rows.extras
        taken = {name: values[bag.rows] for name, values in extras.items()}
        rows = ScoredRows(data.rows.codes, target[bag.rows], weight[bag.rows], taken)
        return cls(data.codes.take(bag.rows), rows_of_loss(data.loss, rows, data.start, bag.is_held))


class SharedRows:
    """The rows of fits, and what these have in common, which the first thread that asks for it makes.

    Args:
        data: The rows.
        keeps_grams: Whether sums over pairs of bins of bags are kept for other fits, as far as `gram_memory` holds
            them.
    """

    def __init__(self, data: FitData, *, keeps_grams: bool = False):
        self.data, self._keeps_grams = data, keeps_grams
        self._known: dict[Hashable, Any] = {}
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}

    @functools.cached_property
    def counts(self) -> Sequence[Int64[np.ndarray, " _code"]]:
        """The rows of every code of every feature."""
        return self.data.codes.counts(self.data.schema)

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Returns what a function makes, which is called once for all that ask with a key."""
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    def mains(self, monotone: Int32[np.ndarray, " feature"], min_category_rows: int) -> Layout:
        """Returns the terms of single features."""
        key = ("mains", monotone.tobytes(), min_category_rows)
        return self.once(key, lambda: main_terms(self.data.schema, self.counts, monotone, min_category_rows))

    def grams(self, layout: Layout, rules: AdditiveRules, *, are_kept: bool) -> Callable[[int], GramsAtStart]:
        """Returns the function of the number of a bag to its sums over pairs of bins at the start.

        Args:
            layout: The terms.
            rules: The rules.
            are_kept: Whether other boostings of these terms take them, too.
        """
        of_all, kept = self._of_all(layout, rules, is_kept=are_kept), 0
        if are_kept and self._keeps_grams:
            number = 1 if is_quadratic(self.data.loss) else len(self.data.start)
            kept = rules.gram_memory // (BYTES_OF_CELL * number * layout.num_places**2)

        def of_bag(bag: int) -> GramsAtStart:
            return GramsAtStart(of_all, functools.partial(self.once, ("bag", layout.key, bag)) if bag < kept else None)

        return of_bag

    def _of_all(self, layout: Layout, rules: AdditiveRules, *, is_kept: bool) -> Gram | None:
        """The sums over pairs of bins of all rows, which bags of squared errors share; None where they do not."""
        data = self.data
        are_parts = any(own.rows is not None or own.is_held is None for own in data.bags)
        if not is_quadratic(data.loss) or len(data.bags) < 2 or are_parts:
            return None

        def make() -> Gram | None:
            whole = SquaredErrors(data.rows, data.start, None)
            is_made = boosts_on_grams(layout, whole, rules, is_divided=data.codes.is_divided)
            return data.codes.gram_sums(layout, whole.whole) if is_made else None

        return self.once(("all", layout.key, rules.gram_memory, rules.greedy_ratio), make) if is_kept else make()
