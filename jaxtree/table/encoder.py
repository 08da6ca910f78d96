"""Tables to codes, and back: learning a schema from one table, and applying it to others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64, Num, Shaped
from scipy.sparse import issparse

from jaxtree.blocks import blocks_of, in_threads, threads_for
from jaxtree.buckets import Codes, empty_codes
from jaxtree.errors import InvalidInputError
from jaxtree.table.binning import MAX_EXACT_ROWS, NUM_BINS_OF_LONG_TABLE, Bins, bin_columns, midpoint
from jaxtree.table.columns import MAX_CODES, TableColumn, check_numbers
from jaxtree.table.identifiers import note_identifiers
from jaxtree.table.matching import match_columns
from jaxtree.table.reading import Table, read_table, with_categorical
from jaxtree.table.schema import Column, Feature, Schema
from jaxtree.table.sources import Source, is_source, naming, open_source
from jaxtree.table.summary import Summary, fit_numbers, fit_schema, summarise, summarise_tables

MOST_ONEHOT = 1024
"""Features that a column of words becomes, where no other number is given."""

_ALLOWED = {"encoding": ("categorical", "onehot"), "unseen": ("missing", "error")}


@dataclass(kw_only=True, eq=False)
class Encoder:
    """Turns tables into codes, and codes into the values of the table.

    A column of numbers becomes bins; a column of strings becomes a code for each category seen in fit, in ascending
    order. A categorical dtype of pandas or pyarrow, an ordered one, and an Enum of polars keep all the categories that
    they declare, in that order; a Categorical of polars declares none, and is read as strings are. Truth values are 0
    False, 1 True. The code after a feature's last means missing.

    Dates (datetime64 of NumPy, and those of pandas, polars, pyarrow and Python) are numbers, too: days since the first
    one of the fitted column, which `schema_` keeps as the column's `time`. Those with a time zone are read as UTC, and
    those without one are another kind of column. Durations are days.

    Where a column has more values than bins, these are about equally full, but for finer ones towards both ends of a
    long column. Edges are fitted on all rows, or on 200,000 of them (see `sample_rows`). Numbers outside the fitted
    range fall in the first or last bin. Numbers compare as float64: scikit-learn, which casts to float32, and ONNX
    cannot separate values that differ only past float32, and this can.

    Args:
        encoding: "categorical", a feature a column; or "onehot", a feature for each category of a categorical column.
        max_bins: The most bins of a numeric column, from 2 to 65,535; None is 65,535, exact for as many distinct
            values. "auto" is None for tables of up to 100,000 rows, and 255 for longer ones.
        max_categories: The most categories of a categorical column, from 1 to 65,535; None is 65,535, and one-hot
            1,024. Of a column of more words the rarest share the last one, as words of fewer than 3 rows do in a
            column of more than 255 (see `jaxtree.table.cells.RareWords`).
        categorical_features: "from_dtype": columns of strings and of categorical dtypes are categorical. A list of
            names, of positions, or of a truth value a column makes others so as well. None: no column is, and strings
            are refused.
        unseen: The fate of a category that was not seen in fit, where the rarest do not share one: "missing", or an
            "error". One-hot, a missing value is
            0 in all features of its column if fit saw none missing, and the code 2 if it did.

    Attributes:
        schema_: The meaning of the codes; set by fitting.

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

    encoding: str = "categorical"
    max_bins: int | str | None = "auto"
    max_categories: int | None = None
    categorical_features: Any = "from_dtype"
    unseen: str = "missing"
    schema_: Schema = field(init=False, repr=False)
    _is_sampled: bool = field(default=False, init=False, repr=False)

    def fit(self, X: Any) -> "Encoder":
        """Learns the schema of a table, or of a source such as a Parquet file (see `open_source`).

        Raises:
            InvalidInputError: If an option is not allowed; and see `read_table`.
                For a source also if its parts differ in their columns, or if it can be read only once.
            InvalidTypeError: If a column is of a type that has no meaning for a tree; see `read_table`.
        """
        if not is_source(X):
            table = self._fit_table(X)
            if self._is_sampled:
                self._encode(table, widen=True)
            return self
        source = open_source(X, to_fit=True)
        self.fit_summary(self.summarise(source))
        if self._is_sampled:
            for table in self._matched(source):
                self._encode(table, widen=True)
        return self

    def transform(self, X: Any) -> Codes:
        """Returns the codes of a table, or of a source, with the columns of the fitted one."""
        return self._encode_parts(open_source(X)) if is_source(X) else self._encode(self._as_fitted(read_table(X)))

    def fit_transform(self, X: Any) -> Codes:
        """Returns the codes of `fit(X).transform(X)`, but reads a table once, and a source twice."""
        if not is_source(X):
            return self._encode(self._fit_table(X), widen=True)
        source = open_source(X, to_fit=True)
        summary = self.summarise(source)
        self.fit_summary(summary)
        return self._encode_parts(replace(source, num_rows=summary.num_rows), widen=True)

    def summarise(self, X: Any, *, first_row: int = 0) -> Summary:
        """Returns the summary of a part of a table; `fit_summary` learns from the summaries of all parts, merged.

        Where several processes have a part of a table each, every one summarises its own, gets the summaries of all,
        and learns the same schema as one process would from the whole table:

        >>> from jaxtree.table.summary import merge_summaries
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
        self.check_options()
        if not is_source(X):
            return summarise(with_categorical(read_table(X), self.categorical_features), first_row=first_row)
        tables = _read(open_source(X), lambda table: with_categorical(table, self.categorical_features))
        return summarise_tables(tables, first_row)

    def fit_summary(self, summary: Summary) -> "Encoder":
        """Learns the schema of the table that was summarised.

        Bins are those of the whole table. Where that has more rows than edges are fitted on, `encode_part` widens
        them to the rows that it encodes, and `widen` to those that others have encoded.

        Raises:
            InvalidInputError: If an option is not allowed, or the table has no rows.
        """
        self.check_options()
        self._is_sampled = summary.is_sampled
        self.schema_ = fit_schema(
            summary,
            onehot=self.encoding == "onehot",
            max_bins=_num_bins(self.max_bins, summary.num_rows),
            max_categories=self._most_categories,
        )
        for column in summary.columns:
            note_identifiers(column.name, [num_rows for *_, num_rows in column.categories.values()])
        return self

    def encode_part(self, X: Any) -> Codes:
        """Returns the codes of a part of the table that was summarised, and widens the bins to its rows.

        Args:
            X: A table, or a source.
        """
        if not is_source(X):
            return self._encode(self._as_fitted(read_table(X)), widen=True)
        return self._encode_parts(open_source(X), widen=True)

    def bin_ranges(self) -> Float64[np.ndarray, "end bin"]:
        """Returns the lowest value (end 0) and the highest (end 1) of the bins of all numeric columns, side by side."""
        self._check_fitted()
        present = self._bins().values()
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
        bins = self._bins()
        ends = np.cumsum([own.num_bins for own in bins.values()])[:-1]
        widened = zip(bins.items(), np.split(low, ends), np.split(high, ends), strict=True)
        self._set_bins({at: Bins(low, high, own.edges, np.array_equal(low, high)) for (at, own), low, high in widened})
        return self

    def values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns the values that thresholds split: the numbers of numeric columns, the codes of all other features.

        A missing value, and an unseen category, is NaN, which like the missing code is above every threshold; one-hot
        it is 0 unless fit saw a missing value. A table of float32 stays so, any other becomes float64. An array of
        float32 or float64 is not copied where the fitted columns are numbers, nor elsewhere if its rows are contiguous;
        a sparse matrix is given its zeros.
        """
        self._check_fitted()
        if self._is_plain(X):
            check_numbers(X, self.schema_.column_names)
            return X
        if not is_source(X):
            return self._values(self._as_fitted(read_table(X)), X)
        parts = [self._values(table, X) for table in self._matched(open_source(X))]
        return np.concatenate([np.zeros((0, self.schema_.num_features), np.float32), *parts])

    def inverse_transform(self, codes: Codes) -> dict[str, list]:
        """Returns a column of values for every column of the table, None where one is missing.

        These are categories, of rare words the most frequent one, numbers, and for a bin of several numbers the middle
        of its range; so encoding them gives the same codes again.

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

    def _fit_table(self, X: Any) -> Table:
        """Learns the schema of a table that is held whole, and returns it as the schema has it."""
        read = read_table(X)
        table = with_categorical(read, self.categorical_features)
        if table is read and table.matrix is not None:
            self.check_options()
            schema = fit_numbers(table, _num_bins(self.max_bins, len(table)))
            if schema is not None:
                self.schema_, self._is_sampled = schema, False
                return table
        self.fit_summary(summarise(table))
        return self._as_fitted(read)

    def _as_fitted(self, table: Table) -> Table:
        """Returns a table as the schema has it."""
        self._check_fitted()
        return match_columns(table, self.schema_, unseen=self.unseen)

    def _matched(self, source: Source) -> Iterator[Table]:
        """Reads the tables of a source as the schema has them."""
        self._check_fitted()
        return (table for _, table in _read(source, self._as_fitted))

    def check_options(self) -> None:
        """Raises InvalidInputError if an option is not allowed."""
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                allowed = ", ".join(map(repr, allowed))
                raise InvalidInputError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        _check_limit("max_bins", self.max_bins, 2, words=("auto",))
        _check_limit("max_categories", self.max_categories, 1)

    def _bins(self) -> dict[int, Bins]:
        """The bins of the numeric columns, by the positions of these."""
        return {at: column.bins for at, column in enumerate(self.schema_.columns) if column.bins is not None}

    def _set_bins(self, bins: dict[int, Bins]) -> None:
        """Gives columns of the schema other bins."""
        columns = list(self.schema_.columns)
        for at, own in bins.items():
            columns[at] = replace(columns[at], bins=own)
        self.schema_ = replace(self.schema_, columns=tuple(columns))

    @property
    def _most_categories(self) -> int:
        return int(self.max_categories or (MOST_ONEHOT if self.encoding == "onehot" else MAX_CODES))

    def _encode_parts(self, source: Source, *, widen: bool = False) -> Codes:
        """Returns the codes of a source; if its number of rows is known, they are written straight into place."""
        self._check_fitted()
        tables = self._matched(source)
        if source.num_rows is None:
            blocks = [self._encode(table, widen=widen) for table in tables]
            return np.concatenate([self._empty_codes(0), *blocks], axis=1)
        codes, start = self._empty_codes(source.num_rows), 0
        for table in tables:
            stop = start + len(table)
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
        """Returns the codes of a table as the schema has it, written into an array if given one; may widen the bins."""
        codes, numbers = self._empty_codes(len(table)) if codes is None else codes, {}
        for feature, feature_codes in zip(self.schema_.features, codes, strict=True):
            column = table.columns[feature.column]
            if column.has_categories:
                feature_codes[:] = _codes_of_categories(feature, column.categories)[np.asarray(column.values)]
            else:
                numbers[feature.column] = feature_codes
        columns, fitted = [table.columns[at] for at in numbers], self._bins()
        matrix, widen = table.matrix if len(numbers) == len(table.columns) else None, widen and self._is_sampled
        bins = bin_columns(columns, [fitted[at] for at in numbers], [*numbers.values()], matrix, widen=widen)
        if widen:
            self._set_bins(dict(zip(numbers, bins, strict=True)))
        return codes

    def _values(self, table: Table, X: Any) -> Float[np.ndarray, "row feature"]:
        """The values of a table as the schema has it, which was read from X or a part of it."""
        are_numbers = not any(column.has_categories for column in table.columns)
        if issparse(X) and are_numbers:  # in one step: columns would be written one by one between one another
            return X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False).toarray(order="C")
        matrix = table.matrix if are_numbers else None
        if matrix is not None and matrix.dtype in (np.float32, np.float64) and matrix.flags.c_contiguous:
            return matrix
        return self._fill_values(table, matrix)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array whose values are those that thresholds split, once they are checked."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float32, np.float64) or not len(X):
            return False
        return self.schema_.are_plain_numbers and X.shape[1] == len(self.schema_.columns)

    def _fill_values(
        self, table: Table, matrix: Num[np.ndarray, "row column"] | None
    ) -> Float[np.ndarray, "row feature"]:
        """The values row by row, from those of an array if these are all."""
        features, columns = self.schema_.features, table.columns
        is_single = all(column.values.dtype == np.float32 for column in columns)  # no codes are
        values = np.empty((len(table), len(features)), np.float32 if is_single else np.float64)

        def fill_block(block: slice) -> None:
            if matrix is not None:
                values[block] = matrix[block]
                return
            for feature, out in zip(features, values[block].T, strict=True):
                out[:] = _values_of(feature, columns[feature.column], block)

        in_threads(fill_block, blocks_of(len(table)), num_threads=threads_for(len(table)))
        return values


def _read(source: Source, prepare: Callable[[Table], Table]) -> Iterator[tuple[str, Table]]:
    """Yields the tables of a source, each with its name in messages."""
    for part in source:
        with naming(part.label):
            yield part.label, prepare(read_table(part.table))


def _check_limit(name: str, limit: Any, lowest: int, words: tuple[str, ...] = ()) -> None:
    if isinstance(limit, int | np.integer) and not isinstance(limit, bool) and lowest <= limit <= MAX_CODES:
        return
    if limit is not None and limit not in words:
        also = "".join(f"{word!r}, " for word in words)
        raise InvalidInputError(f"{name} must be {also}None or an integer from {lowest} to {MAX_CODES}, got {limit!r}")


def _num_bins(max_bins: int | str | None, num_rows: int) -> int:
    """Returns the most bins of a column of `num_rows` rows.

    >>> _num_bins("auto", 100_000), _num_bins("auto", 100_001), _num_bins(7, 100_001)
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


def _values_of(feature: Feature, column: TableColumn, block: slice) -> Num[np.ndarray, " row"]:
    """Returns the values that thresholds split, for a block of rows."""
    if not column.has_categories:
        return column.values[block]
    values = _codes_of_categories(feature, column.categories).astype(np.float64)
    if values[-1] == feature.num_values:  # one-hot, it may be 0 instead
        values[-1] = np.nan
    return values[column.values[block]]


def _codes_of_onehot(codes: Codes) -> Int64[np.ndarray, " row"]:
    """Returns the codes of a column, given those of its one-hot features; missing where it is none of them."""
    is_category = codes == 1
    return np.where(is_category.any(axis=0), is_category.argmax(axis=0), len(codes))


def _values_of_codes(column: Column) -> Shaped[np.ndarray, " code"]:
    """Returns a value of the column for each of its codes, and None for the missing code."""
    values = column.categories
    if column.rare_words is not None:
        values = (*values[:-1], column.rare_words.example)
    if column.bins is not None:
        values = midpoint(column.bins.low, column.bins.high).tolist()
        if column.time is not None:
            values = list(map(column.time.value, values))
    return np.array([*values, None], dtype=object)
