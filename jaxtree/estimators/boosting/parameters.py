"""Parameters of boosted estimators, the values of those that are "auto", and their meaning in the loop of rounds.

A model of a fixed number of rounds fits its own rows more closely than others. A mean bears that; but a scale, an outer
quantile or a hazard is then that of its own rows, and wrong for others: so trees of such losses are smaller.

The values with folds have been chosen by `benchmarks/defaults` on one half of its tables, and judged on the other.
"""

import dataclasses
import numbers
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool

from jaxtree.boosting.data import LEAST_GAIN, BaseLearner, ColumnFractions, Shrinkage, check_rates
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.ending import NO_PATIENCE
from jaxtree.boosting.samples import MinimalVariance, OneSided, Sample, Uniform
from jaxtree.dataset.sample import Outputs
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.estimators.common.conventions import Role, Words, generator_of, whole
from jaxtree.estimators.common.features import FeatureOptions, read_interactions, read_monotone
from jaxtree.estimators.common.fold_rows import scheme_of
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

FOLDS = "cv"
"""The `early_stopping` of a model that is the mean of those that are grown without a fold."""

EXPECTED_ROUNDS = 300
"""The rounds after which early stopping usually ends: by them, not by the most, the device of a fit is chosen."""

MULTI_OUTPUT, ONE_OUTPUT = "multi_output_tree", "one_output_per_tree"
"""The `multi_strategy` of rounds with a tree that changes all scores, and of rounds with one for each."""


AT_LEAST_0_TO_1 = Interval(numbers.Real, 0, 1, closed="both")
ABOVE_0 = Interval(numbers.Real, 0, None, closed="neither")
PART_ABOVE_0 = Interval(numbers.Real, 0, 1, closed="right")


MANY_ROWS = 50_000
"""Tables of as many rows have large leaves anyhow; where branches of any size are allowed, their sums are quicker."""


ROUNDS_OF_ONE_MODEL = 100
"""The rounds where nothing ends them early."""

MOST_ROUNDS = 10_000
"""The most rounds where early stopping ends them."""


class Usual(NamedTuple):
    """Parameters that are "auto", see `GradientBoostingClassifier`.

    Attributes:
        max_leaf_nodes: The most leaves of a tree.
        min_samples_leaf: The least number of rows in a branch.
        min_child_weight: The least sum of second derivatives in a branch; below 1, rows that are almost certain can
            still be split.
        subsample: The part of the rows that a tree is grown on.
        random_strength: The noise on the scores of columns.
        n_iter_no_change: The patience of early stopping.
        n_estimators: The most rounds.
        learning_rate: The part of every step that is made.
        colsample_bynode: The part of the columns that a node looks at.
    """

    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    subsample: float = 1.0
    random_strength: float = 0.0
    n_iter_no_change: int = 10
    n_estimators: int = ROUNDS_OF_ONE_MODEL
    learning_rate: float = 0.1
    colsample_bynode: float = 1.0


ONE_MODEL = Usual()
FOLDS_OF_CLASSES = Usual(16, 3, 1e-3, 0.8, 6.0, 30)
FOLDS_OF_NUMBERS = Usual(32, 1, 1e-3, 0.6, 0.0, 30)

OF_SPREAD = ("cox", "accelerated_failure_time", "quantile", "quantiles", "expectile")
"""The losses of numbers that tell more of a target than its mean, by name."""

LEAST_LEAVES, ROWS_OF_A_LEAF, LEAST_ROWS = 3, 500, 50
"""Trees of one model of such losses, or of a distribution: a leaf for every 500 rows, at least 3 and at most as many as
other trees have, and at least 50 rows in a branch."""

FEW_ROWS_OF_SPREAD, PART_OF_FEW_ROWS = 400, 4
"""A model of such losses has trees of two leaves below so many rows, a round for every fourth row, and a fourth of the
rows in a branch, at most 50: it gains on a constant from 24 rows on, where three leaves and 100 rounds lose."""

FEW_ROWS = 1_000
"""Tables of fewer rows have trees of half as many leaves with folds."""

FEW_NUMBERS, CAREFUL = 2_000, {"learning_rate": 0.05, "n_iter_no_change": 60, "colsample_bynode": 0.7}
"""Parameters of models of numbers with folds on fewer rows, where twice the rounds take no time that is felt."""


