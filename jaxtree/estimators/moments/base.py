"""The base of forests of moment equations: one table, trees in bags, and sums of statistics in their leaves."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, PRNGKeyArray

from jaxtree.arrays import Device
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, read_sample
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, present, warn_user
from jaxtree.estimators.common.conventions import key_of, progress_of
from jaxtree.estimators.common.features import FeatureOptions, read_interactions
from jaxtree.estimators.common.growing import GrowthTask, Recipe, decode_thresholds, grow_sample, rows_of
from jaxtree.estimators.forests.base import BINS_OF_FORESTS, PredictsByForest, number_of_threads
from jaxtree.estimators.moments.parameters import HonestForestParameters, MomentForestParameters
from jaxtree.files.trees import RandomKey
from jaxtree.forests.forest import Course, Sampling, sampler_of
from jaxtree.forests.samples import split_key
from jaxtree.forests.subsamples import Bags
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Rules
from jaxtree.growth.inputs.moments import LinearMoments, MomentLimits
from jaxtree.moments.little_bags import Estimates, estimate
from jaxtree.moments.solution import Exponents, LocalSolution, divided, exponents_of, restored
from jaxtree.table.encoder import Encoder
from jaxtree.tree import SplitKind
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.predictor import Predictor

LEAST_GAIN = float(np.finfo(np.float64).tiny)
"""The least gain of a split: one that gains nothing is not made."""


@dataclasses.dataclass(frozen=True)
class Variables:
    """The variables of a moment, of the rows of a fit.

    Attributes:
        outcome: The outcomes.
        treatment: The treatments; None without any.
        instrument: The instruments, where they are not the treatments.
    """

    outcome: Float64[np.ndarray, "outcome row"]
    treatment: Float64[np.ndarray, "arm row"] | None = None
    instrument: Float64[np.ndarray, "arm row"] | None = None


class BaseHonestForest(HonestForestParameters, PredictsByForest):
    """A forest on any table, whose trees draw rows without replacement, and may divide them."""

    model_kind = ModelKind.MOMENT
    pruning = None
    forest_: Forest
    _key: RandomKey

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do."""
        drawn = max(1, int(num_rows * self.max_samples * (self.honest_share if self.honest else 1.0)))
        size = {"levels": costs.levels_of(drawn, self.max_depth), "trees": self.n_estimators}
        return costs.growth(drawn, num_columns, **size, features_of_node=self.number_of_features(num_columns))

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        bins = BINS_OF_FORESTS if self.max_bins == "auto" else self.max_bins
        return Encoder(
            max_bins=bins, max_categories=self.max_categories, categorical_features=self.categorical_features
        )

    def read(self, X: Any, y: Any, sample_weight: Any, fields: Mapping[str, Any]) -> Dataset:
        """Reads the arguments of a fit.

        Args:
            X: The table.
            y: Its target.
            sample_weight: The weight of every row.
            fields: The further data of rows, by name; None for one that is not given.
        """
        options = TableOptions(self.make_encoder(), of_classes=False, seed=self.random_state)
        given = {name: value for name, value in fields.items() if value is not None}
        try:
            sample = read_sample(X, y, sample_weight, options, fields=given)
        except InvalidInputError as error:
            # The field of groups has another name than the argument.
            raise type(error)(re.sub(r"^group\b", "groups", str(error))) from None
        return encode_sample(sample, options)

    def draw_key(self, known: RandomKey | None = None) -> None:
        """Draws the key of all that trees draw, or takes one that is known."""
        self._key = RandomKey.of(key_of(self.random_state)) if known is None else known

    def trees_of_bag(self) -> int:
        """Returns the trees of a bag, which draw from one half of the rows."""
        return 1

    def sampling(self, data: Dataset) -> Sampling:
        """Returns how the trees draw their rows, and divide them."""
        return Sampling(
            bags=Bags(self.max_samples, self.trees_of_bag()),
            split_share=self.honest_share if self.honest else None,
            group=data.fields.get("group"),
        )

    def unseen_rows(self, data: Dataset, key: PRNGKeyArray, num_trees: int) -> Bool[np.ndarray, "tree row"]:
        """Returns which rows every tree of `grow` has not drawn."""
        sampler = present(sampler_of(rows_of(data), self.sampling(data), key))
        unseen = np.empty((num_trees, data.num_rows), bool)
        for first in range(0, num_trees, 16):
            number = min(16, num_trees - first)
            unseen[first : first + number] = sampler.draw_counts(first, number) == 0
        return unseen

    def keys(self) -> tuple[PRNGKeyArray, PRNGKeyArray]:
        """Returns the keys of the trees, and of the nuisances."""
        return split_key(self._key.key())

    def facts_of_fit(self) -> Iterator[tuple[str, object]]:
        """Yields names and values of what the moment has found, for displays."""
        return iter(())

    def names_of_predictions(self) -> list[str]:
        """Returns the names of the numbers that are predicted of a row."""
        return ["prediction"]


