"""Quinlan's trees: ID3 and C4.5."""

import dataclasses
from numbers import Real
from typing import Annotated, Any

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxtree.buckets import class_bucket, node_bucket
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.criteria import Criterion, entropy
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import present
from jaxtree.estimators.common.conventions import GrowthLimit, Role, Words, whole
from jaxtree.estimators.common.features import FeatureOptions
from jaxtree.estimators.common.growing import GrowthTask, Recipe, decode_thresholds, mark_leaves
from jaxtree.estimators.common.indicators import MOST_INDICATORS, CategoryIndicators
from jaxtree.estimators.common.ordered_categories import order_for_trees
from jaxtree.estimators.common.parameters import BALANCED, CLASS_CRITERIA, deepest
from jaxtree.estimators.common.prunings import AT_LEAST_0, Collapse, Pessimistic, Pruning
from jaxtree.estimators.trees.base import BaseTreeClassifier
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Rules, Selection
from jaxtree.prune.raising import Impurity, entropy_in_bits, prune_with_raising
from jaxtree.prune.training_errors import DEVIATES, MOST_CONFIDENCE
from jaxtree.sklearn_compat import Interval
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind, Tree, take_tree
from jaxtree.tree.nodes import laplace_shares

CLOSEST_VALUES = 1e-5
"""C4.5 does not cut between values that lie closer."""

