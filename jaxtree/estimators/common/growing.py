"""From codes to trees and forests: growth with all sizes padded to buckets, and thresholds in the table's units."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float64, Int, Int32, PRNGKeyArray, Real, UInt, UInt32

from jaxtree import buckets
from jaxtree.estimators.common.exact_sums import are_far_apart, values_of_codes, with_exact_sums
from jaxtree.estimators.common.magnitude import Magnitude
from jaxtree.forests.forest import Course, Rows, Sampling, drawing_of, grow_forest
from jaxtree.forests.samples import draw_counts
from jaxtree.growth.grow import grow_completely
from jaxtree.growth.inputs import Data, Features, Limits, Rules, Sizes
from jaxtree.growth.standard_objectives import Numbers
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree, take_tree
from jaxtree.tree.forest import Forest, join_trees

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""

LEAF_MARK = -2
"""scikit-learn's mark of a leaf in `feature` and `threshold`; no code of ours reads it."""


class Recipe(NamedTuple):
    """How an estimator wants its tree grown.

    Attributes:
        rules: How splits are scored, chosen and made.
        limits: When nodes are not split.
        category_kind: How categorical features are split.
        monotone: The constraint of every feature, or None.
        key: The key of what is drawn.
        closest: How far apart values must lie to be cut apart.
        most_average_categories: Categorical features of at least so many are left out of C4.5's average gain.
        on_values: Whether thresholds are values of the table.
        sets: The sets that every feature belongs to, a bit each, if only those of one may occur on a path.
        search: Finds trees in another way than by growth; None grows them.
    """

    rules: Rules
    limits: Limits
    category_kind: SplitKind = SplitKind.SUBSET
    monotone: Int[np.ndarray, " feature"] | None = None
    key: PRNGKeyArray | None = None
    closest: float = 0.0
    most_average_categories: float = np.inf
    on_values: bool = False
    sets: UInt32[np.ndarray, "feature word"] | None = None
    search: "TreeFinder | None" = None


class TreeFinder(Protocol):
    """Finds the trees of samples."""

    def kind(self, sample: "EncodedSample") -> Hashable:
        """Returns what samples have in common whose trees one search finds."""
        ...

    def find(self, samples: Sequence["EncodedSample"]) -> list[Tree]:
        """Returns the trees of samples of one kind, each by the finder of its own recipe."""
        ...


