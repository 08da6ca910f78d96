"""Columns of a file with types: for a fit those that follow from their cells, for a prediction those of the fit.

A column of text has numbers if all its known cells are numbers and none is an identifier as 01234, truth values if they
are true and false, dates if all are dates of ISO 8601, else words. Columns of a file with types stay what they are.
*Known* rows are those whose target is not missing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import polars as pl
import typer
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.cli.conversion import are_large, are_whole, cast, check_columns, check_exact, converted_or_none, with_twins
from jaxtree.cli.disguised import remarks_on
from jaxtree.cli.extras import Fields, read_extras, taken
from jaxtree.cli.lines import with_decimal_points
from jaxtree.cli.reading import Contents, read_contents
from jaxtree.cli.session import ColumnOptions, ExtraOptions, Names, TableSession, in_short, listed
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.cells import Cells, categories_of
from jaxtree.table.names import are_shuffled_places
from jaxtree.table.schema import Column
from jaxtree.table.target import MOST_CLASSES

_OF_FEATURES = ("numbers", "truth", "instant", "utc", "words")
_OF_TARGETS = ("whole", "numbers", "truth", "words")
"""Kinds of columns of text; the first one that all cells are of is the column's."""

_UNSEEN = -1
"""The place of a value that is no category of the fit."""


class Labelled(NamedTuple):
    """Rows with a target.

    Attributes:
        X: The features, a pandas frame.
        y: The target, a series of pandas.
        weight: The weights of the rows, if they have some.
        task: "classification" or "regression".
        other_columns: The names of the target, and of the column of the weights if there is one.
        num_left_out: How many rows were left out, because their target is missing.
        cells: How cells became values, of the features that were text or were made words.
        fields: What else rows have: events or groups.
        remarks: Why columns have words that look like others, by name.
    """

    X: pd.DataFrame
    y: pd.Series
    weight: Float[np.ndarray, " row"] | None
    task: str
    other_columns: tuple[str, ...]
    num_left_out: int
    cells: dict[str, Cells]
    fields: Fields
    remarks: dict[str, str]

    @property
    def score_name(self) -> str:
        """The name of what an estimator's `score` returns."""
        of_fields = {"event": "concordance", "group": "NDCG"}
        of_target = "accuracy" if self.task == "classification" else "R²"
        return next((name for field, name in of_fields.items() if field in self.fields), of_target)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of fits and scores beside the table and the target."""
        return {"sample_weight": self.weight, **self.fields}

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
    columns, extras = contents.frame.columns, extras or ExtraOptions()
    words, numbers, left_out = (_split(n, columns) for n in (options.categorical, options.numeric, options.ignore))
    if twice := {*words} & {*numbers}:
        message = f"column {min(twice)!r} cannot be both categorical and numeric"
        raise typer.BadParameter(message, param_hint="--numeric")
    check_columns(contents, (target, *words, *numbers, *left_out))
    if target in (options.weight, *extras.names, *left_out):
        raise InvalidInputError(f"target {target!r} must be another column than the weights and those left out")
    index = {*contents.index} - {*words, *numbers}
    names = [name for name in columns if name not in (target, options.weight, *extras.names, *left_out, *index)]
    if not names:
        raise InvalidInputError(f"{contents.name} has no columns except the target, the weights and those left out")
    kept, rows = _known(contents, target)
    kinds = {**dict.fromkeys(words, "words"), **dict.fromkeys(numbers, "numbers")}
    of_target = _target(kept, target, kinds.get(target), options.task)
    y: Any = _in_pandas(kept, {target: of_target})[target]
    has_numbers = target not in contents.categories and (
        y.dtype.kind == "f" or (y.dtype.kind in "iu" and y.nunique() > MOST_CLASSES)
    )
    features = {name: _typed(kept, name, kinds.get(name)) for name in names}
    for name, feature in features.items():
        if feature.dtype.is_numeric() and name not in contents.categories and are_large(feature):
            check_exact(kept.cells(name), name)
    X = _in_pandas(kept, features)
    for name in [name for name in names if name in contents.categories and name not in kinds]:
        X[name] = pd.Categorical(features[name].to_list(), dtype=contents.categories[name])
    return Labelled(
        X=X,
        y=y,
        weight=weights_of(kept, options.weight),
        task=options.task or ("regression" if has_numbers else "classification"),
        other_columns=(target, *([] if options.weight is None else [options.weight]), *extras.names),
        num_left_out=contents.frame.height - len(rows),
        cells=_cells_of(contents, names, words),
        fields=read_extras(kept, extras),
        remarks=remarks_on(kept, {**features, target: of_target}, kinds),
    )


def weights_of(contents: Contents, name: str | None) -> Float[np.ndarray, " row"] | None:
    """Returns the weights of the rows; None if there is no column of them."""
    if name is None:
        return None
    check_columns(contents, (name,))
    weight = cast(contents, name, "numbers")
    if weight.has_nulls():
        raise InvalidInputError(f"weight {name!r} has no value in row {contents.row(weight.is_null().arg_true()[0])}")
    return weight.to_numpy()


def read_features(
    session: TableSession, estimator: Any, data: str, target: str | None = None
) -> tuple[pd.DataFrame, Contents]:
    """Returns the features of a fitted estimator from a file, with their types in the fit; and all of the file.

    The target is given if the command reads one.
    """
    contents = read_contents(data, session)
    for text in contents.notes:
        session.note(f"{contents.name}: {text}")
    others = {*contents.index, *getattr(estimator, "other_columns_", ()), target}
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
        note: What takes a text about words that the fit has not seen.

    Raises:
        InvalidInputError: A column is not there, or has words where it had numbers.
    """
    names = [column.name for column in columns]
    if in_order is not None and len(in_order) == len(names) and not set(names) <= set(contents.frame.columns):
        # 0, 1, ... are names, in whatever order.
        names = [str(place) for place in range(len(names))] if are_shuffled_places(in_order) else list(in_order)
    contents = _with_spaces(contents, names)
    check_columns(contents, names)
    contents = _read_as_in_fit(contents, dict(zip(names, columns, strict=True)))
    features = {}
    for name, column in zip(names, columns, strict=True):
        kind = _kind_in_fit(column)
        if kind != "words":
            twins = contents._replace(frame=pl.DataFrame({name: with_twins(contents.cells(name), kind)}))
            features[name] = cast(twins._replace(missing={}), name, kind)
            if kind == "numbers":
                check_exact(contents.cells(name), name)
            continue
        features[name], unseen = _like_categories(contents, name, column)
        if unseen and note is not None:
            note(
                f"{in_short(name)}: {len(unseen)} rows have a word that the fit has not seen, such as "
                f"{in_short(repr(unseen[0]))}; it counts as missing"
            )
    typed = _in_pandas(contents, {name: column for name, column in features.items() if isinstance(column, pl.Series)})
    return pd.DataFrame({name: typed[name] if name in typed else features[name] for name in names})


