"""Parameters of boosted estimators, and what they mean to the loop of rounds."""

import dataclasses
import numbers
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from jaxtree.boosting.columns import ColumnFractions
from jaxtree.boosting.data import BaseLearner
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.early_stopping import NO_PATIENCE
from jaxtree.boosting.samples import MinimalVariance, OneSided, Sample, Uniform
from jaxtree.boosting.shrinkage import Shrinkage
from jaxtree.dataset.sample import Outputs
from jaxtree.estimators.common.constraints import read_interactions, read_monotone
from jaxtree.estimators.common.conventions import Words, generator_of, whole
from jaxtree.estimators.common.growing import FeatureOptions
from jaxtree.estimators.common.parameters import AUTO, INTERACTIONS, EncodingParameters
from jaxtree.estimators.common.prunings import AT_LEAST_0, PART
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Sizes
from jaxtree.sklearn_compat import Interval
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind

BINS = 255
"""Bins of a numeric column where `max_bins` is "auto"."""

ROWS_OF_A_LEAF, MANY_ROWS = 20, 50_000
"""Rows of a branch at least where `min_samples_leaf` is "auto" and the table has fewer than many."""

CURVATURE_OF_A_LEAF = 1e-3
"""The least sum of second derivatives in a branch of such a table: rows that are almost certain can still be split."""

MANY_CATEGORIES = 16
"""Categories of a column past which it is split by statistics where `categorical_splits` is "auto"."""

FEW_LEAVES = 32
"""Tables have room for as many leaves at least, so that lower numbers of them share a program."""

FOLDS = "folds"
"""What `early_stopping` is where the model is the mean of those that are grown without a fold."""

MULTI_OUTPUT, ONE_OUTPUT = "multi_output_tree", "one_output_per_tree"
"""What `multi_strategy` is where a round has a tree that changes all scores, and where it has one for each."""

LEAST_GAIN = np.finfo(np.float64).tiny
"""Gain per weight of a split: one that gains nothing is not made."""

AT_LEAST_0_TO_1 = Interval(numbers.Real, 0, 1, closed="both")
ABOVE_0 = Interval(numbers.Real, 0, None, closed="neither")
PART_ABOVE_0 = Interval(numbers.Real, 0, 1, closed="right")


