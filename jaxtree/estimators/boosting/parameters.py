"""Parameters of boosted estimators, and what they mean to the loop of rounds."""

import dataclasses
import numbers
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool

from jaxtree.boosting.columns import ColumnFractions
from jaxtree.boosting.data import BaseLearner
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.early_stopping import NO_PATIENCE
from jaxtree.boosting.samples import MinimalVariance, OneSided, Sample, Uniform
from jaxtree.boosting.shrinkage import Shrinkage
from jaxtree.dataset.sample import Outputs
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.estimators.boosting.fold_rows import scheme_of
from jaxtree.estimators.boosting.usual import MANY_ROWS, Usual, usual_values
from jaxtree.estimators.common.constraints import read_interactions, read_monotone
from jaxtree.estimators.common.conventions import Role, Words, generator_of, whole
from jaxtree.estimators.common.features import FeatureOptions
from jaxtree.estimators.common.ordered_categories import OF_OTHERS
from jaxtree.estimators.common.parameters import AUTO, CATEGORICAL_SPLITS, INTERACTIONS, EncodingParameters
from jaxtree.estimators.common.prunings import AT_LEAST_0, PART
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, Missing, Sizes
from jaxtree.sklearn_compat import Interval
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind

BINS = 255
"""Bins of a numeric column where `max_bins` is "auto"."""

MANY_CATEGORIES = 16
"""Categories of a column past which it is split by statistics where `categorical_splits` is "auto"."""

FEW_LEAVES = 32
"""Tables have room for as many leaves at least, so that lower numbers of them share a program."""

FOLDS = "folds"
"""The `early_stopping` of a model that is the mean of those that are grown without a fold."""

EXPECTED_ROUNDS = 300
"""The rounds after which early stopping usually ends: by them, not by the most, the device of a fit is chosen."""

