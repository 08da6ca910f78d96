"""Tables to codes, and back: learning a schema from one table, and applying it to others."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64, Num, Shaped
from scipy.sparse import issparse

from jaxtree.blocks import blocks_of, in_threads, threads_for
from jaxtree.buckets import Codes, empty_codes
from jaxtree.errors import InvalidInputError
from jaxtree.table.binning import MAX_EXACT_ROWS, NUM_BINS_OF_LONG_TABLE, Bins, bin_columns, midpoint
from jaxtree.table.columns import MAX_CODES, CategoryColumn, NumberColumn
from jaxtree.table.matching import in_numbers, match_columns
from jaxtree.table.reading import Table, read_table, with_categorical
from jaxtree.table.schema import Column, Feature, Schema
from jaxtree.table.sources import Source, is_source, naming, open_source
from jaxtree.table.summary import Summary, fit_schema, summarise, summarise_tables

_ENCODINGS = ("categorical", "onehot")
_UNSEEN = ("missing", "error")


class Encoder:
    """Turns tables into codes, and codes into the values of the table.

    A column of numbers becomes bins; a column of strings becomes a code for each category seen in fit, in ascending
    order. A categorical dtype of pandas or pyarrow, an ordered one, and an Enum of polars keep all the categories that
    they declare, in that order; a Categorical of polars declares none, and is read as strings are. Truth values are 0
    False, 1 True. The code after a feature's last means missing.

    Dates (datetime64 of NumPy, and those of pandas, polars, pyarrow and Python) are numbers, too: days since the first
    one of the fitted column, which `schema_` keeps as the column's `time`. Those with a time zone are read as UTC, and
    those without one are another kind of column. Durations are days.

    The edges of bins are fitted on all rows, or on 200,000 of them (see `sample_rows`). Numbers outside the fitted
    range fall in the first or last bin. Numbers compare as float64: scikit-learn, which casts to float32, and ONNX
    cannot tell apart values that differ only past float32, and this can.

    Args:
        encoding: "categorical", a feature a column; or "onehot", a feature for each category of a categorical column.
        max_bins: The most bins of a numeric column, from 2 to 65,535; None is 65,535, exact for as many distinct
            values. "auto" is None for tables of up to 50,000 rows, and 255 for longer ones.
        max_categories: The most categories of a categorical column, from 1 to 65,535; None is 65,535. A column with
            more is refused: it names rows rather than kinds of them.
        categorical_features: "from_dtype": columns of strings and of categorical dtypes are categorical. A list of
            names, of positions, or of a truth value a column makes others so as well. None: no column is, and strings
            are refused.
        unseen: What a category that was not seen in fit becomes: "missing", or an "error". One-hot, a missing value is
            0 in all features of its column if fit saw none missing, and the code 2 if it did.

    Attributes:
        schema_: What the codes mean; set by fitting.

    >>> weather = [["sunny", 21.5], ["rain", 14.0], [None, 18.0]]
    >>> encoder = Encoder()
    >>> encoder.fit_transform(weather)
    array([[1, 0, 2],
           [2, 0, 1]], dtype=uint8)
    >>> encoder.schema_.category_in_words(0, 1)
    'x0 = sunny'
    >>> encoder.schema_.branch_in_words(1, encoder.schema_.threshold(1, 0, 1), branch=0)
    'x1 <= 16'
    >>> Encoder(encoding="onehot").fit(weather).schema_.feature_names
    ('x0=rain', 'x0=sunny', 'x1')
    """

    schema_: Schema

    _is_sampled: bool = False

    def __init__(
        self,
        *,
        encoding: str = "categorical",
        max_bins: int | str | None = "auto",
        max_categories: int | None = 1024,
        categorical_features: Any = "from_dtype",
        unseen: str = "missing",
    ):
        self.encoding = encoding
        self.max_bins = max_bins
        self.max_categories = max_categories
        self.categorical_features = categorical_features
        self.unseen = unseen

    def fit(self, X: Any) -> "Encoder":
        """Learns the schema of a table, or of a source such as a Parquet file (see `open_source`).

        Raises:
            InvalidInputError: If an option is not allowed, or a column has too many categories; and see `read_table`.
                Of a source also if parts differ in their columns, or if it can be read only once.
            InvalidTypeError: If a column is of a type that has no meaning for a tree; see `read_table`.
        """
        if not is_source(X):
            self.fit_transform(X)
            return self
        source = open_source(X, to_fit=True)
        self.fit_summary(self.summarise(source))
        if self._is_sampled:
            for table in self._read_parts(source):
                self._encode(table, widen=True)
        return self

    def transform(self, X: Any) -> Codes:
        """Returns the codes of a table, or of a source, with the columns of the fitted one."""
        return self._encode_parts(open_source(X)) if is_source(X) else self._encode(self._read(X))

    def fit_transform(self, X: Any) -> Codes:
        """Returns what `fit(X).transform(X)` does, but reads a table once, and a source twice."""
        if is_source(X):
            source = open_source(X, to_fit=True)
            summary = self.summarise(source)
            return self.fit_summary(summary).encode_part(replace(source, num_rows=summary.num_rows))
        table = self._read_to_fit(X)
        self._set_schema(summarise(table))
        pairs = zip(table.columns, self.schema_.columns, strict=True)
        return self._encode(replace(table, columns=tuple(in_numbers(*pair) for pair in pairs)), widen=True)

    def summarise(self, X: Any, *, first_row: int = 0) -> Summary:
        """Returns the summary of a part of a table: what `fit_summary` learns from, after merging those of all parts.

        Where several processes have a part of a table each, every one summarises its own, gets the summaries of all,
        and learns the same schema as one process would from the whole table:

        >>> from jaxtree.table import merge_summaries
        >>> parts = [[1.5, "a"], [2.5, "b"]], [[4.0, "c"]]
        >>> summaries = [Encoder().summarise(parts[0], first_row=0), Encoder().summarise(parts[1], first_row=2)]
        >>> encoders = [Encoder().fit_summary(merge_summaries(summaries)) for _ in parts]
        >>> [encoder.encode_part(part).tolist() for encoder, part in zip(encoders, parts)]
        [[[0, 1], [0, 1]], [[2], [2]]]
        >>> ranges = [encoder.bin_ranges() for encoder in encoders]
        >>> encoders[0].widen(*ranges).schema_ == Encoder().fit(parts[0] + parts[1]).schema_
        True

        Args:
            X: A table, or a source. It may have no rows.
            first_row: The number of rows in the parts before it.

        Raises:
            InvalidInputError: See `fit`.
            InvalidTypeError: See `fit`.
        """
        self._check_options()
        if not is_source(X):
            return summarise(self._read_to_fit(X), first_row=first_row)
        return summarise_tables(self._read_parts_to_fit(open_source(X)), first_row, self._most_categories)

    def fit_summary(self, summary: Summary) -> "Encoder":
        """Learns the schema of the table that was summarised.

        Bins are those of the whole table. Where that has more rows than edges are fitted on, `encode_part` widens
        them to the rows that it encodes, and `widen` to those that others have encoded.

        Raises:
            InvalidInputError: If an option is not allowed, or the table has no rows.
        """
        self._check_options()
        self._set_schema(summary)
        return self

    def encode_part(self, X: Any) -> Codes:
        """Returns the codes of a part of the table that was summarised, and widens the bins to its rows.

        Args:
            X: A table, or a source.
        """
        if is_source(X):
            return self._encode_parts(open_source(X), widen=True)
        return self._encode(self._read(X), widen=True)

    def bin_ranges(self) -> Float64[np.ndarray, "end bin"]:
        """Returns the lowest value (end 0) and the highest (end 1) of the bins of all numeric columns, side by side."""
        self._check_fitted()
        present = [column.bins for column in self.schema_.columns if column.bins is not None]
        return np.concatenate([np.zeros((2, 0)), *(np.stack([bins.low, bins.high]) for bins in present)], axis=1)

    def widen(self, *ranges: Float64[np.ndarray, "end _bin"]) -> "Encoder":
        """Widens the bins to the ranges of encoders that have learned from the same summary; see `bin_ranges`.

        Raises InvalidInputError if they are those of other bins.
        """
        own = self.bin_ranges()
        if any(other.shape != own.shape for other in ranges):
            shapes = [other.shape for other in ranges]
            raise InvalidInputError(f"ranges must be of the schema's {own.shape[1]} bins, got shapes {shapes}")
        low = np.min([own[0], *(other[0] for other in ranges)], axis=0)
        high = np.max([own[1], *(other[1] for other in ranges)], axis=0)
        present = [column.bins for column in self.schema_.columns if column.bins is not None]
        ends = np.cumsum([bins.num_bins for bins in present])[:-1]
        widened = zip(present, np.split(low, ends), np.split(high, ends), strict=True)
        self._set_bins([Bins(low, high, bins.edges, np.array_equal(low, high)) for bins, low, high in widened])
        return self

    def values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns what thresholds are compared with: the numbers of numeric columns, the codes of all other features.

        A missing value, and an unseen category, is NaN, which like the missing code is above every threshold; one-hot
        it is 0 unless fit saw a missing value. A table of float32 stays so, any other becomes float64. An array of
        float32 or float64 with contiguous rows is not copied; a sparse matrix is given its zeros.
        """
        if is_source(X):
            parts = [self._fill_values(table) for table in self._read_parts(open_source(X))]
            return np.concatenate([np.zeros((0, self.schema_.num_features), np.float32), *parts])
        table = self._read(X)
        if issparse(X) and all(isinstance(column, NumberColumn) for column in table.columns):
            # In one step: columns would be written one by one between one another.
            return X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False).toarray(order="C")
        matrix = table.matrix
        is_numeric = all(feature.kind == "numeric" for feature in self.schema_.features)
        if matrix is not None and is_numeric and matrix.dtype in (np.float32, np.float64) and matrix.flags.c_contiguous:
            return matrix
        return self._fill_values(table)

    def inverse_transform(self, codes: Codes) -> dict[str, list]:
        """Returns a column of values for every column of the table, None where one is missing.

        These are categories, numbers, and for a bin of several numbers the middle of its range; so encoding them gives
        the same codes again.

        >>> Encoder().fit([["sunny", 21.5], ["rain", 14.0]]).inverse_transform(np.array([[1, 2], [1, 0]], np.uint8))
        {'x0': ['sunny', None], 'x1': [21.5, 14.0]}
        """
        self._check_fitted()
        self.schema_.check_codes(codes)
        columns = {}
        for position, column in enumerate(self.schema_.columns):
            rows = [row for row, feature in enumerate(self.schema_.features) if feature.column == position]
            is_onehot = self.schema_.features[rows[0]].kind == "onehot"
            column_codes = _codes_of_onehot(codes[rows]) if is_onehot else codes[rows[0]]
            columns[column.name] = _values_of_codes(column)[column_codes].tolist()
        return columns

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            from sklearn.exceptions import NotFittedError  # loads all of scikit-learn

            raise NotFittedError("This Encoder is not fitted yet: call fit or fit_transform first.")

    def _read(self, X: Any) -> Table:
        self._check_fitted()
        return match_columns(read_table(X), self.schema_, unseen=self.unseen)

    def _read_parts(self, source: Source) -> Iterator[Table]:
        """Reads the tables of a source as the schema has them."""
        self._check_fitted()
        for part in source:
            with naming(part.label):
                yield self._read(part.table)

    def _read_to_fit(self, X: Any) -> Table:
        self._check_options()
        return with_categorical(read_table(X), self.categorical_features)

    def _read_parts_to_fit(self, source: Source) -> Iterator[tuple[str, Table]]:
        for part in source:
            with naming(part.label):
                yield part.label, self._read_to_fit(part.table)

    def _check_options(self) -> None:
        _check_choice("encoding", self.encoding, _ENCODINGS)
        _check_choice("unseen", self.unseen, _UNSEEN)
        if not (isinstance(self.max_bins, str) and self.max_bins == "auto"):
            _check_limit("max_bins", self.max_bins, 2, also="'auto', ")
        _check_limit("max_categories", self.max_categories, 1)

    def _set_schema(self, summary: Summary) -> None:
        max_bins, onehot = _num_bins(self.max_bins, summary.num_rows), self.encoding == "onehot"
        self._is_sampled = summary.is_sampled
        self.schema_ = fit_schema(summary, onehot=onehot, max_bins=max_bins, max_categories=self._most_categories)

    def _set_bins(self, bins: list[Bins]) -> None:
        """Gives the numeric columns of the schema other bins, in their order."""
        new = iter(bins)
        columns = (c if c.bins is None else replace(c, bins=next(new)) for c in self.schema_.columns)
        self.schema_ = replace(self.schema_, columns=tuple(columns))

    @property
    def _most_categories(self) -> int:
        return int(self.max_categories or MAX_CODES)

    def _encode_parts(self, source: Source, *, widen: bool = False) -> Codes:
        """Returns the codes of a source; if it says how many rows it has, they are written straight into place."""
        self._check_fitted()
        tables = self._read_parts(source)
        if source.num_rows is None:
            blocks = [self._encode(table, widen=widen) for table in tables]
            return np.concatenate([self._empty_codes(0), *blocks], axis=1)
        codes, start = self._empty_codes(source.num_rows), 0
        for table in tables:
            stop = start + table.num_rows
            if stop <= source.num_rows:
                self._encode(table, codes[:, start:stop], widen=widen)
            start = stop
        if start != source.num_rows:
            raise InvalidInputError(
                f"X gave {start} rows when it was read again, and {source.num_rows} before: it must give the same rows "
                "whenever it is read"
            )
        return codes

    def _empty_codes(self, num_rows: int) -> Codes:
        return empty_codes(self.schema_.num_features, num_rows, self.schema_.code_dtype)

    def _encode(self, table: Table, codes: Codes | None = None, *, widen: bool = False) -> Codes:
        """Returns the codes of a table, and writes them into an array if given one.

        Args:
            table: The table, as the schema has it.
            codes: Where to write.
            widen: Whether its rows are some of those that bins are to be as wide as.
        """
        codes = self._empty_codes(table.num_rows) if codes is None else codes
        numbers, bins, number_codes = [], [], []
        for feature, feature_codes in zip(self.schema_.features, codes, strict=True):
            column, fitted = table.columns[feature.column], self.schema_.columns[feature.column]
            if isinstance(column, NumberColumn) and fitted.bins is not None:
                numbers.append(column)
                bins.append(fitted.bins)
                number_codes.append(feature_codes)
            elif isinstance(column, CategoryColumn):
                feature_codes[:] = _codes_of_categories(feature, column.categories)[np.asarray(column.codes)]
        matrix, widen = table.matrix if len(numbers) == len(table.columns) else None, widen and self._is_sampled
        bins = bin_columns(numbers, bins, number_codes, matrix, widen=widen)
        if widen:
            self._set_bins(bins)
        return codes

    def _fill_values(self, table: Table) -> Float[np.ndarray, "row feature"]:
        features, columns = self.schema_.features, table.columns
        is_single = all(isinstance(column, NumberColumn) and column.values.dtype == np.float32 for column in columns)
        values = np.empty((table.num_rows, len(features)), np.float32 if is_single else np.float64)

        def fill_block(block: slice) -> None:
            for feature, out in zip(features, values[block].T, strict=True):
                out[:] = _values_of(feature, columns[feature.column], block)

        in_threads(fill_block, blocks_of(table.num_rows), num_threads=threads_for(table.num_rows))
        return values


