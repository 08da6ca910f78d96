"""The values of "auto" parameters of boosted trees: for one model, and for the models of folds.

A model of a fixed number of rounds fits its own rows more closely than others. A mean bears that; but a scale, an outer
quantile or a hazard is then that of its own rows, and wrong for others: so trees of such losses are smaller.

Those of folds have been chosen by `benchmarks/defaults.py` on one half of its tables, and judged on the other.
"""

from typing import NamedTuple

MANY_ROWS = 50_000
"""Tables of as many rows have large leaves anyhow; where branches of any size are allowed, their sums are quicker."""


ROUNDS_OF_ONE_MODEL = 100
"""The rounds where nothing ends them early."""

MOST_ROUNDS = 10_000
"""The most rounds where early stopping ends them."""


class Usual(NamedTuple):
    """Parameters that are "auto", see `GradientBoostingClassifier`.

    Attributes:
        max_leaf_nodes: The most leaves of a tree.
        min_samples_leaf: The least number of rows in a branch.
        min_child_weight: The least sum of second derivatives in a branch; below 1, rows that are almost certain can
            still be split.
        subsample: The part of the rows that a tree is grown on.
        random_strength: The noise on the scores of columns.
        n_iter_no_change: The patience of early stopping.
        n_estimators: The most rounds.
    """

    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    subsample: float = 1.0
    random_strength: float = 0.0
    n_iter_no_change: int = 10
    n_estimators: int = ROUNDS_OF_ONE_MODEL


ONE_MODEL = Usual()
FOLDS_OF_CLASSES = Usual(16, 3, 1e-3, 0.8, 6.0, 30)
FOLDS_OF_NUMBERS = Usual(32, 1, 1e-3, 0.6, 0.0, 30)

OF_SPREAD = ("cox", "accelerated_failure_time", "quantile", "quantiles", "expectile")
"""The losses of numbers that tell more of a target than its mean, by name."""

LEAST_LEAVES, ROWS_OF_A_LEAF, LEAST_ROWS = 3, 500, 50
"""Trees of one model of such losses, or of a distribution: a leaf for every 500 rows, at least 3 and at most as many as
other trees have, and at least 50 rows in a branch."""

FEW_ROWS_OF_SPREAD, PART_OF_FEW_ROWS = 400, 4
"""A model of such losses has trees of two leaves below so many rows, a round for every fourth row, and a fourth of the
rows in a branch, at most 50: it gains on a constant from 24 rows on, where three leaves and 100 rounds lose."""

FEW_ROWS = 1_000
"""Tables of fewer rows have trees of half as many leaves with folds."""


def usual_values(
    num_rows: int, *, has_folds: bool, of_classes: bool, stops: bool = False, is_of_spread: bool = False
) -> Usual:
    """Returns what parameters of a fit are that are "auto".

    Args:
        num_rows: The number of rows.
        has_folds: Whether the model is the mean of models of folds.
        of_classes: Whether it tells classes.
        stops: Whether early stopping ends its rounds.
        is_of_spread: Whether it tells more of a target than its mean: a distribution, quantiles, or hazards.

    Example:
        >>> usual_values(1000, has_folds=False, of_classes=True).min_samples_leaf
        20
        >>> usual_values(1_000_000, has_folds=False, of_classes=True).min_samples_leaf
        1
        >>> usual_values(80, has_folds=False, of_classes=False, is_of_spread=True).min_samples_leaf
        20
    """
    own = ONE_MODEL
    if has_folds:
        own = FOLDS_OF_CLASSES if of_classes else FOLDS_OF_NUMBERS
        if num_rows < FEW_ROWS:
            own = own._replace(max_leaf_nodes=own.max_leaf_nodes // 2)
    elif is_of_spread:
        leaves = min(max(num_rows // ROWS_OF_A_LEAF, LEAST_LEAVES), own.max_leaf_nodes)
        own = own._replace(max_leaf_nodes=leaves, min_samples_leaf=LEAST_ROWS)
        if num_rows < FEW_ROWS_OF_SPREAD:
            part = max(num_rows // PART_OF_FEW_ROWS, 1)
            own = own._replace(max_leaf_nodes=2, min_samples_leaf=min(part, LEAST_ROWS), n_estimators=part)
    if stops or has_folds:
        own = own._replace(n_estimators=MOST_ROUNDS)
    return own if num_rows < MANY_ROWS else own._replace(min_samples_leaf=1, min_child_weight=1.0)
