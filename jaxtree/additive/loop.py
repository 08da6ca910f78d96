"""The boosting of one set of terms, for one bag of rows: readings of rows, and passes on Gram sums in between."""

import abc
import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64, UInt

from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.row_loss import RowLoss
from jaxtree.additive.rules import AdditiveRules, BoostingPlan, Ending
from jaxtree.errors import present
from jaxtree.kernels.additive import Gram, Members, boost_on_grams, boost_on_rows
from jaxtree.kernels.layout import Layout

BYTES_OF_CELL = 4
"""Bytes of a sum over a pair of bins."""

USUAL_PASSES = 60
"""Passes that a boosting is expected to make."""

GRAM_PAIR, GRAM_CELL, GRAM_STEP, ROW_STEP = 0.5, 1.0, 0.4, 3.0
"""Nanoseconds of a row and pair of terms and of a cell of sums over pairs, and of a step by place and by row."""


class GramsAtStart(NamedTuple):
    """Sums over pairs of bins that boostings of the same rows and terms have in common.

    Attributes:
        of_all: For squared errors, the sums of all rows, from which those of a bag follow by a difference; None where
            they are not known.
        at_start: Returns the sums of a bag at its first reading, which a function makes if nobody has them; None where
            they are not kept.
    """

    of_all: Gram | None = None
    at_start: Callable[[Callable[[], list[Gram]]], list[Gram]] | None = None


NOT_SHARED = GramsAtStart()
"""The sums of a boosting that has no others beside it."""


class BaggedTerms(NamedTuple):
    """The results of boosting a bag.

    Attributes:
        rules: The rules of the boosting.
        steps: The sums of the steps of every bin, in units of scores.
        score_unit: The unit of every score.
        num_rounds: The rounds that are kept.
        held_losses: The loss of the rows held out after every reading.
    """

    rules: AdditiveRules
    steps: Int64[np.ndarray, "score place"]
    score_unit: Float64[np.ndarray, " score"]
    num_rounds: int
    held_losses: list[float]

    @property
    def least_loss(self) -> float:
        """The least loss of the rows held out."""
        return float(np.nanmin(self.held_losses)) if np.isfinite(self.held_losses).any() else np.nan

    @property
    def values(self) -> Float64[np.ndarray, "score place"]:
        """The sums of steps as scores."""
        return self.steps * self.score_unit[:, None]


def boost_terms(
    layout: Layout,
    codes: CodedRows,
    row_loss: RowLoss,
    plan: BoostingPlan,
    *,
    scores: Int64[np.ndarray, "score row"] | None = None,
    grams: GramsAtStart = NOT_SHARED,
    should_end: threading.Event | None = None,
    num_threads: int = 1,
) -> list[BaggedTerms]:
    """Boosts some terms on the rows of a bag until the loss of those held out is not less any more.

    Args:
        layout: The terms.
        codes: The codes of all rows.
        row_loss: The loss of the rows.
        plan: The rules, and when boosting ends.
        scores: The scores before the first step, without the start; 0 if not given.
        grams: Where other boostings of the same rows and terms have sums over pairs of bins at the start.
        should_end: Ends the boosting at the next reading once it is set.
        num_threads: Threads to use.

    Returns:
        For every ending the terms as they were at the least loss of the rows held out.
    """
    rules, num_scores = plan.rules, len(row_loss.start)
    scores = np.zeros((num_scores, row_loss.num_rows), np.int64) if scores is None else scores.copy()
    passes = _passes_of(layout, codes, row_loss, rules, num_threads, grams)
    steps = np.zeros((num_scores, layout.num_places), np.int64)
    rounds_per_pass = rules.rounds_per_pass(layout.num_terms)
    stops = [_EarlyStop(own, rounds_per_pass, row_loss) for own in plan.endings]
    losses: list[float] = []
    while True:
        number = len(losses)
        # Weights change little after the first passes: they are read before passes 0, 1, 2, 4, 8 and so on.
        renews = number == 0 or (not row_loss.is_quadratic and number & (number - 1) == 0)
        reading = row_loss.read(scores, renews=renews)
        losses.append(reading.held_loss)
        for own in stops:
            own.look(losses, steps)
        if all(own.is_over for own in stops) or (should_end is not None and should_end.is_set()):
            break
        if reading.weight is not None:
            passes.renew(reading.weight)
        new = passes.boost(reading.gradient)
        steps = steps + new
        scores += codes.row_scores(layout, new, num_threads)
    return [own.terms(rules, row_loss.score_unit * row_loss.units, losses) for own in stops]


