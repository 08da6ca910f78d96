"""The base of all tree estimators: from a table to a tree, and what pruning makes of it.

A fit has three phases: `prepare_fit` encodes the table, `grow_tables` grows, `finish_fit` prunes. A search takes the
middle one for many tables at once, and repeats the last for many prunings. These methods are for the package's rooms.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import sklearn.tree
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int, Real

from jaxtree import forks
from jaxtree.buckets import class_bucket
from jaxtree.criteria import CRITERIA, NUMBER_CRITERIA, Criterion
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import check_names, key_of, set_column_names
from jaxtree.estimators.common.distributed import fit_together, spans_processes
from jaxtree.estimators.common.growing import EncodedSample, Recipe, decode_thresholds, grow_tables
from jaxtree.estimators.common.magnitude import check_gains, check_sums
from jaxtree.estimators.common.monotone import clip_to_bounds
from jaxtree.estimators.common.parameters import TableParameters
from jaxtree.estimators.common.parts import PredictsNumbers, read_arguments
from jaxtree.estimators.common.prediction import FittedTree, PredictsClasses
from jaxtree.estimators.common.prunings import CostComplexity, MaxLeafNodes, Pruning
from jaxtree.estimators.common.sample import Encoded, PreparedFit, Sample, Weights, note_identifiers
from jaxtree.estimators.trees.ccp_cv import find_alpha
from jaxtree.files.trees import FittedTable, TreeState
from jaxtree.growth.inputs import Limits
from jaxtree.growth.objective import Objective
from jaxtree.growth.standard_objectives import Classes, Numbers
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.table import open_source
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.sources import is_source
from jaxtree.table.target import ClassTarget, NumberTarget, encode_classes, encode_numbers
from jaxtree.table.weights import check_sample_weight, class_weights
from jaxtree.tree import Tree, take_tree
from jaxtree.tree.forest import join_trees
from jaxtree.tree.model import FittedModel, encode_known_classes, encode_known_numbers
from jaxtree.tree.nodes import declared_majority, node_means
from jaxtree.tree.paths import stop_at
from jaxtree.tree.predictor import Predictor


class BaseTree(TableParameters, FittedTree):
    """A single tree on any table.

    A subclass is a dataclass of its parameters, and `make_recipe` and `make_encoder` give them a meaning.
    """

    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0

    limit_parameters: ClassVar[dict[str, Callable[[list], Any]]] = {}
    """Parameters that only end growth sooner, and how the loosest of several is found."""
    pruning_parameters: ClassVar[frozenset[str]] = frozenset({"pruning"})
    """Parameters that take effect when the tree is grown."""
    path_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters of which one search finds the trees of many values."""
    split_limit_counts: ClassVar[str] = "weight"
    """What `min_samples_split` counts where rows have weights: "rows" or "weight"."""

    @abc.abstractmethod
    def make_recipe(self, num_rows: int, weight: Weights) -> Recipe:
        """Returns how to grow on so many rows with such weights; called when the schema is known."""

    @abc.abstractmethod
    def growth_limits(self, num_rows: int, weight: Weights) -> Limits:
        """Returns when nodes are not split."""

    @abc.abstractmethod
    def make_objective(self) -> Objective:
        """Returns the objective that scores splits."""

    @abc.abstractmethod
    def encode_target(self, y: Any) -> ClassTarget | NumberTarget:
        """Returns the target of a fit as codes of classes, or as numbers."""

    @abc.abstractmethod
    def learn_sample(self, X: Any, target: Any, weight: Weights, counts: Any = None) -> Sample:
        """Learns the outputs and classes of a target, and returns the rows with their weights.

        Args:
            X: The table.
            target: What `encode_target` returned; over several processes with the classes of all.
            weight: The weights of the rows, which those of their classes multiply.
            counts: The rows of every class of all processes, an array an output, if there are several processes.
        """

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        return Encoder(
            max_bins=self.max_bins, max_categories=self.max_categories, categorical_features=self.categorical_features
        )

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None, mesh: Mesh | None = None
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
        """Returns whether the tree depends on `random_state` before it is pruned."""
        return False

    def held_out_share(self) -> float | None:
        """Returns the share of the rows that the tree is not grown on, as its pruning asks for them; None for none."""
        return None if self.pruning is None else self.pruning.validation_fraction

    def prunes_by_masks(self) -> bool:
        """Returns whether the pruned tree is a part of the grown one, or a vote of such, as soon as that is there."""
        return self.pruning is None or self.pruning.is_mask or self.pruning.votes

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
        forks.check_is_whole("fit")
        self.check_parameters()
        X, y, sample_weight, self.other_columns_ = read_arguments(X, y, sample_weight)
        target = self.encode_target(y)
        weight = check_sample_weight(sample_weight, target.num_rows)
        sample = self.learn_sample(X, target, weight)
        if not sample.num_classes:
            check_sums(sample.target, sample.weight)
        validation = self._validation(X_val, y_val, sample.num_classes)
        prepared = self.prepare_sample(sample, validation, encoded)
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
        whole = grown_on = sample.without_weightless_rows()
        fraction = self.held_out_share()
        if validation is None and fraction is not None:
            grown_on, validation = whole.split(fraction, self.random_state)
        if encoded is None or grown_on is not sample:
            encoder = self.make_encoder()
            encoded = Encoded(encoder, encoder.fit_transform(grown_on.X))
        self.encoder_, codes = encoded
        check_same_length(codes.shape[1], grown_on.target[0])
        if is_source(sample.X):
            set_column_names(self, self.schema_.column_names, is_named=bool(open_source(sample.X).names))
        else:
            check_names(self, sample.X)
        recipe = self.make_recipe(grown_on.num_rows, grown_on.weight)
        has_weight = None if whole is sample or sample.weight is None else sample.weight > 0
        return PreparedFit(whole, EncodedSample(codes, self.schema_, *grown_on[1:], recipe), validation, has_weight)

    def finish_fit(self, grown: Tree, start: PreparedFit) -> Self:
        """Prunes the grown tree and makes it ready for prediction."""
        return self.settle(self.prune_grown(grown, start))

    def prune_grown(self, grown: Tree, start: PreparedFit) -> Tree:
        """Returns the grown tree after all prunings, in units of the table."""
        collapsed = self.find_collapsed(self.list_prunings(), grown, start)
        return self.in_table_units(take_tree(grown, collapsed=collapsed), start)

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

    def list_prunings(self) -> list[Pruning]:
        """Returns the prunings that follow from the parameters, in their order."""
        prunings: list[Pruning] = []
        if self.max_leaf_nodes is not None:
            prunings.append(MaxLeafNodes(self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            prunings.append(CostComplexity(self.ccp_alpha))
        return prunings if self.pruning is None else [*prunings, self.pruning]

    def find_collapsed(self, prunings: list[Pruning], tree: Tree, start: PreparedFit) -> Bool[np.ndarray, " node"]:
        """Returns the nodes that some prunings collapse, one after the other."""
        self.pruning_ = self.pruning
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

    def hold_out_validation(self, tree: Tree, start: PreparedFit) -> HeldOut:
        """Returns the held-out rows at the nodes of the unpruned tree."""
        validation = start.validation
        assert validation is not None
        predictor = Predictor(self.in_table_units(tree, start))
        return hold_out_rows(tree, predictor, self.encoder_.values(validation.X), validation.target, validation.weight)

    def node_values(self, tree: Tree) -> Float[np.ndarray, "node column"]:
        """Returns the shares of classes at every node, the outputs side by side, or the means."""
        return node_means(tree)

    def node_labels(self, tree: Tree) -> Int[np.ndarray, "output node"] | None:
        """Returns the class that every node predicts; None for numbers."""
        orders = self.class_orders()
        return declared_majority(tree, orders) if orders else None

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """Returns the places of the classes of every output in declared order; none for numbers."""
        return ()

    def needs_all_rows(self) -> str | None:
        """Returns the parameter for which one process must have all rows; None if there is none."""
        if self.pruning is not None and (self.pruning.needs_validation or not self.pruning.is_mask):
            return f"pruning={self.pruning}"
        return None

    def read_target(self, y: Any) -> Real[np.ndarray, "output row"]:
        """Returns a target of rows that the tree is not grown on, in the codes of the fit; numbers as they are."""
        names = self.class_names()
        return encode_known_classes(y, names) if names else encode_known_numbers(y, self.n_outputs_)

    def _validation(self, X_val: Any, y_val: Any, num_classes: tuple[int, ...]) -> Sample | None:
        """Returns the rows given to prune with."""
        if X_val is None and y_val is None:
            return None
        if self.pruning is None or not self.pruning.needs_validation:
            raise InvalidInputError(f"X_val and y_val are for a pruning that asks for them, got pruning={self.pruning}")
        if X_val is None or y_val is None:
            raise InvalidInputError("X_val and y_val go together, got one of them alone")
        X_val, y_val, _, _ = read_arguments(X_val, y_val)
        return Sample(X_val, self.read_target(y_val), num_classes, None)


class BaseTreeClassifier(PredictsClasses, BaseTree):
    """A single classification tree."""

    criterion: str | Criterion
    class_weight: Any = None

    def encode_target(self, y: Any) -> ClassTarget:
        """Returns the target of a fit as codes of classes, with a warning if it looks like an identifier."""
        target = encode_classes(y)
        note_identifiers(target)
        return target

    def learn_sample(self, X: Any, target: Any, weight: Weights, counts: Any = None) -> Sample:
        """Learns the classes of a target, and returns the rows with their weights."""
        self._learn_classes(target, [np.arange(len(names)) for names in target.classes])
        num_classes = tuple(len(names) for names in target.classes)
        factor = class_weights(self.class_weight, target, counts)
        if weight is not None and factor is not None:
            factor = weight * factor
        return Sample(X, target.codes, num_classes, weight if factor is None else factor)

    def _learn_classes(self, target: ClassTarget, orders: Sequence[Int[np.ndarray, " _class"]]) -> None:
        """Learns the classes of every output, and their places in the order that decides between equal ones."""
        is_one, classes = len(target.classes) == 1, list(target.classes)
        self.n_outputs_ = len(classes)
        self.n_classes_ = len(classes[0]) if is_one else np.array([len(names) for names in classes])
        self.classes_, self.class_order_ = (classes[0], orders[0]) if is_one else (classes, list(orders))

    def restore_table(self, table: FittedTable) -> None:
        """Takes what `fitted_table` of another tree returned."""
        super().restore_table(table)
        orders = [classes.order for classes in table.outputs]
        self.class_order_ = orders[0] if len(orders) == 1 else orders

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """Returns the places of the classes of every output in declared order."""
        return (self.class_order_,) if self.n_outputs_ == 1 else tuple(self.class_order_)

    def make_objective(self) -> Classes:
        """Returns the objective of growth, with the number of classes padded to a bucket."""
        criterion = CRITERIA[self.criterion] if isinstance(self.criterion, str) else self.criterion
        return Classes(class_bucket(int(np.max(self.n_classes_))), criterion, self.n_outputs_)


class BaseTreeRegressor(PredictsNumbers, BaseTree):
    """A single regression tree."""

    criterion: str

    def encode_target(self, y: Any) -> NumberTarget:
        """Returns the target of a fit as numbers."""
        return encode_numbers(y)

    def learn_sample(self, X: Any, target: Any, weight: Weights, counts: Any = None) -> Sample:
        """Learns the outputs of a target, and returns the rows."""
        self.is_vector_, self.n_outputs_ = target.is_vector, len(target.values)
        return Sample(X, target.values, (), weight)

    def make_objective(self) -> Numbers:
        """Returns the objective of growth."""
        return Numbers(NUMBER_CRITERIA[self.criterion], self.n_outputs_)


# scikit-learn's own plotting and export functions accept instances of its classes alone.
sklearn.tree.DecisionTreeClassifier.register(BaseTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(BaseTreeRegressor)
