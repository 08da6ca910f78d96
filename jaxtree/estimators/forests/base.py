"""What all forests share: one table, many trees of one kind, and what they say together."""

import abc
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from jax.sharding import Mesh
from jaxtyping import Float, Float64, Int, PRNGKeyArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import Device
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.base import BaseTree, importances
from jaxtree.estimators.conventions import allow_tables, check_names, check_parameters, key_of
from jaxtree.estimators.forests.growing import devices_of, grow_sample, number_of_draws, number_of_threads, rows_of
from jaxtree.estimators.forests.members import Members, Samples, member_of, prune_forest, pruning_seeds
from jaxtree.estimators.forests.progress import progress_of_trees
from jaxtree.estimators.parameters import ForestParameters
from jaxtree.estimators.parts import part_by_part
from jaxtree.estimators.sample import PreparedFit
from jaxtree.files.registry import KeptInFiles
from jaxtree.files.trees import ForestState, RandomKey, TreeState
from jaxtree.forests.bootstrap import Drawing, out_of_bag_means, split_key
from jaxtree.forests.forest import Course, Sampling, drawing_of
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.tree import FittedModel, Forest, ancestors, join_forests

BINS_OF_FORESTS = 255
"""Bins of a numeric column, unless `max_bins` says otherwise: many trees smooth the steps."""

OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")
"""What a fit says of the rows that trees have not drawn."""

_LEARNT = (
    *("n_features_in_", "feature_names_in_", "n_outputs_", "max_features_", "classes_", "n_classes_", "encoder_"),
    "other_columns_",
)
"""What a forest learns from a table as a tree does."""


