"""ID3."""

import dataclasses
from typing import Annotated, ClassVar

from sklearn.utils._param_validation import StrOptions

from jaxtree.criteria import Criterion
from jaxtree.estimators.base import BaseTreeClassifier
from jaxtree.estimators.conventions import whole
from jaxtree.estimators.growing import Recipe
from jaxtree.estimators.parameters import CLASS_CRITERIA, deepest
from jaxtree.estimators.prunings import AT_LEAST_0
from jaxtree.estimators.sample import Weights
from jaxtree.growth.inputs import NO_LIMIT, Limits, Missing, Rules
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ID3Classifier(BaseTreeClassifier):
    r"""ID3 (Quinlan, *Induction of Decision Trees*, 1986): splits by information gain.

    A categorical column is split into one branch a category and is then used up on that path; a branch
    that no training row takes is a leaf with its parent's majority. Numeric, ordered and boolean columns
    are split by thresholds, as often as it helps. With `encoding="onehot"` every category is a binary
    column of its own.

    The gain is $H(t) - \sum_b \frac{n_b}{n} H(t_b)$ in bits. Growth stops at nodes of one class and where
    no column separates the rows; a split of gain 0 is made unless `min_gain` forbids it. Of equal gains
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

    encoding: Annotated[str, StrOptions({"categorical", "onehot"})] = "categorical"
    criterion: Annotated[str | Criterion, CLASS_CRITERIA, callable] = "entropy"
    missing: str = "branch"
    max_depth: Annotated[int | None, whole(0), None] = None
    min_samples_split: Annotated[int | float, AT_LEAST_0] = 2
    min_samples_leaf: Annotated[int | float, AT_LEAST_0] = 1
    min_gain: Annotated[float, AT_LEAST_0] = 0.0

    limit_parameters: ClassVar[dict] = {"max_depth": deepest, "min_samples_split": min, "min_gain": min}

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        encoder = super().make_encoder()
        encoder.encoding = self.encoding
        return encoder

    def growth_limits(self, num_rows: int, weight: Weights) -> Limits:
        """Returns when nodes are not split."""
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split if weight is None or self.min_samples_split > 2 else 0,
            min_samples_leaf=self.min_samples_leaf if weight is None or self.min_samples_leaf > 1 else 0,
            min_gain=float(self.min_gain),
        )

    def make_recipe(self, num_rows: int, weight: Weights) -> Recipe:
        """Returns how to grow on so many rows with such weights."""
        rules = Rules(self.make_objective(), Missing[self.missing.upper()])
        return Recipe(rules, self.growth_limits(num_rows, weight), SplitKind.MULTIWAY)
