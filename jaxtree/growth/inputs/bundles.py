"""The inputs of growth: data, features, limits, rules and sizes."""

import enum
import functools
import typing
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Bool, Float, Int, Real, UInt, UInt32

from jaxtree.arrays import AnyArray, FloatLike, IntLike, concrete_or_none, library_of
from jaxtree.growth.inputs.objective import COUNTS_ROW, NO_LABEL, Addition, Objective
from jaxtree.tree import SplitKind

NO_LIMIT = 2**31 - 1


class Data(NamedTuple):
    """The data of a growth: a table of codes, and *entries*, each a row with a weight in one of the trees.

    Attributes:
        codes: Codes of every feature, below `num_bins`.
        target: The target of every row: its class, or a number; several outputs are rows of one array.
        weight: The weight of every entry, 1 if not given; 0 removes the entry. Weights of an integer type are
            summed unchanged, and their sum must stay below 2**31; other weights are summed in fixed point.
        row: The row of every entry, for several trees on the same rows; row e for entry e if not given.
        root: The tree of every entry, below `num_roots`; 0 if not given.
        entry_target: The target of every entry, in the place of that of its row, where entries differ in it.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Real[AnyArray, "*output row"]
    weight: Real[AnyArray, " entry"] | None = None
    row: Int[AnyArray, " entry"] | None = None
    root: Int[AnyArray, " entry"] | None = None
    entry_target: Real[AnyArray, "*output entry"] | None = None


class Features(NamedTuple):
    """How the features may be split.

    Attributes:
        split_kind: A `SplitKind` for every feature.
        num_codes: The number of codes of a feature, including that of a missing value; 0 for padding.
        num_values: The number of known codes, which is the code of a missing value; `num_codes` if not given.
        monotone: 1 if the value (the mean, or the share of class 1) may only rise with the code of a threshold
            feature, -1 if it may only fall, 0 otherwise.
        in_average: Whether the feature counts for C4.5's average gain; true if not given.
        next_separable: For every code the first code that a threshold may separate from it, if some are too close.
        position: The number of every code, for random thresholds; the codes themselves if not given.
        sets: The sets that a feature belongs to, a bit each, if only features of one set may occur on a path from the
            root.
    """

    split_kind: Int[AnyArray, " feature"]
    num_codes: Int[AnyArray, " feature"]
    num_values: Int[AnyArray, " feature"] | None = None
    monotone: Int[AnyArray, " feature"] | None = None
    in_average: Bool[AnyArray, " feature"] | None = None
    next_separable: Int[AnyArray, "feature code"] | None = None
    position: Float[AnyArray, "feature code"] | None = None
    sets: UInt32[AnyArray, "feature word"] | None = None

    def with_empty(self, number: int) -> "Features":
        """Returns the features, in NumPy's arrays, with so many behind them that have no codes."""
        padding = ((0, number), (0, 0))
        return Features(*(None if values is None else np.pad(values, padding[: values.ndim]) for values in self))


class LimitRange(NamedTuple):
    """The type of a limit, and the least and the greatest value that it may have."""

    dtype: type[np.number]
    least: float
    most: float


class Limits(NamedTuple):
    """The limits of growth: numbers, or arrays with one number per root; what checks and engines know of them.

    A limit's annotation has its range. The kernel in C++ reads it by its name, see native/src/input/limits.h.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        min_samples_split: The least number of rows of a node that is split; a row counts its weight, unless
            the rules count rows.
        min_samples_leaf: The least number of rows of a branch (of a multiway split: of every branch in use, under
            C4.5's rules of two), counted the same way.
        min_weight_leaf: The least weight of a branch.
        min_gain: The least gain of a split.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: The number of random features that a node scores, where features are sampled.
        level_features: The number of random features that the nodes of a level choose from, where levels are sampled.
        max_leaf_nodes: The most leaves of a tree, where trees grow best-first.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: The number of classes that the target declares, for C4.5; 0 means those of the objective.
        score_noise: The deviation of what a node adds to the scores of features, where it draws that.
        parameters: The numbers of an objective that has some, such as its penalties: one array, or one row a root.
    """

    max_depth: Annotated[IntLike, LimitRange(np.int32, 0, NO_LIMIT)] = NO_LIMIT
    min_samples_split: Annotated[FloatLike, LimitRange(np.float64, 0, np.inf)] = 2
    min_samples_leaf: Annotated[FloatLike, LimitRange(np.float64, 0, np.inf)] = 1
    min_weight_leaf: Annotated[FloatLike, LimitRange(np.float64, 0, np.inf)] = 0.0
    min_gain: Annotated[FloatLike, LimitRange(np.float64, -np.inf, np.inf)] = 0.0
    min_impurity_decrease: Annotated[FloatLike, LimitRange(np.float64, -np.inf, np.inf)] = 0.0
    max_features: Annotated[IntLike, LimitRange(np.int32, 1, NO_LIMIT)] = NO_LIMIT
    level_features: Annotated[IntLike, LimitRange(np.int32, 1, NO_LIMIT)] = NO_LIMIT
    max_leaf_nodes: Annotated[IntLike, LimitRange(np.int32, 1, NO_LIMIT)] = NO_LIMIT
    mdl_correction: Annotated[FloatLike, LimitRange(np.float64, 0, 1)] = 1.0
    num_declared_classes: Annotated[FloatLike, LimitRange(np.float64, 0, np.inf)] = 0
    score_noise: Annotated[FloatLike, LimitRange(np.float64, 0, np.inf)] = 0.0
    parameters: Float[AnyArray, "*root parameter"] | tuple[FloatLike, ...] = ()


