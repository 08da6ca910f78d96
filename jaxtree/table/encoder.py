"""Tables to codes, and back: learning a schema from one table, and applying it to others.

The columns of another table are matched with those of the schema: names are compared where both tables have some, kinds
of values always, and the values of a categorical column become the categories of the schema.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Shaped

from jaxtree.blocks import by_blocks
from jaxtree.buckets import Codes, empty_codes
from jaxtree.errors import InvalidInputError, InvalidTypeError, all_or_nothing, present
from jaxtree.lazy import issparse
from jaxtree.table.binning import (
    MAX_EXACT_ROWS,
    NUM_BINS_OF_LONG_TABLE,
    BinTable,
    bin_columns,
    comparison_dtype,
    midpoint,
)
from jaxtree.table.columns import KINDS_IN_WORDS, MAX_CODES, TableColumn, as_categorical, check_numbers, recoded
from jaxtree.table.names import are_shuffled_places
from jaxtree.table.rare_words import RareWords
from jaxtree.table.reading import NumberBlock, Table, default_names, read_table, with_categorical
from jaxtree.table.schema import Column, Schema, value_in_words
from jaxtree.table.sources import Source, is_source, naming, open_source
from jaxtree.table.summary import (
    NO_ROWS,
    CodesOfBlocks,
    Summary,
    learn_schema,
    lowest_hashes,
    sample_table,
    summarise,
    summarise_tables,
)
from jaxtree.table.unlike_fit import warn_of_lost_columns, warn_of_unseen_words

_FEW_ROWS = 128  # up to here the numbers of all columns are coded together, and above it column by column
_UNSEEN = ("missing", "error")
_WARNING = "warning"
"""The fate of an unseen category that is missing, with a warning."""
_DTYPE_OF_BLOCK, _DTYPE_OF_COLUMN = operator.attrgetter("matrix.dtype"), operator.attrgetter("values.dtype")


@dataclass(kw_only=True, eq=False)
class Encoder:
    """Turns tables into codes, and codes into the values of the table.

    A column of numbers becomes bins; a column of strings becomes a code for each category seen in fit, in ascending
    order. A categorical dtype of pandas or pyarrow, an ordered one, and an Enum of polars keep all the categories that
    they declare, in that order; a Categorical of polars declares none, and is read as strings are. Truth values are 0
    False, 1 True. The code after a feature's last means missing.

    Dates (datetime64 of NumPy, and those of pandas, polars, pyarrow and Python) are numbers, too: days since the first
    one of the fitted column, which `schema_` keeps as the column's `time`. Dates with a time zone are read as UTC, and
    those without one are another kind of column. Durations are days.

    Where a column has more values than bins, these are about equally full, but for finer ones towards both ends of a
    long column. Edges are fitted on all rows, or on 200,000 of them (see `sample_rows`). Numbers outside the fitted
    range fall in the first or last bin. Numbers compare as float64: scikit-learn, which casts to float32, and ONNX
    cannot separate values that differ only past float32, and this can.

    Args:
        max_bins: The most bins of a numeric column, from 2 to 65,535; None is 65,535, exact for as many distinct
            values. "auto" is None for tables of up to 100,000 rows, and 255 for longer ones.
        max_categories: The most categories of a categorical column, from 1 to 65,535; None is 65,535. In a column of
            more words the rarest share the last one, as words of fewer than 3 rows do in a column of more than 255
            (see `jaxtree.table.rare_words.RareWords`).
        categorical_features: "from_dtype": columns of strings and of categorical dtypes are categorical. A list of
            names, of positions, or of a truth value a column makes others so as well. None: no column is, and strings
            are refused.
        unseen: The fate of a category that was not seen in fit, where the rarest do not share one: "missing", or an
            "error".

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
    """

    max_bins: int | str | None = "auto"
    max_categories: int | None = None
    categorical_features: Any = "from_dtype"
    unseen: str = "missing"
    schema_: Schema = field(init=False, repr=False)
    _is_sampled: bool = field(default=False, init=False, repr=False)

    @all_or_nothing
    def fit(self, X: Any) -> "Encoder":
        """Learns the schema of a table, or of a source such as a Parquet file (see `open_source`).

        Raises:
            InvalidInputError: If an option is not allowed; and see `read_table`.
                For a source also if its parts differ in their columns, or if it can be read only once.
            InvalidTypeError: If a column is of a type that has no meaning for a tree; see `read_table`.
        """
        if not is_source(X):
            table, _ = self._fit_table(read_table(X))
            if self._is_sampled:
                self._encode(present(table), widen=True)
            return self
        source = open_source(X, to_fit=True)
        self.fit_summary(self.summarise(source))
        if self._is_sampled:
            for table in self._matched(source):
                self._encode(table, widen=True)
        return self

    def transform(self, X: Any) -> Codes:
        """Returns the codes of a table, or of a source, with the columns of the fitted one."""
        if isinstance(X, Table) or not is_source(X):
            return self._encode(self._as_fitted(read_table(X)))
        return self._encode_parts(self.open(X))

    def open(self, X: Any) -> Source:
        """Returns a source, as `open_source` does; columns of files of text that had words in fit have words."""
        self._check_fitted()
        of_words = {
            column.name: all(isinstance(_word(category), str) for category in column.categories)
            for column in self.schema_.columns
            if column.categories
        }
        return open_source(X, words={name for name, has_words in of_words.items() if has_words})

    @all_or_nothing
    def fit_transform(self, X: Any) -> Codes:
        """Returns the codes of `fit(X).transform(X)`, but reads a table once, and a source twice."""
        if isinstance(X, Table) or not is_source(X):
            X = read_table(X)
            rest, of_blocks = self._fit_table(X)
            codes = self._empty_codes(len(X))
            for place, own in of_blocks:
                codes[_all_or(place, codes)] = own
            return codes if rest is None else self._encode(rest, codes, widen=True)
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

    @all_or_nothing
    def fit_summary(self, summary: Summary) -> "Encoder":
        """Learns the schema of the table that was summarised.

        Bins are those of the whole table. Where that has more rows than edges are fitted on, `encode_part` widens
        them to the rows that it encodes, and `widen` to those that others have encoded.

        Raises:
            InvalidInputError: If an option is not allowed, or the table has no rows.
        """
        self.check_options()
        if not summary.num_rows:
            raise InvalidInputError(NO_ROWS)
        self._learn(Table.of(summary.columns, is_named=True), summary.num_rows, is_sampled=summary.is_sampled)
        return self

    @all_or_nothing
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
        bins, is_own = self.schema_.columns.bins, self._has_bins
        return np.stack([bins.low[is_own], bins.high[is_own]])

    @all_or_nothing
    def widen(self, *ranges: Float64[np.ndarray, "end _bin"]) -> "Encoder":
        """Widens the bins to the ranges of encoders that have learned from the same summary; see `bin_ranges`.

        Raises InvalidInputError if they are those of other bins.
        """
        own = self.bin_ranges()
        if any(other.shape != own.shape for other in ranges):
            shapes = [other.shape for other in ranges]
            raise InvalidInputError(f"ranges must be of the schema's {own.shape[1]} bins, got shapes {shapes}")
        bins, is_own = self.schema_.columns.bins, self._has_bins
        low, high = bins.low.copy(), bins.high.copy()
        low[is_own] = np.min([own[0], *(other[0] for other in ranges)], axis=0)
        high[is_own] = np.max([own[1], *(other[1] for other in ranges)], axis=0)
        self._set_bins(bins.with_ranges(low, high))
        return self

    def values(self, X: Any, *, warns: bool = False) -> Float[np.ndarray, "row feature"]:
        """Returns the values that thresholds split: the numbers of numeric columns, the codes of all other features.

        A missing value, and an unseen category, is NaN, which like the missing code is above every threshold. A table
        of float32 stays so, any other becomes float64. An array of float32 or float64 is not copied where the fitted
        columns are numbers, nor elsewhere if its rows are contiguous; a sparse matrix is given its zeros.

        Args:
            X: A table, or a source.
            warns: Whether there are warnings of words that fit has not seen, and of columns that are missing in every
                row and were in none of the fit: one a column.
        """
        self._check_fitted()
        if self._is_plain(X):
            names = self.schema_.column_names
            has_missing = check_numbers(X, names)
            if warns and has_missing.any():
                place = np.arange(len(names))
                own = Table(names, False, {}, (NumberBlock(place, X, place, has_missing),))
                warn_of_lost_columns(own, self.schema_.columns.has_missing)
            return X
        if isinstance(X, Table) or not is_source(X):
            return self._values(self._as_fitted(read_table(X), warns=warns), X)
        parts = [self._values(table, X) for table in self._matched(self.open(X))]
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
        for column, own in zip(self.schema_.columns, codes, strict=True):
            columns[column.name] = _values_of_codes(column)[own].tolist()
        return columns

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            from sklearn.exceptions import NotFittedError  # loads all of scikit-learn

            raise NotFittedError("This Encoder is not fitted yet: call fit or fit_transform first.")

    def _fit_table(self, table: Table) -> tuple[Table | None, CodesOfBlocks]:
        """Learns the schema of a table that is held whole; returns the table as the schema has it.

        Where the codes of its blocks were found on the way, these come in place of the blocks, and None in place of a
        table without others.
        """
        self.check_options()
        num_rows, table = len(table), with_categorical(table, self.categorical_features)
        taken = lowest_hashes(np.arange(num_rows))
        codes = self._learn(sample_table(table, taken), num_rows, is_sampled=not isinstance(taken, slice))
        if self._is_sampled:
            codes = []
        if codes and not table.alone:
            return None, codes
        return match_columns(replace(table, blocks=()) if codes else table, self.schema_, unseen="missing"), codes

    def _learn(self, sampled: Table, num_rows: int, *, is_sampled: bool) -> CodesOfBlocks:
        """Learns the schema of a table of `num_rows` rows from its sampled rows; see `learn_schema`."""
        most_bins = self.max_bins
        if most_bins == "auto":
            most_bins = MAX_CODES if num_rows <= MAX_EXACT_ROWS else NUM_BINS_OF_LONG_TABLE
        max_bins, max_categories = int(most_bins or MAX_CODES), int(self.max_categories or MAX_CODES)
        self._is_sampled = is_sampled
        self.schema_, codes = learn_schema(sampled, max_bins=max_bins, max_categories=max_categories)
        return codes

    def _as_fitted(self, table: Table, *, warns: bool = False) -> Table:
        """Returns a table as the schema has it."""
        self._check_fitted()
        check_names(table, self.schema_.column_names)
        if warns:
            warn_of_lost_columns(table, self.schema_.columns.has_missing)
        return match_columns(table, self.schema_, unseen=_WARNING if warns and self.unseen != "error" else self.unseen)

    def _matched(self, source: Source) -> Iterator[Table]:
        """Reads the tables of a source as the schema has them."""
        self._check_fitted()
        return (table for _, table in _read(source, self._as_fitted))

    def check_options(self) -> None:
        """Raises InvalidInputError if an option is not allowed."""
        if self.unseen not in _UNSEEN:
            raise InvalidInputError(f"unseen must be one of {', '.join(map(repr, _UNSEEN))}, got {self.unseen!r}")
        for name, lowest, also in (("max_bins", 2, "'auto', "), ("max_categories", 1, "")):
            limit = getattr(self, name)
            is_number = isinstance(limit, int | np.integer) and not isinstance(limit, bool)
            if limit is None or (is_number and lowest <= limit <= MAX_CODES) or (also and limit == "auto"):
                continue
            raise InvalidInputError(
                f"{name} must be {also}None or an integer from {lowest} to {MAX_CODES}, got {limit!r}"
            )

    @property
    def _has_bins(self) -> Bool[np.ndarray, " bin"]:
        """Which bins are those of numeric columns, and no codes of categories."""
        columns = self.schema_.columns
        return np.repeat(columns.is_numeric, columns.bins.num_bins)

    def _set_bins(self, bins: BinTable) -> None:
        """Gives the columns of the schema other bins."""
        self.schema_ = replace(self.schema_, columns=replace(self.schema_.columns, bins=bins))

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
        codes = self._empty_codes(len(table)) if codes is None else codes
        parts, numbers, widen = [], {}, widen and self._is_sampled
        for place, column in table.alone.items():
            if column.has_categories:
                codes[place] = np.asarray(column.values)
            else:
                numbers[place] = column.values
        if numbers:
            parts.append((np.array([*numbers]), [*numbers.values()]))
        for block in table.blocks:
            if len(table) <= _FEW_ROWS and not widen:
                bins, values = self.schema_.columns.bins.take(block.place), block.values()
                values = values.astype(comparison_dtype(values.dtype), copy=False)
                codes[_all_or(block.place, codes)] = bins.count_edges_below(values.T)
            else:
                parts.append((block.place, block.columns()))
        for place, columns in parts:
            self._encode_numbers(place, columns, codes, widen=widen)
        return codes

    def _encode_numbers(self, place: Int64[np.ndarray, " column"], columns: Any, codes: Codes, *, widen: bool) -> None:
        """Writes the codes of columns of numbers; may widen the bins."""
        bins = self.schema_.columns.bins
        to = codes if len(place) == len(codes) else [codes[row] for row in place.tolist()]
        own = bin_columns(columns, bins.take(place), to, widen=widen)
        if widen:
            is_other = np.ones(len(bins), bool)
            is_other[place] = False
            others = np.flatnonzero(is_other)
            self._set_bins(BinTable.joined((place, others), (own, bins.take(others))))

    def _values(self, table: Table, X: Any) -> Float[np.ndarray, "row feature"]:
        """The values of a table as the schema has it, which was read from X or a part of it."""
        if issparse(X) and not table.blocks and not any(column.has_categories for column in table.alone.values()):
            # In one step: columns would be written one by one between one another.
            return X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False).toarray(order="C")
        matrix = table.matrix
        if matrix is not None and matrix.dtype in (np.float32, np.float64) and matrix.flags.c_contiguous:
            return matrix
        return self._fill_values(table)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array whose values are those that thresholds split, once they are checked."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float32, np.float64) or not len(X):
            return False
        return bool(self.schema_.columns.is_plain.all()) and X.shape[1] == len(self.schema_.columns)

    def _fill_values(self, table: Table) -> Float[np.ndarray, "row feature"]:
        """The values row by row."""
        dtypes = {*map(_DTYPE_OF_BLOCK, table.blocks), *map(_DTYPE_OF_COLUMN, table.alone.values())}
        is_single = dtypes == {np.dtype(np.float32)}  # no codes are
        values = np.empty((len(table), self.schema_.num_features), np.float32 if is_single else np.float64)

        def fill_block(rows: slice) -> None:
            for block in table.blocks:
                values[rows, _all_or(block.place, values.T)] = block.values(rows)
            for place, column in table.alone.items():
                own = column.values[rows]
                values[rows, place] = own
                if column.has_categories and column.has_missing:
                    values[rows, place][own == len(column.categories)] = np.nan

        by_blocks(fill_block, len(table))
        return values


def _read(source: Source, prepare: Callable[[Table], Table]) -> Iterator[tuple[str, Table]]:
    """Yields the tables of a source, each with its name in messages."""
    for part in source:
        with naming(part.label):
            yield part.label, prepare(read_table(part.table))


def _all_or(place: Int64[np.ndarray, " column"], columns: Shaped[np.ndarray, "all_columns row"]) -> Any:
    """Returns the places of some columns, or a slice if these are all."""
    return slice(None) if len(place) == len(columns) else place


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


_NAMES_SHOWN = 5


def match_columns(table: Table, schema: Schema, *, unseen: str) -> Table:
    """Returns a table with its columns as the schema has them: numbers, or the schema's categories.

    Args:
        table: A table with the names of the fitted one, see `check_names`.
        schema: The schema of the fitted table.
        unseen: The fate of a category that is not in the schema: "missing", also with a "warning", or an "error".

    Raises:
        InvalidInputError: An unseen category is an error.
        InvalidTypeError: A column has values of another kind than in fit.
    """
    columns, blocks, alone = schema.columns, [], dict(table.alone)
    for block in table.blocks:
        is_plain = columns.is_plain[block.place]
        if is_plain.all():
            blocks.append(block)
            continue
        has_none = (columns.is_numeric & (columns.bins.num_bins == 0))[block.place] & (unseen != "error")
        blocks += [*block.where(is_plain), *map(_without_numbers, block.where(has_none))]
        alone |= {place: table.column(place) for place in block.place[~(is_plain | has_none)].tolist()}
    for place, column in alone.items():
        categories = columns.described[place].categories if place in columns.described else ()
        is_alike = column.kind == "numeric" if columns.is_plain[place] else column.categories == categories != ()
        if not is_alike:
            alone[place] = _match(column, columns[place], unseen)
    return replace(table, alone=alone, blocks=tuple(blocks))


def _without_numbers(block: NumberBlock) -> NumberBlock:
    """Numbers that are all missing, as all were in fit."""
    missing = np.full((len(block.matrix), len(block.place)), np.nan)
    return NumberBlock(block.place, missing, np.arange(len(block.place)), np.ones(len(block.place), bool))


def check_names(table: Table, fitted: tuple[str, ...]) -> None:
    """Compares the names where both tables have some, else the number of columns; scikit-learn's words for both.

    The numbers that pandas gives to the columns of a bare array are names where the other table has them in disorder.

    Raises:
        InvalidInputError: The table has other columns than the fitted one.
    """
    names, have_names = table.names, table.is_named and fitted != default_names(len(fitted))
    if table.is_numbered and are_shuffled_places(fitted):
        names, have_names = tuple(map(str, range(len(fitted)))), True
    elif table.is_named and not have_names and are_shuffled_places(names):
        fitted, have_names = tuple(map(str, range(len(fitted)))), True
    if have_names and names != fitted:
        unseen, lost = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
        raise InvalidInputError(
            "The feature names should match those that were passed during fit.\n"
            + (f"Feature names unseen at fit time:\n{_list_names(unseen)}" if unseen else "")
            + (f"Feature names seen at fit time, yet now missing:\n{_list_names(lost)}" if lost else "")
            + ("" if unseen or lost else "Feature names must be in the same order as they were in fit.\n")
        )
    if len(table.names) != len(fitted):
        raise InvalidInputError(
            f"X has {len(table.names)} features, but Encoder is expecting {len(fitted)} features as input."
        )


def _list_names(names: Sequence[str]) -> str:
    return "".join(f"- {name}\n" for name in _first_few(names))


def _first_few(names: Sequence[str]) -> list[str]:
    return [*names[:_NAMES_SHOWN], *(["..."] if len(names) > _NAMES_SHOWN else [])]


def _match(column: TableColumn, fitted: Column, unseen: str) -> TableColumn:
    kind = fitted.kind if fitted.time is None else fitted.time.kind
    if fitted.bins is None or not fitted.num_values:
        if column.is_time:
            _refuse_values(column, fitted, kind)
            column = _all_missing(column)
        return _match_categories(column, fitted, unseen)
    if fitted.time is not None and column.kind == kind:
        return TableColumn(column.name, "numeric", fitted.time.numbers(np.asarray(column.values)), column.has_missing)
    if fitted.time is None and column.kind in ("numeric", "boolean"):
        is_number = column.kind == "numeric"
        return column if is_number else TableColumn(column.name, "numeric", column.numbers(), column.has_missing)
    _refuse_values(column, fitted, kind)
    return _all_missing(column)


def _all_missing(column: TableColumn) -> TableColumn:
    return TableColumn(column.name, "numeric", np.full(len(column), np.nan), True)


def _refuse_values(column: TableColumn, fitted: Column, kind: str) -> None:
    """Raises InvalidTypeError if the fitted column has values, and this one has some, which are of another kind."""
    known = column.known()
    if not len(known) or not fitted.num_values:
        return
    had = KINDS_IN_WORDS[kind] + (f" such as {_word(fitted.categories[0])!r}" if fitted.categories else "")
    has = KINDS_IN_WORDS[column.kind]
    if not column.is_time:
        has += f" such as {column.categories[known[0]] if column.categories else float(known[0])!r}"
    raise InvalidTypeError(f"column {fitted.name!r} had {had} in fit, and now has {has}: turn them into what they were")


def _match_categories(column: TableColumn, fitted: Column, unseen: str) -> TableColumn:
    found, wanted = as_categorical(column), fitted.categories
    own = found.categories
    if own == wanted:
        return found
    if own and wanted and _has_strings(own) != _has_strings(wanted):
        _refuse_values(column, fitted, fitted.kind)
    matched = recoded(found, wanted)
    if unseen != "missing" and matched.has_missing and not set(own).issubset(wanted):
        is_strange = (np.asarray(matched.values) == len(wanted)) & (np.asarray(found.values) < len(own))
        strange = np.unique(np.asarray(found.values)[is_strange])
        if len(strange):
            words = [value_in_words(own[code]) for code in strange[: _NAMES_SHOWN + 1]]
            _note_unseen(fitted.name, words, int(is_strange.sum()), unseen)
    return matched


def _note_unseen(name: str, words: list[str], num_rows: int, unseen: str) -> None:
    """Warns of words that are not in the schema; raises InvalidInputError if they are an error."""
    if unseen == _WARNING:
        warn_of_unseen_words(name, num_rows, words[0])
        return
    raise InvalidInputError(
        f"column {name!r} has values never seen in fit: {', '.join(_first_few(words))}; unseen='missing' reads them as "
        "missing"
    )


def _has_strings(categories: tuple) -> bool:
    return any(isinstance(_word(category), str) for category in categories)


def _word(category: Any) -> Any:
    return category.example if isinstance(category, RareWords) else category
