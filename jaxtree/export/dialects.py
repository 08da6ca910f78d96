"""How databases write names, words, numbers and dates in an expression of SQL, and how they compare them.

Every database has its own rules for what ends a name or a word. Some know NaN, which jaxtree takes for a missing value:
PostgreSQL and DuckDB hold it for equal to itself and greater than any number; in BigQuery no comparison with it is
true.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.formulas import IN_ORDER, Operation
from jaxtree.table.schema import Column

STEPS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "({} / {})",
    "neg": "(-({}))",
    "exp": "EXP({})",
    "log": "LN({})",
    "logistic": "(1e0 / (1e0 + EXP(-({}))))",
    "sqrt": "SQRT({})",
    "abs": "ABS({})",
    "pow": "POWER({}, {})",
    "max": "GREATEST({}, {})",
    "min": "LEAST({}, {})",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} = {}",
    "ne": "{} <> {}",
    "select_n": "CASE WHEN {0} THEN {2} ELSE {1} END",
}
"""The operations of `jaxtree.export.formulas` but for the order of several values, and how they are written."""

_DOUBLED = str.maketrans({"'": "''"})
_BACKSLASHED = str.maketrans({"\\": r"\\", "'": r"\'", "`": r"\`", "\n": r"\n", "\r": r"\r"})


@dataclass(frozen=True)
class Dialect:
    """The rules of a database.

    Attributes:
        quote: The sign around a name.
        escapes: Where a backslash escapes a sign: "" nowhere, "E" in words that begin with E, "words" in all words,
            "all" in names too, whose quotes others double.
        writes_exponents: Whether a number is a double only if it has an exponent. Else it is a decimal there, whose
            quotients have few digits.
        instant: The keyword before the text of a date.
        utc: The same of one with a time zone.
        nan: The condition that a number is NaN; None where the database has none.
        nan_is_greatest: Whether that is greater than any number.
        folds_words: Whether words are compared without regard to case.
        least: How the value at a place among several in ascending order is written, and what stands between these.
        own_steps: The operations that are written in another way than in `STEPS`.
        scores: A formula of numbers that are named once.
    """

    quote: str
    escapes: str = ""
    writes_exponents: bool = False
    instant: str = ""
    utc: str = ""
    nan: str | None = None
    nan_is_greatest: bool = False
    folds_words: bool = False
    least: tuple[str, str] = (
        "(SELECT jaxtree_value FROM (SELECT {values} AS jaxtree_value) AS jaxtree_values "
        "ORDER BY jaxtree_value LIMIT 1 OFFSET {place})",
        " AS jaxtree_value UNION ALL SELECT ",
    )
    own_steps: Mapping[str, str] = field(default_factory=dict)
    scores: str = "(SELECT {formula} FROM (SELECT {values}) AS jaxtree_scores)"

    @property
    def steps(self) -> set[str]:
        """The names of the operations that it has."""
        return {*STEPS, *self.own_steps, IN_ORDER}

    def step(self, step: Operation, arguments: list[str]) -> str:
        """An operation on numbers.

        >>> DIALECTS["sqlite"].step(Operation("max", (0, 1)), ["a", "b"])
        'MAX(a, b)'
        >>> DIALECTS["duckdb"].step(Operation(IN_ORDER, (0, 1, 1.0)), ["a", "b", "1.0"])
        'list_sort([a, b])[2]'
        """
        if step.name != IN_ORDER:
            return {**STEPS, **self.own_steps}[step.name].format(*arguments)
        (template, comma), place = self.least, int(step.arguments[-1])
        return template.format(values=comma.join(arguments[:-1]), place=place, number=place + 1)

    def name(self, text: str) -> str:
        r"""The name of a column, whatever signs it has.

        >>> [DIALECTS[dialect].name("a`b") for dialect in ("sqlite", "mysql", "bigquery")]
        ['"a`b"', '`a``b`', '`a\\`b`']
        """
        _check_text(text, "name")
        inner = text.translate(_BACKSLASHED) if self.escapes == "all" else text.replace(self.quote, self.quote * 2)
        return f"{self.quote}{inner}{self.quote}"

    def word(self, text: str) -> str:
        r"""A text as a literal that no sign in it ends.

        >>> [DIALECTS[dialect].word("it's") for dialect in ("sqlite", "mysql", "bigquery")]
        ["'it''s'", "'it''s'", "'it\\'s'"]
        """
        _check_text(text, "word")
        if self.escapes == "all":
            return f"'{text.translate(_BACKSLASHED)}'"
        doubled = text.translate(_DOUBLED)
        if not self.escapes or "\\" not in text:
            return f"'{doubled}'"
        return ("E" if self.escapes == "E" else "") + "'" + doubled.replace("\\", r"\\") + "'"

    def literal(self, value: Any) -> str:
        """A truth value, a number or a word."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if not isinstance(value, float):
            return self.word(str(value))
        if not np.isfinite(value):
            raise InvalidInputError("the tree has a threshold or value that is infinite, for which SQL has no literal")
        text = repr(value)
        if "e" in text:
            return text
        return f"{text.removesuffix('.0')}e0" if self.writes_exponents else text

    def limit(self, column: Column, limit: float) -> str:
        """A threshold of a numeric column; of dates as a text to the microsecond, which compares with their own."""
        if column.time is None or column.time.kind == "duration":
            return self.literal(limit)
        is_utc = column.time.kind == "utc"
        text = column.time.limit_of_databases(limit) + ("+00:00" if is_utc else "")
        return (self.utc if is_utc else self.instant) + self.word(text)

    def is_missing(self, column: Column) -> str:
        """The condition that a value is NULL, or NaN."""
        name = self.name(column.name)
        nan = self._is_nan(column)
        return f"{name} IS NULL" + ("" if nan is None else f" OR {nan}")

    def is_known(self, column: Column) -> str:
        """The condition that a value is neither."""
        name = self.name(column.name)
        nan = self._is_nan(column)
        return f"{name} IS NOT NULL" + ("" if nan is None else f" AND NOT {nan}")

    def compared(self, column: Column, limit: float, *, is_above: bool, takes_missing: bool) -> str:
        """The condition that a number lies above a limit, or at or below it, or is missing if that is taken."""
        known = f"{self.name(column.name)} {'>' if is_above else '<='} {self.limit(column, limit)}"
        nan = self._is_nan(column)
        if nan is not None and is_above and self.nan_is_greatest:  # NaN lies above
            return f"{known} OR {self.name(column.name)} IS NULL" if takes_missing else f"{known} AND NOT {nan}"
        return f"{known} OR {self.is_missing(column)}" if takes_missing else known

    def number(self, column: Column) -> str:
        """The number of a column, or NULL if it is NaN."""
        name, nan = self.name(column.name), self._is_nan(column)
        return name if nan is None else f"CASE WHEN {nan} THEN NULL ELSE {name} END"

    def words_of(self, column: Column) -> str:
        """A column of words for comparisons with words: by bytes, where its own words would be equal otherwise."""
        name = self.name(column.name)
        words = [word for word in column.categories if isinstance(word, str)]
        if self.folds_words and len(set(map(_folded, words))) < len(words):
            return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"
        return name

    def _is_nan(self, column: Column) -> str | None:
        is_number = column.kind == "numeric" and (column.time is None or column.time.kind == "duration")
        return None if self.nan is None or not is_number else self.nan.replace("{}", self.name(column.name))


