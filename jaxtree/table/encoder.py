"""Tables to codes, and back: learning a schema from one table, and applying it to others."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int32, Int64, Num, Shaped, UInt8, UInt16
from sklearn.exceptions import NotFittedError

from jaxtree.errors import InvalidInputError
from jaxtree.table.binning import (
    MAX_EXACT_ROWS,
    NUM_BINS_OF_LONG_TABLE,
    ROWS_AT_A_TIME,
    bin_columns,
    map_in_threads,
    midpoint,
)
from jaxtree.table.columns import MAX_CODES, NumberColumn, WordColumn
from jaxtree.table.fitting import fit_schema, widen_schema, with_categorical
from jaxtree.table.matching import match_columns
from jaxtree.table.reading import Table, read_table
from jaxtree.table.schema import Column, Feature, Schema

Codes = UInt8[np.ndarray, "feature row"] | UInt16[np.ndarray, "feature row"]

_ENCODINGS = ("categorical", "onehot")
_UNSEEN = ("missing", "error")


class Encoder:
    """Turns tables into codes, and codes into the words of the table.

    A column of numbers becomes bins; a column of strings becomes a code for each category seen in fit, in ascending
    order. A categorical dtype of pandas or pyarrow, an ordered one, and an Enum of polars keep all the categories that
    they declare, in that order; a Categorical of polars declares none, and is read as strings are. Truth values are 0
    False, 1 True. The code after a feature's last means missing.

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
        """Learns the schema of a table.

        Raises:
            InvalidInputError: If an option is not allowed, or a column has too many categories; and see `read_table`.
            InvalidTypeError: If a column is of a type that has no meaning for a tree; see `read_table`.
        """
        self.fit_transform(X)
        return self

    def transform(self, X: Any) -> Codes:
        """Returns the codes of a table with the columns of the fitted one."""
        return self._encode(self._read(X))

    def fit_transform(self, X: Any) -> Codes:
        """Returns what `fit(X).transform(X)` does, but reads the table once."""
        table = self._fit_table(X)
        codes = self._encode(table)
        self.schema_ = widen_schema(self.schema_, table, codes)
        return codes

    def values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns what thresholds are compared with: the numbers of numeric columns, the codes of all other features.

        A missing value, and an unseen category, is NaN, which like the missing code is above every threshold; one-hot
        it is 0 unless fit saw a missing value. A table of float32 stays so, any other becomes float64. An array of
        float32 or float64 with contiguous rows is not copied.
        """
        table = self._read(X)
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
            raise NotFittedError("This Encoder is not fitted yet: call fit or fit_transform first.")

    def _read(self, X: Any) -> Table:
        self._check_fitted()
        table = read_table(X)
        return replace(table, columns=match_columns(table, self.schema_, unseen=self.unseen))

    def _fit_table(self, X: Any) -> Table:
        """Learns the schema, and returns the table as the schema has it."""
        _check_choice("encoding", self.encoding, _ENCODINGS)
        _check_choice("unseen", self.unseen, _UNSEEN)
        _check_max_bins(self.max_bins)
        _check_limit("max_categories", self.max_categories, 1)
        limit = int(self.max_categories or MAX_CODES)
        table = with_categorical(read_table(X, max_categories=limit), self.categorical_features)
        max_bins = _num_bins(self.max_bins, table.num_rows)
        self.schema_ = fit_schema(table, onehot=self.encoding == "onehot", max_bins=max_bins, max_categories=limit)
        return table

    def _encode(self, table: Table) -> Codes:
        schema = self.schema_
        codes = np.empty((schema.num_features, table.num_rows), schema.code_dtype)
        numbers, bins, number_codes = [], [], []
        for feature, feature_codes in zip(schema.features, codes, strict=True):
            column = table.columns[feature.column]
            if isinstance(column, NumberColumn):
                numbers.append(column)
                bins.append(schema.columns[feature.column].bins)
                number_codes.append(feature_codes)
            else:
                feature_codes[:] = _codes_of_words(feature, column.words)[column.codes]
        bin_columns(numbers, bins, number_codes)
        return codes

    def _fill_values(self, table: Table) -> Float[np.ndarray, "row feature"]:
        features, columns = self.schema_.features, table.columns
        is_single = all(isinstance(column, NumberColumn) and column.values.dtype == np.float32 for column in columns)
        values = np.empty((table.num_rows, len(features)), np.float32 if is_single else np.float64)

        def fill_block(start: int) -> None:
            block = slice(start, start + ROWS_AT_A_TIME)
            for feature, out in zip(features, values[block].T, strict=True):
                out[:] = _values_of(feature, columns[feature.column], block)

        map_in_threads(fill_block, range(0, table.num_rows, ROWS_AT_A_TIME), num_rows=table.num_rows)
        return values


def _check_choice(name: str, given: Any, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")


def _check_max_bins(max_bins: Any) -> None:
    if not (isinstance(max_bins, str) and max_bins == "auto"):
        _check_limit("max_bins", max_bins, 2, also="'auto', ")


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


def _codes_of_words(feature: Feature, words: tuple) -> Int32[np.ndarray, " word"]:
    """Returns the feature's code of every word, and of a missing one.

    One-hot, a missing value is none of the categories unless fit has seen missing values and learned from them.
    """
    if feature.kind == "onehot":
        return np.array([*(word == feature.category for word in words), 2 * feature.has_missing], np.int32)
    return np.arange(len(words) + 1, dtype=np.int32)


def _values_of(feature: Feature, column: NumberColumn | WordColumn, block: slice) -> Num[np.ndarray, " row"]:
    """Returns what thresholds are compared with, for a block of rows."""
    if isinstance(column, NumberColumn):
        return column.values[block]
    values = _codes_of_words(feature, column.words).astype(np.float64)
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
    return np.array([*values, None], dtype=object)