def _check_choice(name: str, given: Any, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")


def _check_limit(name: str, limit: Any, lowest: int, also: str = "") -> None:
    is_integer = isinstance(limit, int | np.integer) and not isinstance(limit, bool)
    if limit is not None and not (is_integer and lowest <= limit <= MAX_CODES):
        raise InvalidInputError(f"{name} must be {also}None or an integer from {lowest} to {MAX_CODES}, got {limit!r}")


def _num_bins(max_bins: int | str | None, num_rows: int) -> int:
    """Returns the most bins of a column of so many rows.

    >>> _num_bins("auto", 50_000), _num_bins("auto", 50_001), _num_bins(7, 50_001)
    (65535, 255, 7)
    """
    if max_bins == "auto":
        return MAX_CODES if num_rows <= MAX_EXACT_ROWS else NUM_BINS_OF_LONG_TABLE
    return int(max_bins or MAX_CODES)


def _codes_of_categories(feature: Feature, categories: tuple) -> Int32[np.ndarray, " category"]:
    """Returns the feature's code of every category, and of a missing one.

    One-hot, a missing value is none of the categories unless fit has seen missing values and learned from them.
    """
    if feature.kind == "onehot":
        is_category = (category == feature.category for category in categories)
        return np.array([*is_category, 2 * feature.has_missing], np.int32)
    return np.arange(len(categories) + 1, dtype=np.int32)


def _values_of(feature: Feature, column: Any, block: slice) -> Num[np.ndarray, " row"]:
    """Returns what thresholds are compared with, for a block of rows."""
    if isinstance(column, NumberColumn):
        return column.values[block]
    values = _codes_of_categories(feature, column.categories).astype(np.float64)
    if values[-1] == feature.num_values:  # one-hot, it may be 0 instead
        values[-1] = np.nan
    return values[column.codes[block]]


def _codes_of_onehot(codes: Codes) -> Int64[np.ndarray, " row"]:
    """Returns the codes of a column, given those of its one-hot features; missing where it is none of them."""
    is_category = codes == 1
    return np.where(is_category.any(axis=0), is_category.argmax(axis=0), len(codes))


def _values_of_codes(column: Column) -> Shaped[np.ndarray, " code"]:
    """Returns a value of the column for each of its codes, and None for the missing code."""
    values = column.categories
    if column.bins is not None:
        values = midpoint(column.bins.low, column.bins.high).tolist()
        if column.time is not None:
            values = list(map(column.time.value, values))
    return np.array([*values, None], dtype=object)