def _with_spaces(contents: Contents, names: Iterable[str]) -> Contents:
    """The file with the spaces around names that the fit had and the file has not, or the other way round."""
    columns = contents.frame.columns
    bare = {column.strip(): column for column in columns}
    own = {bare[name.strip()]: name for name in names if name not in columns and name.strip() in bare}
    missing = {own.get(name, name): words for name, words in contents.missing.items()}
    return contents._replace(frame=contents.frame.rename(own), missing=missing)


def _read_as_in_fit(contents: Contents, columns: Mapping[str, Column]) -> Contents:
    """The file with the words of missing cells and the decimals of the fit, unless the user gives others now."""
    missing, decimals = dict(contents.missing), []
    for name, column in columns.items():
        if column.cells is None:
            continue
        if name in missing and column.cells.decimal != contents.decimal:
            decimals.append(with_decimal_points(contents.frame[name]))
        must_be_text = contents.frame[name].dtype == pl.String and _kind_in_fit(column) != "words"
        if (name in missing and not contents.is_chosen) or (name not in missing and must_be_text):
            missing[name] = column.cells.missing
    return contents._replace(frame=contents.frame.with_columns(decimals), missing=missing)


def _kind_in_fit(column: Column) -> str:
    if column.time is not None:
        return column.time.kind
    if column.bins is not None:
        return "numbers"
    return "truth" if column.kind == "boolean" else "words"


def _like_categories(contents: Contents, name: str, column: Column) -> tuple[pl.Series | pd.Series, list]:
    """A column with the categories of the fit, and the values of rows that are none of these."""
    series, is_text, categories = contents.frame[name], name in contents.missing, column.categories
    are_text = all(isinstance(one, str) for one in column.named_categories)
    by_words = column.cells is not None or (is_text and not are_text)
    if is_text and "" in categories and not column.has_missing:
        series = series.fill_null("")
    missing = {*contents.missing.get(name, ()), *(column.cells.missing if column.cells is not None else ())}
    values, places = _places(series, categories, missing, is_text=is_text, by_words=by_words)
    rare = column.rare_words
    unseen = [value for value, place in zip(values, places, strict=True) if place == _UNSEEN] if rare is None else []
    if not is_text and not by_words:
        # Values that keep their types are for the encoder.
        return series, unseen
    rest = None if rare is None else rare.example
    words = {place: rest if own is rare else own for place, own in enumerate(categories)} | {_UNSEEN: rest, None: None}
    return pd.Series([words[place] for place in places], dtype=object), unseen


