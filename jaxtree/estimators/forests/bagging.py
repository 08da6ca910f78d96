"""Bagged trees."""

from typing import Any

from jaxtree.estimators.forests.classifying import BaseForestClassifier
from jaxtree.estimators.forests.parameters import keep_parameters
from jaxtree.estimators.forests.regressing import BaseForestRegressor
from jaxtree.estimators.parameters import criterion_in_use
from jaxtree.estimators.prunings import Pruning
from jaxtree.growth.criteria import Criterion


class BaggingTreeClassifier(BaseForestClassifier):
    r"""Bagged classification trees (Breiman, *Bagging predictors*, Machine Learning 24, 1996).

    Every tree draws its rows with replacement, and looks at all columns unless `max_features` says otherwise. It is
    `sklearn.ensemble.BaggingClassifier` of `DecisionTreeClassifier`, whose parameters it takes itself; a class has
    the mean of its shares in the leaves. Limits count a row as often as it was drawn.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.


    Args:
        n_estimators: The number of trees.
        criterion: "gini", "entropy", "log_loss" or "misclassification", or a function of the class weights of a node.
        splitter: "best", or "random": one threshold a column, uniform between a node's least and greatest value.
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
            scores another way than accuracy.
        n_jobs: How many batches of trees grow at the same time; None or -1 for as many as there are cores.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: Whether to show a progress bar.
        warm_start: Whether `fit` keeps the trees of the last one, and grows those that are missing.
        class_weight: Factors of classes in a dict, "balanced", or "balanced_subsample" for those that balance the
            classes of each tree's own rows.
        ccp_alpha: The price of a leaf in cost-complexity pruning, see `jaxtree.prune.cost_complexity`; 0 for none.
        max_samples: How many rows a tree draws: a whole number, a fraction of the rows (with weights: of their sum),
            which may be above 1, or None for as many as there are.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the share of class 1 may go as the column
            rises.
        missing: Where rows go whose value is missing: "learn", "fraction" or "branch", as in `DecisionTreeClassifier`.
        categorical_splits: "subset", "one_vs_rest" (a category and the rest) or "multiway" (a branch a category).
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; "auto" is 255, None is exact up to 65,535 values.
        max_categories: The most categories of a column.
        pruning: A pruning of every tree, such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None. One that looks at held-out
            rows is given those that the tree has not drawn.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest` of which `forest_[i]` is the i-th `jaxtree.Tree`.
        estimators_: Every tree as a fitted `DecisionTreeClassifier`.
        classes_: The classes in ascending order; a list for several outputs.
        feature_importances_: The mean importance of every column.
        oob_score_: The score of out-of-bag predictions; with `oob_score` alone.
        oob_decision_function_: The mean shares that they are made from; NaN for rows that every tree has drawn. Of
            several outputs of equally many classes [row, class, output], else a list of one array for each.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = BaggingTreeClassifier(20, max_depth=3, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.9
        (20, True)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Criterion = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        missing: str = "learn",
        categorical_splits: str = "subset",
        categorical_features: Any = "from_dtype",
        max_bins: int | str | None = "auto",
        max_categories: int | None = 1024,
        pruning: Pruning | None = None,
    ):
        keep_parameters(self, locals())


class BaggingTreeRegressor(BaseForestRegressor):
    r"""Bagged regression trees (Breiman, *Bagging predictors*, Machine Learning 24, 1996).

    Every tree draws its rows with replacement, and looks at all columns unless `max_features` says otherwise. It is
    `sklearn.ensemble.BaggingRegressor` of `DecisionTreeRegressor`, whose parameters it takes itself. Limits count a
    row as often as it was drawn.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.


    Args:
        n_estimators: The number of trees.
        criterion: "squared_error" or "poisson".
        splitter: "best", or "random": one threshold a column, uniform between a node's least and greatest value.
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
        >>> forest = BaggingTreeRegressor(20, max_depth=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.4
        (20, True)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        missing: str = "learn",
        categorical_splits: str = "subset",
        categorical_features: Any = "from_dtype",
        max_bins: int | str | None = "auto",
        max_categories: int | None = 1024,
        pruning: Pruning | None = None,
    ):
        criterion = criterion_in_use(criterion)
        keep_parameters(self, locals())