class BaseMomentForest(MomentForestParameters, BaseHonestForest):
    """A forest of a linear moment equation."""

    min_samples_arm: int = 0

    def trees_of_bag(self) -> int:
        """Returns the trees of a bag."""
        return self.bag_size

    def recipe(self, data: Dataset, moments: LinearMoments) -> Recipe:
        """Returns how the trees grow."""
        number, has_arms = self.number_of_features(data.schema.num_features), moments.counts_arms
        limits = Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=0 if has_arms else 2,
            min_samples_leaf=0 if has_arms else self.min_samples_leaf,
            min_gain=LEAST_GAIN,
            max_features=number,
            parameters=tuple(
                MomentLimits(
                    float(self.alpha),
                    float(self.imbalance_penalty),
                    float(self.min_samples_arm),
                    float(self.min_samples_leaf),
                )
            ),
        )
        rules = Rules(
            moments,
            Missing[self.missing.upper()],
            counts_rows=not has_arms,  # where arms are counted, all rows are
            samples_features=number < data.schema.num_features,
            draws_ties=self.ties == "hash",
        )
        sets = read_interactions(self.interaction_cst, data.schema)
        return Recipe(rules, limits, FeatureOptions(SplitKind[self.categorical_splits.upper()], sets=sets))

    def grow(
        self,
        data: Dataset,
        moments: LinearMoments,
        variables: Variables,
        *,
        key: PRNGKeyArray,
        num_trees: int,
        devices: tuple[Device, ...] = (),
    ) -> Forest:
        """Returns trees of a linear moment, with sums of statistics in the units of the variables.

        Args:
            data: The rows.
            moments: The moment.
            variables: Its variables.
            key: The key of what trees draw.
            num_trees: The number of trees.
            devices: The devices to divide them among.
        """
        treatment = np.zeros((0, data.num_rows)) if variables.treatment is None else variables.treatment
        instrument = treatment if variables.instrument is None else variables.instrument
        given = variables.outcome, treatment, instrument
        exponents = Exponents(*map(exponents_of, given))
        outcome, treatment, instrument = map(divided, given, vars(exponents).values())
        target = moments.statistics(outcome, treatment, instrument, _unit_weights(data.weight))
        rows = data._replace(sample=data.sample._replace(target=target, weight=None))
        task = GrowthTask(rows, self.recipe(data, moments))
        with progress_of(self.verbose, num_trees) as on_grown:
            course = Course(number_of_threads(), devices, on_grown=on_grown)
            forest = grow_sample(task, self.sampling(data), key=key, trees=range(num_trees), course=course)
        if len(forest) < num_trees:
            text = f"fit was interrupted: the forest has {len(forest)} of {num_trees} trees"
            warn_user(text, InterruptedFitWarning)
        nodes = decode_thresholds(forest.nodes, data.schema)
        sums = restored(nodes.target_sum, moments, exponents)
        return Forest(dataclasses.replace(nodes, target_sum=sums), forest.first_node)

    def estimate_rows(self, values: Any, *, with_variance: bool = False) -> Estimates:
        """Returns the parameters at rows that `encoder_.values` has encoded, and their variances."""
        bag_size = self.bag_size if with_variance else None
        return estimate(self.model_.predictor, values, self.model_.node_value, self.local_, bag_size=bag_size)

    local_: LocalSolution


def node_means(forest: Forest, local: LocalSolution) -> Float64[np.ndarray, "node column"]:
    """Returns the means of statistics at every node."""
    sums = forest.nodes.target_sum[:, : 1 + local.num_columns]
    weight = sums[:, :1]
    return np.divide(sums[:, 1:], weight, out=np.zeros_like(sums[:, 1:]), where=weight > 0)


def out_of_bag_estimates(
    predictor: Predictor,
    values: Any,
    node_value: Float64[np.ndarray, "node column"],
    local: LocalSolution,
    unseen: Bool[np.ndarray, "tree row"],
    bag_size: int | None = None,
) -> Estimates:
    """Returns the parameters at the rows of the fit by the trees that have not drawn them; NaN where all have."""
    found = estimate(predictor, values, node_value, local, bag_size=bag_size, counts=unseen)
    found.effect[~unseen.any(axis=0)] = np.nan
    return found


def _unit_weights(weight: Float64[np.ndarray, " row"] | None) -> Float64[np.ndarray, " row"] | None:
    """The weights over their power of two, so that statistics are of one size."""
    return None if weight is None else np.ldexp(weight, -int(np.frexp(weight.max())[1]))