@functools.cache
def limit_ranges() -> dict[str, LimitRange]:
    """Returns the ranges of all `Limits` but `parameters`, which the objective checks."""
    hints = typing.get_type_hints(Limits, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in Limits._fields if name != "parameters"}


class Missing(enum.IntEnum):
    """The branch of a row whose value is missing.

    BRANCH: missing is a value of its own, larger than every number and different from every category.
    LEARN: every split sends the row to the branch where it gains most.
    FRACTION: the row goes into every branch, with that branch's share of the known weight (C4.5).
    """

    BRANCH = 0
    LEARN = 1
    FRACTION = 2


class Selection(enum.IntEnum):
    """How a node chooses among the features' best splits.

    GAIN: the greatest gain.
    GAIN_RATIO: of the splits of at least average gain, the greatest ratio of gain to split information (C4.5).
    INFORMATION: the greatest gain, under C4.5's other rules.
    """

    GAIN = 0
    GAIN_RATIO = 1
    INFORMATION = 2


class Rules(NamedTuple):
    """The rules for scoring and choosing splits: static, one program for each set.

    Attributes:
        objective: The objective that scores splits: `Classes`, `Numbers`, or your own `Objective`.
        missing: The branch of rows whose value is missing.
        selection: How a node chooses among the features.
        counts_rows: Whether `min_samples_split` and `min_samples_leaf` count rows of positive weight; if not, they
            count weight.
        samples_features: Whether every node scores only `Limits.max_features` random features.
        samples_levels: Whether the nodes of a level score only the same `Limits.level_features` random features.
        samples_thresholds: Whether every node scores one random threshold per feature, uniform between the least and
            the greatest value.
        draws_ties: Whether every node draws which feature wins among splits of equal gain; if not, the lowest wins.
        draws_scores: Whether every node draws a number for each feature, which it adds, times `Limits.score_noise`, to
            the root of what the branches of the feature's best split save; so it chooses the feature. Only with
            `Newton`.
        grows_best_first: Whether a tree has at most `Limits.max_leaf_nodes` leaves: of the splits that may be made the
            one of the greatest gain times weight is next, of equal ones that of the first node. A multiway split that
            would make too many leaves ends the growth.
        kinds: The kinds of split that occur; derived from the features if these are not traced.
    """

    objective: Objective
    missing: Missing = Missing.LEARN
    selection: Selection = Selection.GAIN
    counts_rows: bool = False
    samples_features: bool = False
    samples_levels: bool = False
    samples_thresholds: bool = False
    draws_ties: bool = False
    draws_scores: bool = False
    grows_best_first: bool = False
    kinds: tuple[SplitKind, ...] | None = None


class Sizes(NamedTuple):
    """The sizes of a growth's tables: static, one program for each set.

    Attributes:
        num_bins: The number of codes of the feature that has most.
        capacity: The number of nodes in the table. A binary tree has fewer than twice as many nodes as rows, and than
            twice as many as the leaves that a tree may have that grows best-first.
        num_roots: The number of trees.
        entry_capacity: The greatest number of entries at once, where rows are shared among branches; twice the number
            at the start if not given. The kernel in C++ makes room for as many as there are.
    """

    num_bins: int
    capacity: int
    num_roots: int = 1
    entry_capacity: int | None = None