MULTI_OUTPUT, ONE_OUTPUT = "multi_output_tree", "one_output_per_tree"
"""The `multi_strategy` of rounds with a tree that changes all scores, and of rounds with one for each."""

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
        is_end_known: Whether progress counts up to them: not where only early stopping ends them.
        early_stopping: Whether trees are kept up to the best round.
        verbose: How progress is shown, see `jaxtree.estimators.common.progress`.
    """

    learner: BaseLearner
    shrinkage: Shrinkage
    num_rounds: int
    is_end_known: bool
    early_stopping: bool
    verbose: int


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class BoostingParameters(EncodingParameters):
    """Parameters of boosted trees, which their estimators document."""

    _of_classes: ClassVar[bool] = False
    _is_of_spread: ClassVar[bool] = False
    """Whether the model tells more of a target than its mean, see `usual_values`."""

    n_estimators: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = dataclasses.field(default="auto", kw_only=False)
    learning_rate: Annotated[float | Callable[[int], Any], ABOVE_0, callable, Role.NUMBER] = 0.1
    max_depth: Annotated[int | None, whole(1), None, Role.NUMBER] = None
    max_leaf_nodes: Annotated[int | str | None, whole(2), None, AUTO, Role.NUMBER] = "auto"
    min_samples_leaf: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = "auto"
    min_child_weight: Annotated[float | str, AT_LEAST_0, AUTO, Role.NUMBER] = "auto"
    reg_lambda: Annotated[float, AT_LEAST_0, Role.NUMBER] = 1.0
    reg_alpha: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    gamma: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    max_delta_step: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    subsample: Annotated[float | str, PART_ABOVE_0, AUTO, Role.NUMBER] = "auto"
    sampling: Annotated[str, Words({"uniform", "goss", "mvs"})] = "uniform"
    top_rate: Annotated[float, PART, Role.NUMBER] = 0.2
    other_rate: Annotated[float, PART, Role.NUMBER] = 0.1
    drop_rate: Annotated[float, AT_LEAST_0_TO_1] = 0.0
    skip_drop: Annotated[float, AT_LEAST_0_TO_1] = 0.5
    colsample_bytree: Annotated[float, PART_ABOVE_0, Role.NUMBER] = 1.0
    colsample_bylevel: Annotated[float, PART_ABOVE_0, Role.NUMBER] = 1.0
    colsample_bynode: Annotated[float, PART_ABOVE_0, Role.NUMBER] = 1.0
    random_strength: Annotated[float | str, AT_LEAST_0, AUTO, Role.NUMBER] = "auto"
    monotonic_cst: Annotated[Any, "array-like", dict, None] = None
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None] = None
    multi_strategy: Annotated[str, Words({MULTI_OUTPUT, ONE_OUTPUT})] = MULTI_OUTPUT
    categorical_splits: Annotated[str, CATEGORICAL_SPLITS] = "auto"
    missing: Annotated[str, Words({"learn", "branch"})] = "learn"
    early_stopping: Annotated[bool | str, "boolean", Words({FOLDS})] = False
    validation_fraction: Annotated[float, PART] = 0.1
    folds: Annotated[Any, whole(2), AUTO, "cv_object"] = "auto"
    n_iter_no_change: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = "auto"
    tol: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    warm_start: Annotated[bool, "boolean"] = False
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0

    def config(self, num_rows: int, num_bins: int) -> BoostingConfig:
        """Returns the parameters of the rounds of a fit.

        Args:
            num_rows: The number of rows.
            num_bins: The number of bins of all features.
        """
        own = self._without_auto(num_rows)
        learner, shrinkage = self._base_learner(own, num_rows, num_bins), self.shrinkage(num_rows)
        stops = bool(self.early_stopping)
        is_end_known = not (stops and self.n_estimators == "auto")
        return BoostingConfig(learner, shrinkage, own.n_estimators, is_end_known, stops, self.verbose)

    @property
    def most_rounds(self) -> int:
        """The most rounds of a model of any number of rows, those that were made before included."""
        return self.rounds_of(MANY_ROWS)

    def rounds_of(self, num_rows: int) -> int:
        """Returns the most rounds of a model of so many rows, those that were made before included."""
        return self._without_auto(num_rows).n_estimators

    def _without_auto(self, num_rows: int) -> Usual:
        """Returns the parameters that may be "auto" as they are for so many rows; leaves of any number are None."""
        has_folds, stops = self.early_stopping == FOLDS, bool(self.early_stopping)
        kind = {"of_classes": self._of_classes, "is_of_spread": self._is_of_spread}
        usual = usual_values(num_rows, has_folds=has_folds, stops=stops, **kind)
        for name, parameter in vars(self).items():
            # No other word is among them.
            if name in Usual._fields and not isinstance(parameter, str):
                usual = usual._replace(**{name: parameter})
        return usual

    def _base_learner(self, own: Usual, num_rows: int, num_bins: int) -> BaseLearner:
        """Returns how the tree of a round is grown."""
        # Weights are second derivatives.
        limits = Limits(
            max_depth=NO_LIMIT if self.max_depth is None else self.max_depth,
            min_samples_split=2 * own.min_samples_leaf if own.min_samples_leaf > 1 else 0,
            min_samples_leaf=own.min_samples_leaf if own.min_samples_leaf > 1 else 0,
            min_weight_leaf=own.min_child_weight,
            min_gain=LEAST_GAIN,
        )
        most_leaves = min(num_rows, 2 ** min(limits.max_depth, 30))
        if own.max_leaf_nodes is not None:
            most_leaves = min(most_leaves, max(own.max_leaf_nodes, FEW_LEAVES))
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
        """Returns which features give way to statistics, see `jaxtree.estimators.common.ordered_categories`."""
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
        return OF_OTHERS.get(self.categorical_splits, self.categorical_splits)

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do, if it makes the rounds that are expected."""
        own = self._without_auto(num_rows)
        leaves, rounds = own.max_leaf_nodes, own.n_estimators
        if self.early_stopping and self.n_estimators == "auto":
            rounds = EXPECTED_ROUNDS
        levels = costs.levels_of(num_rows if leaves is None else leaves, self.max_depth)
        models = 1
        if self.early_stopping == FOLDS:
            scheme = scheme_of(num_rows, num_rows)
            models = scheme.num_folds * scheme.num_repeats
        return costs.boosting(num_rows, num_columns, levels=levels, rounds=rounds * models)

    def shrinkage(self, num_rows: int) -> Shrinkage:
        """Returns how boosting holds back on so many rows."""
        own = self._without_auto(num_rows)
        leaves = own.max_leaf_nodes
        if leaves is not None and self.max_depth is not None and self.native_splits != "multiway":
            # The depth of a tree may bound its leaves already.
            leaves = leaves if leaves < 2**self.max_depth else None
        return Shrinkage(
            learning_rate=self.learning_rate,
            l2=self.reg_lambda,
            l1=self.reg_alpha,
            max_step=self.max_delta_step or np.inf,
            least_gain=self.gamma,
            sample=self._sample(own),
            score_noise=own.random_strength,
            dropping=Dropping(self.drop_rate, self.skip_drop) if self.drop_rate > 0 else None,
            max_leaf_nodes=leaves,
            column_fractions=self.column_fractions,
            patience=own.n_iter_no_change if self.early_stopping else NO_PATIENCE,
            tolerance=self.tol,
        )

    def seed(self) -> int:
        """Returns the seed of what is drawn: the same in every fit where the user asks for no draws."""
        draws_rows = self.subsample not in ("auto", 1) or self.sampling == "goss" or self.drop_rate > 0
        draws = draws_rows or self.random_strength not in ("auto", 0) or self.column_fractions != ColumnFractions()
        if self.random_state is None and not draws:
            return 0
        return int(generator_of(self.random_state).randint(2**31 - 1))

    def _sample(self, own: Usual) -> Sample:
        """Returns how rows are drawn."""
        if self.sampling == "goss":
            return OneSided(self.top_rate, self.other_rate)
        return MinimalVariance(own.subsample) if self.sampling == "mvs" else Uniform(own.subsample)
