"""From codes to trees in original units: growth with all sizes padded to buckets."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float64, Int, Int32, PRNGKeyArray, Real, UInt

from jaxtree.buckets import aligned_zeros, bin_bucket, capacity_bucket, class_bucket, empty_codes, pad_codes
from jaxtree.criteria import Criterion, NumberCriterion, gini
from jaxtree.estimators.magnitude import exponent_of, restored, scaled_limits
from jaxtree.growth.grow import grow_completely
from jaxtree.growth.inputs import Data, Features, Limits, Missing, Rules, Selection, Sizes
from jaxtree.growth.objective import Objective
from jaxtree.growth.standard_objectives import Classes, Numbers
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree, take_tree

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""

LEAF_MARK = -2
"""scikit-learn's mark of a leaf in `feature` and `threshold`; no code of ours reads it."""


class Recipe(NamedTuple):
    """How an estimator wants its tree grown.

    Attributes:
        criterion: Of classes, or of numbers.
        category_kind: How categorical features are split.
        limits: When nodes are not split.
        missing: Where rows go whose value is missing.
        selection: How a node chooses among features.
        counts_rows: Whether the limits count rows where rows have weights.
        monotone: The constraint of every feature, or None.
        draws_features: Whether nodes look at random features.
        draws_thresholds: Whether nodes look at random thresholds.
        key: The key of what is drawn.
        closest: How far apart values must lie to be cut apart.
        most_average_categories: Categorical features of at least so many are left out of C4.5's average gain.
        on_values: Whether thresholds are values of the table.
    """

    criterion: Criterion | NumberCriterion = gini
    category_kind: SplitKind = SplitKind.SUBSET
    limits: Limits = Limits()
    missing: Missing = Missing.LEARN
    selection: Selection = Selection.GAIN
    counts_rows: bool = False
    monotone: Int[np.ndarray, " feature"] | None = None
    draws_features: bool = False
    draws_thresholds: bool = False
    key: PRNGKeyArray | None = None
    closest: float = 0.0
    most_average_categories: float = np.inf
    on_values: bool = False


class EncodedSample(NamedTuple):
    """A table in codes with its target, and how a tree is to be grown on it.

    Attributes:
        codes: The codes of every feature.
        schema: What they mean.
        target: Classes as codes, or numbers.
        num_classes: The number of classes of every output; empty for numbers.
        weight: The weight of every row; None is 1.
        recipe: How to grow.
    """

    codes: UInt[np.ndarray, "feature row"]
    schema: Schema
    target: Real[np.ndarray, "output row"]
    num_classes: tuple[int, ...]
    weight: Float64[np.ndarray, " row"] | None
    recipe: Recipe


def grow_tables(samples: Sequence[EncodedSample], mesh: Mesh | None = None) -> list[Tree]:
    """Grows one tree on each sample; the thresholds are codes.

    With a mesh, rows are divided among its devices.

    Samples that ask for the same kind of growth are roots of one, such as the folds of a cross-validation. Each tree
    is the one that its sample would give alone.
    """
    groups: dict[Hashable, list[int]] = {}
    for position, sample in enumerate(samples):
        groups.setdefault(_kind_of_growth(sample), []).append(position)
    trees: dict[int, Tree] = {}
    for positions in groups.values():
        trees.update(zip(positions, _grow_together([samples[i] for i in positions], mesh), strict=True))
    return [trees[position] for position in range(len(samples))]


def _kind_of_growth(sample: EncodedSample) -> Hashable:
    """What samples must have in common to be grown as roots of one growth."""
    schema, recipe = sample.schema, sample.recipe
    features = features_of(schema, recipe, own_widths(sample), 0)
    # Thresholds need no common number of bins: codes past a feature's own never occur.
    of_categories = np.where(schema.is_categorical, (schema.num_values, schema.num_codes), -1)
    arrays = (of_categories, features.monotone, features.in_average, features.first_apart, features.position)
    has_missing = bool(np.any(schema.num_codes > schema.num_values))
    statics = (sample.num_classes, sample.weight is None, has_missing, recipe._replace(**_PER_ROOT))
    return statics, tuple(None if x is None else (x.shape, x.tobytes()) for x in arrays)


# Fields of a recipe that may differ among the roots of one growth, or that features carry.
_PER_ROOT: dict[str, Any] = {"limits": Limits(), "key": None, "monotone": None, "most_average_categories": 0.0}


class _Widths(NamedTuple):
    """The number of values of every feature, which is its code for a missing one, and of its codes."""

    num_values: Int32[np.ndarray, " feature"]
    num_codes: Int32[np.ndarray, " feature"]


def own_widths(sample: EncodedSample) -> _Widths:
    """The widths of one sample's features."""
    return _Widths(sample.schema.num_values, sample.schema.num_codes)


def _common_widths(samples: Sequence[EncodedSample]) -> _Widths:
    widths = [own_widths(sample) for sample in samples]
    num_values = np.max([own.num_values for own in widths], axis=0)
    has_missing = np.any([own.num_codes > own.num_values for own in widths], axis=0)
    return _Widths(num_values, (num_values + has_missing).astype(np.int32))


