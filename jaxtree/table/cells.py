"""One word for every value, and which category of a fitted column a value is.

Cells of a file are text, and so are the categories that are read from them: there a number, a truth value and a word
have one *word* each, whatever way the table came in and whatever other cells the column has. A whole number is written
without a point, any other number by the fewest digits that float64 reads back, a truth value as True or False, and a
word as it is, without spaces around it. Digits after a zero in front, as 01234, are an identifier, which is a word.
"""

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxtree.errors import RareWordsWarning, warn_user
from jaxtree.table.identifiers import are_identifiers

ANY_OTHER = "any other"
FEW_WORDS = 255
"""Words of a column that all have categories of their own, however few rows they have."""
FEW_ROWS = 3
"""The least rows of a word that has a category of its own in a column of more words."""

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*|(?=\.\d))(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE_BELOW = 2**53  # float64 has every whole number up to here
_TRUTH = {"true": "True", "false": "False"}
_TWINS = {"True": "1", "False": "0", "1": "True", "0": "False"}
"""Truth values are the numbers 1 and 0 where a column has these."""


@dataclass(frozen=True)
class Cells:
    """How the cells of a column became values: by their words, of whatever type they are.

    Attributes:
        missing: The words that mean that a value is missing; none of a file whose cells have types.
        decimal: The character before the decimals of numbers, "." or ",".
    """

    missing: tuple[str, ...]
    decimal: str = "."


@dataclass(frozen=True)
class RareWords:
    """The last category of a column of many words: that of every word that has no category of its own.

    These are the rarest words of the fitted column, and all words that it does not have. It is written "any other".

    Attributes:
        number: How many words of the fitted column share it.
        most_rows: The rows of the most frequent of these.
        example: That word.
    """

    number: int
    most_rows: int
    example: str | int | float | bool

    def __str__(self) -> str:
        """Its name among the categories."""
        return ANY_OTHER

    def in_words(self, num_others: int) -> str:
        """Says of a column with so many other categories how many words share this one.

        >>> RareWords(7, 1, "x").in_words(1000)[:60]
        'has 1,007 words: the 7 rarest, of one row each, share the ca'
        """
        rows = {0: "no row", 1: "one row"}.get(self.most_rows, f"at most {self.most_rows:,} rows")
        return (
            f"has {num_others + self.number:,} words: the {self.number:,} rarest, of {rows} each, share the category "
            f"'{self}', which words that fit has not seen get, too"
        )


def with_rare_words(name: str, categories: tuple, num_rows: Sequence[int], most: int) -> tuple:
    """Returns the categories of a column; of many words the rarest give way to `RareWords`, with a warning.

    There is no such warning of identifiers, of which `note_identifiers` warns.

    Args:
        name: The name of the column.
        categories: Its words, in the order of their codes.
        num_rows: The number of rows of each.
        most: The most categories.

    >>> with_rare_words("zip", ("a", "b", "c"), [2, 1, 2], most=3)
    ('a', 'b', 'c')
    """
    is_long = len(categories) > FEW_WORDS
    if len(categories) <= most and not is_long:
        return categories
    count = np.array(num_rows)
    falling = np.argsort(-count, kind="stable")
    kept = int(np.sum(count >= FEW_ROWS)) if is_long else len(categories)
    kept = min(kept, most - 1) if kept < len(categories) or kept > most else kept
    rare = falling[kept:]
    if not rare.size:
        return categories
    own = [categories[place] for place in np.sort(falling[:kept]).tolist()]
    shared = RareWords(len(rare), int(count[rare[0]]), categories[rare[0]])
    if not are_identifiers(int(np.count_nonzero(count)), int(count.sum())):
        warn_user(f"column {name!r} {shared.in_words(len(own))}", RareWordsWarning)
    return (*own, shared)


def word_of(value: Any) -> str:
    """Returns the word of a value.

    >>> [word_of(value) for value in (True, np.int64(7), 7.0, 0.5, "7.0", " true", "yes", "07")]
    ['True', '7', '7', '0.5', '7', 'True', 'yes', '07']
    >>> word_of(datetime.datetime(2020, 1, 31, 12, 30)), word_of(datetime.date(2020, 1, 31))
    ('2020-01-31 12:30:00', '2020-01-31')
    """
    if isinstance(value, str):
        return _word_of_text(value.strip())
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < _WHOLE_BELOW else repr(number)
    return value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value)


def is_scalar_word(text: str) -> bool:
    """Returns whether a cell is the word of a number or truth value, and no identifier.

    >>> [is_scalar_word(cell) for cell in ("1.50", "-3", "1e5", "TRUE", "01", "yes", "nan")]
    [True, True, True, True, False, False, False]
    """
    return text.lower() in _TRUTH or _NUMBER.fullmatch(text) is not None


def _word_of_text(text: str) -> str:
    truth = _TRUTH.get(text.lower())
    if truth is not None or not _NUMBER.fullmatch(text):
        return truth or text
    digits = text.removeprefix("+")
    if digits.removeprefix("-").isdigit():  # beyond 2**53, too
        return "0" if digits == "-0" else digits
    number = float(text)
    return word_of(number) if math.isfinite(number) else text


def categories_of(values: Sequence, categories: tuple, *, by_words: bool) -> list[int | None]:
    """Returns which of some distinct categories every value is, None where it is none.

    Args:
        values: The values.
        categories: The categories.
        by_words: Whether a value that is none of them is the one that has its word, if that is one alone.

    >>> categories_of([1.0, "2", True, "x"], ("1", "2.0", "other"), by_words=True)
    [0, 1, 0, None]
    >>> categories_of([1.0, "2", " other"], (1, 2), by_words=False)
    [0, None, None]
    """
    position = {category: place for place, category in enumerate(categories)}
    if not by_words:
        return [position.get(value) for value in values]
    words: dict[str, int | None] = {}
    for place, category in enumerate(categories):
        word = word_of(category)
        words[word] = None if word in words else place
    found: list[int | None] = []
    for value in values:
        place = position.get(value)
        if place is None and isinstance(value, str):
            place = position.get(value.strip())
        if place is None:
            word = word_of(value)
            place = words.get(word, words.get(_TWINS.get(word, "")))
        found.append(place)
    return found
