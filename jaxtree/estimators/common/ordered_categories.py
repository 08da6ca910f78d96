r"""Columns of many categories: ordered statistics of the target in place of categories.

The *statistic* of a category is the step that its rows would make from a constant, shrunk towards none (Micci-Barreca,
*A preprocessing scheme for high-cardinality categorical attributes*, SIGKDD Explorations 3, 2001):
$-\sum g / (\sum h + a \bar h)$ with the derivatives of the loss there. While trees grow, a row has the statistic of the
rows of its category before it, in a random order, so that its own target is not in it (Prokhorenkova et al.,
*CatBoost*, NeurIPS 2018). A threshold on it becomes a subset of categories when growth is over: those whose statistic,
of all rows, is above.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, UInt, UInt32

from jaxtree.blocks import in_threads, threads_for
from jaxtree.buckets import empty_codes
from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.features import FeatureOptions
from jaxtree.table.binning import Bins, bin_columns, fit_columns
from jaxtree.table.schema import Column, Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.subsets import SharedSubsets, join_subsets, words_of_subsets

Derivatives = tuple[Float64[np.ndarray, " row"], Float64[np.ndarray, " row"]]
"""The first derivative of every row's loss by a score, and the second."""

PRIOR_ROWS = 10.0
"""Rows without a step that every category is taken to have besides its own."""

MOST_BINS = 255
"""Bins of a statistic."""


MANY_WORDS = 64
"""Categories of a column past which trees and forests split it by statistics where `categorical_splits` is "auto"."""

MOST_SCORES = 16
"""Classes that have statistics in trees: those of the greatest weight."""

OF_OTHERS = {"auto": "subset", "ordered": "subset"}
"""How categories are split that do not give way, by `categorical_splits`, where that says something else."""

SEED_OF_TREES = 0
"""The seed of the order of rows in which trees take statistics: it is the same in all trees."""


class Statistic(NamedTuple):
    """One score's statistics of the categories of a feature.

    Attributes:
        feature: The feature of the table.
        bins: The bins of the statistics of rows.
        code_of_category: The bin of every category, and behind these the code of a missing value.
    """

    feature: int
    bins: Bins
    code_of_category: UInt[np.ndarray, " code"]


MOST_AT_ONCE = 2**20
"""Categories and bins that are compared at a time."""


