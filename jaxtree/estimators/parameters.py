"""Parameters that several estimators have: what is allowed, and what they mean to growth."""

import dataclasses
import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from jaxtree.estimators.prunings import Pruning
from jaxtree.growth.inputs import NO_LIMIT, Limits, Missing

MISSING = {"learn": Missing.LEARN, "fraction": Missing.FRACTION, "branch": Missing.BRANCH}

_FRIEDMAN_WARNING = (
    'Value `"friedman_mse"` for `criterion` is deprecated, as in scikit-learn: it maps to `"squared_error"`, which was '
    'always the same. Use `criterion="squared_error"` to remove this warning.'
)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class TableParameters:
    """Parameters of all trees: how a table is read, and what becomes of the grown tree."""

    missing: str = "learn"
    categorical_features: Any = "from_dtype"
    max_bins: int | str | None = "auto"
    max_categories: int | None = 1024
    pruning: Pruning | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        "missing": [StrOptions(set(MISSING))],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "max_bins": [Interval(Integral, 2, 65_535, closed="both"), StrOptions({"auto"}), None],
        "max_categories": [Interval(Integral, 1, 65_535, closed="both"), None],
        "pruning": [Pruning, None],
        "random_state": ["random_state"],
    }


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class CartParameters(TableParameters):
    """Parameters of CART trees and of their forests, with scikit-learn's names and meanings."""

    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    monotonic_cst: Any = None
    categorical_splits: str = "subset"

    _parameter_constraints: ClassVar[dict] = {
        **TableParameters._parameter_constraints,
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


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ForestParameters(CartParameters):
    """Parameters of forests."""

    n_estimators: int = dataclasses.field(default=100, kw_only=False)
    bootstrap: bool = True
    oob_score: Any = False
    n_jobs: int | None = None
    verbose: int = 0
    warm_start: bool = False
    max_samples: int | float | None = None

    _parameter_constraints: ClassVar[dict] = {
        **CartParameters._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
    }


def criterion_in_use(criterion: Any) -> Any:
    """The criterion of a regressor; "squared_error", with a warning, for its old name "friedman_mse".

    Called by the `__post_init__` of a dataclass, whose caller the warning names.
    """
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warnings.warn(_FRIEDMAN_WARNING, FutureWarning, stacklevel=4)
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