class BaseForest(ForestParameters, KeptInFiles, BaseEstimator, abc.ABC):
    """A forest on any table. Parameters of its trees have the names that they have there."""

    n_features_in_: int
    n_outputs_: int
    max_features_: int
    encoder_: Encoder
    forest_: Forest
    _model: FittedModel

    _tree_class: ClassVar[type[BaseTree]]
    _splitter: ClassVar[str | None] = None
    """How thresholds are found, where that is no parameter."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, mesh: Mesh | None = None) -> Self:
        """Grows the trees, and prunes each if the estimator has a pruning.

        An interrupt (Ctrl-C) keeps the trees that have grown, with a warning; before the first it is raised.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The target of every row; several columns for several outputs. Of a source also the name of its column.
            sample_weight: The weight of every row; a row of weight 0 is left out. Bootstrap samples draw rows with
                chances in proportion to their weights. Of a source also the name of a column.
            mesh: Devices of one kind, in one axis, to divide the trees among; the forest is that of one device.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        self.check_parameters()
        devices = devices_of(mesh)
        blank = self._blank_tree()
        start = blank.prepare_fit(X, y, sample_weight)
        old = self._kept_trees(blank)
        if old is None:
            self._key = key_of(self.random_state)
            forest = self._grow(blank, start, 0, devices)
        elif len(old) == self.n_estimators:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=2)
            forest = old
        else:
            forest = join_forests([old, self._grow(blank, start, len(old), devices)])
        self._learn_from(blank)
        self._settle(forest, blank)
        self._samples = Samples(self._drawing(start), start.sample.num_rows, start.has_weight)
        for name in OUT_OF_BAG:
            vars(self).pop(name, None)
        if self.oob_score:
            self._score_out_of_bag(start)
        return self

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, "row tree"]:
        """Returns the node of every tree where the walk of every row ends, counted from the tree's root."""
        values = self._values(X)
        return self._model.predictor.ends_in_trees(values) - self.forest_.first_node[:-1]

    def decision_path(self, X: Any) -> tuple[scipy.sparse.csr_matrix, Int[np.ndarray, " boundary"]]:
        """Returns the nodes on the paths of every row, as a sparse matrix of shape (rows, nodes of all trees).

        Behind it stand the columns where the trees begin, and the number of all.
        """
        end = self.apply(X) + self.forest_.first_node[:-1]
        shape = (len(end), int(self.forest_.first_node[-1]))
        rows = np.repeat(np.arange(len(end)), end.shape[1])
        ends = scipy.sparse.csr_matrix((np.ones(end.size, np.int64), (rows, end.ravel())), shape=shape)
        return ends @ ancestors(self.forest_.nodes), self.forest_.first_node

    @property
    def model_(self) -> FittedModel:
        """The trees with their columns and with what they predict, which explanations, drawings and exports take."""
        check_is_fitted(self, "forest_")
        return self._model

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators, made when they are first asked for."""
        check_is_fitted(self, "forest_")
        return self._members.trees

    @property
    def estimators_samples_(self) -> list[Int[np.ndarray, " draw"]]:
        """The rows of the fitted table that every tree was grown on, in ascending order, drawn anew at each access.

        A row stands as often as the tree drew it; rows of weight 0 are never drawn. Model files do not keep them.

        Raises:
            AttributeError: The forest was loaded from a file.

        Example:
            >>> from jaxtree import RandomForestClassifier
            >>> forest = RandomForestClassifier(2, random_state=0).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
            >>> [rows.size for rows in forest.estimators_samples_]
            [3, 3]
        """
        check_is_fitted(self, "forest_")
        if not hasattr(self, "_samples"):
            raise AttributeError("estimators_samples_ is known after fit alone: a model file does not hold the rows")
        return self._samples.of_trees(len(self.forest_))

    def __len__(self) -> int:
        """The number of trees."""
        check_is_fitted(self, "forest_")
        return len(self.forest_)

    def __getitem__(self, index: int) -> Any:
        """One of `estimators_`, or a list of some for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Goes through `estimators_`."""
        return iter(self.estimators_)

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table: all that turns codes back into words."""
        return self.encoder_.schema_

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """The mean over the trees that split of `feature_importances_` of each, with the sum 1; 0 if none splits."""
        check_is_fitted(self, "forest_")
        column = np.array([feature.column for feature in self.schema_.features])
        forest = self.forest_
        of_tree = importances(forest.nodes, column, self.n_features_in_, forest.tree_of_node)[forest.num_nodes > 1]
        total = of_tree.mean(axis=0) if len(of_tree) else np.zeros(self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total

    def fitted_state(self) -> ForestState:
        """Returns what fitting has learned: what a model file keeps."""
        outputs = [getattr(self, name) for name in OUT_OF_BAG[1:] if hasattr(self, name)]
        outputs = outputs[0] if outputs and isinstance(outputs[0], list) else outputs
        score = float(self.oob_score_) if hasattr(self, "oob_score_") else None
        trees = TreeState.of(self.fitted_table(), self.model_, None)
        return ForestState(**vars(trees), key=RandomKey.of(self._key), oob_score=score, oob_outputs=tuple(outputs))

    def restore(self, state: ForestState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        blank = self._blank_tree()
        blank.restore_table(state.table)
        self._learn_from(blank)
        self._key = state.key.key()
        votes = self.pruning is not None and self.pruning.votes
        self._settle(state.forest(self.schema_, votes=votes), blank, state.votes)
        if state.oob_score is not None:
            self.oob_score_ = state.oob_score
        if state.oob_outputs:
            name = OUT_OF_BAG[1 if is_classifier(self) else 2]
            setattr(self, name, state.oob_outputs[0] if len(state.oob_outputs) == 1 else list(state.oob_outputs))

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values, and targets several columns."""
        return allow_tables(super().__sklearn_tags__())

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)
        number_of_threads(self.n_jobs)
        if not self.bootstrap and self.max_samples is not None:
            raise InvalidInputError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                f"`max_sample=None`. Got max_samples={self.max_samples!r}; only bootstrap samples are of another size "
                "than the table."
            )
        if not self.bootstrap and self.oob_score:
            raise InvalidInputError(
                "Out of bag estimation only available if bootstrap=True: without it every tree has seen every row"
            )
        if self.pruning is None:
            return
        self.pruning.check()
        if not (self.pruning.is_mask or self.pruning.votes):
            raise InvalidInputError(
                f"trees of a forest are not cross-validated one by one, got {self.pruning}; give a number"
            )
        if self.pruning.needs_validation and not self.bootstrap:
            raise InvalidInputError(
                f"{self.pruning} looks at rows that a tree has not seen: with bootstrap=True it takes those not drawn"
            )

    def _blank_tree(self) -> BaseTree:
        """A tree with the parameters that it shares with the forest, except those that the forest handles itself."""
        names = set(self._tree_class._get_param_names()) & set(self._get_param_names())
        parameters: dict[str, Any] = {name: getattr(self, name) for name in names}
        parameters |= {"pruning": None, "random_state": 0}
        if self._splitter is not None:
            parameters["splitter"] = self._splitter
        if self.max_bins == "auto":
            parameters["max_bins"] = BINS_OF_FORESTS
        return self._tree_class(**parameters)

    def _kept_trees(self, blank: BaseTree) -> Forest | None:
        """The trees that a warm start goes on from.

        Raises InvalidInputError if there are more of them than asked for, or if the new table has other columns,
        categories or classes.
        """
        if not self.warm_start or not hasattr(self, "forest_"):
            return None
        if self.n_estimators < len(self.forest_):
            raise InvalidInputError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={len(self.forest_)} "
                "when warm_start==True"
            )
        old, new = (
            [(column.name, column.kind, column.categories, column.time) for column in schema.columns]
            for schema in (self.schema_, blank.schema_)
        )
        if old != new or not _are_equal(getattr(self, "classes_", None), getattr(blank, "classes_", None)):
            raise InvalidInputError(
                "warm_start needs the columns, categories, classes and first dates of the first fit"
            )
        return self.forest_

    def _learn_from(self, blank: BaseTree) -> None:
        for name in _LEARNT:
            vars(self).pop(name, None)
            if hasattr(blank, name):
                setattr(self, name, getattr(blank, name))

    def _keys(self) -> tuple[PRNGKeyArray, PRNGKeyArray]:
        """The key of growth, and that of prunings that draw."""
        return split_key(self._key)

    def _sampling(self, start: PreparedFit) -> Sampling:
        """How the trees draw their rows."""
        if not self.bootstrap:
            return Sampling()
        sample = start.sample
        num_draws = number_of_draws(self.max_samples, sample.num_rows, sample.weight)
        return Sampling(num_draws, least_share=self.min_weight_fraction_leaf)

    def _drawing(self, start: PreparedFit) -> Drawing | None:
        num_draws = self._sampling(start).num_draws
        return None if num_draws is None else drawing_of(rows_of(start.encoded), num_draws, self._keys()[0])

    def _grow(self, blank: BaseTree, start: PreparedFit, first_tree: int, devices: tuple[Device, ...] = ()) -> Forest:
        """The new trees, pruned and in units of the table."""
        encoded, sampling = start.encoded, self._sampling(start)
        if self.bootstrap:
            # Weights are chances here: a limit counts a row as often as it was drawn.
            weight = np.ones(start.sample.num_rows) if sampling.balances_classes else None
            recipe = blank.make_recipe(start.sample.num_rows, weight)
            recipe = recipe._replace(limits=recipe.limits._replace(min_weight_leaf=0.0))
            encoded = encoded._replace(recipe=recipe)
        trees = range(first_tree, self.n_estimators)
        with progress_of_trees(self.verbose, len(trees)) as on_grown:
            course = Course(number_of_threads(self.n_jobs), devices, on_grown=on_grown)
            grown = grow_sample(encoded, sampling, key=self._keys()[0], trees=trees, course=course)
        if len(grown) < len(trees):
            warnings.warn(
                f"fit was interrupted: the forest has {first_tree + len(grown)} of {self.n_estimators} trees",
                InterruptedFitWarning,
                stacklevel=3,
            )
        if member_of(blank, self.pruning, 0).list_prunings():
            seeds = pruning_seeds(self._keys()[1], first_tree, len(grown))
            grown = prune_forest(grown, blank, self.pruning, seeds, start, self._drawing(start), first_tree)
        return Forest(blank.in_table_units(grown.nodes, start), grown.first_node)

    @part_by_part
    def _values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """What thresholds are compared with."""
        check_is_fitted(self, "forest_")
        values = self.encoder_.values(X)
        check_names(self, X, reset=False)
        return values

    def _settle(self, forest: Forest, blank: BaseTree, votes: Float[np.ndarray, "node column"] | None = None) -> None:
        """Takes trees in units of the table as the fitted ones, and the votes at their nodes if these are known.

        Args:
            forest: The trees.
            blank: A tree that has learnt from the table, but has not grown.
            votes: The values of the nodes where the pruning is a vote.
        """
        self.forest_ = forest
        self._members = Members(forest, blank, self.pruning, self._key, votes)
        is_vote = self.pruning is not None and self.pruning.votes
        if is_vote and votes is None:
            votes = np.concatenate([tree.model_.node_value for tree in self.estimators_])
        self._model = FittedModel(
            schema=self.schema_,
            forest=forest,
            node_value=blank.node_values(forest.nodes) if votes is None else votes,
            node_label=None,
            classes=blank.class_names(),
            class_order=blank.class_orders(),
            averages_trees=True,
            is_vote=is_vote,
        )

    @abc.abstractmethod
    def _score_out_of_bag(self, start: PreparedFit) -> None:
        """Predicts every row by the trees that have not drawn it, and scores that."""

    def _means_out_of_bag(self, start: PreparedFit) -> Float64[np.ndarray, "row column"]:
        """The means of what trees say of the rows that they have not drawn, for the rows of some weight."""
        drawing = self._drawing(start)
        assert drawing is not None
        means = out_of_bag_means(self.forest_, self._values(start.sample.X), self._model.node_value, drawing)
        missing = int(np.sum(np.isnan(means[:, 0])))
        if missing:
            warnings.warn(
                f"Some inputs do not have OOB scores: every tree has drawn {missing} of the rows. They are NaN and do "
                "not count for the score; more trees would help",
                stacklevel=4,
            )
        return means


def _are_equal(classes: Any, others: Any) -> bool:
    """Whether two targets have the same classes, in one output or several."""
    if isinstance(classes, list) and isinstance(others, list):
        return len(classes) == len(others) and all(map(np.array_equal, classes, others))
    return np.array_equal(classes, others)


def with_weightless_rows(
    values: Float[np.ndarray, "row *column"], start: PreparedFit
) -> Float[np.ndarray, "row *column"]:
    """The values of the rows of some weight, with NaN for all other rows of the table."""
    if start.has_weight is None:
        return values
    whole = np.full((start.has_weight.size, *values.shape[1:]), np.nan)
    whole[start.has_weight] = values
    return whole