class OrderedCategories:
    """Categories encoded by statistics of the target, and the translation of trees back to categories.

    Args:
        data: The rows of the fit.
        features: How their features may be split.
        statistics: The statistics by feature of growth. Statistics of further scores are features behind all others.
        codes: The codes that growth sees.

    Attributes:
        data: The rows as growth sees them.
        features: How growth may split its features.
    """

    def __init__(
        self,
        data: Dataset,
        features: FeatureOptions,
        statistics: dict[int, Statistic],
        codes: UInt[np.ndarray, "feature row"],
    ):
        self._table, self._statistics = data.schema, statistics
        self.data, self.features = data, features
        if not statistics:
            return
        num_features = max([data.schema.num_features - 1, *statistics]) + 1
        self._place = np.arange(num_features)
        self._place[list(statistics)] = [own.feature for own in statistics.values()]
        of_growth = {"monotone": features.monotone, "sets": features.sets}
        moved = {name: None if values is None else values[self._place] for name, values in of_growth.items()}
        self.features = features._replace(**moved)
        self.data = data._replace(codes=codes, schema=_with_statistics(data.schema, statistics))

    def codes(self, codes: UInt[np.ndarray, "feature row"]) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of other rows, which have the statistics of all rows of their categories."""
        if not self._statistics:
            return codes
        result = codes[self._place].astype(self.data.schema.code_dtype)
        for feature, own in self._statistics.items():
            result[feature] = own.code_of_category[codes[own.feature]]
        return result

    @functools.cached_property
    def _subsets(self) -> UInt32[np.ndarray, "subset word"]:
        """The empty subset, and for every bin of the statistics the categories whose statistic is above it.

        They are few, and each is as wide as the column has categories; so nodes share them.
        """
        above = []
        for own in self._statistics.values():
            code = own.code_of_category[:-1]
            # Some bins at a time: of all bins and categories truth values are eight times as large.
            number = max(MOST_AT_ONCE // max(len(code), 1), 1)
            for first in range(0, own.bins.num_bins, number):
                some = np.arange(first, min(first + number, own.bins.num_bins))
                above.append(words_of_subsets(code > some[:, None]))
        return np.asarray(join_subsets([np.zeros((1, 0), np.uint32), *above]))

    def in_categories(self, tree: Tree) -> Tree:
        """Returns grown trees, whose thresholds are decoded, with subsets of categories in place of statistics."""
        if not self._statistics:
            return tree
        others, is_moved = SharedSubsets.of(tree.subset), np.zeros(len(tree.feature), bool)
        parts = [self._subsets] if tree.subset.shape[1] == 0 else [others.words, self._subsets]
        row, first = others.row.copy(), sum(map(len, parts)) - len(self._subsets) + 1
        for feature, own in self._statistics.items():
            at = np.flatnonzero(~tree.is_leaf & (tree.feature == feature))
            row[at] = first + tree.code[at]
            first += own.bins.num_bins
            is_moved[at] = True
        feature = tree.feature.astype(np.int32)
        # Leaves have no feature of the table.
        feature[~tree.is_leaf] = self._place[feature[~tree.is_leaf]]
        missing_code = tree.missing_code.astype(np.int32)
        missing_code[is_moved] = self._table.num_values[feature[is_moved]]
        return dataclasses.replace(
            tree,
            feature=feature,
            subset=SharedSubsets(row, parts[0] if len(parts) == 1 else join_subsets(parts)),
            split_kind=np.where(is_moved, SplitKind.SUBSET, tree.split_kind).astype(np.int32),
            code=np.where(is_moved, 0, tree.code).astype(np.int32),
            next_code=np.where(is_moved, 0, tree.next_code).astype(np.int32),
            threshold=np.where(is_moved, 0.0, tree.threshold),
            missing_code=missing_code,
            num_features=self._table.num_features,
        )


def order_categories(
    data: Dataset,
    features: FeatureOptions,
    is_ordered: Bool[np.ndarray, " feature"],
    derivatives: Callable[[], Iterable[Derivatives]],
    seed: int,
) -> OrderedCategories:
    """Puts statistics in place of the categories of some features.

    Args:
        data: The rows of the fit.
        features: How their features may be split.
        is_ordered: The features that give way.
        derivatives: Returns those of every score, of the rows of all processes.
        seed: The seed of the order of the rows.
    """
    if not is_ordered.any():
        return OrderedCategories(data, features, {}, data.codes)
    schema, places = data.schema, np.flatnonzero(is_ordered).tolist()
    whole = {place: data.exchange.join(data.codes[place]) for place in places}
    own_rows = data.exchange.own_rows(data.sample.num_rows)
    order = np.random.default_rng(seed).permutation(data.num_rows)
    statistics: dict[int, Statistic] = {}
    of_growth = list(data.codes)
    num_values, num_threads = schema.num_values[places].tolist(), min(threads_for(data.num_rows), len(places))
    for score, of_score in enumerate(derivatives()):
        encode = functools.partial(_encode, derivatives=of_score, order=order, own_rows=own_rows)
        encoded = in_threads(encode, whole.values(), num_values, num_threads=num_threads)
        for place, (bins, code_of_category, codes) in zip(places, encoded, strict=True):
            feature = place if score == 0 else len(of_growth)
            statistics[feature] = Statistic(place, bins, code_of_category)
            of_growth[feature : feature + 1] = [codes]
    dtype = _with_statistics(schema, statistics).code_dtype
    codes = empty_codes(len(of_growth), data.codes.shape[1], dtype)
    for to, own in zip(codes, of_growth, strict=True):
        to[:] = own
    return OrderedCategories(data, features, statistics, codes)


def order_for_trees(
    data: Dataset, features: FeatureOptions, categorical_splits: str = "auto"
) -> tuple[FeatureOptions, OrderedCategories | None]:
    """Puts the shares of classes, or the means, in place of the categories that give way.

    Args:
        data: The rows of the fit.
        features: How their features may be split.
        categorical_splits: Which categories give way: "auto" those of many, "ordered" all, any other word none.

    Returns:
        How the features of growth may be split, and the rows as growth sees them; None if no categories give way.
    """
    least = {"ordered": 0, "auto": MANY_WORDS}.get(categorical_splits, np.inf)
    is_ordered = data.schema.is_categorical & (data.schema.num_values > least)
    if not is_ordered.any():
        return features, None
    ordered = order_categories(data, features, is_ordered, functools.partial(_distances, data), SEED_OF_TREES)
    return ordered.features, ordered


def _distances(data: Dataset) -> Iterator[Derivatives]:
    """The derivatives of the squared distance of every number, or class's indicator, to its mean over the rows."""
    weight = np.ones(data.num_rows) if data.all_weights is None else data.all_weights
    for own in _numbers(data, weight):
        mean = np.average(own, weights=weight)
        yield (mean - own) * weight, weight


