"""From codes to trees and forests: growth with all sizes padded to buckets, and thresholds in the table's units."""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float64, PRNGKeyArray, Real, Shaped, UInt, UInt32

from jaxtree import buckets, keys
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.exchange import SharedExchange
from jaxtree.dataset.magnitude import Magnitude, restore_weights, weight_exponent_of
from jaxtree.devices import current_platform
from jaxtree.errors import present
from jaxtree.estimators.common.exact_sums import are_far_apart, values_of_codes, with_exact_sums
from jaxtree.estimators.common.features import FeatureOptions, Widths, features_of, widths_of
from jaxtree.estimators.common.indicators import CategoryIndicators
from jaxtree.estimators.common.ordered_categories import OrderedCategories
from jaxtree.forests.forest import Course, Rows, Sampling, grow_forest, sampler_of
from jaxtree.growth.inputs.bundles import Data, Limits, Missing, Rules, Sizes
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.growth.loop.grow import grow_until_it_fits
from jaxtree.growth.native import engine_of
from jaxtree.heap import give_back_freed
from jaxtree.kernels.choose import Engine
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree, take_tree
from jaxtree.tree.forest import Forest, join_trees

MOST_WHOLE_WEIGHT = 2**31 - 1
"""Whole-number weights up to this sum are added as they are, others in fixed point."""

LEAF_MARK = -2
"""scikit-learn's mark of a leaf in `feature` and `threshold`; no code of ours reads it."""

LIMITS_OF_WEIGHT = ("min_weight_leaf", "min_samples_split", "min_samples_leaf")
"""The limits in the unit of weights, where rows count their weights."""


class Recipe(NamedTuple):
    """How an estimator wants its tree grown.

    Attributes:
        rules: How splits are scored, chosen and made.
        limits: When nodes are not split.
        features: How features may be split.
        key: The key of what is drawn, on the host; see `jaxtree.keys`.
        on_values: Whether thresholds are values of the table.
        search: Finds trees in another way than by growth; None grows them.
        ordered: The rows as growth sees them where categories have given way to statistics or indicators; None if
            none have.
    """

    rules: Rules
    limits: Limits
    features: FeatureOptions = FeatureOptions()
    key: UInt32[np.ndarray, "2"] | None = None
    on_values: bool = False
    search: "TreeFinder | None" = None
    ordered: OrderedCategories | CategoryIndicators | None = None


class TreeFinder(Protocol):
    """Finds the trees of datasets."""

    def kind(self, task: "GrowthTask") -> Hashable:
        """Returns what tasks have in common whose trees one search finds."""
        ...

    def find(self, tasks: Sequence["GrowthTask"]) -> list[Tree]:
        """Returns the trees of tasks of one kind, each by the finder of its own recipe."""
        ...


class GrowthTask(NamedTuple):
    """A tree to be grown, or a forest.

    Attributes:
        data: The rows.
        recipe: How to grow.
    """

    data: Dataset
    recipe: Recipe

    def with_weights_of_usual_size(self) -> "tuple[GrowthTask, int]":
        """Returns the task with very large or small weights, and limits in their unit, divided by a power of two.

        Its exponent is the second, 0 for weights of usual size. A search divides weights itself: its penalties and its
        objective have their unit.
        """
        data, recipe = self
        if data.exchange.is_shared or recipe.search is not None or not (exponent := weight_exponent_of(data.weight)):
            return self, 0
        weights = ("min_weight_leaf",) if recipe.rules.counts_rows else LIMITS_OF_WEIGHT
        limits = {name: np.ldexp(np.float64(getattr(recipe.limits, name)), -exponent) for name in weights}
        data = data if recipe.ordered is None else recipe.ordered.data
        recipe = recipe._replace(limits=recipe.limits._replace(**limits), ordered=None)
        return GrowthTask(data.with_weight(np.ldexp(present(data.weight), -exponent)), recipe), exponent


