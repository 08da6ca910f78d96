"""The base of all forests: one table, many trees of one kind, and what they predict together."""

import abc
import copy
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.sharding import Mesh
from jaxtyping import Float, Float64, Int, PRNGKeyArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.arrays import Device
from jaxtree.compilation import compiled
from jaxtree.cores import num_cores
from jaxtree.dataset.arguments import read_arguments
from jaxtree.dataset.dataset import Dataset, read_dataset
from jaxtree.dataset.exchange import exchange_of
from jaxtree.dataset.sample import Weights
from jaxtree.devices import costs, current_platform
from jaxtree.devices.costs import Work
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, all_or_nothing, present, warn_user
from jaxtree.estimators.common.conventions import configured, generator_of, identity, key_of, limits_of, progress_of
from jaxtree.estimators.common.drawn_bands import groups_of_draws
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.common.features import check_kept_trees
from jaxtree.estimators.common.given_rows import TakesRows
from jaxtree.estimators.common.growing import GrowthTask, Recipe, grow_sample, rows_of
from jaxtree.estimators.common.jobs import Family, Job, uninterrupted
from jaxtree.estimators.common.limits import kind_of_growth, loosest, masks_of_limits
from jaxtree.estimators.common.parameters import WITHOUT_NEW_TREES, ForestParameters, number_of_features
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.prediction import FittedTrees
from jaxtree.estimators.forests.bands import DrawnTargets, ForestBands, drawn_anew
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.figures.bands import check_level
from jaxtree.files.trees import ForestState, RandomKey, TreeState
from jaxtree.forests.forest import Course, Sampling, sampler_of
from jaxtree.forests.samples import RowSampler, out_of_bag_means, split_key
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.serving.rows import over_sources
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest, join_forests, take_trees
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.model import FittedModel, RowSums
from jaxtree.tree.nodes import ancestors

BINS_OF_FORESTS = 255
"""Bins of a numeric column where `max_bins` is "auto": many trees smooth the steps."""

HONEST_SHARE = 0.5
"""The share of a tree's rows that chooses its splits, where others fill its leaves."""

OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")
"""Results of a fit on the rows that trees have not drawn."""


