"""From codes to a tree in original units: growth with all sizes padded to buckets."""

import dataclasses
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float64, Int, PRNGKeyArray, Real, UInt

from jaxtree.buckets import bin_bucket, capacity_bucket, class_bucket, feature_bucket, row_bucket
from jaxtree.growth.criteria import Criterion, NumberCriterion, gini
from jaxtree.growth.grow import grow_completely
from jaxtree.growth.inputs import Features, Limits
from jaxtree.growth.rules import Missing, Selection
from jaxtree.growth.units import in_original_units
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree, take_tree

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""


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


def grow_table(
    codes: UInt[np.ndarray, "feature row"],
    schema: Schema,
    target: Real[np.ndarray, "output row"],
    num_classes: tuple[int, ...],
    weight: Float64[np.ndarray, " row"] | None,
    recipe: Recipe,
) -> Tree:
    """Grows one tree on an encoded table; its thresholds are codes.

    Args:
        codes: The codes.
        schema: What they mean.
        target: Classes or numbers.
        num_classes: The number of classes of every output; empty for numbers.
        weight: The weight of every row; None is 1.
        recipe: How to grow.
    """
    num_features, num_rows = codes.shape
    add_rows = row_bucket(num_rows) - num_rows
    features = _features(schema, recipe, feature_bucket(num_features) - num_features)
    # The padding of codes and targets has weight 0.
    padded_weight = np.pad(_as_summed(weight, num_rows), (0, add_rows))
    # Grown in float64 whatever the user's setting: a fitted tree lies on the host.
    with jax.enable_x64(True):
        tree = grow_completely(
            np.pad(codes, ((0, feature_bucket(num_features) - num_features), (0, add_rows))),
            np.pad(target, ((0, 0), (0, add_rows))),
            padded_weight,
            features,
            recipe.limits,
            num_classes=class_bucket(max(num_classes)) if num_classes else 0,
            num_bins=bin_bucket(max(int(schema.num_codes.max()), 2)),
            capacity=_capacity(num_rows, recipe.limits),
            entry_capacity=2 * padded_weight.size,
            criterion=recipe.criterion,
            missing=recipe.missing,
            selection=recipe.selection,
            counts_rows=recipe.counts_rows and weight is not None,
            draws_features=recipe.draws_features,
            draws_thresholds=recipe.draws_thresholds,
            key=recipe.key,
        )
        return _trimmed(take_tree(tree), num_classes)


def in_units(tree: Tree, schema: Schema, recipe: Recipe) -> Tree:
    """The tree with thresholds in the units of the table."""
    return in_original_units(tree, schema, on_values=recipe.on_values)


def _as_summed(weight: Float64[np.ndarray, " row"] | None, num_rows: int) -> Real[np.ndarray, " row"]:
    """The weights in the type that growth sums them in."""
    if weight is None:
        return np.ones(num_rows, np.int32)
    is_whole = bool(np.all(weight == np.floor(weight))) and weight.sum() <= MOST_WHOLE_WEIGHT
    return weight.astype(np.int32) if is_whole else weight


def _capacity(num_rows: int, limits: Limits) -> int:
    """Nodes of a binary tree; there is no bound for multiway ones, whose empty branches take nodes too."""
    return capacity_bucket(min(2 * num_rows, 2 ** (min(int(limits.max_depth), 30) + 1)))


def _features(schema: Schema, recipe: Recipe, padding: int) -> Features:
    kind = np.where(schema.is_categorical, recipe.category_kind, SplitKind.THRESHOLD)
    in_average = ~schema.is_categorical | (schema.num_values < recipe.most_average_categories)
    in_average = in_average if in_average.any() else np.ones_like(in_average)
    apart = schema.first_apart(recipe.closest) if recipe.closest else None
    num_bins = bin_bucket(max(int(schema.num_codes.max()), 2))
    if apart is not None:
        apart = np.pad(apart, ((0, padding), (0, max(num_bins - apart.shape[1], 0))))
    pad = lambda values: np.pad(values, (0, padding))  # noqa: E731
    return Features(
        split_kind=pad(kind.astype(np.int32)),
        num_codes=pad(schema.num_codes),
        num_values=pad(schema.num_values),
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


def _trimmed(tree: Tree, num_classes: tuple[int, ...]) -> Tree:
    """The tree without the classes that pad a target."""
    if not num_classes:
        return tree
    columns = [tree.count[:, sum(tree.num_classes[:o]) :][:, :n] for o, n in enumerate(num_classes)]
    return dataclasses.replace(tree, count=np.concatenate(columns, axis=1), num_classes=num_classes)
