"""Columns of a file with types: for a fit those that follow from their cells, for a prediction those of the fit.

*Known* rows are those whose target is not missing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import polars as pl
import typer
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.cli.disguised import remark_on, remarks_on
from jaxtree.cli.session import ColumnOptions, ExtraOptions, Names, TableSession
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.lines import in_short, listed
from jaxtree.table.columns import BEYOND_EXACT, LARGEST_EXACT_INTEGER
from jaxtree.table.files.kinds import (
    KINDS,
    KINDS_OF_FEATURES,
    KINDS_OF_TARGETS,
    TRUTH,
    converted,
    in_pandas,
    typed_column,
    words_of,
)
from jaxtree.table.files.read import Contents, read_contents
from jaxtree.table.files.text import COMMA_DECIMAL, has_cells_for_names, is_scalar
from jaxtree.table.names import are_shuffled_places, hint_for_column
from jaxtree.table.schema import Column
from jaxtree.table.target import MOST_CLASSES
from jaxtree.table.unlike_fit import LOST, unseen_in_words

Fields = dict[str, Shaped[np.ndarray, " row"]]

_TWINS = {"numbers": {"true": "1", "false": "0"}, "truth": {"1": "true", "1.0": "true", "0": "false", "0.0": "false"}}
_WHOLE = r"^[+-]?\d+$"
_MOST_DIGITS = 300

_UNSEEN = object()
"""The mark of a value that is no category of the fit."""


class Labelled(NamedTuple):
    """Rows with a target.

    Attributes:
        X: The features, a pandas frame.
        y: The target, a series of pandas.
        weight: The weights of the rows, if they have some.
        task: "classification" or "regression".
        other_columns: The names of the target, and of the column of the weights if there is one.
        num_left_out: How many rows were left out, because their target is missing.
        categorical: The features of numbers or truth values that are to be categories.
        fields: Further columns of rows: events, groups, treatments or instruments.
        remarks: Why columns have words that look like others, by name.
    """

    X: pd.DataFrame
    y: pd.Series
    weight: Float[np.ndarray, " row"] | None
    task: str
    other_columns: tuple[str, ...]
    num_left_out: int
    categorical: list[str]
    fields: Fields
    remarks: dict[str, str]

    @property
    def score_name(self) -> str:
        """The name of what an estimator's `score` returns."""
        if "treatment" in self.fields:
            return "R-score"
        of_fields = {"event": "concordance", "group": "NDCG"}
        of_target = "accuracy" if self.task == "classification" else "R²"
        return next((name for field, name in of_fields.items() if field in self.fields), of_target)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of fits and scores beside the table and the target."""
        of_effects = "treatment" in self.fields
        fields = {("groups" if of_effects and name == "group" else name): own for name, own in self.fields.items()}
        return {"sample_weight": self.weight, **fields}

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of estimators that follow from the options of columns."""
        return {"categorical_features": self.categorical} if self.categorical else {}

    def take(self, rows: Int[np.ndarray, " taken"]) -> Self:
        """Returns some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        fields = taken(self.fields, rows)
        return self._replace(X=self.X.iloc[rows], y=self.y.iloc[rows], weight=weight, fields=fields)


def read_labelled(
    contents: Contents, target: str, options: ColumnOptions, extras: ExtraOptions | None = None
) -> Labelled:
    """Returns the features, the target and the weights of a file, with the types that follow from the cells.

    Unless the task is given, a target of other numbers than few whole ones is for regression.

    Raises:
        InvalidInputError: There is no such column, no feature, or no row with a target; or a cell is no number where
            one must be.
        InvalidTypeError: A column is of a type that is not read.
        typer.BadParameter: A column is to be both categorical and numeric.
    """
    extras = extras or ExtraOptions()
    kinds = _kinds_given(contents, options)
    check_columns(contents, (target,))
    if target in (options.weight, *extras.names, *_split(options.ignore, contents.frame.columns)):
        raise InvalidInputError(f"target {target!r} must be another column than the weights and those left out")
    names = _features_of(contents, options, kinds, (target, *extras.names))
    kept, rows = _known(contents, target)
    words, numbers = ([name for name, kind in kinds.items() if kind == own] for own in ("words", "numbers"))
    features = {name: _feature(kept, name, kinds.get(name)) for name in names}
    typed = features | {target: _target(kept, target, kinds.get(target), options.task)}
    of_numbers = {*numbers, *([target] if options.task == "regression" else [])}
    X = in_pandas(kept, features, of_numbers)
    y: Any = in_pandas(kept, {target: typed[target]}, of_numbers)[target]
    has_numbers = y.dtype.kind == "f" or (y.dtype.kind in "iu" and y.nunique() > MOST_CLASSES)
    return Labelled(
        X=X,
        y=y,
        weight=weights_of(kept, options.weight),
        task=options.task or ("regression" if has_numbers else "classification"),
        other_columns=(target, *([] if options.weight is None else [options.weight]), *extras.names),
        num_left_out=contents.frame.height - len(rows),
        categorical=[n for n in names if n in words and (features[n].dtype != pl.String or n in contents.categories)],
        fields=read_extras(kept, extras),
        remarks=remarks_on(kept, typed, kinds),
    )


def read_unlabelled(contents: Contents, options: ColumnOptions) -> tuple[pd.DataFrame, dict[str, str]]:
    """Returns the columns of a file, with the types that follow from the cells, and remarks on words.

    Raises as `read_labelled` does.
    """
    kinds = _kinds_given(contents, options)
    names = _features_of(contents, options, kinds, ())
    columns = {name: _feature(contents, name, kinds.get(name)) for name in names}
    of_numbers = {name for name, kind in kinds.items() if kind == "numbers"}
    return in_pandas(contents, columns, of_numbers), remarks_on(contents, columns, kinds)


def _kinds_given(contents: Contents, options: ColumnOptions) -> dict[str, str]:
    """The kinds of columns that the user names; raises if there is no such column, or one is to be of both."""
    columns = contents.frame.columns
    words, numbers, left_out = (_split(n, columns) for n in (options.categorical, options.numeric, options.ignore))
    if twice := {*words} & {*numbers}:
        message = f"column {min(twice)!r} cannot be both categorical and numeric"
        raise typer.BadParameter(message, param_hint="--numeric")
    check_columns(contents, (*words, *numbers, *left_out))
    return {**dict.fromkeys(words, "words"), **dict.fromkeys(numbers, "numbers")}


def _features_of(
    contents: Contents, options: ColumnOptions, kinds: Mapping[str, str], others: Sequence[str]
) -> list[str]:
    """The columns of a file that are features; raises InvalidInputError if there are none."""
    columns = contents.frame.columns
    left_out = {*others, options.weight, *_split(options.ignore, columns), *({*contents.index} - {*kinds})}
    names = [name for name in columns if name not in left_out]
    if not names:
        raise InvalidInputError(f"{contents.name} has no columns except the target, the weights and those left out")
    return names


def weights_of(contents: Contents, name: str | None) -> Float[np.ndarray, " row"] | None:
    """Returns the weights of the rows; None if there is no column of them."""
    if name is None:
        return None
    check_columns(contents, (name,))
    weight = cast(contents, contents.cells(name), "numbers")
    if weight.has_nulls():
        raise InvalidInputError(f"weight {name!r} has no value in row {contents.row(weight.is_null().arg_true()[0])}")
    return weight.to_numpy()


def read_extras(contents: Contents, extras: ExtraOptions) -> Fields:
    """Returns the events, groups, treatments and instruments of the rows of a file.

    Raises:
        InvalidInputError: There is no such column, or a row has no value in it.
    """
    fields: Fields = {}
    check_columns(contents, extras.names)
    if extras.event is not None:
        try:
            events = cast(contents, with_twins(contents.cells(extras.event), "truth"), "truth")
        except (InvalidInputError, InvalidTypeError) as error:
            raise InvalidInputError(f"events are 1 or true, others 0 or false: {error}") from None
        _check_known(contents, events, "event", extras.event)
        fields["event"] = events.to_numpy().astype(bool)
    if extras.group is not None:
        groups = contents.cells(extras.group)
        _check_known(contents, groups, "group", extras.group)
        fields["group"] = np.array([str(value) for value in groups.to_list()])
    for role in ("treatment", "instrument"):
        name = getattr(extras, role, None)
        if name is not None:
            values = typed_column(contents, name, KINDS_OF_TARGETS)
            _check_known(contents, values, role, name)
            fields[role] = np.array(values.to_list())
    return fields


def _check_known(contents: Contents, values: Any, role: str, name: str) -> None:
    if values.has_nulls():
        row = contents.row(values.is_null().arg_true()[0])
        raise InvalidInputError(f"{role} {name!r} has no value in row {row}")


def taken(fields: Fields, rows: Int[np.ndarray, " taken"]) -> Fields:
    """Returns the fields of some rows.

    >>> taken({"event": np.array([True, False])}, np.array([1]))["event"].tolist()
    [False]
    """
    return {name: values[rows] for name, values in fields.items()}


def read_features(
    session: TableSession, estimator: Any, data: str, target: str | None = None
) -> tuple[pd.DataFrame, Contents]:
    """Returns the features of a fitted estimator from a file, with their types in the fit; and all of the file.

    The target is given if the command reads one.
    """
    contents = read_contents(data, session.or_of_fit(estimator.file_notes_))
    for text in contents.notes:
        session.note(f"{contents.name}: {text}")
    others = {*contents.index, *estimator.other_columns_, target}
    in_order = [name for name in contents.frame.columns if name not in others]
    are_named = hasattr(estimator, "feature_names_in_")
    columns = estimator.schema_.columns
    return features_like(contents, columns, in_order=None if are_named else in_order, note=session.note), contents


def features_like(
    contents: Contents,
    columns: tuple[Column, ...],
    *,
    in_order: Sequence[str] | None = None,
    note: Callable[[str], object] | None = None,
) -> pd.DataFrame:
    """Returns the columns of a fit, with their types then, from a file that may have others, too.

    Args:
        contents: The file.
        columns: The columns of the fit.
        in_order: Columns of the file that are taken in order if the fit had no names and as many columns.
        note: Called with texts about words that the fit has not seen, and columns without any value.

    Raises:
        InvalidInputError: A column is not there, or has words where it had numbers.
    """
    names = [column.name for column in columns]
    if in_order is not None and len(in_order) == len(names) and not set(names) <= set(contents.frame.columns):
        # 0, 1, ... are names, in whatever order.
        names = [str(place) for place in range(len(names))] if are_shuffled_places(in_order) else list(in_order)
    # Spaces around a name are no matter.
    bare = {column.strip(): column for column in contents.frame.columns}
    own = {bare[n.strip()]: n for n in names if n not in contents.frame.columns and n.strip() in bare}
    contents = contents._replace(frame=contents.frame.rename(own))
    check_columns(contents, names)
    features = {}
    for name, column in zip(names, columns, strict=True):
        if column.bins is not None or column.kind == "boolean":
            features[name] = _like_values(contents, name, column)
            continue
        features[name], unseen = _like_categories(contents, name, column)
        if unseen and note is not None:
            note(f"{in_short(name)}: {unseen_in_words(len(unseen), in_short(repr(unseen[0])))}")
    typed = in_pandas(contents._replace(categories={}), {n: c for n, c in features.items() if isinstance(c, pl.Series)})
    table = pd.DataFrame({name: typed[name] if name in typed else features[name] for name in names})
    for name, column in zip(names, columns, strict=True):
        if note is not None and not column.has_missing and contents.cells(name).null_count() == len(table):
            note(f"{in_short(name)} {LOST}")
    return table


def _like_values(contents: Contents, name: str, column: Column) -> pl.Series:
    """A column of numbers, times or truth values; of the former 1 and true are one value, and 0 and false."""
    kind = column.time.kind if column.time is not None else "numbers" if column.bins is not None else "truth"
    cells = contents.cells(name)
    cells = contents.known(cells) if cells.dtype == pl.String else cells
    if kind == "numbers":
        _check_exact(contents, name)
    return cast(contents, with_twins(cells, kind), kind)


def _like_categories(contents: Contents, name: str, column: Column) -> tuple[pd.Series, list]:
    """A column with the categories of the fit, and the values of rows that are none of these.

    Words that the fit has not seen stay among words, so that explanations name them.
    """
    series = contents.frame[name]
    if contents.is_text and "" in column.categories and not column.has_missing:
        series = series.fill_null("")
    values, found = _matched(contents, series, column.named_categories)
    rare = column.rare_words
    unseen = [value for value, own in zip(values, found, strict=True) if own is _UNSEEN] if rare is None else []
    rest = None if rare is None else rare.example
    stay = rare is None and all(isinstance(own, str) for own in column.named_categories)
    cells = [
        (str(value) if stay else rest) if own is _UNSEEN else own for value, own in zip(values, found, strict=True)
    ]
    return pd.Series(cells, dtype=object), unseen


def _matched(contents: Contents, series: pl.Series, categories: Iterable[Any]) -> tuple[list, list]:
    """The values of rows, text without spaces around it, and the category that each is.

    The category is None where the value is missing, and `_UNSEEN` where the value is no category. A category is
    never missing, whatever its word.
    """
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    values = (series.fill_nan(None) if series.dtype.is_float() else series).to_list()
    missing: Set[str] = {*contents.options.missing_words} if contents.is_text else set()
    category_of = {own: own for own in categories}
    known: dict[Any, Any] = {None: None}
    for value in dict.fromkeys(values):
        spellings = (category_of[own] for own in _spellings(value) if own in category_of)
        is_missing = value is None or (isinstance(value, str) and value.strip() in missing)
        known[value] = next(spellings, None if is_missing else _UNSEEN)
    bare = [value.strip() if contents.is_text and value is not None else value for value in values]
    return bare, [known[value] for value in values]


def _spellings(value: Any) -> Iterator[Any]:
    """The categories that a value may be: a number or truth value of text, and text of these."""
    yield value
    if isinstance(value, str):
        text = value.strip()
        yield text
        if text.lower() in TRUTH:
            yield TRUTH[text.lower()]
        elif is_scalar(text) and len(text) < _MOST_DIGITS:
            yield int(text) if re.match(_WHOLE, text) else float(text)
    elif value is not None:
        yield str(value)
        if isinstance(value, bool):
            yield str(value).lower()
        elif isinstance(value, float) and value.is_integer():
            yield str(int(value))


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
    if given is None and not estimator.other_columns_:
        raise InvalidInputError("the model's file does not name its target: --target names it")
    target = given or estimator.other_columns_[0]
    check_columns(contents, (target,))
    if not is_classifier(estimator):
        kept, rows = _known(contents, target)
        return rows, cast(kept, kept.cells(target), "numbers").to_numpy()
    classes = np.asarray(estimator.classes_)
    values, found = _matched(contents, contents.frame[target], classes.tolist())
    rows = [row for row, own in enumerate(found) if own is not None]
    labels = [values[row] if found[row] is _UNSEEN else found[row] for row in rows]
    if not rows:
        raise InvalidInputError(f"target {target!r} has no value in any row")
    if all(found[row] is _UNSEEN for row in rows):
        raise InvalidInputError(
            f"no value of target {target!r}, such as {labels[0]!r}, is a class of the model: {listed(classes)}"
        )
    return np.array(rows), np.array(labels, object if any(own is _UNSEEN for own in found) else classes.dtype)


def _split(names: Names, columns: list[str]) -> list[str]:
    """Splits names at commas, unless a column has the name as a whole."""
    return [part for name in names or () for part in ([name] if name in columns else map(str.strip, name.split(",")))]


def _known(contents: Contents, target: str) -> tuple[Contents, Int[np.ndarray, " known"]]:
    """The rows with a target, and their numbers."""
    is_known = contents.cells(target).is_not_null().to_numpy()
    if not is_known.any():
        raise InvalidInputError(f"target {target!r} has no value in any row")
    return contents.keep(is_known), np.flatnonzero(is_known)


def _feature(contents: Contents, name: str, kind: str | None) -> pl.Series:
    """A column of a kind: one of categories stays as it is, unless it has times, or numbers that float64 has not."""
    cells = contents.cells(name)
    column = cast(contents, cells, "numbers") if kind == "numbers" else typed_column(contents, name, KINDS_OF_FEATURES)
    is_beyond = column.dtype.is_numeric() and name not in contents.categories and _is_beyond_exact(cells)
    if kind == "words" and (is_beyond or column.dtype.is_temporal()):
        return words_of(cells)
    if is_beyond:
        _check_exact(contents, name)
    return column


def _target(contents: Contents, name: str, kind: str | None, task: str | None) -> pl.Series:
    if task == "regression" or kind == "numbers":
        series = cast(contents, contents.cells(name), "numbers")
    else:
        series = words_of(contents.cells(name)) if kind == "words" else typed_column(contents, name, KINDS_OF_TARGETS)
    if task == "regression" or not series.dtype.is_float():
        return series
    is_whole = (series % 1 == 0) & (series.abs() < LARGEST_EXACT_INTEGER)
    if is_whole.all():
        return series.cast(pl.Int64)
    if task == "classification":
        raise InvalidInputError(
            f"target {name!r} must have whole numbers below 2**53 or words as classes, and has "
            f"{series.filter(~is_whole)[0]:.17g}: --categorical {name} reads its cells as words"
        )
    return series


def cast(contents: Contents, cells: pl.Series, kind: str) -> pl.Series:
    """Returns the cells of a column as of a kind.

    Raises:
        InvalidInputError: A cell is not of it.
        InvalidTypeError: The column's type is not.
    """
    try:
        column = converted(cells, kind)
    except pl.exceptions.PolarsError:
        raise InvalidTypeError(
            f"column {cells.name!r} of {contents.name} has type {cells.dtype} instead of {KINDS[kind]}"
        ) from None
    wrong = (column.is_null() & cells.is_not_null()).arg_true()
    if len(wrong):
        hint = "--missing names words that mean that a value is missing"
        said = remark_on(cells) if kind == "numbers" and cells.dtype == pl.String else ""
        if "--decimal" in said or re.fullmatch(COMMA_DECIMAL, str(cells[wrong[0]])):
            hint = "--decimal , reads decimal commas, --thousands , commas between thousands"
        elif said.startswith("words that are"):
            hint = said.removeprefix("words that are ")
        raise InvalidInputError(
            f"column {cells.name!r} of {contents.name} must have {KINDS[kind]}, and has {cells[wrong[0]]!r} in row "
            f"{contents.row(wrong[0])} ({hint})"
        )
    return column


def check_columns(contents: Contents, names: Iterable[str]) -> None:
    """Raises InvalidInputError for a name of no column."""
    columns = contents.frame.columns
    for name in names:
        if name not in columns:
            is_row = contents.is_text and has_cells_for_names(contents.frame)
            hint = " (--no-header reads the first line as a row, and calls the columns x0, x1, ...)" if is_row else ""
            if contents.is_text and len(columns) == 1:
                hint = f"{hint} (--separator names the character between cells)"
            near = hint_for_column(name, columns) or f"; its columns are {listed(columns)}"
            raise InvalidInputError(f"{contents.name} has no column {name!r}{near}{hint}")


def _check_exact(contents: Contents, name: str) -> None:
    """Raises InvalidInputError if cells that are to be numbers are integers that float64 cannot tell apart."""
    if _is_beyond_exact(contents.cells(name)):
        raise InvalidInputError(
            f"{BEYOND_EXACT.format(repr(name))} (--categorical {name} reads it as words, --ignore {name} leaves it out)"
        )


def _is_beyond_exact(series: pl.Series) -> bool:
    """Whether some cells are integers that float64 cannot tell from others."""
    dtype = series.dtype
    if dtype != pl.String and not (dtype.is_integer() or dtype.is_decimal()):
        return False
    is_large = series.cast(pl.Float64, strict=False).abs() >= LARGEST_EXACT_INTEGER
    digits = (str(own).partition(".") for own in series.filter(is_large.fill_null(False)).to_list())
    whole = (own[0].lstrip("+-0") for own in digits if dtype != pl.String or re.match(_WHOLE, "".join(own)))
    return any(len(own) > len(str(LARGEST_EXACT_INTEGER)) or int(own) > LARGEST_EXACT_INTEGER for own in whole)


def with_twins(series: pl.Series, kind: str) -> pl.Series:
    """Returns cells for a column that had numbers or truth values in fit: there 1 and true are one value, 0 and false.

    >>> with_twins(pl.Series(["true", "2", "FALSE"]), "numbers").to_list()
    ['1', '2', '0']
    >>> with_twins(pl.Series([1.0, None, 0.0]), "truth").to_list()
    [True, None, False]
    """
    if series.dtype == pl.String and kind in _TWINS:
        return series.str.to_lowercase().replace(_TWINS[kind])
    if series.dtype.is_numeric() and kind == "truth":
        return pl.select(pl.when((series == 0) | (series == 1)).then(series == 1)).to_series().alias(series.name)
    return series
