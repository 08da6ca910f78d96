"""The terms of a table: one of every column, and those of pairs of columns on coarser bins."""

import enum
import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int32, Int64, UInt

from jaxtree.kernels.layout import Layout, TermKind
from jaxtree.table.schema import Schema


class Heredity(enum.Enum):
    """Which pairs may be terms, given the features that matter by themselves (McCullagh and Nelder's marginality).

    WEAK: pairs of which one feature matters.
    STRONG: pairs of which both do.
    """

    WEAK = "weak"
    STRONG = "strong"


LEAST_PARENT = 0.01
"""The part of the greatest importance that a feature which matters has at least."""


def candidate_pairs(importances: Float64[np.ndarray, " feature"], heredity: Heredity | None) -> list[tuple[int, int]]:
    """Returns the pairs of features that may be terms.

    Args:
        importances: The importance of the main term of every feature.
        heredity: Which features of a pair must matter; None for no condition.

    Example:
        >>> candidate_pairs(np.array([1.0, 0.0, 0.5]), Heredity.STRONG)
        [(0, 2)]
    """
    pairs = list(itertools.combinations(range(len(importances)), 2))
    if heredity is None:
        return pairs
    matters = importances >= LEAST_PARENT * max(importances.max(initial=0.0), np.finfo(float).tiny)
    of_pair = any if heredity is Heredity.WEAK else all
    return [pair for pair in pairs if of_pair(matters[list(pair)])]


def count_rows(codes: UInt[np.ndarray, "feature row"], schema: Schema) -> list[Int64[np.ndarray, " _code"]]:
    """Returns the rows of every code of every feature, that of missing values, the last, included."""
    pairs = zip(codes, schema.num_values.tolist(), strict=True)
    return [np.bincount(own, minlength=number + 1) for own, number in pairs]


def main_terms(
    schema: Schema,
    counts: Sequence[Int64[np.ndarray, " _code"]],
    monotone: Int32[np.ndarray, " feature"],
    min_category_rows: int,
) -> Layout:
    """Returns a term of every feature.

    Categories of few rows share a bin, and their step.

    Args:
        schema: The features.
        counts: The rows of every code of each feature.
        monotone: How the score may go as a feature rises: 1, -1 or 0.
        min_category_rows: The least rows of a category that has a bin of its own.
    """
    bins = np.zeros((schema.num_features, 2, max(map(len, counts))), np.uint16)
    num_bins = np.ones((schema.num_features, 2), np.int32)
    for feature, (count, is_categorical) in enumerate(zip(counts, schema.is_categorical, strict=True)):
        own = np.arange(len(count))
        if is_categorical:
            is_rare = count[:-1] < min_category_rows
            if is_rare.sum() > 1:
                own[:-1] = np.where(is_rare, np.sum(~is_rare), np.cumsum(~is_rare) - 1)
                own[-1] = own[:-1].max() + 1
        bins[feature, 0, : len(own)] = own
        num_bins[feature, 0] = own[-1] + 1
    kind = np.where(schema.is_categorical, TermKind.SUBSET, TermKind.ORDERED).astype(np.int32)
    features = np.stack([np.arange(schema.num_features), np.full(schema.num_features, -1)], axis=1)
    direction = np.where(schema.is_categorical, 0, monotone).astype(np.int32)
    return Layout(kind, features.astype(np.int32), bins, num_bins, direction)


def axis_bins(
    count: Int64[np.ndarray, " code"], num_bins: int, order: Int64[np.ndarray, " known"] | None = None
) -> Int64[np.ndarray, " code"]:
    """Returns coarser bins of the codes of one feature, about as many rows in each; the last is of missing values.

    Args:
        count: The rows of every code.
        num_bins: The most bins, that of missing values included, 2 or more.
        order: The known codes in the order in which they are merged; as they are if not given.

    Example:
        >>> axis_bins(np.array([5, 1, 1, 3, 0]), 3).tolist()
        [0, 1, 1, 1, 2]
    """
    known = len(count) - 1
    order = np.arange(known) if order is None else order
    most = num_bins - 1
    if known <= most:
        place = np.arange(known)
    else:
        rows = count[order]
        # A code belongs where its middle row does.
        middle = np.cumsum(rows) - rows / 2
        share = np.floor(middle * most / max(rows.sum(), 1)).clip(0, most - 1)
        place = np.unique(share, return_inverse=True)[1]
    bins = np.zeros(known + 1, np.int64)
    bins[order] = place
    bins[-1] = place.max(initial=-1) + 1
    return bins


def pair_terms(pairs: Sequence[tuple[int, int]], axes: Sequence[Int64[np.ndarray, " _code"]]) -> Layout:
    """Returns a term of every pair of features.

    Args:
        pairs: The features of each.
        axes: The bin of every code of every feature, see `axis_bins`.
    """
    number, features = len(pairs), np.array(pairs, np.int32).reshape(-1, 2)
    of_axes = np.zeros((len(axes), max(map(len, axes))), np.uint16)
    for own, axis in zip(of_axes, axes, strict=True):
        own[: len(axis)] = axis
    num_bins = np.array([axis[-1] + 1 for axis in axes], np.int32)[features]
    kind, monotone = np.full(number, TermKind.PAIR, np.int32), np.zeros(number, np.int32)
    return Layout(kind, features, of_axes[features], num_bins, monotone)


def leading_values(
    mains: Layout, values: Float64[np.ndarray, "score place"], rows: Int64[np.ndarray, " place"]
) -> Float64[np.ndarray, " place"]:
    """Returns, of every term, the values for the score that it tells most of, by the sum of squares over rows.

    So the bins of pairs do not depend on the order of classes.
    """
    squares = np.add.reduceat(values**2 * rows, mains.first[:-1], axis=1)
    return values[np.repeat(squares.argmax(axis=0), mains.size), np.arange(mains.num_places)]


def coarse_axes(
    codes_of: Sequence[int],
    rows: Int64[np.ndarray, " place"],
    mains: Layout,
    values: Float64[np.ndarray, " place"],
    num_bins: int,
) -> list[Int64[np.ndarray, " _code"]]:
    """Returns the coarser bins of the codes of every feature: numbers in order, categories in that of their values.

    They are made of whole bins of the main terms.

    Args:
        codes_of: The number of codes of every feature, that of missing values included.
        rows: The rows of every bin of the main terms.
        mains: The terms of the features, one each, in order.
        values: Their values.
        num_bins: The most bins of a feature.
    """
    axes = []
    for feature, number in enumerate(codes_of):
        places, order = mains.places(feature), None
        if mains.kind[feature] == TermKind.SUBSET:
            order = np.argsort(values[places][:-1], kind="stable")
        coarse = axis_bins(rows[places], num_bins, order)
        axes.append(coarse[mains.bins[feature, 0, :number]])
    return axes
