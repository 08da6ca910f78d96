"""ID3."""

import dataclasses
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.criteria import CRITERIA, Criterion
from jaxtree.estimators.classifying import BaseTreeClassifier
from jaxtree.estimators.growing import Recipe
from jaxtree.estimators.parameters import MISSING, TableParameters, deepest
from jaxtree.growth.inputs import NO_LIMIT, Limits
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ID3Classifier(TableParameters, BaseTreeClassifier):
    r"""ID3 (Quinlan, *Induction of Decision Trees*, 1986): splits by information gain.

    A categorical column is split into one branch a category and is then used up on that path; a branch
    that no training row takes is a leaf with its parent's majority. Numeric, ordered and boolean columns
    are split by thresholds, as often as it helps. With `encoding="onehot"` every category is a binary
    column of its own.

    The gain is $H(t) - \sum_b \frac{n_b}{n} H(t_b)$ in bits. Growth stops at nodes of one class and where
    no column tells the rows apart; a split of gain 0 is made unless `min_gain` forbids it. Of equal gains
    the first column's wins, then the lowest value's.

    A category never seen in training counts as missing. Where missing values are a branch and training had none, the
    row stays at the node that asks for the value and gets its majority; a missing number takes the upper branch.

    Args:
        encoding: "categorical" or "onehot".
        criterion: "entropy" (Quinlan's), "log_loss" (the same), "gini" or "misclassification", or a function of the
            class weights of a node.
        missing: Where rows go whose value is missing: "branch" makes it a value of its own, "learn" lets every
            split choose the branch where they gain most, "fraction" sends a part into every branch.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least weight of a node that is split; a row weighs 1 by itself.
        min_samples_leaf: The least weight of a branch that has any.
        min_gain: The least gain of a split, in bits.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values, "auto" is
            exact for tables of up to 50,000 rows and 255 beyond.
        max_categories: The most categories of a column.
        categorical_features: "from_dtype", None, or which columns are categorical.
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

    encoding: str = "categorical"
    criterion: str | Criterion = "entropy"
    missing: str = "branch"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_gain: float = 0.0

    _parameter_constraints: ClassVar[dict] = {
        **TableParameters._parameter_constraints,
        "encoding": [StrOptions({"categorical", "onehot"})],
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_samples_split": [Interval(Real, 0, None, closed="left")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
        "min_gain": [Interval(Real, 0, None, closed="left")],
    }

    limit_parameters: ClassVar[dict] = {"max_depth": deepest, "min_samples_split": min, "min_gain": min}

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        return Encoder(
            encoding=self.encoding,
            max_bins=self.max_bins,
            max_categories=self.max_categories,
            categorical_features=self.categorical_features,
        )

    def growth_limits(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Limits:
        """Returns when nodes are not split."""
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split if weight is None or self.min_samples_split > 2 else 0,
            min_samples_leaf=self.min_samples_leaf if weight is None or self.min_samples_leaf > 1 else 0,
            min_gain=float(self.min_gain),
        )

    def make_recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """Returns how to grow on so many rows with such weights."""
        return Recipe(
            criterion=self.criterion if callable(self.criterion) else CRITERIA[self.criterion],
            category_kind=SplitKind.MULTIWAY,
            limits=self.growth_limits(num_rows, weight),
            missing=MISSING[self.missing],
        )