class EncodedSample(NamedTuple):
    """A table in codes with its target, and how a tree is to be grown on it.

    Attributes:
        codes: The codes of every feature.
        schema: Their meaning.
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


class Widths(NamedTuple):
    """The number of values of every feature, which is its code for a missing one, and of its codes."""

    num_values: Int32[np.ndarray, " feature"]
    num_codes: Int32[np.ndarray, " feature"]

    @property
    def num_bins(self) -> int:
        """The number of bins of all features, padded to a bucket."""
        return buckets.bin_bucket(max(int(self.num_codes.max()), 2))


def grow_tables(samples: Sequence[EncodedSample], mesh: Mesh | None = None) -> list[Tree]:
    """Grows one tree on each sample; the thresholds are codes.

    Samples that ask for the same kind of growth are roots of one, such as the folds of a cross-validation. Each tree
    is the one that its sample would give alone. With a mesh, rows are divided among its devices.
    """
    groups: dict[Hashable, list[int]] = {}
    trees: dict[int, Tree] = {}
    for number, sample in enumerate(samples):
        search = sample.recipe.search
        kind = (search.kind(sample) if search else _kind_of_growth(sample)) if len(samples) > 1 else None
        groups.setdefault((search is None, kind), []).append(number)
    for members in groups.values():
        own = [samples[number] for number in members]
        search = own[0].recipe.search
        trees.update(zip(members, search.find(own) if search else _grow_alike(own, mesh), strict=True))
    return [_with_exact_sums(trees[number], sample) for number, sample in enumerate(samples)]


def _with_exact_sums(tree: Tree, sample: EncodedSample) -> Tree:
    """Returns the tree of a sample, of targets that are far apart with exact sums."""
    objective = sample.recipe.rules.objective
    if not isinstance(objective, Numbers) or not are_far_apart(sample.target):
        return tree
    weight = np.ones(sample.target.shape[1]) if sample.weight is None else sample.weight
    return with_exact_sums(tree, values_of_codes(sample.codes, sample.schema), sample.target, weight, objective)


def _grow_alike(samples: Sequence[EncodedSample], mesh: Mesh | None) -> list[Tree]:
    """Grows one tree on each of some samples that are roots of one growth."""
    data, magnitude = _joined_data(samples)
    return grow_roots(data, samples, [sample.codes.shape[1] for sample in samples], magnitude, mesh)


def _kind_of_growth(sample: EncodedSample) -> Hashable:
    """Returns what samples must have in common to be roots of one growth."""
    schema = sample.schema
    features = features_of(schema, sample.recipe, widths_of([sample]), 0)
    # Thresholds need no common number of bins: codes past a feature's own never occur.
    of_categories = np.where(schema.is_categorical, (schema.num_values, schema.num_codes), -1)
    has_missing = bool(np.any(schema.num_codes > schema.num_values))
    arrays = (of_categories, *features._replace(num_codes=None, num_values=None))
    statics = (sample.num_classes, sample.weight is None, has_missing, sample.recipe.rules)
    return statics, tuple(None if x is None else (x.shape, x.tobytes()) for x in arrays)


def _joined_data(samples: Sequence[EncodedSample]) -> tuple[Data, Magnitude]:
    """Returns the rows of samples whose features are the same, except for the number of bins, padded to buckets."""
    codes, target = padded_codes(samples), _joined([sample.target for sample in samples], axis=1)
    magnitude = Magnitude.of(target, samples[0].recipe.rules.objective)
    root = np.repeat(np.arange(len(samples), dtype=np.int32), [sample.codes.shape[1] for sample in samples])
    weight = as_summed([sample.weight for sample in samples], root.size)
    # The padding of codes and targets has weight 0.
    target, weight = (padded_rows(values, codes.shape[1]) for values in (magnitude.divide(target), weight))
    root = np.pad(root, (0, codes.shape[1] - root.size)) if len(samples) > 1 else None
    return Data(codes, target, weight, root=root), magnitude


def grow_roots(
    data: Data, samples: Sequence[EncodedSample], num_rows: Sequence[int], magnitude: Magnitude, mesh: Mesh | None
) -> list[Tree]:
    """Grows samples of one kind, each as a root, in arrays that hold their rows.

    Args:
        data: The codes, targets and weights of all samples, padded to buckets.
        samples: The samples; over several processes one, of which `data` has the rows of all.
        num_rows: The number of rows of every sample, in all processes.
        magnitude: The power of two that the targets were divided by.
        mesh: Devices to divide the rows among.
    """
    recipe, widths, weight = samples[0].recipe, widths_of(samples), data.weight
    assert weight is not None
    limits = [magnitude.scale(sample.recipe.limits) for sample in samples]
    most_nodes = sum(_most_nodes(number, sample.recipe) for number, sample in zip(num_rows, samples, strict=True))
    # Grown in float64 whatever the user's setting: a fitted tree lies on the host.
    with jax.enable_x64(True):
        table = grow_completely(
            data,
            features_of(samples[0].schema, recipe, widths, len(data.codes) - len(samples[0].codes)),
            Limits(*(np.array(limit) for limit in zip(*limits, strict=True))),
            recipe.rules,
            Sizes(widths.num_bins, buckets.capacity_bucket(most_nodes), len(samples), entry_capacity=2 * weight.size),
            key=None if recipe.key is None else jnp.stack([s.recipe.key for s in samples if s.recipe.key is not None]),
            mesh=mesh,
        )
        table = jax.tree.map(np.asarray, table)
    trees = (_with_own_codes(take_tree(table, root=n), sample, widths) for n, sample in enumerate(samples))
    return [_trimmed(magnitude.restore(t), sample.num_classes) for t, sample in zip(trees, samples, strict=True)]


def grow_sample(
    encoded: EncodedSample, sampling: Sampling, *, key: PRNGKeyArray, trees: range, course: Course
) -> Forest:
    """Grows some trees of a key's forest on a sample, with all sizes padded to buckets; thresholds are codes."""
    recipe, rows = encoded.recipe, rows_of(encoded)
    magnitude = Magnitude.of(encoded.target, recipe.rules.objective)
    padding = buckets.feature_bucket(len(rows.codes)) - len(rows.codes)
    forest = grow_forest(
        rows._replace(codes=np.pad(rows.codes, ((0, padding), (0, 0))), target=magnitude.divide(rows.target)),
        features_of(encoded.schema, recipe, widths_of([encoded]), padding),
        magnitude.scale(recipe.limits),
        sampling,
        recipe.rules,
        key=key,
        trees=trees,
        course=course,
    )
    grown = Forest(_trimmed(magnitude.restore(forest.nodes), encoded.num_classes), forest.first_node)
    if not isinstance(recipe.rules.objective, Numbers) or not are_far_apart(encoded.target):
        return grown
    drawing = None if sampling.num_draws is None else drawing_of(rows, sampling.num_draws, key)
    weight = np.ones(rows.num_rows) if encoded.weight is None else encoded.weight
    values = values_of_codes(encoded.codes, encoded.schema)
    exact = []
    for number, tree in zip(trees, grown, strict=False):
        drawn = weight if drawing is None else draw_counts(drawing, number, 1)[0]
        exact.append(with_exact_sums(tree, values, encoded.target, drawn, recipe.rules.objective))
    return join_trees(exact)


