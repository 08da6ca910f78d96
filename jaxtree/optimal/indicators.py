"""Indicators: the questions that a tree may ask, each a column of zeros and ones over the rows.

A *group* holds indicators of one feature that need one code a row. In a nested group indicator t is 1 where the code is
at most t: thresholds. In any other it is 1 where the code is t: one category against the rest, or one set of them.
Indicators that divide the rows in the same way are merged: the first of them stays.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64, UInt, UInt16

from jaxtree.tree import SplitKind

PIECES, BITS_OF_PIECE = 4, 26
"""The fingerprint of a set of rows is 4 sums of random numbers of 26 bits, which float64 adds exactly."""


class Indicators(NamedTuple):
    """The indicators of a table.

    Attributes:
        codes: The code of every row in every group.
        first: The first indicator of every group, and the number of all.
        is_nested: Whether indicator t of a group is `code <= t`, or `code == t`.
        feature: The feature of an indicator.
        code: The code of its split, see `SplitKind`.
        kind: The kind of its split.
        missing_branch: The branch of a missing value.
    """

    codes: UInt16[np.ndarray, "group row"]
    first: Int32[np.ndarray, " group_and_end"]
    is_nested: Bool[np.ndarray, " group"]
    feature: Int32[np.ndarray, " indicator"]
    code: Int32[np.ndarray, " indicator"]
    kind: Int32[np.ndarray, " indicator"]
    missing_branch: Int32[np.ndarray, " indicator"]

    @property
    def number(self) -> int:
        """How many indicators there are."""
        return self.feature.size

    @property
    def group(self) -> Int32[np.ndarray, " indicator"]:
        """The group of every indicator."""
        return np.repeat(np.arange(len(self.codes), dtype=np.int32), np.diff(self.first))

    @property
    def place(self) -> Int32[np.ndarray, " indicator"]:
        """The number of every indicator in its group."""
        return (np.arange(self.number) - self.first[self.group]).astype(np.int32)

    def column(self, indicator: int) -> Bool[np.ndarray, " row"]:
        """Returns whether an indicator is 1, for every row."""
        group, place = int(self.group[indicator]), int(self.place[indicator])
        codes = self.codes[group]
        return codes <= place if self.is_nested[group] else codes == place

    def sums(self, values: Int64[np.ndarray, " row"]) -> Int64[np.ndarray, " indicator"]:
        """Returns the sum of the values of the rows where every indicator is 1; sums of less than 2**53."""
        sums = np.zeros(self.number, np.int64)
        for group, codes in enumerate(self.codes):
            first, end = self.first[group : group + 2]
            own = np.bincount(codes, values, minlength=end - first + 1)[: end - first].astype(np.int64)
            sums[first:end] = np.cumsum(own) if self.is_nested[group] else own
        return sums

    def inside_branch(self, indicator: int) -> int:
        """Returns the branch of the rows where an indicator is 1."""
        return 0 if self.kind[indicator] == SplitKind.THRESHOLD else 1


class _Group(NamedTuple):
    """A group before merging: `split` are the codes of its splits, in the order of `place`."""

    codes: Int[np.ndarray, " row"]
    split: Int[np.ndarray, " place"]
    is_nested: bool
    feature: int
    kind: SplitKind
    missing_branch: int


def make_indicators(
    codes: UInt[np.ndarray, "feature row"],
    num_values: Int32[np.ndarray, " feature"],
    is_categorical: Bool[np.ndarray, " feature"],
    cuts: list[Int[np.ndarray, " _cut"]],
    *,
    learns_missing: bool = True,
) -> Indicators:
    """Returns the indicators of a table, in the order of features, of the branch of missing values, and of codes.

    Args:
        codes: The code of every feature in every row; the number of a feature's values for a missing one.
        num_values: The number of values of every feature.
        is_categorical: Whether a feature is split by one code and the rest, or by thresholds.
        cuts: The codes by which every feature may be split; of one that is not categorical, the last on the left.
        learns_missing: Whether missing values may go to either branch, or are a value above (or beside) all others.
    """
    groups = []
    for feature, own in enumerate(codes):
        missing = own == num_values[feature]
        own = own.astype(np.int64)
        of_feature = _of_categories if is_categorical[feature] else _of_thresholds
        groups += of_feature(feature, own, cuts[feature], int(num_values[feature]), missing if missing.any() else None)
    if not learns_missing:
        groups = [group for group in groups if group.missing_branch == _branch_of_its_own(group, num_values)]
    return _merged(groups, codes.shape[1])


def _branch_of_its_own(group: _Group, num_values: Int32[np.ndarray, " feature"]) -> int:
    is_missing = group.split.size == 1 and group.split[0] == num_values[group.feature]
    return int(group.kind == SplitKind.THRESHOLD or is_missing)


def _of_thresholds(feature, codes, cuts, num_values, missing) -> list[_Group]:
    """Groups of thresholds: missing values to the right, which includes known against missing, or to the left."""
    kind = SplitKind.THRESHOLD
    if missing is None:
        return [_Group(codes, cuts[cuts < num_values - 1], True, feature, kind, 1)]
    right = np.union1d(cuts, [num_values - 1])
    left = _Group(np.where(missing, -1, codes), cuts[cuts < num_values - 1], True, feature, kind, 0)
    return [_Group(codes, right, True, feature, kind, 1), left]


def _of_categories(feature, codes, cuts, num_values, missing) -> list[_Group]:
    """Groups of one category and the rest: missing values among the rest, with the category, or alone."""
    kind = SplitKind.ONE_VS_REST
    with_rest = _Group(codes, cuts, False, feature, kind, 0)
    if missing is None:
        return [with_rest]
    with_one = [
        _Group(np.where(missing | (codes == cut), cut, num_values), np.array([cut]), False, feature, kind, 1)
        for cut in cuts.tolist()
    ]
    return [with_rest, *with_one, _Group(codes, np.array([num_values]), False, feature, kind, 1)]


def _merged(groups: list[_Group], num_rows: int) -> Indicators:
    """Joins the groups without the indicators that repeat an earlier one or are the same in all rows."""
    random = np.random.default_rng(0)
    keys = random.integers(0, 2**BITS_OF_PIECE, (PIECES, num_rows)).astype(np.float64)
    whole = tuple(keys.sum(axis=1).astype(np.int64).tolist())
    seen = {whole, (0,) * PIECES}
    kept = []
    for group in groups:
        is_new = np.zeros(group.split.size, bool)
        for place, mark in enumerate(map(tuple, _fingerprints(group, keys).tolist())):
            is_new[place] = mark not in seen
            seen |= {mark, tuple(all_rows - own for all_rows, own in zip(whole, mark, strict=True))}
        if is_new.any():
            kept.append(group._replace(split=group.split[is_new]))
    return _joined(kept, num_rows)


def _fingerprints(group: _Group, keys) -> Int64[np.ndarray, "place piece"]:
    """The sums of the keys of the rows where every indicator of a group is 1."""
    place, size = _places(group), group.split.size
    sums = np.stack([np.bincount(place, own, minlength=size + 1)[:size] for own in keys], axis=1).astype(np.int64)
    return np.cumsum(sums, axis=0) if group.is_nested else sums


def _places(group: _Group) -> Int64[np.ndarray, " row"]:
    """The code of every row in its group: the first indicator that is 1 there, or the number of all."""
    place = np.searchsorted(group.split, group.codes)
    if group.is_nested or group.split.size == 0:
        return place
    found = group.split[np.minimum(place, group.split.size - 1)] == group.codes
    return np.where(found, place, group.split.size)


def _joined(groups: list[_Group], num_rows: int) -> Indicators:
    sizes = [group.split.size for group in groups]
    names = ("feature", "kind", "missing_branch")
    feature, kind, missing_branch = (np.repeat([int(getattr(g, n)) for g in groups], sizes) for n in names)
    return Indicators(
        codes=np.array([_places(group) for group in groups], np.uint16).reshape(len(groups), num_rows),
        first=np.cumsum([0, *sizes]).astype(np.int32),
        is_nested=np.array([group.is_nested for group in groups], bool),
        feature=feature.astype(np.int32),
        code=np.concatenate([np.zeros(0, np.int32), *(group.split for group in groups)]).astype(np.int32),
        kind=kind.astype(np.int32),
        missing_branch=missing_branch.astype(np.int32),
    )
