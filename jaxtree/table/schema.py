"""The meaning of a table's codes: the way back from codes and splits to words and units.

A *feature* is a row of the codes: that of a column of the user's table. The codes 0, 1, ... are its bins or categories;
the code after the last means missing, and never passes as a value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64, UInt

from jaxtree import notebook
from jaxtree.errors import InvalidInputError, present
from jaxtree.table.binning import Bins, BinTable, first_not_below, midpoint, nearest
from jaxtree.table.names import name_in_words
from jaxtree.table.rare_words import RareWords
from jaxtree.table.times import Days, TimeScale
from jaxtree.table.words import Limit, cell_in_words, range_in_words, value_in_words

MOST_SHOWN = 20
"""The number of columns that a notebook shows."""


@dataclass(frozen=True)
class Column:
    """A column of the user's table.

    Attributes:
        name: Its name in the table, or x0, x1, ... if the table has none.
        kind: "numeric", "ordered", "categorical" or "boolean".
        categories: Its categories in the order of their codes; none if numeric. They are all those that the dtype of
            the fitted column declares, else those seen in fit, in ascending order. The last may be `RareWords`.
        bins: The bins of a numeric column.
        has_missing: Whether a value was missing in fit.
        time: How dates or durations become the numbers of a numeric column; None if it had numbers in fit.
    """

    name: str
    kind: str
    categories: tuple[str | int | float | bool | RareWords, ...]
    bins: Bins | None
    has_missing: bool
    time: TimeScale | None = None

    @property
    def num_values(self) -> int:
        """The number of bins or categories."""
        return self.bins.num_bins if self.bins is not None else len(self.categories)

    @property
    def rare_words(self) -> RareWords | None:
        """The category of all words that have none of their own; None if there is none."""
        last = self.categories[-1] if self.categories else None
        return last if isinstance(last, RareWords) else None

    @property
    def named_categories(self) -> tuple[str | int | float | bool, ...]:
        """Its categories without that of rare words."""
        return tuple(own for own in self.categories if not isinstance(own, RareWords))

    @property
    def unit(self) -> str | None:
        """The unit of the numbers of a column of dates or durations, such as "days since 2020-01-01"; else None."""
        return None if self.time is None else self.time.unit

    def number(self, value: float) -> float:
        """A number of the column that `value_in_words` writes as a date or duration if it is one."""
        return value if self.time is None else Days.of(self.time, value)

    def limit(self, threshold: float) -> Limit:
        """A threshold of a numeric column with the words that separate its values as it does."""
        return Limit.of(present(self.bins), self.time, threshold)

    def in_words(self, value: float) -> str:
        """Writes what `Encoder.values` has for a cell: a number, or the code of a category; NaN is missing."""
        if np.isnan(value):
            return "missing"
        if self.bins is None:
            return value_in_words(self.categories[int(value)])
        return cell_in_words(self.bins, value) if self.time is None else self.time.in_words(value)


class Description(NamedTuple):
    """The parts of a column that plain numbers do not have; see `Column`."""

    kind: str = "numeric"
    categories: tuple[str | int | float | bool | RareWords, ...] = ()
    time: TimeScale | None = None


_PLAIN = Description()


@dataclass(frozen=True, eq=False)
class Columns(Sequence[Column]):
    """The columns of a table, as a sequence: in arrays, from which a `Column` is made where one is asked for.

    So a table of 100,000 columns of numbers is learned and applied without an object for each.

    Attributes:
        names: Their names.
        bins: Their bins; of a column of categories, its codes.
        has_missing: Whether a value was missing in fit.
        described: All further of the columns that are no plain numbers, by their places.

    >>> from jaxtree.table import Encoder
    >>> columns = Encoder().fit([["a", 1.5], ["b", 2.5]]).schema_.columns
    >>> columns.names, [column.kind for column in columns], columns.is_numeric.tolist()
    (('x0', 'x1'), ['categorical', 'numeric'], [False, True])
    """

    names: tuple[str, ...]
    bins: BinTable
    has_missing: Bool[np.ndarray, " column"]
    described: Mapping[int, Description]

    @classmethod
    def of(cls, columns: Iterable[Column]) -> "Columns":
        """Returns columns in arrays."""
        if isinstance(columns, Columns):
            return columns
        given, described, bins = list(columns), {}, []
        for at, column in enumerate(given):
            own = Description(column.kind, column.categories, column.time)
            if own != _PLAIN:
                described[at] = own
            bins.append(column.bins or Bins.of_codes(len(column.categories)))
        has_missing = np.array([column.has_missing for column in given], bool)
        return cls(tuple([column.name for column in given]), BinTable.of(bins), has_missing, described)

    @classmethod
    def joined(
        cls,
        names: tuple[str, ...],
        parts: Sequence[tuple[Int[np.ndarray, " _column"], BinTable, Bool[np.ndarray, " _column"]]],
        described: Mapping[int, Description],
    ) -> "Columns":
        """Returns columns of which parts were learned apart.

        Args:
            names: The names of all.
            parts: The places of some, with their bins, and which of them had missing values.
            described: See `Columns`.
        """
        if len(parts) == 1:
            return cls(names, parts[0][1], parts[0][2], described)
        has_missing = np.zeros(len(names), bool)
        for place, _, own in parts:
            has_missing[place] = own
        places, bins, _ = zip(*parts, strict=True)
        return cls(names, BinTable.joined(places, bins), has_missing, described)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self.names)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Column: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Column, ...]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Column | tuple[Column, ...]:
        """Returns the column at a place, or those of a slice."""
        if isinstance(place, slice):
            return tuple(self[at] for at in range(len(self))[place])
        at = range(len(self))[place]
        own = self.described.get(at, _PLAIN)
        bins = self.bins[at] if own.kind == "numeric" else None
        return Column(self.names[at], own.kind, own.categories, bins, bool(self.has_missing[at]), own.time)

    @cached_property
    def is_numeric(self) -> Bool[np.ndarray, " column"]:
        """Which columns have bins: all of numbers and times."""
        found = np.ones(len(self), bool)
        found[[at for at, own in self.described.items() if own.kind != "numeric"]] = False
        return found

    @cached_property
    def is_plain(self) -> Bool[np.ndarray, " column"]:
        """Which columns are numbers, of which fit has seen some, and no times."""
        found = self.bins.num_bins > 0
        found[list(self.described)] = False
        return found

    def with_columns(self, columns: Mapping[int, Column]) -> "Columns":
        """Returns the columns with others at some places, or behind all."""
        place, given = np.array([*columns], np.int64), Columns.of(columns.values())
        names = dict(enumerate(self.names)) | dict(zip(columns, given.names, strict=True))
        is_own = np.ones(len(names), bool)
        is_own[place] = False
        own = np.flatnonzero(is_own)
        parts = [(own, self.bins.take(own), self.has_missing[own]), (place, given.bins, given.has_missing)]
        described = {at: one for at, one in self.described.items() if is_own[at]}
        described |= {int(place[at]): one for at, one in given.described.items()}
        return Columns.joined(tuple(names.values()), parts, described)

    def __eq__(self, other: object) -> bool:
        """Compares the contents, not the arrays' identity."""
        if not isinstance(other, Columns):
            return NotImplemented
        own = self.names == other.names and self.described == other.described
        return own and np.array_equal(self.has_missing, other.has_missing) and self.bins == other.bins

    def __hash__(self) -> int:
        """Hashes the contents."""
        return hash((self.names, frozenset(self.described.items()), self.has_missing.tobytes(), self.bins))