def rows_of(encoded: EncodedSample) -> Rows:
    """Returns the table of a sample as growth of forests takes it."""
    num_classes = buckets.class_bucket(max(encoded.num_classes)) if encoded.num_classes else 0
    return Rows(encoded.codes, encoded.target, num_classes, widths_of([encoded]).num_bins, encoded.weight)


def features_of(schema: Schema, recipe: Recipe, widths: Widths, padding: int) -> Features:
    """Returns how growth may split the features, with so many behind them that have no codes."""
    kind = np.where(schema.is_categorical, recipe.category_kind, SplitKind.THRESHOLD)
    in_average = ~schema.is_categorical | (schema.num_values < recipe.most_average_categories)
    in_average = in_average if in_average.any() else np.ones_like(in_average)
    apart = schema.first_apart(recipe.closest) if recipe.closest else None
    if apart is not None:
        apart = np.pad(apart, ((0, padding), (0, max(widths.num_bins - apart.shape[1], 0))))
    monotone = None if recipe.monotone is None else recipe.monotone.astype(np.int32)
    per_feature = (kind.astype(np.int32), widths.num_codes, widths.num_values, monotone, in_average)
    padded = (None if values is None else np.pad(values, (0, padding)) for values in per_feature)
    position = _positions(schema, widths.num_bins, padding) if recipe.rules.samples_thresholds else None
    sets = None if recipe.sets is None else np.pad(recipe.sets, ((0, padding), (0, 0)))
    return Features(*padded, first_apart=apart, position=position, sets=sets)


def _positions(schema: Schema, num_bins: int, padding: int) -> Float64[np.ndarray, "feature code"]:
    """Returns the middle of every bin, and the codes themselves where a feature has none."""
    position = np.tile(np.arange(num_bins, dtype=np.float64), (schema.num_features + padding, 1))
    for row, feature in zip(position, schema.features, strict=False):
        bins = schema.columns[feature.column].bins
        if bins is not None:
            row[: bins.num_bins] = bins.low / 2 + bins.high / 2
    return position


def decode_thresholds(tree: Tree, schema: Schema, *, on_values: bool = False) -> Tree:
    """Returns a tree, taken from its table, with thresholds in the units of the schema.

    Args:
        tree: The tree.
        schema: The meaning of its codes.
        on_values: Whether a threshold is the largest training value below the midpoint (C4.5), or the midpoint.
    """
    split = np.flatnonzero(~tree.is_leaf)
    by_threshold = split[tree.split_kind[split] == SplitKind.THRESHOLD]
    codes = (tree.feature[by_threshold], tree.code[by_threshold], tree.next_code[by_threshold])
    threshold, code = tree.code.astype(np.float64), tree.code.copy()
    # Codes that no row of the node has fall on the side where their values do.
    threshold[by_threshold], code[by_threshold] = schema.splits(*codes)
    if on_values:
        threshold[by_threshold] = schema.value_thresholds(*codes)
    return mark_leaves(dataclasses.replace(tree, code=code, threshold=threshold, num_features=schema.num_features))


