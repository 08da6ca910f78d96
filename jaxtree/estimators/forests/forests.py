"""Forests with scikit-learn's conventions: random forests and extremely randomised trees, of classes and of numbers."""

import copy
import dataclasses
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.metrics import r2_score

from jaxtree.criteria import Criterion
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.sample import Weights
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.parameters import CLASS_CRITERIA, RegressionParameters
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.prediction import PredictsClasses
from jaxtree.estimators.common.scorers import number_of_metric
from jaxtree.estimators.forests.bands import DrawnClasses, DrawnNumbers, DrawnTargets
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.forests.forest import Sampling
from jaxtree.table.redraws import RedrawnRows

BALANCED = Words({"balanced", "balanced_subsample"})


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class BaseForestClassifier(PredictsClasses, BaseForest):
    """A forest of classification trees.

    Args:
        criterion: "gini", "entropy", "log_loss" or "misclassification", or a function of the class weights of a
            node.
        class_weight: Factors of classes in a dict, "balanced", or "balanced_subsample" for those that balance the
            classes of each tree's own rows.
    """

    criterion: Annotated[str | Criterion, CLASS_CRITERIA, callable, Role.FIT] = "gini"
    class_weight: Annotated[Any, dict, list, BALANCED, None, Role.FIT] = None

    _tree_class = DecisionTreeClassifier

    def tree_parameters(self) -> DecisionTreeClassifier:
        """Returns the parameters of the trees, as an estimator of one."""
        tree: Any = super().tree_parameters()
        if self.class_weight == "balanced_subsample":
            # Every tree weights the rows that it draws; where all have all rows that is the same for all.
            tree.class_weight = None if self.bootstrap else "balanced"
        return tree

    def _check_takes_shares(self) -> None:
        super()._check_takes_shares()
        if self.bootstrap and self.class_weight == "balanced_subsample":
            raise InvalidInputError(
                "class_weight='balanced_subsample' counts the classes that a tree draws, and y has probabilities: "
                "'balanced' and dicts take them"
            )

    def with_plain_classes(self) -> Self:
        """Returns a copy whose classes have no weights."""
        plain = copy.copy(self)
        plain.class_weight = None
        return plain

    def _drawn_targets(self, data: Dataset, weight: Weights, drawn: RedrawnRows) -> DrawnTargets:
        return DrawnClasses(self, data, drawn, weight)

    def _sampling(self, data: Dataset) -> Sampling:
        balances = self.bootstrap and self.class_weight == "balanced_subsample"
        return super()._sampling(data)._replace(balances_classes=balances)

    def _score_out_of_bag(self, data: Dataset) -> None:
        shares = self._model.by_output(self._means_out_of_bag(data))
        known = ~np.isnan(shares[0][:, 0])
        given = self._names_of(data.sample.labels[:, known].astype(np.int64))
        predicted = self._names_of(np.stack([share[known].argmax(axis=1) for share in shares]))
        score = self.oob_score if callable(self.oob_score) else _accuracy
        self.oob_score_ = number_of_metric("oob_score", score(given, predicted))
        shares = [_with_weightless_rows(share, data) for share in shares]
        if self.n_outputs_ == 1:
            self.oob_decision_function_ = shares[0]
        else:  # as scikit-learn has it; a list if outputs differ in their number of classes
            are_alike = len({share.shape[1] for share in shares}) == 1
            self.oob_decision_function_ = np.stack(shares, axis=2) if are_alike else shares


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class BaseForestRegressor(RegressionParameters, PredictsNumbers, BaseForest):
    """A forest of regression trees."""

    _tree_class = DecisionTreeRegressor

    def tree_parameters(self) -> DecisionTreeRegressor:
        """Returns the parameters of the trees, as an estimator of one."""
        tree: Any = super().tree_parameters()
        tree.poisson_sum = "strictly positive"
        return tree

    def _drawn_targets(self, data: Dataset, weight: Weights, drawn: RedrawnRows) -> DrawnTargets:
        return DrawnNumbers(self, data, drawn)

    def _score_out_of_bag(self, data: Dataset) -> None:
        means = self._means_out_of_bag(data)
        known = ~np.isnan(means[:, 0])
        score = self.oob_score if callable(self.oob_score) else r2_score
        value = score(self._as_given(data.target.T[known]), self._as_given(means[known]))
        self.oob_score_ = number_of_metric("oob_score", value)
        self.oob_prediction_ = self._as_given(_with_weightless_rows(means, data))