_Indices = Int[np.ndarray, " node"]
_OfNodes = Float64[np.ndarray, " node"]


@dataclass(frozen=True)
class Schema:
    """The columns of a table, and the meaning of their codes.

    A threshold split of a column sends the codes up to some code to branch 0, all others to branch 1. Its threshold is
    in original units for numeric columns, and in codes for all others. Missing values are above every threshold, also
    above the infinite one that separates known values from missing ones.

    Attributes:
        columns: The columns.
    """

    columns: Columns

    @property
    def num_features(self) -> int:
        """The number of columns."""
        return len(self.columns.names)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns.names

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the names and the kinds of the columns."""
        rows = [
            [own.name, own.kind, range_in_words(own.bins, own.time, own.categories), "yes" * own.has_missing]
            for own in self.columns
        ]
        return notebook.table(["column", "kind", "values", "missing"], rows[:MOST_SHOWN], len(rows) - MOST_SHOWN)

    @cached_property
    def num_codes(self) -> Int32[np.ndarray, " feature"]:
        """The number of codes of every column seen in fit, that of a missing value included."""
        return self.num_values + self.columns.has_missing.astype(np.int32)

    @cached_property
    def num_values(self) -> Int32[np.ndarray, " feature"]:
        """The number of bins or categories of every column, which is also its code for a missing value."""
        return self.columns.bins.num_bins.astype(np.int32)

    @cached_property
    def is_categorical(self) -> Bool[np.ndarray, " feature"]:
        """Which columns are split by category; all others are split by thresholds."""
        found = np.zeros(self.num_features, bool)
        for at, own in self.columns.described.items():
            found[at] = own.kind == "categorical"
        return found

    @cached_property
    def indicators(self) -> tuple[Int64[np.ndarray, " indicator"], Int64[np.ndarray, " indicator"]]:
        """The places of the columns that `one_hot` makes its columns of, and their categories; -1 where it is whole."""
        number = np.where(self.is_categorical, self.num_values, 1)
        place = np.repeat(np.arange(self.num_features), np.maximum(number, 1))
        category = np.arange(len(place)) - np.searchsorted(place, place)
        return place, np.where(self.is_categorical & (self.num_values > 0), 0, -1)[place] + category

    @property
    def indicator_names(self) -> tuple[str, ...]:
        """The names of the columns of `one_hot`: "outlook=sunny" for a category, else the column's name."""
        pairs = zip(*(own.tolist() for own in self.indicators), strict=True)
        names, described = self.column_names, self.columns.described
        return tuple(
            names[at] if code < 0 else f"{names[at]}={value_in_words(described[at].categories[code])}"
            for at, code in pairs
        )

    @property
    def code_dtype(self) -> np.dtype:
        """The smallest dtype of the codes: uint8, or uint16 if a feature has more than 255 values."""
        return np.dtype(np.uint8 if self.num_values.max() <= 255 else np.uint16)

    def thresholds(self, feature: _Indices, code: _Indices, next_code: _Indices) -> _OfNodes:
        r"""Returns the threshold of a split between two codes that follow each other among the rows of a node.

        With $m$ the midpoint between the highest value of `code` and the lowest of `next_code`: $m$ itself if the
        feature is exact; otherwise the edge nearest to $m$, of those between the two codes (the lower of two equally
        near), so that codes and values always fall on the same side. $\infty$ if `next_code` means missing.
        """
        return self.splits(feature, code, next_code)[0]

    def value_thresholds(self, feature: _Indices, code: _Indices, next_code: _Indices) -> _OfNodes:
        r"""Returns the threshold of a split as a value of the fitted table (C4.5: Quinlan, 1993, sec. 2.4).

        It is the largest value, of all rows of that table, that does not exceed what `thresholds` returns: the highest
        of the codes up to `split_codes`. So codes and values of that table fall on the same side. $\infty$ if
        `next_code` means missing.

        >>> from jaxtree.table import Encoder
        >>> schema = Encoder().fit([[1.0], [2.0], [4.0], [8.0]]).schema_
        >>> schema.value_thresholds(np.array([0, 0]), np.array([0, 1]), np.array([3, 2]))
        array([4., 2.])
        """
        at = self.columns.bins
        highest = at.high[at.start[feature] + self.split_codes(feature, code, next_code)]
        return np.where(next_code < at.num_bins[feature], highest, np.inf)

    def next_separable(self, distance: float) -> Int32[np.ndarray, "feature code"] | None:
        r"""Returns, for every feature and code, the first code that is further than a distance above it.

        For a code $c$ of a numeric feature that is the lowest $d$ with $h_c + \delta < l_d$ in float64, for the
        distance $\delta$, the highest value $h$ and the lowest $l$ of each code; the feature's missing code if there is
        none. For all other features, and past a feature's last code, it is $c + 1$.

        The result is None if it would be $c + 1$ everywhere. InvalidInputError is raised if the distance, in units of
        the columns, is negative or NaN.

        >>> from jaxtree.table import Encoder
        >>> schema = Encoder().fit([[1.0], [1.5], [2.0], [4.0]]).schema_
        >>> schema.next_separable(0.75)
        array([[2, 3, 3, 4]], dtype=int32)
        >>> schema.next_separable(0.25) is None
        True
        """
        if not distance >= 0:
            raise InvalidInputError(f"distance must be at least 0, got {distance}")
        following = np.arange(1, self.num_values.max() + 1, dtype=np.int32)
        first = np.tile(following, (self.num_features, 1))
        at = self.columns.bins
        feature = np.repeat(np.arange(self.num_features), at.num_bins)
        own = np.flatnonzero(self.columns.is_numeric[feature])
        feature = feature[own]
        start = at.start[feature]
        above = np.nextafter(at.high[own] + distance, np.inf)
        apart = first_not_below(np.append(at.low, np.inf), above, own, start + at.num_bins[feature])
        first[feature, own - start] = apart - start
        return None if (first == following).all() else first

    def split_codes(self, feature: _Indices, code: _Indices, next_code: _Indices) -> Int32[np.ndarray, " node"]:
        """Returns the highest code at or below the threshold of each split.

        It is `code`, or a code between the two that no row of the node has.
        """
        return self.splits(feature, code, next_code)[1]

    def threshold(self, feature: int, code: int, next_code: int) -> float:
        """Returns the threshold of one split; see `thresholds`."""
        return float(self.thresholds(*np.array([[feature], [code], [next_code]]))[0])

    def splits(
        self, feature: _Indices, code: _Indices, next_code: _Indices
    ) -> tuple[_OfNodes, Int32[np.ndarray, " node"]]:
        """Returns both `thresholds` and `split_codes`."""
        at = self.columns.bins
        num_bins, start = at.num_bins[feature], at.start[feature]
        is_known = next_code < num_bins
        lower = start + code
        upper = np.where(is_known, start + next_code, lower)
        middle = midpoint(at.high[lower], at.low[upper])
        is_exact = at.is_exact[feature]
        split, threshold = np.empty_like(lower), middle.copy()
        # Exact: the last code at or below the middle. Binned: the edge nearest to it.
        own = np.flatnonzero(is_exact)
        split[own] = first_not_below(at.low, np.nextafter(middle[own], np.inf), lower[own], upper[own]) - 1
        if len(own) < len(split):
            own = np.flatnonzero(~is_exact)
            split[own] = nearest(at.edge, middle[own], lower[own], upper[own] - 1)
            threshold[own] = at.edge[split[own]]
        split -= start
        return np.where(is_known, threshold, np.inf), np.where(is_known, split, num_bins - 1).astype(np.int32)

    def branch_in_words(self, feature: int, threshold: float, branch: int) -> str:
        """Returns a condition that holds for the rows of a branch: 0 at or below the threshold, 1 above it.

        A missing value goes to branch 1.
        """
        column = self.columns[feature]
        if threshold == np.inf:
            return f"{column.name} is {'missing' if branch else 'known'}"
        if column.kind == "boolean":
            return f"{column.name} = {bool(branch)}"
        limit = column.limit(threshold) if column.bins is not None else column.categories[int(threshold)]
        return f"{column.name} {'>' if branch else '<='} {value_in_words(limit)}"

    def category_in_words(self, feature: int, code: int) -> str:
        """Returns a condition of the rows with a code: "outlook = sunny", or "outlook is missing"."""
        column = self.columns[feature]
        if code == column.num_values:
            return f"{column.name} is missing"
        if column.bins is not None and not column.bins.exact:
            return _range_in_words(column, column.bins, code, column.name)
        return f"{column.name} = {self.code_in_words(feature, code)}"

    def with_columns(self, columns: Mapping[int, Column]) -> "Schema":
        """Returns the schema with other columns at some places, or behind all."""
        return replace(self, columns=self.columns.with_columns(columns)) if columns else self

    def renamed(self, column_names: Iterable[Any]) -> "Schema":
        """Returns the same schema with other names of the columns, one each.

        Raises InvalidInputError if there are more or fewer.
        """
        names = [name_in_words(name) for name in column_names]
        if len(names) != len(self.columns):
            raise InvalidInputError(f"the table has {len(self.columns)} columns, got {len(names)} names")
        return replace(self, columns=replace(self.columns, names=tuple(names)))

    def code_in_words(self, feature: int, code: int) -> str:
        """Returns a category, a number, the range of a bin as "0.35 < x <= 0.41", or "missing"."""
        column = self.columns[feature]
        if code == column.num_values:
            return "missing"
        if column.bins is None:
            return value_in_words(column.categories[code])
        if column.bins.exact:
            return column.in_words(float(column.bins.low[code]))
        return _range_in_words(column, column.bins, code, "x")

    def check_codes(self, codes: UInt[np.ndarray, "feature row"]) -> None:
        """Raises InvalidInputError if codes have another number of features, or a code that no value has."""
        if len(codes) != self.num_features:
            raise InvalidInputError(f"codes must have {self.num_features} features, got {len(codes)}")
        if not codes.size:
            return
        highest, allowed = codes.max(axis=1), self.num_values
        if (highest > allowed).any():
            feature = int((highest > allowed).argmax())
            raise InvalidInputError(
                f"the codes of feature {self.column_names[feature]!r} must be at most {allowed[feature]} "
                f"(missing), got {highest[feature]}"
            )


def _range_in_words(column: Column, bins: Bins, code: int, symbol: str) -> str:
    edges = [column.limit(edge).words for edge in bins.edges[max(code - 1, 0) : code + 1].tolist()]
    if code == 0:
        return f"{symbol} <= {edges[0]}"
    if code == bins.num_bins - 1:
        return f"{symbol} > {edges[0]}"
    return f"{edges[0]} < {symbol} <= {edges[1]}"