def mark_leaves(tree: Tree) -> Tree:
    """Returns the tree with scikit-learn's mark in the splits of leaves."""
    feature = np.where(tree.is_leaf, LEAF_MARK, tree.feature).astype(np.int32)
    threshold = np.where(tree.is_leaf, float(LEAF_MARK), tree.threshold)
    return dataclasses.replace(tree, feature=feature, threshold=threshold)


def as_summed(weights: Sequence[Float64[np.ndarray, " row"] | None], num_rows: int) -> Real[np.ndarray, " row"]:
    """Returns the weights of all samples in the type that growth sums them in."""
    if weights[0] is None:
        return np.ones(num_rows, np.int32)
    weight = _joined([w for w in weights if w is not None])
    is_whole = bool(np.all(weight == np.floor(weight))) and weight.sum() <= MOST_WHOLE_WEIGHT
    return weight.astype(np.int32) if is_whole else weight


def _most_nodes(num_rows: int, recipe: Recipe) -> int:
    """Returns the most nodes of a binary tree; multiway ones have no bound, for empty branches take nodes, too."""
    return min(2 * num_rows, 2 ** (min(int(recipe.limits.max_depth), 30) + 1))


def widths_of(samples: Sequence[EncodedSample]) -> Widths:
    """Returns the widths that suit all samples."""
    schemas = [sample.schema for sample in samples]
    num_values = np.max([schema.num_values for schema in schemas], axis=0)
    has_missing = np.any([schema.num_codes > schema.num_values for schema in schemas], axis=0)
    return Widths(num_values, (num_values + has_missing).astype(np.int32))


def padded_codes(samples: Sequence[EncodedSample]) -> UInt[np.ndarray, "feature row"]:
    """Returns the codes of all samples side by side, padded to buckets; of one sample without a copy if possible."""
    codes = [_with_common_codes(sample, widths_of(samples)) for sample in samples]
    if len(codes) == 1:
        return buckets.pad_codes(codes[0])
    whole = buckets.empty_codes(len(codes[0]), sum(part.shape[1] for part in codes), codes[0].dtype)
    return buckets.pad_codes(np.concatenate(codes, axis=1, out=whole))


def _with_common_codes(sample: EncodedSample, widths: Widths) -> UInt[np.ndarray, "feature row"]:
    """Returns the codes, with a missing value's after all that any sample has."""
    own, codes = sample.schema.num_values, sample.codes
    codes = codes.astype(np.uint8 if widths.num_values.max() <= 255 else np.uint16, copy=False)
    moved = np.flatnonzero((own != widths.num_values) & (sample.schema.num_codes > own))
    if moved.size:
        is_missing = codes[moved] == own[moved, None]
        codes = codes.copy()
        codes[moved] = np.where(is_missing, widths.num_values[moved, None], codes[moved])
    return codes


def _with_own_codes(tree: Tree, sample: EncodedSample, widths: Widths) -> Tree:
    """Returns the tree with the sample's own codes for missing values."""
    own, common = sample.schema.num_values[tree.feature], widths.num_values[tree.feature]
    code, next_code = (np.where(x == common, own, x).astype(np.int32) for x in (tree.code, tree.next_code))
    threshold = np.where(tree.split_kind == SplitKind.THRESHOLD, (code + next_code) / 2, code)
    return dataclasses.replace(
        tree, code=code, next_code=next_code, threshold=threshold, missing_code=own.astype(np.int32)
    )


def padded_rows(values: Real[np.ndarray, "*output row"], num_rows: int) -> Real[np.ndarray, "*output padded_row"]:
    """Returns values with zeros behind them, in an array that XLA does not copy."""
    padded = buckets.aligned_zeros((*values.shape[:-1], num_rows), values.dtype)
    padded[..., : values.shape[-1]] = values
    return padded


def _joined(parts: Sequence[Real[np.ndarray, "..."]], axis: int = 0) -> Real[np.ndarray, "..."]:
    """Returns parts side by side; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _trimmed(tree: Tree, num_classes: tuple[int, ...]) -> Tree:
    """Returns the tree without the classes that pad a target."""
    if not num_classes:
        return tree
    columns = [tree.count[:, sum(tree.num_classes[:o]) :][:, :n] for o, n in enumerate(num_classes)]
    return dataclasses.replace(tree, count=np.concatenate(columns, axis=1), num_classes=num_classes)