def boost_rounds(
    layout: Layout,
    codes: CodedRows,
    row_loss: RowLoss,
    rules: AdditiveRules,
    num_rounds: float,
    *,
    scores: Int64[np.ndarray, "score row"] | None = None,
    grams: GramsAtStart = NOT_SHARED,
) -> Int64[np.ndarray, "score place"]:
    """Boosts some terms for some rounds, and reads rows only where weights are read.

    So it takes a part of the time of `boost_terms`, whose steps after the first two passes differ by what gradients
    change between readings beyond a quadratic loss: not at all of squared errors.

    Args:
        layout: The terms.
        codes: The codes of all rows.
        row_loss: The loss of the rows, none of which are held out.
        rules: The rules.
        num_rounds: How many rounds; whole passes are made, one at least.
        scores: The scores before the first step, without the start; 0 if not given.
        grams: Where other boostings of the same rows and terms have sums over pairs of bins at the start.

    Returns:
        The sums of the steps of every bin, in units of scores.
    """
    passes = _passes_of(layout, codes, row_loss, rules, 1, grams)
    steps = np.zeros((len(row_loss.start), layout.num_places), np.int64)
    scores = np.zeros((len(steps), row_loss.num_rows), np.int64) if scores is None else scores
    number, made = max(1, math.ceil(num_rounds / rules.rounds_per_pass(layout.num_terms))), 0
    while made < number:
        reading = row_loss.read(scores, renews=True)
        passes.renew(present(reading.weight))
        some = number - made if row_loss.is_quadratic else min(max(made, 1), number - made)
        new = passes.boost(reading.gradient, some)
        steps, made = steps + new, made + some
        scores = scores + codes.row_scores(layout, new, 1)
    return steps


class _EarlyStop:
    """Early stopping of one setting."""

    def __init__(self, ending: Ending, rounds_per_pass: float, row_loss: RowLoss):
        self.ending, self.rounds_per_pass = ending, rounds_per_pass
        self.holds_out, self.log_densities = row_loss.held_weight is not None, row_loss.log_densities
        self.best_loss, self.best_pass, self.end = np.inf, 0, 0
        self.is_over = False

    def look(self, losses: Sequence[float], steps: Int64[np.ndarray, "score place"]) -> None:
        """Takes the steps after some passes if they are the best so far, and ends if it must.

        Args:
            losses: The losses before the first pass, and after each.
            steps: The sums of steps, which nobody changes.
        """
        if self.is_over:
            return
        number = len(losses) - 1
        if self._is_better(losses):
            self.best_loss, self.best_pass, self.steps = losses[-1], number, steps
        is_late = (number - self.best_pass) * self.rounds_per_pass >= self.ending.patience
        is_last = number * self.rounds_per_pass >= self.ending.max_rounds
        self.is_over, self.end = is_late or is_last, number

    def _is_better(self, losses: Sequence[float]) -> bool:
        loss = losses[-1]
        is_number = np.isfinite(loss) or not self.holds_out
        gain = self.ending.least_gain(losses[0], self.best_loss, log_densities=self.log_densities)
        return len(losses) == 1 or bool(is_number and not loss >= self.best_loss - gain)

    def terms(
        self, rules: AdditiveRules, score_unit: Float64[np.ndarray, " score"], losses: Sequence[float]
    ) -> BaggedTerms:
        """Returns the best steps, and the losses until the end."""
        num_rounds = round(self.best_pass * self.rounds_per_pass)
        return BaggedTerms(rules, self.steps, score_unit, num_rounds, list(losses[: self.end + 1]))


class _PassRunner(abc.ABC):
    """The passes between two readings.

    Args:
        layout: The terms.
        codes: The codes of all rows.
        row_loss: The loss of the rows, whose units rules have.
        rules: The rules.
        num_threads: Threads to use.
    """

    def __init__(self, layout: Layout, codes: CodedRows, row_loss: RowLoss, rules: AdditiveRules, num_threads: int):
        self.layout, self.codes, self.row_loss, self.rules = layout, codes, row_loss, rules
        self.num_threads = num_threads
        self.num_rows = max(np.count_nonzero(row_loss.weight), 1)

    def renew(self, weights: Int32[np.ndarray, "score row"]) -> None:
        """Takes the weights of rows, which are second derivatives, of every score."""
        means = weights.sum(axis=1, dtype=np.int64) / self.num_rows
        units, curvature = (self.row_loss.weight_unit, self.row_loss.score_unit), self.row_loss.curvature
        self.step_rules = [
            self.rules.of_steps(*units, *of_score, self.layout.num_terms)
            for of_score in zip(curvature.tolist(), means.tolist(), strict=True)
        ]

    @abc.abstractmethod
    def boost(self, gradient: Int64[np.ndarray, "score row"], number: int = 1) -> Int64[np.ndarray, "score place"]:
        """Returns the steps of some passes from the gradients of rows."""


