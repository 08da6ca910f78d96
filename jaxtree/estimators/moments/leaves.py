"""The base of forests whose leaves keep rows: how they grow, and where the rows of a table end in them."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float64, Int

from jaxtree.blocks import blocks_of
from jaxtree.cores import using_cores
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, warn_user
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.common.features import FeatureOptions, features_of, widths_of
from jaxtree.estimators.common.growing import between_values, decode_thresholds, rows_of
from jaxtree.estimators.forests.base import devices_of_trees, number_of_threads
from jaxtree.estimators.moments.base import LEAST_GAIN, BaseHonestForest
from jaxtree.export.functions import Function
from jaxtree.files.leaves import LeafTrees, RestoredLeaves
from jaxtree.forests.forest import Course
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Rules
from jaxtree.moments.forest import Filling, MomentRules, fill_with_rows, grow_moment_forest
from jaxtree.moments.leaf_rows import LeafRows
from jaxtree.moments.leaf_sums import with_sums_of_leaves
from jaxtree.moments.moment import Moment
from jaxtree.tree import SplitKind
from jaxtree.tree.forest import Forest
from jaxtree.tree.link import Link, ScoreLink
from jaxtree.tree.model import FittedModel

ROWS_AT_A_TIME = 2**13
"""Rows whose places in all trees are held at once."""


@dataclasses.dataclass(frozen=True)
class Atoms:
    """The numbers by which rows of a fit stand in leaves.

    Attributes:
        atom: The atom of every row.
        value: The number of every atom, which nodes have sums of.
    """

    atom: Int[np.ndarray, " row"]
    value: Float64[np.ndarray, " atom"]


class BaseLeafForest(BaseHonestForest):
    """A forest whose leaves keep the rows that fill them."""

    leaves_: LeafRows
    oob_score_: float
    _values_of_atoms: Float64[np.ndarray, " atom"]

    def with_scaled_weights(self, data: Dataset) -> Dataset:
        """Returns the rows with weights over a power of two, so that no sum of them is infinite."""
        if data.weight is None:
            return data
        return data.with_weight(np.ldexp(data.weight, -int(np.frexp(data.weight.max())[1]) + 1))

    def rules_of(self, data: Dataset, moment: Moment) -> MomentRules:
        """Returns how the trees of a moment grow."""
        number = self.number_of_features(data.schema.num_features)
        limits = Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=2,
            min_samples_leaf=self.min_samples_leaf,
            min_gain=LEAST_GAIN,
            max_features=number,
        )
        rules = Rules(
            moment.objective,
            Missing[self.missing.upper()],
            counts_rows=True,
            samples_features=number < data.schema.num_features,
            draws_ties=self.ties == "hash",
        )
        divide = functools.partial(between_values, schema=data.schema)
        return MomentRules(moment, limits, rules, float(self.alpha), divide)

    def grow_leaves(self, data: Dataset, moment: Moment, atoms: Atoms, mesh: Mesh | None = None) -> None:
        """Grows the trees, and takes them as the fitted ones, with the rows in their leaves.

        Args:
            data: The rows of the fit.
            moment: The moment.
            atoms: The atoms of the rows.
            mesh: Devices to divide the trees among.
        """
        devices = () if mesh is None else devices_of_trees(mesh)
        key, num_trees = self.keys()[0], self.n_estimators
        rows = rows_of(data)._replace(target=atoms.value[atoms.atom][None], num_classes=0)
        options = FeatureOptions(SplitKind[self.categorical_splits.upper()])
        features, sampling = features_of(data.schema, options, widths_of([data.schema]), 0), self.sampling(data)
        with progress_of(self.verbose, num_trees) as on_grown:
            course = Course(number_of_threads(), devices, on_grown=on_grown)
            given = rows, features, self.rules_of(data, moment), sampling
            forest = grow_moment_forest(*given, key=key, trees=range(num_trees), course=course)
        if len(forest) < num_trees:
            text = f"fit was interrupted: the forest has {len(forest)} of {num_trees} trees"
            warn_user(text, InterruptedFitWarning)
        num_atoms, filling = atoms.value.size, Filling(rows, features, sampling, key)
        leaves = self.fill(forest, filling, data, atoms.atom, num_atoms)
        nodes = decode_thresholds(forest.nodes, data.schema)
        weight = None if data.weight is None else np.asarray(forest.nodes.weight, np.float64)
        num_rows = None if self.keeps_rows else np.asarray(forest.nodes.num_rows)
        self.settle_leaves(RestoredLeaves(Forest(nodes, forest.first_node), leaves, weight, num_rows), atoms.value)

    keeps_rows: ClassVar[bool] = True
    """Whether entries of leaves are rows."""

    def fill(
        self, forest: Forest, filling: Filling, data: Dataset, atom: Int[np.ndarray, " row"], num_atoms: int
    ) -> LeafRows:
        """Returns what the leaves of trees keep, which are grown with thresholds in codes.

        Args:
            forest: The trees.
            filling: The rows of every tree.
            data: The rows of the fit.
            atom: The atom of every row.
            num_atoms: The number of atoms.
        """
        return fill_with_rows(forest, filling, atom, num_atoms=num_atoms)

    def settle_leaves(self, own: RestoredLeaves, values: Float64[np.ndarray, " atom"]) -> None:
        """Takes trees in units of the table, and what their leaves keep, as the fitted ones."""
        self.forest_ = with_sums_of_leaves(own.forest, own.leaves, values, own.weight, own.num_rows)
        self.leaves_, self._values_of_atoms, self._has_weights = own.leaves, values, own.weight is not None
        nodes = self.forest_.nodes
        mean = nodes.target_sum / np.maximum(nodes.weight, np.finfo(np.float64).tiny)[:, None]
        link = ScoreLink(Link.OTHER, self._without_function, self._without_function, 1) if self.keeps_rows else None
        given = self.encoder_.schema_, self.forest_, mean, None, (), ()
        self._model = FittedModel(*given, averages_trees=True, link=link)

    def leaf_trees(self) -> LeafTrees:
        """Returns the trees and their rows as files keep them."""
        weight = np.asarray(self.forest_.nodes.weight, np.float64) if self._has_weights else None
        given = self.forest_, self.leaves_, self._values_of_atoms, weight, self._key
        return LeafTrees.of(*given, keeps_rows=self.keeps_rows)

    def restore_leaves(self, trees: LeafTrees) -> None:
        """Takes trees of a file as the fitted ones, behind the table."""
        self._key = trees.key
        self.settle_leaves(trees.forest(self.schema_), trees.value)

    def on_cores(self, work: Callable[[], Any]) -> Any:
        """Returns what a function returns, computed on as many cores as `n_jobs` says."""
        if self.n_jobs is None:
            return work()
        with using_cores(self.n_jobs):
            return work()

    def over_ends(
        self,
        values: Any,
        work: Callable[[Int[np.ndarray, "block tree"], Bool[np.ndarray, "block tree"] | None], Any],
        unseen: Bool[np.ndarray, "tree row"] | None = None,
    ) -> Iterator[Any]:
        """Yields results of a function of blocks of rows.

        Args:
            values: The rows, as `encoder_.values` has encoded them.
            work: The function of the leaf of every row in every tree, and of whether each tree counts.
            unseen: The rows that every tree has not drawn, where these trees alone count.
        """
        for block in blocks_of(len(values), ROWS_AT_A_TIME):
            ends = self.model_.predictor.ends_in_trees(values[block])
            yield work(ends, None if unseen is None else unseen[:, block].T)

    def out_of_bag(self, data: Dataset, work: Callable[..., Any]) -> Any:
        """Returns the results of a function of the rows of the fit by the trees that have not drawn them."""
        unseen = self.unseen_rows(data, self.keys()[0], len(self.forest_))
        values = self.encoder_.values(data.sample.X)
        found = np.concatenate(list(self.over_ends(values, work, unseen)))
        missing = int((~unseen.any(axis=0)).sum())
        if missing:
            warn_user(
                f"Some inputs do not have OOB scores: every tree has drawn {missing} of the rows. They are NaN and do "
                "not count for the score; more trees would help"
            )
        return self.over_all_rows(data, found)

    @staticmethod
    def over_all_rows(data: Dataset, found: Float64[np.ndarray, "row *column"]) -> Float64[np.ndarray, "row *column"]:
        """Returns numbers of the rows of some weight with NaN for all other rows of the table."""
        if data.has_weight is None:
            return found
        whole = np.full((data.has_weight.size, *found.shape[1:]), np.nan)
        whole[data.has_weight] = found
        return whole

    def facts_of_fit(self) -> Iterator[tuple[str, object]]:
        """Yields how many rows, or hazards, leaves keep, and the score out of bag if there is one."""
        yield ("rows in leaves" if self.keeps_rows else "hazards in leaves"), f"{self.leaves_.atom.size:,}"
        if hasattr(self, "oob_score_"):
            yield "out-of-bag score", f"{self.oob_score_:.4g}"

    def parts_of_function(self, dtype: Any) -> tuple[Any, Function]:
        """Returns the parameters of the trees, and the function of these and of rows.

        Raises:
            InvalidInputError: Predictions follow from rows, and not from numbers at nodes.
        """
        return self._without_function() if self.keeps_rows else super().parts_of_function(dtype)

    def _without_function(self, *_: Any) -> Any:
        raise InvalidInputError(
            f"{type(self).__name__} predicts from the rows that its leaves keep: there is no function of node values, "
            "so that programs of JAX and exports to other languages do not have it"
        )
