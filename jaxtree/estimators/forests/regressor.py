"""Forests that predict numbers."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions

from jaxtree.criteria import NUMBER_CRITERIA
from jaxtree.estimators.forests.base import BaseForest, with_weightless_rows
from jaxtree.estimators.parameters import ForestParameters, criterion_in_use
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.sample import PreparedFit
from jaxtree.estimators.trees import DecisionTreeRegressor


class BaseForestRegressor(ScoresSources, RegressorMixin, BaseForest):
    """A forest of regression trees."""

    criterion: str

    _tree_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict] = {
        **ForestParameters._parameter_constraints,
        "criterion": [StrOptions(set(NUMBER_CRITERIA))],
    }

    def __post_init__(self):
        """Takes the old name of a criterion for the new one."""
        self.criterion = criterion_in_use(self.criterion)

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the mean over the trees of the leaves' means, for several outputs of shape (rows, outputs)."""
        values = self._values(X)
        return self._as_given(self._model.predict(values))

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        if self.criterion == "absolute_error":
            self._blank_tree().check_parameters()
        super().check_parameters()

    def _blank_tree(self) -> DecisionTreeRegressor:
        tree: Any = super()._blank_tree()
        tree.poisson_sum = "strictly positive"
        return tree

    def _learn_from(self, blank: Any) -> None:
        super()._learn_from(blank)
        self.is_vector_ = blank.is_vector_

    def _as_given(self, means: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row *output"]:
        """The numbers as a vector where the target was one."""
        return means[:, 0] if self.is_vector_ else means

    def _score_out_of_bag(self, start: PreparedFit) -> None:
        means = self._means_out_of_bag(start)
        known = ~np.isnan(means[:, 0])
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(self._as_given(start.sample.target.T[known]), self._as_given(means[known]))
        self.oob_prediction_ = self._as_given(with_weightless_rows(means, start))


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class RandomForestRegressor(BaseForestRegressor):
    r"""A random forest (Breiman, *Random forests*, Machine Learning 45, 2001) of regression trees.

    Every tree draws its rows with replacement; `max_features` says how many columns a node looks at, all if it is
    1.0. The forest predicts the mean of the leaves' means. Parameters have the names and meanings of
    `sklearn.ensemble.RandomForestRegressor`, with two exceptions: limits count a row as often as it was drawn, and
    numeric columns have 255 bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Args:
        n_estimators: The number of trees.
        criterion: "squared_error" or "poisson".
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows of some weight.
            A row counts as often as the tree has drawn it.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows of some weight.
        min_weight_fraction_leaf: The least share of a tree's whole weight in a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", or None for all.
        max_leaf_nodes: The most leaves of a tree; the splits of greatest gain times weight are made first.
        min_impurity_decrease: The least gain of a split times the node's share of the tree's weight.
        bootstrap: Whether every tree draws its rows with replacement; if not, all trees have all rows.
        oob_score: Whether to score every row by the trees that have not drawn it; a function of targets and predictions
            scores another way than R^2.
        n_jobs: How many batches of trees grow at the same time; None or -1 for as many as there are cores.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: Whether to show a progress bar.
        warm_start: Whether `fit` keeps the trees of the last one, and grows those that are missing.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        max_samples: How many rows a tree draws: a whole number, a fraction of the rows (with weights: of their sum),
            which may be above 1, or None for as many as there are.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the mean may go as the column rises.
        missing: Where rows go whose value is missing: "learn", "fraction" or "branch", as in `DecisionTreeRegressor`.
        categorical_splits: "subset", "one_vs_rest" (a category and the rest) or "multiway" (a branch a category).
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; "auto" is 255, None is exact up to 65,535 values.
        max_categories: The most categories of a column.
        pruning: A pruning of every tree, such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None. One that looks at held-out
            rows is given those that the tree has not drawn.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest` of which `forest_[i]` is the i-th `jaxtree.Tree`.
        estimators_: Every tree as a fitted `DecisionTreeRegressor`.
        feature_importances_: The mean importance of every column.
        oob_score_: The score of out-of-bag predictions; with `oob_score` alone.
        oob_prediction_: Those predictions; NaN for rows that every tree has drawn.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(20, max_depth=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.4
        (20, True)
    """

    criterion: str = "squared_error"
    max_features: Any = 1.0


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExtraTreesRegressor(BaseForestRegressor):
    r"""Extremely randomised trees (Geurts, Ernst and Wehenkel, Machine Learning 63, 2006) that predict numbers.

    Every node draws one threshold a column, uniform between the node's least and greatest value, and takes the best
    of the columns' splits. All trees have all rows unless `bootstrap` is set. Parameters have the names and meanings
    of `sklearn.ensemble.ExtraTreesRegressor`; numeric columns have 255 bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Args:
        n_estimators: The number of trees.
        criterion: "squared_error" or "poisson".
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows of some weight.
            A row counts as often as the tree has drawn it.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows of some weight.
        min_weight_fraction_leaf: The least share of a tree's whole weight in a branch.
        max_features: How many random columns a node looks at: a number, a share, "sqrt", "log2", or None for all.
        max_leaf_nodes: The most leaves of a tree; the splits of greatest gain times weight are made first.
        min_impurity_decrease: The least gain of a split times the node's share of the tree's weight.
        bootstrap: Whether every tree draws its rows with replacement; if not, all trees have all rows.
        oob_score: Whether to score every row by the trees that have not drawn it; a function of targets and predictions
            scores another way than R^2.
        n_jobs: How many batches of trees grow at the same time; None or -1 for as many as there are cores.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: Whether to show a progress bar.
        warm_start: Whether `fit` keeps the trees of the last one, and grows those that are missing.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        max_samples: How many rows a tree draws: a whole number, a fraction of the rows (with weights: of their sum),
            which may be above 1, or None for as many as there are.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the mean may go as the column rises.
        missing: Where rows go whose value is missing: "learn", "fraction" or "branch", as in `DecisionTreeRegressor`.
        categorical_splits: "subset", "one_vs_rest" (a category and the rest) or "multiway" (a branch a category).
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; "auto" is 255, None is exact up to 65,535 values.
        max_categories: The most categories of a column.
        pruning: A pruning of every tree, such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None. One that looks at held-out
            rows is given those that the tree has not drawn.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest` of which `forest_[i]` is the i-th `jaxtree.Tree`.
        estimators_: Every tree as a fitted `DecisionTreeRegressor`.
        feature_importances_: The mean importance of every column.
        oob_score_: The score of out-of-bag predictions; with `oob_score` alone.
        oob_prediction_: Those predictions; NaN for rows that every tree has drawn.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = ExtraTreesRegressor(20, max_depth=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.4
        (20, True)
    """

    criterion: str = "squared_error"
    max_features: Any = 1.0
    bootstrap: bool = False

    _splitter = "random"
