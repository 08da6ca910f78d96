"""The base of all tree estimators: from a table to a tree, and what pruning makes of it.

A fit has three phases: `growth_task` reads the table, `grow_tables` grows, `finish_fit` prunes. A search takes the
middle one for many tables at once, and repeats the last for many prunings. These methods are for the package's rooms.
"""

import abc
import itertools
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse
import sklearn.tree
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int, Real, UInt
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from jaxtree.buckets import class_bucket
from jaxtree.criteria import CRITERIA, NUMBER_CRITERIA, Criterion
from jaxtree.dataset.arguments import split_validation
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, read_sample
from jaxtree.dataset.exchange import LONE, Exchange
from jaxtree.dataset.kept_rows import KeptRows
from jaxtree.dataset.magnitude import check_gains, exponent_of
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.errors import InvalidInputError, all_or_nothing, present
from jaxtree.estimators.common.conventions import Role, configured, identity, key_of, names_of
from jaxtree.estimators.common.features import clip_to_bounds
from jaxtree.estimators.common.growing import GrowthTask, Recipe, decode_thresholds, grow_tables
from jaxtree.estimators.common.jobs import Family, Job
from jaxtree.estimators.common.limits import kind_of_growth, limit_masks, loosest
from jaxtree.estimators.common.parameters import TableParameters
from jaxtree.estimators.common.parts import PredictsNumbers
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.prediction import FittedTrees, PredictsClasses
from jaxtree.estimators.common.prunings import CostComplexity, MaxLeafNodes, Pruning
from jaxtree.estimators.trees.ccp_cv import find_alpha
from jaxtree.export.pictures import small_html
from jaxtree.files.trees import FittedTable, TreeState
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.shares import Shares
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.serving.rows import over_sources
from jaxtree.table.encoder import Encoder
from jaxtree.table.sources import is_source
from jaxtree.tree import Tree, take_tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.model import FittedModel, RowSums
from jaxtree.tree.nodes import ancestors, declared_majority, node_means
from jaxtree.tree.paths import stop_at
from jaxtree.tree.predictor import Predictor

ROWS_AT_A_TIME = 2**20
"""Rows of the parts that one growth has at most, if it has several."""