class ResolvedRules(NamedTuple):
    """Rules and facts of the data, so that a program contains nothing that no row needs.

    Attributes:
        objective: The objective that scores splits.
        missing: The branch of rows whose value is missing.
        selection: How a node chooses among features.
        counts_rows: Whether rows are counted as well as weights, in an extra channel after the objective's.
        samples_features: Whether a node scores a random subset of the features.
        samples_levels: Whether the nodes of a level score a random subset of the features, the same for all.
        samples_thresholds: Whether a node scores one random candidate per feature.
        draws_ties: Whether a node draws which feature wins among splits of equal gain.
        draws_scores: Whether a node draws what it adds to the scores of features.
        grows_best_first: Whether `max_leaf_nodes` limits the trees (best-first growth).
        kinds: The kinds of split that occur, if given.
        is_scaled: Whether weights are in fixed point, with a unit other than 1.
        has_missing: Whether any code means missing.
        has_missing_branch: Whether splits differ in the branch of a missing value.
        has_monotone: Whether any feature is constrained to be monotone.
        has_close_values: Whether some values are too close to be separated.
        has_sets: Whether only features of one set may occur on a path.
    """

    objective: Objective
    missing: Missing
    selection: Selection
    counts_rows: bool
    samples_features: bool
    samples_levels: bool
    samples_thresholds: bool
    draws_ties: bool
    draws_scores: bool
    grows_best_first: bool
    kinds: tuple[SplitKind, ...] | None
    is_scaled: bool
    has_missing: bool
    has_missing_branch: bool
    has_monotone: bool
    has_close_values: bool
    has_sets: bool

    @property
    def num_channels(self) -> int:
        """The number of channels of a histogram."""
        return self.objective.num_channels + self.counts_rows

    @property
    def additions(self) -> tuple[Addition, ...]:
        """The additions of an entry to a histogram."""
        added = [addition for addition in self.objective.additions if addition.channel < self.objective.num_channels]
        rows = [Addition(NO_LABEL, self.objective.num_channels, COUNTS_ROW)] if self.counts_rows else []
        return (*added, *rows)

    @property
    def has_wide_sums(self) -> bool:
        """Whether sums need 64 bits."""
        return self.is_scaled or self.objective.needs_wide_sums

    @property
    def is_c45(self) -> bool:
        """Whether C4.5's rules apply."""
        return self.selection != Selection.GAIN

    @property
    def separates_missing(self) -> bool:
        """Whether missing values are kept apart from the branches' sums."""
        return self.has_missing and self.missing != Missing.BRANCH

    @property
    def num_parts(self) -> int:
        """The parts that a drawn threshold makes of a node: up to it, above it, and perhaps the missing values."""
        return 2 + self.separates_missing

    @property
    def shares_missing(self) -> bool:
        """Whether a row may go into several branches."""
        return self.has_missing and self.missing == Missing.FRACTION


def resolve(rules: Rules, data: Data, features: Features) -> ResolvedRules:
    """Returns the rules together with facts of the data; of traced arrays that which may be."""
    kind, num_codes, num_values, monotone = map(
        concrete_or_none, (features.split_kind, features.num_codes, features.num_values, features.monotone)
    )
    has_missing = features.num_values is not None
    if num_codes is not None and num_values is not None:
        has_missing = bool((num_codes > num_values).any())
    # Shares of a row are not whole numbers.
    is_whole = data.weight is None or jnp.issubdtype(data.weight.dtype, jnp.integer)
    return ResolvedRules(
        *rules,
        is_scaled=not is_whole or rules.objective.has_fractions or (has_missing and rules.missing == Missing.FRACTION),
        has_missing=has_missing,
        has_missing_branch=has_missing or kind is None or bool((kind != SplitKind.THRESHOLD).any()),
        has_monotone=features.monotone is not None and (monotone is None or bool(monotone.any())),
        has_close_values=features.next_separable is not None,
        has_sets=features.sets is not None,
    )


def all_thresholds(num_features: int, num_bins: int) -> Features:
    """Features that are all split by thresholds, without missing values."""
    return Features(np.zeros(num_features, np.int32), np.full(num_features, num_bins, np.int32))


def has_seeds(rules: Rules | ResolvedRules) -> bool:
    """Whether nodes have seeds, because they draw something."""
    draws_some = rules.samples_features or rules.samples_levels or rules.samples_thresholds
    return draws_some or rules.draws_ties or rules.draws_scores


def as_type(values: Any, dtype: Any) -> Any:
    """The values as one type, on the host if they were there."""
    values = (jnp if isinstance(values, jax.Array) else np).asarray(values)
    return values if values.dtype == dtype else values.astype(dtype)


def limits_of_roots(limits: Limits, num_roots: int) -> Limits:
    """The limits as arrays of one number per root; of the parameters one row per root."""

    def spread(values: Any, *row: int) -> Any:
        shape = (num_roots, *row)
        return values if values.shape == shape else library_of(values).broadcast_to(values, shape)

    numbers = {name: spread(as_type(getattr(limits, name), own.dtype)) for name, own in limit_ranges().items()}
    parameters = as_type(as_one_array(limits.parameters), np.float64)
    return Limits(**numbers, parameters=spread(parameters, parameters.shape[-1]))


def as_one_array(parameters: Any) -> Any:
    """The numbers of an objective as one array, also where some are traced."""
    if isinstance(parameters, tuple):
        return (jnp if any(isinstance(own, jax.Array) for own in parameters) else np).array(parameters, float)
    return parameters


def is_concrete(*values: Any) -> bool:
    """Whether all values are arrays on the host or on a device, and none is traced."""
    return not any(isinstance(value, Tracer) for value in values)
