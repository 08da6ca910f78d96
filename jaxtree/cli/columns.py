"""Columns of a file with types: for a fit those that their cells tell, for a prediction those of the fit.

A column is one of numbers if all its known cells are, of truth values if they are true and false, of dates if all are
dates of ISO 8601, else of words.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.cli.files import Contents, import_polars
from jaxtree.cli.wording import listed
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.schema import Column, value_in_words
from jaxtree.table.times import KINDS

MOST_CLASSES = 10
"""Of how many distinct whole numbers a target has at most, for them to be classes."""

_TRUTH = ("true", "false")
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_NAIVE, _ZONED = rf"^{_DATE})?$", rf"^{_DATE}(Z|[+-]\d{{2}}:\d{{2}}))$"
"""Dates of ISO 8601 that can be read in one way alone: year, month, day; without a time zone, and with one."""
_SURELY_WHOLE = 2**53
"""From here on float64 does not tell whole numbers apart."""


class Wishes(NamedTuple):
    """What the user says of columns by their names.

    Attributes:
        categorical: Columns of words, whatever their cells.
        numeric: Columns of numbers; cells that are none are an error.
        ignore: Columns that are left out.
        weight: The column of the weights of rows.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    weight: str | None = None


class Labelled(NamedTuple):
    """Rows with a target.

    Attributes:
        X: A pandas frame.
        y: The target.
        weight: The weights of the rows, if they have some.
        num_left_out: How many rows were left out, because their target is missing.
    """

    X: Any
    y: Any
    weight: Float[np.ndarray, " row"] | None
    num_left_out: int


def read_labelled(contents: Contents, target: str, wishes: Wishes, task: str | None = None) -> Labelled:
    """Returns the features, the target and the weights of a file, with the types that the cells tell.

    Args:
        contents: The file.
        target: The name of the target.
        wishes: What the user says of columns.
        task: "classification" or "regression"; None to see it from the target.

    Raises:
        InvalidInputError: There is no such column, no feature, or no row with a target; or a cell is no number where
            one must be.
        InvalidTypeError: A column is of a type that is not read.
    """
    check_columns(contents, (target, *wishes.categorical, *wishes.numeric, *wishes.ignore))
    if target in (wishes.weight, *wishes.ignore):
        raise InvalidInputError(f"target {target!r} must be another column than the weights and those left out")
    beside = {target, wishes.weight, *wishes.ignore}
    is_known = contents.frame[target].is_not_null().to_numpy()
    if not is_known.any():
        raise InvalidInputError(f"target {target!r} has no value in any row")
    kept = contents._replace(frame=contents.frame.filter(is_known))
    names = [name for name in kept.frame.columns if name not in beside]
    if not names:
        raise InvalidInputError(f"{contents.name} has no columns beside the target, the weights and those left out")
    X = _frame({name: typed(kept, name, wishes) for name in names})
    y = _target(kept, target, wishes, task)
    return Labelled(X, y, weights_of(kept, wishes.weight), int((~is_known).sum()))


def weights_of(contents: Contents, name: str | None) -> Float[np.ndarray, " row"] | None:
    """Returns the weights of the rows; None if there is no column of them."""
    if name is None:
        return None
    check_columns(contents, (name,))
    weight = _numbers(contents, name)
    if np.isnan(weight).any():
        raise InvalidInputError(f"weight {name!r} has no value in row {int(np.isnan(weight).argmax()) + 1}")
    return weight


def check_columns(contents: Contents, names: Iterable[str]) -> None:
    """Raises InvalidInputError for a name of no column."""
    columns = contents.frame.columns
    for name in names:
        if name not in columns:
            raise InvalidInputError(f"{contents.name} has no column {name!r}; its columns are {listed(columns)}")


def typed(contents: Contents, name: str, wishes: Wishes) -> Any:
    """Returns a column as something that pandas takes: with the type that its cells tell, or the user."""
    polars, series = import_polars(), contents.frame[name]
    dtype = series.dtype
    if name in wishes.categorical:
        return _words(series)
    if name in wishes.numeric or name in contents.is_number or dtype == polars.Null:
        return _numbers(contents, name)
    if name in contents.categories:
        return _categories(series, contents.categories[name], is_ordered=False)
    if dtype == polars.Enum:
        return _categories(series, tuple(dtype.categories), is_ordered=True)
    if dtype == polars.String:
        return _of_text(contents, name)
    if dtype == polars.Categorical:
        return _words(series)
    if dtype == polars.Boolean:
        return _truth(series)
    if dtype in (polars.Date, polars.Datetime, polars.Duration):
        return _times(series)
    if dtype.is_numeric() and not dtype.is_decimal():
        # NumPy has no whole numbers of 128 bits.
        is_whole = dtype.is_integer() and not str(dtype).endswith("128") and not series.null_count()
        return series.to_numpy() if is_whole else _numbers(contents, name)
    raise InvalidTypeError(
        f"column {name!r} of {contents.name} has type {dtype}, which trees do not read: leave it out with "
        f"--ignore {name}, or turn it into numbers or words"
    )


