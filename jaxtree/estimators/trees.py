"""CART: classification and regression trees, with scikit-learn's parameters."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import sklearn.tree
from jaxtyping import Float
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from jaxtree.criteria import CRITERIA, NUMBER_CRITERIA, Criterion, NumberCriterion
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.c45 import C45Classifier
from jaxtree.estimators.classifying import BaseTreeClassifier
from jaxtree.estimators.conventions import key_of
from jaxtree.estimators.growing import Recipe
from jaxtree.estimators.id3 import ID3Classifier
from jaxtree.estimators.monotone import read_monotone
from jaxtree.estimators.parameters import (
    MISSING,
    CartParameters,
    cart_limits,
    criterion_in_use,
    deepest,
    fewest,
    number_of_features,
)
from jaxtree.estimators.regressing import BaseTreeRegressor
from jaxtree.growth.inputs import Limits
from jaxtree.prune.weakest_links import cost_complexity_path
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind

CATEGORY_KINDS = {
    "subset": SplitKind.SUBSET,
    "one_vs_rest": SplitKind.ONE_VS_REST,
    "multiway": SplitKind.MULTIWAY,
}

BINS_OF_RANDOM_THRESHOLDS = 255
"""Bins of a numeric column whose thresholds are drawn at random, unless `max_bins` says otherwise."""


class _CART(CartParameters, BaseTree):
    """What the two CART estimators share: how parameters become a recipe."""

    criterion: Any
    splitter: str
    _criteria: ClassVar[dict[str, Criterion] | dict[str, NumberCriterion]]
    limit_parameters: ClassVar[dict] = {
        "max_depth": deepest,
        "min_samples_split": fewest,
        "min_impurity_decrease": min,
    }
    pruning_parameters = frozenset({"max_leaf_nodes", "ccp_alpha", "pruning"})
    split_limit_counts = "rows"

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Returns the prices `ccp_alphas` at which cost-complexity pruning prunes more, and the trees' `impurities`.

        Args:
            X: A table, as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.

        Returns:
            Two arrays, see `jaxtree.prune.CostComplexityPath`; the tree is grown without `ccp_alpha` and `pruning`.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.

        Example:
            >>> from sklearn.datasets import load_iris
            >>> X, y = load_iris(return_X_y=True)
            >>> DecisionTreeClassifier(max_depth=2).cost_complexity_pruning_path(X, y).ccp_alphas.round(4)
            array([0.    , 0.2598, 0.3333])
        """
        whole: Any = clone(self)
        whole.set_params(ccp_alpha=0.0, pruning=None).fit(X, y, sample_weight=sample_weight)
        return Bunch(**cost_complexity_path(whole.tree_)._asdict())

    def make_encoder(self) -> Encoder:
        draws = self.splitter == "random" and self.max_bins == "auto"
        return Encoder(
            max_bins=BINS_OF_RANDOM_THRESHOLDS if draws else self.max_bins,
            max_categories=self.max_categories,
            categorical_features=self.categorical_features,
        )

    def growth_limits(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Limits:
        return cart_limits(self, num_rows, weight)[0]

    def draws_growth(self) -> bool:
        return self.splitter == "random" or self.max_features is not None

    def make_recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        self.max_features_ = number_of_features(self.max_features, self.n_features_in_)
        limits, counts_rows = cart_limits(self, num_rows, weight)
        draws_features = self.max_features_ < self.schema_.num_features
        draws_thresholds = self.splitter == "random"
        criterion: Any = self._criteria.get(self.criterion, self.criterion)
        return Recipe(
            criterion=criterion,
            category_kind=CATEGORY_KINDS[self.categorical_splits],
            limits=limits,
            missing=MISSING[self.missing],
            counts_rows=counts_rows,
            monotone=read_monotone(self.monotonic_cst, self.schema_),
            draws_features=draws_features,
            draws_thresholds=draws_thresholds,
            key=key_of(self.random_state) if draws_features or draws_thresholds else None,
        )


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DecisionTreeClassifier(_CART, BaseTreeClassifier):
    r"""CART (Breiman et al., *Classification and Regression Trees*, 1984): binary splits of the greatest gain.

    Parameters have the names and meanings of `sklearn.tree.DecisionTreeClassifier`; a column with no more than
    `max_bins` distinct values gives the same tree wherever the best split is unique. Of equal gains the
    first column's wins, then the lowest value's: two fits never differ.

    Numeric, ordered and boolean columns are split by thresholds half way between neighbouring values of the node.
    Categorical columns are split in two by the best subset: with two classes by theorem 4.5 of the book, with more by
    trying all subsets of up to 8 categories, and beyond by the order of the share of each class in turn. Weka's
    SimpleCart grows the same trees with `min_samples_leaf=2`, except that it stops where its best split leaves too
    few rows on a side, and the next best is taken here.

    The gain is $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$ with the criterion $i$: "gini" is $1 - \sum_c p_c^2$ (the
    default of scikit-learn, rpart and SimpleCart), "entropy" and "log_loss" $-\sum_c p_c \log_2 p_c$,
    "misclassification" $1 - \max_c p_c$; of several outputs it is the mean over them.

    Args:
        criterion: "gini", "entropy", "log_loss" or "misclassification", or a function of the class weights of a
            node, such as `jaxtree.criteria.gini`.
        splitter: "best", or "random": one threshold a column, uniform between a node's least and greatest value.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows of some weight.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows of some weight.
        min_weight_fraction_leaf: The least share of the whole weight in a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", or None for all.
        random_state: Seed of what is drawn, or a NumPy generator.
        max_leaf_nodes: The most leaves; the splits of greatest gain times weight are made first.
        min_impurity_decrease: The least gain of a split times the node's share of the whole weight.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        class_weight: Factors of the classes' weights: a dict, "balanced", a list for several outputs, or None.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the share of the second of two classes
            may go as the column rises.
        missing: Where rows go whose value is missing: "learn" lets every split choose the branch where they gain
            most (a split that saw none sends them to the heavier branch), "fraction" sends a part into every branch,
            "branch" makes missing a value of its own, larger than every number.
        categorical_splits: "subset", "one_vs_rest" (a category and the rest) or "multiway" (a branch a category).
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values, "auto" is
            exact for tables of up to 50,000 rows and 255 beyond.
        max_categories: The most categories of a column.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None.

    Attributes:
        tree_: The fitted `jaxtree.Tree`, after pruning.
        schema_: Columns and features in words.
        classes_: The classes in ascending order; a list for several outputs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> DecisionTreeClassifier(max_depth=2).fit(X, y).score(X, y)
        0.96
    """

    criterion: str | Criterion = "gini"
    splitter: str = "best"
    class_weight: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **CartParameters._parameter_constraints,
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "splitter": [StrOptions({"best", "random"})],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }
    _criteria = CRITERIA

    def make_recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """Returns how to grow on so many rows with such weights."""
        recipe = super().make_recipe(num_rows, weight)
        if recipe.monotone is not None and self.n_outputs_ > 1:
            raise InvalidInputError("Monotonicity constraints are not supported with multiple outputs.")
        if recipe.monotone is not None and self.n_classes_ > 2:
            raise InvalidInputError(
                f"Monotonicity constraints are not supported with multiclass classification; y has {self.n_classes_} "
                "classes, and 2 are allowed"
            )
        return recipe


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DecisionTreeRegressor(_CART, BaseTreeRegressor):
    r"""CART (Breiman et al., *Classification and Regression Trees*, 1984, chapter 8): regression trees.

    Parameters have the names and meanings of `sklearn.tree.DecisionTreeRegressor`; a column with no more than
    `max_bins` distinct values gives the same tree wherever the best split is unique. Of equal gains (within
    1e-9 of the best) the first column's wins, then the lowest value's.

    Categorical columns are split in two by the best subset, which lies in the order of the categories' means
    (Fisher, *On grouping for maximum homogeneity*, 1958); of several outputs the orders by each one's mean are
    tried. The gain is $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$, where $i$ is for "squared_error" the
    variance (rpart's anova, REPTree's variance), for "poisson" half the mean Poisson deviance; of several outputs it
    is the mean over them. "absolute_error" is not offered: medians are not sums, which the engine works on.

    Targets are summed in fixed point (see `jaxtree.growth.whole_numbers`): a tree does not depend on the order of
    the rows: two targets differ if they are further apart than 2**-61 of half the range of all.

    Args:
        criterion: "squared_error" or "poisson". "friedman_mse" becomes "squared_error", which it equals (the gain of
            both is the same up to a factor), with scikit-learn's FutureWarning.
        splitter: "best", or "random": one threshold a column, uniform between a node's least and greatest value.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows of some weight.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows of some weight.
        min_weight_fraction_leaf: The least share of the whole weight in a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", or None for all.
        random_state: Seed of what is drawn, or a NumPy generator.
        max_leaf_nodes: The most leaves; the splits of greatest gain times weight are made first.
        min_impurity_decrease: The least gain of a split times the node's share of the whole weight.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the mean may go as the column rises.
        missing: Where rows go whose value is missing: "learn", "fraction" or "branch", as in `DecisionTreeClassifier`.
        categorical_splits: "subset", "one_vs_rest" (a category and the rest) or "multiway" (a branch a category).
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values, "auto" is
            exact for tables of up to 50,000 rows and 255 beyond.
        max_categories: The most categories of a column.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None.

    Attributes:
        tree_: The fitted `jaxtree.Tree`, after pruning.
        schema_: Columns and features in words.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> round(DecisionTreeRegressor(max_depth=3).fit(X, y).score(X, y), 4)
        0.5007
    """

    criterion: str = "squared_error"
    splitter: str = "best"

    _parameter_constraints: ClassVar[dict] = {
        **CartParameters._parameter_constraints,
        "criterion": [StrOptions(set(NUMBER_CRITERIA))],
        "splitter": [StrOptions({"best", "random"})],
    }
    _criteria = NUMBER_CRITERIA

    poisson_sum = "positive"
    """scikit-learn's word for what the sum of a Poisson target must be; it has another for forests."""

    def __post_init__(self):
        """Takes the old name of a criterion for the new one."""
        self.criterion = criterion_in_use(self.criterion)

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        if self.criterion == "absolute_error":
            raise InvalidInputError(
                "criterion 'absolute_error' is not offered: growth sums weights and targets, from which it does not "
                f"follow; allowed are {', '.join(map(repr, NUMBER_CRITERIA))}"
            )
        super().check_parameters()

    def _check_target(self, values: Float[np.ndarray, "output row"]) -> None:
        if self.criterion != "poisson":
            return
        if values.min() < 0:
            raise InvalidInputError(
                "Some value(s) of y are negative which is not allowed for Poisson regression: "
                f"the least is {values.min()}"
            )
        if values.sum() <= 0:
            raise InvalidInputError(
                f"Sum of y is not {self.poisson_sum} which is necessary for Poisson regression: all are 0"
            )

    def make_recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """Returns how to grow on so many rows with such weights."""
        recipe = super().make_recipe(num_rows, weight)
        if recipe.monotone is not None and self.n_outputs_ > 1:
            raise InvalidInputError("Monotonicity constraints are not supported with multiple outputs.")
        return recipe


# scikit-learn's own plotting and export functions accept instances of its classes alone.
for _estimator in (ID3Classifier, C45Classifier, DecisionTreeClassifier):
    sklearn.tree.DecisionTreeClassifier.register(_estimator)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