def grow_tables(tasks: Sequence[GrowthTask], mesh: Mesh | None = None) -> list[Tree]:
    """Grows one tree on each dataset; the thresholds are codes.

    Tasks that ask for the same kind of growth are roots of one, such as the folds of a cross-validation. Each tree has
    the bits of the one that its task gives alone: what is summed in fixed point, whose unit follows from all rows of a
    growth, is grown apart. With a mesh, rows are divided among its devices.
    """
    groups: dict[Hashable, list[int]] = {}
    usual: list[GrowthTask] = []
    exponents: list[int] = []
    grown: list[Any] = [None] * len(tasks)
    num_rows = 0
    for number, given in enumerate(tasks):
        task, exponent = given.with_weights_of_usual_size()
        if task.recipe.ordered is not None:
            task = task._replace(data=task.recipe.ordered.data)
        search, kind = task.recipe.search, None
        if search:
            kind = search.kind(task)
        elif len(tasks) > 1:
            kind = _kind_of_growth(task) if _adds_whole_numbers(task, len(tasks)) else number
        groups.setdefault((search is None, kind), []).append(number)
        usual.append(task)
        exponents.append(exponent)
        num_rows += task.data.sample.num_rows
    give_back_freed(num_rows)
    for members in groups.values():
        own = list(map(usual.__getitem__, members))
        search = own[0].recipe.search
        for number, tree in zip(members, search.find(own) if search else _grow_roots(own, mesh), strict=True):
            grown[number] = restore_weights(_with_exact_sums(tree, usual[number]), exponents[number])
    return grown


def _with_exact_sums(tree: Tree, task: GrowthTask) -> Tree:
    """Returns the tree of a dataset, of targets that are far apart with exact sums."""
    data, objective = task.data, task.recipe.rules.objective
    if data.exchange.is_shared or not isinstance(objective, Numbers) or not are_far_apart(data.target):
        return tree
    weight = np.ones(data.target.shape[1]) if data.weight is None else data.weight
    return with_exact_sums(tree, values_of_codes(data.codes, data.schema), data.target, weight, objective)


def _kind_of_growth(task: GrowthTask) -> Hashable:
    """Returns what tasks must have in common to be roots of one growth."""
    data, schema = task.data, task.data.schema
    features = features_of(schema, task.recipe.features, widths_of([schema]), 0)
    # Thresholds need no common number of bins: codes past a feature's own never occur.
    of_categories = np.where(schema.is_categorical, (schema.num_values, schema.num_codes), -1)
    has_missing = bool(np.any(schema.num_codes > schema.num_values))
    arrays = (of_categories, *features._replace(num_codes=None, num_values=None))
    statics = (data.num_classes, data.weight is None, has_missing, task.recipe.rules)
    return statics, tuple(None if x is None else (x.shape, x.tobytes()) for x in arrays)


def _adds_whole_numbers(task: GrowthTask, num_tasks: int) -> bool:
    """Returns whether sums of a task are whole numbers as they are, with those of this many tasks in one growth."""
    data, rules = task.data, task.recipe.rules
    has_missing = bool(np.any(data.schema.num_codes > data.schema.num_values))
    shares_rows = has_missing and rules.missing == Missing.FRACTION
    if not rules.objective.classes or rules.objective.has_fractions or shares_rows:
        return False
    return data.weight is None or _are_whole(data.weight, MOST_WHOLE_WEIGHT / num_tasks)


def _are_whole(weight: Float64[np.ndarray, " row"], most: float) -> bool:
    """Whether weights are whole numbers with a sum of at most this."""
    return bool(np.all(weight == np.floor(weight))) and weight.sum() <= most


def _joined_data(tasks: Sequence[GrowthTask], widths: Widths, *, pads: bool) -> tuple[Data, Magnitude]:
    """Returns the rows of datasets whose features are the same, except for the number of bins; perhaps in buckets."""
    first, root = tasks[0].data, None
    codes, target, weight = first.codes, first.target, first.weight
    if len(tasks) > 1:
        datasets = [task.data for task in tasks]
        sizes = [data.codes.shape[1] for data in datasets]
        root = np.repeat(np.arange(len(datasets), dtype=np.int32), sizes)
        common = [_with_common_codes(data, widths) for data in datasets]
        whole = buckets.empty_codes(len(codes), len(root), common[0].dtype) if pads else None
        codes = np.concatenate(common, axis=1, out=whole)
        target = np.concatenate([data.target for data in datasets], axis=1)
        weight = None if weight is None else np.concatenate([present(data.weight) for data in datasets])
    magnitude = Magnitude.of(target, tasks[0].recipe.rules.objective)
    target = magnitude.divide(target) if magnitude.exponent else target
    weight = as_summed(weight, codes.shape[1])
    if pads:
        # The padding of codes and targets has weight 0.
        codes = buckets.pad_codes(codes)
        target, weight = (padded_rows(values, codes.shape[1]) for values in (target, weight))
        root = None if root is None else padded_rows(root, codes.shape[1])
    return Data(codes, target, weight, root=root), magnitude


