"""C4.5."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.estimators.base import BaseTreeClassifier
from jaxtree.estimators.growing import Recipe
from jaxtree.estimators.parameters import MISSING, SHARED_CONSTRAINTS
from jaxtree.growth.criteria import CRITERIA, Criterion
from jaxtree.growth.inputs import NO_LIMIT, Limits
from jaxtree.growth.rules import Selection
from jaxtree.pruning.collapse import collapse
from jaxtree.pruning.dropout import Dropout
from jaxtree.table.encoder import Encoder
from jaxtree.table.target import ClassTarget
from jaxtree.tree import SplitKind, Tree, class_shares, output_counts, take_tree

CLOSEST_VALUES = 1e-5
"""C4.5 does not cut between values that lie closer."""

SHARE_OF_MANY = 0.3
"""A categorical column with at least this share of the rows' number of categories is left out of the average gain."""


class C45Classifier(BaseTreeClassifier):
    r"""C4.5 (Quinlan, *C4.5: Programs for Machine Learning*, 1993), as its releases 8 and J48 grow it, unpruned.

    A categorical column is split into one branch for every declared category, or with `binary_splits` into one
    category and the rest; a numeric column by a threshold that is a value of the table. With $W$ the weight at
    a node, $W_k$ the part whose value is known, and weights of branches $w_b$:

    - gain: $\frac{W_k}{W} \bigl(H(\text{known}) - \sum_b \frac{w_b}{W_k} H(b)\bigr)$ in bits, for a threshold
      less $\log_2(\text{cuts tried}) / W$ (Quinlan, *Improved use of continuous attributes in C4.5*, 1996);
    - split information: the entropy of the branches' weights and the unknown weight over W;
    - of the tests whose gain is at least the average less 0.001, the greatest gain / split information wins, the first
      column's on a tie. Categorical columns with 0.3 times as many categories as rows do not count for the average.

    A categorical test needs two branches with `min_samples_leaf` of known weight, a threshold that much on both
    sides and a tenth of the mean known weight of a class, or 25 if that is more. Values closer than 1e-5 are not
    cut apart. A row whose value is missing goes down all branches, with the share of known weight that each has.
    The target's declared classes and their order count: they set the minimum above, and decide between classes of equal
    weight. Differences below 1e-6 are none.

    Where Release 8 differs from J48, these are J48's rules: a node where no test gains anything is a leaf (Release
    8 splits it by the first column and collapses what does not help; with `gain="information"` that is done
    here too); subtrees are collapsed when the tree is grown (Release 8: as each is built, with the same result on all
    trees compared); Release 8 keeps logarithms in single precision and compares them exactly, so that between
    exactly equal gains rounding chooses, where here the first column wins; it asks for split information above 0.001,
    here above 1e-6.

    Args:
        min_samples_leaf: The least weight of two branches.
        gain: "ratio", or "information" for the greatest gain without a correction for many branches.
        binary_splits: Whether a categorical column is split into one category and the rest (J48's `-B`).
        collapse: Whether subtrees that make no fewer training errors than a leaf become one (J48 without `-O`).
        mdl_correction: Whether a threshold's gain is corrected for the cuts tried (J48 without `-J`).
        laplace: Whether `predict_proba` returns (count + 1) / (weight + classes) (J48's `-A`).
        criterion: "entropy", which C4.5 means, or another impurity in its place.
        missing: "fraction", which C4.5 means; "learn" or "branch" as in `DecisionTreeClassifier`.
        max_depth: The largest depth of a leaf; None for no limit.
        max_bins: The most bins of a numeric column, at most 65,535; None is exact up to that many values, "auto" is
            exact for tables of up to 50,000 rows and 255 beyond.
        max_categories: The most categories of a column.
        categorical_features: "from_dtype", None, or which columns are categorical.
        class_weight: Factors of the classes' weights: a dict, "balanced", or None.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)`, or None.
        random_state: Seed of the pruning's key, or a NumPy generator.

    Attributes:
        tree_: The fitted `jaxtree.Tree`.
        schema_: Columns and features in words.
        classes_: The classes in ascending order.
        class_order_: Their places in the order that the target's dtype declares.

    Example:
        >>> from jaxtree import export_text
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> print(export_text(C45Classifier().fit(X, y), style="weka"))
        outlook = overcast: yes (4.0)
        outlook = rainy
        |   windy = FALSE: yes (3.0)
        |   windy = TRUE: no (2.0)
        outlook = sunny
        |   humidity = high: no (3.0)
        |   humidity = normal: yes (2.0)
        <BLANKLINE>
        Number of Leaves  : 5
        <BLANKLINE>
        Size of the tree : 8
    """

    _parameter_constraints: ClassVar[dict] = {
        **SHARED_CONSTRAINTS,
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
        "gain": [StrOptions({"ratio", "information"})],
        "binary_splits": ["boolean"],
        "collapse": ["boolean"],
        "mdl_correction": ["boolean"],
        "laplace": ["boolean"],
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        min_samples_leaf: int | float = 2,
        gain: str = "ratio",
        binary_splits: bool = False,
        collapse: bool = True,
        mdl_correction: bool = True,
        laplace: bool = False,
        criterion: str | Criterion = "entropy",
        missing: str = "fraction",
        max_depth: int | None = None,
        max_bins: int | str | None = "auto",
        max_categories: int | None = 1024,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        pruning: Dropout | None = None,
        random_state: Any = None,
    ):
        self.min_samples_leaf = min_samples_leaf
        self.gain = gain
        self.binary_splits = binary_splits
        self.collapse = collapse
        self.mdl_correction = mdl_correction
        self.laplace = laplace
        self.criterion = criterion
        self.missing = missing
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.max_categories = max_categories
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.pruning = pruning
        self.random_state = random_state

    def _encoder(self) -> Encoder:
        return Encoder(
            max_bins=self.max_bins,
            max_categories=self.max_categories,
            categorical_features=self.categorical_features,
        )

    def _set_classes(self, target: ClassTarget) -> None:
        super()._set_classes(target)
        self._num_declared = max(target.num_declared)
        self.class_order_ = target.declared[0] if self.n_outputs_ == 1 else list(target.declared)

    def _recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        limits = Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=2 * self.min_samples_leaf,
            min_samples_leaf=self.min_samples_leaf,
            mdl_correction=float(self.mdl_correction),
            num_declared_classes=self._num_declared,
        )
        return Recipe(
            criterion=self.criterion if callable(self.criterion) else CRITERIA[self.criterion],
            category_kind=SplitKind.ONE_VS_REST if self.binary_splits else SplitKind.MULTIWAY,
            limits=limits,
            missing=MISSING[self.missing],
            selection=Selection.GAIN_RATIO if self.gain == "ratio" else Selection.INFORMATION,
            closest=CLOSEST_VALUES,
            most_average_categories=SHARE_OF_MANY * num_rows,
            on_values=True,
        )

    def _prune(self, tree: Tree) -> Tree:
        if self.collapse and len(tree.num_classes) == 1:
            tree = take_tree(tree, collapsed=collapse(tree))
        return super()._prune(tree)

    def _shares(self, output: int) -> Float[np.ndarray, "node class"]:
        if not self.laplace:
            return class_shares(self.tree_, output)
        count = np.asarray(output_counts(self.tree_, output), np.float64)
        count = np.where(count.any(axis=1, keepdims=True), count, count[self.tree_.parent])
        return (count + 1) / (count.sum(axis=1, keepdims=True) + count.shape[1])