def _places(
    series: pl.Series, categories: tuple, missing: Set[str], *, is_text: bool, by_words: bool
) -> tuple[list, list[int | None]]:
    """The values of rows, text without spaces around it, and which of the categories each is.

    The place is None where a value is missing, and -1 where it is no category.

    A category is never missing, whatever its word.
    """
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    values = (series.fill_nan(None) if series.dtype.is_float() else series).to_list()
    distinct = [value for value in dict.fromkeys(values) if value is not None]
    texts = [value.strip() for value in distinct] if is_text else distinct
    as_written, as_text = (categories_of(own, categories, by_words=by_words) for own in (distinct, texts))
    found: dict[Any, int | None] = {None: None}
    for value, text, *places in zip(distinct, texts, as_written, as_text, strict=True):
        known = [place for place in places if place is not None]
        found[value] = known[0] if known else None if text in missing else _UNSEEN
    text_of = dict(zip(distinct, texts, strict=True))
    return list(map(text_of.get, values)), [found[value] for value in values]


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
    is_text, of_fit = target in contents.missing, [column.cells for column in estimator.schema_.columns if column.cells]
    words = tuple(word for cells in of_fit for word in cells.missing)
    if is_text and words and not contents.is_chosen:
        contents = contents._replace(missing={target: words})
    if is_text and any(cells.decimal == "," for cells in of_fit):
        contents = contents._replace(frame=contents.frame.with_columns(with_decimal_points(contents.frame[target])))
    if not is_classifier(estimator):
        kept, rows = _known(contents, target)
        return rows, cast(kept, target, "numbers").to_numpy()
    classes = np.asarray(estimator.classes_)
    names, missing = tuple(classes.tolist()), {*contents.missing.get(target, words)}
    values, places = _places(contents.frame[target], names, missing, is_text=is_text, by_words=True)
    rows = [row for row, place in enumerate(places) if place is not None]
    labels = [names[places[row]] if places[row] != _UNSEEN else values[row] for row in rows]
    if not rows:
        raise InvalidInputError(f"target {target!r} has no value in any row")
    if all(places[row] == _UNSEEN for row in rows):
        raise InvalidInputError(
            f"no value of target {target!r}, such as {labels[0]!r}, is a class of the model: {listed(classes)}"
        )
    are_known = _UNSEEN not in places
    return np.array(rows), np.array(labels, classes.dtype if are_known else object)


def _split(names: Names, columns: list[str]) -> list[str]:
    """Splits names at commas, unless a column has the name as a whole."""
    return [part for name in names or () for part in ([name] if name in columns else map(str.strip, name.split(",")))]


def _known(contents: Contents, target: str) -> tuple[Contents, Int[np.ndarray, " known"]]:
    """The rows with a target, and their numbers."""
    is_known = contents.cells(target).is_not_null().to_numpy()
    if not is_known.any():
        raise InvalidInputError(f"target {target!r} has no value in any row")
    return contents.keep(is_known), np.flatnonzero(is_known)


def _cells_of(contents: Contents, names: Iterable[str], words: Iterable[str]) -> dict[str, Cells]:
    """How features became values: those of text, and those of other types that were made words."""
    has_strings = {name: contents.frame[name].dtype in (pl.String, pl.Categorical, pl.Enum) for name in words}
    made = {name: Cells(()) for name in names if not has_strings.get(name, True)}
    return made | {name: Cells(contents.missing[name], contents.decimal) for name in names if name in contents.missing}


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
        return cast(contents, name, "numbers")
    series = _typed(contents, name, kind, _OF_TARGETS)
    if not series.dtype.is_float():
        return series
    is_whole = are_whole(series)
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
    series, declared = contents.cells(name), contents.declared.get(name)
    dtype = series.dtype
    if name in contents.missing and kind != "words" and not declared:
        must_be_numbers = kind == "numbers" or declared is not None
        for kind in [k for k in kinds_of_text if k in ("whole", "numbers") or not must_be_numbers]:
            column = converted_or_none(series, kind, is_forced=must_be_numbers)
            if column is not None:
                return column
    if kind is None and (declared or dtype in (pl.String, pl.Categorical)):
        kind = "categories" if declared else "words"
    # NumPy has no whole numbers of 128 bits.
    is_whole = dtype.is_integer() and not str(dtype).endswith("128") and not series.has_nulls()
    if kind is None and (is_whole or dtype in (pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Duration)):
        return series
    if kind is None and dtype != pl.Null and not dtype.is_numeric():
        raise InvalidTypeError(
            f"column {name!r} of {contents.name} has type {dtype}, which trees do not read: leave it out with "
            f"--ignore {name}, or turn it into numbers or words"
        )
    return cast(contents, name, kind or "numbers")
