"""Cuts: the codes by which features may be split, some at quantiles, then more around those of a tree."""

import numpy as np
from jaxtyping import Float64, Int

from jaxtree.optimal.nodes import CodedTable, SplitNode, split_nodes
from jaxtree.tree import SplitKind

FEWEST_NEW_CUTS = 8
"""New cuts that are tried around each one of the tree, at least."""

Cuts = list[Int[np.ndarray, " _cut"]]


def all_cuts(table: CodedTable) -> Cuts:
    """Returns the codes at which every feature may be split: of a threshold all but the last, of a category all."""
    return [
        np.arange(values if by_category else max(values - 1, 0))
        for values, by_category in zip(table.num_values.tolist(), table.is_categorical, strict=True)
    ]


def spread_cuts(table: CodedTable, whole: Cuts, most: int, weight: Int[np.ndarray, " row"]) -> Cuts:
    """Returns the at most `most` cuts of a feature that divide its weight most evenly; all those of categories stay."""
    cuts = list(whole)
    for feature, own in enumerate(whole):
        if own.size > most and not table.is_categorical[feature]:
            cuts[feature] = own[_spread(_weight_up_to(table, feature, weight), most)]
    return cuts


def _weight_up_to(table: CodedTable, feature: int, weight: Int[np.ndarray, " row"]) -> Float64[np.ndarray, " code"]:
    """The weight of the rows up to every code of a feature, but for missing values."""
    summed = np.bincount(table.codes[feature], weight, minlength=int(table.num_values[feature]) + 1)
    return np.cumsum(summed[: int(table.num_values[feature])])


def _spread(weight_up_to: Float64[np.ndarray, " code"], most: int) -> Int[np.ndarray, " place"]:
    """Returns the places of cuts at `most` quantiles of the weight."""
    quantiles = weight_up_to[-1] * np.arange(1, most + 1) / (most + 1)
    places = np.searchsorted(weight_up_to, quantiles)
    return np.unique(np.minimum(places, weight_up_to.size - 2))


def closer_cuts(cuts: Cuts, whole: Cuts, tree: SplitNode | None, table: CodedTable, most: int) -> Cuts:
    """Returns the cuts of a tree, those evenly between their neighbours, and every second of the others.

    Args:
        cuts: The cuts that were compared.
        whole: All cuts.
        tree: The best tree among them.
        table: The table.
        most: The most new cuts of a feature.
    """
    chosen: dict[int, list[int]] = {}
    for node in split_nodes(tree):
        if node.kind == SplitKind.THRESHOLD and node.code < table.num_values[node.feature] - 1:
            chosen.setdefault(node.feature, []).append(node.code)
    closer = list(cuts)
    for feature, codes in chosen.items():
        own, share = cuts[feature], max(most // len(codes), FEWEST_NEW_CUTS)
        parts = [np.array(codes), own[::2]]
        for code in codes:
            place = int(np.searchsorted(own, code))
            low = own[place - 1] + 1 if place > 0 else 0
            high = own[place + 1] - 1 if place + 1 < own.size else whole[feature][-1]
            parts.append(np.unique(np.linspace(low, high, share).round().astype(np.int64)))
        closer[feature] = np.unique(np.concatenate(parts))
    return closer