class PredictsByForest(FittedTrees):
    """A fitted forest: where rows end, and what its columns are worth."""

    model_kind = ModelKind.FOREST
    forest_: Forest

    @over_sources
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
        return ends @ ancestors(self.forest_.nodes), self.forest_.first_node.copy()

    def __len__(self) -> int:
        """Returns the number of trees."""
        return len(self.model_.forest)

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """The mean over the trees that split of `feature_importances_` of each, with the sum 1; 0 if none splits."""
        of_tree = self._importances()[self.forest_.num_nodes > 1]
        total = of_tree.mean(axis=0) if len(of_tree) else np.zeros(self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total


class BaseForest(ForestParameters, TakesRows, PredictsByForest, Family):
    """A forest on any table. Parameters of its trees have the names that they have there."""

    max_features_: int

    _tree_class: ClassVar[type[BaseTree]]
    _splitter: ClassVar[str | None] = None
    """How thresholds are found, where that is no parameter."""
    extras_of_fit: ClassVar[tuple[str, ...]] = ()
    """The extras that `fit` takes: none."""
    _rows_of_trees: str | None = None
    """A digest of the rows that all trees have drawn from; None where these are not known, or not the same."""

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, mesh: Mesh | None = None, **others: Any) -> Self:
        """Grows the trees, and prunes each if the estimator has a pruning.

        An interrupt (Ctrl-C) keeps the trees that have grown, with a warning; before the first it is raised.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The target of every row; several columns for several outputs. For a source, its column's name is
                accepted, too; for a classifier, probabilities of classes are, see `jaxtree.ClassProbabilities`: a tree
                draws whole rows.
            sample_weight: The weight of every row; a row of weight 0 is left out. Bootstrap samples draw rows with
                chances in proportion to their weights. For a source, a column's name is accepted, too.
            mesh: Devices of one kind, in one axis, to divide the trees among; the forest is that of one device.
            others: Nothing else is taken, such as validation rows: no tree is measured before all have grown.

        Raises:
            InvalidInputError: The table, the target, the weights, a parameter or an argument is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        forks.check_is_whole("fit")
        self.check_parameters()
        if others:
            check_arguments(self, "fit", others, self.extras_of_fit)
        with placed_fit(self, X, mesh):
            devices = () if mesh is None else devices_of_trees(mesh)
            data = self.read(X, y, sample_weight)
            if not (self.warm_start and hasattr(self, "forest_")):
                self.draw_key()
                return self.finish_fit(self.grow_trees(data, devices=devices), data)
            rows = self._digest(data)
            old = self._kept_trees(data, rows)
            if len(old) == self.n_estimators:
                warn_user(WITHOUT_NEW_TREES)
                forest = old
            else:
                grown = self.grow_trees(data, len(old), devices)
                forest = join_forests([old, self._pruned(grown, data, len(old))])
            return self._take(forest, data, rows if rows == self._rows_of_trees else None)

    def bands(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        level: float = 0.9,
        draws: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> ForestBands:
        """Returns bands of predictions, importances and dependence.

        Every draw is a forest of at most eight trees on the rows of the fit, whose targets are drawn again around what
        forests say that have not seen them; bands lack the noise of so few trees, and have the smoothing of trees as
        far as it shows (see `jaxtree.estimators.forests.bands`). They hold the truth at `level` of the rows. Draws take
        as long, and as much memory, as a forest of all of their trees.

        Args:
            X: The rows of the fit.
            y: Their target.
            sample_weight: Their weights, as in `fit`. The target of a row is drawn once, whatever its weight.
            level: The share of rows whose bands are to hold, above 0 and below 1.
            draws: How many draws; at least 2 are to lie outside a band.
            groups: The group of every row, such as its patient, whose targets are drawn together.
            random_state: The seed of the draws.

        Raises:
            InvalidInputError: The rows are not those of the fit, trees have been changed since, y has probabilities of
                classes, or an argument is not allowed.

        Example:
            >>> import numpy as np
            >>> from jaxtree import RandomForestRegressor
            >>> generator = np.random.default_rng(0)
            >>> X = generator.uniform(size=(300, 2))
            >>> y = 4 * X[:, 0] + generator.normal(size=300, scale=0.3)
            >>> model = RandomForestRegressor(30, random_state=0).fit(X, y)
            >>> center, lower, upper = model.bands(X, y, draws=40).predict([[0.1, 0.5], [0.9, 0.5]])
            >>> bool(upper[0] < lower[1]), bool((lower < center).all())
            (True, True)
        """
        check_is_fitted(self)
        check_level(level, draws)
        with placed_fit(self, X):
            data = self.read(X, y, sample_weight)
            if data.outputs.has_shares:
                raise InvalidInputError("bands draw the class of every row, and y has probabilities")
            groups = groups_of_draws(data.sample, groups, data.has_weight)
            drawn = RedrawnRows(int(generator_of(random_state).randint(2**31 - 1)), groups)
            there = data.has_weight
            weight = read_arguments(X, y, sample_weight).sample_weight
            weight = check_sample_weight(weight, data.num_rows if there is None else len(there))
            own = weight if weight is None or there is None else weight[there]
            return ForestBands(self, *drawn_anew(self._drawn_targets(data, own, drawn), draws), level)

    @abc.abstractmethod
    def _drawn_targets(self, data: Dataset, weight: Weights, drawn: RedrawnRows) -> DrawnTargets:
        """Returns the rows of the fit, whose targets are drawn again.

        Args:
            data: The rows.
            weight: Their weights, without those of classes.
            drawn: How targets are drawn.
        """

    @property
    def key_of_fit(self) -> RandomKey:
        """The key of all that trees have drawn."""
        return self._key

    def grown_anew(self, data: Dataset, num_trees: int, key: RandomKey) -> Self:
        """Returns a forest of these parameters on some rows, without a report and what is known out of bag.

        Args:
            data: The rows.
            num_trees: The number of trees.
            key: The key of all that they draw.
        """
        forest = copy.copy(self)
        forest.n_estimators, forest.oob_score, forest.verbose = num_trees, False, 0
        forest.draw_key(key)
        return uninterrupted(lambda: forest.finish_fit(forest.grow_trees(data), data))

    def kind_of_jobs(self) -> Hashable:
        """Returns what forests have in common whose trees are grown once: all but limits, prunings and reports.

        A forest of fewer trees has the first ones of a larger one. Limits look at the rows that choose splits, which
        the nodes of honest trees do not have.
        """
        kind = kind_of_growth(self)
        limits = sorted(limits_of(self).keys() - {"n_estimators"}) if self.honest else ()
        return kind, tuple(identity(getattr(self, name)) for name in limits)

    @classmethod
    def fit_jobs(cls, jobs: Sequence[Job]) -> Iterator[Mapping[int, Self]]:
        """Grows the trees of jobs on the same rows once, with the loosest limits of all; see `Family`."""
        forest: Any = clone(loosest([job.estimator for job in jobs]))
        part, error = jobs[0].part, None
        encoder, (X, y, params) = forest.tree_parameters().make_encoder(), part.arguments(forest)
        data = forest.read(X, y, **params, same_as=part.known_codes(encoder))
        part.keep_codes(encoder, data)
        forest.draw_key()
        trees = uninterrupted(lambda: forest.grow_trees(data))
        kept = forest.limits_of_trees(data)[0]
        yield {}
        for place, job in enumerate(jobs):
            setting: Any = clone(job.estimator)
            own = configured(forest, setting.get_params(deep=False))
            first = trees.first(own.n_estimators)
            limits, counts = own.limits_of_trees(data)
            (stops,) = masks_of_limits([limits], first.nodes, kept, counts)
            try:
                own.finish_fit(take_trees(first.nodes, first.first_node[:-1], collapsed=stops), data)
            except Exception as failed:
                # Others can have the trees all the same.
                error = error or failed
                continue
            yield {place: own}
        if error is not None:
            raise error

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do."""
        size = {"levels": costs.levels_of(num_rows, self.max_depth), "trees": self.n_estimators}
        drawn = 1 if self._splitter == "random" else number_of_features(self.max_features, num_columns)
        return costs.growth(num_rows, num_columns, **size, features_of_node=drawn)

    def read(self, X: Any, y: Any, sample_weight: Any = None, *, same_as: Dataset | None = None) -> Dataset:
        """Reads the arguments of a fit, see `fit`.

        Args:
            X: The table.
            y: Its target.
            sample_weight: The weight of every row.
            same_as: A dataset of the same rows, whose codes are taken; see `encode_sample`.
        """
        data = read_dataset(X, y, sample_weight, self.tree_parameters().table_options(), same_as=same_as)
        if data.outputs.has_shares:
            self._check_takes_shares()
        return data

    def _check_takes_shares(self) -> None:
        """Raises InvalidInputError if a parameter needs the class of every row."""
        if self.pruning is not None and self.pruning.needs_validation:
            raise InvalidInputError(f"pruning={self.pruning} looks at the class of every row, and y has probabilities")

    def draw_key(self, known: RandomKey | None = None) -> None:
        """Draws the key of all that trees draw, or takes one that is known."""
        self._key = RandomKey.of(key_of(self.random_state)) if known is None else known

    def finish_fit(self, grown: Forest, data: Dataset) -> Self:
        """Prunes trees that `grow_trees` has grown, and makes them ready for prediction."""
        return self._take(self._pruned(grown, data), data, self._digest(data))

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators, made when they are first asked for."""
        check_is_fitted(self)
        if self._trees is None:
            self._trees = self._make_trees(self._model.node_value if self._model.is_vote else None)
        return self._trees

    @property
    def estimators_samples_(self) -> list[Int[np.ndarray, " draw"]]:
        """The rows of the fitted table that every tree was grown on, in ascending order, drawn anew at each access.

        A row stands as often as the tree drew it; rows of weight 0 are never drawn. Model files do not keep them.

        Raises:
            AttributeError: The forest was loaded from a file, or a warm start has grown further trees on other rows.

        Example:
            >>> from jaxtree import RandomForestClassifier
            >>> forest = RandomForestClassifier(2, random_state=0).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
            >>> [rows.size for rows in forest.estimators_samples_]
            [3, 3]
        """
        check_is_fitted(self)
        if not hasattr(self, "_num_rows"):
            raise AttributeError("estimators_samples_ is known after fit alone: a model file does not hold the rows")
        if self._rows_of_trees is None:
            raise AttributeError("estimators_samples_ needs one table: a warm start has grown trees on other rows")
        row = np.arange(self._num_rows) if self._has_weight is None else np.flatnonzero(self._has_weight)
        row, drawing = row.astype(np.int32), self._drawing
        if drawing is None:
            return [row.copy() for _ in range(len(self))]
        return [np.repeat(row, drawing.draw_counts(tree, 1)[0]) for tree in range(len(self))]

    def __getitem__(self, index: int) -> Any:
        """Returns one of `estimators_`, or a list of some for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Goes through `estimators_`."""
        return iter(self.estimators_)

    def fitted_state(self) -> ForestState:
        """Returns what fitting has learned: what a model file keeps."""
        outputs = [getattr(self, name) for name in OUT_OF_BAG[1:] if hasattr(self, name)]
        outputs = outputs[0] if outputs and isinstance(outputs[0], list) else outputs
        score = float(self.oob_score_) if hasattr(self, "oob_score_") else None
        trees = TreeState.of(self.fitted_table(), self.model_, None, self._row_sums)
        known = {"key": self._key, "rows": self._rows_of_trees}
        return ForestState(**vars(trees), **known, oob_score=score, oob_outputs=tuple(outputs))

    def restore(self, state: ForestState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        tree = self._tree_of_forest()
        tree.restore_table(state.table)
        self._key, self._rows_of_trees = state.key, state.rows
        votes = self.pruning is not None and self.pruning.votes
        self._settle(state.forest(self.schema_, votes=votes), tree, state.votes, state.row_sums)
        if state.oob_score is not None:
            self.oob_score_ = state.oob_score
        if state.oob_outputs:
            name = OUT_OF_BAG[1 if is_classifier(self) else 2]
            setattr(self, name, state.oob_outputs[0] if len(state.oob_outputs) == 1 else list(state.oob_outputs))

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        super().check_parameters()
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must be None, an integer >= 1, or a negative one (-1: all cores), got 0")
        if not self.bootstrap and self.max_samples is not None:
            raise InvalidInputError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                f"`max_sample=None`. Got max_samples={self.max_samples!r}; only bootstrap samples are of another size "
                "than the table."
            )
        if self.honest and self.missing == "fraction":
            raise InvalidInputError(
                "honest=True fills leaves by whole rows, and missing='fraction' shares them out: take missing='learn' "
                "or 'branch'"
            )
        if not self.bootstrap and self.oob_score:
            raise InvalidInputError(
                "Out of bag estimation only available if bootstrap=True: without it every tree has seen every row"
            )
        if self.pruning is None:
            return
        if not (self.pruning.is_mask or self.pruning.votes):
            raise InvalidInputError(
                f"trees of a forest are not cross-validated one by one, got {self.pruning}; give a number"
            )
        if self.pruning.needs_validation and not self.bootstrap:
            raise InvalidInputError(
                f"{self.pruning} looks at rows that a tree has not seen: with bootstrap=True it takes those not drawn"
            )

    def tree_parameters(self) -> Any:
        """Returns the parameters of the trees, as an estimator of one."""
        names = self._tree_class.roles.keys() & self.roles.keys()
        changed: dict[str, Any] = {"pruning": None, "random_state": 0}
        if self._splitter is not None:
            changed["splitter"] = self._splitter
        if self.max_bins == "auto":
            changed["max_bins"] = BINS_OF_FORESTS
        return self._tree_class(**{name: getattr(self, name) for name in names} | changed)

    def _tree_of_forest(self, data: Dataset | None = None) -> Any:
        """Returns a tree with the parameters and the pruning of the forest, which knows the rows of a fit."""
        tree = self.tree_parameters()
        tree.pruning = tree.pruning_ = self.pruning
        if data is not None:
            tree.learn(data)
        return tree

    def _kept_trees(self, data: Dataset, rows: str) -> Forest:
        """Returns the trees that a warm start continues, given a digest of the rows.

        Raises InvalidInputError if there are more of them than asked for, if the new table has other columns,
        categories or classes, or if rows are to be scored by the trees that have not drawn them, and are others.
        """
        if self.n_estimators < len(self.forest_):
            raise InvalidInputError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={len(self.forest_)} "
                "when warm_start==True"
            )
        old, new = (
            [(column.name, column.kind, column.categories, column.time) for column in schema.columns]
            for schema in (self.schema_, data.schema)
        )
        old_names, new_names = self.class_names(), data.outputs.classes
        is_same = len(old_names) == len(new_names) and all(map(np.array_equal, old_names, new_names))
        if old != new or not is_same:
            raise InvalidInputError(
                "warm_start needs the columns, categories, classes and first dates of the first fit"
            )
        if self.oob_score and rows != self._rows_of_trees:
            raise InvalidInputError(
                "oob_score needs to know which rows every tree has drawn, and warm_start keeps trees that were grown "
                "on other rows, or drew them otherwise (sample_weight, class_weight, max_samples, max_bins): fit on "
                "the rows of the first fit, or with oob_score=False or warm_start=False"
            )
        check_kept_trees(self.forest_.nodes, self.monotonic_cst, self.schema_)
        return self.forest_

    def _sampling(self, data: Dataset) -> Sampling:
        """Returns how the trees draw their rows: a number of them, or a share of the rows or of their weight."""
        split_share = HONEST_SHARE if self.honest else None
        if not self.bootstrap:
            return Sampling(split_share=split_share)
        num_draws, weight = self.max_samples, data.weight
        if num_draws is None:
            num_draws = data.num_rows
        elif not isinstance(num_draws, int | np.integer):
            num_draws = max(1, int(num_draws * (data.num_rows if weight is None else weight.sum())))
        return Sampling(int(num_draws), least_share=self.min_weight_fraction_leaf, split_share=split_share)

    def _digest(self, data: Dataset) -> str:
        """Returns a digest of the rows that the trees draw from."""
        drawn = np.array([self._sampling(data).num_draws or 0])
        return data.digest(drawn, data.weight if self.bootstrap else None)

    def _drawing_of(self, data: Dataset) -> RowSampler | None:
        return sampler_of(rows_of(data), self._sampling(data), split_key(self._key.key())[0])

    def grow_trees(self, data: Dataset, first_tree: int = 0, devices: tuple[Device, ...] = ()) -> Forest:
        """Returns the trees from a number on before they are pruned; thresholds are codes.

        An interrupt (Ctrl-C) returns those that have grown, with a warning.
        """
        task = GrowthTask(data, self.recipe_of_trees(data))
        trees = range(first_tree, self.n_estimators)
        with progress_of(self.verbose, len(trees)) as on_grown:
            course = Course(number_of_threads(), devices, on_grown=on_grown)
            sampling, key = self._sampling(data), split_key(self._key.key())[0]
            grown = grow_sample(task, sampling, key=key, trees=trees, course=course)
        if len(grown) < len(trees):
            warn_user(
                f"fit was interrupted: the forest has {first_tree + len(grown)} of {self.n_estimators} trees",
                InterruptedFitWarning,
            )
        return grown

    def recipe_of_trees(self, data: Dataset) -> Recipe:
        """Returns how the trees of a forest with these parameters grow."""
        tree = self.tree_parameters()
        if not self.bootstrap:
            return tree.make_recipe(data)
        # Weights are chances here: a limit counts a row as often as it was drawn.
        weight = np.ones(data.num_rows) if self._sampling(data).balances_classes else None
        recipe = tree.make_recipe(data.with_weight(weight))
        return recipe._replace(limits=recipe.limits._replace(min_weight_leaf=0.0))

    def limits_of_trees(self, data: Dataset) -> tuple[Limits, str]:
        """Returns when nodes are not split, and what `min_samples_split` counts: "rows" or "weight"."""
        counts_draws = self.bootstrap and not self._sampling(data).balances_classes
        return self.recipe_of_trees(data).limits, "weight" if counts_draws else self._tree_class.split_limit_counts

    def _pruned(self, grown: Forest, data: Dataset, first_tree: int = 0) -> Forest:
        """Returns grown trees, each pruned as an estimator of its own would, in units of the table.

        Rows that a tree has not drawn are held out.
        """
        tree, task = self._tree_of_forest(data), GrowthTask(data, self.recipe_of_trees(data))
        prunings = tree.list_prunings()
        if prunings:
            drawing, masks, members = self._drawing_of(data), [], self._members(tree, first_tree, len(grown))
            for number, (member, own) in enumerate(zip(members, grown, strict=True), first_tree):
                of_tree = task
                if prunings[-1].needs_validation and drawing is not None:
                    unseen = np.flatnonzero(drawing.draw_counts(number, 1)[0] == 0)
                    of_tree = task._replace(data=data._replace(held=data.sample.take(unseen)))
                masks.append(member.find_collapsed(prunings, own, of_tree))
            grown = take_trees(grown.nodes, grown.first_node[:-1], collapsed=np.concatenate(masks))
        return Forest(tree.in_table_units(grown.nodes, task), grown.first_node)

    def draws_growth(self) -> bool:
        """Returns whether the trees depend on `random_state` before they are pruned."""
        return True

    def held_out_share(self) -> None:
        """Returns the share of the rows that no tree is grown on: None, as trees have rows that they do not draw."""

    def _take(self, forest: Forest, data: Dataset, rows: str | None) -> Self:
        """Takes trees in units of the table as the fitted ones, given the digest of the rows of all."""
        self.learn(data)
        self._settle(forest, self._tree_of_forest(data))
        self._drawing, self._has_weight, self._num_rows = self._drawing_of(data), data.has_weight, data.num_rows
        self._rows_of_trees = rows
        for name in OUT_OF_BAG:
            vars(self).pop(name, None)
        if self.oob_score:
            self._score_out_of_bag(data)
        return self

    def _members(self, tree: BaseTree, first_tree: int, num_trees: int) -> list[Any]:
        """Returns trees before they have grown, each with the seed of what its pruning draws."""
        members = [copy.copy(tree) for _ in range(num_trees)]
        for member, seed in zip(
            members, pruning_seeds(split_key(self._key.key())[1], first_tree, num_trees), strict=True
        ):
            member.random_state = int(seed)
        return members

    def with_trees(self, forest: Forest, row_sums: RowSums | None = None) -> Self:
        """Takes other trees of the same columns and classes as the fitted ones; what is known out of bag goes."""
        tree = copy.copy(self._tree)
        tree.encoder_ = self.encoder_
        self._settle(forest, tree, row_sums=row_sums)
        for name in OUT_OF_BAG:
            vars(self).pop(name, None)
        return self

    def objective_of_rows(self) -> Classes | Numbers:
        """Returns the objective that the trees were grown by."""
        objective: Any = self._tree.make_objective(self.outputs())
        return objective

    def with_rows(self, nodes: Tree, row_sums: RowSums | None) -> Self:
        """Returns a copy whose nodes have other rows; see `TakesRows`."""
        return copy.copy(self).with_trees(Forest(nodes, self.forest_.first_node), row_sums)

    def reason_against_rows(self) -> str | None:
        """Returns why nodes of a fit do not hold every row once, with its weight; None if they do."""
        if self.bootstrap:
            return "bootstrap=True counts a row as often as a tree has drawn it"
        if self.honest:
            return "honest=True fills the leaves of a tree by a part of the rows"
        nodes, roots = self.forest_.nodes, self.forest_.first_node[:-1]
        if self._rows_of_trees is None or np.ptp(nodes.weight[roots]) or np.ptp(nodes.count[roots], axis=0).any():
            return "trees may have other rows than one another, by a warm start or in another library"
        return None

    def _settle(
        self,
        forest: Forest,
        tree: BaseTree,
        votes: Float[np.ndarray, "node column"] | None = None,
        row_sums: RowSums | None = None,
    ) -> None:
        """Takes trees in units of the table as the fitted ones, and votes and sums at nodes if these are kept."""
        self.forest_, self._tree, self._trees, self._row_sums = forest, tree, None, row_sums
        is_vote = self.pruning is not None and self.pruning.votes
        if is_vote and votes is None:
            self._trees = self._make_trees(None)
            votes = np.concatenate([own.model_.node_value for own in self._trees])
        value = tree.node_values(forest.nodes) if votes is None else votes
        classes = (tree.class_names(), tree.class_orders())
        self._model = FittedModel(
            self.encoder_.schema_, forest, value, None, *classes, averages_trees=True, is_vote=is_vote
        )

    def _make_trees(self, votes: Float[np.ndarray, "node column"] | None) -> list[Any]:
        """Returns the trees as fitted estimators, with the votes at their nodes if these are known."""
        of_tree = [None] * len(self.forest_) if votes is None else np.split(votes, self.forest_.first_node[1:-1])
        parts = zip(self._members(self._tree, 0, len(self.forest_)), self.forest_, of_tree, strict=True)
        return [member.settle(tree, own) for member, tree, own in parts]

    @abc.abstractmethod
    def _score_out_of_bag(self, data: Dataset) -> None:
        """Predicts every row by the trees that have not drawn it, and scores that."""

    def _means_out_of_bag(self, data: Dataset) -> Float64[np.ndarray, "row column"]:
        """Returns the mean prediction of every row of some weight by the trees that have not drawn it."""
        drawing = present(self._drawing)
        means = out_of_bag_means(self.forest_, self._values(data.sample.X), self._model.node_value, drawing)
        missing = int(np.sum(np.isnan(means[:, 0])))
        if missing:
            warn_user(
                f"Some inputs do not have OOB scores: every tree has drawn {missing} of the rows. They are NaN and do "
                "not count for the score; more trees would help"
            )
        return means


def devices_of_trees(mesh: Mesh) -> tuple[Device, ...]:
    """Returns the devices that trees are divided among.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or has devices of other processes.
        InvalidTypeError: It is no mesh.
    """
    if exchange_of(mesh).is_shared:
        raise InvalidInputError(
            "a forest is grown by one process, whose mesh has its own devices only, such as jax.local_devices(); a "
            "single tree may grow over several processes"
        )
    return tuple(mesh.devices.flat)


def number_of_threads() -> int:
    """Returns how many batches grow at the same time: one a core, and one on an accelerator."""
    return num_cores() if current_platform() == "cpu" else 1


def pruning_seeds(key: PRNGKeyArray, first_tree: int, num_trees: int) -> Int[np.ndarray, " tree"]:
    """Returns a seed for every tree, which follows from its number."""
    number = np.arange(first_tree, first_tree + num_trees, dtype=np.uint32)
    return np.asarray(_bits(key, number)).astype(np.int64) >> 1


@compiled()
def _bits(key, number):
    return jax.vmap(lambda n: jax.random.bits(jax.random.fold_in(key, n), (), jnp.uint32))(number)