DIALECTS = {
    "sqlite": Dialect('"', own_steps={"max": "MAX({}, {})", "min": "MIN({}, {})"}),
    "postgresql": Dialect(
        '"', escapes="E", instant="TIMESTAMP ", utc="TIMESTAMPTZ ", nan="{} = 'NaN'::float8", nan_is_greatest=True
    ),
    "duckdb": Dialect(
        '"',
        writes_exponents=True,
        instant="TIMESTAMP ",
        utc="TIMESTAMPTZ ",
        nan="{} = 'NaN'::DOUBLE",
        nan_is_greatest=True,
        least=("list_sort([{values}])[{number}]", ", "),
        own_steps={"lgamma": "LGAMMA({})"},
    ),
    "mysql": Dialect(
        "`", escapes="words", writes_exponents=True, instant="TIMESTAMP ", utc="TIMESTAMP ", folds_words=True
    ),
    "bigquery": Dialect(
        "`",
        escapes="all",
        instant="DATETIME ",
        utc="TIMESTAMP ",
        nan="IS_NAN({})",
        least=("(SELECT v FROM UNNEST([{values}]) AS v ORDER BY v LIMIT 1 OFFSET {place})", ", "),
        scores="(SELECT {formula} FROM UNNEST([STRUCT({values})]))",
    ),
}


def dialect_named(name: str) -> Dialect:
    """Returns the rules of a database; raises InvalidInputError if they are not known."""
    if name not in DIALECTS:
        raise InvalidInputError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, got {name!r}")
    return DIALECTS[name]


def check_words(dialect: Dialect, columns: Sequence[Column], classes: Sequence[Any]) -> None:
    """Raises InvalidInputError if a name of a column, a category or a class cannot be written."""
    for column in columns:
        dialect.name(column.name)
        for category in column.named_categories:
            dialect.literal(category)
    for name in classes:
        dialect.literal(name)


def _check_text(text: str, kind: str) -> None:
    if "\0" in text:
        raise InvalidInputError(f"the {kind} {text!r} has a zero character, which SQL has not")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInputError(f"the {kind} {text!r} has half of a surrogate pair, which is no letter")


def _folded(word: str) -> str:
    """Folds a word to what a collation without regard to case, accents and blanks at the end compares."""
    parts = unicodedata.normalize("NFKD", word).casefold()
    return "".join(letter for letter in parts if not unicodedata.combining(letter)).rstrip()
