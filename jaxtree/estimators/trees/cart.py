"""CART: classification and regression trees, with scikit-learn's parameters."""

import copy
import dataclasses
import math
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from jaxtree.criteria import Criterion
from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.conventions import Role, Words, host_key_of
from jaxtree.estimators.common.features import FeatureOptions, read_interactions, read_monotone
from jaxtree.estimators.common.given_rows import TakesRows
from jaxtree.estimators.common.growing import Recipe
from jaxtree.estimators.common.ordered_categories import OF_OTHERS, order_for_trees
from jaxtree.estimators.common.parameters import (
    BALANCED,
    CLASS_CRITERIA,
    CartParameters,
    RegressionParameters,
    number_of_features,
)
from jaxtree.estimators.trees.base import BaseTreeClassifier, BaseTreeRegressor
from jaxtree.estimators.trees.batches import TakesBatches
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Rules
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.prune.weakest_links import cost_complexity_path
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.model import RowSums

EPSILON = float(np.finfo(np.float64).eps)
"""The rounding error of 1, by which a gain may fall short of `min_impurity_decrease`, as in scikit-learn."""

BINS_OF_RANDOM_THRESHOLDS = 255
"""Bins of a numeric column whose thresholds are drawn at random, where `max_bins` is "auto"."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class _CART(CartParameters, TakesRows, TakesBatches):
    """The base of the two CART estimators: how parameters become a recipe.

    Args:
        splitter: "best", or "random": one threshold a column, uniform between a node's least and greatest value.
    """

    splitter: Annotated[str, Words({"best", "random"}), Role.FIT] = "best"

    split_limit_counts = "rows"

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Returns the prices `ccp_alphas` at which cost-complexity pruning prunes more, and the trees' `impurities`.

        Args:
            X: A table, as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.

        Returns:
            A `jaxtree.prune.weakest_links.CostComplexityPath`; the tree is grown without `ccp_alpha` and `pruning`.

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

    def objective_of_rows(self) -> Classes | Numbers:
        objective: Any = self.make_objective(self.outputs())
        return objective

    def with_rows(self, nodes: Tree, row_sums: RowSums | None) -> Self:
        return copy.copy(self).settle(nodes, row_sums=row_sums)

    def reason_against_rows(self) -> str | None:
        if self.pruning is not None and self.pruning.needs_validation:
            return f"pruning={self.pruning} may have held rows out of the nodes"
        return None

    def make_encoder(self) -> Encoder:
        encoder = super().make_encoder()
        if self.splitter == "random" and self.max_bins == "auto":
            encoder.max_bins = BINS_OF_RANDOM_THRESHOLDS
        return encoder

    def growth_limits(self, data: Dataset) -> Limits:
        """Returns when nodes are not split; with weights, rows are counted if a limit on them is set."""
        num_rows, weight = data.num_rows, data.all_weights
        split = max(2, _number_of_rows(self.min_samples_split, num_rows))
        leaf = _number_of_rows(self.min_samples_leaf, num_rows)
        if weight is not None and split == 2 and leaf == 1:
            # A node with one row is a leaf anyway, and a branch without any is never made.
            split = leaf = 0
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=split,
            min_samples_leaf=leaf,
            min_weight_leaf=self.min_weight_fraction_leaf * (num_rows if weight is None else float(weight.sum())),
            min_impurity_decrease=float(self.min_impurity_decrease) - EPSILON,
            max_features=number_of_features(self.max_features, data.schema.num_features),
        )

    def draws_growth(self) -> bool:
        return self.splitter == "random" or self.max_features is not None

    def make_recipe(self, data: Dataset) -> Recipe:
        """Returns how to grow on some rows."""
        draws_thresholds = self.splitter == "random"
        features = FeatureOptions(
            SplitKind[OF_OTHERS.get(self.categorical_splits, self.categorical_splits).upper()],
            read_monotone(self.monotonic_cst, data.schema, data.outputs),
            read_interactions(self.interaction_cst, data.schema),
            draws_thresholds=draws_thresholds,
        )
        ordered = None
        if data.schema.is_categorical.any():
            features, ordered = order_for_trees(data, features, self.categorical_splits)
        data = data if ordered is None else ordered.data
        limits = self.growth_limits(data)
        rules = Rules(
            self.make_objective(data.outputs),
            Missing[self.missing.upper()],
            counts_rows=data.all_weights is not None and limits.min_samples_leaf > 0,
            samples_features=limits.max_features < data.schema.num_features,
            samples_thresholds=draws_thresholds,
            draws_ties=self.ties == "hash",
        )
        # Without a key ties are drawn, too: the same in every fit.
        key = host_key_of(self.random_state) if rules.samples_features or rules.samples_thresholds else None
        return Recipe(rules, limits, features, key, ordered=ordered)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DecisionTreeClassifier(_CART, BaseTreeClassifier):
    r"""CART (Breiman et al., *Classification and Regression Trees*, 1984): binary splits of the greatest gain.

    Parameters have the names and meanings of `sklearn.tree.DecisionTreeClassifier`; a column with no more than
    `max_bins` distinct values gives the same tree wherever the best split is unique. Among equal gains the column
    wins whose hash with the node's path is the least (see `ties`), then the lowest value's: two fits never differ.

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
        class_weight: Factors of the classes' weights: a dict, "balanced", a list for several outputs, or None.

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

    criterion: Annotated[str | Criterion, CLASS_CRITERIA, callable, Role.FIT] = "gini"
    class_weight: Annotated[Any, dict, list, BALANCED, None, Role.FIT] = None

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Grows the tree of one `fit` on all rows so far: those of earlier calls, and these behind them.

        It is the same bit for bit, however the rows are divided: bins, categories, factors of "balanced" and rows held
        out for a pruning follow from all rows. With draws (`max_features`, `splitter="random"`, `pruning`) that is
        so of a `random_state` that is an integer. A call takes the time of a fit of all rows so far, and the model
        keeps these: 8 bytes a number (4 of float32; sparse tables with their zeros), 4 a word, 4 a class, 8 a weight.

        `fit` begins anew. It keeps no rows, nor do files of models; `clone` and `add_rows` drop them, `pickle` and
        `joblib` keep them.

        Args:
            X: A table, or a source, see `fit`; at least one row, with the columns of the first call in their order.
            y: The class of every row.
            classes: All classes that there will be, of several outputs a list with those of each: in the first call,
                and then None or the same. Classes that no row has yet have the share 0. Without it a class may come
                with any call.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: As in `fit`; or the columns are others than before, or of another kind; a class is not
                among `classes`; or the model has rows that it has not kept. Nothing has changed then.
            InvalidTypeError: As in `fit`; or y has words, and had numbers before.

        Example:
            >>> from sklearn.datasets import load_iris
            >>> X, y = load_iris(return_X_y=True)
            >>> tree = DecisionTreeClassifier(max_depth=2)
            >>> tree.partial_fit(X[:75], y[:75], classes=[0, 1, 2]).predict_proba(X[[0, 60]]).tolist()
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
            >>> tree.partial_fit(X[75:], y[75:]).score(X, y)
            0.96
        """
        return self._partial_fit(X, y, sample_weight, classes)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DecisionTreeRegressor(RegressionParameters, _CART, BaseTreeRegressor):
    r"""CART (Breiman et al., *Classification and Regression Trees*, 1984, chapter 8): regression trees.

    Parameters have the names and meanings of `sklearn.tree.DecisionTreeRegressor`; a column with no more than
    `max_bins` distinct values gives the same tree wherever the best split is unique. Among equal gains
    (within 1e-9 of the best) the column wins whose hash with the node's path is the least (see `ties`), then the
    lowest value's.

    Categorical columns are split in two by the best subset, which lies in the order of the categories' means
    (Fisher, *On grouping for maximum homogeneity*, 1958); of several outputs the orders by each one's mean are
    tried. The gain is $i(t) - \sum_b \frac{w_b}{w_t} i(t_b)$, where $i$ is for "squared_error" the
    variance (rpart's anova, REPTree's variance), for "poisson" half the mean Poisson deviance; of several outputs it
    is the mean over them. "absolute_error" is not offered: medians are not sums, which the engine works on.

    Targets are summed in fixed point (see `jaxtree.kernels.fixed_point`), so that a tree does not depend on the
    order of the rows: two targets differ if they are further apart than 2**-61 of half the range of all.

    Attributes:
        tree_: The fitted `jaxtree.Tree`, after pruning.
        schema_: Columns and features in words.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> round(DecisionTreeRegressor(max_depth=3).fit(X, y).score(X, y), 4)
        0.5007
    """

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grows the tree of one `fit` on all rows so far: those of earlier calls, and these behind them.

        It is the same bit for bit; see `DecisionTreeClassifier.partial_fit` for what is kept, and for how long.

        Args:
            X: A table, or a source, see `fit`; at least one row, with the columns of the first call in their order.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: As in `fit`; or the columns are others than before, or of another kind; or the model has
                rows that it has not kept. Nothing has changed then.
            InvalidTypeError: As in `fit`.

        Example:
            >>> tree = DecisionTreeRegressor(max_depth=1).partial_fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 6.0])
            >>> tree.partial_fit([[4.0], [5.0]], [30.0, 30.0]).predict([[3.0], [4.0]]).tolist()
            [2.0, 30.0]
        """
        return self._partial_fit(X, y, sample_weight)


def _number_of_rows(number_or_share: int | float, num_rows: int) -> int:
    """Returns a number of rows as it is, and a share of them rounded up."""
    if isinstance(number_or_share, Integral):
        return int(number_or_share)
    return math.ceil(number_or_share * num_rows)
