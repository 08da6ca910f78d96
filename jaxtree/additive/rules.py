"""The rules of cyclic boosting: how large steps are, how they divide bins, in which order terms come, and the end.

`AdditiveConfig` has those of a whole fit.
"""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from jaxtree.additive.terms import Heredity
from jaxtree.kernels.additive import StepRules

Pairs = Sequence[tuple[int, int]]


@dataclasses.dataclass(frozen=True)
class AdditiveRules:
    """The rules of a boosting, in units of the loss; second derivatives in those of rows, see `RowLoss.curvature`.

    Attributes:
        learning_rate: The part of a Newton step that is made.
        reg_lambda: Added to the second derivatives of a leaf.
        reg_alpha: Taken from the size of the gradient of a leaf.
        max_delta_step: The greatest size of a leaf's step before the learning rate; infinite for any.
        min_samples_leaf: The least rows of a leaf.
        min_hessian: The least second derivatives of a leaf.
        cat_smooth: Pseudo-rows added to each category before categories are sorted by their mean
            gradient.
        max_leaves: The most leaves of a step.
        greedy_ratio: Steps on the terms that gain most, for each in turn.
        gram_memory: The most bytes of the sums over all pairs of bins, of a bag with all its scores; rows are read
            instead where these would be larger.
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
    gram_memory: int

    def of_steps(self, weight: float, score: float, curvature: float, mean_weight: float, num_terms: int) -> StepRules:
        """Returns the rules of steps in units of whole numbers.

        Args:
            weight: The unit of weights, which are second derivatives.
            score: The unit of scores.
            curvature: The second derivatives that count as 1.
            mean_weight: The mean weight of a row, in units.
            num_terms: The number of terms.
        """
        gradient = weight * score
        return StepRules(
            learning_rate=self.learning_rate,
            l2=self.reg_lambda * curvature / weight,
            l1=self.reg_alpha / gradient,
            max_step=self.max_delta_step / score,
            min_rows=self.min_samples_leaf,
            min_hessian=self.min_hessian * curvature / weight,
            smoothing=self.cat_smooth * mean_weight,
            max_leaves=self.max_leaves,
            greedy_steps=round(self.greedy_ratio * num_terms),
        )

    def rounds_per_pass(self, num_terms: int) -> float:
        """Returns how many rounds a pass makes, of as many steps as there are terms: its turns and its greedy steps."""
        return 1 + round(self.greedy_ratio * num_terms) / max(num_terms, 1)


class Ending(NamedTuple):
    """When a boosting ends. The steps until then do not depend on it.

    Attributes:
        max_rounds: The most rounds, of as many steps as there are terms.
        patience: Rounds without a better loss of the rows held out after which boosting ends.
        tolerance: How much less a loss must be to be better, as a part of the least so far,
            or of a tenth of the first one; of log densities as a number.
    """

    max_rounds: int
    patience: int
    tolerance: float

    def least_gain(self, first: float, best: float, *, log_densities: bool = False) -> float:
        """Returns how much less a loss must be to be better than the best.

        Args:
            first: The loss before the first step.
            best: The least loss so far.
            log_densities: Whether losses are minus log densities: these have no size, which follows from the target's
                unit, and 1 takes its place.
        """
        if not np.isfinite(best):
            return 0.0
        return self.tolerance * (1.0 if log_densities else max(abs(best), abs(first) / 10))


class BoostingPlan(NamedTuple):
    """How terms are boosted, and when that ends.

    Attributes:
        rules: The rules.
        endings: The endings of one or more settings, which cut the same steps.
    """

    rules: AdditiveRules
    endings: Sequence[Ending]


class AdditiveConfig(NamedTuple):
    """The parameters of a fit.

    Attributes:
        rules: The rules of boosting single features.
        ending: When that ends.
        smoother: Other rules for single features, which are taken where they are better on the rows held out.
        pair_rules: The rules of boosting pairs.
        pair_ending: When that ends.
        monotone: How the first score may go as a feature rises: 1, -1 or 0.
        pairs: The pairs of features that are fitted, or how many, of those that save most.
        heredity: Which pairs may be among the best; all may if None.
        pair_bins: The most bins of a feature in a pair, that of missing values included.
        most_places: The most bins of all pairs together; coarser bins make them fewer.
        screening_bins: The most bins of a feature where pairs are compared.
        min_category_rows: The least rows of a category that has a bin of its own.
    """

    rules: AdditiveRules
    ending: Ending
    smoother: AdditiveRules | None
    pair_rules: AdditiveRules
    pair_ending: Ending
    monotone: Int32[np.ndarray, " feature"]
    pairs: Pairs | int
    heredity: Heredity | None
    pair_bins: int
    most_places: int
    screening_bins: int
    min_category_rows: int

    @property
    def kind_of_mains(self) -> Hashable:
        """The key of fits whose single features are boosted alike, until one of them ends."""
        return self.rules, self.smoother, self.monotone.tobytes(), self.min_category_rows

    @property
    def kind_of_pairs(self) -> Hashable:
        """The key of such fits whose pairs are boosted alike, too."""
        pairs = self.pairs if isinstance(self.pairs, int) else tuple(self.pairs)
        return self.pair_rules, pairs, self.heredity, self.pair_bins, self.most_places, self.screening_bins
