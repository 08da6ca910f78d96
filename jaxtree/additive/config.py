"""The parameters of the fit of an additive model."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from jaxtree.additive.rules import AdditiveRules, Ending
from jaxtree.additive.terms import Heredity

Pairs = Sequence[tuple[int, int]]


class AdditiveConfig(NamedTuple):
    """The parameters of a fit.

    Attributes:
        rules: The rules of boosting single features.
        ending: When that ends.
        smoother: Other rules for single features, which are taken where they are better on the rows held out.
        pair_rules: Those of boosting pairs.
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
