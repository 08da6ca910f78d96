"""Parameters that several estimators have: what is allowed, and what they mean to growth."""

import dataclasses
from numbers import Integral, Real
from typing import Annotated, Any

from jaxtree.criteria import CRITERIA, NUMBER_CRITERIA
from jaxtree.errors import InvalidInputError, warn_user
from jaxtree.estimators.common.conventions import SEED, AnnotatedParameters, GrowthLimit, Role, Words, whole
from jaxtree.estimators.common.prunings import AT_LEAST_0, PART, Pruning
from jaxtree.sklearn_compat import Interval, RealNotInt

AUTO = Words({"auto"})
BALANCED = Words({"balanced"})
CLASS_CRITERIA = Words(CRITERIA)
MISSING = Words({"learn", "fraction", "branch"})
TIES = Words({"first", "hash"})
CATEGORICAL_SPLITS = Words({"auto", "ordered", "subset", "one_vs_rest", "multiway"})
INTERACTIONS = Words({"pairwise", "no_interactions"})
SHARE = Interval(RealNotInt, 0, 1, closed="right")

WITHOUT_NEW_TREES = "Warm-start fitting without increasing n_estimators does not fit new trees."
"""The warning of a warm start that has nothing to do, in scikit-learn's words."""

_FRIEDMAN_WARNING = (
    'Value `"friedman_mse"` for `criterion` is deprecated, as in scikit-learn: it maps to `"squared_error"`, which was '
    'always the same. Use `criterion="squared_error"` to remove this warning.'
)


def deepest(limits: list[int | None]) -> int | None:
    """Returns the greatest of several `max_depth`; None is no limit."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None


def fewest(limits: list[int | float]) -> int | float:
    """Returns the least of several `min_samples_split`; 2, which is never more, where numbers and shares meet."""
    are_numbers = {isinstance(limit, Integral) for limit in limits}
    return min(limits) if len(are_numbers) == 1 else 2


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class EncodingParameters(AnnotatedParameters):
    """Parameters of all estimators of hard splits: how a table is read, and the seed."""

    categorical_features: Annotated[Any, "array-like", Words({"from_dtype"}), None] = "from_dtype"
    max_bins: Annotated[int | str | None, whole(2, 65_535), AUTO, None] = "auto"
    max_categories: Annotated[int | None, whole(1, 65_535), None] = None
    random_state: Annotated[Any, *SEED, Role.SEED] = None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class TableParameters(EncodingParameters):
    """Parameters of all trees and forests: where missing values go, and what becomes of a grown tree."""

    missing: Annotated[str, MISSING] = "learn"
    pruning: Annotated[Pruning | None, Pruning, None, Role.PRUNES] = None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class CartParameters(TableParameters):
    """Parameters of CART trees and of their forests, with scikit-learn's names and meanings."""

    max_depth: Annotated[int | None, whole(1), None, GrowthLimit(deepest)] = None
    min_samples_split: Annotated[int | float, whole(2), SHARE, GrowthLimit(fewest)] = 2
    min_samples_leaf: Annotated[int | float, whole(1), PART] = 1
    min_weight_fraction_leaf: Annotated[float, Interval(Real, 0, 0.5, closed="both")] = 0.0
    max_features: Annotated[Any, whole(1), SHARE, Words({"sqrt", "log2"}), None] = None
    max_leaf_nodes: Annotated[int | None, whole(2), None, Role.PRUNES] = None
    min_impurity_decrease: Annotated[float, AT_LEAST_0, GrowthLimit(min)] = 0.0
    ccp_alpha: Annotated[float, AT_LEAST_0, Role.PRUNES] = 0.0
    monotonic_cst: Annotated[Any, "array-like", dict, None] = None
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None] = None
    categorical_splits: Annotated[str, CATEGORICAL_SPLITS] = "auto"
    ties: Annotated[str, TIES] = "hash"


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ForestParameters(CartParameters):
    """Parameters of forests. A limit may leave trees out; `n_jobs` and what reports of the fit change no tree."""

    n_estimators: Annotated[int, whole(1), GrowthLimit(max)] = dataclasses.field(default=100, kw_only=False)
    bootstrap: Annotated[bool, "boolean"] = True
    oob_score: Annotated[Any, "boolean", callable, Role.REPORTS] = False
    n_jobs: Annotated[int | None, Integral, None, Role.REPORTS] = None
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0
    warm_start: Annotated[bool, "boolean"] = False
    max_samples: Annotated[int | float | None, None, Interval(RealNotInt, 0, None, closed="neither"), whole(1)] = None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class RegressionParameters(AnnotatedParameters):
    """The criterion of regression trees and of their forests."""

    criterion: Annotated[str, Words(NUMBER_CRITERIA)] = "squared_error"

    def __post_init__(self):
        """Replaces the old name "friedman_mse" by the new one, with a warning that names the caller of the class."""
        if isinstance(self.criterion, str) and self.criterion == "friedman_mse":
            warn_user(_FRIEDMAN_WARNING, FutureWarning)
            self.criterion = "squared_error"

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        if self.criterion == "absolute_error":
            raise InvalidInputError(
                "criterion 'absolute_error' is not offered: growth sums weights and targets, from which it does not "
                f"follow; allowed are {', '.join(map(repr, NUMBER_CRITERIA))}"
            )
        base: Any = super()
        base.check_parameters()
