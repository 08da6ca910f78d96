"""Parameters of forests of moment equations."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Annotated, Any

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Role, Words, whole
from jaxtree.estimators.common.parameters import AUTO, INTERACTIONS, SHARE, TIES, EncodingParameters, number_of_features
from jaxtree.sklearn_compat import Interval, RealNotInt

PART = Interval(RealNotInt, 0, 1, closed="neither")
BALANCE = Interval(Real, 0, 0.25, closed="left")
SPLITS_OF_CATEGORIES = Words({"subset", "one_vs_rest"})
MISSING_LEARNED = Words({"learn", "branch"})
FEATURES_OF_ROOT = 20
"""Columns that a node looks at beside the root of their number, where `max_features` is "auto"."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class HonestForestParameters(EncodingParameters):
    """Parameters of forests whose trees draw rows without replacement, and may divide them.

    Args:
        n_estimators: The number of trees.
        max_samples: The share of the rows, or groups, that a tree draws, without replacement.
        honest: Whether a tree fills its leaves by other rows than those that chose its splits, as intervals need it.
        honest_share: The share of a tree's rows that chooses its splits.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_leaf: The least number of rows of a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", None for all, or
            "auto" for the root of their number and 20 more.
        alpha: The least share of a node that a branch has, below 0.25.
        missing: Where rows go whose value is missing: "learn" lets every split choose the branch where they gain
            most, "branch" makes missing a value of its own, larger than every number.
        categorical_splits: "subset" (the best two groups) or "one_vs_rest" (a category and the rest).
        ties: The column that a node splits by where several gain the same: "hash" or "first".
        n_jobs: How many cores fits and predictions use; None or -1 for all that there are, -2 for all but one.
        verbose: 1 for a bar of progress; n for a line every n trees.
    """

    n_estimators: Annotated[int, whole(1), Role.FIT] = dataclasses.field(default=500, kw_only=False)
    max_samples: Annotated[float, SHARE, Role.FIT] = 0.5
    honest: Annotated[bool, "boolean", Role.FIT] = True
    honest_share: Annotated[float, PART, Role.FIT] = 0.5
    max_depth: Annotated[int | None, whole(1), None, Role.FIT] = None
    min_samples_leaf: Annotated[int, whole(1), Role.FIT] = 5
    max_features: Annotated[Any, whole(1), SHARE, Words({"sqrt", "log2"}), AUTO, None, Role.FIT] = "auto"
    alpha: Annotated[float, BALANCE, Role.FIT] = 0.05
    missing: Annotated[str, MISSING_LEARNED, Role.FIT] = "learn"
    categorical_splits: Annotated[str, SPLITS_OF_CATEGORIES, Role.FIT] = "subset"
    ties: Annotated[str, TIES, Role.FIT] = "hash"
    n_jobs: Annotated[int | None, Integral, None, Role.REPORTS] = None
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or two do not go together."""
        base: Any = super()
        base.check_parameters()
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must be None, an integer >= 1, or a negative one (-1: all cores), got 0")

    def number_of_features(self, num_columns: int) -> int:
        """Returns how many columns a node looks at."""
        if self.max_features == "auto":
            return min(math.ceil(math.sqrt(num_columns) + FEATURES_OF_ROOT), num_columns)
        return min(number_of_features(self.max_features, num_columns), num_columns)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class MomentForestParameters(HonestForestParameters):
    """Parameters of forests of moment equations; defaults are those of grf, where it has the parameter.

    Args:
        bag_size: Trees of a bag, which draw from one half of the rows: intervals follow from the differences between
            bags. With 1, predictions have no intervals.
        imbalance_penalty: Taken from the gain of a split for each branch, over the size that `alpha` is a share of.
        interaction_cst: Sets of columns, by name or place: only columns of one set occur together on a path from
            the root; columns in no set form one more. Or "pairwise", "no_interactions", or None.
    """

    bag_size: Annotated[int, whole(1), Role.FIT] = 4
    imbalance_penalty: Annotated[float, Interval(Real, 0, None, closed="left"), Role.FIT] = 0.0
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None, Role.FIT] = None

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or two do not go together."""
        super().check_parameters()
        if self.bag_size > 1 and self.max_samples > 0.5:
            raise InvalidInputError(
                f"max_samples must be at most 0.5 where trees come in bags, got {self.max_samples} with "
                f"bag_size={self.bag_size}: bag_size=1 takes more, without intervals"
            )
