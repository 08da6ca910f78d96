"""The boosting of one set of terms, for one bag of rows: readings of rows, and passes on Gram sums in between."""

import dataclasses
import threading
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, UInt

from jaxtree.additive.cyclic import boost
from jaxtree.additive.layout import Layout
from jaxtree.additive.quadratic import RowLoss
from jaxtree.additive.rules import StepRules
from jaxtree.additive.sums import Gram, bin_sums, gram_sums, row_scores


@dataclasses.dataclass(frozen=True)
class AdditiveRules:
    """The rules of a boosting, in units of the loss.

    Attributes:
        learning_rate: The part of a Newton step that is made.
        reg_lambda: Added to the second derivatives of a leaf.
        reg_alpha: Taken from the size of the gradient of a leaf.
        max_delta_step: The greatest size of a leaf's step before the learning rate; infinite for any.
        min_samples_leaf: The least rows of a leaf.
        min_hessian: The least second derivatives of a leaf.
        cat_smooth: Rows of mean second derivatives that are added to those of a category when categories are put in
            order.
        max_leaves: The most leaves of a step.
        greedy_ratio: Steps on the terms that gain most, for each in turn.
        max_rounds: The most rounds, of as many steps as there are terms.
        patience: Rounds without a better loss of the rows held out after which boosting ends.
        tolerance: How much less a loss must be to be better, as a part of the loss before the first step.
    """

    learning_rate: float
    reg_lambda: float
    reg_alpha: float
    max_delta_step: float
    min_samples_leaf: int
    min_hessian: float
    cat_smooth: float
    max_leaves: int
    greedy_ratio: float
    max_rounds: int
    patience: int
    tolerance: float

    def of_steps(self, row_loss: RowLoss, mean_weight: float, num_terms: int) -> StepRules:
        """Returns the rules of steps in the units of a loss.

        Args:
            row_loss: The loss, whose units these are.
            mean_weight: The mean weight of a row, in units.
            num_terms: The number of terms.
        """
        weight, gradient = row_loss.weight_unit, row_loss.weight_unit * row_loss.score_unit
        return StepRules(
            learning_rate=self.learning_rate,
            l2=self.reg_lambda / weight,
            l1=self.reg_alpha / gradient,
            max_step=self.max_delta_step / row_loss.score_unit,
            min_rows=self.min_samples_leaf,
            min_hessian=self.min_hessian / weight,
            smoothing=self.cat_smooth * mean_weight,
            max_leaves=self.max_leaves,
            greedy_steps=round(self.greedy_ratio * num_terms),
        )


class BaggedTerms(NamedTuple):
    """What the boosting of a bag has made.

    Attributes:
        steps: The sums of the steps of every bin, in units of scores.
        score_unit: The unit.
        num_rounds: The rounds that are kept.
        held_losses: The loss of the rows held out after every reading.
    """

    steps: Int64[np.ndarray, "score place"]
    score_unit: float
    num_rounds: int
    held_losses: list[float]

    @property
    def values(self) -> Float64[np.ndarray, "score place"]:
        """The sums of steps as scores."""
        return self.steps * self.score_unit


def boost_terms(
    layout: Layout,
    codes: UInt[np.ndarray, "feature row"],
    row_loss: RowLoss,
    rules: AdditiveRules,
    *,
    scores: Int64[np.ndarray, "score row"] | None = None,
    should_end: threading.Event | None = None,
    num_threads: int = 1,
) -> BaggedTerms:
    """Boosts some terms on the rows of a bag until the loss of those held out is not less any more.

    Args:
        layout: The terms.
        codes: The codes of all rows.
        row_loss: The loss of the rows.
        rules: The rules.
        scores: The scores before the first step, without the start; 0 if not given.
        should_end: Ends the boosting at the next reading once it is set.
        num_threads: Threads to use.

    Returns:
        The terms as they were at the least loss of the rows held out.
    """
    num_scores = len(row_loss.start)
    scores = np.zeros((num_scores, row_loss.num_rows), np.int64) if scores is None else scores.copy()
    rows = bin_sums(layout, codes, (row_loss.weight > 0).astype(np.int64), num_threads=num_threads)
    rows = np.tile(rows.astype(np.int32), (num_scores, 1))
    steps = np.zeros((num_scores, layout.num_places), np.int64)
    rounds_per_pass = 1 + round(rules.greedy_ratio * layout.num_terms) / max(layout.num_terms, 1)
    best, best_loss, best_pass = steps.copy(), np.inf, 0
    least = rules.tolerance
    losses: list[float] = []
    quadratic, gradient, number = None, None, 0
    while True:
        if quadratic is None or (not row_loss.is_quadratic and number & (number - 1) == 0):
            quadratic = _Quadratic.of(layout, codes, row_loss, scores, num_threads)
        reading = row_loss.read(scores)
        losses.append(reading.held_loss)
        if number == 0:
            least *= abs(reading.held_loss)
        if not reading.held_loss >= best_loss - least:
            if np.isfinite(reading.held_loss) or number == 0 or row_loss.held_weight is None:
                best, best_loss, best_pass = steps.copy(), reading.held_loss, number
        is_late = (number - best_pass) * rounds_per_pass >= rules.patience
        is_last = number * rounds_per_pass >= rules.max_rounds
        if is_late or is_last or (should_end is not None and should_end.is_set()):
            break
        if gradient is None or not row_loss.is_quadratic:
            gradient = np.stack([bin_sums(layout, codes, own, num_threads=num_threads) for own in reading.gradient])
        own_rules = [rules.of_steps(row_loss, mean, layout.num_terms) for mean in quadratic.mean_weight]
        members = np.arange(num_scores, dtype=np.int32)
        new, gradient = boost(
            layout, quadratic.grams, gradient, rows, members, own_rules, num_passes=1, num_threads=num_threads
        )
        steps += new
        scores += np.stack([row_scores(layout, codes, own, num_threads=num_threads) for own in new])
        number += 1
    return BaggedTerms(best, row_loss.score_unit, round(best_pass * rounds_per_pass), losses)


class _Quadratic(NamedTuple):
    """The quadratic loss between two readings.

    Attributes:
        grams: The Gram sums of every score.
        mean_weight: The mean weight of a row, of every score.
    """

    grams: list[Gram]
    mean_weight: list[float]

    @classmethod
    def of(
        cls,
        layout: Layout,
        codes: UInt[np.ndarray, "feature row"],
        row_loss: RowLoss,
        scores: Int64[np.ndarray, "score row"],
        num_threads: int,
    ) -> "_Quadratic":
        weights = row_loss.curvature(scores)
        number = max(np.count_nonzero(row_loss.weight), 1)
        grams = [gram_sums(layout, codes, weight, num_threads=num_threads) for weight in weights]
        return cls(grams, [float(weight.sum(dtype=np.int64)) / number for weight in weights])