def _divided(own: Dataset, exchange: SharedExchange) -> Data:
    """Returns the rows of all processes on the mesh, of which the dataset has this process's.

    Every process has as many rows as any other, with padding of weight 0.
    """
    codes = buckets.pad_codes(own.codes)
    size = exchange.rows_with_padding(codes.shape[1])

    def place(values: Shaped[np.ndarray, "*axis row"]) -> jax.Array:
        return exchange.place(values, size)

    weight = np.ones(own.codes.shape[1]) if own.weight is None else own.weight
    # Types of 64 bits stay as they are whatever the user's setting.
    with jax.enable_x64(True):
        summed = as_summed(own.all_weights, own.num_rows).dtype
        return Data(*map(place, (codes, own.target, weight.astype(summed))))


def _grow_roots(tasks: Sequence[GrowthTask], mesh: Mesh | None) -> list[Tree]:
    """Grows tasks of one kind as roots of one growth.

    Args:
        tasks: The tasks; over several processes one, of which each process has a part of the rows.
        mesh: Devices to divide the rows among.
    """
    first, recipe = tasks[0]
    schemas = [task.data.schema for task in tasks]
    widths = widths_of(schemas)
    engine = engine_of(recipe.rules, current_platform(), mesh, on_host=True)
    if isinstance(first.exchange, SharedExchange):
        data, magnitude = _divided(first, first.exchange), Magnitude()
    else:
        data, magnitude = _joined_data(tasks, widths, pads=engine is not Engine.HOST)
    weight, limits, most_nodes = present(data.weight), [], 0
    for own in tasks:
        limits.append(magnitude.scale(own.recipe.limits) if magnitude.exponent else own.recipe.limits)
        # Multiway trees have no bound, for empty branches take nodes, too.
        most_nodes += min(2 * own.data.num_rows, 2 ** (min(int(own.recipe.limits.max_depth), 30) + 1))
    num_classes = first.num_classes
    capacity = buckets.capacity_bucket(most_nodes, max(num_classes, default=0))
    padding = len(data.codes) - len(first.codes)
    table = grow_until_it_fits(
        data,
        features_of(first.schema, recipe.features, widths, padding),
        limits[0] if len(limits) == 1 else Limits(*map(np.array, zip(*limits, strict=True))),
        recipe.rules,
        Sizes(widths.num_bins, capacity, len(tasks), entry_capacity=2 * weight.size),
        engine=engine,
        root_seed=None if recipe.key is None else _seeds([t.recipe.key for t in tasks if t.recipe.key is not None]),
        mesh=mesh,
    )
    # On the host the table of one tree has no other nodes than its own, in breadth-first order.
    is_alone, trees = engine is Engine.HOST and len(tasks) == 1, []
    for root, schema in enumerate(schemas):
        tree = _of_dataset(table if is_alone else take_tree(table, root=root), schema, widths, num_classes)
        trees.append(magnitude.restore(tree) if magnitude.exponent else tree)
    return trees


def _seeds(own: Sequence[UInt32[np.ndarray, "2"]]) -> UInt32[np.ndarray, " root"]:
    """Returns the seed of what each tree draws, from its key: as if it grew alone."""
    return keys.bits(keys.fold_in(np.stack(own), 0))


def grow_sample(task: GrowthTask, sampling: Sampling, *, key: PRNGKeyArray, trees: range, course: Course) -> Forest:
    """Grows some trees of a key's forest on a dataset, with all sizes padded to buckets; thresholds are codes."""
    # Draws count rows, whatever their weights are.
    (data, recipe), weight_exponent = task.with_weights_of_usual_size() if sampling.num_draws is None else (task, 0)
    data = data if recipe.ordered is None else recipe.ordered.data
    rows = rows_of(data)
    give_back_freed(rows.num_rows)
    magnitude = Magnitude.of(data.target, recipe.rules.objective)
    with_thresholds = functools.partial(between_values, schema=data.schema)
    forest = grow_forest(
        rows._replace(target=magnitude.divide(rows.target), with_thresholds=with_thresholds),
        features_of(data.schema, recipe.features, widths_of([data.schema]), 0),
        magnitude.scale(recipe.limits),
        sampling,
        recipe.rules,
        key=key,
        trees=trees,
        course=course,
    )
    nodes, num_classes = restore_weights(magnitude.restore(forest.nodes), weight_exponent), data.num_classes
    count = np.ascontiguousarray(_own_counts(nodes, num_classes))
    grown = Forest(dataclasses.replace(nodes, count=count, num_classes=num_classes), forest.first_node)
    if not isinstance(recipe.rules.objective, Numbers) or not are_far_apart(data.target):
        return grown
    drawing = sampler_of(rows, sampling, key)
    weight = np.ones(rows.num_rows) if data.weight is None else data.weight
    values = values_of_codes(data.codes, data.schema)
    exact = []
    for number, tree in zip(trees, grown, strict=False):
        drawn = weight if drawing is None else drawing.draw_counts(number, 1)[0]
        exact.append(with_exact_sums(tree, values, data.target, drawn, recipe.rules.objective))
    return join_trees(exact)