def _grow_together(samples: Sequence[EncodedSample], mesh: Mesh | None) -> list[Tree]:
    """Grows samples whose features are the same, but for the number of bins, as roots of one growth."""
    recipe, num_classes = samples[0].recipe, samples[0].num_classes
    widths = _common_widths(samples)
    num_rows = sum(sample.codes.shape[1] for sample in samples)
    codes = _padded_codes(samples, widths)
    add_rows, add_features = codes.shape[1] - num_rows, len(codes) - len(samples[0].codes)
    target, exponent = divided(_joined([sample.target for sample in samples], axis=1), recipe)
    limits = [scaled_limits(sample.recipe.limits, exponent, degree_of(recipe)) for sample in samples]
    target = _padded_rows(target, add_rows)
    root = np.repeat(np.arange(len(samples), dtype=np.int32), [sample.codes.shape[1] for sample in samples])
    # The padding of codes and targets has weight 0.
    weight = _padded_rows(as_summed([sample.weight for sample in samples], num_rows), add_rows)
    # Grown in float64 whatever the user's setting: a fitted tree lies on the host.
    with jax.enable_x64(True):
        tree = grow_completely(
            Data(codes, target, weight, root=np.pad(root, (0, add_rows)) if len(samples) > 1 else None),
            features_of(samples[0].schema, recipe, widths, add_features),
            Limits(*(np.array(limit) for limit in zip(*limits, strict=True))),
            rules_of(samples[0]),
            Sizes(
                num_bins=num_bins_of(widths),
                capacity=capacity_bucket(sum(most_nodes(s.codes.shape[1], s.recipe) for s in samples)),
                num_roots=len(samples),
                entry_capacity=2 * weight.size,
            ),
            key=None if recipe.key is None else jnp.stack([s.recipe.key for s in samples if s.recipe.key is not None]),
            mesh=mesh,
        )
        tree = jax.tree.map(np.asarray, tree)
    taken = (restored(take_tree(tree, root=n), exponent, degree_of(recipe)) for n in range(len(samples)))
    return [trimmed(decoded(t, sample, widths), num_classes) for t, sample in zip(taken, samples, strict=True)]


def degree_of(recipe: Recipe) -> int:
    """The power of the targets' unit that a gain is in; 0 for classes."""
    return recipe.criterion.degree if isinstance(recipe.criterion, NumberCriterion) else 0


def divided(target: Real[np.ndarray, "output row"], recipe: Recipe) -> tuple[Real[np.ndarray, "output row"], int]:
    """Targets of a size that can be squared, and the exponent of the power of two that they were divided by."""
    exponent = exponent_of(target) if isinstance(recipe.criterion, NumberCriterion) else 0
    return (np.ldexp(target, -exponent) if exponent else target), exponent


def rules_of(sample: EncodedSample) -> Rules:
    """The static rules of a growth."""
    recipe = sample.recipe
    return Rules(
        objective=objective_of(sample),
        missing=recipe.missing,
        selection=recipe.selection,
        counts_rows=recipe.counts_rows and sample.weight is not None,
        samples_features=recipe.draws_features,
        samples_thresholds=recipe.draws_thresholds,
    )


def objective_of(sample: EncodedSample) -> Objective:
    """The criterion, for the outputs that there are; the number of classes is padded to a bucket."""
    criterion, num_outputs = sample.recipe.criterion, len(sample.target)
    if isinstance(criterion, NumberCriterion):
        return Numbers(criterion, num_outputs)
    return Classes(class_bucket(max(sample.num_classes)), criterion, num_outputs)


def num_bins_of(widths: _Widths) -> int:
    """The number of bins of all features, padded to a bucket."""
    return bin_bucket(max(int(widths.num_codes.max()), 2))


def decode_thresholds(tree: Tree, schema: Schema, *, on_values: bool = False) -> Tree:
    """Returns a tree of one root, taken from its table, with thresholds in the units of the schema.

    Args:
        tree: The tree.
        schema: What its codes mean.
        on_values: Whether a threshold is the largest training value below the midpoint (C4.5), or the midpoint.
    """
    split = np.flatnonzero(~tree.is_leaf)
    by_threshold = split[tree.split_kind[split] == SplitKind.THRESHOLD]
    codes = (tree.feature[by_threshold], tree.code[by_threshold], tree.next_code[by_threshold])
    threshold = tree.code.astype(np.float64)
    threshold[by_threshold] = schema.value_thresholds(*codes) if on_values else schema.thresholds(*codes)
    # Codes that no row of the node has fall on the side where their values do.
    code = tree.code.copy()
    code[by_threshold] = schema.split_codes(*codes)
    return mark_leaves(dataclasses.replace(tree, code=code, threshold=threshold, num_features=schema.num_features))


def mark_leaves(tree: Tree) -> Tree:
    """The tree with scikit-learn's mark in the splits of leaves."""
    feature = np.where(tree.is_leaf, LEAF_MARK, tree.feature).astype(np.int32)
    return dataclasses.replace(
        tree, feature=feature, threshold=np.where(tree.is_leaf, float(LEAF_MARK), tree.threshold)
    )