def _numbers(data: Dataset, weight: Float64[np.ndarray, " row"]) -> Iterator[Float64[np.ndarray, " row"]]:
    """The numbers of the rows of all processes, or the indicators or shares of their classes; of two classes one."""
    target = data.exchange.join(data.target)
    if not data.num_classes or data.outputs.has_shares:
        yield from target.astype(np.float64)
        return
    for codes, num_classes in zip(target, data.num_classes, strict=True):
        heaviest = np.argsort(-np.bincount(codes, weight, num_classes), kind="stable")
        for label in np.sort(heaviest[:MOST_SCORES])[int(num_classes == 2) :]:
            yield (codes == label).astype(np.float64)


def _encode(
    code: UInt[np.ndarray, " row"],
    num_values: int,
    derivatives: Derivatives,
    order: Int[np.ndarray, " row"],
    own_rows: slice,
) -> tuple[Bins, UInt[np.ndarray, " code"], UInt[np.ndarray, " own_row"]]:
    """The bins of one score's statistics, the code of every category, see `Statistic`, and those of own rows."""
    own, of_category = _statistics(code, num_values, *derivatives, order)
    table = fit_columns([own], MOST_BINS)
    own, bins = own[own_rows], table[0]
    codes = np.empty(len(own), np.uint16)
    bin_columns([own], table, [codes])
    code_of_category = np.append(np.searchsorted(bins.edges, of_category), bins.num_bins)
    return bins, code_of_category.astype(np.uint16), codes


def _statistics(
    code: UInt[np.ndarray, " row"],
    num_values: int,
    gradient: Float64[np.ndarray, " row"],
    curvature: Float64[np.ndarray, " row"],
    order: Int[np.ndarray, " row"],
) -> tuple[Float64[np.ndarray, " row"], Float64[np.ndarray, " category"]]:
    """The statistic of every row, NaN where the category is missing, and that of every category."""
    prior = PRIOR_ROWS * curvature.mean()
    by_category = order[np.argsort(code[order], kind="stable")]
    count = np.bincount(code, minlength=num_values + 1)
    first = np.minimum(np.cumsum(count) - count, len(code) - 1)
    before, whole = [], []
    for values in (gradient, curvature):
        ordered = values[by_category]
        sums = np.cumsum(ordered) - ordered
        before.append(sums - np.repeat(sums[first], count))
        whole.append(np.bincount(code, values, minlength=num_values + 1)[:num_values])
    ordered, of_category = (_step(sums[0], sums[1], prior) for sums in (before, whole))
    ordered[len(code) - count[num_values] :] = np.nan  # rows whose category is missing come last
    own = np.empty_like(ordered)
    own[by_category] = ordered
    return own, of_category


def _step(
    gradient: Float64[np.ndarray, " sum"], curvature: Float64[np.ndarray, " sum"], prior: float
) -> Float64[np.ndarray, " sum"]:
    total = curvature + prior
    return np.where(total > 0, -gradient / np.where(total > 0, total, 1), 0.0)


def _with_statistics(schema: Schema, statistics: dict[int, Statistic]) -> Schema:
    """The schema of growth: numbers in place of the categories, and behind all the numbers of further scores."""
    columns = {}
    for feature, own in sorted(statistics.items()):
        replaced = schema.columns[own.feature]
        columns[feature] = Column(replaced.name, "numeric", (), own.bins, replaced.has_missing)
    return schema.with_columns(columns)