def usual_values(
    num_rows: int, *, has_folds: bool, of_classes: bool, stops: bool = False, is_of_spread: bool = False
) -> Usual:
    """Returns what parameters of a fit are that are "auto".

    Args:
        num_rows: The number of rows.
        has_folds: Whether the model is the mean of models of folds.
        of_classes: Whether it tells classes.
        stops: Whether early stopping ends its rounds.
        is_of_spread: Whether it tells more of a target than its mean: a distribution, quantiles, or hazards.

    Example:
        >>> usual_values(1000, has_folds=False, of_classes=True).min_samples_leaf
        20
        >>> usual_values(1_000_000, has_folds=False, of_classes=True).min_samples_leaf
        1
        >>> usual_values(80, has_folds=False, of_classes=False, is_of_spread=True).min_samples_leaf
        20
    """
    own = ONE_MODEL
    if has_folds:
        own = FOLDS_OF_CLASSES if of_classes else FOLDS_OF_NUMBERS
        if num_rows < FEW_ROWS:
            own = own._replace(max_leaf_nodes=own.max_leaf_nodes // 2)
        if num_rows < FEW_NUMBERS and not of_classes:
            own = own._replace(**CAREFUL)
    elif is_of_spread:
        leaves = min(max(num_rows // ROWS_OF_A_LEAF, LEAST_LEAVES), own.max_leaf_nodes)
        own = own._replace(max_leaf_nodes=leaves, min_samples_leaf=LEAST_ROWS)
        if num_rows < FEW_ROWS_OF_SPREAD:
            part = max(num_rows // PART_OF_FEW_ROWS, 1)
            own = own._replace(max_leaf_nodes=2, min_samples_leaf=min(part, LEAST_ROWS), n_estimators=part)
    if stops or has_folds:
        own = own._replace(n_estimators=MOST_ROUNDS)
    return own if num_rows < MANY_ROWS else own._replace(min_samples_leaf=1, min_child_weight=1.0)


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
    """Parameters of boosted trees.

    Args:
        n_estimators: The most rounds, of a tree each, or of one for every score. "auto" is 100; with
            `early_stopping` as many as it takes, at most 10,000. Without it, distributions, quantiles and survival
            times of fewer than 400 rows have a round for every fourth row.
        learning_rate: Shrinkage of every tree's leaf values; or a schedule, such as optax's: a function of the
            number of rounds made. "auto" is 0.1, with folds 0.05 of numbers below 2,000 rows.
        max_depth: The largest depth of a leaf; None for no limit.
        max_leaf_nodes: The most leaves of a tree, which grows best-first: the split that saves most is next. None
            for no limit; set `max_depth` then, or trees grow until no split reduces the loss. "auto" is 31, with
            folds 16 of classes and 32 of numbers, and half of that below 1,000 rows. Without folds, for
            distributions, quantiles and survival times, it is one leaf for 500 rows each, from 3 to 31, and 2 below
            400 rows.
        min_samples_leaf: The least number of rows in a branch; "auto" is 20, with folds 3 of classes and 1 of
            numbers; without them 50 of distributions, quantiles and survival times, or a fourth of the rows; and 1
            of tables from 50,000 rows on, whose sums are then quicker.
        min_child_weight: The least sum of second derivatives in a branch; "auto" is 0.001 of tables below 50,000
            rows, and 1 of larger ones.
        reg_lambda: L2 regularisation of leaf values: it is added to the sum of second derivatives of a leaf.
        reg_alpha: L1 regularisation of leaf values: it is taken from the size of a leaf's sum of gradients.
        gamma: The least loss that a split must save.
        max_delta_step: The greatest size of a leaf's step before the learning rate; 0 for any.
        subsample: The part of the rows, drawn anew in every round, that a tree is grown on; "auto" is all, with
            folds 0.8 of classes and 0.6 of numbers.
        sampling: How they are drawn: "uniform"; "mvs", those of larger derivatives rather than others, by minimal
            variance sampling; or "goss", by `top_rate` and `other_rate` and not `subsample`.
        top_rate: Under "goss" the part of the rows that is kept, those of the largest gradients.
        other_rate: Under "goss" the part of the rows that is drawn from the rest.
        drop_rate: The chance of every tree to be dropped in a round (DART): the new tree is grown on what is then
            left, and the steps of all these trees are made smaller. Early stopping keeps the trees as they were in
            the best round; other stages count the final steps.
        skip_drop: The chance of a round in which no tree is dropped.
        colsample_bytree: The part of the columns, drawn anew for every tree, that it is grown on.
        colsample_bylevel: The part of these, drawn anew for every level of a tree, that its nodes may split by.
        colsample_bynode: The part of these, drawn anew for every node, that it looks at; "auto" is all, with folds
            0.7 of numbers below 2,000 rows.
        random_strength: The noise on the scores of columns among which a node chooses, in deviations of what a
            column that tells nothing would score (CatBoost's random strength): other columns than the best are
            tried, too. It fades as the rounds, times the learning rate, pass the logarithm of the number of rows.
            "auto" is 0, with folds 6 of classes.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the score may go as the column rises.
        interaction_cst: Sets of columns, by name or place: only columns of one set occur together on a path from
            the root; columns in no set form one more. Or "pairwise", "no_interactions", or None.
        multi_strategy: For several classes: "multi_output_tree" grows a tree a round, whose leaves have a step for
            every score; "one_output_per_tree" grows one for every class, all from the scores before the round and
            on the same rows, and takes neither `drop_rate` nor the whole matrix of `hessian`.
        categorical_splits: "subset" (the best two groups), "one_vs_rest" (a category and the rest), "multiway" (a
            branch a category), or "ordered": groups of categories of smaller and of larger gradients at the start,
            among which a row's own is not while trees grow (CatBoost's ordered target statistics), for columns of
            many categories. "auto" is "ordered" for columns of more than 16 categories, and "subset" for others.
        missing: Where rows go whose value is missing: "learn" (the branch that saves more) or "branch" (above all
            numbers, or a category of its own).
        early_stopping: Whether to stop when the loss of validation rows has not improved for `n_iter_no_change`
            rounds; rounds after the best one are discarded. With "cv" one model is trained per fold of `cv`
            on the other rows, and its own fold decides when it stops, all in one program. The fitted model is the
            mean of their scores: one sum of trees, for which no row is lost, and which knows predictions of every
            row by models that have not seen it.
        validation_fraction: The share of the rows that is held out for validation with `early_stopping=True`, if
            `fit` is given no such rows.
        cv: With `early_stopping="cv"`, the number of folds; "auto", which is 3 times 5 below 500 rows, and 8 of
            more, as the log says; or a splitter of scikit-learn, such as `RepeatedKFold`, or its splits: pairs of
            the rows of the table that a model is grown on, and of those that judge it. With a number, rows of a
            group stay together, and classes have their shares in every fold; without a `random_state` folds are the
            same in every fit.
        n_iter_no_change: Rounds without a better loss after which training stops; "auto" is 10, with folds 30,
            and 60 of numbers below 2,000 rows.
        tol: How much less a loss must be to be better.
        warm_start: Whether `fit` goes on from the rounds of the last fit, or of a loaded model; of folds, which
            must be the same, from those of every model. With "ordered" categories further rounds go on from
            predictions, in which rows have seen their own targets.
        verbose: 1 for a bar of progress, with what was measured last; n for a line every n rounds.
    """

    _of_classes: ClassVar[bool] = False
    _is_of_spread: ClassVar[bool] = False
    """Whether the model tells more of a target than its mean, see `usual_values`."""

    n_estimators: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = dataclasses.field(default="auto", kw_only=False)
    learning_rate: Annotated[float | str | Callable[[int], Any], ABOVE_0, callable, AUTO, Role.NUMBER] = "auto"
    max_depth: Annotated[int | None, whole(1), None, Role.NUMBER] = None
    max_leaf_nodes: Annotated[int | str | None, whole(2), None, AUTO, Role.NUMBER] = "auto"
    min_samples_leaf: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = "auto"
    min_child_weight: Annotated[float | str, AT_LEAST_0, AUTO, Role.NUMBER] = "auto"
    reg_lambda: Annotated[float, AT_LEAST_0, Role.NUMBER] = 1.0
    reg_alpha: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    gamma: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    max_delta_step: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    subsample: Annotated[float | str, PART_ABOVE_0, AUTO, Role.NUMBER] = "auto"
    sampling: Annotated[str, Words({"uniform", "goss", "mvs"}), Role.FIT] = "uniform"
    top_rate: Annotated[float, PART, Role.NUMBER] = 0.2
    other_rate: Annotated[float, PART, Role.NUMBER] = 0.1
    drop_rate: Annotated[float, AT_LEAST_0_TO_1, Role.FIT] = 0.0
    skip_drop: Annotated[float, AT_LEAST_0_TO_1, Role.FIT] = 0.5
    colsample_bytree: Annotated[float, PART_ABOVE_0, Role.NUMBER] = 1.0
    colsample_bylevel: Annotated[float, PART_ABOVE_0, Role.NUMBER] = 1.0
    colsample_bynode: Annotated[float | str, PART_ABOVE_0, AUTO, Role.NUMBER] = "auto"
    random_strength: Annotated[float | str, AT_LEAST_0, AUTO, Role.NUMBER] = "auto"
    monotonic_cst: Annotated[Any, "array-like", dict, None, Role.FIT] = None
    interaction_cst: Annotated[Any, INTERACTIONS, "array-like", list, tuple, None, Role.FIT] = None
    multi_strategy: Annotated[str, Words({MULTI_OUTPUT, ONE_OUTPUT}), Role.FIT] = MULTI_OUTPUT
    categorical_splits: Annotated[str, CATEGORICAL_SPLITS, Role.FIT] = "auto"
    missing: Annotated[str, Words({"learn", "branch"}), Role.FIT] = "learn"
    early_stopping: Annotated[bool | str, "boolean", Words({FOLDS}), Role.FIT] = False
    validation_fraction: Annotated[float, PART, Role.FIT] = 0.1
    cv: Annotated[Any, whole(2), AUTO, "cv_object", Role.FIT] = "auto"
    n_iter_no_change: Annotated[int | str, whole(1), AUTO, Role.NUMBER] = "auto"
    tol: Annotated[float, AT_LEAST_0, Role.NUMBER] = 0.0
    warm_start: Annotated[bool, "boolean", Role.FIT] = False
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0

    def config(self, num_rows: int, num_bins: int) -> BoostingConfig:
        """Returns the parameters of the rounds of a fit.

        Args:
            num_rows: The number of rows.
            num_bins: The number of bins of all features.
        """
        own = self._without_auto(num_rows)
        # Weights are second derivatives.
        limits = Limits(
            max_depth=NO_LIMIT if self.max_depth is None else min(self.max_depth, NO_LIMIT),
            min_samples_split=2 * own.min_samples_leaf if own.min_samples_leaf > 1 else 0,
            min_samples_leaf=own.min_samples_leaf if own.min_samples_leaf > 1 else 0,
            min_weight_leaf=own.min_child_weight,
            min_gain=LEAST_GAIN,
        )
        most_leaves = min(num_rows, 2 ** min(limits.max_depth, 30))
        if own.max_leaf_nodes is not None:
            most_leaves = min(most_leaves, max(own.max_leaf_nodes, FEW_LEAVES))
        learner = BaseLearner(
            limits,
            Sizes(num_bins, 2 << (most_leaves - 1).bit_length()),
            missing=Missing[self.missing.upper()],
            counts_rows=limits.min_samples_leaf > 0,
            one_output_per_tree=self.multi_strategy == ONE_OUTPUT,
        )
        shrinkage, stops = self.shrinkage(num_rows), bool(self.early_stopping)
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
        """Returns the regularisation of a boosting, by the number of its rows.

        Raises:
            InvalidInputError: The two rates of "goss" together are no part of the rows.
        """
        own = self._without_auto(num_rows)
        leaves = None if own.max_leaf_nodes is None else min(own.max_leaf_nodes, NO_LIMIT)
        if leaves is not None and self.max_depth is not None and self.native_splits != "multiway":
            # The depth of a tree may bound its leaves already.
            leaves = leaves if leaves < 2 ** min(self.max_depth, 31) else None
        sample: Sample = MinimalVariance(own.subsample) if self.sampling == "mvs" else Uniform(own.subsample)
        if self.sampling == "goss":
            sample = OneSided(self.top_rate, self.other_rate)
            check_rates(sample)
        return Shrinkage(
            learning_rate=own.learning_rate,
            l2=self.reg_lambda,
            l1=self.reg_alpha,
            max_step=self.max_delta_step or np.inf,
            least_gain=self.gamma,
            sample=sample,
            score_noise=own.random_strength,
            dropping=Dropping(self.drop_rate, self.skip_drop) if self.drop_rate > 0 else None,
            max_leaf_nodes=leaves,
            column_fractions=ColumnFractions(self.colsample_bytree, self.colsample_bylevel, own.colsample_bynode),
            patience=min(own.n_iter_no_change, NO_PATIENCE) if self.early_stopping else NO_PATIENCE,
            tolerance=self.tol,
        )

    def seed(self) -> int:
        """Returns the seed of what is drawn: the same in every fit where the user asks for no draws."""
        draws_rows = self.subsample not in ("auto", 1) or self.sampling == "goss" or self.drop_rate > 0
        parts = self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode
        draws_columns = any(part not in ("auto", 1) for part in parts)
        draws = draws_rows or draws_columns or self.random_strength not in ("auto", 0)
        if self.random_state is None and not draws:
            return 0
        return int(generator_of(self.random_state).randint(2**31 - 1))