class _GramPasses(_PassRunner):
    """Passes on sums over pairs of bins; of squared errors one reading is enough.

    Args:
        layout: The terms.
        codes: The codes of all rows.
        row_loss: The loss of the rows.
        rules: The rules.
        num_threads: Threads to use.
        shared: Sums over pairs of bins that other boostings have made.
    """

    def __init__(
        self,
        layout: Layout,
        codes: CodedRows,
        row_loss: RowLoss,
        rules: AdditiveRules,
        num_threads: int,
        shared: GramsAtStart,
    ):
        super().__init__(layout, codes, row_loss, rules, num_threads)
        self.shared = shared
        rows = self._sums((row_loss.weight > 0).astype(np.int64)[None]).astype(np.int32)
        # Squared errors have one set of weights for all scores.
        self.num_grams = 1 if row_loss.is_quadratic else len(row_loss.start)
        self.rows = rows.repeat(self.num_grams, axis=0)
        self.grams: list[Gram] = []
        self.gradient = None

    def renew(self, weights: Int32[np.ndarray, "score row"]) -> None:
        super().renew(weights)
        if self.grams or self.shared.at_start is None:
            self.grams = self._make_grams(weights)
        else:
            self.grams = self.shared.at_start(functools.partial(self._make_grams, weights))

    def _make_grams(self, weights: Int32[np.ndarray, "score row"]) -> list[Gram]:
        of_all = self.shared.of_all
        if of_all is not None and self.row_loss.is_held is not None:
            held = np.flatnonzero(self.row_loss.is_held)
            of_held = self.codes.take(held).gram_sums(self.layout, self.row_loss.whole_held[held], self.num_threads)
            return [of_all.minus(of_held)]
        return [self.codes.gram_sums(self.layout, own, self.num_threads) for own in weights[: self.num_grams]]

    def boost(self, gradient: Int64[np.ndarray, "score row"], number: int = 1) -> Int64[np.ndarray, "score place"]:
        if self.gradient is None or not self.row_loss.is_quadratic:
            self.gradient = self._sums(gradient)
        grams = np.minimum(np.arange(len(self.gradient)), self.num_grams - 1).astype(np.int32)
        steps, self.gradient = boost_on_grams(
            self.layout,
            self.grams,
            self.rows,
            Members(self.gradient, grams, self.step_rules),
            num_passes=number,
            engine=self.codes.engines.of_device,
            num_threads=self.num_threads,
        )
        return steps

    def _sums(self, values: Int64[np.ndarray, "score row"]) -> Int64[np.ndarray, "score place"]:
        return self.codes.bin_sums(self.layout, values, self.num_threads)


class _RowPasses(_PassRunner):
    """Passes that read rows: of those that processes have a part of, each process reads all."""

    @functools.cached_property
    def whole(self) -> UInt[np.ndarray, "feature padded_row"]:
        """The codes of all rows, and room behind them."""
        return self.codes.whole()

    def renew(self, weights: Int32[np.ndarray, "score row"]) -> None:
        super().renew(weights)
        self.weights = weights

    def boost(self, gradient: Int64[np.ndarray, "score row"], number: int = 1) -> Int64[np.ndarray, "score place"]:
        members, engines = zip(self.weights, gradient, self.step_rules, strict=True), self.codes.engines
        made = [boost_on_rows(self.layout, self.whole, *own, num_passes=number, engines=engines)[0] for own in members]
        return np.stack(made)


def _passes_of(
    layout: Layout,
    codes: CodedRows,
    row_loss: RowLoss,
    rules: AdditiveRules,
    num_threads: int,
    grams: GramsAtStart,
) -> _PassRunner:
    """Returns the quicker one of two ways to the same steps."""
    if boosts_on_grams(layout, row_loss, rules, is_divided=codes.is_divided):
        return _GramPasses(layout, codes, row_loss, rules, num_threads, grams)
    return _RowPasses(layout, codes, row_loss, rules, num_threads)


def boosts_on_grams(layout: Layout, row_loss: RowLoss, rules: AdditiveRules, *, is_divided: bool = False) -> bool:
    """Returns whether sums over pairs of bins are the quicker of two ways to the same steps, and not too large.

    If several processes divide the rows, these sums are the quicker way wherever they are not too large.
    """
    num_grams = 1 if row_loss.is_quadratic else len(row_loss.start)
    if BYTES_OF_CELL * num_grams * layout.num_places**2 > rules.gram_memory:
        return False
    if is_divided:
        return True
    rows, places, terms = np.count_nonzero(row_loss.weight), layout.num_places, layout.num_terms
    num_steps = USUAL_PASSES * terms * (1 + rules.greedy_ratio)
    builds = 1 if row_loss.is_quadratic else USUAL_PASSES.bit_length()
    on_grams = builds * (GRAM_PAIR * rows * terms**2 / 2 + GRAM_CELL * places**2) + num_steps * GRAM_STEP * places
    return bool(on_grams <= num_steps * ROW_STEP * rows)