class BoostingConfig(NamedTuple):
    """The parameters of the rounds of a fit.

    Attributes:
        learner: How the tree of a round is grown.
        shrinkage: How the boosting holds back.
        num_rounds: The most rounds, those that were made before included.
        early_stopping: Whether trees are kept up to the best round.
        verbose: How progress is shown, see `jaxtree.estimators.common.progress`.
    """

    learner: BaseLearner
    shrinkage: Shrinkage
    num_rounds: int
    early_stopping: bool
    verbose: int


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class BoostingParameters(EncodingParameters):
    """Parameters of boosted trees, which their estimators document."""

    n_estimators: Annotated[int, whole(1)] = dataclasses.field(default=100, kw_only=False)
    learning_rate: Annotated[float | Callable[[int], Any], ABOVE_0, callable] = 0.1
    max_depth: Annotated[int | None, whole(1), None] = None
    max_leaf_nodes: Annotated[int | None, whole(2), None] = 31
    min_samples_leaf: Annotated[int | str, whole(1), AUTO] = "auto"
    min_child_weight: Annotated[float | str, AT_LEAST_0, AUTO] = "auto"
    reg_lambda: Annotated[float, AT_LEAST_0] = 1.0
    reg_alpha: Annotated[float, AT_LEAST_0] = 0.0
    gamma: Annotated[float, AT_LEAST_0] = 0.0
    max_delta_step: Annotated[float, AT_LEAST_0] = 0.0
    subsample: Annotated[float, PART_ABOVE_0] = 1.0
    sampling: Annotated[str, Words({"uniform", "goss", "mvs"})] = "uniform"
    top_rate: Annotated[float, PART] = 0.2
    other_rate: Annotated[float, PART] = 0.1
    drop_rate: Annotated[float, AT_LEAST_0_TO_1] = 0.0
    skip_drop: Annotated[float, AT_LEAST_0_TO_1] = 0.5
    colsample_bytree: Annotated[float, PART_ABOVE_0] = 1.0
    colsample_bylevel: Annotated[float, PART_ABOVE_0] = 1.0
    colsample_bynode: Annotated[float, PART_ABOVE_0] = 1.0
    random_strength: Annotated[float, AT_LEAST_0] = 0.0
    monotonic_cst: Annotated[Any, "array-like", dict, None] = None
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None] = None
    multi_strategy: Annotated[str, Words({MULTI_OUTPUT, ONE_OUTPUT})] = MULTI_OUTPUT
    categorical_splits: Annotated[str, Words({"auto", "ordered", "subset", "one_vs_rest", "multiway"})] = "auto"
    missing: Annotated[str, Words({"learn", "branch"})] = "learn"
    early_stopping: Annotated[bool | str, "boolean", Words({FOLDS})] = False
    validation_fraction: Annotated[float, PART] = 0.1
    folds: Annotated[Any, whole(2), AUTO, "cv_object"] = "auto"
    n_iter_no_change: Annotated[int, whole(1)] = 10
    tol: Annotated[float, AT_LEAST_0] = 0.0
    warm_start: Annotated[bool, "boolean"] = False
    verbose: Annotated[int, "verbose"] = 0

    def config(self, num_rows: int, num_bins: int) -> BoostingConfig:
        """Returns the parameters of the rounds of a fit.

        Args:
            num_rows: The number of rows.
            num_bins: The number of bins of all features.
        """
        learner = self._base_learner(num_rows, num_bins)
        return BoostingConfig(learner, self.shrinkage(), self.n_estimators, bool(self.early_stopping), self.verbose)

    def _base_learner(self, num_rows: int, num_bins: int) -> BaseLearner:
        """Returns how the tree of a round is grown."""
        limits = self._limits(num_rows)
        most_leaves = min(num_rows, 2 ** min(limits.max_depth, 30))
        if self.max_leaf_nodes is not None:
            most_leaves = min(most_leaves, max(self.max_leaf_nodes, FEW_LEAVES))
        return BaseLearner(
            limits,
            Sizes(num_bins, 2 << (most_leaves - 1).bit_length()),
            missing=Missing[self.missing.upper()],
            counts_rows=limits.min_samples_leaf > 0,
            one_output_per_tree=self.multi_strategy == ONE_OUTPUT,
        )

    @property
    def column_fractions(self) -> ColumnFractions:
        """The parts of the columns that are drawn."""
        return ColumnFractions(self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode)

    def has_statistics(self, schema: Schema) -> Bool[np.ndarray, " feature"]:
        """Returns which features give way to statistics, see `jaxtree.estimators.boosting.categories`."""
        least = {"ordered": 0, "auto": MANY_CATEGORIES}.get(self.categorical_splits, np.inf)
        return schema.is_categorical & (schema.num_values > least)

    def make_encoder(self) -> Encoder:
        """Returns an encoder for the estimator's tables."""
        return Encoder(
            max_bins=BINS if self.max_bins == "auto" else self.max_bins,
            max_categories=self.max_categories,
            categorical_features=self.categorical_features,
        )

    def features_of_growth(self, schema: Schema, outputs: Outputs) -> FeatureOptions:
        """Returns how trees may split the features of a table."""
        return FeatureOptions(
            SplitKind[self.native_splits.upper()],
            read_monotone(self.monotonic_cst, schema, outputs),
            read_interactions(self.interaction_cst, schema),
        )

    @property
    def native_splits(self) -> str:
        """How trees split the other columns of categories."""
        return "subset" if self.categorical_splits in ("auto", "ordered") else self.categorical_splits

    def shrinkage(self) -> Shrinkage:
        """Returns how boosting holds back."""
        return Shrinkage(
            learning_rate=self.learning_rate,
            l2=self.reg_lambda,
            l1=self.reg_alpha,
            max_step=self.max_delta_step or np.inf,
            least_gain=self.gamma,
            sample=self._sample(),
            score_noise=self.random_strength,
            dropping=Dropping(self.drop_rate, self.skip_drop) if self.drop_rate > 0 else None,
            max_leaf_nodes=self._leaf_limit(),
            column_fractions=self.column_fractions,
            patience=self.n_iter_no_change if self.early_stopping else NO_PATIENCE,
            tolerance=self.tol,
        )

    def seed(self) -> int:
        """Returns the seed of what is drawn: the same in every fit where no rows or columns are."""
        draws_rows = self.subsample < 1 or self.sampling == "goss" or self.drop_rate > 0 or self.random_strength > 0
        draws = draws_rows or self.column_fractions != ColumnFractions()
        if self.random_state is None and not draws:
            return 0
        return int(generator_of(self.random_state).randint(2**31 - 1))

    def _sample(self) -> Sample:
        """Returns how rows are drawn."""
        if self.sampling == "goss":
            return OneSided(self.top_rate, self.other_rate)
        return MinimalVariance(self.subsample) if self.sampling == "mvs" else Uniform(self.subsample)

    def _leaf_limit(self) -> int | None:
        """The most leaves of a tree; None if its depth already bounds them."""
        if self.max_leaf_nodes is None or self.max_depth is None or self.native_splits == "multiway":
            return self.max_leaf_nodes
        return self.max_leaf_nodes if self.max_leaf_nodes < 2**self.max_depth else None

    def _limits(self, num_rows: int) -> Limits:
        """Returns when nodes are not split; weights are second derivatives."""
        few_by_default, least_by_default = (ROWS_OF_A_LEAF, CURVATURE_OF_A_LEAF) if num_rows < MANY_ROWS else (1, 1.0)
        rows = few_by_default if isinstance(self.min_samples_leaf, str) else self.min_samples_leaf
        rows = rows if rows > 1 else 0
        return Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=2 * rows,
            min_samples_leaf=rows,
            min_weight_leaf=least_by_default if isinstance(self.min_child_weight, str) else self.min_child_weight,
            min_gain=LEAST_GAIN,
        )
