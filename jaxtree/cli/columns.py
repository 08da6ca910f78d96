"""Columns of a file with types: for a fit those that follow from their cells, for a prediction those of the fit.

A column has numbers if all its known cells are numbers, truth values if they are true and false, dates if all are dates
of ISO 8601, else words. *Known* rows are those whose target is not missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import polars as pl
import typer
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.cli.reading import Contents, read_contents
from jaxtree.cli.session import ColumnOptions, Names, TableSession, in_short, listed
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import LARGEST_EXACT_INTEGER
from jaxtree.table.schema import Column, value_in_words

MOST_CLASSES = 10
"""A target of at most so many distinct whole numbers has classes."""

_KINDS = {
    "words": "words",
    "categories": "its declared categories",
    "numbers": "numbers",
    "whole": "whole numbers",
    "truth": "true and false",
    "instant": "dates, as 2020-01-31 or 2020-01-31 12:00:00",
    "utc": "dates with a time zone, as 2020-01-31T12:00:00Z",
    "duration": "durations",
}
"""How a column can be read, and how messages call its cells; dates and durations as in `jaxtree.table.times`."""

_OF_FEATURES = ("numbers", "truth", "instant", "utc", "words")
_OF_TARGETS = ("whole", "numbers", "truth", "words")
"""Kinds of columns of text; the first one that all cells are of is the column's."""

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_DATES = {"instant": rf"{_DATE})?$", "utc": rf"{_DATE}(Z|[+-]\d{{2}}:\d{{2}}))$"}
"""Dates of ISO 8601 that can be read in one way alone: year, month, day; without a time zone, and with one."""
_TRUTH = {"true": True, "false": False}


