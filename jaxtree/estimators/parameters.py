"""Parameters that several estimators have: what is allowed, and what they mean to growth."""

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from jaxtree.estimators.prunings import Pruning
from jaxtree.growth.inputs import NO_LIMIT, Limits
from jaxtree.growth.rules import Missing

MISSING = {"learn": Missing.LEARN, "fraction": Missing.FRACTION, "branch": Missing.BRANCH}

_FRIEDMAN_WARNING = (
    'Value `"friedman_mse"` for `criterion` is deprecated, as in scikit-learn: it maps to `"squared_error"`, which was '
    'always the same. Use `criterion="squared_error"` to remove this warning.'
)

SHARED_CONSTRAINTS = {
    "missing": [StrOptions(set(MISSING))],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "max_bins": [Interval(Integral, 2, 65_535, closed="both"), StrOptions({"auto"}), None],
    "max_categories": [Interval(Integral, 1, 65_535, closed="both"), None],
    "pruning": [Pruning, None],
    "random_state": ["random_state"],
}

CART_CONSTRAINTS = {
    **SHARED_CONSTRAINTS,
    "splitter": [StrOptions({"best", "random"})],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="neither")],
    "min_weight_fraction_leaf": [Interval(Real, 0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
    "ccp_alpha": [Interval(Real, 0, None, closed="left")],
    "monotonic_cst": ["array-like", dict, None],
    "categorical_splits": [StrOptions({"subset", "one_vs_rest", "multiway"})],
}


def criterion_in_use(criterion: Any, *, stacklevel: int = 3) -> Any:
    """The criterion of a regressor; "squared_error", with a warning, for its old name "friedman_mse".

    Args:
        criterion: What a constructor was given.
        stacklevel: The frames from here to the caller that the warning names: the constructor's.
    """
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warnings.warn(_FRIEDMAN_WARNING, FutureWarning, stacklevel=stacklevel)
    return "squared_error"


def deepest(limits: list[int | None]) -> int | None:
    """The greatest of several `max_depth`; None is no limit."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None


def fewest(limits: list[int | float]) -> int | float:
    """The least of several `min_samples_split`; numbers and shares of rows do not compare, but 2 is never more."""
    are_numbers = {isinstance(limit, Integral) for limit in limits}
    return min(limits) if len(are_numbers) == 1 else 2


def number_of_features(max_features: Any, num_columns: int) -> int:
    """How many features a node looks at: a number, a share, "sqrt", "log2", or None for all (scikit-learn's rule)."""
    match max_features:
        case None:
            return num_columns
        case "sqrt":
            return max(1, int(math.sqrt(num_columns)))
        case "log2":
            return max(1, int(math.log2(num_columns)))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * num_columns))


def cart_limits(estimator: Any, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> tuple[Limits, bool]:
    """The limits of a CART estimator, and whether rows must be counted beside weights to hold them."""
    split = max(2, _number_of_rows(estimator.min_samples_split, num_rows))
    leaf = _number_of_rows(estimator.min_samples_leaf, num_rows)
    counts_rows = weight is not None and (split > 2 or leaf > 1)
    if weight is not None and not counts_rows:
        # A node with one row is a leaf anyway, and a branch without any is never made.
        split = leaf = 0
    whole = float(num_rows) if weight is None else float(weight.sum())
    limits = Limits(
        max_depth=NO_LIMIT if estimator.max_depth is None else estimator.max_depth,
        min_samples_split=split,
        min_samples_leaf=leaf,
        min_weight_leaf=estimator.min_weight_fraction_leaf * whole,
        min_impurity_decrease=float(estimator.min_impurity_decrease) - np.finfo(np.float64).eps,
        max_features=estimator.max_features_,
    )
    return limits, counts_rows


def _number_of_rows(number_or_share: int | float, num_rows: int) -> int:
    """A number of rows as it is, a share of them rounded up."""
    if isinstance(number_or_share, Integral):
        return int(number_or_share)
    return math.ceil(number_or_share * num_rows)