class BaseTree(TableParameters, FittedTrees, Family):
    """A single tree on any table.

    A subclass is a dataclass of its parameters, and `make_recipe` and `make_encoder` give them a meaning.
    """

    model_kind = ModelKind.TREE
    joins_parts = True
    tree_: Tree

    criterion: str | Criterion
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0

    poisson_sum: ClassVar[str] = "positive"
    """scikit-learn's word for what the sum of a Poisson target must be; it has another for forests."""

    split_limit_counts: ClassVar[str] = "weight"
    """The unit of `min_samples_split` where rows have weights: "rows" or "weight"."""

    _kept_rows: KeptRows | None = None
    """The rows of the tree where it keeps them, see `TakesBatches`."""

    @abc.abstractmethod
    def make_recipe(self, data: Dataset) -> Recipe:
        """Returns how to grow on some rows."""

    @abc.abstractmethod
    def growth_limits(self, data: Dataset) -> Limits:
        """Returns when nodes are not split."""

    @abc.abstractmethod
    def make_objective(self, outputs: Outputs) -> Objective:
        """Returns the objective that scores splits for a target."""

    def table_options(self) -> TableOptions:
        """Returns how the table of a fit is read."""
        return TableOptions(
            self.make_encoder(),
            of_classes=isinstance(self, ClassifierMixin),
            class_weight=getattr(self, "class_weight", None),
            counts=self.poisson_sum if self.criterion == "poisson" else None,
            held_out=self.held_out_share(),
            seed=self.random_state,
        )

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        return Encoder(
            max_bins=self.max_bins, max_categories=self.max_categories, categorical_features=self.categorical_features
        )

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        mesh: Mesh | None = None,
    ) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The class (a number, a word) or the number of every row; several columns for several outputs. For a
                source also the name of its column, or a list of names. Or `jaxtree.ClassProbabilities`.
            sample_weight: The weight of every row; a row of weight 0 is left out. For a source also the name of
                a column.
            X_val: Rows to prune with, for a pruning that asks for held-out rows; a part of X if not given.
            y_val: Their target.
            sample_weight_val: Their weights.
            mesh: Devices to divide the rows among; the tree is the same. If these belong to several processes, each
                calls this with rows of its own, and all get the tree of all rows.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        with placed_fit(self, X, mesh) as exchange:
            task = self.growth_task(X, y, sample_weight, X_val, y_val, sample_weight_val, exchange=exchange)
            (grown,) = grow_tables([task], mesh)
            return self.finish_fit(grown, task)

    def kind_of_jobs(self) -> Hashable:
        """Returns what trees that are grown together have in common: all but limits, prunings and other masks."""
        return kind_of_growth(self)

    @classmethod
    def fit_jobs(cls, jobs: Sequence[Job]) -> Iterator[Mapping[int, Self]]:
        """Grows the trees of jobs together, and prunes each; see `Family`."""
        for _, task, tree, places, _ in cls.grow_jobs(jobs):
            for place in places:
                own: Any = clone(jobs[place].estimator)
                yield {place: own.finish_fit(own.within_limits(tree, task), task)}

    @classmethod
    def grow_jobs(cls, jobs: Sequence[Job]) -> Iterator["GrownTree"]:
        """Grows the trees of jobs of one kind as roots of one growth, as many as it has room for, and yields each.

        Jobs on the same rows that differ in limits and prunings have one tree.
        """
        places: dict[int, list[int]] = {}
        for place, job in enumerate(jobs):
            places.setdefault(id(job.part), []).append(place)
        own = list(places.values())
        end = np.cumsum([jobs[first].part.num_rows for first, *_ in own])
        for _, batch in itertools.groupby(range(len(own)), key=lambda number: end[number] // ROWS_AT_A_TIME):
            began = time.perf_counter()
            begun = [tree for number in batch for tree in cls._begin_jobs(jobs, own[number])]
            trees = grow_tables([task for _, task, _ in begun])
            seconds = (time.perf_counter() - began) / sum(len(members) for *_, members in begun)
            for (estimator, task, members), tree in zip(begun, trees, strict=True):
                yield GrownTree(estimator, task, tree, members, seconds)

    @classmethod
    def _begin_jobs(cls, jobs: Sequence[Job], places: list[int]) -> list[tuple[Self, GrowthTask, list[int]]]:
        """Returns what is to be grown for jobs on the same rows: the tree of one growth, or of each path."""
        part, loose = jobs[places[0]].part, loosest([jobs[place].estimator for place in places])
        encoder, (X, y, params) = loose.make_encoder(), part.arguments(loose)
        task = loose.growth_task(X, y, **params, same_as=part.known_codes(encoder))
        part.keep_codes(encoder, task.data)
        loose.learn(task.data)
        names, trees = sorted(names_of(loose, Role.PATH)), {}
        for place in places:
            own = tuple(identity(getattr(jobs[place].estimator, name)) for name in names)
            trees.setdefault(own, []).append(place)
        if len(trees) == 1:
            return [(loose, task, places)]
        begun = []
        for members in trees.values():
            own = configured(loose, {name: getattr(jobs[members[0]].estimator, name) for name in names})
            begun.append((own, GrowthTask(task.data, own.make_recipe(task.data)), members))
        return begun

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do."""
        return costs.growth(num_rows, num_columns, levels=costs.levels_of(num_rows, getattr(self, "max_depth", None)))

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
        return TreeState.of(self.fitted_table(), self.model_, getattr(self, "pruning_", None), self._row_sums)

    def restore(self, state: TreeState) -> None:
        """Takes what `fitted_state` of another tree of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.pruning_ = state.pruning
        votes = self.pruning is not None and self.pruning.votes
        self.settle(state.forest(self.schema_, votes=votes).nodes, state.votes, state.row_sums)

    def growth_task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        same_as: Dataset | None = None,
        exchange: Exchange = LONE,
    ) -> GrowthTask:
        """Checks the parameters, and reads the arguments of a fit, see `fit`.

        Args:
            X: The table.
            y: Its target.
            sample_weight: The weight of every row.
            X_val: Rows to prune with.
            y_val: Their target.
            sample_weight_val: Their weights.
            same_as: A dataset of the same rows, whose codes are taken; see `encode_sample`.
            exchange: How the processes that have parts of the rows know of one another.
        """
        if exchange.is_shared and (X_val is not None or y_val is not None):
            raise InvalidInputError("X_val and y_val cannot be given with a mesh of several processes")
        exchange.agree(check_fits_together if exchange.is_shared else type(self).check_parameters, self)
        options = self.table_options()
        sample = read_sample(X, y, sample_weight, options, exchange=exchange)
        exchange.agree(self._check_sample, sample, exchange)
        rows, held = split_validation(X_val, y_val, sample_weight_val, {})[0], None
        if rows is not None:
            if self.pruning is None or not self.pruning.needs_validation:
                raise InvalidInputError(
                    f"X_val and y_val are for a pruning that asks for them, got pruning={self.pruning}"
                )
            held = read_known(sample.outputs, rows.X, rows.y, rows.weight).without_weightless_rows()
        data = encode_sample(sample, options, held=held, same_as=same_as, exchange=exchange)
        return GrowthTask(data, self.make_recipe(data))

    def finish_fit(self, grown: Tree, task: GrowthTask) -> Self:
        """Prunes the grown tree and makes it ready for prediction."""
        self.learn(task.data)
        return self.settle(self.prune_grown(grown, task))

    def within_limits(self, tree: Tree, task: GrowthTask) -> Tree:
        """Returns a tree that was grown with looser limits as it would have grown with those of this estimator."""
        stops = limit_masks([self], tree, task)[0]
        return take_tree(tree, collapsed=stops) if stops.any() else tree

    def prune_grown(self, grown: Tree, task: GrowthTask) -> Tree:
        """Returns the grown tree after all prunings, in units of the table."""
        collapsed = self.find_collapsed(self.list_prunings(), grown, task)
        return self.in_table_units(take_tree(grown, collapsed=collapsed) if collapsed.any() else grown, task)

    def settle(
        self,
        tree: Tree,
        votes: Float[np.ndarray, "node column"] | None = None,
        row_sums: RowSums | None = None,
    ) -> Self:
        """Takes a tree in units of the table as the fitted one, which need not be that of rows that were kept.

        Args:
            tree: The tree.
            votes: The votes at its nodes, if these are known.
            row_sums: The sums of the rows at its nodes, if these are kept; see `TakesRows`.
        """
        self.tree_, self._row_sums, self._kept_rows = tree, row_sums, None
        model = self.model_of(tree)
        if votes is None and self.pruning is not None and self.pruning.votes:
            votes = self.pruning.vote(tree, model.node_votes(), key=key_of(self.random_state))
        self._model = model if votes is None else model.with_votes(votes)
        return self

    def model_of(self, tree: Tree) -> FittedModel:
        """Returns what `model_` would be of another tree in units of the table, without votes of prunings."""
        labels, names, orders = self.node_labels(tree), self.class_names(), self.class_orders()
        return FittedModel(self.encoder_.schema_, Forest.of(tree), self.node_values(tree), labels, names, orders)

    def in_table_units(self, tree: Tree, task: GrowthTask) -> Tree:
        """Returns the tree with thresholds in units of the table."""
        ordered, monotone = task.recipe.ordered, task.recipe.features.monotone
        tree = decode_thresholds(tree, (ordered or task).data.schema, on_values=task.recipe.on_values)
        tree = tree if ordered is None else ordered.in_categories(tree)
        return tree if monotone is None else clip_to_bounds(tree, monotone[: task.data.schema.num_features])

    def list_prunings(self) -> list[Pruning]:
        """Returns the prunings that follow from the parameters, in their order."""
        prunings: list[Pruning] = []
        if self.max_leaf_nodes is not None:
            prunings.append(MaxLeafNodes(self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            prunings.append(CostComplexity(self.ccp_alpha))
        return prunings if self.pruning is None else [*prunings, self.pruning]

    def find_collapsed(self, prunings: list[Pruning], tree: Tree, task: GrowthTask) -> Bool[np.ndarray, " node"]:
        """Returns the nodes that some prunings collapse, one after the other."""
        self.pruning_ = self.pruning
        collapsed = np.zeros(tree.node_count, bool)
        for pruning in prunings:
            check_gains(tree, "a pruning")
            stopped = stop_at(tree, collapsed)
            if isinstance(pruning, CostComplexity) and not pruning.is_mask:
                self.pruning_ = pruning = find_alpha(self, pruning, stopped, task)
            held = self.hold_out_validation(tree, task) if pruning.needs_validation else None
            key = key_of(self.random_state) if pruning.draws_masks else None
            collapsed = collapsed | pruning.collapsed(stopped, key=key, held=held, label=self.node_labels(tree))
        return collapsed

    def hold_out_validation(self, tree: Tree, task: GrowthTask) -> HeldOut:
        """Returns the held-out rows at the nodes of the unpruned tree."""
        held = present(task.data.held)
        predictor = Predictor(self.in_table_units(tree, task))
        return hold_out_rows(tree, predictor, task.data.encoder.values(held.X), held.target, held.weight)

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

    def needs_classes(self) -> str | None:
        """Returns the parameter for which every row must have one class; None if there is none."""
        return self.needs_all_rows()

    def read_target(self, y: Any) -> Real[np.ndarray, "output row"]:
        """Returns a target of rows that the tree is not grown on, in the codes of the fit; numbers as they are."""
        return self.outputs().encode(y)

    def _check_sample(self, sample: Sample, exchange: Exchange) -> None:
        """Raises InvalidInputError if growth, or a pruning, cannot take the target."""
        needs = self.needs_classes() if sample.outputs.has_shares else None
        if needs is not None:
            raise InvalidInputError(f"{needs} looks at the class of every row, and y has probabilities")
        if exchange.is_shared and not sample.outputs.num_classes and exponent_of(sample.target) > 0:
            raise InvalidInputError(
                "over several processes y must be below 2**400 in size, so that it can be squared, got "
                f"{np.abs(sample.target).max():g}: divide it by a constant"
            )

    def _html_repr(self) -> str:
        """Returns what a notebook shows: scikit-learn's display, and the tree once it is fitted."""
        diagram = estimator_html_repr(self)
        return diagram + small_html(self) if hasattr(self, "tree_") else diagram

    @over_sources
    def apply(self, X: Any) -> Int[np.ndarray, " row"]:
        """Returns the node of `tree_` where the walk of every row ends.

        A row whose category has no branch ends at an inner node, and so does one whose value is missing
        where missing values are shared out among the branches.
        """
        values = self._values(X)
        return self._model.predictor.ends(values)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Returns the nodes on the path of every row, as a sparse matrix of shape (rows, nodes)."""
        node = self.apply(X)
        return ancestors(self.tree_)[node]

    def encode(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of a table, as `jaxtree.growth.apply` and `jaxtree.dropout` take them."""
        check_is_fitted(self)
        return self.encoder_.transform(self.encoder_.open(X).without(self.other_columns_) if is_source(X) else X)

    def get_depth(self) -> int:
        """Returns the depth of the deepest leaf; a single leaf has depth 0."""
        return self.model_.tree.max_depth

    def get_n_leaves(self) -> int:
        """Returns the number of leaves."""
        return self.model_.tree.n_leaves

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the summed weighted gain that the splits on each column have (Breiman et al., 1984)."""
        return self._importances()[0]


class GrownTree(NamedTuple):
    """A tree that was grown for several jobs.

    Attributes:
        estimator: The estimator with the loosest limits of all, which has learned of the rows.
        task: The rows, and how the tree was grown.
        tree: The tree, before it is pruned; its thresholds are codes.
        places: The places of the jobs.
        seconds: The share of each in the time of growth.
    """

    estimator: BaseTree
    task: GrowthTask
    tree: Tree
    places: list[int]
    seconds: float


def check_fits_together(estimator: Any) -> None:
    """Raises InvalidInputError if a parameter is not allowed, or not over several processes."""
    estimator.check_parameters()
    needs_all = estimator.needs_all_rows()
    if needs_all is not None:
        raise InvalidInputError(
            f"over several processes the fitted tree must follow from the grown one alone, which {needs_all} does not "
            "allow; prune afterwards with jaxtree.prune_to"
        )
    if estimator.draws_growth() and not isinstance(estimator.random_state, int | np.integer):
        raise InvalidInputError(
            f"random_state must be an integer over several processes, the same in all, got {estimator.random_state!r}"
        )


class BaseTreeClassifier(PredictsClasses, BaseTree):
    """A single classification tree."""

    class_order_: Any

    orders_as_declared: ClassVar[bool] = False
    """Whether of equal classes the first declared one is predicted, and not the first in ascending order."""

    def learn(self, data: Dataset) -> None:
        """Learns of the rows of a fit what predictions need, and the order of classes between equal ones."""
        super().learn(data)
        outputs = data.outputs
        orders = [*(outputs.declared if self.orders_as_declared else map(np.arange, outputs.num_classes))]
        self.class_order_ = orders[0] if len(orders) == 1 else orders

    def restore_table(self, table: FittedTable) -> None:
        """Takes what `fitted_table` of another tree returned."""
        super().restore_table(table)
        orders = [classes.order for classes in table.outputs]
        self.class_order_ = orders[0] if len(orders) == 1 else orders

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """Returns the places of the classes of every output in declared order."""
        return (self.class_order_,) if self.n_outputs_ == 1 else tuple(self.class_order_)

    def make_objective(self, outputs: Outputs) -> Classes:
        """Returns the objective of growth, with the number of classes padded to a bucket; that of shares is not."""
        criterion = CRITERIA[self.criterion] if isinstance(self.criterion, str) else self.criterion
        if outputs.has_shares:
            return Shares(outputs.num_classes[0], criterion)
        return Classes(class_bucket(max(outputs.num_classes)), criterion, outputs.number)


class BaseTreeRegressor(PredictsNumbers, BaseTree):
    """A single regression tree."""

    criterion: str

    def make_objective(self, outputs: Outputs) -> Numbers:
        """Returns the objective of growth."""
        return Numbers(NUMBER_CRITERIA[self.criterion], outputs.number)


# scikit-learn's own plotting and export functions accept instances of its classes alone.
sklearn.tree.DecisionTreeClassifier.register(BaseTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(BaseTreeRegressor)