def _accuracy(given: Shaped[np.ndarray, "row *output"], predicted: Shaped[np.ndarray, "row *output"]) -> float:
    """Returns the share of rows that are right in all outputs."""
    right = given == predicted
    return float(np.mean(right if right.ndim == 1 else right.all(axis=1)))


def _with_weightless_rows(values: Float[np.ndarray, "row *column"], data: Dataset) -> Float[np.ndarray, "row *column"]:
    """Returns the values of the rows of some weight, with NaN for all other rows of the table."""
    if data.has_weight is None:
        return values
    whole = np.full((data.has_weight.size, *values.shape[1:]), np.nan)
    whole[data.has_weight] = values
    return whole


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class RandomForestClassifier(BaseForestClassifier):
    r"""A random forest (Breiman, *Random forests*, Machine Learning 45, 2001) of classification trees.

    Every tree draws its rows with replacement, and every node draws the columns that it looks at; a node whose
    columns are all constant goes on to the next. A class has the mean of its shares in the leaves, as in
    `sklearn.ensemble.RandomForestClassifier`, whose parameters have the same names and meanings, with two exceptions:
    limits count a row as often as it was drawn, and numeric columns have 255 bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest` of which `forest_[i]` is the i-th `jaxtree.Tree`.
        estimators_: Every tree as a fitted `DecisionTreeClassifier`.
        classes_: The classes in ascending order; a list for several outputs.
        feature_importances_: The mean importance of every column.
        oob_score_: The score of out-of-bag predictions; with `oob_score` alone.
        oob_decision_function_: The mean shares that they are made from; NaN for rows that every tree has drawn. Several
            outputs of equally many classes are one array [row, class, output], others a list of one array for each.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(20, max_depth=3, random_state=0, oob_score=True).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.9
        (20, True)
    """

    max_features: Any = "sqrt"


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExtraTreesClassifier(BaseForestClassifier):
    r"""Extremely randomised trees (Geurts, Ernst and Wehenkel, Machine Learning 63, 2006) of classes.

    Every node draws the columns that it looks at, and one threshold a column, uniform between the node's least and
    greatest value; a categorical column is split as in other trees. All trees have all rows unless `bootstrap` is
    set. Parameters have the names and meanings of `sklearn.ensemble.ExtraTreesClassifier`; numeric columns have 255
    bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `RandomForestClassifier`, too.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ExtraTreesClassifier(20, max_depth=3, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.9
        (20, True)
    """

    max_features: Any = "sqrt"
    bootstrap: bool = False

    _splitter = "random"


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class RandomForestRegressor(BaseForestRegressor):
    r"""A random forest (Breiman, *Random forests*, Machine Learning 45, 2001) of regression trees.

    Every tree draws its rows with replacement; a node looks at `max_features` columns, all if that is 1.0. The forest
    predicts the mean of the leaves' means. Parameters have the names and meanings of
    `sklearn.ensemble.RandomForestRegressor`, with two exceptions: limits count a row as often as it was drawn, and
    numeric columns have 255 bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest` of which `forest_[i]` is the i-th `jaxtree.Tree`.
        estimators_: Every tree as a fitted `DecisionTreeRegressor`.
        feature_importances_: The mean importance of every column.
        oob_score_: The score of out-of-bag predictions; with `oob_score` alone.
        oob_prediction_: The out-of-bag predictions; NaN for rows that every tree has drawn.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(20, max_depth=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.4
        (20, True)
    """

    max_features: Any = 1.0


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExtraTreesRegressor(BaseForestRegressor):
    r"""Extremely randomised trees (Geurts, Ernst and Wehenkel, Machine Learning 63, 2006) of numbers.

    Every node draws one threshold a column, uniform between the node's least and greatest value, and takes the best
    of the columns' splits. All trees have all rows unless `bootstrap` is set. Parameters have the names and meanings
    of `sklearn.ensemble.ExtraTreesRegressor`; numeric columns have 255 bins.

    The trees are roots of one growth, in batches that memory bounds, on all cores. A `random_state` gives the same
    forest whatever `n_jobs`, and tree i is the same whatever `n_estimators`.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `RandomForestRegressor`, too.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = ExtraTreesRegressor(20, max_depth=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.score(X, y) > 0.4
        (20, True)
    """

    max_features: Any = 1.0
    bootstrap: bool = False

    _splitter = "random"
