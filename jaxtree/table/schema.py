"""The meaning of a table's codes: the way back from codes and splits to words and units.

A *column* is a column of the user's table. A *feature* is a row of the codes: one a column or, one-hot, one a category.
The codes 0, 1, ... of a feature are its bins or categories; the code after the last means missing, and never passes as
a value.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Shaped, UInt

from jaxtree import notebook
from jaxtree.errors import InvalidInputError, present
from jaxtree.table.binning import Bins, first_not_below, midpoint, nearest
from jaxtree.table.cells import Cells, RareWords
from jaxtree.table.names import name_in_words
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
        cells: How its cells were read in fit if they were text, or were made words; else None. Later tables are read
            alike: their values are categories by their words.
    """

    name: str
    kind: str
    categories: tuple[str | int | float | bool | RareWords, ...]
    bins: Bins | None
    has_missing: bool
    time: TimeScale | None = None
    cells: Cells | None = None

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


@dataclass(frozen=True)
class Feature:
    """A row of the codes.

    Attributes:
        name: The column's name, or one-hot `column=category`.
        column: The position of its column in the table.
        kind: The column's kind, or "onehot".
        category: The category of a one-hot feature.
        num_values: The number of bins or categories; 2 for a one-hot feature, whose codes are 0 "is not" and 1 "is".
        has_missing: Whether a value was missing in fit.
    """

    name: str
    column: int
    kind: str
    category: str | int | float | bool | RareWords | None
    num_values: int
    has_missing: bool

    @property
    def num_codes(self) -> int:
        """The number of codes seen in fit, that of a missing value included."""
        return self.num_values + self.has_missing


_Indices = Int[np.ndarray, " node"]
_OfNodes = Float64[np.ndarray, " node"]
_OfCodes = Float64[np.ndarray, " code"]


class _Positions(NamedTuple):
    """The positions of the codes of all features: on the number line for numeric features, else at 0, 1, 2, ...

    The entries of feature `f` begin at `start[f]` and follow the order of its codes.
    """

    start: Int[np.ndarray, " feature"]
    low: _OfCodes
    high: _OfCodes
    edge: _OfCodes  # above the code; infinite above the last
    is_exact: Bool[np.ndarray, " feature"]
    num_values: Int[np.ndarray, " feature"]