def _padded_codes(samples: Sequence[EncodedSample], widths: _Widths) -> UInt[np.ndarray, "feature row"]:
    """The codes of all samples side by side, padded to buckets; those of one sample are not copied if that can be."""
    codes = [_recoded(sample, widths) for sample in samples]
    if len(codes) == 1:
        return pad_codes(codes[0])
    num_rows = sum(part.shape[1] for part in codes)
    return pad_codes(np.concatenate(codes, axis=1, out=empty_codes(len(codes[0]), num_rows, codes[0].dtype)))


def _padded_rows(values: Real[np.ndarray, "*output row"], add_rows: int) -> Real[np.ndarray, "*output padded_row"]:
    """Values with zeros behind them, in an array that XLA does not copy."""
    padded = aligned_zeros((*values.shape[:-1], values.shape[-1] + add_rows), values.dtype)
    padded[..., : values.shape[-1]] = values
    return padded


def _joined(parts: Sequence[Real[np.ndarray, "..."]], axis: int = 0) -> Real[np.ndarray, "..."]:
    """Parts side by side; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _recoded(sample: EncodedSample, widths: _Widths) -> UInt[np.ndarray, "feature row"]:
    """The codes, with a missing value's after all that any sample has."""
    own, codes = own_widths(sample), sample.codes
    codes = codes.astype(np.uint8 if widths.num_values.max() <= 255 else np.uint16, copy=False)
    moved = np.flatnonzero((own.num_values != widths.num_values) & (own.num_codes > own.num_values))
    if moved.size:
        is_missing = codes[moved] == own.num_values[moved, None]
        codes = codes.copy()
        codes[moved] = np.where(is_missing, widths.num_values[moved, None], codes[moved])
    return codes


def decoded(tree: Tree, sample: EncodedSample, widths: _Widths) -> Tree:
    """The tree with the sample's own codes for missing values."""
    own, common = sample.schema.num_values[tree.feature], widths.num_values[tree.feature]
    code, next_code = (np.where(x == common, own, x).astype(np.int32) for x in (tree.code, tree.next_code))
    threshold = np.where(tree.split_kind == SplitKind.THRESHOLD, (code + next_code) / 2, code)
    return dataclasses.replace(
        tree, code=code, next_code=next_code, threshold=threshold, missing_code=own.astype(np.int32)
    )


def as_summed(weights: Sequence[Float64[np.ndarray, " row"] | None], num_rows: int) -> Real[np.ndarray, " row"]:
    """The weights of all samples in the type that growth sums them in."""
    if weights[0] is None:
        return np.ones(num_rows, np.int32)
    weight = _joined([w for w in weights if w is not None])
    is_whole = bool(np.all(weight == np.floor(weight))) and weight.sum() <= MOST_WHOLE_WEIGHT
    return weight.astype(np.int32) if is_whole else weight


def most_nodes(num_rows: int, recipe: Recipe) -> int:
    """Nodes of a binary tree; there is no bound for multiway ones, whose empty branches take nodes too."""
    return min(2 * num_rows, 2 ** (min(int(recipe.limits.max_depth), 30) + 1))


def features_of(schema: Schema, recipe: Recipe, widths: _Widths, padding: int) -> Features:
    """How growth may split the features, with so many behind them that have no codes."""
    kind = np.where(schema.is_categorical, recipe.category_kind, SplitKind.THRESHOLD)
    in_average = ~schema.is_categorical | (schema.num_values < recipe.most_average_categories)
    in_average = in_average if in_average.any() else np.ones_like(in_average)
    apart = schema.first_apart(recipe.closest) if recipe.closest else None
    num_bins = num_bins_of(widths)
    if apart is not None:
        apart = np.pad(apart, ((0, padding), (0, max(num_bins - apart.shape[1], 0))))
    pad = lambda values: np.pad(values, (0, padding))  # noqa: E731
    return Features(
        split_kind=pad(kind.astype(np.int32)),
        num_codes=pad(widths.num_codes),
        num_values=pad(widths.num_values),
        monotone=None if recipe.monotone is None else pad(recipe.monotone.astype(np.int32)),
        in_average=pad(in_average),
        first_apart=apart,
        position=_positions(schema, num_bins, padding) if recipe.draws_thresholds else None,
    )


def _positions(schema: Schema, num_bins: int, padding: int) -> Float64[np.ndarray, "feature code"]:
    """The middle of every bin, and the codes themselves where a feature has none."""
    position = np.tile(np.arange(num_bins, dtype=np.float64), (schema.num_features + padding, 1))
    for row, feature in zip(position, schema.features, strict=False):
        bins = schema.columns[feature.column].bins
        if bins is not None:
            row[: bins.num_bins] = bins.low / 2 + bins.high / 2
    return position


def trimmed(tree: Tree, num_classes: tuple[int, ...]) -> Tree:
    """The tree without the classes that pad a target."""
    if not num_classes:
        return tree
    columns = [tree.count[:, sum(tree.num_classes[:o]) :][:, :n] for o, n in enumerate(num_classes)]
    return dataclasses.replace(tree, count=np.concatenate(columns, axis=1), num_classes=num_classes)
