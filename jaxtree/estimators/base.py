"""What all tree estimators share: from a table to a tree, and from a tree to predictions.

A fit has three phases: `prepare_fit` encodes the table, `grow_tables` grows, `finish_fit` prunes. A search takes the
middle one for many tables at once, and repeats the last for many prunings. These methods are for the package's rooms.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int, Shaped, UInt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.ccp_cv import find_alpha
from jaxtree.estimators.conventions import (
    ShownWithTree,
    allow_tables,
    check_names,
    check_parameters,
    key_of,
    set_column_names,
)
from jaxtree.estimators.distributed import fit_together, spans_processes
from jaxtree.estimators.growing import EncodedSample, Recipe, decode_thresholds, grow_tables
from jaxtree.estimators.magnitude import check_gains, check_sums
from jaxtree.estimators.monotone import clip_to_bounds
from jaxtree.estimators.parts import part_by_part, read_arguments
from jaxtree.estimators.prunings import CostComplexity, MaxLeafNodes, Pruning
from jaxtree.estimators.sample import Encoded, FitTarget, PreparedFit, Sample, split_sample, without_weightless_rows
from jaxtree.files.registry import KeptInFiles
from jaxtree.files.trees import TreeState
from jaxtree.growth.inputs import Limits
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.target import check_sample_weight
from jaxtree.tree import FittedModel, Predictor, Tree, ancestors, declared_majority, join_trees, take_tree
from jaxtree.tree.paths import stop_at


class BaseTree(ShownWithTree, KeptInFiles, BaseEstimator, abc.ABC):
    """A single tree on any table.

    A subclass has the parameters, and tells growth by `make_encoder` and `make_recipe` what they mean.
    """

    pruning: Pruning | None
    random_state: Any
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0
    n_features_in_: int
    n_outputs_: int
    tree_: Tree
    _model: FittedModel

    limit_parameters: ClassVar[dict[str, Callable[[list], Any]]] = {}
    """Parameters that only end growth sooner, and how the loosest of several is found."""
    pruning_parameters: ClassVar[frozenset[str]] = frozenset({"pruning"})
    """Parameters that take effect when the tree is grown."""
    split_limit_counts: ClassVar[str] = "weight"
    """What `min_samples_split` counts where rows have weights: "rows" or "weight"."""

    @abc.abstractmethod
    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""

    @abc.abstractmethod
    def make_recipe(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Recipe:
        """Returns how to grow on so many rows with such weights; called when the schema is known."""

    @abc.abstractmethod
    def growth_limits(self, num_rows: int, weight: Float[np.ndarray, " row"] | None) -> Limits:
        """Returns when nodes are not split."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        mesh: Mesh | None = None,
    ) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The class (a number, a word) or the number of every row; several columns for several outputs. Of a
                source also the name of its column, or a list of names.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column.
            X_val: Rows to prune with, for a pruning that asks for held-out rows; a part of X if not given.
            y_val: Their target.
            mesh: Devices to divide the rows among; the tree is the same. If these belong to several processes, each
                calls this with rows of its own, and all get the tree of all rows.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        if mesh is not None and spans_processes(mesh):
            if X_val is not None or y_val is not None:
                raise InvalidInputError("X_val and y_val cannot be given with a mesh of several processes")
            return fit_together(self, X, y, sample_weight, mesh)
        start = self.prepare_fit(X, y, sample_weight, X_val, y_val)
        (grown,) = grow_tables([start.encoded], mesh)
        return self.finish_fit(grown, start)

    def draws_growth(self) -> bool:
        """Whether the tree depends on `random_state` before it is pruned."""
        return False

    def prunes_by_masks(self) -> bool:
        """Whether the pruned tree is a part of the grown one, or a vote of such, as soon as that is there."""
        return self.pruning is None or self.pruning.is_mask or self.pruning.votes

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the node of `tree_` where the walk of every row ends.

        A row whose category has no branch ends at an inner node, and so does one whose value is missing
        where missing values are shared out among the branches.
        """
        values = self._values(X)
        return self._model.predictor.ends(values)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Returns the nodes on the path of every row, as a sparse matrix of shape (rows, nodes)."""
        return ancestors(self.tree_)[self.apply(X)]

    def encode(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of a table, as `jaxtree.apply` and `jaxtree.dropout` take them."""
        check_is_fitted(self)
        return self.encoder_.transform(open_source(X).without(self.other_columns_) if is_source(X) else X)

    def get_depth(self) -> int:
        """Returns the depth of the deepest leaf; a single leaf has depth 0."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Returns the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def model_(self) -> FittedModel:
        """The tree with its columns and with what it predicts, which explanations, drawings and exports take."""
        check_is_fitted(self)
        return self._model

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

    def fitted_state(self) -> TreeState:
        """Returns what fitting has learned: what a model file keeps."""
        return TreeState.of(self.fitted_table(), self.model_, getattr(self, "pruning_", None))

    def restore(self, state: TreeState) -> None:
        """Takes what `fitted_state` of another tree of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.pruning_ = state.pruning
        votes = self.pruning is not None and self.pruning.votes
        self.settle(state.forest(self.schema_, votes=votes).nodes, state.votes)

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values, and targets several columns."""
        return allow_tables(super().__sklearn_tags__())

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)
        if self.pruning is not None:
            self.pruning.check()

    def prepare_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        encoded: Encoded | None = None,
    ) -> PreparedFit:
        """Checks the parameters, and learns what a fit learns from its arguments, see `fit`.

        Args:
            X: The table.
            y: Its target.
            sample_weight: The weight of every row.
            X_val: Rows to prune with.
            y_val: Their target.
            encoded: The codes of the table, if they are there, with the encoder that made them.
        """
        self.check_parameters()
        X, y, sample_weight, self.other_columns_ = read_arguments(X, y, sample_weight)
        target = self.learn_target(y)
        weight = target.weigh(check_sample_weight(sample_weight, target.values.shape[1]))
        if not target.num_classes:
            check_sums(target.values, weight)
        validation = self._validation(X_val, y_val, target.num_classes)
        prepared = self.prepare_sample(Sample(X, target.values, target.num_classes, weight), validation, encoded)
        if validation is not None:
            check_same_length(len(self.encoder_.values(validation.X)), validation.target[0])
        return prepared

    def prepare_sample(
        self, sample: Sample, validation: Sample | None = None, encoded: Encoded | None = None
    ) -> PreparedFit:
        """Encodes what growth works on: rows of some weight, without those held out for the pruning.

        Args:
            sample: The rows.
            validation: The rows that the caller gave to prune with.
            encoded: The codes of the sample, if they are there, with the encoder that made them.
        """
        whole = grown_on = without_weightless_rows(sample)
        fraction = None if self.pruning is None else self.pruning.validation_fraction
        if validation is None and fraction is not None:
            grown_on, validation = split_sample(whole, fraction, self.random_state)
        if encoded is None or grown_on is not sample:
            encoder = self.make_encoder()
            encoded = Encoded(encoder, encoder.fit_transform(grown_on.X))
        self.encoder_, codes = encoded
        check_same_length(codes.shape[1], grown_on.target[0])
        self._learn_columns(sample.X)
        recipe = self.make_recipe(grown_on.num_rows, grown_on.weight)
        prepared = EncodedSample(codes, self.schema_, grown_on.target, grown_on.num_classes, grown_on.weight, recipe)
        has_weight = None if whole is sample or sample.weight is None else sample.weight > 0
        return PreparedFit(whole, prepared, validation, has_weight)

    def _learn_columns(self, X: Any) -> None:
        """Learns how many columns the table has, and their names."""
        if is_source(X):
            set_column_names(self, self.schema_.column_names, is_named=bool(open_source(X).names))
        else:
            check_names(self, X)

    @abc.abstractmethod
    def learn_target(self, y: Any) -> FitTarget:
        """Reads the target of a fit, and learns its outputs and classes."""

    def finish_fit(self, grown: Tree, start: PreparedFit) -> Self:
        """Prunes the grown tree and makes it ready for prediction."""
        return self.settle(self.in_table_units(self._prune(grown, start), start))

    def settle(self, tree: Tree, votes: Float[np.ndarray, "node column"] | None = None) -> Self:
        """Takes a tree in units of the table as the fitted one, and the votes at its nodes if these are known."""
        self.tree_ = tree
        model = self.model_of(tree)
        if votes is None and self.pruning is not None and self.pruning.votes:
            votes = self.pruning.vote(tree, model.node_votes(), key=key_of(self.random_state))
        self._model = model if votes is None else model.with_votes(votes)
        return self

    def model_of(self, tree: Tree) -> FittedModel:
        """Returns what `model_` would be of another tree in units of the table, without votes of prunings."""
        labels, names, orders = self.node_labels(tree), self.class_names(), self.class_orders()
        return FittedModel(self.schema_, join_trees([tree]), self.node_values(tree), labels, names, orders)

    def in_table_units(self, tree: Tree, start: PreparedFit) -> Tree:
        """Returns the tree with thresholds in units of the table."""
        recipe = start.encoded.recipe
        tree = decode_thresholds(tree, start.encoded.schema, on_values=recipe.on_values)
        return tree if recipe.monotone is None else clip_to_bounds(tree, recipe.monotone)

    def _prune(self, tree: Tree, start: PreparedFit) -> Tree:
        """The tree after all prunings that the parameters ask for."""
        return take_tree(tree, collapsed=self.find_collapsed(tree, start))

    def list_prunings(self) -> list[Pruning]:
        """The prunings that the parameters ask for, in the order in which they follow one another."""
        prunings: list[Pruning] = []
        if self.max_leaf_nodes is not None:
            prunings.append(MaxLeafNodes(self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            prunings.append(CostComplexity(self.ccp_alpha))
        return prunings if self.pruning is None else [*prunings, self.pruning]

    def find_collapsed(self, tree: Tree, start: PreparedFit) -> Bool[np.ndarray, " node"]:
        """The nodes that the prunings collapse."""
        self.pruning_ = self.pruning
        return self.collapse_by(self.list_prunings(), tree, start)

    def collapse_by(self, prunings: list[Pruning], tree: Tree, start: PreparedFit) -> Bool[np.ndarray, " node"]:
        """The nodes that some prunings collapse, one after the other."""
        collapsed = np.zeros(tree.node_count, bool)
        for pruning in prunings:
            check_gains(tree, "a pruning")
            stopped = stop_at(tree, collapsed)
            if isinstance(pruning, CostComplexity) and not pruning.is_mask:
                self.pruning_ = pruning = find_alpha(self, pruning, stopped, start)
            held = self.hold_out_validation(tree, start) if pruning.needs_validation else None
            key = key_of(self.random_state) if pruning.draws_masks else None
            collapsed = collapsed | pruning.collapsed(stopped, key=key, held=held, label=self.node_labels(tree))
        return collapsed

    @abc.abstractmethod
    def node_values(self, tree: Tree) -> Float[np.ndarray, "node column"]:
        """The shares of classes at every node, the outputs side by side, or the means."""

    def class_names(self) -> tuple[Shaped[np.ndarray, " class"], ...]:
        """The classes of every output; none for numbers."""
        return ()

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """The places of the classes of every output in declared order."""
        return ()

    def node_labels(self, tree: Tree) -> Int[np.ndarray, "output node"] | None:
        """The class that every node predicts; None for numbers."""
        orders = self.class_orders()
        return declared_majority(tree, orders) if orders else None

    def needs_all_rows(self) -> str | None:
        """The parameter for which one process must have all rows, in words; None if there is none."""
        if self.pruning is not None and (self.pruning.needs_validation or not self.pruning.is_mask):
            return f"pruning={self.pruning}"
        return None

    @abc.abstractmethod
    def read_target_of_part(self, y: Any) -> Any:
        """The target of this process's rows, by itself."""

    @abc.abstractmethod
    def agree_on_target(self, target: Any) -> FitTarget:
        """The target of this process's rows as all processes have it."""

    @abc.abstractmethod
    def read_target(self, y: Any) -> Shaped[np.ndarray, "output row"]:
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
        return Sample(X_val, self.read_target(y_val), num_classes, None)

    def hold_out_validation(self, tree: Tree, start: PreparedFit) -> HeldOut:
        """The held-out rows at the nodes of the unpruned tree."""
        validation = start.validation
        assert validation is not None
        predictor = Predictor(self.in_table_units(tree, start))
        return hold_out_rows(tree, predictor, self.encoder_.values(validation.X), validation.target, validation.weight)

    def _values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """What thresholds are compared with."""
        check_is_fitted(self)
        values = self.encoder_.values(X)
        check_names(self, X, reset=False)
        return values


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