@dataclass(frozen=True)
class Schema:
    """The columns of a table and the features made of them.

    A threshold split of a feature sends the codes up to some code to branch 0, all others to branch 1. Its threshold is
    in original units for numeric features, and in codes for all others. Missing values are above every threshold, also
    above the infinite one that separates known values from missing ones.
    """

    columns: tuple[Column, ...]
    features: tuple[Feature, ...]

    @property
    def num_features(self) -> int:
        """The number of features."""
        return len(self.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the names and the kinds of the columns."""
        rows = [
            [own.name, own.kind, range_in_words(own.bins, own.time, own.categories), "yes" * own.has_missing]
            for own in self.columns
        ]
        return notebook.table(["column", "kind", "values", "missing"], rows[:MOST_SHOWN], len(rows) - MOST_SHOWN)

    @cached_property
    def are_plain_numbers(self) -> bool:
        """Whether all columns are numbers, of which fit has seen some, and none are times."""
        return all(own.bins is not None and own.num_values and own.time is None for own in self.columns)

    @cached_property
    def num_codes(self) -> Int32[np.ndarray, " feature"]:
        """The number of codes of every feature seen in fit, that of a missing value included."""
        return self._of_features("num_values", np.int32) + self._of_features("has_missing", np.int32)

    @cached_property
    def num_values(self) -> Int32[np.ndarray, " feature"]:
        """The number of bins or categories of every feature, which is also its code for a missing value."""
        return self._of_features("num_values", np.int32)

    @cached_property
    def is_categorical(self) -> Bool[np.ndarray, " feature"]:
        """Which features are split by category; all others, one-hot included, are split by thresholds."""
        return self._of_features("kind", object) == "categorical"

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
        at = self._positions
        highest = at.high[at.start[feature] + self.split_codes(feature, code, next_code)]
        return np.where(next_code < at.num_values[feature], highest, np.inf)

    def first_apart(self, distance: float) -> Int32[np.ndarray, "feature code"] | None:
        r"""Returns, for every feature and code, the first code that is further than a distance above it.

        For a code $c$ of a numeric feature that is the lowest $d$ with $h_c + \delta < l_d$ in float64, for the
        distance $\delta$, the highest value $h$ and the lowest $l$ of each code; the feature's missing code if there is
        none. For all other features, and past a feature's last code, it is $c + 1$.

        The result is None if it would be $c + 1$ everywhere. InvalidInputError is raised if the distance, in units of
        the columns, is negative or NaN.

        >>> from jaxtree.table import Encoder
        >>> schema = Encoder().fit([[1.0], [1.5], [2.0], [4.0]]).schema_
        >>> schema.first_apart(0.75)
        array([[2, 3, 3, 4]], dtype=int32)
        >>> schema.first_apart(0.25) is None
        True
        """
        if not distance >= 0:
            raise InvalidInputError(f"distance must be at least 0, got {distance}")
        following = np.arange(1, self.num_values.max() + 1, dtype=np.int32)
        first = np.tile(following, (self.num_features, 1))
        for row, feature in zip(first, self.features, strict=True):
            bins = self.columns[feature.column].bins
            if bins is not None:
                row[: bins.num_bins] = np.searchsorted(bins.low, bins.high + distance, side="right")
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
        at = self._positions
        is_known = next_code < at.num_values[feature]
        start = at.start[feature]
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
        last = at.num_values[feature] - 1
        return np.where(is_known, threshold, np.inf), np.where(is_known, split, last).astype(np.int32)

    def _of_features(self, field: str, dtype: Any) -> Shaped[np.ndarray, " feature"]:
        return np.array(list(map(attrgetter(field), self.features)), dtype)

    @cached_property
    def _positions(self) -> _Positions:
        bins = [self._bins_of(feature) for feature in self.features]
        num_values = np.array([len(b.low) for b in bins])
        stop = np.cumsum(num_values)
        is_inner = np.ones(num_values.sum(), bool)
        is_inner[stop[num_values > 0] - 1] = False
        edge = np.full(len(is_inner), np.inf)
        edge[is_inner] = np.concatenate([b.edges for b in bins])
        return _Positions(
            start=stop - num_values,
            low=np.concatenate([b.low for b in bins]),
            high=np.concatenate([b.high for b in bins]),
            edge=edge,
            is_exact=np.array([b.exact for b in bins], bool),
            num_values=num_values,
        )

    def _bins_of(self, feature: Feature) -> Bins:
        bins = self.columns[feature.column].bins
        if bins is not None:
            return bins
        codes = np.arange(feature.num_values, dtype=np.float64)
        return Bins(codes, codes, midpoint(codes[:-1], codes[1:]), exact=True)

    def branch_in_words(self, feature: int, threshold: float, branch: int) -> str:
        """Returns a condition that holds for the rows of a branch: 0 at or below the threshold, 1 above it.

        A missing value goes to branch 1.
        """
        described = self.features[feature]
        column = self.columns[described.column]
        if threshold == np.inf:
            return f"{column.name} is {'missing' if branch else 'known'}"
        if described.kind == "onehot":
            return f"{column.name} {'=' if branch else '!='} {value_in_words(described.category)}"
        if described.kind == "boolean":
            return f"{column.name} = {bool(branch)}"
        limit = column.limit(threshold) if column.bins is not None else column.categories[int(threshold)]
        return f"{column.name} {'>' if branch else '<='} {value_in_words(limit)}"

    def category_in_words(self, feature: int, code: int) -> str:
        """Returns a condition of the rows with a code: "outlook = sunny", or "outlook is missing"."""
        described = self.features[feature]
        column = self.columns[described.column]
        if code == described.num_values:
            return f"{column.name} is missing"
        if described.kind == "onehot":
            return self.branch_in_words(feature, 0.5, code)
        if column.bins is not None and not column.bins.exact:
            return _range_in_words(column, column.bins, code, column.name)
        return f"{column.name} = {self.code_in_words(feature, code)}"

    def renamed(self, column_names: Iterable[Any]) -> "Schema":
        """Returns the same schema with other names of the columns, one each.

        Raises InvalidInputError if there are more or fewer.
        """
        names = [name_in_words(name) for name in column_names]
        if len(names) != len(self.columns):
            raise InvalidInputError(f"the table has {len(self.columns)} columns, got {len(names)} names")
        columns = tuple(replace(column, name=name) for column, name in zip(self.columns, names, strict=True))
        return make_schema(columns, onehot=any(feature.kind == "onehot" for feature in self.features))

    def code_in_words(self, feature: int, code: int) -> str:
        """Returns a category, a number, the range of a bin as "0.35 < x <= 0.41", or "missing"."""
        described = self.features[feature]
        if code == described.num_values:
            return "missing"
        if described.kind == "onehot":
            return value_in_words(bool(code))
        column = self.columns[described.column]
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
                f"the codes of feature {self.features[feature].name!r} must be at most {allowed[feature]} "
                f"(missing), got {highest[feature]}"
            )


def make_schema(columns: tuple[Column, ...], *, onehot: bool) -> Schema:
    """Returns the schema of some columns; one-hot, a categorical column becomes a feature for each category."""
    features = (_features(position, column, onehot=onehot) for position, column in enumerate(columns))
    return Schema(columns, tuple(chain.from_iterable(features)))


def _features(position: int, column: Column, *, onehot: bool) -> list[Feature]:
    if onehot and column.kind == "categorical" and column.categories:
        return [
            Feature(f"{column.name}={value_in_words(category)}", position, "onehot", category, 2, column.has_missing)
            for category in column.categories
        ]
    return [Feature(column.name, position, column.kind, None, column.num_values, column.has_missing)]


def _range_in_words(column: Column, bins: Bins, code: int, symbol: str) -> str:
    edges = [column.limit(edge).words for edge in bins.edges[max(code - 1, 0) : code + 1].tolist()]
    if code == 0:
        return f"{symbol} <= {edges[0]}"
    if code == bins.num_bins - 1:
        return f"{symbol} > {edges[0]}"
    return f"{edges[0]} < {symbol} <= {edges[1]}"
