"""Parameters that several estimators have: what is allowed, and what they mean to growth."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Annotated, Any

from jaxtree.criteria import CRITERIA, NUMBER_CRITERIA
from jaxtree.dataset.dataset import Dataset
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
MULTIPLE = Interval(RealNotInt, 0, None, closed="neither")

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
    """Parameters of all estimators of hard splits: how a table is read, and the seed.

    Args:
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values. "auto" is
            255, of single trees None for tables of up to 100,000 rows, and of additive models from 1,024 for few
            columns to 32 for many.
        max_categories: The most categories of a column, beyond which the rarest share one; None is 65,535.
        random_state: Seed of what is drawn, or a NumPy generator.
    """

    categorical_features: Annotated[Any, "array-like", Words({"from_dtype"}), None, Role.FIT] = "from_dtype"
    max_bins: Annotated[int | str | None, whole(2, 65_535), AUTO, None, Role.FIT] = "auto"
    max_categories: Annotated[int | None, whole(1, 65_535), None, Role.FIT] = None
    random_state: Annotated[Any, *SEED, Role.SEED] = None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class TableParameters(EncodingParameters):
    """Parameters of all trees and forests: where missing values go, and what becomes of a grown tree.

    Args:
        missing: Where rows go whose value is missing: "learn" lets every split choose the branch where they gain
            most (a split that saw none sends them to the heavier branch), "fraction" sends a part into every
            branch, "branch" makes missing a value of its own, larger than every number.
        pruning: A pruning of every tree, such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None. One that looks at
            held-out rows is given, in a forest, those that the tree has not drawn.
    """

    missing: Annotated[str, MISSING, Role.FIT] = "learn"
    pruning: Annotated[Pruning | None, Pruning, None, Role.PRUNES] = None


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class CartParameters(TableParameters):
    """Parameters of CART trees and of their forests, with scikit-learn's names and meanings.

    Args:
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows of some
            weight. In a forest a row counts as often as the tree has drawn it.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows of some weight.
        min_weight_fraction_leaf: The least share of the tree's whole weight in a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", or None for all.
        max_leaf_nodes: The most leaves of a tree; the splits of greatest gain times weight are made first.
        min_impurity_decrease: The least gain of a split times the node's share of the tree's weight.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        monotonic_cst: For every column 1, -1 or 0, or a dict from columns: how the mean, or the share of the second
            of two classes, may go as the column rises.
        interaction_cst: Sets of columns, by name or place: only columns of one set occur together on a path from
            the root; columns in no set form one more. Or "pairwise", "no_interactions", or None.
        categorical_splits: "subset" (the best two groups), "one_vs_rest" (a category and the rest), "multiway" (a
            branch a category) or "ordered": a threshold on the mean target of the rows of a category that come
            before in a random order, which becomes a group of categories. "auto" is "ordered" for columns of more
            than 64 categories, else "subset".
        ties: The column that a node splits by where several gain the same: "hash" takes that of the least hash with
            the node's path, in a forest also with the tree's seed, so that all have the same chance, and "first"
            the first.
    """

    max_depth: Annotated[int | None, whole(1), None, GrowthLimit(deepest)] = None
    min_samples_split: Annotated[int | float, whole(2), SHARE, GrowthLimit(fewest)] = 2
    min_samples_leaf: Annotated[int | float, whole(1), PART, Role.FIT] = 1
    min_weight_fraction_leaf: Annotated[float, Interval(Real, 0, 0.5, closed="both"), Role.FIT] = 0.0
    max_features: Annotated[Any, whole(1), SHARE, Words({"sqrt", "log2"}), None, Role.FIT] = None
    max_leaf_nodes: Annotated[int | None, whole(2), None, Role.PRUNES] = None
    min_impurity_decrease: Annotated[float, AT_LEAST_0, GrowthLimit(min)] = 0.0
    ccp_alpha: Annotated[float, AT_LEAST_0, Role.PRUNES] = 0.0
    monotonic_cst: Annotated[Any, "array-like", dict, None, Role.FIT] = None
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None, Role.FIT] = None
    categorical_splits: Annotated[str, CATEGORICAL_SPLITS, Role.FIT] = "auto"
    ties: Annotated[str, TIES, Role.FIT] = "hash"

    def learn(self, data: Dataset) -> None:
        """Sets the fitted attributes that `predict` needs, and `max_features_`."""
        base: Any = super()
        base.learn(data)
        self.max_features_ = number_of_features(self.max_features, data.schema.num_features)


def number_of_features(max_features: Any, num_columns: int) -> int:
    """Returns how many features a node looks at: a number, a share, "sqrt", "log2", or None for all (scikit-learn)."""
    if max_features is None or isinstance(max_features, Integral):
        return num_columns if max_features is None else int(max_features)
    roots = {"sqrt": math.sqrt, "log2": math.log2}
    number = roots[max_features](num_columns) if isinstance(max_features, str) else max_features * num_columns
    return max(1, int(number))


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ForestParameters(CartParameters):
    """Parameters of forests. A limit may leave trees out; `n_jobs` and what reports of the fit change no tree.

    Args:
        n_estimators: The number of trees.
        bootstrap: Whether every tree draws its rows with replacement; if not, all trees have all rows.
        oob_score: Whether to score every row by the trees that have not drawn it, which needs `bootstrap`; a
            function of targets and predictions scores another way than accuracy or R^2. Optimistic with columns of
            many categories, whose statistics hold the row.
        n_jobs: How many cores fits and predictions use; None or -1 for all that there are, -2 for all but one.
        verbose: 1 for a bar of progress; n for a line every n trees.
        warm_start: Whether `fit` keeps the trees of the last one, and grows those that are missing.
        max_samples: How many rows a tree draws: a whole number, a fraction of the rows (with weights: of their
            sum), which may be above 1, or None for as many as there are.
        honest: Whether a tree fills its leaves by one half of its rows, whose splits the other half has chosen (Wager
            and Athey, 2018): predictions are less biased, and trees smaller. A leaf that stays empty is pruned.
    """

    n_estimators: Annotated[int, whole(1), GrowthLimit(max)] = dataclasses.field(default=100, kw_only=False)
    bootstrap: Annotated[bool, "boolean", Role.FIT] = True
    oob_score: Annotated[Any, "boolean", callable, Role.REPORTS] = False
    n_jobs: Annotated[int | None, Integral, None, Role.REPORTS] = None
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0
    warm_start: Annotated[bool, "boolean", Role.FIT] = False
    max_samples: Annotated[int | float | None, None, MULTIPLE, whole(1), Role.FIT] = None
    honest: Annotated[bool, "boolean", Role.FIT] = False


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class RegressionParameters(AnnotatedParameters):
    """The criterion of regression trees and of their forests.

    Args:
        criterion: "squared_error", or "poisson" for half the Poisson deviance; of several outputs the mean over
            them. "friedman_mse" becomes "squared_error", which it equals (the gain of both is the same up to a
            factor), with scikit-learn's FutureWarning.
    """

    criterion: Annotated[str, Words(NUMBER_CRITERIA), Role.FIT] = "squared_error"

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
