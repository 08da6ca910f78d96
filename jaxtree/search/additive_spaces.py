"""The space of settings for additive models: the parameters that interpret's users tune, around the defaults.

Settings are scored with one bag a fold, as the mean of bags is better for all of them; the winner has the bags of the
estimator. Smaller tables get more settings at once, which share codes and sums of their folds.
"""

from jaxtree.estimators.additive.parameters import USUAL_LEAVES, USUAL_RATE, AdditiveParameters, usual_bins
from jaxtree.search.spaces import MEDIUM, SMALL, Range, Space

SMOOTHEST, ROUGHEST = 0.01, 0.2
"""The range of the learning rate."""

MOST_ROUNDS = 5_000
"""Most settings end after some hundred; where classes can be told apart, loss may fall forever."""

MOST_PAIRS = 10
"""Pairs a column, at most."""


def additive_space_for(num_rows: int, num_columns: int, num_classes: int = 0) -> Space:
    """Returns the space for a table.

    Args:
        num_rows: Rows of the table.
        num_columns: Columns of it.
        num_classes: Classes of the target; 0 for numbers.

    >>> space = additive_space_for(1_000, 20, 2)
    >>> space.batch, space.settings(2, seed=0)[0]["interactions"], sorted(space.ranges)[:3]
    (8, 60, ['greedy_ratio', 'interactions', 'learning_rate'])
    """
    work = num_rows * (num_classes if num_classes > 2 else 1)
    usual = AdditiveParameters()
    most_rows = max(4, min(100, num_rows // 20))
    all_pairs = num_columns * (num_columns - 1) // 2
    pairs_a_column = 3 if num_classes else 5
    bins = usual_bins(num_columns)
    ranges = {
        "learning_rate": Range(SMOOTHEST, ROUGHEST, True, False, USUAL_RATE),
        "max_leaves": Range(2, 5, False, True, USUAL_LEAVES),
        "greedy_ratio": Range(0, usual.greedy_ratio, False, False, usual.greedy_ratio),
        "min_samples_leaf": Range(1, most_rows, True, True, usual.min_samples_leaf),
        "reg_lambda": Range(0.01, 30, True, False, usual.reg_lambda),
        "max_bins": Range(16, max(16, min(bins, num_rows)), True, True, bins),
        "max_interaction_bins": Range(8, 64, True, True, 64),
        "interactions": Range(0, min(all_pairs, MOST_PAIRS * num_columns), False, True,
                              min(all_pairs, pairs_a_column * num_columns)),
    }  # fmt: skip
    return Space(
        {"max_rounds": MOST_ROUNDS, "outer_bags": 1}, ranges, 8 if work <= SMALL else 4 if work <= MEDIUM else 1
    )