SHARE_OF_MANY = 0.3
"""A categorical column with at least this share of the rows' number of categories is left out of the average gain."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ID3Classifier(BaseTreeClassifier):
    r"""ID3 (Quinlan, *Induction of Decision Trees*, 1986): splits by information gain.

    A categorical column of up to 64 categories is split into one branch a category and is then used up on that path (of
    more categories in two groups, as "ordered" of `DecisionTreeClassifier` does); a branch
    that no training row takes is a leaf with its parent's majority. Numeric, ordered and boolean columns
    are split by thresholds, as often as it helps. With `encoding="onehot"` every category is a binary
    column of its own: a split sends the rows of one category to one branch and all others to another.

    The gain is $H(t) - \sum_b \frac{n_b}{n} H(t_b)$ in bits. Growth stops at nodes of one class and where
    no column separates the rows; a split of gain 0 is made unless `min_gain` forbids it. Among equal gains
    the first column's wins, then the lowest value's.

    A category never seen in training counts as missing. Where missing values are a branch and training had none, the
    row stays at the node that asks for the value and gets its majority; a missing number takes the upper branch.

    Args:
        encoding: "categorical" or "onehot".
        criterion: "entropy" (Quinlan's), "log_loss" (the same), "gini" or "misclassification", or a function of the
            class weights of a node.
        max_depth: The largest depth of a leaf; None for no limit.
        min_samples_split: The least weight of a node that is split; a row weighs 1 by itself.
        min_samples_leaf: The least weight of a branch that has any.
        min_gain: The least gain of a split, in bits.

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

    encoding: Annotated[str, Words({"categorical", "onehot"}), Role.FIT] = "categorical"
    criterion: Annotated[str | Criterion, CLASS_CRITERIA, callable, Role.FIT] = "entropy"
    missing: str = "branch"
    max_depth: Annotated[int | None, whole(0), None, GrowthLimit(deepest)] = None
    min_samples_split: Annotated[int | float, AT_LEAST_0, GrowthLimit(min)] = 2
    min_samples_leaf: Annotated[int | float, AT_LEAST_0, Role.FIT] = 1
    min_gain: Annotated[float, AT_LEAST_0, GrowthLimit(min)] = 0.0

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        encoder = super().make_encoder()
        if self.encoding == "onehot" and encoder.max_categories is None:
            encoder.max_categories = MOST_INDICATORS
        return encoder

    def growth_limits(self, data: Dataset) -> Limits:
        """Returns when nodes are not split."""
        weight = data.all_weights
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split if weight is None or self.min_samples_split > 2 else 0,
            min_samples_leaf=self.min_samples_leaf if weight is None or self.min_samples_leaf > 1 else 0,
            min_gain=float(self.min_gain),
        )

    def make_recipe(self, data: Dataset) -> Recipe:
        """Returns how to grow on some rows."""
        rules = Rules(self.make_objective(data.outputs), Missing[self.missing.upper()])
        features = FeatureOptions(SplitKind.MULTIWAY)
        if self.encoding == "onehot":
            return Recipe(rules, self.growth_limits(data), features, ordered=CategoryIndicators(data))
        features, ordered = order_for_trees(data, features)
        return Recipe(rules, self.growth_limits(data), features, ordered=ordered)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class C45Classifier(BaseTreeClassifier):
    r"""C4.5 (Quinlan, *C4.5: Programs for Machine Learning*, 1993), as its Release 8 and Weka's J48 have it.

    A categorical column of up to 64 categories is split into one branch for every declared category, or with
    `binary_splits` into one category and the rest (of more categories in two groups, as "ordered" of
    `DecisionTreeClassifier` does); a numeric column by a threshold that is a value of the table. With $W$ the weight at
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

    The tree is pruned by the errors that it is estimated to make (`jaxtree.prune.pessimistic`), and a node may give
    way to its heaviest branch (`jaxtree.prune.raising.prune_with_raising`); trees of several outputs are not.

    Where Release 8 differs from J48, these are J48's rules: a node where no test gains anything is a leaf (Release
    8 splits it by the first column and collapses what does not help; with `gain="information"` that is done
    here too); subtrees are collapsed when the tree is grown (Release 8: as each is built, with the same result on all
    trees compared); Release 8 keeps logarithms in single precision and compares them exactly, so that between
    exactly equal gains rounding chooses, where here the first column wins; it asks for split information above 0.001,
    here above 1e-6. Its normal deviates are had by `z="release8"`. Its groups of categories (`-s`), its windows and
    its rules are not here.

    Args:
        min_samples_leaf: The least weight of two branches.
        confidence: The confidence of the pruning, above 0 and at most 0.5 (J48's `-C`); lower prunes more. None
            does not prune (J48's `-U`).
        subtree_raising: Whether a node may give way to its heaviest branch, or to a leaf alone (J48's `-S`).
        gain: "ratio", or "information" for the greatest gain without a correction for many branches.
        binary_splits: Whether a categorical column is split into one category and the rest (J48's `-B`).
        collapse: Whether subtrees that make no fewer training errors than a leaf become one (J48 without `-O`).
        mdl_correction: Whether a threshold's gain is corrected for the cuts tried (J48 without `-J`).
        laplace: Whether `predict_proba` returns (count + 1) / (weight + classes) (J48's `-A`). Without it leaves of
            few rows, which columns of many categories make, have shares of 0 and 1.
        z: "exact" for the normal deviate of the confidence, as in J48; "release8" for that of Release 8's table.
        criterion: "entropy", which C4.5 means, or another impurity in its place.
        max_depth: The largest depth of a leaf; None for no limit.
        class_weight: Factors of the classes' weights: a dict, "balanced", or None.
        pruning: A pruning such as `jaxtree.Dropout(p=0.1, q=0.5)` in the place of C4.5's, or None.

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

    orders_as_declared = True

    min_samples_leaf: Annotated[int | float, AT_LEAST_0, Role.FIT] = 2
    confidence: Annotated[float | int | None, Interval(Real, 0, MOST_CONFIDENCE, closed="right"), None, Role.PRUNES] = (
        0.25
    )
    subtree_raising: Annotated[bool, "boolean", Role.PRUNES] = True
    gain: Annotated[str, Words({"ratio", "information"}), Role.FIT] = "ratio"
    binary_splits: Annotated[bool, "boolean", Role.FIT] = False
    collapse: Annotated[bool, "boolean", Role.PRUNES] = True
    mdl_correction: Annotated[bool, "boolean", Role.FIT] = True
    laplace: Annotated[bool, "boolean", Role.FIT] = False
    z: Annotated[str, Words(DEVIATES), Role.PRUNES] = "exact"
    criterion: Annotated[str | Criterion, CLASS_CRITERIA, callable, Role.FIT] = "entropy"
    missing: str = "fraction"
    max_depth: Annotated[int | None, whole(0), None, GrowthLimit(deepest)] = None
    class_weight: Annotated[Any, dict, list, BALANCED, None, Role.FIT] = None

    def growth_limits(self, data: Dataset) -> Limits:
        """Returns when nodes are not split."""
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=2 * self.min_samples_leaf,
            min_samples_leaf=self.min_samples_leaf,
            mdl_correction=float(self.mdl_correction),
            num_declared_classes=data.outputs.num_declared,
        )

    def make_recipe(self, data: Dataset) -> Recipe:
        """Returns how to grow on some rows."""
        selection = Selection.GAIN_RATIO if self.gain == "ratio" else Selection.INFORMATION
        features = FeatureOptions(
            SplitKind.ONE_VS_REST if self.binary_splits else SplitKind.MULTIWAY,
            closest=CLOSEST_VALUES,
            most_average_categories=SHARE_OF_MANY * data.num_rows,
        )
        rules = Rules(self.make_objective(data.outputs), Missing[self.missing.upper()], selection)
        features, ordered = order_for_trees(data, features)
        return Recipe(rules, self.growth_limits(data), features, on_values=True, ordered=ordered)

    def list_prunings(self) -> list[Pruning]:
        """Returns the prunings that follow from the parameters, in their order."""
        prunings: list[Pruning] = [Collapse()] if self.collapse and self.n_outputs_ == 1 else []
        if self._is_pessimistic() and not self._raises_subtrees():
            prunings.append(Pessimistic(self.confidence, self.z))
        return [*prunings, *super().list_prunings()]

    def _is_pessimistic(self) -> bool:
        return self.confidence is not None and self.pruning is None and self.n_outputs_ == 1

    def _raises_subtrees(self) -> bool:
        return self._is_pessimistic() and self.subtree_raising

    def needs_all_rows(self) -> str | None:
        """Returns the parameter for which one process must have all rows; None if there is none."""
        raises = self.confidence is not None and self.pruning is None and self.subtree_raising
        return "subtree_raising=True" if raises else super().needs_all_rows()

    def prunes_by_masks(self) -> bool:
        """Returns whether the pruned tree is a part of the grown one, or a vote of such."""
        return super().prunes_by_masks() and not self._raises_subtrees()

    def prune_grown(self, grown: Tree, task: GrowthTask) -> Tree:
        """Returns the grown tree after all prunings, subtree raising included, in units of the table."""
        if not self._raises_subtrees():
            return super().prune_grown(grown, task)
        ordered = task.recipe.ordered
        data = task.data if ordered is None else ordered.data
        collapsed = self.find_collapsed(self.list_prunings(), grown, task)
        tree = decode_thresholds(take_tree(grown, collapsed=collapsed), data.schema, on_values=task.recipe.on_values)
        # Rows that come with raising are sent by thresholds in units: their codes may be none that the node has seen.
        raised = prune_with_raising(
            tree,
            data.codes,
            data.target[0],
            data.weight,
            confidence=present(self.confidence),
            z=self.z,
            impurity=_impurity(self.make_objective(data.outputs).criterion),
        )
        raised = mark_leaves(raised)
        return raised if ordered is None else ordered.in_categories(raised)

    def node_values(self, tree: Tree) -> Float[np.ndarray, "node class"]:
        """Returns the shares of classes at every node, the outputs side by side; with Laplace's correction if asked."""
        if not self.laplace:
            return super().node_values(tree)
        return laplace_shares(tree)


def _impurity(criterion: Criterion) -> Impurity:
    """Returns the criterion of many nodes, on the host; sizes are padded so that few programs are compiled."""
    if criterion is entropy:
        return entropy_in_bits

    def impurity(count):
        num_nodes, num_classes = count.shape
        padding = ((0, node_bucket(num_nodes) - num_nodes), (0, class_bucket(num_classes) - num_classes))
        with jax.enable_x64(True):
            return np.asarray(_impurities(np.pad(count, padding), criterion=criterion))[:num_nodes]

    return impurity


@compiled("criterion", options=options_of_small_programs)
def _impurities(count: Float[Array, "node class"], *, criterion: Criterion) -> Float[Array, " node"]:
    return jax.vmap(criterion)(count)