def rows_of(data: Dataset) -> Rows:
    """Returns a dataset as growth of forests takes it."""
    num_classes = buckets.class_bucket(max(data.num_classes)) if data.num_classes else 0
    return Rows(data.codes, data.target, num_classes, widths_of([data.schema]).num_bins, data.weight)


def between_values(tree: Tree, schema: Schema) -> Tree:
    """Returns a tree with thresholds behind the last code whose values lie below them, see `decode_thresholds`."""
    by_threshold = np.flatnonzero(~tree.is_leaf & (tree.split_kind == SplitKind.THRESHOLD))
    threshold = tree.threshold.copy()
    _, last = schema.splits(*(values[by_threshold] for values in (tree.feature, tree.code, tree.next_code)))
    threshold[by_threshold] = last + 0.5
    return dataclasses.replace(tree, threshold=threshold)


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
    return mark_leaves(tree, threshold=threshold, code=code, num_features=schema.num_features)


def mark_leaves(tree: Tree, **fields: Any) -> Tree:
    """Returns the tree, perhaps with other fields, with scikit-learn's mark in the splits of leaves."""
    leaf = tree.is_leaf
    feature = np.where(leaf, LEAF_MARK, tree.feature).astype(np.int32)
    threshold = np.where(leaf, float(LEAF_MARK), fields.pop("threshold", tree.threshold))
    return dataclasses.replace(tree, feature=feature, threshold=threshold, **fields)


def as_summed(weight: Float64[np.ndarray, " row"] | None, num_rows: int) -> Real[np.ndarray, " row"]:
    """Returns the weights of rows in the type that growth sums them in."""
    if weight is None:
        return np.ones(num_rows, np.int32)
    return weight.astype(np.int32) if _are_whole(weight, MOST_WHOLE_WEIGHT) else weight


def _with_common_codes(data: Dataset, widths: Widths) -> UInt[np.ndarray, "feature row"]:
    """Returns the codes, with a missing value's after all that any dataset has."""
    own, codes = data.schema.num_values, data.codes
    codes = codes.astype(np.uint8 if widths.num_values.max() <= 255 else np.uint16, copy=False)
    moved = np.flatnonzero((own != widths.num_values) & (data.schema.num_codes > own))
    if moved.size:
        is_missing = codes[moved] == own[moved, None]
        codes = codes.copy()
        codes[moved] = np.where(is_missing, widths.num_values[moved, None], codes[moved])
    return codes


def _of_dataset(tree: Tree, schema: Schema, widths: Widths, num_classes: tuple[int, ...]) -> Tree:
    """Returns a tree of common widths with its dataset's own codes for missing values, and its own classes."""
    own = schema.num_values[tree.feature]
    fields: dict[str, Any] = {"missing_code": own, "count": _own_counts(tree, num_classes), "num_classes": num_classes}
    if schema.num_values is not widths.num_values:
        common = widths.num_values[tree.feature]
        code, next_code = (np.where(x == common, own, x).astype(np.int32) for x in (tree.code, tree.next_code))
        threshold = np.where(tree.split_kind == SplitKind.THRESHOLD, (code + next_code) / 2, code)
        fields |= {"code": code, "next_code": next_code, "threshold": threshold}
    return dataclasses.replace(tree, **fields)


def padded_rows(values: Real[np.ndarray, "*output row"], num_rows: int) -> Real[np.ndarray, "*output padded_row"]:
    """Returns values with zeros behind them, in an array that XLA does not copy."""
    padded = buckets.aligned_zeros((*values.shape[:-1], num_rows), values.dtype)
    padded[..., : values.shape[-1]] = values
    return padded


def _own_counts(tree: Tree, num_classes: tuple[int, ...]) -> Real[np.ndarray, "node class"]:
    """Returns the weights of classes without those that pad a target; of one output as a view."""
    if num_classes == tree.num_classes:
        return tree.count
    if len(num_classes) == 1:
        return tree.count[:, : num_classes[0]]
    padded = np.split(tree.count, np.cumsum(tree.num_classes[:-1]), axis=1)
    return np.concatenate([own[:, :number] for own, number in zip(padded, num_classes, strict=True)], axis=1)