def features_like(contents: Contents, columns: tuple[Column, ...], *, are_named: bool) -> Any:
    """Returns the columns of a fit, with their types then, from a file that may have others beside them.

    Args:
        contents: The file.
        columns: The columns of the fit.
        are_named: Whether they had names; if they had not and the file has as many columns, these are taken in order.

    Raises:
        InvalidInputError: A column is not there, or has words where it had numbers.
    """
    present = contents.frame.columns
    names = [column.name for column in columns]
    if not are_named and not set(names) <= set(present) and len(present) == len(names):
        names = present
    lost = [name for name in names if name not in present]
    if lost:
        raise InvalidInputError(
            f"{contents.name} has no column {lost[0]!r}, which the model was fitted on; its columns are "
            f"{listed(present)}"
        )
    return _frame({name: _like(contents, name, column) for name, column in zip(names, columns, strict=True)})


def _like(contents: Contents, name: str, column: Column) -> Any:
    if column.time is not None:
        return _times_like(contents, name, column.time.kind)
    if column.bins is not None:
        return _numbers(contents, name)
    categories = column.categories
    if column.kind == "boolean":
        return _truth(contents.frame[name])
    if all(isinstance(category, str) for category in categories):
        return _words(contents.frame[name])
    return _numbers(contents, name)


def num_unseen(X: Any, columns: tuple[Column, ...]) -> dict[str, tuple[int, str]]:
    """Returns for columns with words that fit has not seen how many rows have one, and the first such word."""
    unseen = {}
    for name, column in zip(X.columns, columns, strict=True):
        if column.bins is None and column.kind != "boolean":
            is_unseen = (X[name].notna() & ~X[name].isin(list(column.categories))).to_numpy()
            if is_unseen.any():
                unseen[name] = int(is_unseen.sum()), value_in_words(X[name].iloc[int(is_unseen.argmax())])
    return unseen


def _target(contents: Contents, name: str, wishes: Wishes, task: str | None) -> Any:
    pandas = import_pandas()
    if task == "regression":
        return pandas.Series(_numbers(contents, name), name=name)
    words = wishes._replace(categorical=(*wishes.categorical, name)) if _has_dates(contents.frame[name]) else wishes
    column = pandas.Series(typed_exactly(contents, name, words), name=name)
    if column.dtype.kind == "f":
        is_whole = (column % 1 == 0) & (column.abs() < _SURELY_WHOLE)
        if is_whole.all():
            return column.astype(np.int64)
        if task == "classification":
            raise InvalidInputError(
                f"target {name!r} must have whole numbers below 2**53 or words as classes, and has "
                f"{column[~is_whole].iloc[0]:.17g}: --categorical {name} reads its cells as words"
            )
    return column.astype(bool) if column.dtype == "boolean" else column


def typed_exactly(contents: Contents, name: str, wishes: Wishes) -> Any:
    """Returns a column as `typed` does; whole numbers are whole, also those that float64 does not tell apart."""
    polars, series = import_polars(), contents.frame[name]
    if series.dtype == polars.String and name not in wishes.categorical and name not in contents.categories:
        whole = series.cast(polars.Int64, strict=False)
        if not whole.null_count():
            return whole.to_numpy()
    return typed(contents, name, wishes)


def task_of(y: Any) -> str:
    """Says what a target is for: "regression" if it has other numbers than few whole ones, else "classification"."""
    if y.dtype.kind == "f" or (y.dtype.kind in "iu" and y.nunique() > MOST_CLASSES):
        return "regression"
    return "classification"


def _frame(columns: dict[str, Any]) -> Any:
    return import_pandas().DataFrame(columns)


def import_pandas() -> Any:
    """Returns the module, which comes with the command line."""
    import pandas

    return pandas