class Labelled(NamedTuple):
    """Rows with a target.

    Attributes:
        X: The features, a pandas frame.
        y: The target, a series of pandas.
        weight: The weights of the rows, if they have some.
        task: "classification" or "regression".
        other_columns: The names of the target, and of the column of the weights if there is one.
        num_left_out: How many rows were left out, because their target is missing.
    """

    X: pd.DataFrame
    y: pd.Series
    weight: Float[np.ndarray, " row"] | None
    task: str
    other_columns: tuple[str, ...]
    num_left_out: int

    @property
    def score_name(self) -> str:
        """The name of what an estimator's `score` returns."""
        return "accuracy" if self.task == "classification" else "R²"

    def take(self, rows: Int[np.ndarray, " taken"]) -> Self:
        """Returns some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=self.X.iloc[rows], y=self.y.iloc[rows], weight=weight)


def read_labelled(contents: Contents, target: str, options: ColumnOptions) -> Labelled:
    """Returns the features, the target and the weights of a file, with the types that follow from the cells.

    Unless the task is given, a target of other numbers than few whole ones is for regression.

    Raises:
        InvalidInputError: There is no such column, no feature, or no row with a target; or a cell is no number where
            one must be.
        InvalidTypeError: A column is of a type that is not read.
        typer.BadParameter: A column is to be both categorical and numeric.
    """
    columns = contents.frame.columns
    words, numbers, left_out = (_split(n, columns) for n in (options.categorical, options.numeric, options.ignore))
    if twice := {*words} & {*numbers}:
        message = f"column {min(twice)!r} cannot be both categorical and numeric"
        raise typer.BadParameter(message, param_hint="--numeric")
    check_columns(contents, (target, *words, *numbers, *left_out))
    if target in (options.weight, *left_out):
        raise InvalidInputError(f"target {target!r} must be another column than the weights and those left out")
    names = [name for name in columns if name not in (target, options.weight, *left_out)]
    if not names:
        raise InvalidInputError(f"{contents.name} has no columns except the target, the weights and those left out")
    kept, rows = _known(contents, target)
    kinds = {**dict.fromkeys(words, "words"), **dict.fromkeys(numbers, "numbers")}
    y: Any = _in_pandas(kept, {target: _target(kept, target, kinds.get(target), options.task)})[target]
    has_numbers = y.dtype.kind == "f" or (y.dtype.kind in "iu" and y.nunique() > MOST_CLASSES)
    return Labelled(
        X=_in_pandas(kept, {name: _typed(kept, name, kinds.get(name)) for name in names}),
        y=y,
        weight=weights_of(kept, options.weight),
        task=options.task or ("regression" if has_numbers else "classification"),
        other_columns=(target,) if options.weight is None else (target, options.weight),
        num_left_out=contents.frame.height - len(rows),
    )


def weights_of(contents: Contents, name: str | None) -> Float[np.ndarray, " row"] | None:
    """Returns the weights of the rows; None if there is no column of them."""
    if name is None:
        return None
    check_columns(contents, (name,))
    weight = _cast(contents, name, "numbers")
    if weight.has_nulls():
        raise InvalidInputError(f"weight {name!r} has no value in row {weight.is_null().arg_true()[0] + 1}")
    return weight.to_numpy()


def check_columns(contents: Contents, names: Iterable[str]) -> None:
    """Raises InvalidInputError for a name of no column."""
    columns = contents.frame.columns
    for name in names:
        if name not in columns:
            raise InvalidInputError(f"{contents.name} has no column {name!r}; its columns are {listed(columns)}")


def read_features(session: TableSession, estimator: Any, data: str) -> tuple[pd.DataFrame, Contents]:
    """Returns the features of a fitted estimator from a file, with their types in the fit; and all of the file."""
    contents = read_contents(data, session)
    columns = estimator.schema_.columns
    X = features_like(contents, columns, are_named=hasattr(estimator, "feature_names_in_"))
    for name, column in zip(X.columns, columns, strict=True):
        if column.bins is None and column.kind != "boolean":
            unseen: Any = X[name][X[name].notna() & ~X[name].isin(list(column.categories))]
            if len(unseen):
                session.note(
                    f"{in_short(name)}: {len(unseen)} rows have a word that the fit has not seen, such as "
                    f"{in_short(repr(value_in_words(unseen.iloc[0])))}; it counts as missing"
                )
    return X, contents


def features_like(contents: Contents, columns: tuple[Column, ...], *, are_named: bool) -> pd.DataFrame:
    """Returns the columns of a fit, with their types then, from a file that may have others, too.

    Args:
        contents: The file.
        columns: The columns of the fit.
        are_named: Whether they had names; if they had not and the file has as many columns, these are taken in order.

    Raises:
        InvalidInputError: A column is not there, or has words where it had numbers.
    """
    present, names = contents.frame.columns, [column.name for column in columns]
    if not are_named and not set(names) <= set(present) and len(present) == len(names):
        names = present
    check_columns(contents, names)
    kinds = map(_kind_in_fit, columns)
    return _in_pandas(contents, {n: _cast(contents, n, kind) for n, kind in zip(names, kinds, strict=True)})


def read_labels(
    estimator: Any, contents: Contents, given: str | None
) -> tuple[Int[np.ndarray, " known"], Shaped[np.ndarray, " known"]]:
    """Returns the rows of a file whose target is known, and their classes, as the model names them, or numbers.

    Args:
        estimator: The fitted model.
        contents: The file.
        given: The name of the target; None for that of the fit, if the model's file has kept it.

    Raises:
        InvalidInputError: There is no such column, no row has a value in it, or none is a class or number of the model.
    """
    names: Any = getattr(estimator, "other_columns_", ())
    if given is None and not names:
        raise InvalidInputError("the model's file does not name its target: --target names it")
    target = given or names[0]
    check_columns(contents, (target,))
    kept, rows = _known(contents, target)
    if not is_classifier(estimator):
        return rows, _cast(kept, target, "numbers").to_numpy()
    classes = np.asarray(estimator.classes_)
    y = _typed(kept, target, "words" if classes.dtype.kind in "OUT" else None, _OF_TARGETS).to_numpy()
    known = set(classes.tolist())
    is_class = [label in known for label in y.tolist()]
    if not any(is_class):
        raise InvalidInputError(
            f"no value of target {target!r}, such as {y[0]!r}, is a class of the model: {listed(classes)}"
        )
    return rows, y.astype(classes.dtype) if y.dtype.kind == "f" and all(is_class) else y


def _split(names: Names, columns: list[str]) -> list[str]:
    """Names of columns, of which those with commas are names of columns first."""
    return [part for name in names or () for part in ([name] if name in columns else map(str.strip, name.split(",")))]


def _known(contents: Contents, target: str) -> tuple[Contents, Int[np.ndarray, " known"]]:
    """The rows with a target, and their numbers."""
    is_known = contents.frame[target].is_not_null()
    if not is_known.any():
        raise InvalidInputError(f"target {target!r} has no value in any row")
    return contents._replace(frame=contents.frame.filter(is_known)), np.flatnonzero(is_known.to_numpy())


def _in_pandas(contents: Contents, columns: Mapping[str, pl.Series]) -> pd.DataFrame:
    frame = pl.DataFrame(columns).to_pandas()
    for name, series in columns.items():
        if series.dtype == pl.Boolean:
            frame[name] = frame[name].astype("boolean" if series.has_nulls() else bool)
        elif series.dtype == pl.Enum and name in contents.declared:
            frame[name] = frame[name].cat.as_unordered()
    return frame


def _target(contents: Contents, name: str, kind: str | None, task: str | None) -> pl.Series:
    if task == "regression":
        return _cast(contents, name, "numbers")
    series = _typed(contents, name, kind, _OF_TARGETS)
    if not series.dtype.is_float():
        return series
    is_whole = _are_whole(series)
    if is_whole.all():
        return series.cast(pl.Int64)
    if task == "classification":
        raise InvalidInputError(
            f"target {name!r} must have whole numbers below 2**53 or words as classes, and has "
            f"{series.filter(~is_whole)[0]:.17g}: --categorical {name} reads its cells as words"
        )
    return series


def _typed(contents: Contents, name: str, kind: str | None, kinds_of_text: Sequence[str] = _OF_FEATURES) -> pl.Series:
    """A column as of a kind; if none is given, of the type that it has, declares or that its cells have."""
    series, declared = contents.frame[name], contents.declared.get(name)
    dtype = series.dtype
    if dtype == pl.String and kind != "words" and not declared:
        must_be_numbers = kind == "numbers" or declared is not None
        for kind in [k for k in kinds_of_text if k in ("whole", "numbers") or not must_be_numbers]:
            column = _converted(series, kind)
            if column.null_count() == series.null_count():
                return column
    if kind is None and (declared or dtype == pl.Categorical):
        kind = "categories" if declared else "words"
    # NumPy has no whole numbers of 128 bits.
    is_whole = dtype.is_integer() and not str(dtype).endswith("128") and not series.has_nulls()
    if kind is None and (is_whole or dtype in (pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Duration)):
        return series
    if kind is None and dtype != pl.Null and (not dtype.is_numeric() or dtype.is_decimal()):
        raise InvalidTypeError(
            f"column {name!r} of {contents.name} has type {dtype}, which trees do not read: leave it out with "
            f"--ignore {name}, or turn it into numbers or words"
        )
    return _cast(contents, name, kind or "numbers")


def _kind_in_fit(column: Column) -> str:
    if column.time is not None:
        return column.time.kind
    if column.bins is None and column.kind == "boolean":
        return "truth"
    return "words" if column.bins is None and all(isinstance(one, str) for one in column.categories) else "numbers"


def _cast(contents: Contents, name: str, kind: str) -> pl.Series:
    """A column as of a kind; raises InvalidInputError if a cell is not of it."""
    series, declared = contents.frame[name], contents.declared.get(name, ())
    try:
        column = _converted(series, kind, declared)
    except pl.exceptions.PolarsError:
        raise InvalidTypeError(
            f"column {name!r} of {contents.name} has type {series.dtype} instead of {_KINDS[kind]}"
        ) from None
    wrong = (column.is_null() & series.is_not_null()).arg_true()
    if len(wrong):
        allowed = f" {listed(declared)}" if kind == "categories" else ""
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have {_KINDS[kind]}{allowed}, and has {series[wrong[0]]!r} in "
            f"row {wrong[0] + 1} (--missing names words that mean that a value is missing)"
        )
    return column


def _converted(series: pl.Series, kind: str, categories: Sequence[str] = ()) -> pl.Series:
    """Cells as of a kind, null where one is not of it."""
    dtype = series.dtype
    if kind in ("words", "categories"):
        # Whole numbers are written without a point.
        is_whole = dtype.is_float() and bool(_are_whole(series.drop_nulls()).all())
        words = (series.cast(pl.Int64) if is_whole else series).cast(pl.String)
        return words if kind == "words" else words.cast(pl.Enum(categories), strict=False)
    if kind == "truth":
        if dtype != pl.String:
            return series.cast(pl.Boolean)
        return series.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    if kind in _DATES and dtype == pl.String:
        cells = series.str.extract(_DATES[kind], 0)
        if cells.null_count() > series.null_count():
            return cells
        dates = pd.Series(cells.to_list(), dtype=object)
        return pl.from_pandas(pd.to_datetime(dates, format="ISO8601", utc=kind == "utc", errors="coerce"))
    if kind in (*_DATES, "duration"):
        # A duration is written in no one way, so that no text is one.
        return series if dtype.is_temporal() else pl.repeat(None, len(series), dtype=pl.Float64, eager=True)
    cells = series if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null) else series.cast(pl.String)
    return cells.cast(pl.Int64 if kind == "whole" else pl.Float64, strict=False)


def _are_whole(numbers: pl.Series) -> pl.Series:
    """Which numbers are whole ones below 2**53, of which float64 has every one."""
    return (numbers % 1 == 0) & (numbers.abs() < LARGEST_EXACT_INTEGER)
