"""Single classification trees: ID3 and CART."""

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import sklearn.tree
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from jaxtree.estimators.base import BaseTreeClassifier
from jaxtree.growth.criteria import CRITERIA, Criterion, entropy
from jaxtree.growth.level import Limits
from jaxtree.pruning.dropout import Dropout
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind

NO_LIMIT = 2**31 - 1

_SHARED_CONSTRAINTS = {
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "max_bins": [Interval(Integral, 2, 65_535, closed="both"), None],
    "pruning": [HasMethods("collapsed"), None],
    "random_state": ["random_state"],
}


class ID3Classifier(BaseTreeClassifier):
    r"""ID3 (Quinlan, *Induction of Decision Trees*, 1986): splits by information gain.

    A categorical column is split into one branch a category and is then used up on that path; a branch
    that no training row takes is a leaf with its parent's majority. Numeric, ordered and boolean columns
    are split by thresholds, as often as it helps. With `encoding="onehot"` every category is a binary
    column of its own.

    The gain is $H(t) - \sum_b \frac{n_b}{n} H(t_b)$ in bits. Growth stops at nodes of one class and where
    no column tells the rows apart; a split of gain 0 is made unless `min_gain` forbids it. Of equal gains
    the first column's wins, then the lowest value's.

    A missing value of a categorical column is a category of its own if there was one in training; if not, and
    for a category never seen in training, the row stays at the node that asks for it and gets its majority.
    A missing number is larger than every number, so that it always takes the upper branch.

    Args:
        encoding: "categorical" or "onehot".
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split.
        min_samples_leaf: The least number of rows in a branch that has any.
        min_gain: The least gain of a split, in bits.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None.
        random_state: Seed of the pruning's key, or a NumPy generator.

    Attributes:
        tree_: The fitted `jaxtree.Tree`, after pruning.
        schema_: Columns and features in words.
        classes_: The classes in ascending order.

    Example:
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True)
        >>> tree = ID3Classifier().fit(X, y)
        >>> tree.get_n_leaves(), tree.score(X, y)
        (5, 1.0)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_SHARED_CONSTRAINTS,
        "encoding": [StrOptions({"categorical", "onehot"})],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_gain": [Interval(Real, 0, None, closed="left")],
    }
    _split_kind = SplitKind.MULTIWAY
    _criterion = staticmethod(entropy)

    def __init__(
        self,
        *,
        encoding: str = "categorical",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_gain: float = 0.0,
        max_bins: int | None = 255,
        pruning: Dropout | None = None,
        random_state: Any = None,
    ):
        self.encoding = encoding
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.pruning = pruning
        self.random_state = random_state

    def _encoder(self) -> Encoder:
        return Encoder(encoding=self.encoding, max_bins=self.max_bins)

    def _limits(self, num_rows: int) -> Limits:
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_gain=float(self.min_gain),
        )


class DecisionTreeClassifier(BaseTreeClassifier):
    r"""CART (Breiman et al., *Classification and Regression Trees*, 1984): binary splits.

    Numeric, ordered and boolean columns are split by thresholds, categorical ones into one category and
    the rest. Parameters have the names and meanings of `sklearn.tree.DecisionTreeClassifier`; a column with no
    more than `max_bins` distinct values gives the same tree wherever the best split is unique. Of equal
    gains the first column's wins, then the lowest value's: two fits never differ.

    A missing number is larger than every number, so that it always takes the upper branch; known against missing is
    a split too. A category that was never seen in training is none of the known ones.

    Args:
        criterion: "gini", "entropy", "log_loss" (the same as entropy) or "misclassification", or a function
            of the class weights of a node, such as `jaxtree.criteria.gini`.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least number of rows in a node that is split, or their share of all rows.
        min_samples_leaf: The least number of rows in a branch, or their share of all rows.
        min_impurity_decrease: The least gain of a split times the node's share of all rows.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None.
        random_state: Seed of the pruning's key, or a NumPy generator.

    Attributes:
        tree_: The fitted `jaxtree.Tree`, after pruning.
        schema_: Columns and features in words.
        classes_: The classes in ascending order.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> DecisionTreeClassifier(max_depth=2).fit(X, y).score(X, y)
        0.96
    """

    _parameter_constraints: ClassVar[dict] = {
        **_SHARED_CONSTRAINTS,
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="neither")],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
    }
    _split_kind = SplitKind.ONE_VS_REST

    def __init__(
        self,
        *,
        criterion: str | Criterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_bins: int | None = 255,
        pruning: Dropout | None = None,
        random_state: Any = None,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_bins = max_bins
        self.pruning = pruning
        self.random_state = random_state

    @property
    def _criterion(self) -> Criterion:
        return self.criterion if callable(self.criterion) else CRITERIA[self.criterion]

    def _encoder(self) -> Encoder:
        return Encoder(max_bins=self.max_bins)

    def _limits(self, num_rows: int) -> Limits:
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=max(2, _number_of_rows(self.min_samples_split, num_rows)),
            min_samples_leaf=_number_of_rows(self.min_samples_leaf, num_rows),
            min_impurity_decrease=float(self.min_impurity_decrease),
        )


def _number_of_rows(number_or_share: int | float, num_rows: int) -> int:
    """A number of rows as it is, a share of them rounded up."""
    if isinstance(number_or_share, Integral):
        return int(number_or_share)
    return math.ceil(number_or_share * num_rows)


# scikit-learn's own plotting and export functions accept instances of its class alone.
for _estimator in (ID3Classifier, DecisionTreeClassifier):
    sklearn.tree.DecisionTreeClassifier.register(_estimator)