def _of_text(contents: Contents, name: str) -> Any:
    """A column of cells that are text: numbers, truth values or words, whichever comes first."""
    polars, series = import_polars(), contents.frame[name]
    known = series.drop_nulls()
    if not known.cast(polars.Float64, strict=False).null_count():
        return _numbers(contents, name)
    if known.str.to_lowercase().is_in(_TRUTH).all():
        return _truth(series)
    if _has_dates(series) and (dates := _dates(series)) is not None:
        return dates
    return _words(series)


def _has_dates(series: Any) -> bool:
    """Whether all known cells of text are written as dates, all with a time zone or all without one."""
    known = series.drop_nulls()
    if series.dtype != import_polars().String or not len(known):
        return False
    return bool(known.str.contains(_NAIVE).all() or known.str.contains(_ZONED).all())


def _dates(series: Any) -> Any | None:
    """Cells that are written as dates; None if one is no day of the calendar."""
    known = series.drop_nulls()
    has_zone = bool(known.str.contains(_ZONED).all())
    dates = import_pandas().to_datetime(
        import_pandas().Series(series.to_list(), dtype=object), format="ISO8601", utc=has_zone, errors="coerce"
    )
    return None if int(dates.notna().sum()) < len(known) else dates


def _times(series: Any) -> Any:
    """Dates and durations of a file that has such; those with a time zone in UTC."""
    zone = getattr(series.dtype, "time_zone", None)
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    times = import_pandas().Series(series.to_numpy())
    return times if zone is None else times.dt.tz_localize("UTC")


def _times_like(contents: Contents, name: str, kind: str) -> Any:
    """Times where the fit had some of a kind; a duration is written in no one way, so that no text is one."""
    series = contents.frame[name]
    if series.dtype.is_temporal():
        return _times(series)
    if series.null_count() == len(series):
        return _numbers(contents, name)
    dates = _dates(series) if kind != "duration" and _has_dates(series) else None
    if dates is None:
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have {KINDS[kind]}, as in the fit (text as 2020-01-31, "
            f"2020-01-31 12:00:00, or with a time zone 2020-01-31T12:00:00Z), and has {series.drop_nulls()[0]!r}"
        )
    return dates


def _numbers(contents: Contents, name: str) -> Float[np.ndarray, " row"]:
    """The cells as numbers, NaN where one is missing."""
    polars, series = import_polars(), contents.frame[name]
    if series.dtype in (polars.Categorical, polars.Enum):
        series = series.cast(polars.String)
    if series.dtype.is_temporal() or series.dtype.is_nested():
        raise InvalidTypeError(f"column {name!r} of {contents.name} has type {series.dtype} instead of numbers")
    numbers = series.cast(polars.Float64, strict=False)
    is_none = (numbers.is_null() & series.is_not_null()).to_numpy()
    if is_none.any():
        row = int(is_none.argmax())
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have numbers, and has {series[row]!r} in row {row + 1} "
            "(--missing names words that mean that a value is missing)"
        )
    return numbers.fill_null(np.nan).to_numpy()


def _truth(series: Any) -> Any:
    """The cells as truth values."""
    polars = import_polars()
    if series.dtype == polars.String:
        lower = series.str.to_lowercase()
        is_none = (lower.is_not_null() & ~lower.is_in(_TRUTH)).fill_null(False)
        if is_none.any():
            row = int(is_none.arg_true()[0])
            raise InvalidInputError(
                f"column {series.name!r} must have true and false, and has {series[row]!r} in row {row + 1}"
            )
        series = lower == "true"
    return import_pandas().array(series.cast(polars.Boolean).to_list(), dtype="boolean")


def _words(series: Any) -> Shaped[np.ndarray, " row"]:
    """The cells as words; whole numbers are written without a point."""
    polars = import_polars()
    known = series.drop_nulls()
    if series.dtype.is_float() and bool(((known % 1 == 0) & (known.abs() < _SURELY_WHOLE)).all()):
        series = series.cast(polars.Int64)
    return np.array(series.cast(polars.String).to_list(), object)


def _categories(series: Any, categories: tuple[str, ...], *, is_ordered: bool) -> Any:
    words = [word for word in _words(series).tolist() if word is not None]
    unknown = next((word for word in words if word not in set(categories)), None)
    if unknown is not None:
        raise InvalidInputError(
            f"column {series.name!r} has {unknown!r}, which is none of its declared categories {listed(categories)}"
        )
    return import_pandas().Categorical(_words(series), categories=list(categories), ordered=is_ordered)
