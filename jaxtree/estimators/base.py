"""What all tree estimators share: from a table to a tree, and from a tree to predictions.

A fit has three steps: `_begin` encodes the table, `grow_tables` grows, `_finish` prunes. A search takes the middle one
for many tables at once, and repeats what the last one does for many prunings.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float, Int, PRNGKeyArray, Shaped, UInt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.alpha import find_alpha
from jaxtree.estimators.checks import check_names, check_parameters
from jaxtree.estimators.files.registry import KeptInFiles
from jaxtree.estimators.growing import EncodedSample, Recipe, in_units
from jaxtree.estimators.holding import hold_out_rows
from jaxtree.estimators.magnitude import check_gains
from jaxtree.estimators.monotone import clip_to_bounds
from jaxtree.estimators.parts import part_by_part, read_arguments
from jaxtree.estimators.predicting import PredictingTree
from jaxtree.estimators.prunings import CostComplexity, MaxLeafNodes, Pruning
from jaxtree.estimators.sample import Sample, split_sample, without_weightless_rows
from jaxtree.estimators.shown import ShownWithTree
from jaxtree.growth.inputs import Limits
from jaxtree.pruning.masks import stop_at
from jaxtree.pruning.validation import HeldOut
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import default_names
from jaxtree.table.schema import Schema
from jaxtree.table.source import is_source, open_source
from jaxtree.table.target import check_same_length
from jaxtree.tree import Tree, take_tree
from jaxtree.tree.walking import ancestors


class Said(NamedTuple):
    """What is predicted of rows that end at each node.

    Attributes:
        labels: The class; nothing for numbers.
        shares: The share of every class; for numbers the mean.
    """

    labels: Int[np.ndarray, " node"]
    shares: Float[np.ndarray, "node column"]


class Encoded(NamedTuple):
    """A fitted encoder, and the codes of the table that it was fitted on."""

    encoder: Encoder
    codes: UInt[np.ndarray, "feature row"]


class FitStart(NamedTuple):
    """What a fit has made of its arguments when growth begins.

    Attributes:
        sample: The rows of some weight.
        encoded: Those that the tree is grown on.
        validation: Those that it is pruned with, if its pruning asks for any.
        has_weight: Which rows of the table have some weight; None if all have.
    """

    sample: Sample
    encoded: EncodedSample
    validation: Sample | None
    has_weight: Bool[np.ndarray, " row"] | None


class BaseTree(ShownWithTree, KeptInFiles, BaseEstimator, abc.ABC):
    """A single tree on any table.

    A subclass has the parameters, and says by `_encoder` and `_recipe` what they mean to growth.
    """

    pruning: Pruning | None
    random_state: Any
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0
    n_features_in_: int
    n_outputs_: int
    tree_: Tree

    _beside: tuple[str, ...] = ()
    """Columns of the fitted source that are no features: target and weights."""
    _limit_parameters: ClassVar[dict[str, Callable[[list], Any]]] = {}
    """Parameters that only end growth sooner, and how the loosest of several is found."""
    _pruning_parameters: ClassVar[frozenset[str]] = frozenset({"pruning"})
    """Parameters that are heeded when the tree is grown."""
    _split_limit_counts: ClassVar[str] = "weight"
    """What `min_samples_split` counts where rows have weights: "rows" or "weight"."""

    @abc.abstractmethod
    def _encoder(self) -> Encoder:
        """An encoder for the estimator's tables."""

    @abc.abstractmethod
    def _recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """How to grow on so many rows with such weights; called when the schema is known."""

    @abc.abstractmethod
    def _limits(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Limits:
        """When nodes are not split."""

    def _draws_growth(self) -> bool:
        """Whether the tree depends on `random_state` before it is pruned."""
        return False

    def _prunes_by_masks(self) -> bool:
        """Whether the pruned tree is a part of the grown one, or a vote of such, as soon as that is there."""
        return self.pruning is None or self.pruning.is_mask or self.pruning.votes

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the node of `tree_` where the walk of every row ends.

        A row whose category has no branch ends at an inner node, and so does one whose value is missing
        where missing values are shared out among the branches.
        """
        return self._walk(X)[1]

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Returns the nodes on the path of every row, as a sparse matrix of shape (rows, nodes)."""
        return ancestors(self.tree_)[self.apply(X)]

    def encode(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of a table, as `jaxtree.apply` and `jaxtree.dropout` take them."""
        check_is_fitted(self)
        return self.encoder_.transform(open_source(X).without(self._beside) if is_source(X) else X)

    def get_depth(self) -> int:
        """Returns the depth of the deepest leaf; a single leaf has depth 0."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Returns the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table: all that turns codes back into words."""
        return self.encoder_.schema_

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the summed weighted gain that the splits on each column have (Breiman et al., 1984)."""
        check_is_fitted(self)
        column = np.array([feature.column for feature in self.schema_.features])
        one = np.zeros(self.tree_.node_count, np.int64)
        return importances(self.tree_, column, self.n_features_in_, one)[0]

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values, and targets several columns."""
        return allow_tables(super().__sklearn_tags__())

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.pruning is not None:
            self.pruning.check()

    def _read(self, X: Any, y: Any, encoded: "Encoded | None" = None) -> UInt[np.ndarray, "feature row"]:
        """Learns the schema of the table, and returns its codes; or takes them if they are there."""
        if encoded is None:
            encoder = self._encoder()
            encoded = Encoded(encoder, encoder.fit_transform(X))
        self.encoder_, codes = encoded
        check_same_length(codes.shape[1], y)
        if is_source(X):
            self._set_column_names(self.schema_.column_names, is_named=bool(open_source(X).names))
        else:
            check_names(self, X)
        return codes

    def _set_column_names(self, names: tuple[str, ...], *, is_named: bool | None = None) -> None:
        """What scikit-learn's `validate_data` does for tables that it knows.

        Args:
            names: The names of the columns.
            is_named: Whether they came with the table; if not given, unless they are those of columns without names.
        """
        self.n_features_in_ = len(names)
        if names != default_names(len(names)) if is_named is None else is_named:
            self.feature_names_in_ = np.array(names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _open(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """What a fit is given, with columns of a source in the place of their names."""
        X, y, sample_weight, self._beside = read_arguments(X, y, sample_weight)
        return X, y, sample_weight

    @abc.abstractmethod
    def _begin(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        encoded: "Encoded | None" = None,
    ) -> "FitStart":
        """Checks the parameters, learns what a fit learns from a table, and encodes it if that is not done."""

    def _start(
        self, sample: Sample, codes: UInt[np.ndarray, "feature row"] | None, validation: Sample | None
    ) -> "FitStart":
        """What growth works on: without rows of no weight, and those held out for the pruning.

        Args:
            sample: The rows.
            codes: Their codes, if they are there.
            validation: The rows that the caller gave to prune with.
        """
        whole = without_weightless_rows(sample)
        grown_on = whole
        fraction = None if self.pruning is None else self.pruning.validation_fraction
        if validation is None and fraction is not None:
            grown_on, validation = split_sample(whole, fraction, self.random_state)
        if codes is None or grown_on is not sample:
            # A new encoder: a search may have lent the present one, whose codes are those of all rows.
            self.encoder_ = self._encoder()
            codes = self.encoder_.fit_transform(grown_on.X)
        recipe = self._recipe(grown_on.num_rows, grown_on.weight)
        encoded = EncodedSample(codes, self.schema_, grown_on.target, grown_on.num_classes, grown_on.weight, recipe)
        has_weight = None if whole is sample or sample.weight is None else sample.weight > 0
        return FitStart(whole, encoded, validation, has_weight)

    def _fit_together(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, mesh: Any) -> Self:
        """Fits on the rows of several processes."""
        # That module builds on this one.
        from jaxtree.estimators.together import fit_together

        if X_val is not None or y_val is not None:
            raise InvalidInputError("X_val and y_val cannot be given with a mesh of several processes")
        return fit_together(self, X, y, sample_weight, mesh)

    def _finish(self, grown: Tree, start: "FitStart") -> Self:
        """Prunes the grown tree and makes it ready for prediction."""
        return self._settle(self._in_units(self._prune(grown, start), start))

    def _settle(self, tree: Tree, said: Float[np.ndarray, "node column"] | None = None) -> Self:
        """Takes a tree in units of the table as the fitted one, and what a vote says at its nodes if that is known."""
        self.tree_ = tree
        self._predicting = PredictingTree(tree)
        self._said = self._vote(tree) if said is None else said
        return self

    def _in_units(self, tree: Tree, start: "FitStart") -> Tree:
        recipe = start.encoded.recipe
        tree = in_units(tree, start.encoded.schema, recipe)
        return tree if recipe.monotone is None else clip_to_bounds(tree, recipe.monotone)

    def _prune(self, tree: Tree, start: "FitStart") -> Tree:
        """The tree after all prunings that the parameters ask for."""
        return take_tree(tree, collapsed=self._collapsed(tree, start))

    def _prunings(self) -> list[Pruning]:
        """The prunings that the parameters ask for, in the order in which they follow one another."""
        prunings: list[Pruning] = []
        if self.max_leaf_nodes is not None:
            prunings.append(MaxLeafNodes(self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            prunings.append(CostComplexity(self.ccp_alpha))
        return prunings if self.pruning is None else [*prunings, self.pruning]

    def _collapsed(self, tree: Tree, start: "FitStart") -> Bool[np.ndarray, " node"]:
        """The nodes that the prunings collapse."""
        self.pruning_ = self.pruning
        return self._collapsed_by(self._prunings(), tree, start)

    def _collapsed_by(self, prunings: list[Pruning], tree: Tree, start: "FitStart") -> Bool[np.ndarray, " node"]:
        """The nodes that some prunings collapse, one after the other."""
        collapsed = np.zeros(tree.node_count, bool)
        for pruning in prunings:
            check_gains(tree, "a pruning")
            stopped = stop_at(tree, collapsed)
            if isinstance(pruning, CostComplexity) and not pruning.is_mask:
                self.pruning_ = pruning = find_alpha(self, pruning, stopped, start)
            held = self._hold_out(tree, start) if pruning.needs_validation else None
            key = key_of(self.random_state) if pruning.draws_masks else None
            collapsed = collapsed | pruning.collapsed(stopped, key=key, held=held, label=self._labels(tree))
        return collapsed

    def _vote(self, tree: Tree) -> Float[np.ndarray, "node column"] | None:
        """What is said of a row that ends at each node, where the pruning is a vote."""
        if self.pruning is None or not self.pruning.votes:
            return None
        return self.pruning.vote(tree, self._say(tree), key=key_of(self.random_state))

    @abc.abstractmethod
    def _say(self, tree: Tree) -> Float[np.ndarray, "node column"]:
        """What every node says where prunings vote: 1 for the class it predicts, or the means of the targets."""

    @abc.abstractmethod
    def _said_of_nodes(self, tree: Tree, votes: Float[np.ndarray, "node column"] | None) -> "Said":
        """What is predicted of rows that end at each node, for a tree of one output: by itself, or by a vote."""

    def _labels(self, tree: Tree) -> Int[np.ndarray, "output node"] | None:
        """The class that every node predicts; None for numbers."""
        return None

    def _needs_all_rows(self) -> str | None:
        """The parameter for which one process must have all rows, in words; None if there is none."""
        if self.pruning is not None and (self.pruning.needs_validation or not self.pruning.is_mask):
            return f"pruning={self.pruning}"
        return None

    @abc.abstractmethod
    def _read_target_of_part(self, y: Any) -> Any:
        """The target of this process's rows, by itself."""

    @abc.abstractmethod
    def _agree_on_target(self, target: Any) -> Any:
        """The target of this process's rows as all processes have it: an `AgreedTarget`."""

    @abc.abstractmethod
    def _read_target(self, y: Any) -> Shaped[np.ndarray, "output row"]:
        """A target of rows that the tree is not grown on, in the codes of the fit; numbers as they are."""

    def _validation(self, X_val: Any, y_val: Any, num_classes: tuple[int, ...]) -> Sample | None:
        """The rows given to prune with."""
        if X_val is None and y_val is None:
            return None
        if self.pruning is None or not self.pruning.needs_validation:
            raise InvalidInputError(f"X_val and y_val are for a pruning that asks for them, got pruning={self.pruning}")
        if X_val is None or y_val is None:
            raise InvalidInputError("X_val and y_val go together, got one of them alone")
        X_val, y_val, _, _ = read_arguments(X_val, y_val)
        target = self._read_target(y_val)
        check_same_length(len(self.encoder_.values(X_val)), target[0])
        return Sample(X_val, target, num_classes, None)

    def _hold_out(self, tree: Tree, start: "FitStart") -> HeldOut:
        """The held-out rows at the nodes of the unpruned tree."""
        validation = start.validation
        assert validation is not None
        predicting = PredictingTree(self._in_units(tree, start))
        return hold_out_rows(tree, predicting, self.encoder_.values(validation.X), validation.target, validation.weight)

    def _walk(self, X: Any) -> tuple[Float[np.ndarray, "row feature"], Int[np.ndarray, " row"]]:
        """What thresholds are compared with, and the node where every row ends."""
        check_is_fitted(self)
        values = self.encoder_.values(X)
        check_names(self, X, reset=False)
        return values, self._predicting.apply(values)


def allow_tables(tags: Tags) -> Tags:
    """scikit-learn's tags, changed: tables may hold words and missing values, or be sparse; several targets."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    tags.target_tags.multi_output = True
    tags.target_tags.single_output = True
    return tags


def importances(
    tree: Tree, column: Int[np.ndarray, " feature"], num_columns: int, tree_of_node: Int[np.ndarray, " node"]
) -> Float[np.ndarray, "tree column"]:
    """The share of the summed weighted gain of every tree that its splits on each column have; 0 without a split."""
    check_gains(tree, "feature_importances_")
    split = np.flatnonzero(~tree.is_leaf)
    gain = tree.weighted_n_node_samples[split] * tree.gain[split]
    num_trees = int(tree_of_node[-1]) + 1
    cell = tree_of_node[split] * num_columns + column[tree.feature[split]]
    # The sums of no cell are whole numbers.
    importance = np.bincount(cell, gain, minlength=num_trees * num_columns).astype(np.float64).reshape(num_trees, -1)
    whole = importance.sum(axis=1, keepdims=True)
    return np.divide(importance, whole, out=np.zeros_like(importance), where=whole > 0)


def key_of(random_state: int | np.random.RandomState | None) -> PRNGKeyArray:
    """Returns `jax.random.key(random_state)`, or a key drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return jax.random.key(int(random_state))
    return jax.random.key(check_random_state(random_state).randint(2**31 - 1))
