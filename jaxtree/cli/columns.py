"""Columns of a file with types: for a fit those that their cells tell, for a prediction those of the fit.

A column is one of numbers if all its known cells are, of truth values if they are true and false, of dates if all are
dates of ISO 8601, else of words. *Known* rows are those whose target is not missing.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import polars as pl
import typer
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.cli.options import ColumnOptions, Names, TextOptions
from jaxtree.cli.reading import Contents, read_contents
from jaxtree.cli.session import Session, in_short, listed
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.schema import Column, value_in_words
from jaxtree.table.times import KINDS

MOST_CLASSES = 10
"""A target of at most so many distinct whole numbers has classes."""

_TRUTH = ("true", "false")
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_NAIVE, _ZONED = rf"^{_DATE})?$", rf"^{_DATE}(Z|[+-]\d{{2}}:\d{{2}}))$"
"""Dates of ISO 8601 that can be read in one way alone: year, month, day; without a time zone, and with one."""
_SURELY_WHOLE = 2**53
"""From here on float64 does not tell whole numbers apart."""


class Labelled(NamedTuple):
    """Rows with a target.

    Attributes:
        X: The features, a pandas frame.
        y: The target, a series of pandas.
        weight: The weights of the rows, if they have some.
        task: "classification" or "regression".
        beside: The names of the target, and of the column of the weights if there is one.
        num_left_out: How many rows were left out, because their target is missing.
    """

    X: pd.DataFrame
    y: pd.Series
    weight: Float[np.ndarray, " row"] | None
    task: str
    beside: tuple[str, ...]
    num_left_out: int

    @property
    def score_name(self) -> str:
        """What an estimator's `score` is."""
        return "accuracy" if self.task == "classification" else "R²"

    def take(self, rows: Int[np.ndarray, " taken"]) -> Self:
        """Returns some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=self.X.iloc[rows], y=self.y.iloc[rows], weight=weight)


def read_labelled(contents: Contents, target: str, options: ColumnOptions) -> Labelled:
    """Returns the features, the target and the weights of a file, with the types that the cells tell.

    Unless the task is given, a target of other numbers than few whole ones is for regression.

    Raises:
        InvalidInputError: There is no such column, no feature, or no row with a target; or a cell is no number where
            one must be.
        InvalidTypeError: A column is of a type that is not read.
        typer.BadParameter: A column is to be both categorical and numeric.
    """
    columns = contents.frame.columns
    words, numbers, left_out = (_split(n, columns) for n in (options.categorical, options.numeric, options.ignore))
    twice = {*words} & {*numbers}
    if twice:
        raise typer.BadParameter(
            f"column {min(twice)!r} cannot be both categorical and numeric", param_hint="--numeric"
        )
    check_columns(contents, (target, *words, *numbers, *left_out))
    if target in (options.weight, *left_out):
        raise InvalidInputError(f"target {target!r} must be another column than the weights and those left out")
    kept, rows = _known(contents, target)
    names = [name for name in columns if name not in (target, options.weight, *left_out)]
    if not names:
        raise InvalidInputError(f"{contents.name} has no columns beside the target, the weights and those left out")
    kinds = {**dict.fromkeys(words, "words"), **dict.fromkeys(numbers, "numbers")}
    X = _in_pandas(kept, {name: _typed(kept, name, kinds.get(name)) for name in names})
    y: Any = _in_pandas(kept, {target: _target(kept, target, kinds.get(target), options.task)})[target]
    has_numbers = y.dtype.kind == "f" or (y.dtype.kind in "iu" and y.nunique() > MOST_CLASSES)
    return Labelled(
        X=X,
        y=y,
        weight=weights_of(kept, options.weight),
        task=options.task or ("regression" if has_numbers else "classification"),
        beside=(target,) if options.weight is None else (target, options.weight),
        num_left_out=contents.frame.height - len(rows),
    )


def weights_of(contents: Contents, name: str | None) -> Float[np.ndarray, " row"] | None:
    """Returns the weights of the rows; None if there is no column of them."""
    if name is None:
        return None
    check_columns(contents, (name,))
    weight = _numbers(contents, name)
    if weight.has_nulls():
        raise InvalidInputError(f"weight {name!r} has no value in row {weight.is_null().arg_true()[0] + 1}")
    return weight.to_numpy()


def check_columns(contents: Contents, names: Iterable[str]) -> None:
    """Raises InvalidInputError for a name of no column."""
    for name in names:
        if name not in contents.frame.columns:
            raise InvalidInputError(
                f"{contents.name} has no column {name!r}; its columns are {listed(contents.frame.columns)}"
            )


def read_features(session: Session, estimator: Any, data: str, options: TextOptions) -> tuple[pd.DataFrame, Contents]:
    """Returns the features of a fitted estimator from a file, with their types in the fit; and all of the file."""
    contents = read_contents(data, options)
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
    lost = [name for name in names if name not in present]
    if lost:
        raise InvalidInputError(
            f"{contents.name} has no column {lost[0]!r}, which the model was fitted on; its columns are "
            f"{listed(present)}"
        )
    like = {name: _like(contents, name, column) for name, column in zip(names, columns, strict=True)}
    return _in_pandas(contents, like)


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
        raise InvalidInputError("the model does not know the name of its target: --target names it")
    target = given or names[0]
    check_columns(contents, (target,))
    kept, rows = _known(contents, target)
    if not is_classifier(estimator):
        return rows, _numbers(kept, target).to_numpy()
    classes = np.asarray(estimator.classes_)
    has_words = classes.dtype.kind in "OUT"
    y = np.asarray(_in_pandas(kept, {target: _typed_exactly(kept, target, "words" if has_words else None)})[target])
    if has_words:
        y, classes = y.astype(object), classes.astype(object)
    is_class = np.isin(y, classes) if y.dtype != object else np.array([label in set(classes.tolist()) for label in y])
    if not is_class.any():
        raise InvalidInputError(
            f"no value of target {target!r}, such as {y[0]!r}, is a class of the model: {listed(classes)}"
        )
    return rows, y.astype(classes.dtype) if y.dtype.kind == "f" and is_class.all() else y


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


def _typed(contents: Contents, name: str, kind: str | None) -> pl.Series:
    """A column as "words" or "numbers", or of the type that its cells tell."""
    series = contents.frame[name]
    dtype = series.dtype
    if kind == "words" or (dtype == pl.Categorical and kind is None):
        return _words(series)
    if kind == "numbers" or dtype == pl.Null or contents.declared.get(name) == ():
        return _numbers(contents, name)
    if name in contents.declared:
        return _categories(series, contents.declared[name])
    if dtype == pl.String:
        return _of_text(contents, name)
    if dtype in (pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Duration):
        return _in_utc(series)
    if dtype.is_numeric() and not dtype.is_decimal():
        # NumPy has no whole numbers of 128 bits.
        is_whole = dtype.is_integer() and not str(dtype).endswith("128") and not series.has_nulls()
        return series if is_whole else _numbers(contents, name)
    raise InvalidTypeError(
        f"column {name!r} of {contents.name} has type {dtype}, which trees do not read: leave it out with "
        f"--ignore {name}, or turn it into numbers or words"
    )


def _typed_exactly(contents: Contents, name: str, kind: str | None) -> pl.Series:
    """A column as `_typed` gives it; whole numbers are whole, also those that float64 does not tell apart."""
    series = contents.frame[name]
    if series.dtype == pl.String and kind != "words" and not contents.declared.get(name):
        whole = series.cast(pl.Int64, strict=False)
        if not whole.has_nulls():
            return whole
    return _typed(contents, name, kind)


def _like(contents: Contents, name: str, column: Column) -> pl.Series:
    """A column with the type that it had in the fit."""
    if column.time is not None:
        return _times_like(contents, name, column.time.kind)
    if column.bins is None and column.kind == "boolean":
        return _truth(contents.frame[name])
    if column.bins is None and all(isinstance(category, str) for category in column.categories):
        return _words(contents.frame[name])
    return _numbers(contents, name)


def _target(contents: Contents, name: str, kind: str | None, task: str | None) -> pl.Series:
    if task == "regression":
        return _numbers(contents, name)
    series = _typed_exactly(contents, name, "words" if _has_dates(contents.frame[name]) else kind)
    if not series.dtype.is_float():
        return series
    is_whole = (series % 1 == 0) & (series.abs() < _SURELY_WHOLE)
    if is_whole.all():
        return series.cast(pl.Int64)
    if task == "classification":
        raise InvalidInputError(
            f"target {name!r} must have whole numbers below 2**53 or words as classes, and has "
            f"{series.filter(~is_whole)[0]:.17g}: --categorical {name} reads its cells as words"
        )
    return series


def _of_text(contents: Contents, name: str) -> pl.Series:
    """A column of cells that are text: numbers, truth values, dates or words, whichever comes first."""
    series = contents.frame[name]
    known = series.drop_nulls()
    if not known.cast(pl.Float64, strict=False).has_nulls():
        return _numbers(contents, name)
    if known.str.to_lowercase().is_in(_TRUTH).all():
        return _truth(series)
    dates = _dates(series)
    return _words(series) if dates is None else dates


def _has_dates(series: pl.Series) -> bool:
    """Whether all known cells of text are written as dates, all with a time zone or all without one."""
    known = series.drop_nulls()
    if series.dtype != pl.String or not len(known):
        return False
    return bool(known.str.contains(_NAIVE).all() or known.str.contains(_ZONED).all())


def _dates(series: pl.Series) -> pl.Series | None:
    """Cells that are written as dates; None if they are not, or one is no day of the calendar."""
    if not _has_dates(series):
        return None
    has_zone = bool(series.drop_nulls().str.contains(_ZONED).all())
    cells = pd.Series(series.to_list(), dtype=object)
    dates = pl.from_pandas(pd.to_datetime(cells, format="ISO8601", utc=has_zone, errors="coerce"))
    return dates if dates.null_count() == series.null_count() else None


def _in_utc(series: pl.Series) -> pl.Series:
    has_zone = isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None
    return series.dt.convert_time_zone("UTC") if has_zone else series


def _times_like(contents: Contents, name: str, kind: str) -> pl.Series:
    """Times where the fit had some of a kind; a duration is written in no one way, so that no text is one."""
    series = contents.frame[name]
    if series.dtype.is_temporal():
        return _in_utc(series)
    if series.null_count() == len(series):
        return _numbers(contents, name)
    dates = None if kind == "duration" else _dates(series)
    if dates is None:
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have {KINDS[kind]}, as in the fit (text as 2020-01-31, "
            f"2020-01-31 12:00:00, or with a time zone 2020-01-31T12:00:00Z), and has {series.drop_nulls()[0]!r}"
        )
    return dates


def _numbers(contents: Contents, name: str) -> pl.Series:
    series = contents.frame[name]
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if series.dtype.is_temporal() or series.dtype.is_nested():
        raise InvalidTypeError(f"column {name!r} of {contents.name} has type {series.dtype} instead of numbers")
    numbers = series.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & series.is_not_null()).arg_true()
    if len(wrong):
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have numbers, and has {series[wrong[0]]!r} in row {wrong[0] + 1} "
            "(--missing names words that mean that a value is missing)"
        )
    return numbers


def _truth(series: pl.Series) -> pl.Series:
    if series.dtype != pl.String:
        return series.cast(pl.Boolean)
    lower = series.str.to_lowercase()
    wrong = (~lower.is_in(_TRUTH)).fill_null(False).arg_true()
    if len(wrong):
        raise InvalidInputError(
            f"column {series.name!r} must have true and false, and has {series[wrong[0]]!r} in row {wrong[0] + 1}"
        )
    return lower == "true"


def _words(series: pl.Series) -> pl.Series:
    """The cells as words; whole numbers are written without a point."""
    known = series.drop_nulls()
    if series.dtype.is_float() and bool(((known % 1 == 0) & (known.abs() < _SURELY_WHOLE)).all()):
        series = series.cast(pl.Int64)
    return series.cast(pl.String)


def _categories(series: pl.Series, categories: tuple[str, ...]) -> pl.Series:
    words = _words(series)
    unknown = words.filter(~words.is_in(categories))
    if len(unknown):
        raise InvalidInputError(
            f"column {series.name!r} has {unknown[0]!r}, which is none of its declared categories {listed(categories)}"
        )
    return words.cast(pl.Enum(categories))
